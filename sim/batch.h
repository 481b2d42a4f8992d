/* N environments of one model in contiguous memory, stepped in parallel.
 *
 * The batch owns states and clocks; actions, observations, rewards and done flags live in the caller's
 * buffers, so a policy reads the very memory the world writes. Nothing is allocated after creation, and
 * results are the same for any number of threads and any split of environments over batches. */
#pragma once

#include "base/ranks/ranks.h"
#include "sim/world.h"

/* What becomes of an environment whose episode is over. */
typedef enum lud_batch_end {
    LUD_END_RESETS,      /* it starts anew inside the step that ended it */
    LUD_END_RESETS_NEXT, /* the next step starts it anew instead of stepping it: its actions count for
                            nothing, its rewards are 0 and its done flags are down */
    LUD_END_STAYS,  /* steps leave it as it is, rewards 0 and done flags as they were, until it is reset */
    LUD_END_GOES_ON /* it is stepped on as if nothing had happened */
} lud_batch_end;

typedef struct lud_batch {
    const lud_model *model;
    uint64_t seed;
    const uint64_t *seeds;      /* [n_envs] of the caller, who keeps them; null: `seed` for all. With it
                                   environment e      draws what environment 0 of a batch of that seed draws */
    uint32_t first_environment; /* index of environment 0 in the numbering that keys random draws */
    int n_envs;
    int n_threads;     /* 0: OpenMP's default */
    int first_stepped; /* lud_batch_step steps n_stepped environments from this one on: all at first */
    int n_stepped;
    lud_batch_end end;     /* LUD_END_RESETS at first */
    int most_steps;        /* of an episode, which is truncated then; 0, as at first: the world's own limit */
    uint8_t *states;       /* [n_envs][state_bytes] */
    uint32_t *tick;        /* [n_envs], see lud_range */
    int32_t *episode_step; /* [n_envs] steps since the last reset */
    uint32_t *episode;     /* [n_envs] episodes finished */
} lud_batch;

/* After so many steps an episode counts as over of a world that sets no limit, for those who wait for whole
 * episodes: evaluations, tables of results, recordings. */
enum { LUD_ENDLESS_STEPS = 1000 };
/* most_steps of their batch: that, or 0 where the world has a limit. */
static inline int lud_batch_limit(const lud_model *model) {
    return model->layout.max_steps ? 0 : LUD_ENDLESS_STEPS;
}

/* Where a step writes; every pointer optional. With LUD_END_RESETS, `observations` after a step are those of
 * the new episode and `final_states` keeps the finished one's last state for environments with a done flag.
 */
typedef struct lud_batch_out {
    void *const *observations; /* [n_parts], see lud_world.observe */
    float *rewards;            /* [n_envs][n_agents] */
    uint8_t *terminated;       /* [n_envs] */
    uint8_t *truncated;        /* [n_envs] */
    uint8_t *final_states;     /* [n_envs][state_bytes] */
    float *components;         /* [n_envs][n_agents][n_components] the parts that each reward is the sum of */
} lud_batch_out;

lud_status lud_batch_create(const lud_model *model, int n_envs, uint64_t seed, uint32_t first_environment,
                            lud_batch **batch, lud_error *error);
void lud_batch_destroy(lud_batch *batch);
/* Starts a new episode everywhere and writes observations (out may be null). */
void lud_batch_reset(lud_batch *batch, const lud_batch_out *out);
/* The same in those environments whose byte in chosen[n_envs] is not 0; observations are written for these.
 */
void lud_batch_reset_some(lud_batch *batch, const uint8_t *chosen, const lud_batch_out *out);
/* One step of every environment; see the world's step for the shape of actions. */
void lud_batch_step(lud_batch *batch, lud_actions actions, const lud_batch_out *out);
/* Puts environments first..first+n-1 to states[n][state_bytes], which the caller has checked; the steps of
 * their episodes follow where states say them, else are 0. */
void lud_batch_put(lud_batch *batch, int first, int n, const uint8_t *states);
/* From now on lud_batch_step steps the environments of this process' shares (base/ranks) alone. */
void lud_batch_divide(lud_batch *batch, const lud_ranks *ranks, int n_shares);
/* Where each process steps the environments of its shares: afterwards every process has them all. Made by all
 * of them. */
lud_status lud_batch_complete(lud_batch *batch, lud_ranks *ranks, int n_shares, lud_error *error);
/* Writes the observations of the present states, as after a step. */
void lud_batch_observe(lud_batch *batch, void *const *observations);
/* n environments from `first` on, for calls that take ranges; with `seeds` one at a time. */
lud_range lud_batch_range(const lud_batch *batch, int first, int n);
/* Bytes of a snapshot, and taking and restoring one: afterwards the batch goes on bit for bit as it did. A
 * snapshot may come from a file: one that holds no states of the world is an error, and the batch must be
 * reset before it is used. */
size_t lud_batch_snapshot_bytes(const lud_batch *batch);
void lud_batch_save(const lud_batch *batch, void *snapshot);
lud_status lud_batch_load(lud_batch *batch, const void *snapshot, lud_error *error);
