/* What a learner of phase 2 knows about a single state, in the form of an exact solution's record. */
#ifndef LUDUS_LEARN_EMPO_PHASE2_STATE_VALUES_H
#define LUDUS_LEARN_EMPO_PHASE2_STATE_VALUES_H

#include "learn/empo/phase2/phase2.h"

/* Fills record[features.layout.record_doubles] for a state that is not terminal: V_r, U_r, X_h, V_h^e of
 * every goal, Q_r, pi_r at the final exponent, and what people do by the prior. V_h^m is not learned here:
 * NaN. The learner is not trained meanwhile; one thread at a time. */
lud_status lud_empo_state_values(lud_empo_phase2_learner *learner, const uint8_t *state, double *record,
                                 lud_error *error);

#endif
