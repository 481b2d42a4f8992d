/* The world's own episodes: which queries they start with and how often corrupted, and observations of which
 * some parts are asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

enum { EPISODES = 4000, QUERIES = 4 };

static lud_proof_model *make(double per_positive, int corrupt) {
    lud_proof_options o = proof_options();
    lud_proof_model *model = NULL;
    lud_error error = {0};
    o.queries.play = LUD_PROOF_TRAIN;
    o.negatives.per_positive = per_positive;
    o.negatives.corrupt = corrupt;
    o.limits.goals = 4;
    o.limits.successors = 8;
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\np(c,d)\np(d,e)\n",
                   "t(X,Y) :- p(X,Z), t(Z,Y)\nt(X,Y) :- p(X,Y)\n", "t(a,b)\nt(b,d)\nt(c,e)\nt(d,e)\n");
    if (lud_proof_model_create(base, &o, &model, &error)) fail_msg("%s", error.text);
    return model;
}

/* Leaves numbers where functions that are called next have their variables: nothing may depend on them. */
__attribute__((noinline)) static void leave_numbers(void) {
    volatile uint8_t stack[3 << 19];
    for (size_t i = 0; i < sizeof stack; i++) stack[i] = 0x7f;
}

/* About `expected` of n, five standard deviations allowed. */
static void assert_share(int found, int n, double expected) {
    const double deviation = sqrt(n * expected * (1 - expected));
    if (fabs(found - n * expected) > 5 * deviation + 1e-9)
        fail_msg("%d of %d, expected %g", found, n, n * expected);
}

static void test_how_often_queries_are_corrupted(void **unused) {
    (void)unused;
    static const double ratios[] = {0, 0.5, 1, 3};
    uint32_t *ticks = calloc(EPISODES, sizeof *ticks);
    for (int r = 0; r < 4; r++)
        for (int corrupt = LUD_PROOF_HEAD; corrupt <= LUD_PROOF_BOTH; corrupt++) {
            lud_proof_model *model = make(ratios[r], corrupt);
            const size_t bytes = model->model.layout.state_bytes;
            const lud_world *world = model->model.world;
            uint8_t *states = malloc(EPISODES * bytes), *own = malloc(bytes);
            int started[QUERIES] = {0}, corrupted[QUERIES] = {0}, n_corrupted = 0, n_of[2] = {0};
            world->reset(&model->model, (lud_range){.seed = 3, .n = EPISODES, .tick = ticks}, states);
            for (uint32_t e = 0; e < EPISODES; e++) {
                const lud_proof_state *s = (const lud_proof_state *)(const void *)(states + e * bytes);
                assert_in_range(s->query_index, 0, QUERIES - 1);
                const lud_proof_atom *query = &model->pools[LUD_PROOF_TRAIN].atoms[s->query_index];
                started[s->query_index]++;
                assert_int_equal(s->query.predicate, query->predicate);
                const bool head = s->query.terms[0] != query->terms[0],
                           tail = s->query.terms[1] != query->terms[1];
                assert_int_equal(head + tail, s->label == 0);
                n_corrupted += s->label == 0;
                corrupted[s->query_index] += s->label == 0;
                n_of[0] += head;
                n_of[1] += tail;
                if (e >= 20) continue; /* an environment is by itself what it is among others */
                world->reset(&model->model,
                             (lud_range){.seed = 3, .first_environment = e, .n = 1, .tick = ticks}, own);
                assert_memory_equal(own, states + e * bytes, bytes);
            }
            for (int q = 0; q < QUERIES; q++) { /* whichever it is, it is corrupted as often */
                assert_share(started[q], EPISODES, 1.0 / QUERIES);
                assert_share(corrupted[q], started[q], ratios[r] / (1 + ratios[r]));
            }
            assert_share(n_corrupted, EPISODES, ratios[r] / (1 + ratios[r]));
            if (corrupt == LUD_PROOF_BOTH)
                assert_share(n_of[0], n_corrupted, 0.5);
            else
                assert_int_equal(n_of[corrupt], n_corrupted);
            free(states);
            free(own);
            lud_proof_model_destroy(model);
        }
    free(ticks);
}

/* A part is the same whichever others are asked for, and what is asked for is written as a whole. */
static void test_some_parts(void **unused) {
    (void)unused;
    enum { STATES = 6, PARTS = 3 };
    lud_proof_model *model = make(1, LUD_PROOF_BOTH);
    const lud_layout *layout = &model->model.layout;
    const lud_world *world = model->model.world;
    uint8_t *states = malloc(STATES * layout->state_bytes);
    uint32_t ticks[STATES] = {0};
    const lud_range range = {.seed = 5, .n = STATES, .tick = ticks};
    world->reset(&model->model, range, states);
    uint8_t *all[PARTS], *some[PARTS];
    for (int p = 0; p < PARTS; p++) {
        all[p] = malloc(STATES * layout->parts[p].bytes);
        some[p] = malloc(STATES * layout->parts[p].bytes);
    }
    for (int step = 0; step < 12; step++) {
        void *parts[PARTS] = {all[0], all[1], all[2]};
        for (int p = 0; p < PARTS; p++) memset(all[p], 0xab, STATES * layout->parts[p].bytes);
        leave_numbers();
        world->observe(&model->model, range, states, parts);
        for (unsigned which = 0; which < 1u << PARTS; which++) {
            for (int p = 0; p < PARTS; p++) {
                parts[p] = which >> p & 1 ? some[p] : NULL;
                memset(some[p], 0xcd, STATES * layout->parts[p].bytes);
            }
            leave_numbers();
            world->observe(&model->model, range, states, parts);
            for (int p = 0; p < PARTS; p++)
                if (parts[p]) assert_memory_equal(some[p], all[p], STATES * layout->parts[p].bytes);
        }
        const int width = layout->parts[0].dimensions[1], n_goals = layout->parts[0].dimensions[0];
        for (int e = 0; e < STATES; e++) { /* goals, successors and mask are those of the state */
            const uint8_t *state = states + (size_t)e * layout->state_bytes;
            lud_proof_successors out = proof_successors(16, 4);
            out.n = out.begin[0] = 0;
            lud_proof_successors_of(model, state, &out, NULL);
            const int32_t *goals =
                (const int32_t *)(const void *)(all[0] + (size_t)e * layout->parts[0].bytes);
            const int32_t *next =
                (const int32_t *)(const void *)(all[1] + (size_t)e * layout->parts[1].bytes);
            const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
            for (int g = 0; g < n_goals; g++)
                for (int k = 0; k < width; k++) {
                    const lud_proof_atom *goal = &lud_proof_goals_const(state)[g];
                    assert_int_equal(goals[g * width + k], g >= s->n_goals ? 0
                                                           : k             ? goal->terms[k - 1]
                                                                           : goal->predicate);
                }
            for (int i = 0; i < layout->actions[0].n_discrete; i++) {
                assert_int_equal(all[2][(size_t)e * layout->parts[2].bytes + (size_t)i], i < out.n);
                for (int g = 0; g < n_goals; g++)
                    for (int k = 0; k < width; k++) {
                        const bool there = i < out.n && g < out.begin[i + 1] - out.begin[i];
                        const lud_proof_atom *goal = there ? &out.atoms[out.begin[i] + g] : NULL;
                        assert_int_equal(next[(i * n_goals + g) * width + k], !there ? 0
                                                                              : k    ? goal->terms[k - 1]
                                                                                     : goal->predicate);
                    }
            }
            proof_successors_free(&out);
        }
        int32_t actions[STATES];
        for (int e = 0; e < STATES; e++) actions[e] = step + e;
        leave_numbers();
        world->step(&model->model, range, states, (lud_actions){.discrete = actions}, (lud_outcome){0});
    }
    for (int p = 0; p < PARTS; p++) {
        free(all[p]);
        free(some[p]);
    }
    free(states);
    lud_proof_model_destroy(model);
}

/* Where there is one way only it is gone without a choice, five times at most, before the first choice and
 * behind each; where giving up is a choice there always is one. */
static void test_single_ways_are_gone(void **unused) {
    (void)unused;
    enum { LINKS = 16 }; /* a0 <- a1 <- ... <- a15, which two rules conclude */
    lud_text rules = {0}, queries = {0};
    for (int i = 0; i < LINKS - 1; i++) lud_text_append(&rules, "a%d(X,Y) :- a%d(X,Y)\n", i, i + 1);
    lud_text_append(&rules, "a%d(X,Y) :- p(X,Y), p(Y,X)\na%d(X,Y) :- p(Y,Y), p(Y,X)\n", LINKS - 1, LINKS - 1);
    for (int i = 0; i < LINKS; i++) lud_text_append(&queries, "a%d(b,a)\n", i);
    for (int way = 0; way < 3; way++) { /* not, skipping, skipping but for giving up */
        lud_proof_options o = proof_options();
        lud_proof_model *model = NULL;
        lud_error error = {0};
        o.queries.play = LUD_PROOF_TRAIN;
        o.negatives.per_positive = 0;
        o.limits.depth = 40;
        o.limits.skip_unary = way > 0;
        o.limits.end_action = way == 2;
        lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\n", rules.bytes, queries.bytes);
        if (lud_proof_model_create(base, &o, &model, &error)) fail_msg("%s", error.text);
        const lud_world *world = model->model.world;
        uint8_t *state = malloc(model->model.layout.state_bytes);
        const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
        bool seen[LINKS] = {false};
        for (uint32_t tick = 0; tick < 200; tick++) {
            world->reset(&model->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
            int at = s->query_index, moves = 1;
            seen[at] = true;
            for (int32_t depth = 0;; depth++) {
                const int left = LINKS - 1 - at, skips = way != 1 ? 0 : left < 5 ? left : 5;
                char name[16];
                at += skips;
                moves += skips;
                assert_int_equal(s->depth, depth);
                assert_int_equal(s->n_path, moves);
                snprintf(name, sizeof name, "a%d(b,a)", at);
                const lud_proof_atom goal = proof_atom(base, name);
                assert_memory_equal(lud_proof_goals_const(state), &goal, sizeof goal);
                if (at == LINKS - 1) break;
                const int32_t action = 0;
                world->step(&model->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state,
                            (lud_actions){.discrete = &action}, (lud_outcome){0});
                at++;
                moves++;
            }
        }
        for (int i = 0; i < LINKS; i++) assert_true(seen[i]);
        free(state);
        lud_proof_model_destroy(model);
    }
    lud_text_free(&rules);
    lud_text_free(&queries);
}

/* Each state is measured by itself: whether it is a proof. */
static void test_what_is_measured(void **unused) {
    (void)unused;
    enum { STATES = 5 };
    lud_proof_model *model = make(0, LUD_PROOF_HEAD);
    const size_t bytes = model->model.layout.state_bytes;
    uint8_t *states = calloc(STATES, bytes);
    for (int first = 0; first < STATES; first++) {
        double values[STATES + 1] = {[STATES] = 77};
        for (int e = 0; e < STATES; e++)
            ((lud_proof_state *)(void *)(states + (size_t)e * bytes))->outcome = (first + e) % STATES;
        model->model.world->measure(&model->model, STATES, states, values);
        for (int e = 0; e < STATES; e++) assert_true(values[e] == ((first + e) % STATES == LUD_PROOF_PROVED));
        assert_true(values[STATES] == 77);
    }
    free(states);
    lud_proof_model_destroy(model);
}

/* What embeddings and choices belong to: all constants, predicates and rules, in their order. */
static void test_names(void **unused) {
    (void)unused;
    lud_proof_model *model = make(0, LUD_PROOF_HEAD);
    lud_text text = {0};
    model->model.world->names(&model->model, &text);
    assert_string_equal(text.bytes, "constant a\nconstant b\nconstant c\nconstant d\nconstant e\n"
                                    "predicate p/2\npredicate t/2\n"
                                    "rule p(X,Z), t(Z,Y) -> t(X,Y)\nrule p(X,Y) -> t(X,Y)\n");
    lud_text_free(&text);
    lud_proof_model_destroy(model);
}

/* In training as many corruptions follow each query as the share asks for, to the nearest. */
static void test_corruptions_in_training(void **unused) {
    (void)unused;
    static const double ratios[] = {0, 0.4, 0.5, 0.7, 1, 1.3, 2.4, 2.5, 7};
    static const int expected[] = {0, 0, 1, 1, 1, 1, 2, 3, 7};
    for (int k = 0; k < 9; k++) {
        lud_proof_model *model = make(ratios[k], LUD_PROOF_TAIL);
        const lud_proof_batch_options o = lud_proof_training_options(model, 4, 9);
        assert_int_equal(o.negatives, expected[k]);
        assert_int_equal(o.corrupt, LUD_PROOF_TAIL);
        lud_proof_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_often_queries_are_corrupted),
        cmocka_unit_test(test_some_parts),
        cmocka_unit_test(test_what_is_measured),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_corruptions_in_training),
        cmocka_unit_test(test_single_ways_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
