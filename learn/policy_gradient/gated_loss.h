/* Losses of experiences that a gate has weighed, over rows and over sequences of tokens, on the host.
 *
 *     L = - sum_i w_i A_i ln pi(a_i | s_i) / Z        (arXiv 2603.20526; w and A are constants)
 *
 * so the gradient by the log-probability of row i is -w_i A_i / Z, and by the logits of a softmax
 * (w_i A_i / Z) (pi_j - [j = a_i]), which the operation categorical_backward makes of it.
 *
 * Sequences are ragged: tokens of row i are begin[i] .. begin[i + 1] - 1 of arrays [begin[rows]]. A mask of
 * 0 and 1 (null: all 1) leaves tokens out, so that rows of one length with padding can be given too. */
#pragma once

#include "learn/policy_gradient/gate.h"

/* Z by lud_gate_normalise: kept rows, all rows, or 1; at least 1. */
double lud_gate_denominator(int normalise, int64_t n, int64_t n_kept);

/* The loss of n rows or tokens, each with its own weight, and dlog_prob[n], its gradient. mask null: all. */
double lud_gated_loss(int64_t n, const float *weight, const float *advantage, const float *mask,
                      const float *log_prob, double denominator, float *dlog_prob);

/* Sequences of tokens. */
typedef struct lud_token_rows {
    int64_t n;
    const int64_t *begin; /* [n + 1] */
    const float *mask;    /* [begin[n]] or null */
} lud_token_rows;

/* Tokens of row i that the mask leaves; of all rows for i < 0. */
double lud_token_count(const lud_token_rows *rows, int64_t i);
/* mean[n] of every row's tokens, 0 for a row without. */
void lud_token_means(const lud_token_rows *rows, const float *of_tokens, float *mean);
/* to[begin[n]]: every token gets its row's number. */
void lud_token_spread(const lud_token_rows *rows, const float *of_rows, float *to);

/* A gate over sequences: delight[n] of a row is its mean advantage times its mean surprisal. Rows without
 * tokens get weight 0 and leave the price alone (lud_gate_decide about the others). With `bare` the rule is
 * that of the paper's code: lud_gate_weights about all rows, delight 0 for those without tokens.
 * mean_advantage[n] and mean_log_prob[n] are results too. In `batch`, of rows->n rows, delight is ignored,
 * and scratch has room for [3][n]. */
lud_gate_decision lud_sequence_gate(const lud_gate *gate, const lud_token_rows *rows, bool bare,
                                    const float *advantage, const float *log_prob, float *mean_advantage,
                                    float *mean_log_prob, float *delight, const lud_gate_batch *batch);

/* Loss of sequences whose advantage counts with their mean log-probability: the coefficient of a token of row
 * i is -w_i A_i / (Z tokens of i). weight, advantage [n]; log_prob, dlog_prob [begin[n]]. */
double lud_sequence_loss(const lud_token_rows *rows, const float *weight, const float *advantage,
                         const float *log_prob, double denominator, float *dlog_prob);

/* The gate over single tokens: advantage of a row is its reward less the mean of its group, the k tokens of
 * highest priority are kept, and whatever ties with the last of them within 1e-6; k is the share `rate` of
 * all tokens, rounded to even, at least one. The loss divides by all tokens (+ 1e-8) and adds beta_kl times
 * the mean of sampler's less present log-probabilities. */
typedef struct lud_token_gate {
    double rate, alpha; /* alpha of the priority `additive` */
    int priority;       /* lud_gate_priority */
    double beta_kl;
} lud_token_gate;

typedef struct lud_token_experience {
    lud_token_rows rows;
    const float *reward;   /* [n] */
    const float *row_mask; /* [n] 0: left out of the baseline; null: all count */
    const int32_t *group;  /* [n], null: one group */
    const float *log_prob; /* [tokens] */
    const float *sampled;  /* [tokens] log-probabilities of the sampler, null where beta_kl is 0 */
    const float *uniform;  /* [tokens] of the priority `uniform` only */
} lud_token_experience;

typedef struct lud_token_gradient {
    float *baseline, *advantage;                    /* [n] */
    float *priority, *weight, *dlog_prob, *scratch; /* [tokens]; priority is -infinity where masked */
    int64_t k;
    float threshold;
    double loss, n_tokens, n_kept;
} lud_token_gradient;

void lud_token_gate_run(const lud_token_gate *gate, const lud_token_experience *experience,
                        lud_token_gradient *out);

/* Where the tokens of responses are predicted: logits of sequences lie side by side, prompt[i] + response[i]
 * - 1 rows for sequence i (those of all its tokens but the last); token j of response i is predicted in row
 * index[begin[i] + j]. begin[n + 1] are the responses as lud_token_rows. prompt[i] >= 1. Returns begin[n]. */
int64_t lud_response_rows(int64_t n, const int64_t *prompt, const int64_t *response, int64_t *begin,
                          int32_t *index);
