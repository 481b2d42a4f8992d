/* One exact step of look-ahead from any state, met or not: successors are worth what the table says, and the
 * networks where it says nothing. Nothing is kept of it. */
#pragma once

#include "learn/empo/met/asker.h"

typedef struct lud_empo_ahead {
    lud_empo_asker *asker;
    bool network_alone; /* set by the caller: the table is not asked, but for where the world ends */
    double from_table;  /* of the last look: share of successors that the table answered for, terminal ones
                         * among them, by their chance under everybody's policies */
    double *record;     /* [layout.record_doubles] of the last look: (4) to (9), without V_h^m */
    struct lud_empo_ahead_memory *memory;
} lud_empo_ahead;

/* The asker outlives it. False when memory is out; freeing is safe in any case. */
bool lud_empo_ahead_create(lud_empo_asker *asker, lud_empo_ahead *ahead);
/* Safe on a zeroed struct. */
void lud_empo_ahead_free(lud_empo_ahead *ahead);
/* From a state that is not terminal. */
lud_status lud_empo_look_ahead(lud_empo_ahead *ahead, const uint8_t *state, lud_error *error);
