#include "learn/runs/begin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "learn/runs/aside.h"

enum { MOST_TOLD = 8, MOST_WRITTEN = 100 };

static lud_status write_scenario(const char *folder, const char *comments, const char *configuration,
                                 lud_error *error) {
    lud_text path = {0}, text = {0};
    lud_text_append(&path, "%s/scenario.yaml", folder);
    lud_text_append(&text, "%s%s", comments, configuration);
    const lud_status status = path.failed || text.failed
                                  ? lud_no_memory(error, "a run")
                                  : lud_file_write(path.bytes, text.bytes, text.length, error);
    lud_text_free(&path);
    lud_text_free(&text);
    return status;
}

lud_status lud_run_begin(const char *folder, const char *configuration, const lud_carried *carried,
                         char key[LUD_KEY_BYTES], lud_error *error) {
    lud_text fresh = {0}, files = {0};
    char *aside = NULL;
    lud_text_append(&fresh, "%s/files.partial-%ld", folder, (long)getpid());
    lud_text_append(&files, "%s/files", folder);
    lud_status status = fresh.failed || files.failed ? lud_no_memory(error, "a run") : LUD_OK;
    /* first: what is copied may be what is set aside then */
    if (!status && carried) status = lud_carried_copy(carried, fresh.bytes, error);
    if (!status) status = lud_run_set_aside(folder, &aside, error);
    if (aside) lud_log(NULL, LUD_LOG_INFO, "%s: what another run left there lies in %s now", folder, aside);
    if (!status && lud_folder_exists(fresh.bytes) && rename(fresh.bytes, files.bytes) != 0)
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be made: %s", files.bytes, strerror(errno));
    if (!status) status = write_scenario(folder, "", configuration, error);
    if (!status) status = lud_settings_key(folder, configuration, key, error);
    free(aside);
    lud_text_free(&fresh);
    lud_text_free(&files);
    return status;
}

/* Whether a path is set on the command line, or with all that it lies in. */
static bool is_named(const void *context, const char *path) {
    const lud_run_meant *meant = context;
    for (int i = 0; i < meant->n; i++) {
        const size_t n = strlen(meant->paths[i]);
        if (strncmp(path, meant->paths[i], n) == 0 && (path[n] == 0 || path[n] == '.')) return true;
    }
    return false;
}

/* Differences that nobody has asked for: neither is their path set, nor do they follow from what is. */
static lud_status check_meant(const char *folder, const lud_settings *own, const char *configuration,
                              const lud_run_meant *meant, lud_error *error) {
    static const lud_run_meant nothing = {0};
    const lud_run_meant *m = meant ? meant : &nothing;
    lud_text told = {0};
    int n = 0;
    lud_status status = lud_settings_differences(own->text, configuration, m->n ? m->plain : NULL, "the run",
                                                 MOST_TOLD, is_named, m, &told, &n, error);
    if (!status && n > 0)
        status = lud_invalid(
            error,
            "%s: the run's settings are not those of the scenario: %s%s; `ludus train %s --resume` "
            "goes on with the run's own, --set KEY=VALUE changes one on purpose",
            folder, told.bytes ? told.bytes : "", n > MOST_TOLD ? "; ..." : "", folder);
    lud_text_free(&told);
    return status;
}

/* The comments with one more about the settings until now. */
static lud_status note_change(const char *folder, lud_settings *own, const char *configuration,
                              uint64_t iteration, bool *changed, lud_text *comments, lud_error *error) {
    lud_text told = {0};
    int n = 0;
    lud_status status = lud_settings_differences(own->text, configuration, NULL, "it", MOST_WRITTEN, NULL,
                                                 NULL, &told, &n, error);
    if (!status && n > 0) status = lud_settings_key(folder, own->text, own->key, error);
    lud_text_append(comments, "%s", own->comments);
    if (!status && n > 0)
        lud_text_append(comments, "# until iteration %" PRIu64 " with other settings, key %s: %s%s\n",
                        iteration, own->key, told.bytes ? told.bytes : "", n > MOST_WRITTEN ? "; ..." : "");
    *changed = n > 0;
    lud_text_free(&told);
    return status ? status : comments->failed ? lud_no_memory(error, "a run") : LUD_OK;
}

lud_status lud_run_check_settings(const char *folder, const char *configuration, const lud_run_meant *meant,
                                  lud_error *error) {
    lud_settings own;
    bool there;
    lud_status status = lud_settings_find_text(folder, &own, &there, error);
    if (!status && there) status = check_meant(folder, &own, configuration, meant, error);
    lud_settings_free(&own);
    return status;
}

lud_status lud_run_continue(const char *folder, const char *configuration, const lud_carried *carried,
                            uint64_t iteration, char key[LUD_KEY_BYTES], lud_error *error) {
    lud_settings own;
    lud_text files = {0}, comments = {0};
    bool there, changed = false;
    lud_text_append(&files, "%s/files", folder);
    lud_status status = lud_settings_find_text(folder, &own, &there, error);
    if (!status && files.failed) status = lud_no_memory(error, "a run");
    if (!status && there)
        status = note_change(folder, &own, configuration, iteration, &changed, &comments, error);
    lud_settings_free(&own);
    if (changed && !status)
        lud_log(NULL, LUD_LOG_INFO, "%s: goes on with other settings, which its scenario.yaml tells", folder);
    if (!status && carried) status = lud_carried_copy(carried, files.bytes, error);
    if (!status) status = write_scenario(folder, comments.bytes ? comments.bytes : "", configuration, error);
    if (!status) status = lud_settings_key(folder, configuration, key, error);
    lud_text_free(&files);
    lud_text_free(&comments);
    return status;
}

lud_status lud_run_begin_again(const char *folder, const char *configuration, const lud_carried *carried,
                               char key[LUD_KEY_BYTES], lud_error *error) {
    lud_settings own;
    lud_text told = {0};
    bool there;
    int n = 1;
    lud_status status = lud_settings_find_text(folder, &own, &there, error);
    if (!status && there)
        status = lud_settings_differences(own.text, configuration, NULL, "the run", 0, NULL, NULL, &told, &n,
                                          error);
    lud_settings_free(&own);
    lud_text_free(&told);
    if (status) return status;
    return n == 0 ? lud_run_continue(folder, configuration, carried, 0, key, error)
                  : lud_run_begin(folder, configuration, carried, key, error);
}
