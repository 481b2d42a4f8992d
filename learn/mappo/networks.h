/* The networks of graph MAPPO: actor and critic, each an encoder (graph, grid or none), layers, a recurrent
 * unit and an output; and the state-space block of the magnitude.
 *
 * Graph: Nayak et al., "Scalable multi-agent reinforcement learning through intelligent information
 * aggregation", ICML 2023; attention of Shi et al., 2021. Magnitude: Furieri et al., "MAD: A magnitude and
 * direction policy parametrization for stability constrained reinforcement learning", 2025, with the linear
 * recurrent unit of Orvieto et al., 2023. */
#pragma once

#include "learn/mappo/inputs.h"
#include "learn/nn/capture.h"

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

/* Arrays of one value per row in device memory with a host view; see lud_mappo_array. */
typedef enum lud_mappo_field {
    LUD_FIELD_ACTION,  /* [rows] choice */
    LUD_FIELD_NUMBER,  /* [rows][n_continuous] action, or its offset from the base controller */
    LUD_FIELD_CHOICES, /* [rows][n_discrete] U8: 0 is not available */
    LUD_FIELD_LOG_PROB,
    LUD_FIELD_ENTROPY,
    LUD_FIELD_NORMAL, /* zeros: the deterministic draw */
    LUD_FIELDS
} lud_mappo_field;

/* What networks are for: updates; rollouts (states can be read after a run); updates without a critic; or
 * acting alone, without one. */
typedef enum lud_mappo_use {
    LUD_MAPPO_UPDATE,
    LUD_MAPPO_ROLLOUT,
    LUD_MAPPO_UPDATE_ACTOR,
    LUD_MAPPO_PLAY
} lud_mappo_use;

/* The policy and its critic on rows that they share, planned for one use. */
typedef struct lud_mappo_networks {
    lud_device *device;
    lud_mappo_options options;
    lud_mappo_shape shape;
    lud_parameters *parameters;
    lud_mappo_inputs inputs; /* shared by both networks */
    lud_mappo_net actor, critic;
    lud_mappo_array fields[LUD_FIELDS];
    lud_mappo_use use;
    bool shares_parameters;
    float *scratch; /* host, [rows][8 or n_discrete] */
    int log_std;    /* parameter, -1 */
    /* On CUDA each is one recorded graph: the choice of actions, and the critic's values. */
    lud_capture acting, valuing;
    lud_draws draws; /* what `acting` draws with; its step is in device memory */
    uint32_t *device_step;
} lud_mappo_networks;

/* Networks for a model. `options` are copied; at most max_rows rows in a run. With `parameters` (of other
 * networks for the same options) they are shared, else made from the seed. */
lud_status lud_mappo_networks_create(const lud_model *model, const lud_mappo_options *options,
                                     lud_device *device, uint64_t seed, int64_t max_rows, lud_mappo_use use,
                                     lud_parameters *parameters, lud_mappo_networks **networks,
                                     lud_error *error);
/* Null is allowed. */
void lud_mappo_networks_destroy(lud_mappo_networks *networks);

/* The first rows of a field, as many as are in the inputs, to and from the device. */
void lud_mappo_field_send(lud_mappo_networks *networks, lud_mappo_field field);
void lud_mappo_field_fetch(lud_mappo_networks *networks, lud_mappo_field field);
/* Runs a recorded piece for the rows in the inputs; `number` stands for what else shapes it. */
void lud_mappo_run(const lud_mappo_networks *networks, lud_capture *piece, uint64_t number);
/* After a run of the actor, not of networks for updates: its new states, as far as the options have them, to
 * rows row[i] of the arrays. */
void lud_mappo_read_states(lud_mappo_networks *networks, const int32_t *row, float *actor_hidden,
                           float *states);
/* The same of the critic. */
void lud_mappo_read_critic(lud_mappo_networks *networks, const int32_t *row, float *critic_hidden);
/* Runs the critic: values[n] as it gives them, on the host. */
void lud_mappo_value(lud_mappo_networks *networks, float *values);
