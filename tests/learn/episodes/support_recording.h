/* Recordings for the tests of data sets, in a scratch folder. */
#pragma once

#include "learn/episodes/recorder.h"

/* A folder of its own, removed with everything in it by the second. */
const char *recording_folder(void);
void recording_remove(void);

typedef struct recording_call {
    const char *scenario; /* below the source's scenarios/ */
    const char *name;     /* of the file in the folder */
    int environments, episodes, threads;
    int32_t max_steps;
    bool frames, views;
} recording_call;

/* Path of a file in the folder; stays until the next call but three. */
const char *recording_path(const char *name);
/* Records; fails the running test where that does not work. */
lud_recording_result recording_make(const recording_call *call);
/* Says what the recorder says. */
lud_status recording_try(const recording_call *call, lud_recording_result *result, lud_error *error);
/* Opens the file; fails the running test where that does not work. */
lud_data_set *recording_open(const char *name);
