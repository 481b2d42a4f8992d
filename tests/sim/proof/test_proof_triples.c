/* Triples in tab-separated, comma-separated and N-Triples files, names of rules without weights, and what is
 * said about files that read but can hardly be meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

static void read_into(lud_proof_builder *builder, const char *facts, const char *rules, const char *queries) {
    lud_error error = {0};
    if (lud_proof_read_facts(builder, "facts", facts, strlen(facts), &error) ||
        lud_proof_read_rules(builder, "rules", rules, strlen(rules), &error) ||
        lud_proof_read_queries(builder, LUD_PROOF_TEST, "queries", queries, strlen(queries), &error))
        fail_msg("%s", error.text);
}

/* All facts and test queries of a base, each with its depth. */
static char *list(const lud_proof_base *base) {
    lud_text text = {0};
    for (int32_t i = 0; i < base->n_facts; i++) {
        lud_proof_print_atom(base, NULL, &base->facts[i], &text);
        lud_text_append(&text, "\n");
    }
    for (int32_t i = 0; i < base->n_queries[LUD_PROOF_TEST]; i++) {
        const lud_proof_query *query = &base->queries[LUD_PROOF_TEST][i];
        lud_proof_print_atom(base, NULL, &query->atom, &text);
        if (query->depth != LUD_PROOF_NO_DEPTH) lud_text_append(&text, " %d", (int)query->depth);
        lud_text_append(&text, "\n");
    }
    return text.bytes;
}

static void expect_list(lud_proof_format format, const char *facts, const char *queries,
                        const char *expected) {
    lud_error error = {0};
    lud_proof_base *base = NULL;
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_proof_builder_set_format(builder, format);
    read_into(builder, facts, "", queries);
    assert_int_equal(lud_proof_build(builder, NULL, &base, &error), LUD_OK);
    char *found = list(base);
    assert_string_equal(found, expected);
    free(found);
    lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
}

/* The same triples in every format, guessed or said. */
static void test_formats(void **state) {
    (void)state;
    static const char expected[] = "likes(New York,b c)\nlikes(b c,New York)\nnear(b c,b c)\n"
                                   "likes(New York,New York) 3\nnear(New York,b c)\n";
    static const struct {
        lud_proof_format format;
        const char *facts, *queries;
    } files[] = {
        {LUD_PROOF_ATOMS, "likes(New York, 'b c').\nlikes(b c,New York)\nnear(b c,b c)\n",
         "likes(New York,New York) 3\nnear(New York,b c)\n"},
        {LUD_PROOF_TABS, "% a comment\nNew York\tlikes\tb c\r\nb c\tlikes\t New York \n\nb c\tnear\tb c",
         "New York\tlikes\tNew York\t3\nNew York\tnear\tb c\n"},
        {LUD_PROOF_COMMAS,
         "head,relation,tail\nNew York,likes,\"b c\"\nb c , likes, New York\r\n\"b c\",near,b c\n",
         "Subject,Predicate,Object\nNew York,likes,New York,3\nNew York,near,\"b c\"\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        expect_list(LUD_PROOF_AUTO, files[i].facts, files[i].queries, expected);
        expect_list(files[i].format, files[i].facts, files[i].queries, expected);
    }
    /* comments at the top; names that begin with # */
    expect_list(LUD_PROOF_AUTO, "# people, old, new\n#knows(a,b)\nknows(b,c)\n", "#\n## two\nknows(c,b) 2\n",
                "knows(b,c)\nknows(c,b) 2\n");
    expect_list(LUD_PROOF_AUTO, "# people\n#1,knows,#2\na,knows,b\n", "# none\n",
                "knows(#1,#2)\nknows(a,b)\n");
    expect_list(LUD_PROOF_AUTO, "# people\n#1\tknows\t#2\n", "#\n#2\tknows\t#1\n",
                "knows(#1,#2)\nknows(#2,#1)\n");
    /* commas and brackets inside of fields; a quote in quotes */
    expect_list(LUD_PROOF_AUTO, "\"Paris, Texas\",in,\"the \"\"States\"\"\"\n", "Paris (Texas),in,b\n",
                "in(Paris, Texas,the \"States\")\nin(Paris (Texas),b)\n");
    /* brackets inside of tab-separated fields */
    expect_list(LUD_PROOF_AUTO, "Paris_(Texas)\tin\tUSA\n", "a\tin\tb\n", "in(Paris_(Texas),USA)\nin(a,b)\n");
}

/* Depths of queries, and what every predicate of a triple has: two arguments, wherever it stands. */
static void test_depths_and_arguments(void **state) {
    (void)state;
    expect_list(LUD_PROOF_TABS, "a\tp\tb\n", "a\tp\tb\t-1\na\tp\ta\t0\nb\tp\ta\t1000000\n",
                "p(a,b)\np(a,b) -1\np(a,a) 0\np(b,a) 1000000\n");
    static const struct {
        lud_proof_format format;
        const char *text, *rules, *expected;
        bool queries;
    } cases[] = {
        {LUD_PROOF_TABS, "a\tp\tb\t-2\n", "", "f:1:7:", true},
        {LUD_PROOF_TABS, "a\tp\tb\t1000001\n", "", "f:1:7:", true},
        {LUD_PROOF_TABS, "a\tp\tb\t3 4\n", "", "f:1:9:", true},
        {LUD_PROOF_TABS, "a\tp\tb\n", "p(X,Y,Z) :- p(X,Y)\n",
         "r:1:1: 3 arguments where this predicate had 2 before, expected the same number everywhere", false},
        {LUD_PROOF_COMMAS, "a,p,b\n", "q(X) :- p(X)\n",
         "r:1:9: 1 arguments where this predicate had 2 before, expected the same number everywhere", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_RELATIONS);
        lud_proof_builder_set_format(builder, cases[i].format);
        lud_status status =
            cases[i].queries
                ? lud_proof_read_queries(builder, LUD_PROOF_TEST, "f", cases[i].text, strlen(cases[i].text),
                                         &error)
                : lud_proof_read_facts(builder, "f", cases[i].text, strlen(cases[i].text), &error);
        if (!status)
            status = lud_proof_read_rules(builder, "r", cases[i].rules, strlen(cases[i].rules), &error);
        assert_int_equal(status, LUD_ERROR_INPUT);
        if (strncmp(error.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("`%s`, expected `%s`", error.text, cases[i].expected);
        lud_proof_builder_destroy(builder);
    }
}

static void test_ntriples(void **state) {
    (void)state;
    static const char facts[] =
        "# people\n"
        "<http://e.org/anna> <http://e.org/knows> <http://e.org/otto> .\n"
        "_:b0 <http://e.org/name> \"Zo\\u00eb \\\"Z\\\" \\U0001F600\"@en . # a literal\n"
        "<http://e.org/anna><http://e.org/age>\"7\"^^<http://w3.org/int>.\n";
    expect_list(LUD_PROOF_AUTO, facts, "_:b0 <http://e.org/knows> _:b1.\n",
                "http://e.org/age(http://e.org/anna,7^^http://w3.org/int)\n"
                "http://e.org/knows(http://e.org/anna,http://e.org/otto)\n"
                "http://e.org/name(_:b0,Zo\xc3\xab \"Z\" \xf0\x9f\x98\x80@en)\n"
                "http://e.org/knows(_:b0,_:b1)\n");
}

/* Characters by their numbers, at every length that UTF-8 has, with digits of both cases. */
static void test_escaped_characters(void **state) {
    (void)state;
    static const struct {
        const char *escape, *character;
    } cases[] = {{"\\u0001", "\x01"},
                 {"\\u0039", "9"},
                 {"\\u007F", "\x7f"},
                 {"\\u0080", "\xc2\x80"},
                 {"\\u07ff", "\xdf\xbf"},
                 {"\\u0800", "\xe0\xa0\x80"},
                 {"\\u9aFf", "\xe9\xab\xbf"},
                 {"\\uD7FF", "\xed\x9f\xbf"},
                 {"\\uE000", "\xee\x80\x80"},
                 {"\\uffff", "\xef\xbf\xbf"},
                 {"\\U00010000", "\xf0\x90\x80\x80"},
                 {"\\U0010FFFF", "\xf4\x8f\xbf\xbf"},
                 {"\\U0000abcd", "\xea\xaf\x8d"},
                 {"\\U000eF012", "\xf3\xaf\x80\x92"},
                 {"\\t\\b\\n\\r\\f\\\"\\'\\\\", "\t\b\n\r\f\"'\\"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char facts[128], wanted[64];
        snprintf(facts, sizeof facts, "<a> <b> \"x%sy\" .\n", cases[i].escape);
        snprintf(wanted, sizeof wanted, "b(a,x%sy)\n", cases[i].character);
        expect_list(LUD_PROOF_NTRIPLES, facts, "", wanted);
    }
    static const char *const wrong[] = {"\\u12g4",    "\\u123",  "\\uD800", "\\uDFFF", "\\U00110000",
                                        "\\u0000",    "\\u123:", "\\u/123", "\\u@123", "\\u`123",
                                        "\\U0000FFF", "\\x12",   "\\v"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char facts[128];
        lud_error error = {0};
        snprintf(facts, sizeof facts, "<a> <b> \"x%s\" .\n", wrong[i]);
        lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
        lud_proof_builder_set_format(builder, LUD_PROOF_NTRIPLES);
        assert_int_equal(lud_proof_read_facts(builder, "f", facts, strlen(facts), &error), LUD_ERROR_INPUT);
        assert_non_null(strstr(error.text, "f:1:11: an escape that means nothing"));
        lud_proof_builder_destroy(builder);
    }
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        lud_proof_format format;
        const char *text, *expected;
    } cases[] = {
        {LUD_PROOF_TABS, "a\tb\tc\na\tb",
         "f:2:4: fewer than three fields, expected subject, predicate and object"},
        {LUD_PROOF_TABS, "a\tb\t\td", "f:1:5: an empty field"},
        {LUD_PROOF_TABS, "a\tb\tc\t3", "f:1:7: a fourth field, expected the end of the line"},
        {LUD_PROOF_TABS, "a\tb\tc\t3\te", "f:1:9: a fifth field"},
        {LUD_PROOF_COMMAS, "a,\"b,c", "f:1:3: a quote that is not closed"},
        {LUD_PROOF_COMMAS, "a,\"b\"x,c", "f:1:6: text behind a quote"},
        {LUD_PROOF_NTRIPLES, "<a> <b> c .", "f:1:9: something else, expected <IRI>, _:name or \"literal\""},
        {LUD_PROOF_NTRIPLES, "\"a\" <b> <c> .", "f:1:1: something else"},
        {LUD_PROOF_NTRIPLES, "<a> <b> <c>", "f:1:12: no dot behind a triple"},
        {LUD_PROOF_NTRIPLES, "<a> <b> <c> . d", "f:1:15: more text behind a triple"},
        {LUD_PROOF_NTRIPLES, "<a> <b> \"c .", "f:1:9: something that is not closed"},
        {LUD_PROOF_NTRIPLES, "<a> <b> \"\\q\" .", "f:1:10: an escape that means nothing"},
        {LUD_PROOF_NTRIPLES, "<a> <b> \"\\u0000\" .", "f:1:10: an escape that means nothing"},
        {LUD_PROOF_NTRIPLES, "<a> <b> \"c\"^^d .", "f:1:14: a datatype without its IRI"},
        {LUD_PROOF_NTRIPLES, "<> <b> <c> .", "f:1:1: an empty field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
        lud_proof_builder_set_format(builder, cases[i].format);
        const lud_status status =
            lud_proof_read_facts(builder, "f", cases[i].text, strlen(cases[i].text), &error);
        if (status != LUD_ERROR_INPUT ||
            strncmp(error.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("`%s` gave %d `%s`, expected `%s`", cases[i].text, (int)status, error.text,
                     cases[i].expected);
        lud_proof_builder_destroy(builder);
    }
}

/* A name without a weight is a name; a colon inside of a predicate's name stays there. */
static void test_names(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "father(a,b).\nfather(b,c).\nns:near(a,b).\n",
                                      "grand: father(x,z), father(z,y) -> grandfather(x,y)\n"
                                      "r2:father(x,y) -> parent(x,y)\n"
                                      "ns:near(x,y) -> ns:close(x,y)\n"
                                      "r3: ns:near(x,y) -> ns:close(y,x)\n"
                                      "r4:0.5:father(x,y) -> older(x,y)\n"
                                      "r5: 0.25 : father(x,y) -> taller(x,y)\n"
                                      "r6: 0 : father(x,y) -> smaller(x,y)\n"
                                      "9: father(x,y) -> heavier(x,y)\n",
                                      NULL);
    static const struct {
        const char *head, *names[2];
        double weight;
    } expected[] = {
        {"grandfather", {"grand"}, 1}, {"parent", {"r2"}, 1},    {"ns:close", {"rule 3", "r3"}, 1},
        {"older", {"r4"}, 0.5},        {"taller", {"r5"}, 0.25}, {"smaller", {"r6"}, 0},
        {"heavier", {"9"}, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const int32_t p = lud_proof_find_predicate(base, expected[i].head, strlen(expected[i].head));
        assert_true(p > 0);
        const int32_t first = base->rule_begin[p], n = base->rule_begin[p + 1] - first;
        assert_int_equal(n, expected[i].names[1] ? 2 : 1);
        for (int32_t k = 0; k < n; k++)
            assert_string_equal(base->rules[first + k].name, expected[i].names[k]);
        assert_true(base->rules[first].weight == expected[i].weight);
    }
    assert_int_equal(lud_proof_find_predicate(base, "grand: father", 13), 0);
    lud_proof_base_destroy(base);
}

static void collect(void *context, const char *text) {
    lud_text_append(context, "%s\n", text);
}

static void test_warnings(void **state) {
    (void)state;
    lud_error error = {0};
    lud_text said = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    read_into(builder, "father(a,b).\n",
              "father(x,y) -> parent(x,y)\n"
              "% a comment\n"
              "parnet(x,y) -> ancestor(x,y)\n"
              "parent(x,z), parnet(z,z) -> ancestor(x,y)\n"
              "same(x,x)\n"
              "father(x,y) -> likes(x,'c')\n"
              "father(x,y) -> hates(v,w)\n"
              "father(x,b), father(b,a) -> knows(x,a)\n"
              "father(a,x), father(x,'b') -> knows(a,x)\n",
              "parent(a,b)\nunknown(a,c)\nparent(b,zz\x1b[2J)\nunknown(zz\x1b[2J,q1)\nparent(q2,q3)\n");
    assert_int_equal(lud_proof_builder_check(builder, 2, collect, &said, &error), LUD_OK);
    assert_string_equal(
        said.bytes,
        "rules:3: no fact has the predicate 'parnet' and no rule concludes it\n"
        "rules:4: the body does not bind the variable 'y' of the head, which then stands for every constant\n"
        "rules:7: the body does not bind the variable 'v' of the head, which then stands for every constant\n"
        "rules:8: 'a' is a variable here, though a fact has it as a constant; in quotes it would be the "
        "constant\n"
        "rules:8: 'b' is a variable here, though a fact has it as a constant; in quotes it would be the "
        "constant\n"
        "queries:2: no fact has the predicate 'unknown' of this query and no rule concludes it\n"
        "queries:3: no fact and no rule knows the constant 'zz?[2J' of this query\n"
        "queries:4: no fact and no rule knows the constant 'q1' of this query\n"
        "1 more variables of heads that their bodies do not bind\n"
        "1 more variables of rules that are named as constants of facts\n"
        "2 more constants of queries that no fact and no rule knows\n");
    lud_text_free(&said);
    lud_proof_builder_destroy(builder);

    builder = lud_proof_builder_create(LUD_PROOF_TRIPLES); /* nothing to say */
    read_into(builder, "father(a,b).\n", "father(x,y) -> parent(x,y)\n", "parent(a,b)\n");
    assert_int_equal(lud_proof_builder_check(builder, 2, collect, &said, &error), LUD_OK);
    assert_null(said.bytes);
    lud_proof_builder_destroy(builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),  cmocka_unit_test(test_depths_and_arguments),
        cmocka_unit_test(test_ntriples), cmocka_unit_test(test_escaped_characters),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_warnings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
