/* Where saved parameters come from, said in their file: by which learner, with which settings, and what the
 * things are called that they are about. */
#pragma once

#include "learn/store/checkpoint.h"
#include "sim/world.h"

typedef struct lud_origin {
    const char *format, *learner;
    const char *configuration, *key, *names; /* null: not known */
} lud_origin;

/* Saves it as texts. */
void lud_origin_write(const lud_origin *origin, lud_checkpoint *checkpoint);
/* LUD_ERROR_INPUT unless the file `path`, made with settings of that key (null or empty: not asked) and,
 * where it is known, that configuration, belongs to the RUN `folder` as its scenario.yaml is or was. */
lud_status lud_origin_check_key(const char *key, const char *configuration, const char *path,
                                const char *folder, lud_error *error);
/* LUD_ERROR_INPUT unless the checkpoint of the file `path` is of the learner (null: of any), was made with
 * the settings that scenario.yaml of the RUN `folder` says, or said before, and is about the things of the
 * model (null: not asked), the first other one of which is named. What older files do not say is not asked.
 */
lud_status lud_origin_check(const lud_checkpoint *checkpoint, const char *path, const char *folder,
                            const char *learner, const lud_model *model, lud_error *error);
