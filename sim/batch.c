#include "sim/batch.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/snapshot.h"

/* A thread works through its environments in pieces that stay in its cache from step to observe, and that are
 * worth waking it: of worlds whose steps take long a piece is less, down to one environment. */
enum { PIECE = 64, STEPS_UNTIMED = 64 };
static const double piece_seconds = 40e-6;
enum { TERMINATED = 1, TRUNCATED = 2 };

/* The public struct with what only this file touches. */
typedef struct whole_batch {
    lud_batch shown;
    uint8_t *terminated, *truncated; /* [n_envs] where the caller gives no arrays */
    uint8_t *ended;                  /* [n_envs] TERMINATED or TRUNCATED: over and not yet started anew */
    int max_continuous;
    size_t part_bytes[LUD_MAX_OBSERVATION_PARTS];
    double environment_seconds; /* of a step of one environment, the least of late; 0: not known */
    int steps_untimed;          /* until a step is timed again */
} whole_batch;

lud_status lud_batch_create(const lud_model *model, int n_envs, uint64_t seed, uint32_t first_environment,
                            lud_batch **out, lud_error *error) {
    *out = NULL;
    if (n_envs < 1) return lud_invalid(error, "a batch needs at least one environment, not %d", n_envs);
    whole_batch *b = calloc(1, sizeof *b);
    if (!b) return lud_no_memory(error, "a batch");
    size_t n = (size_t)n_envs, state_bytes = model->layout.state_bytes;
    b->shown = (lud_batch){.model = model,
                           .seed = seed,
                           .first_environment = first_environment,
                           .n_envs = n_envs,
                           .n_stepped = n_envs,
                           .states = calloc(n, state_bytes ? state_bytes : 1),
                           .tick = calloc(n, sizeof(uint32_t)),
                           .episode_step = calloc(n, sizeof(int32_t)),
                           .episode = calloc(n, sizeof(uint32_t))};
    b->terminated = calloc(n, 1);
    b->truncated = calloc(n, 1);
    b->ended = calloc(n, 1);
    b->max_continuous = lud_max_continuous(&model->layout);
    for (int p = 0; p < model->layout.n_parts; p++) b->part_bytes[p] = model->layout.parts[p].bytes;
    if (!b->shown.states || !b->shown.tick || !b->shown.episode_step || !b->shown.episode || !b->terminated ||
        !b->truncated || !b->ended) {
        lud_batch_destroy(&b->shown);
        return lud_no_memory(error, "%d environments of %zu bytes each", n_envs, state_bytes);
    }
    *out = &b->shown;
    return LUD_OK;
}

void lud_batch_destroy(lud_batch *shown) {
    if (!shown) return;
    whole_batch *b = (whole_batch *)shown;
    LUD_FREE(shown->states, shown->tick, shown->episode_step, shown->episode, b->terminated, b->truncated,
             b->ended, b);
}

lud_range lud_batch_range(const lud_batch *batch, int first, int n) {
    return (lud_range){.seed = batch->seeds ? batch->seeds[first] : batch->seed,
                       .first_environment = batch->seeds ? 0 : batch->first_environment + (uint32_t)first,
                       .n = n,
                       .tick = batch->tick + first};
}

static uint8_t *state_of(const lud_batch *batch, int e) {
    return batch->states + (size_t)e * batch->model->layout.state_bytes;
}

static void observe_piece(const whole_batch *b, int begin, int n, const lud_batch_out *out) {
    const lud_model *model = b->shown.model;
    if (!out || !out->observations || !model->world->observe) return;
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < model->layout.n_parts; p++)
        if (out->observations[p]) parts[p] = (char *)out->observations[p] + (size_t)begin * b->part_bytes[p];
    model->world->observe(model, lud_batch_range(&b->shown, begin, n), state_of(&b->shown, begin), parts);
}

static void reset_piece(whole_batch *b, int begin, int n) {
    lud_batch *shown = &b->shown;
    shown->model->world->reset(shown->model, lud_batch_range(shown, begin, n), state_of(shown, begin));
    memset(shown->episode_step + begin, 0, (size_t)n * sizeof *shown->episode_step);
    memset(b->ended + begin, 0, (size_t)n);
}

/* Where the results of environments from `begin` on go. */
static lud_outcome outcome_of(const whole_batch *b, int begin, const lud_batch_out *out) {
    const lud_layout *layout = &b->shown.model->layout;
    const size_t n_agents = (size_t)layout->n_agents;
    lud_outcome outcome = {.rewards = out && out->rewards ? out->rewards + (size_t)begin * n_agents : NULL,
                           .terminated = (out && out->terminated ? out->terminated : b->terminated) + begin,
                           .truncated = (out && out->truncated ? out->truncated : b->truncated) + begin};
    if (out && out->components)
        outcome.components = out->components + (size_t)begin * n_agents * (size_t)layout->n_components;
    return outcome;
}

static void step_running(whole_batch *b, int begin, int n, lud_actions actions, const lud_batch_out *out) {
    lud_batch *shown = &b->shown;
    const lud_model *model = shown->model;
    const size_t state_bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
    lud_actions piece = {.discrete = actions.discrete ? actions.discrete + (size_t)begin * n_agents : NULL,
                         .continuous = actions.continuous ? actions.continuous + (size_t)begin * n_agents *
                                                                                     (size_t)b->max_continuous
                                                          : NULL};
    const lud_outcome outcome = outcome_of(b, begin, out);
    model->world->step(model, lud_batch_range(shown, begin, n), state_of(shown, begin), piece, outcome);
    for (int i = 0; i < n; i++) {
        int e = begin + i;
        shown->tick[e]++;
        shown->episode_step[e]++;
        if (shown->most_steps && shown->episode_step[e] >= shown->most_steps) outcome.truncated[i] = 1;
        if (!outcome.terminated[i] && !outcome.truncated[i]) continue;
        shown->episode[e]++;
        b->ended[e] =
            (uint8_t)((outcome.terminated[i] ? TERMINATED : 0) | (outcome.truncated[i] ? TRUNCATED : 0));
        if (shown->end != LUD_END_RESETS) continue;
        if (out && out->final_states)
            memcpy(out->final_states + (size_t)e * state_bytes, state_of(shown, e), state_bytes);
        reset_piece(b, e, 1);
    }
}

/* The step of an environment that is over, which waits or starts anew. */
static void step_ended(whole_batch *b, int e, const lud_batch_out *out) {
    lud_batch *shown = &b->shown;
    const lud_layout *layout = &shown->model->layout;
    const size_t n_agents = (size_t)layout->n_agents;
    const lud_outcome outcome = outcome_of(b, e, out);
    if (shown->end == LUD_END_RESETS_NEXT) {
        reset_piece(b, e, 1);
        shown->tick[e]++;
    }
    *outcome.terminated = (b->ended[e] & TERMINATED) != 0;
    *outcome.truncated = (b->ended[e] & TRUNCATED) != 0;
    if (outcome.rewards) memset(outcome.rewards, 0, n_agents * sizeof *outcome.rewards);
    if (outcome.components)
        memset(outcome.components, 0, n_agents * (size_t)layout->n_components * sizeof *outcome.components);
}

static void step_piece(whole_batch *b, int begin, int n, lud_actions actions, const lud_batch_out *out) {
    const bool waits = b->shown.end == LUD_END_RESETS_NEXT || b->shown.end == LUD_END_STAYS;
    for (int e = begin, stop = begin; e < begin + n; e = stop) {
        while (stop < begin + n && !(waits && b->ended[stop])) stop++;
        if (stop > e)
            step_running(b, e, stop - e, actions, out);
        else
            step_ended(b, stop++, out);
    }
    observe_piece(b, begin, n, out);
}

/* Environments of a piece that is worth a thread. */
static int worth_a_thread(const whole_batch *b) {
    int n = PIECE;
    while (n > 1 && n / 2 * b->environment_seconds >= piece_seconds) n /= 2;
    return n;
}

/* Environments with seeds of their own share no call of the world. */
static int piece_of(const whole_batch *b) {
    return b->shown.seeds ? 1 : worth_a_thread(b);
}

static int count_pieces(int n, int size) {
    return (n + size - 1) / size;
}

static int most_threads(const whole_batch *b) {
    return b->shown.n_threads > 0 ? b->shown.n_threads : omp_get_max_threads();
}

/* Threads for n environments. */
static int threads_for(const whole_batch *b, int n) {
    const int n_threads = most_threads(b), n_pieces = count_pieces(n, worth_a_thread(b));
    return n_threads < n_pieces ? n_threads : n_pieces;
}

void lud_batch_reset(lud_batch *shown, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    const int size = piece_of(b), n_pieces = count_pieces(shown->n_envs, size);
#pragma omp parallel for schedule(static) num_threads(threads_for(b, shown->n_envs))
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * size, n = shown->n_envs - begin < size ? shown->n_envs - begin : size;
        reset_piece(b, begin, n);
        observe_piece(b, begin, n, out);
    }
}

void lud_batch_reset_some(lud_batch *shown, const uint8_t *chosen, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
#pragma omp parallel for schedule(static, worth_a_thread(b)) num_threads(threads_for(b, shown->n_envs))
    for (int e = 0; e < shown->n_envs; e++) {
        if (!chosen[e]) continue;
        reset_piece(b, e, 1);
        observe_piece(b, e, 1, out);
    }
}

/* What is late because another program ran is not believed for long, nor what was fast by chance. */
static void learn_duration(whole_batch *b, double seconds) {
    const double known = b->environment_seconds * 1.1;
    b->environment_seconds = known == 0.0 || seconds < known ? seconds : known;
    b->steps_untimed = STEPS_UNTIMED;
}

void lud_batch_step(lud_batch *shown, lud_actions actions, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    const int n_stepped = shown->n_stepped, size = piece_of(b), n_pieces = count_pieces(n_stepped, size),
              n_threads = threads_for(b, n_stepped);
    const bool timed = n_stepped > 1 && most_threads(b) > 1 && b->steps_untimed-- <= 0;
    const double began = timed ? lud_clock_seconds() : 0.0;
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * size, n = n_stepped - begin < size ? n_stepped - begin : size;
        step_piece(b, shown->first_stepped + begin, n, actions, out);
    }
    if (timed) learn_duration(b, (lud_clock_seconds() - began) * n_threads / n_stepped);
}

void lud_batch_put(lud_batch *batch, int first, int n, const uint8_t *states) {
    const lud_model *model = batch->model;
    const size_t bytes = model->layout.state_bytes;
    memmove(state_of(batch, first), states, (size_t)n * bytes);
    memset(((whole_batch *)batch)->ended + first, 0, (size_t)n);
    for (int e = first; e < first + n; e++)
        batch->episode_step[e] = model->world->elapsed ? model->world->elapsed(model, state_of(batch, e)) : 0;
}

void lud_batch_observe(lud_batch *shown, void *const *observations) {
    whole_batch *b = (whole_batch *)shown;
    const lud_batch_out out = {.observations = observations};
    const int size = piece_of(b), n_pieces = count_pieces(shown->n_envs, size);
#pragma omp parallel for schedule(static) num_threads(threads_for(b, shown->n_envs))
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * size, n = shown->n_envs - begin < size ? shown->n_envs - begin : size;
        observe_piece(b, begin, n, &out);
    }
}

/* What changes while a batch runs. */
enum { N_CHANGING = 5 };

static void list_changing(const lud_batch *batch, lud_snapshot_part parts[N_CHANGING]) {
    size_t n = (size_t)batch->n_envs;
    parts[0] = (lud_snapshot_part){batch->states, n * batch->model->layout.state_bytes};
    parts[1] = (lud_snapshot_part){batch->tick, n * sizeof *batch->tick};
    parts[2] = (lud_snapshot_part){batch->episode_step, n * sizeof *batch->episode_step};
    parts[3] = (lud_snapshot_part){batch->episode, n * sizeof *batch->episode};
    const bool waits = batch->end == LUD_END_RESETS_NEXT || batch->end == LUD_END_STAYS;
    parts[4] = (lud_snapshot_part){((const whole_batch *)batch)->ended, waits ? n : 0};
}

void lud_batch_divide(lud_batch *batch, const lud_ranks *ranks, int n_shares) {
    const int rank = lud_ranks_rank(ranks);
    batch->first_stepped = (int)lud_ranks_first_item(ranks, batch->n_envs, n_shares, rank);
    batch->n_stepped =
        (int)lud_ranks_first_item(ranks, batch->n_envs, n_shares, rank + 1) - batch->first_stepped;
}

lud_status lud_batch_complete(lud_batch *batch, lud_ranks *ranks, int n_shares, lud_error *error) {
    lud_snapshot_part parts[N_CHANGING];
    lud_ranks_array arrays[N_CHANGING];
    list_changing(batch, parts);
    for (int i = 0; i < N_CHANGING; i++)
        arrays[i] = (lud_ranks_array){parts[i].n > 0 ? parts[i].bytes : NULL,
                                      parts[i].n / (size_t)batch->n_envs, 1, batch->n_envs};
    return lud_ranks_complete(ranks, arrays, N_CHANGING, n_shares, error);
}

size_t lud_batch_snapshot_bytes(const lud_batch *batch) {
    lud_snapshot_part parts[N_CHANGING];
    list_changing(batch, parts);
    return lud_snapshot_bytes(parts, N_CHANGING);
}

void lud_batch_save(const lud_batch *batch, void *snapshot) {
    lud_snapshot_part parts[N_CHANGING];
    list_changing(batch, parts);
    lud_snapshot_save(parts, N_CHANGING, snapshot);
}

lud_status lud_batch_load(lud_batch *batch, const void *snapshot, lud_error *error) {
    lud_snapshot_part parts[N_CHANGING];
    list_changing(batch, parts);
    lud_snapshot_load(parts, N_CHANGING, snapshot);
    for (int e = 0; e < batch->n_envs; e++)
        if (batch->episode_step[e] < 0 || batch->episode_step[e] == INT32_MAX)
            return lud_invalid(error, "environment %d is in step %d of its episode", e,
                               batch->episode_step[e]);
    return lud_world_check_states(batch->model, batch->n_envs, batch->states, error);
}
