/* How a world is drawn. One lud_draw_world per world; render/registry.c lists them. */
#pragma once

#include "render/canvas/canvas.h"
#include "sim/world.h"

enum { LUD_TRAIL_STATES = 16 };

/* One moment to be drawn: a state, or a point on the way from one state to the next. */
typedef struct lud_moment {
    const uint8_t *state;
    const uint8_t *before;    /* the state one step earlier; null: no motion is drawn */
    const uint8_t *came_from; /* the same state where no motion is drawn either; null at the start */
    const int32_t *actions;   /* [n_agents] joint action from `came_from` to `state`; null when not known */
    const float *rewards;     /* [n_agents] of that step; null when not known */
    float progress;           /* 0..1 of the step's motion, already eased; 1 shows `state` exactly */
    float glow;               /* 1: just changed .. 0: settled */
    float seconds;            /* clock of slow waves and shimmers; constant in still pictures */
    const uint8_t *hidden;    /* the cast's hidden bytes before it acts in `state`; null: not known */
    const int32_t *goals;     /* [n_agents] goal to be shown for each agent, -1: none; null: none at all */
    int selected_agent;       /* -1: none */
    bool cell_selected;
    int cell_x, cell_y;
    bool labels;                 /* agent numbers beside the agents */
    const uint8_t *const *trail; /* [n_trail] states before this one, the latest first; may be null */
    int n_trail;
    struct lud_overlay *overlay; /* drawn between the ground and what stands on it; null: none */
} lud_moment;

/* Events of a step, for marks on the time line and the captions beside them. */
typedef enum lud_step_event {
    LUD_EVENT_PICKUP = 1,     /* something was picked up or put down */
    LUD_EVENT_DOOR = 2,       /* a door, button, switch or wall changed */
    LUD_EVENT_GOAL = 4,       /* an agent reached a goal */
    LUD_EVENT_TERMINATED = 8, /* an agent was terminated */
    LUD_EVENT_ACT = 16        /* another deed worth a mark */
} lud_step_event;

/* How an action is shown as an arrow. */
typedef enum lud_action_shape {
    LUD_ACTION_UNSEEN, /* not at all */
    LUD_ACTION_MOVE,
    LUD_ACTION_TURN,
    LUD_ACTION_STAY,
    LUD_ACTION_USE /* of what lies before the agent */
} lud_action_shape;

typedef struct lud_action_sign {
    lud_action_shape shape;
    float dx, dy; /* unit vector: where the agent moves or faces */
    float turn;   /* LUD_ACTION_TURN: 1 to the right, -1 to the left */
    float lane;   /* LUD_ACTION_USE: how far beside the middle, in world units, so that kinds of use differ */
} lud_action_sign;

typedef struct lud_drawing lud_drawing;

typedef struct lud_draw_world {
    const char *name; /* of the world */
    bool whole_cells; /* the camera keeps to whole pixels a cell */
    bool trails;      /* draws moment->trail, so that states must be remembered */
    bool choices;     /* draws the overlay's probabilities of actions itself, beside what they are */

    /* What drawing this model needs; the model must outlive it. */
    lud_status (*create)(const lud_model *model, lud_drawing **drawing, lud_error *error);
    void (*destroy)(lud_drawing *drawing);
    /* The part of the plane in which the world lies. */
    lud_box (*extent)(const lud_drawing *drawing);
    /* Draws the moment where the camera looks. Fills the viewport's background too. */
    void (*draw)(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment);
    /* Where an agent is (its middle) at this moment. */
    void (*agent_position)(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y);
    /* The agent at a world point, -1: none. */
    int (*agent_at)(lud_drawing *drawing, const uint8_t *state, float x, float y);
    /* What follows may be null, where there is nothing to say or to see.
     * Everything about an agent, or about the cell at integer (x, y): lines `name<tab>value`; a line without
     * a tab is a heading. */
    void (*describe_agent)(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out);
    void (*describe_cell)(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out);
    /* What is different from one state to another, a line for each difference. */
    void (*describe_change)(lud_drawing *drawing, const uint8_t *before, const uint8_t *after, lud_text *out);
    /* Cells in which something else lies than in another state, agents left out: at most `most`, returns how
     * many. */
    int (*differing_cells)(lud_drawing *drawing, const uint8_t *state, const uint8_t *other,
                           int32_t (*cells)[2], int most);
    /* Events of a step, lud_step_event values or-ed. */
    int (*events)(lud_drawing *drawing, const uint8_t *before, const uint8_t *after);
    /* For overlays; null where the world has no such thing. The area of an agent's goal, false when it has
     * none; whether agents can ever be in the unit cell at integer (x, y), and whether nothing is to be seen
     * there now; what an action does, for an arrow. */
    bool (*goal_area)(const lud_drawing *drawing, int agent, int goal, lud_box *area);
    bool (*walkable)(lud_drawing *drawing, const uint8_t *state, int x, int y);
    bool (*vacant)(lud_drawing *drawing, const uint8_t *state, int x, int y);
    lud_action_sign (*action_sign)(lud_drawing *drawing, const uint8_t *state, int agent, int action);
    /* For dragging with the mouse; null where nothing can be moved. The thing at a world point (-1: none),
     * and moving it there in a state. */
    int (*thing_at)(lud_drawing *drawing, const uint8_t *state, float x, float y);
    void (*move_thing)(lud_drawing *drawing, uint8_t *state, int thing, float x, float y);
    /* A small picture of the agent for panels; null: a disc. */
    void (*portrait)(lud_drawing *drawing, lud_canvas *canvas, const uint8_t *state, int agent, float x,
                     float y, int size);
    /* What the pictures mean and how teams stand, in a box of a panel; returns the height that it took. Null:
     * pictures speak for themselves. */
    float (*legend)(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const uint8_t *state,
                    lud_box box);
} lud_draw_world;

/* Every drawing's own struct begins with this. */
struct lud_drawing {
    const lud_draw_world *kind;
    const lud_model *model;
};

/* All of this build (render/registry.c); *n is their number. */
const lud_draw_world *const *lud_draw_worlds(int *n);
/* Adds one, for a world that is registered as well (lud_world_register). */
lud_status lud_draw_register(const lud_draw_world *world, lud_error *error);
/* The way to draw a world; null when there is none. */
const lud_draw_world *lud_draw_find(const char *world);
/* A drawing for the model's world; LUD_ERROR_UNSUPPORTED when it cannot be drawn. */
lud_status lud_drawing_create(const lud_model *model, lud_drawing **drawing, lud_error *error);
void lud_drawing_destroy(lud_drawing *drawing);

/* Slow at both ends, exact at 0 and 1: the way of everything that moves. */
float lud_eased(float t);
