// The multigrid on CUDA: the source of grid_play.h and grid_encode.h with one environment a thread. Small
// boards lie in a thread's local memory, which interleaves threads, so that a warp reads a cell at once; it
// is set aside for every thread that a device can hold, hence boards of large maps lie in the workspace.
#include "kernels/cuda/cuda.cuh"

#include "sim/device_code.h"
#include "sim/multigrid/grid_encode.h"
#include "sim/multigrid/grid_play.h"

namespace lud_cuda {

struct grid_arguments {
    const lud_grid_model *model; // on the device
    lud_device_envs envs;
    lud_batch_out out;
    const int32_t *actions;
    size_t state_bytes;
    // boards[n] of large maps, see grid_room
    uint8_t *boards;
    size_t board_bytes;
};

constexpr int SMALL_CELLS = 400;

// Where an environment's board lies, and the words of its map that views are cut out of. A map of n_cells
// takes n_cells + 1 of each.
struct grid_room {
    uint8_t *content, *start;
    int32_t *words;
};

static size_t room_bytes(size_t n_cells) {
    return (n_cells + 1) * sizeof(int32_t) + (2 * (n_cells + 1) + 3) / 4 * 4;
}

__device__ static inline void grid_observe_one(const grid_arguments &a, const uint8_t *state, int64_t i,
                                               const grid_room &room) {
    lud_grid_write_parts(a.model, state, (size_t)i, a.envs.parts, room.words);
}

__device__ static inline lud_random_key key_of(const grid_arguments &a, int64_t i) {
    return lud_random_key{a.envs.seed, a.envs.first_environment + (uint32_t)i};
}

__device__ static inline void grid_reset_one(const grid_arguments &a, uint8_t *state, int64_t i) {
    lud_grid_reset_one(a.model, key_of(a, i), a.envs.tick[i], state);
    a.envs.episode_step[i] = 0;
}

__device__ static inline void grid_step_one(const grid_arguments &a, int64_t i, const grid_room &room) {
    const lud_grid_model *m = a.model;
    const lud_batch_out &out = a.out;
    uint8_t *state = a.envs.states + (size_t)i * a.state_bytes;
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    lud_grid_run run;
    lud_grid_board_begin(&run, m, layer, room.content, room.start);
    lud_grid_step_one(&run, state, a.actions + i * m->n_agents, key_of(a, i), a.envs.tick[i],
                      out.rewards ? out.rewards + i * m->n_agents : nullptr);
    out.terminated[i] = lud_grid_ends(m, layer, state);
    out.truncated[i] = lud_grid_is_late(m, state);
    a.envs.tick[i]++;
    a.envs.episode_step[i]++;
    if (out.terminated[i] || out.truncated[i]) {
        a.envs.episode[i]++;
        if (a.envs.auto_reset) {
            if (out.final_states) memcpy(out.final_states + (size_t)i * a.state_bytes, state, a.state_bytes);
            grid_reset_one(a, state, i);
        }
    }
    grid_observe_one(a, state, i, room);
}

// body(i, room) for every environment, with room for a board.
template <class F>
static void each_with_room(lud_device *device, const grid_arguments &a, bool small, F body) {
    if (small) {
        each(device, a.envs.n, [=] __device__(int64_t i) {
            uint8_t content[SMALL_CELLS + 1], start[SMALL_CELLS + 1];
            int32_t words[SMALL_CELLS + 1];
            body(i, grid_room{content, start, words});
        });
        return;
    }
    each(device, a.envs.n, [=] __device__(int64_t i) {
        const size_t cells = (size_t)a.model->n_cells + 1;
        uint8_t *board = a.boards + (size_t)i * a.board_bytes;
        int32_t *words = reinterpret_cast<int32_t *>(board);
        uint8_t *content = board + cells * sizeof *words;
        body(i, grid_room{content, content + cells, words});
    });
}

struct grid_resets {
    grid_arguments a;
    __device__ void operator()(int64_t i, const grid_room &room) const {
        uint8_t *state = a.envs.states + (size_t)i * a.state_bytes;
        grid_reset_one(a, state, i);
        grid_observe_one(a, state, i, room);
    }
};

struct grid_steps {
    grid_arguments a;
    __device__ void operator()(int64_t i, const grid_room &room) const { grid_step_one(a, i, room); }
};

// Fills what both have in common; false where memory is out, which is noted.
static bool begin(lud_device *device, const lud_model *model, const void *uploaded,
                  const lud_device_envs *envs, grid_arguments *a, bool *small) {
    const lud_grid_model *m = reinterpret_cast<const lud_grid_model *>(model);
    a->model = static_cast<const lud_grid_model *>(uploaded);
    a->envs = *envs;
    a->state_bytes = model->layout.state_bytes;
    *small = m->n_cells <= SMALL_CELLS;
    if (*small) return true;
    a->board_bytes = room_bytes((size_t)m->n_cells);
    a->boards = static_cast<uint8_t *>(workspace(device, a->board_bytes * (size_t)envs->n));
    return a->boards != nullptr;
}

static void grid_reset(lud_device *device, const lud_model *model, const void *uploaded,
                       const lud_device_envs *envs) {
    grid_resets resets = {};
    bool small;
    if (begin(device, model, uploaded, envs, &resets.a, &small))
        each_with_room(device, resets.a, small, resets);
}

static void grid_step(lud_device *device, const lud_model *model, const void *uploaded,
                      const lud_device_envs *envs, lud_actions actions, const lud_batch_out *out) {
    grid_steps steps = {};
    bool small;
    if (!begin(device, model, uploaded, envs, &steps.a, &small)) return;
    steps.a.actions = actions.discrete;
    steps.a.out = *out;
    each_with_room(device, steps.a, small, steps);
}

} // namespace lud_cuda

extern "C" __attribute__((visibility("default")))
const lud_device_code lud_grid_cuda_code = {lud_cuda::grid_reset, lud_cuda::grid_step};
