/* Goals in hindsight for V_h^e: some of the goals that were drawn for a batch are replaced by such as the
 * person achieved later in the stored episode (Andrychowicz et al., "Hindsight experience replay", 2017,
 * strategy `future`), and entries are weighted so that what is learned about each goal stays the same.
 *
 * A transition holds people's actions a drawn anew from pi_h(.|s, g) for a goal g drawn from its weight p(g).
 * They are independent of the trajectory given s, and so is the choice in hindsight: with chance k a later
 * state of the episode is drawn, and of the goals achieved there one, g'. Let H(g) be the chance of each
 * goal, m their sum (below 1 when there are states where nothing is achieved), pibar(a) = sum_g p(g) pi(a|g)
 * the chance of the action whatever the goal was. Then (g, a) comes from the mixture
 *
 *   q(g, a) = (1 - k m) p(g) pi(a|g) + k H(g) pibar(a)
 *
 * and is weighted, per goal, by the balance heuristic (Veach & Guibas, "Optimally combining sampling
 * techniques for Monte Carlo rendering", SIGGRAPH 1995, section 3.3), with r(g) = (1 - k m) p(g) + k H(g),
 *
 *   weight = r(g) pi(a|g) / q(g, a)
 *
 * whose mean over what is drawn with goal g is that of pi(.|g): goals that are achieved on the way come more
 * often, each with its own fixed point. This needs no condition on how chancy the world is, since no outcome
 * is conditioned on. With `whole` the weight is also times p(g) / r(g), so that the mean gradient over all
 * goals is that without hindsight. Weights are at most r(g) / ((1 - k m) p(g)), and 1 / (1 - k m). */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/empo/memory/replay.h"

typedef struct lud_empo_hindsight lud_empo_hindsight;

/* For batches of n transitions; features and replay (a memory of trajectories with likelihoods) must outlive
 * it. `chance` is k. Null when memory is out. */
lud_empo_hindsight *lud_empo_hindsight_create(const lud_empo_features *features,
                                              const lud_empo_replay *replay, int64_t n, double chance,
                                              bool whole, uint64_t seed);
/* Null is allowed. */
void lud_empo_hindsight_destroy(lud_empo_hindsight *hindsight);
/* Points the goals of transitions[n] to the new ones, which hold until the next call. The draws depend on the
 * seed and `draw` only. False when memory is out. */
bool lud_empo_hindsight_relabel(lud_empo_hindsight *hindsight, const int64_t *indices, uint32_t draw,
                                lud_empo_transition *transitions);
/* Goals and weights [n][n_humans] of the last batch. */
const int32_t *lud_empo_hindsight_goals(const lud_empo_hindsight *hindsight);
const float *lud_empo_hindsight_weights(const lud_empo_hindsight *hindsight);
/* Share of the last batch's entries whose goal was replaced, and the mean of all weights. */
double lud_empo_hindsight_share(const lud_empo_hindsight *hindsight);
double lud_empo_hindsight_mean_weight(const lud_empo_hindsight *hindsight);

/* The weight above of goal g of n_goals: chance k, p[n_goals] (sum 1), later[n_goals] = H,
 * likelihood[n_goals] = pi(a|.). */
double lud_empo_hindsight_weight(int n_goals, int g, double chance, bool whole, const double *p,
                                 const double *later, const float *likelihood);
