#include <dirent.h>
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "cli/cli.h"

void lud_scenario_flags_default(lud_scenario_flags *flags) {
    flags->seed = flags->environments = flags->episodes = flags->threads = -1;
    flags->precision = NULL;
}

/* A message for a file that is not there, with the nearest name of its folder. */
static lud_status missing_file(const char *path, lud_error *error) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[1024];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    lud_arena *arena = lud_arena_create(0);
    DIR *stream = arena ? opendir(folder) : NULL;
    enum { MAX_NAMES = 4096 };
    const char **names = arena ? lud_arena_take_array(arena, MAX_NAMES, sizeof *names) : NULL;
    int n = 0;
    for (struct dirent *entry; stream && names && n < MAX_NAMES && (entry = readdir(stream));) {
        if (entry->d_name[0] == '.') continue;
        char *copy = lud_arena_text(arena, entry->d_name, strlen(entry->d_name));
        if (copy) names[n++] = copy;
    }
    if (stream) closedir(stream);
    const char *near = n ? lud_nearest_name(name, names, n) : NULL;
    if (near)
        lud_fail(error, LUD_ERROR_INPUT, "%s: no such file, did you mean '%.*s%s'?", path,
                 slash ? (int)(slash - path + 1) : 0, path, near);
    else
        lud_fail(error, LUD_ERROR_INPUT, "%s: no such file", path);
    lud_arena_destroy(arena);
    return LUD_ERROR_INPUT;
}

lud_status lud_scenario_open(const char *path, const lud_scenario_flags *flags, lud_scenario **scenario,
                             lud_error *error) {
    *scenario = NULL;
    if (!lud_file_exists(path) && !lud_folder_exists(path)) return missing_file(path, error);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"run.seed", flags->seed},
                   {"run.environments", flags->environments},
                   {"run.episodes", flags->episodes},
                   {"run.threads", flags->threads}};
    enum { N_NUMBERS = sizeof numbers / sizeof *numbers };
    const char *set[LUD_FLAG_LIST_ITEMS + N_NUMBERS + 1];
    char text[N_NUMBERS][64], precision[64];
    int n = 0;
    for (int i = 0; i < flags->set.n; i++) set[n++] = flags->set.items[i];
    for (int i = 0; i < N_NUMBERS; i++) {
        if (numbers[i].value < 0) continue;
        snprintf(text[i], sizeof text[i], "%s=%" PRId64, numbers[i].key, numbers[i].value);
        set[n++] = text[i];
    }
    if (flags->precision) {
        snprintf(precision, sizeof precision, "run.precision=%s", flags->precision);
        set[n++] = precision;
    }
    /* a RUN folder stands for the scenario it was made from */
    lud_text run_path = {0};
    if (lud_folder_exists(path)) lud_text_append(&run_path, "%s/scenario.yaml", path);
    lud_status status = lud_scenario_load(run_path.bytes ? run_path.bytes : path, set, n, scenario, error);
    lud_text_free(&run_path);
    if (status == LUD_OK && (*scenario)->run.threads > 0) omp_set_num_threads((int)(*scenario)->run.threads);
    return status;
}

lud_status lud_print_json(json_t *root, lud_error *error) {
    if (!root) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    json_dumpf(root, stdout, JSON_INDENT(2)); /* what cannot be written is seen by the stream */
    putchar('\n');
    json_decref(root);
    return lud_flush_output(error);
}

lud_status lud_flush_output(lud_error *error) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return LUD_OK;
    return lud_fail(error, LUD_ERROR_IO, "could not write the results to standard output");
}
