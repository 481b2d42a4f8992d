#include "learn/proof_ppo/evaluation/refuter.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ATOMS = 1 << 22, MOST_WORK = 1 << 22 };
/* What a question may cost of what playing would, and what an answer earns: not all is refuted, and of what
 * is not all is saved. */
enum { PRICE = 8, EARNS = 2 };
/* A match takes some 25 nanoseconds; a state 1 microsecond and 0.01 nanoseconds a weight. */
enum { MATCHES_A_STATE = 40, WEIGHTS_A_MATCH = 2500 };

int64_t lud_proof_refuter_worth(int64_t n_weights) {
    return MATCHES_A_STATE + n_weights / WEIGHTS_A_MATCH;
}

static lud_status begin(lud_proof_refuter *r, lud_error *error) {
    const lud_prover_options options = {.excluded = -1, .max_atoms = MOST_ATOMS, .max_work = MOST_WORK};
    lud_prover_destroy(r->prover);
    r->prover = NULL;
    return lud_prover_create(r->base, &options, &r->prover, error);
}

lud_status lud_proof_refuter_create(const lud_proof_base *base, lud_proof_refuter *r, lud_error *error) {
    const size_t n = (size_t)base->n_constants + 1;
    *r = (lud_proof_refuter){.base = base};
    r->answers = calloc(n, sizeof *r->answers);
    r->possible = calloc(n, sizeof *r->possible);
    lud_status status = r->answers && r->possible ? begin(r, error) : lud_no_memory(error, "a ranking");
    if (status) lud_proof_refuter_free(r);
    return status;
}

void lud_proof_refuter_free(lud_proof_refuter *r) {
    lud_prover_destroy(r->prover);
    LUD_FREE(r->answers, r->possible);
    *r = (lud_proof_refuter){0};
}

void lud_proof_refuter_allow(lud_proof_refuter *r, int64_t worth) {
    r->credit += worth / PRICE;
}

lud_status lud_proof_refuter_ask(lud_proof_refuter *r, const lud_proof_atom *query, int argument,
                                 int64_t worth, lud_error *error) {
    const int32_t n_constants = r->base->n_constants;
    lud_proof_atom pattern = *query;
    int64_t n = 0;
    r->complete = false;
    if (r->credit <= 0) return LUD_OK;
    pattern.terms[argument] = n_constants + 1; /* a variable */
    lud_prover_limit_work(r->prover, r->credit < MOST_WORK ? r->credit : MOST_WORK);
    LUD_TRY(lud_prover_list(r->prover, &pattern, n_constants, r->answers, &n, &r->complete, error));
    r->spent += lud_prover_work(r->prover);
    r->credit -= lud_prover_work(r->prover);
    if (!r->complete) return lud_prover_is_full(r->prover) ? begin(r, error) : LUD_OK;
    r->credit += worth / EARNS;
    memset(r->possible, 0, (size_t)n_constants + 1);
    for (int64_t i = 0; i < n && i < n_constants; i++) r->possible[r->answers[i].terms[argument]] = 1;
    return LUD_OK;
}

bool lud_proof_refutes(const lud_proof_refuter *r, int32_t constant) {
    return r->complete && !r->possible[constant];
}
