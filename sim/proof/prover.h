/* The exact prover: which ground atoms follow from facts and rules, at any depth.
 *
 * Goal-directed evaluation with tables (the idea of OLDT and QSQ: Tamaki and Sato, "OLD resolution with
 * tabulation", 1986; Vieille, "Recursive axioms in deductive databases", 1986). A subgoal is a predicate with
 * some arguments fixed; each is evaluated once and again whenever a subgoal it draws on has a new answer,
 * breadth first, so that proofs come up in the order of their height, and what was derived is remembered for
 * all later questions. When nothing is left to evaluate, every answer to every subgoal asked for is known:
 * what was not derived is not in the least fixpoint. Memory grows with the answers; limits turn "not derived"
 * into "undecided". */
#pragma once

#include "sim/proof/proof_tree.h"

typedef struct lud_prover lud_prover;

typedef struct lud_prover_options {
    int32_t excluded;  /* the fact that may not be used, -1: none */
    int64_t max_atoms; /* derived atoms remembered; 0: no limit */
    int64_t max_work;  /* candidate matches tried in one question; 0: no limit */
} lud_prover_options;

typedef enum lud_prover_answer {
    LUD_PROVER_REFUTED,
    LUD_PROVER_PROVED,
    LUD_PROVER_UNDECIDED
} lud_prover_answer;

/* `options` may be null: nothing excluded, no limits. */
lud_status lud_prover_create(const lud_proof_base *base, const lud_prover_options *options,
                             lud_prover **prover, lud_error *error);
void lud_prover_destroy(lud_prover *prover);

/* From now on another limit of candidate matches, 0: none. A question that met it goes on where it was when
 * it is asked again. */
void lud_prover_limit_work(lud_prover *prover, int64_t max_work);
/* Candidate matches that the last question tried, counted where they are limited; and whether there is no
 * room for more derived atoms. */
int64_t lud_prover_work(const lud_prover *prover);
bool lud_prover_is_full(const lud_prover *prover);

/* Whether the goal (with variables: any instance of it) follows. Stops as soon as it is known. */
lud_status lud_prover_ask(lud_prover *prover, const lud_proof_atom *goal, lud_prover_answer *answer,
                          lud_error *error);
/* A proof of a goal that has been answered LUD_PROVER_PROVED. */
lud_status lud_prover_tree(lud_prover *prover, const lud_proof_atom *goal, lud_proof_tree *tree,
                           lud_error *error);
/* What one question may cost: derived atoms and candidate matches; more counts as undecided. */
typedef struct lud_prover_effort {
    int64_t atoms, work;
} lud_prover_effort;
extern const lud_prover_effort lud_prover_effort_to_solve; /* of `ludus solve`, which wants the answers */
/* A prover for one question, in which a query that is a fact may not use itself. `tree`: the proof of a
 * proved one, null: not wanted. */
lud_status lud_prover_answer_query(const lud_proof_base *base, const lud_proof_atom *query,
                                   lud_prover_effort effort, lud_prover_answer *answer, lud_proof_tree *tree,
                                   lud_error *error);
/* How many instances of the goal follow; works until all are known. A limit met on the way is
 * LUD_ERROR_LIMIT. */
lud_status lud_prover_count(lud_prover *prover, const lud_proof_atom *goal, int64_t *n, lud_error *error);
/* The first of them, facts before what is derived: answers[most]; *n: how many are known. Not *complete: a
 * limit was met, and there may be more. */
lud_status lud_prover_list(lud_prover *prover, const lud_proof_atom *goal, int32_t most,
                           lud_proof_atom *answers, int64_t *n, bool *complete, lud_error *error);

/* ---- Search by steps ---- */

typedef struct lud_proof_search_options {
    int32_t max_depth;  /* steps */
    int32_t max_goals;  /* of one state */
    int64_t max_states; /* states remembered; 0: no limit */
} lud_proof_search_options;

typedef struct lud_proof_search_result {
    int32_t steps;  /* least number of actions that reach True; -1: none within the limits */
    bool exhausted; /* every state within max_goals was seen: no number of steps helps */
    bool limited;   /* max_states was met: `steps` -1 says nothing */
    int64_t n_states;
    int32_t *path; /* [n_path] the steps, coded as in a state's path; for lud_proof_tree_from_path */
    int32_t n_path;
} lud_proof_search_result;

/* Breadth-first search over the very states that the environment plays, all successors kept, the query's own
 * fact excluded: the proof depth of a query (what `*_depths.txt` files state). */
lud_status lud_proof_search(const lud_proof_base *base, const lud_proof_atom *query,
                            const lud_proof_search_options *options, lud_proof_search_result *result,
                            lud_error *error);
void lud_proof_search_result_free(lud_proof_search_result *result);
