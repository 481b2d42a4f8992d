#include <inttypes.h>
#include <jansson.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/cli.h"
#include "learn/episodes/convert.h"
#include "learn/episodes/file/minari.h"

typedef struct convert_values {
    const char *out, *observations;
    int64_t level, threads;
    bool no_views, json, quiet;
} convert_values;

#define FLAGS convert_values
static const lud_flag flags[] = {
    TEXT_FLAG("out", 'o', out, "FILE", "the new data set: NAME.h5, or NAME/ for a folder of Minari's"),
    TEXT_FLAG("observations", 0, observations, "WORD",
              "stored, or replayed: made again from the actions when they are read (stored)"),
    SWITCH_FLAG("no-views", 0, no_views, "without the groups that Minari reads"),
    INT_FLAG("level", 0, level, 1, 9, "N", "of compression, 1 fast to 9 small (6)"),
    INT_FLAG("threads", 't', threads, 1, 4096, "N", "threads to use"),
    SWITCH_FLAG("json", 'j', json, "what was converted as JSON on standard output"),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *data) {
    *(convert_values *)data = (convert_values){.level = 6};
}

static lud_status report(const convert_values *v, const lud_data_set *set, const lud_data_target *target,
                         const lud_convert_result *r, lud_error *error) {
    const lud_data_info *info = lud_data_set_info(set);
    if (v->json)
        return lud_print_json(json_pack("{s:s, s:I, s:I, s:I, s:i, s:i}", "file", target->file.bytes,
                                        "episodes", (json_int_t)r->episodes, "steps", (json_int_t)r->steps,
                                        "actions_dropped", (json_int_t)r->dropped,
                                        "from_window_semantics_version", info->window_semantics,
                                        "window_semantics_version", LUD_WINDOW_SEMANTICS),
                              error);
    printf("%s: %" PRId64 " episodes, %" PRId64 " steps, window semantics version %d (before: %d)\n",
           target->file.bytes, r->episodes, r->steps, LUD_WINDOW_SEMANTICS, info->window_semantics);
    if (r->dropped)
        printf("%" PRId64 " actions led to no observation and were left out, the last of every episode\n",
               r->dropped);
    return LUD_OK;
}

static lud_status convert(const convert_values *v, lud_data_set *set, const lud_data_target *target,
                          lud_error *error) {
    const bool replayed = v->observations && !strcmp(v->observations, "replayed");
    const lud_convert_options options = {.path = target->file.bytes,
                                         .frames = !replayed,
                                         .views = !replayed && !v->no_views,
                                         .level = (int)v->level,
                                         .n_threads = v->threads ? (int)v->threads : omp_get_max_threads(),
                                         .progress = !v->quiet && isatty(fileno(stderr)) ? stderr : NULL};
    lud_convert_result result;
    lud_status status = lud_data_target_prepare(target, error);
    if (!status) status = lud_data_convert(set, &options, &result, error);
    if (!status && options.views) status = lud_data_target_describe(target, error);
    return status ? status : report(v, set, target, &result, error);
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const convert_values *v = data;
    if (!v->out || !lud_data_target_is(v->out))
        return lud_invalid(error, "'ludus convert' needs -o NAME.h5, or -o NAME/ for a folder%s%s",
                           v->out ? "; found " : "", v->out ? v->out : "");
    if (v->observations && strcmp(v->observations, "replayed") != 0 && strcmp(v->observations, "stored") != 0)
        return lud_invalid(error, "--observations: expected stored or replayed, found '%s'", v->observations);
    lud_data_set *set = NULL;
    lud_data_target target = {0};
    lud_status status = lud_data_set_open(arguments[0], &set, error);
    if (!status) status = lud_data_target_of(v->out, &target, error);
    if (!status) status = convert(v, set, &target, error);
    lud_data_target_free(&target);
    lud_data_set_close(set);
    return status;
}

const lud_verb lud_verb_convert = {
    .name = "convert",
    .about = "write a data set anew: of an older version, of Minari's own, of a recording that was cut off",
    .arguments = "DATA.h5",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(convert_values),
    .set_defaults = set_defaults,
    .notes = "Episodes of `ludus record` are played again on the way and compared with what was recorded.\n\n"
             "example: ludus convert old.h5 -o new.h5\n",
    .run = run};
