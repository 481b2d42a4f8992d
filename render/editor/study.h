/* How large the world is, whether it can be run, and its solution: found out on a thread of its own, so that
 * the window answers. */
#pragma once

#include <SDL.h>

#include "render/editor/editor.h"
#include "sim/multigrid/edit/grid_edit_check.h"

/* One look at a text. It belongs to its thread too: who no longer wants it leaves it to that. */
typedef struct lud_editor_look {
    lud_editor_options options;
    lud_scenario_overrides overrides;
    const char **set; /* [overrides.n_set] */
    char *path, *text;
    bool solves; /* beside what is always found out */
    uint64_t version;
    SDL_atomic_t done, holders;
    lud_grid_study size;
    bool size_known;
    lud_text report; /* of solving */
    lud_error error;
} lud_editor_look;

typedef struct lud_editor_study {
    const lud_editor_options *options;
    lud_editor_look *look; /* the present or the last one; null: there was none */
    bool runs;
} lud_editor_study;

/* Begins with this text; false when there is no memory or no thread, or another goes on. */
bool lud_editor_study_begin(lud_editor_study *study, const char *text, uint64_t version, bool solves);
/* Whether one goes on. */
bool lud_editor_study_runs(const lud_editor_study *study);
/* Whether one has ended since the last question; its results then stand in `look`. */
bool lud_editor_study_ended(lud_editor_study *study);
/* Gives everything back; what still computes ends by itself, and nobody waits for it. */
void lud_editor_study_free(lud_editor_study *study);
