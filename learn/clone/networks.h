/* The networks of cloning: the actor of graph MAPPO with more outputs over its last layer. The actor's own
 * output is the next action; beside it stand the actions after that one, what the near future sums up to, and
 * what was done between two frames. */
#pragma once

#include "learn/clone/options.h"
#include "learn/mappo/head.h"
#include "learn/mappo/networks.h"

typedef struct lud_clone_networks {
    lud_mappo_networks *base;
    lud_mappo_heads heads;
    int64_t horizon;    /* actions that are predicted: of all, or 1 where only the next one is wanted */
    int64_t width;      /* choices, or numbers, of one action */
    int64_t pair_width; /* of the hidden layer over two frames; 0: none */
    bool sums;          /* what the near future sums up to */
    int64_t max_pairs;
    int actions; /* value [rows][horizon][width]: logits or normalised numbers; with horizon 1 the actor's out
                  */
    int summary; /* value [rows][width]: parts of the steps, or sums; -1 */
    int pairs;   /* value [pairs][width]; -1 */
    int pair_axis, pair_first, pair_second; /* I32 inputs: rows of the two frames */
} lud_clone_networks;

typedef enum lud_clone_use {
    LUD_CLONE_UPDATE, /* everything, for gradients */
    LUD_CLONE_JUDGE,  /* everything, for reading values */
    LUD_CLONE_ACT     /* what acting needs */
} lud_clone_use;

/* Networks for at most max_rows rows in a run and max_pairs pairs. `parameters` (null: made from the seed)
 * are those of others for the same options. The result must not move while it is open; after an error too it
 * is to be closed. */
lud_status lud_clone_networks_open(const lud_model *model, const lud_clone_options *options,
                                   lud_device *device, uint64_t seed, int64_t max_rows, int64_t max_pairs,
                                   lud_clone_use use, lud_parameters *parameters,
                                   lud_clone_networks *networks, lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_networks_close(lud_clone_networks *networks);
/* Hands them the n rows of agent[n] in the frames place[n] of parts. */
void lud_clone_networks_feed(lud_clone_networks *networks, const void *const *parts, int64_t n,
                             const int32_t *place, const int32_t *agent, const int32_t *nought);
/* Runs on the rows fed, with n_pairs pairs of them. */
void lud_clone_networks_forward(lud_clone_networks *networks, int64_t n_pairs, bool training);
