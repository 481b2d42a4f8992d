/* Novelty by random network distillation (Burda et al., "Exploration by random network distillation", 2019):
 * a predictor learns to repeat what a fixed random network says, and errs where it has seen little.
 *
 *   of a state: random net in -> h -> h -> d, predictor in -> h -> h -> h -> d, on the features of all state
 *     encoders, shared and own; each encoder's features fade in over the stage of training in which its
 * network joins. Novelty is the mean squared difference over the d outputs. of a person's actions: random net
 * in -> h -> A d, predictor in -> h -> h -> A d, on the features of shared state and person; the novelty of
 * an action is the mean over its d outputs.
 *
 * No gradient reaches the encoders. With `normalize_rnd` novelty is divided by its running deviation. */
#pragma once

#include "learn/empo/networks/inputs.h"
#include "learn/empo/targets/values.h"

typedef struct lud_empo_novelty lud_empo_novelty;

/* On the encoders of `values` (its target networks), which must outlive it. An error where there are no
 * networks to take features from. */
lud_status lud_empo_novelty_create(lud_empo_values *values, uint64_t seed, lud_empo_novelty **novelty,
                                   lud_error *error);
/* Null is allowed. */
void lud_empo_novelty_destroy(lud_empo_novelty *novelty);
/* How much each network's own encoder counts at a training step, 0 to 1. */
void lud_empo_novelty_set_step(lud_empo_novelty *novelty, int64_t step);

/* novelty[n] of states, normalised with normalize_rnd. records[n] */
void lud_empo_novelty_states(lud_empo_novelty *novelty, int64_t n, const int32_t *const *records,
                             float *result);
/* result[n][n_humans][max_actions] of the actions of all people; zeros beyond a person's own. Needs
 * use_human_action_rnd. */
void lud_empo_novelty_actions(lud_empo_novelty *novelty, int64_t n, const int32_t *const *records,
                              float *result);

/* What one update found: means over the batch, before normalisation. */
typedef struct lud_empo_novelty_figures {
    double loss, loss_actions; /* of the two predictors; NaN without the second */
    double mean, deviation;    /* running, of the novelty of states */
    double batch;              /* mean novelty of the batch over the running mean */
} lud_empo_novelty_figures;
/* One update of the predictor on n <= batch_size states. */
void lud_empo_novelty_learn(lud_empo_novelty *novelty, int64_t n, const int32_t *const *records);
/* One update of the other predictor on n states in which everybody acted: actions[n][n_humans]. */
void lud_empo_novelty_learn_actions(lud_empo_novelty *novelty, int64_t n, const int32_t *const *records,
                                    const int32_t *actions);
lud_empo_novelty_figures lud_empo_novelty_get_figures(const lud_empo_novelty *novelty);

/* Numbers of weights and statistics, to copy them to the actors' own (see learn/empo/phase2/async.h). */
size_t lud_empo_novelty_floats(const lud_empo_novelty *novelty);
void lud_empo_novelty_export(const lud_empo_novelty *novelty, float *numbers);
void lud_empo_novelty_import(lud_empo_novelty *novelty, const float *numbers);
void lud_empo_novelty_visit(lud_empo_novelty *novelty, lud_checkpoint *checkpoint);
