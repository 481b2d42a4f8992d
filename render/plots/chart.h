/* Small charts over the steps of an episode, for panels: title, range, a line at the present step, curves. */
#pragma once

#include "render/canvas/canvas.h"

typedef struct lud_chart {
    double low, high; /* ends of the upward axis, low < high */
    size_t length;    /* steps 0..length-1 lie on the other axis */
    size_t known;     /* steps that curves have values for */
    size_t position;  /* the present step */
    lud_box box;      /* where curves go; set by lud_chart_begin */
} lud_chart;

/* Value of a curve at a step; false: a gap. Asked from step 0 upward, then for the present step. */
typedef bool (*lud_chart_value)(void *context, size_t step, double *value);

/* The ends of the axis for these values: a constant gets a line in the middle. An empty range
 * (low > high) becomes 0..1. */
void lud_chart_range(lud_chart *chart, double low, double high);
/* Title, range and frame in `area`. */
void lud_chart_begin(lud_chart *chart, lud_canvas *canvas, const lud_theme *theme, lud_box area,
                     const char *title);
void lud_chart_curve(const lud_chart *chart, lud_canvas *canvas, lud_chart_value value, void *context,
                     lud_rgba colour);
/* The colours of curves, one after another: blue, red, green, purple, brown, yellow, grey. */
lud_rgba lud_chart_colour(const lud_theme *theme, int number);
