/* Policies of ticks that read numbers: imitation, chances where there are few choices, losses of values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/ticks/support_ticks.h"

enum { AGENTS = 9, TEAMS = 3, ENVS = 2 };

static void near(double found, double expected, double room) {
    if (!(fabs(found - expected) <= room)) fail_msg("%.9g, expected %.9g", found, expected);
}

/* ---- imitation ---- */

/* Share of the rows of a tick that do the second choice, behind so many ticks. */
static double share_of_two(const char *options, int ticks) {
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, options);
    support_ticks_run(&s, ticks);
    const double share = support_ticks_share(&s, 1);
    support_ticks_close(&s);
    return share;
}

#define SCRIPT "policies: {other: {type: script, actions: [two], repeat: true}}, learning_rate: 0.03"

/* Whoever is imitated acts at first; the policy says the same afterwards, also where a part was learned from.
 */
static void scripts_are_imitated(void **state) {
    (void)state;
    const char *some = "imitation: {ticks: 80, share: 0.3, " SCRIPT "}, learning_rate: 0";
    assert_true(share_of_two("imitation: {ticks: 80, " SCRIPT "}, learning_rate: 0", 81) > 0.9);
    assert_true(share_of_two(some, 81) > 0.9);
    assert_true(share_of_two(some, 40) == 1); /* the script acts */
    assert_true(share_of_two("learning_rate: 0", 1) < 0.6);
}

/* Whoever is imitated begins anew with each episode: a script that ends with it is acted from its first line
 * again. */
static void imitated_episodes_begin_anew(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS,
                                         "imitation: {ticks: 40, policies: {other: {type: script, actions: "
                                         "[two, one, three, one, one, one, one, "
                                         "one, one]}}}");
    for (int t = 0; t < 4 * SUPPORT_STEPS; t++) {
        support_ticks_run(&s, 1);
        const int step = t % SUPPORT_STEPS, choice = step == 0 ? 1 : step == 2 ? 2 : 0;
        near(support_ticks_share(&s, choice), 1, 0);
    }
    support_ticks_close(&s);
}

/* Who takes part in the tick of this number, in all environments. */
static int present(int tick) {
    int n = 0;
    for (int i = 0; i < AGENTS; i++) n += i % 2 == 0 || tick % SUPPORT_STEPS <= 2 + i % 5;
    return ENVS * n;
}

/* Ticks of imitation are ticks like others: each is an update, and the rows that it learns from are counted
 * for as many ticks as there were, though no gate was asked about them. */
static void imitation_is_told_of(void **state) {
    (void)state;
    enum { IMITATED = 4, EACH = 6 };
    support_ticks s = support_ticks_open(
        AGENTS, TEAMS, ENVS, "imitation: {ticks: 4, " SCRIPT "}, ticks: 12, ticks_per_iteration: 6");
    lud_learner *l = &s.learner->base;
    double row[LUD_TICK_COLUMNS + 32], selected = 0, scored = 0;
    lud_error error = {0};
    if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
    for (int t = 0; t < EACH; t++) {
        selected += present(t);
        scored += t < IMITATED ? 0 : present(t);
    }
    near(row[LUD_TICK_SELECTED], selected / EACH, 1e-9);
    near(row[LUD_TICK_SCORED], scored / EACH, 1e-9);
    near(row[LUD_TICK_VALUED], scored / EACH, 1e-9); /* the critic learns from rewards alone */
    near(row[LUD_TICK_STEPS], EACH * ENVS, 0);
    near(row[LUD_TICK_VERSION], EACH, 0);
    assert_true(row[LUD_TICK_NORM] > 0);
    support_ticks_close(&s);
    s = support_ticks_open(AGENTS, TEAMS, ENVS,
                           "imitation: {ticks: 90, share: 0.3, " SCRIPT
                           "}, ticks: 90, ticks_per_iteration: 90");
    l = &s.learner->base;
    if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
    selected = 0;
    for (int t = 0; t < 90; t++) selected += present(t);
    near(row[LUD_TICK_SELECTED], 0.3 * selected / 90, 0.02 * selected / 90);
    near(row[LUD_TICK_SCORED], 0, 0);
    assert_true(row[LUD_TICK_VERSION] > 80 && row[LUD_TICK_VERSION] <= 90); /* a tick may draw nobody */
    support_ticks_close(&s);
}

/* ---- chances ---- */

static const char village[] =
    "ludus: 1\nname: t\nworld: tribes\ntribes:\n  map: |\n    g . w 1\n    A . . 1\n    . B 2 2\n  teams:\n"
    "    - {name: red, values: [1, 2, 1]}\n    - {name: blue, values: [2, 1, 1]}\n  max_steps: 8\n"
    "run: {environments: 3, seed: 5}\nlearner: {type: ticks, ticks: 9, ticks_per_iteration: 3, "
    "baseline: {type: expected_confidence}, policy: {hidden_size: 8, output_gain: 3}}\n";

/* What is not there has no chance, the rest has all of it; confidences and log-probabilities are those. */
static void chances_are_of_what_there_is(void **state) {
    (void)state;
    lud_error error = {0};
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
    if (lud_scenario_read("t.yaml", village, strlen(village), NULL, 0, &scenario, &error) ||
        lud_device_open("cpu", 1, &device, &error) || lud_learner_create(scenario, device, &learner, &error))
        fail_msg("%s", error.text);
    lud_tick_learner *l = (lud_tick_learner *)learner;
    const lud_layout *layout = &scenario->model->layout;
    int part = 0;
    while (layout->parts[part].kind != LUD_OBSERVATION_MASK) part++;
    const int width = layout->actions[0].n_discrete;
    lud_tick_stepping *t = &l->training;
    uint8_t *mask = malloc((size_t)t->n_envs * layout->parts[part].bytes);
    float *p = malloc((size_t)(t->n_rows * width) * sizeof *p);
    assert_true(mask && p);
    int n_none = 0, n_some = 0;
    for (int tick = 0; tick < 6; tick++) {
        if (lud_tick_act(l, t, false, &error)) fail_msg("%s", error.text);
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        parts[part] = mask;
        scenario->world->observe(scenario->model, lud_batch_range(t->batch, 0, (int)t->n_envs),
                                 t->batch->states, parts);
        assert_non_null(t->choices.confidence);
        if (l->policy->kind->probabilities(l->policy, &t->rows, p, &error)) fail_msg("%s", error.text);
        for (int64_t i = 0; i < t->rows.n; i++) {
            const uint8_t *there = mask + (size_t)lud_tick_place(&t->rows, i) * (size_t)width;
            double sum = 0, squares = 0;
            for (int k = 0; k < width; k++) {
                const double chance = (double)p[i * width + k];
                sum += chance;
                squares += chance * chance;
                if (!there[k]) assert_true(chance == 0);
                if (there[k]) assert_true(chance > 0);
                ++*(there[k] ? &n_some : &n_none);
            }
            near(sum, 1, 1e-6);
            near((double)t->choices.confidence[i], squares, 1e-6);
            near((double)t->choices.log_prob[i], log((double)p[i * width + t->choices.discrete[i]]), 1e-5);
        }
        if (lud_tick_run(l, &error)) fail_msg("%s", error.text);
    }
    assert_true(n_none > 100 && n_some > 100);
    free(mask);
    free(p);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
}

/* ---- losses of values ---- */

/* The loss of one row's value; *value is that. */
static double loss_of(support_ticks *s, float target, double *value) {
    lud_tick_learner *l = s->learner;
    lud_error error = {0};
    static float values[AGENTS * ENVS];
    const int32_t row = 3;
    const lud_tick_lesson lesson = {
        .rows = &l->training.rows, .n_valued = 1, .valued = &row, .target = &target, .value_coefficient = 1};
    lud_tick_losses losses = {0};
    if (l->policy->kind->value(l->policy, &l->training.rows, values, &error) ||
        l->policy->kind->learn(l->policy, &lesson, &losses, &error))
        fail_msg("%s", error.text);
    *value = (double)values[row];
    return losses.value;
}

/* The squared error; with `huber_delta` half of it, and behind that distance what a line takes on (Huber,
 * "Robust estimation of a location parameter", 1964). */
static void values_have_the_loss_that_is_said(void **state) {
    (void)state;
    static const struct {
        const char *options;
        double delta;
    } cases[] = {{"normaliser: none, huber_delta: 0", 0},
                 {"normaliser: none, huber_delta: 2", 2},
                 {"normaliser: none", 10}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, cases[k].options);
        lud_error error = {0};
        support_ticks_run(&s, 3);
        assert_int_equal(lud_tick_act(s.learner, &s.learner->training, false, &error), LUD_OK);
        static const float targets[] = {-30, -1, 0, 0.5, 4, 100};
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            double value;
            const double loss = loss_of(&s, targets[i], &value), off = fabs(value - (double)targets[i]);
            const double d = cases[k].delta;
            near(loss,
                 d == 0     ? off * off
                 : off <= d ? 0.5 * off * off
                            : d * (off - 0.5 * d),
                 1e-4 * (1 + loss));
        }
        support_ticks_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_are_imitated), cmocka_unit_test(imitated_episodes_begin_anew),
        cmocka_unit_test(imitation_is_told_of), cmocka_unit_test(chances_are_of_what_there_is),
        cmocka_unit_test(values_have_the_loss_that_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
