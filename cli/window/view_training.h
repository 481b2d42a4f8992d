/* A training that is followed in a window: what RUN/newest.safetensors and RUN/metrics.csv say, for the
 * viewer. */
#pragma once

#include "base/arena.h"
#include "learn/runs/watch.h"
#include "render/viewer/training.h"

typedef struct lud_training_view {
    lud_view_training base; /* its functions take this struct */
    const char *folder;     /* of the run */
    lud_watch watch;
    lud_watched found;
    lud_arena *curves; /* of what base.curves shows; null: nothing */
    uint64_t metrics;  /* stamp of the metrics that were read */
    double rest, cost; /* seconds until the next look, and what reading the metrics took */
    bool ended;        /* it has ended since the window was opened, or before */
    lud_error failure; /* of the last look; status LUD_OK: none */
} lud_training_view;

/* The folder's name must outlive the view. */
lud_status lud_training_view_open(const char *folder, lud_training_view *view, lud_error *error);
void lud_training_view_close(lud_training_view *view);
/* The run as its newest parameters act, a name for learn/runs/run.h in `path` [n]; false: there are none yet.
 */
bool lud_training_view_run(const lud_training_view *view, char *path, size_t n);
/* Waits until the folder holds a training's scenario.yaml, and says so. LUD_INTERRUPTED by Ctrl-C. */
lud_status lud_training_view_wait(const char *folder, lud_error *error);
