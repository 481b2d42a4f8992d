/* Labels for states that the clone itself visits: Ross, Gordon and Bagnell, "A reduction of imitation
 * learning and structured prediction to no-regret online learning", 2011 (DAgger). In the first round, before
 * anything is learned, the expert acts; in later ones the clone does, and the expert is asked what it would
 * have done. Only these answers are counted. */
#pragma once

#include "agents/rollout.h"
#include "learn/clone/data.h"

typedef struct lud_clone_dagger {
    const lud_clone_options *options;
    const lud_scenario *scenario;
    lud_clone_data *data;
    lud_cast *clone;  /* the scenario's with the clone, the caller's */
    lud_cast *expert; /* with the expert */
    lud_runner by_expert, by_clone;
    uint8_t *asked; /* [n_envs][hidden bytes of the expert's cast] while the clone acts */
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* [n_envs](part) that are kept */
    int32_t *discrete;
    float *continuous;
    double *p; /* [choices] */
} lud_clone_dagger;

/* After an error too it is to be closed. */
lud_status lud_clone_dagger_open(const lud_clone_options *options, const lud_scenario *scenario,
                                 lud_clone_data *data, lud_cast *clone, lud_clone_dagger *dagger,
                                 lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_dagger_close(lud_clone_dagger *dagger);
/* Asks for the labels of a round; what is visited follows from the round and the clone as it is. */
lud_status lud_clone_dagger_round(lud_clone_dagger *dagger, int64_t round, lud_error *error);
