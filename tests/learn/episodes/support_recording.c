#include "learn/episodes/support_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char folder[64];

const char *recording_folder(void) {
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/ludus-episodes-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

void recording_remove(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (folder[0] && system(command)) print_message("%s stays\n", folder);
    folder[0] = 0;
}

const char *recording_path(const char *name) {
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", recording_folder(), name);
    return path;
}

lud_status recording_try(const recording_call *call, lud_recording_result *result, lud_error *error) {
    char path[512];
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    snprintf(path, sizeof path, "%s/scenarios/%s", LUDUS_SOURCE_DIR, call->scenario);
    if (lud_scenario_load(path, NULL, 0, &scenario, error)) fail_msg("%s", error->text);
    scenario->run.environments = call->environments;
    scenario->run.threads = call->threads;
    if (lud_cast_create(scenario->model, scenario->policies, path, &cast, error)) fail_msg("%s", error->text);
    const lud_recording_options options = {.path = recording_path(call->name),
                                           .policy = "the scenario's",
                                           .policy_version = 7,
                                           .episodes = call->episodes,
                                           .max_steps = call->max_steps,
                                           .frames = call->frames,
                                           .views = call->views,
                                           .level = 1};
    const lud_status status = lud_record_data(scenario, cast, &options, result, error);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    return status;
}

lud_recording_result recording_make(const recording_call *call) {
    lud_error error = {0};
    lud_recording_result result;
    if (recording_try(call, &result, &error)) fail_msg("%s", error.text);
    return result;
}

lud_data_set *recording_open(const char *name) {
    lud_error error = {0};
    lud_data_set *set = NULL;
    if (lud_data_set_open(recording_path(name), &set, &error)) fail_msg("%s", error.text);
    return set;
}
