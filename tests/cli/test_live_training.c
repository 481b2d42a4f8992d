/* `ludus train --view` and `ludus view --follow` as programs, on a display that shows nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"

static char folder[] = "/tmp/ludus-live-XXXXXX";

static const char *in_folder(const char *name) {
    return path_in(folder, name);
}

static const char scenario[] =
    "ludus: 1\nname: point\nworld: particle\nparticle: {task: simple}\nrun: {environments: 4}\n"
    "learner: {type: graph-mappo, automatic: false, steps: 20000, rollout_length: 25, hidden_size: 8, "
    "recurrent: false, epochs: 1, minibatches: 1}\n";

static void write_scenario(void) {
    lud_error error = {0};
    if (lud_file_write(in_folder("point.yaml"), scenario, strlen(scenario), &error))
        fail_msg("%s", error.text);
}

/* The training ends, its window stays until somebody ends it; what was learned is there, what was for
 * watching is gone. */
static void the_window_outlives_the_training(void **state) {
    (void)state;
    write_scenario();
    const char *const words[] = {"train", in_folder("point.yaml"), "-o", in_folder("run"), "--view", NULL};
    program_result r = program_run_interrupted_after(words, 8000);
    if (r.exit_code != 0) fail_msg("%d: %s", r.exit_code, r.err);
    assert_non_null(strstr(r.out, "the window stays until you close it"));
    assert_non_null(strstr(r.out, "200 of 200 iterations"));
    program_free(&r);
    assert_true(lud_file_exists(in_folder("run/policy.safetensors")));
    assert_false(lud_file_exists(in_folder("run/newest.safetensors")));
    assert_false(lud_file_exists(in_folder("run/.watched")));
}

/* A training that has ended is shown with its best parameters, and not written to. */
static void what_has_ended_is_shown(void **state) {
    (void)state;
    const char *const words[] = {"view", in_folder("run"), "--follow", NULL};
    program_result r = program_run_interrupted_after(words, 1500);
    if (r.exit_code != 0) fail_msg("%d: %s", r.exit_code, r.err);
    program_free(&r);
    assert_false(lud_file_exists(in_folder("run/.watched")));
}

static void mistakes_are_told(void **state) {
    (void)state;
    write_scenario();
    program_result r = LUDUS("view", in_folder("point.yaml"), "--follow");
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(r.err, "is a file, expected the folder of a training"));
    program_free(&r);
    const char *const words[] = {"view", in_folder("nowhere"), "--follow", NULL};
    r = program_run_interrupted_after(words, 700);
    for (int wait = 2000; r.exit_code < 0 && wait < 40000; wait *= 3) { /* it did not listen yet */
        program_free(&r);
        r = program_run_interrupted_after(words, wait);
    }
    assert_int_equal(r.exit_code, 130);
    assert_non_null(strstr(r.err, "waiting for a training in"));
    program_free(&r);
    unsetenv("SDL_VIDEODRIVER");
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    r = LUDUS("train", in_folder("point.yaml"), "-o", in_folder("blind"), "--view");
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(r.err, "there is no display"));
    program_free(&r);
    assert_false(lud_folder_exists(in_folder("blind")));
}

static int set_up(void **state) {
    (void)state;
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    return mkdtemp(folder) ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_window_outlives_the_training),
                                       cmocka_unit_test(what_has_ended_is_shown),
                                       cmocka_unit_test(mistakes_are_told)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
