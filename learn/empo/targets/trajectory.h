/* Targets of the neural EMPO learner over several steps of a stored trajectory, in place of those over one
 * step.
 *
 * From a stored transition the steps that came after it in its episode are followed: at most n of them, or as
 * many as are stored. With gamma_h, gamma_r and m steps followed, s_k being the state after k of them,
 *
 *   V_h^e(s_0, h, g) = gamma_h^(k-1)                 g was first achieved in s_k, k <= m
 *                    = 0                             the world ended in s_m and g was not
 *                    = gamma_h^m V_h^e(s_m, h, g)    otherwise
 *   Q_r(s_0, a)      = sum_(0 < k < m) gamma_r^k w U_r(s_k) + gamma_r^m V_r(s_m)
 *
 * for the goals pursued and the joint robot action taken in s_0; V_r of a terminal state is the terminal
 * value, and what was cut short by the length of episodes, or is not stored yet, is bootstrapped. Other goals
 * and actions keep their one-step targets. Sutton & Barto, "Reinforcement learning: an introduction", 2nd
 * ed., chapter 7.
 *
 * These are samples of the equations only if everybody acted as the equations have it. So a trajectory is cut
 * before a step in which somebody explored (the target bootstraps there; where it was the first step, the
 * one-step target stays), and where a person took up another goal, that person's entry is. Whether somebody
 * explores depends on nothing else, so cutting biases nothing. What remains is that the robots' policy of
 * that time is not today's. */
#pragma once

#include "learn/empo/memory/replay.h"
#include "learn/empo/targets/values.h"

typedef struct lud_empo_trajectory lud_empo_trajectory;

/* For batches of n transitions. values, replay (a memory of trajectories that knows its environments) and
 * options must outlive it. */
lud_status lud_empo_trajectory_create(lud_empo_values *values, const lud_empo_replay *replay,
                                      const lud_empo_learner_options *options, int64_t n,
                                      lud_empo_trajectory **trajectory, lud_error *error);
/* Null is allowed. */
void lud_empo_trajectory_destroy(lud_empo_trajectory *trajectory);

/* A state on the way whose values are needed, with the goals of the transition it was reached from. */
typedef struct lud_empo_trajectory_state {
    const int32_t *record, *goals;
    bool terminal;
} lud_empo_trajectory_state;

/* Follows n transitions, at most those of a batch; `robots` says whether targets of Q_r are wanted; until the
 * next push. */
lud_status lud_empo_trajectory_follow(lud_empo_trajectory *trajectory, int64_t n, const int64_t *indices,
                                      const lud_empo_transition *transitions, const lud_empo_now *now,
                                      bool robots, lud_error *error);
/* States whose values are needed then; the pointer holds until the next call. */
const lud_empo_trajectory_state *lud_empo_trajectory_states(const lud_empo_trajectory *trajectory,
                                                            int64_t *n);
/* Adds everything to an upload; those states stand in rows `first_row` and on of the values' results. */
void lud_empo_trajectory_pack(lud_empo_trajectory *trajectory, int64_t first_row, lud_upload_batch *upload);
/* Times that memory on the device was taken anew, which makes recorded work void. */
uint64_t lud_empo_trajectory_grown(const lud_empo_trajectory *trajectory);
/* Queues operations that replace one-step targets: v_h_e[n][n_entries], q_r[n][n_robot_actions] on the
 * device. The values' results are of the run with those states, V_r of terminal ones already set. */
void lud_empo_trajectory_people(lud_empo_trajectory *trajectory, float *v_h_e);
void lud_empo_trajectory_robots(lud_empo_trajectory *trajectory, float *q_r);

/* What was followed last; numbers of several times are added up. */
typedef struct lud_empo_trajectory_counts {
    double n, steps;                                                /* transitions, steps of them */
    double people, people_achieved, people_bootstrapped, of_people; /* entries; all entries */
    double robots, robots_bootstrapped, of_robots;                  /* transitions; 0: none were wanted */
} lud_empo_trajectory_counts;
lud_empo_trajectory_counts lud_empo_trajectory_count(const lud_empo_trajectory *trajectory);

/* The same as shares; NaN where there is nothing to take the share of. */
typedef struct lud_empo_trajectory_figures {
    double people;              /* of V_h^e entries that have a target over several steps */
    double achieved;            /* of those: the goal was achieved on the way */
    double people_bootstrapped; /* of those: V_h^e of the last state counts */
    double robots;              /* of transitions whose action has a target over several steps */
    double robots_bootstrapped; /* of those: the last state is not terminal */
    double length;              /* mean number of steps followed, over transitions */
} lud_empo_trajectory_figures;
lud_empo_trajectory_figures lud_empo_trajectory_figures_of(const lud_empo_trajectory_counts *counts);
