#include "sim/device_batch.h"

#include <stdlib.h>

#include "sim/device_code.h"

typedef struct whole_batch {
    lud_device_batch shown;
    lud_batch *host;                 /* on the CPU: does it all */
    const lud_device_code *code;     /* elsewhere */
    void *uploaded;                  /* the model, memory of the device */
    uint8_t *terminated, *truncated; /* [n_envs] where the caller gives no arrays */
} whole_batch;

static lud_status create_on_host(whole_batch *b, lud_error *error) {
    lud_device_batch *shown = &b->shown;
    LUD_TRY(lud_batch_create(shown->model, shown->n_envs, shown->seed, shown->first_environment, &b->host,
                             error));
    b->host->n_threads = shown->device->n_threads;
    shown->states = b->host->states;
    shown->tick = b->host->tick;
    shown->episode_step = b->host->episode_step;
    shown->episode = b->host->episode;
    return LUD_OK;
}

static lud_status create_on_device(whole_batch *b, lud_error *error) {
    lud_device_batch *shown = &b->shown;
    const lud_world *world = shown->model->world;
    if (world->device_code) b->code = lud_device_symbol(shown->device, world->device_code);
    if (!b->code)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the world %s does not step on %s", world->name,
                        shown->device->name);
    LUD_TRY(world->upload(shown->model, shown->device, &b->uploaded, error));
    const size_t n = (size_t)shown->n_envs;
    shown->states = lud_device_allocate(shown->device, n * shown->model->layout.state_bytes);
    shown->tick = lud_device_allocate(shown->device, n * sizeof *shown->tick);
    shown->episode_step = lud_device_allocate(shown->device, n * sizeof *shown->episode_step);
    shown->episode = lud_device_allocate(shown->device, n * sizeof *shown->episode);
    b->terminated = lud_device_allocate(shown->device, n);
    b->truncated = lud_device_allocate(shown->device, n);
    if (!shown->states || !shown->tick || !shown->episode_step || !shown->episode || !b->terminated ||
        !b->truncated)
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory of %s for %d environments of %zu bytes each",
                        shown->device->name, shown->n_envs, shown->model->layout.state_bytes);
    return LUD_OK;
}

lud_status lud_device_batch_create(const lud_model *model, lud_device *device, int n_envs, uint64_t seed,
                                   uint32_t first_environment, lud_device_batch **batch, lud_error *error) {
    *batch = NULL;
    if (n_envs < 1) return lud_invalid(error, "a batch needs at least one environment, not %d", n_envs);
    whole_batch *b = calloc(1, sizeof *b);
    if (!b) return lud_no_memory(error, "a batch");
    b->shown = (lud_device_batch){.model = model,
                                  .device = device,
                                  .seed = seed,
                                  .first_environment = first_environment,
                                  .n_envs = n_envs,
                                  .auto_reset = true};
    lud_status status = device->backend->host_memory ? create_on_host(b, error) : create_on_device(b, error);
    if (status)
        lud_device_batch_destroy(&b->shown);
    else
        *batch = &b->shown;
    return status;
}

void lud_device_batch_destroy(lud_device_batch *shown) {
    if (!shown) return;
    whole_batch *b = (whole_batch *)shown;
    if (shown->device->backend->host_memory) {
        lud_batch_destroy(b->host);
    } else {
        lud_device_release(shown->device, b->uploaded);
        lud_device_release(shown->device, shown->states);
        lud_device_release(shown->device, shown->tick);
        lud_device_release(shown->device, shown->episode_step);
        lud_device_release(shown->device, shown->episode);
        lud_device_release(shown->device, b->terminated);
        lud_device_release(shown->device, b->truncated);
    }
    free(b);
}

static lud_device_envs envs_of(const lud_device_batch *shown, const lud_batch_out *out) {
    lud_device_envs envs = {.seed = shown->seed,
                            .first_environment = shown->first_environment,
                            .n = shown->n_envs,
                            .auto_reset = shown->auto_reset,
                            .states = shown->states,
                            .tick = shown->tick,
                            .episode_step = shown->episode_step,
                            .episode = shown->episode};
    for (int p = 0; p < shown->model->layout.n_parts && out && out->observations; p++)
        envs.parts[p] = out->observations[p];
    return envs;
}

void lud_device_batch_reset(lud_device_batch *shown, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    if (b->host) {
        lud_batch_reset(b->host, out);
        return;
    }
    const lud_device_envs envs = envs_of(shown, out);
    b->code->reset(shown->device, shown->model, b->uploaded, &envs);
}

void lud_device_batch_step(lud_device_batch *shown, lud_actions actions, const lud_batch_out *out) {
    whole_batch *b = (whole_batch *)shown;
    if (b->host) {
        b->host->end = shown->auto_reset ? LUD_END_RESETS : LUD_END_GOES_ON;
        lud_batch_step(b->host, actions, out);
        return;
    }
    lud_batch_out whole = out ? *out : (lud_batch_out){0};
    if (!whole.terminated) whole.terminated = b->terminated;
    if (!whole.truncated) whole.truncated = b->truncated;
    const lud_device_envs envs = envs_of(shown, out);
    b->code->step(shown->device, shown->model, b->uploaded, &envs, actions, &whole);
}
