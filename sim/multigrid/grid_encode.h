/* What an observation of coding `compact` holds (grid_observe.h), written from one state. The functions
 * compile as C and as CUDA. */
#pragma once

#include <string.h>

#include "sim/directions.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_observe.h"

enum {
    LUD_GRID_NO_AGENT = LUD_CODE_NO_AGENT << LUD_CODE_AGENT_SHIFT,
    LUD_GRID_BUTTONS_PER_TYPE = 4,
    LUD_GRID_MAX_VIEW_CELLS = LUD_GRID_MAX_VIEW * LUD_GRID_MAX_VIEW
};

/* --- Words --- */

/* words[n_cells] */
LUD_HD static inline void lud_grid_write_words(const lud_grid_model *m, const uint8_t *state,
                                               int32_t *words) {
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    memcpy(words, layer->compact, (size_t)m->n_cells * sizeof *words);
    for (int k = 0; k < layer->n_coded; k++) {
        const lud_grid_fixed *f = &layer->fixed[layer->coded[k]];
        const int condition = lud_grid_condition(m, state, f->slot);
        if (f->type == LUD_DOOR)
            words[f->cell] |= (condition + 1) << LUD_CODE_DOOR_SHIFT;
        else if (f->type == LUD_MAGIC_WALL)
            words[f->cell] |= (condition ? 1 + f->side : 6) << LUD_CODE_MAGIC_SHIFT;
        else if (condition)
            words[f->cell] = LUD_CODE_EMPTY;
    }
    /* A piece takes the type and colour of the word; the state of a door below it stays. */
    int32_t nowhere = 0;
    for (int s = 0; s < m->n_slots; s++) {
        const uint32_t cell = lud_grid_get_cell(m, state, m->at.piece, s);
        int32_t *word = cell < (uint32_t)m->n_cells ? &words[cell] : &nowhere;
        *word = m->slot_word[s] | (*word & 3 << LUD_CODE_DOOR_SHIFT);
    }
    for (int i = 0; i < m->n_agents; i++) {
        int32_t *word = &words[lud_grid_get_cell(m, state, m->at.cell, i)];
        *word = (*word & ~LUD_GRID_NO_AGENT) | m->colour[i] << LUD_CODE_AGENT_SHIFT;
    }
}

/* --- Features --- */

LUD_HD static inline void lud_grid_write_globals(const lud_grid_model *m, const uint8_t *state,
                                                 float *globals) {
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    globals[0] = (float)(m->spec.max_steps - (int)lud_grid_get16(state + m->at.step));
    globals[1] = layer->stumble;
    globals[2] = layer->entry;
    globals[3] = layer->solidify;
}

LUD_HD static inline void lud_grid_write_agent(const lud_grid_model *m, const uint8_t *state, int i,
                                               float *to) {
    const uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, i);
    const uint8_t byte = state[m->at.agent + (uint32_t)i];
    const int carried = m->n_classes > 2 ? state[m->at.carried + (uint32_t)i] : 0;
    memcpy(to, m->place[cell], sizeof *m->place);
    for (int k = 0; k < 4; k++)
        to[LUD_GRID_AGENT_DIRECTION + k] = k == (byte & LUD_AGENT_DIRECTION) ? 1.0f : 0.0f;
    to[LUD_GRID_AGENT_ENTERS_MAGIC] = (m->can[i] & LUD_CAN_ENTER_MAGIC_WALLS) != 0;
    to[LUD_GRID_AGENT_PUSHES_ROCKS] = (m->can[i] & LUD_CAN_PUSH_ROCKS) != 0;
    memcpy(to + LUD_GRID_AGENT_CARRIED_TYPE, m->carry[carried], sizeof *m->carry);
    to[LUD_GRID_AGENT_PAUSED] = (byte & LUD_AGENT_PAUSED) != 0;
    to[LUD_GRID_AGENT_TERMINATED] = (byte & LUD_AGENT_TERMINATED) != 0;
    to[LUD_GRID_AGENT_FORCED] = (float)((byte >> LUD_AGENT_FORCED_SHIFT) - 1);
}

/* First feature of the kill, pause, disabling and control buttons, and features of each. */
LUD_HD static inline int lud_grid_interactive_begin(int kind) {
    return kind == 0 ? 0 : 24 * kind - 4;
}

LUD_HD static inline int lud_grid_interactive_size(int kind) {
    return kind == 0 ? 5 : kind == 3 ? 7 : 6;
}

/* Where the features of a button begin, null for what has none; count[4]: those met so far of each kind. */
LUD_HD static inline float *lud_grid_interactive_place(const lud_grid_fixed *f, int count[4],
                                                       float *features) {
    if (f->type < LUD_KILL_BUTTON || f->type > LUD_CONTROL_BUTTON) return NULL;
    int k = f->type - LUD_KILL_BUTTON;
    if (count[k] == LUD_GRID_BUTTONS_PER_TYPE) return NULL;
    return features + lud_grid_interactive_begin(k) + lud_grid_interactive_size(k) * count[k]++;
}

/* features[LUD_GRID_INTERACTIVE] */
LUD_HD static inline void lud_grid_write_interactive(const lud_grid_model *m, const uint8_t *state,
                                                     float *features) {
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    memcpy(features, layer->interactive, LUD_GRID_INTERACTIVE * sizeof *features);
    if (!layer->n_buttons) return;
    int count[4] = {0};
    for (int k = 0; k < layer->n_fixed; k++) {
        const lud_grid_fixed *f = &layer->fixed[k];
        float *to = lud_grid_interactive_place(f, count, features);
        if (!to || f->type == LUD_DISABLING_SWITCH) continue;
        if (f->type == LUD_CONTROL_BUTTON) {
            const uint8_t *control = &state[m->at.control + 2u * f->slot];
            to[2] = (control[1] & LUD_CONTROL_ENABLED) != 0;
            to[5] = (float)((control[1] >> LUD_CONTROL_RECORDED_SHIFT) - 1);
            to[LUD_GRID_AGENT_ENTERS_MAGIC] = (control[1] & LUD_CONTROL_AWAITING) != 0;
            continue;
        }
        int condition = lud_grid_condition(m, state, f->slot);
        if (f->type == LUD_KILL_BUTTON) {
            to[2] = (float)condition;
        } else {
            to[2] = (condition & LUD_PAUSE_ENABLED) != 0;
            to[3] = (condition & LUD_PAUSE_ON) != 0;
        }
    }
}

/* --- Partial view --- */

/* cell[row][column] of agent i's window, the agent at the bottom centre looking up; n_cells outside. */
LUD_HD static inline void lud_grid_view_cells(const lud_grid_model *m, const uint8_t *state, int i,
                                              uint16_t *cell) {
    uint32_t at = lud_grid_get_cell(m, state, m->at.cell, i);
    int ahead = state[m->at.agent + (uint32_t)i] & LUD_AGENT_DIRECTION, right = (ahead + 1) & 3;
    int size = (int)m->spec.observation.size;
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            int forward = size - 1 - row, aside = column - size / 2;
            int x = m->cell_x[at] + lud_step_x(ahead) * forward + lud_step_x(right) * aside;
            int y = m->cell_y[at] + lud_step_y(ahead) * forward + lud_step_y(right) * aside;
            bool inside = x >= 0 && x < m->width && y >= 0 && y < m->height;
            cell[row * size + column] = (uint16_t)(inside ? y * m->width + x : m->n_cells);
        }
}

/* Light spreads from the agent row by row upward, in each row to the right and then to the left, from every
 * lit cell that lets it pass to its neighbours aside and above (MiniGrid's rule; Chevalier-Boisvert et al.,
 * 2023). */
LUD_HD static inline void lud_grid_spread_light(int size, const bool *opaque, bool *lit) {
    memset(lit, 0, (size_t)(size * size));
    lit[(size - 1) * size + size / 2] = true;
    for (int row = size - 1; row >= 0; row--) {
        for (int column = 0; column < size - 1; column++) {
            int at = row * size + column;
            if (!lit[at] || opaque[at]) continue;
            lit[at + 1] = true;
            if (row > 0) lit[at + 1 - size] = lit[at - size] = true;
        }
        for (int column = size - 1; column > 0; column--) {
            int at = row * size + column;
            if (!lit[at] || opaque[at]) continue;
            lit[at - 1] = true;
            if (row > 0) lit[at - 1 - size] = lit[at - size] = true;
        }
    }
}

/* What is opaque: walls, magic walls, doors that are not open, unless an agent is in the cell. */
LUD_HD static inline bool lud_grid_word_is_opaque(int32_t word) {
    lud_grid_cell cell = lud_grid_code_fields(word);
    if (cell.agent != LUD_CODE_NO_AGENT) return false;
    return cell.type == LUD_CHANNEL_WALL || cell.magic != 0 || (cell.type == LUD_CODE_DOOR && cell.door != 1);
}

/* to[n_agents][size][size], every agent's window of words. whole[n_cells + 1] is scratch. */
LUD_HD static inline void lud_grid_write_views(const lud_grid_model *m, const uint8_t *state, int32_t *whole,
                                               int32_t *to) {
    uint16_t cell[LUD_GRID_MAX_VIEW_CELLS];
    bool opaque[LUD_GRID_MAX_VIEW_CELLS], lit[LUD_GRID_MAX_VIEW_CELLS];
    int size = (int)m->spec.observation.size, n = size * size;
    lud_grid_write_words(m, state, whole);
    whole[m->n_cells] = LUD_CODE_WALL;
    for (int i = 0; i < m->n_agents; i++, to += n) {
        lud_grid_view_cells(m, state, i, cell);
        for (int k = 0; k < n; k++) {
            to[k] = whole[cell[k]];
            opaque[k] = lud_grid_word_is_opaque(to[k]);
        }
        if (m->spec.observation.see_through_walls) continue;
        lud_grid_spread_light(size, opaque, lit);
        for (int k = 0; k < n; k++)
            if (!lit[k]) to[k] = LUD_GRID_WORD_UNSEEN;
    }
}

/* --- All of it --- */

/* Environment e of part arrays as lud_world.observe has them. whole[n_cells + 1] is scratch of partial views.
 */
LUD_HD static inline void lud_grid_write_parts(const lud_grid_model *m, const uint8_t *state, size_t e,
                                               void *const *parts, int32_t *whole) {
    const bool partial = m->spec.observation.view == LUD_VIEW_PARTIAL;
    const size_t n_agents = (size_t)m->n_agents;
    const size_t n_view = (size_t)m->spec.observation.size * (size_t)m->spec.observation.size;
    int32_t *grid = (int32_t *)parts[0];
    float *globals = (float *)parts[1], *agents = (float *)parts[2],
          *interactive = partial ? NULL : (float *)parts[3];
    if (grid && partial)
        lud_grid_write_views(m, state, whole, grid + e * n_agents * n_view);
    else if (grid)
        lud_grid_write_words(m, state, grid + e * (size_t)m->n_cells);
    if (globals) lud_grid_write_globals(m, state, globals + e * LUD_GRID_GLOBALS);
    float *features = agents ? agents + e * n_agents * LUD_GRID_AGENT_FEATURES : NULL;
    for (int p = 0; features && p < m->n_agents; p++)
        lud_grid_write_agent(m, state, partial ? p : m->agent_of_place[p],
                             features + p * LUD_GRID_AGENT_FEATURES);
    if (interactive) lud_grid_write_interactive(m, state, interactive + e * LUD_GRID_INTERACTIVE);
}
