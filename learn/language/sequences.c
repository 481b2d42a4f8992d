#include "learn/language/sequences.h"

#include <assert.h>
#include <string.h>

#include "learn/policy_gradient/gated_loss.h"

int64_t lud_sequence_inputs(const lud_sequence *sequence) {
    return sequence->prompt + sequence->response - 1;
}

/* A row of inputs, which are the tokens from `first` on, without what it predicts. */
static void add_row(lud_packing *p, const lud_sequence *s, int64_t first, int64_t prompt, int64_t response) {
    const int64_t n = prompt - first + response - 1, at = p->n_inputs;
    for (int64_t j = 0; j < n; j++) {
        p->tokens[at + j] = s->tokens[first + j];
        p->positions[at + j] = (int32_t)(first + j);
    }
    p->prompts[p->n_rows] = prompt - first;
    p->responses[p->n_rows] = response;
    p->lengths[p->n_rows] = (int32_t)n;
    p->prefix_offsets[p->n_rows] = p->prefix_lengths[p->n_rows] = 0;
    p->n_inputs += n;
    p->offsets[++p->n_rows] = (int32_t)p->n_inputs;
}

/* The row that holds what a sequence shares, which is put there where no sequence before has said the same.
 */
static int64_t shared_row(lud_packing *p, const lud_sequence *s) {
    const size_t bytes = (size_t)s->shared * sizeof *s->tokens;
    for (int64_t r = 0; r < p->n_rows; r++)
        if (p->responses[r] == 0 && p->lengths[r] == s->shared && /* which sees nothing before itself */
            memcmp(p->tokens + p->offsets[r], s->tokens, bytes) == 0)
            return r;
    add_row(p, s, 0, s->shared + 1, 0);
    return p->n_rows - 1;
}

void lud_sequences_pack(int64_t n, const lud_sequence *sequences, lud_packing *packing) {
    lud_packing *p = packing;
    int64_t target = 0;
    p->n_inputs = p->n_rows = p->offsets[0] = 0;
    p->shares = false;
    for (int64_t i = 0; i < n; i++) {
        const lud_sequence *s = &sequences[i];
        assert(s->prompt >= 1 && s->response >= 0 && s->shared >= 0 && s->shared < s->prompt);
        const bool predicts = s->shared > 0 && s->response > 0; /* else it is not worth two rows */
        const int64_t prefix = predicts ? shared_row(p, s) : -1;
        add_row(p, s, predicts ? s->shared : 0, s->prompt, s->response);
        if (prefix >= 0) {
            p->prefix_offsets[p->n_rows - 1] = p->offsets[prefix];
            p->prefix_lengths[p->n_rows - 1] = p->lengths[prefix];
            p->shares = true;
        }
        for (int64_t j = 0; j < s->response; j++, target++) {
            p->targets[target] = s->tokens[s->prompt + j];
            p->owner[target] = (int32_t)i;
        }
    }
    p->n_targets = lud_response_rows(p->n_rows, p->prompts, p->responses, p->begin, p->rows);
    assert(p->n_targets == target);
}
