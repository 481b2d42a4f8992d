#include "learn/clone/support_clone.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "learn/episodes/recorder.h"

char clone_folder[] = "/tmp/ludus-clone-XXXXXX";
char choices_file[64], numbers_file[64];

lud_scenario *read_scenario(const char *text) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

void record(const char *text, const char *path, int64_t episodes) {
    lud_scenario *scenario = read_scenario(text);
    lud_cast *cast;
    lud_error error = {0};
    lud_recording_result result;
    if (lud_cast_create(scenario->model, scenario->policies, scenario->path, &cast, &error))
        fail_msg("%s", error.text);
    const lud_recording_options options = {
        .path = path, .policy = "a test", .episodes = episodes, .frames = true, .level = LUD_RECORDING_LEVEL};
    if (lud_record_data(scenario, cast, &options, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.episodes, episodes);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

int clone_set_up(void **state) {
    (void)state;
    if (!mkdtemp(clone_folder)) return -1;
    snprintf(choices_file, sizeof choices_file, "%s/choices.h5", clone_folder);
    snprintf(numbers_file, sizeof numbers_file, "%s/numbers.h5", clone_folder);
    record(WORLD("discrete"), choices_file, 400);
    record(WORLD("continuous"), numbers_file, 400);
    return 0;
}

int clone_tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", clone_folder);
    return system(command);
}

bed open_text(const char *text, int threads) {
    lud_error error = {0};
    bed b = {.scenario = read_scenario(text)};
    if (lud_device_open("cpu", threads, &b.device, &error) ||
        lud_learner_create(b.scenario, b.device, &b.learner, &error))
        fail_msg("%s", error.text);
    return b;
}

bed open_bed(const char *actions, const char *file, const char *options, int threads) {
    char text[2048];
    snprintf(text, sizeof text, "%slearner: {type: clone, data: [%s], " SMALL ", %s}\n",
             actions[0] == 'd' ? WORLD("discrete") : WORLD("continuous"), file, options);
    return open_text(text, threads);
}

void close_bed(bed *b) {
    lud_learner_destroy(b->learner);
    lud_device_close(b->device);
    lud_scenario_destroy(b->scenario);
}

double column(const lud_metric *columns, int n, const double *row, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(columns[i].name, name)) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

double judged(bed *b, const char *name) {
    double row[64];
    lud_error error = {0};
    if (b->learner->kind->evaluate(b->learner, row, &error)) fail_msg("%s", error.text);
    return column(b->learner->evaluation_columns, b->learner->n_evaluation_columns, row, name);
}

void read_shape(bed *b, lud_arena *arena, lud_clone_options *options, lud_mappo_shape *shape) {
    lud_error error = {0};
    if (lud_clone_options_read(arena, b->scenario, options, &error) ||
        lud_mappo_shape_find(b->scenario->model, &options->network, shape, &error))
        fail_msg("%s", error.text);
}

void minibatch_open(minibatch *m, bed *b, int64_t rows) {
    lud_error error = {0};
    m->arena = lud_arena_create(0);
    read_shape(b, m->arena, &m->options, &m->shape);
    if (lud_clone_data_open(&m->options, &m->shape, 3, 0, &m->data, &error) ||
        lud_clone_networks_open(b->scenario->model, &m->options, b->device, 1, 3 * rows, rows,
                                LUD_CLONE_UPDATE, NULL, &m->networks, &error) ||
        lud_clone_batch_open(&m->data, &m->networks, rows, &m->batch, &error))
        fail_msg("%s", error.text);
}

void minibatch_close(minibatch *m) {
    lud_clone_batch_close(&m->batch);
    lud_clone_networks_close(&m->networks);
    lud_clone_data_close(&m->data);
    lud_arena_destroy(m->arena);
}
