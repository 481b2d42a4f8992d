/* Trained embeddings of a knowledge graph's constants and predicates, for scoring triples: what the learner
 * `kge` leaves in its run. */
#pragma once

#include "learn/kge/scores.h"
#include "learn/store/checkpoint.h"
#include "sim/proof/knowledge/proof_base.h"

typedef struct lud_kge {
    lud_kge_shape shape;
    int64_t n_entities, n_relations; /* constants and predicates of the base */
    const float *entities;           /* [n_entities][entity width], constant c in row c - 1 */
    const float *relations;          /* [n_relations][relation width] */
    float *query;                    /* scratch [entity width] */
    lud_checkpoint *checkpoint;      /* what was loaded */
} lud_kge;

/* Loads the embeddings of a run's folder; an error when the run was trained by something else or on other
 * names than those of the base. */
lud_status lud_kge_load(const char *folder, const lud_proof_base *base, lud_kge *kge, lud_error *error);
void lud_kge_free(lud_kge *kge);
/* Scores of ground atoms with two arguments: scores[n]. Blank atoms (predicate 0) get -infinity. */
void lud_kge_score_atoms(const lud_kge *kge, const lud_proof_atom *atoms, int32_t n, double *scores);
/* ln max(1 / (1 + e^-score), 1e-9). */
double lud_kge_log_probability(double score);

/* Saves the shape and a hash of the base's names, or checks them. */
void lud_kge_visit_shape(const lud_kge_shape *shape, const lud_proof_base *base, lud_checkpoint *checkpoint);
