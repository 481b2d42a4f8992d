/* What the people of the tribes world do when nobody has learned: each has a craft, looks at the state, and
 * takes the way that leads there. Nothing is remembered, so that the probabilities follow from the state. */
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/options/option_rows.h"
#include "sim/tribes/tribes.h"

typedef enum craft { CRAFT_MIXED, CRAFT_GATHERER, CRAFT_TRADER, CRAFT_RAIDER, CRAFT_GUARD } craft;
static const char *const craft_names[] = {"mixed", "gatherer", "trader", "raider", "guard", NULL};

typedef struct villager_options {
    const char *type;
    int craft;
    double wander;
} villager_options;

#define OPTIONS villager_options
static const lud_option option_list[] = {
    TEXT(type, NULL, "villager"),
    CHOICE(craft, "mixed", craft_names,
           "gatherer: fields and home; trader: swaps too; raider: robs; guard: keeps thieves off; mixed: of "
           "five of a team two traders, a gatherer, a raider and a guard"),
    REAL(wander, "0.05", 0, 1, "probability of a step anywhere, which dissolves jams"),
};
static const lud_option_table option_table =
    OPTION_TABLE("villager", "gathers, trades, raids or guards (tribes)", option_list);

typedef struct villager {
    lud_policy policy;
    craft craft;
    double wander;
    uint16_t *to_market; /* [n_maps][n_cells + 1] steps to the market place, LUD_TRIBES_NOBODY: no way */
} villager;

enum {
    N_DIRECTIONS = 4,
    SEEN = 4, /* of the others in sight */
    MARKET_EVERY = 40,
    MARKET_FOR = 24 /* steps */
};

/* One decision. */
typedef struct choice {
    const lud_tribes_view *s;
    int agent, team, cell, loaded;
    const uint8_t *load;
    uint8_t mask[LUD_TRIBES_ACTIONS];
    double *p;   /* [LUD_TRIBES_ACTIONS] */
    double left; /* probability not given away yet */
} choice;

/* Gives a share of what is left to an action. */
static void give(choice *c, int action, double share) {
    c->p[action] += c->left * share;
    c->left -= c->left * share;
}

/* Gives all that is left to the directions with `good`, in equal parts. Blocked on all of them: half of it
 * waits and half steps aside. */
static void walk(choice *c, const bool good[N_DIRECTIONS]) {
    int n = 0, n_free = 0;
    for (int d = 0; d < N_DIRECTIONS; d++) {
        n += good[d] && c->mask[LUD_TRIBES_EAST + d];
        n_free += c->mask[LUD_TRIBES_EAST + d];
    }
    if (n == 0) give(c, LUD_TRIBES_WAIT, n_free ? 0.5 : 1);
    const double part = c->left / (n ? n : n_free ? n_free : 1);
    for (int d = 0; d < N_DIRECTIONS; d++)
        if (c->mask[LUD_TRIBES_EAST + d] && (n == 0 || good[d])) c->p[LUD_TRIBES_EAST + d] += part;
    c->left = 0;
}

static void follow(choice *c, const uint16_t *distance) {
    bool good[N_DIRECTIONS];
    if (distance[c->cell] == LUD_TRIBES_NOBODY) {
        give(c, LUD_TRIBES_WAIT, 1);
        return;
    }
    for (int d = 0; d < N_DIRECTIONS; d++)
        good[d] = distance[lud_tribes_neighbour(c->s->m, c->cell, d)] < distance[c->cell];
    walk(c, good);
}

static const uint16_t *way_to(const choice *c, int team) {
    return c->s->map->way_home + team * (c->s->m->n_cells + 1);
}

static void approach(choice *c, int other) {
    const int width = c->s->m->spec.width, to = lud_tribes_cell(c->s->m, c->s->state, other);
    const int dx = to % width - c->cell % width, dy = to / width - c->cell / width;
    const bool good[N_DIRECTIONS] = {dx > 0, dy > 0, dx < 0, dy < 0};
    walk(c, good);
}

static void go_home(choice *c) {
    if (c->mask[LUD_TRIBES_DEPOSIT])
        give(c, LUD_TRIBES_DEPOSIT, 1);
    else
        follow(c, way_to(c, c->team));
}

/* The kind that brings most for the time that a full load takes: the way there, gathering, and the way back.
 * -1: no field is in reach. Traders count every kind alike: what is worth little here is worth more
 * elsewhere.
 */
static int best_kind(const choice *c, bool alike) {
    const lud_tribes_team *team = &c->s->m->spec.teams[c->team];
    const double carry = (double)c->s->m->spec.carry;
    int best = -1;
    double most = 0;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        const int field = c->s->nearest[k][c->cell];
        if (field < 0 || team->skill[k] <= 0) continue;
        const int there = c->s->distance[k][c->cell], back = way_to(c, c->team)[c->s->map->field[field]];
        const double value = alike ? 1.0 : 0.1 + (double)team->value[k];
        const double worth = value / (2 + there + back + carry / team->skill[k]);
        if (best >= 0 && worth <= most) continue;
        best = k;
        most = worth;
    }
    return best;
}

static void gather(choice *c, bool alike) {
    const lud_tribes_model *m = c->s->m;
    const int left = (int)m->spec.max_steps - lud_tribes_step_count(m, c->s->state);
    const bool late = c->loaded && left <= way_to(c, c->team)[c->cell] + 2;
    if (c->mask[LUD_TRIBES_DEPOSIT] || c->loaded >= m->spec.carry || late) {
        go_home(c);
        return;
    }
    const int kind = best_kind(c, alike), here = c->s->map->field_at[c->cell];
    const bool better =
        here >= 0 && kind >= 0 && !alike &&
        m->spec.teams[c->team].value[kind] > m->spec.teams[c->team].value[lud_tribes_kind(m, here)] &&
        c->s->distance[kind][c->cell] <= 2;
    if (c->mask[LUD_TRIBES_GATHER] && !better)
        give(c, LUD_TRIBES_GATHER, 1);
    else if (kind >= 0)
        follow(c, c->s->distance[kind]);
    else if (c->loaded)
        go_home(c);
    else
        give(c, LUD_TRIBES_WAIT, 1);
}

/* Gives a share of what is left to the way up to somebody in sight with whom a swap would pay; false: there
 * is nobody. */
static bool approach_partner(choice *c, double share) {
    int others[SEEN];
    const int n = lud_tribes_in_sight(c->s->m, c->s->state, c->s->at, c->agent, false, SEEN, others);
    for (int i = 0; i < n; i++) {
        if (!lud_tribes_pays(c->s->m, c->s->state, c->agent, others[i])) continue;
        const double rest = c->left;
        c->left = share * rest;
        approach(c, others[i]);
        c->left = (1 - share) * rest;
        return true;
    }
    return false;
}

/* Swaps where that pays, and goes up to those with whom it would; a partner that does not answer is left in
 * the end. On market days those with something to offer meet at the market place. */
static void trade(const villager *self, choice *c) {
    const lud_tribes_model *m = c->s->m;
    const int64_t *value = m->spec.teams[c->team].value;
    const int offer = lud_tribes_offer(m, c->load, c->team);
    const bool market_day = lud_tribes_step_count(m, c->s->state) % MARKET_EVERY < MARKET_FOR;
    const uint16_t *to_market = self->to_market + (c->s->map - m->maps) * (m->n_cells + 1);
    bool offers = false;
    for (int k = 0; k < LUD_RESOURCES && offer >= 0; k++) offers |= value[k] > value[offer];
    if (c->mask[LUD_TRIBES_TRADE])
        give(c, LUD_TRIBES_TRADE, 0.8);
    else if (offers && 2 * c->loaded >= m->spec.carry && !approach_partner(c, 0.8) && market_day &&
             c->loaded == m->spec.carry && to_market[c->cell] != LUD_TRIBES_NOBODY)
        follow(c, to_market);
    gather(c, true);
}

static void raid(choice *c) {
    const lud_tribes_model *m = c->s->m;
    if (c->mask[LUD_TRIBES_DEPOSIT] || c->loaded >= m->spec.carry) {
        go_home(c);
        return;
    }
    give(c, LUD_TRIBES_STEAL, c->mask[LUD_TRIBES_STEAL] ? 0.9 : 0);
    int others[SEEN];
    const int n = lud_tribes_in_sight(m, c->s->state, c->s->at, c->agent, false, SEEN, others);
    for (int i = 0; i < n; i++)
        if (lud_tribes_loaded(lud_tribes_load(m, c->s->state, others[i]))) {
            approach(c, others[i]);
            return;
        }
    const int store = lud_tribes_nearest_store(m, c->s->state, c->cell, c->team);
    if (store < 0 || way_to(c, store)[c->cell] == LUD_TRIBES_NOBODY)
        gather(c, false);
    else
        follow(c, way_to(c, store));
}

/* Keeps near home while strangers are in sight of it, and gathers otherwise. */
static void guard(choice *c) {
    int stranger;
    const bool watched =
        lud_tribes_in_sight(c->s->m, c->s->state, c->s->at, c->agent, false, 1, &stranger) > 0;
    const int way = way_to(c, c->team)[c->cell];
    if (!watched || way > c->s->m->spec.sight)
        gather(c, false);
    else if (c->mask[LUD_TRIBES_DEPOSIT])
        give(c, LUD_TRIBES_DEPOSIT, 1);
    else if (way == 0)
        give(c, LUD_TRIBES_DEFEND, 1);
    else
        go_home(c);
}

/* Who would not survive another blow goes home, where waiting heals. */
static void rest(choice *c) {
    if (way_to(c, c->team)[c->cell] == 0)
        give(c, LUD_TRIBES_WAIT, 1);
    else
        follow(c, way_to(c, c->team));
}

static craft craft_of(const villager *self, const lud_tribes_model *m, int agent) {
    static const craft mix[] = {CRAFT_TRADER, CRAFT_GATHERER, CRAFT_TRADER, CRAFT_RAIDER, CRAFT_GUARD};
    if (self->craft != CRAFT_MIXED) return self->craft;
    return mix[(agent - m->team_begin[m->team[agent]]) % (int)(sizeof mix / sizeof *mix)];
}

static void decide(const villager *self, const lud_tribes_view *s, int agent, double *p) {
    choice c = {.s = s, .agent = agent, .team = s->m->team[agent], .p = p, .left = 1};
    c.cell = lud_tribes_cell(s->m, s->state, agent);
    c.load = lud_tribes_load(s->m, s->state, agent);
    c.loaded = lud_tribes_loaded(c.load);
    memset(p, 0, LUD_TRIBES_ACTIONS * sizeof *p);
    lud_tribes_mask(s->m, s->state, s->at, agent, c.mask);
    if (c.cell == LUD_TRIBES_NOBODY) {
        p[LUD_TRIBES_WAIT] = 1;
        return;
    }
    const bool anywhere[N_DIRECTIONS] = {true, true, true, true};
    c.left = self->wander;
    walk(&c, anywhere);
    c.left = 1 - self->wander;
    if (s->m->spec.health > 0 && lud_tribes_health(s->m, s->state, agent) < 2) {
        rest(&c);
        return;
    }
    switch (craft_of(self, s->m, agent)) {
    case CRAFT_TRADER:
        trade(self, &c);
        break;
    case CRAFT_RAIDER:
        raid(&c);
        break;
    case CRAFT_GUARD:
        guard(&c);
        break;
    default:
        gather(&c, false);
        break;
    }
}

static void act(lud_policy *policy, const lud_act *act) {
    const villager *self = (const villager *)policy;
    const lud_tribes_model *m = lud_tribes_of(act->model);
    lud_tribes_view s;
    for (int e = 0; e < act->range.n; e++) {
        lud_tribes_look(m, act->states + (size_t)e * act->model->layout.state_bytes, true, &s);
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            double p[LUD_TRIBES_ACTIONS];
            decide(self, &s, act->agents[slot], p);
            lud_policy_choose(act, e, slot, p);
        }
    }
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    lud_tribes_view s;
    (void)goal;
    lud_tribes_look(lud_tribes_of(policy->model), state, true, &s);
    decide((const villager *)policy, &s, agent, p);
    return true;
}

static void destroy(lud_policy *policy) {
    free(((villager *)policy)->to_market);
    free(policy);
}

/* The market place is the open cell nearest to the middle of the map, as a field without anything in it. */
static bool find_market(villager *self, const lud_tribes_model *m) {
    const size_t n = (size_t)m->n_cells + 1;
    uint16_t *queue = calloc(n, sizeof *queue), *way;
    self->to_market = calloc(n * (size_t)m->spec.n_maps, sizeof *self->to_market);
    for (int k = 0; k < m->spec.n_maps && queue && self->to_market; k++) {
        int market = -1, least = 0, head = 0, tail = 0;
        for (int c = 0; c < m->n_cells; c++) {
            const int dx = 2 * (c % m->spec.width) + 1 - m->spec.width;
            const int dy = 2 * (c / m->spec.width) + 1 - m->spec.height, away = dx * dx + dy * dy;
            if (m->maps[k].ground[c] != LUD_TRIBES_GROUND || (market >= 0 && away >= least)) continue;
            market = c;
            least = away;
        }
        way = self->to_market + (size_t)k * n;
        memset(way, 0xff, n * sizeof *way);
        if (market < 0) continue;
        way[market] = 0;
        queue[tail++] = (uint16_t)market;
        while (head < tail) {
            const int cell = queue[head++];
            for (int d = 0; d < N_DIRECTIONS; d++) {
                const int to = lud_tribes_neighbour(m, cell, d), ground = m->maps[k].ground[to];
                if (way[to] != LUD_TRIBES_NOBODY || ground >= LUD_TRIBES_WATER) continue;
                way[to] = (uint16_t)(way[cell] + 1);
                queue[tail++] = (uint16_t)to;
            }
        }
    }
    const bool whole = queue && self->to_market;
    free(queue);
    return whole;
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    (void)file;
    if (model->world != &lud_tribes_world)
        return lud_invalid_at(error, options ? options->place : (lud_place){0},
                              "the policy villager is for the world tribes, not for %s", model->world->name);
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "a policy");
    villager_options values;
    lud_status status = lud_options_read(&option_table, arena, options, &values, error);
    lud_arena_destroy(arena);
    if (status) return status;
    villager *self = calloc(1, sizeof *self);
    if (!self) return lud_no_memory(error, "a policy");
    self->policy = (lud_policy){.kind = kind, .model = model};
    self->craft = (craft)values.craft;
    self->wander = values.wander;
    if (!find_market(self, lud_tribes_of(model))) {
        destroy(&self->policy);
        return lud_no_memory(error, "a policy");
    }
    *policy = &self->policy;
    return LUD_OK;
}

const lud_policy_kind lud_policy_villager = {.name = "villager",
                                             .about = "gathers, trades, raids or guards (tribes)",
                                             .options = &option_table,
                                             .create = create,
                                             .destroy = destroy,
                                             .act = act,
                                             .distribution = distribution};
