/* Sequences packed behind each other: each of them can be read back from what it sees, and what several of
 * them share is there once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/language/sequences.h"

enum { MOST = 6, LONGEST = 9, TRIES = 3000, INPUTS = 2 * MOST * LONGEST };

typedef struct batch {
    int n;
    int32_t tokens[MOST][LONGEST + 1];
    lud_sequence sequences[MOST];
    /* the packing, with nothing behind its arrays */
    lud_packing packing;
} batch;

static uint32_t draw(uint32_t try, uint32_t number, uint32_t below) {
    return lud_below(lud_draw((lud_random_key){11, try}, number, 0, LUD_PURPOSE_USER, 0).v[0], below);
}

/* Few tokens and lengths, so that sequences often begin alike, with more or fewer tokens than they share. */
static void draw_batch(batch *b, uint32_t try) {
    uint32_t number = 0;
    memset(b, 0, sizeof *b);
    b->n = (int)draw(try, number++, MOST + 1);
    for (int i = 0; i < b->n; i++) {
        lud_sequence *s = &b->sequences[i];
        s->tokens = b->tokens[i];
        s->prompt = 1 + draw(try, number++, LONGEST - 4);
        s->response = draw(try, number++, 5);
        s->shared = draw(try, number++, (uint32_t)s->prompt);
        for (int64_t j = 0; j < s->prompt + s->response; j++) b->tokens[i][j] = draw(try, number++, 6) == 0;
    }
}

static void take(lud_packing *p) {
    int32_t **const words[] = {&p->tokens, &p->positions, &p->lengths, &p->prefix_offsets, &p->prefix_lengths,
                               &p->rows,   &p->targets,   &p->owner,   &p->offsets};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(*words[i] = malloc((INPUTS + 1) * sizeof(int32_t)));
    int64_t **const numbers[] = {&p->prompts, &p->responses, &p->begin};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_non_null(*numbers[i] = malloc((INPUTS + 1) * sizeof(int64_t)));
}

static void give_back(lud_packing *p) {
    free(p->tokens), free(p->positions), free(p->lengths), free(p->prefix_offsets), free(p->prefix_lengths);
    free(p->rows), free(p->targets), free(p->owner), free(p->offsets);
    free(p->prompts), free(p->responses), free(p->begin);
}

/* Rows of shared tokens before sequence i: one for each that is wanted by sequences up to it and is not there
 * yet, as what others share or as all that a sequence without a response has. */
static int shared_before(const batch *b, int i) {
    int n = 0;
    for (int k = 0; k <= i; k++) {
        const lud_sequence *s = &b->sequences[k];
        bool is_new = s->shared > 0 && s->response > 0;
        for (int earlier = 0; earlier < k && is_new; earlier++) {
            const lud_sequence *other = &b->sequences[earlier];
            const int64_t there =
                other->response > 0 ? other->shared : other->prompt - 1; /* nothing to predict */
            is_new = !(there == s->shared &&
                       memcmp(other->tokens, s->tokens, (size_t)s->shared * sizeof *s->tokens) == 0);
        }
        n += is_new;
    }
    return n;
}

static void every_sequence_sees_its_own(void **state) {
    (void)state;
    int n_shared = 0, n_alike = 0;
    for (uint32_t try = 0; try < TRIES; try++) {
        batch b;
        draw_batch(&b, try);
        lud_packing *p = &b.packing;
        take(p);
        lud_sequences_pack(b.n, b.sequences, p);
        bool shares = false;
        int64_t n_inputs = 0, target = 0, wanted = 0;
        for (int i = 0; i < b.n; i++) {
            const lud_sequence *s = &b.sequences[i];
            const int64_t prefix = s->response > 0 ? s->shared : 0;
            const int64_t row = i + shared_before(&b, i), at = p->offsets[row], n = p->lengths[row];
            assert_int_equal(n, lud_sequence_inputs(s) - prefix);
            assert_int_equal(p->offsets[row + 1], at + n);
            assert_int_equal(p->prefix_lengths[row], prefix);
            const int64_t before = p->prefix_offsets[row];
            if (prefix == 0) assert_int_equal(before, 0);
            assert_true(before + prefix <= at || prefix == 0);
            for (int64_t j = 0; j < lud_sequence_inputs(s); j++) {
                const int64_t input = j < prefix ? before + j : at + j - prefix;
                assert_int_equal(p->tokens[input], s->tokens[j]);
                assert_int_equal(p->positions[input], j);
            }
            for (int64_t j = 0; j < s->response; j++, target++) {
                assert_int_equal(p->targets[target], s->tokens[s->prompt + j]);
                assert_int_equal(p->owner[target], i);
                assert_int_equal(p->rows[target], at + s->prompt - 1 + j - prefix);
            }
            shares |= prefix > 0;
            n_inputs += n;
            wanted += prefix > 0;
        }
        const int n_prefixes = b.n ? shared_before(&b, b.n - 1) : 0;
        for (int64_t row = 0; row < p->n_rows;
             row++) /* of shared tokens: those that predict nothing and see nothing */
            assert_int_equal(p->begin[row + 1] - p->begin[row], p->responses[row]);
        assert_int_equal(p->n_rows, b.n + n_prefixes);
        assert_int_equal(p->n_targets, target);
        assert_int_equal(p->shares, shares);
        assert_true(p->n_inputs >= n_inputs);
        assert_int_equal(p->offsets[p->n_rows], p->n_inputs);
        n_shared += n_prefixes;
        n_alike += (int)wanted - n_prefixes;
        give_back(p);
    }
    print_message("%d rows are shared, %d sequences find one\n", n_shared, n_alike);
    assert_true(n_shared > TRIES / 2 && n_alike > TRIES / 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_sequence_sees_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
