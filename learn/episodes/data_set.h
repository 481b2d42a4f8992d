/* Recorded episodes in a file: what `ludus record -o data.h5` writes, and Minari's own files of discrete and
 * box spaces (https://minari.farama.org/content/dataset_standards).
 *
 * An episode of T steps has T joint actions and T+1 frames, the last of them what came of the last step:
 * every action stands between the frames t and t+1. Frames and steps are asked for by episode and row, in the
 * shapes and number types that worlds use; how they lie in the file is nobody's business here. Rows of an
 * episode that a file does not hold as they are wanted, such as observations of a recording that keeps only
 * actions, are made again from the scenario in the file and checked by hash.
 *
 * A data set may be read by several threads at once; HDF5 lets one at a time into the file. */
#pragma once

#include "sim/world.h"

struct lud_scenario;

/* How a file is laid out (2: this page; other numbers are refused), and what padding and pairs in windows of
 * it mean: lud_window_semantics is that of this program. A file of an older one says so and is refused by who
 * trains on it, until `ludus convert` has looked at it. */
enum { LUD_DATA_FORMAT = 2, LUD_WINDOW_SEMANTICS = 1 };

typedef struct lud_data_set lud_data_set;

/* What is to be had of an episode: n rows of ... */
typedef enum lud_data_array {
    LUD_DATA_DISCRETE,   /* steps: int32_t [n][n_agents]; -1 where an agent has no choices */
    LUD_DATA_CONTINUOUS, /* steps: float [n][n_agents][n_continuous] */
    LUD_DATA_LOG_PROBS,  /* steps: float [n][n_agents] of the actions as their policies drew them; NaN: not
                            known */
    LUD_DATA_REWARDS,    /* steps: float [n][n_agents] */
    LUD_DATA_POLICY_VERSION, /* steps: uint32_t [n] iterations that the acting learner had been trained for;
                                0: none acted */
    LUD_DATA_OBSERVATION,    /* frames: n times the part's bytes, its dtype and shape */
    LUD_DATA_STATES,         /* frames: uint8_t [n][state_bytes] */
    LUD_DATA_ARRAYS
} lud_data_array;

typedef struct lud_data_info {
    const char *path;
    const char *scenario; /* its text as in effect; null: no file of ours */
    const char *world;    /* name of the world; null: no file of ours */
    const char *policy;   /* who acted, in words: "random", "empo (run NAME)"; null: not known */
    int format,
        window_semantics;   /* of the file, see above; 0: not said (Minari's own, or older than versions) */
    bool last_action_valid; /* every action leads to a frame that is there; false: T frames for T actions */
    int n_agents;
    int n_continuous;                       /* width of a row of continuous actions; 0: there are none */
    float low, high;                        /* range of continuous actions */
    const int32_t *n_choices;               /* [n_agents] choices of each; 0: no discrete action */
    const char *const *const *choice_names; /* [n_agents][n_choices], null: they have no names */
    const int32_t *idle;                    /* [n_agents] the choice that does nothing, -1: none */
    bool choices_vary;                      /* a choice means something else in every state, as in proofs */
    const char *const *agent_names;         /* [n_agents] */
    size_t state_bytes;                     /* 0: no states */
    int n_parts;
    /* [n_parts] arrays of the observations: those of the layout that it was recorded with (from a file
     * without kind, scale and goal), or of a file of Minari's, where the keys of nested dictionaries are
     * joined with
     * '/' and a space without keys has the one part "observation". Numbers that are none of the three types
     * come as the nearest: integers as LUD_I32, others as LUD_F32. */
    const lud_observation_part *parts;
    int64_t n_episodes, n_steps;
    bool complete;        /* false: the recording was cut off; what is there is whole */
    bool replays_exactly; /* states are to be had: they are in the file, or come again by stepping */
} lud_data_info;

typedef struct lud_data_episode {
    int64_t first_step; /* steps of all episodes before it */
    int32_t length;     /* T */
    uint64_t seed;
    uint32_t environment, number; /* number of the environment that played it, and how many it had finished */
    uint32_t first_tick;          /* see lud_range: keys the draws of its first step */
    bool terminated, truncated;   /* neither: the recording was stopped */
} lud_data_episode;

/* Opens a file, or the folder of a Minari data set. Checks what it says about itself; what is wrong is
 * LUD_ERROR_INPUT with the file's name and what was expected. */
lud_status lud_data_set_open(const char *path, lud_data_set **set, lud_error *error);
/* Null is fine. */
void lud_data_set_close(lud_data_set *set);
/* Whether the file looks like one (or the folder like Minari's), without opening it. */
bool lud_data_set_is(const char *path);

const lud_data_info *lud_data_set_info(const lud_data_set *set);
/* Of episode 0..n_episodes-1. */
const lud_data_episode *lud_data_set_episode(const lud_data_set *set, int64_t episode);
const double *lud_data_set_returns(const lud_data_set *set, int64_t episode); /* [n_agents] sums of rewards */
/* Steps in which each agent took part, [n_agents], at most the episode's length: an agent's track ends when
 * it dies. */
const int32_t *lud_data_set_tracks(const lud_data_set *set, int64_t episode);

/* Whether the set has this array; `part` counts for observations only. */
bool lud_data_set_has(const lud_data_set *set, lud_data_array array, int part);
/* Bytes of one row as it is read. */
size_t lud_data_set_row_bytes(const lud_data_set *set, lud_data_array array, int part);
/* Rows of an episode: T, or T+1 of frames (T where not last_action_valid). */
int32_t lud_data_set_rows(const lud_data_set *set, lud_data_array array, int64_t episode);
/* Reads rows first..first+n-1 of an episode. Rows outside it and arrays that it does not have are a broken
 * promise. */
lud_status lud_data_set_read(lud_data_set *set, lud_data_array array, int part, int64_t episode,
                             int32_t first, int32_t n, void *rows, lud_error *error);
/* What an agent did, in words: "forward 3, left 1"; adds nothing where the file does not say. */
lud_status lud_data_set_summary(lud_data_set *set, int64_t episode, int agent, lud_text *text,
                                lud_error *error);
/* Number that stands for the episode whatever else the file holds and in whatever order: FNV-1a over its
 * seed, environment and number, or of the file's name and the episode's number where there are none of these.
 */
uint64_t lud_data_set_episode_hash(const lud_data_set *set, int64_t episode);
/* An error unless the windows of this program mean what those of the file mean. */
lud_status lud_data_set_check_windows(const lud_data_set *set, lud_error *error);

/* The scenario in the file, which the set keeps; LUD_ERROR_UNSUPPORTED when there is none. */
lud_status lud_data_set_scenario(lud_data_set *set, const struct lud_scenario **scenario, lud_error *error);
/* Plays an episode again: states[T + 1][state_bytes]. LUD_ERROR_NUMERIC when the hashes in the file are of
 * other states, LUD_ERROR_UNSUPPORTED when there is no scenario. Only states that come from here may be given
 * to a world: what lud_data_set_read gives is what the file says. */
lud_status lud_data_set_replay(lud_data_set *set, int64_t episode, uint8_t *states, lud_error *error);
/* The same, and compares the states in the file, where it has any, and the rewards. */
lud_status lud_data_set_verify(lud_data_set *set, int64_t episode, lud_error *error);
