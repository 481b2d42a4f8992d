/* What `ludus sweep` varies: keys of the scenario, and the points of a grid or of a random search over them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum { LUD_SWEEP_KEYS = 16, LUD_SWEEP_LIST = 256 };

/* A value: a number, or what else YAML knows. */
typedef struct lud_sweep_value {
    double number;    /* NaN: it is none */
    const char *text; /* as it was written; null: a number between the ends of a range */
} lud_sweep_value;

typedef struct lud_sweep_range {
    const char *key;         /* `learner.beta_r` */
    lud_sweep_value *values; /* [n] of a list, or the points of the grid */
    int n;
    bool continuous; /* samples are drawn between low and high, not from the values */
    double low, high;
    bool logarithmic, whole;
} lud_sweep_range;

/* Reads KEY=a,b,c (values in brackets and quotes keep their commas) or KEY=low:high:count[:log][:int]; where
 * points are `sampled`, the count may be left out. Texts lie in the arena. */
lud_status lud_sweep_range_read(lud_arena *arena, const char *text, bool sampled, lud_sweep_range *range,
                                lud_error *error);
/* Points of the grid; LUD_ERROR_LIMIT where there are more than `most`. */
lud_status lud_sweep_count(const lud_sweep_range *ranges, int n_ranges, int64_t most, int64_t *n,
                           lud_error *error);
/* A point, values[n_ranges]: the digits of its number on the grid, the first key fastest; or `sampled`, drawn
 * uniformly from each list and range (uniformly in the logarithm where it says so), a function of the seed,
 * its number and the place of the key alone (Bergstra and Bengio, "Random search for hyper-parameter
 * optimization", JMLR 2012). */
void lud_sweep_point(const lud_sweep_range *ranges, int n_ranges, bool sampled, uint64_t seed, int64_t number,
                     lud_sweep_value *values);
/* The value as YAML: as it was written, else to six figures; in the arena, null when memory is out. */
const char *lud_sweep_text(lud_arena *arena, const lud_sweep_value *value);
