/* Any bytes as the file of an experiment: an error or a plan whose numbers are within their bounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "cli/experiment/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

static void check(const lud_experiment *e) {
    if (e->n_tasks < 1 || e->n_variants < 1 || e->n_seeds < 1 || e->baseline >= e->n_variants) abort();
    for (int t = 0; t < e->n_tasks; t++)
        if (!e->tasks[t].path || strchr(e->tasks[t].name, '/') ||
            isnan(e->tasks[t].low) != isnan(e->tasks[t].high))
            abort();
    for (int t = 0; t < e->n_tasks; t++) {
        fuzz_answer_text(e->tasks[t].path);
        fuzz_answer_text(e->tasks[t].name);
    }
    for (int v = 0; v < e->n_variants; v++) {
        if (strchr(e->variants[v].name, '/') || e->variants[v].name[0] == '.') abort();
        fuzz_answer_text(e->variants[v].name);
        for (int k = 0; k < e->variants[v].set.n; k++) {
            if (!strchr(e->variants[v].set.items[k], '=')) abort();
            fuzz_answer_text(e->variants[v].set.items[k]);
        }
    }
    const lud_experiment_run last = lud_experiment_run_at(e, lud_experiment_n_runs(e) - 1);
    if (last.task != e->n_tasks - 1 || last.variant != e->n_variants - 1 || last.seed != e->n_seeds - 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static lud_experiment experiment;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return 0;
    if (lud_experiment_parse(arena, "fuzz", (const char *)data, size, &experiment, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_text(error.text);
    } else {
        check(&experiment);
    }
    lud_arena_destroy(arena);
    return 0;
}
