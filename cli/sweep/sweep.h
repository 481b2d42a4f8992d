/* What `ludus sweep` is to do, as its flags say. */
#pragma once

#include "cli/cli.h"
#include "cli/sweep/ranges.h"

typedef struct lud_sweep {
    const char *path;                /* of the scenario */
    const lud_scenario_flags *flags; /* settings of all points */
    const lud_scenario *scenario;    /* it with these */
    const lud_sweep_range *ranges;   /* [n_ranges] */
    int n_ranges;
    int64_t n_samples; /* points that are drawn; 0: the grid */
    uint64_t seed;     /* of drawing them */
    const char *output;
    bool quiet;
    /* of trainings only */
    const char *score; /* null: the learner's own */
    bool least;        /* smaller scores are better */
    const int64_t *seeds;
    int n_seeds;
    int64_t halving; /* only the best of so many go on after each budget; 0: all are trained to their end */
    int64_t budget_iterations, budget_steps; /* the first budget; 0: as follows from the number of points */
    int64_t jobs;                            /* side by side; 0: as many as processors */
    bool dry;
} lud_sweep;
