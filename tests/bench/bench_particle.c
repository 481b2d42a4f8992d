/* Speed of the particle world: environment steps a second with rewards, observations and new episodes, random
 * actions, on one core and on all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/batch.h"
#include "sim/particle/particle.h"
#include "tests/bench/bench.h"

enum { N_ENVS = 1024, N_ROUNDS = 16, CALLS = 8 };

typedef struct run {
    lud_model *model;
    lud_batch *batch;
    int32_t *actions; /* [N_ROUNDS][N_ENVS][n_agents], drawn beforehand */
    float *rewards;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    int round;
} run;

static void run_free(run *r) {
    lud_batch_destroy(r->batch);
    if (r->model) r->model->world->free(r->model);
    free(r->actions);
    free(r->rewards);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(r->parts[p]);
}

static lud_status run_make(run *r, const char *section, lud_error *error) {
    *r = (run){0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    lud_status status = arena ? lud_tree_read_text(arena, "bench", section, strlen(section), &root, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) status = lud_particle_world.parse(root, "bench", 0, &r->model, error);
    lud_arena_destroy(arena);
    if (!status) status = lud_batch_create(r->model, N_ENVS, 1, 0, &r->batch, error);
    if (status) return status;
    const lud_layout *layout = &r->model->layout;
    size_t n_agents = (size_t)layout->n_agents;
    r->actions = malloc(N_ROUNDS * N_ENVS * n_agents * sizeof *r->actions);
    r->rewards = malloc(N_ENVS * n_agents * sizeof *r->rewards);
    bool ok = r->actions && r->rewards;
    for (int p = 0; p < layout->n_parts; p++)
        ok = (r->parts[p] = malloc(N_ENVS * layout->parts[p].bytes)) && ok;
    if (!ok) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < N_ROUNDS * N_ENVS * n_agents; i++) {
        lud_words words = lud_draw((lud_random_key){1, 0}, (uint32_t)i, 0, LUD_PURPOSE_ACTION, 0);
        r->actions[i] = (int32_t)lud_below(words.v[0], (uint32_t)layout->actions[i % n_agents].n_discrete);
    }
    lud_batch_reset(r->batch, &(lud_batch_out){.observations = r->parts});
    return LUD_OK;
}

static void step_all(void *context) {
    run *r = context;
    size_t stride = N_ENVS * (size_t)r->model->layout.n_agents;
    lud_batch_out out = {.observations = r->parts, .rewards = r->rewards};
    for (int i = 0; i < CALLS; i++) {
        lud_actions actions = {.discrete = r->actions + (size_t)r->round * stride};
        lud_batch_step(r->batch, actions, &out);
        r->round = (r->round + 1) % N_ROUNDS;
    }
}

static lud_status run_particle(lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *name, *section;
        double floor;
    } tasks[] = {
        {"simple_spread, 3 agents", "particle: {task: simple_spread}", 5e6},
        {"simple_tag", "particle: {task: simple_tag}", 0},
        {"simple_world_comm", "particle: {task: simple_world_comm}", 0},
        {"navigation_graph, 3 agents", "particle: {task: navigation_graph}", 2e6},
        {"navigation_graph, 10 agents", "particle: {task: navigation_graph, agents: 10}", 3e5},
    };
    for (int threads = 1; threads >= 0; threads--)
        for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
            run r;
            lud_status status = run_make(&r, tasks[t].section, error);
            if (!status) {
                char name[96];
                lud_bench_row row = {.name = name, .unit = "steps/s", .floor = threads ? tasks[t].floor : 0};
                snprintf(name, sizeof name, "%s, %s", tasks[t].name, threads ? "one core" : "all cores");
                r.batch->n_threads = threads;
                row.value = lud_bench_rate(step_all, &r, (double)N_ENVS * CALLS, &row.spread);
                status = lud_bench_add(report, row, error);
            }
            run_free(&r);
            if (status) return status;
        }
    return LUD_OK;
}

const lud_bench lud_bench_particle = {
    .name = "particle", .about = "environment steps of the particle world", .run = run_particle};
