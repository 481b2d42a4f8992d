/* A data set of what a cast does, with everything around the recording: where it goes, who acted and what
 * Minari is told, as `ludus record` and ludus_record_data (library/) make it. */
#pragma once

#include "learn/episodes/file/minari.h"
#include "learn/episodes/recorder.h"

/* Who acts, in words: "human 0: heuristic, robot 1: random", or "random" where all do the same, and the RUN
 * behind them (null: none). The caller looks at text->failed. */
void lud_data_policy_words(const lud_model *model, const lud_cast *cast, const char *run, lud_text *text);

/* lud_record_data to a target; `run` is the RUN that acts, null: none. Of the options path, policy and
 * policy_version are filled in; the rest is the caller's. What was finished before an interruption is a
 * complete data set, described to Minari too; then the status is LUD_INTERRUPTED. */
lud_status lud_record_data_of(const lud_scenario *scenario, const lud_cast *cast, const char *run,
                              const lud_data_target *target, const lud_recording_options *options,
                              lud_recording_result *result, lud_error *error);
