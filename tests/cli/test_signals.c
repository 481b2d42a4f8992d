/* What stops the program, and what must not hold it up: signals in every verb that computes, files without an
 * end, files that may not grow, numbers that no axis has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"

#define FAMILY "scenarios/proof/family_tree.yaml"

TEST_FOLDER("/tmp/ludus-signals-XXXXXX")

static void check(program_result r, int exit_code, const char *message) {
    if (r.exit_code != exit_code || !strstr(r.err, message))
        fail_msg("exit code %d, expected %d: %s", r.exit_code, exit_code, r.err);
    program_free(&r);
}

/* Each would go on for hours; a signal that waits for the program ends it with what a shell expects. */
static void signals_end_what_is_long(void **state) {
    (void)state;
    const char *const cases[][12] = {
        {"inspect", "scenarios/multigrid/rescue.yaml", "--after", "1000000000"},
        {"run", "scenarios/multigrid/rescue.yaml", "-n", "1000000000", "-q"},
        {"train", FAMILY, "-o", in_folder("ppo"), "-q", "--set", "learner.n_steps=8192"},
        {"train", FAMILY, "-o", in_folder("kge"), "-q", "--set", "learner={type: kge, epochs: 1000000}"},
        {"train", "scenarios/particle/simple_spread.yaml", "-o", in_folder("mappo"), "-q", "--set",
         "learner={type: graph-mappo, rollout_length: 10000}"},
        {"train", "scenarios/tribes/village_ticks.yaml", "-o", in_folder("ticks"), "-q"},
        {"train", "scenarios/empo/learned/step_out_of_the_way.yaml", "-o", in_folder("phase1"), "-q", "--set",
         "learner={type: empo-phase1}"},
        {"bench", "kernels"},
        {"train", FAMILY, "-o", in_folder("ahead"), "-q", "--set", "learner.network.look_ahead=6"},
    };
    const char *data = in_folder("clone.h5");
    check(LUDUS("record", "scenarios/empo/fetch_the_key.yaml", "-o", data, "-q", "-n", "20"), 0, "");
    char learned_from[160];
    snprintf(learned_from, sizeof learned_from, "learner.data=[%s]", data);
    const char *const clone[] = {"train",
                                 "scenarios/empo/clone_fetch_the_key.yaml",
                                 "-o",
                                 in_folder("clone"),
                                 "-q",
                                 "--set",
                                 learned_from,
                                 "--set",
                                 "learner.steps=100000000",
                                 NULL};
    check(program_run_interrupted(clone), 130, "interrupted"); /* while it reads its data */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(program_run_interrupted(cases[i]), 130,
              i == 1 || i == 0 || i == 7 ? "interrupted" : "the state is saved");
}

static void files_without_an_end_are_refused(void **state) {
    (void)state;
    const char *pipe = in_folder("pipe.yaml"), *scenario = in_folder("scenario.yaml");
    static const char text[] = "ludus: 1\ninclude: pipe.yaml\n";
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(lud_file_write(scenario, text, strlen(text), NULL), LUD_OK);
    check(LUDUS("run", scenario), 2, "expected a regular file, found a pipe");
    check(LUDUS("run", pipe), 2, "expected a regular file, found a pipe");
    check(LUDUS("run", "/dev/zero"), 2, "expected a regular file, found a pipe, a socket or a device");
}

/* SIGXFSZ would end it without a word. */
static void files_that_may_not_grow_are_told(void **state) {
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 32768;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    program_result solved =
        LUDUS("solve", "scenarios/empo/fetch_the_key.yaml", "-o", in_folder("large"), "-q");
    program_result recorded = LUDUS("record", "scenarios/multigrid/rescue.yaml", "-o", in_folder("large.h5"),
                                    "-q", "--episodes", "900");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    check(solved, 1, "File too large");
    check(recorded, 1, "large.h5");
}

static void axes_have_room_for_any_number(void **state) {
    (void)state;
    static const char *const texts[] = {
        "iteration,seconds,loss\n1,1,1e308\n2,2,-1e308\n3,3,1.7e308\n",
        "iteration,seconds,loss\n1,1,1e300\n2,2,1e300\n",
        "iteration,seconds,loss\n1,1,9007199254740992\n2,2,9007199254740994\n",
        "iteration,seconds,loss\n1,1,5e-324\n2,2,0\n",
        "iteration,seconds,loss\n1,1,inf\n2,2,nan\n3,3,1\n",
    };
    char run[128];
    snprintf(run, sizeof run, "%s", in_folder("curve"));
    assert_int_equal(lud_folder_make(run, NULL), LUD_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(lud_file_write(in_folder("curve/metrics.csv"), texts[i], strlen(texts[i]), NULL),
                         LUD_OK);
        check(LUDUS("plot", run, "-c", "loss", "-o", in_folder("curve.png")), 0, "");
    }
}

int main(void) {
    if (chdir(LUDUS_SOURCE_DIR) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_end_what_is_long), cmocka_unit_test(files_without_an_end_are_refused),
        cmocka_unit_test(files_that_may_not_grow_are_told), cmocka_unit_test(axes_have_room_for_any_number)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
