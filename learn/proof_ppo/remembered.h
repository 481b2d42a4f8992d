/* Heads of states that have passed through a policy network, kept while its weights stay: whoever meets the
 * state again, another candidate, another query or the next step, which stands in what was a successor, reads
 * its head instead of running the network. States are told apart by the hash of what the network sees of them
 * (decisions.h). Heads are worth the same from here and from there, because a network that has such a memory
 * runs with rows apart (lud_device_set_rows_apart). Of more heads than there is room for, older ones go. */
#pragma once

#include "learn/nn/arrays.h"

typedef struct lud_proof_remembered {
    lud_arrays arrays;
    int64_t width;       /* numbers of a head */
    uint32_t n_sets;     /* a power of two; 0: nothing is kept */
    uint64_t *key;       /* [n_sets][LUD_PROOF_WAYS], 0: free */
    float *head;         /* [n_sets][LUD_PROOF_WAYS][width] */
    uint8_t *next;       /* [n_sets] the place that the next new head of a set takes */
    bool empty;          /* nothing is kept yet */
    uint64_t hits, news; /* since it was made */
} lud_proof_remembered;

enum { LUD_PROOF_WAYS = 4 };

/* For heads of `width` numbers in at most about `bytes`, at least one set; bytes 0: keeps nothing. Errors:
 * memory. */
lud_status lud_proof_remembered_create(int64_t width, size_t bytes, lud_proof_remembered *remembered,
                                       lud_error *error);
/* Safe on a zeroed struct. */
void lud_proof_remembered_free(lud_proof_remembered *remembered);
/* After the weights have changed. */
void lud_proof_remembered_forget(lud_proof_remembered *remembered);
/* The head of a state by its hash, null: not there. Valid until the next head is added. */
const float *lud_proof_remembered_find(lud_proof_remembered *remembered, uint64_t hash);
/* Keeps head[width] of a state that is not there yet. */
void lud_proof_remembered_add(lud_proof_remembered *remembered, uint64_t hash, const double *head);
