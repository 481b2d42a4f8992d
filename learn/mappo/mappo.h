/* The learner graph-mappo: multi-agent proximal policy optimisation with parameters that all agents share, or
 * those of each group, over observations, graphs or grids, and the magnitude-and-direction policy. */
#pragma once

#include "learn/learner.h"
#include "learn/mappo/evaluation.h"
#include "learn/mappo/groups.h"
#include "learn/mappo/opponents.h"
#include "learn/mappo/rollout/device_rollout.h"
#include "learn/mappo/rollout/novelty.h"
#include "learn/mappo/rollout/rollout.h"
#include "learn/mappo/update.h"
#include "learn/nn/arrays.h"
#include "learn/store/profile.h"

extern const lud_learner_kind lud_mappo_learner;

enum { LUD_MAPPO_MAX_EVALUATED = 128 }; /* environments of evaluations */

/* Where the time of an iteration goes. */
enum {
    LUD_MAPPO_STAGE_ACT,
    LUD_MAPPO_STAGE_WORLD,
    LUD_MAPPO_STAGE_VALUE,
    LUD_MAPPO_STAGE_RETURNS,
    LUD_MAPPO_STAGE_GATHER,
    LUD_MAPPO_STAGE_GRADIENT,
    LUD_MAPPO_STAGE_STEP,
    LUD_MAPPO_STAGE_ROLLOUT,
    LUD_MAPPO_STAGES
};

/* Of the progress within an iteration. */
#define LUD_MAPPO_ROLLOUT_PART 0.3

/* Numbers of iterate's and evaluate's row that are returns of groups. */
int lud_mappo_n_group_returns(const lud_mappo_learner_state *learner);

/* The parts of a learner, for its own files, tests and benchmarks. */
struct lud_mappo_learner_state {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_mappo_options options;
    lud_arena *arena; /* of the options' texts and columns */
    lud_arrays arrays;
    lud_mappo_group groups[LUD_MAPPO_GROUPS]; /* who act and learn by networks of their own */
    int n_groups;
    lud_mappo_opponents opponents;
    lud_mappo_stepping training, evaluation;
    lud_mappo_device_rollout *device_rollout; /* null: the host steps the world */
    lud_mappo_novelty novelty;                /* of what training meets; empty where nothing is paid for it */
    int64_t slice_envs;                       /* environments in one run of the rollout networks */
    uint64_t iteration, seed;
    bool started; /* slot 0 of the training's buffer holds observations */
    int32_t *place, *agent, *row;
    int32_t *group; /* [T][rows] the agents of a team at one step; null: no mean of groups is a baseline */
    float *values;  /* [T + 1][rows], then [T][rows] of ends by length, in units of reward */
    float *columns_of_group; /* [2 T + 1][rows] scratch, null: there is one group */
    float *actions;          /* [rows][n_continuous] as the world takes them */
    uint8_t *terminated, *truncated, *final_states;
    void *final_parts[LUD_MAX_OBSERVATION_PARTS]; /* [n_envs](part), what was seen last; null: not needed */
    int n_measures;                               /* of the world that are columns */
    double *measures; /* sums over episodes that ended, behind them room for one episode's */
    /* [ended_capacity][ended_width] episodes that ended: in this process, n_ended of them, and in all; after
     * so many steps */
    double *ended, *ended_of_all;
    int64_t n_ended, ended_capacity, ended_width, steps_counted;
    lud_metric *row_columns, *evaluation_columns; /* those of `base` */
    lud_profile profile;
};

/* Columns of iterate's row; from LUD_MAPPO_POLICY_LOSS on behind the world's measures. The return of each
 * group stands behind all, where there are several. */
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
