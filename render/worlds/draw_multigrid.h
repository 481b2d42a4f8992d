/* Drawing of the multigrid world. */
#pragma once

#include "render/draw.h"
#include "sim/multigrid/grid_view.h"

extern const lud_draw_world lud_draw_multigrid;

/* Shared by the files of this drawing. */
typedef struct lud_grid_drawing {
    lud_drawing drawing;
    lud_grid_scene *before, *after; /* filled anew for every call */
    uint64_t *map_key;              /* [n_maps] hash of what lies on the ground */
    int8_t *arrived; /* [height * width] 1 + direction in which the piece here was pushed, 0: none */
    uint8_t *lifted; /* [height * width] the piece here is drawn by its carrier */
} lud_grid_drawing;

/* The ground that never changes: floor, grid lines, walls, goals, lava, cracks. */
void lud_grid_draw_ground(const lud_grid_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, int map);

void lud_grid_describe_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out);
void lud_grid_describe_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out);
int lud_grid_differing_cells(lud_drawing *drawing, const uint8_t *state, const uint8_t *other,
                             int32_t (*cells)[2], int most);
void lud_grid_describe_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                              lud_text *out);
int lud_grid_events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after);
