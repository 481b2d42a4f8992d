/* The least fixpoint of rules over binary facts: every atom that follows, as one matrix of bits a predicate.
 *
 * For rule sets whose fixpoint is too large to be listed atom by atom, such as that of wn18rr with its
 * hundreds of millions of atoms. A rule's body is read as a graph whose vertices are its variables and whose
 * edges are its atoms; where series and parallel reductions (Duffin, "Topology of series-parallel networks",
 * 1965) make it one edge between the head's two arguments, the rule is an expression of relations:
 * composition P Q, meet P & Q and inverse. Loops and edges that lead nowhere else are conditions on a
 * variable, relations within x = y. Predicates are evaluated component by component of their dependence on
 * each other. One update of a predicate R with rules R >= B, R >= P R and R >= R Q takes all of P* B Q* at
 * once, where star, the closure, is computed over strongly connected components (Tarjan, "Depth-first search
 * and linear graph algorithms", 1972; Purdom, "A transitive closure algorithm", 1970), so that the number of
 * updates does not grow with the length of proofs. */
#pragma once

#include "sim/proof/knowledge/proof_base.h"

typedef struct lud_fixpoint lud_fixpoint;

/* Computes the fixpoint; the base is not needed afterwards. LUD_ERROR_LIMIT, with what stands in the way,
 * when a predicate has another number of arguments than two, a rule is of another form than described above
 * (so are those with constants, one variable twice in the head, or an empty body), or more than `max_bytes`
 * would be needed. */
lud_status lud_fixpoint_compute(const lud_proof_base *base, size_t max_bytes, lud_fixpoint **fixpoint,
                                lud_error *error);
/* Null is allowed. */
void lud_fixpoint_destroy(lud_fixpoint *fixpoint);
/* Whether a ground atom follows. A fact does. */
bool lud_fixpoint_holds(const lud_fixpoint *fixpoint, const lud_proof_atom *atom);
/* How many atoms of a predicate follow, facts included. */
int64_t lud_fixpoint_count(const lud_fixpoint *fixpoint, int32_t predicate);
