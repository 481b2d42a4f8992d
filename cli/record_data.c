#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/record.h"
#include "learn/episodes/record_run.h"

/* A flag that was given, of those that are about pictures. */
static const char *picture_flag(const lud_record_values *v) {
    const lud_view_flags *shown = &v->shown;
    return shown->size          ? "--size"
           : shown->view        ? "--view"
           : shown->theme       ? "--theme"
           : shown->scale > 0   ? "--scale"
           : shown->overlay     ? "--overlay"
           : v->fps             ? "--fps"
           : v->frames_per_step ? "--frames-per-step"
           : v->hold >= 0       ? "--hold"
           : shown->still       ? "--still"
           : shown->no_goals    ? "--no-goals"
           : shown->labels      ? "--labels"
           : shown->caption     ? "--caption"
           : shown->no_caption  ? "--no-caption"
                                : NULL;
}

static lud_status read_options(const lud_record_values *v, lud_recording_options *o, lud_error *error) {
    const char *flag = picture_flag(v);
    if (flag) return lud_invalid(error, "%s: is about pictures; %s is to be a data set", flag, v->out);
    const bool replayed = v->observations && !strcmp(v->observations, "replayed");
    if (v->observations && !replayed && strcmp(v->observations, "stored") != 0)
        return lud_invalid(error, "--observations: expected stored or replayed, found '%s'", v->observations);
    if (v->steps > INT32_MAX - 1)
        return lud_invalid(error, "--steps: expected at most %d, found %" PRId64, INT32_MAX - 1, v->steps);
    *o = (lud_recording_options){.max_steps = (int32_t)v->steps,
                                 .frames = !replayed,
                                 .views = !replayed && !v->no_views,
                                 .level = v->level ? (int)v->level : LUD_RECORDING_LEVEL,
                                 .progress = !v->quiet && isatty(fileno(stderr)) ? stderr : NULL};
    return LUD_OK;
}

static lud_status report(const lud_record_values *v, const lud_data_target *target,
                         const lud_recording_result *r, bool views, lud_error *error) {
    struct stat info;
    const double bytes = stat(target->file.bytes, &info) ? 0 : (double)info.st_size,
                 rate = r->seconds > 0 ? (double)r->steps_taken / r->seconds : 0;
    if (v->json) {
        json_t *root =
            json_pack("{s:s, s:s?, s:I, s:I, s:f, s:f, s:f, s:f}", "file", target->file.bytes, "minari",
                      views ? target->folder.bytes : NULL, "episodes", (json_int_t)r->episodes, "steps",
                      (json_int_t)r->steps, "bytes", bytes, "seconds", r->seconds_in_all, "recording_seconds",
                      r->seconds, "steps_per_second", rate);
        return lud_print_json(root, error);
    }
    char steps[16], size[16], speed[16], time[24], memory[16];
    printf("%s: %" PRId64 " episodes, %s steps, %s, in %s (%s steps/s), at most %s of memory\n",
           target->file.bytes, r->episodes, lud_format_count((double)r->steps, steps),
           lud_format_memory(bytes, size), lud_format_seconds(r->seconds_in_all, time),
           lud_format_count(rate, speed), lud_format_memory(lud_memory_peak(), memory));
    if (views) printf("Minari: minari.MinariDataset(\"%s\")\n", target->folder.bytes);
    return LUD_OK;
}

static lud_status record_opened(const lud_record_values *v, const lud_data_target *target, const lud_run *run,
                                lud_recording_options *options, lud_error *error) {
    lud_recording_result result = {0};
    options->episodes = run->scenario->run.episodes;
    lud_status status =
        lud_record_data_of(run->scenario, run->cast, run->folder, target, options, &result, error);
    if (!status || status == LUD_INTERRUPTED) { /* an interrupted data set is complete, only shorter */
        lud_error at_end = {0};
        const lud_status told = report(v, target, &result, options->views, &at_end);
        if (told && !status && error) *error = at_end;
        if (!status) status = told;
    }
    return status;
}

lud_status lud_record_data_set(const lud_record_values *v, const char *path, lud_error *error) {
    lud_recording_options options;
    lud_data_target target = {0};
    lud_run run = {0};
    lud_status status = read_options(v, &options, error);
    if (!status) status = lud_data_target_of(v->out, &target, error);
    if (!status) status = lud_run_open_with(path, &v->scenario, v->policy, &run, error);
    if (!status) status = record_opened(v, &target, &run, &options, error);
    lud_run_close(&run);
    lud_data_target_free(&target);
    return status;
}
