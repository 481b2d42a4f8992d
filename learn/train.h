/* The one loop that drives every learner: iterations, progress, metrics, checkpoints, interrupt, resume. */
#pragma once

#include <stdio.h>

#include "base/ranks/ranks.h"
#include "learn/learner.h"
#include "learn/runs/begin.h"
#include "learn/runs/kept.h"

typedef struct lud_train_options {
    const char *folder;        /* of the run; made when it is missing */
    bool resume;               /* go on from the folder's checkpoint */
    bool resume_previous;      /* go on from the one before it, when the newest is damaged or unwanted */
    bool overwrite;            /* allow a folder that already holds a run */
    int64_t checkpoint_every;  /* iterations between checkpoints, 0: at the end only */
    double checkpoint_seconds; /* and at least this often, 0: never by time */
    int64_t evaluate_every;    /* iterations between evaluations, 0: at the end only */
    uint64_t
        stop_after;    /* stop early after this many iterations of this session (as an interrupt), 0: never */
    int64_t until;     /* pause after this many iterations in all, which is no interrupt; 0: at the end */
    FILE *progress;    /* where the progress line goes, null: silent */
    lud_text *figures; /* gets the figures of the last iteration, a line each; null: nobody wants them */
    /* Effective configuration, kept with what is saved and as scenario.yaml; the files that it names; and how
     * it may differ from that of the run that goes on. The second and the third may be null. */
    const char *configuration;
    const lud_carried *carried;
    const lud_run_meant *meant;
    const lud_model *model; /* of the scenario, for the names of what is learned; may be null */
    /* Called once, when the folder is this training's and watchers (learn/runs/watch.h) find it. May be null.
     */
    lud_status (*begun)(void *context, lud_error *error);
    /* Called after every iteration on the training thread with its row[n_columns], what was not measured in
     * it NaN; false: stop, as an interrupt does. May be null. */
    bool (*after_iteration)(void *context, const lud_learner *learner, uint64_t iterations,
                            const lud_metric *columns, int n_columns, const double *row);
    void *context;
    /* Processes that train together, each with its own learner on a device that has them too; null: alone.
     * The first one writes, shows and is asked to stop; the others need no folder. */
    lud_ranks *ranks;
} lud_train_options;

typedef struct lud_train_result {
    uint64_t iterations;  /* done in all */
    uint64_t here;        /* of them in this session */
    double seconds;       /* of training, all sessions together */
    double stall_seconds; /* of this session, spent on checkpoints instead of training */
    bool finished;        /* all iterations of the learner are done; else, without an error, those until the
                             pause */
    lud_kept kept;        /* what policy.safetensors holds */
} lud_train_result;

/* What a training in a folder is configured by: the effective configuration as YAML, the learner's section
 * with all its defaults, and what it names as copies in the folder, which `carried` gets (free with
 * lud_carried_free, also on failure). With `resumes` it is one that goes on. The text lives in the arena. */
lud_status lud_train_configuration(const lud_scenario *scenario, const lud_learner *learner,
                                   const char *folder, bool resumes, lud_arena *arena, lud_carried *carried,
                                   char **text, lud_error *error);

/* Trains until the learner's iterations are done or the user interrupts (LUD_INTERRUPTED, after saving). A
 * run's folder gets scenario.yaml with the files that it names, metrics.csv, a TensorBoard event file,
 * policy.safetensors (the best parameters, learn/best.h), checkpoint.safetensors (all that a resumed run
 * needs) and its previous one. A checkpoint that cannot be written is told at once and tried again; the last
 * one is tried however the training ends. */
lud_status lud_train(lud_learner *learner, const lud_train_options *options, lud_train_result *result,
                     lud_error *error);
