/* Questions to the prover: with terms that are the same, many at once, within limits, and what they cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/prover.h"
#include "sim/proof/support_proof.h"

static lud_prover *prover_of(const lud_proof_base *base, lud_prover_options options) {
    lud_prover *prover = NULL;
    lud_error error = {0};
    assert_int_equal(lud_prover_create(base, &options, &prover, &error), LUD_OK);
    return prover;
}

static lud_prover_answer ask(lud_prover *prover, const lud_proof_atom *goal) {
    lud_prover_answer answer = LUD_PROVER_UNDECIDED;
    lud_error error = {0};
    assert_int_equal(lud_prover_ask(prover, goal, &answer, &error), LUD_OK);
    return answer;
}

/* Every pattern of three terms, constants and variables in all their repetitions: as many answers as ground
 * atoms agree with it, whoever is asked first, and the first of them are answers. */
static void test_terms_that_are_the_same(void **state) {
    (void)state;
    enum { CONSTANTS = 3, TERMS = CONSTANTS + 3 };
    lud_error error = {0};
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS,
                                      "t(a,a,a)\nt(a,b,a)\nt(b,a,c)\nt(c,b,b)\nt(b,b,c)\ns(a,b,c)\ns(c,c,a)\n"
                                      "s(b,b,b)\ns(b,a,b)\n",
                                      "t(X,Y,Z) :- s(Z,Y,X)\nt(X,X,Z) :- s(X,Z,Z)\n", NULL);
    lud_prover *all = prover_of(base, (lud_prover_options){.excluded = -1});
    assert_int_equal(base->n_constants, CONSTANTS);
    const lud_proof_atom any = proof_atom(base, "t(X,Y,Z)");
    int64_t total = 0;
    for (int code = 0; code < TERMS * TERMS * TERMS; code++) {
        lud_proof_atom goal = {.predicate = any.predicate}, found[64];
        int64_t expected = 0, n = 0;
        bool complete = false;
        goal.terms[0] = 1 + code % TERMS;
        goal.terms[1] = 1 + code / TERMS % TERMS;
        goal.terms[2] = 1 + code / TERMS / TERMS;
        for (int ground = 0; ground < CONSTANTS * CONSTANTS * CONSTANTS; ground++) {
            const int32_t terms[3] = {1 + ground % 3, 1 + ground / 3 % 3, 1 + ground / 9};
            lud_proof_atom atom = {.predicate = any.predicate};
            bool agrees = true;
            for (int i = 0; i < 3; i++) {
                atom.terms[i] = terms[i];
                agrees = agrees && (goal.terms[i] > CONSTANTS || goal.terms[i] == terms[i]);
                for (int j = 0; j < i; j++)
                    agrees = agrees && (goal.terms[i] != goal.terms[j] || terms[i] == terms[j]);
            }
            if (agrees) expected += ask(all, &atom) == LUD_PROVER_PROVED;
        }
        lud_prover *fresh = prover_of(base, (lud_prover_options){.excluded = -1});
        lud_prover *provers[2] = {all, fresh};
        for (int k = 0; k < 2; k++) {
            assert_int_equal(lud_prover_count(provers[k], &goal, &n, &error), LUD_OK);
            assert_int_equal(n, expected);
            assert_int_equal(ask(provers[k], &goal), expected ? LUD_PROVER_PROVED : LUD_PROVER_REFUTED);
            assert_int_equal(lud_prover_list(provers[k], &goal, 64, found, &n, &complete, &error), LUD_OK);
            assert_true(complete && n == expected);
            for (int64_t i = 0; i < n; i++) {
                assert_int_equal(ask(all, &found[i]), LUD_PROVER_PROVED);
                for (int a = 0; a < 3; a++) {
                    if (goal.terms[a] <= CONSTANTS) assert_int_equal(found[i].terms[a], goal.terms[a]);
                    for (int b = 0; b < a; b++)
                        if (goal.terms[a] == goal.terms[b])
                            assert_int_equal(found[i].terms[a], found[i].terms[b]);
                }
                for (int64_t j = 0; j < i; j++) assert_memory_not_equal(&found[i], &found[j], sizeof *found);
            }
        }
        total += expected;
        lud_prover_destroy(fresh);
    }
    assert_true(total > 100);
    lud_prover_destroy(all);
    lud_proof_base_destroy(base);
}

/* From a node to hundreds, and on from each of them: every way is found, though far more waits than is done.
 */
static void test_many_subgoals_wait(void **state) {
    (void)state;
    enum { CHILDREN = 150, GRANDCHILDREN = 4 };
    lud_error error = {0};
    lud_text facts = {0};
    lud_text_append(&facts, "e(top,root)\n");
    for (int i = 0; i < CHILDREN; i++) {
        lud_text_append(&facts, "e(root,c%d)\n", i);
        for (int j = 0; j < GRANDCHILDREN; j++)
            lud_text_append(&facts, "e(c%d,d%d)\n", i, i * GRANDCHILDREN + j);
    }
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes,
                                      "path(X,Y) :- e(X,Y)\npath(X,Y) :- e(X,Z), path(Z,Y)\n", NULL);
    const lud_proof_atom from_top = proof_atom(base, "path(top,X)"),
                         from_root = proof_atom(base, "path(root,X)");
    lud_prover *prover = prover_of(base, (lud_prover_options){.excluded = -1});
    int64_t n;
    assert_int_equal(lud_prover_count(prover, &from_top, &n, &error), LUD_OK);
    assert_int_equal(n, 1 + CHILDREN + CHILDREN * GRANDCHILDREN);
    assert_int_equal(lud_prover_count(prover, &from_root, &n, &error), LUD_OK);
    assert_int_equal(n, CHILDREN + CHILDREN * GRANDCHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        char text[64];
        snprintf(text, sizeof text, "path(c%d,X)", i);
        const lud_proof_atom goal = proof_atom(base, text);
        assert_int_equal(lud_prover_count(prover, &goal, &n, &error), LUD_OK);
        assert_int_equal(n, GRANDCHILDREN);
    }
    lud_prover_destroy(prover);
    lud_proof_base_destroy(base);
    lud_text_free(&facts);
}

static lud_proof_base *chain(int n) {
    lud_text facts = {0};
    for (int i = 0; i < n; i++) lud_text_append(&facts, "next(n%d,n%d)\n", i, i + 1);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes,
                                      "reach(X,Y) :- next(X,Y)\nreach(X,Z) :- reach(X,Y), next(Y,Z)\n", NULL);
    lud_text_free(&facts);
    return base;
}

/* As many derived atoms as are allowed are remembered, and not one more. */
static void test_derived_atoms_are_limited(void **state) {
    (void)state;
    enum { LENGTH = 12 };
    lud_error error = {0};
    lud_proof_base *base = chain(LENGTH);
    const lud_proof_atom all = proof_atom(base, "reach(n0,X)");
    for (int most = 0; most <= LENGTH + 2; most++) {
        lud_prover *prover = prover_of(base, (lud_prover_options){.excluded = -1, .max_atoms = most});
        lud_proof_atom found[LENGTH];
        int64_t n = 0;
        bool complete = false;
        const bool enough = most == 0 || most >= LENGTH;
        assert_false(lud_prover_is_full(prover));
        assert_int_equal(lud_prover_list(prover, &all, LENGTH, found, &n, &complete, &error), LUD_OK);
        assert_int_equal(n, enough ? LENGTH : most);
        assert_int_equal(complete, enough);
        assert_int_equal(lud_prover_is_full(prover), most > 0 && most <= LENGTH);
        for (int i = 1; i <= LENGTH; i++) {
            char text[64];
            snprintf(text, sizeof text, "reach(n0,n%d)", i);
            const lud_proof_atom goal = proof_atom(base, text);
            assert_int_equal(ask(prover, &goal),
                             enough || i <= most ? LUD_PROVER_PROVED : LUD_PROVER_UNDECIDED);
        }
        if (!enough) {
            char message[80];
            assert_int_equal(lud_prover_count(prover, &all, &n, &error), LUD_ERROR_LIMIT);
            snprintf(message, sizeof message, "the prover stopped at a limit with %d derived atoms", most);
            assert_string_equal(error.text, message);
        }
        lud_prover_destroy(prover);
    }
    lud_proof_base_destroy(base);
}

/* A question that met its limit is undecided, however often, until it may go on; then it is answered. */
static void test_work_goes_on(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_base *base = chain(40);
    const lud_proof_atom yes = proof_atom(base, "reach(n0,n40)"), no = proof_atom(base, "reach(n40,n0)"),
                         back = proof_atom(base, "reach(n39,n0)");
    int several = 0;
    for (int64_t most = 1; most < 400; most += most < 20 ? 1 : 40) {
        lud_prover *prover = prover_of(base, (lud_prover_options){.excluded = -1, .max_work = most});
        lud_prover_answer answer = LUD_PROVER_UNDECIDED;
        int questions = 0;
        for (; answer == LUD_PROVER_UNDECIDED && questions < 60; questions++) {
            answer = ask(prover, &yes);
            assert_in_range(lud_prover_work(prover), 1, most + 1);
            assert_int_not_equal(answer, LUD_PROVER_REFUTED);
            if (answer == LUD_PROVER_UNDECIDED) assert_int_equal(lud_prover_work(prover), most + 1);
        }
        several += answer == LUD_PROVER_PROVED && questions > 1;
        lud_prover_limit_work(prover, 0);
        assert_int_equal(ask(prover, &yes), LUD_PROVER_PROVED);
        assert_int_equal(lud_prover_work(prover), 0); /* counted where it is limited */
        assert_int_equal(ask(prover, &no), LUD_PROVER_REFUTED);
        assert_int_equal(ask(prover, &back), LUD_PROVER_REFUTED);
        int64_t n;
        const lud_proof_atom all = proof_atom(base, "reach(n0,X)");
        assert_int_equal(lud_prover_count(prover, &all, &n, &error), LUD_OK);
        assert_int_equal(n, 40);
        lud_prover_destroy(prover);
    }
    assert_true(several > 3);
    lud_proof_base_destroy(base);
}

/* A body is matched from where the fewest terms are free: a thousand facts are not looked through for one
 * that two constants say. */
static void test_narrow_conditions_come_first(void **state) {
    (void)state;
    lud_text facts = {0};
    for (int i = 0; i < 500; i++) lud_text_append(&facts, "wide(w%d,v%d)\n", i, i);
    lud_text_append(&facts, "narrow(a,w7)\nend(v7,b)\n");
    static const char *const rules[] = {
        "h(X,Y) :- wide(Z,W), narrow(X,Z), end(W,Y)\n", "h(X,Y) :- wide(Z,W), end(W,Y), narrow(X,Z)\n",
        "h(X,Y) :- narrow(X,Z), wide(Z,W), end(W,Y)\n", "h(X,Y) :- end(W,Y), wide(Z,W), narrow(X,Z)\n"};
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes, rules[k], NULL);
        const lud_proof_atom goal = proof_atom(base, "h(a,b)");
        lud_prover *prover = prover_of(base, (lud_prover_options){.excluded = -1, .max_work = 100000});
        assert_int_equal(ask(prover, &goal), LUD_PROVER_PROVED);
        assert_int_equal(lud_prover_work(prover), 3); /* one match for each condition */
        lud_prover_destroy(prover);
        lud_proof_base_destroy(base);
    }
    lud_text_free(&facts);
}

/* One question, one prover: a fact is not its own proof, a tree comes where it is wanted and there is one,
 * and little effort leaves it undecided. */
static void test_a_single_query(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,a)\np(c,d)\nq(a,b)\n",
                                      "p(X,Y) :- p(Y,X)\nr(X,Y) :- p(X,Y), q(X,Y)\n", NULL);
    static const struct {
        const char *query;
        lud_prover_answer answer;
        int32_t n_nodes;
    } queries[] = {{"p(a,b)", LUD_PROVER_PROVED, 2},  {"p(b,a)", LUD_PROVER_PROVED, 2},
                   {"p(d,c)", LUD_PROVER_PROVED, 2},  {"p(c,d)", LUD_PROVER_REFUTED, 0},
                   {"r(a,b)", LUD_PROVER_PROVED, 3},  {"r(b,a)", LUD_PROVER_REFUTED, 0},
                   {"q(a,b)", LUD_PROVER_REFUTED, 0}, {"q(b,a)", LUD_PROVER_REFUTED, 0}};
    for (size_t k = 0; k < sizeof queries / sizeof *queries; k++) {
        const lud_proof_atom query = proof_atom(base, queries[k].query);
        lud_proof_tree tree = {0};
        for (int wanted = 0; wanted < 2; wanted++) {
            lud_prover_answer answer = LUD_PROVER_UNDECIDED;
            assert_int_equal(lud_prover_answer_query(base, &query, lud_prover_effort_to_solve, &answer,
                                                     wanted ? &tree : NULL, &error),
                             LUD_OK);
            assert_int_equal(answer, queries[k].answer);
        }
        assert_int_equal(tree.n, queries[k].n_nodes);
        const int32_t own = lud_proof_find_fact(base, &query, lud_proof_atom_hash(&query));
        if (tree.n) {
            assert_true(lud_proof_tree_is_closed(&tree));
            assert_true(lud_proof_tree_check(base, &query, own, &tree));
        }
        lud_proof_tree_free(&tree);
    }
    lud_proof_base_destroy(base);

    base = chain(10);
    const lud_proof_atom far = proof_atom(base, "reach(n0,n9)");
    const lud_prover_effort little[] = {{3, 0}, {0, 3}, {3, 3}, {0, 0}};
    for (int k = 0; k < 4; k++) {
        lud_prover_answer answer = LUD_PROVER_REFUTED;
        assert_int_equal(lud_prover_answer_query(base, &far, little[k], &answer, NULL, &error), LUD_OK);
        assert_int_equal(answer, k < 3 ? LUD_PROVER_UNDECIDED : LUD_PROVER_PROVED);
    }
    lud_proof_base_destroy(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms_that_are_the_same),      cmocka_unit_test(test_many_subgoals_wait),
        cmocka_unit_test(test_derived_atoms_are_limited),    cmocka_unit_test(test_work_goes_on),
        cmocka_unit_test(test_narrow_conditions_come_first), cmocka_unit_test(test_a_single_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
