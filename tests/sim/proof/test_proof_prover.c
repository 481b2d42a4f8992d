/* The exact prover and the search by steps against naive forward chaining over strings, and the engine's
 * soundness. */
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

/* A set of ground atoms as words: membership by search in an array, nothing else. */
enum { MAX_SET = 8192, N_CONSTANTS = 6, MAX_VARIABLES = 3 };
typedef struct set {
    int n;
    char word[MAX_SET][24];
} set;

static bool holds(const set *s, const char *word) {
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->word[i], word)) return true;
    return false;
}

/* `p1(V0,'c2')` with V replaced by constants -> `p1(c4,c2)`. Returns the text behind the atom. */
static const char *ground(const char *text, const int *value, char *out) {
    text += strspn(text, " ,");
    for (; *text; text++) {
        if (*text == 'V')
            out += sprintf(out, "c%d", value[*++text - '0']);
        else if (*text != '\'' && *text != ' ')
            *out++ = *text;
        if (*text == ')') break;
    }
    *out = 0;
    return text + 1;
}

/* All assignments of constants to the rule's variables; adds what follows. Returns whether anything was new.
 */
static bool chain(set *s, const char *line) {
    char one[512], *stop = NULL;
    snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
    const char *head = one, *body = NULL;
    char *arrow = strstr(one, "->"), *turnstile = strstr(one, ":-");
    if (arrow) {
        head = arrow + 2;
        body = strchr(strchr(one, ':') + 1, ':') + 1;
        stop = arrow;
    } else if (turnstile) {
        body = turnstile + 2;
        stop = one + strlen(one);
    }
    bool grew = false;
    for (int code = 0; code < N_CONSTANTS * N_CONSTANTS * N_CONSTANTS; code++) {
        int value[MAX_VARIABLES] = {code % N_CONSTANTS, code / N_CONSTANTS % N_CONSTANTS,
                                    code / N_CONSTANTS / N_CONSTANTS};
        char word[64];
        bool all = true;
        for (const char *at = body; all && at && strchr(at, '(') && strchr(at, '(') < stop;) {
            at = ground(at, value, word);
            all = holds(s, word);
        }
        if (!all) continue;
        ground(head, value, word);
        if (holds(s, word)) continue;
        assert_true(s->n < MAX_SET);
        snprintf(s->word[s->n++], 24, "%.23s", word);
        grew = true;
    }
    return grew;
}

static void fixpoint(const proof_random *random, set *s) {
    s->n = 0;
    for (const char *line = random->facts.bytes; *line; line = strchr(line, '\n') + 1) {
        char word[64];
        ground(line, NULL, word);
        if (!holds(s, word)) snprintf(s->word[s->n++], 24, "%.23s", word);
    }
    for (bool grew = true; grew;) {
        grew = false;
        for (const char *line = random->rules.bytes; *line; line = strchr(line, '\n') + 1)
            grew = chain(s, line) || grew;
    }
}

/* All answers, and the first few of them: every one follows, none twice. */
static void check_list(const set *s, const lud_proof_base *base, lud_prover *prover,
                       const lud_proof_atom *open, int64_t expected) {
    lud_error error = {0};
    lud_proof_atom *all = calloc((size_t)expected + 1, sizeof *all), few[3] = {{0}};
    int64_t n;
    bool complete;
    assert_non_null(all);
    assert_int_equal(lud_prover_list(prover, open, (int32_t)expected, all, &n, &complete, &error), LUD_OK);
    assert_true(complete && n == expected);
    for (int64_t i = 0; i < n; i++) {
        char *word = proof_goals_text(base, &all[i], 1);
        if (!holds(s, word)) fail_msg("%s is listed", word);
        free(word);
        for (int64_t j = 0; j < i && j < 50; j++) assert_memory_not_equal(&all[i], &all[j], sizeof *all);
    }
    assert_int_equal(lud_prover_list(prover, open, 2, few, &n, &complete, &error), LUD_OK);
    assert_true(n == expected && few[2].predicate == 0);
    assert_memory_equal(few, all, (size_t)(n < 2 ? n : 2) * sizeof *few);
    free(all);
}

/* Every ground atom of every predicate: the prover says what the fixpoint says, its proofs hold, counts
 * agree. */
static void check_base(uint64_t seed, bool safe, long *inside, long *outside) {
    static set s;
    proof_random random = proof_random_base(seed, safe, MAX_VARIABLES);
    lud_text facts = {0}; /* a fact for every constant, so that both sides know the same ones */
    lud_text_append(&facts, "%s", random.facts.bytes);
    for (int c = 0; c < N_CONSTANTS; c++) lud_text_append(&facts, "known(c%d)\n", c);
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, facts.bytes, random.rules.bytes, NULL);
    fixpoint(&random, &s);
    lud_prover *prover = NULL, *fresh = NULL;
    lud_error error = {0};
    assert_int_equal(lud_prover_create(base, NULL, &prover, &error), LUD_OK);
    lud_proof_tree tree = {0};
    for (int32_t p = 1; p <= base->n_predicates; p++) {
        if (!strcmp(base->predicates[p], "known")) continue;
        int arity = base->arity[p], total = 1;
        for (int i = 0; i < arity; i++) total *= N_CONSTANTS;
        int64_t expected = 0, counted = 0;
        uint32_t d = 0;
        for (int code = 0; code < total; code++) {
            lud_proof_atom atom = {.predicate = p};
            for (int i = 0, rest = code; i < arity; i++, rest /= N_CONSTANTS) {
                char name[16];
                int length = snprintf(name, sizeof name, "c%d", rest % N_CONSTANTS);
                atom.terms[i] = lud_proof_find_constant(base, name, (size_t)length);
            }
            char *word = proof_goals_text(base, &atom, 1);
            bool in = holds(&s, word);
            expected += in;
            if (arity > 2 && proof_draw(seed, &d, 8) != 0) { /* a sample of the large ones */
                free(word);
                continue;
            }
            lud_prover_answer answer;
            assert_int_equal(lud_prover_ask(prover, &atom, &answer, &error), LUD_OK);
            if ((answer == LUD_PROVER_PROVED) != in)
                fail_msg("seed %d: %s is %s", (int)seed, word, in ? "in" : "out");
            assert_true(answer != LUD_PROVER_UNDECIDED);
            if (in) {
                assert_int_equal(lud_prover_tree(prover, &atom, &tree, &error), LUD_OK);
                assert_true(lud_proof_tree_check(base, &atom, -1, &tree));
                for (int32_t i = 0; i < tree.n; i++)
                    assert_true(tree.nodes[i].n_children > 0 ? tree.nodes[i].first_child > i
                                                             : tree.nodes[i].first_child == -1);
                ++*inside;
            } else {
                ++*outside;
            }
            free(word);
        }
        lud_proof_atom open = {.predicate = p};
        for (int i = 0; i < arity; i++) open.terms[i] = base->n_constants + 1 + i;
        assert_int_equal(lud_prover_count(prover, &open, &counted, &error), LUD_OK);
        if (counted != expected) fail_msg("seed %d: %s", (int)seed, base->predicates[p]);
        /* a fresh one, asked for everything at once, agrees */
        assert_int_equal(lud_prover_create(base, NULL, &fresh, &error), LUD_OK);
        assert_int_equal(lud_prover_count(fresh, &open, &counted, &error), LUD_OK);
        assert_int_equal(counted, expected);
        check_list(&s, base, fresh, &open, counted);
        lud_prover_destroy(fresh);
    }
    lud_proof_tree_free(&tree);
    lud_prover_destroy(prover);
    lud_proof_base_destroy(base);
    lud_text_free(&facts);
    proof_random_free(&random);
}

static void test_fixpoint(void **state) {
    (void)state;
    long inside = 0, outside = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) check_base(seed, seed % 2 == 0, &inside, &outside);
    assert_true(inside > 1000 && outside > 1000);
}

/* A fact that may not be used: derivable without it or not. */
static void test_exclusion(void **state) {
    (void)state;
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,a)\np(c,d)\n", "p(X,Y) :- p(Y,X)\n", NULL);
    lud_error error = {0};
    static const char *const names[] = {"p(a,b)", "p(c,d)", "p(X,d)"};
    static const lud_prover_answer answers[] = {LUD_PROVER_PROVED, LUD_PROVER_REFUTED, LUD_PROVER_REFUTED};
    for (int i = 0; i < 3; i++) {
        lud_proof_atom atom = proof_atom(base, names[i]), fact = proof_atom(base, i ? "p(c,d)" : "p(a,b)");
        lud_prover_options options = {.excluded =
                                          lud_proof_find_fact(base, &fact, lud_proof_atom_hash(&fact))};
        lud_prover *prover = NULL;
        lud_prover_answer answer;
        assert_int_equal(lud_prover_create(base, &options, &prover, &error), LUD_OK);
        assert_int_equal(lud_prover_ask(prover, &atom, &answer, &error), LUD_OK);
        assert_int_equal(answer, answers[i]);
        lud_prover_destroy(prover);
    }
    lud_proof_base_destroy(base);
}

/* Limits turn "no" into "undecided", never into a wrong answer, and without them the same prover finishes. */
static void test_limits(void **state) {
    (void)state;
    lud_text facts = {0};
    for (int i = 0; i < 60; i++) lud_text_append(&facts, "next(n%d,n%d)\n", i, (i + 1) % 60);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes,
                                      "reach(X,Y) :- next(X,Y)\nreach(X,Z) :- reach(X,Y), next(Y,Z)\n"
                                      "far(X,Y) :- reach(Y,X), far(X,Y)\n",
                                      NULL);
    lud_error error = {0};
    lud_prover_options options = {.excluded = -1, .max_atoms = 20};
    lud_prover *prover = NULL;
    lud_prover_answer answer;
    lud_proof_atom near = proof_atom(base, "reach(n0,n3)"), end = proof_atom(base, "reach(n0,n50)"),
                   never = proof_atom(base, "far(n0,n1)");
    assert_int_equal(lud_prover_create(base, &options, &prover, &error), LUD_OK);
    assert_int_equal(lud_prover_ask(prover, &near, &answer, &error), LUD_OK);
    assert_int_equal(answer, LUD_PROVER_PROVED);
    assert_int_equal(lud_prover_ask(prover, &end, &answer, &error), LUD_OK);
    assert_int_equal(answer, LUD_PROVER_UNDECIDED);
    int64_t n;
    assert_int_equal(lud_prover_count(prover, &end, &n, &error), LUD_ERROR_LIMIT);
    lud_proof_atom from = proof_atom(base, "reach(n0,X)"), two[2];
    bool complete = true;
    assert_int_equal(lud_prover_list(prover, &from, 2, two, &n, &complete, &error), LUD_OK);
    assert_true(!complete && n >= 2);
    assert_string_equal(error.text, "the prover stopped at a limit with 20 derived atoms");
    lud_proof_tree tree = {0};
    assert_int_equal(lud_prover_tree(prover, &end, &tree, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "the goal has not been proved");
    lud_prover_destroy(prover);
    options = (lud_prover_options){.excluded = -1, .max_work = 100};
    assert_int_equal(lud_prover_create(base, &options, &prover, &error), LUD_OK);
    int questions = 0;
    do { /* each question may do a little more; asking again goes on */
        assert_int_equal(lud_prover_ask(prover, &near, &answer, &error), LUD_OK);
    } while (answer == LUD_PROVER_UNDECIDED && ++questions < 1000);
    assert_int_equal(answer, LUD_PROVER_PROVED);
    lud_prover_destroy(prover);
    assert_int_equal(lud_prover_create(base, NULL, &prover, &error), LUD_OK);
    assert_int_equal(lud_prover_ask(prover, &never, &answer, &error), LUD_OK);
    assert_int_equal(answer, LUD_PROVER_REFUTED);
    lud_prover_destroy(prover);
    lud_proof_base_destroy(base);
    lud_text_free(&facts);
}

/* The least number of steps by depth-first enumeration of everything, without any memory. */
static int32_t least_steps(const lud_proof_base *base, const lud_proof_atom *goals, int32_t n,
                           int32_t excluded, int32_t depth) {
    lud_proof_limits limits = {4, 256, false};
    lud_proof_successors out = proof_successors(256, 4);
    lud_proof_expand(base, &limits, goals, n, excluded, NULL, 0, &out, NULL);
    int32_t best = -1;
    if (out.atoms[0].predicate == lud_proof_true(base)) best = 1;
    if (best < 0 && depth > 1 && out.atoms[0].predicate != lud_proof_false(base))
        for (int32_t i = 0; i < out.n; i++) {
            int32_t rest = least_steps(base, &out.atoms[out.begin[i]], out.begin[i + 1] - out.begin[i],
                                       excluded, depth - 1);
            if (rest > 0 && (best < 0 || rest + 1 < best)) best = rest + 1;
        }
    proof_successors_free(&out);
    return best;
}

/* What is free in a tree is numbered from above the constants on, without a gap; returns how many there are.
 */
static int free_terms_are_numbered(const lud_proof_base *base, const lud_proof_tree *tree) {
    enum { MOST = 512 };
    bool is_there[MOST] = {false};
    int n = 0;
    for (int32_t i = 0; i < tree->n; i++)
        for (int k = 0; k < base->arity[tree->nodes[i].atom.predicate]; k++) {
            const int32_t term = tree->nodes[i].atom.terms[k];
            assert_in_range(term, 1, base->n_constants + MOST);
            if (term > base->n_constants) is_there[term - base->n_constants - 1] = true;
        }
    while (n < MOST && is_there[n]) n++;
    for (int k = n; k < MOST; k++) assert_false(is_there[k]);
    return n;
}

/* What is open, and a fact, has nothing below it; only what was shown by a fact or a rule has its number. */
static void leaves_have_nothing_below(const lud_proof_tree *tree) {
    for (int32_t i = 0; i < tree->n; i++) {
        const lud_proof_node *node = &tree->nodes[i];
        if (node->kind != LUD_PROOF_NODE_RULE) assert_int_equal(node->n_children, 0);
        assert_int_equal(node->first_child < 0, node->n_children == 0);
        assert_int_equal(node->index < 0, node->kind == LUD_PROOF_NODE_OPEN);
    }
}

static void test_search(void **state) {
    (void)state;
    long found = 0, none = 0, open = 0;
    lud_error error = {0};
    for (uint64_t seed = 200; seed < 240; seed++) {
        proof_random random = proof_random_base(seed, false, MAX_VARIABLES);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        lud_prover *prover = NULL;
        assert_int_equal(lud_prover_create(base, NULL, &prover, &error), LUD_OK);
        uint32_t d = 0;
        for (int i = 0; i < 25; i++) {
            lud_proof_atom query = {.predicate =
                                        1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_predicates)};
            for (int k = 0; k < base->arity[query.predicate]; k++)
                query.terms[k] = 1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_constants);
            int32_t excluded = lud_proof_find_fact(base, &query, lud_proof_atom_hash(&query));
            lud_proof_search_options options = {.max_depth = 3, .max_goals = 4};
            lud_proof_search_result result;
            assert_int_equal(lud_proof_search(base, &query, &options, &result, &error), LUD_OK);
            assert_int_equal(result.steps, least_steps(base, &query, 1, excluded, 3));
            if (result.steps > 0) {
                lud_proof_tree tree = {0};
                assert_int_equal(result.n_path, result.steps);
                assert_int_equal(
                    lud_proof_tree_from_path(base, &query, result.path, result.n_path, &tree, &error),
                    LUD_OK);
                assert_true(lud_proof_tree_is_closed(&tree));
                assert_int_equal(tree.nodes[0].parent, -1);
                /* a variable left free in the tree stands for any constant: only ground trees are checked
                 * node by node */
                lud_prover_answer answer;
                assert_int_equal(lud_prover_ask(prover, &query, &answer, &error), LUD_OK);
                assert_int_equal(answer, LUD_PROVER_PROVED);
                assert_true(lud_proof_tree_check(base, &query, excluded, &tree));
                /* steps behind the end of a proof do nothing */
                const int32_t n_nodes = tree.n;
                int32_t beyond[LUD_PROOF_MAX_GOALS];
                memcpy(beyond, result.path, (size_t)result.n_path * sizeof *beyond);
                beyond[result.n_path] = result.path[0];
                assert_int_equal(
                    lud_proof_tree_from_path(base, &query, beyond, result.n_path + 1, &tree, &error), LUD_OK);
                assert_int_equal(tree.n, n_nodes);
                for (int32_t n_path = 0; n_path <= result.n_path; n_path++) {
                    assert_int_equal(
                        lud_proof_tree_from_path(base, &query, result.path, n_path, &tree, &error), LUD_OK);
                    free_terms_are_numbered(base, &tree);
                    leaves_have_nothing_below(&tree);
                    open += !lud_proof_tree_is_closed(&tree) && free_terms_are_numbered(base, &tree) > 0;
                }
                lud_proof_tree_free(&tree);
                found++;
            } else {
                none++;
            }
            lud_proof_search_result_free(&result);
        }
        lud_prover_destroy(prover);
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
    assert_true(found > 100 && none > 100 && open > 20);
}

/* A state from which every fact and every rule leads on: as many successors as there can be. */
static void test_everything_leads_on(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\np(c,d)\n", "p(X,Y) :- p(Z,W), r(Z,Y)\n", NULL);
    const lud_proof_atom query = proof_atom(base, "p(d,d)");
    const lud_proof_search_options options = {.max_depth = 3, .max_goals = 4};
    lud_proof_search_result result;
    assert_int_equal(lud_proof_search(base, &query, &options, &result, &error), LUD_OK);
    assert_int_equal(result.steps, -1); /* of no r anything is known */
    assert_true(result.n_states > base->n_facts + base->n_rules);
    lud_proof_search_result_free(&result);
    lud_proof_base_destroy(base);
}

/* Why a search ends without a proof: it has seen all that there is, its steps or its states were too few. */
static void test_search_says_why_it_ends(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\np(c,d)\n",
                   "s(X,Y) :- q(X,Y)\nq(X,Y) :- p(X,Y)\nt(X,Y) :- p(X,Z), t(Z,Y)\nt(X,Y) :- p(X,Y)\n", NULL);
    static const struct {
        const char *query;
        int32_t depth;
        int64_t states;
        int32_t steps;
        bool exhausted, limited;
    } cases[] = {
        {"s(a,b)", 9, 0, 2, false, false},  {"s(a,b)", 2, 0, 2, false, false},
        {"s(a,b)", 1, 0, -1, false, false}, {"s(b,a)", 9, 0, -1, true, false},
        {"s(b,a)", 4, 0, -1, true, false},  {"s(b,a)", 3, 0, -1, false, false},
        {"t(a,d)", 9, 0, 5, false, false},  {"t(a,d)", 5, 0, 5, false, false},
        {"t(a,d)", 4, 0, -1, false, false}, {"t(a,d)", 9, 2, -1, false, true},
        {"t(d,a)", 9, 0, -1, true, false},  {"t(d,a)", 9, 1, -1, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lud_proof_atom query = proof_atom(base, cases[i].query);
        const lud_proof_search_options options = {
            .max_depth = cases[i].depth, .max_goals = 4, .max_states = cases[i].states};
        lud_proof_search_result result;
        assert_int_equal(lud_proof_search(base, &query, &options, &result, &error), LUD_OK);
        if (result.steps != cases[i].steps || result.exhausted != cases[i].exhausted ||
            result.limited != cases[i].limited)
            fail_msg("%s within %d steps and %d states: %d %d %d", cases[i].query, cases[i].depth,
                     (int)cases[i].states, result.steps, result.exhausted, result.limited);
        lud_proof_search_result_free(&result);
    }
    lud_proof_base_destroy(base);
}

/* Whatever random play proves, the prover proves too, and the tree of the episode holds. Small budgets, where
 * other engines take a cut list for a proof. */
static void test_play_is_sound(void **state) {
    (void)state;
    lud_error error = {0};
    long proofs = 0;
    for (uint64_t seed = 300; seed < 330; seed++) {
        proof_random random = proof_random_base(seed, false, MAX_VARIABLES);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        lud_proof_options o = proof_options();
        o.limits.depth = 8;
        o.limits.goals = 3 + (int64_t)(seed % 3);
        o.limits.successors = 2 + (int64_t)(seed % 5);
        lud_proof_model *model = NULL;
        assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
        lud_proof_atom queries[64];
        uint32_t d = 0;
        for (int i = 0; i < 64; i++) {
            queries[i] = (lud_proof_atom){
                .predicate = 1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_predicates)};
            for (int k = 0; k < base->arity[queries[i].predicate]; k++)
                queries[i].terms[k] = 1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_constants);
        }
        lud_proof_batch_options options =
            lud_proof_evaluation_options((lud_proof_pool){queries, NULL, 64}, 8, 1);
        lud_proof_batch *batch = NULL;
        assert_int_equal(lud_proof_batch_create(model, &options, &batch, &error), LUD_OK);
        while (!lud_proof_batch_is_done(batch)) {
            int32_t actions[8] = {0};
            for (int i = 0; i < 8; i++) {
                int32_t n = batch->slot_begin[i + 1] - batch->slot_begin[i];
                if (n > 0) actions[i] = (int32_t)proof_draw(seed, &d, (uint32_t)n);
            }
            lud_proof_batch_step(batch, actions);
            for (int i = 0; i < 8; i++) {
                if (!batch->terminated[i] || !batch->success[i]) continue;
                const uint8_t *slot = batch->states + (size_t)i * model->model.layout.state_bytes;
                const lud_proof_state *s = (const lud_proof_state *)(const void *)slot;
                lud_proof_tree tree = {0};
                assert_int_equal(lud_proof_tree_of(model, slot, &tree, &error), LUD_OK);
                assert_true(lud_proof_tree_is_closed(&tree));
                assert_true(lud_proof_tree_check(base, &s->query, s->excluded, &tree));
                lud_proof_tree_free(&tree);
                lud_prover_options without = {.excluded = s->excluded};
                lud_prover *prover = NULL;
                lud_prover_answer answer;
                assert_int_equal(lud_prover_create(base, &without, &prover, &error), LUD_OK);
                assert_int_equal(lud_prover_ask(prover, &s->query, &answer, &error), LUD_OK);
                assert_int_equal(answer, LUD_PROVER_PROVED);
                lud_prover_destroy(prover);
                proofs++;
            }
            for (int i = 0; i < 8; i++) actions[i] = 0;
            /* finished slots take their next query; the others must not move, so step only when all have
             * finished */
            bool all = true;
            for (int i = 0; i < 8; i++) all = all && batch->slot_begin[i] == batch->slot_begin[i + 1];
            if (all) lud_proof_batch_step_reset(batch, actions);
        }
        lud_proof_batch_destroy(batch);
        lud_proof_model_destroy(model);
        proof_random_free(&random);
    }
    assert_true(proofs > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixpoint),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_everything_leads_on),
        cmocka_unit_test(test_search_says_why_it_ends),
        cmocka_unit_test(test_play_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
