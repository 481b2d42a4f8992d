// The particle world on CUDA: the source of particle_block.h with one environment a thread. A thread's rows
// lie in local memory, which interleaves threads, so that a warp reads a row at once. Local memory is set
// aside for every thread a device can hold, hence a small room, which most tasks fit, and one for the
// largest.
#include "kernels/cuda/cuda.cuh"

#include <cassert>
#include <cmath>
#include <cstring>

#include "sim/device_code.h"
#include "sim/particle/particle_model.h"

namespace lud_cuda {

struct particle_arguments {
    const lud_particle_model *model; // on the device
    lud_device_envs envs;
    particle_io io;
    uint8_t *final_states;
    size_t state_bytes;
};

#define PARTICLE_ON_DEVICE
#define real           float
#define REAL_IS_DOUBLE 0

// The small room: its sizes stand for the world's largest ones.
enum { SMALL_ROWS = 512, SMALL_ENTITIES = 32, SMALL_OBSERVATION = 256 };
#define LUD_PARTICLE_MAX_ROWS        SMALL_ROWS
#define LUD_PARTICLE_MAX_ENTITIES    SMALL_ENTITIES
#define LUD_PARTICLE_MAX_OBSERVATION SMALL_OBSERVATION
namespace particle_small {
#include "sim/particle/particle_threads.cuh"
}
#undef LUD_PARTICLE_MAX_ROWS
#undef LUD_PARTICLE_MAX_ENTITIES
#undef LUD_PARTICLE_MAX_OBSERVATION
namespace particle_large {
#include "sim/particle/particle_threads.cuh"
}

static particle_arguments arguments_of(const lud_model *model, const void *uploaded,
                                       const lud_device_envs *envs) {
    particle_arguments a = {};
    a.model = static_cast<const lud_particle_model *>(uploaded);
    a.envs = *envs;
    a.state_bytes = model->layout.state_bytes;
    return a;
}

// Choices are looked at like bodies: more of both may be sorted by distance than there are bodies.
static bool fits_small_room(const lud_model *model) {
    const lud_particle_model *m = reinterpret_cast<const lud_particle_model *>(model);
    bool fits = m->n_rows <= SMALL_ROWS && m->n_entities <= SMALL_ENTITIES;
    for (int a = 0; a < m->n_agents; a++) fits = fits && m->observation_size[a] <= SMALL_OBSERVATION;
    for (int v = 0; v < m->view_begin[m->n_agents]; v++)
        fits = fits && (m->views[v].nearest == 0 || m->views[v].of.n <= SMALL_ENTITIES);
    return fits;
}

static void particle_reset(lud_device *device, const lud_model *model, const void *uploaded,
                           const lud_device_envs *envs) {
    const particle_arguments a = arguments_of(model, uploaded, envs);
    fits_small_room(model) ? particle_small::launch_reset(device, a)
                           : particle_large::launch_reset(device, a);
}

static void particle_step(lud_device *device, const lud_model *model, const void *uploaded,
                          const lud_device_envs *envs, lud_actions actions, const lud_batch_out *out) {
    particle_arguments a = arguments_of(model, uploaded, envs);
    a.io.discrete = actions.discrete;
    a.io.continuous = actions.continuous;
    a.io.rewards = out->rewards;
    a.io.terminated = out->terminated;
    a.io.truncated = out->truncated;
    a.final_states = out->final_states;
    fits_small_room(model) ? particle_small::launch_step(device, a) : particle_large::launch_step(device, a);
}

} // namespace lud_cuda

extern "C" __attribute__((visibility("default")))
const lud_device_code lud_particle_cuda_code = {lud_cuda::particle_reset, lud_cuda::particle_step};
