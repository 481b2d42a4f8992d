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

/* Gives the map so many columns or rows more (by > 0) or less (by < 0) at one of its sides; *pick (null:
 * none) follows. Where the side is a wall (its corners, and at least half of it) that stays the outermost,
 * and what is new or goes is next to it; new cells are ground, between two walls a wall. Goals move with
 * their cells, and rectangles lose the cells that go. LUD_ERROR_INPUT, with the reason, where an agent or all
 * of a goal would go or a side would be shorter or longer than can be, LUD_ERROR_UNSUPPORTED where goals of
 * other maps of an ensemble would have to move. What was cut is in the note. */
lud_status lud_grid_edit_resize(lud_grid_edit *edit, lud_direction side, int by, lud_grid_pick *pick,
                                lud_error *error);

/* A parameter of what is picked, from the option tables of the world. */
typedef struct lud_grid_parameter {
    char name[64];    /* as in the file; of the world also `width` and `height` of the map */
    const char *help; /* one line */
    char shown[64];   /* its value */
    double value;     /* a number, 0 or 1, or the number of a choice */
    double minimum, maximum, step;
    bool number;  /* it can be typed, */
    bool whole;   /* and is a whole number */
    bool wraps;   /* behind the last comes the first */
    bool turns;   /* a direction */
    bool colours; /* a colour, numbered as lud_colour */
} lud_grid_parameter;

enum { LUD_GRID_PARAMETERS = 128 };
/* Fills parameters[LUD_GRID_PARAMETERS]; returns their number. */
int lud_grid_edit_parameters(const lud_grid_edit *edit, lud_grid_pick pick, lud_grid_parameter *parameters);
/* Gives the parameter of this number a value, fitted into its range. */
lud_status lud_grid_edit_change_parameter(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                                          lud_error *error);
/* The same with a value that was typed, which stays as it is. */
lud_status lud_grid_edit_type_parameter(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                                        lud_error *error);
/* The same of a thing that is in no cell. */
int lud_grid_thing_parameters(const lud_grid_thing *thing, int layer, lud_grid_parameter *parameters);
void lud_grid_thing_change(const lud_grid_edit *edit, lud_grid_thing *thing, int layer, int number,
                           double value);
/* The value, within its range or around its ends. */
double lud_grid_parameter_fit(const lud_grid_parameter *parameter, double value);
/* What is expected of a parameter that is typed, such as `a number from 0 to 1`. */
void lud_grid_parameter_expects(const lud_grid_parameter *parameter, char *text, size_t size);
/* The number that was typed; LUD_ERROR_INPUT, with what is expected, where it is none or out of range. */
lud_status lud_grid_parameter_read(const lud_grid_parameter *parameter, const char *typed, double *value,
                                   lud_error *error);
