/* How a cost grows: y = factor x^exponent, fitted. */
#pragma once

typedef struct lud_power_law {
    double factor, exponent;
    double error; /* standard error of the exponent; 0 with two points */
} lud_power_law;

/* The least-squares line through (ln x, ln y) of n >= 2 points, all positive, of which two differ in x. */
lud_power_law lud_power_law_fit(int n, const double *x, const double *y);
