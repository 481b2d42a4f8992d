#include "learn/empo/exact/exact_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "learn/empo/exact/state_inputs.h"
#include "learn/nn/arrays.h"

enum { CHUNK_BYTES = 256 << 20, CHUNK_STATES = 1 << 17, LEAST_STATES = 256 };

/* An array of a chunk, on the host and on the device. */
typedef struct staged {
    void *host, *device;
    size_t element; /* bytes of one state's part, or of one entry */
} staged;

enum {
    STATE,
    BEGIN,
    SUCCESSOR,
    PROBABILITY,
    TERMINAL,
    ACHIEVED,
    HABIT,
    BELIEF,
    ROBOT,
    RECORDS,
    FAILED,
    N_STAGED
};

struct lud_empo_device {
    const lud_empo_problem *problem;
    const lud_empo_run *run;
    const lud_empo_levels *levels;
    lud_device *device;
    const lud_empo_sweep_code *code; /* of the device's module */
    lud_empo_game game;              /* its arrays are on the device */
    lud_empo_batch batch;
    uint64_t capacity; /* states of a chunk */
    uint64_t entries;  /* of its rows together */
    staged arrays[N_STAGED];
    lud_arrays fixed;
    double *credits, *scratch;
};

static uint64_t entries_of(const lud_statespace *space, uint64_t state) {
    uint64_t n = 0;
    for (int32_t k = 0; k < space->n_joint_actions; k++) n += lud_statespace_get_row(space, state, k).n;
    return n;
}

static uint64_t most_entries(const lud_statespace *space) {
    uint64_t most = 1;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (uint64_t s = 0; s < space->n_states; s++) {
        uint64_t n = entries_of(space, s);
        most = n > most ? n : most;
    }
    return most;
}

/* The arrays of the game, which never change, go to the device, and rows of credits are taken there. */
static bool take_fixed(lud_empo_device *d, uint64_t window) {
    lud_empo_game *g = &d->game;
    const size_t humans = (size_t)g->n_humans, word = sizeof(int32_t);
    const struct {
        void *pointer; /* the address of a pointer of the game */
        size_t bytes;
    } all[] = {{&g->n_actions, humans * word},
               {&g->noop, humans * word},
               {&g->goal_begin, (humans + 1) * word},
               {&g->policy_begin, (humans + 1) * word},
               {&g->joint_of, (size_t)(g->n_profiles * g->n_robot_actions) * word},
               {&g->own_action, humans * (size_t)g->n_profiles * word},
               {&g->goal_weight, (size_t)g->n_goals * sizeof(double)}};
    d->fixed.device = d->device;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const void *host;
        void *made = lud_arrays_add_device(&d->fixed, lud_device_allocate(d->device, all[i].bytes));
        if (!made) return false;
        memcpy(&host, all[i].pointer, sizeof host);
        lud_device_upload(d->device, made, host, all[i].bytes);
        memcpy(all[i].pointer, &made, sizeof made);
    }
    return LUD_TAKE_ON_DEVICE(&d->fixed, d->credits, window * (size_t)g->width);
}

static uint64_t count_of(const lud_empo_device *d, int which) {
    if (which == SUCCESSOR || which == PROBABILITY) return d->entries;
    return which == BEGIN ? d->capacity + 1 : d->capacity; /* the end of the last row stands behind */
}

static void release_chunk(lud_empo_device *d) {
    for (int i = 0; i < N_STAGED; i++) {
        free(d->arrays[i].host);
        lud_device_release(d->device, d->arrays[i].device);
        d->arrays[i].host = d->arrays[i].device = NULL;
    }
    lud_device_release(d->device, d->scratch);
    d->scratch = NULL;
}

static bool take_chunk(lud_empo_device *d) {
    bool taken = true;
    for (int i = 0; i < N_STAGED && taken; i++) {
        staged *a = &d->arrays[i];
        if (a->element == 0) continue;
        a->host = malloc(count_of(d, i) * a->element);
        a->device = a->host ? lud_device_allocate(d->device, count_of(d, i) * a->element) : NULL;
        taken = a->device != NULL;
    }
    size_t scratch = lud_empo_scratch_doubles(&d->game) * sizeof(double);
    d->scratch = taken ? lud_device_allocate(d->device, d->capacity * scratch) : NULL;
    if (d->scratch) return true;
    release_chunk(d);
    return false;
}

/* The largest chunk that fits, up to a level and a limit beyond which nothing is gained. */
static bool choose_chunk(lud_empo_device *d) {
    const lud_statespace *space = d->problem->space;
    uint64_t largest = 1, most = most_entries(space), mean = space->n_transitions / space->n_states + 1;
    for (int level = 0; level < d->levels->n; level++) {
        uint64_t n = d->levels->begin[level + 1] - d->levels->begin[level];
        if (n > largest) largest = n;
    }
    size_t bytes = lud_empo_scratch_doubles(&d->game) * sizeof(double);
    for (int i = 0; i < N_STAGED; i++)
        bytes += d->arrays[i].element * (i == SUCCESSOR || i == PROBABILITY ? mean : 1);
    d->capacity = CHUNK_BYTES / bytes + 1;
    if (d->capacity > CHUNK_STATES) d->capacity = CHUNK_STATES;
    if (d->capacity > largest) d->capacity = largest;
    for (;; d->capacity /= 2) {
        d->entries = d->capacity * mean > most ? d->capacity * mean : most;
        if (d->entries < UINT32_MAX && take_chunk(d)) return true;
        if (d->capacity <= LEAST_STATES) return false;
    }
}

static const lud_empo_sweep_code *code_of(const lud_device *device) {
    return lud_device_symbol(device, "lud_empo_sweep_cuda");
}

bool lud_empo_device_sweeps(const lud_device *device) {
    return code_of(device) != NULL;
}

lud_status lud_empo_device_create(const lud_empo_problem *problem, const lud_empo_run *run,
                                  const lud_empo_game *game, const lud_empo_levels *levels, uint64_t window,
                                  lud_empo_device **made, lud_error *error) {
    *made = NULL;
    lud_empo_device *d = calloc(1, sizeof *d);
    if (!d) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to solve on %s", run->device->name);
    *d = (lud_empo_device){
        .problem = problem, .run = run, .levels = levels, .device = run->device, .game = *game};
    d->code = code_of(run->device);
    const lud_empo_hooks *hooks = run->hooks;
    const size_t real = sizeof(double);
    d->arrays[STATE].element = sizeof(uint32_t);
    d->arrays[BEGIN].element = (size_t)game->n_joint_actions * sizeof(uint32_t);
    d->arrays[SUCCESSOR].element = sizeof(uint32_t);
    d->arrays[PROBABILITY].element = real;
    d->arrays[TERMINAL].element = 1;
    d->arrays[ACHIEVED].element = (size_t)game->n_goals;
    d->arrays[HABIT].element = lud_empo_uses_habit(problem, hooks) ? (size_t)game->n_policies * real : 0;
    d->arrays[BELIEF].element = hooks && hooks->belief ? (size_t)game->n_beliefs * real : 0;
    d->arrays[ROBOT].element = hooks && hooks->robot ? (size_t)game->n_robot_actions * real : 0;
    d->arrays[RECORDS].element = (size_t)game->record_doubles * real;
    d->arrays[FAILED].element = sizeof(int32_t);
    if (!take_fixed(d, window) || !choose_chunk(d)) {
        lud_empo_device_destroy(d);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s has no memory for two levels of %llu states",
                        run->device->name, (unsigned long long)window);
    }
    d->batch = (lud_empo_batch){.game = &d->game,
                                .state = d->arrays[STATE].device,
                                .begin = d->arrays[BEGIN].device,
                                .successor = d->arrays[SUCCESSOR].device,
                                .probability = d->arrays[PROBABILITY].device,
                                .terminal = d->arrays[TERMINAL].device,
                                .achieved = d->arrays[ACHIEVED].device,
                                .habit = d->arrays[HABIT].device,
                                .belief = d->arrays[BELIEF].device,
                                .robot = d->arrays[ROBOT].device,
                                .window = lud_empo_window_of(window),
                                .credits = d->credits,
                                .records = d->arrays[RECORDS].device,
                                .failed = d->arrays[FAILED].device,
                                .scratch = d->scratch};
    *made = d;
    return LUD_OK;
}

void lud_empo_device_destroy(lud_empo_device *d) {
    if (!d) return;
    release_chunk(d);
    lud_arrays_free(&d->fixed);
    free(d);
}

static void send(lud_empo_device *d, int which, uint64_t count) {
    staged *a = &d->arrays[which];
    lud_device_upload(d->device, a->device, a->host, count * a->element);
}

static void *part(const lud_empo_device *d, int which, uint64_t i) {
    return d->arrays[which].host ? (char *)d->arrays[which].host + i * d->arrays[which].element : NULL;
}

/* The states at positions begin .. end - 1, as many as fit, into the host's arrays; returns how many. */
static uint64_t pack(lud_empo_device *d, uint64_t begin, uint64_t end) {
    const lud_statespace *space = d->problem->space;
    const uint64_t n_joint = (uint64_t)space->n_joint_actions;
    uint32_t *state = d->arrays[STATE].host, *row_begin = d->arrays[BEGIN].host;
    uint64_t n = 0, total = 0;
    for (; n < d->capacity && begin + n < end; n++) {
        state[n] = (uint32_t)lud_empo_level_state(d->levels, begin + n);
        if (total + entries_of(space, state[n]) > d->entries) break;
        for (uint64_t k = 0; k < n_joint; k++) {
            row_begin[n * n_joint + k] = (uint32_t)total;
            total += lud_statespace_get_row(space, state[n], (int32_t)k).n;
        }
    }
    row_begin[n * n_joint] = (uint32_t)total;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < n; i++) {
        lud_empo_state_inputs inputs;
        const bool terminal = lud_statespace_terminal(space, state[i]);
        lud_empo_state_inputs_fill(
            d->problem, d->run->hooks, state[i], space->states + state[i] * space->state_bytes, terminal,
            part(d, ACHIEVED, i), part(d, HABIT, i), part(d, BELIEF, i), part(d, ROBOT, i), &inputs);
        ((uint8_t *)d->arrays[TERMINAL].host)[i] = terminal;
        for (uint64_t k = 0; k < n_joint; k++) {
            lud_statespace_row row = lud_statespace_get_row(space, state[i], (int32_t)k);
            uint64_t at = row_begin[i * n_joint + k];
            memcpy(part(d, SUCCESSOR, at), row.successor, row.n * sizeof *row.successor);
            memcpy(part(d, PROBABILITY, at), row.probability, row.n * sizeof *row.probability);
        }
    }
    return n;
}

lud_status lud_empo_device_level(lud_empo_device *d, uint64_t begin, uint64_t end, lud_progress *progress,
                                 lud_empo_powerless *powerless, lud_error *error) {
    const size_t record = d->arrays[RECORDS].element;
    const uint32_t *state = d->arrays[STATE].host;
    const int32_t *failed = d->arrays[FAILED].host;
    for (uint64_t position = begin; position < end;) {
        if (lud_interrupted()) return lud_fail(error, LUD_INTERRUPTED, "interrupted");
        const uint64_t n = pack(d, position, end);
        const uint64_t rows = n * (uint64_t)d->game.n_joint_actions;
        for (int i = 0; i < N_STAGED; i++)
            if (i != BEGIN && i != SUCCESSOR && i != PROBABILITY && i != RECORDS && i != FAILED)
                send(d, i, n);
        lud_device_upload(d->device, d->arrays[BEGIN].device, d->arrays[BEGIN].host,
                          (rows + 1) * sizeof(uint32_t));
        send(d, SUCCESSOR, ((const uint32_t *)d->arrays[BEGIN].host)[rows]);
        send(d, PROBABILITY, ((const uint32_t *)d->arrays[BEGIN].host)[rows]);
        d->batch.n = (int64_t)n;
        d->code->phase_1(d->device, &d->batch);
        d->code->phase_2(d->device, &d->batch);
        d->code->credits(d->device, &d->batch);
        lud_device_download(d->device, d->arrays[RECORDS].host, d->arrays[RECORDS].device, n * record);
        lud_device_download(d->device, d->arrays[FAILED].host, d->arrays[FAILED].device, n * sizeof *failed);
        LUD_TRY(lud_device_check(d->device, error));
        for (uint64_t i = 0; i < n; i++) {
            memcpy((char *)d->run->records + state[i] * record, part(d, RECORDS, i), record);
            lud_empo_powerless_note(powerless, state[i], failed[i]);
        }
        position += n;
        lud_progress_update(progress, d->problem->space->n_states - end + (position - begin));
    }
    return LUD_OK;
}

lud_status lud_empo_device_recall(lud_empo_device *d, uint64_t begin, uint64_t end, lud_error *error) {
    const lud_statespace *space = d->problem->space;
    const size_t record = d->arrays[RECORDS].element;
    uint32_t *state = d->arrays[STATE].host;
    lud_empo_state_inputs inputs;
    for (uint64_t position = begin; position < end;) {
        uint64_t n = end - position < d->capacity ? end - position : d->capacity;
        for (uint64_t i = 0; i < n; i++) {
            state[i] = (uint32_t)lud_empo_level_state(d->levels, position + i);
            lud_empo_state_inputs_fill(d->problem, NULL, state[i],
                                       space->states + state[i] * space->state_bytes, true,
                                       part(d, ACHIEVED, i), NULL, NULL, NULL, &inputs);
            memcpy(part(d, RECORDS, i), (const char *)d->run->records + state[i] * record, record);
        }
        send(d, STATE, n);
        send(d, ACHIEVED, n);
        send(d, RECORDS, n);
        d->batch.n = (int64_t)n;
        d->code->credits(d->device, &d->batch);
        lud_device_synchronise(d->device);
        position += n;
    }
    return lud_device_check(d->device, error);
}
