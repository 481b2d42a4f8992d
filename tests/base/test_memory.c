/* Arenas, growing text, status messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

static void test_arena(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(256);
    assert_non_null(arena);
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *piece = lud_arena_take(arena, n);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % 64, 0);
        for (size_t i = 0; i < n; i++) assert_int_equal(piece[i], 0);
        memset(piece, 0xab, n);
    }
    lud_arena_mark mark = lud_arena_get_mark(arena);
    char *before = lud_arena_text(arena, "hello", 3);
    assert_string_equal(before, "hel");
    for (int i = 0; i < 50; i++) assert_non_null(lud_arena_take_array(arena, 100, 100));
    size_t held = lud_arena_bytes(arena);
    for (int round = 0; round < 20; round++) { /* what was released is used again, zeroed, without growing */
        lud_arena_release(arena, mark);
        char *again = lud_arena_take(arena, 4);
        assert_ptr_equal(again, before);
        assert_int_equal(again[0], 0);
        again[0] = 'x';
        for (int i = 0; i < 50; i++) assert_non_null(lud_arena_take_array(arena, 100, 100));
    }
    assert_int_equal(lud_arena_bytes(arena), held);
    assert_null(lud_arena_take_array(arena, SIZE_MAX / 2, 3));
    assert_null(lud_arena_take(arena, SIZE_MAX - 10));
    assert_null(lud_arena_text(arena, "", SIZE_MAX));
    assert_non_null(lud_arena_take_array(arena, 0, 8));
    lud_arena_destroy(arena);
    lud_arena_destroy(NULL);
    assert_null(lud_arena_create(SIZE_MAX - 5));
}

static void test_text(void **state) {
    (void)state;
    lud_text text = {0};
    for (int i = 0; i < 1000; i++) lud_text_append(&text, "%d,", i);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_string_equal(text.bytes + text.length - 8, "998,999,");
    lud_text_clear(&text);
    assert_string_equal(text.bytes, "");
    lud_text_append_bytes(&text, "abc", 2);
    assert_string_equal(text.bytes, "ab");
    assert_false(text.failed);
    lud_text_free(&text);
    assert_null(text.bytes);
}

static void test_messages(void **state) {
    (void)state;
    lud_error error = {0};
    assert_int_equal(lud_fail(&error, LUD_ERROR_IO, "disk %d", 3), LUD_ERROR_IO);
    assert_string_equal(error.text, "disk 3");
    assert_int_equal(lud_fail_context(&error, "saving %s", "x"), LUD_ERROR_IO);
    assert_string_equal(error.text, "saving x: disk 3");
    assert_int_equal(lud_fail_at(&error, LUD_ERROR_INPUT, (lud_place){"f", 3, 4}, "no"), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "f:3:4: no");
    lud_fail_at(&error, LUD_ERROR_INPUT, (lud_place){"f", 0, 0}, "no");
    assert_string_equal(error.text, "f: no");
    lud_fail_at(&error, LUD_ERROR_INPUT, (lud_place){0}, "no");
    assert_string_equal(error.text, "no");
    assert_int_equal(lud_fail(NULL, LUD_ERROR_LIMIT, "nobody listens"), LUD_ERROR_LIMIT);
    char huge[3000];
    memset(huge, 'h', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    lud_fail(&error, LUD_ERROR_INPUT, "%s", huge);
    assert_int_equal(strlen(error.text), LUD_ERROR_TEXT_BYTES - 1);
    lud_fail_context(&error, "%s", huge);
    assert_int_equal(strlen(error.text), LUD_ERROR_TEXT_BYTES - 1);
    lud_fail_at(&error, LUD_ERROR_INPUT, (lud_place){huge, 1, 1}, "no");
    assert_int_equal(strlen(error.text), LUD_ERROR_TEXT_BYTES - 1);
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const names[] = {"environments", "seed", "episodes", "steps", "map"};
    assert_string_equal(lud_nearest_name("enviroments", names, 5), "environments");
    assert_string_equal(lud_nearest_name("sede", names, 5), "seed");
    assert_string_equal(lud_nearest_name("step", names, 5), "steps");
    assert_string_equal(lud_nearest_name("mpa", names, 5), "map");
    assert_null(lud_nearest_name("colour", names, 5));
    const char *const theory[] = {"zeta", "beta_robots", "beta_r", "xi"};
    assert_string_equal(lud_nearest_name("beta", theory, 4), "beta_r");
    assert_string_equal(lud_nearest_name("xi_", theory, 4), "xi");
    assert_null(lud_nearest_name("", names, 5));
    char huge[200];
    memset(huge, 'h', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    assert_null(lud_nearest_name(huge, names, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arena), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_messages), cmocka_unit_test(test_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
