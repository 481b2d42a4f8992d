/* Speed of the particle world: environment steps a second with rewards, observations and new episodes, random
 * actions, on one core, on all, and on a GPU where there is one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/device_batch.h"
#include "sim/particle/particle.h"
#include "tests/bench/bench.h"

enum { N_ENVS = 1024, N_ROUNDS = 16, CALLS = 8 };

/* Arrays are memory of the device. */
typedef struct run {
    lud_device *device;
    lud_model *model;
    lud_device_batch *batch;
    int n_envs;
    int32_t *actions; /* [N_ROUNDS][n_envs][n_agents], drawn beforehand */
    float *rewards;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    int round;
} run;

static void run_free(run *r) {
    lud_device_batch_destroy(r->batch);
    if (r->model) r->model->world->free(r->model);
    lud_device_release(r->device, r->actions);
    lud_device_release(r->device, r->rewards);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) lud_device_release(r->device, r->parts[p]);
}

static lud_status draw_actions(run *r, lud_error *error) {
    const lud_layout *layout = &r->model->layout;
    const size_t n_agents = (size_t)layout->n_agents, n = N_ROUNDS * (size_t)r->n_envs * n_agents;
    int32_t *actions = malloc(n * sizeof *actions);
    r->actions = lud_device_allocate(r->device, n * sizeof *r->actions);
    for (size_t i = 0; actions && i < n; i++) {
        lud_words words = lud_draw((lud_random_key){1, 0}, (uint32_t)i, 0, LUD_PURPOSE_ACTION, 0);
        actions[i] = (int32_t)lud_below(words.v[0], (uint32_t)layout->actions[i % n_agents].n_discrete);
    }
    const bool ok = actions && r->actions;
    if (ok) lud_device_upload(r->device, r->actions, actions, n * sizeof *r->actions);
    free(actions);
    return ok ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
}

static lud_status run_make(run *r, const char *section, lud_device *device, int n_envs, lud_error *error) {
    *r = (run){.device = device, .n_envs = n_envs};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    lud_status status = arena ? lud_tree_read_text(arena, "bench", section, strlen(section), &root, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) status = lud_particle_world.parse(&lud_particle_world, root, "bench", 0, &r->model, error);
    lud_arena_destroy(arena);
    if (!status) status = lud_device_batch_create(r->model, device, n_envs, 1, 0, &r->batch, error);
    if (!status) status = draw_actions(r, error);
    if (status) return status;
    const lud_layout *layout = &r->model->layout;
    r->rewards = lud_device_allocate(device, (size_t)n_envs * (size_t)layout->n_agents * sizeof *r->rewards);
    bool ok = r->rewards;
    for (int p = 0; p < layout->n_parts; p++)
        ok = (r->parts[p] = lud_device_allocate(device, (size_t)n_envs * layout->parts[p].bytes)) && ok;
    if (!ok) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    lud_device_batch_reset(r->batch, &(lud_batch_out){.observations = r->parts});
    return LUD_OK;
}

static void step_all(void *context) {
    run *r = context;
    size_t stride = (size_t)r->n_envs * (size_t)r->model->layout.n_agents;
    lud_batch_out out = {.observations = r->parts, .rewards = r->rewards};
    for (int i = 0; i < CALLS; i++) {
        lud_actions actions = {.discrete = r->actions + (size_t)r->round * stride};
        lud_device_batch_step(r->batch, actions, &out);
        r->round = (r->round + 1) % N_ROUNDS;
    }
    lud_device_synchronise(r->device);
}

typedef struct task {
    const char *name, *section;
    double floor;
} task;
static const task tasks[] = {
    {"simple_spread, 3 agents", "particle: {task: simple_spread}", 5e6},
    {"simple_tag", "particle: {task: simple_tag}", 0},
    {"simple_world_comm", "particle: {task: simple_world_comm}", 0},
    {"navigation_graph, 3 agents", "particle: {task: navigation_graph}", 2e6},
    {"navigation_graph, 10 agents", "particle: {task: navigation_graph, agents: 10}", 3e5},
};
enum { N_TASKS = sizeof tasks / sizeof *tasks };

static lud_status measure(const task *t, lud_device *device, int n_envs, double floor, const char *where,
                          lud_bench_report *report, lud_error *error) {
    run r;
    lud_status status = run_make(&r, t->section, device, n_envs, error);
    if (!status) {
        char name[128];
        snprintf(name, sizeof name, "%s, %s", t->name, where);
        lud_bench_row row = {.name = name, .unit = "steps/s", .floor = floor};
        row.value = lud_bench_rate(step_all, &r, (double)n_envs * CALLS, &row.spread);
        status = lud_bench_add(report, row, error);
    }
    run_free(&r);
    return status;
}

static lud_status run_particle(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    lud_device *device = NULL;
    for (int threads = 1; threads >= 0 && !status && lud_bench_measures(report, "cpu"); threads--) {
        status = lud_device_open("cpu", threads, &device, error);
        for (int t = 0; t < N_TASKS && !status; t++)
            status = measure(&tasks[t], device, N_ENVS, threads ? tasks[t].floor : 0,
                             threads ? "one core" : "all cores", report, error);
        lud_device_close(device);
    }
    if (!status) status = lud_bench_open_cuda(report, &device, error);
    if (status || !device) return status;
    static const int sizes[] = {128, 4096, 65536};
    for (int t = 0; t < N_TASKS; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes && !status; k++) {
            char where[48];
            snprintf(where, sizeof where, "cuda, %d environments", sizes[k]);
            status = measure(&tasks[t], device, sizes[k], 0, where, report, error);
        }
    lud_device_close(device);
    return status;
}

const lud_bench lud_bench_particle = {.name = "particle",
                                      .about = "environment steps of the particle world",
                                      .on_cuda = true,
                                      .run = run_particle};
