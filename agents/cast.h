/* Who acts for whom: the `policies:` section of a scenario, and each agent's present goal. */
#pragma once

#include "agents/policy.h"

/* The `policies:` section is keyed by the words of sim/agent_key.h: a role (`human`, `robot`, `other`), a
 * team, a kind of agents or an agent's number; later and narrower entries win; agents without an entry act at
 * random. Goals are drawn at an episode's start and anew when they are achieved. */
typedef struct lud_cast lud_cast;
/* A policy that is a RUN's, `{type: run, run: NAME}`, is LUD_ERROR_UNSUPPORTED. */
lud_status lud_cast_create(const lud_model *model, lud_tree *policies, const char *file, lud_cast **cast,
                           lud_error *error);
/* The same for who opens RUNs (lud_run_cast): the agents of such entries have nobody who acts for them until
 * lud_cast_fill or lud_cast_set gives them a policy. Nothing else is asked of the cast before
 * lud_cast_complete finds everybody there. `policies` must live until then. */
lud_status lud_cast_create_open(const lud_model *model, lud_tree *policies, const char *file, lud_cast **cast,
                                lud_error *error);
void lud_cast_destroy(lud_cast *cast);
/* A RUN that `policies` names. */
typedef struct lud_cast_run {
    const char *name; /* as it stands there */
    lud_place place;
} lud_cast_run;
/* The RUN that is to act for the agent; null: somebody does. */
const lud_cast_run *lud_cast_missing(const lud_cast *cast, int agent);
/* Gives an agent that lud_cast_missing names a RUN for its policy, as the scenario's own; the cast takes
 * ownership. */
void lud_cast_fill(lud_cast *cast, int agent, lud_policy *policy);
/* LUD_ERROR_UNSUPPORTED, with its place, when somebody is missing. */
lud_status lud_cast_complete(const lud_cast *cast, lud_error *error);
/* Lets another policy act for one agent; the cast takes ownership. Null gives the agent back to the policy of
 * the scenario. A policy with hidden state changes lud_cast_hidden_bytes and needs a lud_cast_reset. */
void lud_cast_set(lud_cast *cast, int agent, lud_policy *policy);
/* Takes back what lud_cast_set gave the agent, which is then the caller's; null: nothing was. */
lud_policy *lud_cast_take(lud_cast *cast, int agent);
lud_policy *lud_cast_get(const lud_cast *cast, int agent);
/* Bytes of hidden state of all policies and goals, per environment; a multiple of 8, and every policy's part
 * of it is aligned to 8. */
size_t lud_cast_hidden_bytes(const lud_cast *cast);
/* Whether some policy reads observations, so that lud_cast_act must be given them. */
bool lud_cast_needs_observations(const lud_cast *cast);
/* Whether observations tell everybody who acts all, and states are not looked at (but for goals achieved). */
bool lud_cast_acts_on_observations(const lud_cast *cast);
/* Start of an episode in `n` environments: hidden[n][hidden_bytes]; draws goals. */
void lud_cast_reset(const lud_cast *cast, lud_range range, const uint8_t *states, uint8_t *hidden);
/* Chooses everybody's action. observations, continuous may be null. Goals that the states achieve are counted
 * and drawn anew first. */
void lud_cast_act(const lud_cast *cast, lud_range range, const uint8_t *states, void *const *observations,
                  uint8_t *hidden, int32_t *discrete, float *continuous);
/* The same, and log_probs[n][n_agents] gets the logarithm of the probability (of continuous actions: of the
 * density) with which each action was drawn; NaN where its policy does not tell. */
void lud_cast_act_told(const lud_cast *cast, lud_range range, const uint8_t *states,
                       void *const *observations, uint8_t *hidden, int32_t *discrete, float *continuous,
                       float *log_probs);
/* lud_policy_check of everybody who acts. */
lud_status lud_cast_check(const lud_cast *cast, lud_error *error);
/* The goal of an agent in one environment's hidden bytes, -1: none. */
int lud_cast_goal(const lud_cast *cast, const uint8_t *hidden, int agent);
/* The part of one environment's hidden bytes that the policy of an agent has. */
const uint8_t *lud_cast_remembered(const lud_cast *cast, const uint8_t *hidden, int agent);
/* Whether hidden[n][hidden_bytes] from elsewhere can be that of running episodes. Policies must bear any
 * bytes in theirs. */
lud_status lud_cast_check_hidden(const lud_cast *cast, int n, const uint8_t *hidden, lud_error *error);
/* Goals an agent has achieved in this episode up to the last call of lud_cast_act. */
int lud_cast_goals_reached(const lud_cast *cast, const uint8_t *hidden, int agent);
