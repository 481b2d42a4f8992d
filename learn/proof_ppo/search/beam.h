/* Beam search for proofs: the `width` most probable paths of every query, side by side, step by step. */
#pragma once

#include "learn/proof_ppo/search/expander.h"

typedef struct lud_proof_beam lud_proof_beam;

/* For up to n_queries queries at a time. Takes all memory. The network outlives the search. */
lud_status lud_proof_beam_create(lud_proof_net *net, int32_t n_queries, int32_t width, lud_proof_beam **beam,
                                 lud_error *error);
/* Null is allowed. */
void lud_proof_beam_destroy(lud_proof_beam *beam);
/* Searches for proofs of queries[n] (which may hold variables). A search ends when no open path is more
 * probable than its best proof, or at the depth limit. results[n]; states (may be null) [n][state_bytes]: the
 * state at the end of each result's path, with which lud_proof_tree_of shows the proof. */
void lud_proof_beam_run(lud_proof_beam *beam, const lud_proof_atom *queries, int32_t n,
                        lud_proof_found *results, uint8_t *states);
