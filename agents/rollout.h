/* Running the agents of a scenario in many environments for a number of episodes, and adding up what
 * happened. */
#pragma once

#include "agents/cast.h"
#include "base/mean.h"
#include "base/progress.h"
#include "sim/batch.h"
#include "sim/scenario.h"

/* A cast acting in a batch: the loop below every rollout. */
typedef struct lud_runner {
    const lud_cast *cast; /* the caller's; not to be changed meanwhile */
    lud_batch *batch;
    uint8_t *hidden;   /* [n_envs][hidden bytes of the cast] */
    float *rewards;    /* [n_envs][n_agents] of the last step */
    float *components; /* [n_envs][n_agents][n_components] of them; null where the world knows none */
    uint8_t *terminated, *truncated, *final_states;
    int32_t *discrete;
    float *continuous;
    void *observations[LUD_MAX_OBSERVATION_PARTS]; /* null where nobody reads any */
    bool observed;                                 /* they are written */
    float *log_probs; /* [n_envs][n_agents] of the last actions, NaN: not known; null: nobody asked */
} lud_runner;

/* Environments are numbered from first_environment on. */
lud_status lud_runner_create(const lud_model *model, const lud_cast *cast, int n_envs, uint64_t seed,
                             uint32_t first_environment, lud_runner *runner, lud_error *error);
/* Before the first start: the runner writes log_probs and, when `observations`, those of every state, whether
 * the cast reads them or not. */
lud_status lud_runner_tell(lud_runner *runner, bool observations, lud_error *error);
/* A zeroed one is allowed. */
void lud_runner_destroy(lud_runner *runner);
/* A new episode everywhere. */
void lud_runner_start(lud_runner *runner);
/* Everybody acts in the present states: writes `discrete` and `continuous`, moves `hidden` on. */
void lud_runner_act(lud_runner *runner);
/* Everybody acts and the worlds step. Where an episode has ended and the batch resets, `hidden` is still that
 * of the ended one, until lud_runner_renew. */
void lud_runner_step(lud_runner *runner);
void lud_runner_renew(lud_runner *runner);

typedef struct lud_agent_result {
    lud_mean episode_return; /* sum of rewards of an episode */
    lud_mean goals;          /* goals reached in an episode */
    bool has_goals;
} lud_agent_result;

typedef struct lud_rollout {
    const lud_layout *layout;
    int n_agents, n_envs;
    int64_t episodes; /* finished and counted */
    int64_t terminated, truncated;
    lud_mean length; /* steps of an episode */
    uint64_t steps;  /* environment steps taken */
    double seconds;
    lud_agent_result *agents; /* [n_agents] */
    lud_mean *measures;       /* [layout->n_measures] */
} lud_rollout;

/* Runs `episodes` whole episodes, each environment an equal share, so that long episodes count as often as
 * short ones; at most `max_steps` environment steps in all (0: no limit). `progress`: where a progress line
 * goes, or null. On Ctrl-C returns LUD_INTERRUPTED with what was finished. Free the result with
 * lud_rollout_free in either case; the scenario must outlive it. */
lud_status lud_rollout_run(const lud_scenario *scenario, const lud_cast *cast, int64_t episodes,
                           uint64_t max_steps, FILE *progress, lud_rollout *result, lud_error *error);
/* What is kept of single episodes, in the order in which they ended; null: not wanted. */
typedef struct lud_rollout_kept {
    double *returns;      /* [episodes][n_agents] what each agent's rewards add up to */
    uint8_t *last_states; /* [episodes][state_bytes] */
} lud_rollout_kept;

/* The same without a limit, with what is kept of the episodes. */
lud_status lud_rollout_run_kept(const lud_scenario *scenario, const lud_cast *cast, int64_t episodes,
                                FILE *progress, lud_rollout_kept kept, lud_rollout *result, lud_error *error);
void lud_rollout_free(lud_rollout *result);
