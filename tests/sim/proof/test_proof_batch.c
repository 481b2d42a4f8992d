#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/knowledge/family_tree.h"
#include "sim/proof/support_proof.h"

static const char *const family_rules = "grandfather_1:1:father(x,z), father(z,y) -> grandfather(x,y)\n"
                                        "son_1:1:father(y,x), brother(x,z) -> son(x,y)\n"
                                        "father_1:1:husband(x,z), mother(z,y) -> father(x,y)\n"
                                        "father_2:1:father(x,z), sister(z,y) -> father(x,y)\n"
                                        "mother_1:1:wife(x,z), father(z,y) -> mother(x,y)\n"
                                        "brother_1:1:sister(y,x), son(x,z) -> brother(x,y)\n"
                                        "husband_1:1:wife(y,x) -> husband(x,y)\n"
                                        "wife_1:1:husband(y,x) -> wife(x,y)\n"
                                        "uncle_1:1:brother(x,z), mother(z,y) -> uncle(x,y)\n";

/* A model on a small made-up family; its training queries are its facts. */
static lud_proof_model *family_model(const lud_proof_options *options) {
    lud_text texts[3] = {{0}};
    lud_error error = {0};
    lud_family_options family = {.seed = 5, .n_founders = 12, .n_generations = 3, .test = 0.2};
    assert_int_equal(lud_family_write(&family, &texts[0], &texts[1], &texts[2], &error), LUD_OK);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, texts[0].bytes, family_rules, texts[0].bytes);
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, options, &model, &error), LUD_OK);
    for (int s = 0; s < 3; s++) lud_text_free(&texts[s]);
    return model;
}

static lud_proof_batch *make_batch(const lud_proof_model *model, lud_proof_batch_options options) {
    lud_proof_batch *batch = NULL;
    lud_error error = {0};
    if (lud_proof_batch_create(model, &options, &batch, &error)) fail_msg("%s", error.text);
    return batch;
}

static void choose(const lud_proof_batch *batch, uint32_t step, int32_t *actions) {
    for (int i = 0; i < batch->n_slots; i++) {
        lud_random_key key = {9, batch->options.first_environment + (uint32_t)i};
        int32_t n = batch->slot_begin[i + 1] - batch->slot_begin[i];
        actions[i] =
            n > 0 ? (int32_t)lud_below(lud_draw(key, step, 0, LUD_PURPOSE_ACTION, 0).v[0], (uint32_t)n) : 0;
    }
}

/* A running sum over everything a learner reads of slots first..last. */
static uint64_t digest(const lud_proof_batch *b, int first, int last, uint64_t h) {
    size_t bytes = b->model->model.layout.state_bytes;
    const uint64_t m = 0x9e3779b97f4a7c15u;
    for (int i = first; i < last; i++) {
        for (size_t k = 0; k < bytes; k++) h = (h ^ b->states[(size_t)i * bytes + k]) * m;
        for (int32_t s = b->slot_begin[i]; s < b->slot_begin[i + 1]; s++) {
            h = (h ^ b->successors.hash[s] ^ (uint64_t)(uint32_t)b->steps[s].index << 8) * m;
            for (int32_t a = b->successors.begin[s]; a < b->successors.begin[s + 1]; a++)
                h = (h ^ lud_proof_atom_hash(&b->successors.atoms[a])) * m;
        }
        for (int32_t a = b->current.begin[i]; a < b->current.begin[i + 1]; a++)
            h = (h ^ lud_proof_atom_hash(&b->current.atoms[a])) * m;
        uint32_t reward;
        memcpy(&reward, &b->rewards[i], 4);
        h = (h ^ reward ^ (uint64_t)b->terminated[i] << 40 ^ (uint64_t)b->truncated[i] << 41) * m;
    }
    return h;
}

static uint64_t play(const lud_proof_model *model, int n_threads, int steps) {
    lud_proof_batch_options options = lud_proof_training_options(model, 37, 3);
    options.n_threads = n_threads;
    lud_proof_batch *batch = make_batch(model, options);
    int32_t actions[37];
    uint64_t h = 1;
    for (int t = 0; t < steps; t++) {
        choose(batch, (uint32_t)t, actions);
        lud_proof_batch_step_reset(batch, actions);
        h = digest(batch, 0, 37, h);
    }
    lud_proof_batch_destroy(batch);
    return h;
}

static void test_threads(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    uint64_t one = play(model, 1, 80);
    for (int n = 2; n <= 8; n++) assert_true(play(model, n, 80) == one);
    lud_proof_model_destroy(model);
}

/* Slots 5..11 of a batch behave as a batch of their own that starts at environment 5. */
static void test_split(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    lud_proof_batch_options options = lud_proof_training_options(model, 12, 3);
    lud_proof_batch *whole = make_batch(model, options);
    options.n_slots = 7;
    options.first_environment = 5;
    lud_proof_batch *part = make_batch(model, options);
    int32_t actions[12];
    for (uint32_t t = 0; t < 300; t++) {
        choose(whole, t, actions);
        lud_proof_batch_step_reset(whole, actions);
        choose(part, t, actions);
        lud_proof_batch_step_reset(part, actions);
        assert_true(digest(whole, 5, 12, 1) == digest(part, 0, 7, 1));
    }
    lud_proof_batch_destroy(part);
    lud_proof_batch_destroy(whole);
    lud_proof_model_destroy(model);
}

/* A batch that was reset, at whatever moment, is as one that was just made, and goes on as that one does. */
static void test_reset(void **state) {
    (void)state;
    enum { SLOTS = 9 };
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 3);
    lud_proof_batch *played = make_batch(model, options);
    int32_t actions[SLOTS];
    int n_ended = 0;
    for (uint32_t moment = 1; moment < 40; moment++) {
        for (uint32_t t = 0; t < moment; t++) {
            choose(played, t, actions);
            lud_proof_batch_step_reset(played, actions);
        }
        for (int i = 0; i < SLOTS; i++) n_ended += played->terminated[i] || played->truncated[i];
        /* however its last step had ended */
        for (int i = 0; i < SLOTS; i++) played->terminated[i] = played->truncated[i] = (uint8_t)(moment % 2);
        lud_proof_batch_reset(played);
        lud_proof_batch *made = make_batch(model, options);
        for (uint32_t t = 0; t < 6; t++) {
            assert_true(digest(played, 0, SLOTS, 1) == digest(made, 0, SLOTS, 1));
            for (int i = 0; i < SLOTS; i++) {
                assert_int_equal(played->terminated[i], made->terminated[i]);
                assert_int_equal(played->truncated[i], made->truncated[i]);
                assert_int_equal(played->success[i], made->success[i]);
                assert_int_equal(played->label[i], made->label[i]);
                assert_int_equal(played->query[i], made->query[i]);
                assert_int_equal(played->length[i], made->length[i]);
                assert_true(played->episode_return[i] == made->episode_return[i]);
            }
            choose(played, t, actions);
            lud_proof_batch_step_reset(played, actions);
            choose(made, t, actions);
            lud_proof_batch_step_reset(made, actions);
        }
        lud_proof_batch_destroy(made);
    }
    assert_true(n_ended > 0);
    lud_proof_batch_destroy(played);
    lud_proof_model_destroy(model);
}

/* Positives and corruptions take turns; a corruption differs in one argument, in turns first and last, is
 * unknown, and its label is 0. */
static void test_negatives(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    o.negatives.per_positive = 2;
    lud_proof_model *model = family_model(&o);
    lud_proof_batch_options options = lud_proof_training_options(model, 4, 3);
    assert_int_equal(options.negatives, 2);
    lud_proof_batch *batch = make_batch(model, options);
    size_t bytes = model->model.layout.state_bytes;
    int begun[4] = {0}, corruptions = 0;
    int last_changed[4] = {1, 1, 1, 1};
    for (uint32_t t = 0; t < 600; t++) {
        for (int i = 0; i < 4; i++) {
            if (t > 0 && !batch->terminated[i] && !batch->truncated[i]) continue;
            const lud_proof_state *s =
                (const lud_proof_state *)(const void *)(batch->states + (size_t)i * bytes);
            lud_proof_atom origin = model->pools[LUD_PROOF_TRAIN].atoms[s->query_index];
            bool corrupt = begun[i]++ % 3 != 0;
            assert_int_equal(s->label, !corrupt);
            assert_int_equal(lud_proof_is_known(model, &s->query), !corrupt);
            if (corrupt) {
                int changed = s->query.terms[0] != origin.terms[0] ? 0 : 1;
                assert_int_equal(changed, !last_changed[i]);
                last_changed[i] = changed;
                origin.terms[changed] = s->query.terms[changed];
                corruptions++;
            } else {
                assert_int_equal(s->excluded >= 0, 1); /* training queries are facts */
            }
            assert_true(lud_proof_atom_equal(&origin, &s->query));
        }
        int32_t actions[4];
        choose(batch, t, actions);
        lud_proof_batch_step_reset(batch, actions);
    }
    assert_true(corruptions > 100);
    lud_proof_batch_destroy(batch);
    lud_proof_model_destroy(model);
}

/* When every corruption of an argument is known the other argument is tried, then the query is played as it
 * is. */
static void test_no_negative_left(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_error error = {0};
    const char *facts = "p(a,b)\np(b,b)\np(a,a)\np(b,a)\nq(a,b)\nq(b,b)\n";
    const char *rules =
        "r_1:1:p(x,y) -> p(x,y)\nr_2:1:q(x,y) -> q(x,y)\n"; /* they are asked for, nothing is new */
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts, rules, facts);
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
    lud_proof_atom full = proof_atom(base, "p(a,b)"), half = proof_atom(base, "q(a,b)"), out;
    lud_random_key key = {1, 0};
    assert_false(lud_proof_corrupt_once(model, &full, LUD_PROOF_HEAD, key, 0, &out));
    assert_true(lud_proof_atom_equal(&full, &out));
    assert_false(lud_proof_corrupt_once(model, &half, LUD_PROOF_HEAD, key, 0, &out));
    assert_true(lud_proof_corrupt_once(model, &half, LUD_PROOF_TAIL, key, 0, &out));
    lud_proof_atom expected = proof_atom(base, "q(a,a)");
    assert_true(lud_proof_atom_equal(&out, &expected));

    /* and so it is played, in turns with the query itself */
    lud_proof_batch_options options = lud_proof_training_options(model, 1, 3);
    options.negatives = 1;
    assert_int_equal(options.corrupt, LUD_PROOF_BOTH);
    lud_proof_batch *batch = make_batch(model, options);
    int n_begun = 0, n_half = 0, n_full = 0;
    for (uint32_t t = 0; t < 400; t++) {
        if (t == 0 || batch->terminated[0] || batch->truncated[0]) {
            const lud_proof_state *s = (const lud_proof_state *)(const void *)batch->states;
            const lud_proof_atom *origin = &model->pools[LUD_PROOF_TRAIN].atoms[s->query_index];
            if (n_begun++ % 2 == 0 || origin->predicate == full.predicate) {
                assert_int_equal(s->label, 1);
                assert_true(lud_proof_atom_equal(&s->query, origin));
                n_full += n_begun % 2 == 0;
            } else {
                assert_int_equal(s->label, 0);
                assert_int_equal(s->query.terms[0], origin->terms[0]);
                assert_int_equal(s->query.terms[1], expected.terms[1]);
                n_half++;
            }
        }
        int32_t action;
        choose(batch, t, &action);
        lud_proof_batch_step_reset(batch, &action);
    }
    assert_true(n_full > 10 && n_half > 10);
    lud_proof_batch_destroy(batch);
    lud_proof_model_destroy(model);
}

/* Candidates for ranking: distinct, unknown, uniform, blanks behind; all of them in order for k = 0. */
static void test_corruptions(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_error error = {0};
    lud_text facts = {0};
    for (int i = 0; i < 30; i++) lud_text_append(&facts, "p(e%02d,e%02d)\n", i, (i + 1) % 30);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes, "", facts.bytes);
    lud_text_free(&facts);
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
    lud_proof_atom query = proof_atom(base, "p(e03,e04)"), out[128];
    int count[31] = {0};
    for (uint32_t step = 0; step < 400; step++) {
        lud_random_key key = {7, step % 5};
        int32_t n = lud_proof_corruptions(model, &query, LUD_PROOF_BOTH, 20, key, step, out, 128);
        assert_int_equal(n, 20);
        for (int i = 0; i < 20; i++) {
            assert_false(lud_proof_is_known(model, &out[i]));
            assert_int_equal(out[i].terms[1] == query.terms[1], i < 10); /* head corruptions first */
            if (i < 10) count[out[i].terms[0]]++;
            for (int k = 0; k < i; k++) assert_false(lud_proof_atom_equal(&out[i], &out[k]));
        }
    }
    assert_int_equal(count[query.terms[0]], 0);
    for (int c = 1; c <= 30;
         c++) /* 28 candidates, 10 of them in each of 400 draws: 138 expected, 9.4 standard deviation */
        if (c != query.terms[0] && lud_proof_find_constant(base, base->constants[c], 3)) {
            lud_proof_atom one = query;
            one.terms[0] = c;
            if (lud_proof_is_known(model, &one))
                assert_int_equal(count[c], 0);
            else
                assert_in_range(count[c], 138 - 48, 138 + 48);
        }
    lud_random_key key = {1, 1};
    int32_t all = lud_proof_corruptions(model, &query, LUD_PROOF_TAIL, 0, key, 0, out, 128);
    assert_int_equal(all, 29);
    for (int i = 1; i < all; i++) assert_true(out[i - 1].terms[1] < out[i].terms[1]);
    assert_int_equal(lud_proof_corruptions(model, &query, LUD_PROOF_HEAD, 100, key, 0, out, 128), 29);
    assert_int_equal(out[29].predicate, 0);
    assert_int_equal(out[99].predicate, 0);
    assert_int_equal(lud_proof_corruptions(model, &query, LUD_PROOF_BOTH, 0, key, 0, out, 128), 58);
    lud_proof_model_destroy(model);
}

/* The six schemes, each on the four ways an episode can end. */
static void test_rewards(void **state) {
    (void)state;
    static const float expected[6][4] = {{1, 0, 0, 0},        {1, 0, -1, 0},     {1, 0, 0, 1},
                                         {1, -.5f, -1.5f, 1}, {1, -1, -1, .25f}, {1, -1, -1, .25f}};
    lud_error error = {0};
    for (int scheme = 0; scheme < 6; scheme++) {
        lud_proof_options o = proof_options();
        o.reward = scheme;
        o.negatives.per_positive = 4;
        lud_proof_base *base =
            proof_base(LUD_PROOF_TRIPLES, "p(a,b)\nr(b,a)\n", "q(X,Y) :- p(X,Y)\nq(X,Y) :- r(X,X)\n", NULL);
        lud_proof_model *model = NULL;
        assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
        lud_proof_atom queries[4] = {proof_atom(base, "q(a,b)"), proof_atom(base, "q(b,a)"),
                                     proof_atom(base, "q(a,b)"), proof_atom(base, "q(b,a)")};
        int8_t labels[4] = {1, 1, 0, 0};
        for (int give_up = 0; give_up < 2; give_up++) {
            lud_proof_batch *batch =
                make_batch(model, lud_proof_evaluation_options((lud_proof_pool){queries, labels, 4}, 4, 1));
            int32_t first[4] = {0, 0, 0, 0};
            if (give_up) first[1] = first[3] = batch->slot_begin[2] - batch->slot_begin[1] - 1;
            assert_int_equal(batch->slot_begin[1], 1); /* a proof is the only choice */
            lud_proof_batch_step(batch, first);
            if (!give_up) { /* the second is stuck one step later */
                assert_int_equal(batch->terminated[1], 0);
                assert_true(batch->rewards[1] == 0.0f);
                lud_proof_batch_step(batch, first);
            }
            float bonus = scheme == 5 && give_up ? 0.3f : 0.0f;
            for (int i = 0; i < 4; i++) {
                bool proved = i % 2 == 0;
                assert_int_equal(batch->success[i], proved);
                float reward = expected[scheme][labels[i] ? (proved ? 0 : 1) : (proved ? 2 : 3)] +
                               (i == 3 ? bonus : 0.0f);
                assert_true(batch->episode_return[i] == reward);
            }
            /* finished slots stay: no successors, no reward, also after more steps */
            lud_proof_batch_step(batch, first);
            assert_int_equal(batch->slot_begin[4], 0);
            for (int i = 0; i < 4; i++) assert_true(batch->rewards[i] == 0.0f && !batch->terminated[i]);
            lud_proof_batch_step_reset(batch, first);
            assert_true(lud_proof_batch_is_done(batch));
            lud_proof_batch_destroy(batch);
        }
        lud_proof_model_destroy(model);
    }
}

/* Shaping telescopes: with gamma 1 the return is the plain one minus the potential of the start. The world
 * pays the same as the batch. */
static void test_shaping(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    const char *facts = "p(a,b)\n", *rules = "s(X,Y) :- q(X,Y)\nq(X,Y) :- p(X,Y)\n",
               *scores = "s(a,b) 0.5 1\nq(a,b) 0.25 1\n";
    assert_int_equal(lud_proof_read_facts(builder, "f", facts, strlen(facts), &error), LUD_OK);
    assert_int_equal(lud_proof_read_rules(builder, "r", rules, strlen(rules), &error), LUD_OK);
    assert_int_equal(lud_proof_read_scores(builder, "s", scores, strlen(scores), false, 1, 0, &error),
                     LUD_OK);
    lud_proof_base *base = NULL;
    assert_int_equal(lud_proof_build(builder, NULL, &base, &error), LUD_OK);
    lud_proof_builder_destroy(builder);
    lud_proof_options o = proof_options();
    o.scores.shaping = 2;
    o.scores.shaping_gamma = 1;
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
    for (int k = 0; k < 2; k++) {
        const float gamma = k ? 0.5f : 1.0f, potentials[] = {2 * -0.6931472f, 2 * -1.3862944f, 0.0f};
        model->options.scores.shaping_gamma = (double)gamma;
        lud_proof_atom query = proof_atom(base, "s(a,b)");
        lud_proof_batch *batch =
            make_batch(model, lud_proof_evaluation_options((lud_proof_pool){&query, NULL, 1}, 1, 1));
        uint8_t *own = malloc(model->model.layout.state_bytes);
        memcpy(own, batch->states, model->model.layout.state_bytes);
        float sum = 0.0f;
        int32_t first = 0;
        for (int t = 0; t < 2; t++) {
            const float expected = (t == 1 ? 1.0f : 0.0f) + gamma * potentials[t + 1] - potentials[t];
            float reward = 0.0f;
            lud_proof_batch_step(batch, &first);
            assert_float_equal(batch->rewards[0], expected, 1e-6f);
            const uint32_t tick = (uint32_t)t;
            model->model.world->step(&model->model, (lud_range){.n = 1, .tick = &tick}, own,
                                     (lud_actions){.discrete = &first}, (lud_outcome){.rewards = &reward});
            assert_float_equal(reward, expected, 1e-6f);
            sum += expected;
        }
        assert_float_equal(batch->episode_return[0], sum, 1e-6f);
        if (!k) assert_float_equal(sum, 1.0f - potentials[0], 1e-6f);
        free(own);
        lud_proof_batch_destroy(batch);
    }
    lud_proof_model_destroy(model);
}

/* ONCE: every query that is not blank exactly once, whatever the number of slots. RANGES and IN_TURN: round
 * and round. */
static void test_orders(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    lud_proof_atom pool[50];
    assert_true(model->pools[LUD_PROOF_TRAIN].n >= 50);
    memcpy(pool, model->pools[LUD_PROOF_TRAIN].atoms, sizeof pool);
    pool[3] = pool[49] = (lud_proof_atom){0};
    for (int n_slots = 1; n_slots <= 64; n_slots = n_slots * 3 - 1) {
        lud_proof_batch *batch =
            make_batch(model, lud_proof_evaluation_options((lud_proof_pool){pool, NULL, 50}, n_slots, 1));
        int played[50] = {0};
        int32_t actions[64];
        for (uint32_t t = 0; !lud_proof_batch_is_done(batch); t++) {
            assert_true(t < 5000);
            choose(batch, t, actions);
            lud_proof_batch_step_reset(batch, actions);
            for (int i = 0; i < n_slots; i++)
                if (batch->terminated[i] || batch->truncated[i]) played[batch->query[i]]++;
        }
        for (int q = 0; q < 50; q++)
            if (played[q] != (q != 3 && q != 49))
                fail_msg("%d slots: query %d played %d times", n_slots, q, played[q]);
        lud_proof_batch_destroy(batch);
    }
    const int32_t ranges[] = {0, 2, 2, 7};
    lud_proof_batch_options options = {.n_slots = 3,
                                       .order = LUD_PROOF_IN_RANGES,
                                       .pool = model->pools[LUD_PROOF_TRAIN],
                                       .range_begin = ranges};
    for (int in_turn = 0; in_turn < 2; in_turn++) {
        if (in_turn) options.order = LUD_PROOF_IN_TURN;
        lud_proof_batch *batch = make_batch(model, options);
        int32_t expected[3] = {0, in_turn ? 1 : 0, 2}, actions[3];
        assert_int_equal(batch->resting[1], !in_turn);
        for (uint32_t t = 0; t < 300; t++) {
            choose(batch, t, actions);
            lud_proof_batch_step_reset(batch, actions);
            for (int i = 0; i < 3; i++) {
                if (!batch->terminated[i] && !batch->truncated[i]) continue;
                assert_int_equal(batch->query[i], expected[i]);
                int32_t next = expected[i] + 1;
                expected[i] = in_turn ? next % options.pool.n : next == ranges[i + 1] ? ranges[i] : next;
            }
        }
        lud_proof_batch_destroy(batch);
    }
    lud_proof_model_destroy(model);
}

/* A training batch goes on bit for bit the same whether or not an evaluation runs between its steps. */
static void test_side_by_side(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    uint64_t alone = play(model, 2, 60), h = 1;
    lud_proof_batch_options options = lud_proof_training_options(model, 37, 3);
    lud_proof_batch *training = make_batch(model, options);
    lud_proof_batch *evaluation =
        make_batch(model, lud_proof_evaluation_options(model->pools[LUD_PROOF_TRAIN], 16, 99));
    int32_t actions[37];
    for (uint32_t t = 0; t < 60; t++) {
        choose(training, t, actions);
        lud_proof_batch_step_reset(training, actions);
        h = digest(training, 0, 37, h);
        for (uint32_t k = 0; k < 3; k++) {
            choose(evaluation, t * 3 + k, actions);
            lud_proof_batch_step_reset(evaluation, actions);
        }
        if (t == 30) lud_proof_batch_reset(evaluation);
    }
    assert_true(h == alone);
    lud_proof_batch_destroy(evaluation);
    lud_proof_batch_destroy(training);
    lud_proof_model_destroy(model);
}

/* A snapshot taken in mid-episode and restored into another batch: both go on alike. */
static void test_snapshot(void **state) {
    (void)state;
    for (int skip = 0; skip < 2; skip++) {
        lud_proof_options o = proof_options();
        o.limits.skip_unary = skip;
        o.limits.end_action = !skip;
        lud_proof_model *model = family_model(&o);
        lud_proof_batch *first = make_batch(model, lud_proof_training_options(model, 37, 3));
        lud_proof_batch *second = make_batch(model, lud_proof_training_options(model, 37, 3));
        void *snapshot = malloc(lud_proof_batch_snapshot_bytes(first));
        int32_t actions[37];
        uint64_t h[2] = {1, 1};
        for (uint32_t t = 0; t < 100; t++) {
            if (t == 41) lud_proof_batch_save(first, snapshot);
            choose(first, t, actions);
            lud_proof_batch_step_reset(first, actions);
            if (t >= 41) h[0] = digest(first, 0, 37, h[0]);
        }
        choose(second, 7, actions);
        lud_proof_batch_step_reset(second, actions);
        assert_int_equal(lud_proof_batch_load(second, snapshot, NULL), LUD_OK);
        for (uint32_t t = 41; t < 100; t++) {
            choose(second, t, actions);
            lud_proof_batch_step_reset(second, actions);
            h[1] = digest(second, 0, 37, h[1]);
        }
        assert_true(h[0] == h[1]);
        free(snapshot);
        lud_proof_batch_destroy(second);
        lud_proof_batch_destroy(first);
        lud_proof_model_destroy(model);
    }
}

/* Where a slot stands is anybody's when it comes from a file: each number is looked at by itself. */
static void test_snapshots_that_make_no_sense(void **state) {
    (void)state;
    enum { SLOTS = 6, SLOT = 3 };
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    const lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 3);
    lud_proof_batch *first = make_batch(model, options), *second = make_batch(model, options);
    void *snapshot = malloc(lud_proof_batch_snapshot_bytes(first));
    int32_t actions[SLOTS];
    for (uint32_t t = 0; t < 9; t++) {
        choose(first, t, actions);
        lud_proof_batch_step_reset(first, actions);
    }
    int32_t *const whole[] = {first->pointer, first->n_negative, first->n_corrupted};
    static const char *const plays = "slot 3 plays query", *const is_at = "slot 3 is at corruption",
                             *const counts = "slot 3 counts";
    const struct {
        int field;
        int32_t value;
        const char *message;
    } wrong[] = {
        {0, -1, plays},  {0, options.pool.n, plays}, {1, -1, is_at},        {1, options.negatives + 1, is_at},
        {2, -1, counts}, {2, INT32_MAX, counts},     {2, INT32_MIN, counts}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        lud_error error = {0};
        int32_t *number = &whole[wrong[k].field][SLOT];
        const int32_t was = *number;
        *number = wrong[k].value;
        lud_proof_batch_save(first, snapshot);
        *number = was;
        assert_int_equal(lud_proof_batch_load(second, snapshot, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, wrong[k].message)) fail_msg("%s", error.text);
    }
    float *const real[] = {first->cumulated, first->rewards};
    for (size_t k = 0; k < 2; k++)
        for (int infinite = 0; infinite < 2; infinite++) {
            lud_error error = {0};
            const float was = real[k][SLOT];
            real[k][SLOT] = infinite ? -INFINITY : NAN;
            lud_proof_batch_save(first, snapshot);
            real[k][SLOT] = was;
            assert_int_equal(lud_proof_batch_load(second, snapshot, &error), LUD_ERROR_INPUT);
            if (!strstr(error.text, "slot 3 has a reward that is not finite")) fail_msg("%s", error.text);
        }
    lud_error error = {0};
    first->resting[SLOT] = 2;
    lud_proof_batch_save(first, snapshot);
    first->resting[SLOT] = 0;
    assert_int_equal(lud_proof_batch_load(second, snapshot, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "slot 3 rests 2 times");
    lud_proof_batch_save(first, snapshot);
    assert_int_equal(lud_proof_batch_load(second, snapshot, &error), LUD_OK);
    free(snapshot);
    lud_proof_batch_destroy(second);
    lud_proof_batch_destroy(first);
    lud_proof_model_destroy(model);
}

/* With the memory on no state comes twice in an episode; without it some do. */
static void test_memory(void **state) {
    (void)state;
    lud_error error = {0};
    int repeats[2] = {0};
    for (int memory = 0; memory < 2; memory++) {
        lud_proof_options o = proof_options();
        o.limits.memory = memory;
        o.limits.end_action = false;
        lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\np(b,c)\n",
                                          "q(X,Y) :- q(Y,X)\nq(X,Y) :- q(X,Z), p(Z,Y)\n", NULL);
        lud_proof_model *model = NULL;
        assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
        lud_proof_atom query = proof_atom(base, "q(a,c)");
        lud_proof_batch *batch =
            make_batch(model, lud_proof_evaluation_options((lud_proof_pool){&query, NULL, 1}, 1, 1));
        uint64_t seen[64];
        int n = 0;
        for (uint32_t t = 0; batch->slot_begin[1] > 0; t++) {
            uint64_t hash = batch->current.hash[0];
            for (int i = 0; i < n; i++) repeats[memory] += seen[i] == hash;
            seen[n++] = hash;
            int32_t action;
            choose(batch, t, &action);
            lud_proof_batch_step(batch, &action);
        }
        lud_proof_batch_destroy(batch);
        lud_proof_model_destroy(model);
    }
    assert_true(repeats[0] > 0);
    assert_int_equal(repeats[1], 0);
}

/* Unary states are passed without an action, at most five in a row, and count in the path but not in the
 * depth. */
static void test_skip_unary(void **state) {
    (void)state;
    lud_error error = {0};
    lud_text rules = {0};
    for (int i = 0; i < 9; i++) lud_text_append(&rules, "p%d(X,Y) :- p%d(X,Y)\n", i, i + 1);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p9(a,b)\n", rules.bytes, NULL);
    lud_text_free(&rules);
    lud_proof_options o = proof_options();
    o.limits.end_action = false;
    o.limits.skip_unary = true;
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
    lud_proof_atom query = proof_atom(base, "p0(a,b)");
    lud_proof_batch *batch =
        make_batch(model, lud_proof_evaluation_options((lud_proof_pool){&query, NULL, 1}, 1, 1));
    char *text = proof_goals_text(base, batch->current.atoms, 1);
    assert_string_equal(text, "p5(a,b)");
    free(text);
    int32_t action = 0;
    lud_proof_batch_step(batch, &action); /* to p6, then on to p8, where True is the only successor */
    lud_proof_batch_step(batch, &action);
    assert_true(batch->success[0]);
    assert_int_equal(batch->length[0], 2);
    lud_proof_batch_destroy(batch);
    lud_proof_model_destroy(model);
}

/* Batches that cannot be. */
static void test_refused(void **state) {
    (void)state;
    lud_proof_options o = proof_options();
    lud_proof_model *model = family_model(&o);
    lud_proof_batch *batch;
    lud_error error = {0};
    lud_proof_batch_options options = lud_proof_training_options(model, 0, 1);
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "a batch needs at least one slot");
    options = lud_proof_training_options(model, 4, 1);
    options.pool.n = 0;
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "no queries to play (after the filters of the scenario)");
    const int64_t per_slot = (int64_t)model->limits.max_successors * model->limits.max_goals;
    options = lud_proof_training_options(model, (int)(INT32_MAX / per_slot) + 1, 1);
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, &error), LUD_ERROR_LIMIT);
    char expected[160];
    snprintf(expected, sizeof expected,
             "%d slots x %d successors x %d goals are more than 2^31 goals in a batch", options.n_slots,
             model->limits.max_successors, model->limits.max_goals);
    assert_string_equal(error.text, expected);
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_negatives),
        cmocka_unit_test(test_no_negative_left),
        cmocka_unit_test(test_corruptions),
        cmocka_unit_test(test_rewards),
        cmocka_unit_test(test_shaping),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_skip_unary),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_snapshots_that_make_no_sense),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
