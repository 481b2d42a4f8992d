/* Samples as rows of networks and targets: chunks of actions, sums of the coming window, pairs of frames. */
#pragma once

#include "learn/clone/data.h"
#include "learn/clone/networks.h"

/* An array of words on the host and on the device: the same memory on the CPU. */
typedef struct lud_clone_array {
    void *host, *device;
    int64_t words; /* of four bytes */
} lud_clone_array;

typedef struct lud_clone_batch {
    const lud_clone_data *data;
    lud_clone_networks *networks;
    lud_device *device;
    int64_t capacity, n, n_pairs, n_positions; /* samples, pairs among them, valid positions */
    int64_t *track, *step;                     /* [capacity] the caller's choice */
    float *weight;                             /* [capacity] of each: that of idle ones is lower */
    int32_t *place, *agent, *nought;           /* [rows]: samples, then the two frames of every pair */
    lud_window_set windows, sums, between;
    lud_pair *pairs;                      /* [capacity] */
    int64_t *scratch;                     /* [2 capacity] */
    int32_t *lengths;                     /* [capacity] */
    lud_clone_array rows;                 /* actions of all tracks as they are learned */
    lud_clone_array target, weights;      /* [capacity][horizon](1 or width) */
    lud_clone_array choices;              /* [capacity][horizon][width] bytes, where agents' choices differ */
    lud_clone_array summary, pair_target; /* [capacity][width] */
    lud_clone_array first, second;        /* [capacity] rows of pairs */
    lud_clone_array pad;                  /* one row */
    lud_arrays arrays;
} lud_clone_batch;

/* For at most `capacity` samples, as networks for 3 * capacity rows and capacity pairs take them. After an
 * error too it is to be closed. */
lud_status lud_clone_batch_open(const lud_clone_data *data, lud_clone_networks *networks, int64_t capacity,
                                lud_clone_batch *batch, lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_batch_close(lud_clone_batch *batch);
/* After labels were added: sends actions from this row on to the device. */
void lud_clone_batch_send_rows(lud_clone_batch *batch, int64_t first);
/* Makes rows and targets of the n samples in track and step, and hands the rows to the networks. `truth`: for
 * judging: pairs count what lies between their frames whatever the options say. */
void lud_clone_batch_make(lud_clone_batch *batch, int64_t n, bool truth);
