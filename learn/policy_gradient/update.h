/* One update of a policy from the samples of a rollout: epochs of minibatches in random order, each computed
 * in slices whose gradients add up, and ended by a step of the optimiser (algorithm 1 of Schulman et al.,
 * 2017; Yu et al., 2022, for recurrent policies).
 *
 * With a gate (options->gate) a minibatch is two passes: the chunks that are kept, for the policy, and all of
 * them, for the critic; or, where the critic learns from what is kept too, one pass of those. What is dropped
 * is in no slice.
 *
 * Where processes train together (base/ranks), each computes the gradients of the samples of its own
 * environments. The sum over a minibatch is cut into shares, which are stretches of environments, and added
 * along a fixed tree: it depends on the number of shares and not on that of the processes. */
#pragma once

#include "base/progress.h"
#include "learn/nn/arrays.h"
#include "learn/nn/capture.h"
#include "learn/nn/optimiser.h"
#include "learn/nn/shares.h"
#include "learn/policy_gradient/advantage.h"
#include "learn/policy_gradient/minibatch_gate.h"
#include "learn/policy_gradient/ppo.h"
#include "learn/store/metrics.h"
#include "learn/store/profile.h"

/* SLICES: numbers of a minibatch's slices, of which each share has its own. */
enum { LUD_UPDATE_GROUPS = 4, LUD_UPDATE_SLICES = 256 };

/* What a learner does in an update. */
typedef struct lud_update_calls {
    /* Before a minibatch: sets group rates and ppo.entropy_coefficient for its place among all that are
     * planned for the training, so that an early stop stretches no schedule. Null: they stay as they are. */
    void (*schedule)(void *learner, double place);
    /* Takes as many of the n chunks as pass through the networks at once, at least one, and adds the
     * gradients of the parameters (lud_ppo_fill, lud_ppo_policy_gradient, lud_ppo_value_gradient) that the
     * pass at hand has (lud_ppo_of_policy, lud_ppo_of_critic). Chunks of a pass come with the longest first,
     * else in their order. */
    lud_status (*slice)(void *learner, const lud_chunk *chunks, int64_t n, int64_t *n_taken,
                        lud_error *error);
    /* After the last slice before gradients are read: those that lie elsewhere come to the parameters. Null:
     * there are none. */
    void (*add_up)(void *learner);
} lud_update_calls;

typedef struct lud_update {
    lud_ppo ppo;
    lud_parameters *parameters;
    lud_optimiser *optimiser;
    lud_value_normaliser *normaliser; /* null: none */
    struct {
        int group; /* of the optimiser */
        int pass;  /* lud_ppo_pass that alone gives it gradients: without rows of it there is no step */
        double rate;
        double norm; /* of its gradient, before clipping: sum over the steps of the last update */
    } groups[LUD_UPDATE_GROUPS];
    int n_groups;
    lud_capture stepping; /* the optimiser's steps */
    lud_shares shares;
    lud_profile *profile;
    int step_stage;
    lud_progress *progress;      /* null: none is shown */
    double place;                /* minibatches of the update that are done, as a share */
    double part_begin, part_end; /* of the iteration in hand that is done before and after an update */
    uint64_t seed;
    int64_t stride;
    int64_t n_minibatches;  /* of an epoch */
    int64_t minibatch_size; /* chunks of each but the last; 0: all alike, to one chunk */
    int64_t n_environments; /* with shares: of the stride's samples, each in the share of its environment */
    bool alone; /* chunk i is sample i, and every epoch begins with them in order; else epochs go on from the
                   order of the one before */

    lud_arrays arrays;
    lud_chunk *chunks, *chosen; /* [samples] in the order of the epoch; those of the pass */
    int64_t n_chunks;
    int32_t *row; /* [samples] of the minibatch */
    lud_minibatch_gate gate;
    lud_baseline baseline; /* for lud_returns */

    uint32_t n_slices; /* number of the slice in hand, for draws in it */
    uint64_t n_steps;  /* of the optimiser, in all updates */
    /* of the last update: all of it, its last epoch, its last minibatch; minibatches that ended with a step
     */
    lud_ppo_sums sums, epoch, minibatch;
    int64_t n_stepped;
} lud_update;

/* Takes memory for rollouts of n_samples and slices of at most max_rows
 * rows and max_words words. The caller has set ppo's device and options, parameters, optimiser, normaliser,
 * profile, seed, stride, environments, alone; rates, minibatches and chunks may change until an update. The
 * struct must not move. LUD_ERROR_MEMORY. */
lud_status lud_update_create(lud_update *update, int64_t n_samples, int64_t max_rows, int64_t max_words,
                             lud_error *error);
/* Safe on a zeroed struct. */
void lud_update_destroy(lud_update *update);
/* Another group of the optimiser that is stepped in every minibatch, with its rate; its number, or -1 for a
 * group of -1. */
int lud_update_add_group(lud_update *update, int group, double rate);

/* All epochs. `iteration` numbers updates: draws are functions of the seed, the iteration and the epoch.
 * Between slices it asks whether to stop; LUD_INTERRUPTED leaves parameters that only a checkpoint mends. */
lud_status lud_update_run(lud_update *update, uint64_t iteration, const lud_update_calls *calls,
                          void *learner, lud_error *error);

/* Adds what other updates came to. */
void lud_ppo_sums_add(lud_ppo_sums *to, const lud_ppo_sums *x);

/* The parts of it. A new order (Fisher and Yates, from the last to the first). */
void lud_update_shuffle(lud_chunk *chunks, int64_t n, lud_random_key key, uint32_t epoch);
/* Begins a minibatch of n chunks: their samples, moments, and weights where there is a gate; the statistics
 * of returns; gradients are zero. The pass is LUD_PPO_BOTH. */
void lud_update_begin(lud_update *update, const lud_chunk *chunks, int64_t n, lud_random_key key,
                      uint32_t epoch);
/* Ends it: gradients of all processes, then the optimiser's step of the groups that had rows; no step, which
 * is not counted either, where a gate has kept nothing for any. */
void lud_update_step(lud_update *update);

/* What the gate and the baseline remember from update to update; nothing where there is neither. */
void lud_update_visit(lud_update *update, lud_checkpoint *checkpoint);

/* Columns of metrics about the gate, of the last update. */
enum { LUD_UPDATE_GATE_COLUMNS = 2 };
extern const lud_metric lud_update_gate_columns[LUD_UPDATE_GATE_COLUMNS];
/* How many of them these options have: all with a gate, else none. */
int lud_update_n_gate_columns(const lud_policy_gradient_options *options);
/* Fills them. */
void lud_update_gate_row(const lud_update *update, double *row);
