/* `ludus experiment`: variants, scenarios and seeds, a training each, side by side; then tables and a figure.
 */
#include <stdlib.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "cli/cli.h"
#include "cli/experiment/jobs.h"
#include "cli/experiment/results.h"
#include "render/plots/plot.h"

typedef struct experiment_values {
    const char *out;
    int64_t jobs, threads;
    bool dry, quiet;
} experiment_values;

#define FLAGS experiment_values
static const lud_flag flags[] = {
    TEXT_FLAG("out", 'o', out, "DIR", "folder of the experiment; the same one goes on with it"),
    INT_FLAG("jobs", 'j', jobs, 1, 1024, "N", "trainings side by side (as many as processors)"),
    INT_FLAG("threads", 't', threads, 1, 1024, "N", "threads of each (processors divided by trainings)"),
    SWITCH_FLAG("dry", 0, dry, "check the file and say what would run"),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void print_plan(const lud_experiment_jobs *jobs) {
    const lud_experiment *e = jobs->experiment;
    printf("%s: %d scenarios x %d variants x %d seeds = %d trainings, %d side by side with %d threads each\n",
           e->name, e->n_tasks, e->n_variants, e->n_seeds, lud_experiment_n_runs(e), jobs->n_parallel,
           jobs->n_threads);
    fflush(stdout);
}

static void print_end(const lud_experiment *e, const char *out, const char *said, int found) {
    lud_text run = {0}, word = {0};
    lud_text_append(&run, "%s/%s/%s/seed-%lld", out, e->tasks[0].name, e->variants[0].name,
                    (long long)e->seeds[0]);
    printf("\n%s\n%s holds summary.md, summary.csv, summary.tex, runs.csv%s, curves.svg and curves.pdf; "
           "every run lies in %s/SCENARIO/VARIANT/seed-N. Next:\n  %s view %s\n",
           said, out, lud_plot_check_path("curves.png", NULL) ? "" : ", curves.png", out, lud_program(),
           lud_text_word(&word, run.bytes ? run.bytes : out));
    lud_text_free(&run);
    lud_text_free(&word);
    if (found) printf("(%d runs were there already)\n", found);
}

static lud_status do_runs(lud_experiment_jobs *jobs, lud_arena *arena, lud_error *error) {
    const lud_experiment *e = jobs->experiment;
    lud_experiment_outcome outcome;
    lud_text said = {0};
    jobs->environment = lud_ranks_plain_environment(arena);
    if (!jobs->environment) return lud_no_memory(error, "an experiment");
    LUD_TRY(lud_ranks_agree(jobs->ranks, lud_folder_make(jobs->folder, error), error));
    LUD_TRY(lud_experiment_jobs_run(jobs, &outcome, error));
    if (!lud_ranks_leads(jobs->ranks)) return LUD_OK;
    const lud_status status = lud_experiment_results(e, jobs->folder, &said, error);
    if (!status) print_end(e, jobs->folder, said.bytes ? said.bytes : "", outcome.found);
    lud_text_free(&said);
    if (!status && outcome.failed)
        return lud_fail(error, LUD_ERROR_IO, "%d of %d runs failed; the same command tries them again",
                        outcome.failed, lud_experiment_n_runs(e));
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const experiment_values *values = data;
    lud_arena *arena = lud_arena_create(0);
    lud_experiment *e = calloc(1, sizeof *e);
    lud_status status = arena && e ? LUD_OK : lud_no_memory(error, "an experiment");
    if (!status) status = lud_experiment_read(arena, arguments[0], e, error);
    if (!status && !values->out && !values->dry)
        status = lud_invalid(error, "experiment needs a folder for its results: -o DIR");
    lud_interrupt_install();
    if (!status) status = lud_experiment_check(arena, e, error);
    if (!status) {
        lud_experiment_jobs jobs = {.experiment = e,
                                    .title = "experiment",
                                    .folder = values->out,
                                    .quiet = values->quiet,
                                    .ranks = lud_processes()};
        lud_experiment_share_out(&jobs, values->jobs, values->threads);
        if (!values->quiet || values->dry) print_plan(&jobs);
        if (!values->dry) status = do_runs(&jobs, arena, error);
    }
    free(e);
    lud_arena_destroy(arena);
    return status;
}

const lud_verb lud_verb_experiment = {
    .name = "experiment",
    .about = "train variants over scenarios and seeds side by side; a table with intervals, a figure",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    VERB_FLAGS,
    .over_processes = true,
    .notes = "The file names scenarios, variants (settings as --set takes them), seeds and the score, a "
             "column of\n"
             "metrics.csv. Runs are processes of their own; what is done is not done again, what was begun "
             "goes on.\n"
             "docs/experiments.md explains the file and the table.\n\n"
             "example: ludus experiment scenarios/experiments/width.yaml -o runs/width\n",
    .run = run};
