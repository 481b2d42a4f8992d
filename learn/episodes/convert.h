/* Data sets anew: of an older window semantics, of Minari's own, with observations or without. */
#pragma once

#include <stdio.h>

#include "learn/episodes/data_set.h"

typedef struct lud_convert_options {
    const char *path;   /* of the new data set */
    bool frames, views; /* see lud_data_writing */
    int level, n_threads;
    FILE *progress; /* where the progress line goes; null: none */
} lud_convert_options;

typedef struct lud_convert_result {
    int64_t episodes, steps;
    int64_t dropped; /* actions that led to no frame */
} lud_convert_result;

/* Writes all episodes of a set again, in the present format and with the present window semantics: an action
 * that leads to no frame of its own (last_action_valid false) goes; episodes that can be played again are,
 * and compared with what was recorded. Sets without states cannot be kept without frames
 * (LUD_ERROR_UNSUPPORTED). */
lud_status lud_data_convert(lud_data_set *set, const lud_convert_options *options, lud_convert_result *result,
                            lud_error *error);
