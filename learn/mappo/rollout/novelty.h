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
} lud_mappo_novelty;

/* Room for rollouts of n_steps * n_rows decisions; `arrays` owns it and says when memory is out. */
void lud_mappo_novelty_open(lud_mappo_novelty *novelty, lud_arrays *arrays, int64_t n_samples);
/* Notes what everybody in the environments that are stepped has come to by step t of a batch: in its states,
 * or in final_states where an episode ended. Agents that no longer take part find nothing. */
void lud_mappo_novelty_meet(lud_mappo_novelty *novelty, const lud_batch *batch, int64_t t,
                            const uint8_t *terminated, const uint8_t *truncated, const uint8_t *final_states);
/* Counts what was met in n_samples decisions, in their order. */
void lud_mappo_novelty_count(lud_mappo_novelty *novelty, int64_t n_samples);
/* What a visit's share is multiplied by in an iteration of so many. */
double lud_mappo_novelty_weight(double weight, uint64_t iteration, uint64_t n_iterations);
void lud_mappo_novelty_visit(lud_mappo_novelty *novelty, lud_checkpoint *checkpoint);
