/* The interface of a world.
 *
 * A *model* is what a scenario file describes; it never changes and is shared by all environments and
 * threads. A *state* is `layout.state_bytes` plain bytes without pointers or undefined padding: equal states
 * are equal bytes, so saving, hashing, comparing and sending are memcpy and memcmp.
 *
 * Calls work on ranges of environments in caller-owned contiguous arrays and allocate nothing. Array shapes
 * are written `x[n][layout.n_agents]`, row-major. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/options/options.h"
#include "base/options/tree.h"
#include "base/random.h"
#include "base/status.h"
#include "base/text.h"

enum { LUD_MAX_OBSERVATION_PARTS = 16, LUD_MAX_DIMENSIONS = 4 };

typedef enum lud_role { LUD_ROLE_NONE, LUD_ROLE_HUMAN, LUD_ROLE_ROBOT } lud_role;
typedef enum lud_dtype { LUD_U8, LUD_I32, LUD_F32, LUD_N_DTYPES } lud_dtype;
/* As NumPy calls it: "uint8", "int32", "float32". */
const char *lud_dtype_name(lud_dtype dtype);

/* What one agent may do: one of `n_discrete` choices and/or a vector of `n_continuous` numbers in [low,
 * high]. */
typedef struct lud_action_space {
    int n_discrete;
    int n_moves; /* a choice is the pair n_moves * word + move; 0: it is a single one */
    int n_continuous;
    float low, high;
    const char *const *names; /* n_discrete names of the choices */
} lud_action_space;

/* What the numbers of a part are. */
typedef enum lud_observation_kind {
    LUD_OBSERVATION_VECTOR, /* read side by side */
    LUD_OBSERVATION_GRAPH,  /* of a graph's nodes or edges */
    LUD_OBSERVATION_GRID,   /* cells of a map: words [height][width] or numbers [width][height][n] */
    LUD_OBSERVATION_TEXT,   /* symbols: predicates and their terms */
    LUD_OBSERVATION_MASK    /* which choices there are */
} lud_observation_kind;

/* One named array that an observation consists of. Per environment it has the shape [dimensions...], or
 * [n_agents][dimensions...] when `per_agent`. */
typedef struct lud_observation_part {
    const char *name;
    lud_observation_kind kind;
    lud_dtype dtype;
    bool per_agent;
    int n_dimensions;
    int dimensions[LUD_MAX_DIMENSIONS];
    size_t bytes;       /* of one environment, all agents included */
    const float *scale; /* [product of dimensions] factors that bring the numbers to about -1 .. 1; null: 1 */
    const int *goal;    /* [n_agents] where in an agent's row the way to what it has to reach begins, -1:
                           nowhere; null: nobody's */
} lud_observation_part;

/* A number that an episode is judged by, read from its last state; of many episodes the mean counts. */
typedef struct lud_measure {
    const char *name;    /* row of tables, key of JSON, column of metrics */
    const char *format;  /* of the mean in progress lines, for printf; null: not shown there */
    const char *help;    /* a few words behind the number */
    bool absent;         /* models of this world have it, this one has not: its values say nothing */
    const char *curve;   /* what it is called where it is drawn over the episode; null: it is not */
    const char *caption; /* said of an episode that ends with 1; null: nothing */
} lud_measure;

/* Where in a state its step is counted, little-endian. A world with a clock promises that successors differ
 * from their state's count by one more, and that states which differ in it alone have successors which do so
 * too, in the same order and as likely, but for those at max_steps, which have none; they achieve the same
 * goals. */
typedef struct lud_clock {
    size_t offset, bytes; /* 0 bytes: no clock */
} lud_clock;

typedef struct lud_layout {
    size_t state_bytes;
    lud_clock clock;
    int n_agents;
    int max_steps;                   /* 0: no limit */
    const lud_action_space *actions; /* [n_agents] */
    const lud_role *roles;           /* [n_agents] */
    const int *idle;   /* [n_agents] the choice that does nothing, -1: none; null: nobody has one */
    bool agents_alike; /* all see, act and are paid by the same rules, each from its own place; false: they
                          may differ */
    int n_teams;       /* 0: the world knows no teams */
    const char *const *team_names; /* [n_teams] */
    const int *teams;              /* [n_agents] the team of each; null where there are none */
    int n_kinds; /* of agents: those of a kind see, act and are paid by the same rules; 0: not told apart */
    const char *const *kind_names; /* [n_kinds] */
    const int *kinds;              /* [n_agents] the kind of each; null where there are none */
    int n_components;              /* weighted parts that a reward is the sum of; 0: it has none */
    const char *const *components; /* [n_components] their names */
    int n_parts;
    lud_observation_part parts[LUD_MAX_OBSERVATION_PARTS];
    int n_measures;
    int n_columns; /* so many first measures, the same for all models of a world, are columns of trainings */
    const lud_measure *measures; /* [n_measures] */
} lud_layout;

typedef struct lud_world lud_world;
struct lud_device;

/* Every world's own model struct begins with this. */
typedef struct lud_model {
    const lud_world *world;
    lud_layout layout;
} lud_model;

/* A range of environments. Environment e of the range uses the random key (seed, first_environment + e) at
 * tick[e], a count that never repeats in the life of an environment (it runs on through resets). */
typedef struct lud_range {
    uint64_t seed;
    uint32_t first_environment;
    int n;
    const uint32_t *tick; /* [n] */
} lud_range;

/* Joint actions of a range. An agent with both kinds uses both; a pointer not needed may be null. */
typedef struct lud_actions {
    const int32_t *discrete; /* [n][n_agents] */
    const float *continuous; /* [n][n_agents][max n_continuous] */
} lud_actions;

/* Results of a step, each array optional (null: not wanted).
 * terminated: the episode ended by the rules of the world; truncated: by the step limit. */
typedef struct lud_outcome {
    float *rewards;      /* [n][n_agents] */
    uint8_t *terminated; /* [n] */
    uint8_t *truncated;  /* [n] */
    float *components;   /* [n][n_agents][n_components] of the rewards, which are their sums */
} lud_outcome;

/* Successors of one state under one joint action. Grows as needed; reuse it to avoid allocation. */
typedef struct lud_successors {
    size_t n, capacity;
    double *probability; /* [n], positive, sum 1 */
    uint8_t *states;     /* [n][state_bytes], all different */
    size_t state_bytes;  /* size for which `states` is laid out */
} lud_successors;

struct lud_world {
    const char *name;  /* the word after `world:` in a scenario file, and the name of its section */
    const char *about; /* one line for `ludus help` */
    /* Option tables for `ludus help NAME`, null-terminated: of its section and of what stands in it as lists
     * or by name. Null: none. */
    const lud_option_table *const *options;

    /* Scenario -> model of `world`, which is this table. `root` is the whole file; the world reads the
     * section of its own name and, where it has them, the top-level `goals`. `file` is the scenario's path,
     * for paths relative to it; `seed` is run.seed, for random maps. The world keeps no pointer into the
     * tree. */
    lud_status (*parse)(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                        lud_model **model, lud_error *error);
    void (*free)(lud_model *model);

    /* Appends the section (and `goals`) as in effect, defaults included, to the mapping `root`. */
    lud_status (*write)(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error);

    /* Initial states, drawn with purpose LUD_PURPOSE_RESET where the model has chance in it.
     * states[n][state_bytes] */
    void (*reset)(const lud_model *model, lud_range range, uint8_t *states);
    /* One transition in place, drawn with purpose LUD_PURPOSE_TRANSITION. Actions out of range are a broken
     * promise. */
    void (*step)(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome);
    /* Writes every part p whose parts[p] is not null, in the shape [n](layout part). */
    void (*observe)(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts);

    /* Exact model; null where a world has none. Every successor with positive probability once; `out->n == 0`
     * exactly when the state is terminal. Fails only when memory is out. */
    lud_status (*successors)(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                             lud_successors *out, lud_error *error);
    /* The same for all joint actions of a state at once, in the order of their numbers, one behind the other:
     * count[k] successors of joint action k, equal ones of different joint actions included. `scratch` is the
     * caller's, its contents mean nothing. Null: `successors` is asked for each. */
    lud_status (*all_successors)(const lud_model *model, const uint8_t *state, lud_successors *scratch,
                                 lud_successors *out, uint32_t *count, lud_error *error);
    bool (*is_terminal)(const lud_model *model, const uint8_t *state);
    /* Whether bytes from elsewhere (a file) are a state that the other functions may be given: what is out of
     * range is LUD_ERROR_INPUT and named. States of reset, step and successors always pass. Null: any bytes
     * are a state. */
    lud_status (*check_state)(const lud_model *model, const uint8_t *state, lud_error *error);
    /* Steps since the reset, for worlds whose states say so; null: they do not. */
    int (*elapsed)(const lud_model *model, const uint8_t *state);

    /* Goals an agent may have (0 for most non-humans); goals are numbered 0..n_goals-1 per agent. Null: no
     * goals. */
    int (*n_goals)(const lud_model *model, int agent);
    double (*goal_weight)(const lud_model *model, int agent, int goal);
    bool (*achieved)(const lud_model *model, const uint8_t *state, int agent, int goal);
    void (*describe_goal)(const lud_model *model, int agent, int goal, lud_text *out);

    /* The layout's measures of episodes that are at these states: values[n][n_measures]. Null: none. */
    void (*measure)(const lud_model *model, int n, const uint8_t *states, double *values);

    /* The state in words, several lines; the agent and cell level is what the inspector shows. */
    void (*describe)(const lud_model *model, const uint8_t *state, lud_text *out);
    /* What an agent alone is told, a line a thing, the nearest first: the prompt of an agent that reads.
     * Null: it is told `describe`. */
    void (*describe_agent)(const lud_model *model, const uint8_t *state, int agent, lud_text *out);
    /* What all agents of a team are told, the same in every state: what they are, want and may do. */
    void (*describe_team)(const lud_model *model, int team, lud_text *out);
    /* What the numbers are called that a learner's weights belong to, a line each: a run that was trained on
     * other names is refused. Null: numbers mean the same in every model. */
    void (*names)(const lud_model *model, lud_text *out);
    /* Whether the agent still takes part in the episode; its actions count for nothing else. Null: all do. */
    bool (*is_alive)(const lud_model *model, const uint8_t *state, int agent);
    /* A hash of what an agent has come to: where it is, what it carries and what has been changed about the
     * world, not the time and not where others are. Learners count how often they were there. Null: a world
     * in which hardly anything is met twice. */
    uint64_t (*situation)(const lud_model *model, const uint8_t *state, int agent);
    /* For worlds whose actions mean something else in every state, null where the layout's names tell all:
     * what an agent's action is there, on one line. Returns false where the state has no such action of its
     * own; then it appends what the action stands for instead, if it stands for any. */
    bool (*describe_action)(const lud_model *model, const uint8_t *state, int agent, int action,
                            lud_text *out);

    /* Stepping on a device (device_batch.h): the name of the world's table (lud_device_code) in the device's
     * module, null where a world has none, and a copy of the model that the device can read, released by the
     * caller with lud_device_release. Fails with LUD_ERROR_UNSUPPORTED for models it cannot step. */
    const char *device_code;
    lud_status (*upload)(const lud_model *model, struct lud_device *device, void **uploaded,
                         lud_error *error);
};

/* Worlds of this build; null when no world has the name. */
const lud_world *lud_world_find(const char *name);
/* All of them (sim/registry.c); *n is their number. */
const lud_world *const *lud_worlds(int *n);
/* Adds one, which stays as long as the process. Not while other threads look for worlds. LUD_ERROR_INPUT when
 * the name is taken, LUD_ERROR_LIMIT when there is no room. */
lud_status lud_world_register(const lud_world *world, lud_error *error);

/* Whether states[n][state_bytes] from elsewhere are states of the model; the error tells which is not. */
lud_status lud_world_check_states(const lud_model *model, int64_t n, const uint8_t *states, lud_error *error);

/* Index of the measure of that name; -1: this model has none. */
int lud_measure_find(const lud_layout *layout, const char *name);

/* The largest n_discrete and n_continuous of the model's agents: the widths of arrays of actions. */
int lud_max_discrete(const lud_layout *layout);
int lud_max_continuous(const lud_layout *layout);

/* Number of joint actions, product of n_discrete over agents; 0 when an agent has continuous actions or the
 * product passes INT32_MAX. */
int32_t lud_joint_action_count(const lud_layout *layout);
/* Joint action `index` = sum_i a_i prod_{j<i} n_j: agent 0 is the fastest digit. actions[n_agents] */
void lud_joint_action_decode(const lud_layout *layout, int32_t index, int32_t *actions);
int32_t lud_joint_action_encode(const lud_layout *layout, const int32_t *actions);

/* Makes room for `n` more entries of `state_bytes`. */
lud_status lud_successors_reserve(lud_successors *successors, size_t state_bytes, size_t n, lud_error *error);
void lud_successors_free(lud_successors *successors);
