/* What EMPO knows about a state, to be drawn with the world: V_h^e, policies, X_h, U_r, V_r and pi_r, from an
 * exact solution or from what has been learned. */
#pragma once

#include "agents/overlay_source.h"
#include "base/status.h"
#include "sim/world.h"

/* Where an overlay finds a state's record, laid out as in learn/empo/layout.h; null: nothing is known. */
typedef struct lud_state_records {
    void *context;
    const double *(*of)(void *context, const uint8_t *state);
    void (*destroy)(void *context); /* may be null */
} lud_state_records;

/* A source of such records, which it takes over, also when it fails. */
lud_status lud_empo_overlay_create(lud_state_records records, const lud_model *model,
                                   lud_overlay_source **source, lud_error *error);
