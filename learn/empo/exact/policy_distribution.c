#include "learn/empo/exact/policy_distribution.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/layout.h"

void lud_empo_policy_distribution(lud_policy *policy, const lud_model *model, const uint8_t *state, int agent,
                                  int goal, double *probability) {
    static const uint32_t tick = 0;
    int32_t goals[LUD_EMPO_MAX_AGENTS];
    double row[256] = {0};
    assert(lud_max_discrete(&model->layout) <= 256 && model->layout.n_agents <= LUD_EMPO_MAX_AGENTS);
    for (int i = 0; i < model->layout.n_agents; i++) goals[i] = i == agent ? goal : -1;
    lud_act act = {.model = model,
                   .range = {.n = 1, .tick = &tick},
                   .states = state,
                   .goals = goals,
                   .goal_stride = (size_t)model->layout.n_agents,
                   .agents = &agent,
                   .n_agents_acting = 1,
                   .probabilities = row};
    policy->kind->act(policy, &act);
    memcpy(probability, row, (size_t)model->layout.actions[agent].n_discrete * sizeof *row);
}

lud_status lud_empo_check_policy(lud_policy *policy, const lud_model *model, int agent, lud_error *error) {
    static const uint32_t tick = 0;
    if (policy->hidden_bytes > 0)
        return lud_fail(
            error, LUD_ERROR_UNSUPPORTED,
            "the policy '%s' remembers what was before; an exact value needs one that follows from the state "
            "alone",
            policy->kind->name);
    uint8_t *state = malloc(model->layout.state_bytes);
    double probability[256] = {0}, total = 0;
    if (!state) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a state");
    model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, state);
    lud_empo_policy_distribution(policy, model, state, agent, -1, probability);
    free(state);
    for (int a = 0; a < model->layout.actions[agent].n_discrete; a++) total += probability[a];
    if (fabs(total - 1) < 1e-6) return LUD_OK;
    return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the policy '%s' does not say its probabilities",
                    policy->kind->name);
}
