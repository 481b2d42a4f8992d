/* A row of lamps and two agents, a person and a robot, who walk along it and switch lamps on and off. Now and
 * then a gust puts one out. The episode ends when all lamps burn. */
#pragma once

#include "sim/world.h"

enum { LAMPS_AGENTS = 2, LAMPS_MOST = 8 };
enum { LAMPS_STILL, LAMPS_LEFT, LAMPS_RIGHT, LAMPS_SWITCH, LAMPS_ACTIONS };

/* Plain bytes: equal states are equal bytes. */
typedef struct lamps_state {
    uint8_t lit; /* a bit for each lamp */
    uint8_t place[LAMPS_AGENTS];
    uint8_t step;
} lamps_state;

typedef struct lamps_options {
    int64_t lamps, max_steps;
    double gust;
} lamps_options;

typedef struct lamps_model {
    lud_model base;
    lamps_options options;
} lamps_model;

extern const lud_world lamps_world;
