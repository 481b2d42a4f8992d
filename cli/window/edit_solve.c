#include "cli/window/edit_solve.h"

#include <limits.h>
#include <stdlib.h>

#include "learn/empo/evaluation/report.h"
#include "learn/empo/exact/solve.h"

/* Columns are for terminals: in a panel a blank is enough between words. */
static void squeeze(const char *text, lud_text *out) {
    for (const char *c = text; *c; c++) {
        const bool begins = c == text || c[-1] == '\n';
        if ((*c == ' ' && c[1] == ' ') || (*c == ' ' && begins) || (*c == '\n' && begins)) continue;
        lud_text_append_bytes(out, c, 1);
    }
}

lud_status lud_edit_solve(void *context, const lud_scenario *scenario, lud_text *report, lud_error *error) {
    (void)context;
    const lud_empo_solve_options options = {.memory_limit = UINT64_C(1) << 31, .n_threads = 1};
    lud_empo_case c;
    LUD_TRY(lud_empo_case_open(scenario, &options, &c, error));
    const lud_empo_size size = lud_empo_case_size(&c);
    const size_t width = (size_t)c.problem->layout.record_doubles;
    double *records = malloc(size.n_states * width * sizeof *records);
    lud_status status = records ? LUD_OK : lud_no_memory(error, "the solution");
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&c.policies, &hooks);
    const lud_empo_run run = {.records = records, .hooks = &hooks, .n_threads = 1, .first_level = INT_MAX};
    if (!status) status = lud_empo_solve(c.problem, &run, error);
    if (!status) {
        lud_text_append(report, "%llu states, %llu transitions\n", (unsigned long long)size.n_states,
                        (unsigned long long)size.n_transitions);
        lud_text start = {0};
        lud_empo_report_print(scenario->model, &c.problem->layout, records, &start);
        if (start.bytes) squeeze(start.bytes, report);
        lud_text_free(&start);
    }
    free(records);
    lud_empo_case_close(&c);
    return status;
}
