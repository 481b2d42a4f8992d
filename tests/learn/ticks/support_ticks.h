/* A small world with teams, an idle choice, parts of rewards and agents that leave, and a learner of type
 * ticks in it.
 *
 * Everybody sees, as one of SUPPORT_CUES numbers that is 1, what will be paid: the choice of that number
 * gives 1 (component `match`), every choice but the last, which is idle, costs a tenth (component `effort`).
 * Agent i leaves for the rest of the episode after step 2 + i % 5 where i is odd. Episodes are cut off after
 * SUPPORT_STEPS steps. */
#pragma once

#include "agents/cast.h"
#include "learn/ticks/ticks.h"

enum { SUPPORT_CUES = 3, SUPPORT_CHOICES = 4, SUPPORT_STEPS = 9, SUPPORT_MOST = 40 };

typedef struct support_ticks_model {
    lud_model base;
    lud_action_space actions[SUPPORT_MOST];
    lud_role roles[SUPPORT_MOST];
    int idle[SUPPORT_MOST], teams[SUPPORT_MOST];
    lud_measure measures[1];
    bool nothing_is_paid; /* every reward is 0 */
} support_ticks_model;

typedef struct support_ticks {
    support_ticks_model *model;
    lud_arena *arena;
    lud_scenario *scenario; /* in the arena */
    lud_device *device;
    lud_tick_learner *learner;
} support_ticks;

/* Agents in three teams (n_teams 0: the world knows none), agent i in team i % n_teams, and a learner with
 * the options in flow style, such as "gate: {mode: top_k}". Fails the test when it cannot be opened. */
support_ticks support_ticks_open(int n_agents, int n_teams, int n_envs, const char *options);
void support_ticks_close(support_ticks *s);
/* The same learner made anew, before its first tick. */
void support_ticks_again(support_ticks *s);
/* `n` ticks; fails the test when one fails. */
void support_ticks_run(support_ticks *s, int n);
/* The policy of the learner's checkpoint acting for everybody; the caller destroys the cast. */
lud_cast *support_ticks_join(support_ticks *s);
/* Lets the learner run a tick without learning, and the cast act in its first environment beside it; then the
 * delights that the cast publishes of that step are the learner's. Returns how many there are
 * that are not 0. */
int support_ticks_compare_delights(support_ticks *s, lud_cast *cast);
/* Everything that is saved, as one hash; `prefix` null: all, else what begins with it. */
uint64_t support_ticks_hash(support_ticks *s, const char *prefix);
/* Share of the last act's rows that did `choice`, -1: that failed. */
double support_ticks_share(const support_ticks *s, int32_t choice);
/* Cue of an agent in an environment's state. */
int support_ticks_cue(const support_ticks *s, int64_t environment, int agent);
