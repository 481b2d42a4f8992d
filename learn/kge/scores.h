/* Scores of triples by embeddings, and their gradients.
 *
 *     transe     g - |h + r - t|_p                        Bordes et al., 2013
 *     distmult   sum_k h_k r_k t_k                        Yang et al., 2015
 *     complex    Re sum_k h_k r_k conj(t_k)               Trouillon et al., 2016
 *     rotate     g - sum_k |h_k e^(i r_k) - t_k|          Sun et al., 2019
 *
 * Every score is that of a query vector q, made of the relation and one entity, and the other entity e:
 * g - |q - e| or <q, e>. So many candidates for one argument cost one q and a product with a matrix. A vector
 * of `dimension` complex numbers holds its real parts, then its imaginary ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/device.h"

typedef enum lud_kge_scorer {
    LUD_KGE_ROTATE,
    LUD_KGE_COMPLEX,
    LUD_KGE_DISTMULT,
    LUD_KGE_TRANSE,
    LUD_KGE_SCORERS
} lud_kge_scorer;
extern const char *const lud_kge_scorers[LUD_KGE_SCORERS + 1]; /* null-terminated */

typedef struct lud_kge_shape {
    int scorer;        /* lud_kge_scorer */
    int64_t norm;      /* p of transe, 1 or 2 */
    int64_t dimension; /* numbers, complex ones for complex and rotate */
    double margin;     /* g of transe and rotate */
} lud_kge_shape;

/* Which entity the query vector is scored against. */
typedef enum lud_kge_side { LUD_KGE_HEAD, LUD_KGE_TAIL } lud_kge_side;

/* Reals of an entity's and of a relation's vector. */
int64_t lud_kge_entity_width(const lud_kge_shape *shape);
int64_t lud_kge_relation_width(const lud_kge_shape *shape);
/* Whether a score is <q, e> rather than a distance. */
bool lud_kge_is_product(const lud_kge_shape *shape);

/* q[entity width] for candidates at `side`; `anchor` is the entity at the other one. */
void lud_kge_query(const lud_kge_shape *shape, lud_kge_side side, const float *anchor, const float *relation,
                   float *q);
void lud_kge_query_f64(const lud_kge_shape *shape, lud_kge_side side, const double *anchor,
                       const double *relation, double *q);
/* From dq: adds to danchor and drelation. */
void lud_kge_query_backward(const lud_kge_shape *shape, lud_kge_side side, const float *anchor,
                            const float *relation, const float *dq, float *danchor, float *drelation);
void lud_kge_query_backward_f64(const lud_kge_shape *shape, lud_kge_side side, const double *anchor,
                                const double *relation, const double *dq, double *danchor, double *drelation);

/* The score of one query vector and one entity. */
double lud_kge_score(const lud_kge_shape *shape, const float *q, const float *e);
double lud_kge_score_f64(const lud_kge_shape *shape, const double *q, const double *e);
/* dq += factor * dscore/dq and de += factor * dscore/de. */
void lud_kge_score_backward(const lud_kge_shape *shape, const float *q, const float *e, double factor,
                            float *dq, float *de);
void lud_kge_score_backward_f64(const lud_kge_shape *shape, const double *q, const double *e, double factor,
                                double *dq, double *de);
/* scores[n][n_entities] of queries q[n][width] and entities e[n_entities][width]. `device` is a CPU. */
void lud_kge_scores(lud_device *device, const lud_kge_shape *shape, int64_t n, const float *q,
                    int64_t n_entities, const float *e, float *scores);
void lud_kge_scores_f64(lud_device *device, const lud_kge_shape *shape, int64_t n, const double *q,
                        int64_t n_entities, const double *e, double *scores);
/* From dscores[n][n_entities]: dq[n][width] and de[n_entities][width], overwritten. */
void lud_kge_scores_backward(lud_device *device, const lud_kge_shape *shape, int64_t n, const float *q,
                             int64_t n_entities, const float *e, const float *dscores, float *dq, float *de);
void lud_kge_scores_backward_f64(lud_device *device, const lud_kge_shape *shape, int64_t n, const double *q,
                                 int64_t n_entities, const double *e, const double *dscores, double *dq,
                                 double *de);
