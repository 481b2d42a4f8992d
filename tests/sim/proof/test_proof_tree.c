/* Proofs as trees: whatever is changed in one, the check says that it is none; and how it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/prover.h"
#include "sim/proof/support_proof.h"

static const char facts[] = "parent(ann,bob)\nparent(bob,cat)\nparent(bob,dan)\nlikes(dan,dan)\n",
                  rules[] = "base:1:parent(X,Y) -> elder(X,Y)\n"
                            "step:0.5:parent(X,Y), elder(Y,Z) -> elder(X,Z)\n"
                            "self:1:likes(X,X) -> calm(X,X)\n"
                            "all:1:elder(X,Y), calm(Y,Y) -> fine(X,Y)\n";

static lud_proof_tree proof_of(const lud_proof_base *base, const lud_proof_atom *query) {
    lud_prover *prover;
    lud_prover_answer answer;
    lud_proof_tree tree = {0};
    lud_error error = {0};
    if (lud_prover_create(base, NULL, &prover, &error) || lud_prover_ask(prover, query, &answer, &error) ||
        lud_prover_tree(prover, query, &tree, &error))
        fail_msg("%s", error.text);
    assert_int_equal(answer, LUD_PROVER_PROVED);
    lud_prover_destroy(prover);
    return tree;
}

static int32_t node_of(const lud_proof_tree *tree, int kind, int32_t not_before) {
    for (int32_t i = not_before; i < tree->n; i++)
        if (tree->nodes[i].kind == kind) return i;
    fail_msg("no such node");
    return -1;
}

/* fine(ann,dan): elder(ann,dan) by two parents, and calm(dan,dan). */
static void changed_proofs_are_none(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL);
    const lud_proof_atom query = proof_atom(base, "fine(ann,dan)"), other = proof_atom(base, "fine(ann,cat)"),
                         open = proof_atom(base, "fine(ann,X)"), both = proof_atom(base, "fine(X,X)");
    lud_proof_tree tree = proof_of(base, &query);
    assert_int_equal(tree.n,
                     7); /* it, two goals, two parents and a rule between them, one that likes itself */
    assert_true(lud_proof_tree_check(base, &query, -1, &tree));
    assert_true(lud_proof_tree_check(base, &open, -1, &tree));
    assert_false(lud_proof_tree_check(base, &both, -1, &tree)); /* one variable is one constant */
    assert_false(lud_proof_tree_check(base, &other, -1, &tree));
    assert_false(lud_proof_tree_check(base, &query, -1, &(lud_proof_tree){0}));

    int n_facts = 0;
    for (int32_t i = 0; i < tree.n; i++) {
        if (tree.nodes[i].kind != LUD_PROOF_NODE_FACT) continue;
        n_facts++;
        assert_false(lud_proof_tree_check(base, &query, tree.nodes[i].index, &tree)); /* it may not be used */
    }
    assert_int_equal(n_facts, 3);

    lud_proof_node *const nodes = tree.nodes;
    const size_t bytes = (size_t)tree.n * sizeof *nodes;
    lud_proof_node *const whole = malloc(bytes);
    assert_non_null(whole);
    memcpy(whole, nodes, bytes);
#define REFUSES(change)                                                                                      \
    do {                                                                                                     \
        change;                                                                                              \
        assert_false(lud_proof_tree_check(base, &query, -1, &tree));                                         \
        memcpy(nodes, whole, bytes);                                                                         \
    } while (0)
    for (int32_t i = 0; i < tree.n; i++) {
        const lud_proof_node *node = &whole[i];
        REFUSES(nodes[i].kind = LUD_PROOF_NODE_OPEN);
        for (int32_t c = 1; c <= base->n_constants; c++) /* atoms with another constant */
            for (int k = 0; k < 2; k++)
                if (node->atom.terms[k] != c) REFUSES(nodes[i].atom.terms[k] = c);
        for (int32_t p = 1; p <= base->n_predicates; p++)
            if (node->atom.predicate != p) REFUSES(nodes[i].atom.predicate = p);
        if (i > 0) REFUSES(nodes[i].parent = i);
        const int32_t n = node->kind == LUD_PROOF_NODE_FACT ? base->n_facts : base->n_rules;
        for (int32_t k = 0; k < n; k++)
            if (k != node->index) REFUSES(nodes[i].index = k);
        if (node->kind != LUD_PROOF_NODE_RULE) continue;
        REFUSES(nodes[i].n_children--);
        REFUSES(nodes[i].n_children++);
        for (int32_t first = 0; first < tree.n; first++)
            if (first != node->first_child) REFUSES(nodes[i].first_child = first);
    }
    REFUSES(tree.n--);
    tree.n++;
    /* children in the other order */
    lud_proof_node between = nodes[1];
    nodes[1] = nodes[2], nodes[2] = between;
    assert_false(lud_proof_tree_check(base, &query, -1, &tree));
    memcpy(nodes, whole, bytes);
    assert_true(lud_proof_tree_check(base, &query, -1, &tree));
    free(whole);
    lud_proof_tree_free(&tree);
    lud_proof_base_destroy(base);
}

/* A rule is an instance of itself only where one variable stands for one thing in all of it. */
static void variables_stand_for_one_thing(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL);
    const lud_proof_atom query = proof_atom(base, "elder(ann,cat)");
    lud_proof_tree tree = proof_of(base, &query);
    assert_true(lud_proof_tree_check(base, &query, -1, &tree));
    /* the goal in between is shown by another fact, which is one: but not of this rule */
    const int32_t rule = node_of(&tree, LUD_PROOF_NODE_RULE, 1),
                  fact = node_of(&tree, LUD_PROOF_NODE_FACT, 2);
    const lud_proof_atom instead = proof_atom(base, "parent(bob,dan)");
    int32_t number = -1;
    for (int32_t f = 0; f < base->n_facts; f++)
        if (lud_proof_atom_equal(&base->facts[f], &instead)) number = f;
    assert_true(number >= 0);
    tree.nodes[fact].atom = instead;
    tree.nodes[fact].index = number;
    assert_false(lud_proof_tree_check(base, &query, -1, &tree));
    tree.nodes[rule].atom.terms[1] =
        instead.terms[1]; /* so it proves elder(bob,dan), which is not asked for */
    assert_false(lud_proof_tree_check(base, &query, -1, &tree));
    tree.nodes[0].atom.terms[1] = instead.terms[1];
    assert_false(lud_proof_tree_check(base, &query, -1, &tree));
    const lud_proof_atom other = proof_atom(base, "elder(ann,dan)");
    assert_true(lud_proof_tree_check(base, &other, -1, &tree));
    lud_proof_tree_free(&tree);
    lud_proof_base_destroy(base);
}

static void trees_are_written(void **state) {
    (void)state;
    lud_proof_base *base = proof_scored_base(LUD_PROOF_RELATIONS, "parent(ann,bob)\n", rules,
                                             "parent(ann,bob) 0.25 1\nparent(bob,cat) 0.5 1\n", 1, 0);
    const lud_proof_atom query = proof_atom(base, "elder(ann,cat)");
    lud_proof_tree tree = proof_of(base, &query);
    lud_text text = {0};
    lud_proof_tree_print(base, &tree, &text);
    assert_string_equal(text.bytes, "elder(ann,cat)  by step: parent(X,Y), elder(Y,Z) -> elder(X,Z)\n"
                                    "├─ parent(ann,bob)  fact\n"
                                    "└─ elder(bob,cat)  by base: parent(X,Y) -> elder(X,Y)\n"
                                    "   └─ parent(bob,cat)  fact (score 0.5)\n");
    tree.nodes[tree.n - 1].kind = LUD_PROOF_NODE_OPEN;
    lud_text_clear(&text);
    lud_proof_tree_print(base, &tree, &text);
    assert_non_null(strstr(text.bytes, "   └─ parent(bob,cat)  open\n"));
    assert_false(lud_proof_tree_is_closed(&tree));
    assert_false(lud_proof_tree_is_closed(&(lud_proof_tree){0})); /* nothing was shown */
    lud_text_clear(&text);
    lud_proof_tree_print(base, &(lud_proof_tree){0}, &text);
    assert_int_equal(text.length, 0);
    lud_text_free(&text);
    lud_proof_tree_free(&tree);
    lud_proof_base_destroy(base);
}

/* What is free is named as in the state: by the open goals in their order first, then by what is closed. */
static void free_terms_are_named(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, "likes(dan,dan)\n",
                                      "top:1:any(X), likes(X,Y), likes(Y,X) -> top(X)\n"
                                      "any:1:pair(U,V) -> any(W)\npair(A,B)\n",
                                      NULL);
    const lud_proof_atom query = proof_atom(base, "top(dan)");
    int32_t path[3] = {0};
    static const char *const names[] = {"top", "any", "rule 3"};
    for (int k = 0; k < 3; k++)
        for (int32_t r = 0; r < base->n_rules; r++)
            if (!strcmp(base->rules[r].name, names[k])) path[k] = r + 1;
    lud_proof_tree tree = {0};
    lud_error error = {0};
    if (lud_proof_tree_from_path(base, &query, path, 3, &tree, &error)) fail_msg("%s", error.text);
    assert_int_equal(tree.n, 5); /* it, its three goals, and the pair below the first of them */
    const int32_t n = base->n_constants, dan = query.terms[0];
    const int32_t terms[5][2] = {{dan}, {dan}, {dan, n + 1}, {n + 1, dan}, {n + 2, n + 3}};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tree.nodes[i].kind, i == 2 || i == 3 ? LUD_PROOF_NODE_OPEN : LUD_PROOF_NODE_RULE);
        assert_int_equal(tree.nodes[i].first_child, i == 0 ? 1 : i == 1 ? 4 : -1);
        for (int k = 0; k < 2; k++) assert_int_equal(tree.nodes[i].atom.terms[k], terms[i][k]);
    }
    lud_proof_tree_free(&tree);
    lud_proof_base_destroy(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_proofs_are_none), cmocka_unit_test(variables_stand_for_one_thing),
        cmocka_unit_test(trees_are_written), cmocka_unit_test(free_terms_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
