/* The four directions of every world on a grid: 0 east, 1 south, 2 west, 3 north. x grows eastwards, y
 * southwards; cells are numbered row by row from the north-west corner. Also read by nvcc. */
#pragma once

#include <stdint.h>

#include "base/random.h"

/* How much one step in a direction adds to x and to y. */
LUD_HD static inline int lud_step_x(int direction) {
    return (direction == 0) - (direction == 2);
}
LUD_HD static inline int lud_step_y(int direction) {
    return (direction == 1) - (direction == 3);
}

/* The cell so many steps from another on a grid of width x height cells; -1 where that is outside. */
LUD_HD static inline int32_t lud_cell_onward(int32_t cell, int width, int height, int direction, int steps) {
    const int x = cell % width + steps * lud_step_x(direction),
              y = cell / width + steps * lud_step_y(direction);
    return x < 0 || y < 0 || x >= width || y >= height ? -1 : y * width + x;
}
