/* What the CUDA half of a rollout (rollout_cuda.cu) gives to device_rollout.c: a table of functions, exported
 * by the device's module as lud_mappo_cuda_code. Every pointer in what they are handed is memory of the
 * device, and they only queue work, so that a step can be recorded. Also read by nvcc. */
#pragma once

#include "kernels/device.h"
#include "learn/mappo/options.h"
#include "sim/world.h"

/* One piece of an agent's vector of numbers, as the world wrote it: [n_envs][n_agents][width] or, of the
 * environment, [n_envs][width]. */
typedef struct lud_mappo_seen_piece {
    const float *from;
    int64_t width;
    bool per_agent;
} lud_mappo_seen_piece;

/* Rows of one run of the networks, those of all agents of n_envs environments, environment-major: where the
 * world wrote them and where inputs.h wants them. Null: not wanted. */
typedef struct lud_mappo_seen {
    int64_t n_envs, n_agents;
    int n_pieces;
    lud_mappo_seen_piece pieces[LUD_MAX_OBSERVATION_PARTS];
    bool identify, centralised;
    const float *scale;          /* [observation] factors of what is seen, null: all 1 */
    int64_t observation, shared; /* widths */
    float *own, *all;            /* [rows][observation], [rows][shared] */

    int64_t n_cells; /* of a map */
    bool map_per_agent;
    const int32_t *map_from; /* [n_envs](n_agents)[n_cells] */
    int32_t *map;            /* [rows][n_cells] */

    int64_t n_nodes, n_edges;                       /* of an environment; rows of the edge arrays */
    const float *node_from, *length_from;           /* [rows][n_nodes][7], [n_envs][most] */
    const int32_t *begin_from, *source_from;        /* [n_envs][n_nodes + 1], [n_envs][most] */
    int32_t *first_edge;                            /* [n_envs] scratch */
    float *nodes, *length;                          /* [rows * n_nodes][6], [n_edges] */
    int32_t *types, *offsets, *source, *ego, *pool; /* see lud_mappo_input */

    const float *mask;      /* [rows] */
    const float *kick_from; /* [rows][kick_stride]: the kick is its first kick_width numbers */
    int64_t kick_stride, kick_width;
    float *drive; /* [rows][kick_width] */
} lud_mappo_seen;

/* What the actor's output becomes when a base controller acts too: see mad.h. */
typedef struct lud_mappo_headed {
    int control; /* lud_mappo_control */
    lud_mappo_mad_options mad;
    int64_t n;
    const float *mean, *log_std, *raw; /* raw: null for control: base */
    float *number;                     /* [n][2] in: drawn y; out: the offset */
    float *log_prob;                   /* [n] */
    const float *goal;                 /* row i at goal + i * goal_stride */
    int64_t goal_stride;
    float *action; /* [n][2] as the world takes it */
} lud_mappo_headed;

/* Arrays that one step leaves behind, to slot *slot of arrays of slots. Sizes are whole words of 4 bytes. */
enum { LUD_MAPPO_MAX_KEPT = 32 };
typedef struct lud_mappo_kept {
    int n;
    const uint32_t *slot;
    struct {
        const void *from;
        void *to; /* [slots][words] */
        int64_t words;
    } items[LUD_MAPPO_MAX_KEPT];
} lud_mappo_kept;

typedef struct lud_mappo_code {
    /* Gathers rows. Edges that are not there, up to n_edges, are of length 0 and end nowhere. */
    void (*observe)(lud_device *device, const lud_mappo_seen *seen);
    void (*head)(lud_device *device, const lud_mappo_headed *head);
    void (*keep)(lud_device *device, const lud_mappo_kept *kept);
    /* The end of a step: mask[n_envs * n_agents] is 0 where an episode has ended, and the two counters are
     * one more. */
    void (*turn)(lud_device *device, int64_t n_envs, int64_t n_agents, const uint8_t *terminated,
                 const uint8_t *truncated, float *mask, uint32_t *slot, uint32_t *tick);
} lud_mappo_code;
