/* One step of SLD resolution: a state of goals -> every successor state.
 *
 * The first goal is resolved against the rules of its predicate (in file order) and then the facts (in sorted
 * order); the successor is body and remaining goals with the unifier applied. Ground goals that are known
 * facts are dropped at once; a successor without goals is a proof, and then the only successor is True. The
 * excluded fact (the query itself) never matches and is never dropped. Goals are always contiguous, and
 * variables of every state are numbered n_constants + 1, + 2, ... by first appearance, so two states that
 * differ only in the names of variables are equal bytes. The unifier is the complete one for function-free
 * atoms. */
#pragma once

#include "sim/proof/knowledge/proof_base.h"

enum {
    LUD_PROOF_MAX_GOALS = 16,       /* of one state */
    LUD_PROOF_MAX_SUCCESSORS = 2048 /* of one state of a model */
};

typedef struct lud_proof_limits {
    int32_t max_goals;      /* successors with more goals are cut (and counted) */
    int32_t max_successors; /* candidates kept, in order; the End action counts */
    bool end_action;        /* offer Endf, which gives up */
} lud_proof_limits;

/* What a step used. */
typedef enum lud_proof_step_kind {
    LUD_PROOF_BY_RULE, /* index: the rule in base->rules */
    LUD_PROOF_BY_FACT, /* index: the fact in base->facts */
    LUD_PROOF_DEAD_END,
    LUD_PROOF_GIVE_UP,
    LUD_PROOF_STAY /* the input was terminal already */
} lud_proof_step_kind;

typedef struct lud_proof_step {
    int32_t kind; /* lud_proof_step_kind */
    int32_t index;
} lud_proof_step;

/* Successors of one state, or of many in a row: successor i has goals atoms[begin[i]] up to atoms[begin[i +
 * 1]]. The arrays are the caller's. A proof, a dead end and giving up are one atom True, False or Endf. */
typedef struct lud_proof_successors {
    int32_t n;      /* successors so far */
    int32_t *begin; /* [capacity + 1]; begin[0] is set by the caller */
    lud_proof_atom *atoms;
    uint64_t *hash;       /* [capacity] lud_proof_state_hash of each */
    lud_proof_step *step; /* [capacity] what led there */
} lud_proof_successors;

/* What was cut, added to by every expansion. */
typedef struct lud_proof_cuts {
    int64_t expansions;
    int64_t over_goals;      /* successors with too many goals */
    int64_t over_successors; /* candidates past max_successors; facts not looked at any more count as such */
    int64_t revisited;       /* successors removed by the memory */
} lud_proof_cuts;

/* Appends the successors of a state to `out`: at least one, at most limits->max_successors, each of at most
 * limits->max_goals atoms (room for which is the caller's promise).
 *   goals[n_goals]     at most LUD_PROOF_MAX_GOALS, variables numbered as described above
 *   excluded           the fact that may not be used, -1: none
 *   visited[n_visited] hashes of states that may not be entered again
 *   cuts               may be null */
void lud_proof_expand(const lud_proof_base *base, const lud_proof_limits *limits, const lud_proof_atom *goals,
                      int32_t n_goals, int32_t excluded, const uint64_t *visited, int32_t n_visited,
                      lud_proof_successors *out, lud_proof_cuts *cuts);

/* Sum of the goals' hashes (so the order of goals does not count); 0 for no goals. */
static inline uint64_t lud_proof_state_hash(const lud_proof_atom *goals, int32_t n_goals) {
    uint64_t sum = 0;
    for (int32_t i = 0; i < n_goals; i++) sum += lud_proof_atom_hash(&goals[i]);
    return sum;
}

/* True, False or Endf. */
static inline bool lud_proof_is_terminal(const lud_proof_base *base, const lud_proof_atom *goal) {
    return goal->predicate > base->n_predicates;
}

/* Renumbers the variables by first appearance. Variables may be any terms above n_constants; at most
 * LUD_PROOF_MAX_GOALS goals. Returns the number of different variables. */
int32_t lud_proof_canonicalise(const lud_proof_base *base, lud_proof_atom *goals, int32_t n_goals);

/* Unifies a goal with a rule's head: the bindings of a growing store, used here and for proof trees. Slot v
 * of the store stands for the term n_constants + 1 + v; 0 is unbound. A head's variable j is the term
 * `first_rule_term + j`. On failure the store may hold bindings made on the way. */
bool lud_proof_unify(const lud_proof_base *base, int32_t *store, const lud_proof_atom *goal,
                     const lud_proof_atom *head, int32_t first_rule_term);
/* The term at the end of a chain of bindings. */
static inline int32_t lud_proof_resolve(const lud_proof_base *base, const int32_t *store, int32_t term) {
    while (term > base->n_constants) {
        int32_t next = store[term - base->n_constants - 1];
        if (next == 0) break;
        term = next;
    }
    return term;
}
