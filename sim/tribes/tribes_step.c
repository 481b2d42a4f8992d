/* The readings of the rules: sampling a step and listing its successors; and the state at the start. */
#include <assert.h>
#include <string.h>

#include "sim/merger.h"
#include "sim/tribes/tribes_parts.h"
#include "sim/tribes/tribes_rules.h"

/* The board of the largest map fits on a thread's stack (66 kB); only the cells of the map in use are
 * touched. */
typedef struct board {
    int16_t at[LUD_TRIBES_MAX_SIDE * LUD_TRIBES_MAX_SIDE + 1];
    int16_t claim[LUD_TRIBES_MAX_SIDE * LUD_TRIBES_MAX_SIDE + 1];
} board;

static void board_begin(lud_tribes_run *run, board *scratch, const lud_tribes_model *m) {
    *run = (lud_tribes_run){.m = m, .at = scratch->at, .claim = scratch->claim};
    memset(scratch->at, 0xff, ((size_t)m->n_cells + 1) * sizeof *scratch->at);
    memset(scratch->claim, 0xff, ((size_t)m->n_cells + 1) * sizeof *scratch->claim);
}

/* --- Reset --- */

static void place_at_random(const lud_tribes_model *m, const lud_tribes_map *map, lud_random_key key,
                            uint32_t tick, uint8_t *state) {
    for (int i = 0; i < m->n_agents; i++) {
        int cell = 0;
        bool taken = true;
        for (uint32_t lane = 0; taken; lane++) {
            const lud_words words = lud_draw(key, tick, (uint32_t)i, LUD_PURPOSE_RESET, 1 + lane);
            /* after so many refusals on a crowded map the first cell that is left is as good as any */
            const uint32_t k = lane < 1000 ? lud_below(words.v[0], (uint32_t)map->n_free) : lane - 1000;
            cell = map->free[k];
            taken = false;
            for (int j = 0; j < i && !taken; j++) taken = lud_tribes_cell(m, state, j) == cell;
        }
        lud_tribes_put(state + m->at.cell + 2 * (uint32_t)i, 2, (uint32_t)cell);
    }
}

void lud_tribes_reset(const lud_model *model, lud_range range, uint8_t *states) {
    const lud_tribes_model *m = lud_tribes_of(model);
    for (int e = 0; e < range.n; e++, states += model->layout.state_bytes) {
        const lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
        memset(states, 0, model->layout.state_bytes);
        if (m->spec.n_maps > 1)
            states[m->at.map] = (uint8_t)lud_below(lud_draw(key, range.tick[e], 0, LUD_PURPOSE_RESET, 0).v[0],
                                                   (uint32_t)m->spec.n_maps);
        const lud_tribes_map *map = lud_tribes_map_of(m, states);
        if (m->spec.random_start)
            place_at_random(m, map, key, range.tick[e], states);
        else
            for (int i = 0; i < m->n_agents; i++)
                lud_tribes_put(states + m->at.cell + 2 * (uint32_t)i, 2, map->start[i]);
        memset(states + m->at.stock, (int)m->spec.stock, (size_t)m->n_fields);
        if (m->spec.health > 0) memset(states + m->at.health, (int)m->spec.health, (size_t)m->n_agents);
    }
}

/* --- Step --- */

bool lud_tribes_is_alive(const lud_model *model, const uint8_t *state, int agent) {
    return lud_tribes_cell(lud_tribes_of(model), state, agent) != LUD_TRIBES_NOBODY;
}

static bool all_dead(const lud_tribes_model *m, const uint8_t *state) {
    for (int i = 0; i < m->n_agents; i++)
        if (lud_tribes_cell(m, state, i) != LUD_TRIBES_NOBODY) return false;
    return true;
}

bool lud_tribes_is_terminal(const lud_model *model, const uint8_t *state) {
    const lud_tribes_model *m = lud_tribes_of(model);
    return lud_tribes_step_count(m, state) >= m->spec.max_steps || all_dead(m, state);
}

/* Amounts become weighted components, their sums the rewards. parts[n_agents][components] */
static void weigh(const lud_tribes_model *m, float *parts, float *rewards) {
    const double *weight = m->spec.rewards.of;
    for (int t = 0; t < m->spec.n_teams; t++) {
        float sum = 0;
        for (int i = m->team_begin[t]; i < m->team_begin[t + 1]; i++) {
            float *part = parts + i * LUD_TRIBES_COMPONENTS, own = 0;
            for (int k = 0; k < LUD_TRIBES_SHARED; k++) {
                part[k] *= (float)weight[k];
                own += part[k];
            }
            sum += own;
            if (rewards) rewards[i] = own;
        }
        const int n = m->team_begin[t + 1] - m->team_begin[t];
        const float shared = (float)weight[LUD_TRIBES_SHARED] * sum / (float)n;
        for (int i = m->team_begin[t]; i < m->team_begin[t + 1]; i++) {
            parts[i * LUD_TRIBES_COMPONENTS + LUD_TRIBES_SHARED] = shared;
            if (rewards) rewards[i] += shared;
        }
    }
}

void lud_tribes_step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                     lud_outcome outcome) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const size_t n_agents = (size_t)m->n_agents, n_parts = n_agents * LUD_TRIBES_COMPONENTS;
    float scratch_parts[LUD_TRIBES_MAX_AGENTS * LUD_TRIBES_COMPONENTS];
    board scratch;
    lud_tribes_run run;
    board_begin(&run, &scratch, m);
    for (size_t e = 0; e < (size_t)range.n; e++) {
        run.state = states + e * model->layout.state_bytes;
        run.map = lud_tribes_map_of(m, run.state);
        run.actions = actions.discrete + e * n_agents;
        run.key = (lud_random_key){range.seed, range.first_environment + (uint32_t)e};
        run.tick = range.tick[e];
        for (size_t i = 0; i < n_agents; i++)
            assert(run.actions[i] >= 0 && run.actions[i] < LUD_TRIBES_ACTIONS);
        if (outcome.components)
            run.part = outcome.components + e * n_parts;
        else if (outcome.rewards)
            run.part = scratch_parts;
        if (run.part) memset(run.part, 0, n_parts * sizeof *run.part);
        lud_tribes_play(&run);
        if (run.part) weigh(m, run.part, outcome.rewards ? outcome.rewards + e * n_agents : NULL);
        const bool dead = all_dead(m, run.state);
        if (outcome.terminated) outcome.terminated[e] = dead;
        if (outcome.truncated)
            outcome.truncated[e] = lud_tribes_step_count(m, run.state) >= m->spec.max_steps;
    }
}

/* --- Successors --- */

static lud_status list_courses(lud_tribes_run *run, const uint8_t *state, lud_successors *out,
                               lud_error *error) {
    lud_tribes_course course = {0};
    run->course = &course;
    do {
        if (out->n == LUD_TRIBES_MAX_COURSES || course.too_long)
            return lud_fail(error, LUD_ERROR_LIMIT, "a joint action has more than %d outcomes",
                            (int)LUD_TRIBES_MAX_COURSES);
        LUD_TRY(lud_successors_reserve(out, run->m->base.layout.state_bytes, 1, error));
        run->state = out->states + out->n * out->state_bytes;
        memcpy(run->state, state, out->state_bytes);
        lud_tribes_play(run);
        out->probability[out->n++] = lud_tribes_course_probability(&course);
    } while (lud_tribes_next_course(&course));
    return LUD_OK;
}

lud_status lud_tribes_successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                                 lud_successors *out, lud_error *error) {
    const lud_tribes_model *m = lud_tribes_of(model);
    out->n = 0;
    if (lud_tribes_is_terminal(model, state)) return LUD_OK;
    board scratch;
    lud_tribes_run run;
    board_begin(&run, &scratch, m);
    run.map = lud_tribes_map_of(m, state);
    run.actions = joint_action;
    LUD_TRY(list_courses(&run, state, out, error));
    const size_t n = out->n, bytes = out->state_bytes;
    lud_merger merger;
    LUD_TRY(lud_merger_begin(&merger, n, error));
    out->n = 0;
    for (size_t k = 0; k < n; k++) {
        memmove(out->states + out->n * bytes, out->states + k * bytes, bytes);
        lud_merger_add(&merger, out, out->probability[k]);
    }
    lud_merger_end(&merger);
    return LUD_OK;
}
