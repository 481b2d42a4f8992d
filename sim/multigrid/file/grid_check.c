#include <string.h>

#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_step.h"

/* Largest value of a condition. */
static int most_of(const lud_grid_fixed *f) {
    switch (f->type) {
    case LUD_DOOR:
        return LUD_DOOR_LOCKED;
    case LUD_PAUSE_SWITCH:
        return LUD_PAUSE_ON | LUD_PAUSE_ENABLED;
    default:
        return 1;
    }
}

static lud_status check_agents(const lud_grid_model *m, const uint8_t *state, lud_error *error) {
    for (int i = 0; i < m->n_agents; i++) {
        const uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, i);
        if (cell >= (uint32_t)m->n_cells)
            return lud_invalid(error, "agent %d is in cell %u, the grid has %d", i, (unsigned)cell,
                               m->n_cells);
        const int forced = state[m->at.agent + (uint32_t)i] >> LUD_AGENT_FORCED_SHIFT;
        if (forced > m->n_actions)
            return lud_invalid(error, "agent %d is forced to action %d, there are %d", i, forced - 1,
                               m->n_actions);
        if (m->n_classes <= 2) continue;
        const int carried = state[m->at.carried + (uint32_t)i];
        if (carried >= m->n_classes || (carried && carried <= LUD_CLASS_ROCK))
            return lud_invalid(error, "agent %d carries a thing of class %d, there are %d", i, carried,
                               m->n_classes);
    }
    return LUD_OK;
}

/* Where pieces lie, each in a cell of its own, and that there are no more of a class than have room. */
static lud_status check_pieces(const lud_grid_model *m, const uint8_t *state, lud_error *error) {
    uint8_t taken[(LUD_GRID_MAX_SIDE * LUD_GRID_MAX_SIDE + 7) / 8] = {0};
    int count[LUD_GRID_MAX_CLASSES] = {0};
    for (int k = 0; k < m->n_classes; k++) {
        const lud_grid_class *class = &m->classes[k];
        uint32_t before = 0;
        for (int s = class->begin; s < class->begin + class->n; s++) {
            const uint32_t cell = lud_grid_get_cell(m, state, m->at.piece, s);
            if (cell > (uint32_t)m->n_cells)
                return lud_invalid(error, "piece %d is in cell %u, the grid has %d", s, (unsigned)cell,
                                   m->n_cells);
            if (cell < before) return lud_invalid(error, "the pieces of class %d are not sorted", k);
            before = cell;
            if (cell == (uint32_t)m->n_cells) continue;
            if (taken[cell / 8] >> cell % 8 & 1)
                return lud_invalid(error, "two pieces are in cell %u", (unsigned)cell);
            taken[cell / 8] |= (uint8_t)(1u << cell % 8);
            count[k]++;
            if (class->content) count[class->content]++;
        }
    }
    for (int i = 0; i < m->n_agents && m->n_classes > 2; i++) {
        const int carried = state[m->at.carried + (uint32_t)i];
        if (carried) count[carried]++;
        if (m->classes[carried].content && carried) count[m->classes[carried].content]++;
    }
    for (int k = 0; k < m->n_classes; k++)
        if (count[k] > m->classes[k].n)
            return lud_invalid(error, "%d pieces of class %d, at most %d can be there", count[k], k,
                               m->classes[k].n);
    return LUD_OK;
}

static lud_status check_fixed(const lud_grid_model *m, const lud_grid_layer *layer, const uint8_t *state,
                              lud_error *error) {
    for (int i = 0; i < layer->n_fixed; i++) {
        const lud_grid_fixed *f = &layer->fixed[i];
        if (f->slot == LUD_GRID_NONE) continue;
        if (f->type != LUD_CONTROL_BUTTON) {
            const int condition = lud_grid_condition(m, state, f->slot);
            if (condition > most_of(f))
                return lud_invalid(error, "the %s in cell %d has condition %d, at most %d can be",
                                   lud_grid_type_names[f->type], f->cell, condition, most_of(f));
            continue;
        }
        const uint8_t *control = &state[m->at.control + 2u * f->slot];
        if (control[0] > m->n_agents || control[1] >> LUD_CONTROL_RECORDED_SHIFT > m->n_actions)
            return lud_invalid(
                error, "the control button in cell %d has agent %d and action %d, there are %d and %d",
                f->cell, control[0] - 1, (control[1] >> LUD_CONTROL_RECORDED_SHIFT) - 1, m->n_agents,
                m->n_actions);
        if (control[1] & LUD_CONTROL_AWAITING && !control[0])
            return lud_invalid(error, "the control button in cell %d awaits an action of nobody", f->cell);
    }
    return LUD_OK;
}

lud_status lud_grid_check_state(const lud_model *model, const uint8_t *state, lud_error *error) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    const uint32_t map = m->n_maps > 1 ? lud_grid_get16(state + m->at.map) : 0;
    if (map >= (uint32_t)m->n_maps)
        return lud_invalid(error, "map %u, there are %d", (unsigned)map, m->n_maps);
    LUD_TRY(check_agents(m, state, error));
    LUD_TRY(check_pieces(m, state, error));
    return check_fixed(m, &m->layers[map], state, error);
}
