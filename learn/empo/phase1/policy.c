/* The networks of phase 1 as a policy (lud_empo_human_policy_create). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/phase1/networks.h"

typedef struct human_policy {
    lud_policy base;
    lud_empo_human_net *net;
    pthread_mutex_t lock; /* around the networks and what follows */
    lud_arrays arrays;
    bool known;
    uint8_t *state;  /* [state_bytes] whose policies stand below: every person and goal needs them */
    int32_t *record; /* [words] */
    double *policies, *marginals;
} human_policy;

static void destroy(lud_policy *policy) {
    human_policy *p = (human_policy *)policy;
    pthread_mutex_destroy(&p->lock);
    lud_arrays_free(&p->arrays);
    free(p);
}

/* Distribution of one agent. Every state is evaluated alone, so that its policies depend on no batch. */
static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *probability) {
    human_policy *p = (human_policy *)policy;
    lud_empo_human_net *n = p->net;
    const lud_empo_layout *layout = &n->features.layout;
    const int n_own = p->base.model->layout.actions[agent].n_discrete;
    const int h = lud_empo_person_of(layout, agent);
    for (int a = 0; a < n_own; a++) probability[a] = 1.0 / n_own;
    if (h < 0) return true;
    pthread_mutex_lock(&p->lock);
    if (!p->known || memcmp(p->state, state, p->base.model->layout.state_bytes) != 0) {
        const int32_t *const records[1] = {p->record};
        memcpy(p->state, state, p->base.model->layout.state_bytes);
        lud_empo_features_encode(&n->features, state, p->record);
        lud_empo_human_net_policies(n, 1, records, p->policies, NULL);
        lud_empo_human_net_marginals(n, 1, records, p->marginals);
        p->known = true;
    }
    const double *from =
        goal < 0 ? p->marginals + h * n->n_actions : p->policies + layout->policy_begin[h] + goal * n_own;
    memcpy(probability, from, (size_t)n_own * sizeof *probability);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static void act(lud_policy *policy, const lud_act *act) {
    double probability[256];
    const lud_layout *layout = &act->model->layout;
    for (int e = 0; e < act->range.n; e++)
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            const int agent = act->agents[slot];
            const int goal = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
            (void)distribution(policy, act->states + (size_t)e * layout->state_bytes, agent, goal,
                               probability);
            lud_policy_choose(act, e, slot, probability);
        }
}

static const lud_policy_kind kind = {.name = "learned people",
                                     .about = "what people would do, learned by networks",
                                     .destroy = destroy,
                                     .act = act,
                                     .distribution = distribution};

lud_status lud_empo_human_policy_create(lud_empo_human_net *net, const lud_model *model, lud_policy **policy,
                                        lud_error *error) {
    *policy = NULL;
    const lud_empo_layout *layout = &net->features.layout;
    human_policy *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "a policy");
    p->base = (lud_policy){.kind = &kind, .model = model, .device = net->device};
    p->net = net;
    pthread_mutex_init(&p->lock, NULL);
    LUD_TAKE(&p->arrays, p->state, model->layout.state_bytes);
    LUD_TAKE(&p->arrays, p->record, (size_t)net->features.words);
    LUD_TAKE(&p->arrays, p->policies, (size_t)layout->policy_begin[layout->n_humans]);
    LUD_TAKE(&p->arrays, p->marginals, (size_t)(layout->n_humans * net->n_actions));
    if (p->arrays.failed) {
        destroy(&p->base);
        return lud_no_memory(error, "a policy");
    }
    *policy = &p->base;
    return LUD_OK;
}
