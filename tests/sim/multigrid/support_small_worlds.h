/* Small worlds of one agent, and everything that its steps can bring about, in breadth. */
#pragma once

#include "sim/multigrid/grid_observe.h"
#include "sim/scenario.h"

enum { SMALL_HEIGHT = 6, SMALL_WIDTH = 7, SMALL_CELLS = SMALL_HEIGHT * SMALL_WIDTH };

/* A world of one agent: the cells as a map has them, the agent's own line ("agents: [...]") or "". */
lud_scenario *small_world_make(const char *const cells[SMALL_CELLS], const char *agents);

/* What tells two states apart but for the time. */
typedef struct small_look {
    int32_t words[SMALL_CELLS];
    float agent[LUD_GRID_AGENT_FEATURES];
} small_look;

small_look small_world_look(const lud_model *model, const uint8_t *state);
/* The agent's cell and direction as 4 * cell + direction. */
int small_look_place(const small_look *look);

/* Fewest of the named actions until it is done; LUD_GRID_NO_PATH: never. */
int small_world_search(const lud_model *model, const uint8_t *start, const char *const *actions,
                       int n_actions, bool (*is_done)(const small_look *look, const void *what),
                       const void *what);
