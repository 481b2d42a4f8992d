#include "learn/empo/people/prior.h"

#include <string.h>

#include "agents/kinds.h"
#include "base/file.h"
#include "base/options/option_rows.h"
#include "learn/runs/parameters.h"

typedef struct prior_options {
    const char *type, *run;
} prior_options;

#define OPTIONS prior_options
TABLE(table, "human_prior", "people learned by networks", TEXT(type, "learned", "learned"),
      TEXT(run, NULL, "folder of a run of empo-phase1", .names = LUD_NAMES_RUN));

static lud_status open_learned(lud_arena *arena, lud_tree *prior, const char *file, lud_device *device,
                               const lud_model *model, lud_empo_human_net *net, lud_policy **policy,
                               lud_error *error) {
    prior_options o;
    LUD_TRY(lud_options_read(&table, arena, prior, &o, error));
    if (!o.run)
        return lud_invalid_at(error, prior->place,
                              "learned people need `run:`, the folder of a run of empo-phase1");
    lud_tree *run = lud_tree_get(prior, "run");
    const char *found = lud_path_find(arena, file, o.run);
    if (!found) return lud_no_memory(error, "a path");
    if (!lud_run_is(found))
        return lud_invalid_at(error, run->place, "%s: no such run; expected one of empo-phase1", o.run);
    run->text = found;
    run->text_length = strlen(found);
    lud_status status = lud_empo_human_net_open(device, model, found, net, error);
    if (status == LUD_OK) status = lud_empo_human_policy_create(net, model, policy, error);
    if (status) {
        lud_empo_human_net_free(net);
        lud_fail_context(error, "human_prior");
    }
    return status;
}

lud_status lud_empo_prior_open(lud_arena *arena, lud_tree *tree, const lud_scenario *scenario,
                               lud_device *device, lud_empo_human_net *net, lud_empo_prior *prior,
                               lud_error *error) {
    const lud_model *model = scenario->model;
    lud_tree *type = tree && tree->kind == LUD_TREE_MAPPING ? lud_tree_get(tree, "type") : NULL;
    if (type && type->text && strcmp(type->text, "learned") == 0) {
        prior->network = net;
        return open_learned(arena, tree, scenario->path, device, model, net, &prior->policy, error);
    }
    if (!tree) {
        tree = lud_tree_add_mapping(arena, NULL, NULL);
        if (!tree || !lud_tree_add_text(arena, tree, "type", "heuristic"))
            return lud_no_memory(error, "the human prior");
    }
    LUD_TRY(lud_policy_create(model, tree, scenario->path, &prior->policy, error));
    const lud_policy *p = prior->policy;
    const bool steered = p->kind == &lud_policy_keyboard; /* nobody steers here */
    if (p->hidden_bytes || p->needs_observations || steered || !p->kind->distribution)
        return lud_invalid_at(error, tree->place,
                              "the policy %s cannot be a human prior; expected one that looks at the present "
                              "state only",
                              p->kind->name);
    return LUD_OK;
}

void lud_empo_prior_policy(const lud_empo_prior *prior, const lud_empo_features *features,
                           const uint8_t *state, int h, int goal, double *probability) {
    const lud_empo_layout *layout = &features->layout;
    if (prior->policy) {
        (void)lud_policy_distribution(prior->policy, state, layout->humans[h], goal, probability);
        return;
    }
    const lud_empo_reference *r = prior->reference;
    const uint32_t index = lud_statespace_find(r->space, state);
    const int n = layout->n_human_actions[h];
    for (int a = 0; a < n; a++) /* a start that the reference has not met: anything */
        probability[a] =
            index == UINT32_MAX
                ? 1.0 / n
                : r->records[index * (uint64_t)layout->record_doubles +
                             (uint64_t)(layout->policies + layout->policy_begin[h] + goal * n + a)];
}
