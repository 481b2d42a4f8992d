/* Successors of many states and what a policy thinks of them: the step that every search by a policy
 * repeats. */
#pragma once

#include "learn/proof_ppo/networks.h"

/* What a search has found for a query. */
typedef struct lud_proof_found {
    double log_prob; /* of the most probable proof found, or of the most probable path that ended without */
    int32_t length;  /* actions of that path */
    bool proved;
    double odds; /* lud_proof_log_odds_of_going_on, mean over that path's decisions with a choice; 0 where
                    there is none and in searches */
} lud_proof_found;

typedef struct lud_proof_expander {
    lud_proof_net *net;
    const lud_proof_model *model;
    lud_proof_decisions decisions;
    lud_arrays arrays;
    lud_proof_lists lists; /* successors of all states, state after state */
    lud_proof_step *steps;
    int32_t n, capacity;
    int32_t *begin;    /* [n + 1] successors of each state */
    double *log_probs; /* [begin[n]] their log-probabilities, after lud_proof_expander_run */
} lud_proof_expander;

/* For up to `capacity` states at a time. The network outlives it. */
lud_status lud_proof_expander_create(lud_proof_net *net, int64_t capacity, lud_proof_expander *expander,
                                     lud_error *error);
void lud_proof_expander_free(lud_proof_expander *expander);
/* Forgets all states. */
void lud_proof_expander_clear(lud_proof_expander *expander);
/* Adds a running state and its successors; `skip_unary` may move it on. */
void lud_proof_expander_add(lud_proof_expander *expander, uint8_t *state);
/* One pass of the network over all of them. */
void lud_proof_expander_run(lud_proof_expander *expander);
/* Makes successor i (0 .. begin[n] - 1) of the state at `from` the state at `to`. */
void lud_proof_expander_enter(const lud_proof_expander *expander, int32_t i, const uint8_t *from,
                              uint8_t *to);
