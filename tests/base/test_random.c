/* Philox4x32-10 against the known answers published with Random123 (Salmon et al., file kat_vectors), and the
 * draws built on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/random.h"

typedef struct known_answer {
    uint32_t counter[4], key[2], result[4];
} known_answer;

static const known_answer answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const known_answer *a = &answers[i];
        /* through our own draw: seed = (counter 3, key 0), environment = key 1, purpose and lane = counter 2
         */
        lud_random_key key = {(uint64_t)a->counter[3] << 32 | a->key[0], a->key[1]};
        lud_words w = lud_draw(key, a->counter[0], a->counter[1], (lud_purpose)(a->counter[2] >> 16),
                               a->counter[2] & 0xffff);
        for (int k = 0; k < 4; k++) assert_int_equal(w.v[k], a->result[k]);
    }
}

static void test_ranges(void **state) {
    (void)state;
    assert_true(lud_unit(0) == 0.0);
    assert_true(lud_unit(0xffffffff) < 1.0);
    assert_true(lud_unit53(0xffffffff, 0xffffffff) < 1.0);
    assert_true(lud_unit53(0, 0x7ff) == 0.0);
    assert_true(lud_unit53(0, 0x800) == 1.0 / 9007199254740992.0);
    assert_true(lud_unit_float(0xffffffff) < 1.0f);
    assert_int_equal(lud_below(0xffffffff, 7), 6);
    assert_int_equal(lud_below(0, 7), 0);
    double normal[2];
    lud_normal_pair(0xffffffff, 0, normal);
    assert_true(normal[0] == 0 && normal[1] == 0);
    lud_normal_pair(0, 0, normal);
    assert_true(normal[0] > 6.6 && normal[0] < 6.7);
}

/* Means and variances over many draws, within five standard errors. */
static void test_moments(void **state) {
    (void)state;
    enum { N = 20000 };
    double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
    int counts[6] = {0};
    for (uint32_t i = 0; i < N; i++) {
        lud_words w = lud_draw((lud_random_key){3, 1}, i, 0, LUD_PURPOSE_USER, 0);
        double u = lud_unit(w.v[0]), normal[2];
        sum += u;
        squares += u * u;
        counts[lud_below(w.v[1], 6)]++;
        lud_normal_pair(w.v[2], w.v[3], normal);
        normal_sum += normal[0] + normal[1];
        normal_squares += normal[0] * normal[0] + normal[1] * normal[1];
    }
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(squares / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
    assert_true(fabs(normal_sum / (2 * N)) < 5 * sqrt(1.0 / (2 * N)));
    assert_true(fabs(normal_squares / (2 * N) - 1) < 5 * sqrt(2.0 / (2 * N)));
    for (int k = 0; k < 6; k++) assert_true(abs(counts[k] - N / 6) < 5 * sqrt(N * 5.0 / 36));
}

static void test_independence(void **state) {
    (void)state;
    lud_words a = lud_draw((lud_random_key){1, 0}, 0, 0, LUD_PURPOSE_RESET, 0);
    const lud_words others[] = {
        lud_draw((lud_random_key){2, 0}, 0, 0, LUD_PURPOSE_RESET, 0),
        lud_draw((lud_random_key){1ull << 32 | 1, 0}, 0, 0, LUD_PURPOSE_RESET, 0),
        lud_draw((lud_random_key){1, 1}, 0, 0, LUD_PURPOSE_RESET, 0),
        lud_draw((lud_random_key){1, 0}, 1, 0, LUD_PURPOSE_RESET, 0),
        lud_draw((lud_random_key){1, 0}, 0, 1, LUD_PURPOSE_RESET, 0),
        lud_draw((lud_random_key){1, 0}, 0, 0, LUD_PURPOSE_TRANSITION, 0),
        lud_draw((lud_random_key){1, 0}, 0, 0, LUD_PURPOSE_RESET, 1),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_true(a.v[0] != others[i].v[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_answers), cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_moments), cmocka_unit_test(test_independence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
