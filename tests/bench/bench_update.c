/* One update of the neural EMPO learner's default networks: 7 x 7 grid, two humans, two robots with 16 joint
 * actions, F = 64, batch 32 with 1,024 successors in the targets. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "learn/empo/networks/networks.h"
#include "learn/empo/targets/targets.h"
#include "learn/nn/optimiser.h"
#include "tests/bench/bench.h"

enum {
    SIDE = 7,
    BATCH = 32,
    ACTIONS = 16,
    SUCCESSORS = 1024,
    HUMANS = 2,
    AGENTS = 4,
    ENTRIES = BATCH * HUMANS,
    EXPANDED = SUCCESSORS * HUMANS
};

enum { PART_SUCCESSORS, PART_TARGETS, PART_FORWARD, PART_BACKWARD, PART_ADAM, PARTS };
static const char *const part_names[PARTS] = {"values of 1,024 successors", "targets", "forward, 32 states",
                                              "backward", "clip and Adam"};

typedef struct update {
    lud_device *device;
    lud_parameters *online, *target;
    lud_nn *inference, *training;
    lud_empo_shape shape;
    lud_empo_graph successors, batch;
    lud_optimiser *optimiser;
    float *q_targets, *v_targets, *x_targets, *v_r, *u_r, *y, *pi, *slot_pi, *scratch;
    float *probability, *expanded_probability, *achieved, *weight;
    int32_t *slot, *expanded_slot, *entry;
    uint32_t step;
    double seconds[PARTS];
    long calls;
} update;

static void *take(update *u, size_t bytes) {
    return lud_device_allocate(u->device, bytes);
}

/* Random but valid inputs for a net of n states with HUMANS entries each. */
static bool fill_inputs(lud_nn *net, const lud_empo_graph *g, int64_t n) {
    const int64_t entries = n * HUMANS;
    int32_t *ints = calloc((size_t)(n * SIDE * SIDE + entries), sizeof *ints);
    double *reals = calloc((size_t)(entries * 100), sizeof *reals);
    if (!ints || !reals) {
        free(ints);
        free(reals);
        return false;
    }
    for (int64_t i = 0; i < n * SIDE * SIDE; i++) {
        const lud_words w = lud_draw((lud_random_key){1, 0}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
        ints[i] =
            lud_grid_code_make((lud_grid_cell){.type = w.v[0] % 3 ? LUD_CODE_NOTHING : (int)(w.v[1] % 9),
                                               .agent = w.v[2] % 12 ? LUD_CODE_NO_AGENT : (int)(w.v[3] % 7)});
    }
    lud_nn_write_i32(net, g->grid, n, ints);
    for (int64_t i = 0; i < entries * 100; i++)
        reals[i] = lud_unit(lud_draw((lud_random_key){2, 0}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0).v[0]);
    lud_nn_write(net, g->global, n, reals);
    lud_nn_write(net, g->agents, n, reals);
    lud_nn_write(net, g->interactive, n, reals);
    lud_nn_set_rows(net, g->entries, entries);
    lud_nn_write(net, g->entry_features, entries, reals);
    lud_nn_write(net, g->entry_goal, entries, reals);
    for (int64_t i = 0; i < entries; i++) ints[i] = (int32_t)(i / HUMANS);
    lud_nn_write_i32(net, g->entry_state, entries, ints);
    for (int64_t i = 0; i < entries; i++) ints[i] = (int32_t)(i % HUMANS);
    lud_nn_write_i32(net, g->entry_agent, entries, ints);
    for (int64_t i = 0; i < entries; i++) ints[i] = (int32_t)(i * 5 % (SIDE * SIDE));
    lud_nn_write_i32(net, g->entry_cell, entries, ints);
    free(ints);
    free(reals);
    return true;
}

static lud_status open_networks(update *u, lud_error *error) {
    const unsigned heads = LUD_EMPO_V_H_E | LUD_EMPO_X_H | LUD_EMPO_Q_R;
    u->shape = lud_empo_shape_defaults();
    u->shape.height = u->shape.width = SIDE;
    u->shape.n_agents = AGENTS;
    u->shape.n_actions = ACTIONS;
    u->shape.hidden = 64;
    u->online = lud_parameters_create(u->device, false);
    u->training = u->online ? lud_nn_create(u->online, BATCH) : NULL;
    u->inference = u->online ? lud_nn_create(u->online, SUCCESSORS) : NULL;
    if (!u->training || !u->inference) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    u->batch = lud_empo_declare(u->training, &u->shape, heads, ENTRIES);
    u->successors = lud_empo_declare(u->inference, &u->shape, heads, EXPANDED);
    lud_status status = lud_parameters_build(u->online, 1, error);
    if (status == LUD_OK) status = lud_nn_plan(u->training, LUD_NN_TRAIN, error);
    if (status == LUD_OK) status = lud_nn_plan(u->inference, LUD_NN_INFERENCE, error);
    if (status) return status;
    u->target = lud_parameters_clone(u->online);
    u->optimiser = lud_optimiser_create(u->online);
    if (!u->target || !u->optimiser || !lud_empo_prepare(u->training, &u->batch, &u->shape) ||
        !lud_empo_prepare(u->inference, &u->successors, &u->shape) ||
        !fill_inputs(u->training, &u->batch, BATCH) || !fill_inputs(u->inference, &u->successors, SUCCESSORS))
        return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    lud_nn_use(u->inference, u->target);
    lud_optimiser_options adam = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
    adam.weight_decay = 1e-4;
    adam.max_norm = 10.0;
    static const char *const groups[] = {"v_h_e.", "x_h.", "q_r."};
    for (int i = 0; i < 3; i++)
        if (lud_optimiser_group(u->optimiser, groups[i], &adam, false) < 0)
            return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    return lud_optimiser_build(u->optimiser, 1, error);
}

static lud_status open_buffers(update *u, lud_error *error) {
    const struct {
        void **place;
        size_t numbers;
    } buffers[] = {
        {(void **)&u->q_targets, BATCH * ACTIONS},
        {(void **)&u->v_targets, ENTRIES},
        {(void **)&u->x_targets, ENTRIES},
        {(void **)&u->v_r, SUCCESSORS},
        {(void **)&u->u_r, SUCCESSORS},
        {(void **)&u->y, SUCCESSORS},
        {(void **)&u->pi, SUCCESSORS * ACTIONS},
        {(void **)&u->slot_pi, BATCH * ACTIONS},
        {(void **)&u->scratch, SUCCESSORS * ACTIONS},
        {(void **)&u->probability, SUCCESSORS},
        {(void **)&u->expanded_probability, EXPANDED},
        {(void **)&u->achieved, EXPANDED},
        {(void **)&u->weight, ENTRIES},
        {(void **)&u->slot, SUCCESSORS},
        {(void **)&u->expanded_slot, EXPANDED},
        {(void **)&u->entry, EXPANDED},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        *buffers[i].place = take(u, buffers[i].numbers * 4);
        if (!*buffers[i].place) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    }
    /* every slot has two successors of probability one half */
    for (int i = 0; i < SUCCESSORS; i++) {
        u->slot[i] = i / 2;
        u->probability[i] = 0.5f;
        for (int h = 0; h < HUMANS; h++) {
            u->expanded_slot[i * HUMANS + h] = i / 2;
            u->expanded_probability[i * HUMANS + h] = 0.5f;
            u->entry[i * HUMANS + h] = i / 2 / ACTIONS * HUMANS + h;
            u->achieved[i * HUMANS + h] = (float)(i % 31 == 0);
        }
    }
    for (int i = 0; i < ENTRIES; i++) u->weight[i] = 1.0f;
    return LUD_OK;
}

static void close_update(update *u) {
    void *const buffers[] = {u->q_targets,
                             u->v_targets,
                             u->x_targets,
                             u->v_r,
                             u->u_r,
                             u->y,
                             u->pi,
                             u->slot_pi,
                             u->scratch,
                             u->probability,
                             u->expanded_probability,
                             u->achieved,
                             u->weight,
                             u->slot,
                             u->expanded_slot,
                             u->entry};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) lud_device_release(u->device, buffers[i]);
    lud_optimiser_destroy(u->optimiser);
    lud_nn_destroy(u->training);
    lud_nn_destroy(u->inference);
    lud_parameters_destroy(u->target);
    lud_parameters_destroy(u->online);
    lud_device_close(u->device);
}

static void end_part(update *u, int part, double *since) {
    const double now = lud_clock_seconds();
    u->seconds[part] += now - *since;
    *since = now;
}

static void work(void *context) {
    update *u = context;
    lud_device *device = u->device;
    const lud_ops *ops = device->ops;
    double since = lud_clock_seconds();
    lud_nn_forward(u->inference, SUCCESSORS, false);
    end_part(u, PART_SUCCESSORS, &since);

    lud_nn *net = u->training, *successors = u->inference;
    const float *q = lud_nn_value(successors, u->successors.q_r);
    lud_empo_policy(device, SUCCESSORS, ACTIONS, 10.0, q, u->pi, u->scratch);
    lud_empo_intrinsic_reward(device, SUCCESSORS, HUMANS, 1.0, 1.1,
                              lud_nn_value(successors, u->successors.x_h), u->y, u->u_r, u->scratch);
    lud_empo_state_value(device, SUCCESSORS, ACTIONS, u->u_r, u->pi, q, u->v_r, u->scratch);
    lud_empo_q_r_targets(device, SUCCESSORS, BATCH * ACTIONS, 0.99, u->slot, u->probability, u->v_r,
                         u->q_targets);
    end_part(u, PART_TARGETS, &since);

    lud_nn_set_step(net, 1, ++u->step);
    lud_nn_forward(net, BATCH, true);
    end_part(u, PART_FORWARD, &since);

    lud_empo_policy(device, BATCH, ACTIONS, 10.0, lud_nn_value(net, u->batch.q_r), u->slot_pi, u->scratch);
    lud_empo_v_h_e_targets(device, EXPANDED, ENTRIES, 0.99, u->entry, u->expanded_slot,
                           u->expanded_probability, u->achieved, NULL, u->slot_pi,
                           lud_nn_value(successors, u->successors.v_h_e), u->v_targets, u->scratch);
    lud_empo_x_h_targets(device, ENTRIES, 2.0, u->weight, u->v_targets, u->x_targets);
    end_part(u, PART_TARGETS, &since);

    lud_parameters_zero_gradients(u->online);
    ops->mse_loss(device, ENTRIES, lud_nn_value(net, u->batch.v_h_e), u->v_targets, NULL, 1.0 / ENTRIES, NULL,
                  lud_nn_gradient(net, u->batch.v_h_e), false);
    ops->mse_loss(device, ENTRIES, lud_nn_value(net, u->batch.x_h), u->x_targets, NULL, 1.0 / ENTRIES, NULL,
                  lud_nn_gradient(net, u->batch.x_h), false);
    ops->mse_loss(device, BATCH * ACTIONS, lud_nn_value(net, u->batch.q_r), u->q_targets, NULL,
                  1.0 / (BATCH * ACTIONS), NULL, lud_nn_gradient(net, u->batch.q_r), false);
    lud_nn_backward(net);
    end_part(u, PART_BACKWARD, &since);
    lud_optimiser_step(u->optimiser, 0, 1e-3);
    lud_optimiser_step(u->optimiser, 1, 1e-4);
    lud_optimiser_step(u->optimiser, 2, 1e-4);
    end_part(u, PART_ADAM, &since);
    u->calls++;
}

/* Floating point operations a second of one large matrix product on this device: the yardstick of "peak". */
typedef struct product {
    lud_device *device;
    float *a, *b, *c;
} product;
enum { PRODUCT_SIDE = 1024 };

static void multiply(void *context) {
    const product *p = context;
    p->device->ops->matmul(p->device, false, true, PRODUCT_SIDE, PRODUCT_SIDE, PRODUCT_SIDE, 1.0, p->a,
                           PRODUCT_SIDE, p->b, PRODUCT_SIDE, 0.0, p->c, PRODUCT_SIDE);
}

static double product_rate(lud_device *device) {
    product p = {.device = device};
    const size_t bytes = sizeof(float) * PRODUCT_SIDE * PRODUCT_SIDE;
    p.a = lud_device_allocate(device, bytes);
    p.b = lud_device_allocate(device, bytes);
    p.c = lud_device_allocate(device, bytes);
    double spread, rate = 0.0;
    if (p.a && p.b && p.c)
        rate = lud_bench_rate(multiply, &p, 2.0 * PRODUCT_SIDE * PRODUCT_SIDE * PRODUCT_SIDE, &spread);
    if (p.a) lud_device_release(device, p.a);
    if (p.b) lud_device_release(device, p.b);
    if (p.c) lud_device_release(device, p.c);
    return rate;
}

static lud_status measure(lud_bench_report *report, int n_threads, lud_error *error) {
    update u = {0};
    lud_status status = lud_device_open("cpu", n_threads, &u.device, error);
    if (status) return status;
    status = open_networks(&u, error);
    if (status == LUD_OK) status = open_buffers(&u, error);
    if (status == LUD_OK) {
        double spread = 0.0;
        const double rate = lud_bench_rate(work, &u, 1.0, &spread);
        char name[96];
        snprintf(name, sizeof name, "phase 2 update, %d thread%s", n_threads, n_threads > 1 ? "s" : "");
        status = lud_bench_add(report,
                               (lud_bench_row){.name = name,
                                               .value = 1e3 / rate,
                                               .spread = 1e3 * spread / (rate * rate),
                                               .unit = "ms",
                                               .floor = 5.0},
                               error);
        for (int i = 0; i < PARTS && status == LUD_OK; i++) {
            snprintf(name, sizeof name, "  %s", part_names[i]);
            status = lud_bench_add(
                report,
                (lud_bench_row){.name = name, .value = 1e3 * u.seconds[i] / (double)u.calls, .unit = "ms"},
                error);
        }
        /* a backward run costs about two forward runs */
        const double operations =
            2.0 * (lud_nn_multiply_adds(u.inference) + 3.0 * lud_nn_multiply_adds(u.training));
        if (status == LUD_OK)
            status =
                lud_bench_add(report,
                              (lud_bench_row){.name = "  share of a large matrix product's rate",
                                              .value = 100.0 * operations * rate / product_rate(u.device),
                                              .unit = "%"},
                              error);
    }
    close_update(&u);
    return status;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    for (int n = 1; n <= 2 && status == LUD_OK; n++) status = measure(report, n, error);
    return status;
}

const lud_bench lud_bench_update = {
    .name = "update", .about = "one update of the EMPO learner's networks", .run = run};
