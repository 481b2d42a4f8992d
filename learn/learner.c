#include "learn/learner.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const lud_learner_kind *lud_learner_find(const char *name) {
    int n;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

lud_status lud_learner_kind_of(const lud_scenario *scenario, const lud_learner_kind **kind,
                               lud_error *error) {
    lud_tree *type = lud_tree_get(scenario->learner, "type");
    if (!type)
        return lud_invalid_at(error, scenario->learner->place, "the `learner:` section has no `type:`");
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

lud_status lud_learner_create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                              lud_error *error) {
    *learner = NULL;
    if (!scenario->learner)
        return lud_invalid_at(error, (lud_place){scenario->path, 0, 0},
                              "there is no `learner:` section to train with");
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
    return status ? status : kind->create(scenario, device, learner, error);
}

lud_status lud_learner_write(const lud_learner *learner, lud_arena *arena, lud_tree *root, lud_error *error) {
    const lud_option_table *options = learner->kind->options;
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
