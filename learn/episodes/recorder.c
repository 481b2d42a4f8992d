#include "learn/episodes/recorder.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agents/rollout.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "learn/episodes/file/schema.h"
#include "learn/episodes/file/writer.h"

/* An episode in the making, in the queue, or nobody's. */
typedef struct tape {
    struct tape *next;
    lud_data_rows episode; /* `rows` and `tracks` are the tape's own */
    uint8_t *rows;
    int32_t *tracks;
    int32_t capacity; /* rows */
} tape;

typedef struct recorder {
    const lud_scenario *scenario;
    const lud_recording_options *options;
    lud_runner runner;
    lud_data_info info;
    lud_data_row row;
    int32_t max_steps;
    tape *tapes; /* [n_tapes] all of them */
    int n_tapes;
    tape **recording; /* [n_envs]; null: the environment has done its share */
    int64_t *left;    /* [n_envs] episodes still to be recorded */
    bool *ended;      /* [n_envs] by the last step */
    lud_data_writer *writer;
    /* shared with the thread that writes */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    tape *spare, *first, *last; /* nobody's; the queue */
    bool stop;
    double deadline; /* what is not written by then is not written */
    lud_status status;
    lud_error error;
} recorder;

/* --- the thread that writes --- */

static void wait_a_while(recorder *r) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 250000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&r->changed, &r->mutex, &until);
}

/* The next of the queue, null: there is none now. */
static tape *take(recorder *r) {
    tape *t = r->first;
    if (!t) return NULL;
    r->first = t->next;
    if (!r->first) r->last = NULL;
    return t;
}

static void give_back(recorder *r, tape *t) {
    t->next = r->spare;
    r->spare = t;
    pthread_cond_broadcast(&r->changed);
}

static void *write_loop(void *argument) {
    recorder *r = argument;
    bool dirty = false;
    pthread_mutex_lock(&r->mutex);
    while (r->first || !r->stop) {
        tape *t = take(r);
        if (!t) wait_a_while(r);
        const double deadline = r->deadline;
        pthread_mutex_unlock(&r->mutex);
        lud_error error = {0};
        lud_status status = LUD_OK;
        if (t && !r->status && lud_clock_seconds() < deadline) {
            status = lud_data_writer_add(r->writer, &t->episode, &error);
            dirty = true;
        }
        if (!status && dirty && lud_data_writer_uncommitted(r->writer) > 1) {
            status = lud_data_writer_commit(r->writer, &error);
            dirty = false;
        }
        pthread_mutex_lock(&r->mutex);
        if (status && !r->status) {
            r->status = status;
            r->error = error;
        }
        if (t) give_back(r, t);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void push(recorder *r, tape *t) {
    pthread_mutex_lock(&r->mutex);
    t->next = NULL;
    if (r->last)
        r->last->next = t;
    else
        r->first = t;
    r->last = t;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
}

/* Waits for one that nobody has. */
static tape *take_spare(recorder *r) {
    pthread_mutex_lock(&r->mutex);
    while (!r->spare) pthread_cond_wait(&r->changed, &r->mutex);
    tape *t = r->spare;
    r->spare = t->next;
    pthread_mutex_unlock(&r->mutex);
    return t;
}

/* --- the environments --- */

static bool grow(const recorder *r, tape *t, int32_t rows) {
    if (rows <= t->capacity) return true;
    const int32_t capacity = rows < 64 ? 64 : 2 * rows;
    uint8_t *larger = realloc(t->rows, (size_t)capacity * r->row.bytes);
    if (!larger) return false;
    t->rows = larger;
    t->capacity = capacity;
    return true;
}

static void begin_tape(recorder *r, int e) {
    tape *t = take_spare(r);
    const lud_batch *batch = r->runner.batch;
    t->episode = (lud_data_rows){.facts = {.seed = batch->seed,
                                           .environment = batch->first_environment + (uint32_t)e,
                                           .number = batch->episode[e],
                                           .first_tick = batch->tick[e]},
                                 .tracks = t->tracks};
    for (int i = 0; i < r->info.n_agents; i++) t->tracks[i] = -1;
    r->recording[e] = t;
}

static void copy_frame(const recorder *r, int e, uint8_t *row) {
    const lud_runner *run = &r->runner;
    memcpy(row + r->row.state, run->batch->states + (size_t)e * r->info.state_bytes, r->info.state_bytes);
    for (int p = 0; p < r->info.n_parts && r->options->frames; p++) {
        const size_t bytes = r->info.parts[p].bytes;
        memcpy(row + r->row.observations[p], (const uint8_t *)run->observations[p] + (size_t)e * bytes,
               bytes);
    }
}

/* The frame after the last step; what the batch observes there is of the next episode. */
static void copy_last_frame(const recorder *r, int e, uint8_t *row) {
    const lud_model *model = r->scenario->model;
    const uint8_t *state = r->runner.final_states + (size_t)e * r->info.state_bytes;
    memcpy(row + r->row.state, state, r->info.state_bytes);
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    for (int p = 0; p < r->info.n_parts; p++) parts[p] = row + r->row.observations[p];
    if (r->options->frames && r->info.n_parts)
        model->world->observe(model, lud_batch_range(r->runner.batch, e, 1), state, parts);
}

static void copy_step(const recorder *r, int e, uint8_t *row) {
    const lud_runner *run = &r->runner;
    const size_t n = (size_t)r->info.n_agents, first = (size_t)e * n, width = (size_t)r->info.n_continuous;
    int32_t *choices = (int32_t *)(void *)(row + r->row.discrete);
    for (size_t i = 0; i < n; i++) choices[i] = r->info.n_choices[i] ? run->discrete[first + i] : -1;
    if (width) memcpy(row + r->row.continuous, run->continuous + first * width, n * width * sizeof(float));
    memcpy(row + r->row.log_probs, run->log_probs + first, n * sizeof(float));
    memcpy(row + r->row.rewards, run->rewards + first, n * sizeof(float));
    memcpy(row + r->row.policy_version, &r->options->policy_version, sizeof r->options->policy_version);
}

/* Where an agent's track ends: with the step after which it is no longer alive. */
static void follow_tracks(const recorder *r, tape *t, const uint8_t *state, bool ended) {
    const lud_model *model = r->scenario->model;
    for (int i = 0; i < r->info.n_agents; i++)
        if (t->tracks[i] < 0 &&
            (ended || (model->world->is_alive && !model->world->is_alive(model, state, i))))
            t->tracks[i] = t->episode.facts.length;
}

/* Everything of an environment but what waits for others; false when memory is out. */
static bool after_step(recorder *r, int e) {
    tape *t = r->recording[e];
    const lud_runner *run = &r->runner;
    const bool over = run->terminated[e] || run->truncated[e];
    const int32_t step = t->episode.facts.length++;
    copy_step(r, e, t->rows + (size_t)step * r->row.bytes);
    const uint8_t *state = (over ? run->final_states : run->batch->states) + (size_t)e * r->info.state_bytes;
    r->ended[e] = over || step + 1 == r->max_steps;
    t->episode.facts.terminated = run->terminated[e];
    t->episode.facts.truncated = run->truncated[e];
    follow_tracks(r, t, state, r->ended[e]);
    if (!grow(r, t, step + 2)) return false;
    uint8_t *next = t->rows + (size_t)(step + 1) * r->row.bytes;
    memset(next, 0, r->row.bytes);
    if (over)
        copy_last_frame(r, e, next);
    else
        copy_frame(r, e, next);
    return true;
}

/* Begins a new episode in an environment whose own has not ended. */
static void cut(recorder *r, int e) {
    lud_batch *batch = r->runner.batch;
    const lud_model *model = r->scenario->model;
    uint8_t *state = batch->states + (size_t)e * r->info.state_bytes;
    model->world->reset(model, lud_batch_range(batch, e, 1), state);
    batch->episode_step[e] = 0;
    batch->episode[e]++;
    r->runner.truncated[e] = 1; /* for lud_runner_renew */
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < r->info.n_parts && r->runner.observed; p++)
        parts[p] = (uint8_t *)r->runner.observations[p] + (size_t)e * r->info.parts[p].bytes;
    if (r->runner.observed) model->world->observe(model, lud_batch_range(batch, e, 1), state, parts);
}

static bool begin_episode(recorder *r, int e) {
    begin_tape(r, e);
    tape *t = r->recording[e];
    if (!grow(r, t, 2)) return false;
    memset(t->rows, 0, r->row.bytes);
    copy_frame(r, e, t->rows);
    return true;
}

/* Hands over what has ended, in the order of the environments, and begins anew. */
static bool hand_over(recorder *r, int64_t *finished) {
    for (int e = 0; e < r->runner.batch->n_envs; e++) {
        if (!r->recording[e] || !r->ended[e]) continue;
        tape *t = r->recording[e];
        if (!t->episode.facts.terminated && !t->episode.facts.truncated) cut(r, e);
        t->episode.rows = t->rows;
        push(r, t);
        r->recording[e] = NULL;
        (*finished)++;
        if (--r->left[e] > 0 && !begin_episode(r, e)) return false;
    }
    lud_runner_renew(&r->runner);
    return true;
}

static lud_status out_of_memory(lud_error *error) {
    return lud_no_memory(error, "recorded episodes");
}

static lud_status run_steps(recorder *r, lud_recording_result *result, lud_progress *progress,
                            lud_error *error) {
    const int n_envs = r->runner.batch->n_envs;
    int64_t finished = 0;
    bool memory = true;
    lud_runner_start(&r->runner);
    for (int e = 0; e < n_envs && memory; e++) memory = begin_episode(r, e);
    while (memory && finished < r->options->episodes) {
        pthread_mutex_lock(&r->mutex);
        const lud_status status = r->status;
        pthread_mutex_unlock(&r->mutex);
        if (status) return status;
        if (lud_interrupted())
            return lud_fail(error, LUD_INTERRUPTED, "interrupted after %" PRId64 " of %" PRId64 " episodes",
                            finished, r->options->episodes);
        lud_runner_step(&r->runner);
        result->steps_taken += (uint64_t)n_envs;
        int failures = 0;
#pragma omp parallel for schedule(static) reduction(+ : failures) if (n_envs >= 64)
        for (int e = 0; e < n_envs; e++)
            if (r->recording[e]) failures += !after_step(r, e);
        memory = !failures && hand_over(r, &finished);
        lud_progress_update(progress, (uint64_t)finished);
    }
    return memory ? lud_cast_check(r->runner.cast, error) : out_of_memory(error);
}

/* --- beginning and end --- */

static lud_status take_tapes(recorder *r, int n_envs, lud_error *error) {
    const size_t n = (size_t)n_envs, n_agents = (size_t)r->info.n_agents;
    r->n_tapes = 2 * n_envs + 2;
    r->tapes = calloc((size_t)r->n_tapes, sizeof *r->tapes);
    r->recording = calloc(n, sizeof *r->recording);
    r->left = calloc(n, sizeof *r->left);
    r->ended = calloc(n, sizeof *r->ended);
    if (!r->tapes || !r->recording || !r->left || !r->ended) return out_of_memory(error);
    for (int k = 0; k < r->n_tapes; k++) {
        r->tapes[k].tracks = calloc(n_agents + 1, sizeof(int32_t));
        if (!r->tapes[k].tracks) return out_of_memory(error);
        r->tapes[k].next = r->spare;
        r->spare = &r->tapes[k];
    }
    const int64_t episodes = r->options->episodes;
    for (int e = 0; e < n_envs; e++) r->left[e] = episodes / n_envs + (e < episodes % n_envs);
    return LUD_OK;
}

static void free_recorder(recorder *r) {
    lud_runner_destroy(&r->runner);
    for (int k = 0; k < r->n_tapes && r->tapes; k++) {
        free(r->tapes[k].rows);
        free(r->tapes[k].tracks);
    }
    free(r->tapes);
    free(r->recording);
    free(r->left);
    free(r->ended);
}

static lud_status open_recorder(recorder *r, const lud_cast *cast, lud_arena *arena, lud_error *error) {
    const lud_scenario *s = r->scenario;
    const lud_recording_options *o = r->options;
    const int n_envs = (int)(s->run.environments < o->episodes ? s->run.environments : o->episodes);
    lud_status status = lud_data_schema_of(s, arena, &r->info, error);
    if (status) return status;
    r->info.policy = o->policy;
    r->row = lud_data_row_of(&r->info, o->frames);
    const int limit = lud_batch_limit(s->model);
    r->max_steps = o->max_steps ? o->max_steps : limit ? limit : INT32_MAX;
    status = take_tapes(r, n_envs, error);
    if (!status)
        status = lud_runner_create(s->model, cast, n_envs, (uint64_t)s->run.seed, 0, &r->runner, error);
    if (!status) status = lud_runner_tell(&r->runner, o->frames, error);
    if (status) return status;
    r->runner.batch->n_threads = (int)s->run.threads;
    const lud_data_writing writing = {.info = &r->info,
                                      .scenario_path = s->path,
                                      .frames = o->frames,
                                      .views = o->views,
                                      .n_threads =
                                          s->run.threads ? (int)s->run.threads : omp_get_max_threads(),
                                      .level = o->level};
    return lud_data_writer_create(o->path, &writing, &r->writer, error);
}

static lud_status record(recorder *r, lud_recording_result *result, lud_error *error) {
    lud_progress progress;
    if (pthread_create(&r->thread, NULL, write_loop, r))
        return lud_fail(error, LUD_ERROR_MEMORY, "no thread to write a data set with");
    lud_progress_start(&progress, r->options->progress, "record", "episodes", (uint64_t)r->options->episodes);
    const double started = lud_clock_seconds();
    const lud_status status = run_steps(r, result, &progress, error);
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    if (status == LUD_INTERRUPTED) r->deadline = lud_clock_seconds() + 0.5;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    result->seconds = lud_clock_seconds() - started;
    lud_progress_finish(&progress);
    if (r->status && error) *error = r->error;
    return r->status ? r->status : status;
}

lud_status lud_record_data(const lud_scenario *scenario, const lud_cast *cast,
                           const lud_recording_options *options, lud_recording_result *result,
                           lud_error *error) {
    recorder r = {.scenario = scenario, .options = options, .deadline = INFINITY};
    const double started = lud_clock_seconds();
    *result = (lud_recording_result){0};
    pthread_mutex_init(&r.mutex, NULL);
    pthread_cond_init(&r.changed, NULL);
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? open_recorder(&r, cast, arena, error) : out_of_memory(error);
    if (!status) status = record(&r, result, error);
    if (r.writer && (!status || status == LUD_INTERRUPTED)) {
        result->episodes = lud_data_writer_episodes(r.writer);
        result->steps = lud_data_writer_steps(r.writer);
        lud_error at_end = {0};
        const lud_status finished = lud_data_writer_finish(r.writer, &at_end);
        if (finished && error) *error = at_end;
        if (finished) status = finished;
    } else {
        lud_data_writer_abandon(r.writer);
    }
    result->seconds_in_all = lud_clock_seconds() - started;
    free_recorder(&r);
    lud_arena_destroy(arena);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.mutex);
    return status;
}
