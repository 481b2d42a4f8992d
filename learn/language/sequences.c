#include "learn/language/sequences.h"

#include <assert.h>
#include <string.h>

#include "learn/policy_gradient/gated_loss.h"

int64_t lud_sequence_inputs(const lud_sequence *sequence) {
    return sequence->prompt + sequence->response - 1;
}

void lud_sequences_pack(int64_t n, const lud_sequence *sequences, lud_packing *packing) {
    int64_t at = 0, target = 0;
    packing->offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const lud_sequence *s = &sequences[i];
        const int64_t inputs = lud_sequence_inputs(s);
        assert(s->prompt >= 1 && s->response >= 0);
        packing->prompts[i] = s->prompt;
        packing->responses[i] = s->response;
        for (int64_t j = 0; j < inputs; j++) {
            packing->tokens[at + j] = s->tokens[j];
            packing->positions[at + j] = (int32_t)j;
        }
        for (int64_t j = 0; j < s->response; j++, target++) {
            packing->targets[target] = s->tokens[s->prompt + j];
            packing->owner[target] = (int32_t)i;
        }
        at += inputs;
        packing->lengths[i] = (int32_t)inputs;
        packing->offsets[i + 1] = (int32_t)at;
    }
    packing->n_inputs = at;
    packing->n_sequences = n;
    packing->n_targets =
        lud_response_rows(n, packing->prompts, packing->responses, packing->begin, packing->rows);
    assert(packing->n_targets == target);
}
