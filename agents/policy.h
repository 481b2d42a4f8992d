/* Who acts. A policy chooses actions for some agents of every environment of a batch.
 *
 * Like worlds, policies work on ranges, read observations and states in place, and draw with counter-keyed
 * randomness, so a run is the same for any batch split. Hidden state is plain bytes that are reset and copied
 * like world state. */
#pragma once

#include "base/options/options.h"
#include "kernels/device.h"
#include "sim/world.h"

typedef struct lud_policy lud_policy;

/* What a policy sees of a range and where it writes. Pointers not needed or not wanted are null. */
typedef struct lud_act {
    const lud_model *model;
    lud_range range;
    const uint8_t *states;     /* [n][state_bytes] */
    void *const *observations; /* [n_parts] arrays of the range, or null */
    const int32_t *goals;      /* current goal index of each agent, -1: none; may be null. Environment e's
                                  [n_agents] begin at goals + e * goal_stride */
    size_t goal_stride;        /* in int32 */
    uint8_t *hidden;           /* environment e's hidden bytes begin at hidden + e * hidden_stride */
    size_t hidden_stride;      /* in bytes */
    const int *agents;         /* [n_agents_acting] indices of the agents to act for */
    int n_agents_acting;
    int32_t *discrete; /* out: [n][model n_agents]; only the acting agents' entries are written */
    float *continuous; /* out: [n][model n_agents][max n_continuous] */
    float *log_prob;   /* out, optional: [n][model n_agents] of what was drawn: 0 for a choice and NaN for
                          numbers where nothing is left to chance */
} lud_act;

typedef struct lud_policy_kind {
    const char *name; /* the word after `type:` */
    const char *about;
    const lud_option_table *options; /* what may stand beside `type:` */
    /* `options` is the policy's mapping in the scenario (null: defaults). Null: no scenario can name it, it
     * is of a RUN. */
    lud_status (*create)(const struct lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error);
    void (*destroy)(lud_policy *policy);
    /* Start of an episode in n environments; null: zero bytes. */
    void (*reset)(lud_policy *policy, uint8_t *hidden, size_t hidden_stride, int n);
    void (*act)(lud_policy *policy, const lud_act *act);
    /* The probabilities of one agent's choices in a state with one of its goals (-1: none), where they follow
     * from these alone: p[n_discrete of the agent], sum 1. False: they do not, in no state of the model.
     * Null: they never do. Policies without networks can be asked by several threads at once. */
    bool (*distribution)(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p);
    bool ignores_clock; /* it is the same in states that differ in their clock alone (sim/world.h) */
    /* The same for policies that remember, to be drawn: with the hidden bytes that the policy has before it
     * acts in that state. False: not known. Null: it remembers nothing. */
    bool (*recalled_distribution)(lud_policy *policy, const uint8_t *state, const uint8_t *hidden, int agent,
                                  double *p);
    /* For robots that draw together: probabilities of the joint choices of all agents with that role, the
     * last one fastest: p[product of their n_discrete]. Null: each draws for itself. */
    void (*joint)(lud_policy *policy, const uint8_t *state, double *p);
    /* To be drawn: the value of a state to an agent. False: not known, in no state of the model. Null: there
     * is none. */
    bool (*value)(lud_policy *policy, const uint8_t *state, int agent, double *value);
    /* Of policies with `value_remembers`: the next states that `value` is asked about are those of an
     * episode, the first one first, for every agent. */
    void (*restart_values)(lud_policy *policy);
    /* To be drawn: how strongly every agent attends to each of the n entities of a graph:
     * weights[n_agents][n], sums at most 1; null: only n is wanted. Returns n, 0: there is no graph. */
    int (*attention)(lud_policy *policy, const uint8_t *state, float *weights);
    /* To be drawn, as in agents/overlay_source.h: a number for every agent about a step, and what it is
     * called; and what an agent read and wrote in a state. False: not known. Null: there is none. */
    const char *agent_number_name;
    bool (*agent_numbers)(lud_policy *policy, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values);
    bool (*agent_text)(lud_policy *policy, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written);
} lud_policy_kind;

/* Every policy's own struct begins with this. */
struct lud_policy {
    const lud_policy_kind *kind;
    const lud_model *model;
    size_t hidden_bytes; /* per environment */
    bool needs_observations;
    bool value_remembers;     /* a value follows from all states since the last restart_values */
    bool reads_no_states;     /* observations tell it all: lud_act.states is not looked at */
    const lud_device *device; /* what it computes on; null: on none that can fail */
};

/* All of them; *n is their number. */
const lud_policy_kind *const *lud_policies(int *n);

/* A policy from its mapping in a scenario, `{type: NAME, ...}`, or from the bare name. */
lud_status lud_policy_create(const lud_model *model, lud_tree *description, const char *file,
                             lud_policy **policy, lud_error *error);
void lud_policy_destroy(lud_policy *policy);
/* Whether all that the policy has chosen so far is worth something: lud_device_check of its device. */
lud_status lud_policy_check(const lud_policy *policy, lud_error *error);
/* The kind's function of that name; false or 0 where it has none. */
bool lud_policy_distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p);
bool lud_policy_value(lud_policy *policy, const uint8_t *state, int agent, double *value);
/* The log_prob of what an agent does where nothing is left to chance. */
float lud_policy_certain(const lud_model *model, int agent);
int lud_policy_attention(lud_policy *policy, const uint8_t *state, float *weights);
/* For policies with a distribution over discrete actions: draws the action of agents[slot] in environment e
 * (with purpose LUD_PURPOSE_ACTION) from p, and writes what `act` wants of action and log_prob.
 * p[n_discrete of that agent], sum 1. */
void lud_policy_choose(const lud_act *act, int e, int slot, const double *p);
