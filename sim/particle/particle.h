/* The particle world: discs that move in the plane, speak, push each other and are paid for where they are.
 *
 * A task is a table in the scenario file: bodies, what each agent observes, what it is paid for, when an
 * episode has succeeded (docs/particle.md). The nine scenarios of the multi-agent particle environments (Lowe
 * et al., "Multi-agent actor-critic for mixed cooperative-competitive environments", NeurIPS 2017; Mordatch
 * and Abbeel, 2018) and graph navigation (Nayak et al., "Scalable multi-agent reinforcement learning through
 * intelligent information aggregation", ICML 2023) are such tables; they ship in scenarios/particle and are
 * built in under `task: NAME`.
 *
 * A state is an array of numbers of the model's precision (float, or double with `precision: double`):
 * positions, velocities, speech, drawn choices, the step count and the episode's tallies. Counts are whole
 * numbers, held exactly. Entities are numbered agents first, then the others in the order of the table. */
#pragma once

#include "base/options/options.h"
#include "sim/world.h"

enum { LUD_PARTICLE_MAX_SPEECH = 64 };

typedef struct lud_particle_model lud_particle_model;

extern const lud_world lud_particle_world;
/* The `particle` section and the rows of its tables, for help and docs; and all of them, null-terminated. */
extern const lud_option_table *const lud_particle_option_tables[];
extern const lud_option_table lud_particle_option_table;
extern const lud_option_table lud_particle_body_table;
extern const lud_option_table lud_particle_choice_table;
extern const lud_option_table lud_particle_wall_table;
extern const lud_option_table lud_particle_view_table;
extern const lud_option_table lud_particle_reward_table;
extern const lud_option_table lud_particle_success_table;

/* The built-in tasks: name of task i (null past the end) and the text of its scenario file. */
const char *lud_particle_task_name(int i);
const char *lud_particle_task_text(int i, size_t *length);

/* What kind of thing an entity is; the last column of node features. */
typedef enum lud_particle_type {
    LUD_PARTICLE_AGENT,
    LUD_PARTICLE_LANDMARK,
    LUD_PARTICLE_OBSTACLE
} lud_particle_type;

/* What never changes about an entity. */
typedef struct lud_particle_entity {
    const char *kind; /* name of its row in `bodies` */
    int member;       /* index within that row */
    lud_particle_type type;
    bool movable, collides, speaks, ghost;
    double radius, mass, max_speed; /* max_speed 0: no limit */
} lud_particle_entity;

typedef struct lud_particle_wall {
    bool vertical;              /* stands at x = at and runs along y; otherwise at y = at and along x */
    double at, from, to, width; /* `from` < `to` along the wall */
    bool hard;                  /* stops ghosts too */
} lud_particle_wall;

int lud_particle_entity_count(const lud_particle_model *model);
lud_particle_entity lud_particle_get_entity(const lud_particle_model *model, int entity);
int lud_particle_wall_count(const lud_particle_model *model);
lud_particle_wall lud_particle_get_wall(const lud_particle_model *model, int wall);
/* Length of the speech vector (0: nobody speaks) and of one agent's observation, which the layout pads with
 * zeros to the longest. */
int lud_particle_speech_size(const lud_particle_model *model);
int lud_particle_observation_size(const lud_particle_model *model, int agent);
/* Simulated seconds of one step; the distance below which the graph has an edge. */
double lud_particle_time_step(const lud_particle_model *model);
double lud_particle_edge_distance(const lud_particle_model *model);
/* Whether the task observes edges; side of the square in which bodies start. */
bool lud_particle_has_edges(const lud_particle_model *model);
double lud_particle_world_size(const lud_particle_model *model);
/* Index, within `agent`'s observation, of the first number of its relative position to the body it has to
 * reach (the first term `relative` towards a single body); -1: none. */
int lud_particle_goal_offset(const lud_particle_model *model, int agent);

/* One state's contents. Velocity and speech of what cannot move or speak are zero and cannot be set. */
typedef struct lud_particle_body {
    double position[2], velocity[2];
} lud_particle_body;
lud_particle_body lud_particle_get_body(const lud_particle_model *model, const uint8_t *state, int entity);
void lud_particle_set_body(const lud_particle_model *model, uint8_t *state, int entity,
                           lud_particle_body body);
/* speech[speech_size] */
void lud_particle_get_speech(const lud_particle_model *model, const uint8_t *state, int agent,
                             double *speech);
void lud_particle_set_speech(const lud_particle_model *model, uint8_t *state, int agent,
                             const double *speech);
/* The entity that stands for choice `name` from `agent`'s point of view (any agent for a common choice); -1:
 * no such choice. Setting it to an entity that could not have been drawn is a broken promise. */
bool lud_particle_has_choice(const lud_particle_model *model, const char *name);
int lud_particle_get_choice(const lud_particle_model *model, const uint8_t *state, const char *name,
                            int agent);
void lud_particle_set_choice(const lud_particle_model *model, uint8_t *state, const char *name, int agent,
                             int entity);
/* The body `agent` has to reach by the success rule, -1: none. */
int lud_particle_goal(const lud_particle_model *model, const uint8_t *state, int agent);
/* Whether every agent has such a body; then the error norm sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2) over all
 * agents, by which stability of the closed loop is judged. */
bool lud_particle_has_goals(const lud_particle_model *model);
double lud_particle_error_norm(const lud_particle_model *model, const uint8_t *state);
/* Red, green, blue in 0..1 as drawn; a body may be painted by a choice. */
void lud_particle_colour(const lud_particle_model *model, const uint8_t *state, int entity, float rgb[3]);
int lud_particle_step_count(const lud_particle_model *model, const uint8_t *state);

/* Tallies of the episode so far. */
typedef struct lud_particle_metrics {
    bool has_success; /* the task has a success rule */
    double success;   /* 1 when every item of the rule was met before the last step of the limit, else 0 */
    double
        fraction; /* mean over items of (time until first met) / (steps so far); an item never met counts 1 */
    double collisions; /* sum over agents of overlapping agents (each pair counts twice) and of steps on an
                          obstacle */
    double reward;     /* sum over steps of the mean reward of the agents */
} lud_particle_metrics;
bool lud_particle_has_success(const lud_particle_model *model);
lud_particle_metrics lud_particle_get_metrics(const lud_particle_model *model, const uint8_t *state);
/* Sum over steps of the mean over agents that each row of `rewards` contributed. */
int lud_particle_reward_count(const lud_particle_model *model);
const char *lud_particle_reward_name(const lud_particle_model *model, int row);
double lud_particle_reward_return(const lud_particle_model *model, const uint8_t *state, int row);
/* Of one agent: step at which its item of the success rule was first met (-1: not yet, or it has none),
 * collisions with agents and steps on an obstacle. */
typedef struct lud_particle_tally {
    int reached, agent_collisions, obstacle_collisions;
} lud_particle_tally;
lud_particle_tally lud_particle_get_tally(const lud_particle_model *model, const uint8_t *state, int agent);

/* The world's step and observe with double precision in and out, for checks; the model's precision must be
 * double. disturbance[n][n_agents][4] replaces the drawn disturbances (null: drawn as usual). */
typedef struct lud_particle_wide {
    const int32_t *discrete;   /* [n][n_agents] */
    const double *continuous;  /* [n][n_agents][max n_continuous] */
    const double *disturbance; /* [n][n_agents][4] or null */
    double *rewards;           /* [n][n_agents] or null */
    uint8_t *terminated, *truncated;
} lud_particle_wide;
void lud_particle_step_wide(const lud_model *model, lud_range range, uint8_t *states,
                            const lud_particle_wide *wide);
/* parts as for observe, but LUD_F32 parts are written as double. */
void lud_particle_observe_wide(const lud_model *model, lud_range range, const uint8_t *states,
                               void *const *parts);
