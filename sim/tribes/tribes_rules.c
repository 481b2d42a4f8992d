#include "sim/tribes/tribes_rules.h"

#include <string.h>

enum { N_DIRECTIONS = 4, NO_ONE = -1 };

/* --- Chance --- */

/* Which word of an agent's block decides what. */
enum { WORD_TARGET, WORD_CONTEST, WORD_SUCCESS };

static lud_words words_of(const lud_tribes_run *run, int agent) {
    return lud_draw(run->key, run->tick, (uint32_t)agent, LUD_PURPOSE_TRANSITION, 0);
}

/* The option of the course at its next point. */
static int follow(lud_tribes_course *course, int n_options, double probability) {
    if (course->at == LUD_TRIBES_MAX_DECISIONS) {
        course->too_long = true;
        return 0;
    }
    if (course->at == course->n) {
        course->decision[course->n].option = 0;
        course->decision[course->n].n_options = n_options;
        course->decision[course->n++].probability = probability;
    }
    return course->decision[course->at++].option;
}

/* One of n options, all as likely. */
static int choose(const lud_tribes_run *run, int agent, int word, int n) {
    if (n == 1) return 0;
    if (run->course) return follow(run->course, n, 1.0 / n);
    return (int)lud_below(words_of(run, agent).v[word], (uint32_t)n);
}

/* Whether something of this probability happens; `unit` is uniform in [0, 1). */
static bool happens(double probability, double unit) {
    return unit < probability;
}

static bool decide(const lud_tribes_run *run, int agent, double probability) {
    if (probability <= 0 || probability >= 1) return probability > 0;
    if (run->course) return follow(run->course, 2, probability);
    const lud_words words = words_of(run, agent);
    return happens(probability, lud_unit53(words.v[WORD_SUCCESS], words.v[WORD_SUCCESS + 1]));
}

bool lud_tribes_next_course(lud_tribes_course *course) {
    while (course->n > 0) {
        int32_t *option = &course->decision[course->n - 1].option;
        if (++*option < course->decision[course->n - 1].n_options) break;
        course->n--;
    }
    course->at = 0;
    return course->n > 0;
}

double lud_tribes_course_probability(const lud_tribes_course *course) {
    double product = 1;
    for (int k = 0; k < course->n; k++) {
        const double p = course->decision[k].probability;
        const bool of_two = course->decision[k].n_options == 2;
        product *= of_two && course->decision[k].option == 0 ? 1 - p : p;
    }
    return product;
}

/* --- Reading and writing --- */

static uint8_t *load_of(const lud_tribes_run *run, int agent) {
    return run->state + run->m->at.load + (uint32_t)(agent * LUD_RESOURCES);
}

static int value_of(const lud_tribes_run *run, int team, int kind) {
    return (int)run->m->spec.teams[team].value[kind];
}

static void add(uint8_t *at, int64_t amount) {
    lud_tribes_put(at, 4, (uint32_t)(lud_tribes_get(at, 4) + (uint64_t)amount));
}

static void add_store(const lud_tribes_run *run, int team, int kind, int units) {
    add(run->state + run->m->at.store + 4 * (uint32_t)(team * LUD_RESOURCES + kind), units);
}

static void count(const lud_tribes_run *run, int team, int which, int amount) {
    add(run->state + run->m->at.tally + 4 * (uint32_t)(team * LUD_TRIBES_TALLIES + which), amount);
}

static void earn(const lud_tribes_run *run, int agent, int component, float amount) {
    if (run->part) run->part[agent * LUD_TRIBES_COMPONENTS + component] += amount;
}

/* What an agent alone gains or loses, told to it and counted for its team. */
static void earn_and_count(const lud_tribes_run *run, int agent, int component, int amount) {
    earn(run, agent, component, (float)amount);
    count(run, run->m->team[agent], component, amount);
}

static bool is_alive(const lud_tribes_run *run, int agent) {
    return lud_tribes_cell(run->m, run->state, agent) != LUD_TRIBES_NOBODY;
}

/* The agent beside a cell, in a direction; NO_ONE. */
static int beside(const lud_tribes_run *run, int cell, int direction) {
    return run->at[lud_tribes_neighbour(run->m, cell, direction)];
}

/* --- Work --- */

static void gather(const lud_tribes_run *run, int agent) {
    const lud_tribes_model *m = run->m;
    const int field = run->map->field_at[lud_tribes_cell(m, run->state, agent)];
    uint8_t *load = load_of(run, agent);
    if (field < 0 || lud_tribes_loaded(load) >= m->spec.carry) return;
    uint8_t *stock = run->state + m->at.stock + (uint32_t)field;
    const int kind = (int)lud_tribes_kind(m, field);
    if (*stock == 0 || !decide(run, agent, m->spec.teams[m->team[agent]].skill[kind])) return;
    --*stock;
    ++load[kind];
    earn_and_count(run, agent, LUD_TRIBES_GATHERED, value_of(run, m->team[agent], kind));
}

static void deposit(const lud_tribes_run *run, int agent) {
    const lud_tribes_model *m = run->m;
    const int team = m->team[agent];
    if (!lud_tribes_at_home(m, run->map, lud_tribes_cell(m, run->state, agent), team)) return;
    uint8_t *load = load_of(run, agent);
    for (int k = 0; k < LUD_RESOURCES; k++) {
        if (load[k] == 0) continue;
        add_store(run, team, k, load[k]);
        earn_and_count(run, agent, LUD_TRIBES_DELIVERED, load[k] * value_of(run, team, k));
        load[k] = 0;
    }
}

static void work(const lud_tribes_run *run) {
    for (int i = 0; i < run->m->n_agents; i++) {
        if (!is_alive(run, i)) continue;
        if (run->actions[i] == LUD_TRIBES_GATHER) gather(run, i);
        if (run->actions[i] == LUD_TRIBES_DEPOSIT) deposit(run, i);
    }
}

/* --- Trade --- */

/* Everybody who trades turns to one of those beside it with whom that would pay. */
static int turn_to(const lud_tribes_run *run, int agent) {
    const int cell = lud_tribes_cell(run->m, run->state, agent);
    int partners[N_DIRECTIONS], n = 0;
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int other = beside(run, cell, d);
        if (other != NO_ONE && run->actions[other] == LUD_TRIBES_TRADE &&
            lud_tribes_pays(run->m, run->state, agent, other))
            partners[n++] = other;
    }
    return n ? partners[choose(run, agent, WORD_TARGET, n)] : NO_ONE;
}

static void swap(const lud_tribes_run *run, int a, int b) {
    const int agents[2] = {a, b};
    int given[2];
    for (int k = 0; k < 2; k++)
        given[k] = lud_tribes_offer(run->m, load_of(run, agents[k]), run->m->team[agents[k]]);
    for (int k = 0; k < 2; k++) {
        const int team = run->m->team[agents[k]];
        uint8_t *load = load_of(run, agents[k]);
        --load[given[k]];
        ++load[given[!k]];
        earn_and_count(run, agents[k], LUD_TRIBES_TRADED,
                       value_of(run, team, given[!k]) - value_of(run, team, given[k]));
        count(run, team, LUD_TRIBES_TRADES, 1);
    }
}

static void trade(const lud_tribes_run *run) {
    int16_t partner[LUD_TRIBES_MAX_AGENTS];
    for (int i = 0; i < run->m->n_agents; i++)
        partner[i] =
            (int16_t)(run->actions[i] == LUD_TRIBES_TRADE && is_alive(run, i) ? turn_to(run, i) : NO_ONE);
    for (int i = 0; i < run->m->n_agents; i++)
        if (partner[i] > i && partner[partner[i]] == i) swap(run, i, partner[i]);
}

/* --- Theft --- */

/* Who is to be robbed: an agent, or the storehouse in a cell. */
typedef struct target {
    int agent; /* NO_ONE: a storehouse */
    int team, cell;
} target;

/* An attempt, found out before anything is taken, so that all happen at once. */
typedef struct theft {
    target from;
    int kind, guards[1 + N_DIRECTIONS], n_guards;
    bool tries, succeeds;
} theft;

static bool has_goods(const lud_tribes_run *run, int team) {
    for (int k = 0; k < LUD_RESOURCES; k++)
        if (lud_tribes_stored(run->m, run->state, team, k)) return true;
    return false;
}

/* Turns to one of those who can be robbed; false: there is nobody, or no hand is free. */
static bool find_target(const lud_tribes_run *run, int thief, target *found) {
    const lud_tribes_model *m = run->m;
    target targets[N_DIRECTIONS];
    int n = 0;
    if (lud_tribes_loaded(load_of(run, thief)) >= m->spec.carry) return false;
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int cell = lud_tribes_neighbour(m, lud_tribes_cell(m, run->state, thief), d);
        const int other = run->at[cell], team = run->map->ground[cell] - LUD_TRIBES_HOUSE;
        if (other != NO_ONE && m->team[other] != m->team[thief] && lud_tribes_loaded(load_of(run, other)))
            targets[n++] = (target){other, m->team[other], cell};
        else if (team >= 0 && team != m->team[thief] && has_goods(run, team))
            targets[n++] = (target){NO_ONE, team, cell};
    }
    if (n) *found = targets[choose(run, thief, WORD_TARGET, n)];
    return n > 0;
}

/* The kind that is worth most to the thief of what is there, the first of equals. */
static int find_booty(const lud_tribes_run *run, int thief, const target *from) {
    int best = NO_ONE;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        const uint32_t units = from->agent == NO_ONE ? lud_tribes_stored(run->m, run->state, from->team, k)
                                                     : load_of(run, from->agent)[k];
        const int team = run->m->team[thief];
        if (units && (best == NO_ONE || value_of(run, team, k) > value_of(run, team, best))) best = k;
    }
    return best;
}

/* Those who stand guard beside the target or are the target. */
static void find_guards(const lud_tribes_run *run, theft *t) {
    t->n_guards = 0;
    if (t->from.agent != NO_ONE && run->actions[t->from.agent] == LUD_TRIBES_DEFEND)
        t->guards[t->n_guards++] = t->from.agent;
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int other = beside(run, t->from.cell, d);
        if (other != NO_ONE && run->m->team[other] == t->from.team &&
            run->actions[other] == LUD_TRIBES_DEFEND)
            t->guards[t->n_guards++] = other;
    }
}

static bool same_victim(const target *a, const target *b) {
    return a->agent == b->agent && (a->agent != NO_ONE || a->team == b->team);
}

/* Of the thieves who turned to the same agent or the same team's stores, one tries. */
static void hold_contest(const lud_tribes_run *run, theft *thefts, const int16_t *thieves, int n, int begin) {
    int16_t rivals[LUD_TRIBES_MAX_AGENTS];
    int n_rivals = 0;
    for (int k = 0; k < n; k++)
        if (same_victim(&thefts[thieves[k]].from, &thefts[thieves[begin]].from))
            rivals[n_rivals++] = thieves[k];
    if (rivals[0] != thieves[begin]) return; /* held when the first of them had its turn */
    const int winner = rivals[choose(run, rivals[0], WORD_CONTEST, n_rivals)];
    theft *t = &thefts[winner];
    t->tries = true;
    t->kind = find_booty(run, winner, &t->from);
    find_guards(run, t);
    t->succeeds = decide(run, winner, t->n_guards ? run->m->spec.steal.guarded : run->m->spec.steal.open);
}

static void take(const lud_tribes_run *run, int thief, const theft *t) {
    const lud_tribes_model *m = run->m;
    const int loss = value_of(run, t->from.team, t->kind), own = m->team[thief];
    ++load_of(run, thief)[t->kind];
    earn_and_count(run, thief, LUD_TRIBES_STOLEN, value_of(run, own, t->kind));
    count(run, own, LUD_TRIBES_RAIDS, 1);
    count(run, t->from.team, LUD_TRIBES_LOST, loss);
    if (t->from.agent != NO_ONE) {
        --load_of(run, t->from.agent)[t->kind];
        earn(run, t->from.agent, LUD_TRIBES_LOST, (float)-loss);
        return;
    }
    add_store(run, t->from.team, t->kind, -1);
    const int begin = m->team_begin[t->from.team], end = m->team_begin[t->from.team + 1];
    for (int i = begin; i < end; i++) earn(run, i, LUD_TRIBES_LOST, (float)-loss / (float)(end - begin));
}

static void foil(const lud_tribes_run *run, int thief, const theft *t) {
    const int kept = value_of(run, t->from.team, t->kind);
    count(run, t->from.team, LUD_TRIBES_DEFENDED, kept);
    for (int k = 0; k < t->n_guards; k++)
        earn(run, t->guards[k], LUD_TRIBES_DEFENDED, (float)kept / (float)t->n_guards);
    earn(run, thief, LUD_TRIBES_CAUGHT, -1);
    count(run, run->m->team[thief], LUD_TRIBES_CAUGHT, 1);
    if (run->m->spec.health > 0) --run->state[run->m->at.health + (uint32_t)thief];
}

static void steal(const lud_tribes_run *run) {
    theft thefts[LUD_TRIBES_MAX_AGENTS];
    int16_t thieves[LUD_TRIBES_MAX_AGENTS];
    int n = 0;
    for (int i = 0; i < run->m->n_agents; i++) {
        if (run->actions[i] != LUD_TRIBES_STEAL || !is_alive(run, i)) continue;
        thefts[i].tries = false;
        if (find_target(run, i, &thefts[i].from)) thieves[n++] = (int16_t)i;
    }
    for (int k = 0; k < n; k++) hold_contest(run, thefts, thieves, n, k);
    for (int k = 0; k < n; k++) {
        const theft *t = &thefts[thieves[k]];
        if (t->tries && t->succeeds) take(run, thieves[k], t);
        if (t->tries && !t->succeeds && t->n_guards) foil(run, thieves[k], t);
    }
}

/* --- Moves --- */

/* The cell that the agent wants to enter, -1: none that it could. */
static int wish_of(const lud_tribes_run *run, int agent) {
    const int direction = run->actions[agent] - LUD_TRIBES_EAST;
    if (direction < 0 || direction >= N_DIRECTIONS || !is_alive(run, agent)) return -1;
    const int to = lud_tribes_neighbour(run->m, lud_tribes_cell(run->m, run->state, agent), direction);
    const int ground = run->map->ground[to];
    return ground >= LUD_TRIBES_WATER || run->at[to] != NO_ONE ? -1 : to;
}

/* A cell takes one of those who want to enter it; nobody enters where somebody stood. */
static void move(const lud_tribes_run *run) {
    const lud_tribes_model *m = run->m;
    int16_t wish[LUD_TRIBES_MAX_AGENTS], next[LUD_TRIBES_MAX_AGENTS], last[LUD_TRIBES_MAX_AGENTS];
    for (int i = 0; i < m->n_agents; i++) {
        const int to = wish_of(run, i);
        wish[i] = (int16_t)to;
        if (to < 0) continue;
        const int first = run->claim[to];
        next[i] = NO_ONE;
        last[i] = (int16_t)i;
        if (first == NO_ONE) {
            run->claim[to] = (int16_t)i;
        } else {
            next[last[first]] = (int16_t)i;
            last[first] = (int16_t)i;
        }
    }
    for (int i = 0; i < m->n_agents; i++) {
        if (wish[i] < 0 || run->claim[wish[i]] != i) continue;
        int n = 0, winner = i;
        for (int k = i; k != NO_ONE; k = next[k]) n++;
        for (int k = choose(run, i, WORD_CONTEST, n); k > 0; k--) winner = next[winner];
        run->claim[wish[i]] = NO_ONE;
        uint8_t *cell = run->state + m->at.cell + 2 * (uint32_t)winner;
        run->at[lud_tribes_get(cell, 2)] = NO_ONE;
        lud_tribes_put(cell, 2, (uint32_t)wish[i]);
    }
    /* only now: a cell that was left in this step stays closed for the others */
    for (int i = 0; i < m->n_agents; i++)
        if (is_alive(run, i)) run->at[lud_tribes_cell(m, run->state, i)] = (int16_t)i;
}

/* --- Life and growth --- */

static void live(const lud_tribes_run *run) {
    const lud_tribes_model *m = run->m;
    if (m->spec.health == 0) return;
    const bool hungry = m->spec.hunger > 0 && lud_tribes_step_count(m, run->state) % m->spec.hunger == 0;
    for (int i = 0; i < m->n_agents; i++) {
        if (!is_alive(run, i)) continue;
        uint8_t *health = run->state + m->at.health + (uint32_t)i;
        const int cell = lud_tribes_cell(m, run->state, i);
        const bool rests = run->actions[i] == LUD_TRIBES_WAIT || run->actions[i] == LUD_TRIBES_DEPOSIT;
        if (hungry && *health > 0) --*health;
        if (rests && lud_tribes_at_home(m, run->map, cell, m->team[i])) *health = (uint8_t)m->spec.health;
        if (*health > 0) continue;
        memset(load_of(run, i), 0, LUD_RESOURCES);
        run->at[cell] = NO_ONE;
        lud_tribes_put(run->state + m->at.cell + 2 * (uint32_t)i, 2, LUD_TRIBES_NOBODY);
    }
}

/* Fields draw four to a block behind those of the agents. */
static void grow(const lud_tribes_run *run) {
    const lud_tribes_model *m = run->m;
    uint8_t *stock = run->state + m->at.stock;
    lud_words words = {{0, 0, 0, 0}};
    int block = -1;
    for (int f = 0; f < m->n_fields; f++) {
        const double p = m->spec.regrow.of[lud_tribes_kind(m, f)];
        if (stock[f] >= m->spec.stock || p <= 0) continue;
        if (run->course) {
            stock[f] = (uint8_t)(stock[f] + (p >= 1 || follow(run->course, 2, p)));
            continue;
        }
        if (f / 4 != block) {
            block = f / 4;
            words = lud_draw(run->key, run->tick, 0, LUD_PURPOSE_TRANSITION, 1 + (uint32_t)block);
        }
        stock[f] = (uint8_t)(stock[f] + happens(p, lud_unit(words.v[f % 4])));
    }
}

void lud_tribes_play(lud_tribes_run *run) {
    const lud_tribes_model *m = run->m;
    for (int i = 0; i < m->n_agents; i++)
        if (is_alive(run, i)) run->at[lud_tribes_cell(m, run->state, i)] = (int16_t)i;
    work(run);
    trade(run);
    steal(run);
    move(run);
    const int step = lud_tribes_step_count(m, run->state) + 1;
    lud_tribes_put(run->state + m->at.step, 2, (uint32_t)step);
    live(run);
    grow(run);
    for (int i = 0; i < m->n_agents; i++)
        if (is_alive(run, i)) run->at[lud_tribes_cell(m, run->state, i)] = NO_ONE;
}
