#include "learn/runs/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "learn/runs/origin.h"

/* In the order in which they are looked for. */
static const char *const names[] = {"policy.safetensors", "checkpoint.safetensors",
                                    "checkpoint.previous.safetensors"};
enum { N_NAMES = sizeof names / sizeof *names };

const char *lud_run_file(const char *run) {
    static const char ending[] = ".safetensors";
    const size_t n = strlen(run), end = sizeof ending - 1;
    if (n <= end || strcmp(run + n - end, ending) != 0 || lud_folder_exists(run)) return NULL;
    const char *slash = strrchr(run, '/');
    return slash ? slash + 1 : run;
}

char *lud_run_folder(const char *run) {
    const char *file = lud_run_file(run);
    if (!file) return strdup(run);
    const size_t n = (size_t)(file - run);
    return n == 0 ? strdup(".") : strndup(run, n > 1 ? n - 1 : n);
}

bool lud_run_is(const char *path) {
    return lud_folder_exists(path) || (lud_run_file(path) && lud_file_exists(path));
}

lud_status lud_run_holds(const char *folder, const char *name, bool *there, lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", folder, name);
    *there = !path.failed && lud_file_exists(path.bytes);
    const bool failed = path.failed;
    lud_text_free(&path);
    return failed ? lud_no_memory(error, "a run") : LUD_OK;
}

/* The name of the file that parameters are read from; null: there is none. */
static lud_status find_name(const char *run, const char **name, lud_error *error) {
    bool there = lud_run_file(run) && lud_file_exists(run);
    *name = there ? lud_run_file(run) : NULL;
    if (lud_run_file(run)) return LUD_OK;
    for (int i = 0; i < N_NAMES && !there; i++) {
        LUD_TRY(lud_run_holds(run, names[i], &there, error));
        if (there) *name = names[i];
    }
    return LUD_OK;
}

lud_status lud_run_has_parameters(const char *run, bool *there, lud_error *error) {
    const char *name = NULL;
    const lud_status status = find_name(run, &name, error);
    *there = name != NULL;
    return status;
}

lud_status lud_run_parameters(const char *run, const char *learner, const lud_model *model,
                              lud_checkpoint **checkpoint, lud_kept *kept, lud_error *error) {
    const char *name = NULL;
    *checkpoint = NULL;
    LUD_TRY(find_name(run, &name, error));
    char *folder = lud_run_folder(run);
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", folder ? folder : "",
                    name                ? name
                    : lud_run_file(run) ? lud_run_file(run)
                                        : names[0]);
    lud_status status = folder && !path.failed ? lud_checkpoint_open(path.bytes, checkpoint, error)
                                               : lud_no_memory(error, "a run");
    bool last = false;
    if (status == LUD_ERROR_INPUT && name == names[0] && !lud_run_holds(folder, names[1], &last, NULL) &&
        last && error) {
        const size_t n = strlen(error->text);
        snprintf(error->text + n, sizeof error->text - n,
                 "; %s/%s in the place of %s has the last parameters", folder, names[1], run);
    }
    if (!status) status = lud_origin_check(*checkpoint, path.bytes, folder, learner, model, error);
    if (!status && kept) lud_kept_read(*checkpoint, kept);
    if (status) {
        lud_checkpoint_destroy(*checkpoint);
        *checkpoint = NULL;
    }
    lud_text_free(&path);
    free(folder);
    return status;
}
