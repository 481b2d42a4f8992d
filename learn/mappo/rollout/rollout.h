/* Rollouts of graph MAPPO: decisions of all agents, steps of the world, what episodes came to. */
#pragma once

#include "learn/mappo/groups.h"
#include "learn/mappo/rollout/buffer.h"
#include "sim/batch.h"

typedef struct lud_mappo_learner_state lud_mappo_learner_state;

/* Environments that are acted in: those of training or those of evaluations. */
typedef struct lud_mappo_stepping {
    lud_batch *batch;
    lud_mappo_buffer buffer;
    double *episode_return; /* [n_envs] mean over agents, of the episode in progress */
    double *group_return;   /* [n_envs][groups] the same over the agents of each group */
    int64_t first, end;     /* this process steps environments first .. end - 1 */
} lud_mappo_stepping;

/* Sums over episodes that ended; those of the world's measures stand in the learner's `measures`. */
typedef struct lud_mappo_episodes {
    double n, returns, ended;
    double of_group[LUD_MAPPO_GROUPS]; /* returns, where there are several groups */
} lud_mappo_episodes;

/* Forgets the episodes that ended in this process. */
void lud_mappo_clear_episodes(lud_mappo_learner_state *learner);
/* Sums over those of all processes, in the order in which they would have ended in one. */
lud_status lud_mappo_sum_episodes(lud_mappo_learner_state *learner, lud_mappo_episodes *sums,
                                  lud_error *error);
/* The first observations, in slot 0; everybody begins, so that the first decisions get the kick. */
void lud_mappo_reset(lud_mappo_stepping *s);
/* Which networks run in lud_mappo_decide. */
typedef enum lud_mappo_deciding { LUD_DECIDE_ACTIONS, LUD_DECIDE_VALUES, LUD_DECIDE_BOTH } lud_mappo_deciding;
/* Decisions of all environments of slot t: actions (the world's in learner->actions), log-probabilities and
 * values there, new states in slot t + 1. */
lud_status lud_mappo_decide(lud_mappo_learner_state *learner, lud_mappo_stepping *s, int64_t t,
                            lud_mappo_deciding what, bool deterministic, lud_error *error);
/* Steps the world from slot t to slot t + 1 and counts episodes that end; `left` (null: no limit) is how many
 * each environment may still count. */
lud_status lud_mappo_step(lud_mappo_learner_state *learner, lud_mappo_stepping *s, int64_t t, int64_t *left,
                          lud_error *error);
/* One rollout of training into the buffer, values of slot T included. Fills `row` with the means of episodes
 * that ended. */
lud_status lud_mappo_collect(lud_mappo_learner_state *learner, double *row, lud_error *error);
/* After an update: where the next rollout begins, of all environments in every process. */
lud_status lud_mappo_complete(lud_mappo_learner_state *learner, lud_error *error);
