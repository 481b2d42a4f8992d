/* Maps as text: two characters a cell. The codes are those of the reference; `docs/` has the table. */
#pragma once

#include "base/text.h"
#include "sim/multigrid/file/grid_options.h"

/* What a code stands for: an object or an agent, and what it lies or stands on. */
typedef struct lud_grid_thing {
    bool is_agent, gives_role, gives_rocks, gives_magic; /* what of `agent` is not left to its colour */
    lud_grid_agent agent;
    lud_grid_object object; /* LUD_EMPTY when there is none */
    lud_grid_object under;
} lud_grid_thing;

/* The rows of a map as read, before they are given a meaning. */
typedef struct lud_grid_rows {
    int width, height;
    char (*codes)[2];  /* [height * width] */
    lud_place *places; /* [height * width] */
} lud_grid_rows;

/* Reads a text of lines, a list of lines, or a list of lists of codes. */
lud_status lud_grid_rows_read(lud_arena *arena, lud_tree *node, lud_grid_rows *rows, lud_error *error);

/* The thing of a built-in code; an error at `place` for any other. */
lud_status lud_grid_code_read(const char code[2], const lud_grid_chances *chances, lud_place place,
                              lud_grid_thing *thing, lud_error *error);
/* The built-in code of a thing under these chances, or false when there is none. For an agent only colour and
 * ground count. */
bool lud_grid_code_find(const lud_grid_thing *thing, const lud_grid_chances *chances, char code[2]);

/* The kinds of things that a map may hold, in the order of the table of codes, then what only a legend can
 * say: *thing gets kind `index` in the colour, and `name` what it is called. *coloured: whether the colour
 * counts. False: there are no more. */
bool lud_grid_kind(int index, lud_colour colour, const lud_grid_chances *chances, lud_grid_thing *thing,
                   bool *coloured, lud_text *name);

/* The parameters of an object as its option table has them, and back; `contains` is left out. */
lud_grid_thing_options lud_grid_thing_values(const lud_grid_object *object);
void lud_grid_thing_apply(const lud_grid_thing_options *values, lud_grid_object *object);
/* Whether a box may hold such a thing, or be empty. */
bool lud_grid_fits_box(lud_grid_type type);

/* The table of built-in codes, a row for every thing: its codes, `*` for the letter of a colour, and what it
 * is. As Markdown or in columns. */
void lud_grid_codes_describe(bool markdown, lud_text *out);

/* An object of the type with the defaults of the file. */
lud_grid_object lud_grid_object_with(lud_grid_type type, const lud_grid_chances *chances);
bool lud_grid_object_equal(const lud_grid_object *a, const lud_grid_object *b);
/* Whether it is held as a piece and not as a cell: what can be pushed or picked up. */
bool lud_grid_is_piece(lud_grid_type type);

/* The agents among the things of a map's cells in reading order, with their places. At most
 * LUD_GRID_MAX_AGENTS. */
lud_status lud_grid_agents_collect(lud_arena *arena, const lud_grid_thing *things, const lud_grid_rows *rows,
                                   lud_grid_thing **agents, int *n_agents, lud_error *error);
/* Applies the list `agents` of the section (may be null): entry i changes what it names of agent i. */
lud_status lud_grid_agents_apply(lud_arena *arena, lud_tree *list, lud_grid_thing *agents, int n_agents,
                                 lud_error *error);
/* Parameters of an agent in the legend or in the list `agents`; what is not there stays. */
lud_status lud_grid_agent_read(lud_arena *arena, lud_tree *node, lud_grid_thing *agent, lud_error *error);

/* Fills a map of spec->width x spec->height from one thing a cell and the agents, whose cells hold what they
 * stand on as `under`. Agents get the role and the capabilities of their colour in `options` where nothing
 * else is said. */
lud_status lud_grid_map_build(lud_arena *arena, const lud_grid_thing *things, const lud_grid_thing *agents,
                              int n_agents, const lud_grid_options *options, lud_grid_spec *spec,
                              lud_grid_map *map, lud_error *error);
/* The inverse for a map of a spec: one thing a cell, agents with all they are. Whether agents come in reading
 * order and agents and pieces each have a cell of their own; else it cannot be written. */
bool lud_grid_things_of(const lud_grid_spec *spec, const lud_grid_map *map, lud_grid_thing *things);
/* The next code from *next on (0 at first) without a built-in meaning; false: there are no more. */
bool lud_grid_fresh_code(int *next, const lud_grid_chances *chances, char code[2]);
/* Whether a list of colours has one. The names were checked. */
bool lud_grid_has_colour(const lud_text_list *colours, lud_colour colour);
