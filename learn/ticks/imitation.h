/* Learning from what others do, before ticks: for a number of ticks the environments of the training are
 * acted in by policies of the scenario's kind (scripts, heuristics), and the shared policy learns to do as
 * they do: the gradient of minus the mean log-probability of their choices, an update a tick. */
#pragma once

#include "agents/cast.h"
#include "learn/ticks/rollout.h"

typedef struct lud_tick_imitation {
    uint64_t done;  /* ticks */
    lud_cast *cast; /* null: no such ticks */
    size_t hidden_bytes;
    uint8_t *hidden;    /* [n_envs][hidden_bytes] */
    int32_t *discrete;  /* [n_rows] what the cast does */
    int32_t *row;       /* [n_rows] rows that are learned from */
    float *coefficient; /* [n_rows] */
    lud_arrays arrays;
} lud_tick_imitation;

/* After a failure too it is to be destroyed. */
lud_status lud_tick_imitation_create(const lud_tick_learner *learner, lud_tick_imitation *imitation,
                                     lud_error *error);
/* Safe on a zeroed struct. */
void lud_tick_imitation_destroy(lud_tick_imitation *imitation);
void lud_tick_imitation_visit(lud_tick_learner *learner, lud_checkpoint *checkpoint);
/* Every process gets what the cast remembers of all environments. */
lud_status lud_tick_imitation_complete(lud_tick_learner *learner, lud_error *error);
/* One such tick. */
lud_status lud_tick_imitate(lud_tick_learner *learner, lud_error *error);
