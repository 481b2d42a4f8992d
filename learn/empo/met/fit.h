/* Training steps of the networks of V_h^e and V_r on what was met: targets are the values that look-ahead has
 * in expanded states. */
#pragma once

#include <stdbool.h>

#include "learn/empo/met/asker.h"

typedef struct lud_empo_fit lud_empo_fit;

lud_status lud_empo_fit_create(lud_empo_values *values, lud_empo_asker *asker,
                               const lud_empo_learner_options *options, uint64_t seed, lud_empo_fit **fit,
                               lud_error *error);
/* Null is allowed. */
void lud_empo_fit_destroy(lud_empo_fit *fit);
/* Draws what training step number `step` learns from, among the states that are expanded, of which there must
 * be some; a step that was broken off has drawn already (lud_empo_fit_has_drawn). */
lud_status lud_empo_fit_draw(lud_empo_fit *fit, int64_t step, lud_error *error);
bool lud_empo_fit_has_drawn(const lud_empo_fit *fit, int64_t step);
/* Then the step itself: `learner.shares` of the gradients, which processes divide. With `measure` losses are
 * measured. After an error nothing has changed. */
lud_status lud_empo_fit_learn(lud_empo_fit *fit, int64_t step, const lud_empo_now *now, bool measure,
                              lud_error *error);
/* The last measured mean squared errors, and the norms of the last gradients: of V_h^e and V_r, NaN else. */
typedef struct lud_empo_fit_figures {
    double loss[LUD_EMPO_NETS], norm[LUD_EMPO_NETS];
} lud_empo_fit_figures;
lud_empo_fit_figures lud_empo_fit_get(const lud_empo_fit *fit);
void lud_empo_fit_visit(lud_empo_fit *fit, lud_checkpoint *checkpoint);
