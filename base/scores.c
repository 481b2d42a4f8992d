#include "base/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double lud_interquartile_mean(double *values, int n) {
    const int cut = n / 4;
    double sum = 0.0;
    qsort(values, (size_t)n, sizeof *values, ascending);
    for (int i = cut; i < n - cut; i++) sum += values[i];
    return n > 0 ? sum / (n - 2 * cut) : NAN;
}

/* Runs of tasks, as they are or drawn: chosen[task][k] < n[task]. */
typedef struct sample {
    const lud_scores *of;
    int *chosen; /* null: as they are */
} sample;

static double at(const sample *s, int task, int k) {
    const int first = task * s->of->most;
    return s->of->score[first + (s->chosen ? s->chosen[first + k] : k)];
}

/* Draws the runs of every task among its own; `which` of the samples that are drawn together. */
static void draw(sample *s, uint64_t seed, int resample, int which) {
    for (int task = 0; task < s->of->n_tasks; task++)
        for (int k = 0; k < s->of->n[task]; k++) {
            const lud_words w = lud_draw((lud_random_key){seed, (uint32_t)resample}, (uint32_t)task,
                                         (uint32_t)k, LUD_PURPOSE_USER, (uint32_t)which);
            s->chosen[task * s->of->most + k] = (int)lud_below(w.v[0], (uint32_t)s->of->n[task]);
        }
}

static double mean_of(const sample *s) {
    double sum = 0.0;
    int n = 0;
    for (int task = 0; task < s->of->n_tasks; task++) {
        double own = 0.0;
        for (int k = 0; k < s->of->n[task]; k++) own += at(s, task, k);
        if (s->of->n[task] == 0) continue;
        sum += own / s->of->n[task];
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

/* `all` has room for every run. */
static double middle_of(const sample *s, double *all) {
    int n = 0;
    for (int task = 0; task < s->of->n_tasks; task++)
        for (int k = 0; k < s->of->n[task]; k++) all[n++] = at(s, task, k);
    return lud_interquartile_mean(all, n);
}

/* U / (n m) of each task, mean over tasks. */
static double improvement_of(const sample *a, const sample *b) {
    double sum = 0.0;
    int n_tasks = 0;
    for (int task = 0; task < a->of->n_tasks && task < b->of->n_tasks; task++) {
        const int n = a->of->n[task], m = b->of->n[task];
        double wins = 0.0;
        if (n == 0 || m == 0) continue;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) {
                const double x = at(a, task, i), y = at(b, task, j);
                wins += x > y ? 1.0 : x == y ? 0.5 : 0.0;
            }
        sum += wins / ((double)n * m);
        n_tasks++;
    }
    return n_tasks > 0 ? sum / n_tasks : NAN;
}

/* The middle 95 % of n numbers, between neighbours where it falls between them. */
static void middle(double *values, int n, lud_interval *interval) {
    const double ends[2] = {0.025, 0.975};
    double *const to[2] = {&interval->low, &interval->high};
    qsort(values, (size_t)n, sizeof *values, ascending);
    for (int k = 0; k < 2; k++) {
        const double place = ends[k] * (n - 1);
        const int below = (int)place, above = below + 1 < n ? below + 1 : below;
        *to[k] = values[below] + (place - below) * (values[above] - values[below]);
    }
}

static size_t room(const lud_scores *s) {
    return (size_t)s->n_tasks * (size_t)s->most + 1;
}

bool lud_scores_aggregate(const lud_scores *scores, lud_aggregate aggregate, int resamples, uint64_t seed,
                          lud_interval *interval) {
    double *all = malloc(room(scores) * sizeof *all), *values = malloc((size_t)resamples * sizeof *values);
    sample drawn = {scores, malloc(room(scores) * sizeof *drawn.chosen)};
    const sample whole = {.of = scores};
    const bool memory = all && values && drawn.chosen;
    if (memory) {
        const bool mean = aggregate == LUD_MEAN;
        interval->value = interval->low = interval->high = mean ? mean_of(&whole) : middle_of(&whole, all);
        for (int r = 0; r < resamples && !isnan(interval->value); r++) {
            draw(&drawn, seed, r, 0);
            values[r] = mean ? mean_of(&drawn) : middle_of(&drawn, all);
        }
        if (resamples > 0 && !isnan(interval->value)) middle(values, resamples, interval);
    }
    free(all);
    free(values);
    free(drawn.chosen);
    return memory;
}

bool lud_scores_improvement(const lud_scores *a, const lud_scores *b, int resamples, uint64_t seed,
                            lud_interval *interval) {
    double *values = malloc((size_t)resamples * sizeof *values + 1);
    sample of_a = {a, malloc(room(a) * sizeof(int))}, of_b = {b, malloc(room(b) * sizeof(int))};
    const bool memory = values && of_a.chosen && of_b.chosen;
    if (memory) {
        interval->value = interval->low = interval->high =
            improvement_of(&(sample){.of = a}, &(sample){.of = b});
        for (int r = 0; r < resamples && !isnan(interval->value); r++) {
            draw(&of_a, seed, r, 0);
            draw(&of_b, seed, r, 1);
            values[r] = improvement_of(&of_a, &of_b);
        }
        if (resamples > 0 && !isnan(interval->value)) middle(values, resamples, interval);
    }
    free(values);
    free(of_a.chosen);
    free(of_b.chosen);
    return memory;
}

/* The mean of a table in which entry i of an axis counts times[axis][i] times. */
static double weighted_mean(const double *score, const int *n, int n_axes, int *const *times) {
    if (n_axes == 0) return *score;
    size_t stride = 1;
    for (int a = 1; a < n_axes; a++) stride *= (size_t)n[a];
    double sum = 0.0;
    for (int i = 0; i < n[0]; i++)
        if (times[0][i] > 0)
            sum += times[0][i] * weighted_mean(score + (size_t)i * stride, n + 1, n_axes - 1, times + 1);
    return sum / n[0];
}

bool lud_scores_crossed(const double *score, const int *n, int n_axes, int resamples, uint64_t seed,
                        lud_interval *interval) {
    int total = 0, *times[LUD_SCORES_AXES];
    for (int a = 0; a < n_axes; a++) total += n[a];
    int *all = malloc((size_t)total * sizeof *all + 1);
    double *values = malloc((size_t)resamples * sizeof *values + 1);
    const bool memory = all && values;
    for (int a = 0, first = 0; memory && a < n_axes; first += n[a++]) times[a] = all + first;
    for (int i = 0; memory && i < total; i++) all[i] = 1;
    if (memory) interval->value = interval->low = interval->high = weighted_mean(score, n, n_axes, times);
    for (int r = 0; memory && r < resamples; r++) {
        memset(all, 0, (size_t)total * sizeof *all);
        for (int a = 0; a < n_axes; a++)
            for (int k = 0; k < n[a]; k++) {
                const lud_words w = lud_draw((lud_random_key){seed, (uint32_t)r}, (uint32_t)a, (uint32_t)k,
                                             LUD_PURPOSE_USER, 0);
                times[a][lud_below(w.v[0], (uint32_t)n[a])]++;
            }
        values[r] = weighted_mean(score, n, n_axes, times);
    }
    if (memory && resamples > 0) middle(values, resamples, interval);
    free(all);
    free(values);
    return memory;
}
