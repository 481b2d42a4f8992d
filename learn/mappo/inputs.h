/* What the networks of graph MAPPO read: rows gathered from observation arrays into memory that actor and
 * critic share. One row is one agent of one environment at one step. */
#pragma once

#include "kernels/device.h"
#include "learn/mappo/options.h"
#include "learn/nn/nn.h"
#include "sim/world.h"

/* One piece of an agent's vector of numbers: a part of the world's observations. */
typedef struct lud_mappo_piece {
    int part;
    int64_t width; /* of one row */
    bool per_agent;
} lud_mappo_piece;

/* What a world offers to the networks. Indices of parts are -1 where there is none. */
typedef struct lud_mappo_shape {
    int n_agents, n_discrete, n_continuous; /* the largest of all agents */
    int n_pieces;
    lud_mappo_piece pieces[LUD_MAX_OBSERVATION_PARTS];
    int n_words; /* an action is the pair 5 * word + move for all agents, of so many words; 0: it is not */
    int64_t observation; /* numbers of one agent, with its one-hot number when told apart */
    int64_t shared;      /* numbers the critic sees */
    bool identify, centralised;
    bool masked; /* agents have different numbers of choices, or the world says which there are */
    int grid, nodes, edge_begin, edge_source, edge_length, disturbance; /* parts */
    int choices; /* the part that says which choices there are */
    bool grid_per_agent;
    int64_t grid_height, grid_width; /* 0: no grid */
    int64_t n_nodes;                 /* entities of the graph, 0: no graph */
    int goal_offset;                 /* of the relative goal in an observation, -1: none */
    const lud_model *model;
} lud_mappo_shape;

/* Moves of an action that is a word and a move. */
enum { LUD_MAPPO_MOVES = 5 };
enum { LUD_MAPPO_NODE_NUMBERS = 6, LUD_MAPPO_NODE_WIDTH = 7, LUD_MAPPO_NODE_TYPES = 3 };

/* Reads the model's layout, turns `auto` in options->encoder into what it stands for. LUD_ERROR_INPUT when
 * the options ask for what the world does not offer. */
lud_status lud_mappo_shape_find(const lud_model *model, lud_mappo_options *options, lud_mappo_shape *shape,
                                lud_error *error);

/* Whether the networks read a part of the observation. */
bool lud_mappo_shape_reads(const lud_mappo_shape *shape, int part);

typedef enum lud_mappo_input {
    LUD_MAPPO_OBSERVATION,   /* [rows][observation] */
    LUD_MAPPO_SHARED,        /* [rows][shared] */
    LUD_MAPPO_CELLS,         /* [rows][height * width] compact words */
    LUD_MAPPO_NODES,         /* [rows * n_nodes][6] */
    LUD_MAPPO_TYPES,         /* [rows * n_nodes] */
    LUD_MAPPO_DISTURBANCE,   /* [rows * n_nodes][7] */
    LUD_MAPPO_EVERYTHING,    /* [rows * n_nodes][7] node features and types, for central policies */
    LUD_MAPPO_NODE_OFFSETS,  /* [rows * n_nodes + 1] edges into a node */
    LUD_MAPPO_EDGE_SOURCE,   /* [edges] */
    LUD_MAPPO_EDGE_LENGTH,   /* [edges] */
    LUD_MAPPO_EGO,           /* [rows] the agent's own node */
    LUD_MAPPO_POOL_OFFSETS,  /* [rows + 1] nodes of a row's graph */
    LUD_MAPPO_MASK,          /* [rows] 0 where an episode begins */
    LUD_MAPPO_ACTOR_HIDDEN,  /* [chunks][hidden] */
    LUD_MAPPO_CRITIC_HIDDEN, /* [chunks][hidden] */
    LUD_MAPPO_DRIVE, /* [rows][2] the kick: the relative goal where mask is 0, else 0; central: [rows *
                        n_nodes][7] of everything */
    LUD_MAPPO_STATE, /* [rows][state][2] */
    LUD_MAPPO_INPUTS
} lud_mappo_input;

typedef struct lud_mappo_array {
    lud_nn_type type;
    int64_t width, max_rows, rows;
    void *host, *device; /* the same memory on the CPU; null: not used by these options */
} lud_mappo_array;

typedef struct lud_mappo_inputs {
    lud_device *device;
    const lud_mappo_shape *shape;
    lud_mappo_array items[LUD_MAPPO_INPUTS];
    lud_mappo_array edge_target, source_offsets, source_edges; /* the edges by source, for gradients */
    lud_edges edges;                                           /* in device memory */
    int64_t n, n_chunks, n_edges;
    bool pads_edges; /* n_edges counts more edges than end in a node */
    int64_t max_rows;
    float *scale;        /* [own numbers] factors of the observed numbers, null: all 1 */
    float *device_scale; /* the same on a device that has memory of its own, else null */
    uint8_t *choices; /* [max_rows][n_discrete] which there are, on the host; null: the world says nothing */
} lud_mappo_inputs;

/* Takes memory for at most max_rows rows. `shape` must outlive the inputs, which must not move. */
lud_status lud_mappo_inputs_create(lud_device *device, const lud_mappo_shape *shape,
                                   const lud_mappo_options *options, int64_t max_rows,
                                   lud_mappo_inputs *inputs, lud_error *error);
void lud_mappo_inputs_destroy(lud_mappo_inputs *inputs);
/* Whether n frames of observations from elsewhere, parts[p][n][part p] (those of parts that are not read may
 * be null), are what the networks can read: finite numbers, words of a grid, edges between entities, 0 and 1.
 */
lud_status lud_mappo_check_frames(const lud_mappo_shape *shape, const void *const *parts, int64_t n,
                                  lud_error *error);
/* Row i is agent[i] of environment place[i] in parts[p][place][part p] (arrays of one or more steps). */
void lud_mappo_inputs_observe(lud_mappo_inputs *inputs, const void *const *parts, int64_t n,
                              const int32_t *place, const int32_t *agent);
/* The edges of the whole block-diagonal graph: host arrays offsets[n_nodes + 1], source and length were
 * written. Fills the orders that gradients need. On devices that record work, edges of length 0 that end
 * nowhere are added up to a few sizes, which graphs with other edges share. */
void lud_mappo_inputs_set_edges(lud_mappo_inputs *inputs, int64_t n_nodes, int64_t n_edges);
/* What was stored with samples: one row a sample. Null where these options have no such state. */
typedef struct lud_mappo_memory {
    const float *masks;                        /* [rows] */
    const float *actor_hidden, *critic_hidden; /* [rows][hidden_width] */
    const float *states;                       /* [rows][state_width], see lud_mappo_state_width */
    int64_t hidden_width, state_width;
} lud_mappo_memory;

/* Row i remembers row row[i] of the memory. n = steps * n_chunks, rows of a step beside each other; recurrent
 * states are those of the first n_chunks rows. Then writes the kick from observations and masks.
 * LUD_ERROR_INPUT when a state that the options need is missing or has another width. */
lud_status lud_mappo_inputs_remember(lud_mappo_inputs *inputs, int64_t n_chunks, const int32_t *row,
                                     const lud_mappo_memory *memory, lud_error *error);
/* Sends everything to the device. */
void lud_mappo_inputs_upload(lud_mappo_inputs *inputs);
