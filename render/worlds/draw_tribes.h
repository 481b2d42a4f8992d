/* Drawing of the tribes world. */
#pragma once

#include "render/draw.h"
#include "sim/tribes/tribes.h"

extern const lud_draw_world lud_draw_tribes;

/* What became of an agent's action in a step, as far as the two states and the actions tell. */
typedef enum lud_tribes_deed {
    LUD_DEED_NONE,
    LUD_DEED_GATHERED,
    LUD_DEED_DELIVERED,
    LUD_DEED_TRADED,
    LUD_DEED_STOLE,
    LUD_DEED_FOILED /* a theft of its own that came to nothing */
} lud_tribes_deed;

typedef struct lud_tribes_event {
    lud_tribes_deed deed;
    int other; /* the agent that it traded with or robbed, -1: a storehouse or nobody */
    int cell;  /* of the partner, the victim or the storehouse; -1: none */
    int got;   /* the kind it has one more of, -1: none */
} lud_tribes_event;

/* Shared by the files of this drawing. */
typedef struct lud_tribes_drawing {
    lud_drawing drawing;
    uint64_t *map_key;        /* [n_maps] hash of what lies on the ground */
    lud_tribes_event *events; /* [n_agents] of the moment being drawn */
    int16_t *at;              /* [n_cells + 1] agent in each cell in the state before */
    int *order;               /* [n_agents] from north to south */
} lud_tribes_drawing;

/* What all helpers of one picture share. */
typedef struct lud_tribes_painter {
    lud_tribes_drawing *d;
    const lud_tribes_model *m;
    lud_canvas *canvas;
    const lud_theme *theme;
    const lud_moment *moment;
    const uint8_t *before; /* null: nothing moves */
    float left, top, s;    /* pixels: the corner of cell (0, 0) and the side of a cell */
    float progress;
} lud_tribes_painter;

/* The colour and the body of a team. */
lud_rgba lud_tribes_colour(const lud_theme *theme, int team);
lud_sprite lud_tribes_body(int team);
/* A unit as it is carried, with its middle at a pixel. */
void lud_tribes_draw_unit(lud_canvas *canvas, int kind, float x, float y, float side, float opacity);

/* The ground that never changes: land, water, the soil of fields. */
void lud_tribes_draw_ground(const lud_tribes_painter *p, const lud_tribes_map *map);
/* What stands on fields, and storehouses with what is in them. `shown` is the state to be seen. */
void lud_tribes_draw_fields(const lud_tribes_painter *p, const lud_tribes_map *map, const uint8_t *shown);
void lud_tribes_draw_houses(const lud_tribes_painter *p, const lud_tribes_map *map, const uint8_t *shown);

/* Finds events[n_agents] of a step; nothing where actions are null. at[n_cells + 1] is scratch. */
void lud_tribes_find_events(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after,
                            const int32_t *actions, int16_t *at, lud_tribes_event *events);

/* lud_draw_world's functions of the same names. */
void lud_tribes_tell_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out);
void lud_tribes_tell_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out);
int lud_tribes_differing_cells(lud_drawing *drawing, const uint8_t *state, const uint8_t *other,
                               int32_t (*cells)[2], int most);
void lud_tribes_tell_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after, lud_text *out);
int lud_tribes_step_events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after);
float lud_tribes_draw_legend(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                             const uint8_t *state, lud_box box);
