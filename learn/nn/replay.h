/* Recording a piece of device work once and replaying it: on CUDA a whole rollout step or update becomes one
 * graph launch, elsewhere the work is simply called. */
#ifndef LUDUS_LEARN_NN_REPLAY_H
#define LUDUS_LEARN_NN_REPLAY_H

#include "kernels/device.h"

typedef struct lud_replay {
    lud_device *device;
    void (*body)(
        void *context); /* calls operations only: no uploads, downloads, or numbers that change by call */
    void *context;
    uint64_t key;     /* of the rows the graph was recorded for */
    int runs;         /* with this key */
    lud_graph *graph; /* null while not recorded */
} lud_replay;

/* Fills the struct; takes nothing. */
void lud_replay_start(lud_replay *replay, lud_device *device, void (*body)(void *context), void *context);
/* Runs the body. `key` stands for everything that shapes the work (row counts): the first run with a new key
 * runs it plainly, which also grows workspaces; the second records it; later ones replay. */
void lud_replay_run(lud_replay *replay, uint64_t key);
/* Gives the graph back. */
void lud_replay_end(lud_replay *replay);

#endif
