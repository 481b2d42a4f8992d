#include "learn/runs/origin.h"

#include <string.h>

#include "base/file.h"
#include "learn/runs/settings.h"

static const char key_of_key[] = "ludus.key", key_of_names[] = "ludus.names";

void lud_origin_write(const lud_origin *origin, lud_checkpoint *checkpoint) {
    lud_checkpoint_set_text(checkpoint, "format", origin->format);
    lud_checkpoint_set_text(checkpoint, "learner", origin->learner);
    if (origin->configuration) lud_checkpoint_set_text(checkpoint, "configuration", origin->configuration);
    if (origin->key) lud_checkpoint_set_text(checkpoint, key_of_key, origin->key);
    if (origin->names) lud_checkpoint_set_text(checkpoint, key_of_names, origin->names);
}

lud_status lud_origin_check_key(const char *key, const char *configuration, const char *path,
                                const char *folder, lud_error *error) {
    lud_text told = {0};
    lud_settings own;
    bool there;
    int n = 0;
    if (!key || !*key) return LUD_OK;
    lud_status status = lud_settings_find(folder, &own, &there, error);
    if (!status && there && !lud_settings_made(&own, key)) {
        enum { MOST_TOLD = 4 };
        status = lud_settings_differences(configuration ? configuration : own.text, own.text, NULL,
                                          "what made it", MOST_TOLD, NULL, NULL, &told, &n, error);
        if (!status)
            status =
                lud_invalid(error, "%s: was not made with the settings of %s/scenario.yaml%s%s", path, folder,
                            n > 0           ? ": "
                            : configuration ? ": the files that it names are others"
                                            : "",
                            n > 0 ? told.bytes : "");
    }
    lud_settings_free(&own);
    lud_text_free(&told);
    return status;
}

/* The first line in which two texts differ. */
static lud_status other_names(const char *path, const char *saved, const char *now, lud_error *error) {
    enum { MOST_SHOWN = 120 };
    size_t line = 0;
    for (size_t i = 0; saved[i] == now[i]; i++)
        if (saved[i] == '\n') line = i + 1;
    const int n_saved = (int)strcspn(saved + line, "\n"), n_now = (int)strcspn(now + line, "\n");
    char was[MOST_SHOWN + 1], is[MOST_SHOWN + 1];
    snprintf(was, sizeof was, "%.*s", n_saved < MOST_SHOWN ? n_saved : MOST_SHOWN, saved + line);
    snprintf(is, sizeof is, "%.*s", n_now < MOST_SHOWN ? n_now : MOST_SHOWN, now + line);
    lud_text_tame(was);
    lud_text_tame(is);
    return lud_invalid(
        error,
        "%s: was trained on other names than those of this scenario: '%s' there, '%s' here, is the "
        "first that differs",
        path, was[0] ? was : "nothing more", is[0] ? is : "nothing more");
}

lud_status lud_origin_check(const lud_checkpoint *checkpoint, const char *path, const char *folder,
                            const char *learner, const lud_model *model, lud_error *error) {
    const char *by = lud_checkpoint_text(checkpoint, "learner"),
               *names = lud_checkpoint_text(checkpoint, key_of_names);
    if (learner && by && strcmp(by, learner) != 0)
        return lud_invalid(error, "%s: a checkpoint of learner '%s', this scenario trains '%s'", path, by,
                           learner);
    LUD_TRY(lud_origin_check_key(lud_checkpoint_text(checkpoint, key_of_key),
                                 lud_checkpoint_text(checkpoint, "configuration"), path, folder, error));
    if (!names || !model || !model->world->names) return LUD_OK;
    lud_text now = {0};
    model->world->names(model, &now);
    const lud_status status = now.failed ? lud_no_memory(error, "names")
                              : strcmp(now.bytes ? now.bytes : "", names) != 0
                                  ? other_names(path, names, now.bytes ? now.bytes : "", error)
                                  : LUD_OK;
    lud_text_free(&now);
    return status;
}
