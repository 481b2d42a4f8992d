/* How many states a search by steps keeps, and snapshots of batches of which some slots have nothing to play.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/prover.h"
#include "sim/proof/support_proof.h"

enum { GOALS = 3, ROOM = 512, MOST_STATES = 4096 };

typedef struct listed {
    int32_t n_goals;
    lud_proof_atom goals[GOALS];
} listed;

static bool add(listed *list, int *n, const lud_proof_atom *goals, int32_t n_goals) {
    listed one = {.n_goals = n_goals};
    memcpy(one.goals, goals, (size_t)n_goals * sizeof *goals);
    for (int i = 0; i < *n; i++)
        if (!memcmp(&list[i], &one, sizeof one)) return false;
    assert_true(*n < MOST_STATES);
    list[(*n)++] = one;
    return true;
}

typedef struct totals {
    int n_searches, n_exhausted, n_limited, most;
} totals;

/* The states of a search level by level, from every state that is new; returns how many. */
static int list_states(const lud_proof_base *base, const lud_proof_atom *query, int32_t depth, listed *states,
                       lud_proof_successors *out, int32_t *steps, bool *closed) {
    const lud_proof_limits limits = {GOALS, base->n_facts + base->n_rules + 1, false};
    const int32_t excluded = lud_proof_find_fact(base, query, lud_proof_atom_hash(query));
    int n = 0, begin = 0;
    *steps = -1;
    *closed = false;
    add(states, &n, query, 1);
    for (int32_t level = 1; level <= depth && *steps < 0 && !*closed; level++) {
        const int end = n;
        for (int i = begin; i < end && *steps < 0; i++) {
            out->n = out->begin[0] = 0;
            lud_proof_expand(base, &limits, states[i].goals, states[i].n_goals, excluded, NULL, 0, out, NULL);
            if (out->atoms[0].predicate == lud_proof_true(base)) *steps = level;
            if (out->atoms[0].predicate > base->n_predicates || level == depth) continue;
            for (int32_t k = 0; k < out->n; k++)
                add(states, &n, out->atoms + out->begin[k], out->begin[k + 1] - out->begin[k]);
        }
        begin = end;
        *closed = *steps < 0 && level < depth && n == end;
    }
    return n;
}

static void check_search(const lud_proof_base *base, const lud_proof_atom *query, int32_t depth,
                         listed *states, lud_proof_successors *out, totals *t) {
    lud_error error = {0};
    int32_t steps;
    bool closed;
    const int n = list_states(base, query, depth, states, out, &steps, &closed);
    /* all may be remembered, or as many as there are; with one less it is cut off */
    for (int limit = 0; limit < 3; limit++) {
        const lud_proof_search_options options = {.max_depth = depth,
                                                  .max_goals = GOALS,
                                                  .max_states = limit == 0   ? 0
                                                                : limit == 1 ? n
                                                                             : n - 1};
        lud_proof_search_result result;
        if (limit == 2 && n == 1) continue;
        assert_int_equal(lud_proof_search(base, query, &options, &result, &error), LUD_OK);
        assert_int_equal(result.limited, limit == 2);
        assert_int_equal(result.steps, limit == 2 ? -1 : steps);
        assert_int_equal(result.exhausted, closed && limit < 2);
        if (limit < 2) assert_int_equal(result.n_states, n);
        lud_proof_search_result_free(&result);
        t->n_limited += limit == 2;
    }
    t->n_searches++;
    t->n_exhausted += closed;
    if (n > t->most) t->most = n;
}

/* Kept are the states that are reached before the last step, each once; those that are decided are none. */
static void test_states_of_a_search(void **unused) {
    (void)unused;
    listed *states = malloc(MOST_STATES * sizeof *states);
    lud_proof_successors out = proof_successors(ROOM, GOALS);
    totals t = {0};
    for (uint64_t seed = 700; seed < 730; seed++) {
        proof_random random = proof_random_base(seed, false, 3);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        uint32_t d = 0;
        for (int trial = 0; trial < 12; trial++) {
            lud_proof_atom query = {.predicate =
                                        1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_predicates)};
            for (int k = 0; k < base->arity[query.predicate]; k++)
                query.terms[k] = 1 + (int32_t)proof_draw(seed, &d, (uint32_t)base->n_constants);
            for (int32_t depth = 1; depth <= 4; depth++) check_search(base, &query, depth, states, &out, &t);
        }
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
    /* from every pair of a dozen constants to every other one */
    lud_text facts = {0};
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++) lud_text_append(&facts, "p(n%d,n%d)\n", a, b);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes,
                                      "g(X,Y) :- p(X,A), p(Y,B), z(A,B)\nz(A,B) :- p(A,C), z(C,B)\n", NULL);
    const lud_proof_atom query = proof_atom(base, "g(n0,n1)");
    for (int32_t depth = 1; depth <= 8; depth++) check_search(base, &query, depth, states, &out, &t);
    lud_proof_base_destroy(base);
    lud_text_free(&facts);
    if (t.n_searches < 1000 || t.n_exhausted < 500 || t.n_limited < 300 || t.most < 300)
        fail_msg("%d %d %d %d", t.n_searches, t.n_exhausted, t.n_limited, t.most);
    proof_successors_free(&out);
    free(states);
}

/* Fewer queries than slots: those that never had one rest, and so they do when they come back from a
 * snapshot. */
static void test_snapshots_of_slots_that_rest(void **unused) {
    (void)unused;
    enum { SLOTS = 5 };
    lud_error error = {0};
    lud_proof_options o = proof_options();
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\np(c,d)\n",
                                      "t(X,Y) :- p(X,Z), t(Z,Y)\nt(X,Y) :- p(X,Y)\n", NULL);
    lud_proof_model *model = NULL;
    if (lud_proof_model_create(base, &o, &model, &error)) fail_msg("%s", error.text);
    const lud_proof_atom queries[] = {proof_atom(base, "t(a,d)"), {0}, proof_atom(base, "t(d,a)")};
    for (int32_t n = 1; n <= 3; n++) {
        const lud_proof_batch_options options =
            lud_proof_evaluation_options((lud_proof_pool){queries, NULL, n}, SLOTS, 1);
        lud_proof_batch *batch = NULL, *again = NULL;
        const int32_t actions[SLOTS] = {0};
        if (lud_proof_batch_create(model, &options, &batch, &error) ||
            lud_proof_batch_create(model, &options, &again, &error))
            fail_msg("%s", error.text);
        void *snapshot = malloc(lud_proof_batch_snapshot_bytes(batch));
        for (int step = 0; step < 12; step++) {
            lud_proof_batch_save(batch, snapshot);
            if (lud_proof_batch_load(again, snapshot, &error)) fail_msg("%s", error.text);
            for (int slot = 0; slot < SLOTS; slot++) {
                assert_int_equal(again->resting[slot], batch->resting[slot]);
                if (slot >= (n + 1) / 2) assert_true(batch->resting[slot]);
                assert_int_equal(again->slot_begin[slot + 1], batch->slot_begin[slot + 1]);
            }
            assert_int_equal(lud_proof_batch_is_done(again), lud_proof_batch_is_done(batch));
            assert_int_equal(batch->successors.n, batch->slot_begin[SLOTS]);
            assert_int_equal(again->successors.n, batch->successors.n);
            assert_int_equal(batch->current.n, SLOTS);
            lud_proof_batch_step_reset(batch, actions);
        }
        assert_true(lud_proof_batch_is_done(batch));
        free(snapshot);
        lud_proof_batch_destroy(batch);
        lud_proof_batch_destroy(again);
    }
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_of_a_search),
        cmocka_unit_test(test_snapshots_of_slots_that_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
