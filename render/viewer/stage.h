/* What the viewer shows, loaded together from a scenario: model, cast, drawing, episode and overlay. */
#pragma once

#include "render/viewer/viewer.h"

typedef struct lud_stage {
    lud_scenario *scenario;
    lud_cast *cast;
    lud_drawing *drawing;
    lud_player *player;
    lud_overlay *overlay; /* or null */
} lud_stage;

/* Loads the scenario of the options and starts an episode, with its own seed where `seed` is null. `files`
 * gets the files that were read, also when it fails; the caller frees them. */
lud_status lud_stage_load(const lud_view_options *options, const uint64_t *seed, lud_stage *stage,
                          lud_tree_files *files, lud_error *error);
void lud_stage_free(lud_stage *stage);
static inline const lud_layout *lud_stage_layout(const lud_stage *stage) {
    return &stage->scenario->model->layout;
}
/* States for which the time line has room: those known, or the whole episode where its length is limited. */
size_t lud_stage_length(const lud_stage *stage);
