/* Numbers in texts: as they are meant or not at all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"
#include "base/random.h"
#include "base/text.h"

static void test_integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int known, length;
        int64_t value;
    } cases[] = {{"12", 1, 2, 12},
                 {"-12x", 1, 3, -12},
                 {"+7 ", 1, 2, 7},
                 {"0x1F", 1, 4, 31},
                 {"-0x10", 1, 5, -16},
                 {"0o17", 1, 4, 15},
                 {"007", 1, 3, 7},
                 {"9223372036854775807", 1, 19, INT64_MAX},
                 {"9223372036854775808", -1, 19, 0},
                 {"0xFFFFFFFFFFFFFFFF", -1, 18, 0},
                 {"99999999999999999999", -1, 20, 0},
                 {"0x", 0, 0, 0},
                 {"", 0, 0, 0},
                 {"-", 0, 0, 0},
                 {"--1", 0, 0, 0},
                 {" 1", 0, 0, 0},
                 {"a", 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *end = NULL;
        int64_t value = 0;
        const int known = lud_number_integer(cases[i].text, &end, &value);
        if (known != cases[i].known || end - cases[i].text != cases[i].length ||
            (known > 0 && value != cases[i].value))
            fail_msg("'%s': %d, %ld, %lld", cases[i].text, known, (long)(end - cases[i].text),
                     (long long)value);
    }
}

static void test_reals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int length; /* 0: refused */
        double value;
    } cases[] = {{"1.5", 3, 1.5},
                 {".5,", 2, 0.5},
                 {"5.:", 2, 5},
                 {"-1e-3", 5, -1e-3},
                 {"1e", 1, 1},
                 {"1e+x", 1, 1},
                 {"0x10", 4, 16},
                 {"0x10.5", 4, 16},
                 {"12345678901234567890123", 23, 12345678901234567890123.0},
                 {"0e-400", 6, 0},
                 {"-0.0e9999", 9, -0.0},
                 {"1e-320", 6, 1e-320},
                 {"4.9e-324", 8, 4.9e-324},
                 {"1e-400", 0, 0},
                 {"-0.0001e-330", 0, 0},
                 {"1e309", 0, 0},
                 {"1e400", 0, 0},
                 {"nan", 0, 0},
                 {"inf", 0, 0},
                 {".", 0, 0},
                 {"e5", 0, 0},
                 {"", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *end = NULL;
        double value = -7;
        const bool read = lud_number_real(cases[i].text, &end, &value);
        if (read != (cases[i].length > 0) || end - cases[i].text != cases[i].length ||
            (read && memcmp(&value, &cases[i].value, sizeof value) != 0))
            fail_msg("'%s': %d, %ld, %.17g", cases[i].text, read, (long)(end - cases[i].text), value);
    }
}

/* GiB where no unit is given; binary units alone, so that nothing is read as less than was meant. */
static void test_memory(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int length; /* 0: refused */
        double gibibytes;
    } cases[] = {{"8", 1, 8},
                 {"0.5", 3, 0.5},
                 {"8G", 2, 8},
                 {"8g", 2, 8},
                 {"8GiB", 4, 8},
                 {"8 GiB", 5, 8},
                 {"4.24 GiB", 8, 4.24},
                 {"512M", 4, 0.5},
                 {"512m", 4, 0.5},
                 {"256 MiB", 7, 0.25},
                 {"1e3K", 4, 1000.0 / 1048576},
                 {"2T", 2, 2048},
                 {"0x10G", 5, 16},
                 {"8GB", 2, 8}, /* the B is left, so is what else is behind */
                 {"8Gi", 2, 8},
                 {"8 ", 1, 8},
                 {"8 x", 1, 8},
                 {"8B", 1, 8},
                 {"1e-400G", 0, 0},
                 {"G", 0, 0},
                 {"", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *end = NULL;
        double value = -7;
        const bool read = lud_number_memory(cases[i].text, &end, &value);
        if (read != (cases[i].length > 0) || end - cases[i].text != cases[i].length ||
            (read && value != cases[i].gibibytes))
            fail_msg("'%s': %d, %ld, %.17g", cases[i].text, read, (long)(end - cases[i].text), value);
    }
}

/* What a number is printed as reads back to the same bits. */
static void test_round_trip(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        const lud_words w = lud_draw((lud_random_key){5, 0}, i, 0, LUD_PURPOSE_USER, 0);
        const uint64_t bits = (uint64_t)w.v[0] << 32 | w.v[1];
        double value, again;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[40];
        snprintf(text, sizeof text, "%.17g", value);
        const char *end;
        assert_true(lud_number_real(text, &end, &again));
        assert_int_equal(*end, 0);
        assert_memory_equal(&value, &again, sizeof value);
    }
}

/* Control characters of ASCII and of the page above it become '?', other characters stay. */
static void test_tame(void **state) {
    (void)state;
    char text[] = "a\x1b[2J\tb\x7f \xc2\x9b"
                  "31m \xc3\xa9 \xc2\xa0 \xe2\x82\xac\n\xc2";
    lud_text_tame(text);
    assert_string_equal(text, "a?[2J?b? ?31m \xc3\xa9 \xc2\xa0 \xe2\x82\xac?\xc2");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_reals),
                                       cmocka_unit_test(test_memory), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_tame)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
