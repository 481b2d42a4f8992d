/* Best-first search for proofs: of all paths begun, the most probable one is followed a step further, until
 * the most probable one is a proof or the budget of expansions is used up. As probabilities never grow along
 * a path, the first proof is the most probable one. Several queries are searched side by side, so that one
 * pass of the network serves all. */
#pragma once

#include "learn/proof_ppo/search/expander.h"

typedef struct lud_proof_best_first lud_proof_best_first;

/* For n_queries queries at a time and at most `budget` expansions each. Takes all memory. The network
 * outlives the search. */
lud_status lud_proof_best_first_create(lud_proof_net *net, int32_t n_queries, int32_t budget,
                                       lud_proof_best_first **search, lud_error *error);
/* Null is allowed. */
void lud_proof_best_first_destroy(lud_proof_best_first *search);
/* Searches for proofs of queries[n] (any number; which may hold variables). results[n]; states (may be null)
 * [n][state_bytes]: the state at the end of each result's path, with which lud_proof_tree_of shows the proof.
 * A query without proof reports the most probable path that ended, or, when none did, its start. */
void lud_proof_best_first_run(lud_proof_best_first *search, const lud_proof_atom *queries, int32_t n,
                              lud_proof_found *results, uint8_t *states);
