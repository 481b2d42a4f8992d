#include "learn/proof_ppo/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/proof_ppo/search/expander.h"

typedef struct proof_policy {
    lud_policy base;
    lud_proof_net *net;
    lud_proof_expander expander; /* of one environment */
    uint8_t *state;              /* a copy: looking does not move it on */
    double *probability;         /* [n_discrete] */
} proof_policy;

static void destroy(lud_policy *policy) {
    proof_policy *p = (proof_policy *)policy;
    lud_proof_expander_free(&p->expander);
    LUD_FREE(p->state, p->probability, p);
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *to) {
    proof_policy *p = (proof_policy *)policy;
    const lud_layout *layout = &policy->model->layout;
    const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
    (void)goal;
    for (int k = 0; k < layout->actions[agent].n_discrete; k++) to[k] = k == 0;
    if (head->outcome != LUD_PROOF_RUNNING) return true;
    lud_proof_expander_clear(&p->expander);
    memcpy(p->state, state, layout->state_bytes);
    lud_proof_expander_add(&p->expander, p->state);
    lud_proof_expander_run(&p->expander);
    for (int k = 0; k < p->expander.begin[1]; k++) to[k] = exp(p->expander.log_probs[k]);
    return true;
}

static bool value(lud_policy *policy, const uint8_t *state, int agent, double *to) {
    proof_policy *p = (proof_policy *)policy;
    const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
    (void)agent;
    *to = 0.0; /* at the end */
    if (head->outcome != LUD_PROOF_RUNNING) return true;
    lud_proof_expander_clear(&p->expander);
    memcpy(p->state, state, policy->model->layout.state_bytes);
    lud_proof_expander_add(&p->expander, p->state);
    (void)lud_proof_net_load(p->net, &p->expander.decisions, NULL, 0, 1);
    *to = lud_proof_net_value(p->net);
    return true;
}

static void act(lud_policy *policy, const lud_act *act) {
    double *probability = ((proof_policy *)policy)->probability;
    for (int e = 0; e < act->range.n; e++) {
        (void)distribution(policy, act->states + (size_t)e * act->model->layout.state_bytes, 0, -1,
                           probability);
        lud_policy_choose(act, e, 0, probability);
    }
}

static const lud_policy_kind kind = {.name = "proof-ppo",
                                     .about = "a trained proof policy",
                                     .destroy = destroy,
                                     .act = act,
                                     .distribution = distribution,
                                     .value = value};

lud_status lud_proof_policy_create(lud_proof_net *net, lud_policy **policy, lud_error *error) {
    *policy = NULL;
    proof_policy *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "a policy");
    const lud_proof_model *model = net->model;
    p->base = (lud_policy){.kind = &kind, .model = &model->model, .device = net->parameters->device};
    p->net = net;
    lud_status status = lud_proof_expander_create(net, 1, &p->expander, error);
    p->state = calloc(1, model->model.layout.state_bytes);
    p->probability = calloc((size_t)model->model.layout.actions[0].n_discrete, sizeof *p->probability);
    if (!status && (!p->state || !p->probability)) status = lud_no_memory(error, "a policy");
    if (status)
        destroy(&p->base);
    else
        *policy = &p->base;
    return status;
}
