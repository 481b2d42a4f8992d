#include "learn/kge/kge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/option_rows.h"
#include "learn/nn/optimiser.h"
#include "learn/nn/schedule.h"
#include "learn/nn/shares.h"
#include "learn/proof_ppo/evaluation/ranking.h"
#include "sim/proof/proof_model.h"

/* ---- options ---- */

typedef enum loss_kind { SELF_ADVERSARIAL, BCE } loss_kind;

typedef struct kge_options {
    const char *type;
    lud_kge_shape shape;
    int loss; /* loss_kind */
    double alpha;
    int64_t negatives, epochs, batch_size, shares;
    bool bernoulli;
    double max_modulus, max_grad_norm;
    lud_optimiser_options optimiser;
    struct kge_rate {
        double start, end;
        int decay; /* lud_schedule_kind */
        double warmup;
    } learning_rate;
    struct kge_evaluation {
        int64_t every, n_queries;
        lud_proof_rank_options rank;
    } evaluation;
} kge_options;

static const char *const losses[] = {"self_adversarial", "bce", NULL};
static const char *const decays[] = {"constant", "linear", "cosine", "exponential", NULL};

#define OPTIONS struct kge_rate
TABLE(rate_table, "learning_rate", "step size", REAL(start, "1e-3", 0, 10, "after the warm-up"),
      REAL(end, "1e-5", 0, 10, "at the end"), CHOICE(decay, "cosine", decays, "how it falls"),
      REAL(warmup, "0.1", 0, 1, "share of the training over which it rises from 0"));
#undef OPTIONS
#define OPTIONS struct kge_evaluation
TABLE(evaluation_table, "evaluation", "ranking",
      INT(every, "10", 0, 1e9, "epochs between rankings of validation queries; 0: only after the last"),
      INT_AT("queries", n_queries, "200", 0, 1e9, "queries that are ranked, the first ones; 0: all"),
      LUD_PROOF_RANK_ROWS(rank));

#undef OPTIONS
#define OPTIONS lud_optimiser_options
TABLE(optimiser_table, "optimiser", LUD_OPTIMISER_HELP, LUD_OPTIMISER_ROWS("1e-8", "1e-6"));

#undef OPTIONS
#define OPTIONS kge_options
static const lud_option options[] = {
    TEXT(type, "kge", "kge"),
    CHOICE_AT("scorer", shape.scorer, "rotate", lud_kge_scorers, "what the score of a triple is"),
    INT_AT("dimension", shape.dimension, "200", 1, 65536,
           "numbers of an embedding, complex ones for rotate and complex"),
    REAL_AT("margin", shape.margin, "12", 0, 1000, "score of a triple at distance 0 (rotate, transe)"),
    INT_AT("norm", shape.norm, "1", 1, 2, "p of transe's distance"),
    CHOICE(loss, "self_adversarial", losses, "weights of the negatives: by their score, or equal"),
    REAL(alpha, "1", 0, 100, "self_adversarial: how strongly high scores count"),
    INT(negatives, "256", 1, 65536,
        "constants drawn for each batch, which every fact of it is scored against"),
    INT(epochs, "100", 1, 1000000, "passes over the facts"),
    INT(batch_size, "512", 1, 1 << 20, "facts of one step of the optimiser"),
    LUD_SHARES_ROW_AT(shares),
    BOOL(bernoulli, "true", "corrupt the side with more answers more often; false: both alike"),
    REAL(max_modulus, "0", 0, 1000,
         "rotate: longer components of constants are shortened to it; 0: none are"),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    REAL(max_grad_norm, "2", 0, 1e9, "norm to which gradients are clipped; 0: none"),
    SECTION(learning_rate, rate_table, "step size"),
    SECTION(evaluation, evaluation_table, "ranking"),
};
static const lud_option_table table =
    OPTION_TABLE("learner", "kge: embeddings of a knowledge graph", options);

/* ---- the learner ---- */

/* the first N_SUMS come from the batches of an epoch */
enum column {
    LOSS,
    POSITIVE,
    NEGATIVE,
    GRADIENT,
    RATE,
    N_SUMS,
    MRR = N_SUMS,
    HITS1,
    HITS10,
    BEST_MRR,
    N_COLUMNS
};
static const lud_metric columns[N_COLUMNS] = {
    [LOSS] = {"loss", "%.4f", "mean over the facts"},
    [POSITIVE] = {"score/facts", "%.2f", "mean score of facts"},
    [NEGATIVE] = {"score/negatives", "%.2f", "mean score of negatives"},
    [GRADIENT] = {"gradient_norm", NULL, "of the last batch, before clipping"},
    [RATE] = {"learning_rate", NULL, "at the last batch"},
    [MRR] = {"valid/mrr", "%.4f", "mean reciprocal rank of validation queries"},
    [HITS1] = {"valid/hits_1", NULL, "share ranked first"},
    [HITS10] = {"valid/hits_10", NULL, "share ranked among the first ten"},
    [BEST_MRR] = {"valid/best_mrr", NULL, "best so far, whose embeddings are kept"},
};

/* Sums of a minibatch. */
typedef struct batch_sums {
    double loss;               /* mean over its facts */
    double positive, negative; /* added to those of the epoch */
} batch_sums;
enum { N_BATCH_SUMS = sizeof(batch_sums) / sizeof(double) };

#define RANKING_BEGINS 0.8 /* of the progress of an epoch that ranks */

enum test_column { TEST_MRR, TEST_HITS1, TEST_HITS3, TEST_HITS10, TEST_QUERIES, N_TEST_COLUMNS };
static const lud_metric test_columns[N_TEST_COLUMNS] = {
    [TEST_MRR] = {"test/mrr", "%.4f", "mean reciprocal rank of test queries"},
    [TEST_HITS1] = {"test/hits_1", "%.4f", "share ranked first"},
    [TEST_HITS3] = {"test/hits_3", "%.4f", "share ranked among the first three"},
    [TEST_HITS10] = {"test/hits_10", "%.4f", "share ranked among the first ten"},
    [TEST_QUERIES] = {"test/queries", "%.0f", "queries ranked"},
};

typedef struct kge {
    lud_learner base;
    lud_arena *arena;
    const lud_scenario *scenario;
    const lud_proof_model *model;
    lud_device *device, *own_device; /* the second: when the first is no CPU */
    kge_options options;
    lud_parameters *parameters, *best;
    int entity, relation; /* parameters */
    lud_optimiser *optimiser;
    lud_shares shares;
    lud_schedule rate;
    lud_proof_ranker *ranker;
    lud_proof_ranking_query *ranking; /* of the longer of valid and test queries */
    int32_t n_valid, n_test;
    float *head_share; /* [predicates + 1] chance that the head is corrupted */

    int32_t n_facts, n_batches;
    int32_t *order;    /* [n_facts] */
    uint8_t *side;     /* [batch] lud_kge_side of the candidates, of this process' shares */
    int32_t *negative; /* [negatives] constants */
    int32_t *drawn;    /* [constants + 1] the first of `negative` that is this constant, plus 1; 0: none is */
    int32_t *again;    /* [negatives] the next that is the same constant, plus 1 */
    uint8_t *skip;     /* [batch][negatives] likewise */
    /* of the share in hand */
    float *q, *dq, *e, *de, *score, *dscore;
    double *positive, *dpositive;

    uint64_t epoch;
    uint64_t batch;      /* batches done of an epoch that was broken off; else 0 */
    double sums[N_SUMS]; /* and its first columns so far, sums not yet divided */
    double best_mrr;
} kge;

static void destroy(lud_learner *learner) {
    kge *k = (kge *)learner;
    lud_proof_ranker_destroy(k->ranker);
    lud_shares_close(&k->shares);
    lud_optimiser_destroy(k->optimiser);
    lud_parameters_destroy(k->best);
    lud_parameters_destroy(k->parameters);
    lud_device_close(k->own_device);
    lud_arena_destroy(k->arena);
    free(k);
}

/* How often the head is corrupted: tails per head against heads per tail (Wang et al., 2014). */
static void count_sides(kge *k) {
    const lud_proof_base *base = k->model->base;
    for (int32_t p = 1; p <= base->n_predicates; p++) {
        double n[2] = {0.0, 0.0}; /* different heads and tails */
        for (int side = 0; side < 2; side++)
            for (int32_t c = 1; c <= base->n_constants; c++) {
                const lud_proof_range range = lud_proof_facts_with(base, p, side, c);
                n[side] += range.end > range.begin;
            }
        /* tails per head = facts / heads, heads per tail = facts / tails */
        k->head_share[p] = k->options.bernoulli && n[0] + n[1] > 0.0 ? (float)(n[1] / (n[0] + n[1])) : 0.5f;
    }
}

static lud_status take_memory(kge *k, lud_error *error) {
    const size_t batch = (size_t)k->options.batch_size, n = (size_t)k->options.negatives,
                 width = (size_t)lud_kge_entity_width(&k->options.shape);
    bool complete = true;
#define TAKE(pointer, count)                                                                                 \
    complete = complete && ((pointer) = lud_arena_take_array(k->arena, (count), sizeof *(pointer)))
    TAKE(k->order, (size_t)k->n_facts);
    TAKE(k->side, batch);
    TAKE(k->negative, n);
    TAKE(k->drawn, (size_t)k->model->base->n_constants + 1);
    TAKE(k->again, n);
    TAKE(k->skip, batch * n);
    TAKE(k->q, batch * width);
    TAKE(k->dq, batch * width);
    TAKE(k->e, n * width);
    TAKE(k->de, n * width);
    TAKE(k->score, batch * n);
    TAKE(k->dscore, batch * n);
    TAKE(k->positive, batch);
    TAKE(k->dpositive, batch);
    TAKE(k->head_share, (size_t)k->model->base->n_predicates + 1);
    TAKE(k->ranking, (size_t)(k->n_valid > k->n_test ? k->n_valid : k->n_test) + 1);
#undef TAKE
    return complete ? LUD_OK : lud_no_memory(error, "embeddings");
}

static lud_status build_tables(kge *k, lud_error *error) {
    const lud_kge_shape *shape = &k->options.shape;
    const lud_proof_base *base = k->model->base;
    const double d = (double)shape->dimension;
    /* distances begin near the margin, products near zero */
    const double scale = lud_kge_is_product(shape) ? 1.0 / sqrt(d) : (shape->margin + 2.0) / d;
    const lud_init_kind kind = lud_kge_is_product(shape) ? LUD_INIT_NORMAL : LUD_INIT_UNIFORM;
    const lud_init entity = {.kind = kind, .a = scale};
    const lud_init relation = {.kind = kind,
                               .a = shape->scorer == LUD_KGE_ROTATE ? 3.14159265358979323846 : scale};
    k->parameters = lud_parameters_create(k->device, false);
    if (!k->parameters) return lud_no_memory(error, "embeddings");
    k->entity = lud_parameters_add(k->parameters, "entity", 2,
                                   (int64_t[]){base->n_constants, lud_kge_entity_width(shape)}, entity);
    k->relation =
        lud_parameters_add(k->parameters, "relation", 2,
                           (int64_t[]){base->n_predicates, lud_kge_relation_width(shape)}, relation);
    if (k->entity < 0 || k->relation < 0) return lud_no_memory(error, "embeddings");
    lud_parameters_set_low_rank(k->parameters, "", true);
    LUD_TRY(lud_parameters_build(k->parameters, (uint64_t)k->scenario->run.seed, error));
    k->best = lud_parameters_clone(k->parameters);
    k->optimiser = lud_optimiser_create(k->parameters);
    if (!k->best || !k->optimiser) return lud_no_memory(error, "embeddings");
    lud_optimiser_options o = k->options.optimiser;
    o.max_norm = k->options.max_grad_norm;
    if (lud_optimiser_group(k->optimiser, "", &o, false) < 0) return lud_no_memory(error, "the optimiser");
    LUD_TRY(lud_optimiser_build(k->optimiser, (uint64_t)k->scenario->run.seed, error));
    return lud_shares_open(k->parameters, (int)k->options.shares, N_BATCH_SUMS, &k->shares, error);
}

static int32_t limited(int64_t wanted, int32_t n) {
    return wanted > 0 && wanted < n ? (int32_t)wanted : n;
}

static lud_status build(kge *k, lud_error *error) {
    LUD_TRY(lud_options_read(&table, k->arena, k->scenario->learner, &k->options, error));
    LUD_TRY(lud_optimiser_options_check(&k->options.optimiser, k->scenario->learner, error));
    const lud_place place = k->scenario->learner->place;
    const lud_proof_base *base = k->model->base;
    if (!k->device->backend->host_memory) { /* the scores are taken on the host, where the embeddings lie */
        LUD_TRY(lud_scenario_device(k->scenario, "cpu", &k->own_device, error));
        k->device = k->own_device;
    }
    for (int32_t p = 1; p <= base->n_predicates; p++)
        if (base->arity[p] != 2)
            return lud_invalid_at(error, place, "learner kge needs predicates with two arguments; %s has %d",
                                  base->predicates[p], base->arity[p]);
    if (base->n_facts == 0) return lud_invalid_at(error, place, "there are no facts to learn");
    k->n_facts = base->n_facts;
    if (k->options.batch_size > k->n_facts) k->options.batch_size = k->n_facts;
    LUD_TRY(lud_shares_check(k->options.shares, k->options.batch_size, "facts of a minibatch (batch_size)",
                             place, error));
    k->n_batches = (int32_t)((k->n_facts + k->options.batch_size - 1) / k->options.batch_size);
    k->base.n_iterations = (uint64_t)k->options.epochs;
    const double updates = (double)k->options.epochs * k->n_batches;
    const double warmup = floor(k->options.learning_rate.warmup * updates);
    k->rate = (lud_schedule){.kind = (lud_schedule_kind)k->options.learning_rate.decay,
                             .start = k->options.learning_rate.start,
                             .end = k->options.learning_rate.end,
                             .warmup = warmup,
                             .length = updates - warmup};
    if (k->rate.kind == LUD_SCHEDULE_EXPONENTIAL && (k->rate.start <= 0.0 || k->rate.end <= 0.0))
        return lud_invalid_at(error, place,
                              "learning_rate: an exponential decay needs start and end above 0");
    k->n_valid = limited(k->options.evaluation.n_queries, k->model->pools[LUD_PROOF_VALID].n);
    k->n_test = limited(k->options.evaluation.n_queries, k->model->pools[LUD_PROOF_TEST].n);
    k->options.evaluation.rank.fusion.kind = LUD_PROOF_FUSION_KGE;
    k->options.evaluation.rank.n_slots = 1;
    LUD_TRY(take_memory(k, error));
    LUD_TRY(build_tables(k, error));
    LUD_TRY(lud_proof_ranker_create(k->model, NULL, &k->options.evaluation.rank,
                                    (lud_proof_corrupt)k->model->options.negatives.corrupt, 1, &k->ranker,
                                    error));
    count_sides(k);
    return LUD_OK;
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    kge *k = calloc(1, sizeof *k);
    if (!k) return lud_no_memory(error, "a learner");
    k->base = (lud_learner){.kind = &lud_learner_kge,
                            .columns = columns,
                            .n_columns = N_COLUMNS,
                            .evaluation_columns = test_columns,
                            .n_evaluation_columns = N_TEST_COLUMNS};
    k->scenario = scenario;
    k->model = (const lud_proof_model *)(const void *)scenario->model;
    k->device = device;
    k->best_mrr = -1.0;
    k->arena = lud_arena_create(0);
    lud_status status = k->arena ? build(k, error) : lud_out_of_memory(error);
    if (status)
        destroy(&k->base);
    else
        *learner = &k->base;
    return status;
}

/* ---- one epoch ---- */

static void shuffle(kge *k) {
    for (int32_t i = 0; i < k->n_facts; i++) k->order[i] = i;
    const lud_random_key key = {(uint64_t)k->scenario->run.seed, (uint32_t)k->epoch};
    for (int32_t i = k->n_facts - 1; i > 0; i--) {
        const lud_words w = lud_draw(key, (uint32_t)i, 0, LUD_PURPOSE_SHUFFLE, 0);
        const int32_t j = (int32_t)lud_below(w.v[0], (uint32_t)i + 1), swap = k->order[i];
        k->order[i] = k->order[j];
        k->order[j] = swap;
    }
}

/* Marks the negatives that make a fact of a fact when they replace its argument at `side`, itself among
 * them. */
static void mark_facts(const kge *k, const lud_proof_atom *fact, int side, uint8_t *skip) {
    const lud_proof_base *base = k->model->base;
    memset(skip, 0, (size_t)k->options.negatives);
    const lud_proof_range range = lud_proof_facts_with(base, fact->predicate, !side, fact->terms[!side]);
    for (int32_t i = range.begin; i < range.end; i++) {
        const lud_proof_atom *other = &base->facts[range.order ? range.order[i] : i];
        for (int32_t j = k->drawn[other->terms[side]]; j; j = k->again[j - 1]) skip[j - 1] = 1;
    }
}

/* Draws the batch's negatives and the side of each fact of this process' shares; marks negatives that are the
 * fact's own answer or facts themselves. */
static void draw(kge *k, int32_t first, int32_t n, uint32_t batch) {
    const lud_proof_base *base = k->model->base;
    const int64_t n_negatives = k->options.negatives;
    const lud_shares *s = &k->shares;
    const int32_t begin = (int32_t)lud_share_begin(n, s->n, s->first),
                  end = (int32_t)lud_share_begin(n, s->n, s->end);
    const lud_random_key key = {(uint64_t)k->scenario->run.seed, (uint32_t)k->epoch};
    for (int64_t j = 0; j < n_negatives; j++) {
        const lud_words w = lud_draw(key, batch, (uint32_t)j, LUD_PURPOSE_NEGATIVE, 0);
        k->negative[j] = 1 + (int32_t)lud_below(w.v[0], (uint32_t)base->n_constants);
        k->again[j] = k->drawn[k->negative[j]];
        k->drawn[k->negative[j]] = (int32_t)j + 1;
    }
#pragma omp parallel for schedule(static) num_threads(k->device->n_threads)
    for (int32_t i = begin; i < end; i++) {
        const lud_proof_atom *fact = &base->facts[k->order[first + i]];
        const lud_words w = lud_draw(key, batch, (uint32_t)i, LUD_PURPOSE_NEGATIVE, 1);
        k->side[i] = lud_unit_float(w.v[0]) < k->head_share[fact->predicate] ? LUD_KGE_HEAD : LUD_KGE_TAIL;
        mark_facts(k, fact, k->side[i], k->skip + i * n_negatives);
    }
    for (int64_t j = 0; j < n_negatives; j++) k->drawn[k->negative[j]] = 0;
}

static double log_sigmoid(double x) {
    return x < 0.0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}
static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

double lud_kge_loss(bool self_adversarial, double alpha, int64_t n, int64_t k, const double *positive,
                    const float *negative, const uint8_t *skip, double *dpositive, float *dnegative) {
    double loss = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const float *s = negative + i * k;
        const uint8_t *leave = skip + i * k;
        float *d = dnegative + i * k;
        double most = -INFINITY, sum = 0.0;
        for (int64_t j = 0; j < k; j++)
            if (!leave[j]) most = fmax(most, self_adversarial ? alpha * (double)s[j] : 0.0);
        for (int64_t j = 0; j < k; j++)
            if (!leave[j]) sum += exp((self_adversarial ? alpha * (double)s[j] : 0.0) - most);
        loss -= 0.5 * log_sigmoid(positive[i]) / (double)n;
        dpositive[i] = -0.5 * sigmoid(-positive[i]) / (double)n;
        for (int64_t j = 0; j < k; j++) {
            d[j] = 0.0f;
            if (leave[j]) continue;
            const double weight = exp((self_adversarial ? alpha * (double)s[j] : 0.0) - most) / sum;
            loss -= 0.5 * weight * log_sigmoid(-(double)s[j]) / (double)n;
            d[j] = (float)(0.5 * weight * sigmoid((double)s[j]) / (double)n);
        }
    }
    return loss;
}

static float *row_of(const kge *k, int parameter, int32_t number, bool gradient) {
    const int64_t width = k->parameters->items[parameter].dimensions[1];
    float *block = gradient ? lud_parameters_gradient(k->parameters, parameter)
                            : lud_parameters_value(k->parameters, parameter);
    return block + (int64_t)(number - 1) * width;
}

/* Scores of n facts, `order`, with these candidates; their mean loss, and its gradients in the tables. */
static void learn_facts(kge *k, const int32_t *order, int32_t n, const uint8_t *sides, const uint8_t *skip,
                        batch_sums *sums) {
    const lud_kge_shape *shape = &k->options.shape;
    const lud_proof_base *base = k->model->base;
    const int64_t width = lud_kge_entity_width(shape), n_negatives = k->options.negatives;
    for (int32_t i = 0; i < n; i++) {
        const lud_proof_atom *fact = &base->facts[order[i]];
        const lud_kge_side side = (lud_kge_side)sides[i];
        float *q = k->q + i * width;
        lud_kge_query(shape, side, row_of(k, k->entity, fact->terms[side == LUD_KGE_HEAD], false),
                      row_of(k, k->relation, fact->predicate, false), q);
        k->positive[i] = lud_kge_score(shape, q, row_of(k, k->entity, fact->terms[side], false));
        sums->positive += k->positive[i];
    }
    lud_kge_scores(k->device, shape, n, k->q, n_negatives, k->e, k->score);
    for (int64_t i = 0; i < n * n_negatives; i++) sums->negative += (double)k->score[i] / (double)n_negatives;
    sums->loss = lud_kge_loss(k->options.loss == SELF_ADVERSARIAL, k->options.alpha, n, n_negatives,
                              k->positive, k->score, skip, k->dpositive, k->dscore);
    lud_kge_scores_backward(k->device, shape, n, k->q, n_negatives, k->e, k->dscore, k->dq, k->de);
    for (int32_t i = 0; i < n; i++) {
        const lud_proof_atom *fact = &base->facts[order[i]];
        const lud_kge_side side = (lud_kge_side)sides[i];
        const int32_t answer = fact->terms[side], anchor = fact->terms[side == LUD_KGE_HEAD];
        lud_kge_score_backward(shape, k->q + i * width, row_of(k, k->entity, answer, false), k->dpositive[i],
                               k->dq + i * width, row_of(k, k->entity, answer, true));
        lud_kge_query_backward(shape, side, row_of(k, k->entity, anchor, false),
                               row_of(k, k->relation, fact->predicate, false), k->dq + i * width,
                               row_of(k, k->entity, anchor, true),
                               row_of(k, k->relation, fact->predicate, true));
    }
    for (int64_t j = 0; j < n_negatives; j++) {
        float *to = row_of(k, k->entity, k->negative[j], true);
        for (int64_t w = 0; w < width; w++) to[w] += k->de[j * width + w];
    }
}

/* Gradients and sums of a batch, facts first .. first + n - 1 of the order. */
static lud_status learn(kge *k, int32_t first, int32_t n, const double *row, batch_sums *sums,
                        lud_error *error) {
    const int64_t width = lud_kge_entity_width(&k->options.shape), n_negatives = k->options.negatives;
    lud_shares *shares = &k->shares;
    for (int64_t j = 0; j < n_negatives; j++)
        memcpy(k->e + j * width, row_of(k, k->entity, k->negative[j], false), (size_t)width * sizeof *k->e);
    lud_shares_begin(shares);
    for (int s = shares->first; s < shares->end; s++) {
        const int32_t begin = (int32_t)lud_share_begin(n, shares->n, s),
                      own = (int32_t)lud_share_begin(n, shares->n, s + 1) - begin;
        const double part = (double)own / (double)n;
        batch_sums of_share = {0};
        if (s == 0) { /* the sums of the epoch go on in the first */
            of_share.positive = row[POSITIVE];
            of_share.negative = row[NEGATIVE];
        }
        if (own > 0)
            learn_facts(k, k->order + first + begin, own, k->side + begin, k->skip + begin * n_negatives,
                        &of_share);
        of_share.loss *= part;
        lud_shares_keep(shares, s, part, (const double *)&of_share);
    }
    return lud_shares_add(shares, LUD_OK, (double *)sums, error);
}

/* Shortens components of constants that are longer than max_modulus. */
static void project(kge *k) {
    if (k->options.shape.scorer != LUD_KGE_ROTATE || k->options.max_modulus <= 0.0) return;
    const int64_t d = k->options.shape.dimension;
    const float most = (float)k->options.max_modulus;
#pragma omp parallel for schedule(static) num_threads(k->device->n_threads)
    for (int32_t c = 1; c <= k->model->base->n_constants; c++) {
        float *x = row_of(k, k->entity, c, false);
        for (int64_t i = 0; i < d; i++) {
            const float length = sqrtf(x[i] * x[i] + x[d + i] * x[d + i]);
            if (length <= most) continue;
            x[i] *= most / length;
            x[d + i] *= most / length;
        }
    }
}

/* ---- ranking ---- */

static lud_kge view_of(const kge *k, const lud_parameters *parameters) {
    return (lud_kge){.shape = k->options.shape,
                     .n_entities = k->model->base->n_constants,
                     .n_relations = k->model->base->n_predicates,
                     .entities = lud_parameters_value(parameters, k->entity),
                     .relations = lud_parameters_value(parameters, k->relation),
                     .query = k->q}; /* no batch is in progress */
}

lud_kge lud_kge_learned(lud_learner *learner) {
    const kge *k = (const kge *)learner;
    return view_of(k, k->best);
}

static lud_status rank_queries(kge *k, lud_parameters *parameters, lud_proof_split split, int32_t n,
                               lud_proof_ranking_summary *summary, lud_error *error) {
    const lud_kge view = view_of(k, parameters);
    lud_ranks *ranks = k->shares.ranks;
    const int rank = lud_ranks_rank(ranks);
    /* each process ranks the queries of its shares */
    const int32_t first = (int32_t)lud_ranks_first_item(ranks, n, k->shares.n, rank),
                  end = (int32_t)lud_ranks_first_item(ranks, n, k->shares.n, rank + 1);
    lud_proof_ranker_use_kge(k->ranker, &view);
    const lud_status status =
        lud_proof_rank(k->ranker, k->model->pools[split], first, end - first, k->ranking + first, error);
    const lud_ranks_array all = {k->ranking, sizeof *k->ranking, 1, n};
    LUD_TRY(lud_ranks_agree(ranks, status, error));
    LUD_TRY(lud_ranks_complete(ranks, &all, 1, k->shares.n, error));
    *summary = lud_proof_ranking_summarise(&k->options.evaluation.rank, k->ranking, n, NULL);
    return LUD_OK;
}

static lud_status validate(kge *k, double *row, lud_error *error) {
    lud_proof_ranking_summary s = {0};
    LUD_TRY(k->n_valid ? rank_queries(k, k->parameters, LUD_PROOF_VALID, k->n_valid, &s, error) : LUD_OK);
    if (k->n_valid == 0 || s.mrr > k->best_mrr) {
        k->best_mrr = s.mrr;
        lud_parameters_copy(k->best, k->parameters);
    }
    if (k->n_valid == 0) return LUD_OK;
    row[MRR] = s.mrr;
    row[HITS1] = s.hits1;
    row[HITS10] = s.hits10;
    row[BEST_MRR] = k->best_mrr;
    return LUD_OK;
}

/* Keeps what has been done of an epoch that is broken off before a batch, or, after the last, in the ranking.
 */
static lud_status stop(kge *k, int32_t batch, const double *sums, lud_status status) {
    k->batch = (uint64_t)batch;
    memcpy(k->sums, sums, sizeof k->sums);
    return status;
}

/* The batches of an epoch that are left. */
static lud_status learn_batches(kge *k, double *row, lud_error *error) {
    const int32_t size = (int32_t)k->options.batch_size;
    shuffle(k);
    for (int32_t b = (int32_t)k->batch; b < k->n_batches; b++) {
        const double part = RANKING_BEGINS * (double)b / (double)k->n_batches;
        const int32_t first = b * size, n = k->n_facts - first < size ? k->n_facts - first : size;
        batch_sums sums = {0};
        lud_status status =
            lud_ranks_agree(k->shares.ranks, lud_progress_beat(k->base.progress, part, error), error);
        if (!status) {
            draw(k, first, n, (uint32_t)b);
            status = learn(k, first, n, row, &sums, error);
        }
        if (status) return stop(k, b, row, status);
        row[LOSS] += sums.loss * n / k->n_facts;
        row[POSITIVE] = sums.positive;
        row[NEGATIVE] = sums.negative;
        row[RATE] = lud_schedule_at(&k->rate, (double)k->epoch * k->n_batches + b);
        lud_optimiser_step(k->optimiser, 0, row[RATE]);
        row[GRADIENT] = lud_optimiser_norm(k->optimiser, 0);
        project(k);
    }
    return lud_device_check(k->device, error);
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    kge *k = (kge *)learner;
    memcpy(row, k->sums, sizeof k->sums);
    lud_status status = learn_batches(k, row, error);
    if (status) return status;
    double sums[N_SUMS];
    memcpy(sums, row, sizeof sums);
    row[POSITIVE] /= k->n_facts;
    row[NEGATIVE] /= k->n_facts;
    const uint64_t every = (uint64_t)k->options.evaluation.every, epoch = k->epoch + 1;
    lud_proof_ranker_show(k->ranker, k->base.progress, RANKING_BEGINS, 1.0);
    if (epoch == k->base.n_iterations || (every && epoch % every == 0)) status = validate(k, row, error);
    if (status == LUD_INTERRUPTED) return stop(k, k->n_batches, sums, status);
    k->epoch = epoch;
    k->batch = 0;
    memset(k->sums, 0, sizeof k->sums);
    return status;
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    kge *k = (kge *)learner;
    lud_proof_ranking_summary s = {0};
    lud_proof_ranker_show(k->ranker, k->base.progress, 0.0, 1.0);
    lud_status status = rank_queries(k, k->best, LUD_PROOF_TEST, k->n_test, &s, error);
    if (status) return status;
    row[TEST_MRR] = s.mrr;
    row[TEST_HITS1] = s.hits1;
    row[TEST_HITS3] = s.hits3;
    row[TEST_HITS10] = s.hits10;
    row[TEST_QUERIES] = (double)s.n_queries;
    return status;
}

/* ---- saving ---- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    kge *k = (kge *)learner;
    lud_kge_visit_shape(&k->options.shape, k->model->base, checkpoint);
    lud_parameters_visit(k->parameters, "", checkpoint);
    if (lud_checkpoint_loading(checkpoint)) lud_parameters_copy(k->best, k->parameters);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    kge *k = (kge *)learner;
    visit_policy(learner, checkpoint);
    lud_checkpoint_u64(checkpoint, "kge.epoch", &k->epoch);
    lud_checkpoint_real(checkpoint, "kge.best_mrr", &k->best_mrr);
    lud_parameters_visit(k->best, "best.", checkpoint);
    lud_optimiser_visit(k->optimiser, "optimiser.", checkpoint);
    /* only of an epoch that was broken off */
    static const char sums[] = "kge.sums";
    const int64_t n = N_SUMS;
    const bool loading = lud_checkpoint_loading(checkpoint);
    lud_checkpoint_limit(checkpoint, "kge.epoch", k->epoch, UINT32_MAX);
    if (loading && k->best_mrr > 1.0)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "'kge.best_mrr' of the checkpoint is %g",
                            k->best_mrr);
    if (loading) {
        k->batch = 0;
        memset(k->sums, 0, sizeof k->sums);
    }
    if (loading ? !lud_checkpoint_find(checkpoint, sums) : k->batch == 0) return;
    lud_checkpoint_u64(checkpoint, "kge.batch", &k->batch);
    lud_checkpoint_tensor(checkpoint, sums, LUD_TENSOR_F64, 1, &n, k->sums);
    if (k->batch > (uint64_t)k->n_batches)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "kge.batch is beyond the last of an epoch");
}

const lud_learner_kind lud_learner_kge = {
    .name = "kge",
    .about = "embeddings of a knowledge graph that score triples",
    .options = &table,
    .values = offsetof(kge, options),
    .world = "proof",
    .create = create,
    .destroy = destroy,
    .goes_on_within = true,
    .iterate = iterate,
    .evaluate = evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "valid/mrr"},
};
