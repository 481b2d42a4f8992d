// One instantiation of the particle world for a room of a certain size: included by particle_cuda.cu in a
// namespace.
#include "sim/particle/particle_block.h"

__device__ static inline void observe_one(const particle_arguments &a, const uint8_t *state, int64_t i) {
    const lud_particle_model *m = a.model;
    void *const *parts = a.envs.parts;
    if (m->part_observation >= 0 && parts[m->part_observation]) {
        row_type rows[LUD_PARTICLE_MAX_ROWS];
        load_block(m, state, 1, rows);
        follow_slots(m, rows);
        observe_block(m, rows, 1, parts[m->part_observation], (size_t)i, false);
    }
    if (wants_graph(m, parts)) observe_graph(m, state, parts, (size_t)i, false);
}

__device__ static inline void reset_one(const particle_arguments &a, uint8_t *state, int64_t i) {
    const lud_range range = {a.envs.seed, a.envs.first_environment + (uint32_t)i, 1, a.envs.tick + i};
    reset_range(a.model, range, state);
    a.envs.episode_step[i] = 0;
}

static void launch_reset(lud_device *device, const particle_arguments &a) {
    each(device, a.envs.n, [=] __device__(int64_t i) {
        uint8_t *state = a.envs.states + (size_t)i * a.state_bytes;
        reset_one(a, state, i);
        observe_one(a, state, i);
    });
}

static void launch_step(lud_device *device, const particle_arguments &a) {
    each(device, a.envs.n, [=] __device__(int64_t i) {
        uint8_t *state = a.envs.states + (size_t)i * a.state_bytes;
        const lud_range range = {a.envs.seed, a.envs.first_environment, a.envs.n, a.envs.tick};
        {
            row_type rows[LUD_PARTICLE_MAX_ROWS];
            step_block(a.model, range, state, &a.io, (int)i, 1, rows);
        }
        a.envs.tick[i]++;
        a.envs.episode_step[i]++;
        if (a.io.terminated[i] || a.io.truncated[i]) {
            a.envs.episode[i]++;
            if (a.envs.auto_reset) {
                if (a.final_states) memcpy(a.final_states + (size_t)i * a.state_bytes, state, a.state_bytes);
                reset_one(a, state, i);
            }
        }
        observe_one(a, state, i);
    });
}

#undef LANES
#undef SIMD
#undef RESTRICT
#undef BLOCK_CODE
#undef EACH_LANE
#undef EXP_LIMIT
#undef EXP_MAGIC
#undef EXP_BIAS
#undef EXP_SHIFT
#undef LN2_HIGH
#undef LN2_LOW
