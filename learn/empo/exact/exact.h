/* Exact EMPO by backward induction over the reachable states of a model, in double precision.
 *
 * One sweep from the last level to the first computes both phases: what people would do for each goal (phase
 * 1, equations 1-3) and what power they then have and what the robots do (phase 2, equations 4-9). A state's
 * results depend only on later levels, so the states of a level are independent of each other: any number of
 * threads gives the same bytes. A CUDA device gives the same but for the last digits of exp, log and pow. */
#pragma once

#include "kernels/device.h"
#include "learn/empo/layout.h"
#include "learn/empo/theory.h"
#include "sim/statespace/statespace.h"

/* What is solved. */
typedef struct lud_empo_problem {
    const lud_statespace *space; /* null: lud_empo_problem_of_model */
    const lud_model *model;
    int32_t n_joint_actions;
    lud_empo_theory theory;
    lud_empo_layout layout;
    double *goal_weight; /* [n_goals] */
    int32_t *human_of;   /* [n_joint_actions] joint human action of a joint action */
    int32_t *robot_of;   /* [n_joint_actions] joint robot action */
    int32_t *joint_of;   /* [n_human_profiles][n_robot_actions] back again */
    int32_t *own_action; /* [n_humans][n_human_profiles] a person's action in a joint human action */
    lud_arena *arena;
} lud_empo_problem;

/* Policies that replace or complement computed ones. Each fills one row for the state with that index and may
 * be called from several threads at once. */
typedef struct lud_empo_hooks {
    /* policies[layout.policy_begin[n_humans]]: what people do by habit, for every goal; used with weight
     * nu_h. */
    void (*habit)(void *context, uint64_t index, const uint8_t *state, double *policies);
    /* pi_r[n_robot_actions]: evaluates this robot policy instead of computing equation (5). */
    void (*robot)(void *context, uint64_t index, const uint8_t *state, double *pi_r);
    /* What person h thinks other people do when doing a_h: probability[n_human_profiles], zero where the
     * profile has another a_h, sum 1. Null: uniform, which is the paper's default. */
    void (*belief)(void *context, const uint8_t *state, int human, int action, double *probability);
    void *context;
} lud_empo_hooks;

typedef struct lud_empo_run {
    double *records;             /* [n_states][record_doubles], caller's memory (may be a mapped file) */
    const lud_empo_hooks *hooks; /* null: none */
    int n_threads;               /* 0: OpenMP's default */
    int first_level;      /* levels from this one on are finished in `records`; n_levels when none is */
    FILE *progress;       /* or null */
    lud_device *device;   /* solves the levels if it can (CUDA); null: the processors of this machine */
    bool device_may_fail; /* if its memory is too small the processors do it, with a note to `progress` */
    /* Called when a level is finished (null: not); a status other than LUD_OK ends the run with it. */
    lud_status (*level_done)(void *context, int level, lud_error *error);
    /* Called when the records of these states are finished and are not read again before their level is;
     * null: not. Only lud_empo_solve_levels does. */
    void (*states_done)(void *context, uint64_t begin, uint64_t end);
    void *context;
    struct lud_ranks *ranks; /* null: one process. Only lud_empo_solve_levels divides its work */
    const bool *common;      /* [size] processes whose `records` are the first one's, one file; null: none */
} lud_empo_run;

/* Checks roles, goals and parameters and lays out the problem. Errors: an agent without a role, a person
 * without goals, no people at all, continuous actions, a world without an exact model. */
lud_status lud_empo_problem_create(const lud_statespace *space, const lud_empo_theory *theory,
                                   lud_empo_problem **problem, lud_error *error);
/* The same for a model whose states are not listed: for lud_empo_game_of, not to be solved. */
lud_status lud_empo_problem_of_model(const lud_model *model, const lud_empo_theory *theory,
                                     lud_empo_problem **problem, lud_error *error);
void lud_empo_problem_destroy(lud_empo_problem *problem);

/* The problem as the equations of one state read it; fills noop[n_humans], and points there and into the
 * problem. */
lud_empo_game lud_empo_game_of(const lud_empo_problem *problem, int32_t noop[LUD_EMPO_MAX_AGENTS]);

/* Doubles of a row of credits: what a state is worth to those before it. */
int lud_empo_credit_width(const lud_empo_layout *layout);

/* Solves. A person whom no goal is open to (X_h = 0) is an error that names state and person. LUD_INTERRUPTED
 * after Ctrl-C: levels above the one reported by level_done are complete. */
lud_status lud_empo_solve(const lud_empo_problem *problem, const lud_empo_run *run, lud_error *error);
