/* Mean and spread of a stream of numbers (Welford, "Note on a method for calculating corrected sums of
 * squares and products", 1962). */
#pragma once

#include <math.h>

typedef struct lud_mean {
    double n, mean, squares;
} lud_mean;

static inline void lud_mean_add(lud_mean *mean, double value) {
    mean->n++;
    double difference = value - mean->mean;
    mean->mean += difference / mean->n;
    mean->squares += difference * (value - mean->mean);
}

/* Standard deviation of the numbers; 0 for fewer than two. */
static inline double lud_mean_deviation(const lud_mean *mean) {
    return mean->n < 2 ? 0 : sqrt(mean->squares / (mean->n - 1));
}

/* Half the width of an interval that covers the mean of many such numbers in 95 of 100 cases; 0 for none. */
static inline double lud_mean_interval(const lud_mean *mean) {
    return mean->n > 0 ? 1.96 * lud_mean_deviation(mean) / sqrt(mean->n) : 0;
}
