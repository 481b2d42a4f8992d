/* Single steps of a search: how it starts, what a step makes of a state, what follows from a state that is
 * decided, and proofs that are found beyond the budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

enum { DEPTH = 3, GOALS = 4, ROOM = 512 };

static lud_proof_model *make(bool memory) {
    lud_proof_options o = proof_options();
    lud_proof_model *model = NULL;
    lud_error error = {0};
    o.limits.depth = DEPTH;
    o.limits.goals = GOALS;
    o.limits.memory = memory;
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, "p(a,b)\np(b,c)\nq(a)\n",
                                      "q(X) :- p(X,Y), q(Y)\np(X,Y) :- p(Y,X)\n", NULL);
    if (lud_proof_model_create(base, &o, &model, &error)) fail_msg("%s", error.text);
    return model;
}

static void test_how_a_search_starts(void **unused) {
    (void)unused;
    lud_proof_model *model = make(true);
    const lud_proof_base *base = model->base;
    uint8_t *bytes = malloc(model->model.layout.state_bytes);
    const lud_proof_state *s = (const lud_proof_state *)(const void *)bytes;
    const lud_proof_atom *goals = lud_proof_goals_const(bytes);
    static const char *const queries[] = {"p(a,b)", "p(b,c)", "q(a)",   "p(b,a)",
                                          "q(b)",   "p(X,Y)", "p(X,X)", "p(a,X)"};
    for (int32_t k = 0; k < 8; k++) {
        lud_proof_atom query = proof_atom(base, queries[k]);
        const lud_proof_atom wanted = query;
        for (int i = 0; i < 2; i++) /* variables may have other numbers */
            if (query.terms[i] > base->n_constants)
                query.terms[i] += 5 - 3 * (query.terms[i] - base->n_constants);
        memset(bytes, 0xee, model->model.layout.state_bytes);
        lud_proof_start(model, &query, k % 2, 70 + k, bytes);
        assert_memory_equal(&s->query, &wanted, sizeof wanted);
        assert_memory_equal(&goals[0], &wanted, sizeof wanted);
        for (int g = 1; g < GOALS; g++) assert_int_equal(goals[g].predicate, 0);
        assert_int_equal(s->excluded,
                         k < 3 ? lud_proof_find_fact(base, &wanted, lud_proof_atom_hash(&wanted)) : -1);
        assert_true(k >= 3 || s->excluded >= 0);
        assert_int_equal(s->label, k % 2);
        assert_int_equal(s->query_index, 70 + k);
        assert_int_equal(s->n_goals, 1);
        assert_int_equal(s->n_path, 1);
        assert_int_equal(s->depth, 0);
        assert_int_equal(s->outcome, LUD_PROOF_RUNNING);
        assert_int_equal(lud_proof_path(model, bytes)[0], 0);
        assert_true(((const uint64_t *)(const void *)(bytes + model->memory_offset))[0] ==
                    lud_proof_state_hash(&wanted, 1));
    }
    const lud_proof_atom blank = {0};
    lud_proof_start(model, &blank, 1, 3, bytes);
    assert_int_equal(s->outcome, LUD_PROOF_FAILED);
    assert_int_equal(s->excluded, -1);
    assert_true(s->n_goals == 0 && s->n_path == 0 && s->label == 1 && s->query_index == 3);
    free(bytes);
    lud_proof_model_destroy(model);
}

/* A step by a rule, by a fact, or by neither, at every depth, into goals and to each end. */
static void test_what_a_step_makes(void **unused) {
    (void)unused;
    static const lud_proof_step steps[] = {{LUD_PROOF_BY_RULE, 0},   {LUD_PROOF_BY_RULE, 1},
                                           {LUD_PROOF_BY_FACT, 0},   {LUD_PROOF_BY_FACT, 2},
                                           {LUD_PROOF_DEAD_END, -1}, {LUD_PROOF_GIVE_UP, -1}};
    static const int32_t entries[] = {1, 2, -1, -3, 0, 0};
    for (int memory = 0; memory < 2; memory++) {
        lud_proof_model *model = make(memory);
        const lud_proof_base *base = model->base;
        uint8_t *bytes = malloc(model->model.layout.state_bytes);
        const lud_proof_state *s = (const lud_proof_state *)(const void *)bytes;
        const lud_proof_atom query = proof_atom(base, "q(b)");
        const struct {
            int32_t predicate, n;
            int outcome;
        } ends[] = {{lud_proof_true(base), 1, LUD_PROOF_PROVED},
                    {lud_proof_false(base), 1, LUD_PROOF_FAILED},
                    {lud_proof_end(base), 1, LUD_PROOF_GAVE_UP},
                    {query.predicate, 1, LUD_PROOF_RUNNING},
                    {query.predicate, GOALS, LUD_PROOF_RUNNING}};
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
                for (int depth = 1; depth <= DEPTH; depth++) {
                    lud_proof_atom goals[GOALS] = {{0}}, before[2];
                    lud_proof_start(model, &query, 1, 0, bytes);
                    before[0] = query;
                    before[1] = proof_atom(base, "p(b,c)");
                    for (int i = 1; i < depth; i++) {
                        lud_proof_enter(model, before, 2, (lud_proof_step){LUD_PROOF_BY_FACT, 1}, bytes);
                        assert_int_equal(s->outcome, LUD_PROOF_RUNNING);
                    }
                    for (int32_t g = 0; g < ends[e].n; g++)
                        goals[g] = ends[e].outcome ? (lud_proof_atom){.predicate = ends[e].predicate} : query;
                    lud_proof_enter(model, goals, ends[e].n, steps[k], bytes);
                    assert_int_equal(s->depth, depth);
                    assert_int_equal(s->n_path, depth + 1);
                    assert_int_equal(s->n_goals, ends[e].n);
                    assert_int_equal(s->outcome, ends[e].outcome  ? ends[e].outcome
                                                 : depth == DEPTH ? LUD_PROOF_TRUNCATED
                                                                  : LUD_PROOF_RUNNING);
                    assert_memory_equal(lud_proof_goals_const(bytes), goals, sizeof goals);
                    for (int i = 0; i <= DEPTH; i++) {
                        assert_int_equal(lud_proof_path(model, bytes)[i], i == depth           ? entries[k]
                                                                          : i > 0 && i < depth ? -2
                                                                                               : 0);
                        if (memory)
                            assert_true(((const uint64_t *)(const void *)(bytes + model->memory_offset))[i] ==
                                        (i == depth  ? lud_proof_state_hash(goals, ends[e].n)
                                         : i > depth ? 0
                                         : i > 0     ? lud_proof_state_hash(before, 2)
                                                     : lud_proof_state_hash(&query, 1)));
                    }
                }
        free(bytes);
        lud_proof_model_destroy(model);
    }
}

/* Only a proof stays a proof; of what else is decided, and of nothing at all, the end is false. */
static void test_decided_states_stay(void **unused) {
    (void)unused;
    lud_proof_model *model = make(false);
    const lud_proof_base *base = model->base;
    const lud_proof_limits limits = {GOALS, 8, true};
    lud_proof_successors out = proof_successors(ROOM, GOALS);
    const int32_t ends[] = {lud_proof_true(base), lud_proof_false(base), lud_proof_end(base), 0};
    for (int e = 0; e < 4; e++) {
        const lud_proof_atom goal = {.predicate = ends[e]};
        lud_proof_cuts cuts = {0};
        out.n = out.begin[0] = 0;
        lud_proof_expand(base, &limits, &goal, e < 3, -1, NULL, 0, &out, &cuts);
        assert_int_equal(out.n, 1);
        assert_int_equal(out.begin[1], 1);
        assert_int_equal(out.atoms[0].predicate, e == 0 ? lud_proof_true(base) : lud_proof_false(base));
        assert_int_equal(out.step[0].kind, LUD_PROOF_STAY);
        assert_int_equal(out.step[0].index, -1);
        assert_int_equal(cuts.expansions, 1);
    }
    /* a dead end, and giving up, are by no rule or fact */
    const lud_proof_atom dead = proof_atom(base, "q(c)"), alive = proof_atom(base, "p(c,a)");
    for (int end_action = 0; end_action < 2; end_action++) {
        const lud_proof_limits some = {GOALS, 8, end_action};
        out.n = out.begin[0] = 0;
        lud_proof_expand(base, &some, &alive, 1, -1, NULL, 0, &out, NULL);
        assert_int_equal(out.n, 1 + end_action);
        assert_int_equal(out.step[0].kind, LUD_PROOF_BY_RULE);
        if (end_action) {
            assert_int_equal(out.atoms[out.begin[1]].predicate, lud_proof_end(base));
            assert_int_equal(out.step[1].kind, LUD_PROOF_GIVE_UP);
            assert_int_equal(out.step[1].index, -1);
        }
        const uint64_t seen[] = {out.hash[0]}; /* what was visited is no way on */
        lud_proof_cuts cuts = {0};
        out.n = out.begin[0] = 0;
        lud_proof_expand(base, &some, &alive, 1, -1, seen, 1, &out, &cuts);
        assert_int_equal(out.n, 1);
        assert_int_equal(cuts.revisited, 1);
        assert_int_equal(out.atoms[0].predicate, lud_proof_false(base));
        assert_int_equal(out.step[0].kind, LUD_PROOF_DEAD_END);
        assert_int_equal(out.step[0].index, -1);
    }
    out.n = out.begin[0] = 0;
    lud_proof_expand(base, &limits, &dead, 1, -1, NULL, 0, &out, NULL);
    assert_int_equal(out.step[0].kind, LUD_PROOF_BY_RULE); /* q(c) asks for p(c,Y), q(Y) */
    proof_successors_free(&out);
    lud_proof_model_destroy(model);
}

static bool is_fact(const lud_proof_base *base, const lud_proof_atom *atom, int32_t excluded) {
    for (int i = 0; i < base->arity[atom->predicate]; i++)
        if (atom->terms[i] > base->n_constants) return false;
    const int32_t fact = lud_proof_find_fact(base, atom, lud_proof_atom_hash(atom));
    return fact >= 0 && fact != excluded;
}

/* Whether all goals are facts once the first is this one. */
static bool completes(const lud_proof_base *base, const lud_proof_atom *goals, int32_t n, int32_t fact,
                      int32_t excluded) {
    int32_t value[64] = {0};
    if (fact == excluded || base->facts[fact].predicate != goals[0].predicate) return false;
    for (int i = 0; i < base->arity[goals[0].predicate]; i++) {
        const int32_t term = goals[0].terms[i], constant = base->facts[fact].terms[i];
        int32_t *known = term > base->n_constants ? &value[term - base->n_constants - 1] : NULL;
        if (known && *known == 0) *known = constant;
        if ((known ? *known : term) != constant) return false;
    }
    for (int32_t g = 1; g < n; g++) {
        lud_proof_atom atom = goals[g];
        for (int i = 0; i < base->arity[atom.predicate]; i++)
            if (atom.terms[i] > base->n_constants && value[atom.terms[i] - base->n_constants - 1])
                atom.terms[i] = value[atom.terms[i] - base->n_constants - 1];
        if (!is_fact(base, &atom, excluded)) return false;
    }
    return true;
}

/* With room for a single successor a proof is found where there is one, by a fact that completes it. */
static void test_proofs_beyond_the_budget(void **unused) {
    (void)unused;
    int n_proofs = 0, n_none = 0, n_beyond = 0;
    lud_proof_successors out = proof_successors(ROOM, LUD_PROOF_MAX_GOALS);
    for (uint64_t seed = 400; seed < 520; seed++) {
        proof_random random = proof_random_base(seed, false, 3);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        uint32_t d = 0;
        for (int trial = 0; trial < 60; trial++) {
            lud_proof_atom goals[GOALS];
            const int32_t n = 1 + (int32_t)proof_draw(seed, &d, 3),
                          excluded = (int32_t)proof_draw(seed, &d, (uint32_t)base->n_facts + 1) - 1;
            for (int g = 0; g < n; g++) {
                goals[g] = base->facts[proof_draw(seed, &d, (uint32_t)base->n_facts)];
                for (int i = 0; i < base->arity[goals[g].predicate]; i++)
                    if (proof_draw(seed, &d, 2))
                        goals[g].terms[i] = base->n_constants + 1 + (int32_t)proof_draw(seed, &d, 2);
            }
            lud_proof_canonicalise(base, goals, n);
            bool by_fact = false;
            for (int32_t f = 0; f < base->n_facts; f++)
                by_fact = by_fact || completes(base, goals, n, f, excluded);
            const lud_proof_limits one = {LUD_PROOF_MAX_GOALS, 1, false};
            lud_proof_cuts cuts = {0};
            out.n = out.begin[0] = 0;
            lud_proof_expand(base, &one, goals, n, excluded, NULL, 0, &out, &cuts);
            assert_int_equal(out.n, 1);
            const bool proved = out.atoms[0].predicate == lud_proof_true(base);
            if (by_fact) assert_true(proved);
            if (proved && out.step[0].kind == LUD_PROOF_BY_FACT)
                assert_true(completes(base, goals, n, out.step[0].index, excluded));
            else if (proved)
                assert_in_range(out.step[0].index, base->rule_begin[goals[0].predicate],
                                base->rule_begin[goals[0].predicate + 1] - 1);
            if (proved) assert_true(by_fact || out.step[0].kind == LUD_PROOF_BY_RULE);
            n_proofs += proved;
            n_none += !proved;
            n_beyond += proved && out.step[0].kind == LUD_PROOF_BY_FACT && n > 1 && cuts.over_successors > 0;
        }
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
    proof_successors_free(&out);
    if (n_proofs < 500 || n_none < 500 || n_beyond < 50) fail_msg("%d %d %d", n_proofs, n_none, n_beyond);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_a_search_starts),
        cmocka_unit_test(test_what_a_step_makes),
        cmocka_unit_test(test_decided_states_stay),
        cmocka_unit_test(test_proofs_beyond_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
