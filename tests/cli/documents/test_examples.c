/* The worked examples of docs/add-a-world.md and docs/add-a-learner.md: the pages quote the files, the files
 * are as short as the pages say, and the program made with them runs, solves, trains, judges and records. */
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
#include "cli/support_program.h"
#include "sim/lamps/lamps.h"
#include "sim/scenario.h"
#include "sim/statespace/statespace.h"

#define DOCS     LUDUS_SOURCE_DIR "/docs/"
#define EXAMPLES DOCS "examples/"
#define EXAMPLE(...)                                                                                         \
    program_run_copy(LUDUS_BINARY_DIR "/ludus_with_examples", (const char *const[]){__VA_ARGS__, NULL})

static char *read_all(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s is not there", path);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static const char *const world_files[] = {EXAMPLES "lamps/lamps.h",
                                          EXAMPLES "lamps/lamps.c",
                                          EXAMPLES "lamps/draw_lamps.h",
                                          EXAMPLES "lamps/draw_lamps.c",
                                          EXAMPLES "lamps/lamps.yaml",
                                          EXAMPLES "lamps/lamps_mappo.yaml",
                                          NULL};
static const char *const learner_files[] = {EXAMPLES "q_learning/q_learning.h",
                                            EXAMPLES "q_learning/q_learning.c",
                                            EXAMPLES "q_learning/lamps_q.yaml", NULL};

/* ---- the pages ---- */

static bool in_some_file(const char *const *files, const char *block) {
    bool found = false;
    for (int i = 0; files[i] && !found; i++) {
        char *text = read_all(files[i]);
        found = strstr(text, block);
        free(text);
    }
    return found;
}

/* Every block of code that says ```c or ```yaml stands in one of the files, to the letter. */
static void check_page(const char *page, const char *const *files) {
    char *text = read_all(page);
    int n_blocks = 0;
    for (char *at = text; (at = strstr(at, "\n```"));) {
        char *begin = strchr(at + 1, '\n') + 1, *end = strstr(begin, "```");
        assert_non_null(end);
        const bool quoted = !strncmp(at, "\n```c\n", 6) || !strncmp(at, "\n```yaml\n", 9);
        const char after = *end;
        *end = 0;
        if (quoted && !in_some_file(files, begin)) fail_msg("%s: in none of the files:\n%s", page, begin);
        *end = after;
        n_blocks += quoted;
        at = end;
    }
    assert_true(n_blocks > 3);
    free(text);
}

static void pages(void **state) {
    (void)state;
    check_page(DOCS "add-a-world.md", world_files);
    check_page(DOCS "add-a-learner.md", learner_files);
}

static int lines_of(const char *const *files) {
    int n = 0;
    for (int i = 0; files[i]; i++) {
        char *text = read_all(files[i]);
        for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            n += strspn(line, " ") < strlen(line);
        free(text);
    }
    return n;
}

static void lengths(void **state) {
    (void)state;
    const int world = lines_of(world_files), learner = lines_of(learner_files);
    if (world < 100 || world > 300) fail_msg("the world has %d lines that are not empty", world);
    if (learner < 100 || learner > 300) fail_msg("the learner has %d lines that are not empty", learner);
}

/* ---- the world ---- */

/* Of every state and joint action: probabilities sum to 1, successors differ, a step leads to one of them,
 * and often enough to each. */
static void exact_model(void **state) {
    (void)state;
    lud_error error = {0};
    lud_scenario *scenario;
    lud_statespace *space;
    if (lud_scenario_load(EXAMPLES "lamps/lamps.yaml", (const char *const[]){"lamps.gust=0.5"}, 1, &scenario,
                          &error))
        fail_msg("%s", error.text);
    const lud_model *model = scenario->model;
    if (lud_statespace_build(model, &(lud_statespace_options){.n_threads = 1}, &space, &error))
        fail_msg("%s", error.text);
    assert_true(space->n_states > 4000 && space->n_terminal > 0);
    const size_t bytes = model->layout.state_bytes;
    lud_successors out = {0};
    double farthest = 0;
    enum { DRAWS = 16 };
    for (uint64_t s = 0; s < space->n_states; s++) {
        const uint8_t *from = space->states + s * bytes;
        for (int32_t k = 0; k < space->n_joint_actions; k++) {
            int32_t joint[LAMPS_AGENTS];
            lud_joint_action_decode(&model->layout, k, joint);
            assert_int_equal(model->world->successors(model, from, joint, &out, &error), LUD_OK);
            if (model->world->is_terminal(model, from)) {
                assert_int_equal(out.n, 0);
                continue;
            }
            double sum = 0, expected = 0, drawn = 0;
            for (size_t i = 0; i < out.n; i++) {
                sum += out.probability[i];
                assert_true(out.probability[i] > 0);
                expected += out.probability[i] * ((const lamps_state *)(const void *)out.states)[i].lit;
                for (size_t j = 0; j < i; j++)
                    assert_memory_not_equal(out.states + i * bytes, out.states + j * bytes, bytes);
            }
            assert_true(sum > 1 - 1e-12 && sum < 1 + 1e-12);
            for (uint32_t tick = 0; tick < DRAWS; tick++) {
                lamps_state to = *(const lamps_state *)(const void *)from;
                model->world->step(model, (lud_range){7, (uint32_t)s, 1, &tick}, (uint8_t *)&to,
                                   (lud_actions){joint, NULL}, (lud_outcome){0});
                size_t i = 0;
                while (i < out.n && memcmp(out.states + i * bytes, &to, bytes) != 0) i++;
                assert_true(i < out.n);
                drawn += (double)to.lit / DRAWS;
            }
            farthest += drawn - expected;
        }
    }
    /* the mean of all draws is the expectation: 70,000 pairs of deviation below 2 each */
    const double mean = farthest / (double)(space->n_states * (uint64_t)space->n_joint_actions);
    assert_true(mean > -0.05 && mean < 0.05);
    lud_successors_free(&out);
    lud_statespace_destroy(space);
    lud_scenario_destroy(scenario);
}

/* ---- the program ---- */

static double number_behind(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (!at) fail_msg("no '%s' in:\n%s", name, text);
    return strtod(at + strlen(name), NULL);
}

static void expect_done(program_result r) {
    if (r.exit_code != 0) fail_msg("exit code %d: %s", r.exit_code, r.err);
    program_free(&r);
}

static void from_nothing_to_viewing(void **state) {
    (void)state;
    expect_done(EXAMPLE("help", "lamps"));
    program_result r = EXAMPLE("run", EXAMPLES "lamps/lamps.yaml");
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "share of lamps that burn"));
    assert_true(number_behind(r.out, "\nterminated") < 50); /* by chance */
    program_free(&r);

    expect_done(EXAMPLE("solve", EXAMPLES "lamps/lamps.yaml", "-o", "solved"));
    expect_done(EXAMPLE("train", EXAMPLES "q_learning/lamps_q.yaml", "-o", "learned", "-q"));
    r = EXAMPLE("run", "learned");
    assert_int_equal(r.exit_code, 0);
    assert_true(number_behind(r.out, "\nterminated") > 95); /* nearly always all lamps burn */
    program_free(&r);

    expect_done(EXAMPLE("train", EXAMPLES "lamps/lamps_mappo.yaml", "-o", "mappo", "-q", "--set",
                        "learner.steps=1600"));
    expect_done(EXAMPLE("record", "learned", "-o", "lamps.gif", "--episodes", "1", "-q"));
    assert_true(lud_file_exists("lamps.gif"));
}

/* A training that is stopped and goes on is the same as one that was not. */
static void resuming(void **state) {
    (void)state;
    const char *const scenario = EXAMPLES "q_learning/lamps_q.yaml";
    expect_done(EXAMPLE("train", scenario, "-o", "whole", "-q", "--set", "learner.steps=64000"));
    expect_done(EXAMPLE("train", scenario, "-o", "parts", "-q", "--set", "learner.steps=32000"));
    expect_done(EXAMPLE("train", scenario, "-o", "parts", "-q", "--resume", "--set", "learner.steps=64000"));
    program_result whole = EXAMPLE("run", "whole", "--json"), parts = EXAMPLE("run", "parts", "--json");
    const char *const measured[] = {"\"terminated\":", "\"lit\":"};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        assert_true(number_behind(whole.out, measured[i]) == number_behind(parts.out, measured[i]));
    program_free(&whole);
    program_free(&parts);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages), cmocka_unit_test(lengths),
                                       cmocka_unit_test(exact_model),
                                       cmocka_unit_test(from_nothing_to_viewing), cmocka_unit_test(resuming)};
    char folder[] = "/tmp/ludus-examples-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0 && (system("rm -rf ./*") != 0 || rmdir(folder) != 0)) return 1;
    return failed;
}
