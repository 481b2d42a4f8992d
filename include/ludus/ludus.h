/* Ludus: multi-agent worlds, exact solutions and learners, as a library.
 *
 *     ludus_scenario *scenario;
 *     ludus_batch *batch;
 *     ludus_error error;
 *     if (ludus_scenario_load("rescue.yaml", NULL, 0, &scenario, &error)) ...
 *     ludus_batch_create(scenario, &(ludus_batch_options){.n_environments = 4096, .seed = 1}, &batch,
 * &error); ludus_batch_reset(batch, NULL, &out); for (;;) ludus_batch_step(batch, &actions, &out, &error);
 *
 * Rules that hold everywhere:
 * - A scenario is what a file describes. It never changes and may be used by many threads and handles at
 * once; it must outlive what is made from it. A state is `state_bytes` plain bytes without pointers: copying
 * is memcpy, and equal states are equal bytes.
 * - Every other handle is used by one thread at a time; different handles by different threads freely. Long
 * work uses the threads that it is told to (0: all cores, or what OMP_NUM_THREADS says).
 * - Arrays are the caller's, contiguous, row-major, and written in place. Shapes stand in brackets, n is the
 * number of environments. Pointers in info structures belong to the handle and live as long.
 * - A function that can fail returns ludus_status and fills *error (which may be null). Nothing is printed,
 * no signal handler is set, the process is never ended. Null and out-of-range arguments are
 * LUDUS_ERROR_INPUT.
 * - A process may fork between calls: the child goes on with the handles that it finds, with as many threads
 * as it is told to.
 * - Draws are functions of (seed, environment, step): results do not depend on threads or on the size of
 * batches. */
#ifndef LUDUS_H
#define LUDUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LUDUS_API __attribute__((visibility("default")))

/* ---- Versions and errors ---- */

/* Raised with every change of this header that a program built with an older one would notice. */
#define LUDUS_ABI 5
/* The number of the library that is loaded; to be compared with LUDUS_ABI before anything else is called. */
LUDUS_API int ludus_abi(void);
/* "0.1.0" */
LUDUS_API const char *ludus_version(void);

typedef enum ludus_status {
    LUDUS_OK = 0,
    LUDUS_ERROR_INPUT,       /* a call, option or file content was wrong */
    LUDUS_ERROR_IO,          /* the operating system refused a file operation */
    LUDUS_ERROR_MEMORY,      /* an allocation failed or would pass a limit that the caller set */
    LUDUS_ERROR_LIMIT,       /* a stated limit of Ludus was reached */
    LUDUS_ERROR_UNSUPPORTED, /* this build, device or world does not offer it */
    LUDUS_ERROR_NUMERIC,     /* a computation met what is no number */
    LUDUS_INTERRUPTED        /* a callback or ludus_interrupt asked to stop; what was finished is kept */
} ludus_status;

/* What went wrong: `text` is all of it in one line, "file:line:column: message"; `message` is that without
 * the place. `file` is the one that is to blame, where one is; line and column begin with 1, 0: the file as a
 * whole.
 */
typedef struct ludus_error {
    ludus_status status;
    int line, column;
    char file[512];
    char message[1024];
    char text[1024];
} ludus_error;

/* Gives back text that a function has returned. Null is allowed. */
LUDUS_API void ludus_free(void *memory);
/* While `stop` is true all long work of this process, on any handle, returns LUDUS_INTERRUPTED within a
 * second. May be called from a signal handler. */
LUDUS_API void ludus_interrupt(bool stop);
/* Where warnings go that are no errors (a predicate that no fact has); null, as at first: nowhere. Set it
 * before other threads call Ludus; the callback may be called by any of them. */
LUDUS_API void ludus_on_warning(void (*callback)(void *context, const char *message), void *context);

/* ---- Scenarios ---- */

typedef struct ludus_scenario ludus_scenario;

/* Loads a file, or a RUN's folder, for the scenario that was run. overrides[n_overrides] are texts like
 * "multigrid.max_steps=50". */
LUDUS_API ludus_status ludus_scenario_load(const char *path, const char *const *overrides, int n_overrides,
                                           ludus_scenario **scenario, ludus_error *error);
/* The same from memory; `name` stands for the path in messages and where relative paths begin. */
LUDUS_API ludus_status ludus_scenario_read(const char *name, const char *text, size_t length,
                                           const char *const *overrides, int n_overrides,
                                           ludus_scenario **scenario, ludus_error *error);
/* Null is allowed, here and in all functions of this kind. */
LUDUS_API void ludus_scenario_free(ludus_scenario *scenario);

typedef struct ludus_scenario_info {
    const char *name, *about, *world;
    size_t state_bytes;
    int n_agents, n_teams, n_parts, n_measures, n_components;
    int max_steps;           /* of an episode, 0: no limit */
    int max_actions;         /* the largest n_actions of an agent */
    int max_continuous;      /* the largest n_continuous of an agent */
    int64_t n_joint_actions; /* product of n_actions; 0: numbers instead of choices, or too many */
    bool has_model;          /* successors, state spaces and exact solutions */
    uint64_t seed;           /* of the file */
    int n_environments;      /* of the file */
} ludus_scenario_info;
LUDUS_API ludus_status ludus_scenario_get_info(const ludus_scenario *scenario, ludus_scenario_info *info);

typedef enum ludus_role { LUDUS_ROLE_NONE, LUDUS_ROLE_HUMAN, LUDUS_ROLE_ROBOT } ludus_role;

/* What an agent may do: one of n_actions choices, and a vector of n_continuous numbers in low..high. Either
 * may be 0. */
typedef struct ludus_agent_info {
    int n_actions, n_continuous;
    float low, high;
    const char *const *action_names; /* [n_actions]; null: they mean something else in every state */
    int idle;                        /* the choice that does nothing, -1: none */
    ludus_role role;
    int team;              /* -1: none */
    const char *team_name; /* null: none */
    int n_goals;           /* that it may have */
} ludus_agent_info;
LUDUS_API ludus_status ludus_scenario_get_agent(const ludus_scenario *scenario, int agent,
                                                ludus_agent_info *info);

typedef enum ludus_dtype { LUDUS_UINT8, LUDUS_INT32, LUDUS_FLOAT32 } ludus_dtype;
typedef enum ludus_kind {
    LUDUS_VECTOR, /* read side by side */
    LUDUS_GRAPH,  /* of a graph's nodes or edges */
    LUDUS_GRID,   /* cells of a map */
    LUDUS_TEXT,   /* symbols */
    LUDUS_MASK    /* which choices there are */
} ludus_kind;

/* One named array of an observation. Of one environment it is [dimensions...], or [n_agents][dimensions...].
 */
typedef struct ludus_part_info {
    const char *name;
    ludus_kind kind;
    ludus_dtype dtype;
    bool per_agent;
    int n_dimensions, dimensions[4];
    size_t bytes; /* of one environment, all agents included */
} ludus_part_info;
LUDUS_API ludus_status ludus_scenario_get_part(const ludus_scenario *scenario, int part,
                                               ludus_part_info *info);

/* Name and meaning of a number that episodes are judged by, and name of a part that rewards are the sum of;
 * null: out of range. */
LUDUS_API const char *ludus_measure_name(const ludus_scenario *scenario, int measure, const char **about);
LUDUS_API const char *ludus_component_name(const ludus_scenario *scenario, int component);

/* The whole scenario with all defaults, as YAML that reads back the same; to be given back with ludus_free.
 */
LUDUS_API ludus_status ludus_scenario_text(const ludus_scenario *scenario, char **text, ludus_error *error);

/* ---- States ---- */

/* The first state of environment `environment`. state[state_bytes] */
LUDUS_API ludus_status ludus_state_initial(const ludus_scenario *scenario, uint64_t seed,
                                           uint32_t environment, uint8_t *state, ludus_error *error);
/* Whether bytes from elsewhere are a state of this scenario. Functions that take states check them so. */
LUDUS_API ludus_status ludus_state_check(const ludus_scenario *scenario, const uint8_t *state,
                                         ludus_error *error);
/* A 64-bit hash (XXH3) of the bytes. */
LUDUS_API uint64_t ludus_state_hash(const ludus_scenario *scenario, const uint8_t *state);
/* In words; to be given back with ludus_free. agent -1: all of it, else what that agent alone is told. */
LUDUS_API ludus_status ludus_state_describe(const ludus_scenario *scenario, const uint8_t *state, int agent,
                                            char **text, ludus_error *error);
/* Every state that may follow, once each, with its probability. joint_action[n_agents]. *n gets their number,
 * 0 exactly where the state is terminal; the first `room` of them go to states[room][state_bytes] and
 * probabilities[room] (null with room 0). */
LUDUS_API ludus_status ludus_state_successors(const ludus_scenario *scenario, const uint8_t *state,
                                              const int32_t *joint_action, size_t room, uint8_t *states,
                                              double *probabilities, size_t *n, ludus_error *error);
/* Whether a goal of an agent is achieved in a state. */
LUDUS_API ludus_status ludus_state_achieves(const ludus_scenario *scenario, const uint8_t *state, int agent,
                                            int goal, bool *achieved, ludus_error *error);
/* values[n][n_measures] of episodes that are at states[n][state_bytes]. */
LUDUS_API ludus_status ludus_state_measure(const ludus_scenario *scenario, int n, const uint8_t *states,
                                           double *values, ludus_error *error);

/* ---- Batches: many environments at once ---- */

typedef struct ludus_batch ludus_batch;

/* What becomes of an environment whose episode is over. */
typedef enum ludus_end {
    LUDUS_END_RESETS,      /* it starts anew inside the step that ended it */
    LUDUS_END_RESETS_NEXT, /* the next step starts it anew instead of stepping it: reward 0, no done flags */
    LUDUS_END_STAYS        /* it stays as it is, with reward 0 and its done flags, until it is reset */
} ludus_end;

typedef struct ludus_batch_options {
    int n_environments;
    int n_threads; /* 0: all cores */
    uint64_t seed;
    uint32_t first_environment; /* number of environment 0 in the draws */
    const uint64_t *seeds;      /* [n_environments] one each, copied; null: `seed` for all */
    ludus_end end;
} ludus_batch_options;

/* Where a reset or a step writes. Every pointer may be null: not wanted. */
typedef struct ludus_out {
    void *const *observations; /* [n_parts] arrays [n](part); single ones may be null */
    void *const
        *final_observations; /* the same of the last state of the episodes that this step ended and reset
                                (LUDUS_END_RESETS); rows of other environments are left as they are */
    uint8_t *final_states;   /* [n][state_bytes] those last states themselves, in the same rows */
    float *rewards;          /* [n][n_agents] */
    float *team_rewards;     /* [n] their sums; needs `rewards` */
    float *components;       /* [n][n_agents][n_components] that rewards are the sums of */
    uint8_t *terminated, *truncated; /* [n] ended by the world's rules; by the limit of steps */
    uint8_t *ended;                  /* [n] by either */
    int32_t *n_ended;                /* [1] in how many environments */
} ludus_out;

typedef struct ludus_actions {
    const int32_t *discrete; /* [n][n_agents] */
    const float *continuous; /* [n][n_agents][max_continuous] */
} ludus_actions;

LUDUS_API ludus_status ludus_batch_create(const ludus_scenario *scenario, const ludus_batch_options *options,
                                          ludus_batch **batch, ludus_error *error);
LUDUS_API void ludus_batch_free(ludus_batch *batch);
/* New episodes where chosen[n] is not 0; null: everywhere. `out` may be null; only observations are written.
 * The first reset gives the states that the batch was created with. */
LUDUS_API ludus_status ludus_batch_reset(ludus_batch *batch, const uint8_t *chosen, const ludus_out *out,
                                         ludus_error *error);
/* New seeds[n], or null: `seed` for all; draws begin anew, as in a new batch. Where chosen is not null only
 * environments with chosen[n] not 0 get theirs, in a batch that has seeds of their own. A reset of the same
 * has to follow. */
LUDUS_API ludus_status ludus_batch_seed(ludus_batch *batch, const uint8_t *chosen, uint64_t seed,
                                        const uint64_t *seeds, ludus_error *error);
/* One step of every environment. A choice out of range is LUDUS_ERROR_INPUT, and then nothing has moved. */
LUDUS_API ludus_status ludus_batch_step(ludus_batch *batch, const ludus_actions *actions,
                                        const ludus_out *out, ludus_error *error);
/* Observations [n_parts] of the present states. */
LUDUS_API ludus_status ludus_batch_observe(ludus_batch *batch, void *const *observations, ludus_error *error);
/* masks[n][n_agents][max_actions]: 1 where the choice is there in the present state. Who takes no part may
 * only idle. */
LUDUS_API ludus_status ludus_batch_masks(const ludus_batch *batch, uint8_t *masks, ludus_error *error);
/* The present states [n][state_bytes] in place; they change with the next step. */
LUDUS_API const uint8_t *ludus_batch_states(const ludus_batch *batch);
/* Steps since each environment's episode began, [n], in place. */
LUDUS_API const int32_t *ludus_batch_steps(const ludus_batch *batch);
/* Puts environments first..first+n-1 to states[n][state_bytes], which are checked. */
LUDUS_API ludus_status ludus_batch_set_states(ludus_batch *batch, int first, int n, const uint8_t *states,
                                              ludus_error *error);
/* Everything that the batch's future depends on: afterwards it goes on bit for bit. A restored snapshot is
 * checked. */
LUDUS_API size_t ludus_batch_snapshot_bytes(const ludus_batch *batch);
LUDUS_API ludus_status ludus_batch_save(const ludus_batch *batch, void *snapshot, ludus_error *error);
LUDUS_API ludus_status ludus_batch_load(ludus_batch *batch, const void *snapshot, ludus_error *error);

/* ---- Who acts ---- */

typedef struct ludus_policy ludus_policy;

/* Everybody's policy for a batch, with its memory of each environment. `run`: a RUN's folder, whose agents
 * act as it has learned or solved; null: those that the scenario names. The batch must outlive it. */
LUDUS_API ludus_status ludus_policy_open(const ludus_batch *batch, const char *run, ludus_policy **policy,
                                         ludus_error *error);
LUDUS_API void ludus_policy_free(ludus_policy *policy);
/* New episodes where chosen[n] is not 0 (null: everywhere): after a reset of the batch, and with
 * LUDUS_END_RESETS after a step that ended episodes. */
LUDUS_API ludus_status ludus_policy_reset(ludus_policy *policy, const uint8_t *chosen, ludus_error *error);
/* Actions in the batch's present states, or with observations[n_parts] of the caller's in what they tell (the
 * batch's states are not looked at then; LUDUS_ERROR_UNSUPPORTED where a policy reads states):
 * discrete[n][n_agents], continuous[n][n_agents][max_continuous] (may be null where there are none), and
 * their log-probabilities [n][n_agents] (may be null; NaN where a policy does not tell). */
LUDUS_API ludus_status ludus_policy_act(ludus_policy *policy, void *const *observations, int32_t *discrete,
                                        float *continuous, float *log_probs, ludus_error *error);

/* ---- State spaces ---- */

typedef struct ludus_statespace ludus_statespace;

typedef struct ludus_statespace_info {
    uint64_t n_states, n_transitions, n_terminal;
    int32_t n_joint_actions;
    int n_layers;
    const uint64_t *layer_begin; /* [n_layers + 1] first state of each distance from the start */
    const uint8_t *states;       /* [n_states][state_bytes]; state 0 is the start */
} ludus_statespace_info;

/* Every state that can be reached, with all successors. memory_limit in bytes, 0: three quarters of what is
 * free. Joint action k has agent 0 as its fastest digit. */
LUDUS_API ludus_status ludus_statespace_build(const ludus_scenario *scenario, uint64_t memory_limit,
                                              int n_threads, ludus_statespace **space, ludus_error *error);
LUDUS_API void ludus_statespace_free(ludus_statespace *space);
LUDUS_API ludus_status ludus_statespace_get_info(const ludus_statespace *space, ludus_statespace_info *info);
/* The transition matrix of one joint action in compressed rows: offsets[n_states + 1], and, unless null,
 * successors[offsets[n_states]] and probabilities[offsets[n_states]]. Rows of terminal states are empty. */
LUDUS_API ludus_status ludus_statespace_matrix(const ludus_statespace *space, int32_t joint_action,
                                               int64_t *offsets, uint32_t *successors, double *probabilities,
                                               ludus_error *error);
/* Number of a state; UINT64_MAX: it cannot be reached. */
LUDUS_API uint64_t ludus_statespace_find(const ludus_statespace *space, const uint8_t *state);

/* ---- Exact solutions (EMPO) ---- */

typedef struct ludus_solution ludus_solution;

/* Where a state's numbers stand: `records` has `stride` doubles for each state, those of a name begin at its
 * offset. */
typedef struct ludus_solution_info {
    uint64_t n_states;
    int n_humans, n_robots, n_goals, n_robot_actions; /* n_goals: of all people together */
    const double *records;                            /* [n_states][stride] */
    size_t stride;
    int v_r, u_r;          /* V_r, U_r */
    int x_h;               /* X_h [n_humans] */
    int v_h_e, v_h_m;      /* V_h^e, V_h^m [n_goals] */
    int q_r, pi_r;         /* Q_r, pi_r [n_robot_actions]; the last robot's action is the fastest digit */
    int policies;          /* pi_h: for each person [goals][actions] */
    int n_policies;        /* numbers there */
    const uint8_t *states; /* [n_states][state_bytes], in the order of the state space */
} ludus_solution_info;

/* Solves phases 1 and 2 exactly into a folder, a RUN, which `ludus view` and all others open. */
LUDUS_API ludus_status ludus_solve(const ludus_scenario *scenario, const char *run, uint64_t memory_limit,
                                   int n_threads, ludus_solution **solution, ludus_error *error);
LUDUS_API ludus_status ludus_solution_open(const ludus_scenario *scenario, const char *run,
                                           ludus_solution **solution, ludus_error *error);
LUDUS_API void ludus_solution_free(ludus_solution *solution);
LUDUS_API ludus_status ludus_solution_get_info(const ludus_solution *solution, ludus_solution_info *info);

/* ---- Training ---- */

typedef struct ludus_train_options {
    const char *run;    /* folder of the results (required) */
    const char *device; /* cpu, cuda or auto; null: auto */
    bool resume, overwrite;
    /* Called after every iteration with its row of numbers; not 0: stop and save. May be null. */
    int (*after_iteration)(void *context, uint64_t iteration, uint64_t n_iterations, int n_columns,
                           const char *const *columns, const double *row);
    void *context;
} ludus_train_options;

/* Trains the learner of the scenario's `learner:` section. */
LUDUS_API ludus_status ludus_train(const ludus_scenario *scenario, const ludus_train_options *options,
                                   ludus_error *error);
/* What `ludus eval` says of a RUN, as JSON; to be given back with ludus_free. */
LUDUS_API ludus_status ludus_evaluate(const char *run, char **json, ludus_error *error);
/* What the variables of an atom may stand for, each with a proof, as JSON (proof worlds; a RUN of proof-ppo).
 */
LUDUS_API ludus_status ludus_prove(const char *run, const char *atom, int answers, char **json,
                                   ludus_error *error);

/* ---- Pictures, videos, data ---- */

typedef struct ludus_renderer ludus_renderer;

/* Pictures of width x height pixels (16 to 4096; height 0: as the world's shape wants it). theme: light or
 * dark. */
LUDUS_API ludus_status ludus_renderer_create(const ludus_scenario *scenario, int width, int height,
                                             const char *theme, ludus_renderer **renderer,
                                             ludus_error *error);
LUDUS_API void ludus_renderer_free(ludus_renderer *renderer);
LUDUS_API void ludus_renderer_size(const ludus_renderer *renderer, int *width, int *height);
/* Draws a state: rgba[height][width][4], bytes. before: the state one step earlier, null: not known. */
LUDUS_API ludus_status ludus_render(ludus_renderer *renderer, const uint8_t *state, const uint8_t *before,
                                    uint8_t *rgba, ludus_error *error);
/* Records episodes to .mp4, .webm, .gif or .png. `run` as in ludus_policy_open; caption null: the scenario's,
 * "": none.
 */
LUDUS_API ludus_status ludus_record_video(const ludus_scenario *scenario, const char *run, const char *path,
                                          int episodes, uint64_t seed, const char *caption,
                                          ludus_error *error);
/* Records episodes as a data set in Minari's layout, which replays exactly (.h5; docs/episodes.md). */
LUDUS_API ludus_status ludus_record_data(const ludus_scenario *scenario, const char *run, const char *path,
                                         int64_t episodes, ludus_error *error);

/* ---- A world of your own ---- */

/* Registered, it is a word behind `world:` like those of Ludus: stepped, shown, recorded, solved and trained
 * in by this process. Its section has the keys of `options` and max_steps, after which an episode is cut off;
 * an agent sees its numbers and, behind them, the share of these steps that is over. */

typedef struct ludus_random ludus_random;         /* draws of one reset or step */
typedef struct ludus_successors ludus_successors; /* what a joint action may lead to */
typedef struct ludus_canvas ludus_canvas;         /* what a state is drawn on */

typedef struct ludus_world_option {
    const char *name;
    double value, least, most; /* without the key; what is allowed, ends included */
    const char *help;
} ludus_world_option;

/* The functions get the values of the options, options[n_options], and states of state_bytes, aligned to 8;
 * equal states are equal bytes. Several threads call them at once. What is not said to be allowed to be null
 * must be there. */
typedef struct ludus_world {
    const char *name, *about; /* lower case letters, digits and _; one line */
    int n_options;
    const ludus_world_option *options;
    int n_agents;
    const ludus_role *roles; /* [n_agents]: people have goals, robots help them */
    int n_actions;           /* of every agent */
    const char *const *action_names;
    size_t state_bytes;  /* 1 to 4,096 */
    int n_numbers;       /* that an agent sees */
    int n_goals;         /* of every human */
    float width, height; /* of pictures, in units of your own; y grows downwards */

    void (*reset)(const double *options, ludus_random *random, uint8_t *state); /* state is zeros before */
    /* All that a joint action may lead to, where that can be listed; null: then nothing is solved. */
    void (*successors)(const double *options, const uint8_t *state, const int32_t *actions,
                       ludus_successors *successors);
    /* One of these, in `next`, which holds `state` before. Null: one of the successors is drawn. */
    void (*step)(const double *options, const uint8_t *state, const int32_t *actions, ludus_random *random,
                 uint8_t *next);
    /* Whether the rules end the episode here; null: they never do. */
    int (*ended)(const double *options, const uint8_t *state);
    /* rewards[n_agents] of a step, zeros before; null: there are none. */
    void (*reward)(const double *options, const uint8_t *before, const int32_t *actions, const uint8_t *after,
                   float *rewards);
    /* numbers[n_numbers] that an agent sees, about -1 to 1. */
    void (*observe)(const double *options, const uint8_t *state, int agent, float *numbers);
    int (*achieved)(const double *options, const uint8_t *state, int agent,
                    int goal); /* null without goals */
    double (*score)(const double *options,
                    const uint8_t *state); /* of an episode that ends here; null: none */
    void (*describe)(const double *options, const uint8_t *state, char *text, size_t size); /* for snprintf */
    /* Null: agents alone are drawn. */
    void (*draw)(const double *options, const uint8_t *state, ludus_canvas *canvas);
    void (*agent_position)(const double *options, const uint8_t *state, int agent, float *x, float *y);
    int (*is_state)(const double *options,
                    const uint8_t *state); /* whether bytes of a file are one; null: all are */
} ludus_world;

/* Once for each world, before scenarios of it are loaded, by one thread at a time. What the struct points to
 * must stay as long as the process. LUDUS_ERROR_INPUT when something is missing or the name is taken,
 * LUDUS_ERROR_LIMIT after 16 worlds. */
LUDUS_API ludus_status ludus_register_world(const ludus_world *world, ludus_error *error);
/* The next draw of [0, 1): it follows from seed, environment, step and how many came before it. */
LUDUS_API double ludus_random_next(ludus_random *random);
/* Adds a state with its probability, which should sum to 1. Equal states are one successor. */
LUDUS_API void ludus_successors_add(ludus_successors *successors, double probability, const uint8_t *state);
/* Colours 0 to 6 are red, green, blue, purple, yellow, grey, brown; 7 is that of lines, 8 of walls. */
LUDUS_API void ludus_canvas_rectangle(ludus_canvas *canvas, float x, float y, float width, float height,
                                      int colour);
LUDUS_API void ludus_canvas_disc(ludus_canvas *canvas, float x, float y, float radius, int colour);

#ifdef __cplusplus
}
#endif
#endif
