/* Prompts with responses behind each other, and which positions predict the responses (batched
 * log-probabilities, docs/token-agents.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A prompt of at least one token and the response to it. */
typedef struct lud_sequence {
    const int32_t *tokens; /* [prompt + response] */
    int64_t prompt, response;
    int64_t shared; /* so many first tokens, below prompt, are an input once for all sequences of a batch that
                       begin with the same and say so; 0: none */
} lud_sequence;

/* Where the sequences of a batch lie when they are packed without padding. All but the last token of each is
 * an input. What sequences share is a row of its own before the first of them, and they see it as a prefix.
 */
typedef struct lud_packing {
    int32_t *tokens, *positions;              /* [inputs] */
    int32_t *offsets, *lengths;               /* [rows + 1], [rows]: of the inputs */
    int32_t *prefix_offsets, *prefix_lengths; /* [rows] the inputs that a row sees before its own */
    int32_t *rows, *targets; /* [responses' tokens] the input that predicts it, and the token itself */
    int32_t *owner;          /* [responses' tokens] its sequence */
    int64_t *prompts, *responses, *begin; /* [rows], [rows], [rows + 1]: as lud_response_rows */
    int64_t n_inputs, n_rows, n_targets;  /* filled */
    bool shares;                          /* filled: a row has a prefix */
} lud_packing;

/* Inputs of a sequence with all that it shares: prompt + response - 1. */
int64_t lud_sequence_inputs(const lud_sequence *sequence);
/* Fills the packing, whose arrays have room (rows: no more than inputs without sharing). Token j of the
 * response is predicted at position prompt - 1 + j.
 */
void lud_sequences_pack(int64_t n, const lud_sequence *sequences, lud_packing *packing);
