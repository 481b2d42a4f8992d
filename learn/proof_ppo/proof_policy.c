#include "learn/proof_ppo/proof_policy.h"

#include <math.h>
#include <stdlib.h>

typedef struct proof_policy {
    lud_policy base;
    lud_proof_net *net;
    lud_proof_decisions decisions; /* of one environment */
    lud_proof_lists lists;
    lud_proof_step *steps;
    double *probability; /* [n_discrete] */
} proof_policy;

static void destroy(lud_policy *policy) {
    proof_policy *p = (proof_policy *)policy;
    lud_proof_decisions_free(&p->decisions);
    free(p->lists.begin);
    free(p->lists.atoms);
    free(p->lists.hash);
    free(p->steps);
    free(p->probability);
    free(p);
}

static void act_in_environment(proof_policy *p, const lud_act *act, int e) {
    const lud_proof_model *model = p->net->model;
    const uint8_t *state = act->states + (size_t)e * model->model.layout.state_bytes;
    const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
    const int n_actions = model->model.layout.actions[0].n_discrete;
    for (int k = 0; k < n_actions; k++) p->probability[k] = k == 0;
    if (head->outcome == LUD_PROOF_RUNNING) {
        lud_proof_successors out = {
            .begin = p->lists.begin, .atoms = p->lists.atoms, .hash = p->lists.hash, .step = p->steps};
        out.begin[0] = 0;
        lud_proof_successors_of(model, state, &out, NULL);
        lud_proof_decisions_clear(&p->decisions);
        lud_proof_decisions_add(&p->decisions, lud_proof_goals_const(state), head->n_goals, &p->lists, 0,
                                out.n);
        lud_proof_net_load(p->net, &p->decisions, NULL, 0, 1);
        lud_proof_net_forward(p->net, false);
        lud_proof_log_softmax(p->net->logits, out.n, p->probability);
        for (int k = 0; k < out.n; k++) p->probability[k] = exp(p->probability[k]);
    }
    lud_policy_choose(act, e, 0, p->probability);
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    for (int e = 0; e < act->range.n; e++) act_in_environment((proof_policy *)policy, act, e);
}

static const lud_policy_kind kind = {
    .name = "proof-ppo", .about = "a trained proof policy", .destroy = destroy, .act = act_in_range};

lud_status lud_proof_policy_create(lud_proof_net *net, lud_policy **policy, lud_error *error) {
    *policy = NULL;
    proof_policy *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    const lud_proof_model *model = net->model;
    const size_t lists = (size_t)model->limits.max_successors;
    p->base = (lud_policy){.kind = &kind, .model = &model->model};
    p->net = net;
    lud_status status =
        lud_proof_decisions_create(model, 1, lud_proof_net_is_ordered(net), &p->decisions, error);
    p->lists.begin = calloc(lists + 1, sizeof *p->lists.begin);
    p->lists.atoms = calloc(lists * (size_t)model->limits.max_goals, sizeof *p->lists.atoms);
    p->lists.hash = calloc(lists, sizeof *p->lists.hash);
    p->steps = calloc(lists, sizeof *p->steps);
    p->probability = calloc((size_t)model->model.layout.actions[0].n_discrete, sizeof *p->probability);
    if (!status && (!p->lists.begin || !p->lists.atoms || !p->lists.hash || !p->steps || !p->probability))
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    if (status) {
        destroy(&p->base);
        return status;
    }
    *policy = &p->base;
    return LUD_OK;
}
