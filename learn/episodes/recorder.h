/* Recording episodes of a cast in many environments (agents/rollout.h) into a data set. */
#pragma once

#include "agents/cast.h"
#include "learn/episodes/data_set.h"
#include "sim/scenario.h"

typedef struct lud_recording_options {
    const char *path;        /* of the data set */
    const char *policy;      /* who acts, in words */
    uint32_t policy_version; /* see LUD_DATA_POLICY_VERSION */
    int64_t episodes;
    int32_t max_steps; /* an episode that is longer is cut there, neither terminated nor truncated, and the
                          next begins; 0: LUD_ENDLESS_STEPS where the world has no limit of its own */
    bool frames;       /* see lud_data_writing */
    bool views;
    int level;      /* of compression, 1 to 9 */
    FILE *progress; /* where the progress line goes; null: none */
} lud_recording_options;
enum { LUD_RECORDING_LEVEL = 1 };

typedef struct lud_recording_result {
    int64_t episodes, steps; /* in the file */
    uint64_t steps_taken;    /* of environments, those of unfinished episodes too */
    double seconds;          /* of recording, without making and completing the file */
    double seconds_in_all;
} lud_recording_result;

/* Records so many whole episodes, each environment an equal share (those that lud_rollout_run counts), in the
 * order in which they end, environments in the order of their numbers. Another thread writes meanwhile.
 * Memory: twice the longest episode of every environment. On Ctrl-C completes the file with what was
 * finished, within a second, and returns LUD_INTERRUPTED. */
lud_status lud_record_data(const lud_scenario *scenario, const lud_cast *cast,
                           const lud_recording_options *options, lud_recording_result *result,
                           lud_error *error);
