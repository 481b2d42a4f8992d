/* Environments of the neural EMPO learner: people follow a prior for goals that are drawn for them, robots
 * follow the power law of what has been learned so far, and every step is stored with the successors of all
 * joint robot actions.
 *
 * Two sets of human goals and actions are drawn in every step. One is the behaviour: it decides where the
 * environment goes and is subject to exploration. The other is drawn anew from the goals' weights and the
 * prior, and the successors stored are those under it. So targets are unbiased samples of the equations
 * whatever goals led to a state and however much is explored; with `fresh_goals` off both are the same, as
 * the mean over trajectories needs it. With `expected_people` the successors of all joint actions of people
 * are stored with the people's policies instead, and nothing is left to chance.
 *
 * Episodes begin where the world resets to, or with `restart_prob` in a state met before
 * (learn/empo/memory/archive.h). */
#pragma once

#include "learn/empo/explore/curiosity.h"
#include "learn/empo/explore/search.h"
#include "learn/empo/memory/replay.h"
#include "learn/empo/people/prior.h"

/* What it works with, all of which must outlive it. */
typedef struct lud_empo_rollout_parts {
    const lud_empo_learner_options *options;
    const lud_empo_features *features;
    const lud_empo_prior *prior;
    lud_empo_values *values;   /* what robots act by */
    lud_empo_novelty *novelty; /* with use_rnd */
    lud_empo_search *search;   /* robots follow it where they do not explore, or null */
    uint64_t seed;
    int first_environment; /* number of the first one in transitions */
    /* Where transitions go instead of the replay memory, or null. False: it cannot take one. */
    bool (*sink)(void *context, const lud_empo_transition *transition);
    void *sink_context;
} lud_empo_rollout_parts;

typedef struct lud_empo_rollout lud_empo_rollout;

lud_status lud_empo_rollout_create(const lud_empo_rollout_parts *parts, lud_empo_rollout **rollout,
                                   lud_error *error);
/* Null is allowed. */
void lud_empo_rollout_destroy(lud_empo_rollout *rollout);
/* One step of every environment: a transition each, marked with training step `step`. */
lud_status lud_empo_rollout_step(lud_empo_rollout *rollout, const lud_empo_now *now, int64_t step,
                                 lud_empo_replay *replay, lud_error *error);
/* Steps of single environments taken in all, episodes finished, goals achieved by people. */
typedef struct lud_empo_rollout_counts {
    uint64_t steps, episodes, achieved;
    uint64_t links, successors; /* stored: (robot action, successor) pairs, and distinct successors */
    int64_t states_seen;        /* different states, with the count bonus only */
    uint64_t restarts;          /* episodes begun in the archive */
    int64_t archived;           /* states in it */
} lud_empo_rollout_counts;
lud_empo_rollout_counts lud_empo_rollout_get_counts(const lud_empo_rollout *rollout);
/* What everybody did in the last step, and the records of the states in which they did it. */
typedef struct lud_empo_last_step {
    int n;
    const int32_t *const *records; /* [n] */
    const int32_t *actions;        /* [n][n_humans] */
} lud_empo_last_step;
lud_empo_last_step lud_empo_rollout_last_step(const lud_empo_rollout *rollout);
void lud_empo_rollout_visit(lud_empo_rollout *rollout, const char *prefix, lud_checkpoint *checkpoint);
