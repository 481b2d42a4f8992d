/* What `ludus inspect` says about a data set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct lud_data_report_options {
    int64_t episode; /* whose first and last frames are told in words */
    bool verify;     /* every episode is played again */
    bool json;
} lud_data_report_options;

lud_status lud_report_data_set(const char *path, const lud_data_report_options *options, lud_error *error);
