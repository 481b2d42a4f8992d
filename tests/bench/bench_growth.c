/* How time and memory grow with the work: a row of a few sizes for everything that a user can make larger,
 * with the exponent that is fitted over the larger half of them beside the one that theory gives. On one
 * thread; run from the folder that holds `scenarios`. With LUDUS_BENCH_PLOTS=FOLDER a picture of every row is
 * written there.
 *
 * To add a row: one line in `growths`. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/power_law.h"
#include "learn/empo/exact/exact.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "render/plots/plot.h"
#include "sim/proof/prover.h"
#include "sim/statespace/statespace.h"
#include "tests/bench/bench.h"

enum { MOST_SIZES = 12 };

/* What was measured at a size. */
typedef struct point {
    double x; /* the size, at first */
    double seconds, bytes;
} point;

typedef struct growth growth;
struct growth {
    const char *name, *axis; /* of the row, of the size */
    lud_status (*measure)(const growth *g, point *at, lud_error *error);
    const char *scenario; /* text or file that is measured, perhaps with a place for the size */
    int envs;             /* that take a step */
    double time, memory;  /* exponents that theory gives */
    int sizes[MOST_SIZES];
};

/* Memory that is taken from the system's allocator. */
static double taken(void) {
    const struct mallinfo2 m = mallinfo2();
    return (double)(m.uordblks + m.hblkhd);
}

/* ---- steps of a world ---- */

static lud_status read(const char *text, lud_scenario **scenario, lud_error *error) {
    return lud_scenario_read("growth", text, strlen(text), NULL, 0, scenario, error);
}

/* A step of so many environments of the scenario that a text is. */
static lud_status measure_steps(const char *text, int n_envs, point *at, lud_error *error) {
    lud_scenario *scenario;
    lud_device *device = NULL;
    lud_bench_stepping s = {0};
    LUD_TRY(read(text, &scenario, error));
    lud_status status = lud_device_open("cpu", 1, &device, error);
    const double before = taken();
    if (!status) status = lud_bench_stepping_make(&s, scenario->model, device, n_envs, true, error);
    at->bytes = taken() - before;
    if (!status) at->seconds = 1.0 / lud_bench_rate(lud_bench_step, &s, LUD_BENCH_CALLS, NULL);
    lud_bench_stepping_free(&s, device);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    return status;
}

static lud_status steps(const growth *g, point *at, lud_error *error) {
    char text[512];
    snprintf(text, sizeof text, g->scenario, (int)at->x);
    return measure_steps(text, g->envs, at, error);
}

static lud_status many_environments(const growth *g, point *at, lud_error *error) {
    return measure_steps(g->scenario, (int)at->x, at, error);
}

/* Steps in a square room with agents in its rows; its text ends with what the row's scenario says. */
static lud_status room(const growth *g, int side, int n_agents, point *at, lud_error *error) {
    lud_text text = {0};
    int placed = 0;
    lud_text_append(&text, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n");
    for (int y = 0; y < side; y++) {
        lud_text_append(&text, "    ");
        for (int x = 0; x < side; x++) {
            const bool wall = x == 0 || y == 0 || x == side - 1 || y == side - 1;
            const bool agent = !wall && (x + y) % 2 == 0 && placed < n_agents;
            placed += agent;
            lud_text_append(&text, "%s%s", wall ? "We" : agent ? "Ae" : "..", x + 1 < side ? " " : "\n");
        }
    }
    lud_text_append(&text, "%s", g->scenario);
    const lud_status status =
        text.failed ? lud_no_memory(error, "a benchmark") : measure_steps(text.bytes, g->envs, at, error);
    lud_text_free(&text);
    return status;
}

static lud_status grid_agents(const growth *g, point *at, lud_error *error) {
    return room(g, 20, (int)at->x, at, error);
}

static lud_status grid_sides(const growth *g, point *at, lud_error *error) {
    return room(g, (int)at->x, 2, at, error);
}

/* ---- state spaces and solutions ---- */

static lud_status solve(const lud_statespace *space, point *at, lud_error *error) {
    lud_empo_problem *problem = NULL;
    LUD_TRY(lud_empo_problem_create(space, &lud_bench_theory, &problem, error));
    const size_t n = space->n_states * (size_t)problem->layout.record_doubles;
    double *records = malloc(n * sizeof *records);
    lud_status status = records ? LUD_OK : lud_no_memory(error, "a benchmark");
    const lud_empo_run run = {.records = records, .n_threads = 1, .first_level = INT32_MAX};
    /* the system hands out memory when it is touched, and that is not what is asked here */
    if (records) memset(records, 1, n * sizeof *records);
    const double began = lud_clock_seconds();
    if (!status) status = lud_empo_solve(problem, &run, error);
    at->seconds = lud_clock_seconds() - began;
    at->bytes = (double)(n * sizeof *records);
    free(records);
    lud_empo_problem_destroy(problem);
    return status;
}

/* What finding the states within a horizon takes, and what solving them does. */
static lud_status within_horizon(const growth *g, int horizon, double *n_states, point *found, point *solved,
                                 lud_error *error) {
    char text[1024];
    lud_scenario *scenario;
    lud_statespace *space = NULL;
    snprintf(text, sizeof text, g->scenario, horizon);
    LUD_TRY(read(text, &scenario, error));
    lud_status status =
        lud_statespace_build(scenario->model, &(lud_statespace_options){.n_threads = 1}, &space, error);
    if (!status && solved) status = solve(space, solved, error);
    if (!status) {
        *n_states = (double)space->n_states;
        found->seconds = space->seconds;
        found->bytes = (double)space->peak_bytes;
    }
    lud_statespace_destroy(space);
    lud_scenario_destroy(scenario);
    return status;
}

static lud_status states_found(const growth *g, point *at, lud_error *error) {
    return within_horizon(g, (int)at->x, &at->x, at, NULL, error);
}

static lud_status states_solved(const growth *g, point *at, lud_error *error) {
    point found;
    return within_horizon(g, (int)at->x, &at->x, &found, at, error);
}

static lud_status horizons(const growth *g, point *at, lud_error *error) {
    point found = {0}, solved = {0};
    double n_states;
    LUD_TRY(within_horizon(g, (int)at->x, &n_states, &found, &solved, error));
    at->seconds = found.seconds + solved.seconds;
    at->bytes = found.bytes + solved.bytes;
    return LUD_OK;
}

/* ---- learners ---- */

/* The second iteration of a graph learner, for a sample, over the nodes of an agent's graph. */
static lud_status graph_nodes(const growth *g, point *at, lud_error *error) {
    char agents[48];
    const char *const set[] = {agents,
                               "run.environments=8",
                               "run.threads=1",
                               "learner.steps=1000000",
                               "learner.rollout_length=10",
                               "learner.minibatches=1",
                               "learner.epochs=1"};
    const int n_agents = (int)at->x, n_samples = 8 * 10 * n_agents;
    snprintf(agents, sizeof agents, "particle.agents=%d", n_agents);
    lud_bench_learner l = {0};
    double row[128];
    const double before = taken();
    lud_status status = lud_bench_learner_open(g->scenario, set, sizeof set / sizeof *set, &l, error);
    for (int i = 0; i < 2 && !status; i++) {
        const double began = lud_clock_seconds();
        status = l.learner->kind->iterate(l.learner, row, error);
        at->seconds = (lud_clock_seconds() - began) / n_samples;
    }
    at->bytes = (taken() - before) / n_samples;
    at->x = 2 * n_agents + 3; /* agents, their goals, three obstacles */
    lud_bench_learner_close(&l);
    return status;
}

/* Ranking ten queries with an untrained prover. */
static lud_status candidates(const growth *g, point *at, lud_error *error) {
    enum { N_QUERIES = 10 };
    static const char *const set[] = {
        "learner={type: proof-ppo, automatic: false, n_envs: 8, n_steps: 8, evaluation: {queries: 1, "
        "candidates: 1, every: 0}, network: {states: concat, embedding_size: 32, hidden: 64, layers: 1}}",
        "run.threads=1"};
    lud_bench_learner l = {0};
    lud_proof_ranker *ranker = NULL;
    lud_proof_ranking_query ranked[N_QUERIES];
    lud_status status = lud_bench_learner_open(g->scenario, set, sizeof set / sizeof *set, &l, error);
    const double before = taken();
    if (!status) {
        lud_proof_rank_options options = lud_proof_ppo_get_options(l.learner)->evaluation.rank;
        options.candidates = (int)at->x;
        status = lud_proof_ranker_create(lud_proof_ppo_model(l.learner), lud_proof_ppo_net(l.learner, false),
                                         &options, LUD_PROOF_BOTH, 1, &ranker, error);
    }
    const double began = lud_clock_seconds();
    if (!status)
        status = lud_proof_rank(ranker, lud_proof_ppo_model(l.learner)->pools[LUD_PROOF_TEST], 0, N_QUERIES,
                                ranked, error);
    at->seconds = (lud_clock_seconds() - began) / N_QUERIES;
    at->bytes = taken() - before;
    lud_proof_ranker_destroy(ranker);
    lud_bench_learner_close(&l);
    return status;
}

/* ---- knowledge bases ---- */

/* Who is whose parent in a binary tree of so many facts, and what a grandparent is. */
static lud_status family(int n_facts, lud_proof_base **base, double *seconds, lud_error *error) {
    static const char rules[] = "grandparent:1:parent(x,y), parent(y,z) -> grandparent(x,z)\n";
    lud_text facts = {0};
    for (int i = 1; i <= n_facts; i++) lud_text_append(&facts, "parent(p%d,p%d).\n", (i - 1) / 2, i);
    if (facts.failed) {
        lud_text_free(&facts);
        return lud_no_memory(error, "a benchmark");
    }
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_status status = builder ? LUD_OK : lud_no_memory(error, "a benchmark");
    const double began = lud_clock_seconds();
    if (!status) status = lud_proof_read_facts(builder, "facts", facts.bytes, facts.length, error);
    if (!status) status = lud_proof_read_rules(builder, "rules", rules, strlen(rules), error);
    if (!status) status = lud_proof_build(builder, NULL, base, error);
    *seconds = lud_clock_seconds() - began;
    lud_proof_builder_destroy(builder);
    lud_text_free(&facts);
    return status;
}

static lud_status reading(const growth *g, point *at, lud_error *error) {
    (void)g;
    lud_proof_base *base = NULL;
    const double before = taken();
    const lud_status status = family((int)at->x, &base, &at->seconds, error);
    at->bytes = taken() - before;
    lud_proof_base_destroy(base);
    return status;
}

/* A question of the exact prover, one of a few hundred, which are far from each other. */
static lud_status questions(const growth *g, point *at, lud_error *error) {
    enum { N_QUESTIONS = 250 };
    (void)g;
    const int n_facts = (int)at->x;
    lud_proof_base *base = NULL;
    lud_prover *prover = NULL;
    lud_proof_variables variables = {0};
    lud_proof_atom *asked = malloc(N_QUESTIONS * sizeof *asked);
    double unused;
    lud_status status = asked ? LUD_OK : lud_no_memory(error, "a benchmark");
    if (!status) status = family(n_facts, &base, &unused, error);
    for (uint32_t i = 0; i < N_QUESTIONS && !status; i++) {
        char text[64];
        const int child = 3 + (int)((int64_t)i * (n_facts - 3) / N_QUESTIONS); /* no question comes twice */
        snprintf(text, sizeof text, "grandparent(p%d,p%d)", ((child - 1) / 2 - 1) / 2, child);
        status = lud_proof_parse_atom(base, text, &asked[i], &variables, error);
    }
    const double before = taken();
    if (!status) status = lud_prover_create(base, NULL, &prover, error);
    const double began = lud_clock_seconds();
    for (int i = 0; i < N_QUESTIONS && !status; i++) {
        lud_prover_answer answer;
        status = lud_prover_ask(prover, &asked[i], &answer, error);
        if (!status && answer != LUD_PROVER_PROVED) status = lud_invalid(error, "a grandparent is none");
    }
    at->seconds = (lud_clock_seconds() - began) / N_QUESTIONS;
    at->bytes = taken() - before;
    lud_prover_destroy(prover);
    lud_proof_base_destroy(base);
    free(asked);
    return status;
}

/* ---- rows ---- */

#define LARGE                                                                                                \
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We We We We\n"                     \
    "    We .. .. .. We .. .. .. We\n    We Ay .. .. .. .. .. Ae We\n    We .. .. .. Ro .. .. .. We\n"       \
    "    We .. .. .. We .. .. .. We\n    We We We We We We We We We\n  max_steps: %d\n  actions: small\n"    \
    "goals: [{rectangle: [1, 1, 3, 4]}, {rectangle: [4, 1, 7, 2]}, {rectangle: [4, 3, 7, 4]}]\n"
#define SMALL                                                                                                \
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ay .. .. .. We\n"       \
    "    We .. .. .. Ae We\n    We We We We We We\n  max_steps: %d\n  actions: small\n"                      \
    "goals: [{rectangle: [1, 1, 2, 2]}, {rectangle: [3, 1, 4, 2]}]\n"
#define PARTIAL "  observation: {view: partial}\n"
#define FULL    "  observation: {view: full}\n"
#define SPREAD  "ludus: 1\nworld: particle\nparticle: {task: simple_spread, agents: %d}\n"
#define GRAPH   "ludus: 1\nworld: particle\nparticle: {task: navigation_graph, agents: %d}\n"
#define THREE   "ludus: 1\nworld: particle\nparticle: {task: simple_spread}\n"

static const growth growths[] = {
    {"agents, simple_spread", "agents", steps, SPREAD, 64, 2, 2, {1, 2, 4, 8, 16, 32, 64}},
    {"agents, navigation_graph", "agents", steps, GRAPH, 16, 2, 2, {1, 2, 4, 8, 16, 32, 64}},
    {"agents, grid, partial views", "agents", grid_agents, PARTIAL, 64, 1, 1, {1, 2, 4, 8, 16, 32, 64}},
    {"side, grid, partial views", "side", grid_sides, PARTIAL, 64, 0, 0, {5, 7, 10, 14, 20, 28, 40}},
    {"side, grid, whole views", "side", grid_sides, FULL, 64, 2, 2, {5, 7, 10, 14, 20, 28, 40}},
    {"environments, simple_spread",
     "environments",
     many_environments,
     THREE,
     0,
     1,
     1,
     {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}},
    {"states, found", "states", states_found, LARGE, 0, 1, 1, {5, 7, 10, 14, 20, 28, 36, 58}},
    {"states, solved", "states", states_solved, LARGE, 0, 1, 1, {5, 7, 10, 14, 20, 28, 36, 58}},
    {"horizon, found and solved", "steps", horizons, SMALL, 0, 1, 1, {10, 20, 40, 80, 160, 320, 640}},
    {"graph nodes, graph-mappo, a sample",
     "nodes",
     graph_nodes,
     "scenarios/particle/navigation_3.yaml",
     0,
     2,
     2,
     {2, 4, 8, 12, 16, 24, 32}},
    {"candidates, ranking a query",
     "candidates of a side",
     candidates,
     "scenarios/proof/family_tree.yaml",
     0,
     1,
     0,
     {10, 20, 40, 80, 160, 320}},
    {"facts, read", "facts", reading, NULL, 0, 1, 1, {1000, 4000, 16000, 64000, 250000, 1000000}},
    {"facts, a question", "facts", questions, NULL, 0, 0, 0, {1000, 4000, 16000, 64000, 250000, 1000000}},
};
enum { N_GROWTHS = sizeof growths / sizeof *growths };

/* The measured numbers and, through the last of them, the line that theory gives; on logarithmic axes. */
static lud_status draw(const growth *g, int n, const point *points, lud_error *error) {
    const char *folder = getenv("LUDUS_BENCH_PLOTS");
    double x[MOST_SIZES], y[2][MOST_SIZES], line[2][MOST_SIZES];
    char path[1024], axis[64], name[64];
    if (!folder) return LUD_OK;
    for (int i = 0; i < n; i++) {
        x[i] = log10(points[i].x);
        y[0][i] = log10(points[i].seconds * 1e6);
        y[1][i] = log10(fmax(points[i].bytes, 1.0));
        for (int k = 0; k < 2; k++) line[k][i] = k ? g->memory : g->time;
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) line[k][i] = y[k][n - 1] + line[k][i] * (x[i] - x[n - 1]);
    const lud_plot_curve
        time[] = {{.name = "theory", .x = x, .y = line[0], .n = n, .colour = 6, .faint = true},
                  {.name = "measured", .x = x, .y = y[0], .n = n}},
        memory[] = {{.name = "theory", .x = x, .y = line[1], .n = n, .colour = 6, .faint = true},
                    {.name = "measured", .x = x, .y = y[1], .n = n, .colour = 1}};
    snprintf(axis, sizeof axis, "log10 of %s", g->axis);
    const lud_plot_panel panels[] = {{"log10 of microseconds", axis, time, 2},
                                     {"log10 of bytes", axis, memory, 2}};
    snprintf(name, sizeof name, "%s", g->name);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == ',' || *c == '_') *c = '-';
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    return lud_plot_write(path, panels, 2, 340, 260, 1.0f, LUD_THEME_LIGHT, error);
}

static lud_status add(lud_bench_report *report, const growth *g, const char *what, double value,
                      double spread, const char *unit, double floor, lud_error *error) {
    char name[128];
    snprintf(name, sizeof name, "%s: %s", g->name, what);
    return lud_bench_add(
        report, (lud_bench_row){.name = name, .value = value, .spread = spread, .unit = unit, .floor = floor},
        error);
}

/* The larger half of the sizes says how it goes on; small ones have their constants. */
static lud_status add_exponents(lud_bench_report *report, const growth *g, int n, const point *points,
                                lud_error *error) {
    double x[MOST_SIZES], seconds[MOST_SIZES], bytes[MOST_SIZES];
    const int from = n / 2 < n - 3 ? n / 2 : n - 3;
    for (int i = 0; i < n; i++) {
        x[i] = points[i].x;
        seconds[i] = points[i].seconds;
        bytes[i] = fmax(points[i].bytes, 1.0);
    }
    const lud_power_law time = lud_power_law_fit(n - from, x + from, seconds + from),
                        memory = lud_power_law_fit(n - from, x + from, bytes + from);
    LUD_TRY(add(report, g, "exponent of time", time.exponent, time.error, "", g->time, error));
    return add(report, g, "exponent of memory", memory.exponent, memory.error, "", g->memory, error);
}

/* The fastest of some, as far as they do not take long: each may be disturbed. */
static lud_status measure_point(const growth *g, int size, point *best, lud_error *error) {
    enum { N_TRIALS = 5 };
    double spent = 0.0;
    for (int trial = 0; trial < N_TRIALS && spent < 1.0; trial++) {
        point now = {.x = size};
        const double began = lud_clock_seconds();
        LUD_TRY(g->measure(g, &now, error));
        if (trial == 0 || now.seconds < best->seconds) *best = now;
        spent += lud_clock_seconds() - began;
    }
    return LUD_OK;
}

static lud_status measure(lud_bench_report *report, const growth *g, lud_error *error) {
    point points[MOST_SIZES];
    int n = 0;
    for (; n < MOST_SIZES && g->sizes[n]; n++) {
        char what[64];
        LUD_TRY(measure_point(g, g->sizes[n], &points[n], error));
        snprintf(what, sizeof what, "%.0f, time", points[n].x);
        LUD_TRY(add(report, g, what, points[n].seconds * 1e6, 0, "us", 0, error));
        snprintf(what, sizeof what, "%.0f, memory", points[n].x);
        LUD_TRY(add(report, g, what, points[n].bytes, 0, "bytes", 0, error));
    }
    LUD_TRY(add_exponents(report, g, n, points, error));
    return draw(g, n, points, error);
}

static lud_status run_bench(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    for (int i = 0; i < N_GROWTHS && !status; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s: ", growths[i].name);
        if (!report->only || strstr(name, report->only)) status = measure(report, &growths[i], error);
    }
    return status;
}

const lud_bench lud_bench_growth = {.name = "growth",
                                    .about = "how time and memory grow with the work, fitted beside theory",
                                    .run = run_bench,
                                    .slow = true};
