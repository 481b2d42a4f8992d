/* A training that is watched while it goes on: how far it is, and its curves. Data and functions only: who
 * fills it does not know how it is drawn, who draws it does not know what learns. */
#pragma once

#include "render/canvas/canvas.h"

enum { LUD_TRAINING_CURVES = 4 };

/* A number of the training at its iterations, or wherever it was measured. */
typedef struct lud_training_curve {
    const char *name;
    const double *value; /* [n] */
    size_t n;
} lud_training_curve;

typedef struct lud_view_training {
    /* Looks what is new; called with every picture, `seconds` after the last call. True: there are other
     * parameters, with which lud_view_options.loaded would let agents act. */
    bool (*look)(struct lud_view_training *training, double seconds);
    /* Ask it to save, or to save and end; both may come later. */
    void (*save)(struct lud_view_training *training);
    void (*stop)(struct lud_view_training *training);
    /* What the last look found, good until the next; another number where it is other than before. */
    uint64_t version;
    char state[160]; /* how far it is, or what is waited for */
    bool running;
    double share; /* of it that is done, 0..1; negative: not known */
    int n_curves;
    lud_training_curve curves[LUD_TRAINING_CURVES];
} lud_view_training;

/* The panel's height, at most `most`; curves that have no room are left out. */
float lud_training_panel_height(const lud_view_training *training, const lud_canvas *canvas, float most);
void lud_training_panel_draw(const lud_view_training *training, lud_canvas *canvas, const lud_theme *theme,
                             lud_box box);
