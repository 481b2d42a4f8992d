/* The colours of the light and the dark theme, and the colour names of worlds. */
#pragma once

#include "base/status.h"
#include "render/canvas/sprites.h"

typedef struct lud_theme {
    const char *name;
    lud_rgba ground; /* window ground */
    lud_rgba floor, grid_line;
    lud_rgba wall, wall_edge;
    lud_rgba panel; /* face of panels, between ground and floor */
    lud_rgba text, muted;
    lud_rgba accent, good, bad, caution;
    lud_rgba colours[7]; /* red, green, blue, purple, yellow, grey, brown: the Okabe-Ito set */
} lud_theme;

typedef enum lud_theme_name { LUD_THEME_LIGHT, LUD_THEME_DARK, LUD_THEMES } lud_theme_name;
extern const char *const lud_theme_names[LUD_THEMES + 1]; /* "light", "dark", null */

const lud_theme *lud_theme_get(lud_theme_name name);
/* The theme of a name that a user wrote. */
lud_status lud_theme_find(const char *name, lud_theme_name *theme, lud_error *error);

/* The colour of a thing of colour number `colour` (an index of `colours`). Grey things are lighter than grey
 * agents: the grey of the set is as bright as its green, and with colour vision deficiency the two look
 * alike. */
lud_rgba lud_theme_thing(const lud_theme *theme, int colour);

/* The colour with its opacity multiplied by `alpha` in 0..1. */
lud_rgba lud_faded(lud_rgba colour, float alpha);
/* (1 - t) a + t b, channel by channel. */
lud_rgba lud_mixed(lud_rgba a, lud_rgba b, float t);
