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
    int64_t credit;    /* matches that questions may still cost */
    int64_t spent;     /* that they have cost */
    bool complete;     /* the last answer is */
} lud_proof_refuter;

/* What the run of a state through a network of so many weights costs, in matches of the exact prover. */
int64_t lud_proof_refuter_worth(int64_t n_weights);

lud_status lud_proof_refuter_create(const lud_proof_base *base, lud_proof_refuter *refuter, lud_error *error);
/* Safe on a zeroed struct. */
void lud_proof_refuter_free(lud_proof_refuter *refuter);
/* Before questions about candidates whose playing would cost so much: all questions together cost no more
 * than a part of that and of what answers saved. */
void lud_proof_refuter_allow(lud_proof_refuter *refuter, int64_t worth);
/* Finds out with what in place of one of its arguments the query, which has no variables, follows from facts
 * and rules at all: facts do. `worth` is what playing these candidates would cost. Where there are so many
 * rules or facts that answers are dearer than playing they stay incomplete; what a question has derived until
 * then is not lost. */
lud_status lud_proof_refuter_ask(lud_proof_refuter *refuter, const lud_proof_atom *query, int argument,
                                 int64_t worth, lud_error *error);
/* Whether the query that was asked about surely has no proof with this constant there, so that no policy
 * finds one. */
bool lud_proof_refutes(const lud_proof_refuter *refuter, int32_t constant);
