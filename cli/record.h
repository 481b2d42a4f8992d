/* The flags of `ludus record`, whose pictures and data sets are made in files of their own. */
#pragma once

#include "cli/window/view_flags.h"

/* Numbers that are 0 and texts that are null were not given; `hold` is then negative. */
typedef struct lud_record_values {
    lud_scenario_flags scenario;
    lud_view_flags shown;
    const char *policy;
    const char *out, *observations;
    int64_t fps, frames_per_step, steps, level;
    double hold;
    bool no_views, json, quiet;
} lud_record_values;

/* Records episodes as data. */
lud_status lud_record_data_set(const lud_record_values *values, const char *path, lud_error *error);
