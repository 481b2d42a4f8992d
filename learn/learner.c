#include "learn/learner.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const lud_learner_kind *lud_learner_find(const char *name) {
    int n;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

static lud_status no_type(const lud_scenario *scenario, lud_error *error) {
    lud_text names = {0};
    lud_learner_list(scenario->world, &names);
    const lud_status status =
        lud_invalid_at(error, scenario->learner->place,
                       "the `learner:` section has no `type:`, as in learner: {type: NAME}; in %s: %s",
                       scenario->world->name, names.bytes ? names.bytes : "none");
    lud_text_free(&names);
    return status;
}

lud_status lud_learner_kind_of(const lud_scenario *scenario, const lud_learner_kind **kind,
                               lud_error *error) {
    lud_tree *type = lud_tree_get(scenario->learner, "type");
    if (!type) return no_type(scenario, error);
    enum { MAX_LEARNERS = 32 };
    const char *names[MAX_LEARNERS];
    int n, n_found = 0, index = 0;
    *kind = type->text ? lud_learner_find(type->text) : NULL;
    if (*kind) return LUD_OK;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    for (int i = 0; i < n && n_found < MAX_LEARNERS; i++)
        if (kinds[i]->create) names[n_found++] = kinds[i]->name;
    return lud_tree_choice(type, names, n_found, &index, error);
}

void lud_learner_list(const lud_world *world, lud_text *out) {
    int n;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    const char *between = "";
    for (int i = 0; i < n; i++) {
        if (!kinds[i]->create || (kinds[i]->world && strcmp(kinds[i]->world, world->name) != 0)) continue;
        if (kinds[i]->needs_goals && (!world->successors || !world->n_goals)) continue;
        lud_text_append(out, "%s%s", between, kinds[i]->name);
        between = ", ";
    }
}

static lud_status no_learner(const lud_scenario *scenario, lud_error *error) {
    lud_text names = {0};
    lud_learner_list(scenario->world, &names);
    lud_status status = lud_invalid_at(
        error, (lud_place){scenario->path, 0, 0},
        "there is no `learner:` section to train with, for instance --set learner.type=NAME; in %s: %s",
        scenario->world->name, names.bytes ? names.bytes : "none");
    lud_text_free(&names);
    return status;
}

/* What the file or --set says about the length of the training holds, or is refused. */
static lud_status check_steps(const lud_scenario *scenario, const lud_learner_kind *kind, lud_error *error) {
    if (scenario->run.steps <= 0 || kind->counts_steps) return LUD_OK;
    const lud_tree *run = lud_tree_get(scenario->root, "run");
    for (run = run ? run->child : NULL; run && strcmp(run->key, "steps") != 0;) run = run->next;
    return lud_invalid_at(
        error, run ? run->place : (lud_place){scenario->path, 0, 0},
        "run.steps counts environment steps, by which %s does not; its length stands in its "
        "own section (ludus help %s)",
        kind->name, kind->name);
}

/* Gives a message that begins with `learner.KEY` the place where that key stands, or else the section that it
 * would stand in. */
static void point_at_key(const lud_tree *learner, lud_error *error) {
    static const char section[] = "learner.";
    if (!error || strncmp(error->text, section, sizeof section - 1) != 0) return;
    const lud_error said = *error;
    const lud_tree *node = learner;
    for (const char *at = said.text + sizeof section - 1; node; at++) {
        char key[64];
        const size_t n = strcspn(at, ".: ");
        snprintf(key, sizeof key, "%.*s", (int)n, at);
        const lud_tree *child = node->kind == LUD_TREE_MAPPING ? lud_tree_find(node, key) : NULL;
        if (child) node = child;
        at += n;
        if (!child || *at != '.') break;
    }
    lud_fail_at(error, said.status, node->place, "%s", said.text);
}

lud_status lud_learner_create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                              lud_error *error) {
    *learner = NULL;
    if (!scenario->learner) return no_learner(scenario, error);
    const lud_learner_kind *kind = NULL;
    lud_status status = lud_learner_kind_of(scenario, &kind, error);
    if (!status && kind->world && lud_world_find(kind->world) != scenario->world)
        status = lud_invalid_at(error, scenario->learner->place,
                                "learner %s needs the world '%s', this scenario has '%s'", kind->name,
                                kind->world, scenario->world->name);
    if (!status && !kind->create)
        status = lud_invalid_at(error, scenario->learner->place,
                                "learner %s is solved, not trained; expected: ludus solve SCENARIO -o RUN",
                                kind->name);
    if (!status) status = check_steps(scenario, kind, error);
    if (status) return status;
    status = kind->create(scenario, device, learner, error);
    if (status) point_at_key(scenario->learner, error);
    return status;
}

lud_status lud_learner_write(const lud_learner *learner, lud_arena *arena, lud_tree *root, lud_error *error) {
    const lud_option_table *options = learner->kind->options;
    if (learner->n_environments > 0) {
        char assignment[64];
        snprintf(assignment, sizeof assignment, "run.environments=%lld", (long long)learner->n_environments);
        LUD_TRY(lud_tree_set(arena, root, assignment, error));
    }
    if (!options) return LUD_OK;
    lud_tree *section = lud_tree_get(root, "learner");
    assert(section);       /* the learner was made from it */
    section->child = NULL; /* what stands in the file gives way to what is in effect */
    section->n_children = 0;
    return lud_options_write(options, arena, (const char *)learner + learner->kind->values, section, error);
}

void lud_learner_destroy(lud_learner *learner) {
    if (learner) learner->kind->destroy(learner);
}
