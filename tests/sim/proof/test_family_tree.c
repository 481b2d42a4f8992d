/* The family tree that ships is the one the generator makes, and its rules derive nothing that is not true.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "sim/proof/knowledge/family_tree.h"
#include "sim/proof/prover.h"
#include "sim/proof/support_proof.h"

static const char *const names[] = {"train", "valid", "test"};

static char *read_shipped(lud_arena *arena, const char *file) {
    lud_text path = {0};
    lud_error error = {0};
    char *text = NULL;
    size_t length;
    lud_text_append(&path, "%s/scenarios/proof/family_tree/%s", LUDUS_SOURCE_DIR, file);
    if (lud_file_read(arena, path.bytes, 0, &text, &length, &error)) fail_msg("%s", error.text);
    lud_text_free(&path);
    return text;
}

static void test_shipped_files(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    lud_family_options options = lud_family_default();
    lud_text texts[3] = {{0}}, other[3] = {{0}};
    lud_error error = {0};
    assert_int_equal(lud_family_write(&options, &texts[0], &texts[1], &texts[2], &error), LUD_OK);
    for (int s = 0; s < 3; s++) {
        lud_text file = {0};
        lud_text_append(&file, "%s.txt", names[s]);
        assert_string_equal(read_shipped(arena, file.bytes), texts[s].bytes);
        lud_text_free(&file);
    }
    options.seed++;
    assert_int_equal(lud_family_write(&options, &other[0], &other[1], &other[2], &error), LUD_OK);
    assert_string_not_equal(texts[0].bytes, other[0].bytes);
    for (int s = 0; s < 3; s++) {
        lud_text_free(&texts[s]);
        lud_text_free(&other[s]);
    }
    lud_arena_destroy(arena);
}

/* The whole fixpoint of the shipped facts consists of true triples, and nearly all that was held out is in
 * it. */
static void test_rules_are_true(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_error error = {0};
    const char *facts = read_shipped(arena, "train.txt"), *rules = read_shipped(arena, "rules.txt");
    lud_proof_base *base = NULL;
    assert_int_equal(lud_proof_read_facts(builder, "f", facts, strlen(facts), &error), LUD_OK);
    assert_int_equal(lud_proof_read_rules(builder, "r", rules, strlen(rules), &error), LUD_OK);
    for (int s = 1; s < 3; s++) {
        lud_text file = {0};
        lud_text_append(&file, "%s_depths.txt", names[s]);
        const char *text = read_shipped(arena, file.bytes);
        assert_int_equal(
            lud_proof_read_queries(builder, (lud_proof_split)s, names[s], text, strlen(text), &error),
            LUD_OK);
        lud_text_free(&file);
    }
    assert_int_equal(lud_proof_build(builder, NULL, &base, &error), LUD_OK);
    lud_prover *prover = NULL;
    assert_int_equal(lud_prover_create(base, NULL, &prover, &error), LUD_OK);
    int64_t derivable = 0;
    for (int32_t p = 1; p <= base->n_predicates; p++) {
        lud_proof_atom all = {p, {base->n_constants + 1, base->n_constants + 2}};
        int64_t n;
        assert_int_equal(lud_prover_count(prover, &all, &n, &error), LUD_OK);
        derivable += n;
    }
    int64_t held_out = 0, derived = 0;
    for (int s = 1; s < 3; s++)
        for (int32_t i = 0; i < base->n_queries[s]; i++) {
            const lud_proof_query *query = &base->queries[s][i];
            lud_prover_answer answer;
            assert_int_equal(lud_prover_ask(prover, &query->atom, &answer, &error), LUD_OK);
            held_out++;
            derived += answer == LUD_PROVER_PROVED;
            if (query->depth > 0) assert_int_equal(answer, LUD_PROVER_PROVED);
            if (i % 20 == 0) { /* the stated depths are those of the search */
                lud_proof_search_options options = {5, 6, 100000};
                lud_proof_search_result result;
                assert_int_equal(lud_proof_search(base, &query->atom, &options, &result, &error), LUD_OK);
                assert_int_equal(result.steps, query->depth);
                lud_proof_search_result_free(&result);
            }
        }
    assert_int_equal(derivable, base->n_facts + derived); /* nothing beyond what is true */
    assert_true(derived * 100 > held_out * 95);
    lud_prover_destroy(prover);
    lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
    lud_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_files),
                                       cmocka_unit_test(test_rules_are_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
