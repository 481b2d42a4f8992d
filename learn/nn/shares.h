/* Gradients of a minibatch in shares, which processes divide among themselves (base/ranks): the sum is the
 * same bytes for any number of processes.
 *
 *     lud_shares_begin(shares);
 *     for (int s = shares->first; s < shares->end && !status; s++) {
 *         ... gradients of share s add up in the parameters ...
 *         lud_shares_keep(shares, s, 1.0, &sums);
 *     }
 *     status = lud_shares_add(shares, status, &sums, error);
 *
 * Where there is one share the gradients stay where they are and nothing is copied. */
#pragma once

#include "base/ranks/ranks.h"
#include "learn/nn/arrays.h"
#include "learn/nn/parameters.h"

/* The row (base/options/option_rows.h) of a learner's option `shares`, whose number is in this field. */
#define LUD_SHARES_ROW_AT(field)                                                                             \
    INT_AT(                                                                                                  \
        "shares", field, "1", 1, LUD_RANKS_MOST,                                                             \
        "parts that the sum of a minibatch's gradients is cut into; as many processes, or any number that "  \
        "divides it, train together with the same result (docs/processes.md)")

/* A seed for draws that are numbered anew in every share; that of the first is `seed` itself. */
uint64_t lud_shares_seed(uint64_t seed, int share);

typedef struct lud_shares {
    lud_parameters *parameters;
    lud_ranks *ranks; /* of the parameters' device */
    int n;
    int first, end;   /* shares of this process */
    int n_sums;       /* numbers that are added up beside the gradients */
    double *sums;     /* [n][n_sums] */
    float *gradients; /* [end - first][parameters->size], in the device's memory; of one share the parameters'
                         own */
    float *on_host;   /* the same, where sums cannot be made there; else null */
    lud_arrays arrays;
} lud_shares;

/* LUD_ERROR_INPUT, with the place of the learner's section, unless there is at least one of n_items, which
 * are called `items`, for every share. */
lud_status lud_shares_check(int64_t n, int64_t n_items, const char *items, lud_place place, lud_error *error);
/* LUD_ERROR_INPUT when the processes cannot divide them. Parameters are floats where n > 1. */
lud_status lud_shares_open(lud_parameters *parameters, int n, int n_sums, lud_shares *shares,
                           lud_error *error);
/* Safe on a zeroed struct. */
void lud_shares_close(lud_shares *shares);
/* Gradients are zero. */
void lud_shares_begin(lud_shares *shares);
/* Keeps the gradients of share s, `weight` times, with its sums[n_sums]; those of the next begin at zero. */
void lud_shares_keep(lud_shares *shares, int s, double weight, const double *sums);
/* Gradients of all shares in the parameters, and sums of all; with the status of each process, as
 * lud_ranks_agree. */
lud_status lud_shares_add(lud_shares *shares, lud_status status, double *sums, lud_error *error);
