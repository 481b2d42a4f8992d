/* Phases 1 and 2 of a tick: everybody alive acts in one batch, the worlds step once. */
#pragma once

#include "learn/nn/arrays.h"
#include "learn/ticks/tick_policy.h"
#include "sim/batch.h"

typedef struct lud_tick_learner lud_tick_learner;

/* What is seen and who is alive at one time. */
typedef struct lud_tick_sight {
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* [n_envs](part), null: the policy reads it not */
    int64_t n;
    int32_t *environment, *agent; /* [n] who is alive, environments and their agents ascending */
} lud_tick_sight;

/* Sums over episodes that ended. */
typedef struct lud_tick_episodes {
    double n, returns, ended;
    double *teams;      /* [n_teams] of returns, mean over the agents of the team */
    double *components; /* [n_components] mean over agents */
    double *measures;   /* [n_columns of the layout] */
} lud_tick_episodes;

/* Environments that are acted in: those of training or those of evaluations. Each process steps those of its
 * shares and knows what came of all; states and observations of the others are old until they are asked for.
 */
typedef struct lud_tick_stepping {
    lud_batch *batch;
    int64_t n_envs, n_rows;       /* n_rows = n_envs * n_agents */
    int64_t first, end;           /* environments first .. end - 1 are this process' own */
    lud_tick_sight sights[2];     /* of the present, and of the tick before */
    int now;                      /* which of them is the present */
    uint32_t tick;                /* clock of the environments at the last act */
    lud_tick_rows rows;           /* of the last act */
    lud_tick_choices choices;     /* of the last act, in the order of its rows */
    int32_t *discrete;            /* [n_rows] as the world takes them; those who are dead idle */
    float *continuous;            /* [n_rows][n_continuous] */
    struct lud_tick_acted *acted; /* [n_rows] as processes exchange them, those of the dead undefined */
    float *rewards;               /* [n_rows] of the last step */
    float *components;            /* [n_rows][n_components] */
    uint8_t *alive;               /* [n_rows] in the present */
    uint8_t *terminated, *truncated, *final_states;
    double *agent_return;       /* [n_rows] of the episode in progress */
    double *component_return;   /* [n_envs][n_components] of it, mean over agents */
    lud_tick_episodes episodes; /* since lud_tick_clear_episodes */
    double *measured;           /* [n_envs][n_measures] of episodes that the last step ended */
    lud_arrays arrays;
} lud_tick_stepping;

/* `n_envs` environments, `first` and those behind it. After a failure too it is to be destroyed. */
lud_status lud_tick_stepping_create(const lud_tick_learner *learner, int64_t n_envs, uint32_t first,
                                    lud_tick_stepping *stepping, lud_error *error);
/* Safe on a zeroed struct. */
void lud_tick_stepping_destroy(lud_tick_stepping *stepping);

/* Finds out who is alive in the present, after a snapshot was loaded. */
void lud_tick_look(lud_tick_stepping *stepping);
/* The clock, which is the same in all environments. */
uint32_t lud_tick_clock(const lud_tick_stepping *stepping);
/* Everybody who is alive in the present. */
lud_tick_rows lud_tick_present(const lud_tick_stepping *stepping);
/* A new episode everywhere. */
void lud_tick_reset(lud_tick_stepping *stepping);
/* The rows of a share's environments: `first` and `n` are theirs. */
lud_tick_rows lud_tick_rows_of_share(const lud_tick_learner *learner, const lud_tick_rows *rows, int share);
/* Everybody who is alive acts: rows and choices, of which each process has those of its shares. */
lud_status lud_tick_act(const lud_tick_learner *learner, lud_tick_stepping *stepping, bool greedy,
                        lud_error *error);
/* The worlds take these actions; the present becomes the past, of which rows and choices still tell, and
 * episodes that end are counted; `left` (null: no limit) is how many each environment may still count.
 * Afterwards all processes know of all rows what is scored: choices but the actions themselves, rewards, ends
 * and who is alive. */
lud_status lud_tick_step(const lud_tick_learner *learner, lud_tick_stepping *stepping, int64_t *left,
                         lud_error *error);
/* Every process gets states and observations of all environments. */
lud_status lud_tick_complete(const lud_tick_learner *learner, lud_tick_stepping *stepping, lud_error *error);
void lud_tick_clear_episodes(lud_tick_stepping *stepping);
/* Whether an agent takes part. */
bool lud_tick_is_alive(const lud_model *model, const uint8_t *state, int agent);
/* The choice of one who does nothing: that of the layout, 0 where there is none. */
int32_t lud_tick_idle(const lud_layout *layout, int agent);
