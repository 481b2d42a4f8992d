/* What a solution or a learner knows about the states of a world, shown with the world: a map of the values
 * of an agent's goals, arrows for policies, bars for the present state, and curves over the episode.
 *
 * The knowledge comes from a lud_overlay_source, which folders above fill: nothing here knows a theory. */
#pragma once

#include "agents/overlay_source.h"
#include "render/draw.h"
#include "render/episode.h"

typedef enum lud_overlay_part {
    LUD_OVERLAY_VALUES = 1, /* the cell map of goals' values */
    LUD_OVERLAY_ARROWS = 2, /* what agents are likely to do */
    LUD_OVERLAY_BARS = 4,   /* quantities, choices and an agent's policy in the present state */
    LUD_OVERLAY_TRACE = 8,  /* the same over the episode */
    LUD_OVERLAY_EDGES = 16, /* how strongly agents attend to others */
    LUD_OVERLAY_ALL = 31
} lud_overlay_part;

typedef struct lud_overlay lud_overlay;

/* Takes over the source, also when it fails; the drawing must outlive the overlay. */
lud_status lud_overlay_create(lud_overlay_source *source, lud_drawing *drawing, lud_overlay **overlay,
                              lud_error *error);
void lud_overlay_destroy(lud_overlay *overlay);

/* Parts that are shown, lud_overlay_part or-ed; all at first. */
int lud_overlay_shown(const lud_overlay *overlay);
void lud_overlay_show(lud_overlay *overlay, int parts);
/* Whose goals the map is about, and whose policy has bars. An agent without goals' values leaves the map as
 * it is (at first that of the first that has some); -1: the bars of the first agent that has some. */
void lud_overlay_select(lud_overlay *overlay, const uint8_t *state, int agent);

/* The source's attention of an agent, when edges are shown; false when nothing is known. */
bool lud_overlay_attention(lud_overlay *overlay, const uint8_t *state, int agent, float *weights);

/* The source's probabilities [n_discrete] of an agent's actions when it has this goal, where it publishes
 * bars of them and bars are shown; null when nothing is known. Good until the next call here. */
const double *lud_overlay_policy(lud_overlay *overlay, const uint8_t *state, const uint8_t *hidden, int agent,
                                 int goal);

/* What an agent read and wrote in a state, appended; false where that is not known. */
bool lud_overlay_agent_text(lud_overlay *overlay, const uint8_t *state, int agent, lud_text *read,
                            lud_text *written);

/* Between the ground and what stands on it: called by drawings of worlds when moment->overlay is set. */
void lud_overlay_draw_ground(lud_overlay *overlay, lud_canvas *canvas, const lud_theme *theme,
                             const lud_camera *camera, const lud_moment *moment);
/* Over the world: numbers and arrows. */
void lud_overlay_draw_top(lud_overlay *overlay, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, const lud_moment *moment);

/* The panel beside the world: colour bar, bars, curves. `height` is what it would like to have at this width;
 * what has no room is left out, the curves first. Steps 0..length-1 lie on the curves' axis. */
float lud_overlay_panel_height(const lud_overlay *overlay, const lud_canvas *canvas);
void lud_overlay_draw_panel(lud_overlay *overlay, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                            const lud_player *player, size_t length);
