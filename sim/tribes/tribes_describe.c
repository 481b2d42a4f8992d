/* States in words: for people, and for agents that read. */
#include <stdlib.h>

#include "sim/tribes/tribes_parts.h"

enum { N_DIRECTIONS = 4, MAX_OTHERS = 3, MAX_FRIENDS = 2 };

static const char *const directions[N_DIRECTIONS] = {"east", "south", "west", "north"};

static void append_load(const uint8_t *load, lud_text *out) {
    lud_text_append(out, "grain %d wood %d ore %d", load[LUD_GRAIN], load[LUD_WOOD], load[LUD_ORE]);
}

static void append_store(const lud_tribes_model *m, const uint8_t *state, int team, lud_text *out) {
    lud_text_append(out, "grain %u wood %u ore %u", lud_tribes_stored(m, state, team, LUD_GRAIN),
                    lud_tribes_stored(m, state, team, LUD_WOOD), lud_tribes_stored(m, state, team, LUD_ORE));
}

/* --- For people --- */

void lud_tribes_describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    const lud_tribes_model *m = lud_tribes_of(model);
    lud_text_append(out, "step %d of %d", lud_tribes_step_count(m, state), (int)m->spec.max_steps);
    if (m->spec.n_maps > 1) lud_text_append(out, ", map %d", state[m->at.map]);
    lud_text_append(out, "\n");
    for (int t = 0; t < m->spec.n_teams; t++) {
        lud_text_append(out, "team %s stores ", m->spec.teams[t].name);
        append_store(m, state, t, out);
        for (int k = 0; k < LUD_TRIBES_SHARED; k++)
            lud_text_append(out, ", %s %u", lud_tribes_component_names[k], lud_tribes_tally(m, state, t, k));
        lud_text_append(out, ", trades %u, raids %u\n", lud_tribes_tally(m, state, t, LUD_TRIBES_TRADES),
                        lud_tribes_tally(m, state, t, LUD_TRIBES_RAIDS));
    }
    for (int i = 0; i < m->n_agents; i++) {
        const int cell = lud_tribes_cell(m, state, i);
        lud_text_append(out, "agent %d of %s ", i, m->spec.teams[m->team[i]].name);
        if (cell == LUD_TRIBES_NOBODY) {
            lud_text_append(out, "is dead\n");
            continue;
        }
        lud_text_append(out, "at (%d, %d) carries ", cell % m->spec.width, cell / m->spec.width);
        append_load(lud_tribes_load(m, state, i), out);
        if (m->spec.health > 0) lud_text_append(out, ", health %d", lud_tribes_health(m, state, i));
        lud_text_append(out, "\n");
    }
    for (int k = 0; k < LUD_RESOURCES; k++) {
        int units = 0;
        for (int f = m->field_begin[k]; f < m->field_begin[k + 1]; f++)
            units += lud_tribes_stock(m, state, f);
        lud_text_append(out, "%d fields of %s hold %d\n", m->field_begin[k + 1] - m->field_begin[k],
                        lud_resource_names[k], units);
    }
}

/* --- For an agent --- */

/* What telling an agent needs, too large for a stack of unknown depth. */
typedef struct teller {
    const lud_tribes_model *m;
    const uint8_t *state;
    lud_text *out;
    int agent, cell;
    uint8_t mask[LUD_TRIBES_ACTIONS];
    int16_t at[LUD_TRIBES_MAX_CELLS + 1], nearest[LUD_TRIBES_MAX_CELLS + 1];
    uint16_t distance[LUD_TRIBES_MAX_CELLS + 1], queue[LUD_TRIBES_MAX_CELLS];
} teller;

/* " 2 grain 1 ore", or " nothing". */
static void tell_units(const teller *t, const uint32_t units[LUD_RESOURCES]) {
    bool any = false;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        if (units[k]) lud_text_append(t->out, " %u %s", units[k], lud_resource_names[k]);
        any |= units[k] > 0;
    }
    if (!any) lud_text_append(t->out, " nothing");
}

static void tell_load(const teller *t, const uint8_t *load) {
    tell_units(t, (const uint32_t[]){load[LUD_GRAIN], load[LUD_WOOD], load[LUD_ORE]});
}

/* " 2 east 1 south", or " here". */
static void tell_place(const teller *t, int to) {
    const int width = t->m->spec.width, x = to % width - t->cell % width, y = to / width - t->cell / width;
    if (x) lud_text_append(t->out, " %d %s", abs(x), x > 0 ? "east" : "west");
    if (y) lud_text_append(t->out, " %d %s", abs(y), y > 0 ? "south" : "north");
    if (!x && !y) lud_text_append(t->out, " here");
}

/* ", go east or south": the free steps that lead nearer, if there are any. */
static void tell_way(const teller *t, const uint16_t *distance) {
    const char *before = ", go";
    for (int d = 0; d < N_DIRECTIONS; d++)
        if (t->mask[LUD_TRIBES_EAST + d] &&
            distance[lud_tribes_neighbour(t->m, t->cell, d)] < distance[t->cell]) {
            lud_text_append(t->out, "%s %s", before, directions[d]);
            before = " or";
        }
}

static void tell_store(const teller *t, int team) {
    const lud_tribes_map *map = lud_tribes_map_of(t->m, t->state);
    const uint16_t *way = map->way_home + team * (t->m->n_cells + 1);
    uint32_t units[LUD_RESOURCES];
    if (team == t->m->team[t->agent])
        lud_text_append(t->out, "home");
    else
        lud_text_append(t->out, "store of %s", t->m->spec.teams[team].name);
    tell_place(t, lud_tribes_nearest_house(t->m, map, t->cell, team));
    lud_text_append(t->out, ", holds");
    for (int k = 0; k < LUD_RESOURCES; k++) units[k] = lud_tribes_stored(t->m, t->state, team, k);
    tell_units(t, units);
    tell_way(t, way);
    lud_text_append(t->out, "\n");
}

static void tell_fields(teller *t) {
    const lud_tribes_map *map = lud_tribes_map_of(t->m, t->state);
    const int here = map->field_at[t->cell];
    if (here >= 0)
        lud_text_append(t->out, "here %s, %d units\n", lud_resource_names[lud_tribes_kind(t->m, here)],
                        lud_tribes_stock(t->m, t->state, here));
    for (int k = 0; k < LUD_RESOURCES; k++) {
        lud_tribes_to_fields(t->m, t->state, t->at, k, t->distance, t->nearest, t->queue);
        const int field = t->nearest[t->cell];
        if (field < 0) continue;
        lud_text_append(t->out, "%s", lud_resource_names[k]);
        tell_place(t, map->field[field]);
        lud_text_append(t->out, ", %d units", lud_tribes_stock(t->m, t->state, field));
        tell_way(t, t->distance);
        lud_text_append(t->out, "\n");
    }
}

static void tell_agents(const teller *t, bool own_team) {
    int agents[MAX_OTHERS];
    const int n = lud_tribes_in_sight(t->m, t->state, t->at, t->agent, own_team,
                                      own_team ? MAX_FRIENDS : MAX_OTHERS, agents);
    for (int i = 0; i < n; i++) {
        lud_text_append(t->out, "%s", own_team ? "friend" : t->m->spec.teams[t->m->team[agents[i]]].name);
        tell_place(t, lud_tribes_cell(t->m, t->state, agents[i]));
        lud_text_append(t->out, ", carries");
        tell_load(t, lud_tribes_load(t->m, t->state, agents[i]));
        if (!own_team && lud_tribes_pays(t->m, t->state, t->agent, agents[i]))
            lud_text_append(t->out, ", a swap pays");
        lud_text_append(t->out, "\n");
    }
}

static void tell(teller *t) {
    const lud_tribes_model *m = t->m;
    const int team = m->team[t->agent];
    const uint8_t *load = lud_tribes_load(m, t->state, t->agent);
    lud_text_append(t->out, "step %d of %d\nyou are agent %d of %s\nyou carry",
                    lud_tribes_step_count(m, t->state), (int)m->spec.max_steps, t->agent,
                    m->spec.teams[team].name);
    tell_load(t, load);
    lud_text_append(t->out, ", room for %d\n", (int)m->spec.carry - lud_tribes_loaded(load));
    if (m->spec.health > 0)
        lud_text_append(t->out, "your health is %d of %d\n", lud_tribes_health(m, t->state, t->agent),
                        (int)m->spec.health);
    tell_store(t, team);
    tell_fields(t);
    tell_agents(t, false);
    tell_agents(t, true);
    const int store = lud_tribes_nearest_store(m, t->state, t->cell, team);
    if (store >= 0) tell_store(t, store);
    lud_text_append(t->out, "you can");
    for (int a = 0; a < LUD_TRIBES_ACTIONS; a++)
        if (t->mask[a]) lud_text_append(t->out, " %s", lud_tribes_action_names[a]);
    lud_text_append(t->out, "\n");
}

void lud_tribes_describe_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out) {
    teller *t = malloc(sizeof *t);
    if (!t) {
        out->failed = true;
        return;
    }
    t->m = lud_tribes_of(model);
    t->state = state;
    t->out = out;
    t->agent = agent;
    t->cell = lud_tribes_cell(t->m, state, agent);
    if (t->cell == LUD_TRIBES_NOBODY) {
        lud_text_append(out, "you are agent %d of %s and dead\n", agent,
                        t->m->spec.teams[t->m->team[agent]].name);
    } else {
        lud_tribes_board(t->m, state, t->at);
        lud_tribes_mask(t->m, state, t->at, agent, t->mask);
        tell(t);
    }
    free(t);
}

/* "grain 1, wood 2, ore 3.\n" */
static void tell_numbers(lud_text *out, const int64_t numbers[LUD_RESOURCES]) {
    for (int k = 0; k < LUD_RESOURCES; k++)
        lud_text_append(out, "%s %d%s", lud_resource_names[k], (int)numbers[k],
                        k + 1 < LUD_RESOURCES ? ", " : ".\n");
}

/* What can happen: of skills only those that are not certain, of strangers only where there are any. */
void lud_tribes_describe_team(const lud_model *model, int team, lud_text *out) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const lud_tribes_team *own = &m->spec.teams[team];
    int64_t percent[LUD_RESOURCES];
    bool certain = true;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        percent[k] = (int64_t)(100 * own->skill[k] + 0.5);
        certain &= own->skill[k] >= 1.0;
    }
    lud_text_append(out, "You are of the team %s. A unit is worth to you: ", own->name);
    tell_numbers(out, own->value);
    if (!certain) {
        lud_text_append(out, "Of a hundred tries to gather succeed: ");
        tell_numbers(out, percent);
    }
    for (int t = 0; t < m->spec.n_teams; t++)
        if (t != team) {
            lud_text_append(out, "To the team %s it is worth: ", m->spec.teams[t].name);
            tell_numbers(out, m->spec.teams[t].value);
        }
    lud_text_append(out, "You carry at most %d units. Bring them home.\n", (int)m->spec.carry);
    lud_text_append(out, "wait: do nothing\n"
                         "east, south, west, north: one step, if nobody stands there\n"
                         "gather: take a unit from the field under you\n"
                         "deposit: put all you carry into your storehouse beside you\n");
    if (m->spec.n_teams == 1)
        lud_text_append(out, "trade, steal, defend: of no use without other teams\n");
    else
        lud_text_append(
            out, "trade: swap a unit with somebody of another team beside you who trades too, if both gain\n"
                 "steal: take a unit from another team's agent or storehouse beside you\n"
                 "defend: keep thieves from you, your friends and your storehouse beside you\n");
}
