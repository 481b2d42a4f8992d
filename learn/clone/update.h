/* Minibatches of demonstrations: losses, gradients, steps. */
#pragma once

#include "learn/clone/batch.h"
#include "learn/nn/optimiser.h"
#include "learn/nn/shares.h"

/* Numbers of an action whose deviations are found; of more of them none are. Those of worlds have fewer. */
enum { LUD_MAX_DEVIATIONS = 128 };

/* Sums over minibatches. */
typedef struct lud_clone_sums {
    double batches, norm;
    double positions, loss;  /* valid positions and their losses: cross-entropy, or squared errors */
    double samples, summary; /* squared errors of what the window sums up to, mean over its numbers */
    double n_pairs, pairs;   /* the same of what was done between two frames */
    /* of the last minibatch of an iteration: next actions, and squared errors of their numbers */
    double n_next, next[LUD_MAX_DEVIATIONS];
} lud_clone_sums;

typedef struct lud_clone_update {
    const lud_clone_options *options;
    lud_clone_data *data;
    lud_clone_networks networks; /* own the parameters */
    lud_clone_batch batch;
    lud_optimiser *optimiser;
    int group;
    lud_shares shares;
    int64_t *track, *step; /* [options->batch] the samples of a minibatch */
    uint64_t seed;
    lud_sampler sampler;
    lud_feeder *feeder;         /* null: nothing was wanted yet */
    lud_sample_source *sources; /* [data->n_sources] those that have samples */
    int *source_of;             /* [data->n_sources] their numbers in the data */
    lud_sample_cursor cursor;
    float *loss, *device_loss; /* [rows of losses] */
    float *values;             /* [batch][width], host */
    int64_t loss_words;
    lud_arrays arrays;
} lud_clone_update;

/* After an error too it is to be closed; it must not move while it is open. */
lud_status lud_clone_update_open(const lud_clone_options *options, lud_clone_data *data,
                                 const lud_model *model, lud_device *device, uint64_t seed,
                                 lud_clone_update *update, lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_update_close(lud_clone_update *update);
/* Before samples or their order change. */
void lud_clone_update_stop_reading(lud_clone_update *update);
/* The order of samples for the sources as they are now, from a new epoch on where `anew`. */
lud_status lud_clone_update_order(lud_clone_update *update, bool anew, lud_error *error);
/* One minibatch at this learning rate; adds to the sums, of the next actions those of the `last` one of an
 * iteration. Each share of it has losses that are means over its own samples, and their gradients are
 * weighted by how many these are. LUD_ERROR_MEMORY when threads cannot begin to read ahead. */
lud_status lud_clone_update_step(lud_clone_update *update, double rate, bool last, lud_clone_sums *sums,
                                 lud_error *error);
/* The deviation of continuous actions from the errors of the last minibatch's next actions: the likeliest one
 * of a Gaussian around the predicted means. Nothing for choices. */
void lud_clone_update_deviation(lud_clone_update *update, const lud_clone_sums *sums);
void lud_clone_update_visit(lud_clone_update *update, lud_checkpoint *checkpoint);
