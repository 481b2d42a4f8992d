#include "agents/keyboard.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/options/option_rows.h"

typedef struct keyboard_options {
    const char *type;
} keyboard_options;

#define OPTIONS keyboard_options
TABLE(option_table, "keyboard", "stands still unless a person steers it in the window",
      TEXT(type, NULL, "keyboard"));

typedef struct keyboard_policy {
    lud_policy policy;
    int max_continuous;
    int32_t *action;   /* [n_agents] */
    float *continuous; /* [n_agents][max_continuous] */
} keyboard_policy;

static void destroy(lud_policy *policy) {
    keyboard_policy *self = (keyboard_policy *)policy;
    LUD_FREE(self->action, self->continuous, self);
}

static void act(lud_policy *policy, const lud_act *act) {
    const keyboard_policy *self = (const keyboard_policy *)policy;
    const lud_layout *layout = &act->model->layout;
    size_t n_agents = (size_t)layout->n_agents, max_continuous = (size_t)self->max_continuous;
    for (int e = 0; e < act->range.n; e++)
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            size_t agent = (size_t)act->agents[slot], at = (size_t)e * n_agents + agent;
            if (act->discrete) act->discrete[at] = self->action[agent];
            if (act->log_prob) act->log_prob[at] = lud_policy_certain(act->model, (int)agent);
            if (act->continuous)
                memcpy(act->continuous + at * max_continuous, self->continuous + agent * max_continuous,
                       max_continuous * sizeof(float));
        }
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    const keyboard_policy *self = (const keyboard_policy *)policy;
    (void)state;
    (void)goal;
    for (int k = 0; k < policy->model->layout.actions[agent].n_discrete; k++) p[k] = k == self->action[agent];
    return true;
}

void lud_keyboard_release(lud_policy *policy) {
    keyboard_policy *self = (keyboard_policy *)policy;
    const lud_layout *layout = &policy->model->layout;
    for (int i = 0; i < layout->n_agents; i++) {
        const lud_action_space *space = &layout->actions[i];
        self->action[i] = 0;
        for (int k = 0; k < space->n_discrete; k++)
            if (space->names && strcmp(space->names[k], "still") == 0) self->action[i] = k;
        for (int d = 0; d < self->max_continuous; d++)
            self->continuous[i * self->max_continuous + d] = fminf(fmaxf(0, space->low), space->high);
    }
}

void lud_keyboard_set(lud_policy *policy, int agent, int32_t action) {
    assert(policy->kind == &lud_policy_keyboard);
    assert(action >= 0 && action < policy->model->layout.actions[agent].n_discrete);
    ((keyboard_policy *)policy)->action[agent] = action;
}

lud_status lud_keyboard_create(const lud_model *model, lud_policy **policy, lud_error *error) {
    keyboard_policy *self = calloc(1, sizeof *self);
    size_t n_agents = (size_t)model->layout.n_agents;
    if (self) {
        self->policy = (lud_policy){.kind = &lud_policy_keyboard, .model = model};
        self->max_continuous = lud_max_continuous(&model->layout);
        self->action = calloc(n_agents + 1, sizeof *self->action);
        self->continuous = calloc(n_agents * (size_t)self->max_continuous + 1, sizeof *self->continuous);
    }
    if (!self || !self->action || !self->continuous) {
        if (self) destroy(&self->policy);
        return lud_no_memory(error, "a policy");
    }
    lud_keyboard_release(&self->policy);
    *policy = &self->policy;
    return LUD_OK;
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    (void)kind;
    (void)file;
    keyboard_options values;
    LUD_TRY(lud_policy_options_read(&option_table, options, &values, error));
    return lud_keyboard_create(model, policy, error);
}

const lud_policy_kind lud_policy_keyboard = {.name = "keyboard",
                                             .about = "stands still unless a person steers it in the window",
                                             .options = &option_table,
                                             .create = create,
                                             .destroy = destroy,
                                             .act = act,
                                             .distribution = distribution};
