/* The `learner` section of graph MAPPO: networks, magnitude and direction, proximal policy optimisation. */
#pragma once

#include "learn/nn/optimiser.h"
#include "learn/policy_gradient/options.h"

typedef enum lud_mappo_encoder {
    LUD_MAPPO_AUTO,
    LUD_MAPPO_MLP,
    LUD_MAPPO_GRAPH,
    LUD_MAPPO_GRID
} lud_mappo_encoder;
typedef enum lud_mappo_control {
    LUD_MAPPO_DIRECT, /* u = y */
    LUD_MAPPO_MAD,    /* u = u_base + m tanh(y), m from the state-space block */
    LUD_MAPPO_BASE    /* u = u_base + tanh(y) */
} lud_mappo_control;
typedef enum lud_mappo_magnitude {
    LUD_MAGNITUDE_ABS,
    LUD_MAGNITUDE_SOFTPLUS,
    LUD_MAGNITUDE_RELU
} lud_mappo_magnitude;
/* The gradient of the entropy: of its expectation, with y = mean + std * normal moving along (pathwise), or
 * of the formula at the recorded action (replayed), which pulls the magnitude up several times too strongly.
 */
typedef enum lud_mappo_entropy { LUD_ENTROPY_PATHWISE, LUD_ENTROPY_REPLAYED } lud_mappo_entropy;
typedef enum lud_mappo_drive {
    LUD_DRIVE_GOAL,        /* the relative goal where an episode begins, else nothing */
    LUD_DRIVE_DISTURBANCE, /* the graph of disturbances */
    LUD_DRIVE_CENTRAL      /* everybody's disturbances, and everybody's start, in a fixed order */
} lud_mappo_drive;

typedef struct lud_mappo_graph_options {
    int64_t embedding_size, embed_hidden_size, embed_layers;
    int64_t hidden_size, heads, layers;
    bool embed_relu, relu, concatenate_heads;
    int pooling;      /* lud_reduce */
    bool actor_pools; /* the actor sees the pooled graph instead of its own node */
    bool ego_critic;  /* the critic sees what the actor sees instead of the pooled graph */
} lud_mappo_graph_options;

typedef struct lud_mappo_mad_options {
    double base_gain, floor, limit, r_min, r_max, learning_rate;
    int magnitude, drive, entropy;
    bool floor_in_action, detach;
    int64_t state_size, hidden_size, features;
} lud_mappo_mad_options;

struct lud_nn;

/* More outputs over the actor's last layer `x`, beside its own `out`, declared by another learner of these
 * networks. */
typedef struct lud_mappo_heads {
    void (*declare)(void *context, struct lud_nn *nn, int x, int out);
    void *context;
} lud_mappo_heads;

typedef struct lud_mappo_options {
    const char *type, *start;
    bool automatic;
    int encoder, control;
    bool centralised, recurrent, identify, factored;
    int64_t steps, rollout_length;
    int64_t hidden_size, layers, chunk_length, channels, convolutions;
    bool tanh, orthogonal, feature_normalisation;
    double output_gain, log_std, novelty;
    double learning_rate, critic_learning_rate;
    lud_optimiser_options optimiser;
    bool decay_learning_rate, decay_entropy;
    int64_t minibatches, minibatch_size;
    double max_norm;
    bool clip_value;
    lud_policy_gradient_options update;
    int normaliser; /* lud_value_normaliser_kind */
    double normaliser_beta;
    int64_t evaluation_episodes;
    bool deterministic;
    lud_mappo_graph_options graph;
    lud_mappo_mad_options mad;
    lud_tree *groups;             /* groups.h; null: all agents share the networks */
    lud_tree *opponents;          /* opponents.h; null: groups play each other as they are */
    const lud_mappo_heads *heads; /* null: none; no option of a file */
} lud_mappo_options;

extern const lud_option_table lud_mappo_option_table, lud_mappo_graph_table; /* the section `graph` */
extern const char *const lud_mappo_encoder_names[];                          /* null-terminated */

/* Reads a `learner:` section of type graph-mappo (null: defaults) and checks it. Texts live in the arena.
 * Automatic options that nobody gave have the values that they have where there is no world to choose by. */
lud_status lud_mappo_options_read(lud_arena *arena, lud_tree *learner, lud_mappo_options *options,
                                  lud_error *error);
/* Its two halves: what stands there, and, when automatic options are chosen, what follows from it. */
lud_status lud_mappo_options_begin(lud_arena *arena, lud_tree *learner, lud_mappo_options *options,
                                   lud_error *error);
lud_status lud_mappo_options_end(const lud_tree *learner, lud_mappo_options *options, lud_error *error);

/* Numbers of the magnitude's state that one row carries from step to step; 0: none. */
int64_t lud_mappo_state_width(const lud_mappo_options *options);

/* What lud_mappo_begin_with reads (start.h). */
#define LUD_MAPPO_START_ROW                                                                                  \
    TEXT(start, NULL,                                                                                        \
         "a RUN of clone, graph-mappo or ticks, whose actor training begins with; not read when a run is "   \
         "resumed",                                                                                          \
         .names = LUD_NAMES_RUN)
/* Rows of the option tables of those who act with these networks; `chosen`: whether who reads the table
 * chooses the values that can follow from the world (base/options/automatic.h). The fields are those of a
 * lud_mappo_options behind `in`, as `network.`; nothing where the table fills one itself. Needs
 * base/options/option_rows.h. */
#define LUD_MAPPO_ENCODER_ROW(in)                                                                            \
    CHOICE_AT("encoder", in encoder, "auto", lud_mappo_encoder_names,                                        \
              "what sees the world; auto: graph where edges are observed, grid in multigrid, else mlp")
#define LUD_MAPPO_IDENTIFY_ROW(in, chosen)                                                                   \
    BOOL_AT("identify", in identify, "false",                                                                \
            "observations carry the number of the agent (one-hot); fixes the number of agents",              \
            .automatic = chosen)
#define LUD_MAPPO_LAYER_ROWS(in, chosen)                                                                     \
    INT_AT("hidden_size", in hidden_size, "64", 1, 8192, "width of hidden layers"),                          \
        INT_AT("layers", in layers, "1", 0, 16, "hidden layers after the first"),                            \
        INT_AT("channels", in channels, "16", 1, 1024, "channels of the convolutions over a grid",           \
               .automatic = chosen),                                                                         \
        INT_AT("convolutions", in convolutions, "2", 1, 16, "3 x 3 convolutions over a grid",                \
               .automatic = chosen),                                                                         \
        BOOL_AT("tanh", in tanh, "false", "tanh in hidden layers instead of ReLU"),                          \
        BOOL_AT("orthogonal", in orthogonal, "true", "orthogonal initial weights, else Xavier uniform"),     \
        BOOL_AT("feature_normalisation", in feature_normalisation, "true",                                   \
                "layer norm on inputs and hidden layers"),                                                   \
        REAL_AT("output_gain", in output_gain, "0.01", 0, 100,                                               \
                "gain of the initial weights of the action head")
