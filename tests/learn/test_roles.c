/* RUNs that act for some agents of a scenario: each as it would act for all, and none where it does not fit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/kinds.h"
#include "agents/rollout.h"
#include "base/file.h"
#include "folder.h"
#include "learn/runs/run.h"
#include "learn/runs/run_cross.h"
#include "learn/runs/run_named.h"
#include "learn/train.h"

TEST_FOLDER("/tmp/ludus-roles-XXXXXX")

/* Hunters see more than their prey and are paid otherwise. */
#define WORLD                                                                                                \
    "ludus: 1\nname: hunt\nworld: particle\nparticle:\n  episode_length: 6\n  speech_size: 2\n  bodies:\n"   \
    "    - {name: hunter, type: agent, count: 2, observes: [{term: velocity}, {term: position}, "            \
    "{term: relative, of: other}]}\n"                                                                        \
    "    - {name: prey, type: agent, observes: [{term: position}, {term: relative, of: other}]}\n"           \
    "  rewards:\n    - {name: caught, for: prey, term: distance, to: hunter, weight: 1}\n"                   \
    "    - {name: catch, for: hunter, term: distance, to: prey, cost: 1}\n"
#define LEARNER                                                                                              \
    "type: graph-mappo, automatic: false, identify: true, hidden_size: 8, steps: 48, rollout_length: 6, "    \
    "epochs: 2, output_gain: 1"

static lud_scenario *read_text(const char *text) {
    lud_scenario *s;
    lud_error error = {0};
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &s, &error)) fail_msg("%s", error.text);
    return s;
}

/* Trains a RUN of that name for two iterations; `run` gets its folder. */
static void train(const char *world, const char *options, int seed, const char *name, char run[96]) {
    char text[3000];
    lud_error error = {0};
    lud_device *device;
    lud_learner *learner;
    lud_train_result result;
    snprintf(text, sizeof text, "%srun: {environments: 4, seed: %d}\nlearner: {%s}\n", world, seed, options);
    snprintf(run, 96, "%s/%s", folder, name);
    lud_scenario *scenario = read_text(text);
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    if (lud_learner_create(scenario, device, &learner, &error)) fail_msg("%s", error.text);
    const lud_train_options train_options = {.folder = run, .configuration = text, .model = scenario->model};
    if (lud_train(learner, &train_options, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.iterations, 2);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
}

/* ---- who acts ---- */

enum { ENVIRONMENTS = 5, MOST_AGENTS = 3 };

/* A cast and what it chooses in states that others reach. */
typedef struct actor {
    lud_cast *cast;
    uint8_t *hidden;
    int32_t actions[ENVIRONMENTS * MOST_AGENTS];
} actor;

static actor actor_of(const char *run, const lud_scenario *scenario) {
    actor a = {0};
    lud_error error = {0};
    if (lud_run_cast(run, scenario, &a.cast, &error)) fail_msg("%s", error.text);
    a.hidden = calloc(ENVIRONMENTS, lud_cast_hidden_bytes(a.cast) + 8);
    return a;
}

static void free_actor(actor *a) {
    free(a->hidden);
    lud_cast_destroy(a->cast);
}

/* Along an episode that `mixed` plays, hunters act as in the cast of `a` and prey as in that of `b`; and the
 * two differ somewhere for both. */
static void check_mixed(const char *a, const char *b, const lud_scenario *scenario) {
    const lud_model *model = scenario->model;
    const int n_agents = model->layout.n_agents;
    uint8_t *states = calloc(ENVIRONMENTS, model->layout.state_bytes);
    uint32_t tick[ENVIRONMENTS] = {0};
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    int n_different[MOST_AGENTS] = {0};
    actor all[3] = {actor_of(a, scenario), actor_of(b, scenario), actor_of(NULL, scenario)};
    for (int p = 0; p < model->layout.n_parts; p++)
        parts[p] = calloc(ENVIRONMENTS, model->layout.parts[p].bytes);
    lud_range range = {.seed = 5, .n = ENVIRONMENTS, .tick = tick};
    model->world->reset(model, range, states);
    for (int c = 0; c < 3; c++) lud_cast_reset(all[c].cast, range, states, all[c].hidden);
    for (int step = 0; step < 5; step++) {
        model->world->observe(model, range, states, parts);
        for (int c = 0; c < 3; c++)
            lud_cast_act(all[c].cast, range, states, parts, all[c].hidden, all[c].actions, NULL);
        for (int k = 0; k < ENVIRONMENTS * n_agents; k++) {
            const int agent = k % n_agents, whose = agent == 2;
            assert_int_equal(all[2].actions[k], all[whose].actions[k]);
            n_different[agent] += all[0].actions[k] != all[1].actions[k];
        }
        for (int e = 0; e < ENVIRONMENTS; e++) tick[e]++;
        model->world->step(model, range, states, (lud_actions){.discrete = all[2].actions}, (lud_outcome){0});
    }
    for (int i = 0; i < n_agents; i++) assert_true(n_different[i] > 0);
    for (int p = 0; p < model->layout.n_parts; p++) free(parts[p]);
    for (int c = 0; c < 3; c++) free_actor(&all[c]);
    free(states);
}

static void each_acts_as_it_was_trained(void **state) {
    (void)state;
    static const char *const learners[] = {LEARNER ", recurrent: false", LEARNER ", recurrent: true"};
    for (int k = 0; k < 2; k++) {
        char a[96], b[96], text[3000];
        train(WORLD, learners[k], 3, k ? "a-recurrent" : "a", a);
        train(WORLD, learners[k], 4, k ? "b-recurrent" : "b", b);
        snprintf(text, sizeof text, "%spolicies: {hunter: {type: run, run: %s}, 2: {type: run, run: %s}}\n",
                 WORLD, a, b);
        lud_scenario *scenario = read_text(text);
        check_mixed(a, b, scenario);
        lud_scenario_destroy(scenario);
    }
}

/* ---- what does not fit ---- */

static void check_message(const char *world, const char *policies, const char *const expected[]) {
    char text[3000];
    lud_error error = {0};
    lud_cast *cast;
    snprintf(text, sizeof text, "%spolicies: %s\n", world, policies);
    lud_scenario *scenario = read_text(text);
    assert_int_equal(lud_run_cast(NULL, scenario, &cast, &error), LUD_ERROR_INPUT);
    assert_null(cast);
    for (int i = 0; expected[i]; i++)
        if (!strstr(error.text, expected[i])) fail_msg("'%s' is not in '%s'", expected[i], error.text);
    lud_scenario_destroy(scenario);
}
#define EXPECT(world, policies, ...) check_message(world, policies, (const char *const[]){__VA_ARGS__, NULL})

/* Three agents as in WORLD who see less, and who do something else. */
#define BLIND                                                                                                \
    "ludus: 1\nname: blind\nworld: particle\nparticle:\n  bodies:\n"                                         \
    "    - {name: hunter, type: agent, count: 2, observes: [{term: velocity}]}\n"                            \
    "    - {name: prey, type: agent, observes: [{term: position}]}\n"                                        \
    "  rewards: [{name: catch, for: hunter, term: distance, to: prey, cost: 1}]\n"
#define MUTE                                                                                                 \
    "ludus: 1\nname: mute\nworld: particle\nparticle:\n  speech_size: 3\n  bodies:\n"                        \
    "    - {name: hunter, type: agent, count: 2, speaks: true, observes: [{term: velocity}, "                \
    "{term: position}, {term: relative, of: other}]}\n"                                                      \
    "    - {name: prey, type: agent, observes: [{term: position}, {term: relative, of: other}]}\n"           \
    "  rewards: [{name: catch, for: hunter, term: distance, to: prey, cost: 1}]\n"
#define GRID                                                                                                 \
    "ludus: 1\nname: grid\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay Ae We\n"       \
    "    We We We We\n  max_steps: 4\n"

static void what_does_not_fit_is_told(void **state) {
    (void)state;
    char run[96], policies[256];
    train(WORLD, LEARNER, 3, "fits", run);
    snprintf(policies, sizeof policies, "{prey: {type: run, run: %s}}", run);
    EXPECT(BLIND, policies, "t.yaml:9:18: the RUN ", "does not fit agent 2 (prey) of 3 here",
           "expected one trained with observation [2], 5 actions (none, left, right, down, up)",
           "it was trained in a team of 3 with observation [8]", "actor.");
    snprintf(policies, sizeof policies, "{hunter: {type: run, run: %s}}", run);
    EXPECT(MUTE, policies, "does not fit agent 0 (hunter)",
           "expected one trained with observation [8], 15 actions",
           "it was trained in a team of 3 with observation [8], 5 actions");
    snprintf(policies, sizeof policies, "{robot: {type: run, run: %s}}", run);
    EXPECT(GRID, policies, "is of the world 'particle', expected one of 'multigrid'");
    EXPECT(WORLD, "{prey: {type: run, run: nowhere}}", "t.yaml:13:18: nowhere: no such file");
    EXPECT(WORLD, "{prey: {type: run}}", "t.yaml:13:18: a policy of type run needs the folder of a RUN");
    EXPECT(WORLD, "{prey: run}", "t.yaml:13:18: a policy of type run needs the folder of a RUN");
    EXPECT(WORLD, "{pray: random}",
           "unknown key 'pray', expected human, robot, other, hunter, prey or the number",
           "did you mean 'prey'?");
}

/* Where RUNs are not opened nobody acts in their place. */
static void others_refuse(void **state) {
    (void)state;
    lud_error error = {0};
    lud_cast *cast;
    lud_scenario *scenario = read_text(WORLD "policies: {prey: {type: run, run: a}, 0: random}\n");
    assert_int_equal(lud_cast_create(scenario->model, scenario->policies, "t.yaml", &cast, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "t.yaml:13:18: a RUN acts where it is named under `policies:`"));
    assert_int_equal(lud_cast_create_open(scenario->model, scenario->policies, "t.yaml", &cast, &error),
                     LUD_OK);
    assert_null(lud_cast_missing(cast, 0));
    assert_null(lud_cast_missing(cast, 1));
    assert_string_equal(lud_cast_missing(cast, 2)->name, "a");
    assert_int_equal(lud_cast_complete(cast, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "agent 2 acts by the RUN a, which is not opened here"));
    lud_policy *policy;
    lud_tree word = {.kind = LUD_TREE_SCALAR, .text = "random"};
    assert_int_equal(lud_policy_create(scenario->model, &word, "t.yaml", &policy, &error), LUD_OK);
    lud_cast_fill(cast, 2, policy);
    assert_int_equal(lud_cast_complete(cast, &error), LUD_OK);
    assert_ptr_equal(lud_cast_get(cast, 2), policy);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

/* ---- cross-play ---- */

enum { EPISODES = 37 };

/* What a side gets, added up from an own run of the pairing, whose measures are added to measures[n]. */
static double mean_of_side(const char *hunters, const char *prey, int first, int end, double *measures) {
    char text[3000];
    lud_error error = {0};
    lud_cast *cast;
    lud_rollout played;
    double sum = 0.0;
    snprintf(text, sizeof text, "%srun: {environments: 4}\npolicies: {hunter: %s, prey: %s}\n", WORLD,
             hunters, prey);
    lud_scenario *scenario = read_text(text);
    if (lud_run_cast(NULL, scenario, &cast, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_rollout_run(scenario, cast, EPISODES, 0, NULL, &played, &error), LUD_OK);
    for (int i = first; i < end; i++) sum += played.agents[i].episode_return.mean / (end - first);
    for (int k = 0; k < scenario->model->layout.n_measures; k++) measures[k] += played.measures[k].mean;
    lud_rollout_free(&played);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    return sum;
}

/* Measures of a pairing are the means over its runs: `sums` of n. Nobody has a goal to be in error about. */
static void expect_measures(const lud_cross *cross, int pairing, const double *sums, int n) {
    const lud_layout *layout = &cross->scenario->model->layout;
    int n_known = 0;
    for (int k = 0; k < layout->n_measures; k++) {
        const double found = cross->results[pairing].measures[k];
        assert_int_equal(isnan(found), strcmp(layout->measures[k].name, "error") == 0);
        if (isnan(found)) continue;
        assert_true(fabs(found - sums[k] / n) < 1e-9 * (1.0 + fabs(sums[k])));
        n_known += found != 0.0;
    }
    assert_true(n_known > 1);
}

static void cross_play_is_every_pairing(void **state) {
    (void)state;
    char a[96], policies[2][128] = {"", "{type: weighted, weights: {left: 1}}"};
    lud_error error = {0};
    lud_cross cross;
    train(WORLD, LEARNER, 5, "crossed", a);
    snprintf(policies[0], sizeof policies[0], "{type: run, run: %s}", a);
    const char *const players[] = {a, policies[1]};
    lud_scenario *scenario = read_text(WORLD "run: {environments: 4}\n");
    if (lud_cross_open(scenario, NULL, players, 2, EPISODES, &cross, &error)) fail_msg("%s", error.text);
    assert_int_equal(cross.n_sides, 2);
    assert_string_equal(cross.sides[0].name, "hunter");
    assert_int_equal(cross.sides[0].n_agents, 2);
    assert_string_equal(cross.sides[1].name, "prey");
    assert_int_equal(cross.n_pairings, 4);
    if (lud_cross_play(&cross, NULL, &error)) fail_msg("%s", error.text);
    for (int p = 0; p < 4; p++) {
        const int hunters = lud_cross_player(&cross, p, 0), prey = lud_cross_player(&cross, p, 1);
        assert_int_equal(hunters, p / 2);
        assert_int_equal(prey, p % 2);
        const lud_interval *r = cross.results[p].returns;
        double measures[16] = {0}, again[16] = {0};
        const double expected[2] = {mean_of_side(policies[hunters], policies[prey], 0, 2, measures),
                                    mean_of_side(policies[hunters], policies[prey], 2, 3, again)};
        expect_measures(&cross, p, measures, 1);
        for (int s = 0; s < 2; s++) {
            assert_true(fabs(r[s].value - expected[s]) < 1e-9 * (1.0 + fabs(expected[s])));
            assert_true(r[s].low < r[s].value && r[s].value < r[s].high);
        }
        assert_true(cross.results[p].length == 6.0);
    }
    assert_true(cross.results[0].returns[0].value != cross.results[1].returns[0].value);
    lud_cross_free(&cross);
    lud_scenario_destroy(scenario);
}

/* A folder of trainings is one player: the mean over who of them plays whom, and intervals over trainings. */
static void trainings_play_as_one(void **state) {
    (void)state;
    char a[96], b[96], group[96], policies[2][128];
    lud_error error = {0};
    lud_cross cross;
    train(WORLD, LEARNER, 5, "several/seed-5", a);
    train(WORLD, LEARNER, 6, "several/seed-6", b);
    snprintf(group, sizeof group, "%.*s", (int)(strrchr(a, '/') - a), a);
    snprintf(policies[0], sizeof policies[0], "{type: run, run: %s}", a);
    snprintf(policies[1], sizeof policies[1], "{type: run, run: %s}", b);
    const char *const players[] = {group, "random"};
    lud_scenario *scenario = read_text(WORLD "run: {environments: 4}\n");
    if (lud_cross_open(scenario, NULL, players, 2, EPISODES, &cross, &error)) fail_msg("%s", error.text);
    assert_true(cross.several);
    assert_int_equal(cross.runs[0].n, 2);
    assert_int_equal(cross.runs[1].n, 1);
    if (lud_cross_play(&cross, NULL, &error)) fail_msg("%s", error.text);
    for (int p = 0; p < 4; p++) {
        const bool hunt = lud_cross_player(&cross, p, 0) == 0, flee = lud_cross_player(&cross, p, 1) == 0;
        for (int s = 0; s < 2; s++) {
            double sum = 0, low = INFINITY, high = -INFINITY, measures[16] = {0};
            int n = 0;
            for (int i = 0; i < (hunt ? 2 : 1); i++)
                for (int j = 0; j < (flee ? 2 : 1); j++, n++) {
                    const double one =
                        mean_of_side(hunt ? policies[i] : "random", flee ? policies[j] : "random", s ? 2 : 0,
                                     s ? 3 : 2, measures);
                    sum += one;
                    low = fmin(low, one);
                    high = fmax(high, one);
                }
            const lud_interval r = cross.results[p].returns[s];
            expect_measures(&cross, p, measures, n);
            assert_true(fabs(r.value - sum / n) < 1e-9 * (1.0 + fabs(sum)));
            if (n == 1) {
                assert_true(r.low < r.value && r.value < r.high); /* over episodes */
                continue;
            }
            assert_true(r.low <= r.value && r.value <= r.high && r.low < r.high);
            assert_true(r.low >= low - 1e-9 && r.high <= high + 1e-9); /* between the trainings */
        }
        assert_true(cross.results[p].length == 6.0);
    }
    lud_cross_free(&cross);
    lud_scenario_destroy(scenario);
}

/* What plays for a player: a RUN itself, whatever lies in its folder; for a folder of RUNs each of them, by
 * name; for a policy that policy. */
static void players_are_runs_or_groups(void **state) {
    (void)state;
    static const char *const files[] = {"group/b/metrics.csv", "group/a/metrics.csv", "group/c/other.csv",
                                        "solved/scenario.yaml", "solved/part/metrics.csv"};
    static const struct {
        const char *player;
        int n;
        const char *runs[2];
    } cases[] = {{"group", 2, {"group/a", "group/b"}},
                 {"group/a", 1, {"group/a"}},
                 {"solved", 1, {"solved"}},
                 {"group/c", 1, {"group/c"}}};
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_cross_player_runs runs;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, files[k]);
        for (char *slash = path + strlen(folder); (slash = strchr(slash + 1, '/'));) {
            *slash = 0;
            if (lud_folder_make(path, &error)) fail_msg("%s", error.text);
            *slash = '/';
        }
        if (lud_file_write(path, "steps\n", 6, &error)) fail_msg("%s", error.text);
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char player[128], expected[128];
        snprintf(player, sizeof player, "%s/%s", folder, cases[k].player);
        if (lud_cross_runs(arena, player, &runs, &error)) fail_msg("%s", error.text);
        assert_int_equal(runs.n, cases[k].n);
        for (int i = 0; i < runs.n; i++) {
            snprintf(expected, sizeof expected, "%s/%s", folder, cases[k].runs[i]);
            assert_string_equal(runs.runs[i], expected);
        }
    }
    if (lud_cross_runs(arena, "{type: random}", &runs, &error)) fail_msg("%s", error.text);
    assert_int_equal(runs.n, 1);
    assert_string_equal(runs.runs[0], "{type: random}");
    lud_arena_destroy(arena);
}

static void check_sides(const char *world, const char *sides, int n_sides, const char *expected) {
    static const char *const players[] = {"random"};
    lud_error error = {0};
    lud_cross cross;
    lud_scenario *scenario = read_text(world);
    const lud_status status = lud_cross_open(scenario, sides, players, 1, 4, &cross, &error);
    if (expected) {
        assert_int_equal(status, LUD_ERROR_INPUT);
        if (!strstr(error.text, expected)) fail_msg("'%s' is not in '%s'", expected, error.text);
    } else {
        if (status) fail_msg("%s", error.text);
        assert_int_equal(cross.n_sides, n_sides);
        for (int i = 0; i < scenario->model->layout.n_agents; i++) {
            int n = 0;
            for (int s = 0; s < n_sides; s++) n += cross.sides[s].acts[i];
            assert_int_equal(n, 1);
        }
    }
    lud_cross_free(&cross);
    lud_scenario_destroy(scenario);
}

static void sides_are_told(void **state) {
    (void)state;
    check_sides(WORLD, "0+2,1", 2, NULL);
    check_sides(WORLD, "0,1,prey", 3, NULL);
    check_sides(WORLD, "hunter", 0, "agent 2 (prey) is on no side");
    check_sides(WORLD, "hunter,prey,0", 0, "agent 0 (hunter) is named twice");
    check_sides(WORLD, "hunter,pray", 0, "did you mean 'prey'?");
    check_sides(WORLD, "hunter,prey,human", 0, "nobody is 'human' here");
    check_sides(WORLD, "hunter+prey", 0, "has one side, expected two or more");
    check_sides("ludus: 1\nname: alike\nworld: particle\nparticle: {task: simple_spread}\n", NULL, 2, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_acts_as_it_was_trained),
                                       cmocka_unit_test(what_does_not_fit_is_told),
                                       cmocka_unit_test(others_refuse),
                                       cmocka_unit_test(cross_play_is_every_pairing),
                                       cmocka_unit_test(trainings_play_as_one),
                                       cmocka_unit_test(players_are_runs_or_groups),
                                       cmocka_unit_test(sides_are_told)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
