/* The learner ticks: many agents share one policy that learns while they act.
 *
 * A tick is one forward run for everybody who is alive in all copies of the world, one step of the worlds,
 * rewards, advantages, the gate over log-probabilities of the acting, at most one forward and backward run
 * over the rows it keeps, one step of the optimiser, and the new weights as the next version. All that one
 * tick decides is decided with one version of the weights. */
#pragma once

#include "agents/policy.h"
#include "learn/learner.h"
#include "learn/nn/shares.h"
#include "learn/policy_gradient/gate_history.h"
#include "learn/store/profile.h"
#include "learn/ticks/imitation.h"
#include "learn/ticks/networks.h"
#include "learn/ticks/rollout.h"
#include "learn/ticks/selection.h"
#include "learn/ticks/update.h"

extern const lud_learner_kind lud_learner_ticks;

enum { LUD_TICK_MAX_EVALUATED = 64, LUD_TICK_FIRST_EVALUATED = 1 << 24 };

/* Where the time of a tick goes. */
enum {
    LUD_TICK_STAGE_ACT,
    LUD_TICK_STAGE_WORLD,
    LUD_TICK_STAGE_VALUE,
    LUD_TICK_STAGE_SCORE,
    LUD_TICK_STAGE_LEARN,
    LUD_TICK_STAGE_STEP,
    LUD_TICK_STAGES
};

/* What a team has come to since the training began. */
typedef struct lud_tick_team {
    uint64_t experiences; /* of those who train and those who do not */
    uint64_t backward;    /* rows that were learned from */
    uint64_t skipped;     /* rows that were scored and not learned from */
    double reward;        /* sum */
} lud_tick_team;

/* Sums over the ticks of an iteration. */
typedef struct lud_tick_sums {
    double ticks, ends[LUD_TICK_ENDS];
    double rows, reward, entropy, failures;             /* everybody who acted */
    double read, left_out;                              /* prompts, and the lines that they had no room for */
    double scored, selected, delights;                  /* what training teams did */
    double rates, prices, gated;                        /* of ticks with a gate's decision */
    double loss, norm, value_loss, critic_norm, valued; /* of ticks with an update */
} lud_tick_sums;

/* The parts of a learner, for its own files, tests and benchmarks. */
struct lud_tick_learner {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_tick_options options;
    lud_arena *arena; /* of the options' texts and columns */
    lud_arrays arrays;
    lud_tick_policy *policy;
    lud_optimiser *optimiser;
    lud_shares shares; /* of the environments */
    int64_t *lines;    /* [processes][2] prompts that were read, and lines that they had no room for */
    int actor_group, critic_group; /* -1: none */
    lud_tick_stepping training, evaluation;
    uint64_t seed, iteration;
    bool started;
    uint64_t version; /* of the weights: updates so far */

    int n_teams; /* 1 where the world has none */
    const char *const *team_names;
    int *team_sizes;                  /* [n_teams] */
    bool *trains;                     /* [n_teams] */
    lud_tick_team *teams;             /* [n_teams] */
    uint64_t experiences;             /* of all teams */
    double *team_rewards, *team_rows; /* [n_teams] of the iteration */
    double *component_rewards;        /* [n_components] of the iteration */

    lud_tick_scoring scoring;
    lud_tick_imitation imitation;
    lud_tick_sums sums;
    lud_profile profile;
};

/* The team of an agent. */
int lud_tick_team_of(const lud_tick_learner *learner, int agent);

/* One tick, phases 1 to 5. */
lud_status lud_tick_run(lud_tick_learner *learner, lud_error *error);

/* Columns of iterate's row; behind LUD_TICK_COLUMNS those of the world's measures, of teams and of
 * components.
 */
typedef enum lud_tick_column {
    LUD_TICK_STEPS,
    LUD_TICK_VERSION,
    LUD_TICK_EXPERIENCES,
    LUD_TICK_REWARD,
    LUD_TICK_RETURN,
    LUD_TICK_ENDED,
    LUD_TICK_LOSS,
    LUD_TICK_NORM,
    LUD_TICK_VALUE_LOSS,
    LUD_TICK_CRITIC_NORM,
    LUD_TICK_ENTROPY,
    LUD_TICK_SCORED,
    LUD_TICK_SELECTED,
    LUD_TICK_VALUED,
    LUD_TICK_BACKWARD_RATE,
    LUD_TICK_DELIGHT,
    LUD_TICK_RATE,
    LUD_TICK_PRICE,
    LUD_TICK_FAILURES,
    LUD_TICK_LEFT_OUT,
    LUD_TICK_SKIPPED_UNTRAINED,
    LUD_TICK_SKIPPED_SILENT,
    LUD_TICK_SKIPPED_GATED,
    LUD_TICK_SKIPPED_FLAT,
    LUD_TICK_ACT_TIME,
    LUD_TICK_WORLD_TIME,
    LUD_TICK_VALUE_TIME,
    LUD_TICK_SCORE_TIME,
    LUD_TICK_LEARN_TIME,
    LUD_TICK_STEP_TIME,
    LUD_TICK_SPEED,
    LUD_TICK_COLUMNS
} lud_tick_column;
