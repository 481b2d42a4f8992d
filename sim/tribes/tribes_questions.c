/* Questions about a state that rules, observations, descriptions and policies ask. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/tribes/tribes.h"

enum { N_DIRECTIONS = 4 };

const lud_tribes_model *lud_tribes_of(const lud_model *model) {
    assert(model->world == &lud_tribes_world);
    return (const lud_tribes_model *)model;
}

void lud_tribes_board(const lud_tribes_model *m, const uint8_t *state, int16_t *at) {
    memset(at, 0xff, ((size_t)m->n_cells + 1) * sizeof *at);
    for (int i = 0; i < m->n_agents; i++) {
        const int cell = lud_tribes_cell(m, state, i);
        if (cell != LUD_TRIBES_NOBODY) at[cell] = (int16_t)i;
    }
}

bool lud_tribes_at_home(const lud_tribes_model *m, const lud_tribes_map *map, int cell, int team) {
    for (int d = 0; d < N_DIRECTIONS; d++)
        if (map->ground[lud_tribes_neighbour(m, cell, d)] == LUD_TRIBES_HOUSE + team) return true;
    return false;
}

int lud_tribes_offer(const lud_tribes_model *m, const uint8_t *load, int team) {
    const int64_t *value = m->spec.teams[team].value;
    int least = -1;
    for (int k = 0; k < LUD_RESOURCES; k++)
        if (load[k] && (least < 0 || value[k] < value[least])) least = k;
    return least;
}

bool lud_tribes_pays(const lud_tribes_model *m, const uint8_t *state, int a, int b) {
    const int team_a = m->team[a], team_b = m->team[b];
    if (team_a == team_b) return false;
    const int from_a = lud_tribes_offer(m, lud_tribes_load(m, state, a), team_a);
    const int from_b = lud_tribes_offer(m, lud_tribes_load(m, state, b), team_b);
    if (from_a < 0 || from_b < 0) return false;
    const int64_t *value_a = m->spec.teams[team_a].value, *value_b = m->spec.teams[team_b].value;
    return value_a[from_b] > value_a[from_a] && value_b[from_a] > value_b[from_b];
}

static bool has_goods(const lud_tribes_model *m, const uint8_t *state, int team) {
    for (int k = 0; k < LUD_RESOURCES; k++)
        if (lud_tribes_stored(m, state, team, k)) return true;
    return false;
}

static bool is_closed(const lud_tribes_map *map, int cell) {
    return map->ground[cell] >= LUD_TRIBES_WATER;
}

void lud_tribes_mask(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int agent,
                     uint8_t *mask) {
    memset(mask, 0, LUD_TRIBES_ACTIONS);
    mask[LUD_TRIBES_WAIT] = 1;
    const int cell = lud_tribes_cell(m, state, agent), team = m->team[agent];
    if (cell == LUD_TRIBES_NOBODY) return;
    const lud_tribes_map *map = lud_tribes_map_of(m, state);
    const int loaded = lud_tribes_loaded(lud_tribes_load(m, state, agent));
    const int field = map->field_at[cell];
    const bool room = loaded < m->spec.carry;
    mask[LUD_TRIBES_DEFEND] = 1;
    mask[LUD_TRIBES_GATHER] = room && field >= 0 && lud_tribes_stock(m, state, field) > 0;
    mask[LUD_TRIBES_DEPOSIT] = loaded > 0 && lud_tribes_at_home(m, map, cell, team);
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int to = lud_tribes_neighbour(m, cell, d), other = at[to];
        const int owner = map->ground[to] - LUD_TRIBES_HOUSE;
        mask[LUD_TRIBES_EAST + d] = other < 0 && !is_closed(map, to);
        if (other >= 0 && m->team[other] != team) {
            mask[LUD_TRIBES_TRADE] |= lud_tribes_pays(m, state, agent, other);
            mask[LUD_TRIBES_STEAL] |= room && lud_tribes_loaded(lud_tribes_load(m, state, other)) > 0;
        }
        if (owner >= 0 && owner != team) mask[LUD_TRIBES_STEAL] |= room && has_goods(m, state, owner);
    }
}

void lud_tribes_to_fields(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int kind,
                          uint16_t *distance, int16_t *nearest, uint16_t *queue) {
    const lud_tribes_map *map = lud_tribes_map_of(m, state);
    int head = 0, tail = 0;
    memset(distance, 0xff, ((size_t)m->n_cells + 1) * sizeof *distance);
    memset(nearest, 0xff, ((size_t)m->n_cells + 1) * sizeof *nearest);
    for (int f = m->field_begin[kind]; f < m->field_begin[kind + 1]; f++) {
        const int cell = map->field[f];
        if (lud_tribes_stock(m, state, f) == 0 || at[cell] >= 0) continue;
        distance[cell] = 0;
        nearest[cell] = (int16_t)f;
        queue[tail++] = (uint16_t)cell;
    }
    const uint8_t *ground = map->ground;
    while (head < tail) {
        const uint16_t *next = m->next + 4 * queue[head];
        const uint16_t further = (uint16_t)(distance[queue[head]] + 1);
        const int16_t field = nearest[queue[head++]];
        for (int d = 0; d < N_DIRECTIONS; d++) {
            const uint16_t to = next[d];
            if (distance[to] != LUD_TRIBES_NOBODY || ground[to] >= LUD_TRIBES_WATER) continue;
            distance[to] = further;
            nearest[to] = field;
            queue[tail++] = to;
        }
    }
}

void lud_tribes_look(const lud_tribes_model *m, const uint8_t *state, bool ways, lud_tribes_view *v) {
    v->m = m;
    v->state = state;
    v->map = lud_tribes_map_of(m, state);
    lud_tribes_board(m, state, v->at);
    for (int k = 0; k < LUD_RESOURCES && ways; k++)
        lud_tribes_to_fields(m, state, v->at, k, v->distance[k], v->nearest[k], v->queue);
}

int lud_tribes_nearest_store(const lud_tribes_model *m, const uint8_t *state, int cell, int team) {
    const lud_tribes_map *map = lud_tribes_map_of(m, state);
    int best = -1, least = LUD_TRIBES_NOBODY;
    for (int t = 0; t < m->spec.n_teams; t++) {
        const int distance = map->way_home[t * (m->n_cells + 1) + cell];
        if (t == team || distance >= least || !has_goods(m, state, t)) continue;
        best = t;
        least = distance;
    }
    return best;
}

int lud_tribes_nearest_house(const lud_tribes_model *m, const lud_tribes_map *map, int cell, int team) {
    const int width = m->spec.width;
    int best = -1, least = 0;
    for (int h = 0; h < map->n_houses; h++) {
        if (map->owner[h] != team) continue;
        const int house = map->house[h];
        const int away = abs(house % width - cell % width) + abs(house / width - cell / width);
        if (best >= 0 && away >= least) continue;
        best = house;
        least = away;
    }
    return best;
}

int lud_tribes_in_sight(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int agent,
                        bool own_team, int most, int *agents) {
    const int cell = lud_tribes_cell(m, state, agent), width = m->spec.width;
    const int x = cell % width, y = cell / width;
    int n = 0;
    if (cell == LUD_TRIBES_NOBODY) return 0;
    for (int k = 0; k < m->n_seen && n < most; k++) {
        const int to_x = x + m->seen[k][0], to_y = y + m->seen[k][1];
        if (to_x < 0 || to_y < 0 || to_x >= width || to_y >= m->spec.height) continue;
        const int other = at[to_y * width + to_x];
        if (other >= 0 && (m->team[other] == m->team[agent]) == own_team) agents[n++] = other;
    }
    return n;
}
