/* Knowledge graphs from files: damage is told with file, line and column, large files load, and goals that
 * grow without end are cut and counted. */
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
#include "folder.h"
#include "sim/proof/support_proof.h"
#include "sim/scenario.h"

TEST_FOLDER("/tmp/ludus-proof-files-XXXXXX")

static void put(const char *name, const char *text, size_t length) {
    char path[128];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (lud_file_write(path, text, length, &error)) fail_msg("%s", error.text);
}

/* A scenario on the files of the folder, with more keys of the section. */
static lud_status load(const char *more, lud_scenario **scenario, lud_error *error) {
    char text[1024];
    snprintf(text, sizeof text,
             "ludus: 1\nworld: proof\nproof:\n  folder: %s\n  facts: facts.txt\n  rules: rules.txt\n"
             "  queries: {train: train.txt, valid: valid.txt, test: test.txt}\n%s",
             folder, more);
    *scenario = NULL;
    return lud_scenario_read("graph.yaml", text, strlen(text), NULL, 0, scenario, error);
}

static const struct {
    const char *name, *text;
} sound[] = {{"facts.txt", "% towns\nin(rome,italy).\nin(paris,france).\n"},
             {"rules.txt", "near(X,Y) :- in(X,Z), in(Y,Z)\n"},
             {"train.txt", "near(rome,rome) 1\nnear(paris,rome) -1\n"},
             {"valid.txt", "near(rome,paris)\n"},
             {"test.txt", "near(paris,paris)\n"},
             {"domains.txt", "towns rome paris\ncountries italy france\nin:towns:countries\n"},
             {"scores.txt", "near(rome,paris) 0.5 1\n"}};

static const char extra[] = "  domains: domains.txt\n  scores: {file: scores.txt}\n";

static void put_sound_files(void) {
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        put(sound[i].name, sound[i].text, strlen(sound[i].text));
}

/* Each kind of damage in each kind of file, behind lines that are right. */
static void test_damage(void **state) {
    (void)state;
    static const struct {
        const char *file, *line, *expected; /* expected: line and column, and what is said */
    } cases[] = {
        {"facts.txt", "in(oslo,nor(way))", "4:12: something else, expected `,` or `)` after an argument"},
        {"facts.txt", "  in(oslo,norway", "4:17: the end of the line, expected `,` or `)` after an argument"},
        {"facts.txt", "in oslo", "4:8: the end of the line, expected `(` after a predicate"},
        {"facts.txt", "in(oslo,)", "4:9: an empty name, expected an argument"},
        {"facts.txt", "(oslo,norway)", "4:1: an empty name, expected a predicate name"},
        {"facts.txt", "in('oslo,norway)", "4:4: a quote that is not closed, expected the same quote again"},
        {"facts.txt", "in(oslo,norway) in(bern,swiss)", "4:17: more text after the atom, expected the end"},
        {"facts.txt", "in(os@lo,norway)", "4:6: a zero byte, expected text"},
        {"rules.txt", "near(X,Y) :- in(X,Y", "2:20: the end of the line, expected `,` or `)`"},
        {"rules.txt", "near(X,Y) :- ", "2:13: an empty name, expected a predicate name"},
        {"rules.txt", "in(X,Y) in(Y,Z) -> near(X,Z)",
         "2:9: something else between atoms, expected `,` or `->`"},
        {"rules.txt", "in(X,Y) => near(X,Y)",
         "2:9: something else behind the first atom, expected `body -> head`, `head :- body` or"},
        {"rules.txt", "in(X,Y), in(Y,Z)",
         "2:8: something else behind the first atom, expected `body -> head`"},
        {"rules.txt", "r1: -> near(X,Y)", "2:5: a body without atoms, expected atoms before `->`"},
        {"rules.txt", "r1: 1e999: in(X,Y) -> near(X,Y)", "2:5: not a number, expected a finite decimal"},
        {"rules.txt", "r1:-1e-400:in(X,Y) -> near(X,Y)", "2:4: not a number, expected a finite decimal"},
        {"rules.txt", "near(X) :- in(X,Y)",
         "2:1: an atom that does not have two arguments, expected two (or"},
        {"rules.txt", "r1:heavy:in(X,Y) -> near(X,Y)", "2:4: not a number, expected a finite decimal number"},
        {"rules.txt", "r1:1 2:in(X,Y) -> near(X,Y)", "2:6: text between weight and colon, expected `:`"},
        {"rules.txt", ":1:in(X,Y) -> near(X,Y)", "2:1: an empty rule name, expected a name before the colon"},
        {"rules.txt", "near(X@,Y) :- in(X,Y)", "2:7: a zero byte, expected text"},
        {"train.txt", "near(rome,rome) soon", "3:17: not a whole number in range, expected one"},
        {"train.txt", "near(rome,rome) 1000001", "3:17: not a whole number in range, expected one"},
        {"train.txt", "near(rome,rome) 3 4", "3:19: more text after the atom, expected the end of the line"},
        {"valid.txt", "near(rome,rome", "2:15: the end of the line, expected `,` or `)` after an argument"},
        {"test.txt", "near rome", "2:10: the end of the line, expected `(` after a predicate"},
        {"domains.txt", "in:towns", "4:3: not two colons, expected predicate:first_domain:last_domain"},
        {"domains.txt", "in:towns:", "4:10: an empty name, expected a predicate or a domain"},
        {"domains.txt", "towns os@lo", "4:1: a zero byte, expected text"},
        {"scores.txt", "near(rome,rome) much 1", "2:17: not a number, expected a finite decimal number"},
        {"scores.txt", "near(rome,rome) 0.5 -1", "2:21: not a whole number in range, expected one"},
        {"scores.txt", "near(rome,rome) 0.5 1 1",
         "2:23: more text after the atom, expected the end of the line"},
    };
    lud_scenario *scenario;
    lud_error error = {0};
    put_sound_files();
    if (load(extra, &scenario, &error)) fail_msg("%s", error.text);
    lud_scenario_destroy(scenario);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], expected[256];
        size_t n = 0;
        for (size_t k = 0; k < sizeof sound / sizeof *sound; k++)
            if (!strcmp(sound[k].name, cases[i].file))
                n = (size_t)snprintf(text, sizeof text, "%s%s\r\n", sound[k].text, cases[i].line);
        assert_true(n > 0);
        for (size_t k = 0; k < n; k++)
            if (text[k] == '@') text[k] = 0;
        put_sound_files();
        put(cases[i].file, text, n);
        snprintf(expected, sizeof expected, "%s/%s:", folder, cases[i].file);
        error = (lud_error){0};
        assert_int_equal(load(extra, &scenario, &error), LUD_ERROR_INPUT);
        const size_t length = strlen(expected);
        if (strncmp(error.text, expected, length) ||
            strncmp(error.text + length, cases[i].expected, strlen(cases[i].expected)))
            fail_msg("`%s` gave `%s`, expected `%s%s`", cases[i].line, error.text, expected,
                     cases[i].expected);
    }
}

/* A file that is not there is told by the line of the scenario that names it. */
static void test_missing(void **state) {
    (void)state;
    static const struct {
        const char *file, *place;
    } cases[] = {{"facts.txt", "graph.yaml:5:10: facts: "}, {"rules.txt", "graph.yaml:6:10: rules: "},
                 {"train.txt", "graph.yaml:7:20: train: "}, {"valid.txt", "graph.yaml:7:38: valid: "},
                 {"test.txt", "graph.yaml:7:55: test: "},   {"domains.txt", "graph.yaml:8:12: domains: "},
                 {"scores.txt", "graph.yaml:9:18: file: "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], expected[512];
        lud_scenario *scenario;
        lud_error error = {0};
        put_sound_files();
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].file);
        assert_int_equal(unlink(path), 0);
        snprintf(expected, sizeof expected,
                 "%sexpected a file that can be read, found %s: No such file or directory", cases[i].place,
                 path);
        assert_int_equal(load(extra, &scenario, &error), LUD_ERROR_INPUT);
        assert_string_equal(error.text, expected);
    }
}

static void test_no_queries(void **state) {
    (void)state;
    lud_scenario *scenario;
    lud_error error = {0};
    put_sound_files();
    put("train.txt", "% nothing\n", 10);
    assert_int_equal(load("", &scenario, &error), LUD_ERROR_INPUT);
    assert_string_equal(
        error.text,
        "graph.yaml: proof.queries: no train queries are left to play, expected a file with some");
    put("train.txt", "in(oslo,norway)\nin(bern,swiss)\n", 31);
    assert_int_equal(load("", &scenario, &error), LUD_ERROR_INPUT);
    assert_string_equal(
        error.text,
        "graph.yaml: proof.queries: of 2 train queries none is left to play; with_rules drops those that no "
        "rule concludes (false keeps them), depths those of other depths");
}

/* A file of some megabytes, with long lines, is read whole; one that is damaged at its very end is told by
 * its last line. */
static void test_large_files(void **state) {
    (void)state;
    enum { FACTS = 200000, TOWNS = 20000 };
    put_sound_files();
    lud_text text = {0};
    for (int i = 0; i < FACTS; i++)
        lud_text_append(&text, "relation_%d(entity_number_%d,entity_number_%d).\n", i % 40, i % TOWNS,
                        i / 10);
    assert_false(text.failed);
    assert_true(text.length > 8000000);
    put("facts.txt", text.bytes, text.length);
    lud_scenario *scenario;
    lud_error error = {0};
    if (load("", &scenario, &error)) fail_msg("%s", error.text);
    const lud_proof_base *base = ((const lud_proof_model *)(const void *)scenario->model)->base;
    assert_int_equal(base->n_facts, FACTS);
    assert_int_equal(base->n_constants, TOWNS + 2); /* the queries' towns too */
    lud_proof_atom atom = proof_atom(base, "relation_39(entity_number_19999,entity_number_1999)");
    assert_true(lud_proof_find_fact(base, &atom, lud_proof_atom_hash(&atom)) >= 0);
    lud_scenario_destroy(scenario);
    lud_text_append(&text, "relation_0(entity_number_0\n");
    put("facts.txt", text.bytes, text.length);
    char expected[128];
    snprintf(expected, sizeof expected, "%s/facts.txt:%d:27: the end of the line", folder, FACTS + 1);
    assert_int_equal(load("", &scenario, &error), LUD_ERROR_INPUT);
    if (strncmp(error.text, expected, strlen(expected))) fail_msg("%s", error.text);
    lud_text_free(&text);
}

/* Rules that call themselves: every step adds a goal. What has more goals than allowed is cut, counted, and
 * ends in a dead end; nothing grows. */
static void test_endless_goals(void **state) {
    (void)state;
    enum { GOALS = 6, SLOTS = 3, STEPS = 40 };
    put_sound_files();
    put("rules.txt", "near(X,Y) :- near(X,Z), near(Z,Y)\n", 34);
    lud_scenario *scenario;
    lud_error error = {0};
    if (load("  limits: {goals: 6, depth: 30, successors: 8, memory: false, end_action: false}\n", &scenario,
             &error))
        fail_msg("%s", error.text);
    const lud_proof_model *model = (const lud_proof_model *)(const void *)scenario->model;
    lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 1);
    lud_proof_batch *batch;
    if (lud_proof_batch_create(model, &options, &batch, &error)) fail_msg("%s", error.text);
    lud_proof_batch_reset(batch);
    static const int32_t first[SLOTS] = {0};
    int episodes = 0;
    for (int t = 0; t < STEPS; t++) {
        lud_proof_batch_step_reset(batch, first);
        for (int i = 0; i < SLOTS; i++) {
            assert_in_range(batch->current.begin[i + 1] - batch->current.begin[i], 1, GOALS);
            if (!batch->terminated[i]) continue;
            assert_int_equal(batch->success[i], 0);
            assert_int_equal(batch->length[i], GOALS); /* from one goal to six, and then the dead end */
            episodes++;
        }
    }
    assert_int_equal(episodes, SLOTS * (STEPS / GOALS));
    /* one successor too long for each expansion of six goals: that of every episode but those just begun */
    assert_int_equal(batch->cuts.over_goals, episodes);
    assert_int_equal(batch->cuts.expansions, SLOTS * (STEPS + 1));
    assert_int_equal(batch->cuts.over_successors, 0);
    lud_proof_batch_destroy(batch);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage), cmocka_unit_test(test_missing),
                                       cmocka_unit_test(test_no_queries), cmocka_unit_test(test_large_files),
                                       cmocka_unit_test(test_endless_goals)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
