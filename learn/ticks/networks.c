#include "learn/ticks/networks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mappo/head.h"
#include "learn/mappo/start.h"
#include "learn/nn/arrays.h"
#include "learn/policy_gradient/row_arrays.h"
#include "learn/ticks/token_policy.h"

/* Arrays of one number a row that go to the device in a lesson, come back, and stay there. */
enum {
    COEFFICIENT,
    ENTROPY,
    TARGET,
    WEIGHT,
    SENT,
    LOSS = SENT,
    FETCHED = 1,
    NORMALISED = SENT + FETCHED,
    KEPT = 1
};

/* Rows of a pass of learning where memory is no question: they stay in caches, and gradients are the same on
 * every device. */
enum { LEARN_ROWS = 1024 };

typedef struct vector {
    lud_tick_policy base;
    lud_mappo_networks *acting, *learning; /* the latter, or else the former, owns the parameters */
    lud_value_normaliser normaliser;
    lud_row_arrays rows;
    double huber_delta;
    lud_arrays arrays;
    int32_t *place, *agent, *nought; /* [rows of a pass]; nought: zeros */
    uint32_t *environment, *number;  /* [rows of a pass] of draws, host and device */
    uint32_t *device_environment, *device_number;
    int32_t *action;    /* [n_acting] of the last act */
    float *numbers;     /* [n_acting][n_continuous] */
    float *probability; /* [rows of a pass][n_discrete] */
    int32_t *in_order;  /* [n_acting] 0, 1, ... */
} vector;

static void destroy(lud_tick_policy *policy) {
    vector *v = (vector *)policy;
    lud_mappo_networks_destroy(v->acting);
    lud_mappo_networks_destroy(v->learning);
    lud_value_normaliser_destroy(&v->normaliser);
    lud_row_arrays_destroy(&v->rows);
    lud_arrays_free(&v->arrays);
    free(v);
}

/* Hands networks the n rows of place and agent. */
static void feed(vector *v, lud_mappo_networks *t, const lud_tick_rows *rows, int64_t n) {
    static const float one = 1.0f; /* nothing is remembered, so nothing begins */
    lud_mappo_inputs_observe(&t->inputs, (const void *const *)rows->observations, n, v->place, v->agent);
    const lud_mappo_memory memory = {.masks = &one};
    (void)lud_mappo_inputs_remember(&t->inputs, n, v->nought, &memory, NULL); /* no state can be missing */
    lud_mappo_inputs_upload(&t->inputs);
    lud_mappo_allow(t, n, v->agent);
}

/* Takes rows from `first` on, of environments whose clocks agree, as many as pass at once. */
static int64_t take(vector *v, const lud_tick_rows *rows, int64_t first, int64_t most) {
    const uint32_t tick = rows->range.tick[rows->environment[first]];
    int64_t n = 0;
    for (int64_t i = first; i < rows->n && n < most; i++, n++) {
        if (rows->range.tick[rows->environment[i]] != tick) break;
        v->place[n] = rows->environment[i];
        v->agent[n] = rows->agent[i];
        v->environment[n] = rows->range.first_environment + (uint32_t)rows->environment[i];
        v->number[n] = (uint32_t)rows->agent[i];
    }
    return n;
}

/* The probabilities of the last run of the actor, [rows][choices] on the host; 0 where there is no choice. */
static const float *find_probabilities(vector *v) {
    lud_mappo_networks *t = v->acting;
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const uint8_t *allowed = t->shape.masked ? t->fields[LUD_FIELD_CHOICES].host : NULL;
    lud_device_download(t->device, v->probability, lud_nn_value(t->actor.nn, t->actor.out),
                        (size_t)(n * width) * sizeof *v->probability);
    for (int64_t k = 0; k < n * width && allowed; k++)
        if (!allowed[k]) v->probability[k] = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        float *p = v->probability + i * width, largest = -INFINITY;
        double sum = 0.0;
        for (int64_t k = 0; k < width; k++) largest = fmaxf(largest, p[k]);
        for (int64_t k = 0; k < width; k++) sum += (double)(p[k] = expf(p[k] - largest));
        for (int64_t k = 0; k < width; k++) p[k] = (float)((double)p[k] / sum);
    }
    return v->probability;
}

/* What n rows from `first` on have come to. */
static void write_choices(vector *v, const lud_tick_choices *c, int64_t first, int64_t n) {
    lud_mappo_networks *t = v->acting;
    const int64_t width = t->shape.n_continuous;
    if (t->shape.n_discrete > 0) {
        memcpy(v->action + first, t->fields[LUD_FIELD_ACTION].host, (size_t)n * sizeof *v->action);
        if (c->discrete) memcpy(c->discrete + first, v->action + first, (size_t)n * sizeof *v->action);
    } else {
        const size_t bytes = (size_t)(n * width) * sizeof *v->numbers;
        memcpy(v->numbers + first * width, t->fields[LUD_FIELD_NUMBER].host, bytes);
        if (c->continuous) memcpy(c->continuous + first * width, v->numbers + first * width, bytes);
    }
    const size_t bytes = (size_t)n * sizeof(float);
    if (c->log_prob) memcpy(c->log_prob + first, t->fields[LUD_FIELD_LOG_PROB].host, bytes);
    if (c->entropy) memcpy(c->entropy + first, t->fields[LUD_FIELD_ENTROPY].host, bytes);
    for (int64_t i = first; i < first + n; i++) {
        if (c->n_tokens) c->n_tokens[i] = 1;
        if (c->failed) c->failed[i] = 0;
    }
    if (c->confidence)
        lud_baseline_expected_confidence(n, t->actor.out_width, find_probabilities(v), c->confidence + first);
}

static lud_status act(lud_tick_policy *policy, const lud_tick_rows *rows, const lud_tick_choices *choices,
                      lud_error *error) {
    vector *v = (vector *)policy;
    assert(rows->n <= policy->n_acting);
    for (int64_t first = rows->first, n; first < rows->n; first += n) {
        n = take(v, rows, first, policy->act_rows);
        feed(v, v->acting, rows, n);
        lud_device_upload(policy->device, v->device_environment, v->environment,
                          (size_t)n * sizeof *v->environment);
        lud_device_upload(policy->device, v->device_number, v->number, (size_t)n * sizeof *v->number);
        const lud_draws draws = {.seed = rows->range.seed,
                                 .environment = v->device_environment,
                                 .agent = v->device_number,
                                 .n_agents = 1,
                                 .step = rows->range.tick[rows->environment[first]],
                                 .purpose = LUD_PURPOSE_ACTION};
        lud_mappo_act(v->acting, &draws, rows->greedy);
        write_choices(v, choices, first, n);
    }
    return lud_device_check(policy->device, error);
}

static lud_status value(lud_tick_policy *policy, const lud_tick_rows *rows, float *values, lud_error *error) {
    vector *v = (vector *)policy;
    for (int64_t first = rows->first, n; first < rows->n; first += n) {
        n = take(v, rows, first, policy->act_rows);
        feed(v, v->acting, rows, n);
        lud_mappo_value(v->acting, values + first);
    }
    lud_value_normaliser_denormalise(&v->normaliser, rows->n - rows->first, values + rows->first);
    return lud_device_check(policy->device, error);
}

static lud_status probabilities(lud_tick_policy *policy, const lud_tick_rows *rows, float *p,
                                lud_error *error) {
    vector *v = (vector *)policy;
    const int64_t width = v->acting->shape.n_discrete;
    assert(width > 0);
    for (int64_t first = rows->first, n; first < rows->n; first += n) {
        n = take(v, rows, first, policy->act_rows);
        feed(v, v->acting, rows, n);
        lud_mappo_field_send(v->acting, LUD_FIELD_CHOICES);
        lud_mappo_net_forward(&v->acting->actor, false);
        memcpy(p + first * width, find_probabilities(v), (size_t)(n * width) * sizeof *p);
    }
    return lud_device_check(policy->device, error);
}

/* ---- learning ---- */

/* Hands the learning networks n rows of the last act. */
static void feed_lesson(vector *v, const lud_tick_rows *rows, const int32_t *row, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        v->place[k] = rows->environment[row[k]];
        v->agent[k] = rows->agent[row[k]];
    }
    feed(v, v->learning, rows, n);
    lud_row_arrays_set(&v->rows, n, 0);
}

static void learn_actions(vector *v, const lud_tick_lesson *lesson) {
    lud_mappo_networks *t = v->learning;
    const int64_t width = t->shape.n_continuous;
    int32_t *action = t->fields[LUD_FIELD_ACTION].host;
    float *numbers = t->fields[LUD_FIELD_NUMBER].host;
    const float entropy = (float)(-lesson->entropy_coefficient / (double)lesson->n);
    for (int64_t first = 0, n; first < lesson->n; first += n) {
        n = lesson->n - first < v->base.learn_rows ? lesson->n - first : v->base.learn_rows;
        const int32_t *row = lesson->row + first;
        feed_lesson(v, lesson->rows, row, n);
        float *coefficient = lud_row_host(&v->rows, COEFFICIENT), *dentropy = lud_row_host(&v->rows, ENTROPY);
        for (int64_t k = 0; k < n; k++) {
            coefficient[k] = lesson->coefficient[first + k];
            dentropy[k] = lesson->entropy_weight ? entropy * lesson->entropy_weight[first + k] : entropy;
            if (t->shape.n_discrete > 0)
                action[k] = v->action[row[k]];
            else
                memcpy(numbers + k * width, v->numbers + row[k] * width, (size_t)width * sizeof *numbers);
        }
        lud_row_arrays_send(&v->rows);
        lud_mappo_send_actions(t);
        lud_mappo_net_forward(&t->actor, true);
        lud_mappo_head.backward(t, t->device, lud_row_device(&v->rows, COEFFICIENT),
                                lud_row_device(&v->rows, ENTROPY));
        lud_nn_backward(t->actor.nn);
    }
}

static double learn_values(vector *v, const lud_tick_lesson *lesson) {
    lud_mappo_networks *t = v->learning;
    double total = 0.0;
    const double scale = lesson->value_coefficient / (double)lesson->n_valued;
    lud_tick_lesson_follow(lesson, &v->normaliser, v->in_order);
    if (lesson->n_valued == 0) return 0.0;
    for (int64_t first = 0, n; first < lesson->n_valued; first += n) {
        n = lesson->n_valued - first < v->base.learn_rows ? lesson->n_valued - first : v->base.learn_rows;
        feed_lesson(v, lesson->rows, lesson->valued + first, n);
        memcpy(lud_row_host(&v->rows, TARGET), lesson->target + first, (size_t)n * sizeof *lesson->target);
        if (lesson->value_weight)
            memcpy(lud_row_host(&v->rows, WEIGHT), lesson->value_weight + first,
                   (size_t)n * sizeof *lesson->value_weight);
        lud_row_arrays_send(&v->rows);
        lud_mappo_net_forward(&t->critic, true);
        const float *target =
            lud_value_normaliser_targets(&v->normaliser, t->device, n, lud_row_device(&v->rows, TARGET),
                                         lud_row_device(&v->rows, NORMALISED));
        const float *got = lud_nn_value(t->critic.nn, t->critic.out);
        float *gradient = lud_nn_gradient(t->critic.nn, t->critic.out),
              *loss = lud_row_device(&v->rows, LOSS);
        const float *weight = lesson->value_weight ? lud_row_device(&v->rows, WEIGHT) : NULL;
        if (v->huber_delta > 0.0)
            t->device->ops->huber_loss(t->device, n, v->huber_delta, got, target, weight, scale, loss,
                                       gradient, false);
        else
            t->device->ops->mse_loss(t->device, n, got, target, weight, scale, loss, gradient, false);
        lud_nn_backward(t->critic.nn);
        lud_row_arrays_fetch(&v->rows);
        const float *of_rows = lud_row_host(&v->rows, LOSS);
        for (int64_t k = 0; k < n; k++) total += (double)of_rows[k];
    }
    return total / (double)lesson->n_valued;
}

static lud_status learn(lud_tick_policy *policy, const lud_tick_lesson *lesson, lud_tick_losses *losses,
                        lud_error *error) {
    vector *v = (vector *)policy;
    assert(v->learning);
    if (lesson->n > 0) learn_actions(v, lesson);
    if (lesson->n_valued > 0 || lesson->n_seen > 0) losses->value = learn_values(v, lesson);
    return lud_device_check(policy->device, error);
}

static lud_status assume(lud_tick_policy *policy, const lud_tick_rows *rows, const int32_t *discrete,
                         lud_error *error) {
    vector *v = (vector *)policy;
    (void)error;
    assert(v->acting->shape.n_discrete > 0);
    memcpy(v->action + rows->first, discrete + rows->first,
           (size_t)(rows->n - rows->first) * sizeof *v->action);
    return LUD_OK;
}

static void visit(lud_tick_policy *policy, lud_checkpoint *checkpoint) {
    vector *v = (vector *)policy;
    lud_checkpoint_tensor(checkpoint, "ticks.normaliser", LUD_TENSOR_F32, 1,
                          (const int64_t[]){LUD_NORMALISER_FIELDS}, v->normaliser.state);
}

/* The critic begins anew. */
static lud_status begin_with(lud_tick_policy *policy, const char *folder, lud_error *error) {
    return lud_mappo_begin_with(((vector *)policy)->acting, folder, error);
}

static const lud_tick_policy_kind kind = {.name = "vector",
                                          .actor = "actor.",
                                          .critic = "critic.",
                                          .gives_confidence = true,
                                          .destroy = destroy,
                                          .act = act,
                                          .value = value,
                                          .learn = learn,
                                          .assume = assume,
                                          .probabilities = probabilities,
                                          .begin_with = begin_with,
                                          .visit = visit};

/* ---- creation ---- */

/* Networks for `*rows` rows, or for half of them as often as memory runs out. */
static lud_status open_networks(const lud_tick_policy_request *r, const lud_mappo_options *options,
                                lud_mappo_use use, lud_parameters *parameters, int64_t *rows,
                                lud_mappo_networks **networks, lud_error *error) {
    for (;; *rows = (*rows + 1) / 2) {
        lud_error why = {0};
        const lud_status status = lud_mappo_networks_create(r->model, options, r->device, r->seed, *rows, use,
                                                            parameters, networks, &why);
        if (status != LUD_ERROR_MEMORY || *rows == 1) {
            if (status && error) *error = why;
            return status;
        }
    }
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static size_t bytes_of(const lud_mappo_networks *t) {
    if (!t) return 0;
    return lud_nn_bytes(t->actor.nn) + (t->critic.nn ? lud_nn_bytes(t->critic.nn) : 0);
}

static bool take_arrays(vector *v) {
    const lud_tick_policy *p = &v->base;
    const lud_mappo_shape *shape = &v->acting->shape;
    const size_t pass = (size_t)(p->act_rows > p->learn_rows ? p->act_rows : p->learn_rows),
                 n = (size_t)p->n_acting;
    lud_arrays *a = &v->arrays;
    a->device = p->device;
    LUD_TAKE(a, v->place, pass);
    LUD_TAKE(a, v->agent, pass);
    LUD_TAKE(a, v->nought, pass);
    LUD_TAKE(a, v->environment, pass);
    LUD_TAKE(a, v->number, pass);
    LUD_TAKE_ON_DEVICE(a, v->device_environment, pass);
    LUD_TAKE_ON_DEVICE(a, v->device_number, pass);
    LUD_TAKE(a, v->action, n);
    LUD_TAKE(a, v->numbers, n * (size_t)shape->n_continuous + 1);
    LUD_TAKE(a, v->probability, pass * (size_t)shape->n_discrete + 1);
    LUD_TAKE(a, v->in_order, n);
    for (int64_t i = 0; i < p->n_acting && v->in_order; i++) v->in_order[i] = (int32_t)i;
    v->rows = (lud_row_arrays){
        .device = p->device, .n_sent = SENT, .n_fetched = FETCHED, .n_kept = KEPT, .max_rows = p->learn_rows};
    if (p->learn_rows > 0 && !lud_row_arrays_create(&v->rows)) a->failed = true;
    return !a->failed;
}

static lud_status build(vector *v, const lud_tick_policy_request *r, lud_tick_options *options,
                        lud_error *error) {
    lud_tick_policy *p = &v->base;
    const int64_t limit = r->max_rows > 0 ? r->max_rows : INT32_MAX;
    const lud_mappo_options *network = &options->policy.network;
    lud_parameters *parameters = NULL;
    p->act_rows = least(least(r->n_acting, r->device->backend->rows_per_run), limit);
    p->learn_rows = least(least(r->n_learning, LEARN_ROWS), limit);
    if (p->learn_rows > 0) {
        LUD_TRY(open_networks(r, network, r->critic ? LUD_MAPPO_UPDATE : LUD_MAPPO_UPDATE_ACTOR, NULL,
                              &p->learn_rows, &v->learning, error));
        parameters = v->learning->parameters;
    }
    LUD_TRY(open_networks(r, network, r->critic ? LUD_MAPPO_ROLLOUT : LUD_MAPPO_PLAY, parameters,
                          &p->act_rows, &v->acting, error));
    p->parameters = v->acting->parameters;
    p->act_bytes = bytes_of(v->acting);
    p->learn_bytes = bytes_of(v->learning);
    options->policy.network = v->acting->options;
    v->normaliser = (lud_value_normaliser){.device = r->device,
                                           .kind = (lud_value_normaliser_kind)options->normaliser,
                                           .beta = options->normaliser_beta,
                                           .parameters = p->parameters,
                                           .weight = lud_parameters_find(p->parameters, "critic.out.weight"),
                                           .bias = lud_parameters_find(p->parameters, "critic.out.bias")};
    if (!lud_value_normaliser_create(&v->normaliser) || !take_arrays(v))
        return lud_no_memory(error, "a policy");
    for (int k = 0; k < r->model->layout.n_parts; k++)
        p->reads[k] = lud_mappo_shape_reads(&v->acting->shape, k);
    return LUD_OK;
}

lud_status lud_tick_vector_create(const lud_tick_policy_request *request, lud_tick_options *options,
                                  lud_tick_policy **policy, lud_error *error) {
    *policy = NULL;
    vector *v = calloc(1, sizeof *v);
    if (!v) return lud_no_memory(error, "a policy");
    v->base = (lud_tick_policy){.kind = &kind,
                                .device = request->device,
                                .has_critic = request->critic,
                                .n_acting = request->n_acting};
    v->huber_delta = options->huber_delta;
    const lud_status status = build(v, request, options, error);
    if (status)
        destroy(&v->base);
    else
        *policy = &v->base;
    return status;
}

lud_status lud_tick_policy_open(const lud_tick_policy_request *request, lud_tick_options *options,
                                const char *file, lud_tick_policy **policy, lud_error *error) {
    return options->policy.type == LUD_TICK_TOKENS
               ? lud_tick_tokens_create(request, options, file, policy, error)
               : lud_tick_vector_create(request, options, policy, error);
}
