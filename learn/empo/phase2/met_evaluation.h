/* What was learned on the states met, for all states of a solved world: by table and networks, and by the
 * networks alone. */
#pragma once

#include "learn/empo/evaluation/reference.h"
#include "learn/empo/phase2/met_training.h"

/* lud_empo_learned with memory of its own. */
typedef struct lud_empo_met_values {
    lud_arrays arrays;
    float *v_r, *u_r, *x_h, *v_h_e, *q_r, *pi_r;
} lud_empo_met_values;

/* pi_r and Q_r by one step of look-ahead in either case. By table and networks so are V_r, U_r, X_h and
 * V_h^e; of the networks alone (`alone`) they are what the networks say of the state itself. lud_arrays_free
 * gives the arrays back, in any case. */
lud_status lud_empo_met_evaluate(lud_empo_met_training *training, const lud_empo_reference *reference,
                                 bool alone, lud_progress *progress, lud_empo_met_values *values,
                                 lud_error *error);
