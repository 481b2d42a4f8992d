/* A policy that follows a list of actions, one entry a step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/file.h"
#include "base/options/option_rows.h"

typedef struct script_options {
    const char *type;
    lud_tree *actions;
    const char *file;
    bool repeat;
} script_options;

#define OPTIONS script_options
TABLE(option_table, "script", "a list of actions, one entry a step", TEXT(type, NULL, "script"),
      TREE(actions, "one entry a step: an action for all, or a list with one for each agent of the world"),
      TEXT(file, NULL, "file with `actions:` in the same form, beside the scenario", .names = LUD_NAMES_FILE),
      BOOL(repeat, "false", "start anew at the end instead of standing still"));

typedef struct script_policy {
    lud_policy policy;
    bool repeat;
    uint32_t n_steps;
    int32_t *actions; /* [n_steps][n_agents] */
    int32_t *still;   /* [n_agents] what to do behind the end */
} script_policy;

static void destroy(lud_policy *policy) {
    script_policy *self = (script_policy *)policy;
    LUD_FREE(self->actions, self->still, self);
}

/* Everybody's actions in a step of the episode. */
static const int32_t *row_of(const script_policy *self, uint32_t step) {
    if (step >= self->n_steps && (!self->repeat || !self->n_steps)) return self->still;
    return self->actions + (size_t)(step % self->n_steps) * (size_t)self->policy.model->layout.n_agents;
}

/* Hidden state: the number of the step, uint32. */
static void act(lud_policy *policy, const lud_act *act) {
    const lud_layout *layout = &act->model->layout;
    for (int e = 0; e < act->range.n; e++) {
        uint8_t *hidden = act->hidden + (size_t)e * act->hidden_stride;
        uint32_t step;
        memcpy(&step, hidden, sizeof step);
        const int32_t *row = row_of((const script_policy *)policy, step);
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            int agent = act->agents[slot];
            size_t at = (size_t)e * (size_t)layout->n_agents + (size_t)agent;
            if (act->discrete) act->discrete[at] = row[agent];
            if (act->log_prob) act->log_prob[at] = 0;
        }
        step++;
        memcpy(hidden, &step, sizeof step);
    }
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    const lud_model *model = policy->model;
    (void)goal;
    if (!model->world->elapsed) return false;
    const int32_t *row = row_of((const script_policy *)policy, (uint32_t)model->world->elapsed(model, state));
    for (int k = 0; k < model->layout.actions[agent].n_discrete; k++) p[k] = k == row[agent];
    return true;
}

/* An action by name or number. */
static lud_status read_action(lud_tree *node, const lud_action_space *space, int32_t *action,
                              lud_error *error) {
    bool number =
        node->kind == LUD_TREE_SCALAR && !node->quoted && node->text[0] >= '0' && node->text[0] <= '9';
    if (number || !space->names) {
        int64_t value;
        lud_status status = lud_tree_int(node, 0, space->n_discrete - 1, &value, error);
        *action = (int32_t)value;
        return status;
    }
    int index;
    lud_status status = lud_tree_choice(node, space->names, space->n_discrete, &index, error);
    *action = index;
    return status;
}

static lud_status read_rows(script_policy *self, const lud_layout *layout, lud_tree *rows, lud_error *error) {
    if (rows->kind != LUD_TREE_SEQUENCE)
        return lud_invalid_at(error, rows->place, "actions: expected a list with one entry a step");
    size_t n_agents = (size_t)layout->n_agents;
    self->actions = calloc(rows->n_children * n_agents + 1, sizeof *self->actions);
    if (!self->actions || rows->n_children >= UINT32_MAX) return lud_no_memory(error, "a script");
    for (lud_tree *row = rows->child; row; row = row->next) {
        int32_t *out = self->actions + (size_t)self->n_steps++ * n_agents;
        if (row->kind == LUD_TREE_SEQUENCE && row->n_children != n_agents)
            return lud_invalid_at(error, row->place,
                                  "expected an action for each of the %zu agents, found %zu", n_agents,
                                  row->n_children);
        lud_tree *entry = row->kind == LUD_TREE_SEQUENCE ? row->child : row;
        for (size_t i = 0; i < n_agents; i++) {
            LUD_TRY(read_action(entry, &layout->actions[i], &out[i], error));
            if (row->kind == LUD_TREE_SEQUENCE) entry = entry->next;
        }
    }
    return LUD_OK;
}

static lud_status read_script(script_policy *self, const lud_model *model, lud_arena *arena,
                              lud_tree *options, const char *file, lud_error *error) {
    script_options values;
    LUD_TRY(lud_options_read(&option_table, arena, options, &values, error));
    self->repeat = values.repeat;
    lud_tree *rows = values.actions;
    if (values.file) {
        if (rows) return lud_invalid_at(error, rows->place, "script: give 'actions' or 'file', not both");
        const char *path = lud_path_find(arena, file, values.file);
        lud_tree *root;
        if (!path) return lud_no_memory(error, "a script");
        LUD_TRY(lud_tree_check_file(lud_tree_find(options, "file"), path, error));
        LUD_TRY(lud_tree_read_file(arena, path, NULL, &root, error));
        static const char *const names[] = {"actions"};
        rows = root->kind == LUD_TREE_MAPPING ? lud_tree_get(root, "actions") : NULL;
        if (!rows) return lud_invalid(error, "%s:1:1: expected a key 'actions'", path);
        LUD_TRY(lud_tree_check_keys(root, names, 1, error));
    }
    if (!rows) return lud_invalid(error, "script: needs 'actions' or 'file'");
    for (int i = 0; i < model->layout.n_agents; i++) {
        const lud_action_space *space = &model->layout.actions[i];
        if (!space->n_discrete)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED, "script: agent %d has no discrete actions", i);
        for (int k = 0; k < space->n_discrete; k++)
            if (space->names && strcmp(space->names[k], "still") == 0) self->still[i] = k;
    }
    return read_rows(self, &model->layout, rows, error);
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    script_policy *self = calloc(1, sizeof *self);
    lud_status status;
    if (self) {
        self->policy = (lud_policy){.kind = kind, .model = model, .hidden_bytes = sizeof(uint32_t)};
        self->still = calloc((size_t)model->layout.n_agents + 1, sizeof *self->still);
    }
    if (!arena || !self || !self->still)
        status = lud_no_memory(error, "a script");
    else
        status = read_script(self, model, arena, options, file, error);
    lud_arena_destroy(arena);
    if (status == LUD_OK)
        *policy = &self->policy;
    else if (self)
        destroy(&self->policy);
    return status;
}

const lud_policy_kind lud_policy_script = {.name = "script",
                                           .about = "a list of actions, one entry a step",
                                           .options = &option_table,
                                           .create = create,
                                           .destroy = destroy,
                                           .act = act,
                                           .distribution = distribution};
