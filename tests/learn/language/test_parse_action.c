/* Actions out of what a language model has written, thoughts and other braces around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/random.h"
#include "learn/language/parse_action.h"

static const char *const names[] = {"left", NULL, "forward", "pick up"};
enum { NAMES = 4, NOTHING = -1, UNKNOWN = -2 };

/* The number of the choice, NOTHING or UNKNOWN. */
static int read_choice(lud_parse_mode mode, const char *text) {
    int32_t choice = 77;
    switch (lud_parse_choice(mode, text, strlen(text), names, NAMES, &choice)) {
    case LUD_PARSED:
        return choice;
    case LUD_PARSED_NOTHING:
        assert_int_equal(choice, 77);
        return NOTHING;
    default:
        assert_int_equal(choice, 77);
        return UNKNOWN;
    }
}

static void texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int flat, balanced;
    } cases[] = {
        {"{\"action\": \"left\"}", 0, 0},
        {"I go. {\"action\":\"forward\"} or {\"action\":\"left\"}", 2, 2},
        {"{\"why\": 1} {\"action\": \"pick up\"}", NOTHING,
         3}, /* the first alone, or the first with the key */
        {"{\"where\": {\"x\": 1}, \"action\": \"left\"}", NOTHING, 0},
        {"{\"say\": \"}\", \"action\": \"left\"}", NOTHING, 0}, /* a brace in a string closes nothing */
        {"{\"say\": \"\\\"}{\", \"action\": \"left\"}", NOTHING, 0},
        {"{ {\"action\": \"left\"}", 0, 0},
        {"} {\"action\": \"left\"}", 0, 0},
        {"{\"action\": \"back\"}", UNKNOWN, UNKNOWN},
        {"{\"action\": 2}", UNKNOWN, UNKNOWN},
        {"{\"Action\": \"left\"}", NOTHING, NOTHING},
        {"{\"action\": \"left\"", NOTHING, NOTHING},
        {"[\"action\", \"left\"]", NOTHING, NOTHING},
        {"", NOTHING, NOTHING},
        {"</think>", NOTHING, NOTHING},
        /* what was thought does not count, up to the last mark */
        {"<think>{\"action\": \"left\"}</think>{\"action\": \"forward\"}", 2, 2},
        {"{\"action\": \"left\"}</think>", NOTHING, NOTHING},
        {"a</think>{\"action\": \"left\"}</think> {\"action\": \"pick up\"} and so on", 3, 3},
        {"<think>well</think", NOTHING, NOTHING},
        {"{\"action\": \"left\"}</think", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = 0; mode < 2; mode++) {
            const int found = read_choice(mode ? LUD_PARSE_BALANCED : LUD_PARSE_FLAT, cases[i].text);
            if (found != (mode ? cases[i].balanced : cases[i].flat))
                fail_msg("%s, %s: %d", cases[i].text, lud_parse_mode_names[mode], found);
        }
}

/* An object's own text is found within any other, and a scan is complete with its last brace and not before,
 * in however many pieces it comes. */
static void scans_end_with_the_object(void **state) {
    (void)state;
    static const char *const objects[] = {"{\"action\":\"left\"}", "{\"a\":{\"b\":{}},\"action\":\"x\"}",
                                          "{\"action\":\"\\\\\",\"say\":\"{{{\"}",
                                          "{\"say\":\"\\\"}\",\"action\":{\"x\":[1,{}]}}"};
    const lud_random_key key = {.seed = 5};
    for (uint32_t trial = 0; trial < 400; trial++) {
        const char *object = objects[trial % 4];
        char text[128] = "";
        const uint32_t before = lud_draw(key, trial, 0, LUD_PURPOSE_USER, 0).v[0] % 20;
        for (uint32_t i = 0; i < before; i++) /* no brace opens there */
            text[i] = "ab }\"\\:"[lud_draw(key, trial, i, LUD_PURPOSE_USER, 1).v[0] % 7];
        strcat(text, object);
        const size_t end = strlen(text);
        strcat(text, " and {more}");
        lud_object_scan scan = {0};
        for (size_t at = 0; text[at];) {
            size_t n = 1 + lud_draw(key, trial, (uint32_t)at, LUD_PURPOSE_USER, 2).v[0] % 3;
            if (n > strlen(text + at)) n = strlen(text + at);
            at += n;
            assert_int_equal(lud_object_scan_next(&scan, text + at - n, n), at >= end);
        }
        json_t *found = lud_parse_action(LUD_PARSE_BALANCED, text, strlen(text)),
               *whole = json_loads(object, 0, NULL);
        assert_non_null(whole);
        assert_true(json_equal(found, whole));
        json_decref(found);
        json_decref(whole);
        for (size_t cut = 0; cut < end; cut++) assert_null(lud_parse_action(LUD_PARSE_BALANCED, text, cut));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(scans_end_with_the_object)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
