/* Observations of tribes. Every agent has a row in each part:
 *
 *   self    team (one of n), what grain, wood and ore are worth to it, its load of them, room left, health,
 *           steps left, x, y, stock of grain, wood, ore under it, whether it is beside its storehouse, units
 *           of grain, wood, ore in there, which actions can have an effect
 *   ways    to five things: the nearest field of grain, of wood, of ore, the own storehouse, the nearest one
 *           of another team with something in it: whether there is one, x and y from here to there, steps
 *           of the way, and whether east, south, west, north lead nearer and are free
 *   others  the four nearest agents of other teams in sight: whether there is one, x and y from here to
 *           there, load of grain, wood, ore, their worth to it, whether a swap pays; then the three nearest
 *           of the own team: whether there is one, x and y, units carried
 *   window  the cells in sight, itself in the middle: 0 ground, 1 water, 2 to 4 a field of grain, wood, ore,
 *           5 the own storehouse, 6 another one; stock; 0 nobody, 1 of the own team, 2 of another one; units
 *           carried
 *   mask    which actions can have an effect
 *
 * The row of an agent that is dead is zero, but for its mask, in which waiting is left. */
#include <stdlib.h>
#include <string.h>

#include "sim/tribes/tribes_parts.h"

enum {
    N_DIRECTIONS = 4,
    N_WAYS = LUD_RESOURCES + 2,
    WAY_NUMBERS = 4 + N_DIRECTIONS,
    N_OTHERS = 4,
    OTHER_NUMBERS = 4 + 2 * LUD_RESOURCES,
    N_FRIENDS = 3,
    FRIEND_NUMBERS = 4,
    WINDOW_NUMBERS = 4
};

typedef enum part { PART_SELF, PART_WAYS, PART_OTHERS, PART_WINDOW, PART_MASK, N_PARTS } part;

static int self_numbers(const lud_tribes_model *m) {
    return m->spec.n_teams + 4 * LUD_RESOURCES + 6 + LUD_TRIBES_ACTIONS;
}

/* --- Layout --- */

static int nearer(const void *a, const void *b) {
    const int8_t *p = a, *q = b;
    const int difference = abs(p[0]) + abs(p[1]) - abs(q[0]) - abs(q[1]);
    return difference ? difference : p[1] != q[1] ? p[1] - q[1] : p[0] - q[0];
}

static bool compile_sight(lud_tribes_model *m) {
    const int sight = (int)m->spec.sight, side = 2 * sight + 1;
    m->seen = lud_arena_take_array(m->arena, (size_t)(side * side), sizeof *m->seen);
    if (!m->seen) return false;
    for (int y = -sight; y <= sight; y++)
        for (int x = -sight; x <= sight; x++) {
            if (x == 0 && y == 0) continue;
            m->seen[m->n_seen][0] = (int8_t)x;
            m->seen[m->n_seen++][1] = (int8_t)y;
        }
    qsort(m->seen, (size_t)m->n_seen, sizeof *m->seen, nearer);
    return true;
}

static float *scales(const lud_tribes_model *m, int n) {
    float *scale = lud_arena_take_array(m->arena, (size_t)n, sizeof *scale);
    for (int i = 0; i < n && scale; i++) scale[i] = 1;
    return scale;
}

static void fill(float **at, int n, double largest) {
    for (int i = 0; i < n; i++) *(*at)++ = (float)(1 / (largest > 1 ? largest : 1));
}

static const float *self_scale(const lud_tribes_model *m) {
    float *scale = scales(m, self_numbers(m)), *at = scale;
    if (!scale) return NULL;
    at += m->spec.n_teams;
    fill(&at, LUD_RESOURCES, 3);
    fill(&at, LUD_RESOURCES + 1, (double)m->spec.carry);
    fill(&at, 1, (double)m->spec.health);
    fill(&at, 1, (double)m->spec.max_steps);
    fill(&at, 1, m->spec.width);
    fill(&at, 1, m->spec.height);
    fill(&at, LUD_RESOURCES, (double)m->spec.stock);
    at++;
    fill(&at, LUD_RESOURCES, 50);
    return scale;
}

static const float *ways_scale(const lud_tribes_model *m) {
    float *scale = scales(m, N_WAYS * WAY_NUMBERS);
    for (int w = 0; w < N_WAYS && scale; w++) {
        float *at = scale + w * WAY_NUMBERS + 1;
        fill(&at, 2, 10);
        fill(&at, 1, 20);
    }
    return scale;
}

static const float *others_scale(const lud_tribes_model *m) {
    float *scale = scales(m, N_OTHERS * OTHER_NUMBERS + N_FRIENDS * FRIEND_NUMBERS), *at = scale;
    if (!scale) return NULL;
    for (int k = 0; k < N_OTHERS; k++) {
        at++;
        fill(&at, 2, (double)m->spec.sight);
        fill(&at, LUD_RESOURCES, (double)m->spec.carry);
        fill(&at, LUD_RESOURCES, 3);
        at++;
    }
    for (int k = 0; k < N_FRIENDS; k++) {
        at++;
        fill(&at, 2, (double)m->spec.sight);
        fill(&at, 1, (double)m->spec.carry);
    }
    return scale;
}

static const float *window_scale(const lud_tribes_model *m) {
    float *scale = scales(m, (m->n_seen + 1) * WINDOW_NUMBERS), *at = scale;
    for (int c = 0; c <= m->n_seen && scale; c++) {
        fill(&at, 1, 6);
        fill(&at, 1, (double)m->spec.stock);
        fill(&at, 1, 2);
        fill(&at, 1, (double)m->spec.carry);
    }
    return scale;
}

static void add_part(lud_tribes_model *m, const char *name, lud_observation_kind kind, lud_dtype dtype,
                     int n_dimensions, int first, int second, const float *scale) {
    lud_layout *layout = &m->base.layout;
    const int third = n_dimensions == 3 ? WINDOW_NUMBERS : 1;
    layout->parts[layout->n_parts++] = (lud_observation_part){
        .name = name,
        .kind = kind,
        .dtype = dtype,
        .per_agent = true,
        .n_dimensions = n_dimensions,
        .dimensions = {first, second, n_dimensions == 3 ? third : 0},
        .bytes = (size_t)m->n_agents * (size_t)first * (size_t)(n_dimensions > 1 ? second : 1) *
                 (size_t)third * (dtype == LUD_F32 ? sizeof(float) : 1),
        .scale = scale};
}

bool lud_tribes_compile_observations(lud_tribes_model *m) {
    if (!compile_sight(m)) return false;
    const int side = 2 * (int)m->spec.sight + 1;
    const float *self = self_scale(m), *ways = ways_scale(m), *others = others_scale(m),
                *window = window_scale(m);
    if (!self || !ways || !others || !window) return false;
    add_part(m, "self", LUD_OBSERVATION_VECTOR, LUD_F32, 1, self_numbers(m), 0, self);
    add_part(m, "ways", LUD_OBSERVATION_VECTOR, LUD_F32, 1, N_WAYS * WAY_NUMBERS, 0, ways);
    add_part(m, "others", LUD_OBSERVATION_VECTOR, LUD_F32, 1,
             N_OTHERS * OTHER_NUMBERS + N_FRIENDS * FRIEND_NUMBERS, 0, others);
    add_part(m, "window", LUD_OBSERVATION_GRID, LUD_U8, 3, side, side, window);
    add_part(m, "mask", LUD_OBSERVATION_MASK, LUD_U8, 1, LUD_TRIBES_ACTIONS, 0, NULL);
    return true;
}

/* --- One environment --- */

static float *write_self(const lud_tribes_view *v, int agent, int cell, const uint8_t *mask, float *to) {
    const lud_tribes_model *m = v->m;
    const int team = m->team[agent], field = v->map->field_at[cell];
    const uint8_t *load = lud_tribes_load(m, v->state, agent);
    for (int t = 0; t < m->spec.n_teams; t++) *to++ = t == team;
    for (int k = 0; k < LUD_RESOURCES; k++) *to++ = (float)m->spec.teams[team].value[k];
    for (int k = 0; k < LUD_RESOURCES; k++) *to++ = load[k];
    *to++ = (float)(m->spec.carry - lud_tribes_loaded(load));
    *to++ = (float)lud_tribes_health(m, v->state, agent);
    *to++ = (float)(m->spec.max_steps - lud_tribes_step_count(m, v->state));
    *to++ = (float)(cell % m->spec.width);
    *to++ = (float)(cell / m->spec.width);
    for (int k = 0; k < LUD_RESOURCES; k++)
        *to++ = field >= 0 && (int)lud_tribes_kind(m, field) == k
                    ? (float)lud_tribes_stock(m, v->state, field)
                    : 0;
    *to++ = lud_tribes_at_home(m, v->map, cell, team);
    for (int k = 0; k < LUD_RESOURCES; k++) *to++ = (float)lud_tribes_stored(m, v->state, team, k);
    for (int k = 0; k < LUD_TRIBES_ACTIONS; k++) *to++ = mask[k];
    return to;
}

/* A way along the field `distance`, which ends at `goal`. */
static void write_way(const lud_tribes_view *v, int cell, const uint16_t *distance, int goal,
                      const uint8_t *mask, float *to) {
    const int width = v->m->spec.width;
    to[0] = 1;
    to[1] = (float)(goal % width - cell % width);
    to[2] = (float)(goal / width - cell / width);
    to[3] = distance[cell];
    for (int d = 0; d < N_DIRECTIONS; d++)
        to[4 + d] =
            mask[LUD_TRIBES_EAST + d] && distance[lud_tribes_neighbour(v->m, cell, d)] < distance[cell];
}

static void write_ways(const lud_tribes_view *v, int agent, int cell, const uint8_t *mask, float *to) {
    const lud_tribes_model *m = v->m;
    for (int k = 0; k < LUD_RESOURCES; k++, to += WAY_NUMBERS)
        if (v->nearest[k][cell] >= 0)
            write_way(v, cell, v->distance[k], v->map->field[v->nearest[k][cell]], mask, to);
    const int stores[2] = {m->team[agent], lud_tribes_nearest_store(m, v->state, cell, m->team[agent])};
    for (int s = 0; s < 2; s++, to += WAY_NUMBERS) {
        if (stores[s] < 0) continue;
        const uint16_t *way = v->map->way_home + stores[s] * (m->n_cells + 1);
        if (way[cell] != LUD_TRIBES_NOBODY)
            write_way(v, cell, way, lud_tribes_nearest_house(m, v->map, cell, stores[s]), mask, to);
    }
}

static void write_place(const lud_tribes_view *v, int cell, int other, float *to) {
    const int width = v->m->spec.width, there = lud_tribes_cell(v->m, v->state, other);
    to[0] = 1;
    to[1] = (float)(there % width - cell % width);
    to[2] = (float)(there / width - cell / width);
}

static void write_others(const lud_tribes_view *v, int agent, int cell, float *to) {
    const lud_tribes_model *m = v->m;
    int agents[N_OTHERS];
    const int n_others = lud_tribes_in_sight(m, v->state, v->at, agent, false, N_OTHERS, agents);
    for (int i = 0; i < n_others; i++) {
        float *row = to + i * OTHER_NUMBERS;
        const uint8_t *load = lud_tribes_load(m, v->state, agents[i]);
        write_place(v, cell, agents[i], row);
        for (int k = 0; k < LUD_RESOURCES; k++) {
            row[3 + k] = load[k];
            row[3 + LUD_RESOURCES + k] = (float)m->spec.teams[m->team[agents[i]]].value[k];
        }
        row[3 + 2 * LUD_RESOURCES] = lud_tribes_pays(m, v->state, agent, agents[i]);
    }
    to += N_OTHERS * OTHER_NUMBERS;
    const int n_friends = lud_tribes_in_sight(m, v->state, v->at, agent, true, N_FRIENDS, agents);
    for (int i = 0; i < n_friends; i++, to += FRIEND_NUMBERS) {
        write_place(v, cell, agents[i], to);
        to[3] = (float)lud_tribes_loaded(lud_tribes_load(m, v->state, agents[i]));
    }
}

static void write_cell(const lud_tribes_view *v, int agent, int cell, uint8_t *to) {
    const lud_tribes_model *m = v->m;
    const int ground = v->map->ground[cell], team = m->team[agent], other = v->at[cell];
    const int field = v->map->field_at[cell];
    to[0] = ground == LUD_TRIBES_WATER          ? 1
            : field >= 0                        ? (uint8_t)(2 + lud_tribes_kind(m, field))
            : ground < LUD_TRIBES_HOUSE         ? 0
            : ground - LUD_TRIBES_HOUSE == team ? 5
                                                : 6;
    to[1] = field >= 0 ? (uint8_t)lud_tribes_stock(m, v->state, field) : 0;
    to[2] = other < 0 ? 0 : m->team[other] == team ? 1 : 2;
    to[3] = other < 0 ? 0 : (uint8_t)lud_tribes_loaded(lud_tribes_load(m, v->state, other));
}

static void write_window(const lud_tribes_view *v, int agent, int cell, uint8_t *to) {
    const int sight = (int)v->m->spec.sight, width = v->m->spec.width, height = v->m->spec.height;
    const int left = cell % width - sight, top = cell / width - sight;
    for (int x = left; x <= left + 2 * sight; x++)
        for (int y = top; y <= top + 2 * sight; y++, to += WINDOW_NUMBERS) {
            const bool inside = x >= 0 && y >= 0 && x < width && y < height;
            write_cell(v, agent, inside ? y * width + x : v->m->n_cells, to);
        }
}

static size_t row_bytes(const lud_tribes_model *m, int p) {
    return m->base.layout.parts[p].bytes / (size_t)m->n_agents;
}

static void *row_of(const lud_tribes_model *m, void *const *parts, int p, size_t e, int agent) {
    if (!parts[p]) return NULL;
    uint8_t *row = (uint8_t *)parts[p] + (e * (size_t)m->n_agents + (size_t)agent) * row_bytes(m, p);
    return row;
}

static void observe_one(const lud_tribes_view *v, size_t e, void *const *parts) {
    const lud_tribes_model *m = v->m;
    for (int i = 0; i < m->n_agents; i++) {
        const int cell = lud_tribes_cell(m, v->state, i);
        uint8_t mask[LUD_TRIBES_ACTIONS];
        void *row[N_PARTS];
        lud_tribes_mask(m, v->state, v->at, i, mask);
        for (int p = 0; p < N_PARTS; p++) {
            row[p] = row_of(m, parts, p, e, i);
            if (row[p]) memset(row[p], 0, row_bytes(m, p));
        }
        if (row[PART_MASK]) memcpy(row[PART_MASK], mask, sizeof mask);
        if (cell == LUD_TRIBES_NOBODY) continue;
        if (row[PART_SELF]) write_self(v, i, cell, mask, row[PART_SELF]);
        if (row[PART_WAYS]) write_ways(v, i, cell, mask, row[PART_WAYS]);
        if (row[PART_OTHERS]) write_others(v, i, cell, row[PART_OTHERS]);
        if (row[PART_WINDOW]) write_window(v, i, cell, row[PART_WINDOW]);
    }
}

void lud_tribes_observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    lud_tribes_view v;
    for (size_t e = 0; e < (size_t)range.n; e++) {
        lud_tribes_look(lud_tribes_of(model), states + e * model->layout.state_bytes,
                        parts[PART_WAYS] != NULL, &v);
        observe_one(&v, e, parts);
    }
}
