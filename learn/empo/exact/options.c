#include "learn/empo/exact/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/options/option_rows.h"

#define OPTIONS lud_empo_exact_options
static const lud_option options[] = {
    TEXT(type, "empo-exact", "empo-exact"),
    LUD_EMPO_THEORY_OPTIONS(theory),
    TREE(habit, "policy that people follow by habit with weight nu_h, e.g. {type: heuristic}",
         .names = LUD_NAMES_POLICY),
    TREE(belief, "policy that people think other people follow; left out: any action, equally likely",
         .names = LUD_NAMES_POLICY),
};

const lud_option_table lud_empo_exact_table =
    OPTION_TABLE("learner", "exact EMPO: what people want and what the robots are for", options);

/* Whether a key of another empo learner's section belongs to this table too. */
static bool is_known(const char *key) {
    for (int i = 0; i < lud_empo_exact_table.n; i++)
        if (!strcmp(lud_empo_exact_table.options[i].key, key)) return true;
    return false;
}

lud_status lud_empo_exact_read(lud_arena *arena, lud_tree *learner, lud_empo_exact_options *values,
                               lud_error *error) {
    lud_tree *type = learner ? lud_tree_get(learner, "type") : NULL;
    lud_tree *own = learner;
    if (type && type->text && strcmp(type->text, "empo-exact") != 0) {
        if (strncmp(type->text, "empo-", 5) != 0)
            return lud_invalid_at(
                error, type->place,
                "learner of type %s; solving needs empo-exact (or another empo learner, whose theory "
                "it then takes)",
                type->text);
        own = lud_arena_take(arena, sizeof *own);
        if (!own) return lud_no_memory(error, "options");
        own->kind = LUD_TREE_MAPPING;
        own->place = learner->place;
        for (lud_tree *entry = learner->child; entry; entry = entry->next)
            if (entry->key && strcmp(entry->key, "type") != 0 && is_known(entry->key) &&
                !lud_tree_add_copy(arena, own, entry->key, entry))
                return lud_no_memory(error, "options");
    }
    LUD_TRY(lud_options_read(&lud_empo_exact_table, arena, own, values, error));
    LUD_TRY(lud_empo_theory_check(&values->theory, learner ? learner->place : (lud_place){0}, error));
    if (values->theory.nu_h > 0 && !values->habit)
        return lud_invalid_at(
            error, learner->place,
            "nu_h is %g, but there is no `habit:`; expected a policy such as {type: weighted}",
            values->theory.nu_h);
    return LUD_OK;
}

enum { MAX_ACTIONS = 256 }; /* of one agent: several threads ask at once, so rows stand on the stack */

lud_status lud_empo_check_policy(lud_policy *policy, int agent, lud_error *error) {
    static const uint32_t tick = 0;
    const lud_model *model = policy->model;
    const char *name = policy->kind->name;
    if (lud_max_discrete(&model->layout) > MAX_ACTIONS)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "an agent has more than %d actions", MAX_ACTIONS);
    uint8_t *state = malloc(model->layout.state_bytes);
    double probability[MAX_ACTIONS];
    if (!state) return lud_no_memory(error, "a state");
    model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, state);
    const bool said = lud_policy_distribution(policy, state, agent, -1, probability);
    free(state);
    if (said) return LUD_OK;
    if (policy->hidden_bytes == 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the policy '%s' does not say its probabilities", name);
    return lud_fail(
        error, LUD_ERROR_UNSUPPORTED,
        "the policy '%s' remembers what was before; an exact value needs one that follows from the state "
        "alone",
        name);
}

static void habit_of(void *context, uint64_t index, const uint8_t *state, double *policies) {
    const lud_empo_policies *p = context;
    (void)index;
    for (int h = 0; h < p->layout.n_humans; h++) {
        int n_actions = p->layout.n_human_actions[h], n_goals = lud_empo_goals_of(&p->layout, h);
        for (int g = 0; g < n_goals; g++)
            (void)lud_policy_distribution(p->habit, state, p->layout.humans[h], g,
                                          policies + p->layout.policy_begin[h] + g * n_actions);
    }
}

static void robot_of(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    const lud_empo_policies *p = context;
    double own[MAX_ACTIONS];
    int n = 1;
    (void)index;
    if (p->robots[0]->kind->joint) {
        p->robots[0]->kind->joint(p->robots[0], state, pi_r);
        return;
    }
    pi_r[0] = 1;
    for (int r = 0; r < p->layout.n_robots; r++) { /* the last robot is the fastest digit */
        int agent = p->layout.robots[r], n_actions = p->model->layout.actions[agent].n_discrete;
        (void)lud_policy_distribution(p->robots[r], state, agent, -1, own);
        for (int i = n - 1; i >= 0; i--)
            for (int a = n_actions - 1; a >= 0; a--) pi_r[i * n_actions + a] = pi_r[i] * own[a];
        n *= n_actions;
    }
}

static void belief_of(void *context, const uint8_t *state, int human, int action, double *probability) {
    const lud_empo_policies *p = context;
    const lud_empo_layout *layout = &p->layout;
    double own[MAX_ACTIONS];
    for (int profile = 0; profile < layout->n_human_profiles; profile++)
        probability[profile] = lud_empo_own_action(layout, human, profile) == action;
    for (int h = 0; h < layout->n_humans; h++) {
        if (h == human) continue;
        (void)lud_policy_distribution(p->belief, state, layout->humans[h], -1, own);
        for (int profile = 0; profile < layout->n_human_profiles; profile++)
            probability[profile] *= own[lud_empo_own_action(layout, h, profile)];
    }
}

void lud_empo_policies_hook(lud_empo_policies *policies, lud_empo_hooks *hooks) {
    *hooks = (lud_empo_hooks){.habit = policies->habit ? habit_of : NULL,
                              .robot = policies->robots ? robot_of : NULL,
                              .belief = policies->belief ? belief_of : NULL,
                              .context = policies};
}
