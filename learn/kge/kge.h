/* Learner `kge`: embeddings of a knowledge graph (scores.h), trained on the facts of a proof scenario, for
 * ranking triples by themselves or beside a prover.
 *
 * Every fact is scored against `negatives` constants drawn for its batch, at its head or its tail (by the
 * Bernoulli rule of Wang et al., 2014, the side with the more answers is the more often corrupted). Loss
 * of a fact with score s and negatives s_1 ... s_k, those that are facts left out:
 *
 *     self_adversarial   1/2 (-ln sigma(s) - sum_i p_i ln sigma(-s_i)),  p = softmax(alpha s_i), held fixed
 *     bce                1/2 (-ln sigma(s) - 1/k sum_i ln sigma(-s_i))
 *
 * (Sun et al., "RotatE", 2019, equations 5 and 6). Adam with decay and clipping; one iteration is one pass
 * over the facts. Valid and test queries are never seen. */
#pragma once

#include "learn/kge/embedding.h"
#include "learn/learner.h"

extern const lud_learner_kind lud_learner_kge;

/* The embeddings of a learner of this kind that ranked best so far; they belong to it. */
lud_kge lud_kge_learned(lud_learner *learner);

/* The loss of scores positive[n] and negative[n][k] and its gradients; skip[n][k] leaves negatives out. All
 * overwritten; the loss is the mean over n. */
double lud_kge_loss(bool self_adversarial, double alpha, int64_t n, int64_t k, const double *positive,
                    const float *negative, const uint8_t *skip, double *dpositive, float *dnegative);
