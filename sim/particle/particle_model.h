/* The compiled form of a particle task: what step and observe read. Internal to sim/particle.
 *
 * Step works on blocks of LUD_PARTICLE_LANES environments. Inside, a block is a matrix of rows, one row a
 * number of the state for all lanes: rows 0..n_words-1 are the state's words in order, the others are
 * scratch. Every instruction below names rows, so one instruction is decoded once for a whole block and its
 * arithmetic is one loop over lanes. */
#pragma once

#include "sim/particle/particle.h"

/* The name of particle_cuda.cu's table in the CUDA module. */
#define LUD_PARTICLE_DEVICE_CODE "lud_particle_cuda_code"

enum {
    LUD_PARTICLE_LANES = 16,
    LUD_PARTICLE_MAX_ROWS = 4096,
    LUD_PARTICLE_MAX_ENTITIES = 512,
    LUD_PARTICLE_MAX_COLOUR = 8,
    LUD_PARTICLE_MAX_OBSERVATION = 2048,
    LUD_PARTICLE_PLACING_TRIES = 1000 /* draws for a free place before an overlap is accepted */
};

typedef enum particle_family { FAMILY_MPE, FAMILY_NAVIGATION } particle_family;

typedef struct particle_physics {
    int family;
    double dt, damping, contact_force, contact_margin, sensitivity;
} particle_physics;

typedef struct particle_graph {
    int nodes; /* enum particle_nodes */
    bool edges, distances;
    double edge_distance;
} particle_graph;
enum particle_nodes { NODES_NONE, NODES_GLOBAL, NODES_RELATIVE };

typedef struct particle_disturbance {
    double std, decay;
} particle_disturbance;

/* The `particle` section. */
typedef struct particle_options {
    const char *task;
    particle_physics physics;
    int actions;   /* 0 discrete, 1 continuous */
    int precision; /* 0 single, 1 double */
    int64_t episode_length;
    double world_size;
    int64_t speech_size;
    double local_ratio;
    particle_graph graph;
    particle_disturbance disturbance;
    lud_tree *parameters, *bodies, *choices, *walls, *rewards, *success;
} particle_options;

/* A row of `bodies`. */
typedef struct particle_kind {
    const char *name;
    int64_t count;
    int type, role, movable; /* movable: 0 auto, 1 false, 2 true */
    bool collides, speaks, ghost;
    double radius, mass, acceleration, max_speed, control_noise, speech_noise;
    lud_real_list region;
    lud_tree *at, *colour, *paint, *apart_from, *observes;
    int first; /* entity number of its first member */
} particle_kind;

/* A row of `choices`. */
typedef struct particle_choice {
    const char *name;
    lud_tree *from;
    int per;                 /* enum particle_per */
    int first_slot, n_slots; /* drawn slots; none for a pairing */
    int first_entity, n_candidates;
} particle_choice;
enum particle_per { PER_ENVIRONMENT, PER_AGENT, PER_PAIR };

typedef enum particle_view_term {
    VIEW_VELOCITY,
    VIEW_POSITION,
    VIEW_RELATIVE,
    VIEW_DISTANCE,
    VIEW_SPEECH,
    VIEW_COLOUR,
    VIEW_INSIDE
} particle_view_term;

typedef enum particle_reward_term {
    REWARD_DISTANCE,
    REWARD_OVERLAP,
    REWARD_REACH,
    REWARD_BOUNDARY,
    REWARD_CONTROL,
    REWARD_SPEECH_ERROR,
    REWARD_CONSTANT
} particle_reward_term;

typedef enum particle_reduce { REDUCE_SUM, REDUCE_MEAN, REDUCE_MIN, REDUCE_MAX } particle_reduce;

/* Forces between two bodies; reach is the sum of radii, the factors scale the force on each (0: it gets
 * none). */
typedef struct particle_pair {
    int16_t a, b;
    double reach, on_a, on_b;
} particle_pair;

/* A list of entities, real ones (below n_entities) or drawn ones (n_entities + slot). */
typedef struct particle_set {
    int n;
    const int16_t *ids;
} particle_set;

/* One observed term of one agent. */
typedef struct particle_view {
    particle_view_term term;
    particle_set of;
    const uint8_t *shown; /* [of.n] 0: its numbers are zero */
    int nearest;          /* slots when sorted by distance, 0: all in order */
    double within;        /* bodies at this distance or farther are not seen; infinity: no limit */
    particle_set hidden_in;
    int offset, width; /* first number within the observation, numbers a slot */
    int n_slots;
} particle_view;

/* One reward value and who receives it. */
typedef struct particle_rule {
    particle_reward_term term;
    particle_reduce over_from, over_to;
    int power, row; /* row: index in `rewards` */
    double within, weight;
    double tally; /* weight times receivers over agents */
    particle_set from, to, receivers;
} particle_rule;

/* One item of the success rule: `item` must be near one of `to`. */
typedef struct particle_item {
    int16_t item;
    particle_set to;
} particle_item;

struct lud_particle_model {
    lud_model base;
    lud_arena *arena;
    particle_options options;
    int n_kinds, n_choices, n_walls, n_reward_rows;
    particle_kind *kinds;
    particle_choice *choices;
    lud_particle_wall *walls;
    lud_tree *section; /* the section as in effect */
    lud_tree *source;  /* the same with `parameters` still standing in it; null: it has none */
    const char **reward_names;

    /* entities; index n_entities + slot stands for what slot has drawn */
    int n_entities, n_agents, n_slots, n_ids;
    int n_colour;                         /* numbers a colour */
    lud_particle_entity *entities;        /* [n_entities] */
    int16_t *kind_of;                     /* [n_entities] */
    double *radius;                       /* [n_ids] */
    double *colour;                       /* [n_entities][LUD_PARTICLE_MAX_COLOUR] */
    int *colour_size;                     /* [n_ids] */
    double *paint_scale, *paint_offset;   /* [n_entities] */
    int16_t *paint_slot;                  /* [n_entities] id of the drawn entity that paints it, -1: none */
    int16_t *goal_id;                     /* [n_agents] id of the body of the success rule, -1: none */
    double *force_scale;                  /* [n_agents] from the unit action to force */
    double *control_scale;                /* [n_agents] from the unit action to the control of the penalty */
    double *control_noise, *speech_noise; /* [n_agents] */

    /* rows of a block */
    int n_words, n_rows;
    int16_t *position_row; /* [n_ids] x; y follows */
    int16_t *velocity_row; /* [n_ids] */
    int16_t *force_row;    /* [n_entities] -1: immovable */
    int16_t *speech_row;   /* [n_agents] -1: silent */
    int16_t slot_row;      /* word of slot 0: the entity number it has drawn */
    int16_t step_row, reached_row, agent_hit_row, obstacle_hit_row, return_row, reward_sum_row,
        disturbance_row;
    int16_t zero_row;    /* max(2, speech size) rows of zeros */
    int16_t control_row; /* [n_agents] of 2 */
    int16_t rewards_row; /* [n_agents] */
    int16_t scratch_row; /* 4 rows */

    int n_pairs, n_rules, n_items, n_collider_agents, n_collider_obstacles;
    particle_pair *pairs;
    int *pair_begin; /* [n_entities + 1] pairs of entity a */
    particle_rule *rules;
    particle_item *items;
    double success_within; /* 0: overlap */
    bool terminate;
    int16_t *collider_agents, *collider_obstacles;

    int *view_begin; /* [n_agents + 1] */
    particle_view *views;
    int *observation_size; /* [n_agents] */
    int observation_stride;
    int part_observation, part_nodes, part_edge_begin, part_edge_source, part_edge_length, part_distances,
        part_disturbance; /* index among the layout's parts, -1: not asked for */
    int max_continuous;

    /* placing at reset */
    int16_t *placing; /* [n_entities] order in which entities are placed */
    double *region;   /* [n_entities][4] x0, y0, x1, y1 */
    uint8_t *apart;   /* [n_kinds][n_kinds] members of the first keep clear of those of the second */
    const struct particle_code *code;
};

/* The functions of one instantiation of particle_block.h. */
typedef struct particle_io {
    const int32_t *discrete;
    const void *continuous; /* float, or double when wide */
    const double *disturbance;
    void *rewards; /* float, or double when wide */
    uint8_t *terminated, *truncated;
    bool wide;
} particle_io;

typedef struct particle_code {
    size_t word_bytes;
    void (*reset)(const lud_particle_model *model, lud_range range, uint8_t *states);
    void (*step)(const lud_particle_model *model, lud_range range, uint8_t *states, const particle_io *io);
    void (*observe)(const lud_particle_model *model, int n, const uint8_t *states, void *const *parts,
                    bool wide);
    double (*get)(const uint8_t *state, int word);
    void (*set)(uint8_t *state, int word, double value);
    /* Contact force between two bodies and of a wall on a body, alone; for checks. */
    void (*contact)(const particle_physics *physics, double dx, double dy, double reach, double force[2]);
    bool (*wall)(const particle_physics *physics, const lud_particle_wall *wall, double x, double y,
                 double radius, double force[2]);
} particle_code;

extern const particle_code lud_particle_float_code, lud_particle_double_code;
#if defined(__x86_64__)
extern const particle_code lud_particle_avx2_code, lud_particle_avx512_code;
#endif

/* Turns the section of a scenario into tables (particle_parse.c), tables into instructions
 * (particle_compile.c). The model does not know its world yet. */
lud_status lud_particle_parse(lud_tree *root, lud_particle_model **model, lud_error *error);
lud_status lud_particle_compile(lud_particle_model *model, lud_error *error);
void lud_particle_free(lud_model *model);

/* Describes the measures in the layout (particle_measures.c), and lud_world.measure of this world. */
lud_status lud_particle_compile_measures(lud_particle_model *model, lud_error *error);
void lud_particle_measure(const lud_model *model, int n, const uint8_t *states, double *values);

/* Copies the tables that a step reads to a device (particle_upload.c). */
lud_status lud_particle_upload(const lud_model *model, struct lud_device *device, void **uploaded,
                               lud_error *error);

/* A word of a state; the entity that an id stands for there. */
static inline double lud_particle_word(const lud_particle_model *m, const uint8_t *state, int row) {
    return m->code->get(state, row);
}
static inline int lud_particle_entity_of(const lud_particle_model *m, const uint8_t *state, int id) {
    return id < m->n_entities ? id : (int)lud_particle_word(m, state, m->slot_row + id - m->n_entities);
}

/* A drawn choice for an agent: entity id or -1. */
static inline int lud_particle_choice_id(const lud_particle_model *m, const particle_choice *choice,
                                         int agent) {
    switch (choice->per) {
    case PER_PAIR:
        return agent < 0 ? -1 : choice->first_entity + agent;
    case PER_AGENT:
        return agent < 0 ? -1 : m->n_entities + choice->first_slot + agent;
    default:
        return m->n_entities + choice->first_slot;
    }
}
