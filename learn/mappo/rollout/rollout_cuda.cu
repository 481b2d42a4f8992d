// The steps of a rollout on CUDA that are no operations: gathering rows, the head of magnitude and direction,
// keeping what a step leaves behind. One thread a number, a node or a row.
#include "kernels/cuda/cuda.cuh"

#include <cmath>

#include "learn/mappo/rollout/rollout_code.h"
#include "learn/mappo/stability/mad_row.h"

namespace lud_cuda {

constexpr int NODE_WIDTH = 7, NODE_NUMBERS = 6;

// Numbers of one agent as one that sees them: itself, or another, who shows no pieces of the environment.
__device__ static inline float *write_agent(const lud_mappo_seen &s, int64_t env, int64_t agent, bool itself,
                                            float *to) {
    const float *scale = s.scale;
    for (int k = 0; k < s.n_pieces; k++) {
        const lud_mappo_seen_piece &piece = s.pieces[k];
        if (itself || piece.per_agent) {
            const float *from = piece.from + (piece.per_agent ? env * s.n_agents + agent : env) * piece.width;
            for (int64_t i = 0; i < piece.width; i++) *to++ = scale ? from[i] * scale[i] : from[i];
        }
        if (scale) scale += piece.width;
    }
    for (int64_t i = 0; s.identify && i < s.n_agents; i++) *to++ = i == agent ? 1.0f : 0.0f;
    return to;
}

static void observe_numbers(lud_device *device, const lud_mappo_seen &s) {
    if (s.observation == 0) return;
    const int64_t seen = s.centralised ? s.n_agents : 1;
    const int64_t other = seen > 1 ? (s.shared - s.observation) / (seen - 1) : 0;
    each(device, s.n_envs * s.n_agents * seen, [=] __device__(int64_t at) {
        const int64_t row = at / seen, k = at % seen, env = row / s.n_agents, agent = row % s.n_agents;
        float *all = s.all + row * s.shared;
        if (k > 0) {
            write_agent(s, env, (agent + k) % s.n_agents, false, all + s.observation + (k - 1) * other);
            return;
        }
        float *own = s.own + row * s.observation;
        write_agent(s, env, agent, true, own);
        for (int64_t i = 0; i < s.observation; i++) all[i] = own[i];
    });
}

static void observe_map(lud_device *device, const lud_mappo_seen &s) {
    each(device, s.n_envs * s.n_agents * s.n_cells, [=] __device__(int64_t at) {
        const int64_t row = at / s.n_cells, cell = at % s.n_cells;
        const int64_t from = s.map_per_agent ? row : row / s.n_agents;
        s.map[at] = s.map_from[from * s.n_cells + cell];
    });
}

// The number of the first edge of every environment's graph among all rows: a running sum by one warp.
static void count_edges(lud_device *device, const lud_mappo_seen &s) {
    each_warp(device, 1, [=] __device__(int64_t, int lane) {
        int32_t total = 0;
        for (int64_t first = 0; first < s.n_envs; first += WARP) {
            const int64_t env = first + lane;
            const int32_t own =
                env < s.n_envs ? (int32_t)s.n_agents * s.begin_from[env * (s.n_nodes + 1) + s.n_nodes] : 0;
            int32_t sum = own;
            for (int step = 1; step < WARP; step *= 2) {
                const int32_t before = __shfl_up_sync(0xffffffffu, sum, (unsigned)step);
                if (lane >= step) sum += before;
            }
            if (env < s.n_envs) s.first_edge[env] = total + sum - own;
            total += __shfl_sync(0xffffffffu, sum, WARP - 1);
        }
    });
}

static void observe_graph(lud_device *device, const lud_mappo_seen &s) {
    const int64_t v = s.n_nodes, most = v * (v - 1), rows = s.n_envs * s.n_agents;
    count_edges(device, s);
    each(device, rows * v, [=] __device__(int64_t at) {
        const int64_t row = at / v, k = at % v, env = row / s.n_agents, agent = row % s.n_agents;
        const int32_t *begin = s.begin_from + env * (v + 1);
        const int32_t first = s.first_edge[env] + (int32_t)agent * begin[v];
        if (s.nodes) {
            const float *seen = s.node_from + at * NODE_WIDTH;
            for (int i = 0; i < NODE_NUMBERS; i++) s.nodes[at * NODE_NUMBERS + i] = seen[i];
            s.types[at] = (int32_t)seen[NODE_NUMBERS];
        }
        s.offsets[at] = first + begin[k];
        for (int32_t e = begin[k]; e < begin[k + 1]; e++) {
            s.source[first + e] = s.source_from[env * most + e] + (int32_t)(row * v);
            s.length[first + e] = s.length_from[env * most + e];
        }
        if (k == 0) {
            s.ego[row] = (int32_t)(row * v + agent);
            s.pool[row] = (int32_t)(row * v);
        }
        if (at == rows * v - 1) {
            s.offsets[at + 1] = first + begin[v];
            s.pool[rows] = (int32_t)(rows * v);
        }
    });
    each(device, s.n_edges, [=] __device__(int64_t e) {
        if (e < s.offsets[rows * v]) return;
        s.source[e] = (int32_t)(e % (rows * v));
        s.length[e] = 0;
    });
}

static void rollout_observe(lud_device *device, const lud_mappo_seen *seen) {
    const lud_mappo_seen s = *seen;
    observe_numbers(device, s);
    if (s.map) observe_map(device, s);
    if (s.offsets) observe_graph(device, s);
    if (s.drive)
        each(device, s.n_envs * s.n_agents * s.kick_width, [=] __device__(int64_t at) {
            const int64_t row = at / s.kick_width, k = at % s.kick_width;
            s.drive[at] = s.mask[row] == 0.0f ? s.kick_from[row * s.kick_stride + k] : 0.0f;
        });
}

static void rollout_head(lud_device *device, const lud_mappo_headed *head) {
    const lud_mappo_headed h = *head;
    each(device, h.n, [=] __device__(int64_t i) {
        const double raw = h.raw ? (double)h.raw[i] : 0.0;
        float *number = h.number + i * LUD_MAD_NUMBERS;
        lud_mad_row_offset(h.control, &h.mad, number, raw, number);
        lud_mad_row_log_prob(h.control, &h.mad, h.mean + i * LUD_MAD_NUMBERS, h.log_std, raw, number,
                             h.log_prob + i, nullptr);
        for (int k = 0; k < LUD_MAD_NUMBERS; k++)
            h.action[i * LUD_MAD_NUMBERS + k] =
                number[k] + (float)h.mad.base_gain * h.goal[i * h.goal_stride + k];
    });
}

static void rollout_keep(lud_device *device, const lud_mappo_kept *kept) {
    const lud_mappo_kept k = *kept;
    int64_t words = 0;
    for (int i = 0; i < k.n; i++) words += k.items[i].words;
    each(device, words, [=] __device__(int64_t at) {
        int i = 0;
        for (; at >= k.items[i].words; i++) at -= k.items[i].words;
        static_cast<uint32_t *>(k.items[i].to)[(int64_t)*k.slot * k.items[i].words + at] =
            static_cast<const uint32_t *>(k.items[i].from)[at];
    });
}

static void rollout_turn(lud_device *device, int64_t n_envs, int64_t n_agents, const uint8_t *terminated,
                         const uint8_t *truncated, float *mask, uint32_t *slot, uint32_t *tick) {
    each(device, n_envs * n_agents, [=] __device__(int64_t row) {
        const int64_t env = row / n_agents;
        mask[row] = terminated[env] || truncated[env] ? 0.0f : 1.0f;
        if (row > 0) return;
        ++*slot;
        ++*tick;
    });
}

} // namespace lud_cuda

extern "C" __attribute__((visibility("default"))) const lud_mappo_code lud_mappo_cuda_code = {
    lud_cuda::rollout_observe, lud_cuda::rollout_head, lud_cuda::rollout_keep, lud_cuda::rollout_turn};
