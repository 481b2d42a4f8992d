/* The learner graph-mappo: multi-agent proximal policy optimisation with shared parameters over observations,
 * graphs or grids, and the magnitude-and-direction policy. */
#ifndef LUDUS_LEARN_MAPPO_MAPPO_H
#define LUDUS_LEARN_MAPPO_MAPPO_H

#include "learn/learner.h"
#include "learn/mappo/buffer.h"
#include "learn/mappo/rollout.h"
#include "learn/mappo/trainer.h"
#include "learn/store/profile.h"
#include "sim/batch.h"

extern const lud_learner_kind lud_mappo_learner;

/* The parts of a learner, for tests and benchmarks. */
typedef struct lud_mappo_learner_state {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_mappo_options options;
    lud_arena *arena;           /* of the options' texts */
    lud_mappo_trainer *update;  /* owns the parameters */
    lud_mappo_trainer *rollout; /* shares them */
    lud_mappo_buffer buffer;
    lud_batch *batch;
    lud_mappo_rollout *device_rollout; /* null: the host steps the world */
    int64_t slice_envs;                /* environments in one run of the rollout networks */
    uint64_t iteration, seed;
    bool started; /* slot 0 of the buffer holds observations */
    lud_mappo_chunk *chunks, *order;
    int32_t *place, *agent, *row;
    float *values;  /* [T + 1][rows], then [T][rows] of ends by length, in units of reward */
    float *returns; /* of a minibatch */
    float *actions; /* [rows][n_continuous] as the world takes them */
    uint8_t *terminated, *truncated, *final_states;
    void *final_parts[LUD_MAX_OBSERVATION_PARTS]; /* [n_envs](part), what was seen last; null: not needed */
    double *episode_return;                       /* [n_envs] mean over agents, of the episode in progress */
    int n_measures;                               /* of the world that are columns */
    double *measures; /* sums over episodes that ended, behind them room for one episode's */
    lud_profile profile;
    /* evaluation */
    lud_batch *trial;
    lud_mappo_buffer trial_buffer;
    double *trial_return;
} lud_mappo_learner_state;

/* One rollout into the buffer, values of slot T included. Fills `row` with the means of episodes that ended.
 */
lud_status lud_mappo_collect(lud_mappo_learner_state *learner, double *row, lud_error *error);
/* Returns, advantages, all epochs, then slot T to slot 0. */
lud_status lud_mappo_update(lud_mappo_learner_state *learner, lud_error *error);
/* Fills inputs and fields with `n` chunks of equal length from the buffer. */
lud_status lud_mappo_gather(lud_mappo_learner_state *learner, const lud_mappo_chunk *chunks, int64_t n,
                            lud_error *error);

/* Trials: the environments of evaluations, which training never touches. Start, then decide (deterministic;
 * actions as the world takes them in learner->actions) and step, in turn. */
void lud_mappo_trial_start(lud_mappo_learner_state *learner);
lud_status lud_mappo_trial_decide(lud_mappo_learner_state *learner, bool deterministic, lud_error *error);
void lud_mappo_trial_step(lud_mappo_learner_state *learner);

/* Columns of iterate's row; from LUD_MAPPO_POLICY_LOSS on behind the world's measures. */
typedef enum lud_mappo_column {
    LUD_MAPPO_STEPS,
    LUD_MAPPO_REWARD,
    LUD_MAPPO_RETURN,
    LUD_MAPPO_ENDED,
    LUD_MAPPO_POLICY_LOSS,
    LUD_MAPPO_VALUE_LOSS,
    LUD_MAPPO_ENTROPY,
    LUD_MAPPO_RATIO,
    LUD_MAPPO_CLIPPED,
    LUD_MAPPO_ACTOR_NORM,
    LUD_MAPPO_CRITIC_NORM,
    LUD_MAPPO_SPEED,
    LUD_MAPPO_COLUMNS
} lud_mappo_column;

#endif
