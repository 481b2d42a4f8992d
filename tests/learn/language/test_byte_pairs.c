/* Merges of random rules against the rule itself: of all neighbours that a rule joins those of the lowest
 * rank go first, of equal ones the leftmost, one merge after the other until none applies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/language/tokenizer/byte_pairs.h"
#include "learn/language/tokenizer/tokenizer_parts.h"

enum {
    LETTERS = 4,
    RULES = 40,
    TOKENS = LETTERS + RULES,
    LONGEST = 120,
    TOKENIZERS = 150,
    TEXTS = 12,
    MOST_BYTES = 8
};

typedef struct rules {
    lud_token_pair pair[RULES];
    int n;
} rules;

static uint32_t below(uint32_t seed, uint32_t *count, uint32_t n) {
    return lud_below(lud_draw((lud_random_key){77, seed}, (*count)++, 0, LUD_PURPOSE_USER, 0).v[0], n);
}

/* Letters, and what rules make of two tokens that were there before; ranks in any order. */
static lud_tokenizer *draw_tokenizer(uint32_t seed, uint32_t *count, rules *r) {
    lud_tokenizer *t;
    lud_error error = {0};
    char bytes[TOKENS][MOST_BYTES];
    size_t lengths[TOKENS];
    int ranks[RULES];
    *r = (rules){0};
    assert_int_equal(lud_tokenizer_make(TOKENS, RULES, &t, &error), LUD_OK);
    for (int i = 0; i < RULES; i++) {
        const int other = (int)below(seed, count, (uint32_t)i + 1);
        ranks[i] = ranks[other];
        ranks[other] = i;
    }
    for (int i = 0; i < LETTERS; i++) {
        bytes[i][0] = (char)('a' + i);
        lengths[i] = 1;
        assert_true(lud_tokenizer_set(t, i, bytes[i], 1, false));
    }
    int n = LETTERS;
    for (int i = 0; i < RULES; i++) {
        const int left = (int)below(seed, count, (uint32_t)n), right = (int)below(seed, count, (uint32_t)n);
        const size_t length = lengths[left] + lengths[right];
        bool known = length > MOST_BYTES;
        for (int k = 0; k < r->n; k++)
            known = known || (r->pair[k].left == left && r->pair[k].right == right);
        if (known) continue;
        memcpy(bytes[n], bytes[left], lengths[left]);
        memcpy(bytes[n] + lengths[left], bytes[right], lengths[right]);
        lengths[n] = length;
        assert_true(lud_tokenizer_set(t, n, bytes[n], length, false));
        r->pair[r->n] = (lud_token_pair){.left = left, .right = right, .merged = n, .rank = ranks[i]};
        lud_tokenizer_set_pair(t, r->pair[r->n++]);
        n++;
    }
    t->n = n;
    t->merges = true;
    t->pre_tokenizer = LUD_PRE_TOKENIZER_NONE;
    return t;
}

static int encode_plainly(const rules *r, const char *text, int32_t *tokens) {
    int n = (int)strlen(text);
    for (int i = 0; i < n; i++) tokens[i] = text[i] - 'a';
    for (;;) {
        int at = -1;
        const lud_token_pair *best = NULL;
        for (int i = 0; i + 1 < n; i++)
            for (int k = 0; k < r->n; k++) {
                const lud_token_pair *p = &r->pair[k];
                if (p->left != tokens[i] || p->right != tokens[i + 1] || (best && best->rank <= p->rank))
                    continue;
                best = p;
                at = i;
            }
        if (!best) return n;
        tokens[at] = best->merged;
        memmove(tokens + at + 1, tokens + at + 2, (size_t)(n - at - 2) * sizeof *tokens);
        n--;
    }
}

static void merges_go_by_rank(void **state) {
    (void)state;
    int n_merged = 0;
    for (uint32_t seed = 0; seed < TOKENIZERS; seed++) {
        rules r;
        uint32_t count = 0;
        lud_tokenizer *t = draw_tokenizer(seed, &count, &r);
        for (int k = 0; k < TEXTS; k++) {
            char text[LONGEST + 1];
            int32_t expected[LONGEST], found[LONGEST + 1];
            const int length = 1 + (int)below(seed, &count, LONGEST);
            for (int i = 0; i < length; i++) text[i] = (char)('a' + below(seed, &count, LETTERS));
            text[length] = 0;
            const int n = encode_plainly(&r, text, expected);
            assert_int_equal(lud_byte_pairs_encode(t, text, (size_t)length, found, LONGEST + 1), n);
            assert_memory_equal(found, expected, (size_t)n * sizeof *found);
            /* of too many as many as there is room for, and how many there are */
            memset(found, 0xff, sizeof found);
            assert_int_equal(lud_byte_pairs_encode(t, text, (size_t)length, found, n / 2), n);
            assert_memory_equal(found, expected, (size_t)(n / 2) * sizeof *found);
            assert_int_equal(found[n / 2], -1);
            n_merged += length - n;
        }
        lud_tokenizer_destroy(t);
    }
    assert_true(n_merged > 20000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(merges_go_by_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
