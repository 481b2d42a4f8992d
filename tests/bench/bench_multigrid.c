/* Speed of the multigrid: a step with random actions, the same with compact observations, and successors, on
 * a 7x7 world with four agents; steps on a GPU where there is one. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/device_batch.h"
#include "sim/multigrid/grid_model.h"
#include "tests/bench/bench.h"

enum { N_ENVS = 4096, N_PARTS = 4, CHUNK = 256 };

/* Two people and two robots among doors, keys, rocks and blocks; `rough` adds unsteady ground and takes out
 * walls. */
static const char *const lively[7] = {"#######", "#y..o.#", "#..#.k#", "#.b.r.#",
                                      "#.d##.#", "#e..ye#", "#######"};
static const char *const rough[7] = {"#######", "#y~~~.#", "#~~~~~#", "#~~b~~#",
                                     "#~~~r~#", "#e~~ye#", "#######"};

static lud_status make_model(const char *const rows[7], lud_grid_action_set actions, lud_model **model,
                             lud_error *error) {
    lud_grid_object cells[49];
    lud_grid_piece pieces[49];
    lud_grid_agent agents[4];
    lud_grid_map map = {.cells = cells, .pieces = pieces, .agents = agents};
    lud_grid_spec spec = {
        .width = 7, .height = 7, .max_steps = 100, .actions = (int)actions, .maps = &map, .n_maps = 1};
    for (int c = 0; c < 49; c++) {
        char code = rows[c / 7][c % 7];
        lud_grid_type type = code == '#'   ? LUD_WALL
                             : code == '~' ? LUD_UNSTEADY_GROUND
                             : code == 'd' ? LUD_DOOR
                             : code == 'o' ? LUD_GOAL
                                           : LUD_EMPTY;
        cells[c] = lud_grid_object_default(type);
        if (code == 'b' || code == 'r' || code == 'k')
            pieces[map.n_pieces++] = (lud_grid_piece){lud_grid_object_default(code == 'b'   ? LUD_BLOCK
                                                                              : code == 'r' ? LUD_ROCK
                                                                                            : LUD_KEY),
                                                      c % 7, c / 7};
        if (code == 'y' || code == 'e')
            agents[spec.n_agents++] = (lud_grid_agent){.x = c % 7,
                                                       .y = c / 7,
                                                       .colour = code == 'y' ? LUD_YELLOW : LUD_GREY,
                                                       .role = code == 'y' ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT,
                                                       .can_push_rocks = code == 'e'};
    }
    return lud_grid_model_create(&spec, model, error);
}

typedef struct run {
    const lud_model *model;
    int n_threads;
    uint8_t *states;
    uint32_t *tick;
    int32_t *actions;
    uint8_t *done;
    void *parts[N_PARTS];
    bool observe;
    size_t found; /* successors */
} run;

static void run_free(run *r) {
    free(r->states);
    free(r->tick);
    free(r->actions);
    free(r->done);
    for (int p = 0; p < N_PARTS; p++) free(r->parts[p]);
}

static lud_status run_make(run *r, const lud_model *model, lud_error *error) {
    *r = (run){.model = model, .n_threads = 1};
    r->states = malloc(N_ENVS * model->layout.state_bytes);
    r->tick = calloc(N_ENVS, sizeof *r->tick);
    r->actions = malloc(N_ENVS * (size_t)model->layout.n_agents * sizeof *r->actions);
    r->done = malloc(2 * N_ENVS);
    bool ok = r->states && r->tick && r->actions && r->done;
    for (int p = 0; p < model->layout.n_parts; p++)
        ok = (r->parts[p] = malloc(N_ENVS * model->layout.parts[p].bytes)) && ok;
    if (!ok) {
        run_free(r);
        return lud_no_memory(error, "%d environments", N_ENVS);
    }
    model->world->reset(model, (lud_range){.seed = 1, .n = N_ENVS, .tick = r->tick}, r->states);
    return LUD_OK;
}

/* Random actions, a step, a new episode where one has ended, and observations, for a chunk of environments.
 */
static void step_chunk(run *r, int begin) {
    const lud_layout *layout = &r->model->layout;
    size_t first = (size_t)begin, n_agents = (size_t)layout->n_agents;
    lud_range range = {.seed = 1, .first_environment = (uint32_t)begin, .n = CHUNK, .tick = r->tick + begin};
    int32_t *actions = r->actions + first * n_agents;
    uint8_t *states = r->states + first * layout->state_bytes, *ended = r->done + first,
            *cut = ended + N_ENVS;
    uint32_t n_actions = (uint32_t)layout->actions[0].n_discrete;
    for (size_t e = 0; e < CHUNK; e++) {
        lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
        lud_words words = lud_draw(key, range.tick[e], 0, LUD_PURPOSE_ACTION, 0);
        for (size_t i = 0; i < n_agents; i++)
            actions[e * n_agents + i] = (int32_t)lud_below(words.v[i], n_actions);
    }
    r->model->world->step(r->model, range, states, (lud_actions){.discrete = actions},
                          (lud_outcome){.terminated = ended, .truncated = cut});
    for (size_t e = 0; e < CHUNK; e++) {
        r->tick[first + e]++;
        if (!ended[e] && !cut[e]) continue;
        lud_range one = {.seed = 1,
                         .first_environment = range.first_environment + (uint32_t)e,
                         .n = 1,
                         .tick = range.tick + e};
        r->model->world->reset(r->model, one, states + e * layout->state_bytes);
    }
    if (!r->observe) return;
    void *parts[N_PARTS];
    for (int p = 0; p < layout->n_parts; p++) parts[p] = (char *)r->parts[p] + first * layout->parts[p].bytes;
    r->model->world->observe(r->model, range, states, parts);
}

static void step_all(void *context) {
    run *r = context;
#pragma omp parallel for num_threads(r->n_threads) schedule(static)
    for (int begin = 0; begin < N_ENVS; begin += CHUNK) step_chunk(r, begin);
}

/* What a step must at least do: bring in states, actions and clocks, and take out states, flags and
 * observations. */
static size_t bytes_touched(const run *r) {
    const lud_layout *layout = &r->model->layout;
    size_t bytes = 2 * layout->state_bytes + 2 * sizeof(uint32_t) + 2;
    bytes += 2 * (size_t)layout->n_agents * sizeof(int32_t); /* actions are drawn, then read */
    for (int p = 0; p < layout->n_parts && r->observe; p++) bytes += layout->parts[p].bytes;
    return bytes;
}

typedef struct traffic {
    char *from, *to;
    size_t bytes;
} traffic;

static void copy_all(void *context) {
    traffic *t = context;
    memcpy(t->to, t->from, t->bytes);
}

/* Rows for the bytes of a step and for how many steps a second a plain copy of as many bytes would make. */
static lud_status add_floor(lud_bench_report *report, const char *what, const run *r, lud_error *error) {
    char name[96];
    size_t touched = bytes_touched(r);
    traffic t = {.bytes = N_ENVS * touched / 2}; /* a copy reads and writes each byte */
    t.from = calloc(1, t.bytes);
    t.to = calloc(1, t.bytes);
    lud_status status = t.from && t.to ? LUD_OK : lud_no_memory(error, "a copy");
    snprintf(name, sizeof name, "%s: bytes touched", what);
    if (!status)
        status = lud_bench_add(
            report, (lud_bench_row){.name = name, .value = (double)touched, .unit = "bytes"}, error);
    snprintf(name, sizeof name, "%s: copying as many bytes", what);
    lud_bench_row row = {.name = name, .unit = "steps/s"};
    if (!status) {
        row.value = lud_bench_rate(copy_all, &t, N_ENVS, &row.spread);
        status = lud_bench_add(report, row, error);
    }
    free(t.from);
    free(t.to);
    return status;
}

/* Successors of every environment's state under a random joint action. */
static void enumerate_all(void *context) {
    run *r = context;
    const lud_layout *layout = &r->model->layout;
    size_t n_agents = (size_t)layout->n_agents, found = 0;
#pragma omp parallel num_threads(r->n_threads) reduction(+ : found)
    {
        lud_successors successors = {0};
        lud_error error = {0};
#pragma omp for schedule(static)
        for (int e = 0; e < N_ENVS; e++) {
            r->model->world->successors(r->model, r->states + (size_t)e * layout->state_bytes,
                                        r->actions + (size_t)e * n_agents, &successors, &error);
            found += successors.n;
        }
        lud_successors_free(&successors);
    }
    r->found = found;
}

static lud_status add_rate(lud_bench_report *report, const char *what, int n_threads, const char *unit,
                           double floor, void (*work)(void *), run *r, double items, lud_error *error) {
    char name[96];
    lud_bench_row row = {.name = name, .unit = unit, .floor = floor * n_threads};
    snprintf(name, sizeof name, "%s, %d core%s", what, n_threads, n_threads == 1 ? "" : "s");
    r->n_threads = n_threads;
    row.value = lud_bench_rate(work, r, items, &row.spread);
    return lud_bench_add(report, row, error);
}

static lud_status bench_steps(lud_bench_report *report, int n_threads, lud_error *error) {
    static const char observed[] = "step and compact observation";
    lud_model *model;
    run r;
    lud_status status = make_model(lively, LUD_ACTIONS_AUTOMATIC, &model, error);
    if (status) return status;
    status = run_make(&r, model, error);
    if (!status) {
        for (int k = 0; k < 100; k++) step_all(&r); /* episodes at every age */
        status = add_rate(report, "step", n_threads, "steps/s", 5e6, step_all, &r, N_ENVS, error);
        if (!status && n_threads == 1) status = add_floor(report, "step", &r, error);
        r.observe = true;
        if (!status)
            status = add_rate(report, observed, n_threads, "steps/s", 3e6, step_all, &r, N_ENVS, error);
        if (!status && n_threads == 1) status = add_floor(report, observed, &r, error);
        run_free(&r);
    }
    lud_grid_model_destroy(model);
    return status;
}

static lud_status bench_successors(lud_bench_report *report, int n_threads, lud_error *error) {
    lud_model *model;
    run r;
    lud_status status = make_model(rough, LUD_ACTIONS_SMALL, &model, error);
    if (status) return status;
    status = run_make(&r, model, error);
    if (!status) {
        for (int k = 0; k < 50; k++) step_all(&r);
        enumerate_all(&r);
        status = add_rate(report, "successors, unsteady ground and conflicts", n_threads, "successors/s", 5e6,
                          enumerate_all, &r, (double)r.found, error);
        run_free(&r);
    }
    lud_grid_model_destroy(model);
    return status;
}

static lud_status bench_on_cuda(lud_bench_report *report, lud_error *error) {
    static const int sizes[] = {128, 4096, 65536};
    lud_device *device;
    LUD_TRY(lud_bench_open_cuda(report, &device, error));
    if (!device) return LUD_OK;
    lud_model *model;
    lud_status status = make_model(lively, LUD_ACTIONS_AUTOMATIC, &model, error);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && !status; k++) {
        lud_bench_stepping s;
        status = lud_bench_stepping_make(&s, model, device, sizes[k], false, error);
        for (int observe = 0; observe < 2 && !status; observe++) {
            char name[96];
            lud_bench_row row = {.name = name, .unit = "steps/s"};
            snprintf(name, sizeof name, "step%s, cuda, %d environments",
                     observe ? " and compact observation" : "", sizes[k]);
            s.observes = observe;
            row.value = lud_bench_rate(lud_bench_step, &s, (double)sizes[k] * LUD_BENCH_CALLS, &row.spread);
            status = lud_bench_add(report, row, error);
        }
        lud_bench_stepping_free(&s, device);
    }
    if (!status) status = lud_device_check(device, error);
    if (model) lud_grid_model_destroy(model);
    lud_device_close(device);
    return status;
}

static lud_status bench_multigrid(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    if (!lud_bench_measures(report, "cpu")) return bench_on_cuda(report, error);
    for (int n_threads = 1; n_threads <= omp_get_num_procs() && n_threads <= 2 && !status; n_threads++) {
        status = bench_steps(report, n_threads, error);
        if (!status) status = bench_successors(report, n_threads, error);
    }
    return status ? status : bench_on_cuda(report, error);
}

const lud_bench lud_bench_multigrid = {
    .name = "multigrid",
    .about = "steps, observations and successors of a 7x7 grid with four agents",
    .on_cuda = true,
    .run = bench_multigrid};
