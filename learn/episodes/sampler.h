/* Which samples a learner sees, in which order: splits by episode, shuffles by index, mixtures of several
 * data sets, and threads that make batches ahead of time.
 *
 * The order is a function of (seed, epoch, position) alone: a permutation of the indices (a Feistel network
 * keyed by Philox, walked until it falls into the range; Black and Rogaway, "Ciphers with arbitrary finite
 * domains", 2002), so nothing is kept but a cursor, and any number of threads gives the same batches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "learn/episodes/data_set.h"

/* Whether an episode is for validation: bucket = FNV-1a(seed text, episode hash) mod 1000 < 1000 fraction.
 * Stable under any order of episodes and files. */
bool lud_validation_episode(uint64_t seed, const lud_data_set *set, int64_t episode, double fraction);

/* The index at a position of random order number `order` (such as the epoch) of 0..n-1. n > 0 */
uint64_t lud_shuffled_index(uint64_t seed, uint32_t order, uint32_t stream, uint64_t n, uint64_t position);

/* One source of a mixture: so many samples, wanted with this weight. */
typedef struct lud_sample_source {
    uint64_t n;
    double weight; /* > 0 */
} lud_sample_source;

typedef struct lud_sample {
    int source;
    uint64_t index; /* 0..n-1 of the source */
} lud_sample;

/* Where an iteration is; all that has to be saved to go on. */
typedef struct lud_sample_cursor {
    uint64_t epoch, position;
} lud_sample_cursor;

typedef struct lud_sampler {
    int n_sources;
    const lud_sample_source *sources; /* [n_sources], the caller's */
    uint64_t seed;
    bool shuffle;           /* false: one source after the other, in order */
    uint64_t epoch_samples; /* see lud_sampler_create */
    uint64_t *begin;        /* [n_sources + 1] samples of an epoch that are of sources before each */
} lud_sampler;

/* weight_i (times n_i when `balance`) normalised are the shares; an epoch is max_i(n_i / share_i) samples, of
 * which each source has its share, rounded, in an order that is shuffled over all of them: every sample of
 * every source is seen at least once. A source that is through within an epoch begins a new order. Without
 * shuffle an epoch is all samples once. */
lud_status lud_sampler_create(const lud_sample_source *sources, int n_sources, uint64_t seed, bool shuffle,
                              bool balance, lud_sampler *sampler, lud_error *error);
/* A zeroed one is allowed. */
void lud_sampler_free(lud_sampler *sampler);
/* The next n samples from the cursor on, which moves; an epoch follows the other. */
void lud_sampler_next(const lud_sampler *sampler, lud_sample_cursor *cursor, int n, lud_sample *samples);

/* Batches made ahead by threads. `fill` makes one batch from its samples in the memory of a slot; it is
 * called by several threads at once with different slots, and its result must follow from the samples alone.
 */
typedef struct lud_feeder lud_feeder;
typedef struct lud_feed {
    const lud_sampler *sampler; /* outlives the feeder */
    int batch;                  /* samples of a batch */
    int n_threads;              /* 0: a batch is made when it is asked for */
    int n_slots;       /* batches that may be ready or in the making; at least 1, more than n_threads */
    size_t slot_bytes; /* memory of a slot, aligned to 64 */
    lud_status (*fill)(void *context, const lud_sample *samples, int n, void *slot, lud_error *error);
    void *context;
} lud_feed;

/* Begins at the cursor. */
lud_status lud_feeder_create(const lud_feed *feed, lud_sample_cursor cursor, lud_feeder **feeder,
                             lud_error *error);
/* Waits for its threads. Null is fine. */
void lud_feeder_destroy(lud_feeder *feeder);
/* The next batch, which stays until the next call; *cursor gets where the batch after it begins. The first
 * batch that could not be made is an error, as are all after it. */
lud_status lud_feeder_next(lud_feeder *feeder, const void **slot, lud_sample_cursor *cursor,
                           lud_error *error);
