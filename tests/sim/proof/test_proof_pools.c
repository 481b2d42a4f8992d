/* Which queries are played after the filters, what counts as known, and which corruptions there are of a
 * query: everything is compared with lists of words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

static const char *const facts = "p(a,b)\np(b,c)\nq(a,a)\nq(d,a)\n";
/* of predicate p a rule says something, of q none does */
static const char *const rules = "p(X,Y) :- q(Y,X)\n";

typedef struct stated {
    const char *atom;
    int32_t depth; /* NONE: none is stated */
} stated;
enum { NONE = LUD_PROOF_NO_DEPTH, MOST = 24 };

static const stated queries[LUD_PROOF_SPLITS][9] = {
    {{"p(a,c)", 1},
     {"q(b,b)", 2},
     {"p(b,d)", 2},
     {"p(c,d)", -1},
     {"q(c,a)", 1},
     {"p(d,d)", NONE},
     {"p(c,a)", 3},
     {"p(a,c)", 1}},
    {{"p(d,b)", 2}, {"q(b,a)", 7}, {"p(d,a)", 1}},
    {{"q(d,d)", 4}, {"p(b,b)", -1}, {"p(a,c)", 2}, {"q(c,d)", NONE}}};

static lud_proof_model *make(const lud_proof_options *o) {
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_proof_base *base = NULL;
    lud_proof_model *model = NULL;
    if (lud_proof_read_facts(builder, "facts", facts, strlen(facts), &error) ||
        lud_proof_read_rules(builder, "rules", rules, strlen(rules), &error))
        fail_msg("%s", error.text);
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) {
        lud_text text = {0};
        for (const stated *q = queries[s]; q->atom; q++) {
            lud_text_append(&text, "%s", q->atom);
            if (q->depth != NONE) lud_text_append(&text, " %d", q->depth);
            lud_text_append(&text, "\n");
        }
        if (lud_proof_read_queries(builder, (lud_proof_split)s, "queries", text.bytes, text.length, &error))
            fail_msg("%s", error.text);
        lud_text_free(&text);
    }
    if (lud_proof_build(builder, NULL, &base, &error) || lud_proof_model_create(base, o, &model, &error))
        fail_msg("%s", error.text);
    lud_proof_builder_destroy(builder);
    return model;
}

static bool is_wanted(const stated *q, const int *depths, int n_depths) {
    bool wanted = n_depths == 0;
    for (int k = 0; k < n_depths; k++) wanted = wanted || q->depth == depths[k];
    return wanted;
}

static void check_pool(const lud_proof_model *model, int split, const char *const *expected,
                       const int *depths, int n) {
    const lud_proof_pool *pool = &model->pools[split];
    assert_int_equal(pool->n, n);
    assert_null(pool->labels);
    for (int i = 0; i < n; i++) {
        char *word = proof_goals_text(model->base, &pool->atoms[i], 1);
        assert_string_equal(word, expected[i]);
        free(word);
        assert_int_equal(model->pool_depths[split][i], depths[i]);
    }
}

/* Every ground atom: known where it is a fact or a query, or, filtered, a query that was kept by its depth.
 */
static void check_known(const lud_proof_model *model, bool filtered, const int *depths, int n_depths) {
    static const char *const predicates[] = {"p", "q"}, *const constants[] = {"a", "b", "c", "d"};
    for (int code = 0; code < 32; code++) {
        char word[16];
        snprintf(word, sizeof word, "%s(%s,%s)", predicates[code / 16], constants[code / 4 % 4],
                 constants[code % 4]);
        bool known = !filtered && strstr(facts, word);
        for (int s = 0; s < LUD_PROOF_SPLITS; s++)
            for (const stated *q = queries[s]; q->atom; q++)
                known = known || (!strcmp(q->atom, word) &&
                                  (!filtered || s != LUD_PROOF_TRAIN || is_wanted(q, depths, n_depths)));
        const lud_proof_atom atom = proof_atom(model->base, word);
        if (lud_proof_is_known(model, &atom) != known) fail_msg("%s", word);
    }
}

static void test_filters(void **state) {
    (void)state;
    static const struct {
        int n, depths[2];
    } kept[] = {{0, {0}}, {1, {1}}, {1, {2}}, {2, {1, 2}}, {2, {-1, 3}}, {1, {9}}};
    for (size_t d = 0; d < sizeof kept / sizeof *kept; d++)
        for (int with_rules = 0; with_rules < 2; with_rules++)
            for (int filtered = 0; filtered < 2; filtered++)
                for (int first = 0; first < 6; first++) {
                    lud_proof_options o = proof_options();
                    int64_t depths[2] = {kept[d].depths[0], kept[d].depths[1]};
                    o.queries.depths = (lud_int_list){depths, (size_t)kept[d].n};
                    o.queries.with_rules = with_rules;
                    o.negatives.known = filtered ? LUD_PROOF_KNOWN_FILTERED : LUD_PROOF_KNOWN_ALL;
                    o.queries.n_train = first;
                    o.queries.n_valid = first ? first - 1 : 0;
                    o.queries.n_test = first > 3 ? 1 : 0;
                    const int64_t limits[] = {o.queries.n_train, o.queries.n_valid, o.queries.n_test};
                    lud_proof_model *model = make(&o);
                    for (int s = 0; s < LUD_PROOF_SPLITS; s++) {
                        const char *expected[MOST];
                        int expected_depths[MOST], n = 0;
                        for (const stated *q = queries[s]; q->atom; q++) {
                            if (s == LUD_PROOF_TRAIN && !is_wanted(q, kept[d].depths, kept[d].n)) continue;
                            if (s == LUD_PROOF_TRAIN && with_rules && q->atom[0] == 'q') continue;
                            if (limits[s] > 0 && n == limits[s]) break;
                            expected[n] = q->atom;
                            expected_depths[n++] = q->depth;
                        }
                        check_pool(model, s, expected, expected_depths, n);
                    }
                    check_known(model, filtered, kept[d].depths, kept[d].n);
                    lud_proof_model_destroy(model);
                }
}

/* --- Corruptions --- */

/* Whether `atom` is `query` with another constant at the argument. */
static bool differs_at(const lud_proof_atom *atom, const lud_proof_atom *query, int argument) {
    return atom->predicate == query->predicate && atom->terms[!argument] == query->terms[!argument] &&
           atom->terms[argument] != query->terms[argument];
}

/* All there are, in the order of constants; of so many as are asked for, all different, none known, half of
 * each argument, and blank ones where there are no more. */
static void test_corruptions(void **state) {
    (void)state;
    const lud_proof_options o = proof_options();
    lud_proof_model *model = make(&o);
    const lud_random_key key = {5, 6};
    const int32_t n_constants = model->base->n_constants;
    for (int code = 0; code < 32; code++) {
        const lud_proof_atom query = {.predicate = 1 + code / 16, .terms = {1 + code / 4 % 4, 1 + code % 4}};
        lud_proof_atom all[3][MOST], some[MOST + 1];
        int32_t n_all[3] = {0};
        for (int argument = 0; argument < 2; argument++)
            for (int32_t c = 1; c <= n_constants; c++) {
                lud_proof_atom one = query;
                one.terms[argument] = c;
                if (c != query.terms[argument] && !lud_proof_is_known(model, &one)) {
                    all[argument][n_all[argument]++] = one;
                    all[2][n_all[2]++] = one;
                }
            }
        for (int mode = 0; mode < 3; mode++) {
            assert_int_equal(
                lud_proof_corruptions(model, &query, (lud_proof_corrupt)mode, 0, key, 3, some, MOST),
                n_all[mode]);
            assert_memory_equal(some, all[mode], (size_t)n_all[mode] * sizeof *some);
            if (mode < 2 && n_all[mode] > 0) /* no more than there is room for */
                assert_int_equal(lud_proof_corruptions(model, &query, (lud_proof_corrupt)mode, 0, key, 3,
                                                       some, n_all[mode] - 1),
                                 n_all[mode] - 1);
            lud_proof_atom one;
            if (mode < 2) {
                const bool found =
                    lud_proof_corrupt_once(model, &query, (lud_proof_corrupt)mode, key, 9, &one);
                assert_int_equal(found, n_all[mode] > 0);
                if (found)
                    assert_true(differs_at(&one, &query, mode) && !lud_proof_is_known(model, &one));
                else
                    assert_memory_equal(&one, &query, sizeof one);
            }
            for (int32_t k = 1; k < 10; k++) {
                const int32_t of[2] = {mode == 2   ? (k + 1) / 2
                                       : mode == 0 ? k
                                                   : 0,
                                       mode == 2   ? k / 2
                                       : mode == 1 ? k
                                                   : 0};
                const int32_t heads = of[0] < n_all[0] ? of[0] : n_all[0],
                              tails = of[1] < n_all[1] ? of[1] : n_all[1];
                memset(some, 0x11, sizeof some);
                assert_int_equal(
                    lud_proof_corruptions(model, &query, (lud_proof_corrupt)mode, k, key, 3, some, MOST),
                    heads + tails);
                for (int32_t i = 0; i < MOST; i++) {
                    if (i < heads + tails) {
                        assert_true(differs_at(&some[i], &query, i >= heads));
                        assert_false(lud_proof_is_known(model, &some[i]));
                        for (int32_t j = 0; j < i; j++)
                            assert_memory_not_equal(&some[i], &some[j], sizeof *some);
                    } else if (i < k) {
                        assert_int_equal(some[i].predicate, 0);
                    } else {
                        assert_int_equal(some[i].predicate, 0x11111111);
                    }
                }
            }
        }
    }
    lud_proof_model_destroy(model);
}

/* Each corruption is as likely as any other. */
static void test_corruptions_are_uniform(void **state) {
    (void)state;
    enum { DRAWS = 3000 };
    const lud_proof_options o = proof_options();
    lud_proof_model *model = make(&o);
    const lud_proof_atom query = proof_atom(model->base, "q(c,c)");
    for (int mode = 0; mode < 2; mode++) {
        int count[8] = {0};
        lud_proof_atom all[MOST], one;
        const int32_t n = lud_proof_corruptions(model, &query, (lud_proof_corrupt)mode, 0,
                                                (lud_random_key){0}, 0, all, MOST);
        for (uint32_t step = 0; step < DRAWS; step++) {
            assert_true(lud_proof_corrupt_once(model, &query, (lud_proof_corrupt)mode, (lud_random_key){1, 2},
                                               step, &one));
            count[one.terms[mode]]++;
        }
        for (int32_t i = 0; i < n; i++) /* 5 standard deviations */
            assert_in_range(count[all[i].terms[mode]], DRAWS / n - 140, DRAWS / n + 140);
    }
    lud_proof_model_destroy(model);
}

/* With domains a constant is replaced by those of its argument's domain, else of its own, else by any. */
static void test_corruptions_within_domains(void **state) {
    (void)state;
    static const char texts[][96] = {"p(a,c)\np(b,d)\nq(a,b)\nq(c,f)\nq(f,e)\n", "p(X,Y) :- q(Y,X)\n",
                                     "people a b\nplaces c d e\np:people:places\n"};
    static const struct {
        const char *query, *heads, *tails;
    } cases[] = {{"p(a,d)", "", "e"},      {"p(b,c)", "", "e"},   {"p(b,e)", "a", "c"},
                 {"q(b,a)", "a", "b"},     {"q(c,a)", "de", "b"}, {"q(f,e)", "abcde", "cd"},
                 {"q(d,f)", "e", "abcde"}, {"q(a,c)", "b", "de"}, {"p(f,f)", "ab", "cde"}};
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_proof_base *base = NULL;
    lud_proof_model *model = NULL;
    const lud_proof_options o = proof_options();
    if (lud_proof_read_facts(builder, "facts", texts[0], strlen(texts[0]), &error) ||
        lud_proof_read_rules(builder, "rules", texts[1], strlen(texts[1]), &error) ||
        lud_proof_read_domains(builder, "domains", texts[2], strlen(texts[2]), &error) ||
        lud_proof_build(builder, NULL, &base, &error) || lud_proof_model_create(base, &o, &model, &error))
        fail_msg("%s", error.text);
    lud_proof_builder_destroy(builder);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const lud_proof_atom query = proof_atom(base, cases[k].query);
        for (int mode = 0; mode < 2; mode++) {
            const char *expected = mode ? cases[k].tails : cases[k].heads;
            bool seen[8] = {false};
            lud_proof_atom list[MOST], one;
            const int32_t n = lud_proof_corruptions(model, &query, (lud_proof_corrupt)mode, 0,
                                                    (lud_random_key){0}, 0, list, MOST);
            assert_int_equal(n, strlen(expected));
            for (int32_t i = 0; i < n; i++) {
                assert_non_null(strchr(expected, base->constants[list[i].terms[mode]][0]));
                for (int32_t j = 0; j < i; j++)
                    assert_int_not_equal(list[i].terms[mode], list[j].terms[mode]);
            }
            for (uint32_t step = 0; step < 200; step++)
                if (lud_proof_corrupt_once(model, &query, (lud_proof_corrupt)mode, (lud_random_key){3, 4},
                                           step, &one)) {
                    assert_non_null(strchr(expected, base->constants[one.terms[mode]][0]));
                    seen[strchr(expected, base->constants[one.terms[mode]][0]) - expected] = true;
                }
            for (int32_t i = 0; i < n; i++) assert_true(seen[i]);
        }
    }
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_corruptions),
        cmocka_unit_test(test_corruptions_are_uniform),
        cmocka_unit_test(test_corruptions_within_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
