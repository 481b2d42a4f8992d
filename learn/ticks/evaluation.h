/* Evaluations of ticks: whole episodes in environments of their own, judged by team and by part of the
 * reward. */
#pragma once

#include "learn/store/metrics.h"
#include "learn/ticks/rollout.h"

/* Columns of an evaluation; behind them those of the world's measures, of teams and of components. */
enum { LUD_TICK_EVALUATION_RETURN, LUD_TICK_EVALUATION_ENDED, LUD_TICK_EVALUATION_COLUMNS };
extern const lud_metric lud_tick_evaluation_columns[LUD_TICK_EVALUATION_COLUMNS];

/* Runs the options' number of episodes, the same ones every time, with the present weights; training goes on
 * as if there had been none. */
lud_status lud_tick_evaluation_run(lud_tick_learner *learner, double *row, lud_error *error);
