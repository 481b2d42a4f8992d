#include "learn/policy_gradient/minibatch_gate.h"

#include <math.h>

lud_status lud_minibatch_gate_create(lud_minibatch_gate *g, const lud_gate *options, int64_t n_samples,
                                     lud_error *error) {
    const size_t n = (size_t)n_samples;
    lud_arrays *a = &g->arrays;
    *g = (lud_minibatch_gate){0};
    if (options->mode == LUD_GATE_OFF) return LUD_OK;
    g->options = options;
    LUD_TAKE(a, g->weight, n);
    LUD_TAKE(a, g->advantage, n);
    LUD_TAKE(a, g->log_prob, n);
    LUD_TAKE(a, g->mean_advantage, n);
    LUD_TAKE(a, g->mean_log_prob, n);
    LUD_TAKE(a, g->delight, n);
    LUD_TAKE(a, g->uniform, n);
    LUD_TAKE(a, g->chunk_weight, n);
    LUD_TAKE(a, g->scratch, 3 * n);
    LUD_TAKE(a, g->begin, n + 1);
    if (a->failed) return lud_no_memory(error, "a gate of %lld samples", (long long)n_samples);
    return lud_gate_history_create(&g->history, options->history, options->history_min, error);
}

void lud_minibatch_gate_destroy(lud_minibatch_gate *g) {
    lud_gate_history_destroy(&g->history);
    lud_arrays_free(&g->arrays);
}

void lud_minibatch_gate_begin(lud_minibatch_gate *g, int64_t n_samples) {
    g->experiences += (uint64_t)n_samples;
    g->prices = g->rows = g->kept = 0.0;
    g->n_minibatches = 0;
}

void lud_minibatch_gate_decide(lud_minibatch_gate *g, const lud_chunk *chunks, int64_t n, const int32_t *row,
                               const float *advantage, double mean, double deviation, const float *log_prob,
                               lud_random_key key, uint32_t epoch) {
    const lud_token_rows rows = {.n = n, .begin = g->begin};
    g->begin[0] = 0;
    for (int64_t c = 0; c < n; c++) {
        const lud_words words = lud_draw(key, (uint32_t)chunks[c].first, epoch, LUD_PURPOSE_GATE, 0);
        g->uniform[c] = lud_unit_float(words.v[0]);
        g->begin[c + 1] = g->begin[c] + chunks[c].length;
    }
    g->n_rows = g->begin[n];
    for (int64_t i = 0; i < g->n_rows; i++) {
        g->advantage[i] = (float)(((double)advantage[row[i]] - mean) / deviation);
        g->log_prob[i] = log_prob[row[i]];
    }
    const lud_gate_batch batch = {.n = n,
                                  .uniform = g->uniform,
                                  .experiences = g->experiences,
                                  .history = &g->history,
                                  .weight = g->chunk_weight,
                                  .scratch = g->scratch};
    const lud_gate_decision decision =
        lud_sequence_gate(g->options, &rows, false, g->advantage, g->log_prob, g->mean_advantage,
                          g->mean_log_prob, g->delight, &batch);
    if (epoch == 0) lud_gate_history_push(&g->history, n, g->delight);
    g->price = (double)decision.price;
    g->n_kept = 0;
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = g->begin[c]; i < g->begin[c + 1]; i++) g->weight[row[i]] = g->chunk_weight[c];
        if (g->chunk_weight[c] > 0.0f) g->n_kept += chunks[c].length;
    }
    g->prices += g->price;
    g->rows += (double)g->n_rows;
    g->kept += (double)g->n_kept;
    g->n_minibatches++;
}

int64_t lud_minibatch_gate_compact(const lud_minibatch_gate *g, lud_chunk *chunks, int64_t n) {
    int64_t kept = 0;
    for (int64_t c = 0; c < n; c++)
        if (g->weight[chunks[c].first] > 0.0f) chunks[kept++] = chunks[c];
    return kept;
}

double lud_minibatch_gate_share(const lud_minibatch_gate *g) {
    return g->rows > 0.0 ? g->kept / g->rows : NAN;
}

double lud_minibatch_gate_price(const lud_minibatch_gate *g) {
    return g->n_minibatches > 0 ? g->prices / (double)g->n_minibatches : NAN;
}

void lud_minibatch_gate_visit(lud_minibatch_gate *g, lud_checkpoint *checkpoint) {
    if (!g->options) return;
    lud_checkpoint_u64(checkpoint, "gate.experiences", &g->experiences);
    lud_gate_history_visit(&g->history, checkpoint, "gate.history");
}
