#include <stdlib.h>

#include "learn/runs/run.h"
#include "library/handles.h"

struct ludus_policy {
    const ludus_batch *batch;
    lud_cast *cast;
    uint8_t *hidden;   /* [n_envs][hidden bytes of the cast] */
    int32_t *discrete; /* [n_envs][n_agents] where the caller wants none */
    float *continuous; /* [n_envs][n_agents][max_continuous] the same */
    float *log_probs;  /* [n_envs][n_agents] the same */
    bool observes;
    void *observations[LUD_MAX_OBSERVATION_PARTS];
    uint32_t *tick; /* [n_envs] calls with observations of the caller's, which key their draws */
};

void ludus_policy_free(ludus_policy *policy) {
    if (!policy) return;
    lud_cast_destroy(policy->cast);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(policy->observations[p]);
    LUD_FREE(policy->hidden, policy->discrete, policy->continuous, policy->log_probs, policy->tick, policy);
}

static bool take_memory(ludus_policy *p) {
    const lud_batch *batch = p->batch->inner;
    const lud_layout *layout = &batch->model->layout;
    const size_t n = (size_t)batch->n_envs, cells = n * (size_t)layout->n_agents + 1;
    p->hidden = calloc(n, lud_cast_hidden_bytes(p->cast) + 8);
    p->discrete = calloc(cells, sizeof *p->discrete);
    p->continuous = calloc(cells * ((size_t)p->batch->scenario->max_continuous + 1), sizeof *p->continuous);
    p->log_probs = calloc(cells, sizeof *p->log_probs);
    p->tick = calloc(n, sizeof *p->tick);
    p->observes = lud_cast_needs_observations(p->cast);
    bool whole = p->hidden && p->discrete && p->continuous && p->log_probs && p->tick;
    for (int k = 0; k < layout->n_parts && p->observes; k++)
        whole = (p->observations[k] = calloc(n, layout->parts[k].bytes + 1)) && whole;
    return whole;
}

ludus_status ludus_policy_open(const ludus_batch *batch, const char *run, ludus_policy **policy,
                               ludus_error *error) {
    LUDUS_REQUIRE(policy, error);
    *policy = NULL;
    LUDUS_REQUIRE(batch, error);
    ludus_policy *p = calloc(1, sizeof *p);
    if (!p) return ludus_no_memory(error);
    p->batch = batch;
    ludus_status status = ludus_open_cast(batch->scenario, run, &p->cast, error);
    if (!status && !take_memory(p)) status = ludus_no_memory(error);
    if (!status) status = ludus_policy_reset(p, NULL, error);
    if (status) {
        ludus_policy_free(p);
        return status;
    }
    *policy = p;
    return LUDUS_OK;
}

ludus_status ludus_policy_reset(ludus_policy *policy, const uint8_t *chosen, ludus_error *error) {
    LUDUS_REQUIRE(policy, error);
    const lud_batch *batch = policy->batch->inner;
    for (int e = 0; e < batch->n_envs; e++)
        if (!chosen || chosen[e])
            lud_cast_reset(policy->cast, lud_batch_range(batch, e, 1),
                           batch->states + (size_t)e * batch->model->layout.state_bytes,
                           policy->hidden + (size_t)e * lud_cast_hidden_bytes(policy->cast));
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_policy_act(ludus_policy *policy, void *const *given, int32_t *discrete, float *continuous,
                              float *log_probs, ludus_error *error) {
    LUDUS_REQUIRE(policy, error);
    lud_batch *batch = policy->batch->inner;
    const lud_layout *layout = &batch->model->layout;
    const size_t n_agents = (size_t)layout->n_agents, most = (size_t)policy->batch->scenario->max_continuous;
    if (!discrete) discrete = policy->discrete;
    if (!continuous) continuous = policy->continuous;
    if (!log_probs) log_probs = policy->log_probs;
    if (given && !lud_cast_acts_on_observations(policy->cast)) {
        lud_error reason = {0};
        return ludus_lift(
            lud_fail(&reason, LUD_ERROR_UNSUPPORTED, "a policy here reads states, not observations alone"),
            &reason, error);
    }
    for (int k = 0; given && k < layout->n_parts; k++) LUDUS_REQUIRE(given[k], error);
    if (policy->observes && !given) lud_batch_observe(batch, policy->observations);
    void *const *parts = given ? given : policy->observations;
    const int at_once = batch->seeds ? 1 : batch->n_envs; /* seeds of their own are keys of their own */
    for (int e = 0; e < batch->n_envs; e += at_once) {
        void *observations[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int k = 0; k < layout->n_parts && policy->observes; k++)
            observations[k] = (char *)parts[k] + (size_t)e * layout->parts[k].bytes;
        const size_t agents = (size_t)e * n_agents;
        lud_range range = lud_batch_range(batch, e, at_once);
        if (given) range.tick = policy->tick + e;
        lud_cast_act_told(policy->cast, range, batch->states + (size_t)e * layout->state_bytes,
                          policy->observes ? observations : NULL,
                          policy->hidden + (size_t)e * lud_cast_hidden_bytes(policy->cast), discrete + agents,
                          most ? continuous + agents * most : NULL, log_probs + agents);
    }
    for (int e = 0; given && e < batch->n_envs; e++) policy->tick[e]++;
    lud_error inner = {0};
    return ludus_lift(lud_cast_check(policy->cast, &inner), &inner, error);
}
