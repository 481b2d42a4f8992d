/* What `ludus experiment FILE` is to do: every variant of every scenario with every seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum {
    LUD_EXPERIMENT_TASKS = 64,
    LUD_EXPERIMENT_VARIANTS = 32,
    LUD_EXPERIMENT_SEEDS = 1000,
    LUD_EXPERIMENT_SETTINGS = 32
};

/* Overrides KEY=VALUE, as `--set` takes them. */
typedef struct lud_experiment_settings {
    int n;
    const char *items[LUD_EXPERIMENT_SETTINGS];
} lud_experiment_settings;

typedef struct lud_experiment_task {
    const char *name, *path; /* the scenario's file, as this process finds it */
    double low, high;        /* scores that count as 0 and 1; NaN: the worst and the best run do */
} lud_experiment_task;

typedef struct lud_experiment_variant {
    const char *name;
    lud_experiment_settings set;
} lud_experiment_variant;

typedef struct lud_experiment {
    const char *name, *about;
    const char *score;           /* the column of metrics.csv whose last number a run counts by */
    const char *curve;           /* the column of the figure */
    bool least;                  /* smaller scores are better */
    lud_experiment_settings set; /* of all runs */
    int n_tasks, n_variants, n_seeds, baseline;
    lud_experiment_task tasks[LUD_EXPERIMENT_TASKS];
    lud_experiment_variant variants[LUD_EXPERIMENT_VARIANTS];
    int64_t seeds[LUD_EXPERIMENT_SEEDS];
    uint64_t keys[LUD_EXPERIMENT_TASKS][LUD_EXPERIMENT_VARIANTS]; /* of the effective settings of its runs */
} lud_experiment;

/* Reads the file strictly. Texts lie in the arena. */
lud_status lud_experiment_read(lud_arena *arena, const char *path, lud_experiment *experiment,
                               lud_error *error);
/* The same of a text; `name` stands for the file. Scenarios are not looked for. */
lud_status lud_experiment_parse(lud_arena *arena, const char *name, const char *text, size_t length,
                                lud_experiment *experiment, lud_error *error);
/* Opens every scenario with every variant's settings, so that a mistake is told before anything runs; finds
 * the keys, and whether each learner measures the score. */
lud_status lud_experiment_check(lud_experiment *experiment, lud_error *error);

/* Runs are numbered task by task, variant by variant, seed by seed. */
typedef struct lud_experiment_run {
    int task, variant, seed; /* indices */
} lud_experiment_run;
int lud_experiment_n_runs(const lud_experiment *experiment);
lud_experiment_run lud_experiment_run_at(const lud_experiment *experiment, int number);
