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
    LUD_EXPERIMENT_SETTINGS = 64
};

/* Overrides KEY=VALUE, as `--set` takes them. */
typedef struct lud_experiment_settings {
    int n;                    /* at most LUD_EXPERIMENT_SETTINGS */
    const char *const *items; /* [n] */
} lud_experiment_settings;

typedef struct lud_experiment_task {
    const char *name, *path; /* the scenario's file, as this process finds it */
    double low, high;        /* scores that count as 0 and 1; NaN: the worst and the best run do */
} lud_experiment_task;

typedef struct lud_experiment_variant {
    const char *name;
    lud_experiment_settings set;
    const char *source; /* the flag that has set them, for messages; null: as of --set */
} lud_experiment_variant;

/* What lud_experiment_check finds of the trainings of a variant in a scenario. */
typedef struct lud_experiment_training {
    uint64_t key;        /* of their effective settings, without the seed */
    uint64_t iterations; /* of a whole one */
    int64_t steps;       /* of the environments in a whole one; 0: its learner does not count them */
    /* Iterations between evaluations, and the first at which a training may pause (cli/sweep/halving.h); 0:
     * it is evaluated at its end. */
    uint64_t first;
} lud_experiment_training;

typedef struct lud_experiment {
    const char *name, *about;
    const char *score;           /* the column of metrics.csv whose last number a run counts by; null: the
                                    first learner's own, which lud_experiment_check finds */
    const char *curve;           /* the column of the figure */
    bool least;                  /* smaller scores are better */
    lud_experiment_settings set; /* of all runs */
    int n_tasks, n_variants, n_seeds, baseline;
    lud_experiment_task tasks[LUD_EXPERIMENT_TASKS];
    lud_experiment_variant *variants; /* [n_variants]; of a file at most LUD_EXPERIMENT_VARIANTS */
    int64_t seeds[LUD_EXPERIMENT_SEEDS];
    lud_experiment_training *trainings; /* [n_tasks][n_variants], of lud_experiment_check */
} lud_experiment;

/* Reads the file strictly. Texts lie in the arena. */
lud_status lud_experiment_read(lud_arena *arena, const char *path, lud_experiment *experiment,
                               lud_error *error);
/* The same of a text; `name` stands for the file. Scenarios are not looked for. */
lud_status lud_experiment_parse(lud_arena *arena, const char *name, const char *text, size_t length,
                                lud_experiment *experiment, lud_error *error);
/* Opens every scenario with every variant's settings, so that a mistake is told before anything runs; finds
 * `trainings`, which lie in the arena, and whether each learner measures the score. */
lud_status lud_experiment_check(lud_arena *arena, lud_experiment *experiment, lud_error *error);
/* Whether a name can be part of a path and of a table: 1 to 63 letters, digits, -, _, . and +, of which the
 * first is no point. */
bool lud_experiment_is_name(const char *text);
/* The name of a scenario's file, or of a RUN, without folder and ending; in the arena, null without memory.
 */
const char *lud_experiment_stem(lud_arena *arena, const char *path);

/* Runs are numbered task by task, variant by variant, seed by seed. */
typedef struct lud_experiment_run {
    int task, variant, seed; /* indices */
} lud_experiment_run;
int lud_experiment_n_runs(const lud_experiment *experiment);
lud_experiment_run lud_experiment_run_at(const lud_experiment *experiment, int number);
lud_experiment_training *lud_experiment_training_of(const lud_experiment *experiment, int task, int variant);
