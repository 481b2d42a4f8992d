/* Which corruptions of a query have no proof at all, asked of the exact prover before a policy is played on
 * them. */
#pragma once

#include "sim/proof/proof_model.h"
#include "sim/proof/prover.h"

typedef struct lud_proof_refuter {
    const lud_proof_base *base;
    lud_prover *prover;      /* what it has derived serves later questions */
    lud_proof_atom *answers; /* [n_constants] */
    uint8_t *possible; /* [n_constants + 1] whether the constant answers the last question; 0 none does */
    int undecided;     /* questions in a row */
    bool complete;     /* the last answer is */
} lud_proof_refuter;

lud_status lud_proof_refuter_create(const lud_proof_base *base, lud_proof_refuter *refuter, lud_error *error);
/* Safe on a zeroed struct. */
void lud_proof_refuter_free(lud_proof_refuter *refuter);
/* Finds out with what in place of one of its arguments the query, which has no variables, follows from facts
 * and rules at all: facts do. An answer that costs more than playing would stays incomplete. */
lud_status lud_proof_refuter_ask(lud_proof_refuter *refuter, const lud_proof_atom *query, int argument,
                                 lud_error *error);
/* Whether the query that was asked about surely has no proof with this constant there, so that no policy
 * finds one. */
bool lud_proof_refutes(const lud_proof_refuter *refuter, int32_t constant);
