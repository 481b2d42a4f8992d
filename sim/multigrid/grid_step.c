#include "sim/multigrid/grid_step.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/merger.h"
#include "sim/multigrid/grid_play.h"

/* The board of the largest grid fits on a thread's stack (130 kB); only the cells of the grid in use are
 * touched. */
typedef struct board {
    uint8_t content[LUD_GRID_MAX_SIDE * LUD_GRID_MAX_SIDE + 1];
    uint8_t start[LUD_GRID_MAX_SIDE * LUD_GRID_MAX_SIDE + 1];
} board;

static void board_begin(lud_grid_run *run, board *scratch, const lud_grid_model *m,
                        const lud_grid_layer *layer) {
    lud_grid_board_begin(run, m, layer, scratch->content, scratch->start);
}

/* --- Reset and step --- */

void lud_grid_reset(const lud_model *model, lud_range range, uint8_t *states) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    for (int e = 0; e < range.n; e++, states += model->layout.state_bytes)
        lud_grid_reset_one(m, (lud_random_key){range.seed, range.first_environment + (uint32_t)e},
                           range.tick[e], states);
}

void lud_grid_step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                   lud_outcome outcome) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    size_t state_bytes = model->layout.state_bytes, n_agents = (size_t)m->n_agents;
    board scratch;
    lud_grid_run run;
    board_begin(&run, &scratch, m, &m->layers[0]);
    for (size_t e = 0; e < (size_t)range.n; e++) {
        uint8_t *state = states + e * state_bytes;
        const lud_grid_layer *layer = lud_grid_layer_of(m, state);
        if (layer != run.layer) board_begin(&run, &scratch, m, layer);
        lud_grid_step_one(&run, state, actions.discrete + e * n_agents,
                          (lud_random_key){range.seed, range.first_environment + (uint32_t)e}, range.tick[e],
                          outcome.rewards ? outcome.rewards + e * n_agents : NULL);
        if (outcome.terminated) outcome.terminated[e] = lud_grid_ends(m, layer, state);
        if (outcome.truncated) outcome.truncated[e] = lud_grid_is_late(m, state);
    }
}

/* --- Successors --- */

bool lud_grid_is_terminal(const lud_model *model, const uint8_t *state) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    return lud_grid_is_late(m, state) || lud_grid_goal_reached(m, lud_grid_layer_of(m, state), state);
}

enum { MAX_OUTCOMES = 1 << 24 };

static double option_probability(const lud_grid_factor *factor, int option) {
    return factor->kind == LUD_FACTOR_BLOCK ? 1.0 / factor->n_options : factor->probability[option];
}

/* The next option of a factor with positive probability, from `option` on; n_options when there is none. */
static int possible_option(const lud_grid_factor *factor, int option) {
    while (option < factor->n_options && option_probability(factor, option) <= 0.0) option++;
    return option;
}

/* Number of outcomes before merging, at most MAX_OUTCOMES + 1; sets the first choice. */
static size_t count_outcomes(const lud_grid_plan *plan, lud_grid_choice *choice) {
    size_t n = 1;
    for (int f = 0; f < plan->n_factors; f++) {
        const lud_grid_factor *factor = &plan->factor[f];
        size_t possible = 0;
        for (int o = possible_option(factor, 0); o < factor->n_options; o = possible_option(factor, o + 1))
            possible++;
        choice->option[f] = (uint8_t)possible_option(factor, 0);
        n *= possible;
        if (n > MAX_OUTCOMES) return MAX_OUTCOMES + 1;
    }
    return n;
}

/* The next combination of choices, the last factor varying fastest; false after the last one. */
static bool next_choice(const lud_grid_plan *plan, lud_grid_choice *choice) {
    for (int f = plan->n_factors - 1; f >= 0; f--) {
        const lud_grid_factor *factor = &plan->factor[f];
        int option = possible_option(factor, choice->option[f] + 1);
        if (option < factor->n_options) {
            choice->option[f] = (uint8_t)option;
            return true;
        }
        choice->option[f] = (uint8_t)possible_option(factor, 0);
    }
    return false;
}

static void enumerate(lud_grid_run *run, const lud_grid_plan *plan, lud_grid_choice *choice,
                      const uint8_t *planned, lud_merger *merger, lud_successors *out) {
    do {
        uint8_t *state = out->states + out->n * out->state_bytes;
        memcpy(state, planned, out->state_bytes);
        lud_grid_load(run, state);
        lud_grid_play_choices(run, plan, choice);
        lud_grid_unload(run);
        double probability = 1.0;
        for (int f = 0; f < plan->n_factors; f++)
            probability *= option_probability(&plan->factor[f], choice->option[f]);
        lud_merger_add(merger, out, probability);
    } while (next_choice(plan, choice));
}

lud_status lud_grid_successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                               lud_successors *out, lud_error *error) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    size_t state_bytes = model->layout.state_bytes;
    for (int i = 0; i < m->n_agents; i++) assert(joint_action[i] >= 0 && joint_action[i] < m->n_actions);
    out->n = 0;
    /* One entry more than outcomes: the planned state, without forced actions, stays in the last one. */
    lud_status status = lud_successors_reserve(out, state_bytes, 2, error);
    if (status || lud_grid_is_terminal(model, state)) return status;
    board scratch;
    lud_grid_run run;
    lud_grid_plan plan;
    lud_grid_choice choice;
    board_begin(&run, &scratch, m, lud_grid_layer_of(m, state));
    memcpy(out->states, state, state_bytes);
    lud_grid_load(&run, out->states);
    const bool quick = lud_grid_is_quick(&run, joint_action);
    if (quick)
        lud_grid_play_quickly(&run, joint_action);
    else
        lud_grid_make_plan(&run, joint_action, &plan);
    if (quick || plan.certain) {
        if (!quick) lud_grid_play_in_order(&run, &plan);
        lud_grid_unload(&run);
        out->probability[0] = 1.0;
        out->n = 1;
        return LUD_OK;
    }
    lud_grid_unload(&run);
    size_t n = count_outcomes(&plan, &choice);
    if (n > MAX_OUTCOMES)
        return lud_fail(error, LUD_ERROR_LIMIT, "a joint action has more than %d outcomes",
                        (int)MAX_OUTCOMES);
    LUD_TRY(lud_successors_reserve(out, state_bytes, n + 1, error));
    uint8_t *planned = out->states + n * state_bytes;
    memcpy(planned, out->states, state_bytes);
    lud_merger merger;
    LUD_TRY(lud_merger_begin(&merger, n, error));
    enumerate(&run, &plan, &choice, planned, &merger, out);
    lud_merger_end(&merger);
    return LUD_OK;
}

/* What agents from one on do together. */
typedef struct company {
    uint64_t claimed;
    bool alone; /* each of them, and no two claim the same cell */
} company;

static company join(company others, const lud_grid_deed *deed) {
    return (company){others.claimed | deed->claim,
                     others.alone && deed->alone && !(others.claimed & deed->claim)};
}

static void put_deed(const lud_grid_model *m, int i, const lud_grid_deed *deed, uint8_t *state) {
    lud_grid_put_cell(m, state, m->at.cell, i, deed->cell);
    state[m->at.agent + (uint32_t)i] = deed->byte;
}

/* Puts successors behind others, with room for `more` behind them. */
static lud_status append(const lud_successors *from, size_t more, lud_successors *to, lud_error *error) {
    LUD_TRY(lud_successors_reserve(to, from->state_bytes, from->n + more, error));
    memcpy(to->states + to->n * to->state_bytes, from->states, from->n * from->state_bytes);
    memcpy(to->probability + to->n, from->probability, from->n * sizeof *from->probability);
    to->n += from->n;
    return LUD_OK;
}

/* memcpy of few bytes, without a call: words that overlap at the end. */
static inline void copy_state(uint8_t *restrict to, const uint8_t *restrict from, size_t n) {
    if (n < sizeof(uint64_t)) {
        memcpy(to, from, n);
        return;
    }
    uint64_t word;
    for (size_t at = 0; at < n; at += sizeof word) {
        const size_t begin = at + sizeof word <= n ? at : n - sizeof word;
        memcpy(&word, from + begin, sizeof word);
        memcpy(to + begin, &word, sizeof word);
    }
}

lud_status lud_grid_all_successors(const lud_model *model, const uint8_t *state, lud_successors *scratch,
                                   lud_successors *out, uint32_t *count, lud_error *error) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    const size_t state_bytes = model->layout.state_bytes;
    const int n_agents = m->n_agents, n_actions = m->n_actions;
    const int32_t n_joint = lud_joint_action_count(&model->layout);
    out->n = 0;
    LUD_TRY(lud_successors_reserve(out, state_bytes, 1, error));
    memset(count, 0, (size_t)n_joint * sizeof *count);
    if (lud_grid_is_terminal(model, state)) return LUD_OK;
    board scratch_board;
    lud_grid_run run;
    lud_grid_deed deeds[LUD_GRID_MAX_AGENTS][LUD_GRID_IDLE];
    company from[LUD_GRID_MAX_AGENTS + 1];
    int32_t joint_action[LUD_GRID_MAX_AGENTS] = {0};
    LUD_TRY(lud_successors_reserve(scratch, state_bytes, 1, error));
    memcpy(scratch->states, state, state_bytes); /* loading does not change it */
    board_begin(&run, &scratch_board, m, lud_grid_layer_of(m, state));
    lud_grid_load(&run, scratch->states);
    for (int i = 0; i < n_agents; i++)
        for (int a = 0; a < n_actions; a++) deeds[i][a] = lud_grid_deed_of(&run, i, a);
    /* the successor of deeds that are all alone, but for agent 0, whose actions change fastest */
    uint8_t few[64], *together = state_bytes <= sizeof few ? few : malloc(state_bytes);
    if (!together) return lud_no_memory(error, "successors");
    memcpy(together, state, state_bytes);
    lud_grid_count_step(m, together);
    from[n_agents] = (company){0, m->quick.possible && n_agents > 0};
    for (int i = n_agents - 1; i > 0; i--) {
        from[i] = join(from[i + 1], &deeds[i][0]);
        put_deed(m, i, &deeds[i][0], together);
    }
    lud_status status = lud_successors_reserve(out, state_bytes, (size_t)n_joint, error);
    for (int32_t k = 0; k < n_joint && !status; k++) {
        const lud_grid_deed *first = &deeds[0][joint_action[0]];
        if (from[n_agents > 0].alone && join(from[1], first).alone) {
            uint8_t *next = out->states + out->n * state_bytes;
            copy_state(next, together, state_bytes);
            put_deed(m, 0, first, next);
            out->probability[out->n++] = 1.0;
            count[k] = 1;
        } else {
            status = lud_grid_successors(model, state, joint_action, scratch, error);
            count[k] = (uint32_t)scratch->n;
            if (!status) status = append(scratch, (size_t)(n_joint - k), out, error);
        }
        int changed = 0; /* the next joint action */
        for (; changed < n_agents && joint_action[changed] + 1 == n_actions; changed++)
            joint_action[changed] = 0;
        if (changed < n_agents) joint_action[changed]++;
        for (int i = changed < n_agents ? changed : 0; i > 0; i--) {
            from[i] = join(from[i + 1], &deeds[i][joint_action[i]]);
            put_deed(m, i, &deeds[i][joint_action[i]], together);
        }
    }
    if (together != few) free(together);
    return status;
}
