/* The order of samples in an epoch: every order is as likely as any other, nothing is lost, and it goes by
 * the key and the epoch alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/policy_gradient/update.h"

static void number(lud_chunk *chunks, int n) {
    for (int i = 0; i < n; i++) chunks[i] = (lud_chunk){.first = 10 * i, .length = i + 1};
}

static void orders_are_alike(void **state) {
    (void)state;
    enum { MOST = 4, DRAWS = 24000 };
    for (int n = 2; n <= MOST; n++) {
        int count[256] = {0}, orders = 1, found = 0;
        for (int i = 2; i <= n; i++) orders *= i;
        for (uint32_t k = 0; k < DRAWS; k++) {
            lud_chunk chunks[MOST + 1];
            int code = 0, seen = 0;
            number(chunks, MOST + 1);
            lud_update_shuffle(chunks, n, (lud_random_key){5, k % 200}, k / 200);
            for (int i = 0; i < n; i++) {
                const int which = chunks[i].first / 10;
                assert_int_equal(chunks[i].length, which + 1);
                code = code * 4 + which;
                seen |= 1 << which;
            }
            assert_int_equal(seen, (1 << n) - 1);
            assert_int_equal(chunks[n].first, 10 * n); /* what stands behind stays */
            count[code]++;
        }
        const double expected = (double)DRAWS / orders;
        for (int code = 0; code < 256; code++) {
            if (!count[code]) continue;
            found++;
            assert_true(fabs(count[code] - expected) < 5 * sqrt(expected));
        }
        assert_int_equal(found, orders);
    }
}

static void one_and_none_stay(void **state) {
    (void)state;
    lud_chunk chunks[2];
    number(chunks, 2);
    for (int n = 0; n < 2; n++) lud_update_shuffle(chunks, n, (lud_random_key){5, 6}, 7);
    assert_int_equal(chunks[0].first, 0);
    assert_int_equal(chunks[1].first, 10);
}

static void orders_go_by_key_and_epoch(void **state) {
    (void)state;
    enum { N = 100 };
    lud_chunk first[N], again[N], other[N];
    number(first, N), number(again, N);
    lud_update_shuffle(first, N, (lud_random_key){5, 6}, 7);
    lud_update_shuffle(again, N, (lud_random_key){5, 6}, 7);
    assert_memory_equal(first, again, sizeof first);
    static const struct {
        lud_random_key key;
        uint32_t epoch;
    } others[] = {{{5, 6}, 8}, {{5, 7}, 7}, {{6, 6}, 7}};
    for (int k = 0; k < 3; k++) {
        number(other, N);
        lud_update_shuffle(other, N, others[k].key, others[k].epoch);
        assert_memory_not_equal(first, other, sizeof first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_alike),
                                       cmocka_unit_test(one_and_none_stay),
                                       cmocka_unit_test(orders_go_by_key_and_epoch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
