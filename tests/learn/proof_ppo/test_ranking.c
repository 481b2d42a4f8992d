/* The fast ranking against the plain one: what is left out, kept or run together changes no rank, no count
 * and no bit of what became of the true triples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "learn/proof_ppo/evaluation/refuter.h"
#include "learn/proof_ppo/proof_ppo.h"

static const char *const graphs[] = {LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml",
                                     LUDUS_SOURCE_DIR "/scenarios/defaults/company.yaml"};

/* Networks that see a set of goals, their order, and what lies ahead; the first is wide enough for products
 * that a library would cut by the number of rows. */
static const char *const networks[] = {
    "{embedding_size: 64, hidden: 256, layers: 1, temperature: 0.1, states: mean}",
    "{embedding_size: 24, hidden: 48, layers: 1, temperature: 0.2, states: concat, atoms: concat}",
    ("{embedding_size: 24, hidden: 48, layers: 1, temperature: 0.2, states: transformer, atoms: rotate, "
     "look_ahead: 1}"),
    "{embedding_size: 16, hidden: 32, layers: 0, temperature: 0.5, states: rnn, atoms: attention}"};

typedef struct opened {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
} opened;

/* A learner that has learned a little, so that some true triples are proved and some are not. */
static opened open_trained(const char *graph, const char *network) {
    char learner[512];
    snprintf(
        learner, sizeof learner,
        "learner={type: proof-ppo, automatic: false, network: %s, n_envs: 32, n_steps: 16, batch_size: "
        "128, total_steps: 4096, learning_rate: {start: 0.003, warmup: 0}, evaluation: {every: 0, queries: "
        "1, candidates: 1}}",
        network);
    const char *const set[] = {learner};
    opened o = {0};
    lud_error error = {0};
    double row[64];
    if (lud_scenario_load(graph, set, 1, &o.scenario, &error) ||
        lud_device_open("cpu", 1, &o.device, &error) ||
        lud_learner_create(o.scenario, o.device, &o.learner, &error))
        fail_msg("%s", error.text);
    for (int i = 0; i < 6; i++) assert_int_equal(o.learner->kind->iterate(o.learner, row, &error), LUD_OK);
    return o;
}

static void close_trained(opened *o) {
    lud_learner_destroy(o->learner);
    lud_device_close(o->device);
    lud_scenario_destroy(o->scenario);
}

enum { QUERIES = 10 };

/* Ranks test queries and returns how many states passed through the network. */
static uint64_t rank(opened *o, const lud_proof_rank_options *options, bool plain,
                     lud_proof_ranking_query ranked[QUERIES]) {
    lud_proof_ranker *ranker = NULL;
    const lud_proof_model *model = lud_proof_ppo_model(o->learner);
    assert_int_equal(lud_proof_ranker_create(model, lud_proof_ppo_net(o->learner, false), options,
                                             LUD_PROOF_BOTH, 1, &ranker, NULL),
                     LUD_OK);
    lud_proof_ranker_play_all(ranker, plain);
    lud_proof_ranker_forget(ranker, plain);
    assert_int_equal(lud_proof_rank(ranker, model->pools[LUD_PROOF_TEST], 0, QUERIES, ranked, NULL), LUD_OK);
    const uint64_t n_states = lud_proof_ranker_states(ranker);
    lud_proof_ranker_destroy(ranker);
    return n_states;
}

static void compare(const lud_proof_ranking_query *fast, const lud_proof_ranking_query *plain) {
    assert_true(fast->played.log_prob == plain->played.log_prob && fast->played.odds == plain->played.odds);
    assert_int_equal(fast->played.proved, plain->played.proved);
    assert_int_equal(fast->played.length, plain->played.length);
    for (int mode = 0; mode < 2; mode++) {
        const lud_proof_ranked *a = &fast->modes[mode], *b = &plain->modes[mode];
        assert_true(a->rank == b->rank && a->mean_rank == b->mean_rank);
        assert_int_equal(a->n_negatives, b->n_negatives);
        assert_int_equal(a->n_negatives_proved, b->n_negatives_proved);
    }
}

/* Most probable paths by each score, without giving up, and the two searches. */
static void fast_ranks_are_plain_ranks(void **state) {
    (void)state;
    enum { PATH, COMPLEMENT, SMALL_PENALTY, ODDS, NO_END, BEAM, BEST_FIRST, KINDS };
    int n_proved = 0, n_failed = 0, n_between = 0;
    for (size_t g = 0; g < (SANITIZED ? 1 : sizeof graphs / sizeof *graphs); g++)
        for (size_t k = 0; k < sizeof networks / sizeof *networks; k++) {
            opened o = open_trained(graphs[g], networks[k]);
            for (int kind = 0; kind < KINDS; kind++) {
                lud_proof_rank_options options = lud_proof_ppo_get_options(o.learner)->evaluation.rank;
                options.candidates = SANITIZED ? 3 : 12;
                options.score = kind == ODDS ? LUD_PROOF_SCORE_ODDS : LUD_PROOF_SCORE_PATH;
                options.failure = kind == COMPLEMENT ? LUD_PROOF_FAILURE_COMPLEMENT : LUD_PROOF_FAILURE_PATH;
                options.fail_penalty = kind == SMALL_PENALTY ? 0.5 : kind == ODDS ? 2.0 : 100.0;
                options.give_up = kind != NO_END;
                options.beam = kind == BEAM ? 3 : 1;
                options.best_first = kind == BEST_FIRST ? 8 : 0;
                lud_proof_ranking_query fast[QUERIES], plain[QUERIES];
                options.n_slots = 3;
                const uint64_t n_plain = rank(&o, &options, true, plain);
                options.n_slots = 40;
                const uint64_t n_fast = rank(&o, &options, false, fast);
                assert_true(n_fast > 0 && n_fast < n_plain);
                for (int q = 0; q < QUERIES; q++) {
                    compare(&fast[q], &plain[q]);
                    n_proved += fast[q].played.proved;
                    n_failed += !fast[q].played.proved;
                    n_between += fast[q].modes[0].rank > 1.0 &&
                                 fast[q].modes[0].rank < 1.0 + fast[q].modes[0].n_negatives;
                }
            }
            close_trained(&o);
        }
    print_message("true triples: %d proved, %d not; %d stand in the middle\n", n_proved, n_failed, n_between);
    assert_true(SANITIZED || (n_proved > 20 && n_failed > 20 && n_between > 20));
}

/* A ranking after the weights have changed remembers nothing of those before. */
static void new_weights_are_seen(void **state) {
    (void)state;
    opened o = open_trained(graphs[0], networks[1]);
    const lud_proof_rank_options options = lud_proof_ppo_get_options(o.learner)->evaluation.rank;
    const lud_proof_model *model = lud_proof_ppo_model(o.learner);
    lud_proof_ranker *ranker = NULL;
    lud_proof_found before[QUERIES], after[QUERIES], fresh[QUERIES];
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lud_proof_ranker_create(model, lud_proof_ppo_net(o.learner, false), &options,
                                                 LUD_PROOF_BOTH, 1, &ranker, NULL),
                         LUD_OK);
        const lud_proof_atom *atoms = model->pools[LUD_PROOF_TEST].atoms;
        if (i == 0) {
            assert_int_equal(lud_proof_play(ranker, atoms, QUERIES, before, NULL), LUD_OK);
            assert_int_equal(o.learner->kind->iterate(o.learner, row, &error), LUD_OK);
        }
        assert_int_equal(lud_proof_play(ranker, atoms, QUERIES, i ? fresh : after, NULL), LUD_OK);
        lud_proof_ranker_destroy(ranker);
    }
    int n_changed = 0;
    for (int q = 0; q < QUERIES; q++) {
        n_changed += before[q].log_prob != after[q].log_prob;
        assert_true(after[q].log_prob == fresh[q].log_prob && after[q].length == fresh[q].length);
    }
    assert_true(n_changed > 0);
    close_trained(&o);
}

/* ---- what may be asked of the exact prover ---- */

/* The most matches that a question of a test may cost. */
enum { PLENTY = 1 << 22 };

/* Asks until the answer is complete. Returns how often it asked; at every time all questions have cost no
 * more than an eighth of what they are about and half of what was answered. */
static int ask_until_complete(lud_proof_refuter *r, const lud_proof_atom *query, int argument,
                              int64_t worth) {
    lud_error error;
    int n = 0;
    for (r->complete = false; !r->complete; n++) {
        lud_proof_refuter_allow(r, worth);
        const int64_t credit = r->credit, spent = r->spent;
        assert_int_equal(lud_proof_refuter_ask(r, query, argument, worth, &error), LUD_OK);
        /* the match that meets the limit is counted */
        assert_true(r->spent - spent <= credit + 1);
        assert_int_equal(r->credit, credit - (r->spent - spent) + (r->complete ? worth / 2 : 0));
        for (int32_t c = 1; c <= r->base->n_constants && !r->complete; c++)
            assert_false(lud_proof_refutes(r, c));
        assert_true(n < 1000000);
    }
    return n;
}

/* Questions cost a part of what playing would cost and of what they saved: with little at a time an answer
 * comes after many, since nothing that was derived is lost, and it is the answer of those that may cost what
 * they like. Every true triple is possible. */
static void questions_are_paid_for(void **state) {
    (void)state;
    opened o = {0};
    lud_error error = {0};
    if (lud_scenario_load(graphs[0], NULL, 0, &o.scenario, &error)) fail_msg("%s", error.text);
    const lud_proof_model *model = (const lud_proof_model *)(const void *)o.scenario->model;
    const lud_proof_pool test = model->pools[LUD_PROOF_TEST];
    lud_proof_refuter rich, poor, none;
    assert_int_equal(lud_proof_refuter_create(model->base, &rich, &error), LUD_OK);
    assert_int_equal(lud_proof_refuter_create(model->base, &poor, &error), LUD_OK);
    assert_int_equal(lud_proof_refuter_create(model->base, &none, &error), LUD_OK);
    int most = 0;
    int64_t refuted = 0;
    for (int q = 0; q < 6; q++)
        for (int argument = 0; argument < 2; argument++) {
            const lud_proof_atom *query = &test.atoms[q];
            assert_int_equal(ask_until_complete(&rich, query, argument, PLENTY), 1);
            const int n = ask_until_complete(&poor, query, argument, 800);
            if (n > most) most = n;
            for (int32_t c = 1; c <= model->base->n_constants; c++) {
                assert_int_equal(lud_proof_refutes(&poor, c), lud_proof_refutes(&rich, c));
                refuted += lud_proof_refutes(&rich, c);
            }
            if (lud_proof_refutes(&rich, query->terms[argument])) { /* then it does not follow at all */
                lud_prover_answer answer;
                assert_int_equal(lud_prover_answer_query(model->base, query, lud_prover_effort_to_solve,
                                                         &answer, NULL, &error),
                                 LUD_OK);
                assert_int_equal(answer, LUD_PROVER_REFUTED);
            }
            lud_proof_refuter_allow(&none, 7);
            assert_int_equal(lud_proof_refuter_ask(&none, query, argument, 1000, &error), LUD_OK);
            assert_true(none.spent == 0 && !none.complete);
        }
    assert_true(most > 10 && refuted > 0);
    assert_true(rich.spent >= poor.spent / 2 && poor.spent >= rich.spent / 2);
    lud_proof_refuter_free(&rich);
    lud_proof_refuter_free(&poor);
    lud_proof_refuter_free(&none);
    lud_scenario_destroy(o.scenario);
}

/* A wider network is dearer to ask, so that more may be asked of the prover. */
static void a_state_is_worth_its_weights(void **state) {
    (void)state;
    assert_int_equal(lud_proof_refuter_worth(0), 40);
    assert_int_equal(lud_proof_refuter_worth(2500000), 1040);
    opened o = open_trained(graphs[0], networks[1]);
    /* the goals of a state side by side, each its predicate and two arguments of 24 numbers */
    const lud_proof_net *net = lud_proof_ppo_net(o.learner, false);
    const int64_t in = lud_proof_ppo_model(o.learner)->limits.max_goals * 3 * 24;
    const int64_t layers = (in + 1) * 48 + 2 * 48 + (48 + 1) * 48 + 2 * 48,
                  head = (48 + 1) * 48 + (48 + 1) * 24;
    assert_int_equal(lud_proof_net_weights(net), layers + head);
    close_trained(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_ranks_are_plain_ranks),
        cmocka_unit_test(new_weights_are_seen),
        cmocka_unit_test(questions_are_paid_for),
        cmocka_unit_test(a_state_is_worth_its_weights),
    };
    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
