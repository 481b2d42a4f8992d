/* With which settings results were made: a key, by which results are known to belong to a RUN's
 * scenario.yaml, and the differences between two configurations.
 *
 * The key is a hash of the effective configuration and of what it names in RUN/files. What changes no result
 * does not count: name, about, view, run.threads and run.episodes. A training that goes on with other
 * settings on purpose leaves the key of those before, with the differences, as a comment at the top of
 * scenario.yaml. */
#pragma once

#include "base/options/tree.h"
#include "base/text.h"

enum { LUD_KEY_BYTES = 17 }; /* sixteen digits and a zero byte */

/* The key of a configuration, YAML text, in a RUN's folder. */
lud_status lud_settings_key(const char *folder, const char *configuration, char key[LUD_KEY_BYTES],
                            lud_error *error);

/* What scenario.yaml of a folder says: its text without the comments at its top, these comments, and the
 * configuration's key. */
typedef struct lud_settings {
    lud_arena *arena;
    const char *text, *comments;
    char key[LUD_KEY_BYTES];
} lud_settings;
/* LUD_ERROR_INPUT when there is no such file. Free with lud_settings_free, also on failure. */
lud_status lud_settings_read(const char *folder, lud_settings *settings, lud_error *error);
/* The same of a folder that may have none: then *there is false and that is no error. */
lud_status lud_settings_find(const char *folder, lud_settings *settings, bool *there, lud_error *error);
/* The same without the key, for which all is read that the configuration names in RUN/files. */
lud_status lud_settings_find_text(const char *folder, lud_settings *settings, bool *there, lud_error *error);
void lud_settings_free(lud_settings *settings);
/* Whether results with that key belong to these settings, or to those before. */
bool lud_settings_made(const lud_settings *settings, const char *key);

/* Appends `path: OLD in WHERE, NEW now`, `; ` between them, for each setting in which two configurations
 * differ, at most `most`, and counts all. Left out are paths for which `skip` (may be null) is true, and
 * those in which the new one differs from `plain_text` too (null: not asked), the same configuration as
 * nobody has changed it. */
lud_status lud_settings_differences(const char *old_text, const char *new_text, const char *plain_text,
                                    const char *where, int most,
                                    bool (*skip)(const void *context, const char *path), const void *context,
                                    lud_text *out, int *n, lud_error *error);
