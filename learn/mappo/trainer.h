/* The policy with its critic and their update: proximal policy optimisation (Schulman et al., 2017) for
 * agents that share parameters (Yu et al., "The surprising effectiveness of PPO in cooperative multi-agent
 * games", NeurIPS 2022). */
#ifndef LUDUS_LEARN_MAPPO_TRAINER_H
#define LUDUS_LEARN_MAPPO_TRAINER_H

#include "learn/mappo/network.h"
#include "learn/nn/capture.h"
#include "learn/nn/optimiser.h"

/* Arrays of one value per row in device memory with a host view; see lud_mappo_array. */
typedef enum lud_mappo_field {
    LUD_FIELD_ACTION, /* [rows] choice */
    LUD_FIELD_NUMBER, /* [rows][n_continuous] action, or its offset from the base controller */
    LUD_FIELD_OLD_LOG_PROB,
    LUD_FIELD_ADVANTAGE,
    LUD_FIELD_OLD_VALUE, /* normalised, as the critic gave it */
    LUD_FIELD_RETURN,    /* in units of reward */
    LUD_FIELD_CHOICES,   /* [rows][n_discrete] U8: 0 is not available */
    LUD_FIELD_LOG_PROB,
    LUD_FIELD_ENTROPY,
    LUD_FIELD_LOSS,
    LUD_FIELD_VALUE_LOSS,
    LUD_FIELD_TARGET, /* of the critic, normalised */
    LUD_FIELD_RATIO,
    LUD_FIELD_GRADIENT,         /* of the log-probability */
    LUD_FIELD_ENTROPY_GRADIENT, /* of the entropy */
    LUD_FIELD_WEIGHT,           /* of a sample in the losses; ones at first (a gate may write others) */
    LUD_FIELD_NORMAL,           /* zeros: the deterministic draw */
    LUD_FIELDS
} lud_mappo_field;

/* What a trainer is for: updates; rollouts (states can be read after a run); or acting alone, without a
 * critic. */
typedef enum lud_mappo_use { LUD_MAPPO_UPDATE, LUD_MAPPO_ROLLOUT, LUD_MAPPO_PLAY } lud_mappo_use;

typedef struct lud_mappo_losses {
    double policy_loss, value_loss, entropy, ratio, clipped; /* sums over rows */
    double rows;
    double actor_norm, critic_norm; /* sums over minibatches */
    double minibatches;
} lud_mappo_losses;

typedef struct lud_mappo_trainer {
    lud_device *device;
    lud_mappo_options options;
    lud_mappo_shape shape;
    lud_parameters *parameters;
    lud_mappo_inputs inputs; /* shared by both networks */
    lud_mappo_net actor, critic;
    lud_mappo_array fields[LUD_FIELDS];
    lud_mappo_use use;
    bool shares_parameters;
    float *scratch; /* host, [rows][6 or n_discrete] */
    int log_std;    /* parameter, -1 */
    lud_optimiser *optimiser;
    int magnitude_group, actor_group, critic_group; /* -1: none */
    float normaliser[LUD_NORMALISER_FIELDS];
    float *device_normaliser, *device_moments; /* [3] twice, [2] */
    lud_mappo_losses losses;                   /* since they were last set to zero */
    /* On CUDA each is one recorded graph: gradients of a slice, the steps of all groups, the choice of
     * actions and the critic's values. With magnitude and direction the head is computed on the host,
     * so gradients are not recorded. */
    lud_capture adding, stepping, acting, valuing;
    bool never_record;  /* for tests: calls operations one by one */
    double slice_scale; /* what `adding` multiplies losses with */
    lud_draws draws;    /* what `acting` draws with; its step is in device memory */
    uint32_t *device_step;
} lud_mappo_trainer;

/* A policy for a model. `options` are copied; at most max_rows rows in a run. With `parameters` (of another
 * trainer for the same options) they are shared, else made from the seed. */
lud_status lud_mappo_trainer_create(const lud_model *model, const lud_mappo_options *options,
                                    lud_device *device, uint64_t seed, int64_t max_rows, lud_mappo_use use,
                                    lud_parameters *parameters, lud_mappo_trainer **trainer,
                                    lud_error *error);
/* Null is allowed. */
void lud_mappo_trainer_destroy(lud_mappo_trainer *trainer);

/* Writes the field LUD_FIELD_CHOICES for the rows' agents, when agents have different numbers of choices. */
void lud_mappo_allow(lud_mappo_trainer *trainer, int64_t n, const int32_t *agent);
/* The same for n rows of all agents in turn, and sends it to the device. */
void lud_mappo_allow_all(lud_mappo_trainer *trainer, int64_t n);
/* The actor's run with its draws, and the critic's, on rows that are on the device, where results stay:
 * fields ACTION, or NUMBER, and LOG_PROB; lud_nn_value of the networks. Work is only queued, for recording
 * together with other work. With a magnitude, NUMBER is what the directions are made of and LOG_PROB is not
 * written. */
void lud_mappo_queue_actions(lud_mappo_trainer *trainer, const lud_draws *draws);
void lud_mappo_queue_values(lud_mappo_trainer *trainer);
/* Runs the actor on the rows in the inputs and draws actions (or takes the likeliest): fields ACTION or
 * NUMBER, and LOG_PROB, on the host. */
void lud_mappo_act(lud_mappo_trainer *trainer, const lud_draws *draws, bool deterministic);
/* After a run of the actor, not of a trainer for updates: its new states, as far as the options have them, to
 * rows row[i] of the arrays. */
void lud_mappo_read_states(lud_mappo_trainer *trainer, const int32_t *row, float *actor_hidden,
                           float *states);
/* The same of the critic. */
void lud_mappo_read_critic(lud_mappo_trainer *trainer, const int32_t *row, float *critic_hidden);
/* Runs the critic: values[n] as it gives them, on the host. */
void lud_mappo_value(lud_mappo_trainer *trainer, float *values);
/* Log-probabilities and entropies of the actions in the fields under the present policy, after a forward run
 * of the actor; fields LOG_PROB and ENTROPY, on the host. */
void lud_mappo_evaluate(lud_mappo_trainer *trainer);

/* Adds the actor's gradients from those of log-probabilities and entropies in the fields GRADIENT and
 * ENTROPY_GRADIENT (device views), after a forward run and lud_mappo_evaluate. */
void lud_mappo_actor_backward(lud_mappo_trainer *trainer);
/* One minibatch: begin with all its returns, accumulate slices whose inputs and fields are filled (host
 * views), end with an optimiser step. `scale` is 1 / rows of the minibatch. */
void lud_mappo_minibatch_begin(lud_mappo_trainer *trainer, int64_t n, const float *returns);
void lud_mappo_minibatch_add(lud_mappo_trainer *trainer, double scale);
void lud_mappo_minibatch_end(lud_mappo_trainer *trainer, double rate);
/* Values in units of reward, in place. */
void lud_mappo_denormalise(const lud_mappo_trainer *trainer, int64_t n, float *values);
/* Weights, moments, statistics. */
void lud_mappo_trainer_visit(lud_mappo_trainer *trainer, lud_checkpoint *checkpoint);

#endif
