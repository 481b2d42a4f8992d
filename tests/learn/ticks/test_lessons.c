/* Lessons of ticks: what rows of a weight count, and who learns when. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "learn/ticks/policy.h"
#include "learn/ticks/support_ticks.h"

enum { AGENTS = 12, TEAMS = 3, ENVS = 2 };

#define near(a, b, room) assert_true(fabs((double)(a) - (double)(b)) <= (double)(room))

/* At first the critic learns alone, and the policy afterwards; behind an imitation all the same. */
static void critic_goes_first(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int before; /* ticks of the imitation */
    } cases[] = {{"critic_ticks: 5", 0}, {"critic_ticks: 5, imitation: {ticks: 3}", 3}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, cases[k].options);
        support_ticks_run(&s, cases[k].before);
        const uint64_t actor = support_ticks_hash(&s, "actor."), critic = support_ticks_hash(&s, "critic.");
        support_ticks_run(&s, 5);
        assert_true(support_ticks_hash(&s, "actor.") == actor);
        assert_true(support_ticks_hash(&s, "critic.") != critic);
        support_ticks_run(&s, 1);
        assert_true(support_ticks_hash(&s, "actor.") != actor);
        support_ticks_close(&s);
    }
}

/* What an iteration of one tick changes of a parameter's first number. */
static double step_of(support_ticks *s, const char *name) {
    const lud_parameters *p = s->learner->policy->parameters;
    const int at = lud_parameters_find(p, name);
    lud_learner *l = &s->learner->base;
    double before[64], after[64], row[LUD_TICK_COLUMNS + 32];
    lud_error error = {0};
    assert_true(at >= 0 && p->items[at].n <= 64);
    lud_parameters_read(p, at, before);
    if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
    lud_parameters_read(p, at, after);
    return after[0] - before[0];
}

/* With `decay_learning_rate` both rates fall linearly to 0: of plain descent's second step of four there are
 * three quarters. Imitation has a rate of its own, which stays. */
static void rates_fall_linearly(void **state) {
    (void)state;
    static const char descent[] = "ticks: 4, ticks_per_iteration: 1, optimiser: {type: sgd}, learning_rate: "
                                  "0.1, critic_learning_rate: 0.1, normaliser: none";
    static const struct {
        const char *options, *name;
        double part;
    } cases[] = {{"", "actor.out.bias", 0.75},
                 {"", "critic.out.bias", 0.75},
                 {"imitation: {ticks: 4}, ", "actor.out.bias", 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double first[2], second[2];
        for (int falls = 0; falls < 2; falls++) {
            char options[512];
            snprintf(options, sizeof options, "%s%s, decay_learning_rate: %s", cases[k].options, descent,
                     falls ? "true" : "false");
            support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, options);
            first[falls] = step_of(&s, cases[k].name);
            second[falls] = step_of(&s, cases[k].name);
            support_ticks_close(&s);
        }
        assert_true(first[0] == first[1] && second[0] != 0);
        near(second[1] / second[0], cases[k].part, 1e-3);
    }
}

/* The critic learns from twice the share that a gate keeps which keeps or drops by one, else from every row;
 * from as many as `value_rate` says where it says so, and from those that are kept where the gate says so. */
static void critics_learn_from_more_rows(void **state) {
    (void)state;
    enum { TICKS = 60 };
    static const struct {
        const char *options;
        double kept, valued;
    } cases[] = {
        {"gate: {mode: \"off\"}", 1, 1},
        {"gate: {mode: top_k, rate: 0.2, warmup_experiences: 0}", 0.2, 0.4},
        {"gate: {mode: bernoulli, rate: 0.2, temperature: 1, warmup_experiences: 0}", 0, 0.4},
        {"gate: {mode: threshold, rate: 0.2, warmup_experiences: 0}", 0.2, 0.4},
        {"gate: {mode: importance, rate: 0.2, warmup_experiences: 0}", 0.2, 0.4},
        {"gate: {mode: top_k, rate: 0.7, warmup_experiences: 0}", 0.7, 1},
        {"gate: {mode: soft, temperature: 1}", 1, 1},
        {"gate: {mode: threshold, fixed_price: true, price: 0.5, warmup_experiences: 0}", 0, 1},
        {"gate: {mode: top_k, rate: 0.2, warmup_experiences: 0}, value_rate: 0.6", 0.2, 0.6},
        {"gate: {mode: soft, temperature: 1}, value_rate: 0.3", 1, 0.3},
        {"gate: {mode: top_k, rate: 0.2, warmup_experiences: 0, critic: kept}", 0.2, 0.2},
        {"gate: {mode: top_k, rate: 0.2, warmup_experiences: 0, critic: kept}, value_rate: 0.6", 0.2, 0.2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, 8, cases[k].options);
        support_ticks_run(&s, TICKS);
        const lud_tick_sums *sums = &s.learner->sums;
        const double kept = sums->selected / sums->scored, valued = sums->valued / sums->scored;
        if (cases[k].kept > 0 && !(fabs(kept - cases[k].kept) <= 0.02))
            fail_msg("%s: %g are kept", cases[k].options, kept);
        if (!(fabs(valued - cases[k].valued) <= 0.03))
            fail_msg("%s: the critic learns from %g", cases[k].options, valued);
        support_ticks_close(&s);
    }
}

/* A row of weight 2 beside one of weight 0 is the first alone. */
static void weights_of_a_lesson(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "normaliser: none, policy: {output_gain: 1}");
    lud_tick_learner *l = s.learner;
    lud_error error = {0};
    support_ticks_run(&s, 4);
    assert_int_equal(lud_tick_act(l, &l->training, false, &error), LUD_OK);
    const int32_t rows[2] = {3, 7};
    const float nothing[2] = {0, 0}, weight[2] = {2, 0}, target[2] = {5, -3};
    lud_parameters *parameters = l->policy->parameters;
    float *alone = calloc((size_t)parameters->size, sizeof *alone);
    double size = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        const lud_tick_lesson lesson = {.rows = &l->training.rows,
                                        .n = pass + 1,
                                        .row = rows,
                                        .coefficient = nothing,
                                        .entropy_coefficient = 1,
                                        .entropy_weight = pass ? weight : NULL,
                                        .n_valued = pass + 1,
                                        .valued = rows,
                                        .target = target,
                                        .value_weight = pass ? weight : NULL,
                                        .value_coefficient = 1};
        lud_tick_losses losses;
        lud_parameters_zero_gradients(parameters);
        assert_int_equal(l->policy->kind->learn(l->policy, &lesson, &losses, &error), LUD_OK);
        for (int64_t i = 0; i < (int64_t)parameters->size; i++) {
            const float gradient = ((const float *)parameters->gradients)[i];
            if (pass) near(gradient, alone[i], 1e-5);
            alone[i] = gradient;
            size += fabs((double)gradient);
        }
    }
    assert_true(size > 1e-2);
    free(alone);
    support_ticks_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(critic_goes_first), cmocka_unit_test(rates_fall_linearly),
        cmocka_unit_test(critics_learn_from_more_rows), cmocka_unit_test(weights_of_a_lesson)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
