/* Tribes against the slow reading of the rules, steps against successors, threads against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "sim/batch.h"
#include "sim/scenario.h"
#include "sim/support_grids.h"
#include "sim/tribes/support_tribes.h"

enum { MAX_STATE = 256 };

/* --- Random small worlds --- */

static lud_model *random_model(random_source *r) {
    const int width = 2 + (int)random_below(r, 4), height = 2 + (int)random_below(r, 3);
    const int n_teams = 2 + (int)random_below(r, 2);
    char map[ORACLE_SIDE * ORACLE_SIDE];
    int cells[ORACLE_SIDE * ORACLE_SIDE];
    const int n = width * height;
    for (int c = 0; c < n; c++) {
        map[c] = random_chance(r, 0.1) ? '~' : '.';
        cells[c] = c;
    }
    for (int c = n - 1; c > 0; c--) {
        const int j = (int)random_below(r, (uint32_t)c + 1), cell = cells[c];
        cells[c] = cells[j];
        cells[j] = cell;
    }
    int next = 0, fields = 1 + (int)random_below(r, 3);
    if (n < 2 * n_teams + 3) return NULL;
    for (int t = 0; t < n_teams; t++) {
        map[cells[next++]] = (char)('A' + t);
        map[cells[next++]] = (char)('1' + t);
    }
    while (fields-- > 0 && next < n) map[cells[next++]] = "gwo"[random_below(r, 3)];
    for (int more = (int)random_below(r, 4), k = 0; k < more && next < n && n_teams + k < ORACLE_AGENTS; k++)
        map[cells[next++]] = (char)('1' + random_below(r, (uint32_t)n_teams));
    lud_text text = {0};
    lud_text_append(&text, "  map: [");
    for (int y = 0; y < height; y++) lud_text_append(&text, "'%.*s', ", width, map + y * width);
    lud_text_append(&text, "]\n  teams: [");
    for (int t = 0; t < n_teams; t++)
        lud_text_append(&text, "{values: [%u, %u, %u], skills: [1, 0.25, %d]}, ", random_below(r, 4),
                        random_below(r, 4), random_below(r, 4), random_chance(r, 0.5));
    static const char *const chances[] = {"0", "0.25", "0.5", "1"};
    const char *health = random_chance(r, 0.5) ? "0" : "2";
    lud_text_append(&text, "]\n  carry: %u\n  stock: 2\n  health: %s\n  hunger: %u\n", 1 + random_below(r, 3),
                    health, random_chance(r, 0.7) ? 0 : 2 + random_below(r, 2));
    lud_text_append(&text, "  regrow: {grain: %s, wood: %s, ore: %s}\n  steal: {open: %s, guarded: %s}\n",
                    chances[random_below(r, 4)], chances[random_below(r, 4)], chances[random_below(r, 4)],
                    chances[random_below(r, 4)], chances[random_below(r, 4)]);
    lud_text_append(&text, "  rewards: {gathered: 0.5, lost: 2, shared: 0.25}\n  max_steps: 9\n");
    lud_model *model = tribes_make(text.bytes);
    lud_text_free(&text);
    return model;
}

/* Agents anywhere, some dead, hands and stores with something in them. */
static void random_state(random_source *r, const lud_model *model, uint8_t *state) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, state);
    lud_tribes_put(state + m->at.step, 2, random_below(r, 9));
    int taken[ORACLE_AGENTS], n_taken = 0;
    for (int i = 0; i < m->n_agents; i++) {
        const bool dead = m->spec.health > 0 && random_chance(r, 0.15);
        int cell, again;
        do {
            cell = (int)random_below(r, (uint32_t)m->n_cells);
            again =
                m->maps[0].ground[cell] == LUD_TRIBES_WATER || m->maps[0].ground[cell] >= LUD_TRIBES_HOUSE;
            for (int k = 0; k < n_taken; k++) again |= taken[k] == cell;
        } while (again);
        taken[n_taken++] = cell;
        int load[3] = {0}, room = dead ? 0 : (int)random_below(r, (uint32_t)m->spec.carry + 1);
        while (room-- > 0) load[random_below(r, 3)]++;
        tribes_put(model, state, i, dead ? -1 : cell % m->spec.width, cell / m->spec.width, load[0], load[1],
                   load[2]);
        if (m->spec.health > 0)
            state[m->at.health + (uint32_t)i] =
                (uint8_t)(dead ? 0 : 1 + random_below(r, (uint32_t)m->spec.health));
    }
    for (int f = 0; f < m->n_fields; f++) tribes_put_stock(model, state, f, (int)random_below(r, 3));
    for (int t = 0; t < m->spec.n_teams; t++)
        for (int k = 0; k < 3; k++) tribes_put_store(model, state, t, k, (int)random_below(r, 3));
}

static void random_actions(random_source *r, const lud_model *model, int32_t *actions) {
    static const int32_t meetings[] = {LUD_TRIBES_TRADE, LUD_TRIBES_STEAL, LUD_TRIBES_DEFEND,
                                       LUD_TRIBES_DEPOSIT, LUD_TRIBES_GATHER};
    const uint32_t mood = random_below(r, 3); /* trade days, raids, everyday life */
    for (int i = 0; i < model->layout.n_agents; i++) {
        actions[i] = (int32_t)random_below(r, LUD_TRIBES_ACTIONS);
        if (mood == 0 && random_chance(r, 0.8)) actions[i] = LUD_TRIBES_TRADE;
        if (mood == 1 && random_chance(r, 0.8)) actions[i] = meetings[1 + random_below(r, 2)];
    }
}

/* --- The slow reading --- */

static bool same_parts(const lud_tribes_model *m, const oracle_outcome *o, const float *parts) {
    for (int t = 0; t < m->spec.n_teams; t++) {
        double sum = 0;
        const int begin = m->team_begin[t], end = m->team_begin[t + 1];
        for (int i = begin; i < end; i++)
            for (int k = 0; k < ORACLE_PARTS; k++) {
                const double expected = o->part[i][k] * m->spec.rewards.of[k];
                sum += expected;
                if (fabs(expected - (double)parts[i * LUD_TRIBES_COMPONENTS + k]) > 1e-5) return false;
            }
        const double shared = m->spec.rewards.of[LUD_TRIBES_SHARED] * sum / (end - begin);
        for (int i = begin; i < end; i++)
            if (fabs(shared - (double)parts[i * LUD_TRIBES_COMPONENTS + LUD_TRIBES_SHARED]) > 1e-5)
                return false;
    }
    return true;
}

static void check_steps(const lud_model *model, const uint8_t *state, const int32_t *actions,
                        const oracle_outcomes *expected) {
    const lud_tribes_model *m = lud_tribes_of(model);
    for (uint32_t tick = 0; tick < 3; tick++) {
        uint8_t next[MAX_STATE], terminated, truncated;
        float rewards[ORACLE_AGENTS], parts[ORACLE_AGENTS * LUD_TRIBES_COMPONENTS];
        float alone[ORACLE_AGENTS];
        const lud_range range = {.seed = 5, .first_environment = 1, .n = 1, .tick = &tick};
        memcpy(next, state, model->layout.state_bytes);
        model->world->step(model, range, next, (lud_actions){.discrete = actions},
                           (lud_outcome){rewards, &terminated, &truncated, parts});
        const oracle_state now = oracle_read(m, next);
        bool found = false;
        for (size_t k = 0; k < expected->n && !found; k++)
            found = expected->items[k].probability > 0 &&
                    !memcmp(&expected->items[k].state, &now, sizeof now) &&
                    same_parts(m, &expected->items[k], parts);
        assert_true(found);
        for (int i = 0; i < m->n_agents; i++) {
            float own = 0;
            for (int k = 0; k < LUD_TRIBES_SHARED; k++) own += parts[i * LUD_TRIBES_COMPONENTS + k];
            assert_true(rewards[i] == own + parts[i * LUD_TRIBES_COMPONENTS + LUD_TRIBES_SHARED]);
        }
        memcpy(next, state, model->layout.state_bytes); /* the same without the parts */
        model->world->step(model, range, next, (lud_actions){.discrete = actions},
                           (lud_outcome){.rewards = alone});
        assert_memory_equal(alone, rewards, (size_t)m->n_agents * sizeof *alone);
    }
}

static void check_successors(const lud_model *model, const lud_successors *found,
                             const oracle_outcomes *expected) {
    const lud_tribes_model *m = lud_tribes_of(model);
    double sum = 0, of_expected = 0;
    for (size_t k = 0; k < found->n; k++) {
        const oracle_state now = oracle_read(m, found->states + k * found->state_bytes);
        double p = 0;
        for (size_t j = 0; j < expected->n; j++)
            if (!memcmp(&expected->items[j].state, &now, sizeof now)) p += expected->items[j].probability;
        assert_true(fabs(p - found->probability[k]) < 1e-12);
        assert_true(found->probability[k] > 0);
        sum += found->probability[k];
        for (size_t j = 0; j < k; j++)
            assert_memory_not_equal(found->states + k * found->state_bytes,
                                    found->states + j * found->state_bytes, found->state_bytes);
    }
    for (size_t j = 0; j < expected->n; j++) of_expected += expected->items[j].probability;
    assert_true(fabs(sum - 1) < 1e-12 && fabs(of_expected - 1) < 1e-12);
}

static void test_random_worlds_agree_with_the_slow_reading(void **unused) {
    (void)unused;
    random_source r = {17};
    lud_successors found = {0};
    oracle_outcomes expected = {0};
    int n_trades = 0, n_raids = 0, n_caught = 0, n_deaths = 0, n_checked = 0;
    for (int k = 0; k < 700; k++) {
        lud_model *model = random_model(&r);
        if (!model) continue;
        const lud_tribes_model *m = lud_tribes_of(model);
        for (int t = 0; t < 6; t++) {
            uint8_t state[MAX_STATE];
            int32_t actions[ORACLE_AGENTS];
            assert_true(model->layout.state_bytes <= MAX_STATE);
            random_state(&r, model, state);
            random_actions(&r, model, actions);
            lud_error error = {0};
            assert_int_equal(model->world->successors(model, state, actions, &found, &error), LUD_OK);
            assert_int_equal(found.n == 0, model->world->is_terminal(model, state));
            if (found.n == 0) continue;
            const oracle_state now = oracle_read(m, state);
            expected.n = 0;
            oracle_step(m, &now, actions, &expected);
            check_successors(model, &found, &expected);
            check_steps(model, state, actions, &expected);
            const oracle_state *last = &expected.items[expected.n - 1].state;
            for (int team = 0; team < m->spec.n_teams; team++) {
                n_trades += last->count[team][LUD_TRIBES_TRADES];
                n_raids += last->count[team][LUD_TRIBES_RAIDS];
                n_caught += last->count[team][LUD_TRIBES_CAUGHT];
            }
            for (int i = 0; i < m->n_agents; i++) n_deaths += last->x[i] < 0 && now.x[i] >= 0;
            n_checked++;
        }
        model->world->free(model);
    }
    lud_successors_free(&found);
    free(expected.items);
    assert_true(n_checked > 1000 && n_trades > 20 && n_raids > 20 && n_caught > 20 && n_deaths > 20);
}

/* --- Whole scenarios --- */

static lud_scenario *load(const char *name) {
    char path[256];
    lud_error error = {0};
    lud_scenario *scenario;
    snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/tribes/%s.yaml", name);
    if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
    return scenario;
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t n) {
    return XXH3_64bits_withSeed(bytes, n, hash);
}

/* Runs random legal actions and hashes everything that is written. */
static uint64_t run(const lud_model *model, int n_envs, int n_batches, int n_threads, int steps) {
    const lud_layout *layout = &model->layout;
    const size_t n_agents = (size_t)layout->n_agents;
    uint64_t *hashes = calloc((size_t)n_envs, sizeof *hashes), hash = 0;
    for (int b = 0; b < n_batches; b++) {
        const int first = n_envs * b / n_batches, n = n_envs * (b + 1) / n_batches - first;
        const size_t rows = (size_t)n * n_agents;
        lud_batch *batch;
        assert_int_equal(lud_batch_create(model, n, 9, (uint32_t)first, &batch, NULL), LUD_OK);
        batch->n_threads = n_threads;
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int p = 0; p < layout->n_parts; p++) parts[p] = malloc((size_t)n * layout->parts[p].bytes);
        float *rewards = malloc(rows * sizeof *rewards);
        float *components = malloc(rows * (size_t)layout->n_components * sizeof *components);
        int32_t *actions = malloc(rows * sizeof *actions);
        const lud_batch_out out = {.observations = parts, .rewards = rewards, .components = components};
        lud_batch_reset(batch, &out);
        for (int t = 0; t < steps; t++) {
            const uint8_t *masks = parts[layout->n_parts - 1];
            for (size_t i = 0; i < rows; i++) {
                const lud_words words =
                    lud_draw((lud_random_key){4, (uint32_t)first + (uint32_t)(i / n_agents)}, (uint32_t)t,
                             (uint32_t)(i % n_agents), LUD_PURPOSE_USER, 0);
                const uint8_t *mask = masks + i * LUD_TRIBES_ACTIONS;
                int left = (int)lud_below(words.v[0], 12);
                for (actions[i] = 0; left > 0; left--) do
                        actions[i] = (actions[i] + 1) % LUD_TRIBES_ACTIONS;
                    while (!mask[actions[i]]);
            }
            lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
            for (int e = 0; e < n; e++) {
                uint64_t *h = &hashes[first + e];
                const size_t of_agents = (size_t)e * n_agents, nc = (size_t)layout->n_components;
                *h = hash_more(*h, batch->states + (size_t)e * layout->state_bytes, layout->state_bytes);
                *h = hash_more(*h, rewards + of_agents, n_agents * sizeof *rewards);
                *h = hash_more(*h, components + of_agents * nc, n_agents * nc * sizeof *components);
                for (int p = 0; p < layout->n_parts; p++)
                    *h = hash_more(*h, (uint8_t *)parts[p] + (size_t)e * layout->parts[p].bytes,
                                   layout->parts[p].bytes);
            }
        }
        for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
        free(rewards);
        free(components);
        free(actions);
        lud_batch_destroy(batch);
    }
    hash = hash_more(0, hashes, (size_t)n_envs * sizeof *hashes);
    free(hashes);
    return hash;
}

static void test_threads_and_splits_agree(void **unused) {
    (void)unused;
    lud_scenario *scenario = load("village");
    const uint64_t one = run(scenario->model, 130, 1, 1, 20);
    assert_true(run(scenario->model, 130, 1, 3, 20) == one);
    assert_true(run(scenario->model, 130, 2, 2, 20) == one);
    assert_true(run(scenario->model, 130, 130, 1, 20) == one);
    lud_scenario_destroy(scenario);
}

/* A long run's hash: nothing changes unnoticed. */
static void test_golden_run(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        uint64_t hash;
    } golden[] = {{"village", 0x0abb91d76d0647d6},
                  {"market", 0xdbc5d2627d9c8471},
                  {"raid", 0xe27fbf530875d9a6},
                  {"crowd", 0x2895b9c1d2aa3cf9}};
    for (size_t k = 0; k < sizeof golden / sizeof *golden; k++) {
        lud_scenario *scenario = load(golden[k].name);
        const uint64_t hash = run(scenario->model, 4, 1, 0, 300);
        if (hash != golden[k].hash)
            fail_msg("%s: expected %016llx, found %016llx", golden[k].name,
                     (unsigned long long)golden[k].hash, (unsigned long long)hash);
        lud_scenario_destroy(scenario);
    }
}

/* Units are never made or lost but on fields: what fields, hands and stores hold together grows by growth
 * alone. Two agents never share a cell. */
static void test_nothing_is_lost(void **unused) {
    (void)unused;
    lud_scenario *scenario = load("village");
    const lud_model *model = scenario->model;
    const lud_tribes_model *m = lud_tribes_of(model);
    uint8_t *state = malloc(model->layout.state_bytes);
    int32_t actions[LUD_TRIBES_MAX_AGENTS];
    uint32_t tick = 0;
    const lud_range range = {.seed = 2, .n = 1, .tick = &tick};
    random_source r = {3};
    model->world->reset(model, range, state);
    int before = 0, at_first = 0, grown = 0;
    for (; tick < 1000; tick++) {
        int units = 0, stock = 0;
        int16_t at[LUD_TRIBES_MAX_SIDE * LUD_TRIBES_MAX_SIDE + 1];
        lud_tribes_board(m, state, at);
        for (int i = 0; i < m->n_agents; i++) {
            units += lud_tribes_loaded(lud_tribes_load(m, state, i));
            assert_int_equal(at[lud_tribes_cell(m, state, i)], i);
        }
        for (int f = 0; f < m->n_fields; f++) stock += lud_tribes_stock(m, state, f);
        for (int t = 0; t < m->spec.n_teams; t++)
            for (int k = 0; k < LUD_RESOURCES; k++) units += (int)lud_tribes_stored(m, state, t, k);
        units += stock;
        if (tick == 0) at_first = before = units;
        assert_true(units >= before && units - before <= m->n_fields);
        grown += units - before;
        before = units;
        for (int i = 0; i < m->n_agents; i++) actions[i] = (int32_t)random_below(&r, LUD_TRIBES_ACTIONS);
        model->world->step(model, range, state, (lud_actions){.discrete = actions}, (lud_outcome){0});
    }
    assert_true(grown > 100 && before == at_first + grown);
    free(state);
    lud_scenario_destroy(scenario);
}

/* An action that the mask forbids does what waiting does. */
static void test_masked_actions_do_nothing(void **unused) {
    (void)unused;
    random_source r = {23};
    lud_successors waiting = {0}, found = {0};
    for (int k = 0; k < 300; k++) {
        lud_model *model = random_model(&r);
        if (!model) continue;
        const lud_tribes_model *m = lud_tribes_of(model);
        uint8_t state[MAX_STATE], mask[LUD_TRIBES_ACTIONS];
        int16_t at[ORACLE_SIDE * ORACLE_SIDE + 1];
        int32_t actions[ORACLE_AGENTS] = {0};
        random_state(&r, model, state);
        lud_tribes_board(m, state, at);
        const bool alone = m->spec.health == 0; /* waiting at home heals, which others do not */
        for (int i = 0; i < m->n_agents && alone; i++) {
            assert_int_equal(model->world->successors(model, state, actions, &waiting, NULL), LUD_OK);
            lud_tribes_mask(m, state, at, i, mask);
            for (int a = 0; a < LUD_TRIBES_ACTIONS; a++) {
                if (mask[a]) continue;
                actions[i] = a;
                assert_int_equal(model->world->successors(model, state, actions, &found, NULL), LUD_OK);
                assert_int_equal(found.n, waiting.n);
                assert_memory_equal(found.states, waiting.states, found.n * found.state_bytes);
            }
            actions[i] = LUD_TRIBES_WAIT;
        }
        model->world->free(model);
    }
    lud_successors_free(&waiting);
    lud_successors_free(&found);
}

/* --- Questions about a state, answered from the map as it is drawn --- */

static bool is_open(char c) {
    return c != '~' && (c < 'A' || c > 'Z');
}

/* Steps over open ground between two cells, by relaxing until nothing changes; `beside`: to a cell beside. */
static int steps_between(const lud_tribes_model *m, int from, int to, bool beside) {
    const int width = m->spec.width, n = m->n_cells;
    const char *map = m->spec.maps[0];
    int away[ORACLE_SIDE * ORACLE_SIDE], best = LUD_TRIBES_NOBODY;
    for (int c = 0; c < n; c++) away[c] = c == from ? 0 : LUD_TRIBES_NOBODY;
    for (int round = 0; round < n; round++)
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                const int d = abs(a % width - b % width) + abs(a / width - b / width);
                if (d == 1 && is_open(map[b]) && away[a] + 1 < away[b]) away[b] = away[a] + 1;
            }
    for (int c = 0; c < n; c++) {
        const int d = abs(c % width - to % width) + abs(c / width - to / width);
        if ((beside ? d == 1 && is_open(map[c]) : c == to) && away[c] < best) best = away[c];
    }
    return best;
}

static int worst_of(const lud_tribes_model *m, const uint8_t *state, int agent) {
    int worst = -1;
    for (int k = LUD_RESOURCES - 1; k >= 0; k--) { /* the first of equals: backwards */
        const int64_t *value = m->spec.teams[m->team[agent]].value;
        if (lud_tribes_load(m, state, agent)[k] && (worst < 0 || value[k] <= value[worst])) worst = k;
    }
    return worst;
}

static bool both_gain(const lud_tribes_model *m, const uint8_t *state, int a, int b) {
    const int gives = worst_of(m, state, a), takes = worst_of(m, state, b);
    if (m->team[a] == m->team[b] || gives < 0 || takes < 0) return false;
    const int64_t *of_a = m->spec.teams[m->team[a]].value, *of_b = m->spec.teams[m->team[b]].value;
    return of_a[takes] - of_a[gives] > 0 && of_b[gives] - of_b[takes] > 0;
}

static bool is_rich(const lud_tribes_model *m, const uint8_t *state, int team) {
    return lud_tribes_stored(m, state, team, 0) + lud_tribes_stored(m, state, team, 1) +
               lud_tribes_stored(m, state, team, 2) >
           0;
}

static void check_mask(const lud_tribes_model *m, const uint8_t *state, int agent, const uint8_t *mask) {
    static const int step_x[] = {1, 0, -1, 0}, step_y[] = {0, 1, 0, -1};
    const char *map = m->spec.maps[0];
    const int cell = lud_tribes_cell(m, state, agent), width = m->spec.width, team = m->team[agent];
    uint8_t wanted[LUD_TRIBES_ACTIONS] = {[LUD_TRIBES_WAIT] = 1};
    if (cell != LUD_TRIBES_NOBODY) {
        const int load = lud_tribes_loaded(lud_tribes_load(m, state, agent));
        const bool room = load < m->spec.carry;
        wanted[LUD_TRIBES_DEFEND] = 1;
        for (int f = 0; f < m->n_fields; f++)
            if (m->maps[0].field[f] == cell && room && lud_tribes_stock(m, state, f))
                wanted[LUD_TRIBES_GATHER] = 1;
        for (int d = 0; d < 4; d++) {
            const int x = cell % width + step_x[d], y = cell / width + step_y[d], to = y * width + x;
            if (x < 0 || y < 0 || x >= width || y >= m->spec.height) continue;
            int other = -1;
            for (int k = 0; k < m->n_agents; k++)
                if (lud_tribes_cell(m, state, k) == to) other = k;
            wanted[LUD_TRIBES_EAST + d] = other < 0 && is_open(map[to]);
            if (map[to] == 'A' + team && load > 0) wanted[LUD_TRIBES_DEPOSIT] = 1;
            if (map[to] >= 'A' && map[to] <= 'Z' && map[to] != 'A' + team && room &&
                is_rich(m, state, map[to] - 'A'))
                wanted[LUD_TRIBES_STEAL] = 1;
            if (other < 0 || m->team[other] == team) continue;
            if (both_gain(m, state, agent, other)) wanted[LUD_TRIBES_TRADE] = 1;
            if (room && lud_tribes_loaded(lud_tribes_load(m, state, other))) wanted[LUD_TRIBES_STEAL] = 1;
        }
    }
    for (int a = 0; a < LUD_TRIBES_ACTIONS; a++) assert_int_equal(mask[a], wanted[a]);
}

static void check_ways(const lud_tribes_model *m, const uint8_t *state, const lud_tribes_view *view) {
    const char *map = m->spec.maps[0];
    for (int cell = 0; cell < m->n_cells; cell++) {
        if (!is_open(map[cell])) continue;
        for (int k = 0; k < LUD_RESOURCES; k++) {
            int least = LUD_TRIBES_NOBODY;
            for (int f = m->field_begin[k]; f < m->field_begin[k + 1]; f++) {
                if (!lud_tribes_stock(m, state, f) || view->at[m->maps[0].field[f]] >= 0) continue;
                const int way = steps_between(m, cell, m->maps[0].field[f], false);
                if (view->nearest[k][cell] == f) assert_int_equal(way, view->distance[k][cell]);
                least = way < least ? way : least;
            }
            assert_int_equal(view->distance[k][cell], least);
            assert_int_equal(view->nearest[k][cell] < 0, least == LUD_TRIBES_NOBODY);
        }
        for (int team = 0; team < m->spec.n_teams; team++) {
            int least = LUD_TRIBES_NOBODY, nearest = LUD_TRIBES_NOBODY, house = -1;
            bool at_home = false;
            const int store = lud_tribes_nearest_store(m, state, cell, team);
            for (int c = 0; c < m->n_cells; c++) {
                if (map[c] < 'A' || map[c] > 'Z') continue;
                const int way = steps_between(m, cell, c, true),
                          away = abs(c % m->spec.width - cell % m->spec.width) +
                                 abs(c / m->spec.width - cell / m->spec.width);
                if (map[c] == 'A' + team) {
                    at_home |= away == 1;
                    if (away < nearest) nearest = away, house = c;
                } else if (is_rich(m, state, map[c] - 'A') && way < least) {
                    least = way;
                }
            }
            assert_int_equal(lud_tribes_at_home(m, &m->maps[0], cell, team), at_home);
            assert_int_equal(lud_tribes_nearest_house(m, &m->maps[0], cell, team), house);
            assert_int_equal(store < 0, least == LUD_TRIBES_NOBODY);
            if (store < 0) continue;
            assert_true(store != team && is_rich(m, state, store));
            assert_int_equal(m->maps[0].way_home[store * (m->n_cells + 1) + cell], least);
        }
    }
}

/* In sight: of its own team or of others, the nearest first, then from north to south and from west to east.
 */
static void check_sight(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int agent) {
    const int width = m->spec.width, cell = lud_tribes_cell(m, state, agent), sight = (int)m->spec.sight;
    for (int own = 0; own < 2; own++)
        for (int most = 0; most <= m->n_agents; most++) {
            int found[ORACLE_AGENTS + 1], wanted[ORACLE_AGENTS], n = 0, distance = 0;
            found[most] = 4711;
            for (; distance <= 2 * sight && cell != LUD_TRIBES_NOBODY; distance++)
                for (int c = 0; c < m->n_cells; c++) {
                    const int x = abs(c % width - cell % width), y = abs(c / width - cell / width);
                    if (x > sight || y > sight || x + y != distance || c == cell) continue;
                    for (int k = 0; k < m->n_agents; k++)
                        if (lud_tribes_cell(m, state, k) == c && (m->team[k] == m->team[agent]) == own &&
                            n < most)
                            wanted[n++] = k;
                }
            assert_int_equal(lud_tribes_in_sight(m, state, at, agent, own, most, found), n);
            for (int k = 0; k < n; k++) assert_int_equal(found[k], wanted[k]);
            assert_int_equal(found[most], 4711);
        }
}

static void test_questions_are_answered_from_the_map(void **unused) {
    (void)unused;
    random_source r = {29};
    lud_tribes_view *view = malloc(sizeof *view);
    assert_non_null(view);
    for (int k = 0; k < 200; k++) {
        lud_model *model = random_model(&r);
        if (!model) continue;
        const lud_tribes_model *m = lud_tribes_of(model);
        uint8_t state[MAX_STATE], mask[LUD_TRIBES_ACTIONS + 1];
        random_state(&r, model, state);
        lud_tribes_look(m, state, true, view);
        assert_int_equal(view->at[m->n_cells], -1); /* nobody is outside */
        for (int c = 0; c < m->n_cells; c++) {
            int who = -1;
            for (int i = 0; i < m->n_agents; i++)
                if (lud_tribes_cell(m, state, i) == c) who = i;
            assert_int_equal(view->at[c], who);
        }
        check_ways(m, state, view);
        for (int i = 0; i < m->n_agents; i++) {
            assert_int_equal(lud_tribes_offer(m, lud_tribes_load(m, state, i), m->team[i]),
                             worst_of(m, state, i));
            for (int b = 0; b < m->n_agents; b++)
                assert_int_equal(lud_tribes_pays(m, state, i, b), both_gain(m, state, i, b));
            mask[LUD_TRIBES_ACTIONS] = 77;
            lud_tribes_mask(m, state, view->at, i, mask);
            check_mask(m, state, i, mask);
            assert_int_equal(mask[LUD_TRIBES_ACTIONS], 77);
            check_sight(m, state, view->at, i);
        }
        model->world->free(model);
    }
    free(view);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_worlds_agree_with_the_slow_reading),
        cmocka_unit_test(test_masked_actions_do_nothing),
        cmocka_unit_test(test_questions_are_answered_from_the_map),
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_threads_and_splits_agree),
        cmocka_unit_test(test_golden_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
