/* Shared by the files of the editor. */
#pragma once

#include "render/editor/editor.h"
#include "render/editor/palette.h"
#include "render/editor/study.h"
#include "render/viewer/panels/scroll.h"
#include "sim/multigrid/edit/grid_edit_check.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

typedef enum lud_editor_tool { LUD_TOOL_SELECT, LUD_TOOL_GOAL, LUD_TOOL_BRUSH } lud_editor_tool;
typedef enum lud_editor_command {
    LUD_COMMAND_SELECT,
    LUD_COMMAND_GOAL,
    LUD_COMMAND_UNDO,
    LUD_COMMAND_REDO,
    LUD_COMMAND_SAVE,
    LUD_COMMAND_SOLVE,
    LUD_COMMAND_LEAVE,
    LUD_COMMANDS
} lud_editor_command;
typedef enum lud_editor_grip {
    LUD_GRIP_NONE,
    LUD_GRIP_PAINT,
    LUD_GRIP_ERASE,
    LUD_GRIP_MOVE,
    LUD_GRIP_PAN,
    LUD_GRIP_GOAL
} lud_editor_grip;

enum { LUD_EDITOR_PROBLEMS = 24, LUD_EDITOR_SIDES = 4, LUD_EDITOR_TYPED = 64 };

/* A number that is being typed in the place of a parameter's value. */
typedef struct lud_editor_typing {
    bool on;
    int number; /* of the parameter */
    char text[LUD_EDITOR_TYPED];
    int length, cursor;
    bool all;      /* all of it is selected: what is typed takes its place */
    bool reveal;   /* it may be scrolled away */
    char last[64]; /* name of the parameter that was typed last */
} lud_editor_typing;

struct lud_editor {
    lud_editor_options options;
    lud_grid_edit *edit;
    lud_drawing *drawing; /* of the document's model */
    uint8_t *state;       /* as the world begins */
    uint64_t version;     /* of the document, that is drawn */
    lud_grid_palette palette;
    lud_editor_tool tool;
    int brush;
    lud_grid_pick pick;
    lud_grid_problem problems[LUD_EDITOR_PROBLEMS];
    int n_problems;
    uint8_t *marked; /* [height * width] cells that should be in a goal */
    lud_editor_study study;
    bool study_known; /* of the present version */
    double unstudied; /* seconds since the last change */
    bool wants_solving;
    lud_text findings;
    lud_text solution;
    uint64_t solved_version;
    /* mouse */
    lud_editor_grip grip;
    int grip_x, grip_y;     /* cell where it began */
    int offset_x, offset_y; /* of a goal that is moved */
    float last_x, last_y;
    float pointer_x, pointer_y;
    int hover_x, hover_y; /* cell under the mouse, -1: none */
    bool moved;
    bool again;      /* what was pressed on was selected before */
    bool force_save; /* the file has changed, and it was said */
    lud_editor_typing typing;
    /* picture */
    lud_camera camera;
    bool fitted;
    lud_box world, column, status;
    lud_scroll palette_scroll, details_scroll;
    lud_box commands[LUD_COMMANDS];
    lud_box colours[LUD_COLOURS];
    lud_box values[LUD_GRID_PARAMETERS]; /* where values of parameters are */
    char value_names[LUD_GRID_PARAMETERS][64];
    bool value_is_number[LUD_GRID_PARAMETERS];
    int n_values;
    lud_box sides[LUD_EDITOR_SIDES]
                 [2]; /* by lud_direction: what cuts the map there, and what makes it larger */
};

extern const char *const lud_editor_command_names[LUD_COMMANDS];
/* After a change, or one that failed: what is drawn and known is brought up to date, or the reason said. */
void lud_editor_after(lud_editor *editor, lud_status status, const lud_error *error);
/* Does what a button says; true where it leaves. */
bool lud_editor_command_do(lud_editor *editor, lud_editor_command command);
/* The parameters that the panel shows: those of the brush, or of what is selected. */
int lud_editor_parameters(const lud_editor *editor, lud_grid_parameter *parameters);
void lud_editor_change(lud_editor *editor, int number, double value);
/* The same with a value that was typed: in range, and not rounded. */
void lud_editor_give(lud_editor *editor, int number, double value);
/* Width of the arrows of a value. */
float lud_editor_arrow_width(lud_box value, bool number);

/* Typing (editor_typing.c). Begins with what the parameter is. */
void lud_editor_type(lud_editor *editor, int number);
/* What Enter types: what is under the mouse, what was typed last, or the first number there is. */
void lud_editor_type_any(lud_editor *editor);
/* Takes what is typed. False: it is not what is expected, which was said, and typing goes on. */
bool lud_editor_type_take(lud_editor *editor);
/* Ends it for something else: takes what can be taken, and says what cannot. */
void lud_editor_type_end(lud_editor *editor);
/* True where the key is that of typing. */
bool lud_editor_type_key(lud_editor *editor, int key, bool shift, bool control);
/* Whether what is typed is what is expected, which is told in `expected`. */
bool lud_editor_type_fits(const lud_editor *editor, char *expected, size_t size);
void lud_editor_type_draw(const lud_editor *editor, lud_canvas *canvas, const lud_theme *theme, lud_box field,
                          float seconds);

/* The size of the map (editor_sides.c). */
void lud_editor_resize(lud_editor *editor, lud_direction side, int by);
void lud_editor_draw_sides(lud_editor *editor, lud_canvas *canvas, const lud_theme *theme);
/* True where a button at a side of the map was pressed. */
bool lud_editor_press_side(lud_editor *editor, float x, float y);
/* The column with palette, parameters and findings; and the line at the foot. */
void lud_editor_draw_panel(lud_editor *editor, lud_canvas *canvas, const lud_theme *theme, float seconds);
void lud_editor_draw_status(lud_editor *editor, lud_canvas *canvas, const lud_theme *theme);
