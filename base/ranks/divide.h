/* Work on rows that processes divide among themselves: each does those of its shares, and afterwards all have
 * everything. */
#pragma once

#include "base/ranks/ranks.h"

/* Fills rows first .. first + n - 1 of the results. */
typedef lud_status (*lud_ranks_work)(void *context, int64_t first, int64_t n, lud_error *error);

/* Calls `work` for each share of this process that has rows, and completes the results, arrays[n_arrays] of
 * n_rows items; with the status of each process, as lud_ranks_agree. When the others are gone this process
 * does their rows too, so that nothing is left half done: the next lud_ranks_agree tells. */
lud_status lud_ranks_divide(lud_ranks *ranks, int n_shares, int64_t n_rows, lud_ranks_work work,
                            void *context, const lud_ranks_array *arrays, int n_arrays, lud_error *error);
