/* Proximal policy optimisation of a proof network on CUDA. Choices and losses are computed where logits and
 * values lie, so that a recorded graph each is
 *
 *     act      forward run, softmax, draws of actions
 *     learn    forward run, softmax, losses, their gradients, backward run
 *
 * Logits go into rows as long as a decision may have successors; what follows a decision's own is the most
 * negative number, whose probability is 0, and gets no gradient. A call sends one array beside the network's
 * inputs and fetches one. */
#ifndef LUDUS_LEARN_PROOF_PPO_DEVICE_PPO_H
#define LUDUS_LEARN_PROOF_PPO_DEVICE_PPO_H

#include "learn/proof_ppo/proof_net.h"

/* What an update knows of every decision of a rollout, and how it weighs what it learns from one. */
typedef struct lud_proof_samples {
    const int32_t *action;
    const double *log_prob, *advantage, *value, *returns;
    double mean, deviation;                               /* (advantage - mean) / deviation counts */
    double scale, value_coefficient, entropy_coefficient; /* scale: 1 / decisions of a minibatch */
} lud_proof_samples;

/* Sums over decisions. One without successors has ratio 1 and no entropy, one without a state value 0. */
typedef struct lud_proof_sums {
    double policy, value, entropy; /* losses (ppo_policy_loss, ppo_value_loss), and nats */
    double kl, clipped;            /* ratio - 1 - ln ratio, and ratios outside the clip range */
} lud_proof_sums;

typedef struct lud_proof_device_ppo {
    lud_proof_net *net;
    lud_device *device;
    double clip_range, value_clip_range;
    int64_t max_decisions, width; /* of a chunk with its padding; most successors */
    lud_capture acting, learning;
    void *sent, *fetched; /* device; the arrays of a call one behind the other */
    void *to_send, *got;  /* the same on the host */
    float *logits, *dlogits, *terms;
} lud_proof_device_ppo;

/* For a planned network on CUDA and chunks of at most `n_decisions`, without their padding. Takes all memory.
 * The network must outlive it. Errors: memory, or more than 2^31 choices (LUD_ERROR_LIMIT). */
lud_status lud_proof_device_ppo_create(lud_proof_net *net, double clip_range, double value_clip_range,
                                       int64_t n_decisions, lud_proof_device_ppo **ppo, lud_error *error);
/* Null is allowed. */
void lud_proof_device_ppo_destroy(lud_proof_device_ppo *ppo);
/* A run for training of the loaded chunk: action, its log-probability and value of each of its decisions.
 * Action i is the first whose cumulative probability exceeds uniform[i], from [0, 1) and rounded to float; 0
 * with log-probability 0 where there are no successors. The value is 0 where there is no state. For values
 * alone `uniform`, `action` and `log_prob` are null. */
void lud_proof_device_act(lud_proof_device_ppo *ppo, const double *uniform, int32_t *action, double *log_prob,
                          double *value);
/* Adds the parameters' gradients of the loaded chunk's loss, and its sums to `sums`. The loss is scale times
 * the sum over decisions of policy loss, value_coefficient x value loss and -entropy_coefficient x entropy.
 * The chunk holds decisions order[0], order[1], ... of the samples. */
void lud_proof_device_learn(lud_proof_device_ppo *ppo, const lud_proof_samples *samples, const int32_t *order,
                            lud_proof_sums *sums);

#endif
