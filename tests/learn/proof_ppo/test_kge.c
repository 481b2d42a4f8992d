/* Embeddings: scores equal their formulas, gradients their differences, training ranks true triples first,
 * resumes bit for bit, and ranks beside proofs. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/kge/embedding.h"
#include "learn/kge/kge.h"
#include "learn/proof_ppo/support_proof.h"
#include "learn/runs/run.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

TEST_FOLDER("/tmp/ludus-kge-XXXXXX")

static double at(int i) { /* numbers without a pattern, never zero */
    return sin(1.7 * i + 0.3) + 0.01;
}

/* ---- scores ---- */

enum { D = 5, WIDE = 2 * D };

static double complex component(const double *x, int k, bool is_complex) {
    return is_complex ? x[k] + x[D + k] * I : x[k];
}

/* The score straight from its definition. */
static double defined(const lud_kge_shape *shape, const double *h, const double *r, const double *t) {
    const bool wide = shape->scorer == LUD_KGE_ROTATE || shape->scorer == LUD_KGE_COMPLEX;
    double sum = 0.0;
    for (int k = 0; k < D; k++) {
        const double complex a = component(h, k, wide), b = component(t, k, wide);
        switch (shape->scorer) {
        case LUD_KGE_ROTATE:
            sum += cabs(a * cexp(I * r[k]) - b);
            break;
        case LUD_KGE_COMPLEX:
            sum += creal(a * component(r, k, true) * conj(b));
            break;
        case LUD_KGE_DISTMULT:
            sum += h[k] * r[k] * t[k];
            break;
        default:
            sum += shape->norm == 1 ? fabs(h[k] + r[k] - t[k]) : pow(h[k] + r[k] - t[k], 2);
        }
    }
    if (shape->scorer == LUD_KGE_TRANSE && shape->norm == 2) sum = sqrt(sum);
    return lud_kge_is_product(shape) ? sum : shape->margin - sum;
}

static lud_kge_shape shape_of(int i) { /* the four scorers, and transe's other norm */
    return (lud_kge_shape){.scorer = i < LUD_KGE_SCORERS ? i : LUD_KGE_TRANSE,
                           .norm = i < LUD_KGE_SCORERS ? 1 : 2,
                           .dimension = D,
                           .margin = 3.0};
}
enum { SHAPES = LUD_KGE_SCORERS + 1 };

static void scores_equal_definitions(void **state) {
    (void)state;
    double h[WIDE], r[WIDE], t[WIDE], q[WIDE];
    for (int k = 0; k < WIDE; k++) {
        h[k] = at(k);
        r[k] = at(20 + k);
        t[k] = at(40 + k);
    }
    for (int i = 0; i < SHAPES; i++) {
        const lud_kge_shape shape = shape_of(i);
        const double expected = defined(&shape, h, r, t);
        lud_kge_query_f64(&shape, LUD_KGE_TAIL, h, r, q);
        assert_true(fabs(lud_kge_score_f64(&shape, q, t) - expected) < 1e-12);
        lud_kge_query_f64(&shape, LUD_KGE_HEAD, t, r, q);
        assert_true(fabs(lud_kge_score_f64(&shape, q, h) - expected) < 1e-12);
    }
}

/* Two queries against three candidates and one answer each, weighted and summed. */
enum { QUERIES = 2, CANDIDATES = 3, NUMBERS = (QUERIES * 3 + CANDIDATES) * WIDE };

typedef struct batch {
    double anchor[QUERIES][WIDE], relation[QUERIES][WIDE], answer[QUERIES][WIDE], candidate[CANDIDATES][WIDE];
} batch;

static double weight(int i, int j) {
    return at(100 + 7 * i + j);
}

static double total(lud_device *device, const lud_kge_shape *shape, lud_kge_side side, const batch *b,
                    batch *gradient) {
    const int64_t width = lud_kge_entity_width(shape);
    double q[QUERIES * WIDE], e[CANDIDATES * WIDE], scores[QUERIES * CANDIDATES], d[QUERIES * CANDIDATES],
        dq[QUERIES * WIDE], de[CANDIDATES * WIDE], sum = 0.0;
    for (int j = 0; j < CANDIDATES; j++) memcpy(e + j * width, b->candidate[j], (size_t)width * sizeof *e);
    for (int i = 0; i < QUERIES; i++)
        lud_kge_query_f64(shape, side, b->anchor[i], b->relation[i], q + i * width);
    lud_kge_scores_f64(device, shape, QUERIES, q, CANDIDATES, e, scores);
    for (int i = 0; i < QUERIES; i++) {
        sum += weight(i, CANDIDATES) * lud_kge_score_f64(shape, q + i * width, b->answer[i]);
        for (int j = 0; j < CANDIDATES; j++) {
            assert_true(fabs(scores[i * CANDIDATES + j] -
                             lud_kge_score_f64(shape, q + i * width, e + j * width)) < 1e-12);
            d[i * CANDIDATES + j] = weight(i, j);
            sum += weight(i, j) * scores[i * CANDIDATES + j];
        }
    }
    if (!gradient) return sum;
    memset(gradient, 0, sizeof *gradient);
    lud_kge_scores_backward_f64(device, shape, QUERIES, q, CANDIDATES, e, d, dq, de);
    for (int j = 0; j < CANDIDATES; j++)
        memcpy(gradient->candidate[j], de + j * width, (size_t)width * sizeof *de);
    for (int i = 0; i < QUERIES; i++) {
        lud_kge_score_backward_f64(shape, q + i * width, b->answer[i], weight(i, CANDIDATES), dq + i * width,
                                   gradient->answer[i]);
        lud_kge_query_backward_f64(shape, side, b->anchor[i], b->relation[i], dq + i * width,
                                   gradient->anchor[i], gradient->relation[i]);
    }
    return sum;
}

static void gradients_equal_differences(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 2, &device, NULL), LUD_OK);
    for (int i = 0; i < SHAPES; i++)
        for (int side = 0; side < 2; side++) {
            const lud_kge_shape shape = shape_of(i);
            batch b, gradient;
            double *x = &b.anchor[0][0];
            const double *g = &gradient.anchor[0][0];
            for (int k = 0; k < NUMBERS; k++) x[k] = at(3 * k + i);
            total(device, &shape, (lud_kge_side)side, &b, &gradient);
            for (int k = 0; k < NUMBERS; k++) {
                const double kept = x[k], step = 1e-6;
                x[k] = kept + step;
                const double above = total(device, &shape, (lud_kge_side)side, &b, NULL);
                x[k] = kept - step;
                const double below = total(device, &shape, (lud_kge_side)side, &b, NULL);
                x[k] = kept;
                assert_true(fabs((above - below) / (2.0 * step) - g[k]) < 1e-6);
            }
        }
    lud_device_close(device);
}

/* Floats give what doubles give. */
static void floats_follow_doubles(void **state) {
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const lud_kge_shape shape = shape_of(i);
        float a[WIDE], r[WIDE], e[WIDE], q[WIDE];
        double a64[WIDE], r64[WIDE], e64[WIDE], q64[WIDE];
        for (int k = 0; k < WIDE; k++) {
            a64[k] = a[k] = (float)at(k);
            r64[k] = r[k] = (float)at(30 + k);
            e64[k] = e[k] = (float)at(60 + k);
        }
        lud_kge_query(&shape, LUD_KGE_HEAD, a, r, q);
        lud_kge_query_f64(&shape, LUD_KGE_HEAD, a64, r64, q64);
        assert_true(fabs(lud_kge_score(&shape, q, e) - lud_kge_score_f64(&shape, q64, e64)) < 1e-5);
    }
}

static double loss_at(const double *positive, const float *negative, const double *weights) {
    /* with the weights of self-adversarial sampling held fixed, as its gradient holds them */
    double loss = 0.0;
    for (int i = 0; i < QUERIES; i++) {
        loss += 0.5 * log1p(exp(-positive[i])) / QUERIES;
        for (int j = 0; j < CANDIDATES; j++)
            loss += 0.5 * weights[i * CANDIDATES + j] * log1p(exp((double)negative[i * CANDIDATES + j])) /
                    QUERIES;
    }
    return loss;
}

static void losses_are_right(void **state) {
    (void)state;
    const double alpha = 0.7;
    for (int adversarial = 0; adversarial < 2; adversarial++) {
        double positive[QUERIES], dpositive[QUERIES], weights[QUERIES * CANDIDATES];
        float negative[QUERIES * CANDIDATES], dnegative[QUERIES * CANDIDATES];
        uint8_t skip[QUERIES * CANDIDATES] = {0};
        skip[1] = 1;
        for (int i = 0; i < QUERIES; i++) {
            positive[i] = 2.0 * at(i);
            double sum = 0.0;
            for (int j = 0; j < CANDIDATES; j++) {
                const int k = i * CANDIDATES + j;
                negative[k] = (float)(2.0 * at(10 + k));
                weights[k] = skip[k] ? 0.0 : adversarial ? exp(alpha * (double)negative[k]) : 1.0;
                sum += weights[k];
            }
            for (int j = 0; j < CANDIDATES; j++) weights[i * CANDIDATES + j] /= sum;
        }
        const double loss = lud_kge_loss(adversarial, alpha, QUERIES, CANDIDATES, positive, negative, skip,
                                         dpositive, dnegative);
        assert_true(fabs(loss - loss_at(positive, negative, weights)) < 1e-9);
        for (int i = 0; i < QUERIES; i++) {
            double moved[QUERIES];
            memcpy(moved, positive, sizeof moved);
            moved[i] += 1e-5;
            const double difference = (loss_at(moved, negative, weights) - loss) / 1e-5;
            assert_true(fabs(difference - dpositive[i]) < 1e-4);
        }
        for (int k = 0; k < QUERIES * CANDIDATES; k++) {
            float moved[QUERIES * CANDIDATES];
            memcpy(moved, negative, sizeof moved);
            moved[k] += 0.001f;
            const double difference =
                (loss_at(positive, moved, weights) - loss) / ((double)moved[k] - (double)negative[k]);
            assert_true(fabs(difference - (double)dnegative[k]) < 1e-3);
        }
        assert_true(dnegative[1] == 0.0f);
    }
}

/* ---- the learner ---- */

static const char *const small[] = {
    "learner={type: kge, scorer: complex, dimension: 24, negatives: 32, epochs: "
    "6, batch_size: 256, optimiser: {weight_decay: 0}, learning_rate: {start: 0.02, end: "
    "0.002}, evaluation: {every: 3, queries: 40, candidates: 20}}"};

typedef struct trained {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
} trained;

static trained make(const char *const *set, int n_set, int n_threads) {
    trained t = {.scenario = support_proof_scenario(set, n_set)};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", n_threads, &t.device, NULL), LUD_OK);
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

static void train_part(const char *name, int n_threads, bool resume, uint64_t stop_after) {
    trained t = make(small, 1, n_threads);
    char path[128];
    lud_train_result result;
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const lud_train_options options = {.folder = path, .resume = resume, .stop_after = stop_after};
    const lud_status status = lud_train(t.learner, &options, &result, &error);
    assert_int_equal(status, stop_after ? LUD_INTERRUPTED : LUD_OK);
    drop(&t);
}

static void resume_and_threads_change_nothing(void **state) {
    (void)state;
    train_part("whole", 1, false, 0);
    train_part("parts", 2, false, 2);
    train_part("parts", 2, true, 0);
    support_expect_same_runs(folder, "whole", "parts");
}

/* Components of constants are turned, not scaled, where none may be longer than max_modulus: those that grew
 * beyond it have that length, all others are as if there were no limit. */
static void components_have_a_longest(void **state) {
    (void)state;
    enum { DIMENSION = 3, LIMITS = 3 };
    double limits[LIMITS] = {0.0, 1000.0}; /* the third is the mean length */
    static float entities[LIMITS][4096];
    int64_t n = 0;
    for (int k = 0; k < LIMITS; k++) {
        char text[256];
        snprintf(text, sizeof text,
                 "learner={type: kge, scorer: rotate, dimension: %d, negatives: 4, epochs: 1, batch_size: "
                 "100000, max_modulus: %.9g, evaluation: {every: 1, queries: 4, candidates: 4}}",
                 DIMENSION, limits[k]);
        const char *set[] = {text};
        double row[32];
        trained t = make(set, 1, 1);
        assert_int_equal(t.learner->kind->iterate(t.learner, row, NULL), LUD_OK);
        const lud_kge kge = lud_kge_learned(t.learner);
        n = kge.n_entities;
        assert_in_range(n * 2 * DIMENSION, 1, 4096);
        memcpy(entities[k], kge.entities, (size_t)(n * 2 * DIMENSION) * sizeof(float));
        drop(&t);
        for (int64_t c = 0; c < n && k == 0; c++)
            for (int i = 0; i < DIMENSION; i++) {
                const float *x = entities[0] + c * 2 * DIMENSION + i;
                limits[2] += hypot((double)x[0], (double)x[DIMENSION]) / (double)(n * DIMENSION);
            }
    }
    limits[2] = (double)(float)limits[2];
    assert_memory_equal(entities[0], entities[1], (size_t)(n * 2 * DIMENSION) * sizeof(float));
    int n_longer = 0, n_others = 0;
    for (int64_t c = 0; c < n; c++)
        for (int i = 0; i < DIMENSION; i++) { /* one batch: nothing was learned from what was shortened */
            const float *free_one = entities[0] + c * 2 * DIMENSION + i,
                        *short_one = entities[2] + c * 2 * DIMENSION + i;
            const double x = (double)free_one[0], y = (double)free_one[DIMENSION];
            const double length = hypot(x, y), part = length > limits[2] ? limits[2] / length : 1.0;
            assert_true(fabs((double)short_one[0] - x * part) < 1e-6);
            assert_true(fabs((double)short_one[DIMENSION] - y * part) < 1e-6);
            n_longer += length > limits[2];
            n_others += length <= limits[2];
        }
    assert_true(n_longer > 3 && n_others > 3);
}

static double told(const lud_learner *learner, const double *row, const char *name) {
    for (int i = 0; i < learner->n_columns; i++)
        if (strcmp(learner->columns[i].name, name) == 0) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

/* Validation queries are ranked every so many epochs and behind the last one; the best so far is the best of
 * those. */
static void rankings_come_when_they_are_due(void **state) {
    (void)state;
    enum { EPOCHS = 5 };
    static const int every[] = {0, 1, 2, 9};
    for (int k = 0; k < 4; k++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "learner={type: kge, scorer: distmult, dimension: 6, negatives: 4, epochs: %d, batch_size: 256, "
            "evaluation: {every: %d, queries: 8, candidates: 4}}",
            EPOCHS, every[k]);
        const char *set[] = {text};
        trained t = make(set, 1, 1);
        double best = 0.0;
        for (int epoch = 1; epoch <= EPOCHS; epoch++) {
            double row[32];
            for (int i = 0; i < 32; i++) row[i] = NAN;
            assert_int_equal(t.learner->kind->iterate(t.learner, row, NULL), LUD_OK);
            const bool due = epoch == EPOCHS || (every[k] > 0 && epoch % every[k] == 0);
            const double mrr = told(t.learner, row, "valid/mrr");
            assert_int_equal(!isnan(mrr), due);
            assert_int_equal(!isnan(told(t.learner, row, "valid/best_mrr")), due);
            if (!due) continue;
            best = fmax(best, mrr);
            assert_true(told(t.learner, row, "valid/best_mrr") == best);
        }
        drop(&t);
    }
}

/* After `whole` was trained: the learner's own ranking, the embeddings as loaded, and beside proofs. */
static void embeddings_rank(void **state) {
    (void)state;
    char path[128];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/whole", folder);
    trained t = make(small, 1, 1);
    assert_int_equal(lud_run_load(path, t.learner, NULL, NULL, &error), LUD_OK);
    double row[16];
    assert_int_equal(t.learner->kind->evaluate(t.learner, row, &error), LUD_OK);
    print_message("MRR %.3f among 20 corruptions of each argument\n", row[0]);
    assert_true(row[0] > 0.4); /* by chance 0.17 */
    const lud_proof_model *model = (const lud_proof_model *)(const void *)t.scenario->model;
    lud_kge kge;
    assert_int_equal(lud_kge_load(path, model->base, &kge, &error), LUD_OK);
    lud_proof_rank_options options = {.n_slots = 1, .candidates = 20, .beam = 1};
    options.fusion.kind = LUD_PROOF_FUSION_KGE;
    lud_proof_ranker *ranker = NULL;
    assert_int_equal(lud_proof_ranker_create(model, NULL, &options, LUD_PROOF_BOTH, 1, &ranker, NULL),
                     LUD_OK);
    lud_proof_ranker_use_kge(ranker, &kge);
    lud_proof_ranking_query ranked[40];
    assert_int_equal(lud_proof_rank(ranker, model->pools[LUD_PROOF_TEST], 0, 40, ranked, NULL), LUD_OK);
    assert_true(fabs(lud_proof_ranking_summarise(&options, ranked, 40, NULL).mrr - row[0]) < 1e-12);
    lud_proof_ranker_destroy(ranker);
    lud_kge_free(&kge);
    drop(&t);
}

/* Scores of a hybrid: what every candidate gets, against the formulas. */
static void fusions_follow_their_formulas(void **state) {
    (void)state;
    char path[128];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/whole", folder);
    /* of these rules only the second says that a relation is symmetric */
    static const char rules[] = "a:1:aunt(x,y) -> aunt(x,y)\nb:1:nephew(y,x) -> nephew(x,y)\n"
                                "c:1:wife(y,x) -> husband(x,y)\nd:1:uncle(y,x), uncle(x,y) -> uncle(x,y)\n"
                                "e:1:father(x,z), brother(z,y) -> father(x,y)\n";
    char rules_file[600];
    assert_int_equal(lud_file_write(in_folder("rules.txt"), rules, sizeof rules - 1, &error), LUD_OK);
    snprintf(rules_file, sizeof rules_file, "proof.rules=%s", in_folder("rules.txt"));
    const char *set[] = {"learner={type: proof-ppo, automatic: false, network: {states: concat, "
                         "embedding_size: 16, hidden: 16, "
                         "layers: 1}, n_envs: 8, "
                         "n_steps: 8, evaluation: {queries: 4}}",
                         rules_file};
    trained t = make(set, 2, 1);
    const lud_proof_model *model = (const lud_proof_model *)(const void *)t.scenario->model;
    lud_kge kge;
    assert_int_equal(lud_kge_load(path, model->base, &kge, &error), LUD_OK);
    const lud_proof_pool pool = model->pools[LUD_PROOF_TEST];
    enum { RANKED = 12, AMONG = 8 };
    int n_checked = 0, n_symmetric = 0;
    const int32_t nephew = lud_proof_find_predicate(model->base, "nephew", 6);
    for (int kind = LUD_PROOF_FUSION_HYBRID; kind < LUD_PROOF_FUSION_KGE; kind++) {
        lud_proof_rank_options options = {
            .n_slots = 8, .candidates = AMONG, .beam = 1, .give_up = true, .fail_penalty = 3.0};
        options.fusion = (lud_proof_fusion){.kind = kind,
                                            .kge_weight = 1.5,
                                            .proof_weight = 0.7,
                                            .fail_penalty = 0.4,
                                            .alpha = 0.3,
                                            .alpha_failed = 0.6,
                                            .symmetric_weight = 0.9};
        lud_proof_ranker *ranker = NULL;
        lud_proof_ranking_query ranked[RANKED];
        assert_int_equal(lud_proof_ranker_create(model, lud_proof_ppo_net(t.learner, false), &options,
                                                 LUD_PROOF_TAIL, 1, &ranker, NULL),
                         LUD_OK);
        lud_proof_ranker_use_kge(ranker, &kge);
        assert_int_equal(lud_proof_rank(ranker, pool, 0, RANKED, ranked, NULL), LUD_OK);
        for (int q = 0; q < RANKED; q++) {
            lud_proof_atom list[AMONG + 1];
            lud_proof_found found[AMONG + 1];
            double embedded[AMONG + 1], score[AMONG + 1], rank = 1.0;
            bool close = false; /* another batch may differ in the last bits, and lk has a floor */
            list[0] = pool.atoms[q];
            const int32_t n =
                1 + lud_proof_corruptions(model, &pool.atoms[q], LUD_PROOF_TAIL, AMONG,
                                          (lud_random_key){0, (uint32_t)q}, LUD_PROOF_TAIL, list + 1, AMONG);
            assert_int_equal(lud_proof_play(ranker, list, n, found, NULL), LUD_OK);
            lud_kge_score_atoms(&kge, list, n, embedded);
            for (int32_t i = 0; i < n; i++) {
                const double lk = log(fmax(1.0 / (1.0 + exp(-embedded[i])), 1e-9));
                const double own = found[i].log_prob - (found[i].proved ? 0.0 : 3.0);
                const double alpha = kind == LUD_PROOF_FUSION_GATED && !found[i].proved ? 0.6 : 0.3;
                const bool symmetric = list[i].predicate == nephew;
                score[i] = kind == LUD_PROOF_FUSION_HYBRID ? 1.5 * lk + (found[i].proved ? 0.7 : -0.4)
                           : kind == LUD_PROOF_FUSION_PAPER
                               ? (found[i].proved ? 2.0 * lk + found[i].log_prob : lk - 100.0)
                           : kind == LUD_PROOF_FUSION_PREDICATE
                               ? 1.5 * lk + (symmetric ? 0.9 : 0.0) * (found[i].proved ? 1.0 : -0.4)
                               : alpha * own + (1.0 - alpha) * lk;
                n_symmetric += symmetric;
                rank += score[i] > score[0];
                close |= i > 0 && fabs(score[i] - score[0]) < 1e-4;
            }
            n_checked += !close;
            if (!close) assert_true(ranked[q].modes[LUD_PROOF_TAIL].rank == rank);
        }
        lud_proof_ranker_destroy(ranker);
    }
    assert_true(n_checked > RANKED && n_symmetric > 0);
    lud_kge_free(&kge);
    drop(&t);
}

/* Embeddings of other names are refused, and so is a run that has none. */
static void other_runs_are_refused(void **state) {
    (void)state;
    char path[128];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/whole", folder);
    const char *set[] = {"proof.facts=test.txt",
                         "proof.queries={train: test.txt, valid: test.txt, test: test.txt}"};
    lud_scenario *scenario = support_proof_scenario(set, 2);
    lud_kge kge;
    assert_int_equal(
        lud_kge_load(path, ((const lud_proof_model *)(const void *)scenario->model)->base, &kge, &error),
        LUD_ERROR_INPUT);
    assert_non_null(
        strstr(error.text, "trained on other constants or predicates; expected those of this scenario"));
    lud_scenario_destroy(scenario);
    /* a run of this very scenario of which tables are missing: those of the embeddings, or all */
    scenario = support_proof_scenario(NULL, 0);
    const lud_proof_base *base = ((const lud_proof_model *)(const void *)scenario->model)->base;
    static const char *const kept[] = {"kge.", ""}, *const messages[] = {
                                                        "the embeddings have another shape",
                                                        "no embeddings in this run; expected one of "
                                                        "learner kge"};
    for (int k = 0; k < 2; k++) {
        char file[192], expected[256];
        lud_checkpoint *whole = NULL, *part = lud_checkpoint_create();
        snprintf(file, sizeof file, "%s/whole/checkpoint.safetensors", folder);
        assert_int_equal(lud_checkpoint_open(file, &whole, &error), LUD_OK);
        for (int i = 0; i < lud_checkpoint_n_tensors(whole); i++) {
            const lud_tensor *t = lud_checkpoint_get(whole, i);
            if (*kept[k] && strncmp(t->name, kept[k], strlen(kept[k])) == 0)
                lud_checkpoint_tensor(part, t->name, t->type, t->n_dimensions, t->dimensions,
                                      (void *)t->data);
        }
        snprintf(path, sizeof path, "%s/part", folder);
        assert_int_equal(lud_folder_make(path, &error), LUD_OK);
        snprintf(file, sizeof file, "%s/checkpoint.safetensors", path);
        assert_int_equal(lud_checkpoint_write(part, file, &error), LUD_OK);
        assert_int_equal(lud_kge_load(path, base, &kge, &error), LUD_ERROR_INPUT);
        snprintf(expected, sizeof expected, "%s: %s", path, messages[k]);
        assert_string_equal(error.text, expected);
        lud_checkpoint_destroy(whole);
        lud_checkpoint_destroy(part);
    }
    lud_scenario_destroy(scenario);
    /* other settings than those of the run */
    const char *other = "learner={type: kge, scorer: distmult, dimension: 24}";
    trained t = make(&other, 1, 1);
    snprintf(path, sizeof path, "%s/whole", folder);
    assert_int_equal(lud_run_load(path, t.learner, NULL, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "kge.scorer: the run was trained with another setting"));
    drop(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_definitions),
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(floats_follow_doubles),
        cmocka_unit_test(losses_are_right),
        cmocka_unit_test(rankings_come_when_they_are_due),
        cmocka_unit_test(resume_and_threads_change_nothing),
        cmocka_unit_test(components_have_a_longest),
        cmocka_unit_test(embeddings_rank),
        cmocka_unit_test(fusions_follow_their_formulas),
        cmocka_unit_test(other_runs_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
