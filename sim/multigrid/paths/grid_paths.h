/* Fewest actions in which an agent of a multigrid comes to a place, from everywhere at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LUD_GRID_NO_PATH = UINT16_MAX };

/* Who walks. */
typedef struct lud_grid_walker {
    int key;      /* colour of the key that is carried, -1: none */
    bool rocks;   /* pushes rocks */
    bool cleared; /* as if doors were open and nothing lay about */
} lud_grid_walker;

/* Actions that entering each cell takes: cost[n_cells], 1 a step, 2 a door that has to be opened first or, in
 * a grid that is cleared, whatever was in the way; 0: it cannot be entered. words: kernels/grid_code.h. Other
 * agents are taken to step aside. */
void lud_grid_entering(const int32_t *words, int n_cells, lud_grid_walker walker, uint8_t *cost);
/* Of one cell. */
uint8_t lud_grid_entering_cell(int32_t word, lud_grid_walker walker);

/* The fewest actions (a turn to the left or right, or entering what is in front) from every cell and
 * direction (east, south, west, north) into one of the cells marked in into[height * width]: actions[height *
 * width][4], LUD_GRID_NO_PATH where no path leads there. memory[lud_grid_paths_words] is working memory. */
void lud_grid_paths_to(const uint8_t *cost, int height, int width, const uint8_t *into, uint16_t *actions,
                       int32_t *memory);
/* The same the other way round: from one place (4 * cell + direction) to every cell and direction. */
void lud_grid_paths_from(const uint8_t *cost, int height, int width, int32_t place, uint16_t *actions,
                         int32_t *memory);
size_t lud_grid_paths_words(int height, int width);
