#include "learn/mappo/stability/stability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/rollout.h"
#include "base/interrupt.h"
#include "learn/mappo/policy.h"
#include "learn/mappo/stability/mad.h"

/* The state-space blocks that an actor may have. */
static const char *const blocks[] = {"actor.magnitude", "actor.magnitude.start"};
enum { N_BLOCKS = 2, FIRST_LOOP = 1 << 25 };

/* A parameter's numbers in double, to be freed; null when memory is out. */
static double *numbers(const lud_parameters *parameters, const char *block, const char *name, int64_t *rows,
                       int64_t *columns) {
    char full[96];
    snprintf(full, sizeof full, "%s.%s", block, name);
    const int index = lud_parameters_find(parameters, full);
    const lud_parameter *p = &parameters->items[index];
    *rows = p->dimensions[0];
    *columns = p->n_dimensions > 1 ? p->dimensions[1] : 1;
    double *values = malloc((size_t)p->n * sizeof *values);
    if (values) lud_parameters_read(parameters, index, values);
    return values;
}

/* Largest singular value, by power iteration on W^T W. */
static double spectral_norm(const lud_parameters *parameters, const char *block, const char *name) {
    int64_t rows, columns;
    double *w = numbers(parameters, block, name, &rows, &columns), norm = NAN;
    double *x = w ? malloc((size_t)(rows + columns) * sizeof *x) : NULL;
    if (x) {
        double *y = x + columns;
        for (int64_t j = 0; j < columns; j++) x[j] = 1.0 + 0.1 * (double)(j % 7);
        for (int round = 0; round < 300; round++) {
            double length = 0.0;
            for (int64_t j = 0; j < columns; j++) length += x[j] * x[j];
            length = sqrt(length);
            norm = 0.0;
            for (int64_t i = 0; i < rows; i++) {
                y[i] = 0.0;
                for (int64_t j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j] / length;
                norm += y[i] * y[i];
            }
            norm = sqrt(norm);
            if (norm == 0.0) break;
            for (int64_t j = 0; j < columns; j++) {
                x[j] = 0.0;
                for (int64_t i = 0; i < rows; i++) x[j] += w[i * columns + j] * y[i];
            }
        }
    }
    free(x);
    free(w);
    return norm;
}

static bool has_block(const lud_parameters *parameters, const char *block) {
    char full[96];
    snprintf(full, sizeof full, "%s.lru.nu_log", block);
    return lud_parameters_find(parameters, full) >= 0;
}

double lud_mappo_largest_eigenvalue(const lud_parameters *parameters) {
    double largest = 0.0;
    for (int b = 0; b < N_BLOCKS; b++) {
        if (!has_block(parameters, blocks[b])) continue;
        int64_t n, one;
        double *nu = numbers(parameters, blocks[b], "lru.nu_log", &n, &one);
        if (!nu) return NAN;
        for (int64_t k = 0; k < n; k++) largest = fmax(largest, exp(-exp(nu[k])));
        free(nu);
    }
    return largest;
}

static double gain_of_block(const lud_parameters *parameters, const char *block) {
    int64_t n, one, n_in, n_out, wide;
    double *nu = numbers(parameters, block, "lru.nu_log", &n, &one);
    double *gamma = numbers(parameters, block, "lru.gamma_log", &n, &one);
    double *b = numbers(parameters, block, "lru.b.weight", &wide, &n_in);
    double *c = numbers(parameters, block, "c.weight", &n_out, &wide);
    double gain = spectral_norm(parameters, block, "d.weight");
    if (!nu || !gamma || !b || !c) gain = NAN;
    for (int64_t k = 0; k < n && !isnan(gain); k++) {
        double in = 0.0, out = 0.0; /* norms of row k of B and column k of C */
        for (int64_t i = 0; i < 2 * n_in; i++) in += b[2 * k * n_in + i] * b[2 * k * n_in + i];
        for (int64_t i = 0; i < n_out; i++)
            out +=
                c[i * wide + 2 * k] * c[i * wide + 2 * k] + c[i * wide + 2 * k + 1] * c[i * wide + 2 * k + 1];
        gain += sqrt(in * out) * exp(gamma[k]) / (1.0 - exp(-exp(nu[k])));
    }
    static const char *const layers[] = {"layer.0.weight", "layer.1.weight", "layer.2.weight"};
    gain *= 1.1;
    for (int k = 0; k < 3; k++) gain *= spectral_norm(parameters, block, layers[k]);
    free(nu);
    free(gamma);
    free(b);
    free(c);
    return gain + spectral_norm(parameters, block, "skip.weight");
}

double lud_mappo_gain_bound(const lud_parameters *parameters) {
    double gain = 0.0;
    int n = 0;
    for (int b = 0; b < N_BLOCKS; b++) {
        if (!has_block(parameters, blocks[b])) continue;
        gain = fmax(gain, gain_of_block(parameters, blocks[b]));
        n++;
    }
    return gain * sqrt(n);
}

/* --- the closed loop --- */

typedef struct closed_loop {
    lud_cast *cast;
    lud_runner runner;
    int error, collisions;                       /* indices of these measures */
    double *measures;                            /* [n_measures] of the state that is looked at */
    double touches[LUD_MAPPO_LOOP_ENVIRONMENTS]; /* counted when the last quarter began */
    double start[LUD_MAPPO_LOOP_ENVIRONMENTS];
} closed_loop;

static void close_loop(closed_loop *c) {
    lud_runner_destroy(&c->runner);
    lud_cast_destroy(c->cast);
    free(c->measures);
}

static lud_status open_loop(closed_loop *c, const lud_scenario *trained, const lud_mappo_loop_case *asked,
                            lud_error *error) {
    const lud_scenario *scenario = asked->scenario;
    const lud_model *model = scenario->model;
    if (!lud_mappo_has_goals(model))
        return lud_invalid(error, "a closed loop needs a particle world in which everybody has a goal");
    c->error = lud_measure_find(&model->layout, "error");
    c->collisions = lud_measure_find(&model->layout, "collisions");
    c->measures = calloc((size_t)model->layout.n_measures, sizeof *c->measures);
    if (!c->measures) return lud_no_memory(error, "a closed loop");
    lud_status status = lud_cast_create_open(model, scenario->policies, scenario->path, &c->cast, error);
    if (!status) status = lud_mappo_join_as(trained, scenario, &asked->play, c->cast, error);
    if (!status) status = lud_cast_complete(c->cast, error);
    if (!status)
        status = lud_runner_create(model, c->cast, LUD_MAPPO_LOOP_ENVIRONMENTS, (uint64_t)scenario->run.seed,
                                   FIRST_LOOP, &c->runner, error);
    if (!status) c->runner.batch->end = LUD_END_GOES_ON; /* beyond the length of an episode */
    return status;
}

static void look(closed_loop *c, int t, int n_steps, lud_mappo_loop *loop) {
    const lud_batch *batch = c->runner.batch;
    double sum = 0.0;
    for (int e = 0; e < batch->n_envs; e++) {
        const uint8_t *state = batch->states + (size_t)e * batch->model->layout.state_bytes;
        batch->model->world->measure(batch->model, 1, state, c->measures);
        const double norm = c->measures[c->error], touches = c->measures[c->collisions];
        sum += norm;
        loop->largest = fmax(loop->largest, norm);
        if (t == 0) c->start[e] = norm;
        if (t == n_steps - n_steps / 4) c->touches[e] = touches;
        if (t < n_steps) continue;
        if (touches > c->touches[e]) {
            loop->n_held++;
        } else {
            loop->free_start += c->start[e];
            loop->free_end += norm;
        }
    }
    loop->error_norm[t] = sum / batch->n_envs;
}

static lud_status run_loop(closed_loop *c, int n_steps, lud_mappo_loop *loop, lud_error *error) {
    lud_status status = LUD_OK;
    *loop = (lud_mappo_loop){.error_norm = loop->error_norm, .largest_eigenvalue = NAN, .gain_bound = NAN};
    lud_runner_start(&c->runner);
    const lud_parameters *parameters = lud_mappo_policy_parameters(lud_cast_get(c->cast, 0));
    if (has_block(parameters, blocks[0])) {
        loop->largest_eigenvalue = lud_mappo_largest_eigenvalue(parameters);
        loop->gain_bound = lud_mappo_gain_bound(parameters);
    }
    look(c, 0, n_steps, loop);
    for (int t = 1; t <= n_steps && !status; t++) {
        lud_runner_step(&c->runner);
        look(c, t, n_steps, loop);
        status = lud_interrupt_check(error);
    }
    const int n_free = c->runner.batch->n_envs - loop->n_held;
    loop->free_start /= n_free > 0 ? n_free : 1;
    loop->free_end /= n_free > 0 ? n_free : 1;
    return status ? status : lud_cast_check(c->cast, error);
}

lud_status lud_mappo_run_loops(const lud_scenario *trained, int n, const lud_mappo_loop_case *cases,
                               int n_steps, lud_error *error) {
    struct ended {
        closed_loop open;
        lud_status status;
        lud_error error;
    } *loops = calloc((size_t)n + 1, sizeof *loops);
    if (!loops) return lud_no_memory(error, "closed loops");
    lud_status status = LUD_OK;
    for (int i = 0; i < n && !status; i++) status = open_loop(&loops[i].open, trained, &cases[i], error);
    if (!status) {
        /* each is small: networks that run within take one thread */
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = n - 1; i >= 0; i--)
            loops[i].status = run_loop(&loops[i].open, n_steps, cases[i].loop, &loops[i].error);
    }
    for (int i = 0; i < n; i++) {
        if (!status && loops[i].status) {
            status = loops[i].status;
            if (error) *error = loops[i].error;
        }
        close_loop(&loops[i].open);
    }
    free(loops);
    return status;
}

bool lud_mappo_loop_falls(const lud_mappo_loop *loop) {
    return loop->free_end <= 0.05 * loop->free_start && loop->largest <= 3.0 * loop->error_norm[0];
}

bool lud_mappo_has_goals(const lud_model *model) {
    return lud_measure_find(&model->layout, "error") >= 0 &&
           lud_measure_find(&model->layout, "collisions") >= 0;
}
