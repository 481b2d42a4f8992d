#include "learn/store/run.h"

#include <stdlib.h>

#include "base/file.h"
#include "learn/train.h"

bool lud_learned_is(const char *folder) {
    lud_text path = {0};
    lud_text_append(&path, "%s/checkpoint.safetensors", folder);
    const bool there = !path.failed && lud_file_exists(path.bytes);
    lud_text_free(&path);
    return there;
}

lud_status lud_learned_open(const char *folder, const lud_scenario *scenario, const char *device,
                            const lud_learner_kind *kind, lud_learned *learned, lud_error *error) {
    *learned = (lud_learned){0};
    lud_status status = lud_scenario_device(scenario, device, &learned->device, error);
    if (!status) status = lud_learner_create(scenario, learned->device, &learned->learner, error);
    if (!status && kind && learned->learner->kind != kind)
        status = lud_fail(error, LUD_ERROR_INPUT, "%s: trained by %s; expected a run of %s", folder,
                          learned->learner->kind->name, kind->name);
    if (!status) status = lud_train_load(learned->learner, folder, &learned->iterations, error);
    if (status) lud_learned_close(learned);
    return status;
}

void lud_learned_close(lud_learned *learned) {
    lud_learner_destroy(learned->learner);
    lud_device_close(learned->device);
    *learned = (lud_learned){0};
}

/* A loaded learner; the last of its policies gives it back. */
typedef struct source {
    lud_learned learned;
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
    lud_learned_close(&s->learned);
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

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    return lud_policy_distribution(((share *)policy)->from->policy, state, agent, goal, p);
}

static void joint(lud_policy *policy, const uint8_t *state, double *p) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->joint(shared, state, p);
}

static lud_status load(const char *folder, const lud_scenario *scenario, source *s, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    lud_status status = lud_learner_kind_of(scenario, &kind, error);
    if (status || !kind->policy) return status;
    status = lud_learned_open(folder, scenario, "cpu", NULL, &s->learned, error);
    return status ? status : kind->policy(s->learned.learner, &s->policy, error);
}

static lud_status take_part(source *s, lud_cast *cast, int agent, lud_error *error) {
    share *own = calloc(1, sizeof *own);
    if (!own) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a policy");
    *own = (share){.base = *s->policy, .kind = *s->policy->kind, .from = s};
    own->kind.destroy = destroy;
    own->kind.reset = s->policy->kind->reset ? reset : NULL;
    own->kind.act = act;
    own->kind.distribution = distribution;
    own->kind.joint = s->policy->kind->joint ? joint : NULL;
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
    if (!lud_learned_is(folder)) return LUD_OK;
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
