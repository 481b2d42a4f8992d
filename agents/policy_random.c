/* Policies that look at nothing: uniform, and with a fixed weight for each action. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/options/option_rows.h"

typedef struct random_policy {
    lud_policy policy;
    int width;             /* lud_max_discrete */
    double *probabilities; /* [n_agents][width] */
} random_policy;

typedef struct random_options {
    const char *type;
} random_options;

#define OPTIONS random_options
TABLE(random_options_table, "random", "every action with equal probability", TEXT(type, NULL, "random"));

typedef struct weighted_options {
    const char *type;
    lud_tree *weights;
} weighted_options;

#undef OPTIONS
#define OPTIONS weighted_options
TABLE(weighted_options_table, "weighted", "a fixed probability for each action", TEXT(type, NULL, "weighted"),
      TREE(weights,
           "weight of each action by name, others 0; without: still 6, left 18, right 18, forward 58"));

static void destroy(lud_policy *policy) {
    free(((random_policy *)policy)->probabilities);
    free(policy);
}

static void act_random(lud_policy *policy, const lud_act *act) {
    const random_policy *self = (const random_policy *)policy;
    const lud_layout *layout = &act->model->layout;
    int max_continuous = lud_max_continuous(layout);
    for (int e = 0; e < act->range.n; e++)
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            int agent = act->agents[slot];
            const lud_action_space *space = &layout->actions[agent];
            if (space->n_discrete) lud_policy_choose(act, e, slot, self->probabilities + agent * self->width);
            if (!space->n_continuous || !act->continuous) continue;
            float *out = act->continuous +
                         ((size_t)e * (size_t)layout->n_agents + (size_t)agent) * (size_t)max_continuous;
            lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
            for (int d = 0; d < space->n_continuous; d++) {
                lud_words words = lud_draw(key, act->range.tick[e], (uint32_t)agent, LUD_PURPOSE_ACTION,
                                           1 + (uint32_t)d / 4);
                out[d] = space->low + (space->high - space->low) * lud_unit_float(words.v[d % 4]);
            }
        }
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    const random_policy *self = (const random_policy *)policy;
    (void)state;
    (void)goal;
    memcpy(p, self->probabilities + agent * self->width,
           (size_t)policy->model->layout.actions[agent].n_discrete * sizeof *p);
    return true;
}

static random_policy *create_policy(const lud_policy_kind *kind, const lud_model *model, lud_error *error) {
    random_policy *self = calloc(1, sizeof *self);
    int width = lud_max_discrete(&model->layout);
    if (self)
        self->probabilities = calloc((size_t)model->layout.n_agents * (size_t)width + 1, sizeof(double));
    if (!self || !self->probabilities) {
        free(self);
        lud_no_memory(error, "a policy");
        return NULL;
    }
    self->policy = (lud_policy){.kind = kind, .model = model};
    self->width = width;
    return self;
}

/* Divides by the sum; a row of zeros becomes uniform. */
static void normalise(double *p, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += p[k];
    for (int k = 0; k < n; k++) p[k] = sum > 0 ? p[k] / sum : 1.0 / n;
}

static lud_status create_random(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                                const char *file, lud_policy **policy, lud_error *error) {
    (void)file;
    random_options values;
    LUD_TRY(lud_policy_options_read(&random_options_table, options, &values, error));
    random_policy *self = create_policy(kind, model, error);
    if (!self) return LUD_ERROR_MEMORY;
    for (int i = 0; i < model->layout.n_agents; i++)
        normalise(self->probabilities + i * self->width, model->layout.actions[i].n_discrete);
    *policy = &self->policy;
    return LUD_OK;
}

static int action_index(const lud_action_space *space, const char *name) {
    for (int k = 0; k < space->n_discrete; k++)
        if (space->names && strcmp(space->names[k], name) == 0) return k;
    return -1;
}

/* Fills the rows from `weights`; a name that no agent's actions have is an error. */
static lud_status read_weights(random_policy *self, const lud_layout *layout, lud_tree *weights,
                               lud_error *error) {
    if (weights->kind != LUD_TREE_MAPPING)
        return lud_invalid_at(
            error, weights->place,
            "weights: expected a mapping from action to weight, such as {forward: 3, left: 1}");
    for (lud_tree *entry = weights->child; entry; entry = entry->next) {
        double weight;
        LUD_TRY(lud_tree_real(entry, 0, 1e9, &weight, error));
        bool known = false;
        const lud_action_space *widest = &layout->actions[0];
        for (int i = 0; i < layout->n_agents; i++) {
            if (layout->actions[i].n_discrete > widest->n_discrete) widest = &layout->actions[i];
            int k = action_index(&layout->actions[i], entry->key);
            if (k < 0) continue;
            self->probabilities[i * self->width + k] = weight;
            known = true;
        }
        if (known) continue;
        const char *near =
            widest->names ? lud_nearest_name(entry->key, widest->names, widest->n_discrete) : NULL;
        return lud_invalid_at(error, entry->key_place, "no agent has an action '%s'%s%s%s", entry->key,
                              near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return LUD_OK;
}

static lud_status create_weighted(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                                  const char *file, lud_policy **policy, lud_error *error) {
    static const struct {
        const char *name;
        double weight;
    } defaults[] = {{"still", 6}, {"left", 18}, {"right", 18}, {"forward", 58}};
    (void)file;
    weighted_options values;
    LUD_TRY(lud_policy_options_read(&weighted_options_table, options, &values, error));
    random_policy *self = create_policy(kind, model, error);
    if (!self) return LUD_ERROR_MEMORY;
    const lud_layout *layout = &model->layout;
    if (values.weights) {
        const lud_status status = read_weights(self, layout, values.weights, error);
        if (status) {
            destroy(&self->policy);
            return status;
        }
    } else {
        for (int i = 0; i < layout->n_agents; i++)
            for (int d = 0; d < 4; d++) {
                int k = action_index(&layout->actions[i], defaults[d].name);
                if (k >= 0) self->probabilities[i * self->width + k] = defaults[d].weight;
            }
    }
    for (int i = 0; i < layout->n_agents; i++)
        normalise(self->probabilities + i * self->width, layout->actions[i].n_discrete);
    *policy = &self->policy;
    return LUD_OK;
}

const lud_policy_kind lud_policy_random = {.name = "random",
                                           .about = "every action with equal probability",
                                           .options = &random_options_table,
                                           .create = create_random,
                                           .destroy = destroy,
                                           .act = act_random,
                                           .distribution = distribution,
                                           .ignores_clock = true};
const lud_policy_kind lud_policy_weighted = {.name = "weighted",
                                             .about = "a fixed probability for each action",
                                             .options = &weighted_options_table,
                                             .create = create_weighted,
                                             .destroy = destroy,
                                             .act = act_random,
                                             .distribution = distribution,
                                             .ignores_clock = true};
