#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/options/json_memory.h"
#include "cli/cli.h"
#include "learn/learner.h"
#include "learn/runs/parameters.h"

void lud_scenario_flags_default(lud_scenario_flags *flags) {
    *flags = (lud_scenario_flags){.run = lud_run_as_written};
}

lud_status lud_scenario_flags_overrides(const lud_scenario_flags *flags, lud_scenario_overrides *o,
                                        lud_error *error) {
    *o = (lud_scenario_overrides){.set = flags->set.items,
                                  .n_set = flags->set.n,
                                  .numbers = flags->numbers,
                                  .n_numbers = flags->n_numbers,
                                  .view = flags->view,
                                  .values = flags->values,
                                  .n_values = flags->n_values,
                                  .run = flags->run};
    if (!flags->precision) return LUD_OK;
    int n = 0;
    while (lud_precision_names[n]) n++;
    lud_tree word = {.kind = LUD_TREE_SCALAR, .text = flags->precision, .place = {"--precision", 0, 0}};
    return lud_tree_choice(&word, lud_precision_names, n, &o->run.precision, error);
}

lud_status lud_scenario_open(const char *path, const lud_scenario_flags *flags, lud_scenario **scenario,
                             lud_error *error) {
    *scenario = NULL;
    lud_scenario_overrides overrides;
    lud_status status = lud_scenario_flags_overrides(flags, &overrides, error);
    return status ? status : lud_run_scenario(path, &overrides, scenario, error);
}

/* Whether somebody acts as a run has learned: a policy that no scenario can name. */
static bool run_acts(const lud_run *run) {
    for (int i = 0; i < run->scenario->model->layout.n_agents; i++)
        if (!lud_cast_get(run->cast, i)->kind->create) return true;
    return false;
}

/* The RUN of --policy acts as it was trained, so nothing would follow from other settings. */
static lud_status check_learner_unset(const lud_scenario_flags *flags, const char *policy, lud_error *error) {
    for (int i = 0; i < flags->set.n; i++) {
        const char *key = flags->set.items[i];
        if (strncmp(key, "learner", 7) == 0 && key[7] && strchr(".=[", key[7]))
            return lud_invalid(error,
                               "--set %s: %s, the RUN of --policy, acts as it was trained; expected the RUN "
                               "in place of the scenario where its learner's settings are to be others",
                               key, policy);
    }
    return LUD_OK;
}

lud_status lud_run_open_with(const char *path, const lud_scenario_flags *flags, const char *policy,
                             lud_run *run, lud_error *error) {
    lud_scenario *scenario;
    *run = (lud_run){0};
    if (policy) LUD_TRY(check_learner_unset(flags, policy, error));
    LUD_TRY(lud_scenario_open(path, flags, &scenario, error));
    const char *folder = lud_run_is(path) ? path : NULL;
    lud_status status = lud_run_open(policy ? policy : folder, scenario, run, error);
    if (!status && policy && !run_acts(run)) {
        status = lud_invalid(error, "%s has no policy that acts in this scenario", policy);
        lud_run_close(run);
    }
    return status && policy ? lud_fail_context(error, "--policy") : status;
}

static bool incomplete; /* a text that was printed is not whole: there was no memory for it */

void lud_print_text(lud_text *text) {
    incomplete |= text->failed;
    if (text->bytes) fputs(text->bytes, stdout);
    lud_text_free(text);
}

lud_status lud_print_report(lud_status status, lud_report *report, lud_error *error) {
    if (!status && report->text.failed) status = lud_out_of_memory(error);
    if (!status && !report->text.bytes) return lud_print_json(report->json, error);
    if (!status) lud_print_text(&report->text);
    lud_text_free(&report->text);
    json_decref(report->json);
    return status ? status : lud_flush_output(error);
}

lud_status lud_print_json(json_t *root, lud_error *error) {
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    const bool whole = text && !lud_json_failed();
    json_decref(root);
    if (whole) puts(text); /* what cannot be written is seen by the stream */
    free(text);
    return whole ? lud_flush_output(error) : lud_no_memory(error, "the results as JSON");
}

lud_status lud_flush_output(lud_error *error) {
    if (incomplete) return lud_no_memory(error, "the results as text");
    if (fflush(stdout) == 0 && !ferror(stdout)) return LUD_OK;
    return lud_fail(error, LUD_ERROR_IO, "could not write the results to standard output");
}
