/* The one loop that drives every learner: iterations, progress, metrics, checkpoints, interrupt, resume. */
#pragma once

#include <stdio.h>

#include "learn/learner.h"

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
    FILE *progress;    /* where the progress line goes, null: silent */
    lud_text *figures; /* gets the figures of the last iteration, a line each; null: nobody wants them */
    const char *configuration; /* effective configuration, kept in the checkpoint and as scenario.yaml */
    /* Called after every iteration on the training thread (snapshots for a viewer); may be null. */
    void (*after_iteration)(void *context, lud_learner *learner);
    void *context;
} lud_train_options;

typedef struct lud_train_result {
    uint64_t iterations;  /* done in all */
    double seconds;       /* of training, all sessions together */
    double stall_seconds; /* of this session, spent on checkpoints instead of training */
    bool finished;        /* all iterations of the learner are done */
} lud_train_result;

/* Trains until the learner's iterations are done or the user interrupts (LUD_INTERRUPTED, after saving). A
 * run's folder gets scenario.yaml, metrics.csv, a TensorBoard event file, checkpoint.safetensors and its
 * previous one. */
lud_status lud_train(lud_learner *learner, const lud_train_options *options, lud_train_result *result,
                     lud_error *error);

/* Loads a run's checkpoint into a learner made from its scenario (for evaluating or watching it). *iterations
 * may be null. */
lud_status lud_train_load(lud_learner *learner, const char *folder, uint64_t *iterations, lud_error *error);
