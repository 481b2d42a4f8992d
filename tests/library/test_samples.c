/* The samples run and say what they should; what is installed can be found by pkg-config and built against.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENARIO(name) LUDUS_SOURCE_DIR "/scenarios/" name

static char folder[] = "/tmp/ludus-samples-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") || system(command);
}

/* What a command prints, which has to end with 0 and hold these words. */
static void prints(const char *command, const char *words) {
    static char out[1 << 16];
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t n = fread(out, 1, sizeof out - 1, pipe);
    out[n] = 0;
    if (pclose(pipe) || !strstr(out, words)) fail_msg("%s: expected '%s' in '%s'", command, words, out);
}

static void test_step(void **state) {
    (void)state;
    prints(LUDUS_BINARY_DIR "/sample_step " SCENARIO("multigrid/rescue.yaml"),
           "rescue: 2 agents, 3072 episodes");
    prints(LUDUS_BINARY_DIR "/sample_step " SCENARIO("particle/simple_spread.yaml"),
           "simple_spread: 3 agents");
}

static void test_exact(void **state) {
    (void)state;
    prints(LUDUS_BINARY_DIR "/sample_exact " SCENARIO("empo/fetch_the_key.yaml"),
           "1589 states, 54592 transitions");
}

static void test_solve(void **state) {
    (void)state;
    prints(LUDUS_BINARY_DIR "/sample_solve " SCENARIO("empo/fetch_the_key.yaml") " solved",
           "all 1589 states");
}

static void test_own_policy(void **state) {
    (void)state;
    prints(LUDUS_BINARY_DIR "/sample_own_policy " SCENARIO("empo/fetch_the_key.yaml"),
           "20 episodes: a goal within");
}

static void test_picture(void **state) {
    (void)state;
    prints(LUDUS_BINARY_DIR "/sample_picture " SCENARIO("multigrid/rescue.yaml"), "later.ppm: 640 x");
    prints("cmp first.ppm later.ppm >/dev/null || echo they differ", "they differ");
}

static void test_own_world(void **state) {
    (void)state;
    prints("mkdir own && " LUDUS_BINARY_DIR "/sample_own_world own", "own/doors.gif shows an episode");
    prints("head -c 3 own/doors.gif && test -s own/trained/policy.safetensors && test -s "
           "own/solved/solution.empo && "
           "echo whole",
           "whole");
}

static void test_act(void **state) {
    (void)state;
    FILE *file = fopen("small.yaml", "w");
    assert_non_null(file);
    fputs("ludus: 1\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"
          "run: {threads: 1, environments: 4}\nlearner: {type: graph-mappo, steps: 400, evaluation_episodes: "
          "2}\n",
          file);
    fclose(file);
    prints(LUDUS_BINARY_DIR "/sample_act small.yaml trained", "mean reward of a step -");
    prints(LUDUS_BINARY_DIR "/ludus eval trained", "evaluation");
}

static void test_install(void **state) {
    (void)state;
    prints(CMAKE_PROGRAM " --install " LUDUS_BINARY_DIR " --prefix $PWD/there && echo installed",
           "installed");
    prints("there/bin/ludus --version", "ludus ");
    if (*SANITIZED || system("command -v pkg-config >/dev/null")) skip();
    prints("export PKG_CONFIG_PATH=$(dirname $(find $PWD/there -name ludus.pc)) && " C_COMPILER
           " -o step " LUDUS_SOURCE_DIR "/samples/step.c $(pkg-config --cflags --libs ludus) && "
           "LD_LIBRARY_PATH=$(pkg-config --variable=libdir ludus) "
           "./step " SCENARIO("multigrid/tiny.yaml"),
           "tiny: 1 agents");
    prints("export PKG_CONFIG_PATH=$(dirname $(find $PWD/there -name ludus.pc)) && " C_COMPILER
           " -o static " LUDUS_SOURCE_DIR "/samples/step.c $(pkg-config --cflags ludus) "
           "$(pkg-config --variable=libdir ludus)/libludus.a "
           "$(pkg-config --static --libs ludus | sed 's/-lludus//') && "
           "./static " SCENARIO("multigrid/tiny.yaml"),
           "tiny: 1 agents");
}

/* What is installed beside the program is written from its tables: pages that roff takes without a warning,
 * and completions that complete. */
static void test_pages(void **state) {
    (void)state;
    prints("ls there/share/man/man1/ludus-train.1 there/share/zsh/site-functions/_ludus "
           "there/share/fish/vendor_completions.d/ludus.fish",
           "ludus.fish");
    prints("cat there/share/man/man1/*.1", "\\-\\-resume");
    if (system("command -v groff >/dev/null") == 0)
        prints("groff -man -Tutf8 -ww -z there/share/man/man1/*.1 2>&1 && echo without a warning",
               "without a warning");
    static const char complete[] =
        "bash -c '. there/share/bash-completion/completions/ludus; COMP_WORDS=(ludus %s); "
        "COMP_CWORD=%d; _ludus; echo ${COMPREPLY[@]}'";
    static const struct {
        const char *words;
        int at;
        const char *found;
    } cases[] = {{"so", 1, "solve"},
                 {"train --res", 2, "--resume --resume-previous"},
                 {"help graph", 2, "graph-mappo"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char command[512];
        snprintf(command, sizeof command, complete, cases[k].words, cases[k].at);
        prints(command, cases[k].found);
    }
    if (system("command -v zsh >/dev/null") == 0)
        prints("zsh -n there/share/zsh/site-functions/_ludus && echo read", "read");
    if (system("command -v fish >/dev/null") == 0)
        prints("fish -n there/share/fish/vendor_completions.d/ludus.fish && echo read", "read");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),       cmocka_unit_test(test_exact),   cmocka_unit_test(test_solve),
        cmocka_unit_test(test_own_policy), cmocka_unit_test(test_picture), cmocka_unit_test(test_own_world),
        cmocka_unit_test(test_act),        cmocka_unit_test(test_install), cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
