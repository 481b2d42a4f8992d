/* Lessons of ticks: what rows of a weight count, and who learns when. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "learn/ticks/policy.h"
#include "learn/ticks/support_ticks.h"

enum { AGENTS = 12, TEAMS = 3, ENVS = 2 };

#define near(a, b, room) assert_true(fabs((double)(a) - (double)(b)) <= (double)(room))

/* At first the critic learns alone, and the policy afterwards. */
static void critic_goes_first(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "critic_ticks: 5");
    const uint64_t actor = support_ticks_hash(&s, "actor."), critic = support_ticks_hash(&s, "critic.");
    support_ticks_run(&s, 5);
    assert_true(support_ticks_hash(&s, "actor.") == actor);
    assert_true(support_ticks_hash(&s, "critic.") != critic);
    support_ticks_run(&s, 1);
    assert_true(support_ticks_hash(&s, "actor.") != actor);
    support_ticks_close(&s);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(critic_goes_first),
                                       cmocka_unit_test(weights_of_a_lesson)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
