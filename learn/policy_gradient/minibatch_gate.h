/* The gate of an update: which chunks of a minibatch pass through the policy's backward run.
 *
 * A chunk is decided about as a whole, by its mean advantage and mean surprisal (lud_sequence_gate): where a
 * policy remembers, its steps cannot be parted. Surprisals are those of the rollout, which cost nothing: the
 * policy has moved a little since in later epochs. */
#pragma once

#include "base/random.h"
#include "learn/nn/arrays.h"
#include "learn/policy_gradient/gated_loss.h"

/* Samples that stay together because a policy remembers: `length` of them, the first and every lud_update's
 * `stride` after it. */
typedef struct lud_chunk {
    int32_t first, length;
} lud_chunk;

typedef struct lud_minibatch_gate {
    const lud_gate *options; /* null: no gate, all others are zero */
    lud_gate_history history;
    uint64_t experiences; /* samples of all rollouts so far, the present one among them */
    lud_arrays arrays;
    float *weight; /* [samples of the rollout] of those in the minibatch */
    float *advantage, *log_prob, *mean_advantage, *mean_log_prob, *delight, *uniform, *chunk_weight, *scratch;
    int64_t *begin;
    /* of the minibatch at hand */
    double price;
    int64_t n_rows, n_kept; /* samples of it, and of the chunks that are kept */
    /* sums over the minibatches of the last update */
    double prices, rows, kept;
    int64_t n_minibatches;
} lud_minibatch_gate;

/* Takes memory for minibatches of at most n_samples. LUD_ERROR_MEMORY; to be destroyed after an error too. */
lud_status lud_minibatch_gate_create(lud_minibatch_gate *gate, const lud_gate *options, int64_t n_samples,
                                     lud_error *error);
/* Safe on a zeroed struct. */
void lud_minibatch_gate_destroy(lud_minibatch_gate *gate);
/* Begins an update from a rollout of n samples. */
void lud_minibatch_gate_begin(lud_minibatch_gate *gate, int64_t n_samples);
/* Decides about n chunks whose samples are row[0 ..] in their order, with (advantage - mean) / deviation and
 * the log-probabilities of the rollout: fills weight of the samples. Delights enter the history in epoch 0.
 */
void lud_minibatch_gate_decide(lud_minibatch_gate *gate, const lud_chunk *chunks, int64_t n,
                               const int32_t *row, const float *advantage, double mean, double deviation,
                               const float *log_prob, lud_random_key key, uint32_t epoch);
/* Leaves of n chunks those that were kept, in their order; returns how many. */
int64_t lud_minibatch_gate_compact(const lud_minibatch_gate *gate, lud_chunk *chunks, int64_t n);
/* The share of samples that were kept in the last update, and the mean price. */
double lud_minibatch_gate_share(const lud_minibatch_gate *gate);
double lud_minibatch_gate_price(const lud_minibatch_gate *gate);
/* Saves or loads what later decisions depend on; nothing where there is no gate. */
void lud_minibatch_gate_visit(lud_minibatch_gate *gate, lud_checkpoint *checkpoint);
