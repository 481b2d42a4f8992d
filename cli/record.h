/* The flags of `ludus record`, whose pictures and data sets are made in files of their own. */
#pragma once

#include "cli/cli.h"

/* Numbers that are 0 and texts that are null were not given; `hold` is then negative. */
typedef struct lud_record_values {
    lud_scenario_flags scenario;
    const char *policy;
    const char *out, *size, *theme, *overlay, *observations, *caption;
    int64_t fps, frames_per_step, steps, level;
    double hold;
    bool still, no_goals, no_caption, labels, no_views, json, quiet;
} lud_record_values;

/* Records episodes as data. */
lud_status lud_record_data_set(const lud_record_values *values, const char *path, lud_error *error);
