/* What a scenario says of a policy that another RUN has learned. Learners stand above: who opens RUNs puts
 * the policy into the cast (learn/runs/run.h). */
#include "agents/kinds.h"
#include "base/options/option_rows.h"

typedef struct run_options {
    const char *type, *run;
} run_options;

#define OPTIONS run_options
TABLE(option_table, "run", "what a RUN has learned", TEXT(type, NULL, "run"),
      TEXT(run, NULL, "folder of the RUN, or one of its files of parameters; required",
           .names = LUD_NAMES_RUN));

lud_status lud_policy_run_read(lud_tree *description, const char **run, lud_error *error) {
    const bool mapping = description->kind == LUD_TREE_MAPPING;
    run_options values;
    if (mapping) LUD_TRY(lud_policy_options_read(&option_table, description, &values, error));
    const lud_tree *named = mapping ? lud_tree_get(description, "run") : NULL;
    *run = named ? named->text : NULL; /* the text in `values` has gone */
    return *run && **run ? LUD_OK
                         : lud_invalid_at(error, description->place,
                                          "a policy of type run needs the folder of a RUN, for example "
                                          "{type: run, run: runs/a}");
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    (void)kind;
    (void)model;
    *policy = NULL;
    return lud_fail_at(error, LUD_ERROR_UNSUPPORTED, options ? options->place : (lud_place){file, 0, 0},
                       "a RUN acts where it is named under `policies:` of a scenario, not here");
}

const lud_policy_kind lud_policy_run = {
    .name = "run", .about = "what a RUN has learned", .options = &option_table, .create = create};
