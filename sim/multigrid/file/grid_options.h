/* The option tables of multigrid files: what the keys are called, what they default to, what they mean. Used
 * by the reader, the writer, `ludus help` and the docs. */
#pragma once

#include "base/options/options.h"
#include "sim/multigrid/file/grid_spec.h"

typedef struct lud_grid_chances {
    double stumble, solidify, enter_bush, enter_magic_wall;
} lud_grid_chances;

/* Section `multigrid`: what the spec takes as it stands, and what is read further. */
typedef struct lud_grid_options {
    lud_grid_spec spec;
    lud_tree *map, *ensemble, *legend, *generate, *agents;
    lud_grid_chances chances;
    struct lud_grid_roles {
        int of[LUD_COLOURS]; /* lud_role of each colour */
    } roles;
    lud_text_list can_push_rocks, can_enter_magic_walls; /* colours */
} lud_grid_options;
extern const lud_option_table lud_grid_option_table;

/* An entry of `ensemble`. */
typedef struct lud_grid_variant_options {
    lud_tree *map, *agents;
} lud_grid_variant_options;
extern const lud_option_table lud_grid_variant_option_table;

/* A thing of the legend: every type uses a few of the fields. */
typedef struct lud_grid_thing_options {
    int colour, state, side, trigger, target, disables;
    double stumble, entry, solidify, enter;
    bool enabled, on, active;
    lud_tree *contains;
} lud_grid_thing_options;
/* The table of a type, null for those that a map cannot hold (grid_things.c). */
const lud_option_table *lud_grid_thing_table(lud_grid_type type);

/* An entry of `agents`, and the parameters of an agent in the legend. */
typedef struct lud_grid_agent_options {
    int role, facing, colour;
    bool can_push_rocks, can_enter_magic_walls;
} lud_grid_agent_options;
extern const lud_option_table lud_grid_agent_option_table;

/* An entry of the top-level list `goals`. */
typedef struct lud_grid_goal_options {
    lud_tree *cell, *rectangle, *agents;
    double weight;
} lud_grid_goal_options;
extern const lud_option_table lud_grid_goal_option_table;

/* Section `generate`. */
typedef struct lud_grid_generate_options {
    lud_grid_generate generate;
    lud_int_list size, rooms;
    lud_text_list colours;
} lud_grid_generate_options;
extern const lud_option_table lud_grid_generate_option_table;

/* All of the above for the help: the section first; null-terminated. */
extern const lud_option_table *const lud_grid_option_tables[];

extern const char *const lud_grid_role_names[4]; /* "other", "human", "robot", null; index: lud_role */
