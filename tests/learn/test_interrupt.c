/* Every learner, broken off at many places within its iterations and evaluations: what was saved goes on to
 * the same metrics and the same checkpoint as a training that nobody touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "learn/episodes/recorder.h"
#include "learn/support_trainings.h"

static char folder[] = "/tmp/ludus-interrupt-XXXXXX";

/* Stopped by the question number `at` of the training; 0: by none. *asked: how many there were. */
static lud_status train(const support_training *t, const char *run, bool resume, int64_t at, int64_t *asked,
                        lud_train_result *result, lud_error *error) {
    support_bed b = support_bed_open(t, "cpu", 1);
    if (b.learner->n_iterations > 3) b.learner->n_iterations = 3;
    const lud_train_options options = {.folder = run,
                                       .resume = resume,
                                       .overwrite = !resume,
                                       .evaluate_every = 2,
                                       .configuration = "ludus: 1\n"};
    lud_interrupt_at(at);
    const lud_status status = lud_train(b.learner, &options, result, error);
    *asked = lud_interrupt_questions();
    lud_interrupt_at(0);
    support_bed_close(&b);
    return status;
}

/* metrics.csv without the columns that a clock fills. */
static char *metrics_of(lud_arena *arena, const char *run) {
    char path[160], *bytes = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/metrics.csv", run);
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, NULL), LUD_OK);
    char *out = lud_arena_take(arena, length + 1), *to = out;
    bool timed[256] = {0};
    int row = 0;
    for (char *line = bytes, *end; line && *line; line = end, row++) {
        end = strchr(line, '\n');
        if (end) *end++ = 0;
        int column = 0;
        for (char *field = line, *stop; field; field = stop, column++) {
            stop = strchr(field, ',');
            if (stop) *stop++ = 0;
            assert_in_range(column, 0, 255);
            if (row == 0)
                timed[column] = !strcmp(field, "seconds") || !strcmp(field, "speed") ||
                                !strncmp(field, "milliseconds/", 13);
            if (!timed[column]) to += sprintf(to, "%s,", field);
        }
        *to++ = '\n';
    }
    *to = 0;
    return out;
}

/* Broken off again and again, `apart` questions later each time, until it is done. */
static void check(const support_training *t, const char *whole, int64_t first, int64_t apart) {
    char parts[96];
    snprintf(parts, sizeof parts, "%s/parts", folder);
    lud_train_result result;
    lud_error error = {0};
    bool resume = false;
    int sessions = 0;
    for (int64_t at = first, asked;; at += apart, resume = true, sessions++) {
        const lud_status status = train(t, parts, resume, at, &asked, &result, &error);
        if (status == LUD_OK) break;
        if (status != LUD_INTERRUPTED) fail_msg("%s: %s", t->name, error.text);
        assert_non_null(strstr(error.text, "the state is saved; --resume continues"));
        assert_false(result.finished);
    }
    assert_true(result.finished);
    lud_arena *arena = lud_arena_create(0);
    char *expected = metrics_of(arena, whole), *found = metrics_of(arena, parts);
    if (strcmp(expected, found) != 0)
        fail_msg("%s, %d sessions: metrics\n%s\nexpected\n%s", t->name, sessions, found, expected);
    lud_arena_destroy(arena);
    support_expect_same_runs(folder, strrchr(whole, '/') + 1, "parts");
}

static void broken_iterations_go_on(void **state) {
    (void)state;
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        char whole[96];
        snprintf(whole, sizeof whole, "%s/whole%d", folder, k);
        lud_train_result result;
        lud_error error = {0};
        int64_t asked;
        if (train(t, whole, false, 0, &asked, &result, &error)) fail_msg("%s: %s", t->name, error.text);
        print_message("%s: %lld places\n", t->name, (long long)asked);
        assert_true(asked > 6); /* within the three iterations, not only between them */
        const int64_t step = asked / 5 > 1 ? asked / 5 : 1;
        check(t, whole, 1, step);
        check(t, whole, 2 + step / 2, asked);
        check(t, whole, asked - 1, 1);
    }
}

#define WORLD                                                                                                \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation, agents: 2, obstacles: 0, "             \
    "episode_length: 6}\nrun: {environments: 4, seed: 5}\n"

static void record(const char *path) {
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    lud_error error = {0};
    lud_recording_result result;
    const lud_recording_options options = {
        .path = path, .policy = "a test", .episodes = 40, .frames = true, .level = LUD_RECORDING_LEVEL};
    if (lud_scenario_read("t.yaml", WORLD, strlen(WORLD), NULL, 0, &scenario, &error) ||
        lud_cast_create(scenario->model, scenario->policies, "t.yaml", &cast, &error) ||
        lud_record_data(scenario, cast, &options, &result, &error))
        fail_msg("%s", error.text);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

/* A clone of recorded episodes, which is also asked to stop while it reads them: there is no training yet
 * that could be saved. */
static void a_clone_of_recorded_episodes_goes_on(void **state) {
    (void)state;
    char data[96], text[1024], whole[96];
    lud_train_result result;
    lud_error error = {0};
    int64_t asked;
    snprintf(data, sizeof data, "%s/data.h5", folder);
    snprintf(whole, sizeof whole, "%s/cloned", folder);
    record(data);
    snprintf(text, sizeof text,
             WORLD "learner: {type: clone, data: [%s], steps: 30, report_every: 10, batch: 16, "
                   "windows: {horizon: 3}, pairs: {weight: 1}, idle_weight: 1, val_fraction: 0.2, "
                   "evaluation_episodes: 6, network: {hidden_size: 16, encoder: mlp}}\n",
             data);
    const support_training t = {.name = "clone, recorded", .text = text};
    if (train(&t, whole, false, 0, &asked, &result, &error)) fail_msg("%s", error.text);
    assert_true(asked > 6);
    check(&t, whole, 1, asked / 4);
    check(&t, whole, asked - 1, 1);

    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &scenario, &error) ||
        lud_device_open("cpu", 1, &device, &error))
        fail_msg("%s", error.text);
    lud_interrupt_at(3);
    assert_int_equal(lud_learner_create(scenario, device, &learner, &error), LUD_INTERRUPTED);
    lud_interrupt_at(0);
    assert_non_null(strstr(error.text, "data.h5"));
    lud_device_close(device);
    lud_scenario_destroy(scenario);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_iterations_go_on),
                                       cmocka_unit_test(a_clone_of_recorded_episodes_goes_on)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1;
}
