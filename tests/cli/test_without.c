/* `ludus` as it is built where SDL2 or FFmpeg is not: everything but pictures or videos works, and those say
 * what is missing before they begin. */
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

TEST_FOLDER("/tmp/ludus-without-XXXXXX")

#define WITHOUT(what, ...)                                                                                   \
    program_run_copy(LUDUS_BINARY_DIR "/ludus_without_" what, (const char *const[]){__VA_ARGS__, NULL})

static const char tiny[] = LUDUS_SOURCE_DIR "/scenarios/multigrid/tiny.yaml";

static void works(program_result result, const char *said) {
    if (result.exit_code || !strstr(result.out, said))
        fail_msg("exit code %d, expected '%s' in:\n%s%s", result.exit_code, said, result.out, result.err);
    program_free(&result);
}

static void refuses(program_result result, const char *said) {
    if (result.exit_code != 2 || !strstr(result.err, said))
        fail_msg("exit code %d, expected '%s' in:\n%s", result.exit_code, said, result.err);
    program_free(&result);
}

static void test_without_sdl_works(void **state) {
    (void)state;
    const char *run = in_folder("run"), *curves = in_folder("curves.svg"), *data = in_folder("data.h5");
    works(WITHOUT("sdl", "run", tiny), "episodes");
    works(WITHOUT("sdl", "solve", tiny, "-o", in_folder("solution")), "states");
    works(WITHOUT("sdl", "train", LUDUS_SOURCE_DIR "/scenarios/particle/simple.yaml", "-o", run, "--set",
                  "learner.steps=2000"),
          " plot ");
    works(WITHOUT("sdl", "plot", run, "-c", "return", "-o", curves), "");
    assert_true(lud_file_exists(curves));
    works(WITHOUT("sdl", "record", tiny, "-o", data, "--episodes", "2"), "2 episodes");
    works(WITHOUT("sdl", "inspect", data), "episodes");
}

static void test_without_sdl_refuses(void **state) {
    (void)state;
    static const char said[] = "this Ludus was built without SDL2";
    const char *video = in_folder("video.mp4"), *plot = in_folder("plot.png"), *run = in_folder("seen");
    refuses(WITHOUT("sdl", "view", tiny), said);
    refuses(WITHOUT("sdl", "record", tiny, "-o", video), said);
    refuses(WITHOUT("sdl", "record", tiny, "-o", in_folder("picture.png")), said);
    refuses(WITHOUT("sdl", "plot", in_folder("run"), "-c", "return", "-o", plot), said);
    refuses(WITHOUT("sdl", "train", LUDUS_SOURCE_DIR "/scenarios/particle/simple.yaml", "-o", run, "--view"),
            said);
    assert_false(lud_file_exists(video));
    assert_false(lud_file_exists(plot));
    assert_false(lud_folder_exists(run));
    refuses(WITHOUT("sdl", "bench", "render"), "unknown benchmark");
}

static void test_without_sdl_experiments(void **state) {
    (void)state;
    const char *file = in_folder("seeds.yaml"), *out = in_folder("seeds");
    char text[1024];
    snprintf(text, sizeof text,
             "experiment: seeds\nscore: evaluation/return\nscenarios: "
             "[%s/scenarios/particle/simple.yaml]\nseeds: 1\n"
             "set: {learner.steps: 2000}\nvariants: {only: {}}\nbaseline: only\n",
             LUDUS_SOURCE_DIR);
    assert_int_equal(lud_file_write(file, text, strlen(text), NULL), 0);
    works(WITHOUT("sdl", "experiment", file, "-o", out), "runs.csv, curves.svg and curves.pdf");
    assert_true(lud_file_exists(in_folder("seeds/curves.svg")));
    assert_false(lud_file_exists(in_folder("seeds/curves.png")));
}

static void test_without_ffmpeg(void **state) {
    (void)state;
    const char *video = in_folder("no.mp4");
    refuses(WITHOUT("ffmpeg", "record", tiny, "-o", video), "this Ludus was built without FFmpeg");
    refuses(WITHOUT("ffmpeg", "record", tiny, "-o", in_folder("no.gif")), "record .png pictures");
    assert_false(lud_file_exists(video));
    works(WITHOUT("ffmpeg", "record", tiny, "-o", in_folder("yes.png"), "--steps", "2"), "frames");
    assert_true(lud_file_exists(in_folder("yes-00001.png")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_sdl_works),
        cmocka_unit_test(test_without_sdl_refuses),
        cmocka_unit_test(test_without_sdl_experiments),
        cmocka_unit_test(test_without_ffmpeg),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
