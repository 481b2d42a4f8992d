/* States of the proof world: what one can be, how it is laid out and told, what its variables are called, and
 * what its first goal promises. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

static const char facts[] = "p(a,b)\np(b,c)\nq(a)\n", rules[] = "q(X) :- p(X,Y), q(Y)\np(X,Y) :- p(Y,X)\n";

static lud_proof_model *model_of(lud_proof_base *base, int64_t depth, int64_t goals, int64_t successors,
                                 bool memory, bool skip_unary) {
    lud_proof_options o = proof_options();
    lud_proof_model *model = NULL;
    lud_error error = {0};
    o.limits.depth = depth;
    o.limits.goals = goals;
    o.limits.successors = successors;
    o.limits.memory = memory;
    o.limits.skip_unary = skip_unary;
    if (lud_proof_model_create(base, &o, &model, &error)) fail_msg("%s", error.text);
    return model;
}

/* --- What a state can be --- */

enum { DEPTH = 3, GOALS = 3 };

typedef struct scene {
    lud_proof_model *model;
    uint8_t *bytes;
    lud_proof_state *state;
    lud_proof_atom *goals;
    int32_t *path;
    uint64_t *memory;
} scene;

static scene begin(bool skip_unary) {
    scene s = {.model = model_of(proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL), DEPTH, GOALS, 8, true,
                                 skip_unary)};
    s.bytes = malloc(s.model->model.layout.state_bytes);
    assert_non_null(s.bytes);
    s.state = (lud_proof_state *)(void *)s.bytes;
    s.goals = lud_proof_goals(s.bytes);
    s.path = (int32_t *)(void *)(s.bytes + s.model->path_offset);
    s.memory = (uint64_t *)(void *)(s.bytes + s.model->memory_offset);
    return s;
}

static void end(scene *s) {
    free(s->bytes);
    lud_proof_model_destroy(s->model);
}

static void start(scene *s, const char *query) {
    const lud_proof_atom atom = proof_atom(s->model->base, query);
    lud_proof_start(s->model, &atom, 1, 0, s->bytes);
    assert_int_equal(lud_proof_check_state(s->model, s->bytes, NULL), LUD_OK);
}

static bool can_be(const scene *s) {
    return lud_proof_check_state(s->model, s->bytes, NULL) == LUD_OK;
}

static void test_heads_of_states(void **unused) {
    (void)unused;
    for (int skips = 0; skips < 2; skips++) {
        scene s = begin(skips);
        for (int32_t v = -3; v < 30; v++) {
            start(&s, "p(a,b)");
            s.state->outcome = v;
            assert_int_equal(can_be(&s), v >= LUD_PROOF_RUNNING && v <= LUD_PROOF_TRUNCATED);
            start(&s, "p(a,b)");
            s.state->label = v;
            assert_int_equal(can_be(&s), v == 0 || v == 1);
            start(&s, "p(a,b)");
            s.state->excluded = v;
            assert_int_equal(can_be(&s), v >= -1 && v < s.model->base->n_facts);
            start(&s, "p(a,b)");
            s.state->query_index = v;
            assert_int_equal(can_be(&s), v >= -1);
            for (int over = 0; over < 2; over++) {
                start(&s, "p(a,b)");
                s.state->depth = v;
                s.state->outcome = over ? LUD_PROOF_TRUNCATED : LUD_PROOF_RUNNING;
                assert_int_equal(can_be(&s), v >= 0 && (over ? v <= DEPTH : v < DEPTH));
            }
            for (int32_t depth = 0; depth < DEPTH; depth++) {
                start(&s, "p(a,b)");
                s.state->depth = depth;
                s.state->n_path = v;
                memset(s.memory, 0,
                       (size_t)s.model->path_capacity * sizeof *s.memory); /* whatever is remembered */
                assert_int_equal(can_be(&s), v >= 0 && v <= (depth + 1) * (skips ? 1 + LUD_PROOF_SKIPS : 1));
            }
        }
        assert_int_equal(s.model->path_capacity, (DEPTH + 1) * (skips ? 1 + LUD_PROOF_SKIPS : 1));
        end(&s);
    }
}

static void test_numbers_of_goals(void **unused) {
    (void)unused;
    scene s = begin(false);
    for (int32_t n = -1; n <= GOALS + 1; n++)
        for (int32_t there = 0; there <= GOALS; there++)
            for (int over = 0; over < 2; over++) {
                start(&s, "p(a,b)");
                for (int32_t g = 0; g < GOALS; g++)
                    s.goals[g] = g < there ? proof_atom(s.model->base, "p(b,c)") : (lud_proof_atom){0};
                s.state->n_goals = n;
                s.state->outcome = over ? LUD_PROOF_TRUNCATED : LUD_PROOF_RUNNING;
                assert_int_equal(can_be(&s), n == there && (over || n > 0));
            }
    end(&s);
}

/* Every predicate with every two terms, known to be an atom by what it is built of. */
static void test_atoms_of_states(void **unused) {
    (void)unused;
    scene s = begin(false);
    const lud_proof_base *base = s.model->base;
    const int32_t n = base->n_constants;
    for (int32_t p = -1; p <= lud_proof_end(base) + 1; p++)
        for (int32_t a = -1; a <= n + 3; a++)
            for (int32_t b = -1; b <= n + 3; b++)
                for (int32_t c = 0; c < 2; c++)
                    for (int over = 0; over < 3; over++) {
                        const lud_proof_atom atom = {.predicate = p, .terms = {a, b, c}};
                        const bool is_real = p >= 1 && p <= base->n_predicates;
                        const bool ends = p > base->n_predicates && p <= lud_proof_end(base);
                        const int arity = is_real ? base->arity[p] : 0;
                        const bool terms = c == 0 && (arity == 2 ? a >= 1 && a <= n + 1 && b >= 1 &&
                                                                       b <= n + 1 + (a == n + 1)
                                                      : arity == 1 ? a >= 1 && a <= n + 1 && b == 0
                                                                   : a == 0 && b == 0);
                        start(&s, "p(a,b)");
                        s.state->outcome = over ? LUD_PROOF_PROVED : LUD_PROOF_RUNNING;
                        s.goals[over == 2] = atom;
                        s.state->n_goals = 1 + (over == 2);
                        assert_int_equal(can_be(&s), terms && (is_real || (ends && over == 1)));
                        start(&s, "p(a,b)");
                        s.state->query = atom;
                        assert_int_equal(can_be(&s), terms && is_real);
                    }
    /* variables are numbered on from goal to goal */
    for (int32_t a = n + 1; a <= n + 3; a++)
        for (int32_t b = n + 1; b <= n + 4; b++) {
            start(&s, "p(X,Y)");
            s.goals[0] = (lud_proof_atom){.predicate = s.goals[0].predicate, .terms = {n + 1, a}};
            s.goals[1] = (lud_proof_atom){.predicate = s.goals[0].predicate, .terms = {b, 1}};
            s.state->n_goals = 2;
            assert_int_equal(can_be(&s), a <= n + 2 && b <= (a == n + 2 ? n + 3 : n + 2));
        }
    start(&s, "p(a,b)");
    s.state->query = (lud_proof_atom){0};
    assert_false(can_be(&s)); /* a search has a query */
    s.state->outcome = LUD_PROOF_FAILED;
    assert_true(can_be(&s));
    end(&s);
}

static void test_paths_of_states(void **unused) {
    (void)unused;
    scene s = begin(false);
    const lud_proof_base *base = s.model->base;
    for (int32_t i = 0; i < s.model->path_capacity; i++)
        for (int32_t v = -base->n_facts - 2; v <= base->n_rules + 2; v++) {
            start(&s, "p(a,b)");
            s.state->depth = 1;
            s.state->n_path = 2;
            s.path[i] = v;
            assert_int_equal(can_be(&s), i < 2 ? v >= -base->n_facts && v <= base->n_rules : v == 0);
            start(&s, "p(a,b)");
            s.state->depth = 1;
            s.state->n_path = 2;
            s.memory[i] = 77;
            assert_int_equal(can_be(&s), i < 2);
        }
    end(&s);
}

/* A model that remembers nothing has no room for it, and looks at none. */
static void test_states_without_memory(void **unused) {
    (void)unused;
    lud_proof_model *with = model_of(proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL), DEPTH, GOALS, 8,
                                     true, false),
                    *without = model_of(proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL), DEPTH, GOALS, 8,
                                        false, false);
    assert_int_equal(without->path_offset, without->memory_offset);
    assert_int_equal(with->path_offset, with->memory_offset + (size_t)with->path_capacity * sizeof(uint64_t));
    assert_true(without->memory_offset >= sizeof(lud_proof_state) + GOALS * sizeof(lud_proof_atom));
    assert_true(without->model.layout.state_bytes >= without->path_offset + (DEPTH + 1) * sizeof(int32_t));
    uint8_t *state = malloc(without->model.layout.state_bytes);
    const lud_proof_atom query = proof_atom(without->base, "p(a,b)");
    lud_proof_start(without, &query, 1, 0, state);
    for (int32_t i = 0; i < 2; i++) ((int32_t *)(void *)(state + without->path_offset))[i] = 1;
    ((lud_proof_state *)(void *)state)->n_path = 2;
    ((lud_proof_state *)(void *)state)->depth = 1;
    assert_int_equal(lud_proof_check_state(without, state, NULL), LUD_OK);
    free(state);
    lud_proof_model_destroy(with);
    lud_proof_model_destroy(without);
}

/* --- How it is told --- */

static void test_parts_of_states(void **unused) {
    (void)unused;
    static const char *const texts[] = {"q(a)\n", "p(a,b)\nq(a)\n", "t(a,b,c)\n", "f(a,b,c,d)\n"};
    for (int arity = 1; arity <= 4; arity++) {
        enum { A = 5, S = 7 };
        lud_proof_model *model =
            model_of(proof_base(LUD_PROOF_RELATIONS, texts[arity - 1], "q(X) :- q(X)\n", NULL), DEPTH, A, S,
                     true, false);
        const lud_layout *layout = &model->model.layout;
        const int width = arity < 2 ? 3 : 1 + arity;
        static const char *const names[] = {"goals", "successors", "mask"};
        const int dimensions[3][3] = {{A, width, 0}, {S, A, width}, {S, 0, 0}};
        const size_t bytes[] = {A * (size_t)width * sizeof(int32_t), S * A * (size_t)width * sizeof(int32_t),
                                S};
        assert_int_equal(layout->n_parts, 3);
        for (int p = 0; p < 3; p++) {
            const lud_observation_part *part = &layout->parts[p];
            assert_string_equal(part->name, names[p]);
            assert_int_equal(part->n_dimensions, p == 0 ? 2 : p == 1 ? 3 : 1);
            for (int d = 0; d < 3; d++) assert_int_equal(part->dimensions[d], dimensions[p][d]);
            assert_int_equal(part->bytes, bytes[p]);
            assert_false(part->per_agent);
        }
        assert_int_equal(layout->n_agents, 1);
        assert_int_equal(layout->max_steps, DEPTH);
        assert_int_equal(layout->roles[0], LUD_ROLE_ROBOT);
        assert_int_equal(layout->actions[0].n_discrete, S);
        assert_string_equal(layout->actions[0].names[0], "successor 0");
        assert_string_equal(layout->actions[0].names[S - 1], "successor 6");
        assert_int_equal(layout->n_measures, 1);
        assert_int_equal(layout->n_columns, 1);
        lud_proof_model_destroy(model);
    }
}

/* --- Variables --- */

/* Whatever variables are called, they are numbered as they appear, from above the constants on; what was the
 * same stays the same, constants stay. */
static void test_variables_are_numbered(void **unused) {
    (void)unused;
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, "t(a,b,c)\nq(a)\n", "q(X) :- t(X,Y,Z)\n", NULL);
    const int32_t n = base->n_constants, t = proof_atom(base, "t(X,Y,Z)").predicate;
    uint32_t draw = 0;
    for (int round = 0; round < 500; round++) {
        enum { GOALS_OF = 4 };
        lud_proof_atom before[GOALS_OF] = {{0}}, after[GOALS_OF];
        int32_t largest = n;
        for (int g = 0; g < GOALS_OF; g++) {
            before[g].predicate = t;
            for (int i = 0; i < 3; i++)
                before[g].terms[i] = proof_draw(5, &draw, 3) ? n + 1 + (int32_t)proof_draw(5, &draw, 40)
                                                             : 1 + (int32_t)proof_draw(5, &draw, (uint32_t)n);
        }
        memcpy(after, before, sizeof after);
        const int32_t count = lud_proof_canonicalise(base, after, GOALS_OF);
        for (int k = 0; k < GOALS_OF * 3; k++) {
            const int32_t old = before[k / 3].terms[k % 3], new = after[k / 3].terms[k % 3];
            assert_int_equal(after[k / 3].predicate, t);
            assert_int_equal(after[k / 3].terms[3], 0);
            if (old <= n) {
                assert_int_equal(new, old);
                continue;
            }
            assert_true(new > n &&new <= largest + 1);
            if (new > largest) largest = new;
            for (int j = 0; j < k; j++)
                assert_int_equal(before[j / 3].terms[j % 3] == old, after[j / 3].terms[j % 3] == new);
        }
        assert_int_equal(count, largest - n);
    }
    lud_proof_base_destroy(base);
}

/* --- What a goal promises --- */

static void test_potentials(void **unused) {
    (void)unused;
    lud_proof_base *base =
        proof_scored_base(LUD_PROOF_RELATIONS, "p(a,b)\n", "q(X) :- p(X,Y)\n",
                          "p(a,b) 0.5 1\np(b,a) 0 2\np(a,a) 0.000000001 3\np(b,b) 1 4\n", 0, 0);
    lud_proof_model *model = model_of(base, DEPTH, GOALS, 8, false, false);
    static const struct {
        const char *query;
        double score; /* < 0: it has none */
    } cases[] = {{"p(a,b)", 0.5}, {"p(b,a)", 1e-9}, {"p(a,a)", 1e-9}, {"p(b,b)", 1}, {"q(a)", -1}};
    static const double betas[] = {0, 0.5, 1, 2};
    uint8_t *state = malloc(model->model.layout.state_bytes);
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    for (size_t b = 0; b < sizeof betas / sizeof *betas; b++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const lud_proof_atom query = proof_atom(base, cases[k].query);
            const double wanted = cases[k].score < 0 ? 0 : betas[b] * log(cases[k].score);
            model->options.scores.shaping = betas[b];
            lud_proof_start(model, &query, 1, 0, state);
            assert_true(fabs(lud_proof_potential(model, state) - wanted) < 1e-5);
            s->outcome = LUD_PROOF_TRUNCATED;
            assert_true(lud_proof_potential(model, state) == 0);
            s->outcome = LUD_PROOF_RUNNING;
            s->n_goals = 0;
            assert_true(lud_proof_potential(model, state) == 0);
        }
    free(state);
    lud_proof_model_destroy(model);
}

/* The table of rewards, for every way that a search ends, with w one over the corruptions of each query. */
static void test_rewards(void **unused) {
    (void)unused;
    lud_proof_model *model =
        model_of(proof_base(LUD_PROOF_RELATIONS, facts, rules, NULL), DEPTH, GOALS, 8, true, false);
    uint8_t *state = malloc(model->model.layout.state_bytes);
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    const lud_proof_atom query = proof_atom(model->base, "p(a,b)");
    static const double ratios[] = {0, 0.5, 1, 4};
    for (int r = 0; r < 4; r++)
        for (int outcome = LUD_PROOF_RUNNING; outcome <= LUD_PROOF_TRUNCATED; outcome++) {
            const double w = ratios[r] > 0 ? 1 / ratios[r] : 1, more = outcome == LUD_PROOF_GAVE_UP ? 0.3 : 0;
            /* tp, fn, fp, tn */
            const double table[LUD_PROOF_REWARDS][4] = {{1, 0, 0, 0},   {1, 0, -1, 0},
                                                        {1, 0, 0, 1},   {1, -0.5, -1.5, 1},
                                                        {1, -1, -1, w}, {1, -1, -1, w + more}};
            model->options.negatives.per_positive = ratios[r];
            for (int scheme = 0; scheme < LUD_PROOF_REWARDS; scheme++)
                for (int label = 0; label < 2; label++) {
                    const bool proved = outcome == LUD_PROOF_PROVED;
                    const double wanted = outcome == LUD_PROOF_RUNNING ? 0
                                          : label                      ? table[scheme][proved ? 0 : 1]
                                                                       : table[scheme][proved ? 2 : 3];
                    model->options.reward = scheme;
                    lud_proof_start(model, &query, label, 0, state);
                    s->outcome = outcome;
                    assert_true(fabs(lud_proof_reward(model, state) - wanted) < 1e-6);
                    assert_true(lud_proof_shaped_reward(model, state, 9) == lud_proof_reward(model, state));
                }
        }
    free(state);
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_of_states),
        cmocka_unit_test(test_numbers_of_goals),
        cmocka_unit_test(test_atoms_of_states),
        cmocka_unit_test(test_paths_of_states),
        cmocka_unit_test(test_states_without_memory),
        cmocka_unit_test(test_parts_of_states),
        cmocka_unit_test(test_variables_are_numbered),
        cmocka_unit_test(test_potentials),
        cmocka_unit_test(test_rewards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
