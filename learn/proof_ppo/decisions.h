/* Decisions of a proof policy without padding: states, each kept once, and which state each decision stands
 * in and may go to. */
#pragma once

#include "learn/nn/arrays.h"
#include "sim/proof/proof_batch.h"

/* What a network sees of a state beside the set of its goals. */
enum {
    LUD_PROOF_SEES_ORDER = 1,   /* the order of the goals */
    LUD_PROOF_SEES_MATCHES = 2, /* how many facts each goal can be resolved with */
    /* and for the first goal, how many successors its state has or how near a proof is; this times the number
     * of steps that proofs are seen from */
    LUD_PROOF_SEES_WAYS = 4
};
/* 0, 1, 2, 3-4, 5-8, 9-16, 17-32 and more facts or successors; for ways there follow a proof in one step, in
 * two, and so on. */
enum { LUD_PROOF_MATCH_CLASSES = 8, LUD_PROOF_MAX_LOOK_AHEAD = 8 };

/* States are told apart by a hash of what is seen of them. */
typedef struct lud_proof_decisions {
    lud_arrays arrays;
    int32_t n_states;
    int32_t *state_begin; /* [n_states + 1] */
    lud_proof_atom *atoms;
    uint64_t *hash;
    uint8_t *matches; /* class of each goal's number of matching facts; null when that is not seen */
    int sees;
    bool sorted; /* set after creation: where their order is not seen, goals are kept sorted by their hashes,
                    so that sums over them have one order however a state was met */
    const lud_proof_base *base;
    const lud_proof_model *model;
    int look_ahead; /* steps; 0: successors' successors are not seen */
    struct {
        uint8_t *state;
        lud_proof_successors successors;
    } ahead[LUD_PROOF_MAX_LOOK_AHEAD]; /* [look_ahead]: a successor, one of its successors, ... */
    uint8_t *ways;                     /* [largest number of successors] their classes */

    int32_t n;
    int32_t *current;   /* [n] state of each decision, -1: none (a resting slot) */
    int32_t *begin;     /* [n + 1] its successors */
    int32_t *successor; /* [begin[n]] states */

    int32_t capacity, state_capacity, successor_capacity;
    int64_t atom_capacity;
    uint32_t mask;
    uint32_t *place; /* [n_states] where in the table */
    int32_t *table;  /* open addressing: state + 1 */
} lud_proof_decisions;

/* Room for n decisions with the most successors and goals that the model allows. The pages behind the arrays
 * are taken by the system only when they are touched. */
lud_status lud_proof_decisions_create(const lud_proof_model *model, int64_t n, int sees,
                                      lud_proof_decisions *decisions, lud_error *error);
void lud_proof_decisions_free(lud_proof_decisions *decisions);
void lud_proof_decisions_clear(lud_proof_decisions *decisions);
/* Appends one decision from a state of the world and its successors: lists first .. first + n - 1 of
 * `successors`. */
void lud_proof_decisions_add(lud_proof_decisions *decisions, const uint8_t *state,
                             const lud_proof_lists *successors, int32_t first, int32_t n);
/* Appends a decision for every slot. When a signal comes meanwhile (base/interrupt.h) those that look several
 * steps ahead see nothing there, and the caller, who is to stop, does not use them. */
void lud_proof_decisions_add_batch(lud_proof_decisions *decisions, const lud_proof_batch *batch);
