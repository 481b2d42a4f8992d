#include "learn/proof_ppo/search/expander.h"

#include <assert.h>
#include <string.h>

lud_status lud_proof_expander_create(lud_proof_net *net, int64_t capacity, lud_proof_expander *x,
                                     lud_error *error) {
    *x = (lud_proof_expander){.net = net, .model = net->model};
    const lud_proof_limits *limits = &net->model->limits;
    LUD_TRY(lud_proof_decisions_create(net->model, capacity, lud_proof_net_sees(net), &x->decisions, error));
    x->decisions.sorted = true;
    const size_t lists = (size_t)capacity * (size_t)limits->max_successors;
    x->capacity = (int32_t)capacity;
    lud_arrays *a = &x->arrays;
    LUD_TAKE(a, x->lists.begin, lists + 1);
    LUD_TAKE(a, x->lists.atoms, lists * (size_t)limits->max_goals);
    LUD_TAKE(a, x->lists.hash, lists);
    LUD_TAKE(a, x->steps, lists);
    LUD_TAKE(a, x->begin, (size_t)capacity + 1);
    LUD_TAKE(a, x->log_probs, lists);
    if (!a->failed) return LUD_OK;
    lud_proof_expander_free(x);
    return lud_no_memory(error, "a search");
}

void lud_proof_expander_free(lud_proof_expander *x) {
    lud_proof_decisions_free(&x->decisions);
    lud_arrays_free(&x->arrays);
    *x = (lud_proof_expander){0};
}

void lud_proof_expander_clear(lud_proof_expander *x) {
    lud_proof_decisions_clear(&x->decisions);
    x->n = x->lists.n = 0;
    x->lists.begin[0] = x->begin[0] = 0;
}

void lud_proof_expander_add(lud_proof_expander *x, uint8_t *state) {
    assert(x->n < x->capacity);
    const int32_t first = x->lists.n;
    lud_proof_successors out = {.n = first,
                                .begin = x->lists.begin,
                                .atoms = x->lists.atoms,
                                .hash = x->lists.hash,
                                .step = x->steps};
    lud_proof_settle(x->model, state, &out, NULL);
    x->lists.n = out.n;
    lud_proof_decisions_add(&x->decisions, state, &x->lists, first, out.n - first);
    x->begin[++x->n] = out.n;
}

void lud_proof_expander_run(lud_proof_expander *x) {
    for (int32_t done = 0; done < x->n;) {
        const int32_t taken = lud_proof_net_load(x->net, &x->decisions, NULL, done, x->n - done);
        lud_proof_net_forward(x->net, false);
        for (int32_t i = 0; i < taken; i++) {
            const int32_t begin = x->net->begin[i], n = x->net->begin[i + 1] - begin;
            if (n > 0) lud_proof_log_softmax(x->net->logits + begin, n, x->log_probs + x->begin[done + i]);
        }
        done += taken;
    }
}

void lud_proof_expander_enter(const lud_proof_expander *x, int32_t i, const uint8_t *from, uint8_t *to) {
    memcpy(to, from, x->model->model.layout.state_bytes);
    lud_proof_enter(x->model, x->lists.atoms + x->lists.begin[i], x->lists.begin[i + 1] - x->lists.begin[i],
                    x->steps[i], to);
}
