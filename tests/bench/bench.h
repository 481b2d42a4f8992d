/* Benchmarks behind `ludus bench NAME`.
 *
 * A benchmark is one file: it measures and adds rows to a report. A rate is the median over repetitions, each
 * long enough for the clock; beside it stands the spread and, where one is known, the floor: what the machine
 * could do at best or what was asked for, in the same unit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "learn/empo/theory.h"
#include "learn/learner.h"
#include "sim/device_batch.h"

typedef struct lud_bench_row {
    const char *name; /* copied by lud_bench_add */
    double value;
    double spread; /* half the distance between the quartiles of the repetitions, in the unit; 0: a single
                      value */
    const char *unit;
    double floor; /* 0: none */
} lud_bench_row;

typedef struct lud_bench_report {
    int n, capacity;
    lud_bench_row *rows;
    const char *only; /* null, or what the name of a row has to contain for the row to be kept */
    const char
        *device; /* where to measure: "cpu", "cuda"; null: on the CPU, and on a GPU where there is one */
} lud_bench_report;

typedef struct lud_bench {
    const char *name;  /* the word after `ludus bench`, or GROUP/NAME, where GROUP is enough */
    const char *about; /* one line */
    lud_status (*run)(lud_bench_report *report, lud_error *error);
    bool slow;    /* takes minutes to hours: runs only when it is named */
    bool on_cuda; /* has rows on a GPU */
} lud_bench;

/* One line a benchmark here and in bench.c. */
extern const lud_bench lud_bench_multigrid;
extern const lud_bench lud_bench_render;
extern const lud_bench lud_bench_kernels;
extern const lud_bench lud_bench_statespace;
extern const lud_bench lud_bench_solve;
extern const lud_bench lud_bench_update;
extern const lud_bench lud_bench_empo;
extern const lud_bench lud_bench_accuracy;
extern const lud_bench lud_bench_particle;
extern const lud_bench lud_bench_mappo;
extern const lud_bench lud_bench_proof;
extern const lud_bench lud_bench_training;
extern const lud_bench lud_bench_proving;
extern const lud_bench lud_bench_tokens;
extern const lud_bench lud_bench_record;
extern const lud_bench lud_bench_bandit;
extern const lud_bench lud_bench_ticks;
extern const lud_bench lud_bench_windows;
extern const lud_bench lud_bench_tribes;
extern const lud_bench lud_bench_growth;

/* Runs all iterations of a learner, with a progress line of this label; adds the processor time to *seconds.
 * An interruption is an error. */
lud_status lud_bench_learn(lud_learner *learner, const char *label, double *seconds, lud_error *error);

/* A learner of a scenario file on a device of its own; zeroed before. */
typedef struct lud_bench_learner {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
} lud_bench_learner;
/* On the CPU, with `set` as --set has it. lud_bench_learner_close in any case. */
lud_status lud_bench_learner_open(const char *path, const char *const *set, int n_set, lud_bench_learner *l,
                                  lud_error *error);
void lud_bench_learner_close(lud_bench_learner *l);

/* Steps of a batch with actions that were drawn beforehand; every array is memory of the device. */
typedef struct lud_bench_stepping {
    lud_device_batch *batch;
    int32_t *actions; /* [LUD_BENCH_ROUNDS][n_envs][n_agents] */
    float *rewards;   /* or null */
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    bool observes; /* steps write observations; true at first */
    int round;
} lud_bench_stepping;
enum { LUD_BENCH_ROUNDS = 16, LUD_BENCH_CALLS = 8 };
/* lud_bench_stepping_free in any case. */
lud_status lud_bench_stepping_make(lud_bench_stepping *s, const lud_model *model, lud_device *device,
                                   int n_envs, bool rewarded, lud_error *error);
void lud_bench_stepping_free(lud_bench_stepping *s, lud_device *device);
/* LUD_BENCH_CALLS steps of all environments, of a lud_bench_stepping. */
void lud_bench_step(void *stepping);

/* The settings that exact EMPO is measured with. */
extern const lud_empo_theory lud_bench_theory;

/* All benchmarks; *n is their number. */
const lud_bench *const *lud_benches(int *n);
/* Whether `name` is the name of this one or of its group. */
bool lud_bench_is(const lud_bench *bench, const char *name);

/* Whether rows of a device are wanted. */
bool lud_bench_measures(const lud_bench_report *report, const char *device);
/* A GPU to measure on: *device is null where no rows of one are wanted, or where they were not asked for and
 * there is none. The caller closes it. */
lud_status lud_bench_open_cuda(const lud_bench_report *report, lud_device **device, lud_error *error);

/* Whether a row of this name is kept: a benchmark may ask before it measures. */
bool lud_bench_wants(const lud_bench_report *report, const char *name);
/* Adds a row, where the report wants it; all texts are copied. LUD_INTERRUPTED when somebody wants it to
 * stop. */
lud_status lud_bench_add(lud_bench_report *report, lud_bench_row row, lud_error *error);
/* Adds a row whose value is the median of n values and whose spread is half the distance between the smallest
 * and the largest. Sorts the values. */
lud_status lud_bench_add_runs(lud_bench_report *report, lud_bench_row row, int n, double *values,
                              lud_error *error);
void lud_bench_report_free(lud_bench_report *report);

/* Calls `work` again and again for several repetitions and returns the median of `items` done a second (items
 * is what one call does); *spread gets half the distance between the quartiles. */
double lud_bench_rate(void (*work)(void *context), void *context, double items, double *spread);

/* The same for several pieces of work, at most LUD_BENCH_PIECES, one repetition of each in turns: what else
 * runs on the machine falls on all of them alike, so that their ratios can be trusted more than their rates.
 */
enum { LUD_BENCH_PIECES = 4 };
typedef struct lud_bench_piece {
    void (*work)(void *context);
    double items;        /* of one call */
    double rate, spread; /* results, as of lud_bench_rate */
} lud_bench_piece;
void lud_bench_rates(int n, lud_bench_piece *pieces, void *context);
