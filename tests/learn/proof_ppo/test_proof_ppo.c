/* Learner proof-ppo on the shipped family tree: it learns, resumes bit for bit, ranks as a naive ranking
 * does, and claims no false proof. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "folder.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/proof_ppo/search/beam.h"
#include "learn/proof_ppo/search/best_first.h"
#include "learn/proof_ppo/support_proof.h"
#include "learn/support_trainings.h"
#include "learn/train.h"
#include "sim/proof/prover.h"

TEST_FOLDER("/tmp/ludus-proof-ppo-XXXXXX")

static const char *const small[] = {
    ("learner.network={embedding_size: 24, hidden: 48, layers: 1, dropout: 0, "
     "constant_scale: 0.02, states: concat, temperature: 0.2}"),
    "learner.n_envs=32",
    "learner.n_steps=16",
    "learner.batch_size=200",
    "learner.total_steps=3072",
    "learner.evaluation={every: 2, queries: 6, candidates: 5, slots: 7}"};
enum { N_SMALL = sizeof small / sizeof *small };

typedef struct trained {
    lud_scenario *scenario;
    const lud_proof_model *model;
    lud_device *device;
    lud_learner *learner;
} trained;

static trained make(const char *const *set, int n_set) {
    trained t = {.scenario = support_proof_scenario(set, n_set)};
    lud_error error = {0};
    t.model = (const lud_proof_model *)(const void *)t.scenario->model;
    assert_int_equal(lud_device_open("cpu", 1, &t.device, NULL), LUD_OK);
    const lud_status status = lud_learner_create(t.scenario, t.device, &t.learner, &error);
    if (status) print_error("%s\n", error.text);
    assert_int_equal(status, LUD_OK);
    return t;
}

static void drop(trained *t) {
    lud_learner_destroy(t->learner);
    lud_device_close(t->device);
    lud_scenario_destroy(t->scenario);
}

static int column(const lud_learner *learner, const char *name) {
    for (int i = 0; i < learner->n_columns; i++)
        if (strcmp(learner->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return -1;
}

/* ---- resuming ---- */

static void train_part(const char *name, bool resume, uint64_t stop_after, lud_status expected) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const lud_train_options options = {
        .folder = path, .resume = resume, .stop_after = stop_after, .configuration = "ludus: 1\n"};
    const char *set[N_SMALL + 1];
    memcpy(set, small, sizeof small);
    set[N_SMALL] = "learner.network.dropout=0.1";
    trained t = make(set, N_SMALL + 1);
    lud_train_result result;
    lud_error error = {0};
    assert_int_equal(lud_train(t.learner, &options, &result, &error), expected);
    drop(&t);
}

static void resume_equals_no_interruption(void **state) {
    (void)state;
    train_part("whole", false, 0, LUD_OK);
    train_part("parts", false, 1, LUD_INTERRUPTED);
    train_part("parts", true, 3, LUD_INTERRUPTED);
    train_part("parts", true, 0, LUD_OK);
    support_expect_same_runs(folder, "whole", "parts");
}

/* ---- schedules ---- */

static void schedules_act(void **state) {
    (void)state;
    const char *set[N_SMALL + 3];
    memcpy(set, small, sizeof small);
    set[N_SMALL + 2] = "learner.target_kl=0"; /* every planned batch is taken */
    set[N_SMALL] = "learner.learning_rate={start: 0.01, end: 0.001, decay: linear, warmup: 0.5}";
    set[N_SMALL + 1] = "learner.entropy={start: 0.2, end: 0.1, decay: linear, until: 0.5}";
    trained t = make(set, N_SMALL + 3);
    const int n_iterations = (int)t.learner->n_iterations, rate = column(t.learner, "learning_rate");
    const int entropy = column(t.learner, "entropy_coefficient");
    assert_int_equal(n_iterations, 6);
    double rates[6], entropies[6];
    for (int i = 0; i < n_iterations; i++) {
        double row[64];
        assert_int_equal(t.learner->kind->iterate(t.learner, row, NULL), LUD_OK);
        rates[i] = row[rate];
        entropies[i] = row[entropy];
        assert_true(isfinite(row[column(t.learner, "loss/policy")]) &&
                    row[column(t.learner, "policy/kl")] >= 0);
    }
    assert_true(rates[0] < rates[1] && rates[1] < rates[2]); /* warm-up */
    assert_true(fabs(rates[2] - 0.01) < 1e-9 && rates[3] > rates[4] && rates[4] > rates[5]);
    assert_true(entropies[0] > entropies[1] && entropies[1] > entropies[2]);
    assert_true(entropies[3] == 0.1 && entropies[5] == 0.1);
    drop(&t);
}

/* Validation queries are ranked every so many iterations and behind the last one; the best so far is the best
 * of those and of the ranking before the first. */
static void rankings_come_when_they_are_due(void **state) {
    (void)state;
    static const int every[] = {0, 4};
    for (int k = 0; k < 2; k++) {
        char text[64];
        const char *set[N_SMALL + 1];
        memcpy(set, small, sizeof small);
        snprintf(text, sizeof text, "learner.evaluation.every=%d", every[k]);
        set[N_SMALL] = text;
        trained t = make(set, N_SMALL + 1);
        const lud_proof_learner_state *p = (const lud_proof_learner_state *)t.learner;
        const int mrr = column(t.learner, "valid/mrr"), best = column(t.learner, "valid/best_mrr");
        const int n_iterations = (int)t.learner->n_iterations;
        double highest = -1.0;
        for (int i = 1; i <= n_iterations; i++) {
            double row[64];
            for (int c = 0; c < 64; c++) row[c] = NAN;
            assert_int_equal(t.learner->kind->iterate(t.learner, row, NULL), LUD_OK);
            const bool due = i == n_iterations || (every[k] > 0 && i % every[k] == 0);
            if (i == 1) highest = p->best_mrr; /* of what nothing had been learned by */
            assert_true(highest >= 0.0);
            assert_int_equal(!isnan(row[mrr]), due);
            assert_int_equal(!isnan(row[best]), due);
            if (!due) continue;
            highest = fmax(highest, row[mrr]);
            assert_true(row[best] == highest);
        }
        drop(&t);
    }
}

/* The sum of gradients, and so everything learned, does not depend on the size of chunks beyond rounding. */
static void chunks_do_not_matter(void **state) {
    (void)state;
    double losses[2];
    for (int i = 0; i < 2; i++) {
        const char *set[N_SMALL + 2];
        memcpy(set, small, sizeof small);
        set[N_SMALL] = i ? "learner.chunk_rows=4096" : "learner.chunk_rows=16";
        set[N_SMALL + 1] = "learner.n_epochs=1";
        trained t = make(set, N_SMALL + 2);
        double row[64];
        assert_int_equal(t.learner->kind->iterate(t.learner, row, NULL), LUD_OK);
        losses[i] = row[column(t.learner, "loss/value")];
        drop(&t);
    }
    assert_true(fabs(losses[0] - losses[1]) < 1e-4 * fabs(losses[0]));
}

/* ---- ranking ---- */

static void ranks_follow_the_rule(void **state) {
    (void)state;
    const double score[] = {1.0, 2.0, 1.0, 1.0, 0.0, 1.0}, draw[] = {0.5, 0.1, 0.9, 0.2, 0.99, 0.6};
    double mean;
    assert_true(lud_proof_rank_first(score, draw, 6, &mean) == 4.0); /* one above, two of three ties win */
    assert_true(mean == 1.0 + 1.0 + 1.5);
    assert_true(lud_proof_rank_first(score, draw, 1, &mean) == 1.0 && mean == 1.0);
    const double equal[] = {0.0, 0.0, 0.0}, lost[] = {0.0, 0.5, 0.6};
    assert_true(lud_proof_rank_first(equal, lost, 3, &mean) == 3.0 && mean == 2.0);
    /* what cannot be compared counts against the true triple, whoever has it */
    const double of_true[] = {NAN, 1.0, 2.0}, of_others[] = {1.0, NAN, 0.5, NAN}, nobody[] = {NAN, NAN, NAN};
    assert_true(lud_proof_rank_first(of_true, lost, 3, &mean) == 3.0 && mean == 3.0);
    assert_true(lud_proof_rank_first(of_others, draw, 4, &mean) == 3.0 && mean == 3.0);
    assert_true(lud_proof_rank_first(nobody, lost, 3, &mean) == 3.0 && mean == 3.0);
}

/* One candidate by itself, step by step, without batches. */
static lud_proof_found play_naively(lud_proof_net *net, const lud_proof_atom *query, bool give_up) {
    const lud_proof_model *model = net->model;
    const size_t lists = (size_t)model->limits.max_successors;
    lud_proof_decisions d;
    assert_int_equal(lud_proof_decisions_create(model, 1, lud_proof_net_sees(net), &d, NULL), LUD_OK);
    lud_proof_successors out = {.begin = calloc(lists + 1, sizeof *out.begin),
                                .atoms = calloc(lists * (size_t)model->limits.max_goals, sizeof *out.atoms),
                                .hash = calloc(lists, sizeof *out.hash),
                                .step = calloc(lists, sizeof *out.step)};
    uint8_t *bytes = calloc(1, model->model.layout.state_bytes);
    double *log_probs = calloc(lists, sizeof *log_probs);
    lud_proof_state *head = (lud_proof_state *)(void *)bytes;
    lud_proof_start(model, query, 1, 0, bytes);
    lud_proof_found played = {0};
    int n_odds = 0;
    while (head->outcome == LUD_PROOF_RUNNING) {
        out.n = 0;
        out.begin[0] = 0;
        lud_proof_settle(model, bytes, &out, NULL);
        const lud_proof_lists view = {out.n, out.begin, out.atoms, out.hash};
        lud_proof_decisions_clear(&d);
        lud_proof_decisions_add(&d, bytes, &view, 0, out.n);
        lud_proof_net_load(net, &d, NULL, 0, 1);
        lud_proof_net_forward(net, false);
        lud_proof_log_softmax(net->logits, out.n, log_probs);
        const bool may_end =
            out.n > 1 && out.atoms[out.begin[out.n - 1]].predicate == lud_proof_end(model->base);
        int best = 0;
        for (int i = 1; i < (may_end && !give_up ? out.n - 1 : out.n); i++)
            if (log_probs[i] > log_probs[best]) best = i;
        if (may_end) {
            const double p = exp(log_probs[out.n - 1]);
            played.odds += log((1.0 - p) / p);
            n_odds++;
        }
        played.log_prob += log_probs[best];
        lud_proof_enter(model, out.atoms + out.begin[best], out.begin[best + 1] - out.begin[best],
                        out.step[best], bytes);
    }
    played.proved = head->outcome == LUD_PROOF_PROVED;
    played.length = head->depth;
    if (n_odds > 0) played.odds /= n_odds;
    lud_proof_decisions_free(&d);
    free(out.begin);
    free(out.atoms);
    free(out.hash);
    free(out.step);
    free(bytes);
    free(log_probs);
    return played;
}

static double naive_score(const lud_proof_rank_options *options, const lud_proof_found *played) {
    const double score = options->score == LUD_PROOF_SCORE_ODDS ? played->odds : played->log_prob;
    return score - (played->proved ? 0.0 : options->fail_penalty);
}

static void ranking_equals_naive(void **state) {
    (void)state;
    const char *set[N_SMALL + 1];
    memcpy(set, small, sizeof small);
    set[N_SMALL] = "learner.network.constant_scale=1"; /* no choice is nearly a tie, see `states` */
    trained t = make(set, N_SMALL + 1);
    lud_proof_net *net = lud_proof_ppo_net(t.learner, false);
    lud_proof_rank_options options = lud_proof_ppo_get_options(t.learner)->evaluation.rank;
    enum { QUERIES = 5, CANDIDATES = 9 };
    options.candidates = CANDIDATES;
    options.n_slots = 4; /* fewer than candidates: slots are used again */
    const lud_proof_pool pool = t.model->pools[LUD_PROOF_TEST];
    int n_compared = 0;
    for (int kind = 0; kind < 4; kind++) {
        options.score = kind / 2 ? LUD_PROOF_SCORE_ODDS : LUD_PROOF_SCORE_PATH;
        options.give_up = kind % 2;
        options.fail_penalty = kind / 2 ? 1.0 : 100.0;
        lud_proof_ranker *ranker = NULL;
        assert_int_equal(lud_proof_ranker_create(net->model, net, &options, LUD_PROOF_BOTH, 1, &ranker, NULL),
                         LUD_OK);
        lud_proof_ranking_query ranked[QUERIES];
        assert_int_equal(lud_proof_rank(ranker, pool, 0, QUERIES, ranked, NULL), LUD_OK);
        lud_proof_ranker_destroy(ranker);
        for (int q = 0; q < QUERIES; q++) {
            const lud_proof_found truth = play_naively(net, &pool.atoms[q], options.give_up);
            assert_int_equal(ranked[q].played.proved, truth.proved);
            assert_int_equal(ranked[q].played.length, truth.length);
            assert_true(fabs(ranked[q].played.log_prob - truth.log_prob) < 1e-4);
            assert_true(fabs(ranked[q].played.odds - truth.odds) < 1e-4);
            for (int mode = 0; mode < 2; mode++) {
                lud_proof_atom list[CANDIDATES];
                const int32_t n =
                    lud_proof_corruptions(t.model, &pool.atoms[q], (lud_proof_corrupt)mode, CANDIDATES,
                                          (lud_random_key){0, (uint32_t)q}, (uint32_t)mode, list, CANDIDATES);
                double scores[CANDIDATES + 1], rank = 1.0;
                scores[0] = naive_score(&options, &truth);
                bool close = false; /* sums of logits in another batch may differ in the last bits */
                for (int32_t i = 0; i < n; i++) {
                    const lud_proof_found played = play_naively(net, &list[i], options.give_up);
                    scores[i + 1] = naive_score(&options, &played);
                    close |= fabs(scores[i + 1] - scores[0]) < 1e-4;
                    rank += scores[i + 1] > scores[0];
                    assert_false(lud_proof_is_known(t.model, &list[i]));
                }
                assert_int_equal(ranked[q].modes[mode].n_negatives, n);
                if (!close) assert_true(ranked[q].modes[mode].rank == rank);
                n_compared += !close;
            }
        }
    }
    assert_true(n_compared > 4 * QUERIES);
    drop(&t);
}

/* ---- proofs ---- */

/* Whether the exact prover derives a query without the query itself. */
static bool follows(const lud_proof_base *base, const lud_proof_atom *query) {
    const lud_prover_options options = {.excluded =
                                            lud_proof_find_fact(base, query, lud_proof_atom_hash(query))};
    lud_prover *prover = NULL;
    lud_prover_answer answer = LUD_PROVER_UNDECIDED;
    assert_int_equal(lud_prover_create(base, &options, &prover, NULL), LUD_OK);
    assert_int_equal(lud_prover_ask(prover, query, &answer, NULL), LUD_OK);
    lud_prover_destroy(prover);
    return answer == LUD_PROVER_PROVED;
}

static void no_false_proof(void **state) {
    (void)state;
    trained t = make(small, N_SMALL);
    lud_proof_net *net = lud_proof_ppo_net(t.learner, false);
    const lud_proof_pool pool = t.model->pools[LUD_PROOF_TEST];
    enum { TRUE_ONES = 60, N = 2 * TRUE_ONES, WIDTH = 6 };
    lud_proof_atom queries[N];
    for (int i = 0; i < TRUE_ONES; i++) {
        queries[i] = pool.atoms[i];
        queries[TRUE_ONES + i] = pool.atoms[i]; /* swapped arguments: mostly false, sometimes true */
        queries[TRUE_ONES + i].terms[0] = pool.atoms[i].terms[1];
        queries[TRUE_ONES + i].terms[1] = pool.atoms[i].terms[0];
    }
    lud_proof_beam *wide = NULL, *narrow = NULL;
    assert_int_equal(lud_proof_beam_create(net, N, WIDTH, &wide, NULL), LUD_OK);
    assert_int_equal(lud_proof_beam_create(net, N, 1, &narrow, NULL), LUD_OK);
    lud_proof_found results[N], greedy[N];
    uint8_t *states = calloc(N, t.model->model.layout.state_bytes);
    lud_proof_beam_run(wide, queries, N, results, states);
    lud_proof_beam_run(narrow, queries, N, greedy, NULL);
    int proved = 0, proved_greedily = 0;
    for (int i = 0; i < N; i++) {
        if (i % 10 == 0) { /* a beam of one path is the greedy search */
            const lud_proof_found played = play_naively(net, &queries[i], true);
            assert_int_equal(played.proved, greedy[i].proved);
            assert_int_equal(played.length, greedy[i].length);
        }
        proved_greedily += greedy[i].proved;
        if (!results[i].proved) continue;
        proved++;
        assert_true(follows(t.model->base, &queries[i]));
        lud_proof_tree tree = {0};
        assert_int_equal(
            lud_proof_tree_of(t.model, states + (size_t)i * t.model->model.layout.state_bytes, &tree, NULL),
            LUD_OK);
        assert_true(lud_proof_tree_is_closed(&tree));
        const int32_t own = lud_proof_find_fact(t.model->base, &queries[i], lud_proof_atom_hash(&queries[i]));
        assert_true(lud_proof_tree_check(t.model->base, &queries[i], own, &tree));
        lud_proof_tree_free(&tree);
    }
    print_message("%d of %d proved by the most probable path, %d by six\n", proved_greedily, N, proved);
    assert_true(proved > proved_greedily);
    free(states);
    lud_proof_beam_destroy(wide);
    lud_proof_beam_destroy(narrow);
    drop(&t);
}

/* Whether some path on from a state that is more probable than `limit` is a proof; tries them all. */
static bool has_better_proof(lud_proof_net *net, const uint8_t *state, double log_prob, double limit) {
    const lud_proof_model *model = net->model;
    const size_t bytes = model->model.layout.state_bytes;
    if (((const lud_proof_state *)(const void *)state)->outcome == LUD_PROOF_PROVED) return true;
    if (((const lud_proof_state *)(const void *)state)->outcome != LUD_PROOF_RUNNING) return false;
    lud_proof_expander x;
    uint8_t *here = calloc(1, bytes), *next = calloc(1, bytes);
    memcpy(here, state, bytes);
    assert_int_equal(lud_proof_expander_create(net, 1, &x, NULL), LUD_OK);
    lud_proof_expander_clear(&x);
    lud_proof_expander_add(&x, here);
    lud_proof_expander_run(&x);
    bool found = false;
    for (int32_t k = 0; k < x.begin[1] && !found; k++) {
        if (log_prob + x.log_probs[k] <= limit) continue;
        lud_proof_expander_enter(&x, k, here, next);
        found = has_better_proof(net, next, log_prob + x.log_probs[k], limit);
    }
    lud_proof_expander_free(&x);
    free(here);
    free(next);
    return found;
}

/* Best-first search finds the most probable proof of all, few slots do what many do, a budget of one
 * expansion proves only what is proved at once, and every proof holds. */
static void best_first_is_best(void **state) {
    (void)state;
    const char *set[N_SMALL + 1];
    memcpy(set, small, sizeof small);
    set[N_SMALL] = "learner.network.constant_scale=1"; /* no two paths are nearly equal */
    trained t = make(set, N_SMALL + 1);
    lud_proof_net *net = lud_proof_ppo_net(t.learner, false);
    const lud_proof_pool pool = t.model->pools[LUD_PROOF_TEST];
    enum { N = 24, BUDGET = 200 };
    const size_t bytes = t.model->model.layout.state_bytes;
    lud_proof_atom queries[N];
    memcpy(queries, pool.atoms, sizeof queries);
    queries[5] = (lud_proof_atom){0};
    lud_proof_best_first *many = NULL, *few = NULL, *short_one = NULL;
    assert_int_equal(lud_proof_best_first_create(net, N, BUDGET, &many, NULL), LUD_OK);
    assert_int_equal(lud_proof_best_first_create(net, 3, BUDGET, &few, NULL), LUD_OK);
    assert_int_equal(lud_proof_best_first_create(net, 3, 1, &short_one, NULL), LUD_OK);
    lud_proof_found results[N], again[N], at_once[N];
    uint8_t *states = calloc(N, bytes), *start = calloc(1, bytes);
    lud_proof_best_first_run(many, queries, N, results, states);
    lud_proof_best_first_run(few, queries, N, again, NULL);
    lud_proof_best_first_run(short_one, queries, N, at_once, NULL);
    assert_false(results[5].proved);
    assert_true(results[5].log_prob == 0 && results[5].length == 0);
    int proved = 0, greedily = 0;
    for (int i = 0; i < N; i++) {
        assert_true(results[i].odds == 0);
        assert_int_equal(again[i].proved, results[i].proved);
        assert_int_equal(again[i].length, results[i].length);
        assert_true(fabs(again[i].log_prob - results[i].log_prob) < 1e-4);
        assert_true(!at_once[i].proved || at_once[i].length == 1);
        if (i == 5) continue;
        greedily += play_naively(net, &queries[i], true).proved;
        if (!results[i].proved) continue;
        proved++;
        lud_proof_start(t.model, &queries[i], 1, i, start);
        assert_false(has_better_proof(net, start, 0.0, results[i].log_prob + 1e-4));
        assert_true(has_better_proof(net, start, 0.0, results[i].log_prob - 1e-4));
        lud_proof_tree tree = {0};
        assert_int_equal(lud_proof_tree_of(t.model, states + (size_t)i * bytes, &tree, NULL), LUD_OK);
        const int32_t own = lud_proof_find_fact(t.model->base, &queries[i], lud_proof_atom_hash(&queries[i]));
        assert_true(lud_proof_tree_is_closed(&tree));
        assert_true(lud_proof_tree_check(t.model->base, &queries[i], own, &tree));
        lud_proof_tree_free(&tree);
    }
    print_message("%d of %d proved by the most probable path, %d by best-first search\n", greedily, N,
                  proved);
    assert_true(proved > greedily);
    free(states);
    free(start);
    lud_proof_best_first_destroy(many);
    lud_proof_best_first_destroy(few);
    lud_proof_best_first_destroy(short_one);
    drop(&t);
}

/* Ranking that does not let the policy give up plays what a world without giving up plays, and counts what
 * the policy would have given up: a path that was not given up is the same either way. */
static void without_giving_up(void **state) {
    (void)state;
    enum { N = 40 };
    const char *set[N_SMALL + 1];
    memcpy(set, small, sizeof small);
    set[N_SMALL] = "proof.limits.end_action=false";
    trained t[2] = {make(small, N_SMALL), make(set, N_SMALL + 1)};
    lud_proof_found found[3][N];
    for (int i = 0; i < 3; i++) {
        trained *one = &t[i == 2];
        lud_proof_rank_options options = lud_proof_ppo_get_options(one->learner)->evaluation.rank;
        options.give_up = i == 0;
        lud_proof_ranker *ranker = NULL;
        assert_int_equal(lud_proof_ranker_create(one->model, lud_proof_ppo_net(one->learner, false), &options,
                                                 LUD_PROOF_BOTH, 1, &ranker, NULL),
                         LUD_OK);
        assert_int_equal(lud_proof_play(ranker, one->model->pools[LUD_PROOF_TEST].atoms, N, found[i], NULL),
                         LUD_OK);
        lud_proof_ranker_destroy(ranker);
    }
    int longer = 0, same = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(found[1][i].proved, found[2][i].proved);
        assert_int_equal(found[1][i].length, found[2][i].length);
        assert_true(found[1][i].log_prob < found[2][i].log_prob - 1e-4 || found[1][i].length == 1);
        longer += found[1][i].length > found[0][i].length;
        if (!found[0][i].proved) continue;
        assert_true(found[1][i].proved && fabs(found[1][i].log_prob - found[0][i].log_prob) < 1e-4);
        same++;
    }
    assert_true(longer > 0 && same > 0);
    drop(&t[0]);
    drop(&t[1]);
}

/* ---- learning ---- */

static lud_proof_ranking_summary rank_valid(trained *t, bool best) {
    enum { QUERIES = SANITIZED ? 6 : 60 };
    lud_proof_rank_options options = lud_proof_ppo_get_options(t->learner)->evaluation.rank;
    options.candidates = 10;
    options.n_slots = 64;
    lud_proof_ranker *ranker = NULL;
    lud_proof_ranking_query ranked[QUERIES];
    assert_int_equal(lud_proof_ranker_create(t->model, lud_proof_ppo_net(t->learner, best), &options,
                                             LUD_PROOF_BOTH, 1, &ranker, NULL),
                     LUD_OK);
    assert_int_equal(lud_proof_rank(ranker, t->model->pools[LUD_PROOF_VALID], 0, QUERIES, ranked, NULL),
                     LUD_OK);
    lud_proof_ranker_destroy(ranker);
    const lud_proof_ranking_summary s = lud_proof_ranking_summarise(&options, ranked, QUERIES, NULL);
    lud_proof_ppo_net(t->learner, false);
    return s;
}

/* What is worth something behind the end of a rollout is what the next one begins with, and the last steps'
 * advantages count it: A = r + gamma V' - V, without V' where the episode ended. */
static void rollouts_end_with_values(void **state) {
    (void)state;
    trained t = make(small, N_SMALL);
    lud_proof_learner_state *p = (lud_proof_learner_state *)t.learner;
    double row[128];
    lud_error error = {0};
    lud_proof_ppo_rollout(t.learner);
    const size_t last = (size_t)(p->n_steps * p->n_envs);
    float *behind = malloc((size_t)p->n_envs * sizeof *behind);
    assert_non_null(behind);
    memcpy(behind, p->value + last, (size_t)p->n_envs * sizeof *behind);
    lud_proof_ppo_rollout(t.learner); /* nothing was learned between the two */
    int different = 0;
    for (int i = 0; i < p->n_envs; i++) {
        assert_float_equal(p->value[i], behind[i], 1e-5f);
        different += behind[i] != behind[0];
    }
    assert_true(different > 0);
    assert_int_equal(t.learner->kind->iterate(t.learner, row, &error), LUD_OK);
    int ended = 0, going = 0;
    for (size_t i = 0; i < (size_t)p->n_envs; i++) {
        const size_t at = last - (size_t)p->n_envs + i;
        const double follows =
            (double)p->mask[last + i] * p->options.update.gamma * (double)p->value[last + i];
        assert_float_equal(p->advantage[at], (float)((double)p->reward[at] + follows - (double)p->value[at]),
                           1e-4f);
        ended += p->mask[last + i] == 0.0f;
        going += p->mask[last + i] != 0.0f && fabs(follows) > 1e-3;
    }
    assert_true(ended > 0 && going > 0);
    free(behind);
    drop(&t);
}

/* The policy tells of a state what a rollout finds that is worth, whatever was asked before. */
static void policies_tell_values_of_rollouts(void **state) {
    (void)state;
    trained t = make(small, N_SMALL);
    lud_proof_learner_state *p = (lud_proof_learner_state *)t.learner;
    lud_error error = {0};
    lud_policy *policy;
    double told[32];
    assert_int_equal(p->n_envs, 32);
    if (t.learner->kind->policy(t.learner, &policy, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < p->n_envs; i++) {
        const uint8_t *here = p->batch->states + (size_t)i * t.model->model.layout.state_bytes;
        assert_true(lud_policy_value(policy, here, 0, &told[i]));
    }
    lud_proof_ppo_rollout(t.learner);
    int different = 0;
    for (int i = 0; i < p->n_envs; i++) {
        assert_float_equal(p->value[i], (float)told[i], 1e-5f);
        different += p->value[i] != p->value[0];
    }
    assert_true(different > 0);
    lud_policy_destroy(policy);
    drop(&t);
}

/* What a learner's first iteration tells of its episodes, and what they came to one by one. */
typedef struct told {
    double row[64];
    double last[512]; /* the last reward of each episode, in order of steps and slots */
    int n, n_steps, n_choices;
} told;

static void tell(int reward, told *out) {
    char scheme[32];
    const char *set[N_SMALL + 2];
    lud_error error = {0};
    snprintf(scheme, sizeof scheme, "proof.reward=%d", reward);
    memcpy(set, small, sizeof small);
    set[N_SMALL] = scheme;
    set[N_SMALL + 1] = "proof.negatives.per_positive=2";
    trained t = make(set, N_SMALL + 2);
    const lud_proof_learner_state *p = (const lud_proof_learner_state *)t.learner;
    assert_int_equal(t.learner->kind->iterate(t.learner, out->row, &error), LUD_OK);
    int length[64] = {0};
    assert_true(p->n_envs <= 64 && p->n_samples <= 512);
    for (int i = 0; i < p->n_samples; i++) {
        const int slot = i % p->n_envs;
        length[slot]++;
        out->n_choices += p->decisions.begin[i + 1] - p->decisions.begin[i];
        if (p->mask[i + p->n_envs] != 0.0f) continue;
        out->last[out->n++] = (double)p->reward[i];
        out->n_steps += length[slot];
        length[slot] = 0;
    }
    drop(&t);
}

/* Episodes are told of by what was asked: shares of true and of corrupted queries that were proved, returns,
 * lengths and choices. Whatever a world pays, the first rollout does the same. */
static void episodes_are_told_of(void **state) {
    (void)state;
    static told by_kind, by_proof; /* 0.5: a corrupted query without a proof; 1: a proof, -1: a false one */
    tell(4, &by_kind);
    tell(1, &by_proof);
    trained t = make(small, N_SMALL); /* names of columns */
    double proved = 0, positives = 0, negatives = 0, returns = 0;
    assert_true(by_kind.n == by_proof.n && by_kind.n > 20);
    for (int i = 0; i < by_kind.n; i++) {
        const bool is_false = by_kind.last[i] == 0.5;
        assert_true(by_proof.last[i] >= 0.0); /* nothing false is proved of these facts */
        negatives += is_false;
        positives += !is_false;
        proved += by_proof.last[i] == 1.0;
        returns += by_kind.last[i];
    }
    assert_true(proved > 0 && proved < positives && negatives > 0 && negatives != positives);
    const double expected[] = {returns / by_kind.n, proved / positives, 0.0,
                               (double)by_kind.n_steps / by_kind.n, (double)by_kind.n_choices / 512};
    static const char *const names[] = {"episode/return", "episode/proved", "episode/proved_corrupted",
                                        "episode/length", "episode/successors"};
    for (int k = 0; k < 5; k++) {
        const double found = by_kind.row[column(t.learner, names[k])];
        if (!(fabs(found - expected[k]) < 1e-6))
            fail_msg("%s: %g, expected %g", names[k], found, expected[k]);
    }
    drop(&t);
}

/* Means over the heads that were asked for and over the tails, and the mean of these two; ranks by draw, or
 * by the mean of ties; queries that are left out count nowhere. */
static void rankings_are_summed_up(void **state) {
    (void)state;
    const lud_proof_ranking_query queries[] = {
        {.played = {.proved = true, .length = 4}, .modes = {{1, 1, 5, 1, true}, {3, 3.5, 7, 0, true}}},
        {.played = {.proved = false, .length = 9}, .modes = {{10, 10, 2, 0, true}, {0, 0, 9, 9, false}}},
        {.played = {.proved = true, .length = 8}, .modes = {{2, 1, 3, 2, true}, {4, 3, 1, 1, true}}},
        {.played = {.proved = true, .length = 100}, .modes = {{1, 1, 50, 50, true}, {1, 1, 50, 50, true}}},
        {.played = {.proved = false, .length = 1}, .modes = {{11, 10.5, 6, 0, true}, {0, 0, 0, 0, false}}}};
    static const uint8_t keep[] = {1, 1, 1, 0, 1};
    lud_proof_rank_options options = {0};
    options.ties = LUD_PROOF_TIES_RANDOM;
    lud_proof_ranking_summary s = lud_proof_ranking_summarise(&options, queries, 5, keep);
    assert_true(s.n_queries == 4 && s.n_proved == 2);
    assert_true(s.n_negatives == 5 + 7 + 2 + 3 + 1 + 6 && s.n_negatives_proved == 4);
    assert_true(s.length == 6.0);
    const double head = (1 + 0.1 + 0.5 + 1.0 / 11) / 4, tail = (1.0 / 3 + 0.25) / 2;
    assert_true(fabs(s.mode_mrr[0] - head) < 1e-12 && fabs(s.mode_mrr[1] - tail) < 1e-12);
    assert_true(fabs(s.mrr - (head + tail) / 2) < 1e-12);
    assert_true(s.hits1 == (0.25 + 0) / 2 && s.hits3 == (0.5 + 0.5) / 2 && s.hits10 == (0.75 + 1) / 2);
    options.ties = LUD_PROOF_TIES_MEAN;
    s = lud_proof_ranking_summarise(&options, queries, 5, keep);
    assert_true(s.hits1 == (0.5 + 0) / 2 && s.hits3 == (0.5 + 0.5) / 2 && s.hits10 == (0.75 + 1) / 2);
    assert_true(fabs(s.mode_mrr[1] - (1 / 3.5 + 1.0 / 3) / 2) < 1e-12);
    /* one side alone is the mean by itself; of nothing there is nothing to tell */
    s = lud_proof_ranking_summarise(&options, queries + 1, 1, NULL);
    assert_true(s.n_queries == 1 && s.n_proved == 0 && s.length == 0 && s.mrr == 0.1 && s.hits10 == 1);
    s = lud_proof_ranking_summarise(&options, queries, 0, NULL);
    assert_true(s.n_queries == 0 && s.mrr == 0 && s.length == 0);
}

/* Weights that ranked last of all are still the best of those that were ranked; before any ranking there are
 * none. */
static void the_worst_rank_is_a_rank(void **state) {
    (void)state;
    trained t = make(small, N_SMALL);
    lud_proof_learner_state *p = (lud_proof_learner_state *)t.learner;
    assert_true(p->best_mrr < 0.0);
    assert_ptr_equal(lud_proof_ppo_net(t.learner, true)->parameters, p->parameters);
    p->best_mrr = 0.0;
    assert_ptr_equal(lud_proof_ppo_net(t.learner, true)->parameters, p->best);
    assert_ptr_equal(lud_proof_ppo_net(t.learner, false)->parameters, p->parameters);
    drop(&t);
}

/* Whoever loses however it fails need not be played: ranks and counts are those of playing all, with fewer
 * steps. */
static void expect_ranks_of_playing_all(trained *t) {
    enum { QUERIES = 60 };
    for (int kind = 0; kind < 3; kind++) {
        lud_proof_rank_options options = lud_proof_ppo_get_options(t->learner)->evaluation.rank;
        options.candidates = 20;
        options.n_slots = 16;
        options.score = kind == 2 ? LUD_PROOF_SCORE_ODDS : LUD_PROOF_SCORE_PATH;
        options.failure = kind == 1 ? LUD_PROOF_FAILURE_COMPLEMENT : LUD_PROOF_FAILURE_PATH;
        lud_proof_ranking_query ranked[2][QUERIES];
        uint64_t steps[2];
        for (int all = 0; all < 2; all++) {
            lud_proof_ranker *ranker = NULL;
            assert_int_equal(lud_proof_ranker_create(t->model, lud_proof_ppo_net(t->learner, true), &options,
                                                     LUD_PROOF_BOTH, 1, &ranker, NULL),
                             LUD_OK);
            lud_proof_ranker_play_all(ranker, all);
            assert_int_equal(
                lud_proof_rank(ranker, t->model->pools[LUD_PROOF_VALID], 0, QUERIES, ranked[all], NULL),
                LUD_OK);
            steps[all] = lud_proof_ranker_steps(ranker);
            lud_proof_ranker_destroy(ranker);
        }
        lud_proof_ppo_net(t->learner, false);
        print_message("steps %d of %d\n", (int)steps[0], (int)steps[1]);
        assert_true(SANITIZED ? steps[0] < steps[1] : 2 * steps[0] < steps[1]);
        for (int q = 0; q < QUERIES; q++)
            for (int mode = 0; mode < 2; mode++) {
                const lud_proof_ranked *a = &ranked[0][q].modes[mode], *b = &ranked[1][q].modes[mode];
                assert_true(a->rank == b->rank && a->mean_rank == b->mean_rank);
                assert_int_equal(a->n_negatives, b->n_negatives);
                assert_int_equal(a->n_negatives_proved, b->n_negatives_proved);
            }
    }
}

static void training_learns(void **state) {
    (void)state;
    const char *set[] = {small[0],
                         "learner.n_envs=64",
                         "learner.n_steps=32",
                         "learner.batch_size=256",
                         SANITIZED ? "learner.total_steps=6144" : "learner.total_steps=65536",
                         "learner.learning_rate={start: 0.003, end: 0.0005, warmup: 0}",
                         "learner.entropy={start: 0.01, end: 0.001}",
                         "learner.evaluation={every: 4, queries: 40, candidates: 5}"};
    trained t = make(set, (int)(sizeof set / sizeof *set));
    const lud_proof_ranking_summary before = rank_valid(&t, false);
    double row[64];
    for (uint64_t i = 0; i < t.learner->n_iterations; i++) {
        lud_error error = {0};
        assert_int_equal(t.learner->kind->iterate(t.learner, row, &error), LUD_OK);
    }
    const lud_proof_ranking_summary after = rank_valid(&t, true);
    print_message("validation MRR %.3f -> %.3f, proved %d -> %d of %d\n", before.mrr, after.mrr,
                  (int)before.n_proved, (int)after.n_proved, (int)after.n_queries);
    assert_true(SANITIZED || (after.mrr > before.mrr + 0.2 && after.n_proved > before.n_proved));
    assert_int_equal(after.n_negatives_proved, 0);
    expect_ranks_of_playing_all(&t);
    drop(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_equals_no_interruption),
        cmocka_unit_test(schedules_act),
        cmocka_unit_test(rankings_come_when_they_are_due),
        cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(ranks_follow_the_rule),
        cmocka_unit_test(ranking_equals_naive),
        cmocka_unit_test(no_false_proof),
        cmocka_unit_test(best_first_is_best),
        cmocka_unit_test(without_giving_up),
        cmocka_unit_test(rollouts_end_with_values),
        cmocka_unit_test(policies_tell_values_of_rollouts),
        cmocka_unit_test(episodes_are_told_of),
        cmocka_unit_test(rankings_are_summed_up),
        cmocka_unit_test(the_worst_rank_is_a_rank),
        cmocka_unit_test(training_learns),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
