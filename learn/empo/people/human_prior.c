#include "learn/empo/people/human_prior.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_rows.h"

typedef struct prior_options {
    const char *type, *run;
} prior_options;

#define OPTIONS prior_options
static const lud_option options[] = {
    TEXT(type, "learned", "learned"),
    TEXT(run, NULL, "folder of a run of empo-phase1"),
};
static const lud_option_table table = OPTION_TABLE("human_prior", "people learned by networks", options);

bool lud_empo_human_prior_is_learned(lud_tree *prior) {
    lud_tree *type = prior && prior->kind == LUD_TREE_MAPPING ? lud_tree_get(prior, "type") : NULL;
    return type && type->text && strcmp(type->text, "learned") == 0;
}

lud_status lud_empo_human_prior_open(lud_arena *arena, lud_tree *prior, lud_device *device,
                                     const lud_model *model, lud_empo_human_net *net, lud_policy **policy,
                                     lud_error *error) {
    prior_options o;
    lud_status status = lud_options_read(&table, arena, prior, &o, error);
    if (status) return status;
    if (!o.run)
        return lud_fail_at(error, LUD_ERROR_INPUT, prior->place,
                           "learned people need `run:`, the folder of a run of empo-phase1");
    lud_tree *run = lud_tree_get(prior, "run");
    char absolute[PATH_MAX];
    if (!realpath(o.run, absolute))
        return lud_fail_at(error, LUD_ERROR_INPUT, run->place, "%s: %s", o.run, strerror(errno));
    const char *kept = lud_arena_text(arena, absolute, strlen(absolute));
    if (!kept) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a path");
    run->text = kept;
    status = lud_empo_human_net_open(device, model, absolute, net, error);
    if (status == LUD_OK) status = lud_empo_human_policy_create(net, model, policy, error);
    if (status) {
        lud_empo_human_net_free(net);
        lud_fail_context(error, "human_prior");
    }
    return status;
}
