/* What the viewer shows, loaded together from a scenario: model, cast, drawing, episode and overlay. */
#pragma once

#include "render/sides.h"
#include "render/viewer/viewer.h"

typedef struct lud_stage {
    const char *path; /* of the scenario or the RUN, as the options have it */
    lud_scenario *scenario;
    lud_cast *cast;
    lud_drawing *drawing;
    lud_player *player;
    lud_overlay *overlay; /* or null */
    lud_text who;         /* acts: the name of a side */
    bool apart;           /* one of several environments with seeds of their own */
} lud_stage;

/* Loads the scenario of the options, or the side of this number beside it, and starts an episode, with its
 * own seed where `seed` is null. `files` gets the files that were read, also when it fails; the caller frees
 * them. */
lud_status lud_stage_load(const lud_view_options *options, int number, const uint64_t *seed, lud_stage *stage,
                          lud_tree_files *files, lud_error *error);
/* How many those are that options name. */
int lud_stages_number(const lud_view_options *options);
/* All that options name, in step; at most LUD_SIDES of them. What was loaded before an error is freed. */
lud_status lud_stages_load(const lud_view_options *options, const uint64_t *seed, lud_stage *stages,
                           lud_tree_files *files, lud_error *error);
/* n stages as sides that go in step; good as long as they are. */
lud_sides lud_stage_sides(const lud_stage *stages, int n);
void lud_stage_free(lud_stage *stage);
static inline const lud_layout *lud_stage_layout(const lud_stage *stage) {
    return &stage->scenario->model->layout;
}
/* States for which the time line has room: those known, or the whole episode where its length is limited. */
size_t lud_stage_length(const lud_stage *stage);

/* The time of all sides together: the present state, those known, and those there is room for. */
typedef struct lud_span {
    size_t position, known, length;
} lud_span;
lud_span lud_stages_span(const lud_stage *stages, int n);
