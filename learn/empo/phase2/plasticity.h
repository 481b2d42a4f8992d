/* Whether networks can still learn: how many of their units have fallen silent, how many directions the
 * features of states span, how large the weights have grown.
 *
 *   dormant unit    mean |activation| at most tau times the mean over its layer (Sokar et al., "The dormant
 * neuron phenomenon in deep reinforcement learning", ICML 2023) dead unit       mean |activation| at most
 * 1e-9 srank           least number of singular values of the centred features that hold 99 % of their sum
 * (Kumar et al., "Implicit under-parameterization inhibits data-efficient deep reinforcement learning", 2021)
 *   effective rank  exp of the entropy of the normalised singular values (Roy and Vetterli, 2007) */
#pragma once

#include "learn/empo/targets/values.h"

typedef struct lud_empo_plasticity lud_empo_plasticity;

/* On the networks of `values` that learn, which must outlive it; for n_states states at a time. */
lud_status lud_empo_plasticity_create(lud_empo_values *values, int64_t n_states, double tau,
                                      lud_empo_plasticity **plasticity, lud_error *error);
/* Null is allowed. */
void lud_empo_plasticity_destroy(lud_empo_plasticity *plasticity);

typedef struct lud_empo_plasticity_figures {
    double dormant, dead;         /* share of all units of ReLU layers */
    double srank, effective_rank; /* of the shared state features */
    double norm[LUD_EMPO_NETS];   /* L2 norm of all weights of a network, NaN where there is none */
    double norm_total;
} lud_empo_plasticity_figures;
/* Measures on n <= n_states states with goals[n] pointers to [n_humans]. */
bool lud_empo_plasticity_measure(lud_empo_plasticity *plasticity, int64_t n, const int32_t *const *records,
                                 const int32_t *const *goals);
/* Of the last measurement; NaN before it. */
lud_empo_plasticity_figures lud_empo_plasticity_get(const lud_empo_plasticity *plasticity);
/* A line for each layer: name, units, dormant, dead. Nothing before the first measurement. */
void lud_empo_plasticity_print(const lud_empo_plasticity *plasticity, lud_text *out);
/* The last measurement: metrics go on telling it after a resumption. RUNs of before have none. */
void lud_empo_plasticity_visit(lud_empo_plasticity *plasticity, lud_checkpoint *checkpoint);

/* Ranks of the matrix x[n][width], whose column means are taken off first; x is used up. False when memory is
 * out. */
bool lud_effective_ranks(int64_t n, int64_t width, double *x, double *srank, double *effective_rank);
