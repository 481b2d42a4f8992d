/* A RUN begins, or goes on: its scenario.yaml and the files that this names. The caller holds the folder's
 * lock.
 */
#pragma once

#include "learn/runs/carried.h"
#include "learn/runs/settings.h"

/* Begins a RUN: what another left in the folder is set aside (lud_run_set_aside, said in the log), the files
 * are copied and scenario.yaml is written. Whenever it is ended in between, nothing of the old stands beside
 * anything of the new. `carried` may be null. */
lud_status lud_run_begin(const char *folder, const char *configuration, const lud_carried *carried,
                         char key[LUD_KEY_BYTES], lud_error *error);

/* The same for results that are made again: where the folder's settings are these already, what lies there
 * stays until it is replaced. */
lud_status lud_run_begin_again(const char *folder, const char *configuration, const lud_carried *carried,
                               char key[LUD_KEY_BYTES], lud_error *error);

/* Whose differences from the RUN's own settings are meant. */
typedef struct lud_run_meant {
    const char *const *paths; /* [n] what is set on the command line, `learner.beta` for instance */
    int n;
    const char *plain; /* the configuration without that; null: not known */
} lud_run_meant;

/* Whether a RUN can go on with a configuration: settings other than those of its scenario.yaml are an error
 * that lists them, unless they are meant (null: none are). Writes nothing. */
lud_status lud_run_check_settings(const char *folder, const char *configuration, const lud_run_meant *meant,
                                  lud_error *error);
/* Goes on with it: what is otherwise is written to scenario.yaml, with a comment about the settings before,
 * which ended at `iteration`. A RUN without scenario.yaml gets one. */
lud_status lud_run_continue(const char *folder, const char *configuration, const lud_carried *carried,
                            uint64_t iteration, char key[LUD_KEY_BYTES], lud_error *error);
