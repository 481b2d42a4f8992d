#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/window/edit_solve.h"
#include "cli/window/view_data.h"
#include "cli/window/view_flags.h"
#include "cli/window/view_training.h"
#include "learn/runs/run.h"
#include "learn/runs/run_named.h"
#include "render/sides.h"
#include "render/viewer/remembered.h"
#include "render/window.h"

typedef struct view_values {
    lud_scenario_flags scenario;
    lud_view_flags shown;
    int64_t episode, envs;
    const char *save_view;
    bool play, once, follow;
} view_values;

#define FLAGS view_values
static const lud_flag flags[] = {
    REAL_FLAG("speed", 0, shown.speed, 0.25, 256, "N",
              "steps a second while playing (as the scenario says, else 4)"),
    INT_FLAG("episode", 0, episode, 0, 1e12, "N", "data set: begin with this one"),
    INT_FLAG("envs", 'e', envs, 1, LUD_SIDES, "N",
             "environments with seeds that follow each other, in step as a grid; a click shows one large"),
    SWITCH_FLAG("play", 'p', play, "start playing at once"),
    SWITCH_FLAG("once", 0, once, "stop where an episode ends; else the next begins"),
    SWITCH_FLAG("follow", 0, follow,
                "a training that goes on: agents act as it teaches them, with its curves"),
    TEXT_FLAG("size", 0, shown.size, "WxH", "of the window"),
    LUD_VIEW_FLAG_ROWS(shown),
    TEXT_FLAG("save-view", 0, save_view, "FILE", "write how it was shown at last, for --view"),
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

/* `remembered` is the file of how the user has put the panels, or null. */
static lud_status view_data(const view_values *values, const char *path, const char *remembered,
                            lud_error *error) {
    lud_data_view view;
    lud_scenario_overrides overrides;
    lud_status status = lud_scenario_flags_overrides(&values->scenario, &overrides, error);
    if (!status) status = lud_data_view_open(path, &view, error);
    if (status) return status;
    overrides.n_set = 0; /* the world is the one that was recorded */
    overrides.run = lud_run_as_written;
    const lud_view_options options = {.path = path,
                                      .text = view.info->scenario,
                                      .n_environments = (int)values->envs,
                                      .episodes = &view.source,
                                      .first_episode = values->episode,
                                      .overrides = &overrides,
                                      .playing = values->play,
                                      .once = values->once,
                                      .keep = values->save_view,
                                      .remembered = remembered,
                                      .loaded = loaded_data,
                                      .context = &view};
    status = values->episode < view.source.n
                 ? lud_view(&options, NULL, error)
                 : lud_invalid(error, "--episode: expected a number below %" PRId64 ", found %" PRId64,
                               view.source.n, values->episode);
    lud_data_view_close(&view);
    return status;
}

/* What is shown, by the names of the command line. */
typedef struct shown {
    int n;
    lud_text paths[LUD_SIDES];
    lud_view_side sides[LUD_SIDES];
    char *folder; /* of the first */
} shown;

static void close_shown(shown *s) {
    for (int k = 0; k < s->n; k++) lud_text_free(&s->paths[k]);
    free(s->folder);
}

/* Opened once here for the message about a file that is not there; the viewer reads it again, and again when
 * it changes. */
static lud_status find_shown(const view_values *values, const char *const *names, int n, shown *s,
                             lud_error *error) {
    for (int k = 0; k < n; k++) {
        lud_scenario *scenario;
        if (n > 1 && lud_data_set_is(names[k]))
            return lud_invalid(error, "%s: a data set is shown alone, not beside others", names[k]);
        LUD_TRY(lud_scenario_open(names[k], &values->scenario, &scenario, error));
        lud_scenario_destroy(scenario);
        char *run = lud_run_is(names[k]) ? (char *)(uintptr_t)names[k] : NULL;
        char *folder = lud_run_folder(names[k]);
        s->n = k + 1;
        lud_text_append(&s->paths[k], run ? "%s/scenario.yaml" : "%s", folder ? folder : "");
        const bool whole = folder && !s->paths[k].failed;
        if (k == 0)
            s->folder = folder;
        else
            free(folder);
        if (!whole) return lud_no_memory(error, "a path");
        s->sides[k] = (lud_view_side){s->paths[k].bytes, run, run};
    }
    return LUD_OK;
}

static lud_status show(const view_values *values, const shown *s, const char *remembered, lud_error *error) {
    lud_scenario_overrides overrides;
    LUD_TRY(lud_scenario_flags_overrides(&values->scenario, &overrides, error));
    lud_view_options options = {.path = s->sides[0].path,
                                .run = s->sides[0].run,
                                .others = s->sides + 1,
                                .n_others = s->n - 1,
                                .n_environments = (int)values->envs,
                                .overrides = &overrides,
                                .playing = values->play || values->follow,
                                .once = values->once,
                                .keep = values->save_view,
                                .remembered = remembered,
                                .loaded = loaded,
                                .context = s->sides[0].context,
                                .solve = lud_edit_solve};
    lud_training_view training = {0};
    lud_window_report report = {0};
    lud_status status = LUD_OK;
    if (values->follow) {
        status = lud_training_view_open(s->folder, &training, error);
        options.loaded = loaded_training;
        options.context = &training;
        options.training = &training.base;
    }
    if (!status) status = lud_view(&options, &report, error);
    lud_training_view_close(&training);
    if (!status) lud_log(NULL, LUD_LOG_DEBUG, "first frame after %.3f s", report.first_frame_seconds);
    return status;
}

static lud_status show_all(const view_values *values, const char *const *arguments, int n_arguments,
                           const char *remembered, lud_error *error) {
    if (n_arguments == 1 && lud_data_set_is(arguments[0]))
        return view_data(values, arguments[0], remembered, error);
    shown s = {0};
    lud_status status = find_shown(values, arguments, n_arguments, &s, error);
    if (!status) status = show(values, &s, remembered, error);
    close_shown(&s);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    view_values *values = data;
    LUD_TRY(lud_view_flags_apply(&values->shown, false, &values->scenario, error));
    if (values->follow && n_arguments > 1)
        return lud_invalid(error, "--follow: expected the folder of one training, found %d", n_arguments);
    if (values->follow && lud_file_exists(arguments[0]) && !lud_folder_exists(arguments[0]))
        return lud_invalid(error, "--follow: %s is a file, expected the folder of a training", arguments[0]);
    if (values->follow) LUD_TRY(lud_training_view_wait(arguments[0], error));
    lud_text remembered = {0};
    lud_remembered_path(&remembered);
    const lud_status status = remembered.failed
                                  ? lud_no_memory(error, "a path")
                                  : show_all(values, arguments, n_arguments, remembered.bytes, error);
    lud_text_free(&remembered);
    return status;
}

const lud_verb lud_verb_view = {
    .name = "view",
    .about = "open a window: watch, pause, step, rewind, inspect, take the controls, edit a grid",
    .arguments = "SCENARIO|RUN|DATA.h5 [RUN ...]",
    .min_arguments = 1,
    .max_arguments = LUD_SIDES_COMPARED,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(view_values),
    .set_defaults = set_defaults,
    .keys = &lud_view_section_table,
    .notes =
        "H in the window lists all keys. The scenario is read anew when its file changes.\n"
        "A RUN of `ludus solve` is shown with everybody acting on the solution, and its values over "
        "the\nworld and beside it: W worth of goals, A arrows, U bars, D curves.\n\n"
        "Several are shown side by side, in step from the same start and seed: rings stand where an agent "
        "is on the\nother side, frames around cells that differ, and returns beside each other.\n\n"
        "--follow shows a training that goes on (`ludus train ... --view` does it by itself): newer "
        "parameters\nact from the next episode on; Ctrl S saves it, Ctrl E saves and ends it.\n\n"
        "E edits a multigrid world in the window: a palette, parameters, goals, checks; Ctrl S writes what "
        "changed\ninto the file and leaves the rest of it, comments included, as it is.\n\n"
        "A data set of `ludus record` is shown episode by episode: N the next, Shift N the one before; "
        "the bars\n"
        "are the probabilities with which the actions were drawn.\n\n"
        "example: ludus view scenarios/multigrid/rescue.yaml --theme dark --play\n"
        "         ludus view scenarios/multigrid/rescue.yaml --view scenarios/views/paper.yaml\n"
        "         ludus view runs/first runs/second\n"
        "         ludus view rescue.h5 --episode 17\n",
    .run = run};
