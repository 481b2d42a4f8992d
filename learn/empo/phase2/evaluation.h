/* What a learner of phase 2 has learned, state by state, and how far that is from the exact solution. */
#pragma once

#include "learn/empo/phase2/phase2.h"

extern const lud_metric lud_empo_phase2_evaluation_columns[];
extern const int lud_empo_phase2_n_evaluation_columns,
    lud_empo_met_n_evaluation_columns; /* with met_memory */

/* The comparison, for lud_learner_kind.evaluate; without an exact solution the row stays as it is. */
lud_status lud_empo_phase2_evaluate(lud_learner *learner, double *row, lud_error *error);
/* A table of the last one. */
void lud_empo_phase2_report_evaluation(const lud_empo_phase2_learner *learner, lud_text *out);

/* What people have of the robots of --policy (lud_learner_kind.evaluate_run); without it nothing. */
lud_status lud_empo_phase2_evaluate_run(const lud_report_request *request, lud_report *report,
                                        lud_error *error);

/* Fills record[features.layout.record_doubles], in the form of an exact solution's, for a state that is not
 * terminal: V_r, U_r, X_h, V_h^e of every goal, Q_r, pi_r at the final exponent, and what people do by the
 * prior. V_h^m is not learned here: NaN. The learner is not trained meanwhile; one thread at a time. */
lud_status lud_empo_state_values(lud_empo_phase2_learner *learner, const uint8_t *state, double *record,
                                 lud_error *error);
/* The same, drawn (lud_learner_kind.overlay). */
lud_status lud_empo_phase2_overlay(const char *folder, const lud_scenario *scenario, const lud_cast *cast,
                                   struct lud_overlay_source **source, lud_error *error);
