/* Successive halving: all candidates are trained for a first budget, the best of them for a longer one, and
 * so on until the last have a whole training (Jamieson and Talwalkar, "Non-stochastic best arm identification
 * and hyperparameter optimization", AISTATS 2016; Li et al., "Hyperband", JMLR 2018). A candidate that goes
 * on does so from its checkpoint: its training is that of somebody who was never paused. */
#pragma once

#include "cli/experiment/plan.h"
#include "cli/sweep/sweep.h"

/* Whether the flags of halving fit together. */
lud_status lud_halving_check(const lud_sweep *sweep, lud_error *error);
/* The number of budgets; puts the first budget of every training, in iterations, into the experiment's
 * `trainings`, and it into their keys. Without halving: one, and nothing is put. Each budget is
 * sweep->halving times the one before it, the last is the whole training. Without a first budget the number
 * is so great that one candidate is left at the end. */
lud_status lud_halving_plan(const lud_sweep *sweep, lud_experiment *experiment, int *n_budgets,
                            lud_error *error);
/* Iterations of a training in budget 0 ... n_budgets - 1. */
uint64_t lud_halving_budget(const lud_experiment_training *training, int64_t halving, int budget,
                            int n_budgets);
/* Lets the best of those that take part[n] go on: one in `halving`, rounded down, but one at least, without
 * those that have no score (NaN). Of equal scores the earlier goes on. Returns how many. */
int lud_halving_promote(const double *score, int n, int64_t halving, bool least, bool *part);
