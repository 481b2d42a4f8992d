#include "learn/proof_ppo/search/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"

/* A way on: path `parent` takes its successor `choice`. */
typedef struct option {
    double log_prob;
    int32_t parent, choice;
} option;

struct lud_proof_beam {
    const lud_proof_model *model;
    int32_t n_queries, width;
    size_t state_bytes;
    lud_arrays arrays;
    lud_proof_expander expander; /* all open paths, query after query */
    /* [n_queries][width] open paths, now and next */
    uint8_t *states, *next_states;
    double *log_prob, *next_log_prob;
    int32_t *n_open; /* [n_queries] */
    option *options; /* of one query */
};

lud_status lud_proof_beam_create(lud_proof_net *net, int32_t n_queries, int32_t width, lud_proof_beam **out,
                                 lud_error *error) {
    *out = NULL;
    lud_proof_beam *b = calloc(1, sizeof *b);
    if (!b) return lud_no_memory(error, "a beam search");
    const lud_proof_model *model = net->model;
    const size_t paths = (size_t)n_queries * (size_t)width;
    b->model = model;
    b->n_queries = n_queries;
    b->width = width;
    b->state_bytes = model->model.layout.state_bytes;
    lud_status status = lud_proof_expander_create(net, (int64_t)paths, &b->expander, error);
    if (status) {
        free(b);
        return status;
    }
    lud_arrays *a = &b->arrays;
    LUD_TAKE(a, b->states, paths * b->state_bytes);
    LUD_TAKE(a, b->next_states, paths * b->state_bytes);
    LUD_TAKE(a, b->log_prob, paths);
    LUD_TAKE(a, b->next_log_prob, paths);
    LUD_TAKE(a, b->n_open, (size_t)n_queries);
    LUD_TAKE(a, b->options, (size_t)width * (size_t)model->limits.max_successors);
    if (a->failed) {
        lud_proof_beam_destroy(b);
        return lud_no_memory(error, "a beam search");
    }
    *out = b;
    return LUD_OK;
}

void lud_proof_beam_destroy(lud_proof_beam *b) {
    if (!b) return;
    lud_proof_expander_free(&b->expander);
    lud_arrays_free(&b->arrays);
    free(b);
}

/* Successors of every open path, and their log-probabilities. */
static void expand(lud_proof_beam *b, int32_t n) {
    lud_proof_expander_clear(&b->expander);
    for (int32_t q = 0; q < n; q++)
        for (int32_t i = 0; i < b->n_open[q]; i++)
            lud_proof_expander_add(&b->expander,
                                   b->states + ((size_t)q * (size_t)b->width + (size_t)i) * b->state_bytes);
    lud_proof_expander_run(&b->expander);
}

/* More probable first; then in order of paths and successors, so that results do not hang on the sort. */
static int compare(const void *left, const void *right) {
    const option *a = left, *b = right;
    if (a->log_prob != b->log_prob) return a->log_prob > b->log_prob ? -1 : 1;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return (a->choice > b->choice) - (a->choice < b->choice);
}

/* Keeps the better end of a path: a proof before none, then the more probable. */
static void finish(lud_proof_found *result, const uint8_t *state, size_t bytes, double log_prob,
                   uint8_t *end) {
    const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
    const bool proved = head->outcome == LUD_PROOF_PROVED;
    if (result->length >= 0 &&
        (result->proved > proved || (result->proved == proved && result->log_prob >= log_prob)))
        return;
    *result = (lud_proof_found){log_prob, head->depth, proved, 0.0};
    if (end) memcpy(end, state, bytes);
}

/* The next open paths of query q, whose present ones are the decisions from `slot`. */
static void advance(lud_proof_beam *b, int32_t q, int32_t slot, lud_proof_found *result, uint8_t *end) {
    const lud_proof_expander *x = &b->expander;
    const size_t first = (size_t)q * (size_t)b->width;
    int32_t n_options = 0, n_next = 0;
    for (int32_t i = 0; i < b->n_open[q]; i++)
        for (int32_t s = x->begin[slot + i]; s < x->begin[slot + i + 1]; s++)
            b->options[n_options++] = (option){b->log_prob[first + (size_t)i] + x->log_probs[s], i, s};
    qsort(b->options, (size_t)n_options, sizeof *b->options, compare);
    for (int32_t k = 0; k < n_options && k < b->width; k++) {
        const option *o = &b->options[k];
        if (result->proved && o->log_prob <= result->log_prob) break;
        uint8_t *state = b->next_states + (first + (size_t)n_next) * b->state_bytes;
        lud_proof_expander_enter(x, o->choice, b->states + (first + (size_t)o->parent) * b->state_bytes,
                                 state);
        const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
        if (head->outcome == LUD_PROOF_RUNNING)
            b->next_log_prob[first + (size_t)n_next++] = o->log_prob;
        else
            finish(result, state, b->state_bytes, o->log_prob, end);
    }
    b->n_open[q] = n_next;
}

void lud_proof_beam_run(lud_proof_beam *b, const lud_proof_atom *queries, int32_t n, lud_proof_found *results,
                        uint8_t *states) {
    int32_t open = 0;
    for (int32_t q = 0; q < n; q++) {
        const size_t first = (size_t)q * (size_t)b->width;
        uint8_t *state = b->states + first * b->state_bytes;
        lud_proof_start(b->model, &queries[q], 1, q, state);
        const lud_proof_state *head = (const lud_proof_state *)(const void *)state;
        b->n_open[q] = head->outcome == LUD_PROOF_RUNNING;
        b->log_prob[first] = 0.0;
        results[q] = (lud_proof_found){0.0, -1, false, 0.0};
        if (states) memcpy(states + (size_t)q * b->state_bytes, state, b->state_bytes);
        open += b->n_open[q];
    }
    while (open > 0 && !lud_interrupted()) {
        expand(b, n);
        int32_t slot = 0;
        open = 0;
        for (int32_t q = 0; q < n; q++) {
            const int32_t here = slot;
            slot += b->n_open[q];
            if (b->n_open[q] > 0)
                advance(b, q, here, &results[q], states ? states + (size_t)q * b->state_bytes : NULL);
            open += b->n_open[q];
        }
        uint8_t *swap = b->states;
        b->states = b->next_states;
        b->next_states = swap;
        double *swap_log = b->log_prob;
        b->log_prob = b->next_log_prob;
        b->next_log_prob = swap_log;
    }
    for (int32_t q = 0; q < n; q++)
        if (results[q].length < 0) results[q].length = 0; /* a blank query */
}
