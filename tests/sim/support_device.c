#include "sim/support_device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/device_batch.h"

/* What one side of the comparison owns: host arrays, and for the device their likenesses there. */
typedef struct side {
    uint8_t *states, *final_states, *terminated, *truncated, *parts[LUD_MAX_OBSERVATION_PARTS];
    float *rewards, *continuous;
    int32_t *discrete;
} side;

typedef struct array {
    size_t offset, bytes;
} array;
enum { N_FIXED = 5 };

static int arrays_of(const lud_model *model, array *arrays) {
    const size_t n = DEVICE_ENVS, agents = (size_t)model->layout.n_agents;
    const array fixed[N_FIXED] = {{offsetof(side, states), n * model->layout.state_bytes},
                                  {offsetof(side, final_states), n * model->layout.state_bytes},
                                  {offsetof(side, terminated), n},
                                  {offsetof(side, truncated), n},
                                  {offsetof(side, rewards), n * agents * sizeof(float)}};
    memcpy(arrays, fixed, sizeof fixed);
    for (int p = 0; p < model->layout.n_parts; p++)
        arrays[N_FIXED + p] =
            (array){offsetof(side, parts) + (size_t)p * sizeof(void *), n * model->layout.parts[p].bytes};
    return N_FIXED + model->layout.n_parts;
}

static void **field(side *s, size_t offset) {
    return (void **)(void *)((char *)s + offset);
}

/* A byte of the device that differs from the CPU's, in floats: by more than a device may. */
static void check_array(const char *task, int step, const array *a, bool exact, const void *cpu,
                        const void *device) {
    if (!memcmp(cpu, device, a->bytes)) return;
    if (exact) fail_msg("%s, step %d: the array at %zu differs", task, step, a->offset);
    const bool bytes = a->offset == offsetof(side, terminated) || a->offset == offsetof(side, truncated);
    int n_wrong = 0;
    for (size_t i = 0; i < (bytes ? a->bytes : a->bytes / 4); i++) {
        if (bytes) {
            n_wrong += ((const uint8_t *)cpu)[i] != ((const uint8_t *)device)[i];
            continue;
        }
        const double x = ((const float *)cpu)[i], y = ((const float *)device)[i];
        n_wrong += !(fabs(x - y) <= 1e-5 * (1 + fabs(x)));
    }
    /* a threshold may lie between two last bits now and then */
    if (n_wrong > 2)
        fail_msg("%s, step %d: %d numbers of the array at %zu differ", task, step, n_wrong, a->offset);
}

static void draw_actions(const lud_model *model, int step, side *host, size_t continuous) {
    const lud_layout *layout = &model->layout;
    for (int e = 0; e < DEVICE_ENVS; e++)
        for (int a = 0; a < layout->n_agents; a++) {
            const lud_words w =
                lud_draw((lud_random_key){7, (uint32_t)e}, (uint32_t)step, (uint32_t)a, LUD_PURPOSE_USER, 0);
            const lud_action_space *space = &layout->actions[a];
            host->discrete[e * layout->n_agents + a] =
                space->n_discrete > 0 ? (int32_t)lud_below(w.v[0], (uint32_t)space->n_discrete) : 0;
            for (size_t i = 0; i < continuous; i++)
                host->continuous[((size_t)e * (size_t)layout->n_agents + (size_t)a) * continuous + i] =
                    space->low + (space->high - space->low) * lud_unit_float(w.v[i % 4] * (uint32_t)(i + 1));
        }
}

void compare_on_device(const char *what, const lud_model *model, lud_device *cuda, int n_steps, bool exact) {
    lud_error error = {0};
    lud_batch *batch;
    lud_device_batch *other;
    if (lud_batch_create(model, DEVICE_ENVS, DEVICE_SEED, DEVICE_FIRST, &batch, &error) ||
        lud_device_batch_create(model, cuda, DEVICE_ENVS, DEVICE_SEED, DEVICE_FIRST, &other, &error))
        fail_msg("%s: %s", what, error.text);
    array arrays[N_FIXED + LUD_MAX_OBSERVATION_PARTS];
    const int n_arrays = arrays_of(model, arrays);
    side cpu = {0}, device = {0}, back = {0};
    for (int i = 0; i < n_arrays; i++) {
        *field(&cpu, arrays[i].offset) = calloc(arrays[i].bytes + 1, 1);
        *field(&back, arrays[i].offset) = malloc(arrays[i].bytes + 1);
        *field(&device, arrays[i].offset) = lud_device_allocate(cuda, arrays[i].bytes + 1);
    }
    int most = 0;
    for (int a = 0; a < model->layout.n_agents; a++)
        most = model->layout.actions[a].n_continuous > most ? model->layout.actions[a].n_continuous : most;
    const size_t decisions = DEVICE_ENVS * (size_t)model->layout.n_agents, numbers = decisions * (size_t)most;
    cpu.discrete = calloc(decisions, sizeof(int32_t));
    cpu.continuous = calloc(numbers + 1, sizeof(float));
    device.discrete = lud_device_allocate(cuda, decisions * sizeof(int32_t));
    device.continuous = lud_device_allocate(cuda, (numbers + 1) * sizeof(float));
    void *observed[2][LUD_MAX_OBSERVATION_PARTS];
    memcpy(observed[0], cpu.parts, sizeof cpu.parts);
    memcpy(observed[1], device.parts, sizeof device.parts);
    const lud_batch_out out[2] = {{.observations = observed[0],
                                   .rewards = cpu.rewards,
                                   .terminated = cpu.terminated,
                                   .truncated = cpu.truncated,
                                   .final_states = cpu.final_states},
                                  {.observations = observed[1],
                                   .rewards = device.rewards,
                                   .terminated = device.terminated,
                                   .truncated = device.truncated,
                                   .final_states = device.final_states}};
    int n_ended = 0;
    for (int step = 0; step <= n_steps; step++) {
        if (step == 0) {
            lud_batch_reset(batch, &out[0]);
            lud_device_batch_reset(other, &out[1]);
        } else {
            draw_actions(model, step, &cpu, (size_t)most);
            lud_device_upload(cuda, device.discrete, cpu.discrete, decisions * sizeof(int32_t));
            lud_device_upload(cuda, device.continuous, cpu.continuous, numbers * sizeof(float));
            lud_device_upload(cuda, other->states, batch->states, DEVICE_ENVS * model->layout.state_bytes);
            lud_batch_step(batch, (lud_actions){cpu.discrete, cpu.continuous}, &out[0]);
            lud_device_batch_step(other, (lud_actions){device.discrete, device.continuous}, &out[1]);
            for (int e = 0; e < DEVICE_ENVS; e++) n_ended += cpu.terminated[e] || cpu.truncated[e];
        }
        memcpy(cpu.states, batch->states, DEVICE_ENVS * model->layout.state_bytes);
        lud_device_copy(cuda, device.states, other->states, DEVICE_ENVS * model->layout.state_bytes);
        for (int i = 0; i < n_arrays; i++) {
            void *to = *field(&back, arrays[i].offset);
            lud_device_download(cuda, to, *field(&device, arrays[i].offset), arrays[i].bytes);
            check_array(what, step, &arrays[i], exact, *field(&cpu, arrays[i].offset), to);
        }
        uint32_t tick[DEVICE_ENVS], episode[DEVICE_ENVS];
        int32_t episode_step[DEVICE_ENVS];
        lud_device_download(cuda, tick, other->tick, sizeof tick);
        lud_device_download(cuda, episode, other->episode, sizeof episode);
        lud_device_download(cuda, episode_step, other->episode_step, sizeof episode_step);
        assert_memory_equal(tick, batch->tick, sizeof tick);
        assert_memory_equal(episode, batch->episode, sizeof episode);
        assert_memory_equal(episode_step, batch->episode_step, sizeof episode_step);
    }
    if (lud_device_failure(cuda)) fail_msg("%s: %s", what, lud_device_failure(cuda));
    assert_true(n_ended >= DEVICE_ENVS); /* resets were part of it */
    for (int i = 0; i < n_arrays; i++) {
        free(*field(&cpu, arrays[i].offset));
        free(*field(&back, arrays[i].offset));
        lud_device_release(cuda, *field(&device, arrays[i].offset));
    }
    free(cpu.discrete);
    free(cpu.continuous);
    lud_device_release(cuda, device.discrete);
    lud_device_release(cuda, device.continuous);
    lud_device_batch_destroy(other);
    lud_batch_destroy(batch);
}
