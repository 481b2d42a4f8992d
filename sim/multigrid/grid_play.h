/* One environment's reset and step, as both grid_step.c and a device run them: grid_quick.h where nothing is
 * left to chance, else a plan of grid_rules.h, whose choices are drawn. The functions compile as C and as
 * CUDA. */
#pragma once

#include <string.h>

#include "sim/multigrid/grid_quick.h"

/* --- Reset --- */

LUD_HD static inline void lud_grid_reset_agents(const lud_grid_model *m, const lud_grid_layer *layer,
                                                lud_random_key key, uint32_t tick, uint8_t *state) {
    for (int i = 0; i < m->n_agents; i++) {
        uint32_t cell = 0;
        bool taken = true;
        for (uint32_t lane = 0; taken; lane++) {
            lud_words words = lud_draw(key, tick, (uint32_t)i, LUD_PURPOSE_RESET, 1 + lane);
            /* After so many refusals on a crowded map the first cell that is left is as good as any. */
            uint32_t k = lane < 1000 ? lud_below(words.v[0], (uint32_t)layer->n_free) : lane - 1000;
            cell = layer->free_cell[k];
            taken = false;
            for (int j = 0; j < i; j++) taken |= lud_grid_get_cell(m, state, m->at.cell, j) == cell;
            state[m->at.agent + (uint32_t)i] = (uint8_t)lud_below(words.v[1], 4);
        }
        lud_grid_put_cell(m, state, m->at.cell, i, cell);
    }
}

/* The initial state of one environment: a map, where there are several, and its agents' places. */
LUD_HD static inline void lud_grid_reset_one(const lud_grid_model *m, lud_random_key key, uint32_t tick,
                                             uint8_t *state) {
    uint32_t map = 0;
    if (m->n_maps > 1)
        map = lud_below(lud_draw(key, tick, 0, LUD_PURPOSE_RESET, 0).v[0], (uint32_t)m->n_maps);
    memcpy(state, m->layers[map].initial, m->model.layout.state_bytes);
    if (m->spec.random_start) lud_grid_reset_agents(m, &m->layers[map], key, tick, state);
}

/* --- Step --- */

/* Clears a board for states of a layout; content[n_cells + 1] and start[n_cells + 1] are the caller's. */
LUD_HD static inline void lud_grid_board_begin(lud_grid_run *run, const lud_grid_model *m,
                                               const lud_grid_layer *layer, uint8_t *content,
                                               uint8_t *start) {
    run->m = m;
    run->layer = layer;
    run->content = content;
    run->start = start;
    run->reward = NULL;
    memcpy(content, layer->base, (size_t)m->n_cells + 1);
    memset(start, 0, (size_t)m->n_cells + 1);
}

LUD_HD static inline bool lud_grid_all_terminated(const lud_grid_model *m, const uint8_t *state) {
    uint8_t flags = LUD_AGENT_TERMINATED;
    for (int i = 0; i < m->n_agents; i++) flags &= state[m->at.agent + (uint32_t)i];
    return m->n_agents > 0 && flags;
}

LUD_HD static inline void lud_grid_begin_rewards(const lud_grid_model *m, const uint8_t *state,
                                                 float *reward) {
    for (int i = 0; i < m->n_agents; i++)
        reward[i] =
            state[m->at.agent + (uint32_t)i] & LUD_AGENT_TERMINATED ? 0.0f : (float)m->spec.rewards.step;
}

LUD_HD static inline void lud_grid_share_rewards(const lud_grid_model *m, float *reward) {
    float sum = 0;
    for (int i = 0; i < m->n_agents; i++) sum += reward[i];
    for (int i = 0; i < m->n_agents; i++) reward[i] = sum;
}

LUD_HD static inline void lud_grid_play_plan(lud_grid_run *run, const int32_t *joint_action,
                                             lud_random_key key, uint32_t tick) {
    lud_grid_plan plan;
    lud_grid_make_plan(run, joint_action, &plan);
    if (plan.certain) {
        lud_grid_play_in_order(run, &plan);
        return;
    }
    lud_grid_choice choice;
    lud_grid_sample(&plan, key, tick, &choice);
    lud_grid_play_choices(run, &plan, &choice);
}

/* One step of the state of one environment, on a board that is clear for its layout and is so afterwards.
 * joint_action[n_agents]; reward[n_agents], null: not wanted. */
LUD_HD static inline void lud_grid_step_one(lud_grid_run *run, uint8_t *state, const int32_t *joint_action,
                                            lud_random_key key, uint32_t tick, float *reward) {
    const lud_grid_model *m = run->m;
    run->reward = m->has_rewards ? reward : NULL;
    if (run->reward)
        lud_grid_begin_rewards(m, state, reward);
    else if (reward)
        memset(reward, 0, (size_t)m->n_agents * sizeof *reward);
    lud_grid_load(run, state);
    if (lud_grid_is_quick(run, joint_action))
        lud_grid_play_quickly(run, joint_action);
    else
        lud_grid_play_plan(run, joint_action, key, tick);
    lud_grid_unload(run);
    if (run->reward && m->spec.rewards.shared) lud_grid_share_rewards(m, reward);
}

/* Whether the rules of the world end the episode in this state. */
LUD_HD static inline bool lud_grid_ends(const lud_grid_model *m, const lud_grid_layer *layer,
                                        const uint8_t *state) {
    return lud_grid_all_terminated(m, state) || lud_grid_goal_reached(m, layer, state);
}

/* Whether the step limit does. */
LUD_HD static inline bool lud_grid_is_late(const lud_grid_model *m, const uint8_t *state) {
    return lud_grid_get16(state + m->at.step) >= (uint32_t)m->spec.max_steps;
}
