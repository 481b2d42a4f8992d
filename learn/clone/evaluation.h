/* What a clone is judged by: episodes that it acts in, and steps of held-out episodes that it never saw. */
#pragma once

#include "agents/rollout.h"
#include "learn/clone/update.h"
#include "learn/store/metrics.h"

/* Columns of an evaluation; the world's measures stand behind these. */
typedef enum lud_clone_judged {
    LUD_CLONE_JUDGED_RETURN,
    LUD_CLONE_JUDGED_ENDED,
    LUD_CLONE_JUDGED_LOG_PROB,
    LUD_CLONE_JUDGED_HITS,
    LUD_CLONE_JUDGED_LATER,
    LUD_CLONE_JUDGED_SUMMARY,
    LUD_CLONE_JUDGED_PAIRS,
    LUD_CLONE_JUDGED_COLUMNS
} lud_clone_judged;
extern const lud_metric lud_clone_judged_columns[LUD_CLONE_JUDGED_COLUMNS];

typedef struct lud_clone_evaluation {
    const lud_clone_options *options;
    const lud_scenario *scenario;
    const lud_clone_data *data;
    lud_clone_networks networks; /* share the parameters that are learned */
    lud_clone_batch batch;
    lud_cast *cast;  /* the scenario's, with the clone */
    float *values;   /* host, [batch][horizon][width] */
    float *target;   /* the same, or [batch][horizon] words */
    double *log_std; /* [width] of actions that are numbers */
} lud_clone_evaluation;

/* After an error too it is to be closed; it must not move while it is open. */
lud_status lud_clone_evaluation_open(const lud_clone_options *options, const lud_scenario *scenario,
                                     const lud_clone_data *data, lud_device *device,
                                     lud_parameters *parameters, lud_clone_evaluation *evaluation,
                                     lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_evaluation_close(lud_clone_evaluation *evaluation);
/* Plays the episodes of the options, the same every time, and goes through the steps held out (at most
 * MOST_HELD_OUT of them). NaN for what was not measured. */
lud_status lud_clone_evaluation_run(lud_clone_evaluation *evaluation, double *row, lud_error *error);
