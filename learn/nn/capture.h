/* Recording a piece of device work and replaying it: on CUDA a whole rollout step or update becomes one graph
 * launch, elsewhere the work is simply called. */
#pragma once

#include "kernels/device.h"

/* Graphs kept at a time: the slices of a minibatch and the steps of a rollout have different sizes. */
enum { LUD_CAPTURE_GRAPHS = 32 };

typedef struct lud_capture_graph {
    uint64_t key;     /* of the rows the graph was recorded for */
    int runs;         /* with this key; 0: the place is free */
    uint64_t last;    /* run that used it */
    lud_graph *graph; /* null while not recorded */
    void *workspace;  /* that the graph uses; a device that has taken a larger one since makes it void */
} lud_capture_graph;

typedef struct lud_capture {
    lud_device *device;
    void (*body)(
        void *context); /* calls operations only: no uploads, downloads, or numbers that change by call */
    void *context;
    bool never;                            /* only calls the body, which does what cannot be recorded */
    uint64_t runs, n_recorded, n_replayed; /* so far */
    lud_capture_graph graphs[LUD_CAPTURE_GRAPHS];
} lud_capture;

/* Fills the struct; takes nothing. */
void lud_capture_start(lud_capture *capture, lud_device *device, void (*body)(void *context), void *context);
/* Runs the body. `key` stands for everything that shapes the work (row counts, constants): the first run with
 * a new key runs it plainly, which also grows workspaces; the second records it; later ones replay. Of more
 * keys than are kept the one that was used longest ago is forgotten. */
void lud_capture_run(lud_capture *capture, uint64_t key);
/* A key made of another and one more number that shapes the work. Begin with 0. */
uint64_t lud_capture_key(uint64_t key, uint64_t number);
/* Gives the graphs back. */
void lud_capture_end(lud_capture *capture);
/* Rows to run a recorded piece with where n are there, so that pieces of about one size share a graph: the
 * next of 4, 5, 6 and 7 times a power of two. What stands beyond row n must be harmless. On the CPU, which
 * records nothing, n itself. */
int64_t lud_capture_rows(const lud_device *device, int64_t n);
