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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_ranks_are_plain_ranks),
        cmocka_unit_test(new_weights_are_seen),
    };
    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
