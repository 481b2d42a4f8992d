#include "learn/episodes/replay.h"

#include <math.h>
#include <string.h>

void lud_state_hash_begin(lud_state_hash *hash) {
    XXH3_64bits_reset(&hash->state);
    hash->n = 0;
}

bool lud_state_hash_add(lud_state_hash *hash, const uint8_t *state, size_t bytes, bool last,
                        uint64_t *value) {
    XXH3_64bits_update(&hash->state, state, bytes);
    hash->n++;
    if (!last && hash->n % LUD_HASH_INTERVAL) return false;
    *value = XXH3_64bits_digest(&hash->state);
    return true;
}

/* What comes from a file may be anything; what a world is given is not checked there. */
static lud_status check_actions(const lud_replay *r, lud_error *error) {
    const lud_layout *layout = &r->model->layout;
    const int width = lud_max_continuous(layout);
    for (int32_t t = 0; t < r->facts->length; t++)
        for (int i = 0; i < layout->n_agents; i++) {
            const lud_action_space *space = &layout->actions[i];
            const size_t at = (size_t)t * (size_t)layout->n_agents + (size_t)i;
            if (space->n_discrete &&
                (!r->discrete || r->discrete[at] < 0 || r->discrete[at] >= space->n_discrete))
                return lud_invalid(error, "step %d, agent %d: expected an action from 0 to %d, found %d", t,
                                   i, space->n_discrete - 1, r->discrete ? r->discrete[at] : -1);
            for (int d = 0; d < space->n_continuous; d++)
                if (!r->continuous || !isfinite(r->continuous[at * (size_t)width + (size_t)d]))
                    return lud_invalid(error, "step %d, agent %d: expected a finite number", t, i);
        }
    return LUD_OK;
}

lud_status lud_replay_states(const lud_replay *r, lud_error *error) {
    const lud_layout *layout = &r->model->layout;
    const size_t state_bytes = layout->state_bytes, n_agents = (size_t)layout->n_agents;
    LUD_TRY(check_actions(r, error));
    const size_t width = (size_t)lud_max_continuous(layout);
    const lud_range start = {.seed = r->facts->seed,
                             .first_environment = r->facts->environment,
                             .n = 1,
                             .tick = &r->facts->first_tick};
    r->model->world->reset(r->model, start, r->states);
    for (int32_t t = 0; t < r->facts->length; t++) {
        uint8_t *next = r->states + (size_t)(t + 1) * state_bytes;
        memcpy(next, next - state_bytes, state_bytes);
        const uint32_t tick = r->facts->first_tick + (uint32_t)t;
        const lud_range range = {
            .seed = r->facts->seed, .first_environment = r->facts->environment, .n = 1, .tick = &tick};
        const lud_actions actions = {
            .discrete = r->discrete ? r->discrete + (size_t)t * n_agents : NULL,
            .continuous = r->continuous && width ? r->continuous + (size_t)t * n_agents * width : NULL};
        uint8_t terminated, truncated;
        r->model->world->step(r->model, range, next, actions,
                              (lud_outcome){.rewards = r->rewards ? r->rewards + (size_t)t * n_agents : NULL,
                                            .terminated = &terminated,
                                            .truncated = &truncated});
    }
    return LUD_OK;
}

void lud_replay_observe(const lud_replay *r, int32_t first, int32_t n, void *const *parts) {
    const lud_layout *layout = &r->model->layout;
    for (int32_t t = 0; t < n; t++) {
        void *to[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int p = 0; p < layout->n_parts; p++)
            if (parts[p]) to[p] = (char *)parts[p] + (size_t)t * layout->parts[p].bytes;
        const uint32_t tick = r->facts->first_tick + (uint32_t)(first + t);
        const lud_range range = {
            .seed = r->facts->seed, .first_environment = r->facts->environment, .n = 1, .tick = &tick};
        r->model->world->observe(r->model, range, r->states + (size_t)(first + t) * layout->state_bytes, to);
    }
}
