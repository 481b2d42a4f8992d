/* Tribes: teams on a grid that gather, store, trade, steal and stand guard.
 *
 * This header is what other folders need: what a scenario says (the spec), the model compiled from it, and
 * how the bytes of a state are read. The rules are in docs/tribes.md, in words, and in tribes_rules.c.
 *
 * Cells are numbered y * width + x, x to the east and y to the south. Number n_cells stands for everything
 * outside, which behaves as water. */
#pragma once

#include "sim/world.h"

enum {
    LUD_TRIBES_MAX_AGENTS = 256,
    LUD_TRIBES_MAX_TEAMS = 6,
    LUD_TRIBES_MAX_SIDE = 128,
    LUD_TRIBES_MAX_CELLS = LUD_TRIBES_MAX_SIDE * LUD_TRIBES_MAX_SIDE,
    LUD_TRIBES_MAX_MAPS = 64,
    LUD_TRIBES_MAX_VALUE = 9,
    LUD_TRIBES_NOBODY = 0xffff /* the cell of an agent that is dead */
};

/* What can be gathered. */
typedef enum lud_resource { LUD_GRAIN, LUD_WOOD, LUD_ORE, LUD_RESOURCES } lud_resource;

/* Actions in the order of their numbers; the moves are 1 + direction (east, south, west, north). */
typedef enum lud_tribes_action {
    LUD_TRIBES_WAIT,
    LUD_TRIBES_EAST,
    LUD_TRIBES_SOUTH,
    LUD_TRIBES_WEST,
    LUD_TRIBES_NORTH,
    LUD_TRIBES_GATHER,
    LUD_TRIBES_DEPOSIT,
    LUD_TRIBES_TRADE,
    LUD_TRIBES_STEAL,
    LUD_TRIBES_DEFEND,
    LUD_TRIBES_ACTIONS
} lud_tribes_action;

/* What a reward is the sum of, in the order of layout.components. */
typedef enum lud_tribes_component {
    LUD_TRIBES_GATHERED,  /* value of what was taken from fields */
    LUD_TRIBES_DELIVERED, /* value of what was brought into the storehouse */
    LUD_TRIBES_TRADED,    /* value won by swapping */
    LUD_TRIBES_STOLEN,    /* value of what was stolen */
    LUD_TRIBES_LOST,      /* value of what was stolen from it, or its part of what was stolen from the store;
                             counts against */
    LUD_TRIBES_DEFENDED,  /* its part of the value that guards kept from thieves */
    LUD_TRIBES_CAUGHT,    /* thefts of its own that guards foiled; count against */
    LUD_TRIBES_SHARED,    /* the mean of the sum of the others over the team */
    LUD_TRIBES_COMPONENTS
} lud_tribes_component;

/* What is counted in a state for each team since the reset: the components up to CAUGHT (values, thefts
 * foiled), then these. */
enum {
    LUD_TRIBES_TRADES = LUD_TRIBES_SHARED, /* swaps that its agents took part in */
    LUD_TRIBES_RAIDS,                      /* thefts that succeeded */
    LUD_TRIBES_TALLIES
};

/* What a cell is made of. From water on nobody enters; a storehouse of team t is LUD_TRIBES_HOUSE + t. */
enum { LUD_TRIBES_GROUND, LUD_TRIBES_FIELD, LUD_TRIBES_WATER, LUD_TRIBES_HOUSE };

extern const char *const lud_resource_names[LUD_RESOURCES + 1];           /* "grain", "wood", "ore", null */
extern const char *const lud_tribes_action_names[LUD_TRIBES_ACTIONS + 1]; /* "wait", "east", ... null */
extern const char *const lud_tribes_component_names[LUD_TRIBES_COMPONENTS + 1]; /* "gathered", ... null */

typedef struct lud_tribes_team {
    const char *name;
    int role;                     /* lud_role of its agents */
    int64_t robots;               /* but the last so many are robots */
    int64_t agents;               /* at least 1 once a map is there */
    int64_t value[LUD_RESOURCES]; /* of a unit, 0..LUD_TRIBES_MAX_VALUE */
    double skill[LUD_RESOURCES];  /* probability that gathering one succeeds */
} lud_tribes_team;

/* Somewhere to be, or that much in the storehouse. */
typedef struct lud_tribes_goal {
    bool stored;
    int64_t units;      /* stored: at least so many units of any kind */
    int x1, y1, x2, y2; /* else: to be in this rectangle, corners included */
    bool cell;          /* which is a single cell */
    double weight;
} lud_tribes_goal;

/* How random maps are made. */
typedef struct lud_tribes_generate {
    int64_t seed;
    int width, height;
    int64_t houses; /* a team */
    double water;   /* part of the cells */
    int64_t fields[LUD_RESOURCES];
    int64_t patch; /* fields that lie together */
    int64_t maps;
} lud_tribes_generate;

/* What the options of the section say, as they are read (tribes_options.h). */
typedef struct lud_tribes_spec {
    int64_t max_steps;
    int64_t carry; /* units that an agent can carry */
    int64_t stock; /* units of a full field */
    struct lud_tribes_regrow {
        double of[LUD_RESOURCES]; /* probability that a field gains a unit in a step */
    } regrow;
    struct lud_tribes_steal {
        double open, guarded; /* probability that a theft succeeds */
    } steal;
    int64_t health; /* blows and hungers that an agent survives; 0: nobody dies */
    int64_t hunger; /* every so many steps everybody loses one; 0: never */
    int64_t sight;  /* cells that an agent sees in each direction */
    bool random_start;
    struct lud_tribes_weights {
        double of[LUD_TRIBES_COMPONENTS];
    } rewards;
    int width, height;
    int n_teams;
    lud_tribes_team *teams; /* [n_teams] */
    int n_maps;
    char **maps; /* [n_maps] -> [height * width] characters as in a drawn map (tribes_map.h) */
    bool is_generated;
    lud_tribes_generate generate;
    int n_goals;
    lud_tribes_goal *goals; /* [n_goals] of every human */
} lud_tribes_spec;

/* One map, compiled. */
typedef struct lud_tribes_map {
    uint8_t *ground;   /* [n_cells + 1] */
    int16_t *field_at; /* [n_cells + 1] number of the field there, -1: none */
    uint16_t *field;   /* [n_fields] its cell */
    uint16_t *start;   /* [n_agents] where agents start */
    uint16_t *free;    /* [n_free] where they may start with random_start */
    int n_free;
    uint16_t *house; /* [n_houses] cells of storehouses */
    uint8_t *owner;  /* [n_houses] their teams */
    int n_houses;
    /* [n_teams][n_cells + 1] steps from a cell to the nearest one beside a storehouse of the team, nobody in
     * the way; LUD_TRIBES_NOBODY where there is no way. */
    uint16_t *way_home;
} lud_tribes_map;

/* The state, field by field: name, number of elements, bytes of one (lowest first), meaning. */
#define LUD_TRIBES_FIELDS(FIELD)                                                                             \
    FIELD(step, 1, 2, "steps since the reset")                                                               \
    FIELD(map, m->spec.n_maps > 1 ? 1 : 0, 1, "map drawn at the reset")                                      \
    FIELD(cell, m->n_agents, 2, "cell y * width + x of each agent, 65535: dead")                             \
    FIELD(load, m->n_agents *LUD_RESOURCES, 1, "units of grain, wood and ore that each agent carries")       \
    FIELD(health, m->spec.health > 0 ? m->n_agents : 0, 1, "health of each agent, 0: dead")                  \
    FIELD(stock, m->n_fields, 1, "units in each field, those of grain first")                                \
    FIELD(store, m->spec.n_teams *LUD_RESOURCES, 4, "units of each kind in each team's storehouse")          \
    FIELD(tally, m->spec.n_teams *LUD_TRIBES_TALLIES, 4, "what each team has gathered, delivered, ...")

typedef struct lud_tribes_offsets {
#define LUD_TRIBES_OFFSET(name, count, bytes, about) uint32_t name;
    LUD_TRIBES_FIELDS(LUD_TRIBES_OFFSET)
#undef LUD_TRIBES_OFFSET
} lud_tribes_offsets;

typedef struct lud_tribes_model {
    lud_model base;
    lud_arena *arena;
    lud_tribes_spec spec; /* a copy, with what it points to */
    int n_cells, n_agents, n_fields;
    int field_begin[LUD_RESOURCES + 1]; /* fields of kind k are field_begin[k] .. field_begin[k + 1] - 1 */
    int team_begin[LUD_TRIBES_MAX_TEAMS + 1]; /* and so with the agents of a team */
    uint8_t team[LUD_TRIBES_MAX_AGENTS];      /* [n_agents] */
    uint16_t *next;                           /* [(n_cells + 1) * 4] neighbour in each direction */
    lud_tribes_map *maps;                     /* [spec.n_maps] */
    lud_tribes_offsets at;
    int8_t (*seen)[2]; /* [n_seen] offsets of the cells in sight, the nearest first, the own one left out */
    int n_seen;
} lud_tribes_model;

extern const lud_world lud_tribes_world;

/* The model, which must be one of this world. */
const lud_tribes_model *lud_tribes_of(const lud_model *model);

/* --- What is in a state --- */

static inline uint32_t lud_tribes_get(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    for (int k = 0; k < bytes; k++) value |= (uint32_t)at[k] << (8 * k);
    return value;
}

static inline void lud_tribes_put(uint8_t *at, int bytes, uint32_t value) {
    for (int k = 0; k < bytes; k++) at[k] = (uint8_t)(value >> (8 * k));
}

static inline int lud_tribes_step_count(const lud_tribes_model *m, const uint8_t *state) {
    return (int)lud_tribes_get(state + m->at.step, 2);
}

static inline const lud_tribes_map *lud_tribes_map_of(const lud_tribes_model *m, const uint8_t *state) {
    return &m->maps[m->spec.n_maps > 1 ? state[m->at.map] : 0];
}

/* LUD_TRIBES_NOBODY for who is dead. */
static inline int lud_tribes_cell(const lud_tribes_model *m, const uint8_t *state, int agent) {
    return (int)lud_tribes_get(state + m->at.cell + 2 * (uint32_t)agent, 2);
}

/* load[LUD_RESOURCES] of an agent. */
static inline const uint8_t *lud_tribes_load(const lud_tribes_model *m, const uint8_t *state, int agent) {
    return state + m->at.load + (uint32_t)(agent * LUD_RESOURCES);
}

static inline int lud_tribes_loaded(const uint8_t *load) {
    return load[LUD_GRAIN] + load[LUD_WOOD] + load[LUD_ORE];
}

/* The model's full health where nobody dies. */
static inline int lud_tribes_health(const lud_tribes_model *m, const uint8_t *state, int agent) {
    return m->spec.health > 0 ? state[m->at.health + (uint32_t)agent] : (int)m->spec.health;
}

static inline int lud_tribes_stock(const lud_tribes_model *m, const uint8_t *state, int field) {
    return state[m->at.stock + (uint32_t)field];
}

static inline lud_resource lud_tribes_kind(const lud_tribes_model *m, int field) {
    return field < m->field_begin[1] ? LUD_GRAIN : field < m->field_begin[2] ? LUD_WOOD : LUD_ORE;
}

static inline uint32_t lud_tribes_stored(const lud_tribes_model *m, const uint8_t *state, int team,
                                         int kind) {
    return lud_tribes_get(state + m->at.store + 4 * (uint32_t)(team * LUD_RESOURCES + kind), 4);
}

static inline uint32_t lud_tribes_tally(const lud_tribes_model *m, const uint8_t *state, int team,
                                        int which) {
    return lud_tribes_get(state + m->at.tally + 4 * (uint32_t)(team * LUD_TRIBES_TALLIES + which), 4);
}

static inline int lud_tribes_neighbour(const lud_tribes_model *m, int cell, int direction) {
    return m->next[cell * 4 + direction];
}

/* The agent in each cell: at[n_cells + 1] is set to -1 or the agent's number. */
void lud_tribes_board(const lud_tribes_model *m, const uint8_t *state, int16_t *at);
/* Whether a cell is beside a storehouse of the team. */
bool lud_tribes_at_home(const lud_tribes_model *m, const lud_tribes_map *map, int cell, int team);
/* The kind that an agent of the team offers in a trade: what is worth least to it of what it carries, the
 * first of equals; -1: it carries nothing. */
int lud_tribes_offer(const lud_tribes_model *m, const uint8_t *load, int team);
/* Whether a swap of what they offer pays for both. */
bool lud_tribes_pays(const lud_tribes_model *m, const uint8_t *state, int a, int b);
/* The actions that can have an effect: mask[LUD_TRIBES_ACTIONS] of 0 and 1, with `at` from
 * lud_tribes_board. Waiting and defending always can, while the agent lives; trading where a neighbour of
 * another team carries something and a swap pays; moving where nobody stands. Who is dead can only wait. */
void lud_tribes_mask(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int agent,
                     uint8_t *mask);
/* Steps from each cell to the nearest of these fields: those of the kind with at least one unit on which
 * nobody stands. distance[n_cells + 1], LUD_TRIBES_NOBODY: no way; nearest[n_cells + 1] that field's
 * number, -1: none. Nobody is in the way. queue[n_cells] is scratch. */
void lud_tribes_to_fields(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int kind,
                          uint16_t *distance, int16_t *nearest, uint16_t *queue);
/* What follows from a state for all its agents. Fits on the stack of a thread (260 kB); only the cells of the
 * map in use are touched. */
typedef struct lud_tribes_view {
    const lud_tribes_model *m;
    const lud_tribes_map *map;
    const uint8_t *state;
    int16_t at[LUD_TRIBES_MAX_CELLS + 1]; /* lud_tribes_board */
    /* lud_tribes_to_fields of each kind */
    uint16_t distance[LUD_RESOURCES][LUD_TRIBES_MAX_CELLS + 1];
    int16_t nearest[LUD_RESOURCES][LUD_TRIBES_MAX_CELLS + 1];
    uint16_t queue[LUD_TRIBES_MAX_CELLS];
} lud_tribes_view;
/* Fills it; without `ways` distance and nearest stay as they are. */
void lud_tribes_look(const lud_tribes_model *m, const uint8_t *state, bool ways, lud_tribes_view *view);
/* The team, other than `team`, with something in its storehouses and the shortest way from the cell to one
 * of them; -1: there is none. */
int lud_tribes_nearest_store(const lud_tribes_model *m, const uint8_t *state, int cell, int team);
/* The cell of the team's storehouse that is nearest to a cell, walls or not. */
int lud_tribes_nearest_house(const lud_tribes_model *m, const lud_tribes_map *map, int cell, int team);
/* The agents in sight of `agent`, the nearest first (distance in steps over open ground, then from north to
 * south, then from west to east): at most `most` of its own team or of the others. Returns their number. */
int lud_tribes_in_sight(const lud_tribes_model *m, const uint8_t *state, const int16_t *at, int agent,
                        bool own_team, int most, int *agents);
