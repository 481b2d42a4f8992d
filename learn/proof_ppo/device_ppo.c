#include "learn/proof_ppo/device_ppo.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Arrays of numbers and of int32_t lie side by side, [decisions of the chunk with its padding] each. Behind
 * those that are sent there follows where every successor's logit stands in the rows. */
enum { WORD = 4 };
enum { UNIFORM, N_TO_ACT };
enum { CHOSEN, CHOSEN_LOG_PROB, CHOSEN_VALUE, N_ACTED };
enum {
    ACTION,
    OLD_LOG_PROB,
    ADVANTAGE,
    OLD_VALUE,
    RETURN,
    HAS_SUCCESSORS, /* 1 or 0 */
    HAS_STATE,
    POLICY_WEIGHT, /* of gradients, with the scale; 0 where there is nothing to learn */
    ENTROPY_WEIGHT,
    VALUE_WEIGHT,
    N_TO_LEARN
};
enum { LOG_PROB, ENTROPY, POLICY_LOSS, VALUE_LOSS, N_LEARNED };
enum { LOG_PROB_GRADIENT, STATE_VALUE, N_TERMS };

static void queue_acting(void *ppo);
static void queue_learning(void *ppo);

static size_t most_sent(const lud_proof_device_ppo *p) {
    return (size_t)(p->net->max_successors + N_TO_LEARN * p->max_decisions) * WORD;
}

lud_status lud_proof_device_ppo_create(lud_proof_net *net, double clip_range, double value_clip_range,
                                       int64_t n_decisions, lud_proof_device_ppo **ppo, lud_error *error) {
    lud_device *device = net->parameters->device;
    assert(!net->on_cpu && net->parameters->real_bytes == sizeof(float));
    *ppo = NULL;
    lud_proof_device_ppo *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for chunks of decisions");
    const int64_t padded = lud_capture_rows(device, n_decisions);
    *p = (lud_proof_device_ppo){.net = net,
                                .device = device,
                                .clip_range = clip_range,
                                .value_clip_range = value_clip_range,
                                .max_decisions = padded < net->max_rows ? padded : net->max_rows,
                                .width = net->model->limits.max_successors};
    lud_capture_start(&p->acting, device, queue_acting, p);
    lud_capture_start(&p->learning, device, queue_learning, p);
    const size_t decisions = (size_t)p->max_decisions, choices = decisions * (size_t)p->width;
    if (choices > INT32_MAX) { /* places are int32_t */
        lud_proof_device_ppo_destroy(p);
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "chunks of %zu decisions with up to %d successors are more than 2^31 choices; lower "
                        "n_envs, batch_size, chunk_rows or limits.successors",
                        decisions, net->model->limits.max_successors);
    }
    p->to_send = calloc(1, most_sent(p));
    p->got = calloc(N_LEARNED * decisions, WORD);
    p->sent = lud_device_allocate(device, most_sent(p));
    p->fetched = lud_device_allocate(device, N_LEARNED * decisions * WORD);
    p->logits = lud_device_allocate(device, choices * sizeof *p->logits);
    p->dlogits = lud_device_allocate(device, choices * sizeof *p->dlogits);
    p->terms = lud_device_allocate(device, N_TERMS * decisions * sizeof *p->terms);
    if (!p->to_send || !p->got || !p->sent || !p->fetched || !p->logits || !p->dlogits || !p->terms) {
        lud_proof_device_ppo_destroy(p);
        return lud_fail(error, LUD_ERROR_MEMORY,
                        "out of memory of %s for chunks of %zu decisions with up to %d successors",
                        device->name, decisions, net->model->limits.max_successors);
    }
    *ppo = p;
    return LUD_OK;
}

void lud_proof_device_ppo_destroy(lud_proof_device_ppo *p) {
    if (!p) return;
    lud_capture_end(&p->acting);
    lud_capture_end(&p->learning);
    void *const memory[] = {p->sent, p->fetched, p->logits, p->dlogits, p->terms};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i]) lud_device_release(p->device, memory[i]);
    free(p->to_send);
    free(p->got);
    free(p);
}

/* ---- arrays of a call ---- */

static float *numbers(const lud_proof_device_ppo *p, void *block, int array) {
    return (float *)block + array * p->net->padded.decisions;
}

static int32_t *integers(const lud_proof_device_ppo *p, void *block, int array) {
    return (int32_t *)block + array * p->net->padded.decisions;
}

static void write_places(const lud_proof_device_ppo *p, int32_t *place) {
    const lud_proof_net *net = p->net;
    int64_t s = 0;
    for (int32_t i = 0; i < net->n_decisions; i++)
        for (int32_t k = 0; s < net->begin[i + 1]; k++) place[s++] = (int32_t)(i * p->width) + k;
    while (s < net->padded.successors) place[s++] = -1;
}

static int32_t n_successors(const lud_proof_net *net, int64_t decision) {
    return decision < net->n_decisions ? net->begin[decision + 1] - net->begin[decision] : 0;
}

static bool has_state(const lud_proof_net *net, int64_t decision) {
    return decision < net->n_decisions && net->current[decision] >= 0;
}

/* Sends so many arrays and the places, runs the piece and fetches what it gives. */
static void run(lud_proof_device_ppo *p, lud_capture *piece, int n_sent, int n_fetched) {
    lud_proof_net *net = p->net;
    const int64_t n = net->padded.decisions;
    assert(n <= p->max_decisions);
    const uint64_t key = lud_proof_net_prepare(net, true);
    write_places(p, integers(p, p->to_send, n_sent));
    lud_device_upload(p->device, p->sent, p->to_send, (size_t)(n_sent * n + net->padded.successors) * WORD);
    if (net->never_record)
        piece->body(p);
    else
        lud_capture_run(piece, key);
    lud_device_download(p->device, p->got, p->fetched, (size_t)(n_fetched * n) * WORD);
}

/* ---- the recorded pieces: they call operations and nothing else ---- */

/* A forward run, and its logits in rows. */
static void queue_logits(const lud_proof_device_ppo *p, const int32_t *place) {
    const lud_proof_net *net = p->net;
    const lud_ops *ops = p->device->ops;
    lud_nn_forward(net->nn, net->padded.rows, true);
    ops->fill(p->device, net->padded.decisions * p->width, -(double)FLT_MAX, p->logits);
    ops->scatter_rows(p->device, net->padded.successors, 1, lud_nn_value(net->nn, net->logit), place,
                      p->logits);
}

static void queue_acting(void *context) {
    const lud_proof_device_ppo *p = context;
    const lud_proof_net *net = p->net;
    const int64_t n = net->padded.decisions;
    queue_logits(p, integers(p, p->sent, N_TO_ACT));
    p->device->ops->categorical_sample(p->device, n, p->width, p->logits, NULL, NULL,
                                       numbers(p, p->sent, UNIFORM), integers(p, p->fetched, CHOSEN),
                                       numbers(p, p->fetched, CHOSEN_LOG_PROB));
    lud_device_copy(p->device, numbers(p, p->fetched, CHOSEN_VALUE), lud_nn_value(net->nn, net->value),
                    (size_t)n * sizeof(float));
}

static void queue_learning(void *context) {
    const lud_proof_device_ppo *p = context;
    const lud_proof_net *net = p->net;
    lud_device *device = p->device;
    const lud_ops *ops = device->ops;
    const int64_t n = net->padded.decisions;
    const int32_t *action = integers(p, p->sent, ACTION), *place = integers(p, p->sent, N_TO_LEARN);
    const float *has_successors = numbers(p, p->sent, HAS_SUCCESSORS);
    float *log_prob = numbers(p, p->fetched, LOG_PROB), *entropy = numbers(p, p->fetched, ENTROPY);
    float *dlog_prob = p->terms + LOG_PROB_GRADIENT * n, *value = p->terms + STATE_VALUE * n;
    queue_logits(p, place);
    ops->categorical_log_prob(device, n, p->width, p->logits, NULL, action, log_prob, entropy);
    ops->multiply(device, n, log_prob, has_successors, log_prob);
    ops->multiply(device, n, entropy, has_successors, entropy);
    ops->ppo_policy_loss(device, n, p->clip_range, log_prob, numbers(p, p->sent, OLD_LOG_PROB),
                         numbers(p, p->sent, ADVANTAGE), numbers(p, p->sent, POLICY_WEIGHT), 1.0,
                         numbers(p, p->fetched, POLICY_LOSS), NULL, dlog_prob, false);
    ops->categorical_backward(device, n, p->width, p->logits, NULL, action, dlog_prob,
                              numbers(p, p->sent, ENTROPY_WEIGHT), p->dlogits, false);
    ops->gather_rows(device, net->padded.successors, 1, p->dlogits, place,
                     lud_nn_gradient(net->nn, net->logit));
    ops->multiply(device, n, lud_nn_value(net->nn, net->value), numbers(p, p->sent, HAS_STATE), value);
    ops->ppo_value_loss(device, n, p->value_clip_range, 0.0, true, value, numbers(p, p->sent, OLD_VALUE),
                        numbers(p, p->sent, RETURN), numbers(p, p->sent, VALUE_WEIGHT), 1.0,
                        numbers(p, p->fetched, VALUE_LOSS), lud_nn_gradient(net->nn, net->value), false);
    lud_nn_backward(net->nn);
}

/* ---- calls ---- */

void lud_proof_device_act(lud_proof_device_ppo *p, const double *uniform, int32_t *action, double *log_prob,
                          double *value) {
    const lud_proof_net *net = p->net;
    float *draw = numbers(p, p->to_send, UNIFORM);
    for (int64_t i = 0; i < net->padded.decisions; i++)
        draw[i] = uniform && i < net->n_decisions ? (float)uniform[i] : 0.0f;
    run(p, &p->acting, N_TO_ACT, N_ACTED);
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t n = n_successors(net, i);
        value[i] = has_state(net, i) ? (double)numbers(p, p->got, CHOSEN_VALUE)[i] : 0.0;
        if (!uniform) continue;
        /* after a failure of the device, or with logits that are no numbers, it may be none of the n */
        const int32_t chosen = integers(p, p->got, CHOSEN)[i];
        action[i] = n == 0 ? 0 : chosen >= 0 && chosen < n ? chosen : n - 1;
        log_prob[i] = n > 0 ? (double)numbers(p, p->got, CHOSEN_LOG_PROB)[i] : 0.0;
    }
}

static void write_samples(lud_proof_device_ppo *p, const lud_proof_samples *samples, const int32_t *order) {
    const lud_proof_net *net = p->net;
    void *to = p->to_send;
    for (int64_t i = 0; i < net->padded.decisions; i++) {
        const bool there = i < net->n_decisions;
        const int32_t at = there ? order[i] : 0;
        const double chooses = n_successors(net, i) > 0, stands = has_state(net, i);
        integers(p, to, ACTION)[i] = there ? samples->action[at] : 0;
        numbers(p, to, OLD_LOG_PROB)[i] = there ? (float)samples->log_prob[at] : 0.0f;
        numbers(p, to, ADVANTAGE)[i] =
            there ? (float)((samples->advantage[at] - samples->mean) / samples->deviation) : 0.0f;
        numbers(p, to, OLD_VALUE)[i] = there ? (float)samples->value[at] : 0.0f;
        numbers(p, to, RETURN)[i] = there ? (float)samples->returns[at] : 0.0f;
        numbers(p, to, HAS_SUCCESSORS)[i] = (float)chooses;
        numbers(p, to, HAS_STATE)[i] = (float)stands;
        numbers(p, to, POLICY_WEIGHT)[i] = (float)(chooses * samples->scale);
        numbers(p, to, ENTROPY_WEIGHT)[i] = (float)(-chooses * samples->scale * samples->entropy_coefficient);
        numbers(p, to, VALUE_WEIGHT)[i] = (float)(stands * samples->scale * samples->value_coefficient);
    }
}

void lud_proof_device_learn(lud_proof_device_ppo *p, const lud_proof_samples *samples, const int32_t *order,
                            lud_proof_sums *sums) {
    write_samples(p, samples, order);
    run(p, &p->learning, N_TO_LEARN, N_LEARNED);
    for (int32_t i = 0; i < p->net->n_decisions; i++) {
        const double log_ratio = (double)numbers(p, p->got, LOG_PROB)[i] - samples->log_prob[order[i]];
        const double excess = expm1(log_ratio); /* ratio - 1 */
        sums->policy += (double)numbers(p, p->got, POLICY_LOSS)[i];
        sums->value += (double)numbers(p, p->got, VALUE_LOSS)[i];
        sums->entropy += (double)numbers(p, p->got, ENTROPY)[i];
        sums->kl += excess - log_ratio;
        sums->clipped += fabs(excess) > p->clip_range;
    }
}
