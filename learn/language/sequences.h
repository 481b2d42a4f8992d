/* Prompts with responses behind each other, and which positions predict the responses (batched
 * log-probabilities, docs/token-agents.md). */
#pragma once

#include <stdint.h>

/* A prompt of at least one token and the response to it. */
typedef struct lud_sequence {
    const int32_t *tokens; /* [prompt + response] */
    int64_t prompt, response;
} lud_sequence;

/* Where the sequences of a batch lie when they are packed without padding. All but the last token of each is
 * an input. */
typedef struct lud_packing {
    int32_t *tokens, *positions; /* [inputs] */
    int32_t *offsets, *lengths;  /* [sequences + 1], [sequences]: of the inputs */
    int32_t *rows, *targets;     /* [responses' tokens] the input that predicts it, and the token itself */
    int32_t *owner;              /* [responses' tokens] its sequence */
    int64_t *prompts, *responses,
        *begin; /* [sequences], [sequences], [sequences + 1]: as lud_response_rows */
    int64_t n_inputs, n_sequences, n_targets; /* filled */
} lud_packing;

/* Inputs of a sequence: prompt + response - 1. */
int64_t lud_sequence_inputs(const lud_sequence *sequence);
/* Fills the packing, whose arrays have room. Token j of the response is predicted at position prompt - 1 + j.
 */
void lud_sequences_pack(int64_t n, const lud_sequence *sequences, lud_packing *packing);
