#include "agents/policy.h"

#include <assert.h>
#include <math.h>

#include "agents/kinds.h"

static const lud_policy_kind *const kinds[] = {
    &lud_policy_random,   &lud_policy_weighted,   &lud_policy_heuristic, &lud_policy_script,
    &lud_policy_keyboard, &lud_policy_controller, &lud_policy_villager,  &lud_policy_run};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const lud_policy_kind *const *lud_policies(int *n) {
    *n = N_KINDS;
    return kinds;
}

lud_status lud_policy_options_read(const lud_option_table *table, lud_tree *options, void *values,
                                   lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "a policy");
    const lud_status status = lud_options_read(table, arena, options, values, error);
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_policy_kind_of(lud_tree *description, lud_tree **type, const lud_policy_kind **kind,
                              lud_error *error) {
    *type = description;
    if (description->kind == LUD_TREE_MAPPING) {
        *type = lud_tree_get(description, "type");
        if (!*type)
            return lud_invalid_at(error, description->place,
                                  "a policy needs a 'type', for example {type: random}");
    }
    const char *names[N_KINDS];
    for (int i = 0; i < N_KINDS; i++) names[i] = kinds[i]->name;
    int index;
    LUD_TRY(lud_tree_choice(*type, names, N_KINDS, &index, error));
    *kind = kinds[index];
    return LUD_OK;
}

lud_status lud_policy_create(const lud_model *model, lud_tree *description, const char *file,
                             lud_policy **policy, lud_error *error) {
    lud_tree *type;
    const lud_policy_kind *kind;
    *policy = NULL;
    LUD_TRY(lud_policy_kind_of(description, &type, &kind, error));
    return kind->create(kind, model, description == type ? NULL : description, file, policy, error);
}

lud_status lud_policy_check(const lud_policy *policy, lud_error *error) {
    return policy->device ? lud_device_check(policy->device, error) : LUD_OK;
}

void lud_policy_destroy(lud_policy *policy) {
    if (policy) policy->kind->destroy(policy);
}

bool lud_policy_distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    return policy->kind->distribution && policy->kind->distribution(policy, state, agent, goal, p);
}

bool lud_policy_value(lud_policy *policy, const uint8_t *state, int agent, double *value) {
    return policy->kind->value && policy->kind->value(policy, state, agent, value);
}

float lud_policy_certain(const lud_model *model, int agent) {
    return model->layout.actions[agent].n_continuous > 0 ? NAN : 0.0f;
}

int lud_policy_attention(lud_policy *policy, const uint8_t *state, float *weights) {
    return policy->kind->attention ? policy->kind->attention(policy, state, weights) : 0;
}

void lud_policy_choose(const lud_act *act, int e, int slot, const double *p) {
    const lud_layout *layout = &act->model->layout;
    int agent = act->agents[slot], n = layout->actions[agent].n_discrete;
    if (!act->discrete && !act->log_prob) return;
    lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
    lud_words words = lud_draw(key, act->range.tick[e], (uint32_t)agent, LUD_PURPOSE_ACTION, 0);
    double left = lud_unit53(words.v[0], words.v[1]);
    int action = -1;
    for (int k = 0; k < n; k++) {
        if (p[k] <= 0) continue;
        action =
            k; /* rounding may leave a little beyond the last: that belongs to the last possible action */
        if (left < p[k]) break;
        left -= p[k];
    }
    assert(action >= 0);
    size_t at = (size_t)e * (size_t)layout->n_agents + (size_t)agent;
    if (act->discrete) act->discrete[at] = action;
    if (act->log_prob) act->log_prob[at] = (float)log(p[action]);
}
