/* What trains the five networks: nets on the online parameters, a group of the optimiser for each network,
 * and when copies of them are due. */
#pragma once

#include "learn/empo/networks/networks.h"
#include "learn/empo/options.h"
#include "learn/nn/optimiser.h"

/* A net of these heads that learns from n states with `entries` entries, ready to run; the caller destroys
 * it, after an error too. */
lud_status lud_empo_training_net(lud_parameters *online, const lud_empo_shape *shape, unsigned heads,
                                 int64_t n, int64_t entries, lud_nn **net, lud_empo_graph *graph,
                                 lud_error *error);

typedef struct lud_empo_optimiser {
    lud_optimiser *all;
    int groups[LUD_EMPO_NETS]; /* -1: no network learns this quantity */
} lud_empo_optimiser;

/* One group for each network that options let learn; the caller destroys `all`, after an error too. */
lud_status lud_empo_optimiser_create(lud_parameters *online, const lud_empo_learner_options *options,
                                     uint64_t seed, lud_empo_optimiser *optimiser, lud_error *error);

/* The quantities whose copies are due after training step `step`, a bit 1 << LUD_NET_... each. */
unsigned lud_empo_copies_due(const lud_empo_learner_options *options, int64_t step);
