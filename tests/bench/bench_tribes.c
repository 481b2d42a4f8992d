/* Speed of tribes: a step with random actions, alone and with observations, and a
 * description for every agent, for 12, 30 and 200 agents. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/tribes/tribes.h"
#include "tests/bench/bench.h"

enum { N_ENVS = 64, ROUNDS = 16 };

static const char *const worlds[] = {
    /* of the sizes of market, village and crowd in scenarios/tribes */
    "{size: [20, 14], grain: 8, wood: 8, ore: 8}\n  teams: [{agents: 4, values: [1, 5, 3]}, {agents: 4, "
    "values: [3, 1, 5]}, {agents: 4, values: [5, 3, 1]}]\n",
    "{size: [28, 20], houses: 3, grain: 24, wood: 24, ore: 24}\n  teams: [{agents: 10, values: [1, 4, 2]}, "
    "{agents: 10, values: [2, 1, 4]}, {agents: 10, values: [4, 2, 1]}]\n",
    "{size: [64, 44], houses: 9, grain: 130, wood: 130, ore: 130, patch: 9}\n  teams: [{agents: 40}, "
    "{agents: "
    "40}, {agents: 40}, {agents: 40}, {agents: 40}]\n"};

/* Actions for ROUNDS steps are drawn before the clock runs. */
typedef struct run {
    const lud_model *model;
    int n_threads, round;
    bool observe;
    uint8_t *states;
    uint32_t *tick;
    int32_t *actions; /* [ROUNDS][N_ENVS][n_agents] */
    float *rewards, *components;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    lud_text text;
} run;

static void run_free(run *r) {
    free(r->states);
    free(r->tick);
    free(r->actions);
    free(r->rewards);
    free(r->components);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(r->parts[p]);
    lud_text_free(&r->text);
}

static lud_status run_make(run *r, const lud_model *model, lud_error *error) {
    const size_t n = N_ENVS * (size_t)model->layout.n_agents;
    *r = (run){.model = model, .n_threads = 1};
    r->states = malloc(N_ENVS * model->layout.state_bytes);
    r->tick = calloc(N_ENVS, sizeof *r->tick);
    r->actions = malloc(ROUNDS * n * sizeof *r->actions);
    r->rewards = malloc(n * sizeof *r->rewards);
    r->components = malloc(n * (size_t)model->layout.n_components * sizeof *r->components);
    bool whole = r->states && r->tick && r->actions && r->rewards && r->components;
    for (int p = 0; p < model->layout.n_parts; p++)
        whole = (r->parts[p] = malloc(N_ENVS * model->layout.parts[p].bytes)) && whole;
    if (!whole) {
        run_free(r);
        return lud_no_memory(error, "%d environments", N_ENVS);
    }
    for (size_t i = 0; i < ROUNDS * n; i++)
        r->actions[i] = (int32_t)lud_below(
            lud_draw((lud_random_key){1, 0}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0).v[0], LUD_TRIBES_ACTIONS);
    model->world->reset(model, (lud_range){.seed = 1, .n = N_ENVS, .tick = r->tick}, r->states);
    return LUD_OK;
}

static void step_all(void *context) {
    run *r = context;
    const lud_layout *layout = &r->model->layout;
    const size_t n_agents = (size_t)layout->n_agents;
    r->round = (r->round + 1) % ROUNDS;
#pragma omp parallel for num_threads(r->n_threads) schedule(static)
    for (int e = 0; e < N_ENVS; e++) {
        const size_t at = (size_t)e, of_agents = at * n_agents;
        const lud_range range = {.seed = 1, .first_environment = (uint32_t)e, .n = 1, .tick = r->tick + e};
        uint8_t *state = r->states + at * layout->state_bytes, ended, cut;
        void *parts[LUD_MAX_OBSERVATION_PARTS];
        r->model->world->step(
            r->model, range, state,
            (lud_actions){.discrete = r->actions + (size_t)r->round * N_ENVS * n_agents + of_agents},
            (lud_outcome){r->rewards + of_agents, &ended, &cut,
                          r->components + of_agents * (size_t)layout->n_components});
        r->tick[e]++;
        if (ended || cut) r->model->world->reset(r->model, range, state);
        for (int p = 0; p < layout->n_parts; p++)
            parts[p] = (char *)r->parts[p] + at * layout->parts[p].bytes;
        if (r->observe) r->model->world->observe(r->model, range, state, parts);
    }
}

/* Everybody of one environment is told what it needs to know. */
static void describe_one(void *context) {
    run *r = context;
    for (int i = 0; i < r->model->layout.n_agents; i++) {
        lud_text_clear(&r->text);
        r->model->world->describe_agent(r->model, r->states, i, &r->text);
    }
}

static lud_status add_rows(lud_bench_report *report, run *r, int n_threads, lud_error *error) {
    char name[96];
    const int n = r->model->layout.n_agents;
    lud_bench_row row = {.name = name, .unit = "steps/s"};
    r->n_threads = n_threads;
    lud_status status = LUD_OK;
    for (int observe = 0; observe < 2 && !status; observe++) {
        r->observe = observe;
        snprintf(name, sizeof name, "step%s, %d agents, %d core%s", observe ? " and observation" : "", n,
                 n_threads, n_threads == 1 ? "" : "s");
        if (!lud_bench_wants(report, name)) continue;
        row.value = lud_bench_rate(step_all, r, N_ENVS, &row.spread);
        status = lud_bench_add(report, row, error);
    }
    snprintf(name, sizeof name, "description for an agent, %d agents", n);
    if (status || n_threads > 1 || !lud_bench_wants(report, name)) return status;
    row.unit = "texts/s";
    row.value = lud_bench_rate(describe_one, r, n, &row.spread);
    return lud_bench_add(report, row, error);
}

static lud_status make_model(const char *section, lud_arena *arena, lud_model **model, lud_error *error) {
    lud_text text = {0};
    lud_tree *root;
    lud_text_append(&text, "tribes:\n  generate: %s", section);
    lud_status status = text.failed
                            ? lud_no_memory(error, "a scenario")
                            : lud_tree_read_text(arena, "bench", text.bytes, text.length, &root, error);
    if (!status) status = lud_tribes_world.parse(&lud_tribes_world, root, "bench", 1, model, error);
    lud_text_free(&text);
    return status;
}

static lud_status bench(lud_bench_report *report, lud_error *error) {
    const int most = omp_get_max_threads();
    lud_status status = LUD_OK;
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds && !status; k++) {
        lud_arena *arena = lud_arena_create(0);
        lud_model *model = NULL;
        run r;
        status = arena ? make_model(worlds[k], arena, &model, error) : lud_no_memory(error, "a scenario");
        lud_arena_destroy(arena);
        if (!status) status = run_make(&r, model, error);
        if (!status) {
            for (int round = 0; round < 50; round++) step_all(&r); /* away from where everybody starts */
            status = add_rows(report, &r, 1, error);
            if (!status && most > 1) status = add_rows(report, &r, most, error);
            run_free(&r);
        }
        if (model) lud_tribes_world.free(model);
    }
    return status;
}

const lud_bench lud_bench_tribes = {
    .name = "tribes", .about = "steps, observations and descriptions of teams on a grid", .run = bench};
