/* What the files of the overlay share. */
#pragma once

#include "render/overlay.h"

struct lud_overlay {
    lud_overlay_source *source;
    lud_drawing *drawing;
    int shown;
    int person; /* -1: nobody has goals with values */
    int agent;  /* whose policy has bars, -1: the first that has some */

    /* the map: what was last asked */
    int n_goals;         /* of the person */
    double *goal_values; /* [most goals of an agent] */
    lud_box *goal_areas; /* [most goals] */
    double *actions;     /* [most actions] */
    double *numbers;     /* [n_agents] */
    int width, height;   /* cells of the world */
    int32_t *cell_goal;  /* [height * width] smallest goal that has the cell, -1: none */

    /* the episode: a row for every state that was looked at */
    size_t state_bytes, row_capacity;
    uint8_t *row_state; /* [row_capacity][state_bytes] which state a row is about */
    uint8_t *row_kind;  /* [row_capacity] 0: not looked at, 1: known, 2: the source does not know it */
    double *rows;       /* [row_capacity][n_quantities + n_choices] */
    size_t n_rows,
        at; /* where quantities follow from the episode: rows that are known, states the source has seen */
};

/* The source's numbers of agents about a step, in overlay->numbers; returns the largest amount, 0: there are
 * none or they are not shown. */
double lud_overlay_find_numbers(lud_overlay *overlay, const uint8_t *before, const int32_t *actions,
                                const float *rewards, const uint8_t *after);
/* The row of a state at a position of the episode; null when nothing is known about it, as it is where
 * quantities follow from the episode and earlier states were not asked about. */
const double *lud_overlay_row(lud_overlay *overlay, const uint8_t *state, size_t position);
/* The ramp of values: 0 is the floor, 1 the full hue. */
lud_rgba lud_overlay_ramp(const lud_theme *theme, double share);
