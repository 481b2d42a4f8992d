#include <assert.h>

#include "sim/proof/proof_model.h"

/* Constants that may stand at an argument: members[n], or all constants when `members` is null. */
typedef struct choice {
    const int32_t *members;
    int32_t n;
} choice;

static int corrupted_position(const lud_proof_model *model, const lud_proof_atom *query,
                              lud_proof_corrupt mode) {
    return mode == LUD_PROOF_HEAD ? 0 : model->base->arity[query->predicate] - 1;
}

static choice choices_at(const lud_proof_model *model, const lud_proof_atom *query, int position) {
    const lud_proof_base *base = model->base;
    if (base->n_domains > 0) {
        int32_t domain = base->argument_domain[2 * query->predicate + (position > 0)];
        if (domain < 0) domain = base->domain_of[query->terms[position]];
        if (domain >= 0)
            return (choice){base->domain_members + base->domain_begin[domain],
                            base->domain_begin[domain + 1] - base->domain_begin[domain]};
    }
    return (choice){NULL, base->n_constants};
}

static int32_t pick(choice from, int32_t i) {
    return from.members ? from.members[i] : i + 1;
}

/* Whether constant `c` in place of the original makes a corruption that is not known and not in list[n]. */
static bool is_usable(const lud_proof_model *model, const lud_proof_atom *query, int position, int32_t c,
                      const lud_proof_atom *list, int32_t n, lud_proof_atom *out) {
    if (c == query->terms[position]) return false;
    lud_proof_atom atom = *query;
    atom.terms[position] = c;
    for (int32_t i = 0; i < n; i++)
        if (list[i].terms[position] == c) return false;
    if (lud_proof_is_known(model, &atom)) return false;
    *out = atom;
    return true;
}

/* One usable corruption: a few uniform draws, then a scan from the last one, so that a rare one is found too.
 * `lane` is the first of 64 counters it may use. */
static bool draw_usable(const lud_proof_model *model, const lud_proof_atom *query, int position, choice from,
                        lud_random_key key, uint32_t step, uint32_t lane, const lud_proof_atom *list,
                        int32_t n, lud_proof_atom *out) {
    enum { TRIES = 64 };
    if (from.n == 0) return false;
    int32_t i = 0;
    lud_words words = {{0}};
    for (uint32_t try = 0; try < TRIES; try++) {
        if (try % 4 == 0)
            words = lud_draw(key, step, (uint32_t)position, LUD_PURPOSE_NEGATIVE, lane + try / 4);
        i = (int32_t)lud_below(words.v[try % 4], (uint32_t)from.n);
        if (is_usable(model, query, position, pick(from, i), list, n, out)) return true;
    }
    for (int32_t k = 1; k <= from.n; k++)
        if (is_usable(model, query, position, pick(from, (i + k) % from.n), list, n, out)) return true;
    return false;
}

bool lud_proof_corrupt_once(const lud_proof_model *model, const lud_proof_atom *query, lud_proof_corrupt mode,
                            lud_random_key key, uint32_t step, lud_proof_atom *out) {
    assert(mode != LUD_PROOF_BOTH);
    int position = corrupted_position(model, query, mode);
    *out = *query;
    return draw_usable(model, query, position, choices_at(model, query, position), key, step, 0, NULL, 0,
                       out);
}

/* `k` (0: all) corruptions of one argument appended at out. */
static int32_t corrupt_argument(const lud_proof_model *model, const lud_proof_atom *query,
                                lud_proof_corrupt mode, int32_t k, lud_random_key key, uint32_t step,
                                lud_proof_atom *out, int32_t capacity) {
    int position = corrupted_position(model, query, mode);
    choice from = choices_at(model, query, position);
    int32_t n = 0;
    if (k == 0) {
        for (int32_t i = 0; i < from.n && n < capacity; i++)
            if (is_usable(model, query, position, pick(from, i), NULL, 0, &out[n])) n++;
        return n;
    }
    if (k > capacity) k = capacity;
    while (n < k &&
           draw_usable(model, query, position, from, key, step, 16 * (uint32_t)(n % 2048), out, n, &out[n]))
        n++;
    return n;
}

int32_t lud_proof_corruptions(const lud_proof_model *model, const lud_proof_atom *query,
                              lud_proof_corrupt mode, int32_t k, lud_random_key key, uint32_t step,
                              lud_proof_atom *out, int32_t capacity) {
    int32_t n;
    if (mode != LUD_PROOF_BOTH) {
        n = corrupt_argument(model, query, mode, k, key, step, out, capacity);
    } else {
        n = corrupt_argument(model, query, LUD_PROOF_HEAD, (k + 1) / 2, key, step, out, capacity);
        if (k != 1)
            n += corrupt_argument(model, query, LUD_PROOF_TAIL, k / 2, key, step, out + n, capacity - n);
    }
    for (int32_t i = n; i < k && i < capacity; i++) out[i] = (lud_proof_atom){0};
    return n;
}
