/* Trainings of an experiment or of a sweep as processes of their own, several at a time; what is done is not
 * done again.
 */
#pragma once

#include "base/ranks/ranks.h"
#include "cli/experiment/plan.h"

typedef struct lud_experiment_jobs {
    const lud_experiment *experiment;
    const char *title;         /* of the progress line */
    const char *folder;        /* of the experiment: RUNs are FOLDER/SCENARIO/VARIANT/seed-N */
    int n_parallel, n_threads; /* processes, and threads of each */
    bool quiet;
    char *const *environment; /* of the trainings, ends with null */
    lud_ranks *ranks;         /* processes that each do every so many-th run; null: alone */
    const uint64_t *until;    /* [n_variants] after how many iterations runs of a variant pause, 0: those of
                                 that variant do not run now; null: all run to their end */
    /* Called in the leading process when a run has ended, at most every two seconds; null: nobody asks. */
    void (*ended)(void *context);
    void *context;
} lud_experiment_jobs;

/* What came of it. */
typedef struct lud_experiment_outcome {
    /* runs that this call did, that were there already, that failed; of all processes */
    int done, found, failed;
} lud_experiment_outcome;

/* Sets n_parallel and n_threads as asked for; 0 or less: as many processes as processors, which have them in
 * equal parts. */
void lud_experiment_share_out(lud_experiment_jobs *jobs, int64_t n_parallel, int64_t n_threads);
/* Does what is missing: goes on with runs that have a checkpoint, begins the others. A run that fails does
 * not stop the others; its last words are told, and its log lies beside it. Fails when a run has other
 * settings than the experiment's; LUD_INTERRUPTED after all processes have saved and ended. */
lud_status lud_experiment_jobs_run(const lud_experiment_jobs *jobs, lud_experiment_outcome *outcome,
                                   lud_error *error);
/* The folder of a run, in `path` [n]; false when it has no room. */
bool lud_experiment_run_path(const lud_experiment *experiment, const char *folder, lud_experiment_run run,
                             const char *ending, char *path, size_t n);
/* The score of a run after so many iterations: the last number of its column until then. NaN where the run
 * has not come so far, or has not measured it. */
lud_status lud_experiment_score(const lud_experiment *experiment, const char *folder, lud_experiment_run run,
                                uint64_t iterations, double *score, lud_error *error);
