/* Playing recorded episodes again: the same first state, actions and keys of random draws give the same
 * states, which hashes prove. */
#pragma once

#define XXH_STATIC_LINKING_ONLY /* the state stands in our struct */
#include <xxhash.h>

#include "learn/episodes/data_set.h"

/* Frames between two hashes in a file. */
enum { LUD_HASH_INTERVAL = 32 };

/* XXH3 over all states of an episode so far, in the order of time. */
typedef struct lud_state_hash {
    XXH3_state_t state;
    int32_t n;
} lud_state_hash;
void lud_state_hash_begin(lud_state_hash *hash);
/* Adds a state; true where a hash is due: after every LUD_HASH_INTERVAL states and after the last. */
bool lud_state_hash_add(lud_state_hash *hash, const uint8_t *state, size_t bytes, bool last, uint64_t *value);
static inline int64_t lud_state_hash_count(int32_t n_frames) {
    return (n_frames + LUD_HASH_INTERVAL - 1) / LUD_HASH_INTERVAL;
}

/* An episode to be played: its first state comes of the world's reset under the episode's seed and tick, so
 * that no byte of a file is ever taken for a state. The actions of its steps are null where the model has
 * none; choices that it does not have are LUD_ERROR_INPUT. */
typedef struct lud_replay {
    const lud_model *model;
    const lud_data_episode *facts;
    const int32_t *discrete; /* [length][n_agents] */
    const float *continuous; /* [length][n_agents][n_continuous] */
    uint8_t *states;         /* out: [length + 1][state_bytes] */
    float *rewards;          /* out: [length][n_agents]; null: not wanted */
} lud_replay;
lud_status lud_replay_states(const lud_replay *replay, lud_error *error);
/* Observations of n frames from `first` on, after lud_replay_states: parts as for lud_world.observe, of these
 * frames; null: not wanted. */
void lud_replay_observe(const lud_replay *replay, int32_t first, int32_t n, void *const *parts);
