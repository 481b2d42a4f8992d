#include "learn/mappo/rollout/device_rollout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mappo/rollout/rollout_code.h"

/* An array of the step in progress and its slots on the device. Observations and states are kept before a
 * step, in slots 0 .. n_steps; values at the same time as they are known; the rest by every step. */
typedef enum keep_time { KEEP_BEFORE, KEEP_VALUES, KEEP_AFTER, KEEP_TIMES } keep_time;

typedef struct lud_mappo_trace {
    lud_mappo_kept kept[KEEP_TIMES];
    /* flags come to the host with the rollout, states of ended episodes where one asks for them */
    uint8_t *terminated, *truncated; /* host, [n_steps][words] */
    const char *final_states;        /* device, [n_steps][n_envs][state_bytes] */
    int64_t flag_bytes;              /* of a step: whole words */
} trace;

static bool take(lud_mappo_device_rollout *r, void *array, int64_t bytes) {
    void *memory = lud_device_allocate(r->device, (size_t)(bytes > 0 ? bytes : 4));
    memcpy(array, &memory, sizeof memory);
    return memory;
}

/* Memory for an array of the step in progress and for its slots. */
static bool take_kept(lud_mappo_device_rollout *r, keep_time time, void *array, int64_t bytes) {
    lud_mappo_kept *kept = &r->trace->kept[time];
    void *current, *to;
    assert(kept->n < LUD_MAPPO_MAX_KEPT && bytes % 4 == 0);
    if (!take(r, &current, bytes)) return false;
    const int64_t n_slots = r->n_steps + (time == KEEP_AFTER ? 0 : 1);
    if (!take(r, &to, n_slots * bytes)) {
        lud_device_release(r->device, current);
        return false;
    }
    memcpy(array, &current, sizeof current);
    kept->items[kept->n].from = current;
    kept->items[kept->n].to = to;
    kept->items[kept->n++].words = bytes / 4;
    return true;
}

static bool take_arrays(lud_mappo_device_rollout *r, const lud_mappo_buffer *b) {
    const int64_t rows = r->n_rows, flags = (r->n_envs + 3) / 4 * 4, width = b->shape->n_continuous;
    const int64_t state_bytes = (int64_t)b->shape->model->layout.state_bytes;
    trace *t = r->trace;
    bool whole = take(r, &r->mask, rows * 4) && take(r, &r->first_edge, r->n_envs * 4) &&
                 take(r, &r->slot, 4) && take(r, &r->tick, 4);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS && whole; p++)
        if (b->parts[p])
            whole = take_kept(r, KEEP_BEFORE, &r->parts[p], r->n_envs * (int64_t)b->part_bytes[p]);
    const int64_t hidden = rows * b->hidden_width * 4;
    if (b->actor_hidden)
        whole = whole && take_kept(r, KEEP_BEFORE, &r->actor_hidden, hidden) &&
                take_kept(r, KEEP_BEFORE, &r->critic_hidden, hidden);
    if (b->states) whole = whole && take_kept(r, KEEP_BEFORE, &r->states, rows * b->state_width * 4);
    whole = whole && take_kept(r, KEEP_VALUES, &r->values, rows * 4);
    if (b->actions)
        whole = whole && take_kept(r, KEEP_AFTER, &r->actions, rows * 4);
    else
        whole = whole && take_kept(r, KEEP_AFTER, &r->numbers, rows * width * 4) &&
                take(r, &r->world_actions, rows * width * 4);
    t->flag_bytes = flags;
    whole = whole && take_kept(r, KEEP_AFTER, &r->log_probs, rows * 4) &&
            take_kept(r, KEEP_AFTER, &r->rewards, rows * 4) &&
            take_kept(r, KEEP_AFTER, &r->terminated, flags) &&
            take_kept(r, KEEP_AFTER, &r->truncated, flags) &&
            take_kept(r, KEEP_AFTER, &r->final_states, r->n_envs * state_bytes);
    if (whole) t->final_states = t->kept[KEEP_AFTER].items[t->kept[KEEP_AFTER].n - 1].to;
    t->terminated = calloc((size_t)(r->n_steps * flags), 1);
    t->truncated = calloc((size_t)(r->n_steps * flags), 1);
    for (int k = 0; k < KEEP_TIMES; k++) t->kept[k].slot = r->slot;
    return whole && t->terminated && t->truncated;
}

void lud_mappo_device_rollout_destroy(lud_mappo_device_rollout *r) {
    if (!r) return;
    lud_capture_end(&r->stepping);
    lud_capture_end(&r->ending);
    lud_device_batch_destroy(r->worlds);
    for (int k = 0; k < KEEP_TIMES && r->trace; k++)
        for (int i = 0; i < r->trace->kept[k].n; i++) {
            lud_device_release(r->device, (void *)(uintptr_t)r->trace->kept[k].items[i].from);
            lud_device_release(r->device, r->trace->kept[k].items[i].to);
        }
    void *others[] = {r->mask, r->first_edge, r->slot, r->tick, r->world_actions};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i]) lud_device_release(r->device, others[i]);
    if (r->trace) {
        free(r->trace->terminated);
        free(r->trace->truncated);
    }
    free(r->trace);
    free(r);
}

static void enqueue_step(void *rollout);
static void enqueue_end(void *rollout);

lud_status lud_mappo_device_rollout_create(lud_mappo_networks *networks, const lud_mappo_buffer *buffer,
                                           const lud_batch *batch, int64_t slice_envs,
                                           lud_mappo_device_rollout **rollout, lud_error *error) {
    *rollout = NULL;
    lud_device *device = networks->device;
    const lud_mappo_code *code = lud_device_symbol(device, "lud_mappo_cuda_code");
    if (!code || batch->end != LUD_END_RESETS || batch->most_steps) return LUD_OK;
    lud_device_batch *worlds;
    lud_status status = lud_device_batch_create(batch->model, device, batch->n_envs, batch->seed,
                                                batch->first_environment, &worlds, error);
    if (status == LUD_ERROR_UNSUPPORTED) return LUD_OK;
    if (status) return status;
    lud_mappo_device_rollout *r = calloc(1, sizeof *r);
    if (r) {
        *r = (lud_mappo_device_rollout){.networks = networks,
                                        .device = device,
                                        .code = code,
                                        .worlds = worlds,
                                        .n_envs = buffer->n_envs,
                                        .n_agents = buffer->shape->n_agents,
                                        .n_rows = buffer->n_rows,
                                        .n_steps = buffer->n_steps,
                                        .slice_envs = slice_envs,
                                        .trace = calloc(1, sizeof *r->trace)};
        lud_capture_start(&r->stepping, device, enqueue_step, r);
        lud_capture_start(&r->ending, device, enqueue_end, r);
    } else {
        lud_device_batch_destroy(worlds);
    }
    if (!r || !r->trace || !take_arrays(r, buffer)) {
        lud_mappo_device_rollout_destroy(r);
        return lud_fail(error, LUD_ERROR_MEMORY,
                        "out of memory of %s for a rollout of %lld steps in %lld environments", device->name,
                        (long long)buffer->n_steps, (long long)buffer->n_envs);
    }
    *rollout = r;
    return LUD_OK;
}

/* --- a step --- */

static void *part_of(const lud_mappo_device_rollout *r, int part, int64_t first) {
    if (part < 0 || !r->parts[part]) return NULL;
    return (char *)r->parts[part] + (size_t)first * r->networks->shape.model->layout.parts[part].bytes;
}

static void *input_of(const lud_mappo_device_rollout *r, lud_mappo_input input) {
    return r->networks->inputs.items[input].device;
}

static void copy_rows(lud_mappo_device_rollout *r, void *to, const void *from, int64_t n, int64_t width) {
    if (to && from) lud_device_copy(r->device, to, from, (size_t)(n * width) * 4);
}

/* Rows of environments first .. first + n_envs into the networks' inputs. Edges are as many as there can be,
 * so that the work is the same at every step. */
static void enqueue_inputs(lud_mappo_device_rollout *r, int64_t first, int64_t n_envs) {
    lud_mappo_inputs *inputs = &r->networks->inputs;
    const lud_mappo_shape *shape = inputs->shape;
    const int64_t n = n_envs * r->n_agents, row = first * r->n_agents, v = shape->n_nodes;
    const lud_mappo_array *hidden = &inputs->items[LUD_MAPPO_ACTOR_HIDDEN],
                          *state = &inputs->items[LUD_MAPPO_STATE];
    inputs->n = inputs->n_chunks = n;
    copy_rows(r, input_of(r, LUD_MAPPO_MASK), r->mask + row, n, 1);
    if (r->actor_hidden) {
        copy_rows(r, hidden->device, r->actor_hidden + row * hidden->width, n, hidden->width);
        copy_rows(r, input_of(r, LUD_MAPPO_CRITIC_HIDDEN), r->critic_hidden + row * hidden->width, n,
                  hidden->width);
    }
    if (r->states) copy_rows(r, state->device, r->states + row * state->width, n, state->width);
    lud_mappo_seen seen = {.n_envs = n_envs,
                           .n_agents = r->n_agents,
                           .n_pieces = shape->n_pieces,
                           .identify = shape->identify,
                           .centralised = shape->centralised,
                           .scale = inputs->device_scale,
                           .observation = shape->observation,
                           .shared = shape->shared,
                           .own = input_of(r, LUD_MAPPO_OBSERVATION),
                           .all = input_of(r, LUD_MAPPO_SHARED),
                           .mask = r->mask + row,
                           .drive = input_of(r, LUD_MAPPO_DRIVE)};
    for (int k = 0; k < shape->n_pieces; k++)
        seen.pieces[k] = (lud_mappo_seen_piece){part_of(r, shape->pieces[k].part, first),
                                                shape->pieces[k].width, shape->pieces[k].per_agent};
    if (input_of(r, LUD_MAPPO_CELLS)) {
        seen.n_cells = shape->grid_height * shape->grid_width;
        seen.map_per_agent = shape->grid_per_agent;
        seen.map_from = part_of(r, shape->grid, first);
        seen.map = input_of(r, LUD_MAPPO_CELLS);
    }
    if (input_of(r, LUD_MAPPO_EGO)) {
        inputs->edges.n_nodes = n * v;
        inputs->edges.n_edges = inputs->n_edges = seen.n_edges = n * v * (v - 1);
        seen.n_nodes = v;
        seen.node_from = part_of(r, shape->nodes, first);
        seen.begin_from = part_of(r, shape->edge_begin, first);
        seen.source_from = part_of(r, shape->edge_source, first);
        seen.length_from = part_of(r, shape->edge_length, first);
        seen.first_edge = r->first_edge;
        seen.nodes = input_of(r, LUD_MAPPO_NODES);
        seen.types = input_of(r, LUD_MAPPO_TYPES);
        seen.offsets = input_of(r, LUD_MAPPO_NODE_OFFSETS);
        seen.source = input_of(r, LUD_MAPPO_EDGE_SOURCE);
        seen.length = input_of(r, LUD_MAPPO_EDGE_LENGTH);
        seen.ego = input_of(r, LUD_MAPPO_EGO);
        seen.pool = input_of(r, LUD_MAPPO_POOL_OFFSETS);
    }
    /* descriptions of all entities as the world wrote them */
    const struct {
        lud_mappo_input input;
        int part;
    } entities[] = {{LUD_MAPPO_DISTURBANCE, shape->disturbance}, {LUD_MAPPO_EVERYTHING, shape->nodes}};
    for (int i = 0; i < 2; i++) {
        const void *from = part_of(r, entities[i].part, first);
        if (from && input_of(r, entities[i].input))
            lud_device_copy(r->device, input_of(r, entities[i].input), from,
                            (size_t)n_envs * shape->model->layout.parts[entities[i].part].bytes);
    }
    if (seen.drive) {
        const lud_mappo_array *drive = &inputs->items[LUD_MAPPO_DRIVE];
        const float *everything = input_of(r, LUD_MAPPO_EVERYTHING);
        seen.kick_width = drive->width * (drive->max_rows / inputs->max_rows);
        seen.kick_from = everything ? everything : seen.own + shape->goal_offset;
        seen.kick_stride = everything ? seen.kick_width : shape->observation;
    }
    r->code->observe(r->device, &seen);
}

static void enqueue_values(lud_mappo_device_rollout *r, int64_t row) {
    lud_mappo_networks *t = r->networks;
    const int64_t n = t->inputs.n;
    lud_mappo_net_forward(&t->critic, false);
    copy_rows(r, r->values + row, lud_nn_value(t->critic.nn, t->critic.out), n, 1);
}

/* New states of networks that have some. */
static void enqueue_states(lud_mappo_device_rollout *r, int64_t row) {
    const lud_mappo_networks *t = r->networks;
    const int64_t n = t->inputs.n;
    if (r->actor_hidden) {
        const int64_t width = t->inputs.items[LUD_MAPPO_ACTOR_HIDDEN].width;
        copy_rows(r, r->actor_hidden + row * width, lud_nn_value(t->actor.nn, t->actor.hidden), n, width);
        copy_rows(r, r->critic_hidden + row * width, lud_nn_value(t->critic.nn, t->critic.hidden), n, width);
    }
    if (r->states) {
        const int64_t width = t->inputs.items[LUD_MAPPO_STATE].width;
        copy_rows(r, r->states + row * width, lud_nn_value(t->actor.nn, t->actor.state), n, width);
    }
}

static void enqueue_actions(lud_mappo_device_rollout *r, int64_t first) {
    lud_mappo_networks *t = r->networks;
    const int64_t n = t->inputs.n, row = first * r->n_agents, width = t->shape.n_continuous;
    t->draws = (lud_draws){.seed = r->worlds->seed,
                           .first_environment = r->worlds->first_environment + (uint32_t)first,
                           .n_agents = (uint32_t)r->n_agents,
                           .step_added = r->tick,
                           .purpose = LUD_PURPOSE_ACTION};
    lud_mappo_enqueue_actions(t);
    if (t->options.control != LUD_MAPPO_DIRECT) {
        const lud_mappo_headed head = {
            .control = t->options.control,
            .mad = t->options.mad,
            .n = n,
            .mean = lud_nn_value(t->actor.nn, t->actor.out),
            .log_std = lud_parameters_value(t->parameters, t->log_std),
            .raw = t->actor.magnitude >= 0 ? lud_nn_value(t->actor.nn, t->actor.magnitude) : NULL,
            .number = t->fields[LUD_FIELD_NUMBER].device,
            .log_prob = t->fields[LUD_FIELD_LOG_PROB].device,
            .goal = (const float *)input_of(r, LUD_MAPPO_OBSERVATION) + t->shape.goal_offset,
            .goal_stride = t->shape.observation,
            .action = r->world_actions + row * width};
        r->code->head(r->device, &head);
    } else if (width > 0) {
        copy_rows(r, r->world_actions + row * width, t->fields[LUD_FIELD_NUMBER].device, n, width);
    }
    if (r->actions)
        copy_rows(r, r->actions + row, t->fields[LUD_FIELD_ACTION].device, n, 1);
    else
        copy_rows(r, r->numbers + row * width, t->fields[LUD_FIELD_NUMBER].device, n, width);
    copy_rows(r, r->log_probs + row, t->fields[LUD_FIELD_LOG_PROB].device, n, 1);
}

static int64_t slice_from(const lud_mappo_device_rollout *r, int64_t first) {
    const int64_t left = r->n_envs - first;
    return left < r->slice_envs ? left : r->slice_envs;
}

static void enqueue_step(void *rollout) {
    lud_mappo_device_rollout *r = rollout;
    r->code->keep(r->device, &r->trace->kept[KEEP_BEFORE]);
    for (int64_t first = 0; first < r->n_envs; first += r->slice_envs) {
        enqueue_inputs(r, first, slice_from(r, first));
        enqueue_values(r, first * r->n_agents);
        enqueue_actions(r, first);
        enqueue_states(r, first * r->n_agents);
    }
    const lud_batch_out out = {.observations = r->parts,
                               .rewards = r->rewards,
                               .terminated = r->terminated,
                               .truncated = r->truncated,
                               .final_states = r->final_states};
    lud_device_batch_step(r->worlds, (lud_actions){r->actions, r->world_actions}, &out);
    r->code->keep(r->device, &r->trace->kept[KEEP_VALUES]);
    r->code->keep(r->device, &r->trace->kept[KEEP_AFTER]);
    r->code->turn(r->device, r->n_envs, r->n_agents, r->terminated, r->truncated, r->mask, r->slot, r->tick);
}

static void enqueue_end(void *rollout) {
    lud_mappo_device_rollout *r = rollout;
    r->code->keep(r->device, &r->trace->kept[KEEP_BEFORE]);
    for (int64_t first = 0; first < r->n_envs; first += r->slice_envs) {
        enqueue_inputs(r, first, slice_from(r, first));
        enqueue_values(r, first * r->n_agents);
    }
    r->code->keep(r->device, &r->trace->kept[KEEP_VALUES]);
}

/* --- a rollout --- */

/* Environments go to the device as they are in the batch, and come back. */
static void move_worlds(lud_mappo_device_rollout *r, lud_batch *batch, bool back) {
    const size_t n = (size_t)batch->n_envs;
    const struct {
        void *host, *device;
        size_t bytes;
    } arrays[] = {{batch->states, r->worlds->states, n * batch->model->layout.state_bytes},
                  {batch->tick, r->worlds->tick, n * sizeof *batch->tick},
                  {batch->episode_step, r->worlds->episode_step, n * sizeof *batch->episode_step},
                  {batch->episode, r->worlds->episode, n * sizeof *batch->episode}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (back)
            lud_device_download(r->device, arrays[i].host, arrays[i].device, arrays[i].bytes);
        else
            lud_device_upload(r->device, arrays[i].device, arrays[i].host, arrays[i].bytes);
}

/* The host's slots of an array of the step in progress. */
static void *slots_of(const lud_mappo_device_rollout *r, const lud_mappo_buffer *b, const void *current) {
    const struct {
        const void *current;
        void *host;
    } pairs[] = {{r->actor_hidden, b->actor_hidden},
                 {r->critic_hidden, b->critic_hidden},
                 {r->states, b->states},
                 {r->values, b->values},
                 {r->actions, b->actions},
                 {r->numbers, b->numbers},
                 {r->log_probs, b->log_probs},
                 {r->rewards, b->rewards},
                 {r->terminated, r->trace->terminated},
                 {r->truncated, r->trace->truncated}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].current == current) return pairs[i].host;
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        if (r->parts[p] == current) return b->parts[p];
    return NULL; /* stays on the device */
}

static void begin(lud_mappo_device_rollout *r, const lud_mappo_buffer *b, lud_batch *batch) {
    const uint32_t slot = 0;
    move_worlds(r, batch, false);
    lud_device_upload(r->device, r->slot, &slot, sizeof slot);
    lud_device_upload(r->device, r->tick, batch->tick, sizeof *r->tick); /* all count alike */
    lud_device_upload(r->device, r->mask, b->masks, (size_t)r->n_rows * sizeof *b->masks);
    const lud_mappo_kept *before = &r->trace->kept[KEEP_BEFORE];
    for (int i = 0; i < before->n; i++)
        lud_device_upload(r->device, (void *)(uintptr_t)before->items[i].from,
                          slots_of(r, b, before->items[i].from), (size_t)before->items[i].words * 4);
    lud_mappo_allow_all(r->networks, r->slice_envs * r->n_agents);
}

static void fetch(lud_mappo_device_rollout *r, lud_mappo_buffer *b, lud_batch *batch) {
    for (int k = 0; k < KEEP_TIMES; k++)
        for (int i = 0; i < r->trace->kept[k].n; i++) {
            const size_t slot = (size_t)r->trace->kept[k].items[i].words * 4;
            char *to = slots_of(r, b, r->trace->kept[k].items[i].from);
            const char *from = r->trace->kept[k].items[i].to;
            /* slot 0 of what is kept before a step is the host's own */
            const size_t first = k == KEEP_BEFORE ? slot : 0;
            const size_t last = (size_t)(r->n_steps + (k == KEEP_AFTER ? 0 : 1)) * slot;
            if (to) lud_device_download(r->device, to + first, from + first, last - first);
        }
    move_worlds(r, batch, true);
}

void lud_mappo_device_rollout_run(lud_mappo_device_rollout *r, lud_mappo_buffer *buffer, lud_batch *batch) {
    begin(r, buffer, batch);
    for (int64_t t = 0; t < r->n_steps; t++) lud_capture_run(&r->stepping, 0);
    lud_capture_run(&r->ending, 0);
    fetch(r, buffer, batch);
}

void lud_mappo_device_rollout_ends(const lud_mappo_device_rollout *r, int64_t t, uint8_t *terminated,
                                   uint8_t *truncated, uint8_t *final_states) {
    const trace *kept = r->trace;
    const size_t n = (size_t)r->n_envs, bytes = n * r->worlds->model->layout.state_bytes;
    bool any = false;
    memcpy(terminated, kept->terminated + t * kept->flag_bytes, n);
    memcpy(truncated, kept->truncated + t * kept->flag_bytes, n);
    for (size_t e = 0; e < n; e++) any = any || terminated[e] || truncated[e];
    if (any) lud_device_download(r->device, final_states, kept->final_states + (size_t)t * bytes, bytes);
}
