/* Small knowledge bases for the tests of the proof world. */
#pragma once

#include "sim/proof/proof_batch.h"

/* A base from texts (queries may be null); fails the test on an error. */
lud_proof_base *proof_base(lud_proof_syntax syntax, const char *facts, const char *rules,
                           const char *queries);

/* The same, with those of the scores (lud_proof_read_scores) as facts that are in rank and over the
 * threshold. */
lud_proof_base *proof_scored_base(lud_proof_syntax syntax, const char *facts, const char *rules,
                                  const char *scores, int64_t top_k, double threshold);

/* Options with defaults; the lists live as long as the program. */
lud_proof_options proof_options(void);

/* A random knowledge base in the syntax `relations`: predicates p0.. with 1 to 4 arguments, constants c0..c5,
 * rules with repeated variables, constants and empty bodies. */
typedef struct proof_random {
    int n_predicates;
    int arity[8];
    lud_text facts, rules;
} proof_random;
/* `safe`: every variable of a head occurs in the body. At most `max_variables` different ones in a rule. */
proof_random proof_random_base(uint64_t seed, bool safe, int max_variables);
void proof_random_free(proof_random *random);

/* The k-th number below n of a stream. */
uint32_t proof_draw(uint64_t seed, uint32_t *k, uint32_t n);

/* Goals as `p(a,?0)|q(?0)`; the caller frees. */
char *proof_goals_text(const lud_proof_base *base, const lud_proof_atom *goals, int32_t n);
/* An atom from `p(a,X)`; fails the test when it does not read. */
lud_proof_atom proof_atom(const lud_proof_base *base, const char *text);

/* Successors in memory of their own. */
lud_proof_successors proof_successors(int32_t capacity, int32_t max_goals);
void proof_successors_free(lud_proof_successors *successors);

/* The least fixpoint of rules over binary predicates as bit matrices: whatever matches is added, round after
 * round, until nothing is new. Slow, and nothing else. */
typedef struct proof_matrices {
    const lud_proof_base *base;
    size_t words;                   /* of a row */
    uint64_t **forward, **backward; /* [predicate][x][y] and [predicate][y][x] */
    bool grew;
} proof_matrices;
proof_matrices proof_matrices_of(const lud_proof_base *base);
void proof_matrices_free(proof_matrices *matrices);
bool proof_matrices_hold(const proof_matrices *matrices, const lud_proof_atom *atom);
/* Fails the test unless lud_fixpoint_compute finds the same atoms. Returns how many there are. */
int64_t proof_matrices_check(const proof_matrices *matrices);
