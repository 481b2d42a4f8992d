#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/window/view_data.h"
#include "cli/window/view_training.h"
#include "learn/runs/run.h"
#include "learn/runs/run_named.h"
#include "render/window.h"

typedef struct view_values {
    lud_scenario_flags scenario;
    const char *theme;
    double speed;
    int64_t episode;
    bool still, play, once, follow;
} view_values;

#define FLAGS view_values
static const lud_flag flags[] = {
    REAL_FLAG("speed", 0, speed, 0.25, 256, "N",
              "steps a second while playing (as the scenario says, else 4)"),
    INT_FLAG("episode", 0, episode, 0, 1e12, "N", "data set: begin with this one"),
    SWITCH_FLAG("play", 'p', play, "start playing at once"),
    SWITCH_FLAG("once", 0, once, "stop where an episode ends; else the next begins"),
    SWITCH_FLAG("follow", 0, follow,
                "a training that goes on: agents act as it teaches them, with its curves"),
    SWITCH_FLAG("still", 0, still, "no motion between states"),
    TEXT_FLAG("theme", 0, theme, "NAME", "light or dark (as the scenario says, else light)"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
};

static void set_defaults(void *values) {
    view_values *v = values;
    *v = (view_values){0};
    lud_scenario_flags_default(&v->scenario);
}

/* `context` is the RUN folder; null: a scenario file. */
static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    const char *folder = context;
    lud_status status = folder ? lud_run_act(folder, scenario, cast, error) : LUD_OK;
    if (!status) status = lud_run_fill(scenario, cast, error);
    if (!status) status = lud_run_overlay(folder, scenario, cast, source, error);
    return status;
}

/* `context` is the lud_training_view. Until there are parameters agents act as the scenario says. */
static lud_status loaded_training(void *context, const lud_scenario *scenario, lud_cast *cast,
                                  lud_overlay_source **source, lud_error *error) {
    char run[4096];
    return loaded(lud_training_view_run(context, run, sizeof run) ? run : NULL, scenario, cast, source,
                  error);
}

/* `context` is the lud_data_view. */
static lud_status loaded_data(void *context, const lud_scenario *scenario, lud_cast *cast,
                              lud_overlay_source **source, lud_error *error) {
    LUD_TRY(lud_run_fill(scenario, cast, error));
    return lud_data_view_overlay(context, source, error);
}

static lud_status view_data(const view_values *values, const char *path, const lud_theme_name *theme,
                            lud_error *error) {
    lud_data_view view;
    lud_status status = lud_data_view_open(path, &view, error);
    if (status) return status;
    const lud_view_options options = {.path = path,
                                      .text = view.info->scenario,
                                      .episodes = &view.source,
                                      .first_episode = values->episode,
                                      .theme = theme,
                                      .no_motion = values->still,
                                      .speed = values->speed,
                                      .playing = values->play,
                                      .once = values->once,
                                      .loaded = loaded_data,
                                      .context = &view};
    status = values->episode < view.source.n
                 ? lud_view(&options, NULL, error)
                 : lud_invalid(error, "--episode: expected a number below %" PRId64 ", found %" PRId64,
                               view.source.n, values->episode);
    lud_data_view_close(&view);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const view_values *values = data;
    lud_theme_name theme;
    if (values->theme && lud_theme_find(values->theme, &theme, error))
        return lud_fail_context(error, "--theme");
    if (values->follow && lud_file_exists(arguments[0]) && !lud_folder_exists(arguments[0]))
        return lud_invalid(error, "--follow: %s is a file, expected the folder of a training", arguments[0]);
    if (values->follow) LUD_TRY(lud_training_view_wait(arguments[0], error));
    if (lud_data_set_is(arguments[0]))
        return view_data(values, arguments[0], values->theme ? &theme : NULL, error);
    /* opened once here for the message about a file that is not there; the viewer reads it again, and again
     * when it changes */
    lud_scenario *scenario;
    lud_status status = lud_scenario_open(arguments[0], &values->scenario, &scenario, error);
    if (status) return status;
    lud_scenario_destroy(scenario);
    lud_scenario_overrides overrides;
    LUD_TRY(lud_scenario_flags_overrides(&values->scenario, &overrides, error));
    lud_text path = {0};
    char *run = lud_run_is(arguments[0]) ? (char *)(uintptr_t)arguments[0] : NULL;
    char *folder = lud_run_folder(arguments[0]);
    lud_text_append(&path, run ? "%s/scenario.yaml" : "%s", folder ? folder : "");
    lud_view_options options = {.path = path.bytes,
                                .overrides = &overrides,
                                .theme = values->theme ? &theme : NULL,
                                .no_motion = values->still,
                                .speed = values->speed,
                                .playing = values->play || values->follow,
                                .once = values->once,
                                .loaded = loaded,
                                .context = run};
    lud_training_view training = {0};
    lud_window_report report = {0};
    status = path.failed || !folder ? lud_no_memory(error, "a path") : LUD_OK;
    if (!status && values->follow) {
        status = lud_training_view_open(folder, &training, error);
        options.loaded = loaded_training;
        options.context = &training;
        options.training = &training.base;
    }
    if (!status) status = lud_view(&options, &report, error);
    lud_training_view_close(&training);
    free(folder);
    lud_text_free(&path);
    if (!status) lud_log(NULL, LUD_LOG_DEBUG, "first frame after %.3f s", report.first_frame_seconds);
    return status;
}

const lud_verb lud_verb_view = {
    .name = "view",
    .about = "open a window: watch, pause, step, rewind, inspect, take the controls",
    .arguments = "SCENARIO|RUN|DATA.h5",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(view_values),
    .set_defaults = set_defaults,
    .notes = "H in the window lists all keys. The scenario is read anew when its file changes.\n"
             "A RUN of `ludus solve` is shown with everybody acting on the solution, and its values over "
             "the\nworld and beside it: W worth of goals, A arrows, U bars, D curves.\n\n"
             "--follow shows a training that goes on (`ludus train ... --view` does it by itself): newer "
             "parameters\nact from the next episode on; Ctrl S saves it, Ctrl E saves and ends it.\n\n"
             "A data set of `ludus record` is shown episode by episode: N the next, Shift N the one before; "
             "the bars\n"
             "are the probabilities with which the actions were drawn.\n\n"
             "example: ludus view scenarios/multigrid/rescue.yaml --theme dark --play\n"
             "         ludus view rescue.h5 --episode 17\n",
    .run = run};
