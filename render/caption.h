/* The caption below a recorded picture: what it shows, and in small what goes on: who acts, the episode, the
 * step, the return and, at the end, what was reached. */
#pragma once

#include "render/canvas/canvas.h"
#include "render/sides.h"
#include "sim/scenario.h"

typedef struct lud_caption {
    const char *title; /* what is shown; null: no caption */
    const char *who;   /* who acts; may be null, and is not used where several sides have headings */
} lud_caption;

/* What a scenario's pictures are about: what its view says, else its `about`, else its name. Null: no
 * caption. */
const char *lud_caption_title(const lud_scenario *scenario);
/* Who acts: `run` (may be null) by its folder's name, and the kinds of the other policies, each once. */
void lud_caption_who(const lud_cast *cast, int n_agents, const char *run, lud_text *who);

/* The step of an episode, its returns and, when it is over, what its measures say of the end. */
void lud_caption_progress(lud_text *out, const lud_model *model, const lud_player *player);

/* Pixels that it takes of a picture's height, even. */
int lud_caption_height(const lud_canvas *canvas);
/* Draws it into `box`; of several sides the episode and the step alone. */
void lud_caption_draw(const lud_caption *caption, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                      const lud_sides *sides);
