#include <stdlib.h>
#include <string.h>

#include "library/handles.h"

_Static_assert((int)LUDUS_END_STAYS == (int)LUD_END_STAYS, "ends have the same numbers");

void ludus_batch_free(ludus_batch *batch) {
    if (!batch) return;
    lud_batch_destroy(batch->inner);
    LUD_FREE(batch->seeds, batch->final_states, batch->terminated, batch->truncated, batch);
}

/* Seeds of the caller's, copied; null: one for all. */
static ludus_status take_seeds(ludus_batch *b, uint64_t seed, const uint64_t *seeds, ludus_error *error) {
    const size_t bytes = (size_t)b->inner->n_envs * sizeof *seeds;
    if (seeds && !b->seeds && !(b->seeds = malloc(bytes))) return ludus_no_memory(error);
    if (seeds) memcpy(b->seeds, seeds, bytes);
    b->inner->seed = seed;
    b->inner->seeds = seeds ? b->seeds : NULL;
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_batch_create(const ludus_scenario *scenario, const ludus_batch_options *options,
                                ludus_batch **batch, ludus_error *error) {
    LUDUS_REQUIRE(batch, error);
    *batch = NULL;
    LUDUS_REQUIRE(scenario && options, error);
    LUDUS_REQUIRE(options->n_environments >= 1 && options->n_environments <= 1 << 24, error);
    LUDUS_REQUIRE(options->n_threads >= 0 && options->n_threads <= 4096, error);
    LUDUS_REQUIRE((unsigned)options->end <= LUDUS_END_STAYS, error);
    const size_t n = (size_t)options->n_environments;
    ludus_batch *b = calloc(1, sizeof *b);
    if (!b) return ludus_no_memory(error);
    b->scenario = scenario;
    lud_error inner = {0};
    lud_status made = lud_batch_create(scenario->inner->model, options->n_environments, options->seed,
                                       options->first_environment, &b->inner, &inner);
    b->terminated = calloc(n, 1);
    b->truncated = calloc(n, 1);
    if (!made && (!b->terminated || !b->truncated)) made = lud_no_memory(&inner, "a batch");
    ludus_status status = ludus_lift(made, &inner, error);
    if (!status) {
        b->inner->n_threads = options->n_threads;
        b->inner->end = (lud_batch_end)options->end;
        status = take_seeds(b, options->seed, options->seeds, error);
    }
    if (status) {
        ludus_batch_free(b);
        return status;
    }
    lud_batch_reset(b->inner, NULL); /* so that there are states before the first reset */
    *batch = b;
    return LUDUS_OK;
}

ludus_status ludus_batch_seed(ludus_batch *batch, const uint8_t *chosen, uint64_t seed, const uint64_t *seeds,
                              ludus_error *error) {
    LUDUS_REQUIRE(batch, error);
    lud_batch *b = batch->inner;
    if (chosen && !b->seeds)
        return ludus_invalid(error,
                             "some environments get new seeds: expected a batch with seeds of their own");
    if (!chosen) {
        const ludus_status status = take_seeds(batch, seed, seeds, error);
        if (status) return status;
    }
    for (int e = 0; e < b->n_envs; e++) {
        if (chosen && !chosen[e]) continue;
        if (chosen) batch->seeds[e] = seeds ? seeds[e] : seed;
        b->tick[e] = b->episode[e] = 0;
    }
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_batch_reset(ludus_batch *batch, const uint8_t *chosen, const ludus_out *out,
                               ludus_error *error) {
    LUDUS_REQUIRE(batch, error);
    const lud_batch_out inner = {.observations = out ? out->observations : NULL};
    for (int e = 0; e < batch->inner->n_envs; e++) {
        if (chosen && !chosen[e]) continue;
        /* an episode that nobody has stepped is not drawn again but for the first, which is the batch's own
         */
        if (batch->inner->episode[e] && !batch->inner->episode_step[e]) batch->inner->tick[e]++;
        batch->inner->episode[e]++;
    }
    if (chosen)
        lud_batch_reset_some(batch->inner, chosen, &inner);
    else
        lud_batch_reset(batch->inner, &inner);
    return ludus_lift(LUD_OK, NULL, error);
}

int ludus_wrong_choice(const lud_layout *layout, const int32_t *choices) {
    for (int i = 0; i < layout->n_agents; i++)
        if (layout->actions[i].n_discrete && (uint32_t)choices[i] >= (uint32_t)layout->actions[i].n_discrete)
            return i;
    return -1;
}

/* Numbers of one environment that are in range. numbers[n_agents][most] */
static ludus_status check_numbers(const lud_layout *layout, size_t e, size_t most, const float *numbers,
                                  ludus_error *error) {
    for (size_t i = 0; i < (size_t)layout->n_agents; i++) {
        const lud_action_space *space = &layout->actions[i];
        for (size_t k = 0; k < (size_t)space->n_continuous; k++) {
            const float value = numbers[i * most + k];
            if (!(value >= space->low && value <= space->high))
                return ludus_invalid(error, "environment %zu, agent %zu: number %zu is %g, expected %g to %g",
                                     e, i, k, (double)value, (double)space->low, (double)space->high);
        }
    }
    return LUDUS_OK;
}

/* Choices and numbers in range; the first agent that has none of its own is named. */
static ludus_status check_actions(const ludus_batch *b, const ludus_actions *actions, ludus_error *error) {
    const lud_layout *layout = &b->inner->model->layout;
    const size_t most = (size_t)b->scenario->max_continuous, n_agents = (size_t)layout->n_agents;
    LUDUS_REQUIRE(actions->discrete || !b->scenario->max_actions, error);
    LUDUS_REQUIRE(actions->continuous || !most, error);
    ludus_status status = LUDUS_OK;
    for (size_t e = 0; e < (size_t)b->inner->n_envs && !status; e++) {
        const int32_t *choices = actions->discrete ? actions->discrete + e * n_agents : NULL;
        const int wrong = b->scenario->max_actions ? ludus_wrong_choice(layout, choices) : -1;
        if (wrong >= 0)
            return ludus_invalid(error, "environment %zu, agent %d: choice %d, expected 0 to %d", e, wrong,
                                 (int)choices[wrong], layout->actions[wrong].n_discrete - 1);
        if (most) status = check_numbers(layout, e, most, actions->continuous + e * n_agents * most, error);
    }
    return status;
}

/* Last observations of the episodes that the step ended. */
static void observe_ends(const ludus_batch *b, const lud_batch_out *done, void *const *to) {
    const lud_model *model = b->inner->model;
    for (int e = 0; e < b->inner->n_envs; e++) {
        if (!done->terminated[e] && !done->truncated[e]) continue;
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int p = 0; p < model->layout.n_parts; p++)
            if (to[p]) parts[p] = (char *)to[p] + (size_t)e * model->layout.parts[p].bytes;
        model->world->observe(model, lud_batch_range(b->inner, e, 1),
                              done->final_states + (size_t)e * model->layout.state_bytes, parts);
    }
}

static void tell_ends(const lud_batch_out *done, int n, const ludus_out *out) {
    int32_t n_ended = 0;
    for (int e = 0; e < n; e++) {
        const uint8_t ended = done->terminated[e] | done->truncated[e];
        n_ended += ended != 0;
        if (out->ended) out->ended[e] = ended;
    }
    if (out->n_ended) *out->n_ended = n_ended;
}

static void add_rewards(const ludus_batch *b, const ludus_out *out) {
    const int n_agents = b->inner->model->layout.n_agents;
    for (int e = 0; e < b->inner->n_envs; e++) {
        const float *rewards = out->rewards + (size_t)e * (size_t)n_agents;
        float sum = 0.0f;
        for (int i = 0; i < n_agents; i++) sum += rewards[i];
        out->team_rewards[e] = sum;
    }
}

ludus_status ludus_batch_step(ludus_batch *batch, const ludus_actions *actions, const ludus_out *out,
                              ludus_error *error) {
    LUDUS_REQUIRE(batch && actions, error);
    const ludus_status status = check_actions(batch, actions, error);
    if (status) return status;
    if (out && out->team_rewards && !out->rewards)
        return ludus_invalid(error,
                             "team_rewards are the sums of rewards: expected a place for those, found null");
    const lud_model *model = batch->inner->model;
    const bool resets = out && batch->inner->end == LUD_END_RESETS,
               ends = resets && out->final_observations && model->world->observe;
    if (ends && !out->final_states && !batch->final_states &&
        !(batch->final_states = malloc((size_t)batch->inner->n_envs * (model->layout.state_bytes + 1))))
        return ludus_no_memory(error);
    lud_batch_out inner = {.terminated = batch->terminated, .truncated = batch->truncated};
    if (out) {
        inner.observations = out->observations;
        inner.rewards = out->rewards;
        inner.components = out->components;
        if (out->terminated) inner.terminated = out->terminated;
        if (out->truncated) inner.truncated = out->truncated;
    }
    if (resets)
        inner.final_states = out->final_states ? out->final_states : ends ? batch->final_states : NULL;
    lud_batch_step(batch->inner,
                   (lud_actions){.discrete = actions->discrete, .continuous = actions->continuous}, &inner);
    if (ends) observe_ends(batch, &inner, out->final_observations);
    if (out && out->team_rewards) add_rewards(batch, out);
    if (out && (out->ended || out->n_ended)) tell_ends(&inner, batch->inner->n_envs, out);
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_batch_observe(ludus_batch *batch, void *const *observations, ludus_error *error) {
    LUDUS_REQUIRE(batch && observations, error);
    lud_batch_observe(batch->inner, observations);
    return ludus_lift(LUD_OK, NULL, error);
}

/* The part of the observation that says which choices there are; -1: every choice always is. */
static int mask_part(const lud_layout *layout) {
    for (int p = 0; p < layout->n_parts; p++)
        if (layout->parts[p].kind == LUD_OBSERVATION_MASK && layout->parts[p].dtype == LUD_U8) return p;
    return -1;
}

ludus_status ludus_batch_masks(const ludus_batch *batch, uint8_t *masks, ludus_error *error) {
    LUDUS_REQUIRE(batch && masks, error);
    const lud_model *model = batch->inner->model;
    const lud_layout *layout = &model->layout;
    const size_t most = (size_t)batch->scenario->max_actions, n_agents = (size_t)layout->n_agents,
                 row = n_agents * most;
    const int part = mask_part(layout);
    memset(masks, 0, (size_t)batch->inner->n_envs * row);
    for (int e = 0; e < batch->inner->n_envs; e++) {
        const uint8_t *state = batch->inner->states + (size_t)e * layout->state_bytes;
        for (size_t i = 0; i < n_agents; i++) {
            uint8_t *mask = masks + (size_t)e * row + i * most;
            const bool alive = !model->world->is_alive || model->world->is_alive(model, state, (int)i);
            if (alive && part < 0) memset(mask, 1, (size_t)layout->actions[i].n_discrete);
            if (!alive && layout->idle && layout->idle[i] >= 0) mask[layout->idle[i]] = 1;
        }
        if (part < 0) continue;
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        const size_t bytes = layout->parts[part].bytes;
        if (bytes != row)
            return ludus_invalid(error, "masks of %s have another shape", batch->scenario->inner->name);
        parts[part] = masks + (size_t)e * row;
        model->world->observe(model, lud_batch_range(batch->inner, e, 1), state, parts);
    }
    return ludus_lift(LUD_OK, NULL, error);
}

const uint8_t *ludus_batch_states(const ludus_batch *batch) {
    return batch ? batch->inner->states : NULL;
}

const int32_t *ludus_batch_steps(const ludus_batch *batch) {
    return batch ? batch->inner->episode_step : NULL;
}

ludus_status ludus_batch_set_states(ludus_batch *batch, int first, int n, const uint8_t *states,
                                    ludus_error *error) {
    LUDUS_REQUIRE(batch && states, error);
    LUDUS_REQUIRE(first >= 0 && n >= 0 && n <= batch->inner->n_envs - first, error);
    lud_error inner = {0};
    const lud_status status = lud_world_check_states(batch->inner->model, n, states, &inner);
    if (!status) lud_batch_put(batch->inner, first, n, states);
    return ludus_lift(status, &inner, error);
}

size_t ludus_batch_snapshot_bytes(const ludus_batch *batch) {
    return batch ? lud_batch_snapshot_bytes(batch->inner) : 0;
}

ludus_status ludus_batch_save(const ludus_batch *batch, void *snapshot, ludus_error *error) {
    LUDUS_REQUIRE(batch && snapshot, error);
    lud_batch_save(batch->inner, snapshot);
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_batch_load(ludus_batch *batch, const void *snapshot, ludus_error *error) {
    LUDUS_REQUIRE(batch && snapshot, error);
    void *before = malloc(lud_batch_snapshot_bytes(batch->inner));
    if (!before) return ludus_no_memory(error);
    lud_error inner = {0};
    lud_batch_save(batch->inner, before);
    const lud_status status = lud_batch_load(batch->inner, snapshot, &inner);
    lud_error ignored = {0};
    if (status) (void)!lud_batch_load(batch->inner, before, &ignored);
    free(before);
    return ludus_lift(status, &inner, error);
}
