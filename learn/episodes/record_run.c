#include "learn/episodes/record_run.h"

#include <string.h>

#include "agents/policy.h"
#include "learn/runs/run.h"

void lud_data_policy_words(const lud_model *model, const lud_cast *cast, const char *run, lud_text *text) {
    static const char *const roles[] = {"other", "human", "robot"};
    const lud_layout *layout = &model->layout;
    const char *first = lud_cast_get(cast, 0)->kind->name;
    bool same = true;
    for (int i = 1; i < layout->n_agents; i++)
        same = same && !strcmp(lud_cast_get(cast, i)->kind->name, first);
    for (int i = 0; i < layout->n_agents && !same; i++)
        lud_text_append(text, "%s%s %d: %s", i ? ", " : "", roles[layout->roles[i]], i,
                        lud_cast_get(cast, i)->kind->name);
    if (same) lud_text_append(text, "%s", first);
    if (run) lud_text_append(text, " (run %s)", run);
}

lud_status lud_record_data_of(const lud_scenario *scenario, const lud_cast *cast, const char *run,
                              const lud_data_target *target, const lud_recording_options *options,
                              lud_recording_result *result, lud_error *error) {
    lud_recording_options o = *options;
    lud_text policy = {0};
    uint64_t iterations = 0;
    lud_data_policy_words(scenario->model, cast, run, &policy);
    lud_status status =
        policy.failed ? lud_no_memory(error, "a data set") : lud_data_target_prepare(target, error);
    if (!status && run) status = lud_run_iterations(run, &iterations, error);
    o.path = target->file.bytes;
    o.policy = policy.bytes;
    o.policy_version = (uint32_t)iterations;
    if (!status) status = lud_record_data(scenario, cast, &o, result, error);
    if ((!status || status == LUD_INTERRUPTED) && o.views) {
        lud_error at_end = {0};
        const lud_status described = lud_data_target_describe(target, &at_end);
        if (described && !status) {
            if (error) *error = at_end;
            status = described;
        }
    }
    lud_text_free(&policy);
    return status;
}
