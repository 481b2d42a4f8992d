/* How the embeddings of an atom's predicate and arguments become one: the atom embedders of
 * `network.atoms`. */
#pragma once

#include "learn/nn/nn.h"
#include "learn/proof_ppo/options.h"
#include "sim/proof/knowledge/proof_base.h"

/* Declares the embedder on the network. parts[n] are the values p, a, b, ... of the predicate and the
 * arguments, each [atoms][embedding_size], 1 < n <= 1 + LUD_PROOF_MAX_ARITY; `counts` one more of that shape
 * that says how many facts match (-1: none). Returns the atoms' embedding. Missing arguments are zeros. */
int lud_proof_embed_atoms(lud_nn *nn, lud_proof_atom_embedder kind, const int *parts, int n, int counts);

/* Whether it can embed atoms of so many arguments in so many numbers: complex ones are pairs and stand for
 * two arguments. */
bool lud_proof_can_embed(lud_proof_atom_embedder kind, int64_t embedding_size, int max_arity);
