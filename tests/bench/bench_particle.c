/* Speed of the particle world: environment steps a second with rewards, observations and new episodes, random
 * actions, on one core, on all, and on a GPU where there is one. */
#include <stdio.h>
#include <string.h>

#include "sim/particle/particle.h"
#include "tests/bench/bench.h"

enum { N_ENVS = 1024 };

static lud_status read_model(const char *section, lud_model **model, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    lud_status status = arena ? lud_tree_read_text(arena, "bench", section, strlen(section), &root, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) status = lud_particle_world.parse(&lud_particle_world, root, "bench", 0, model, error);
    lud_arena_destroy(arena);
    return status;
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
    lud_model *model;
    LUD_TRY(read_model(t->section, &model, error));
    lud_bench_stepping s;
    lud_status status = lud_bench_stepping_make(&s, model, device, n_envs, true, error);
    if (!status) {
        char name[128];
        snprintf(name, sizeof name, "%s, %s", t->name, where);
        lud_bench_row row = {.name = name, .unit = "steps/s", .floor = floor};
        row.value = lud_bench_rate(lud_bench_step, &s, (double)n_envs * LUD_BENCH_CALLS, &row.spread);
        status = lud_bench_add(report, row, error);
    }
    lud_bench_stepping_free(&s, device);
    model->world->free(model);
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
