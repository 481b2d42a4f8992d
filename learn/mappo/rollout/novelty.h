/* Pay for what is new: rare rewards are found sooner by agents that go where they have seldom been.
 *
 * Visits to the situations of each agent (lud_world.situation) are counted over the whole training, and a
 * visit is worth 1 / sqrt(N), the N-th being this one (Strehl and Littman, "An analysis of model-based
 * interval estimation for Markov decision processes", 2008; Tang et al., "#Exploration", 2017). The counts
 * are a count-min sketch (Cormode and Muthukrishnan, 2005): memory does not grow with what is met, and where
 * two situations share their places they are taken to be better known than they are. */
#pragma once

#include "learn/nn/arrays.h"
#include "learn/store/checkpoint.h"
#include "sim/batch.h"

typedef struct lud_mappo_novelty {
    int32_t *counts; /* [rows of the sketch][places]; null: nothing is counted */
    uint64_t *met;   /* [n_steps][n_envs][n_agents] what the rollout in hand has come to; 0: nothing */
    float *found;    /* the same: 1 / sqrt(N) */
    float *earned;   /* [n_agents] the most so far; null: pay is in units of reward */
    int n_agents;
} lud_mappo_novelty;

/* Room for rollouts of n_steps * n_rows decisions of n_agents; `arrays` owns it and says when memory is out.
 */
void lud_mappo_novelty_open(lud_mappo_novelty *novelty, lud_arrays *arrays, int64_t n_samples, int n_agents,
                            bool relative);
/* Notes what everybody in the environments that are stepped has come to by step t of a batch: in its states,
 * or in final_states where an episode ended. Agents that no longer take part find nothing. */
void lud_mappo_novelty_meet(lud_mappo_novelty *novelty, const lud_batch *batch, int64_t t,
                            const uint8_t *terminated, const uint8_t *truncated, const uint8_t *final_states);
/* Counts what was met in n_samples decisions, in their order. */
void lud_mappo_novelty_count(lud_mappo_novelty *novelty, int64_t n_samples);
/* Where pay is relative: takes note of what each agent earns in a rollout, the size of the largest discounted
 * sum of rewards[n_steps][n_rows] from any step to the end of its episode or of the rollout. A size by the
 * largest, not by a mean: where rewards are rare a mean would be next to nothing just when the first is
 * found. masks[n_steps + 1][n_rows]: 0 where an episode begins. */
void lud_mappo_novelty_earn(lud_mappo_novelty *novelty, int64_t n_steps, int64_t n_rows, double gamma,
                            const float *rewards, const float *masks);
/* What pay is counted in for these agents, who learn together: the most that one of them has earned, but at
 * least 1, since what lies ahead of those who have found nothing yet is not known; 1 where pay is not
 * relative. */
double lud_mappo_novelty_unit(const lud_mappo_novelty *novelty, const int *agents, int64_t n_agents);
/* What a visit's share is multiplied by in an iteration of so many. */
double lud_mappo_novelty_weight(double weight, uint64_t iteration, uint64_t n_iterations);
void lud_mappo_novelty_visit(lud_mappo_novelty *novelty, lud_checkpoint *checkpoint);
