/* Networks for each role: who is in which group, that groups learn and act by their own rows alone, and that
 * a group of all agents is the learner without groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "agents/rollout.h"
#include "folder.h"
#include "learn/mappo/policy.h"
#include "learn/mappo/support_mappo.h"

TEST_FOLDER("/tmp/ludus-groups-XXXXXX")

enum { AGENTS = 3, ENVIRONMENTS = 4 };

/* What prey is paid is given. */
#define WORLD(prey)                                                                                          \
    "ludus: 1\nname: hunt\nworld: particle\nparticle:\n  episode_length: 4\n  bodies:\n"                     \
    "    - {name: hunter, type: agent, count: 2, observes: [{term: velocity}, {term: position}, "            \
    "{term: relative, of: other}]}\n"                                                                        \
    "    - {name: prey, type: agent, observes: [{term: position}, {term: relative, of: other}]}\n"           \
    "  rewards:\n    - {name: caught, for: prey, term: distance, to: hunter, weight: " prey "}\n"            \
    "    - {name: catch, for: hunter, term: distance, to: prey, cost: 1}\n"                                  \
    "run: {environments: 4, seed: 3}\n"
#define LEARNER                                                                                              \
    "learner: {type: graph-mappo, automatic: false, identify: true, rollout_length: 6, chunk_length: 3, "    \
    "output_gain: 1, time_limits: bootstrap, evaluation_episodes: 12, hidden_size: 16, steps: 96, epochs: "  \
    "2, minibatches: 2, "

static support_mappo open_with(const char *world, const char *options) {
    char text[3000];
    snprintf(text, sizeof text, "%s%s%s}\n", world, LEARNER, options);
    return support_mappo_open(text);
}

static void iterate(support_mappo *b, int n) {
    double row[64];
    lud_error error = {0};
    lud_learner *l = &b->learner->base;
    for (int i = 0; i < n; i++)
        if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
}

static lud_checkpoint *save(support_mappo *b) {
    lud_checkpoint *c = lud_checkpoint_create();
    b->learner->base.kind->visit(&b->learner->base, c);
    return c;
}

/* Tensors of `a` whose names begin with `prefix`, against those of `b` without it: how many, and how many of
 * them are other bytes. */
static int compare(const lud_checkpoint *a, const char *prefix, const lud_checkpoint *b, int *n_other) {
    int n = 0;
    *n_other = 0;
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
        const lud_tensor *x = lud_checkpoint_get(a, i);
        if (strncmp(x->name, prefix, strlen(prefix)) != 0) continue;
        const lud_tensor *y = lud_checkpoint_find(b, x->name + (b == a ? 0 : strlen(prefix)));
        if (!y) continue;
        assert_int_equal(x->bytes, y->bytes);
        *n_other += memcmp(x->data, y->data, x->bytes) != 0;
        n++;
    }
    return n;
}

static void one_group_of_all_is_none(void **state) {
    (void)state;
    for (int recurrent = 0; recurrent < 2; recurrent++) {
        const char *plain = recurrent ? "recurrent: true" : "recurrent: false",
                   *grouped = recurrent ? "recurrent: true, groups: {all: [hunter, prey]}"
                                        : "recurrent: false, groups: {all: other}";
        support_mappo a = open_with(WORLD("1"), grouped), b = open_with(WORLD("1"), plain);
        int n_other;
        iterate(&a, 3);
        iterate(&b, 3);
        lud_checkpoint *x = save(&a), *y = save(&b);
        assert_true(compare(x, "all.", y, &n_other) > 20);
        assert_int_equal(n_other, 0);
        assert_true(compare(x, "mappo.", x, &n_other) > 3);
        lud_checkpoint_destroy(x);
        lud_checkpoint_destroy(y);
        support_mappo_close(&a);
        support_mappo_close(&b);
    }
}

/* With critics that see their own agent alone nothing of the prey's reward reaches the hunters in the first
 * update, and all of it the prey. Then the hunters' pay is another one too: prey acts otherwise. */
static void groups_learn_by_their_own_rows(void **state) {
    (void)state;
    support_mappo a = open_with(WORLD("1"), "centralised: false, groups: kinds, learning_rate: 0.1"),
                  b = open_with(WORLD("-1"), "centralised: false, groups: kinds, learning_rate: 0.1");
    for (int round = 0; round < 2; round++) {
        int n_other;
        iterate(&a, 1);
        iterate(&b, 1);
        for (int k = 0; k < 2; k++) {
            const lud_parameters *x = a.learner->groups[k].update->parameters,
                                 *y = b.learner->groups[k].update->parameters;
            n_other = memcmp(x->values, y->values, (size_t)x->size * sizeof(float)) != 0;
            assert_int_equal(n_other, k == 1 || round == 1);
        }
    }
    assert_string_equal(a.learner->groups[0].name, "hunter");
    assert_int_equal(a.learner->groups[0].n_agents, 2);
    assert_int_equal(a.learner->groups[1].agents[0], 2);
    support_mappo_close(&a);
    support_mappo_close(&b);
}

/* Groups of the same shape begin with other weights. */
static void groups_begin_apart(void **state) {
    (void)state;
    support_mappo a = open_with(WORLD("1"), "groups: {first: 0, second: [1, prey]}");
    const lud_parameters *x = a.learner->groups[0].update->parameters,
                         *y = a.learner->groups[1].update->parameters;
    assert_int_equal(x->size, y->size);
    assert_memory_not_equal(x->values, y->values, (size_t)x->size * sizeof(float));
    support_mappo_close(&a);
}

static void resume_with(const char *options, int n_first, int n_second) {
    char path[96];
    lud_error error = {0};
    support_mappo whole = open_with(WORLD("1"), options), first = open_with(WORLD("1"), options),
                  second = open_with(WORLD("1"), options);
    iterate(&whole, n_first + n_second);
    iterate(&first, n_first);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    lud_checkpoint *c = save(&first);
    assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    if (lud_checkpoint_open(path, &c, &error)) fail_msg("%s", error.text);
    second.learner->base.kind->visit(&second.learner->base, c);
    assert_int_equal(lud_checkpoint_status(c, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    iterate(&second, n_second);
    lud_checkpoint *x = save(&whole), *y = save(&second);
    assert_int_equal(lud_checkpoint_n_tensors(x), lud_checkpoint_n_tensors(y));
    assert_non_null(lud_checkpoint_find(x, "prey.actor.out.weight"));
    assert_non_null(lud_checkpoint_find(x, "mappo.group_return"));
    assert_null(lud_checkpoint_find(x, "actor.out.weight"));
    for (int i = 0; i < lud_checkpoint_n_tensors(x); i++) {
        const lud_tensor *p = lud_checkpoint_get(x, i), *q = lud_checkpoint_find(y, p->name);
        assert_non_null(q);
        assert_int_equal(p->bytes, q->bytes);
        assert_memory_equal(p->data, q->data, p->bytes);
    }
    lud_checkpoint_destroy(x);
    lud_checkpoint_destroy(y);
    support_mappo_close(&whole);
    support_mappo_close(&first);
    support_mappo_close(&second);
}

static void resumed_training_is_the_same(void **state) {
    (void)state;
    resume_with("groups: kinds", 2, 2);
    static const char past[] = "groups: kinds, opponents: {past: 3, every: 2, share: 0.8}";
    for (int n = 1; n <= 9; n += 4) resume_with(past, n, 8);
}

/* Parameters of a group, whole. */
static uint64_t hash_group(const support_mappo *b, int group) {
    const lud_parameters *p = b->learner->groups[group].update->parameters;
    return XXH3_64bits(p->values, (size_t)p->size * sizeof(float));
}

/* Who plays as a past version does not learn in that iteration and is afterwards who it was; everybody else
 * learns. What is put in its place for the rollout is a version of it that has been. */
static void past_versions_play_and_do_not_learn(void **state) {
    (void)state;
    static const char options[] = "groups: kinds, opponents: {past: 3, every: 2, share: 0.5}";
    support_mappo b = open_with(WORLD("1"), options);
    uint64_t was[40][2];
    int n_past[3] = {0};
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 2; k++) was[i][k] = hash_group(&b, k);
        iterate(&b, 1);
        const int group = b.learner->opponents.group;
        n_past[group + 1]++;
        for (int k = 0; k < 2; k++) assert_int_equal(hash_group(&b, k) == was[i][k], k == group);
        /* the versions are those before iterations 0, 2, 4 ..., the last three */
        for (int version = 0; version < 3; version++) {
            const int at = i / 2 - (i / 2 - version + 3) % 3;
            for (int k = 0; k < 2 && at >= 0; k++) {
                const lud_parameters *p = b.learner->opponents.past[k][version];
                assert_true(XXH3_64bits(p->values, (size_t)p->size * sizeof(float)) == was[2 * at][k]);
            }
        }
    }
    assert_in_range(n_past[0], 10, 30); /* half of 40 */
    assert_true(n_past[1] > 2 && n_past[2] > 2);
    support_mappo_close(&b);
}

/* With no share of the iterations nothing is otherwise; with all of them in the first iteration, whose only
 * version is what plays anyway, the rollout is the same and one group alone learns. */
static void past_versions_play_as_they_were(void **state) {
    (void)state;
    support_mappo plain = open_with(WORLD("1"), "groups: kinds"),
                  none = open_with(WORLD("1"), "groups: kinds, opponents: {share: 0}"),
                  all = open_with(WORLD("1"), "groups: kinds, opponents: {share: 1}");
    iterate(&plain, 1);
    iterate(&none, 1);
    iterate(&all, 1);
    assert_int_equal(none.learner->opponents.group, -1);
    const int group = all.learner->opponents.group;
    assert_in_range(group, 0, 1);
    for (int k = 0; k < 2; k++) {
        assert_true(hash_group(&none, k) == hash_group(&plain, k));
        assert_int_equal(hash_group(&all, k) == hash_group(&plain, k), k != group);
    }
    support_mappo_close(&plain);
    support_mappo_close(&none);
    support_mappo_close(&all);
}

/* The policies of a run act as the learner's evaluation does, and its returns are those of the groups'
 * agents. */
static void a_run_acts_as_it_was_evaluated(void **state) {
    (void)state;
    for (int recurrent = 0; recurrent < 2; recurrent++) {
        support_mappo b =
            open_with(WORLD("1"), recurrent ? "groups: kinds" : "groups: kinds, recurrent: false");
        lud_learner *l = &b.learner->base;
        const lud_model *model = b.scenario->model;
        lud_error error = {0};
        double row[32], sums[AGENTS] = {0};
        char path[96];
        iterate(&b, 3);
        snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
        lud_checkpoint *c = save(&b);
        assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
        lud_checkpoint_destroy(c);
        assert_int_equal(l->kind->evaluate(l, row, &error), LUD_OK);
        lud_cast *cast;
        assert_int_equal(lud_cast_create(model, NULL, "t", &cast, &error), LUD_OK);
        if (lud_mappo_join(b.scenario, b.scenario, folder, cast, &error)) fail_msg("%s", error.text);
        lud_runner runner;
        assert_int_equal(lud_runner_create(model, cast, ENVIRONMENTS, 3, 1 << 24, &runner, &error), LUD_OK);
        lud_runner_start(&runner);
        for (int step = 0; step < 3 * 4; step++) { /* three episodes of each of four environments */
            lud_runner_step(&runner);
            for (int i = 0; i < ENVIRONMENTS * AGENTS; i++)
                sums[i % AGENTS] += (double)runner.rewards[i] / 12.0;
            lud_runner_renew(&runner);
        }
        const int n = l->n_evaluation_columns;
        assert_string_equal(l->evaluation_columns[n - 2].name, "evaluation/return/hunter");
        assert_string_equal(l->evaluation_columns[n - 1].name, "evaluation/return/prey");
        assert_true(fabs(row[n - 2] - (sums[0] + sums[1]) / 2.0) < 1e-5 * (1.0 + fabs(row[n - 2])));
        assert_true(fabs(row[n - 1] - sums[2]) < 1e-5 * (1.0 + fabs(row[n - 1])));
        assert_true(fabs(row[0] - (sums[0] + sums[1] + sums[2]) / 3.0) < 1e-5 * (1.0 + fabs(row[0])));
        assert_true(l->keeps_last);
        double value;
        for (int i = 0; i < AGENTS; i++)
            assert_true(lud_policy_value(lud_cast_get(cast, i), runner.batch->states, i, &value));
        lud_runner_destroy(&runner);
        lud_cast_destroy(cast);
        support_mappo_close(&b);
    }
}

static void check_message(const char *options, const char *expected) {
    char text[3000];
    lud_error error = {0};
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner = NULL;
    snprintf(text, sizeof text, "%s%s%s}\n", WORLD("1"), LEARNER, options);
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    assert_int_equal(lud_learner_create(scenario, device, &learner, &error), LUD_ERROR_INPUT);
    assert_null(learner);
    if (!strstr(error.text, expected)) fail_msg("'%s' is not in '%s'", expected, error.text);
    lud_scenario_destroy(scenario);
    lud_device_close(device);
}

static void messages(void **state) {
    (void)state;
    check_message("groups: roles", "learner.groups: expected `kinds`, or groups by name");
    check_message("groups: {}", "learner.groups: expected `kinds`, or groups by name");
    check_message("groups: {a: hunter}", "agent 2 (prey) is in no group, expected in one");
    check_message("groups: {a: [1, prey]}", "agent 0 (hunter) is in no group, expected in one");
    check_message("groups: {a: [hunter, 2], b: prey}",
                  "agent 2 (prey) is in 'a' already, expected in one group");
    check_message("groups: {a: hunter, b: pray}", "did you mean 'prey'?");
    check_message("groups: {a: [hunter, prey], b: human}", "nobody is in 'b'");
    check_message("groups: {a: {x: hunter}, b: prey}", "expected the name of agents, or a list of names");
    check_message("groups: kinds, start: somewhere", "expected learner.start at its default with groups");
    check_message("groups: kinds, gate: {mode: top_k}", "expected learner.gate at its default with groups");
    check_message("groups: kinds, baseline: {type: group_mean}",
                  "expected learner.baseline at its default with groups");
    check_message("opponents: {past: 3}", "learner.opponents: expected several groups");
    check_message("groups: kinds, opponents: {past: 0}", "past");
    check_message("groups: kinds, opponents: {pasts: 3}", "did you mean 'past'?");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_group_of_all_is_none),
                                       cmocka_unit_test(groups_learn_by_their_own_rows),
                                       cmocka_unit_test(groups_begin_apart),
                                       cmocka_unit_test(resumed_training_is_the_same),
                                       cmocka_unit_test(past_versions_play_and_do_not_learn),
                                       cmocka_unit_test(past_versions_play_as_they_were),
                                       cmocka_unit_test(a_run_acts_as_it_was_evaluated),
                                       cmocka_unit_test(messages)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
