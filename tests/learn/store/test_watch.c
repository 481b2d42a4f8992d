/* A training that is watched: newest parameters, progress and wishes go between two sides of a folder, and
 * what is learned is the same bytes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "folder.h"
#include "learn/learner.h"
#include "learn/runs/lock.h"
#include "learn/runs/run.h"
#include "learn/runs/watch.h"
#include "learn/support_trainings.h"

TEST_FOLDER("/tmp/ludus-watch-XXXXXX")

static const char scenario_text[] =
    "ludus: 1\nname: watched\nworld: particle\nparticle: {task: simple}\n"
    "run: {environments: 4, seed: 3, threads: 1}\n"
    "learner: {type: graph-mappo, automatic: false, steps: 2000, rollout_length: 10, recurrent: false, "
    "hidden_size: 8, epochs: 1, minibatches: 1, encoder: mlp}\n";

static void sleep_seconds(double seconds) {
    const long nanoseconds = (long)(seconds * 1e9);
    nanosleep(&(struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000},
              NULL);
}

/* The watcher, which the training's own thread lets look after every iteration. */
typedef struct watcher {
    lud_watch watch;
    lud_watched found;
    uint64_t iterations, save_at, stop_at; /* 0: never */
    int n_newer, n_acted;
    double pause; /* seconds an iteration */
} watcher;

static bool look(void *context, const lud_learner *learner, uint64_t iterations, const lud_metric *columns,
                 int n_columns, const double *row) {
    watcher *w = context;
    lud_error error = {0};
    (void)learner, (void)columns, (void)n_columns, (void)row;
    w->iterations = iterations;
    if (iterations == w->save_at) lud_watch_save(&w->watch);
    if (iterations == w->stop_at) lud_watch_stop(&w->watch);
    sleep_seconds(w->pause);
    if (!w->watch.folder) return true;
    if (lud_watch_look(&w->watch, &w->found, &error)) fail_msg("%s", error.text);
    assert_true(w->found.running); /* the lock is this process's */
    if (!w->found.newer) return true;
    w->n_newer++;
    assert_true(w->found.known);
    assert_in_range(w->found.done, 1, iterations);
    assert_int_equal(w->found.total, 50);
    assert_true(w->found.n_columns > 1);
    assert_string_equal(w->found.columns[0], "reward");
    /* they act, as the run of that name */
    lud_scenario *scenario;
    lud_cast *cast;
    if (lud_run_scenario(w->watch.newest, NULL, &scenario, &error)) fail_msg("%s", error.text);
    if (lud_run_cast(w->watch.newest, scenario, &cast, &error)) fail_msg("%s", error.text);
    w->n_acted++;
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    return true;
}

/* Trains in RUN; the bytes of its parameters and the tensors of its checkpoint are the caller's to free. */
static lud_status train(const char *run, watcher *w, lud_checkpoint **checkpoint, lud_train_result *result) {
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    if (lud_file_write(in_folder("s.yaml"), scenario_text, strlen(scenario_text), &error) ||
        lud_run_scenario(in_folder("s.yaml"), NULL, &scenario, &error) ||
        lud_device_open("cpu", 1, &device, &error) || lud_learner_create(scenario, device, &learner, &error))
        fail_msg("%s", error.text);
    const lud_train_options options = {.folder = run, .after_iteration = look, .context = w};
    const lud_status status = support_train(scenario, learner, &options, result, &error);
    if (status && status != LUD_INTERRUPTED) fail_msg("%s", error.text);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    char path[512];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", run);
    if (lud_checkpoint_open(path, checkpoint, &error)) fail_msg("%s", error.text);
    return status;
}

static void same(lud_checkpoint *a, lud_checkpoint *b) {
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
        const lud_tensor *x = lud_checkpoint_get(a, i), *y = lud_checkpoint_find(b, x->name);
        if (strcmp(x->name, "seconds") == 0) continue;
        assert_non_null(y);
        assert_int_equal(x->bytes, y->bytes);
        if (memcmp(x->data, y->data, x->bytes) != 0) fail_msg("%s differs", x->name);
    }
}

static void watching_changes_nothing(void **state) {
    (void)state;
    lud_error error = {0};
    lud_checkpoint *alone, *watched;
    lud_train_result result;
    watcher none = {0}, w = {.pause = 0.06};
    char run[256];
    assert_int_equal(train(in_folder("alone"), &none, &alone, &result), LUD_OK);
    snprintf(run, sizeof run, "%s", in_folder("watched"));
    assert_int_equal(lud_watch_open(run, &w.watch, &error), LUD_OK);
    assert_int_equal(lud_watch_look(&w.watch, &w.found, &error), LUD_OK); /* nobody is there yet */
    assert_false(w.found.running);
    assert_false(w.found.newer);
    const double began = lud_clock_seconds();
    assert_int_equal(train(run, &w, &watched, &result), LUD_OK);
    const int seconds = (int)(lud_clock_seconds() - began); /* three, on a machine that does nothing else */
    same(alone, watched);
    assert_in_range(w.n_newer, 2, seconds + 1); /* at most one a second */
    assert_int_equal(w.n_acted, w.n_newer);
    /* nothing is left of it */
    assert_int_equal(lud_watch_look(&w.watch, &w.found, &error), LUD_OK);
    assert_false(w.found.running);
    assert_true(w.found.known);
    char mark[512], newest[512];
    snprintf(mark, sizeof mark, "%s", w.watch.mark);
    snprintf(newest, sizeof newest, "%s", w.watch.newest);
    lud_watch_close(&w.watch);
    assert_false(lud_file_exists(mark));
    assert_false(lud_file_exists(newest));
    lud_checkpoint_destroy(alone);
    lud_checkpoint_destroy(watched);
}

static void wishes_are_met(void **state) {
    (void)state;
    lud_error error = {0};
    lud_checkpoint *checkpoint;
    lud_train_result result;
    watcher w = {.pause = 0.06, .save_at = 10, .stop_at = 30};
    char run[256], saved[512];
    snprintf(run, sizeof run, "%s", in_folder("wishes"));
    assert_int_equal(lud_watch_open(run, &w.watch, &error), LUD_OK);
    lud_watch_stop(&w.watch); /* nobody is there whom it could be about */
    assert_int_equal(lud_watch_look(&w.watch, &w.found, &error), LUD_OK);
    assert_int_equal(train(run, &w, &checkpoint, &result), LUD_INTERRUPTED);
    assert_in_range(result.iterations, 30, 42); /* half a second later at most, sixteen a second */
    lud_checkpoint_destroy(checkpoint);
    /* the checkpoint of the wish to save is the one before the last */
    snprintf(saved, sizeof saved, "%s/checkpoint.previous.safetensors", run);
    uint64_t iterations = 0;
    assert_int_equal(lud_checkpoint_open(saved, &checkpoint, &error), LUD_OK);
    lud_checkpoint_u64(checkpoint, "iterations", &iterations);
    assert_in_range(iterations, 10, 22);
    lud_checkpoint_destroy(checkpoint);
    lud_watch_close(&w.watch);
}

/* A mark may be anybody's, old, or nonsense. */
static void other_marks_are_ignored(void **state) {
    (void)state;
    lud_error error = {0};
    lud_watchers w;
    const char *mark = in_folder(".watched");
    static const char *const texts[] = {
        "", "ludus-watch-1", "ludus-watch-1 7", "ludus-watch-2 7 7", "ludus-watch-1 x y", "\377\376\0ludus"};
    assert_int_equal(lud_watchers_open(folder, &w, &error), LUD_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(lud_file_write(mark, texts[i], strlen(texts[i]), &error), LUD_OK);
        w.looked = -1e9;
        const lud_watchers_wish wish = lud_watchers_look(&w);
        assert_false(wish.parameters || wish.save || wish.stop);
    }
    assert_int_equal(lud_file_write(mark, "ludus-watch-1 7 0\n", 18, &error), LUD_OK);
    w.looked = -1e9;
    lud_watchers_wish wish = lud_watchers_look(&w);
    assert_true(wish.parameters && wish.save && !wish.stop);
    wish = lud_watchers_look(&w); /* not twice within half a second */
    assert_false(wish.parameters || wish.save);
    w.looked = -1e9;
    wish = lud_watchers_look(&w); /* the same wish once */
    assert_true(wish.parameters && !wish.save);
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
    assert_int_equal(utimensat(AT_FDCWD, mark, old, 0), 0);
    w.looked = -1e9;
    assert_false(lud_watchers_look(&w).parameters); /* nobody has watched for a minute */
    unlink(mark);
    assert_int_equal(mkfifo(mark, 0600), 0);
    w.looked = -1e9;
    assert_false(lud_watchers_look(&w).parameters);
    unlink(mark);
    lud_watchers_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(watching_changes_nothing),
                                       cmocka_unit_test(wishes_are_met),
                                       cmocka_unit_test(other_marks_are_ignored)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
