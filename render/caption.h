/* The caption below a recorded picture: what it shows, and in small what goes on: who acts, the episode, the
 * step, the return and, at the end, what was reached. */
#pragma once

#include "render/canvas/canvas.h"
#include "render/episode.h"

typedef struct lud_caption {
    const char *title; /* what is shown; null: no caption */
    const char *who;   /* who acts; may be null */
} lud_caption;

/* Pixels that it takes of a picture's height, even. */
int lud_caption_height(const lud_canvas *canvas);
/* Draws it into `box`. `model` is the player's; returns[n_agents] are sums of rewards since the episode
 * began. */
void lud_caption_draw(const lud_caption *caption, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                      const lud_model *model, const lud_player *player, const double *returns);
