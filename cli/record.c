#include "render/record.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "agents/cast.h"
#include "base/progress.h"
#include "cli/record.h"
#include "learn/episodes/file/minari.h"
#include "render/video/video.h"

#define FLAGS lud_record_values
static const lud_flag flags[] = {
    TEXT_FLAG("out", 'o', out, "FILE",
              "where to: .mp4, .webm, .gif, .png (one file a frame), or .h5: a data set"),
    INT_FLAG("episodes", 'n', scenario.run.episodes, 1, 1e9, "N",
             "episodes to record (1; data set: as the scenario says)"),
    INT_FLAG("steps", 0, steps, 0, 1e9, "N", "at most N steps of an episode; 0: to its end"),
    INT_FLAG("envs", 'e', scenario.run.environments, 1, 1 << 20, "N",
             "environments side by side: of a data set, or of pictures, as a grid of at most 16"),
    TEXT_FLAG("observations", 0, observations, "WORD",
              "data set: stored, or replayed: made again from the actions when they are read (stored)"),
    SWITCH_FLAG("no-views", 0, no_views, "data set: without the groups that Minari reads"),
    INT_FLAG("level", 0, level, 1, 9, "N", "data set: of compression, 1 fast to 9 small (1)"),
    TEXT_FLAG("size", 0, shown.size, "N|WxH",
              "pixels: the longer side of a world, or width and height of all"),
    INT_FLAG("fps", 0, fps, 1, 240, "N", "frames a second"),
    INT_FLAG("frames-per-step", 'f', frames_per_step, 1, 240, "N",
             "1: states only; more: the motion between them"),
    REAL_FLAG("hold", 0, hold, 0, 60, "S", "seconds that the first and last state stay"),
    LUD_VIEW_FLAG_ROWS(shown),
    TEXT_FLAG("policy", 0, policy, "RUN", "agents follow the policy trained in this run"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("json", 'j', json, "what was recorded as JSON on standard output"),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *data) {
    lud_record_values *values = data;
    lud_scenario_flags_default(&values->scenario);
    values->hold = -1;
}

/* A flag that was given, of those that are about data sets. */
static const char *data_flag(const lud_record_values *values) {
    return values->observations ? "--observations"
           : values->no_views   ? "--no-views"
           : values->level      ? "--level"
                                : NULL;
}

static lud_status read_options(const lud_record_values *values, lud_record_options *options,
                               lud_error *error) {
    *options = lud_record_defaults();
    const char *flag = data_flag(values);
    if (flag)
        return lud_invalid(error, "%s: is about data sets; %s is to be a video or pictures", flag,
                           values->out);
    if (values->scenario.run.environments > LUD_SIDES)
        return lud_invalid(error,
                           "--envs: expected at most %d, as %s is to be a video or pictures, found %" PRId64,
                           LUD_SIDES, values->out, values->scenario.run.environments);
    lud_status status = lud_video_check_path(values->out, error);
    if (status) return status;
    options->path = values->out;
    if (values->fps) options->fps = (int)values->fps;
    if (values->frames_per_step) options->frames_per_step = (int)values->frames_per_step;
    options->max_steps = (int)values->steps;
    if (values->hold >= 0) options->hold = (float)values->hold;
    options->episodes = values->scenario.run.episodes > 0 ? (int)values->scenario.run.episodes : 1;
    options->progress = !values->quiet && isatty(fileno(stderr)) ? stderr : NULL;
    return LUD_OK;
}

static lud_status report(const lud_record_values *values, const lud_record_result *r, lud_error *error) {
    double rate = r->drawing_seconds > 0 ? (double)r->frames / r->drawing_seconds : 0;
    if (values->json) {
        json_t *root =
            json_pack("{s:s, s:i, s:i, s:I, s:I, s:f, s:f}", "file", values->out, "width", r->width, "height",
                      r->height, "frames", (json_int_t)r->frames, "steps", (json_int_t)r->steps, "seconds",
                      r->seconds, "drawing_seconds", r->drawing_seconds);
        return lud_print_json(root, error);
    }
    char text[16], time[24];
    lud_text files = {0};
    lud_video_name_frame(values->out, 1, &files);
    if (files.bytes && strcmp(files.bytes, values->out) != 0) {
        lud_text_append(&files, " to ");
        lud_video_name_frame(values->out, r->frames, &files);
    }
    printf("%s: %" PRId64 " frames of %d x %d, %" PRId64 " steps, in %s (drawing alone %s frames/s)\n",
           files.failed ? values->out : files.bytes, r->frames, r->width, r->height, r->steps,
           lud_format_seconds(r->seconds, time), lud_format_count(rate, text));
    lud_text_free(&files);
    return LUD_OK;
}

/* What a video shows: the first is what is named first; the others go in step with it, or are environments of
 * the same. */
typedef struct recorded {
    int n;
    lud_run runs[LUD_SIDES];
    lud_text who[LUD_SIDES];
    lud_record_side others[LUD_SIDES];
} recorded;

static void close_recorded(recorded *r) {
    for (int k = 0; k < r->n; k++) {
        lud_text_free(&r->who[k]);
        lud_run_close(&r->runs[k]);
    }
    for (int k = 1; k < r->n; k++) lud_overlay_source_destroy(r->others[k].source);
}

/* Values of a RUN are shown where they were asked for, or where it has some. */
static lud_status open_overlay(const lud_record_values *values, const lud_run *run, const char *path,
                               int parts, lud_overlay_source **source, lud_error *error) {
    lud_status status = LUD_OK;
    if (parts && (values->shown.overlay || run->folder))
        status = lud_run_overlay(run->folder, run->scenario, run->cast, source, error);
    if (!status && !*source && values->shown.overlay && parts)
        status =
            lud_invalid(error,
                        "--overlay: %s has no solution and no learned values; `ludus solve %s -o RUN` makes "
                        "one",
                        path, path);
    return status;
}

/* What the scenario's view says, flags and view files included. */
static lud_status take_view(const lud_record_values *values, const lud_scenario *scenario,
                            lud_record_options *options, lud_error *error) {
    lud_record_as_shown(scenario, options);
    options->seed = (uint64_t)scenario->run.seed;
    if (values->shown.side && options->scenario)
        return lud_invalid(error,
                           "--size: expected WxH, as the view has the panels of the window, found '%s'",
                           values->shown.size);
    if (values->shown.side) {
        options->width = values->shown.side;
        options->height = 0;
    }
    return LUD_OK;
}

static lud_status open_all(const lud_record_values *values, const char *const *paths, int n,
                           lud_record_options *options, recorded *r, lud_error *error) {
    const int n_envs = (int)values->scenario.run.environments;
    options->apart = n_envs > 1;
    if (options->apart) n = n_envs;
    for (int k = 0; k < n; k++) {
        lud_run *run = &r->runs[k];
        const char *path = paths[options->apart ? 0 : k],
                   *policy = k && !options->apart ? NULL : values->policy;
        LUD_TRY(lud_run_open_with(path, &values->scenario, policy, run, error));
        r->n = k + 1;
        const lud_layout *layout = &run->scenario->model->layout;
        lud_caption_who(run->cast, layout->n_agents, run->folder, &r->who[k]);
        if (r->who[k].failed) return lud_no_memory(error, "a caption");
        r->others[k] = (lud_record_side){.name = r->who[k].bytes,
                                         .path = path,
                                         .model = run->scenario->model,
                                         .cast = run->cast,
                                         .scenario = run->scenario};
        if (k == 0) LUD_TRY(take_view(values, run->scenario, options, error));
        LUD_TRY(open_overlay(values, run, path, options->overlay, k ? &r->others[k].source : &options->source,
                             error));
    }
    options->caption.who = options->name = r->who[0].bytes;
    options->from = paths[0];
    options->others = r->others + 1;
    options->n_others = n - 1;
    return LUD_OK;
}

static lud_status record_pictures(const lud_record_values *values, const char *const *paths, int n,
                                  lud_error *error) {
    lud_record_options options;
    recorded r = {0};
    lud_record_result result = {0};
    LUD_TRY(read_options(values, &options, error));
    lud_status status = open_all(values, paths, n, &options, &r, error);
    if (!status) {
        status = lud_record(r.runs[0].scenario->model, r.runs[0].cast, &options, &result, error);
        for (int k = 1; k < r.n; k++) r.others[k].source = NULL; /* taken over */
    } else {
        lud_overlay_source_destroy(options.source);
    }
    if (status == LUD_OK || status == LUD_INTERRUPTED) { /* an interrupted file is complete, only shorter */
        lud_error ignored = {0};
        lud_status reported = report(values, &result, status ? &ignored : error);
        if (!status) status = reported;
    }
    close_recorded(&r);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    lud_record_values *values = data;
    LUD_TRY(lud_view_flags_apply(&values->shown, true, &values->scenario, error));
    if (!values->out) return lud_invalid(error, "'ludus record' needs -o FILE, for example -o run.mp4");
    const bool data_set = lud_data_target_is(values->out);
    if (n_arguments > 1 && data_set)
        return lud_invalid(error, "%s: a data set is made of one scenario or run, found %d", values->out,
                           n_arguments);
    if (n_arguments > 1 && values->policy)
        return lud_invalid(error, "--policy: is about one scenario; name the runs that are compared instead");
    if (n_arguments > 1 && values->scenario.run.environments > 1)
        return lud_invalid(error, "--envs: is about one scenario or RUN, found %d", n_arguments);
    return data_set ? lud_record_data_set(values, arguments[0], error)
                    : record_pictures(values, arguments, n_arguments, error);
}

const lud_verb lud_verb_record = {
    .name = "record",
    .about = "record episodes of a scenario as a video, as pictures or as a data set, without a window",
    .arguments = "SCENARIO|RUN [RUN ...]",
    .min_arguments = 1,
    .max_arguments = LUD_SIDES_COMPARED,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(lud_record_values),
    .set_defaults = set_defaults,
    .notes =
        "The same command gives the same video, byte for byte. Ctrl-C completes it with what was recorded.\n"
        "Several are shown side by side, in step from the same start and seed, with marks where they differ; "
        "--envs N\nshows environments of one with seeds that follow each other; --size is then that of each "
        "world.\n"
        "A data set is one file NAME.h5 (and NAME.minari/, with which Minari opens it), or NAME/: a folder "
        "as\n"
        "Minari makes them. A program that is killed leaves NAME.h5.partial-NUMBER with all episodes up to "
        "the\n"
        "last second.\n\n"
        "example: ludus record scenarios/multigrid/rescue.yaml -o rescue.mp4 --episodes 3\n"
        "         ludus record runs/first runs/second -o both.mp4\n"
        "         ludus record scenarios/multigrid/rescue.yaml -o rescue.png --view "
        "scenarios/views/paper.yaml\n"
        "         ludus record scenarios/multigrid/rescue.yaml -o rescue.h5 --episodes 1000\n",
    .run = run};
