/* The head of a proof policy: a categorical distribution over the successors of each decision of the chunk
 * that its network has loaded.
 *
 * On the CPU logits are ragged, and choices, entropies and gradients are computed from them in double. On
 * CUDA they are computed where logits and values lie, so that a recorded graph each is
 *
 *     act      forward run, softmax, draws of actions
 *     learn    forward run, softmax, losses, their gradients, backward run
 *
 * Logits go into rows as long as a decision may have successors; what follows a decision's own is the most
 * negative number, whose probability is 0, and gets no gradient. A call sends one array beside the network's
 * inputs and fetches one. */
#pragma once

#include "learn/policy_gradient/ppo.h"
#include "learn/proof_ppo/networks.h"

typedef struct lud_proof_head {
    lud_proof_net *net;
    lud_device *device;
    lud_arrays arrays;
    int64_t max_decisions, width; /* of a chunk with its padding; most successors */
    const lud_ppo *ppo;           /* of the decisions that are learned from */
    const int32_t *action, *row;  /* of every sample, and the samples that the chunk holds */
    /* on the CPU */
    double *log_probs, *entropies; /* of one decision's successors, of the chunk's decisions */
    /* on CUDA */
    lud_row_arrays acted;
    lud_capture acting, learning;
    float *logits, *dlogits;
} lud_proof_head;

/* For a planned network and chunks of at most `n_decisions`, without their padding. Takes all memory. The
 * network must outlive it, and it must not move. Errors: memory, more than 2^31 choices (LUD_ERROR_LIMIT). */
lud_status lud_proof_head_create(lud_proof_net *net, int64_t n_decisions, lud_proof_head *head,
                                 lud_error *error);
/* Safe on a zeroed struct. */
void lud_proof_head_destroy(lud_proof_head *head);
/* Words beside the rows of a slice that lud_proof_head_learn needs (lud_ppo_create, with max_decisions). */
int64_t lud_proof_head_words(const lud_proof_head *head);
/* A run for training of the loaded chunk: action, its log-probability and value of each of its decisions.
 * Action i is the first whose cumulative probability exceeds uniform[i], from [0, 1), on CUDA rounded to
 * float; 0 with log-probability 0 where there are no successors. The value is 0 where there is no state. For
 * values alone `uniform`, `action` and `log_prob` are null. */
void lud_proof_head_act(lud_proof_head *head, const double *uniform, int32_t *action, float *log_prob,
                        float *value);
/* Adds the parameters' gradients of the loaded chunk's loss as ppo.h has it, whole after
 * lud_proof_net_add_up, and its sums: decision i is sample row[i], where action[row[i]] was taken. One
 * without successors has ratio 1 and no entropy, one without a state value 0; nothing is learned from either.
 */
void lud_proof_head_learn(lud_proof_head *head, lud_ppo *ppo, const int32_t *action, const int32_t *row,
                          lud_ppo_sums *sums);
