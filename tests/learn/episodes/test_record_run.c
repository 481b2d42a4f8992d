/* A data set says who acted, and of a RUN how long it had been trained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/episodes/record_run.h"
#include "learn/episodes/support_recording.h"
#include "learn/runs/run.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

#define WORLD                                                                                                \
    "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ay Ae .. Ay "  \
    "We\n"                                                                                                   \
    "    We We We We We We\n  max_steps: 5\ngoals: [{cell: [3, 1]}]\n"

static void expect_words(const char *policies, const char *run, const char *expected) {
    char text[1024];
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    lud_text words = {0};
    snprintf(text, sizeof text, WORLD "%s", policies);
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &scenario, &error) ||
        lud_cast_create(scenario->model, scenario->policies, "t.yaml", &cast, &error))
        fail_msg("%s", error.text);
    lud_data_policy_words(scenario->model, cast, run, &words);
    assert_string_equal(words.bytes, expected);
    lud_text_free(&words);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

static void test_who_acts(void **state) {
    (void)state;
    expect_words("policies: {human: random, robot: random}\n", NULL, "random");
    expect_words("policies: {human: heuristic, robot: heuristic}\n", "a/run", "heuristic (run a/run)");
    expect_words("policies: {human: heuristic, robot: random}\n", NULL,
                 "human 0: heuristic, robot 1: random, human 2: heuristic");
    expect_words("policies: {0: random, 2: heuristic, robot: random}\n", NULL,
                 "human 0: random, robot 1: random, human 2: heuristic");
    expect_words("policies: {0: heuristic, 2: random, robot: random}\n", "r",
                 "human 0: heuristic, robot 1: random, human 2: random (run r)");
}

static void test_how_long_it_had_been_trained(void **state) {
    (void)state;
    int t = 0;
    while (strcmp(support_trainings[t].name, "mappo, discrete") != 0) t++;
    support_bed bed = support_bed_open(&support_trainings[t], "cpu", 1);
    char *folder = strdup(recording_path("run"));
    lud_error error = {0};
    lud_train_result trained;
    const lud_train_options options = {.folder = folder, .evaluate_every = 1};
    if (support_train(bed.scenario, bed.learner, &options, &trained, &error)) fail_msg("%s", error.text);
    assert_true(trained.seconds > 0);
    support_bed_close(&bed);

    uint64_t iterations = 99;
    assert_int_equal(lud_run_iterations(folder, &iterations, &error), LUD_OK);
    assert_in_range(iterations, 1, trained.iterations); /* the best ones act */
    lud_scenario *scenario = NULL;
    lud_run run = {0};
    lud_data_target target = {0};
    lud_recording_result result;
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    if (lud_run_scenario(folder, &none, &scenario, &error) || lud_run_open(folder, scenario, &run, &error) ||
        lud_data_target_of(recording_path("set.h5"), &target, &error))
        fail_msg("%s", error.text);
    run.scenario->run.environments = 2;
    const lud_recording_options how = {.episodes = 3, .max_steps = 4, .level = 1};
    if (lud_record_data_of(run.scenario, run.cast, folder, &target, &how, &result, &error))
        fail_msg("%s", error.text);
    lud_data_target_free(&target);
    lud_run_close(&run);
    lud_data_set *set = recording_open("set.h5");
    const lud_data_info *info = lud_data_set_info(set);
    assert_non_null(strstr(info->policy, folder));
    assert_true(info->n_episodes > 0 && lud_data_set_has(set, LUD_DATA_POLICY_VERSION, 0));
    uint32_t versions[64] = {0};
    const int32_t n = lud_data_set_rows(set, LUD_DATA_POLICY_VERSION, 0);
    assert_in_range(n, 1, 64);
    assert_int_equal(lud_data_set_read(set, LUD_DATA_POLICY_VERSION, 0, 0, 0, n, versions, &error), LUD_OK);
    for (int i = 0; i < n; i++) assert_int_equal(versions[i], iterations);
    lud_data_set_close(set);

    /* what holds no parameters has been trained for none; what is no RUN is told */
    char path[512];
    snprintf(path, sizeof path, "rm -f %s/*.safetensors*", folder);
    assert_int_equal(system(path), 0);
    iterations = 99;
    assert_int_equal(lud_run_iterations(folder, &iterations, &error), LUD_OK);
    assert_int_equal(iterations, 0);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_acts),
                                       cmocka_unit_test(test_how_long_it_had_been_trained)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
