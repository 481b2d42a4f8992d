#include "sim/batch.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/snapshot.h"

/* A thread works through its environments in pieces that stay in its cache from step to observe. */
enum { PIECE = 64 };

/* The public struct with what only this file touches. */
typedef struct whole_batch {
    lud_batch shown;
    uint8_t *terminated, *truncated; /* [n_envs] where the caller gives no arrays */
    int max_continuous;
    size_t part_bytes[LUD_MAX_OBSERVATION_PARTS];
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
                           .auto_reset = true,
                           .states = calloc(n, state_bytes ? state_bytes : 1),
                           .tick = calloc(n, sizeof(uint32_t)),
                           .episode_step = calloc(n, sizeof(int32_t)),
                           .episode = calloc(n, sizeof(uint32_t))};
    b->terminated = calloc(n, 1);
    b->truncated = calloc(n, 1);
    for (int i = 0; i < model->layout.n_agents; i++)
        if (model->layout.actions[i].n_continuous > b->max_continuous)
            b->max_continuous = model->layout.actions[i].n_continuous;
    for (int p = 0; p < model->layout.n_parts; p++) b->part_bytes[p] = model->layout.parts[p].bytes;
    if (!b->shown.states || !b->shown.tick || !b->shown.episode_step || !b->shown.episode || !b->terminated ||
        !b->truncated) {
        lud_batch_destroy(&b->shown);
        return lud_no_memory(error, "%d environments of %zu bytes each", n_envs, state_bytes);
    }
    *out = &b->shown;
    return LUD_OK;
}

void lud_batch_destroy(lud_batch *shown) {
    if (!shown) return;
    whole_batch *b = (whole_batch *)shown;
    LUD_FREE(shown->states, shown->tick, shown->episode_step, shown->episode, b->terminated, b->truncated, b);
}

lud_range lud_batch_range(const lud_batch *batch, int first, int n) {
    return (lud_range){.seed = batch->seed,
                       .first_environment = batch->first_environment + (uint32_t)first,
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
}

static void step_piece(whole_batch *b, int begin, int n, lud_actions actions, const lud_batch_out *out) {
    lud_batch *shown = &b->shown;
    const lud_model *model = shown->model;
    size_t state_bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
    lud_actions piece = {.discrete = actions.discrete ? actions.discrete + (size_t)begin * n_agents : NULL,
                         .continuous = actions.continuous ? actions.continuous + (size_t)begin * n_agents *
                                                                                     (size_t)b->max_continuous
                                                          : NULL};
    uint8_t *terminated = (out && out->terminated ? out->terminated : b->terminated) + begin;
    uint8_t *truncated = (out && out->truncated ? out->truncated : b->truncated) + begin;
    lud_outcome outcome = {.rewards = out && out->rewards ? out->rewards + (size_t)begin * n_agents : NULL,
                           .terminated = terminated,
                           .truncated = truncated};
    if (out && out->components)
        outcome.components = out->components + (size_t)begin * n_agents * (size_t)model->layout.n_components;
    model->world->step(model, lud_batch_range(shown, begin, n), state_of(shown, begin), piece, outcome);
    for (int i = 0; i < n; i++) {
        int e = begin + i;
        shown->tick[e]++;
        shown->episode_step[e]++;
        if (!terminated[i] && !truncated[i]) continue;
        shown->episode[e]++;
        if (!shown->auto_reset) continue;
        if (out && out->final_states)
            memcpy(out->final_states + (size_t)e * state_bytes, state_of(shown, e), state_bytes);
        reset_piece(b, e, 1);
    }
    observe_piece(b, begin, n, out);
}

static int threads_of(const lud_batch *batch) {
    int n_threads = batch->n_threads > 0 ? batch->n_threads : omp_get_max_threads();
    int n_pieces = (batch->n_envs + PIECE - 1) / PIECE;
    return n_threads < n_pieces ? n_threads : n_pieces;
}

void lud_batch_reset(lud_batch *shown, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    int n_pieces = (shown->n_envs + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) num_threads(threads_of(shown))
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * PIECE, n = shown->n_envs - begin < PIECE ? shown->n_envs - begin : PIECE;
        reset_piece(b, begin, n);
        observe_piece(b, begin, n, out);
    }
}

void lud_batch_step(lud_batch *shown, lud_actions actions, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    int n_pieces = (shown->n_envs + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) num_threads(threads_of(shown))
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * PIECE, n = shown->n_envs - begin < PIECE ? shown->n_envs - begin : PIECE;
        step_piece(b, begin, n, actions, out);
    }
}

void lud_batch_observe(lud_batch *shown, void *const *observations) {
    const lud_batch_out out = {.observations = observations};
    int n_pieces = (shown->n_envs + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) num_threads(threads_of(shown))
    for (int piece = 0; piece < n_pieces; piece++) {
        int begin = piece * PIECE, n = shown->n_envs - begin < PIECE ? shown->n_envs - begin : PIECE;
        observe_piece((whole_batch *)shown, begin, n, &out);
    }
}

/* What changes while a batch runs. */
enum { N_CHANGING = 4 };

static void list_changing(const lud_batch *batch, lud_snapshot_part parts[N_CHANGING]) {
    size_t n = (size_t)batch->n_envs;
    parts[0] = (lud_snapshot_part){batch->states, n * batch->model->layout.state_bytes};
    parts[1] = (lud_snapshot_part){batch->tick, n * sizeof *batch->tick};
    parts[2] = (lud_snapshot_part){batch->episode_step, n * sizeof *batch->episode_step};
    parts[3] = (lud_snapshot_part){batch->episode, n * sizeof *batch->episode};
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
