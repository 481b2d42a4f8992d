/* What people would do, by networks (phase 1 of EMPO, equations 1 to 3):
 *
 *   Q_h^m(s, h, g, .)   worst case over the robots of person h's chance to achieve goal g, by own action
 *   pi_h(.|s, g)        softmax(beta_h Q_h^m); V_h^m = sum pi_h Q_h^m
 *   pi_h(.|s)           the marginal over goals, by a network of its own
 *
 * As in the exact solver a person who has achieved the goal takes action 0 and has V_h^m = 0: the achievement
 * was credited on the way there. */
#pragma once

#include "agents/policy.h"
#include "learn/empo/networks/inputs.h"
#include "learn/empo/phase1/options.h"

typedef struct lud_empo_human_net {
    lud_device *device;
    lud_empo_phase1_options options; /* theory, sizes of the networks */
    lud_empo_features features;
    lud_empo_shape shape;
    int64_t n_actions; /* the most that any person has; columns beyond a person's own count nothing */
    lud_parameters *q, *q_target; /* goal-conditioned network */
    lud_parameters *marginal;     /* null without it */
    struct lud_empo_human_run *run;
} lud_empo_human_net;

/* Declares one of the two networks on `net` and returns its inputs; *output is the value on the entries'
 * axis: Q_h^m within [0, 1], or logits. */
lud_empo_graph lud_empo_human_declare(lud_nn *net, const lud_empo_shape *shape, bool marginal,
                                      int64_t n_actions, double dropout, int64_t max_entries, int *output);

/* Parameters are drawn with `seed`. The model and what `options` points to must outlive it. */
lud_status lud_empo_human_net_create(lud_device *device, const lud_model *model,
                                     const lud_empo_phase1_options *options, uint64_t seed,
                                     lud_empo_human_net *net, lud_error *error);
/* Safe on a zeroed struct. */
void lud_empo_human_net_free(lud_empo_human_net *net);
/* The networks of a run of the learner empo-phase1 in its folder, for another scenario's model with as many
 * agents, actions and cells. Only what acting needs is loaded. */
lud_status lud_empo_human_net_open(lud_device *device, const lud_model *model, const char *folder,
                                   lud_empo_human_net *net, lud_error *error);
/* Visits the parameters that act, and all. */
void lud_empo_human_net_visit_policy(lud_empo_human_net *net, lud_checkpoint *checkpoint);
void lud_empo_human_net_visit(lud_empo_human_net *net, lud_checkpoint *checkpoint);

/* What to evaluate: for each state's record, entries begin[i] .. begin[i + 1] - 1, each a person and one of
 * its goals. */
typedef struct lud_empo_human_query {
    int64_t n;
    const int32_t *const *records; /* [n] */
    const int32_t *begin;          /* [n + 1] */
    const int32_t *person, *goal;  /* [begin[n]] */
} lud_empo_human_query;
/* policy[entries][n_actions] (may be null) and V_h^m value[entries] (may be null), from the target network or
 * the one that learns. One thread at a time. No state may have more entries than there
 * are goals of all people. */
void lud_empo_human_net_evaluate(lud_empo_human_net *net, const lud_empo_human_query *query, bool target,
                                 double *policy, double *value);
/* Everybody's policies for every goal: policies[n][layout.policy_begin[n_humans]] in the order of an exact
 * record, and value[n][layout.n_goals] (may be null). records[n]. One thread at a time. */
void lud_empo_human_net_policies(lud_empo_human_net *net, int64_t n, const int32_t *const *records,
                                 double *policies, double *value);
/* pi_h(.|s): marginals[n][n_humans][n_actions] of the marginal network, zeros beyond a person's own actions;
 * without that network the mean of the policies over goals. One thread at a time. */
void lud_empo_human_net_marginals(lud_empo_human_net *net, int64_t n, const int32_t *const *records,
                                  double *marginals);

/* The networks as a policy for people: with a goal pi_h(.|s, g), without pi_h(.|s); anybody else acts at
 * random. Several threads may use it at once. The net stays the caller's and must outlive it. */
lud_status lud_empo_human_policy_create(lud_empo_human_net *net, const lud_model *model, lud_policy **policy,
                                        lud_error *error);
