/* How methods compare over several tasks and seeds, with how sure that is: interquartile means and stratified
 * bootstrap intervals, and the probability that one method improves on another (Agarwal, Schwarzer, Castro,
 * Courville and Bellemare, "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS
 * 2021). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The runs of one method: score[task][run], rows of `most` numbers of which the first n[task] are there. */
typedef struct lud_scores {
    int n_tasks, most;
    const int *n;        /* [n_tasks] */
    const double *score; /* [n_tasks][most] */
} lud_scores;

typedef enum lud_aggregate {
    LUD_MEAN,              /* of the tasks' means */
    LUD_INTERQUARTILE_MEAN /* of all runs of all tasks: the mean of the middle half */
} lud_aggregate;

/* A number and its interval of 95 %. */
typedef struct lud_interval {
    double value, low, high;
} lud_interval;

/* The mean of the middle half of n numbers: a quarter (rounded down) is left out at each end. Sorts them. NaN
 * for none. */
double lud_interquartile_mean(double *values, int n);

/* The aggregate; its interval holds the middle 95 % of `resamples` bootstrap samples, in each of which every
 * task's runs are drawn with replacement among its own (stratified). Tasks without runs are left out; NaN
 * where none has any. False when memory is out. */
bool lud_scores_aggregate(const lud_scores *scores, lud_aggregate aggregate, int resamples, uint64_t seed,
                          lud_interval *interval);

/* P(a > b) for a run of each on the same task, ties counted half, mean over the tasks that both have
 * (equation of section 4.3: the Mann-Whitney statistic divided by the number of pairs), with an interval as
 * above. */
bool lud_scores_improvement(const lud_scores *a, const lud_scores *b, int resamples, uint64_t seed,
                            lud_interval *interval);

enum { LUD_SCORES_AXES = 8 };
/* The mean of a table score[n[0]][n[1]]..[n[n_axes - 1]] whose axes are samples of their own, such as
 * trainings of those who play together; its interval holds the middle 95 % of `resamples` bootstrap samples,
 * in each of which every axis is drawn with replacement by itself (Owen, "The pigeonhole bootstrap", Annals
 * of Applied Statistics 2007). False when memory is out. */
bool lud_scores_crossed(const double *score, const int *n, int n_axes, int resamples, uint64_t seed,
                        lud_interval *interval);
