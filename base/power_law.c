#include "base/power_law.h"

#include <assert.h>
#include <math.h>

lud_power_law lud_power_law_fit(int n, const double *x, const double *y) {
    double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
    assert(n >= 2);
    for (int i = 0; i < n; i++) {
        mean_x += log(x[i]) / n;
        mean_y += log(y[i]) / n;
    }
    for (int i = 0; i < n; i++) {
        const double u = log(x[i]) - mean_x, v = log(y[i]) - mean_y;
        xx += u * u;
        xy += u * v;
        yy += v * v;
    }
    const double slope = xy / xx, left = fmax(0.0, yy - slope * xy);
    return (lud_power_law){.factor = exp(mean_y - slope * mean_x),
                           .exponent = slope,
                           .error = n > 2 ? sqrt(left / (n - 2) / xx) : 0.0};
}
