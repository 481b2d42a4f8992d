/* How large the world is, whether it can be run, and its solution: found out on a thread of its own, so that
 * the window answers. */
#pragma once

#include <SDL.h>

#include "render/editor/editor.h"
#include "sim/multigrid/edit/grid_edit_check.h"

typedef struct lud_editor_study {
    const lud_editor_options *options;
    SDL_Thread *thread;
    SDL_atomic_t done;
    bool solves; /* this time, beside what is always found out */
    char *text;  /* of the scenario */
    uint64_t version;
    lud_grid_study size;
    bool size_known;
    lud_text report; /* of solving */
    lud_error error;
} lud_editor_study;

/* Begins with this text; false when there is no memory or no thread, or another goes on. */
bool lud_editor_study_begin(lud_editor_study *study, const char *text, uint64_t version, bool solves);
/* Whether one goes on. */
bool lud_editor_study_runs(const lud_editor_study *study);
/* Whether one has ended since the last question; its results then stand in the struct. */
bool lud_editor_study_ended(lud_editor_study *study);
/* Waits for the end, and gives everything back. */
void lud_editor_study_free(lud_editor_study *study);
