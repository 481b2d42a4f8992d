/* What a user does to a world that is edited: things in cells, goals, and their parameters. Every function
 * that changes the document is one change for undo, and leaves it alone when it fails. */
#pragma once

#include "sim/multigrid/edit/grid_edit.h"

/* What is selected. A cell has what lies or stands on the ground (layer 0; the ground itself, where nothing
 * does) and the ground below that (layer 1). */
typedef enum lud_grid_pick_kind { LUD_PICK_WORLD, LUD_PICK_CELL, LUD_PICK_GOAL } lud_grid_pick_kind;
typedef struct lud_grid_pick {
    lud_grid_pick_kind kind;
    int x, y, layer;
    int goal;
} lud_grid_pick;

/* Whether there is something there. */
bool lud_grid_pick_is(const lud_grid_edit *edit, lud_grid_pick pick);
/* What comes at a point after `last`: on top, below, the goals there, and on top again; the world itself
 * where there is nothing. */
lud_grid_pick lud_grid_pick_next(const lud_grid_edit *edit, lud_grid_pick last, int x, int y);
/* In words, such as `yellow agent 0, human` or `goal 2`. */
void lud_grid_pick_describe(const lud_grid_edit *edit, lud_grid_pick pick, lud_text *out);

/* What can be put into cells: brush `index` as the world's tables have it, an agent as agents of its colour
 * are, and what it is called. False: there are no more. */
bool lud_grid_edit_brush(const lud_grid_edit *edit, int index, lud_grid_thing *thing, lud_text *name);
/* Puts a thing into a cell: what stays where it is comes below an agent or a piece, where it can; an empty
 * one takes away what is on top. */
lud_status lud_grid_edit_put(lud_grid_edit *edit, int x, int y, const lud_grid_thing *thing,
                             lud_error *error);
/* Takes away what is picked. */
lud_status lud_grid_edit_remove(lud_grid_edit *edit, lud_grid_pick pick, lud_error *error);
/* Moves what is picked to a cell, of a goal its first corner; *pick follows. */
lud_status lud_grid_edit_move(lud_grid_edit *edit, lud_grid_pick *pick, int x, int y, lud_error *error);
/* Turns what has a direction by quarter turns. LUD_ERROR_INPUT where it has none. */
lud_status lud_grid_edit_turn(lud_grid_edit *edit, lud_grid_pick pick, int by, lud_error *error);
/* Adds a goal for all humans: a cell, or a rectangle with these corners. */
lud_status lud_grid_edit_add_goal(lud_grid_edit *edit, int x1, int y1, int x2, int y2, lud_error *error);

/* A parameter of what is picked, from the option tables of the world. */
typedef struct lud_grid_parameter {
    char name[64];    /* as in the file */
    const char *help; /* one line */
    char shown[64];   /* its value */
    double value;     /* a number, 0 or 1, or the number of a choice */
    double minimum, maximum, step;
    bool wraps;   /* behind the last comes the first */
    bool turns;   /* a direction */
    bool colours; /* a colour, numbered as lud_colour */
} lud_grid_parameter;

enum { LUD_GRID_PARAMETERS = 128 };
/* Fills parameters[LUD_GRID_PARAMETERS]; returns their number. */
int lud_grid_edit_parameters(const lud_grid_edit *edit, lud_grid_pick pick, lud_grid_parameter *parameters);
/* Gives the parameter of this number a value. */
lud_status lud_grid_edit_change_parameter(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                                          lud_error *error);
/* The same of a thing that is in no cell. */
int lud_grid_thing_parameters(const lud_grid_thing *thing, int layer, lud_grid_parameter *parameters);
void lud_grid_thing_change(const lud_grid_edit *edit, lud_grid_thing *thing, int layer, int number,
                           double value);
/* The value, within its range or around its ends. */
double lud_grid_parameter_fit(const lud_grid_parameter *parameter, double value);
