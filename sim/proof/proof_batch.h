/* Many proof episodes at once: slots that play queries of a pool, with the successors of every slot in flat
 * arrays.
 *
 * This is the world's batch form for learning. It is not a lud_batch (sim/batch.h), because what a policy
 * reads here is what a step needs: the successors, without padding, of which an action is one. A lud_batch
 * would expand every state twice, to observe and to step. And its environments know nothing of each other,
 * while slots here share a list of queries, each handed to the first that is free (LUD_PROOF_ONCE). A batch
 * owns all its memory, taken at creation; stepping allocates nothing. Several batches may use one model at
 * the same time, for instance one for training and one for evaluation: the model is constant and batches
 * share nothing. Results do not depend on the number of threads. */
#pragma once

#include "sim/proof/proof_model.h"

/* Which query a slot plays next. */
typedef enum lud_proof_order {
    LUD_PROOF_AT_RANDOM, /* slot i starts with query first_environment + i (mod pool), then uniformly drawn
                            ones */
    LUD_PROOF_IN_TURN,   /* the same start, then the one behind its last, round and round */
    LUD_PROOF_IN_RANGES, /* slot i goes round its own range [range_begin[i], range_begin[i + 1]) */
    LUD_PROOF_ONCE /* every query that is not blank once, handed to slots as they get free; then slots rest */
} lud_proof_order;

typedef struct lud_proof_batch_options {
    int n_slots;
    int n_threads; /* 0: OpenMP's default */
    uint64_t seed;
    uint32_t first_environment; /* number of slot 0 in the keys of random draws */
    lud_proof_order order;
    lud_proof_pool pool;        /* the caller keeps it alive */
    const int32_t *range_begin; /* [n_slots + 1], for LUD_PROOF_IN_RANGES */
    /* Corruptions mixed in, as in training: after every positive `negatives` corruptions of the queries drawn
     * (0: the pool as it is). `corrupt: both` alternates between first and last argument. */
    int negatives;
    lud_proof_corrupt corrupt;
} lud_proof_batch_options;

/* Options for training and for evaluation of a list as the model states them. */
lud_proof_batch_options lud_proof_training_options(const lud_proof_model *model, int n_slots, uint64_t seed);
lud_proof_batch_options lud_proof_evaluation_options(lud_proof_pool pool, int n_slots, uint64_t seed);

/* Lists of goals without padding: list i is atoms[begin[i]] up to atoms[begin[i + 1]]. */
typedef struct lud_proof_lists {
    int32_t n;
    int32_t *begin;        /* [n + 1] */
    lud_proof_atom *atoms; /* [begin[n]] */
    uint64_t *hash; /* [n] lud_proof_state_hash: equal for equal states whatever their order of goals */
} lud_proof_lists;

typedef struct lud_proof_batch {
    const lud_proof_model *model;
    lud_proof_batch_options options;
    int n_slots;

    /* What a policy reads. Slot i has successors slot_begin[i] up to slot_begin[i + 1] of `successors`; a
     * resting slot has none. `current` has one list a slot (empty for a resting one). */
    int32_t *slot_begin;
    lud_proof_lists successors;
    lud_proof_step *steps; /* [successors.n] the rule or fact behind each */
    lud_proof_lists current;
    uint8_t *states;  /* [n_slots][state_bytes] */
    uint8_t *resting; /* [n_slots] 1: nothing to play */

    /* Results of the last step. Those of an episode (from `success` on) are valid where terminated or
     * truncated is set and describe the finished episode, also when the slot has begun another. */
    float *rewards;
    uint8_t *terminated, *truncated;
    uint8_t *success;
    int8_t *label;
    int32_t *query;  /* [n_slots] its index in the pool */
    int32_t *length; /* actions taken */
    float *episode_return;

    /* Where each slot stands. */
    int32_t *pointer;     /* [n_slots] pool index being played */
    int32_t *n_negative;  /* position in the cycle of positives and corruptions */
    int32_t *n_corrupted; /* corruptions so far, for alternating */
    float *cumulated;     /* reward of the running episode */
    uint32_t *tick;       /* episodes begun, the step of random draws */
    int32_t next_once;    /* LUD_PROOF_ONCE: first query not handed out */
    lud_proof_cuts cuts;  /* summed over all expansions */

    struct lud_proof_batch_memory *memory; /* the threads' own */
} lud_proof_batch;

/* `options` are copied (not the pool). An empty pool is an error except with LUD_PROOF_ONCE. */
lud_status lud_proof_batch_create(const lud_proof_model *model, const lud_proof_batch_options *options,
                                  lud_proof_batch **batch, lud_error *error);
void lud_proof_batch_destroy(lud_proof_batch *batch);

/* Starts over in every slot, with counters and draws as after creation. */
void lud_proof_batch_reset(lud_proof_batch *batch);
/* Points the batch at another pool (and ranges) and resets it. */
void lud_proof_batch_play(lud_proof_batch *batch, lud_proof_pool pool, const int32_t *range_begin);

/* One action in every slot that is not finished: actions[i] in 0 .. successors of slot i - 1 (ignored for a
 * finished or resting one). A finished slot stays as it is, without successors; its later rewards are 0. */
void lud_proof_batch_step(lud_proof_batch *batch, const int32_t *actions);
/* The same, and finished slots begin their next query at once; every slot is expanded exactly once. */
void lud_proof_batch_step_reset(lud_proof_batch *batch, const int32_t *actions);
/* Ends the running episode of a slot without a result: the next lud_proof_batch_step_reset begins its next
 * query, whatever its action. */
void lud_proof_batch_abandon(lud_proof_batch *batch, int slot);
/* Bytes of a snapshot, and taking and restoring one (into a batch of the same model, slots and pool):
 * afterwards the batch goes on bit for bit as it did. Counts of cuts are not part of it. A snapshot may come
 * from a file: one that cannot be is an error, and the batch must be reset before it is used. */
size_t lud_proof_batch_snapshot_bytes(const lud_proof_batch *batch);
void lud_proof_batch_save(const lud_proof_batch *batch, void *snapshot);
lud_status lud_proof_batch_load(lud_proof_batch *batch, const void *snapshot, lud_error *error);
/* Whether every slot rests (only with LUD_PROOF_ONCE). */
bool lud_proof_batch_is_done(const lud_proof_batch *batch);
