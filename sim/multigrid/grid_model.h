/* A multigrid compiled from its spec, and the layout of its states.
 *
 * Cells are numbered y * width + x. Number n_cells stands for everything outside (it behaves as a wall) and,
 * in a state, for a thing that is not on the grid. The header also compiles as CUDA. */
#pragma once

#include "sim/multigrid/file/grid_spec.h"

/* What an action id means. */
typedef enum lud_grid_verb {
    LUD_VERB_STILL,
    LUD_VERB_LEFT,
    LUD_VERB_RIGHT,
    LUD_VERB_FORWARD,
    LUD_VERB_PICKUP,
    LUD_VERB_DROP,
    LUD_VERB_TOGGLE,
    LUD_VERB_NOTHING /* done, build: no effect, yet not still */
} lud_grid_verb;

/* Contents of a cell as one byte: the type and these flags. */
enum {
    LUD_CONTENT_TYPE = 0x1f,
    LUD_CONTENT_OVERLAP = 0x20, /* can be walked, pushed and dropped onto */
    LUD_CONTENT_CHANGES = 0x40, /* only in the static layer: door or bush, what it shows is in the state */
    LUD_CONTENT_FREE = LUD_EMPTY | LUD_CONTENT_OVERLAP,
    LUD_GRID_CONTENTS = 0x40 /* bytes that a cell of a loaded board may contain are below this */
};

/* An agent's byte in a state: direction in bits 0-1, then these, then 1 + forced action (0: none) in bits
 * 4-7. */
enum {
    LUD_AGENT_DIRECTION = 0x03,
    LUD_AGENT_TERMINATED = 0x04,
    LUD_AGENT_PAUSED = 0x08,
    LUD_AGENT_FORCED_SHIFT = 4
};

/* Two-bit conditions: a door's lud_door_state; magic wall: 1 active; bush: 1 trampled; kill button: 1
 * enabled. */
enum { LUD_PAUSE_ON = 1, LUD_PAUSE_ENABLED = 2 };

/* A control button's two bytes: 1 + controlled agent (0: none); then these, then 1 + recorded action in bits
 * 2-5. */
enum { LUD_CONTROL_ENABLED = 1, LUD_CONTROL_AWAITING = 2, LUD_CONTROL_RECORDED_SHIFT = 2 };

/* What an agent can do beyond walking. */
enum { LUD_CAN_PUSH_ROCKS = 1, LUD_CAN_ENTER_MAGIC_WALLS = 2, LUD_CAN_TRAMPLE = 4 };

enum { LUD_GRID_NONE = 0xffff, LUD_CLASS_BLOCK = 0, LUD_CLASS_ROCK = 1, LUD_GRID_MAX_CLASSES = 200 };

/* An immobile object with parameters or a changing condition. */
typedef struct lud_grid_fixed {
    uint16_t cell;
    uint16_t slot; /* index of its two-bit condition, of a control button's bytes, or LUD_GRID_NONE */
    uint8_t type, colour, side, trigger, target, target_type;
    double stumble, entry, solidify, enter;
} lud_grid_fixed;

/* Pieces that nothing tells apart. Class 0 are blocks, class 1 rocks, the others can be picked up. */
typedef struct lud_grid_class {
    uint8_t type, colour;
    uint8_t content;   /* class of what is inside, 0: nothing */
    uint16_t begin, n; /* slots in the state */
} lud_grid_class;

/* One layout, compiled. */
typedef struct lud_grid_layer {
    uint8_t *base;         /* [n_cells + 1] contents bytes of the static layer */
    uint8_t *base_colour;  /* [n_cells + 1] colour of the static object */
    uint16_t *fixed_at;    /* [n_cells + 1] index in `fixed` or LUD_GRID_NONE */
    lud_grid_fixed *fixed; /* [n_fixed] in row-major order */
    uint16_t *shown;       /* [n_shown] indices of doors and bushes */
    int n_fixed, n_shown;
    uint8_t *initial;    /* [state_bytes] */
    uint16_t *free_cell; /* [n_free] cells where random agents may start */
    int n_free;
    int32_t *compact; /* [n_cells] compact words of the static layer, see grid_observe.h */
    uint16_t *coded;  /* [n_coded] indices of what has its condition in its word */
    int n_coded;
    float *interactive;             /* [96] interactive features, constant entries filled in */
    int n_buttons;                  /* of those, with entries that change */
    float stumble, entry, solidify; /* global features */
} lud_grid_layer;

/* The state, field by field: name, number of elements, bytes of one, meaning. Everything that lays out,
 * prints or compares states follows this table. */
#define LUD_GRID_FIELDS(FIELD)                                                                               \
    FIELD(step, 1, 2, "steps since the reset")                                                               \
    FIELD(map, m->n_maps > 1 ? 1 : 0, 2, "layout drawn at the reset")                                        \
    FIELD(cell, m->n_agents, m->cell_bytes, "cell y * width + x of each agent")                              \
    FIELD(agent, m->n_agents, 1, "direction, terminated 4, paused 8, 16 * (1 + forced action)")              \
    FIELD(carried, m->n_classes > 2 ? m->n_agents : 0, 1, "class of the thing each agent carries, 0: none")  \
    FIELD(piece, m->n_slots, m->cell_bytes, "cell of each piece, sorted within its class")                   \
    FIELD(condition, (m->n_conditions + 3) / 4, 1, "two bits a door, magic wall, bush, button or switch")    \
    FIELD(control, m->n_controls, 2, "control buttons: agent, flags and recorded action")

typedef struct lud_grid_offsets {
#define LUD_GRID_OFFSET(name, count, bytes, about) uint32_t name;
    LUD_GRID_FIELDS(LUD_GRID_OFFSET)
#undef LUD_GRID_OFFSET
} lud_grid_offsets;

/* A row of the table above for one model. */
typedef struct lud_grid_field {
    const char *name, *about;
    int offset, count, bytes;
} lud_grid_field;
enum { LUD_GRID_N_FIELDS = 8 };

/* What each action means in front of each content, for steps without chance (grid_quick.h). Row LUD_GRID_IDLE
 * is that of an agent that cannot act. */
enum { LUD_GRID_IDLE = 8 };
typedef struct lud_grid_quick {
    bool possible;    /* in this world */
    uint32_t carried; /* offset of bytes that are not 0 for agents that carry something, where things are
                         carried */
    uint8_t turn[LUD_GRID_IDLE + 1];                    /* added to the direction */
    uint8_t unsteady[LUD_GRID_IDLE + 1];                /* more bits on unsteady ground */
    uint8_t bits[LUD_GRID_IDLE + 1][LUD_GRID_CONTENTS]; /* of LUD_QUICK_MOVES and so on */
} lud_grid_quick;

typedef struct lud_grid_model {
    lud_model model;
    lud_arena *arena;
    lud_grid_spec spec; /* a copy, with what it points to */
    int width, height, n_cells, n_agents, n_maps, n_actions;
    int cell_bytes; /* 1 up to 255 cells, else 2 */
    int n_classes, n_slots, n_conditions, n_controls;
    lud_grid_offsets at;
    lud_grid_field field[LUD_GRID_N_FIELDS];
    uint8_t verb[8]; /* [n_actions] */
    lud_grid_quick quick;
    uint8_t *slot_type;                  /* [n_slots] */
    int32_t *slot_word;                  /* [n_slots] its compact word on plain ground */
    float (*carry)[2];                   /* [n_classes] features of an agent that carries it: type, colour */
    float (*place)[2];                   /* [n_cells] x, y */
    uint8_t *agent_of_place;             /* [n_agents] whose features stand where in part `agents` */
    uint8_t colour[LUD_GRID_MAX_AGENTS]; /* [n_agents] */
    uint8_t can[LUD_GRID_MAX_AGENTS];    /* [n_agents] */
    int colour_count[LUD_COLOURS];       /* agents of each colour */
    uint8_t *cell_x, *cell_y;            /* [n_cells + 1] */
    uint16_t *next;                      /* [(n_cells + 1) * 4] neighbour in each direction */
    lud_grid_class classes[LUD_GRID_MAX_CLASSES];
    lud_grid_layer *layers; /* [n_maps] */
    bool has_rewards;
    float reward_collect[LUD_GRID_TYPES]; /* the others are read in spec.rewards */
    int *goal_begin;                      /* [n_agents + 1] each agent's goals in goal_index */
    int *goal_index;                      /* indices in spec.goals */
} lud_grid_model;

/* Checks a spec and compiles it. The spec is copied; the model is released with its world's free. */
lud_status lud_grid_model_create(const lud_grid_spec *spec, lud_model **model, lud_error *error);
void lud_grid_model_destroy(lud_model *model);

/* Which walkable cells of a map lie in none of an agent's goals: uncovered[height * width], 1 there. Whether
 * there are any; an agent without goals has none. */
bool lud_grid_find_uncovered(const lud_grid_spec *spec, int map, int agent, uint8_t *uncovered);

/* Names of the actions of a lud_grid_action_set that is not automatic; *n is their number. */
const char *const *lud_grid_action_names(int set, int *n);
/* True when the model's world is multigrid. */
bool lud_grid_is_model(const lud_model *model);
/* Which fields differ and how, a line each; nothing for equal states. */
void lud_grid_diff(const lud_model *model, const uint8_t *a, const uint8_t *b, lud_text *out);

extern const lud_world lud_multigrid_world;
