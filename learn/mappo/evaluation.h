/* Evaluations of graph MAPPO in environments that training never touches. */
#pragma once

#include "learn/store/metrics.h"

typedef struct lud_mappo_learner_state lud_mappo_learner_state;

/* Columns of an evaluation; the world's measures stand behind these. */
enum { LUD_MAPPO_EVALUATION_RETURN, LUD_MAPPO_EVALUATION_ENDED, LUD_MAPPO_EVALUATION_COLUMNS };
extern const lud_metric lud_mappo_evaluation_columns[LUD_MAPPO_EVALUATION_COLUMNS];

/* The episodes of the options, the same every time; fills a row. */
lud_status lud_mappo_evaluation_run(lud_mappo_learner_state *learner, double *row, lud_error *error);
/* The parts of it. Start, then decide (actions as the world takes them in learner->actions) and step, in
 * turn. */
void lud_mappo_evaluation_start(lud_mappo_learner_state *learner);
lud_status lud_mappo_evaluation_decide(lud_mappo_learner_state *learner, bool deterministic,
                                       lud_error *error);
void lud_mappo_evaluation_step(lud_mappo_learner_state *learner);
