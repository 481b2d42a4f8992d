/* Runs of an experiment as processes of their own, several at a time; what is done is not done again. */
#pragma once

#include "base/ranks/ranks.h"
#include "cli/experiment/plan.h"

typedef struct lud_experiment_jobs {
    const lud_experiment *experiment;
    const char *folder;        /* of the experiment: RUNs are FOLDER/SCENARIO/VARIANT/seed-N */
    int n_parallel, n_threads; /* processes, and threads of each */
    bool quiet;
    char *const *environment; /* of the trainings, ends with null */
    lud_ranks *ranks;         /* processes that each do every so many-th run; null: alone */
} lud_experiment_jobs;

/* What came of it. */
typedef struct lud_experiment_outcome {
    /* runs that this call did, that were there already, that failed; of all processes */
    int done, found, failed;
} lud_experiment_outcome;

/* Does what is missing: goes on with runs that have a checkpoint, begins the others. A run that fails does
 * not stop the others; its last words are told, and its log lies beside it. Fails when a run has other
 * settings than the experiment's; LUD_INTERRUPTED after all processes have saved and ended. */
lud_status lud_experiment_jobs_run(const lud_experiment_jobs *jobs, lud_experiment_outcome *outcome,
                                   lud_error *error);
/* The folder of a run, in `path` [n]; false when it has no room. */
bool lud_experiment_run_path(const lud_experiment *experiment, const char *folder, lud_experiment_run run,
                             const char *ending, char *path, size_t n);
/* Whether the run is done. */
bool lud_experiment_is_done(const lud_experiment *experiment, const char *folder, lud_experiment_run run);
