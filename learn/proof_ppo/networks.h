/* The policy and value network of the proof world.
 *
 *     atom       e(p(a,b)) = E_p + E_a - E_b           (transe; Bordes et al., 2013)
 *                + C_k, k the class of the number of facts that match the atom (fact_counts), if asked for
 *     state      s = 1/A sum over goals of e           (mean; see lud_proof_state_embedder)
 *     body       x0 = LN(ReLU(W s + b)),  x <- x + LN(ReLU(W x + b)) for each block
 *     head       h = W2 ReLU(W1 x + b1) + b2
 *     logits     l_i = <h/|h|, h_i/|h_i|> / temperature, h of the state, h_i of successor i
 *     value      W2 ReLU(W1 y + b1) + b2, y from blocks of its own or x
 *
 * Only states that occur pass through it, each once however often it stands in the decisions of a chunk.
 *
 * On the CPU the states of a large chunk go in two parts, which run at the same time where there are two
 * threads: operations of a part are short, and few of them would fill two. The parts are the same with one.
 *
 * On the CPU logits and their gradients are computed in double from the heads. On CUDA they are values of the
 * network, so that logits and values are all that is downloaded, or less (head.h); forward and backward
 * runs are recorded graphs, and chunks are padded to sizes that recur, by rows without atoms, atoms without
 * embeddings and successors of no state, which get no gradient. */
#pragma once

#include "learn/nn/arrays.h"
#include "learn/nn/capture.h"
#include "learn/nn/nn.h"
#include "learn/proof_ppo/decisions.h"
#include "learn/proof_ppo/options.h"
#include "learn/proof_ppo/remembered.h"

/* Some states of a chunk and the decisions made in them. On CUDA there is one part. */
typedef struct lud_proof_part {
    lud_nn *nn;                                 /* null: a part that there never is */
    int32_t first;                              /* place in `run` of its first state */
    int64_t rows, atoms, decisions, successors; /* with their padding; successors on CUDA */
    bool training;                              /* its run */
} lud_proof_part;

typedef struct lud_proof_net {
    const lud_proof_model *model;
    lud_proof_net_options options;
    lud_parameters *parameters;
    lud_parameters *own, *beside; /* those it was planned with; their values with the gradients that the
                                     second part adds to; or null */
    bool added_beside;            /* to those since they were added up */
    lud_proof_part part[2];
    lud_arrays arrays;
    /* values of the networks */
    int offsets, place[LUD_PROOF_MAX_GOALS], predicate, term[LUD_PROOF_MAX_ARITY], matches;
    int position, head, value;
    int atom_axis, decision_axis, step_axis;
    int step_atom, step_mask, last_step;         /* of the recurrent state embedder */
    int successor_axis, row_from, row_to, logit; /* on CUDA */
    int64_t max_rows, max_successors, width;     /* in a chunk; of the head */
    bool on_cpu;
    lud_capture forwards, backwards;  /* runs */
    uint64_t seed;                    /* of dropout */
    lud_proof_remembered *remembered; /* or null */

    /* The chunk at hand. */
    int32_t n_rows, n_atoms, n_decisions;
    int32_t n_run;    /* rows that pass through the network: those whose head is not remembered */
    int32_t *run;     /* [n_run] which */
    bool training;    /* the forward run */
    int32_t *begin;   /* [n_decisions + 1] successors of each */
    int32_t *row;     /* [begin[n_decisions]] their rows */
    int32_t *current; /* [n_decisions] rows, -1: none */
    double *logits;   /* [begin[n_decisions]] */
    double *values;   /* [n_decisions] */
    double *dlogits;  /* the caller's gradients, for lud_proof_net_backward */
    double *dvalues;

    /* scratch */
    double *output, *gradient, *length; /* [max_rows][width], [max_rows] */
    int32_t *decision;                  /* [n_decisions] those of the first part, then of the second */
    double *by_part;                    /* [n_decisions] numbers in that order */
    int32_t *state_begin, *index;       /* [max_rows + 1], [atoms] */
    double *step_going;                 /* [atoms] 0 where a list begins */
    int32_t *state_of_row;
    uint64_t *hash; /* [max_rows] of the row's state */
    int32_t *found; /* open addressing: row + 1 of a state */
    uint32_t *slot; /* [max_rows] where in it */
    uint32_t mask;
} lud_proof_net;

/* Declares the network on the parameters; plan it after they are built. At most `max_rows` states in a chunk
 * (raised to what one decision may need). */
lud_status lud_proof_net_create(const lud_proof_model *model, const lud_proof_net_options *options,
                                lud_parameters *parameters, int64_t max_rows, lud_proof_net **net,
                                lud_error *error);
/* After the parameters are built with their initial draws. */
lud_status lud_proof_net_plan(lud_proof_net *net, lud_nn_mode mode, lud_error *error);
void lud_proof_net_destroy(lud_proof_net *net);

/* Loads decisions order[0], order[1], ... (null: first, first + 1, ...) up to `n` as long as their states
 * fit; returns how many, at least one for n > 0. */
int32_t lud_proof_net_load(lud_proof_net *net, const lud_proof_decisions *decisions, const int32_t *order,
                           int32_t first, int32_t n);
/* The same without successors: for a run that is about values alone. */
int32_t lud_proof_net_load_states(lud_proof_net *net, const lud_proof_decisions *decisions,
                                  const int32_t *order, int32_t first, int32_t n);
/* Key and step of the dropout draws of the next runs. */
void lud_proof_net_set_step(lud_proof_net *net, uint64_t seed, uint32_t step);
/* Runs with another set of parameters of the same layout from now on. */
void lud_proof_net_use(lud_proof_net *net, lud_parameters *parameters);
/* From now on, until null is given: evaluation runs with rows apart, so that a logit has the same bits
 * whatever else is in its chunk, and only of states whose heads are not remembered. While it holds, weights
 * and parameters stay, `decisions` keep goals sorted (or see their order), and nothing is run for training or
 * for values. On the CPU in float32; elsewhere nothing changes. */
void lud_proof_net_remember(lud_proof_net *net, lud_proof_remembered *remembered);
/* Sets the rows of runs of the loaded chunk, for a recorded piece of work that holds such runs beside others.
 * Returns what stands for all that shapes them (lud_capture_run). */
uint64_t lud_proof_net_prepare(lud_proof_net *net, bool training);
/* Fills `logits`. For `training` there is dropout, and `values` are filled too (0 for a decision without a
 * state); else the value network does not run. */
void lud_proof_net_forward(lud_proof_net *net, bool training);
/* The value of the first decision that is loaded, without dropout; 0 without a state. Runs by itself. */
double lud_proof_net_value(lud_proof_net *net);
/* After a forward run for training: adds the parameters' gradients for `dlogits` and `dvalues`; what is added
 * is whole after lud_proof_net_add_up. */
void lud_proof_net_backward(lud_proof_net *net);
/* After the last of some backward runs: their gradients are in the parameters. */
void lud_proof_net_add_up(lud_proof_net *net);
/* Multiply-adds of matrix products in a forward run of the loaded chunk. */
double lud_proof_net_multiply_adds(const lud_proof_net *net);

/* Weights that a state passes through on its way to its head. */
int64_t lud_proof_net_weights(const lud_proof_net *net);
/* What the network sees of a state (LUD_PROOF_SEES_...): what decisions for it must be created with. */
int lud_proof_net_sees(const lud_proof_net *net);

/* Softmax of logits[n], n > 0: log-probabilities; returns the entropy in nats. */
double lud_proof_log_softmax(const double *logits, int32_t n, double *log_probs);
/* Of a decision whose last successor, of n > 1, is to give up: ln((1 - p) / p), p its probability. */
double lud_proof_log_odds_of_going_on(const double *logits, int32_t n);
