// Levels of exact EMPO: a warp a state. The equations are those of learn/empo/equations.h.
#define LUD_EMPO_CODE   __device__ static inline
#define LUD_EMPO_MEET() __syncwarp()

#include "kernels/cuda/cuda.cuh"

#include "learn/empo/equations.h"

namespace lud_cuda {

// The batch with the game by value: what a kernel can read.
struct empo_work {
    lud_empo_batch batch;
    lud_empo_game game;
};

__device__ static inline lud_empo_state_inputs inputs_of(const empo_work &w, int64_t i) {
    const lud_empo_batch &b = w.batch;
    lud_empo_state_inputs inputs;
    inputs.achieved = b.achieved + i * w.game.n_goals;
    inputs.habit = b.habit ? b.habit + i * w.game.n_policies : nullptr;
    inputs.belief = b.belief ? b.belief + i * w.game.n_beliefs : nullptr;
    inputs.robot = b.robot ? b.robot + i * w.game.n_robot_actions : nullptr;
    return inputs;
}

__device__ static inline lud_empo_scratch scratch_of(const empo_work &w, int64_t i) {
    return lud_empo_scratch_in(&w.game, w.batch.scratch + (size_t)i * lud_empo_scratch_doubles(&w.game));
}

static void sweep_phase_1(lud_device *device, const lud_empo_batch *batch) {
    empo_work work = {*batch, *batch->game};
    each_warp(device, batch->n, [=] __device__(int64_t i, int lane) {
        const lud_empo_batch &b = work.batch;
        const lud_empo_game &game = work.game;
        double *record = b.records + i * game.record_doubles;
        if (b.terminal[i]) {
            lud_empo_terminal_state(&game, record, lane, WARP);
            return;
        }
        lud_empo_scratch scratch = scratch_of(work, i);
        for (int k = 0; k < game.n_joint_actions; ++k) {
            uint32_t first = b.begin[i * game.n_joint_actions + k],
                     n = b.begin[i * game.n_joint_actions + k + 1] - first;
            double *sum = scratch.expected + (size_t)k * (size_t)game.width;
            if (n != 1) // else the successor's own row serves
                lud_empo_expectation(b.credits, b.window, game.width, n, b.successor + first,
                                     b.probability + first, sum, lane, WARP);
            if (lane == 0)
                scratch.row[k] =
                    n == 1 ? b.credits + lud_empo_row_of(b.window, b.successor[first]) * (uint64_t)game.width
                           : sum;
        }
        __syncwarp();
        lud_empo_state_inputs inputs = inputs_of(work, i);
        lud_empo_phase_1(&game, &scratch, &inputs, record, lane, WARP);
    });
}

static void sweep_phase_2(lud_device *device, const lud_empo_batch *batch) {
    empo_work work = {*batch, *batch->game};
    each_warp(device, batch->n, [=] __device__(int64_t i, int lane) {
        const lud_empo_game &game = work.game;
        int failed = -1;
        if (!work.batch.terminal[i]) {
            lud_empo_scratch scratch = scratch_of(work, i);
            lud_empo_state_inputs inputs = inputs_of(work, i);
            failed = lud_empo_phase_2(&game, &scratch, &inputs, work.batch.records + i * game.record_doubles,
                                      lane, WARP);
        }
        if (lane == 0) work.batch.failed[i] = failed;
    });
}

static void sweep_credits(lud_device *device, const lud_empo_batch *batch) {
    empo_work work = {*batch, *batch->game};
    each_warp(device, batch->n, [=] __device__(int64_t i, int lane) {
        const lud_empo_batch &b = work.batch;
        lud_empo_give_credit(
            &work.game, b.achieved + i * work.game.n_goals, b.records + i * work.game.record_doubles,
            b.credits + lud_empo_row_of(b.window, b.state[i]) * (uint64_t)work.game.width, lane, WARP);
    });
}

} // namespace lud_cuda

extern "C" __attribute__((visibility("default"))) const lud_empo_sweep_code lud_empo_sweep_cuda = {
    lud_cuda::sweep_phase_1, lud_cuda::sweep_phase_2, lud_cuda::sweep_credits};
