#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

static void expect_rule(const lud_proof_base *base, int r, const char *expected) {
    lud_text text = {0};
    lud_proof_print_rule(base, &base->rules[r], &text);
    assert_string_equal(text.bytes, expected);
    lud_text_free(&text);
}

static void test_triples(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES,
                                      "\xef\xbb\xbf% a comment\r\n"
                                      "\n"
                                      "co-occurs_with(b, 'a').\r\n"
                                      "  likes( New York ,\"b\" )\n"
                                      ":- dynamic likes/2.\n"
                                      "one_step(a,b,c).\n"
                                      "x :- findall(X, y, Z).\n"
                                      "[a,b].\n"
                                      "three(a,b,c).\n"
                                      "likes(b,a). \n"
                                      "co-occurs_with(b,a)",
                                      "", "likes(b,z) 3\nlikes(b,a).  -1\nlikes(a,a)\n");
    assert_int_equal(base->n_facts, 3); /* one stood twice */
    assert_int_equal(base->n_predicates, 2);
    assert_int_equal(base->n_constants, 4);
    assert_string_equal(base->constants[1], "New York"); /* byte order */
    assert_string_equal(base->constants[4], "z");        /* from the queries */
    assert_string_equal(base->predicates[1], "co-occurs_with");
    assert_string_equal(base->predicates[lud_proof_end(base)], "Endf");
    assert_int_equal(base->n_queries[LUD_PROOF_TRAIN], 3);
    assert_int_equal(base->queries[LUD_PROOF_TRAIN][0].depth, 3);
    assert_int_equal(base->queries[LUD_PROOF_TRAIN][1].depth, -1);
    assert_int_equal(base->queries[LUD_PROOF_TRAIN][2].depth, LUD_PROOF_NO_DEPTH);
    for (int32_t f = 0; f < base->n_facts; f++)
        assert_int_equal(lud_proof_find_fact(base, &base->facts[f], lud_proof_atom_hash(&base->facts[f])), f);
    lud_proof_base_destroy(base);
}

static void test_rules(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\n",
                                      "r7:0.25:co-p(x,h), p(h,Y) -> q(x,Y)\n"
                                      "q(A,B) :- p(B,A).\n"
                                      "p(X,X)\n"
                                      "p(X,'only b') :- q(X,X)\n"
                                      "r8: z2:of(X,Y) :- q(Y,X)\n" /* a colon within a name */
                                      "r9: 0.5 :zz(X,Y) :- p(Y,X)\n",
                                      NULL);
    assert_int_equal(base->n_rules, 6);
    /* sorted by head, order of the file within one */
    expect_rule(base, 0, "p(X,X)");
    expect_rule(base, 1, "q(X,X) -> p(X,only b)");
    expect_rule(base, 2, "co-p(x,h), p(h,Y) -> q(x,Y)");
    expect_rule(base, 3, "p(B,A) -> q(A,B)");
    assert_string_equal(base->rules[2].name, "r7");
    assert_string_equal(base->rules[3].name, "rule 2");
    assert_true(base->rules[2].weight == 0.25);
    expect_rule(base, 4, "q(Y,X) -> z2:of(X,Y)");
    expect_rule(base, 5, "p(Y,X) -> zz(X,Y)");
    assert_string_equal(base->rules[4].name, "r8");
    assert_true(base->rules[4].weight == 1.0);
    assert_string_equal(base->rules[5].name, "r9");
    assert_true(base->rules[5].weight == 0.5);
    /* variables by first appearance, head before body: x Y h */
    assert_int_equal(base->rules[2].head.terms[0], -1);
    assert_int_equal(base->rules[2].head.terms[1], -2);
    assert_int_equal(base->rules[2].body[0].terms[1], -3);
    assert_int_equal(base->longest_body, 2);
    lud_proof_base_destroy(base);
}

static void test_relations(void **state) {
    (void)state;
    lud_proof_base *base =
        proof_base(LUD_PROOF_RELATIONS, "born(ada, london, 1815)\nperson(ada)\nroute(a,b,c,d)\n",
                   "person(X) :- born(X, Where, When)\n", NULL);
    assert_int_equal(base->max_arity, 4);
    assert_int_equal(base->arity[lud_proof_find_predicate(base, "born", 4)], 3);
    lud_proof_atom atom = proof_atom(base, "route(a, X, Y, X)");
    assert_int_equal(atom.terms[1], base->n_constants + 1);
    assert_int_equal(atom.terms[2], base->n_constants + 2);
    assert_int_equal(atom.terms[3], base->n_constants + 1);
    lud_proof_base_destroy(base);
}

typedef enum what { FACT_FILE, RULE_FILE, QUERY_FILE, DOMAIN_FILE, SCORE_FILE } what;

static void expect_error(what kind, lud_proof_syntax syntax, const char *text, size_t length,
                         const char *expected) {
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(syntax);
    lud_status status = LUD_OK;
    switch (kind) {
    case FACT_FILE:
        status = lud_proof_read_facts(builder, "f", text, length, &error);
        break;
    case RULE_FILE:
        status = lud_proof_read_rules(builder, "f", text, length, &error);
        break;
    case QUERY_FILE:
        status = lud_proof_read_queries(builder, LUD_PROOF_TEST, "f", text, length, &error);
        break;
    case DOMAIN_FILE:
        status = lud_proof_read_domains(builder, "f", text, length, &error);
        break;
    case SCORE_FILE:
        status = lud_proof_read_scores(builder, "f", text, length, true, 10, 0, &error);
        break;
    }
    if (status != LUD_ERROR_INPUT || strncmp(error.text, expected, strlen(expected)) != 0)
        fail_msg("`%s` gave %d `%s`, expected `%s`", text, (int)status, error.text, expected);
    lud_proof_builder_destroy(builder);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        what kind;
        lud_proof_syntax syntax;
        const char *text, *expected;
    } cases[] = {
        {FACT_FILE, LUD_PROOF_TRIPLES, "p(a,b)\np(a,b c)d\n", "f:2:9: more text"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "p(a,b) q(c,d)\n", "f:1:8: more text"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "\n\n  p(a,)\n", "f:3:7: an empty name"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "p(a,b\n", "f:1:6: the end of the line"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "p\n", "f:1:2: the end of the line"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "(a,b)\n", "f:1:1: an empty name"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "p(a,'b)\n", "f:1:5: a quote that is not closed"},
        {FACT_FILE, LUD_PROOF_TRIPLES, "p(a,f(b))\n", "f:1:6: something else"},
        {FACT_FILE, LUD_PROOF_RELATIONS, "p(a,b)\np(a)\n", "f:2:1: 1 arguments where"},
        {FACT_FILE, LUD_PROOF_RELATIONS, "p(a,b,c,d,e)\n", "f:1:11: a fifth argument"},
        {FACT_FILE, LUD_PROOF_RELATIONS, ":- x\n", "f:1:5: the end of the line"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "r:x:p(a,b) -> q(a,b)\n", "f:1:3: not a number"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "r:nan:p(a,b) -> q(a,b)\n", "f:1:3: not a number"},
        {RULE_FILE, LUD_PROOF_TRIPLES, ":1:p(a,b) -> q(a,b)\n", "f:1:1: an empty rule name"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "r:1 x:p(a,b) -> q(a,b)\n", "f:1:5: text between weight and colon"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "p(a,b) p(b,c) -> q(a,b)\n", "f:1:8: something else between"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "p(a,b) ->\n", "f:1:10: an empty name"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "p(a,b) :- q(a,b,c)\n", "f:1:11: an atom that does not have two"},
        {RULE_FILE, LUD_PROOF_TRIPLES, "q(a,b) :- p(a,b), \n", "f:1:18: an empty name"},
        {QUERY_FILE, LUD_PROOF_TRIPLES, "p(a,b) 3x\n", "f:1:8: not a whole number"},
        {QUERY_FILE, LUD_PROOF_TRIPLES, "p(a,b) -2\n", "f:1:8: not a whole number"},
        {QUERY_FILE, LUD_PROOF_TRIPLES, "p(a,b) 99999999999999999999\n", "f:1:8: not a whole number"},
        {DOMAIN_FILE, LUD_PROOF_TRIPLES, "d a b\np:d\n", "f:2:2: not two colons"},
        {DOMAIN_FILE, LUD_PROOF_TRIPLES, "p::d\n", "f:1:3: an empty name"},
        {SCORE_FILE, LUD_PROOF_TRIPLES, "p(a,b) 0.5\n", "f:1:11: not a whole number"},
        {SCORE_FILE, LUD_PROOF_TRIPLES, "p(a,b) inf 1\n", "f:1:8: not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_error(cases[i].kind, cases[i].syntax, cases[i].text, strlen(cases[i].text), cases[i].expected);
    expect_error(FACT_FILE, LUD_PROOF_TRIPLES, "p(a,b\0c)", 8, "f:1:6: a zero byte");
    char *longer = malloc(10000);
    memset(longer, 'x', 10000);
    expect_error(FACT_FILE, LUD_PROOF_TRIPLES, longer, 10000, "f:1:1: a name over 4096 bytes");
    free(longer);
    lud_text body = {0}; /* too many atoms and too many variables */
    for (int i = 0; i < 33; i++) lud_text_append(&body, "%sp(a,b)", i ? ", " : "");
    lud_text_append(&body, " -> q(a,b)");
    expect_error(RULE_FILE, LUD_PROOF_TRIPLES, body.bytes, body.length, "f:1:257: more than 32 atoms");
    lud_text_clear(&body);
    for (int i = 0; i < 32; i++) lud_text_append(&body, "%sp(a%02d,b%02d)", i ? ", " : "", i, i);
    lud_text_append(&body, " -> q(a00,c)");
    expect_error(RULE_FILE, LUD_PROOF_TRIPLES, body.bytes, body.length,
                 "f:1:393: more than 64 variables in a rule, expected fewer");
    lud_text_free(&body);
}

static void test_query_errors(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "father(hans_bach,anna_bach)\n", "", NULL);
    static const char *const cases[][2] = {
        {"fahter(a,b)", "query:1:1: no predicate `fahter` in the knowledge base, did you mean `father`?"},
        {"father(hans_bahc,X)",
         "query:1:8: no constant `hans_bahc` in the knowledge base, did you mean `hans_bach`?"},
        {"father(x)", "query:1:9: father takes 2 arguments"},
        {"father(x,y,z)", "query:1:13: father takes 2"},
        {"father(x,y) and", "query:1:13: more text"},
        {"father", "query:1:1: no `(`"},
        {"father(,x)", "query:1:8: expected an argument"},
        {"father('hans,x)", "query:1:8: a quote"},
        {"father('", "query:1:8: a quote"},
        {"father('',x)", "query:1:10: expected an argument"},
        {"father('X',anna_bach)",
         "query:1:9: no constant `X` in the knowledge base"}, /* a name, no variable */
        {"father(hans_bach 'x',y)", "query:1:8: no constant `hans_bach 'x'`"},
        {"father('hans_bach' x,y)", "query:1:20: expected an argument and then `,` or `)`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_proof_atom atom;
        lud_error error = {0};
        char *text = strdup(cases[i][0]); /* behind whose end lies what is not its own */
        assert_int_equal(lud_proof_parse_atom(base, text, &atom, NULL, &error), LUD_ERROR_INPUT);
        free(text);
        if (strncmp(error.text, cases[i][1], strlen(cases[i][1])))
            fail_msg("%s: %s", cases[i][0], error.text);
    }
    lud_proof_base_destroy(base);
}

/* A query may be written with blanks, quotes and a dot; words that can be variables are, where they are no
 * names. */
static void test_queries(void **state) {
    (void)state;
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "father(hans,Anna)\nfather(hans,'the younger')\n", "", NULL);
    static const char *const same[] = {"father(hans,Anna)",        " father ( hans , Anna ) ",
                                       "father('hans',\"Anna\")",  "father( 'hans' ,Anna)",
                                       "father(hans, \"Anna\" ).", "father(hans,Anna) . . ",
                                       "\tfather(hans,\tAnna).\n"};
    const lud_proof_atom expected = proof_atom(base, same[0]);
    assert_true(expected.terms[0] > 0 && expected.terms[1] > 0 && expected.terms[0] != expected.terms[1] &&
                expected.terms[0] <= base->n_constants && expected.terms[1] <= base->n_constants);
    for (size_t i = 1; i < sizeof same / sizeof *same; i++) {
        const lud_proof_atom atom = proof_atom(base, same[i]);
        if (!lud_proof_atom_equal(&atom, &expected)) fail_msg("%s", same[i]);
    }
    lud_proof_atom atom = proof_atom(base, "father(hans,'the younger')");
    assert_true(atom.terms[0] == expected.terms[0] && atom.terms[1] <= base->n_constants);
    static const struct {
        const char *text;
        int first, second; /* variables, numbered as they come */
    } open[] = {{"father(X,Y)", 1, 2},   {"father(X,X)", 1, 1},         {"father(Xa,X)", 1, 2},
                {"father(?1,_a)", 1, 2}, {"father( Who , Who )", 1, 1}, {"father(x,y)", 1, 2}};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        lud_proof_variables variables;
        lud_error error = {0};
        assert_int_equal(lud_proof_parse_atom(base, open[i].text, &atom, &variables, &error), LUD_OK);
        assert_int_equal(atom.terms[0], base->n_constants + open[i].first);
        assert_int_equal(atom.terms[1], base->n_constants + open[i].second);
        assert_int_equal(variables.n, open[i].second);
    }
    lud_proof_base_destroy(base);
}

/* Domains: members that occur nowhere else are ignored, a stated signature wins over the constant's own
 * domain. */
static void test_domains(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    const char *facts = "in(rome,italy)\nin(paris,france)\nnear(rome,paris)\n";
    const char *domains =
        "cities rome paris atlantis\ncountries italy france italy\nin:cities:countries\nflies:x:y\n";
    assert_int_equal(lud_proof_read_facts(builder, "f", facts, strlen(facts), &error), LUD_OK);
    assert_int_equal(lud_proof_read_domains(builder, "d", domains, strlen(domains), &error), LUD_OK);
    lud_proof_base *base = NULL;
    assert_int_equal(lud_proof_build(builder, NULL, &base, &error), LUD_OK);
    lud_proof_builder_destroy(builder);
    assert_int_equal(base->n_domains, 4);
    assert_int_equal(base->domain_begin[1] - base->domain_begin[0], 2);
    assert_int_equal(base->domain_begin[2] - base->domain_begin[1], 2);
    int32_t in = lud_proof_find_predicate(base, "in", 2), near = lud_proof_find_predicate(base, "near", 4);
    assert_int_equal(base->argument_domain[2 * in], 0);
    assert_int_equal(base->argument_domain[2 * in + 1], 1);
    assert_int_equal(base->argument_domain[2 * near], -1);
    assert_int_equal(base->domain_of[lud_proof_find_constant(base, "paris", 5)], 0);
    lud_proof_base_destroy(base);
}

/* The index by arguments finds what a scan finds, in the order of facts. */
static void test_index(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        proof_random random = proof_random_base(seed, false, 4);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        for (int32_t p = 1; p <= base->n_predicates; p++)
            for (int i = 0; i < base->arity[p]; i++)
                for (int32_t c = 1; c <= base->n_constants; c++) {
                    lud_proof_range range = lud_proof_facts_with(base, p, i, c);
                    int32_t k = range.begin;
                    for (int32_t f = base->fact_begin[p]; f < base->fact_begin[p + 1]; f++)
                        if (base->facts[f].terms[i] == c) {
                            assert_true(k < range.end);
                            assert_int_equal(range.order ? range.order[k] : k, f);
                            k++;
                        }
                    assert_int_equal(k, range.end);
                }
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
}

/* Three megabytes: a reader of quadratic cost would not come back. */
static void test_large_file(void **state) {
    (void)state;
    lud_text text = {0};
    for (int i = 0; i < 100000; i++)
        lud_text_append(&text, "relation_%d(entity_%d,entity_%d).\n", i % 50, i % 7919, i % 9973);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, text.bytes, "", NULL);
    assert_int_equal(base->n_facts, 100000);
    lud_proof_base_destroy(base);
    lud_text_free(&text);
}

/* Probabilistic facts: rank and threshold decide, scores stay known. */
static void test_scores(void **state) {
    (void)state;
    lud_proof_base *base = proof_scored_base(
        LUD_PROOF_TRIPLES, "p(a,b)\n", "",
        "p(a,c) 0.7 1\np(a,c) 0.9 1\np(a,c) 0.8 1\np(b,c) 0.9 3\np(c,a) 0.1 1\np(a,b) 0.5 1\np(b,a) 0.5 2\n",
        2, 0.5);
    assert_int_equal(base->n_facts, 3); /* p(a,b), given, p(a,c) at its best, and p(b,a), which is just in */
    assert_true(base->fact_score[0] == 1.0f && base->fact_score[1] == 0.9f && base->fact_score[2] == 0.5f);
    lud_proof_atom atom = proof_atom(base, "p(c,a)");
    assert_true(lud_proof_score(base, &atom, -1) == 0.1f);
    atom = proof_atom(base, "p(c,c)");
    assert_true(lud_proof_score(base, &atom, -1) == -1.0f);
    lud_proof_base_destroy(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triples),   cmocka_unit_test(test_rules),
        cmocka_unit_test(test_relations), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_domains),   cmocka_unit_test(test_query_errors),
        cmocka_unit_test(test_queries),   cmocka_unit_test(test_index),
        cmocka_unit_test(test_scores),    cmocka_unit_test(test_large_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
