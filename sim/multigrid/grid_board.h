/* Reading and writing the fields of a multigrid state, and the scratch board that makes "what does this cell
 * contain" one look-up. The functions compile as C and as CUDA. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* --- State bytes --- */

LUD_HD static inline uint32_t lud_grid_get16(const uint8_t *p) {
    return (uint32_t)(p[0] | p[1] << 8);
}

LUD_HD static inline void lud_grid_put16(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

/* Element i of the field of cells at `offset`. */
LUD_HD static inline uint32_t lud_grid_get_cell(const lud_grid_model *m, const uint8_t *state,
                                                uint32_t offset, int i) {
    return m->cell_bytes == 1 ? state[offset + (uint32_t)i]
                              : lud_grid_get16(state + offset + 2 * (uint32_t)i);
}

LUD_HD static inline void lud_grid_put_cell(const lud_grid_model *m, uint8_t *state, uint32_t offset, int i,
                                            uint32_t cell) {
    if (m->cell_bytes == 1)
        state[offset + (uint32_t)i] = (uint8_t)cell;
    else
        lud_grid_put16(state + offset + 2 * (uint32_t)i, cell);
}

LUD_HD static inline int lud_grid_condition(const lud_grid_model *m, const uint8_t *state, uint32_t slot) {
    return state[m->at.condition + slot / 4] >> (slot % 4 * 2) & 3;
}

LUD_HD static inline void lud_grid_put_condition(const lud_grid_model *m, uint8_t *state, uint32_t slot,
                                                 int value) {
    uint8_t *byte = &state[m->at.condition + slot / 4];
    uint32_t shift = slot % 4 * 2;
    *byte = (uint8_t)((*byte & ~(3u << shift)) | (uint32_t)value << shift);
}

/* The condition that an object of the map has at the reset. */
LUD_HD static inline int lud_grid_condition_of(const lud_grid_object *o) {
    switch (o->type) {
    case LUD_DOOR:
        return (int)o->door;
    case LUD_MAGIC_WALL:
        return o->active;
    case LUD_KILL_BUTTON:
        return o->enabled;
    case LUD_PAUSE_SWITCH:
        return (o->on ? LUD_PAUSE_ON : 0) | (o->enabled ? LUD_PAUSE_ENABLED : 0);
    default:
        return 0;
    }
}

/* Puts a piece into an unused slot of its class; false when there is none. Leaves the class unsorted. */
LUD_HD static inline bool lud_grid_place_piece(const lud_grid_model *m, uint8_t *state, int piece_class,
                                               uint32_t cell) {
    const lud_grid_class *k = &m->classes[piece_class];
    for (int s = k->begin; s < k->begin + k->n; s++)
        if (lud_grid_get_cell(m, state, m->at.piece, s) == (uint32_t)m->n_cells) {
            lud_grid_put_cell(m, state, m->at.piece, s, cell);
            return true;
        }
    return false;
}

/* Sorts the cells of each class, so that states which differ only in the order of like pieces are equal. */
LUD_HD static inline void lud_grid_sort_pieces(const lud_grid_model *m, uint8_t *state) {
    uint32_t at = m->at.piece;
    for (int k = 0; k < m->n_classes; k++) {
        int begin = m->classes[k].begin, end = begin + m->classes[k].n;
        for (int s = begin + 1; s < end; s++) {
            uint32_t cell = lud_grid_get_cell(m, state, at, s);
            int t = s;
            for (; t > begin && lud_grid_get_cell(m, state, at, t - 1) > cell; t--)
                lud_grid_put_cell(m, state, at, t, lud_grid_get_cell(m, state, at, t - 1));
            lud_grid_put_cell(m, state, at, t, cell);
        }
    }
}

/* --- The board --- */

/* A state being worked on. */
typedef struct lud_grid_run {
    const lud_grid_model *m;
    const lud_grid_layer *layer;
    uint8_t *state;
    uint8_t *content; /* [n_cells + 1] what each cell contains; the static layer between load and unload */
    uint8_t *start;   /* [n_cells + 1] 1 where an agent that was not terminated stood at the start; else 0 */
    float *reward;    /* [n_agents] or null: not wanted */
    bool unsorted;    /* a piece has moved */
    uint16_t start_cell[LUD_GRID_MAX_AGENTS];
} lud_grid_run;

LUD_HD static inline uint32_t lud_grid_agent_cell(const lud_grid_run *run, int i) {
    return lud_grid_get_cell(run->m, run->state, run->m->at.cell, i);
}

LUD_HD static inline uint8_t *lud_grid_agent_byte(const lud_grid_run *run, int i) {
    return &run->state[run->m->at.agent + (uint32_t)i];
}

LUD_HD static inline bool lud_grid_can_act(const lud_grid_run *run, int i) {
    return !(*lud_grid_agent_byte(run, i) & (LUD_AGENT_TERMINATED | LUD_AGENT_PAUSED));
}

LUD_HD static inline uint32_t lud_grid_front(const lud_grid_run *run, int i) {
    return run->m
        ->next[lud_grid_agent_cell(run, i) * 4 + (*lud_grid_agent_byte(run, i) & LUD_AGENT_DIRECTION)];
}

LUD_HD static inline const lud_grid_fixed *lud_grid_fixed_at(const lud_grid_run *run, uint32_t cell) {
    return &run->layer->fixed[run->layer->fixed_at[cell]];
}

/* What a door or bush shows. */
LUD_HD static inline uint8_t lud_grid_shown(const lud_grid_model *m, const uint8_t *state,
                                            const lud_grid_fixed *f) {
    int condition = lud_grid_condition(m, state, f->slot);
    if (f->type == LUD_DOOR)
        return (uint8_t)(condition == LUD_DOOR_OPEN ? LUD_DOOR | LUD_CONTENT_OVERLAP : LUD_DOOR);
    return condition ? (uint8_t)LUD_CONTENT_FREE : (uint8_t)LUD_BUSH;
}

/* What a cell contains when nothing stands or lies on it. */
LUD_HD static inline uint8_t lud_grid_ground(const lud_grid_run *run, uint32_t cell) {
    uint8_t base = run->layer->base[cell];
    if (!(base & LUD_CONTENT_CHANGES)) return base;
    return lud_grid_shown(run->m, run->state, lud_grid_fixed_at(run, cell));
}

/* Puts a state on the board; the board must be clear for its layout. */
LUD_HD static inline void lud_grid_load(lud_grid_run *run, uint8_t *state) {
    const lud_grid_model *m = run->m;
    const lud_grid_layer *layer = run->layer;
    run->state = state;
    run->unsorted = false;
    for (int k = 0; k < layer->n_shown; k++) {
        const lud_grid_fixed *f = &layer->fixed[layer->shown[k]];
        run->content[f->cell] = lud_grid_shown(m, state, f);
    }
    for (int s = 0; s < m->n_slots; s++)
        run->content[lud_grid_get_cell(m, state, m->at.piece, s)] = m->slot_type[s];
    run->content[m->n_cells] = LUD_WALL;
    for (int i = 0; i < m->n_agents; i++) {
        uint32_t cell = lud_grid_agent_cell(run, i);
        run->start_cell[i] = (uint16_t)cell;
        run->content[cell] = LUD_AGENT;
        run->start[cell] |= !(*lud_grid_agent_byte(run, i) & LUD_AGENT_TERMINATED);
    }
}

/* Sorts what has moved and clears the board again. */
LUD_HD static inline void lud_grid_unload(lud_grid_run *run) {
    const lud_grid_model *m = run->m;
    const lud_grid_layer *layer = run->layer;
    if (run->unsorted) lud_grid_sort_pieces(m, run->state);
    for (int k = 0; k < layer->n_shown; k++) {
        uint32_t cell = layer->fixed[layer->shown[k]].cell;
        run->content[cell] = layer->base[cell];
    }
    for (int s = 0; s < m->n_slots; s++) {
        uint32_t cell = lud_grid_get_cell(m, run->state, m->at.piece, s);
        run->content[cell] = layer->base[cell];
    }
    for (int i = 0; i < m->n_agents; i++) {
        uint32_t from = run->start_cell[i], to = lud_grid_agent_cell(run, i);
        run->content[from] = layer->base[from];
        run->content[to] = layer->base[to];
        run->start[from] = 0;
    }
}

LUD_HD static inline void lud_grid_earn(lud_grid_run *run, int i, float amount) {
    if (run->reward) run->reward[i] += amount;
}

/* --- Questions about a state --- */

/* An agent is on a goal object, with own_goal_only on one of its colour. */
LUD_HD static inline bool lud_grid_on_goal(const lud_grid_model *m, const lud_grid_layer *layer,
                                           const uint8_t *state, int i) {
    uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, i);
    return (layer->base[cell] & LUD_CONTENT_TYPE) == LUD_GOAL &&
           (!m->spec.rewards.own_goal_only || layer->base_colour[cell] == m->colour[i]);
}

/* Somebody is on a goal object that ends the episode. */
LUD_HD static inline bool lud_grid_goal_reached(const lud_grid_model *m, const lud_grid_layer *layer,
                                                const uint8_t *state) {
    if (!m->spec.rewards.goal_ends) return false;
    for (int i = 0; i < m->n_agents; i++)
        if (lud_grid_on_goal(m, layer, state, i)) return true;
    return false;
}

LUD_HD static inline const lud_grid_layer *lud_grid_layer_of(const lud_grid_model *m, const uint8_t *state) {
    return &m->layers[m->n_maps > 1 ? lud_grid_get16(state + m->at.map) : 0];
}
