#include "sim/tribes/support_tribes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/tribes/tribes_parts.h"

enum { GATHERED, DELIVERED, TRADED, STOLEN, LOST, DEFENDED, CAUGHT, TRADES, RAIDS };
static const int east_south[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

/* A course on its way. */
typedef struct course {
    const lud_tribes_model *m;
    const int32_t *actions;
    oracle_outcomes *out;
    oracle_outcome now;
    int partner[ORACLE_AGENTS]; /* of traders, -1: none */
    int victim[ORACLE_AGENTS];  /* of thieves: an agent, 100 + team of a store, -1: nobody */
    int victim_x[ORACLE_AGENTS], victim_y[ORACLE_AGENTS];
    int tries[ORACLE_AGENTS], succeeds[ORACLE_AGENTS];
    int goes[ORACLE_AGENTS]; /* movers that get the cell they want */
} course;

static char cell_at(const lud_tribes_model *m, int x, int y) {
    if (x < 0 || y < 0 || x >= m->spec.width || y >= m->spec.height) return '~';
    return m->spec.maps[0][y * m->spec.width + x];
}

static int agent_on(const oracle_state *s, int n, int x, int y) {
    for (int i = 0; i < n; i++)
        if (s->x[i] == x && s->y[i] == y && x >= 0) return i;
    return -1;
}

static int sum3(const int *load) {
    return load[0] + load[1] + load[2];
}

static int worth(const lud_tribes_model *m, int agent_team, int kind) {
    return (int)m->spec.teams[agent_team].value[kind];
}

static bool beside_home(const lud_tribes_model *m, const oracle_state *s, int i) {
    for (int d = 0; d < 4; d++)
        if (cell_at(m, s->x[i] + east_south[d][0], s->y[i] + east_south[d][1]) == 'A' + m->team[i])
            return true;
    return false;
}

static void pay(course *c, int agent, int part, double amount) {
    c->now.part[agent][part] += amount;
}

/* --- Stages, each of which ends by beginning the next --- */

static void after_growth(course *c, int cell);
static void move_and_live(course *c);
static void choose_winner(course *c, int agent);
static void choose_success(course *c, int agent);
static void choose_trier(course *c, int agent);
static void choose_victim(course *c, int agent);
static void apply_thefts(course *c);

static void finish(course *c) {
    oracle_outcomes *out = c->out;
    if (out->n == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 64;
        out->items = realloc(out->items, out->capacity * sizeof *out->items);
        assert_non_null(out->items);
    }
    out->items[out->n++] = c->now;
}

static double regrowth(const lud_tribes_model *m, char kind) {
    return m->spec.regrow.of[kind == 'g' ? 0 : kind == 'w' ? 1 : 2];
}

static void after_growth(course *c, int cell) {
    const int width = c->m->spec.width;
    for (; cell < width * c->m->spec.height; cell++) {
        const char kind = c->m->spec.maps[0][cell];
        int *stock = &c->now.state.stock[cell / width][cell % width];
        if (!strchr("gwo", kind) || *stock >= c->m->spec.stock) continue;
        const double p = regrowth(c->m, kind), before = c->now.probability;
        if (p > 0) {
            ++*stock;
            c->now.probability = before * p;
            after_growth(c, cell + 1);
            --*stock;
        }
        if (p < 1) {
            c->now.probability = before * (1 - p);
            after_growth(c, cell + 1);
        }
        c->now.probability = before;
        return;
    }
    finish(c);
}

static void move_and_live(course *c) {
    const oracle_outcome before = c->now;
    oracle_state *s = &c->now.state;
    const lud_tribes_model *m = c->m;
    for (int i = 0; i < m->n_agents; i++)
        if (c->goes[i]) {
            s->x[i] += east_south[c->actions[i] - 1][0];
            s->y[i] += east_south[c->actions[i] - 1][1];
        }
    s->step++;
    for (int i = 0; i < m->n_agents && m->spec.health > 0; i++) {
        if (s->x[i] < 0) continue;
        if (m->spec.hunger > 0 && s->step % m->spec.hunger == 0 && s->health[i] > 0) s->health[i]--;
        const bool rests = c->actions[i] == LUD_TRIBES_WAIT || c->actions[i] == LUD_TRIBES_DEPOSIT;
        if (rests && beside_home(m, s, i)) s->health[i] = (int)m->spec.health;
        if (s->health[i] > 0) continue;
        s->x[i] = s->y[i] = -1;
        memset(s->load[i], 0, sizeof s->load[i]);
    }
    after_growth(c, 0);
    c->now = before;
}

static bool wants(const course *c, int i, int *x, int *y) {
    const oracle_state *s = &c->now.state;
    if (s->x[i] < 0 || c->actions[i] < LUD_TRIBES_EAST || c->actions[i] > LUD_TRIBES_NORTH) return false;
    *x = s->x[i] + east_south[c->actions[i] - 1][0];
    *y = s->y[i] + east_south[c->actions[i] - 1][1];
    const char cell = cell_at(c->m, *x, *y);
    return cell != '~' && !(cell >= 'A' && cell <= 'F') && agent_on(s, c->m->n_agents, *x, *y) < 0;
}

static void choose_winner(course *c, int agent) {
    int x, y, other_x, other_y, rivals[4], n = 0;
    while (agent < c->m->n_agents && !wants(c, agent, &x, &y)) agent++;
    if (agent == c->m->n_agents) {
        move_and_live(c);
        return;
    }
    for (int j = 0; j < c->m->n_agents; j++)
        if (wants(c, j, &other_x, &other_y) && other_x == x && other_y == y) rivals[n++] = j;
    if (rivals[0] != agent) { /* decided with the first of them */
        choose_winner(c, agent + 1);
        return;
    }
    const double before = c->now.probability;
    for (int k = 0; k < n; k++) {
        c->goes[rivals[k]] = 1;
        c->now.probability = before / n;
        choose_winner(c, agent + 1);
        c->goes[rivals[k]] = 0;
    }
    c->now.probability = before;
}

/* --- Thefts --- */

static int has_goods(const oracle_state *s, int team) {
    return sum3(s->store[team]) > 0;
}

static int find_guards(const course *c, int thief, int *guards) {
    int n = 0;
    const int v = c->victim[thief], team = v >= 100 ? v - 100 : c->m->team[v];
    for (int j = 0; j < c->m->n_agents; j++) {
        const oracle_state *s = &c->now.state;
        const int away = abs(s->x[j] - c->victim_x[thief]) + abs(s->y[j] - c->victim_y[thief]);
        if (s->x[j] >= 0 && c->m->team[j] == team && c->actions[j] == LUD_TRIBES_DEFEND && away <= 1)
            guards[n++] = j;
    }
    return n;
}

static int booty(const course *c, int thief) {
    const int v = c->victim[thief];
    const int *there = v >= 100 ? c->now.state.store[v - 100] : c->now.state.load[v];
    int best = -1;
    for (int k = 0; k < 3; k++)
        if (there[k] > 0 &&
            (best < 0 || worth(c->m, c->m->team[thief], k) > worth(c->m, c->m->team[thief], best)))
            best = k;
    return best;
}

static void apply_thefts(course *c) {
    const oracle_outcome before = c->now;
    const lud_tribes_model *m = c->m;
    int kind[ORACLE_AGENTS], guards[ORACLE_AGENTS][ORACLE_AGENTS], n_guards[ORACLE_AGENTS];
    for (int i = 0; i < m->n_agents; i++)
        if (c->tries[i]) {
            kind[i] = booty(c, i);
            n_guards[i] = find_guards(c, i, guards[i]);
        }
    oracle_state *s = &c->now.state;
    for (int i = 0; i < m->n_agents; i++) {
        if (!c->tries[i]) continue;
        const int v = c->victim[i], own = m->team[i], team = v >= 100 ? v - 100 : m->team[v];
        const int loss = worth(m, team, kind[i]);
        if (c->succeeds[i]) {
            s->load[i][kind[i]]++;
            s->count[own][STOLEN] += worth(m, own, kind[i]);
            s->count[own][RAIDS]++;
            s->count[team][LOST] += loss;
            pay(c, i, STOLEN, worth(m, own, kind[i]));
            if (v < 100) {
                s->load[v][kind[i]]--;
                pay(c, v, LOST, -loss);
            } else {
                s->store[team][kind[i]]--;
                int members = 0;
                for (int j = 0; j < m->n_agents; j++) members += m->team[j] == team;
                for (int j = 0; j < m->n_agents; j++)
                    if (m->team[j] == team) pay(c, j, LOST, -(double)loss / members);
            }
        } else if (n_guards[i]) {
            s->count[team][DEFENDED] += loss;
            s->count[own][CAUGHT]++;
            pay(c, i, CAUGHT, -1);
            for (int k = 0; k < n_guards[i]; k++) pay(c, guards[i][k], DEFENDED, (double)loss / n_guards[i]);
            if (m->spec.health > 0) s->health[i]--;
        }
    }
    choose_winner(c, 0);
    c->now = before;
}

static void choose_success(course *c, int agent) {
    int guards[ORACLE_AGENTS];
    while (agent < c->m->n_agents && !c->tries[agent]) agent++;
    if (agent == c->m->n_agents) {
        apply_thefts(c);
        return;
    }
    const double p = find_guards(c, agent, guards) ? c->m->spec.steal.guarded : c->m->spec.steal.open;
    const double before = c->now.probability;
    for (int k = 0; k < 2; k++) {
        c->now.probability = before * (k ? p : 1 - p);
        c->succeeds[agent] = k;
        if (c->now.probability > 0) choose_success(c, agent + 1);
    }
    c->now.probability = before;
}

static void choose_trier(course *c, int agent) {
    int rivals[ORACLE_AGENTS] = {0}, n = 0;
    while (agent < c->m->n_agents && c->victim[agent] < 0) agent++;
    if (agent == c->m->n_agents) {
        choose_success(c, 0);
        return;
    }
    for (int j = 0; j < c->m->n_agents; j++)
        if (c->victim[j] == c->victim[agent]) rivals[n++] = j;
    if (rivals[0] != agent) {
        choose_trier(c, agent + 1);
        return;
    }
    const double before = c->now.probability;
    for (int k = 0; k < n; k++) {
        c->tries[rivals[k]] = 1;
        c->now.probability = before / n;
        choose_trier(c, agent + 1);
        c->tries[rivals[k]] = 0;
    }
    c->now.probability = before;
}

static void choose_victim(course *c, int agent) {
    if (agent == c->m->n_agents) {
        choose_trier(c, 0);
        return;
    }
    const oracle_state *s = &c->now.state;
    int found[4], x[4], y[4], n = 0;
    c->victim[agent] = -1;
    const bool able =
        s->x[agent] >= 0 && c->actions[agent] == LUD_TRIBES_STEAL && sum3(s->load[agent]) < c->m->spec.carry;
    for (int d = 0; d < 4 && able; d++) {
        x[n] = s->x[agent] + east_south[d][0];
        y[n] = s->y[agent] + east_south[d][1];
        const int other = agent_on(s, c->m->n_agents, x[n], y[n]);
        const char cell = cell_at(c->m, x[n], y[n]);
        const bool house = cell >= 'A' && cell <= 'F' && cell - 'A' != c->m->team[agent];
        if (other >= 0 && c->m->team[other] != c->m->team[agent] && sum3(s->load[other]))
            found[n++] = other;
        else if (house && has_goods(s, cell - 'A'))
            found[n++] = 100 + cell - 'A';
    }
    if (n == 0) {
        choose_victim(c, agent + 1);
        return;
    }
    const double before = c->now.probability;
    for (int k = 0; k < n; k++) {
        c->victim[agent] = found[k];
        c->victim_x[agent] = x[k];
        c->victim_y[agent] = y[k];
        c->now.probability = before / n;
        choose_victim(c, agent + 1);
    }
    c->victim[agent] = -1;
    c->now.probability = before;
}

/* --- Trades --- */

static int offered(const course *c, int i) {
    int least = -1;
    for (int k = 2; k >= 0; k--)
        if (c->now.state.load[i][k] &&
            (least < 0 || worth(c->m, c->m->team[i], k) <= worth(c->m, c->m->team[i], least)))
            least = k;
    return least;
}

static bool both_gain(const course *c, int i, int j) {
    const int from_i = offered(c, i), from_j = offered(c, j), a = c->m->team[i], b = c->m->team[j];
    return a != b && from_i >= 0 && from_j >= 0 && worth(c->m, a, from_j) > worth(c->m, a, from_i) &&
           worth(c->m, b, from_i) > worth(c->m, b, from_j);
}

static void apply_trades(course *c) {
    const oracle_outcome before = c->now;
    for (int i = 0; i < c->m->n_agents; i++)
        for (int j = i + 1; j < c->m->n_agents; j++) {
            if (c->partner[i] != j || c->partner[j] != i) continue;
            const int from_i = offered(c, i), from_j = offered(c, j), a = c->m->team[i], b = c->m->team[j];
            const int gain_i = worth(c->m, a, from_j) - worth(c->m, a, from_i);
            const int gain_j = worth(c->m, b, from_i) - worth(c->m, b, from_j);
            oracle_state *s = &c->now.state;
            s->load[i][from_i]--;
            s->load[j][from_i]++;
            s->load[j][from_j]--;
            s->load[i][from_j]++;
            pay(c, i, TRADED, gain_i);
            pay(c, j, TRADED, gain_j);
            s->count[a][TRADED] += gain_i;
            s->count[b][TRADED] += gain_j;
            s->count[a][TRADES]++;
            s->count[b][TRADES]++;
        }
    choose_victim(c, 0);
    c->now = before;
}

static void choose_partner(course *c, int agent) {
    if (agent == c->m->n_agents) {
        apply_trades(c);
        return;
    }
    const oracle_state *s = &c->now.state;
    int found[4], n = 0;
    c->partner[agent] = -1;
    for (int d = 0; d < 4 && c->actions[agent] == LUD_TRIBES_TRADE && s->x[agent] >= 0; d++) {
        const int other =
            agent_on(s, c->m->n_agents, s->x[agent] + east_south[d][0], s->y[agent] + east_south[d][1]);
        if (other >= 0 && c->actions[other] == LUD_TRIBES_TRADE && both_gain(c, agent, other))
            found[n++] = other;
    }
    const double before = c->now.probability;
    for (int k = 0; k < n; k++) {
        c->partner[agent] = found[k];
        c->now.probability = before / n;
        choose_partner(c, agent + 1);
    }
    c->now.probability = before;
    if (n == 0) choose_partner(c, agent + 1);
}

/* --- Work --- */

static void deliver(course *c, int i) {
    oracle_state *s = &c->now.state;
    const int team = c->m->team[i];
    for (int k = 0; k < 3 && beside_home(c->m, s, i); k++) {
        s->store[team][k] += s->load[i][k];
        s->count[team][DELIVERED] += s->load[i][k] * worth(c->m, team, k);
        pay(c, i, DELIVERED, s->load[i][k] * worth(c->m, team, k));
        s->load[i][k] = 0;
    }
}

static void choose_gathering(course *c, int agent) {
    const lud_tribes_model *m = c->m;
    oracle_state *s = &c->now.state;
    const oracle_outcome before = c->now;
    if (agent == m->n_agents) {
        for (int i = 0; i < m->n_agents; i++)
            if (s->x[i] >= 0 && c->actions[i] == LUD_TRIBES_DEPOSIT) deliver(c, i);
        choose_partner(c, 0);
        c->now = before;
        return;
    }
    const char *kinds = "gwo";
    const char *kind = s->x[agent] < 0 ? NULL : strchr(kinds, cell_at(m, s->x[agent], s->y[agent]));
    if (c->actions[agent] != LUD_TRIBES_GATHER || !kind || s->stock[s->y[agent]][s->x[agent]] == 0 ||
        sum3(s->load[agent]) >= m->spec.carry) {
        choose_gathering(c, agent + 1);
        return;
    }
    const int team = m->team[agent], k = (int)(kind - kinds);
    const double p = m->spec.teams[team].skill[k];
    for (int success = 0; success < 2; success++) {
        c->now = before;
        c->now.probability *= success ? p : 1 - p;
        if (c->now.probability <= 0) continue;
        if (success) {
            s->stock[s->y[agent]][s->x[agent]]--;
            s->load[agent][k]++;
            s->count[team][GATHERED] += worth(m, team, k);
            pay(c, agent, GATHERED, worth(m, team, k));
        }
        choose_gathering(c, agent + 1);
    }
    c->now = before;
}

void oracle_step(const lud_tribes_model *m, const oracle_state *state, const int32_t *actions,
                 oracle_outcomes *out) {
    course c = {.m = m, .actions = actions, .out = out};
    c.now.state = *state;
    c.now.probability = 1;
    choose_gathering(&c, 0);
}

/* --- States and models --- */

oracle_state oracle_read(const lud_tribes_model *m, const uint8_t *state) {
    oracle_state s;
    memset(&s, 0, sizeof s);
    s.step = lud_tribes_step_count(m, state);
    for (int i = 0; i < m->n_agents; i++) {
        const int cell = lud_tribes_cell(m, state, i);
        s.x[i] = cell == LUD_TRIBES_NOBODY ? -1 : cell % m->spec.width;
        s.y[i] = cell == LUD_TRIBES_NOBODY ? -1 : cell / m->spec.width;
        for (int k = 0; k < 3; k++) s.load[i][k] = lud_tribes_load(m, state, i)[k];
        s.health[i] = m->spec.health > 0 ? lud_tribes_health(m, state, i) : 0;
    }
    for (int f = 0; f < m->n_fields; f++) {
        const int cell = m->maps[0].field[f];
        s.stock[cell / m->spec.width][cell % m->spec.width] = lud_tribes_stock(m, state, f);
    }
    for (int t = 0; t < m->spec.n_teams; t++) {
        for (int k = 0; k < 3; k++) s.store[t][k] = (int)lud_tribes_stored(m, state, t, k);
        for (int k = 0; k < ORACLE_COUNTS; k++) s.count[t][k] = (int)lud_tribes_tally(m, state, t, k);
    }
    return s;
}

lud_model *tribes_make(const char *section) {
    lud_arena *arena = lud_arena_create(0);
    lud_text text = {0};
    lud_error error = {0};
    lud_tree *root;
    lud_model *model = NULL;
    lud_text_append(&text, "tribes:\n%s", section);
    if (lud_tree_read_text(arena, "test", text.bytes, text.length, &root, &error) ||
        lud_tribes_world.parse(&lud_tribes_world, root, "test", 1, &model, &error))
        fail_msg("%s\n%s", error.text, section);
    lud_text_free(&text);
    lud_arena_destroy(arena);
    return model;
}

void tribes_put(const lud_model *model, uint8_t *state, int agent, int x, int y, int grain, int wood,
                int ore) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const int load[3] = {grain, wood, ore};
    lud_tribes_put(state + m->at.cell + 2 * (uint32_t)agent, 2,
                   x < 0 ? LUD_TRIBES_NOBODY : (uint32_t)(y * m->spec.width + x));
    for (uint32_t k = 0; k < 3; k++) state[m->at.load + 3 * (uint32_t)agent + k] = (uint8_t)load[k];
}

void tribes_put_stock(const lud_model *model, uint8_t *state, int field, int units) {
    state[lud_tribes_of(model)->at.stock + (uint32_t)field] = (uint8_t)units;
}

void tribes_put_store(const lud_model *model, uint8_t *state, int team, int kind, int units) {
    lud_tribes_put(state + lud_tribes_of(model)->at.store + 4 * (uint32_t)(3 * team + kind), 4,
                   (uint32_t)units);
}
