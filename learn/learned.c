#include "learn/learned.h"

#include <stdlib.h>

#include "base/file.h"
#include "learn/train.h"

/* A loaded learner; the last of its policies gives it back. */
typedef struct source {
    lud_device *device;
    lud_learner *learner;
    lud_policy *policy;
    int users;
} source;

/* One agent's share. */
typedef struct share {
    lud_policy base;
    lud_policy_kind kind; /* of the learner's policy, with our own end */
    source *from;
} share;

static void give_back(source *s) {
    if (!s || --s->users > 0) return;
    lud_policy_destroy(s->policy);
    lud_learner_destroy(s->learner);
    lud_device_close(s->device);
    free(s);
}

static void destroy(lud_policy *policy) {
    share *own = (share *)policy;
    give_back(own->from);
    free(own);
}

static void reset(lud_policy *policy, uint8_t *hidden, size_t hidden_stride, int n) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->reset(shared, hidden, hidden_stride, n);
}

static void act(lud_policy *policy, const lud_act *wanted) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->act(shared, wanted);
}

static lud_status load(const char *folder, const lud_scenario *scenario, source *s, lud_error *error) {
    lud_status status = lud_device_open("cpu", (int)scenario->run.threads, &s->device, error);
    if (status == LUD_OK) status = lud_learner_create(scenario, s->device, &s->learner, error);
    if (status || !s->learner->kind->policy) return status;
    status = lud_train_load(s->learner, folder, NULL, error);
    return status ? status : s->learner->kind->policy(s->learner, &s->policy, error);
}

static lud_status take_part(source *s, lud_cast *cast, int agent, lud_error *error) {
    share *own = calloc(1, sizeof *own);
    if (!own) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a policy");
    *own = (share){.base = *s->policy, .kind = *s->policy->kind, .from = s};
    own->kind.destroy = destroy;
    own->kind.reset = s->policy->kind->reset ? reset : NULL;
    own->kind.act = act;
    own->base.kind = &own->kind;
    s->users++;
    lud_cast_set(cast, agent, &own->base);
    return LUD_OK;
}

/* A policy that transfers acts by the scenario that it was trained on. */
static lud_status join(const char *folder, const lud_scenario *scenario, lud_cast *cast, bool *joined,
                       lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/scenario.yaml", folder);
    lud_scenario *trained = NULL;
    const lud_learner_kind *kind = NULL;
    lud_status status = path.failed ? lud_fail(error, LUD_ERROR_MEMORY, "no memory for a path")
                                    : lud_scenario_load(path.bytes, NULL, 0, &trained, error);
    if (!status && trained->learner) status = lud_learner_kind_of(trained, &kind, error);
    *joined = !status && kind && kind->join;
    if (*joined) status = kind->join(trained, scenario, folder, cast, error);
    lud_scenario_destroy(trained);
    lud_text_free(&path);
    return status;
}

lud_status lud_learned_cast(const char *folder, const lud_scenario *scenario, lud_cast *cast,
                            lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/checkpoint.safetensors", folder);
    const bool there = path.bytes && lud_file_exists(path.bytes);
    lud_text_free(&path);
    if (!there) return LUD_OK;
    bool joined = false;
    lud_status status = join(folder, scenario, cast, &joined, error);
    if (status || joined || !scenario->learner) return status;
    source *s = calloc(1, sizeof *s);
    if (!s) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a learner");
    s->users = 1; /* this function */
    status = load(folder, scenario, s, error);
    const lud_layout *layout = &scenario->model->layout;
    lud_tree *people = scenario->policies && scenario->policies->kind == LUD_TREE_MAPPING
                           ? lud_tree_get(scenario->policies, "human")
                           : NULL;
    for (int i = 0; s->policy && status == LUD_OK && i < layout->n_agents; i++)
        if (layout->roles[i] != LUD_ROLE_HUMAN || !people) status = take_part(s, cast, i, error);
    give_back(s);
    return status;
}
