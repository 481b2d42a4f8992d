#include "learn/policy_gradient/gated_loss.h"

#include <assert.h>
#include <math.h>

#include "learn/policy_gradient/baseline.h"

double lud_gate_denominator(int normalise, int64_t n, int64_t n_kept) {
    const int64_t rows = normalise == LUD_GATE_BY_KEPT ? n_kept : normalise == LUD_GATE_BY_ALL ? n : 1;
    return rows > 0 ? (double)rows : 1.0;
}

double lud_gated_loss(int64_t n, const float *weight, const float *advantage, const float *mask,
                      const float *log_prob, double denominator, float *dlog_prob) {
    double loss = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const float taken = weight[i] * advantage[i] * (mask ? mask[i] : 1.0f);
        dlog_prob[i] = (float)(-(double)taken / denominator);
        /* what does not count may be of probability 0 */
        if (taken != 0.0f) loss -= (double)taken * (double)log_prob[i] / denominator;
    }
    return loss;
}

/* ---- sequences ---- */

static double counts(const lud_token_rows *rows, int64_t token) {
    return rows->mask ? (double)rows->mask[token] : 1.0;
}

double lud_token_count(const lud_token_rows *rows, int64_t i) {
    const int64_t first = i < 0 ? 0 : rows->begin[i], end = rows->begin[i < 0 ? rows->n : i + 1];
    double n = 0.0;
    for (int64_t t = first; t < end; t++) n += counts(rows, t);
    return n;
}

void lud_token_means(const lud_token_rows *rows, const float *of_tokens, float *mean) {
    for (int64_t i = 0; i < rows->n; i++) {
        double total = 0.0;
        for (int64_t t = rows->begin[i]; t < rows->begin[i + 1]; t++)
            if (counts(rows, t) > 0.0) total += (double)of_tokens[t];
        mean[i] = (float)(total / fmax(lud_token_count(rows, i), 1.0));
    }
}

void lud_token_spread(const lud_token_rows *rows, const float *of_rows, float *to) {
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t t = rows->begin[i]; t < rows->begin[i + 1]; t++) to[t] = of_rows[i];
}

/* Decides about the rows with tokens alone, as if there were no others. */
static lud_gate_decision decide_about_some(const lud_gate *gate, const lud_token_rows *rows,
                                           const float *delight, const lud_gate_batch *batch) {
    const int64_t n = rows->n;
    float *some = batch->scratch + n, *uniform = some + n;
    lud_gate_batch b = *batch;
    b.n = 0;
    b.delight = some;
    b.uniform = batch->uniform ? uniform : NULL;
    for (int64_t i = 0; i < n; i++) {
        if (lud_token_count(rows, i) == 0.0) continue;
        some[b.n] = delight[i];
        if (b.uniform) uniform[b.n] = batch->uniform[i];
        b.n++;
    }
    const lud_gate_decision decision = lud_gate_decide(gate, &b);
    for (int64_t i = n, k = b.n; i-- > 0;) { /* back to front: none is overwritten before it was moved */
        const bool counted = lud_token_count(rows, i) > 0.0;
        if (counted) k--;
        b.weight[i] = counted ? b.weight[k] : 0.0f;
        if (b.probability) b.probability[i] = counted ? b.probability[k] : 0.0f;
    }
    return decision;
}

lud_gate_decision lud_sequence_gate(const lud_gate *gate, const lud_token_rows *rows, bool bare,
                                    const float *advantage, const float *log_prob, float *mean_advantage,
                                    float *mean_log_prob, float *delight, const lud_gate_batch *batch) {
    const lud_gate_batch *b = batch;
    lud_token_means(rows, advantage, mean_advantage);
    lud_token_means(rows, log_prob, mean_log_prob);
    lud_gate_priorities(gate->priority, gate->alpha, rows->n, mean_advantage, mean_log_prob, b->uniform,
                        delight);
    if (!bare) return decide_about_some(gate, rows, delight, b);
    lud_gate_decision decision = {.rate = gate->rate};
    decision.price =
        lud_gate_weights(gate, rows->n, delight, b->uniform, b->weight, b->probability, b->scratch);
    for (int64_t i = 0; i < rows->n; i++) decision.n_kept += b->weight[i] > 0.0f;
    return decision;
}

double lud_sequence_loss(const lud_token_rows *rows, const float *weight, const float *advantage,
                         const float *log_prob, double denominator, float *dlog_prob) {
    double loss = 0.0;
    for (int64_t i = 0; i < rows->n; i++) {
        const double tokens = fmax(lud_token_count(rows, i), 1.0);
        const double share = -(double)weight[i] * (double)advantage[i] / (denominator * tokens);
        for (int64_t t = rows->begin[i]; t < rows->begin[i + 1]; t++) {
            const double d = counts(rows, t) > 0.0 ? share : 0.0;
            dlog_prob[t] = (float)d;
            if (d != 0.0) loss += d * (double)log_prob[t];
        }
    }
    return loss;
}

/* ---- single tokens ---- */

/* Priorities of all tokens, -infinity for those that are masked. */
static void prioritise(const lud_token_gate *gate, const lud_token_experience *e, lud_token_gradient *out) {
    const int64_t n = e->rows.begin[e->rows.n];
    lud_token_spread(&e->rows, out->advantage, out->scratch);
    lud_gate_priorities(gate->priority, gate->alpha, n, out->scratch, e->log_prob, e->uniform, out->priority);
    for (int64_t t = 0; t < n; t++)
        if (counts(&e->rows, t) <= 0.0) out->priority[t] = -INFINITY;
}

void lud_token_gate_run(const lud_token_gate *gate, const lud_token_experience *e, lud_token_gradient *out) {
    static const float ties = 1e-6f;
    const int64_t rows = e->rows.n, n = e->rows.begin[rows];
    lud_baseline_group_means(rows, e->reward, e->row_mask, e->group, out->baseline);
    for (int64_t i = 0; i < rows; i++) out->advantage[i] = e->reward[i] - out->baseline[i];
    prioritise(gate, e, out);
    out->n_tokens = lud_token_count(&e->rows, -1);
    out->n_kept = out->loss = 0.0;
    out->k = (int64_t)nearbyint(gate->rate * out->n_tokens);
    if (out->k < 1) out->k = 1;
    if (n == 0) return;
    out->threshold = lud_gate_kth_largest(n, out->priority, out->k, out->scratch) - ties;
    lud_token_spread(&e->rows, out->advantage, out->scratch);
    const double share = 1.0 / (out->n_tokens + 1e-8);
    for (int64_t t = 0; t < n; t++) {
        const double scale = counts(&e->rows, t) * share;
        const bool kept = scale > 0.0 && out->priority[t] >= out->threshold;
        out->weight[t] = kept;
        out->n_kept += kept;
        const double policy = kept ? -(double)out->scratch[t] : 0.0;
        out->dlog_prob[t] = (float)(scale * (policy - gate->beta_kl));
        if (scale <= 0.0) continue;
        out->loss += scale * policy * (double)e->log_prob[t];
        if (gate->beta_kl != 0.0)
            out->loss += scale * gate->beta_kl * ((double)e->sampled[t] - (double)e->log_prob[t]);
    }
}

int64_t lud_response_rows(int64_t n, const int64_t *prompt, const int64_t *response, int64_t *begin,
                          int32_t *index) {
    int64_t row = 0, token = 0;
    begin[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        assert(prompt[i] >= 1);
        for (int64_t j = 0; j < response[i]; j++) index[token++] = (int32_t)(row + prompt[i] - 1 + j);
        row += prompt[i] + response[i] - 1;
        begin[i + 1] = token;
    }
    return token;
}
