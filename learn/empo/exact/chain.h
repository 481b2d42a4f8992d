/* The Markov chain that people's and robots' policies make of a world, and what can be asked of it. */
#pragma once

#include <stdio.h>

#include "learn/empo/exact/exact.h"

/* Row s of the chain: P(s'|s) = sum over joint actions of prod_h pi_h(a_h|s) pi_r(a_r|s) P(s'|s,a), people by
 * their marginal policies. Entries begin[s]..begin[s+1], successors ascending, each once, probabilities
 * positive. */
typedef struct lud_empo_chain {
    const lud_empo_problem *problem;
    uint64_t n_states, n_entries;
    uint64_t *begin;     /* [n_states + 1] */
    uint32_t *successor; /* [n_entries] */
    double *probability; /* [n_entries] */
} lud_empo_chain;

/* records[n_states][record_doubles] of a solved problem. */
lud_status lud_empo_chain_create(const lud_empo_problem *problem, const double *records,
                                 lud_empo_chain **chain, lud_error *error);
void lud_empo_chain_destroy(lud_empo_chain *chain);

/* Expected discounted sums V = R + gamma P V for n reward vectors at once. rewards, values [n_states][n] */
lud_status lud_empo_chain_values(const lud_empo_chain *chain, double gamma, const double *rewards, int n,
                                 double *values, lud_error *error);
/* visits[n_states]: expected number of visits under the policies of `records`, mean over states
 * starts[n_starts]; in a world that counts steps, the probability that the state is ever visited. No chain is
 * made: a row is, where somebody comes. */
lud_status lud_empo_visits(const lud_empo_problem *problem, const double *records, const uint32_t *starts,
                           int n_starts, double *visits, lud_error *error);

/* Writers for other programs. The chain with the reward U_r and, for model checkers, the labels init,
 * terminal and agent<i>_goal<g>; states without successors get the self-loop these formats ask for. drn
 * Storm's explicit format, type DTMC tra, sta, lab, srew   PRISM's explicit files: transitions, states,
 * labels, state rewards */
lud_status lud_empo_chain_write_drn(const lud_empo_chain *chain, const double *records, FILE *out,
                                    lud_error *error);
lud_status lud_empo_chain_write_prism(const lud_empo_chain *chain, const double *records, FILE *tra,
                                      FILE *sta, FILE *lab, FILE *srew, lud_error *error);
/* The graph with all joint actions: DRN type MDP, choices in joint action order. */
lud_status lud_empo_graph_write_drn(const lud_empo_problem *problem, FILE *out, lud_error *error);
/* One row a state: index, layer, V_r, U_r, X_h..., V_h^e..., V_h^m..., Q_r..., pi_r... with a header line. */
lud_status lud_empo_write_csv(const lud_empo_problem *problem, const double *records, FILE *out,
                              lud_error *error);
/* Graphviz: states as nodes with V_r, the chain's moves as edges; at most `max_states` states or an error. */
lud_status lud_empo_chain_write_dot(const lud_empo_chain *chain, const double *records, uint64_t max_states,
                                    FILE *out, lud_error *error);
