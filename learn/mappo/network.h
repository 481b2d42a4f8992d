/* Actor and critic of graph MAPPO: encoder (graph, grid or none), layers, recurrent unit, head; and the
 * state-space block of the magnitude.
 *
 * Graph: Nayak et al., "Scalable multi-agent reinforcement learning through intelligent information
 * aggregation", ICML 2023; attention of Shi et al., 2021. Magnitude: Furieri et al., "MAD: A magnitude and
 * direction policy parametrization for stability constrained reinforcement learning", 2025, with the linear
 * recurrent unit of Orvieto et al., 2023. */
#ifndef LUDUS_LEARN_MAPPO_NETWORK_H
#define LUDUS_LEARN_MAPPO_NETWORK_H

#include "learn/mappo/inputs.h"

typedef enum lud_mappo_part { LUD_MAPPO_ACTOR, LUD_MAPPO_CRITIC } lud_mappo_part;

typedef struct lud_mappo_net {
    lud_nn *nn;
    lud_mappo_inputs *inputs;
    int values[LUD_MAPPO_INPUTS]; /* -1: does not read it */
    int node_axis, edge_axis, chunk_axis, state_axis;
    int out;        /* [rows][choices], [rows][numbers] (means) or [rows][1] (values) */
    int hidden;     /* [rows] state of the recurrent unit after the step, -1: none */
    int magnitude;  /* [rows][1] output of the state-space block, -1: none */
    int state;      /* [rows][state][2] its new state, -1 */
    int query, key; /* [nodes][heads * channels] of the last attention layer in inference mode, -1: none */
    char edge_weight[64]; /* name of that layer's parameter for the lengths of edges */
    int64_t out_width;
} lud_mappo_net;

/* Declares a network on `parameters` (all names begin with "actor." or "critic."). Build the parameters and
 * then plan. In inference mode recurrent and state-space states can be read after a run. */
void lud_mappo_net_declare(lud_mappo_net *net, lud_parameters *parameters, lud_mappo_part part,
                           const lud_mappo_options *options, lud_mappo_inputs *inputs, lud_nn_mode mode);
lud_status lud_mappo_net_plan(lud_mappo_net *net, lud_nn_mode mode, lud_error *error);
void lud_mappo_net_destroy(lud_mappo_net *net);
/* Runs on the rows in the inputs. */
void lud_mappo_net_forward(lud_mappo_net *net, bool training);

#endif
