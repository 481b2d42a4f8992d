/* Building exact state spaces of multigrid worlds with two agents and 16 joint actions. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "sim/multigrid/grid_model.h"
#include "sim/statespace/statespace.h"
#include "tests/bench/bench.h"

enum { WIDTH = 9, HEIGHT = 7, N_TRIALS = 3 };

/* Two agents and two blocks on plain ground; the same with ground that makes them stumble. */
static const char *const plain[HEIGHT] = {"#########", "#e......#", "#...#...#", "#..b.b..#",
                                          "#...#...#", "#......y#", "#########"};
static const char *const rough[HEIGHT] = {"#########", "#e~~....#", "#~~~#...#", "#~~b~...#",
                                          "#~~~#...#", "#~~~...y#", "#########"};

static lud_status make_model(const char *const rows[HEIGHT], int max_steps, lud_model **model,
                             lud_error *error) {
    lud_grid_object cells[WIDTH * HEIGHT];
    lud_grid_piece pieces[4];
    lud_grid_agent agents[2];
    lud_grid_map map = {.cells = cells, .pieces = pieces, .agents = agents};
    lud_grid_spec spec = {.width = WIDTH,
                          .height = HEIGHT,
                          .max_steps = max_steps,
                          .actions = LUD_ACTIONS_SMALL,
                          .maps = &map,
                          .n_maps = 1};
    for (int c = 0; c < WIDTH * HEIGHT; c++) {
        int x = c % WIDTH, y = c / WIDTH;
        char code = rows[y][x];
        cells[c] = lud_grid_object_default(code == '#'   ? LUD_WALL
                                           : code == '~' ? LUD_UNSTEADY_GROUND
                                                         : LUD_EMPTY);
        if (code == 'b') pieces[map.n_pieces++] = (lud_grid_piece){lud_grid_object_default(LUD_BLOCK), x, y};
        if (code == 'y' || code == 'e')
            agents[spec.n_agents++] = (lud_grid_agent){.x = x,
                                                       .y = y,
                                                       .colour = code == 'y' ? LUD_YELLOW : LUD_GREY,
                                                       .role = code == 'y' ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT};
    }
    return lud_grid_model_create(&spec, model, error);
}

static lud_status add(lud_bench_report *report, const char *world, const char *what, int n_threads,
                      double value, const char *unit, double bound, lud_error *error) {
    char name[96];
    snprintf(name, sizeof name, "%s: %s, %d thread%s", world, what, n_threads, n_threads == 1 ? "" : "s");
    return lud_bench_add(report, (lud_bench_row){.name = name, .value = value, .unit = unit, .floor = bound},
                         error);
}

/* The fastest of a few builds, since each takes long enough to be disturbed. */
static lud_status measure(lud_bench_report *report, const char *world, const lud_model *model, int n_threads,
                          lud_error *error) {
    double seconds = 1e30, states = 0, expanded = 0, transitions = 0, beside = 0, peak = 0;
    for (int trial = 0; trial < N_TRIALS; trial++) {
        lud_statespace_options options = {.n_threads = n_threads};
        lud_statespace *space;
        LUD_TRY(lud_statespace_build(model, &options, &space, error));
        states = (double)space->n_states;
        expanded = (double)(space->n_states - space->n_terminal); /* terminal ones cost little: not counted */
        transitions = (double)space->n_transitions;
        uint64_t successors = space->n_states * (uint64_t)space->n_joint_actions * sizeof *space->rows +
                              space->n_branches * (sizeof *space->branch_begin + sizeof *space->branch_kind) +
                              space->n_successors * sizeof *space->successor;
        beside = (double)(space->bytes - successors) / states;
        peak = (double)space->peak_bytes / states;
        if (space->seconds < seconds) seconds = space->seconds;
        lud_statespace_destroy(space);
    }
    lud_status status = LUD_OK;
    if (n_threads == 1) status = add(report, world, "states", 1, states, "states", 0, error);
    if (!status)
        status = add(report, world, "expanded", n_threads, expanded / seconds, "states/s",
                     n_threads > 1 ? 500e3 : 0, error);
    if (!status)
        status =
            add(report, world, "transitions", n_threads, transitions / seconds, "transitions/s", 0, error);
    if (!status && n_threads > 1)
        status = add(report, world, "memory beside successors", n_threads, beside, "bytes/state", 64, error);
    if (!status && n_threads > 1)
        status = add(report, world, "memory at most, all included", n_threads, peak, "bytes/state", 0, error);
    return status;
}

static lud_status run_bench(lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *name, *const *rows;
        int max_steps;
    } worlds[] = {{"two blocks", plain, 16}, {"unsteady ground", rough, 16}};
    int all = omp_get_max_threads();
    for (int w = 0; w < 2; w++) {
        lud_model *model;
        lud_status status = make_model(worlds[w].rows, worlds[w].max_steps, &model, error);
        if (status) return status;
        status = measure(report, worlds[w].name, model, 1, error);
        if (!status && all > 1) status = measure(report, worlds[w].name, model, all, error);
        model->world->free(model);
        if (status) return status;
    }
    return LUD_OK;
}

const lud_bench lud_bench_statespace = {.name = "statespace",
                                        .about = "exact state spaces, 16 joint actions, built from nothing",
                                        .run = run_bench};
