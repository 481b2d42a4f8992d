/* A world given by tables, so that solvers can be tested on arbitrary small games. */
#pragma once

#include "sim/world.h"

enum {
    TABLE_MAX_STATES = 512,
    TABLE_MAX_AGENTS = 4,
    TABLE_MAX_ACTIONS = 4,
    TABLE_MAX_JOINT = 64,
    TABLE_MAX_OUT = 3,
    TABLE_MAX_GOALS = 4
};

typedef struct table_model {
    lud_model base;
    lud_action_space actions[TABLE_MAX_AGENTS];
    lud_role roles[TABLE_MAX_AGENTS];
    int n_states, n_joint, n_goals;
    int n_out[TABLE_MAX_STATES][TABLE_MAX_JOINT]; /* 0 for all joint actions: terminal */
    uint16_t out[TABLE_MAX_STATES][TABLE_MAX_JOINT][TABLE_MAX_OUT];
    double probability[TABLE_MAX_STATES][TABLE_MAX_JOINT][TABLE_MAX_OUT];
    bool achieved[TABLE_MAX_STATES][TABLE_MAX_AGENTS][TABLE_MAX_GOALS];
    double weight[TABLE_MAX_AGENTS][TABLE_MAX_GOALS];
} table_model;

/* A random game: `layers` layers of `width` states (one in the first); with `skips` successors may lie in any
 * later layer. Free with free(). */
table_model *table_world_random(uint64_t seed, int n_humans, int n_robots, int n_actions, int layers,
                                int width, bool skips);
