/* A multigrid state unpacked into plain structs, for drawing, inspection and tests.
 *
 * A scene is allocated once for a model and filled again and again; filling allocates nothing. */
#pragma once

#include "sim/multigrid/file/grid_spec.h"

/* One agent. Coordinates count from the north-west corner: x east, y south. */
typedef struct lud_grid_scene_agent {
    int x, y;
    lud_direction direction;
    lud_colour colour;
    lud_role role;
    bool terminated, paused;
    int forced_action; /* action id that replaces this agent's next choice, -1: none */
    bool carries;
    lud_grid_object carried; /* meaningful when `carries` */
    bool can_push_rocks, can_enter_magic_walls;
} lud_grid_scene_agent;

/* One cell, bottom to top. */
typedef struct lud_grid_scene_cell {
    /* What never moves, in its present condition: `door`, `active`, `enabled` and `on` are those of the
     * state. A trampled bush stays a bush here and has `trampled` set. LUD_EMPTY where nothing is. */
    lud_grid_object ground;
    bool trampled;        /* bush: gone for good */
    bool awaiting;        /* control button: waits for an action to record */
    int controlled_agent; /* control button: agent index, -1: none */
    int recorded_action;  /* control button: action id, -1: none */
    int piece; /* index in `pieces` of the block, rock, key, ball or box that lies here, -1: none */
    int agent; /* index of the agent here (the highest when two share a magic wall), -1: nobody */
} lud_grid_scene_cell;

typedef struct lud_grid_scene {
    int width, height, n_agents;
    int step;                     /* steps since the reset */
    int map;                      /* index of the layout in force */
    lud_grid_scene_cell *cells;   /* [height * width], row by row */
    lud_grid_scene_agent *agents; /* [n_agents] */
    lud_grid_piece *pieces;       /* [n_pieces] those lying on the grid; carried ones are with their agent */
    int n_pieces, piece_capacity;
} lud_grid_scene;

/* A scene for states of this multigrid model; null when memory is out. */
lud_grid_scene *lud_grid_scene_create(const lud_model *model);
void lud_grid_scene_destroy(lud_grid_scene *scene);
/* Fills the scene from a state. */
void lud_grid_scene_read(lud_grid_scene *scene, const lud_model *model, const uint8_t *state);
/* The inverse: packs a scene, which may have been edited, into state bytes. Read from it are step, map, the
 * changing parts of agents and cells (positions, directions, flags, what is carried; door, active, enabled,
 * on, trampled and the control button's fields) and the pieces. Fails when the model has no room for what the
 * scene contains. */
lud_status lud_grid_scene_write(const lud_grid_scene *scene, const lud_model *model, uint8_t *state,
                                lud_error *error);

/* What the spec of a model said (owned by the model). */
const lud_grid_spec *lud_grid_model_spec(const lud_model *model);
