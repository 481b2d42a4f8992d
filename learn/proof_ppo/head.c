#include "learn/proof_ppo/head.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* Arrays of an act. */
enum { UNIFORM, CHOSEN, CHOSEN_LOG_PROB, CHOSEN_VALUE, N_ACTED, N_FETCHED = N_ACTED - CHOSEN };
/* What stands in the words of a slice, each [decisions with padding] numbers; behind them there follows where
 * every successor's logit stands in the rows. */
enum { ACTION, HAS_SUCCESSORS, HAS_STATE, PLACES };

static void enqueue_acting(void *head);
static void enqueue_learning(void *head);

lud_status lud_proof_head_create(lud_proof_net *net, int64_t n_decisions, lud_proof_head *h,
                                 lud_error *error) {
    lud_device *device = net->parameters->device;
    assert(net->parameters->real_bytes == sizeof(float));
    const int64_t padded = lud_capture_rows(device, n_decisions);
    *h = (lud_proof_head){.net = net,
                          .device = device,
                          .arrays = {.device = device},
                          .max_decisions = padded < net->max_rows ? padded : net->max_rows,
                          .width = net->model->limits.max_successors};
    lud_capture_start(&h->acting, device, enqueue_acting, h);
    lud_capture_start(&h->learning, device, enqueue_learning, h);
    const size_t decisions = (size_t)h->max_decisions, choices = decisions * (size_t)h->width;
    bool whole = true;
    if (net->on_cpu) {
        LUD_TAKE(&h->arrays, h->log_probs, (size_t)h->width);
        LUD_TAKE(&h->arrays, h->entropies, decisions);
    } else {
        if (choices > INT32_MAX) /* places are int32_t */
            return lud_fail(error, LUD_ERROR_LIMIT,
                            "chunks of %zu decisions with up to %d successors are more than 2^31 choices; "
                            "lower n_envs, batch_size, chunk_rows or limits.successors",
                            decisions, net->model->limits.max_successors);
        h->acted = (lud_row_arrays){.device = device,
                                    .n_sent = CHOSEN,
                                    .n_fetched = N_FETCHED,
                                    .max_rows = h->max_decisions,
                                    .max_words = net->max_successors};
        LUD_TAKE_ON_DEVICE(&h->arrays, h->logits, choices);
        LUD_TAKE_ON_DEVICE(&h->arrays, h->dlogits, choices);
        whole = lud_row_arrays_create(&h->acted);
    }
    return whole && !h->arrays.failed
               ? LUD_OK
               : lud_fail(error, LUD_ERROR_MEMORY,
                          "out of memory of %s for chunks of %zu decisions with up to %d successors",
                          device->name, decisions, net->model->limits.max_successors);
}

void lud_proof_head_destroy(lud_proof_head *h) {
    lud_capture_end(&h->acting);
    lud_capture_end(&h->learning);
    lud_row_arrays_destroy(&h->acted);
    lud_arrays_free(&h->arrays);
    *h = (lud_proof_head){0};
}

int64_t lud_proof_head_words(const lud_proof_head *h) {
    return h->net->on_cpu ? 0 : PLACES * h->max_decisions + h->net->max_successors;
}

static int32_t n_successors(const lud_proof_net *net, int64_t decision) {
    return decision < net->n_decisions ? net->begin[decision + 1] - net->begin[decision] : 0;
}

static bool has_state(const lud_proof_net *net, int64_t decision) {
    return decision < net->n_decisions && net->current[decision] >= 0;
}

/* ---- on the CPU: ragged, in double ---- */

static int32_t draw_action(const double *log_probs, double uniform, int32_t n) {
    for (int32_t i = 0; i + 1 < n; i++) {
        uniform -= exp(log_probs[i]);
        if (uniform < 0.0) return i;
    }
    return n > 0 ? n - 1 : 0;
}

static void act_on_host(lud_proof_head *h, const double *uniform, int32_t *action, float *log_prob,
                        float *value) {
    const lud_proof_net *net = h->net;
    lud_proof_net_forward(h->net, true);
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t n = n_successors(net, i);
        value[i] = (float)net->values[i];
        if (!uniform) continue;
        if (n > 0) lud_proof_log_softmax(net->logits + net->begin[i], n, h->log_probs);
        action[i] = draw_action(h->log_probs, uniform[i], n);
        log_prob[i] = n > 0 ? (float)h->log_probs[action[i]] : 0.0f;
    }
}

/* Leaves log-probabilities in dlogits until the gradients come. */
static void evaluate_on_host(void *head, lud_device *device, float *log_prob, float *entropy) {
    const lud_proof_head *h = head;
    lud_proof_net *net = h->net;
    (void)device;
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t begin = net->begin[i], n = n_successors(net, i);
        double *log_probs = net->dlogits + begin;
        h->entropies[i] = n > 0 ? lud_proof_log_softmax(net->logits + begin, n, log_probs) : 0.0;
        log_prob[i] = n > 0 ? (float)log_probs[h->action[h->row[i]]] : 0.0f;
        entropy[i] = (float)h->entropies[i];
    }
}

/* d ln p_a / d l_k = [k = a] - p_k, d H / d l_k = -p_k (ln p_k + H). */
static void backward_on_host(void *head, lud_device *device, const float *dlog_prob, const float *dentropy) {
    const lud_proof_head *h = head;
    lud_proof_net *net = h->net;
    (void)device, (void)dentropy; /* known in double */
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t begin = net->begin[i], sample = h->row[i];
        const double bonus = h->ppo->scale * h->ppo->entropy_coefficient * lud_ppo_weight(h->ppo, sample);
        for (int32_t k = begin; k < net->begin[i + 1]; k++) {
            const double log_p = net->dlogits[k], taken = k - begin == h->action[sample];
            net->dlogits[k] =
                bonus * exp(log_p) * (log_p + h->entropies[i]) + (double)dlog_prob[i] * (taken - exp(log_p));
        }
    }
}

static void learn_on_host(lud_proof_head *h) {
    static const lud_ppo_head ragged = {evaluate_on_host, backward_on_host};
    lud_proof_net *net = h->net;
    const lud_row_arrays *rows = &h->ppo->rows;
    float *value = lud_row_device(rows, LUD_PPO_VALUE),
          *dvalue = lud_row_device(rows, LUD_PPO_VALUE_GRADIENT);
    lud_proof_net_forward(net, true);
    lud_ppo_policy_gradient(h->ppo, h->device, &ragged, h);
    for (int32_t i = 0; i < net->n_decisions; i++) value[i] = (float)net->values[i];
    lud_ppo_value_gradient(h->ppo, h->device, value, dvalue);
    for (int32_t i = 0; i < net->n_decisions; i++) net->dvalues[i] = (double)dvalue[i];
    lud_proof_net_backward(net);
}

/* ---- on CUDA: rows of equal length; recorded pieces call operations and nothing else ---- */

static void write_places(const lud_proof_head *h, int32_t *place) {
    const lud_proof_net *net = h->net;
    int64_t s = 0;
    for (int32_t i = 0; i < net->n_decisions; i++)
        for (int32_t k = 0; s < net->begin[i + 1]; k++) place[s++] = (int32_t)(i * h->width) + k;
    while (s < net->part[0].successors) place[s++] = -1;
}

/* A forward run, and its logits in rows. */
static void enqueue_logits(const lud_proof_head *h, const int32_t *place) {
    const lud_proof_net *net = h->net;
    const lud_ops *ops = h->device->ops;
    lud_nn_forward(net->part[0].nn, net->part[0].rows, true);
    ops->fill(h->device, net->part[0].decisions * h->width, -(double)FLT_MAX, h->logits);
    ops->scatter_rows(h->device, net->part[0].successors, 1, lud_nn_value(net->part[0].nn, net->logit), place,
                      h->logits);
}

static void enqueue_acting(void *head) {
    const lud_proof_head *h = head;
    const lud_proof_net *net = h->net;
    enqueue_logits(h, lud_row_words_device(&h->acted));
    h->device->ops->categorical_sample(
        h->device, h->acted.n, h->width, h->logits, NULL, NULL, lud_row_device(&h->acted, UNIFORM),
        (int32_t *)(void *)lud_row_device(&h->acted, CHOSEN), lud_row_device(&h->acted, CHOSEN_LOG_PROB));
    lud_device_copy(h->device, lud_row_device(&h->acted, CHOSEN_VALUE),
                    lud_nn_value(net->part[0].nn, net->value), (size_t)h->acted.n * sizeof(float));
}

static void act_on_device(lud_proof_head *h, const double *uniform, int32_t *action, float *log_prob,
                          float *value) {
    const lud_proof_net *net = h->net;
    lud_row_arrays *a = &h->acted;
    const uint64_t key = lud_proof_net_prepare(h->net, true);
    lud_row_arrays_set(a, net->part[0].decisions, net->part[0].successors);
    float *draw = lud_row_host(a, UNIFORM);
    for (int64_t i = 0; i < a->n; i++) draw[i] = uniform && i < net->n_decisions ? (float)uniform[i] : 0.0f;
    write_places(h, lud_row_words_host(a));
    lud_row_arrays_send(a);
    lud_capture_run(&h->acting, key);
    lud_row_arrays_fetch(a);
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t n = n_successors(net, i);
        value[i] = has_state(net, i) ? lud_row_host(a, CHOSEN_VALUE)[i] : 0.0f;
        if (!uniform) continue;
        /* after a failure of the device, or with logits that are no numbers, it may be none of the n */
        const int32_t chosen = ((const int32_t *)(const void *)lud_row_host(a, CHOSEN))[i];
        action[i] = n == 0 ? 0 : chosen >= 0 && chosen < n ? chosen : n - 1;
        log_prob[i] = n > 0 ? lud_row_host(a, CHOSEN_LOG_PROB)[i] : 0.0f;
    }
}

static int32_t *words(const lud_proof_head *h, int part) {
    return lud_row_words_device(&h->ppo->rows) + part * h->ppo->rows.n;
}

static const float *flags(const lud_proof_head *h, int part) {
    return (const float *)(const void *)words(h, part);
}

static void evaluate_on_device(void *head, lud_device *device, float *log_prob, float *entropy) {
    const lud_proof_head *h = head;
    const int64_t n = h->ppo->rows.n;
    device->ops->categorical_log_prob(device, n, h->width, h->logits, NULL, words(h, ACTION), log_prob,
                                      entropy);
    device->ops->multiply(device, n, log_prob, flags(h, HAS_SUCCESSORS), log_prob);
    device->ops->multiply(device, n, entropy, flags(h, HAS_SUCCESSORS), entropy);
}

static void backward_on_device(void *head, lud_device *device, const float *dlog_prob,
                               const float *dentropy) {
    const lud_proof_head *h = head;
    const lud_proof_net *net = h->net;
    device->ops->categorical_backward(device, h->ppo->rows.n, h->width, h->logits, NULL, words(h, ACTION),
                                      dlog_prob, dentropy, h->dlogits, false);
    device->ops->gather_rows(device, net->part[0].successors, 1, h->dlogits, words(h, PLACES),
                             lud_nn_gradient(net->part[0].nn, net->logit));
}

static void enqueue_learning(void *head) {
    static const lud_ppo_head padded = {evaluate_on_device, backward_on_device};
    lud_proof_head *h = head;
    const lud_proof_net *net = h->net;
    float *value = lud_row_device(&h->ppo->rows, LUD_PPO_VALUE);
    enqueue_logits(h, words(h, PLACES));
    lud_ppo_policy_gradient(h->ppo, h->device, &padded, h);
    h->device->ops->multiply(h->device, h->ppo->rows.n, lud_nn_value(net->part[0].nn, net->value),
                             flags(h, HAS_STATE), value);
    lud_ppo_value_gradient(h->ppo, h->device, value, lud_nn_gradient(net->part[0].nn, net->value));
    lud_nn_backward(net->part[0].nn);
}

static void learn_on_device(lud_proof_head *h) {
    const lud_proof_net *net = h->net;
    const lud_row_arrays *rows = &h->ppo->rows;
    const uint64_t key = lud_proof_net_prepare(h->net, true);
    int32_t *action = lud_row_words_host(rows);
    float *has_successors = (float *)(void *)(action + HAS_SUCCESSORS * rows->n),
          *stands = (float *)(void *)(action + HAS_STATE * rows->n);
    for (int64_t i = 0; i < rows->n; i++) {
        action[i] = i < net->n_decisions ? h->action[h->row[i]] : 0;
        has_successors[i] = n_successors(net, i) > 0;
        stands[i] = has_state(net, i);
    }
    write_places(h, action + PLACES * rows->n);
    lud_row_arrays_send(rows);
    lud_capture_run(&h->learning, key);
}

/* ---- calls ---- */

void lud_proof_head_act(lud_proof_head *h, const double *uniform, int32_t *action, float *log_prob,
                        float *value) {
    (h->net->on_cpu ? act_on_host : act_on_device)(h, uniform, action, log_prob, value);
}

void lud_proof_head_learn(lud_proof_head *h, lud_ppo *ppo, const int32_t *action, const int32_t *row,
                          lud_ppo_sums *sums) {
    const lud_proof_net *net = h->net;
    const int64_t padded = net->on_cpu ? net->n_decisions : net->part[0].decisions;
    h->ppo = ppo;
    h->action = action;
    h->row = row;
    lud_ppo_fill(ppo, net->n_decisions, row, padded,
                 net->on_cpu ? 0 : PLACES * padded + net->part[0].successors);
    for (int32_t i = 0; i < net->n_decisions; i++)
        if (!has_state(net, i)) lud_row_host(&ppo->rows, LUD_PPO_VALUE_WEIGHT)[i] = 0.0f;
    if (net->on_cpu)
        learn_on_host(h);
    else
        learn_on_device(h);
    lud_ppo_add_sums(ppo, net->n_decisions, sums);
}
