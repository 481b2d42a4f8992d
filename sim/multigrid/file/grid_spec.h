/* What a multigrid scenario describes, before it is compiled to a model.
 *
 * The map reader, the random generators and the tests fill a lud_grid_spec; lud_grid_model_create checks it
 * and compiles it (grid_model.h). Words and numbers are those of the world's docs page. */
#pragma once

#include "sim/world.h"

enum { LUD_GRID_MAX_AGENTS = 64, LUD_GRID_MIN_SIDE = 3, LUD_GRID_MAX_SIDE = 255, LUD_GRID_MAX_MAPS = 4096 };

typedef enum lud_grid_type {
    LUD_UNSEEN,
    LUD_EMPTY,
    LUD_WALL,
    LUD_FLOOR,
    LUD_DOOR,
    LUD_KEY,
    LUD_BALL,
    LUD_BOX,
    LUD_GOAL,
    LUD_LAVA,
    LUD_AGENT,
    LUD_OBJECT_GOAL,
    LUD_SWITCH,
    LUD_BLOCK,
    LUD_ROCK,
    LUD_UNSTEADY_GROUND,
    LUD_MAGIC_WALL,
    LUD_KILL_BUTTON,
    LUD_PAUSE_SWITCH,
    LUD_DISABLING_SWITCH,
    LUD_CONTROL_BUTTON,
    LUD_BUSH,
    LUD_GRID_TYPES
} lud_grid_type;

typedef enum lud_colour {
    LUD_RED,
    LUD_GREEN,
    LUD_BLUE,
    LUD_PURPLE,
    LUD_YELLOW,
    LUD_GREY,
    LUD_BROWN,
    LUD_COLOURS
} lud_colour;

typedef enum lud_direction { LUD_EAST, LUD_SOUTH, LUD_WEST, LUD_NORTH, LUD_ALL_SIDES } lud_direction;
typedef enum lud_door_state { LUD_DOOR_OPEN, LUD_DOOR_CLOSED, LUD_DOOR_LOCKED } lud_door_state;

typedef enum lud_grid_action_set {
    LUD_ACTIONS_AUTOMATIC, /* object actions when there is something to pick up, open or press, else small */
    LUD_ACTIONS_FULL,
    LUD_ACTIONS_OBJECT,
    LUD_ACTIONS_SMALL,
    LUD_ACTIONS_MINIMAL,
    LUD_ACTIONS_MINE
} lud_grid_action_set;

typedef enum lud_grid_view { LUD_VIEW_FULL, LUD_VIEW_PARTIAL } lud_grid_view;

/* How an observation of the grid is coded. */
typedef enum lud_grid_coding {
    LUD_CODING_COMPACT, /* parts `grid` int32 [H][W] (one word a cell), `globals`, `agents`, `interactive` */
    LUD_CODING_CELLS    /* part `cells` uint8 [n_agents][W][H][6], six numbers a cell */
} lud_grid_coding;

/* A thing in a cell. Fields that a type does not use are zero. */
typedef struct lud_grid_object {
    lud_grid_type type;
    lud_colour colour;
    lud_door_state door;
    lud_direction side;         /* magic wall */
    double stumble;             /* unsteady ground: probability to stumble */
    double entry, solidify;     /* magic wall: probabilities of an attempt */
    double enter;               /* bush: probability that a non-trampler gets in */
    lud_colour trigger;         /* kill, control: trigger colour; pause, disabling: toggle colour */
    lud_colour target;          /* kill, pause: target colour; control: controlled colour */
    lud_grid_type target_type;  /* disabling switch: what it disables */
    bool enabled, on, active;   /* initial values: buttons and switches; pause switch; magic wall */
    lud_grid_type content_type; /* box: key, ball or box inside, or LUD_EMPTY */
    lud_colour content_colour;
} lud_grid_object;

/* A block, rock, key, ball or box with its place. */
typedef struct lud_grid_piece {
    lud_grid_object object;
    int x, y;
} lud_grid_piece;

typedef struct lud_grid_agent {
    int x, y;
    lud_direction direction;
    lud_colour colour;
    lud_role role;
    bool can_push_rocks, can_enter_magic_walls;
} lud_grid_agent;

/* One layout. A model may hold several (random maps): then each episode draws one at reset. */
typedef struct lud_grid_map {
    lud_grid_object *cells; /* [height * width] what never moves; LUD_EMPTY where nothing is */
    lud_grid_piece *pieces;
    int n_pieces;
    lud_grid_agent *agents; /* [n_agents]; colours, roles and capabilities must agree between maps */
} lud_grid_map;

/* A rectangle, corners included; a single cell when `cell`. agent -1: every human. */
typedef struct lud_grid_goal {
    int x1, y1, x2, y2;
    bool cell;
    double weight;
    int agent;
} lud_grid_goal;

/* What agents see. */
typedef struct lud_grid_observation {
    int view;     /* lud_grid_view */
    int coding;   /* lud_grid_coding */
    int64_t size; /* side of a partial view: odd, 3..31 */
    bool see_through_walls;
} lud_grid_observation;

/* Rewards per agent; all zero (the reference's behaviour) by default. */
typedef struct lud_grid_rewards {
    double goal;      /* moving onto a goal object */
    double step;      /* every step, to every agent that is not terminated */
    double lava;      /* moving onto lava */
    double open_door; /* unlocking a door */
    struct lud_grid_collect {
        double key, ball, box;
    } collect;          /* picking one up */
    bool own_goal_only; /* only a goal object of the agent's own colour counts */
    bool shared;        /* every agent gets the sum over agents */
    bool goal_ends;     /* the episode terminates when an agent reaches a goal object */
} lud_grid_rewards;

typedef enum lud_grid_style { LUD_STYLE_ROOMS, LUD_STYLE_MAZE, LUD_STYLE_OPEN } lud_grid_style;
typedef enum lud_grid_gate { LUD_GATE_GAP, LUD_GATE_OPEN, LUD_GATE_CLOSED } lud_grid_gate;

/* How random maps are made (grid_generate.h). */
typedef struct lud_grid_generate {
    int64_t seed;
    int style; /* lud_grid_style */
    int width, height;
    int rooms_x, rooms_y;
    int doors;            /* lud_grid_gate */
    double extra_doors;   /* rooms: probability of a door more between neighbours that are connected anyhow */
    int64_t locked_doors; /* each gets a key of its colour somewhere */
    double braid;         /* maze: part of the dead ends that are opened */
    double walls;         /* open: part of the cells that are walls */
    struct lud_grid_object_counts {
        int64_t of[LUD_GRID_TYPES];
    } objects;
    unsigned colours; /* bit 1 << lud_colour: colours of doors, keys, balls, boxes and goals */
    int64_t humans, robots;
    bool solvable;
    int64_t maps, attempts; /* attempts for one map */
} lud_grid_generate;

/* The options of a file stand here as the reader of options leaves them (grid_options.h). */
typedef struct lud_grid_spec {
    int width, height; /* LUD_GRID_MIN_SIDE..LUD_GRID_MAX_SIDE */
    int n_agents;      /* 0..LUD_GRID_MAX_AGENTS */
    int64_t max_steps; /* 1..65535 */
    int actions;       /* lud_grid_action_set */
    lud_grid_map *maps;
    int n_maps; /* 1..LUD_GRID_MAX_MAPS */
    lud_grid_goal *goals;
    int n_goals;
    bool goals_must_cover; /* reject goals that leave a walkable cell uncovered (the reference does) */
    lud_grid_observation observation;
    lud_grid_rewards rewards;
    bool random_start; /* reset places agents at random free cells and directions */
    bool is_generated; /* the maps come from `generate` */
    lud_grid_generate generate;
} lud_grid_spec;

extern const char *const lud_grid_type_names[LUD_GRID_TYPES + 1]; /* "wall", "magic_wall", ... null */
extern const char *const lud_colour_names[LUD_COLOURS + 1];       /* "red", ... null */
extern const char *const lud_direction_names[6];                  /* "east", ..., "all", null */
extern const char *const lud_door_state_names[4];                 /* "open", "closed", "locked", null */
extern const char *const lud_grid_action_set_names[7];            /* "automatic", "full", ..., null */

/* A thing of this type with the defaults of the world's docs page (spec 2.1 and 10). */
lud_grid_object lud_grid_object_default(lud_grid_type type);
