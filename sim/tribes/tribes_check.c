#include <string.h>

#include "sim/tribes/tribes_parts.h"

static lud_status check_agent(const lud_tribes_model *m, const lud_tribes_map *map, const uint8_t *state,
                              int agent, uint8_t *taken, lud_error *error) {
    const int cell = lud_tribes_cell(m, state, agent);
    const bool dead = cell == LUD_TRIBES_NOBODY;
    if (!dead && (cell >= m->n_cells || map->ground[cell] >= LUD_TRIBES_WATER))
        return lud_invalid(error, "agent %d is in cell %d, where nobody can be", agent, cell);
    if (!dead && taken[cell]++) return lud_invalid(error, "two agents are in cell %d", cell);
    const int loaded = lud_tribes_loaded(lud_tribes_load(m, state, agent));
    if (loaded > m->spec.carry)
        return lud_invalid(error, "agent %d carries %d units, at most %d can be", agent, loaded,
                           (int)m->spec.carry);
    if (m->spec.health == 0)
        return dead ? lud_invalid(error, "agent %d is dead where nobody dies", agent) : LUD_OK;
    const int health = lud_tribes_health(m, state, agent);
    if (health > m->spec.health || (health == 0) != dead)
        return lud_invalid(error, "agent %d has health %d, expected %s", agent, health,
                           dead ? "none: it is dead" : "1 to the full health");
    return LUD_OK;
}

lud_status lud_tribes_check_state(const lud_model *model, const uint8_t *state, lud_error *error) {
    const lud_tribes_model *m = lud_tribes_of(model);
    if (m->spec.n_maps > 1 && state[m->at.map] >= m->spec.n_maps)
        return lud_invalid(error, "map %d, there are %d", state[m->at.map], m->spec.n_maps);
    const lud_tribes_map *map = lud_tribes_map_of(m, state);
    uint8_t taken[LUD_TRIBES_MAX_CELLS] = {0};
    for (int i = 0; i < m->n_agents; i++) LUD_TRY(check_agent(m, map, state, i, taken, error));
    for (int f = 0; f < m->n_fields; f++)
        if (lud_tribes_stock(m, state, f) > m->spec.stock)
            return lud_invalid(error, "field %d has %d units, at most %d can be", f,
                               lud_tribes_stock(m, state, f), (int)m->spec.stock);
    return LUD_OK;
}
