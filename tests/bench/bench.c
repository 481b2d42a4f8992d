#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "sim/scenario.h"

enum { N_REPETITIONS = 9 };

static const double repetition_seconds = 0.1;

bool lud_bench_is(const lud_bench *bench, const char *name) {
    size_t n = strlen(name);
    return strncmp(bench->name, name, n) == 0 && (bench->name[n] == 0 || bench->name[n] == '/');
}

bool lud_bench_wants(const lud_bench_report *report, const char *name) {
    return !report->only || strstr(name, report->only);
}

bool lud_bench_measures(const lud_bench_report *report, const char *device) {
    return !report->device || strcmp(report->device, device) == 0;
}

lud_status lud_bench_open_cuda(const lud_bench_report *report, lud_device **device, lud_error *error) {
    lud_error none = {0};
    *device = NULL;
    if (!lud_bench_measures(report, "cuda")) return LUD_OK;
    const lud_status status = lud_device_open("cuda", 0, device, report->device ? error : &none);
    return report->device ? status : LUD_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

lud_status lud_bench_add(lud_bench_report *report, lud_bench_row row, lud_error *error) {
    lud_status status = lud_interrupt_check(error); /* then what was measured is worth nothing */
    if (status || !lud_bench_wants(report, row.name)) return status;
    if (report->n == report->capacity) {
        int capacity = report->capacity ? 2 * report->capacity : 16;
        lud_bench_row *rows = realloc(report->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return lud_no_memory(error, "benchmark rows");
        report->rows = rows;
        report->capacity = capacity;
    }
    row.name = strdup(row.name);
    row.unit = strdup(row.unit);
    report->rows[report->n++] = row;
    if (!row.name || !row.unit) return lud_no_memory(error, "benchmark rows");
    return LUD_OK;
}

lud_status lud_bench_add_runs(lud_bench_report *report, lud_bench_row row, int n, double *values,
                              lud_error *error) {
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    row.value = values[n / 2];
    row.spread = (values[n - 1] - values[0]) / 2.0;
    return lud_bench_add(report, row, error);
}

void lud_bench_report_free(lud_bench_report *report) {
    for (int i = 0; i < report->n; i++) {
        free((void *)report->rows[i].name);
        free((void *)report->rows[i].unit);
    }
    free(report->rows);
    *report = (lud_bench_report){0};
}

void lud_bench_rates(int n, lud_bench_piece *pieces, void *context) {
    double rate[LUD_BENCH_PIECES][N_REPETITIONS] = {{0}};
    for (int i = 0; i < n; i++) pieces[i].work(context); /* caches and pages */
    for (int r = 0; r < N_REPETITIONS; r++)
        for (int i = 0; i < n && !lud_interrupted(); i++) { /* lud_bench_add says that it was */
            double begin = lud_clock_seconds(), elapsed = 0;
            long calls = 0;
            for (; elapsed < repetition_seconds; elapsed = lud_clock_seconds() - begin, calls++)
                pieces[i].work(context);
            rate[i][r] = pieces[i].items * (double)calls / elapsed;
        }
    for (int i = 0; i < n; i++) {
        qsort(rate[i], N_REPETITIONS, sizeof **rate, compare_doubles);
        pieces[i].rate = rate[i][N_REPETITIONS / 2];
        pieces[i].spread = (rate[i][N_REPETITIONS * 3 / 4] - rate[i][N_REPETITIONS / 4]) / 2;
    }
}

double lud_bench_rate(void (*work)(void *context), void *context, double items, double *spread) {
    lud_bench_piece piece = {work, items, 0, 0};
    lud_bench_rates(1, &piece, context);
    if (spread) *spread = piece.spread;
    return piece.rate;
}

lud_status lud_bench_learner_open(const char *path, const char *const *set, int n_set, lud_bench_learner *l,
                                  lud_error *error) {
    lud_status status = lud_scenario_load(path, set, n_set, &l->scenario, error);
    if (!status) status = lud_scenario_device(l->scenario, "cpu", &l->device, error);
    return status ? status : lud_learner_create(l->scenario, l->device, &l->learner, error);
}

void lud_bench_learner_close(lud_bench_learner *l) {
    lud_learner_destroy(l->learner);
    lud_device_close(l->device);
    lud_scenario_destroy(l->scenario);
}

lud_status lud_bench_stepping_make(lud_bench_stepping *s, const lud_model *model, lud_device *device,
                                   int n_envs, bool rewarded, lud_error *error) {
    const lud_layout *layout = &model->layout;
    const size_t n_agents = (size_t)layout->n_agents, n = LUD_BENCH_ROUNDS * (size_t)n_envs * n_agents;
    *s = (lud_bench_stepping){.observes = true};
    LUD_TRY(lud_device_batch_create(model, device, n_envs, 1, 0, &s->batch, error));
    int32_t *actions = malloc(n * sizeof *actions);
    s->actions = lud_device_allocate(device, n * sizeof *s->actions);
    if (rewarded) s->rewards = lud_device_allocate(device, (size_t)n_envs * n_agents * sizeof *s->rewards);
    bool ok = actions && s->actions && (s->rewards || !rewarded);
    for (int p = 0; p < layout->n_parts; p++)
        ok = (s->parts[p] = lud_device_allocate(device, (size_t)n_envs * layout->parts[p].bytes)) && ok;
    for (size_t i = 0; ok && i < n; i++) {
        const lud_words w = lud_draw((lud_random_key){1, 0}, (uint32_t)i, 0, LUD_PURPOSE_ACTION, 0);
        actions[i] = (int32_t)lud_below(w.v[0], (uint32_t)layout->actions[i % n_agents].n_discrete);
    }
    if (ok) lud_device_upload(device, s->actions, actions, n * sizeof *actions);
    free(actions);
    if (!ok) return lud_no_memory(error, "%d environments on %s", n_envs, device->name);
    lud_device_batch_reset(s->batch, &(lud_batch_out){.observations = s->parts});
    return LUD_OK;
}

void lud_bench_stepping_free(lud_bench_stepping *s, lud_device *device) {
    lud_device_batch_destroy(s->batch);
    lud_device_release(device, s->actions);
    lud_device_release(device, s->rewards);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) lud_device_release(device, s->parts[p]);
}

void lud_bench_step(void *stepping) {
    lud_bench_stepping *s = stepping;
    const size_t stride = (size_t)s->batch->n_envs * (size_t)s->batch->model->layout.n_agents;
    const lud_batch_out out = {.observations = s->observes ? s->parts : NULL, .rewards = s->rewards};
    for (int i = 0; i < LUD_BENCH_CALLS; i++) {
        const lud_actions actions = {.discrete = s->actions + (size_t)s->round * stride};
        lud_device_batch_step(s->batch, actions, &out);
        s->round = (s->round + 1) % LUD_BENCH_ROUNDS;
    }
    lud_device_synchronise(s->batch->device);
}

const lud_empo_theory lud_bench_theory = {.beta_h = 10,
                                          .gamma_h = 0.95,
                                          .rho_h = -1,
                                          .gamma_r = 0.95,
                                          .rho_r = -1,
                                          .beta_r = 20,
                                          .zeta = 2,
                                          .xi = 1,
                                          .eta = 1.1,
                                          .terminal_value = -1e-10};
