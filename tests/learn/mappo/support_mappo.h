/* A learner of type graph-mappo in a scenario, for tests. */
#pragma once

#include "learn/mappo/mappo.h"

/* Sizes for a `learner:` section in flow style. */
#define SUPPORT_MAPPO_SMALL                                                                                  \
    "hidden_size: 16, steps: 100000, epochs: 2, minibatches: 2, "                                            \
    "graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}"

/* Magnitude and direction; episodes of 4 steps in rollouts of 6: they begin and end in the middle. */
extern const char *const support_mappo_mad;

typedef struct support_mappo {
    lud_device *device;
    lud_scenario *scenario;
    lud_mappo_learner_state *learner;
} support_mappo;

/* Opens a scenario on the CPU; fails the test when it cannot. */
support_mappo support_mappo_open(const char *text);
void support_mappo_close(support_mappo *b);
/* One rollout. */
lud_status support_mappo_collect(support_mappo *b);
const lud_parameters *support_mappo_parameters(const support_mappo *b);
bool support_mappo_all_zero(const float *x, int64_t n);
