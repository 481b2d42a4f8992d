/* What made a checkpoint: the learner and the names that a world had then are those of now, or it is told
 * where they differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "learn/runs/origin.h"

TEST_FOLDER("/tmp/ludus-origin-XXXXXX")

static const char *names_now;

static void names(const lud_model *model, lud_text *out) {
    (void)model;
    lud_text_append(out, "%s", names_now);
}

static const lud_world world = {.name = "test", .names = names}, nameless = {.name = "test"};

/* As it is read from a file again. */
static lud_checkpoint *made(const lud_origin *origin) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_origin_write(origin, checkpoint);
    if (lud_checkpoint_write(checkpoint, in_folder("it.safetensors"), &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
    if (lud_checkpoint_open(in_folder("it.safetensors"), &checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

static void texts_are_kept(void **state) {
    (void)state;
    for (int given = 0; given < 8; given++) {
        const lud_origin origin = {.format = "ludus.test",
                                   .learner = "some",
                                   .configuration = given & 1 ? "ludus: 1\n" : NULL,
                                   .key = given & 2 ? "abc" : NULL,
                                   .names = given & 4 ? "one\ntwo\n" : NULL};
        lud_checkpoint *checkpoint = made(&origin);
        assert_string_equal(lud_checkpoint_text(checkpoint, "format"), "ludus.test");
        assert_string_equal(lud_checkpoint_text(checkpoint, "learner"), "some");
        static const char *const keys[3] = {"configuration", "ludus.key", "ludus.names"};
        const char *const texts[3] = {origin.configuration, origin.key, origin.names};
        for (int k = 0; k < 3; k++) {
            const char *text = lud_checkpoint_text(checkpoint, keys[k]);
            assert_int_equal(text != NULL, texts[k] != NULL);
            if (text) assert_string_equal(text, texts[k]);
        }
        lud_checkpoint_destroy(checkpoint);
    }
}

static void other_learners_are_told(void **state) {
    (void)state;
    lud_error error = {0};
    const lud_model model = {.world = &nameless};
    lud_checkpoint *checkpoint = made(&(lud_origin){.format = "f", .learner = "some"});
    assert_int_equal(lud_origin_check(checkpoint, "RUN/it", folder, "some", &model, &error), LUD_OK);
    assert_int_equal(lud_origin_check(checkpoint, "RUN/it", folder, NULL, NULL, &error), LUD_OK);
    assert_int_equal(lud_origin_check(checkpoint, "RUN/it", folder, "other", &model, &error),
                     LUD_ERROR_INPUT);
    assert_string_equal(error.text, "RUN/it: a checkpoint of learner 'some', this scenario trains 'other'");
    lud_checkpoint_destroy(checkpoint);
}

#define LONG_40  "a name of forty letters that goes on and "
#define LONG_120 LONG_40 LONG_40 LONG_40

static void other_names_are_told(void **state) {
    (void)state;
    static const struct {
        const char *saved, *now, *there, *here; /* null: they are the same */
    } cases[] = {{"ann\nbob\n", "ann\nbob\n", NULL, NULL},
                 {"", "", NULL, NULL},
                 {"ann\nbob\n", "eve\nbob\n", "ann", "eve"},
                 {"ann\nbob\ncy\n", "ann\nbill\ncy\n", "bob", "bill"},
                 {"ann\nbob\n", "ann\nbobby\n", "bob", "bobby"},
                 {"ann\nbob\n", "ann\n", "bob", "nothing more"},
                 {"ann\n", "ann\nbob\n", "nothing more", "bob"},
                 {"", "bob\n", "nothing more", "bob"},
                 {"x" LONG_120 "\n", "y" LONG_120 "\n", "x" LONG_120, "y" LONG_120}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_error error = {0};
        const lud_model model = {.world = &world}, without = {.world = &nameless};
        lud_checkpoint *checkpoint =
            made(&(lud_origin){.format = "f", .learner = "some", .names = cases[k].saved});
        names_now = cases[k].now;
        assert_int_equal(lud_origin_check(checkpoint, "it", folder, NULL, NULL, &error), LUD_OK);
        assert_int_equal(lud_origin_check(checkpoint, "it", folder, NULL, &without, &error), LUD_OK);
        const lud_status status = lud_origin_check(checkpoint, "it", folder, NULL, &model, &error);
        assert_int_equal(status, cases[k].there ? LUD_ERROR_INPUT : LUD_OK);
        if (cases[k].there) {
            char expected[512];
            snprintf(expected, sizeof expected,
                     "it: was trained on other names than those of this scenario: '%.120s' there, '%.120s' "
                     "here, is the first that differs",
                     cases[k].there, cases[k].here);
            assert_string_equal(error.text, expected);
        }
        lud_checkpoint_destroy(checkpoint);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_kept),
        cmocka_unit_test(other_learners_are_told),
        cmocka_unit_test(other_names_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
