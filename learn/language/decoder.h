/* One run of a transformer over tokens whose earlier keys and values are cached: the step of generate.h. Not
 * for others. */
#pragma once

#include "learn/language/kv_cache.h"
#include "learn/nn/arrays.h"

/* Tokens of a run, in pieces of rows. A piece is some tokens that follow each other; it sees the row's tokens
 * before them, of which the first may lie in a prefix, and itself causally. Host memory; filled by the
 * caller.
 */
typedef struct lud_decoder_run {
    int64_t n_tokens, n_pieces, n_wanted, used_slots;
    int32_t *tokens, *positions, *slots;      /* [max_tokens] */
    int32_t *query_offsets;                   /* [max_pieces + 1] */
    int32_t *key_offsets, *key_lengths;       /* [max_pieces] own keys, those of the piece included */
    int32_t *prefix_offsets, *prefix_lengths; /* [max_pieces] */
    int32_t *wanted;                          /* [max_rows] tokens of the run whose logits are wanted */
} lud_decoder_run;

typedef struct lud_decoder {
    lud_device *device;
    lud_transformer_shape shape;
    const lud_parameters *parameters;
    bool no_logits;    /* of the next runs only the states are wanted */
    bool half, packed; /* weights as bfloat16; packed copies (else the parameters themselves) */
    int64_t max_tokens, max_rows;
    size_t weight_bytes, activation_bytes;
    lud_kv_cache cache;
    void *memory, *matrices[LUD_TRANSFORMER_MAX_LAYERS][LUD_PART_MATRICES], *head; /* packed */
    float *x, *h, *q, *k, *v, *attended, *gate, *up, *last;                        /* activations */
    float *logits, *filtered; /* [max_rows][vocabulary] */
    lud_decoder_run run, on_device;
    lud_arrays arrays;
} lud_decoder;

/* False when memory is out; then nothing is held. `capacity`: tokens of the cache. */
bool lud_decoder_create(lud_decoder *decoder, const lud_transformer_shape *shape,
                        const lud_parameters *parameters, bool half, bool cache_bytes, int64_t max_tokens,
                        int64_t max_rows, int64_t capacity);
void lud_decoder_destroy(lud_decoder *decoder);
/* Copies the parameters. */
void lud_decoder_publish(lud_decoder *decoder);
/* Runs what `run` holds: logits[n_wanted][vocabulary]. */
void lud_decoder_forward(lud_decoder *decoder);
