/* The policy's head: what distribution of actions the actor's output stands for. Categorical over choices,
 * Gaussian with one free deviation a number, or magnitude and direction (mad.h), which is computed on the
 * host. */
#pragma once

#include "learn/mappo/networks.h"
#include "learn/policy_gradient/ppo.h"

/* For networks, after a forward run of the actor, on the actions in the fields (lud_mappo_send_actions). */
extern const lud_ppo_head lud_mappo_head;

/* Whether the actor's output is the policy's, so that the host has no part in log-probabilities. */
bool lud_mappo_is_direct(const lud_mappo_networks *networks);
/* Writes the field LUD_FIELD_CHOICES for the rows in the inputs and their agents, where agents have different
 * numbers of choices or the world says which there are. */
void lud_mappo_allow(lud_mappo_networks *networks, int64_t n, const int32_t *agent);
/* The same for n rows of all agents in turn, and sends it to the device. */
void lud_mappo_allow_all(lud_mappo_networks *networks, int64_t n);
/* p[n] of one row's logits on the host, of what is allowed alone (null: all). Returns the likeliest choice,
 * the first of equal ones; 0 where nothing is allowed. */
int lud_mappo_softmax(int n, const float *logits, const uint8_t *allowed, double *p);
/* Sends ACTION or NUMBER, and CHOICES. */
void lud_mappo_send_actions(lud_mappo_networks *networks);
/* Log-probabilities and entropies of the actions in the fields under the present policy, after a forward run
 * of the actor; fields LOG_PROB and ENTROPY, on the host. */
void lud_mappo_evaluate(lud_mappo_networks *networks);
/* Runs the actor on the rows in the inputs and draws actions (or takes the likeliest): fields ACTION or
 * NUMBER, and LOG_PROB, on the host. */
void lud_mappo_act(lud_mappo_networks *networks, const lud_draws *draws, bool deterministic);
/* lud_mappo_act and lud_mappo_value for the same rows; at the same time where the device runs two. */
void lud_mappo_act_and_value(lud_mappo_networks *networks, const lud_draws *draws, bool deterministic,
                             float *values);
/* The actor's run with its `draws` on rows that are on the device, where results stay: fields ACTION, or
 * NUMBER, and LOG_PROB. Work is only queued, for recording together with other work. With a magnitude, NUMBER
 * is what the directions are made of and LOG_PROB is not written. */
void lud_mappo_enqueue_actions(void *networks);
