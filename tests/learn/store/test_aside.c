/* Old results make room for new ones, whole, also when the move is ended at any place and gone on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/runs/aside.h"

TEST_FOLDER("/tmp/ludus-aside-XXXXXX")
static const char *const parts[] = {"policy.safetensors", "checkpoint.safetensors", "metrics.csv",
                                    "scenario.yaml"};
enum { N_PARTS = sizeof parts / sizeof *parts };

static const char *place(const char *where, const char *name) {
    static char path[8][256];
    static int k;
    k = (k + 1) % 8;
    snprintf(path[k], sizeof path[k], "%s/%s%s", folder, where, name);
    return path[k];
}

static void write_part(const char *where, int part, const char *text) {
    lud_error error = {0};
    if (lud_file_write(place(where, parts[part]), text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void expect(const char *where, const char *text) {
    for (int k = 0; k < N_PARTS; k++) {
        char found[64] = "";
        FILE *stream = fopen(place(where, parts[k]), "rb");
        if (!stream) fail_msg("%s%s is not there", where, parts[k]);
        found[fread(found, 1, sizeof found - 1, stream)] = '\0';
        fclose(stream);
        assert_string_equal(found, text);
    }
    assert_false(lud_file_exists(place(where, ".moving")));
}

static void set_aside(const char *expected) {
    lud_error error = {0};
    char *name;
    if (lud_run_set_aside(folder, &name, &error)) fail_msg("%s", error.text);
    if (expected)
        assert_string_equal(name, expected);
    else
        assert_null(name);
    free(name);
}

static void moves_are_whole(void **state) {
    (void)state;
    write_part("", 0, "x");
    assert_true(lud_run_has_results(folder));
    for (int k = 0; k < N_PARTS; k++) write_part("", k, "first");
    set_aside("aside-1");
    expect("aside-1/", "first");
    assert_false(lud_run_has_results(folder));
    set_aside(NULL); /* nothing is left to move */
    /* ended after any number of files, as the mark says that is left then */
    for (int ended = 0; ended <= N_PARTS; ended++) {
        char room[32], where[64], text[32];
        snprintf(room, sizeof room, "aside-%d", ended + 2);
        snprintf(where, sizeof where, "%s/", room);
        snprintf(text, sizeof text, "run %d", ended);
        for (int k = 0; k < N_PARTS; k++) write_part("", k, text);
        assert_int_equal(mkdir(place("", room), 0777), 0);
        fclose(fopen(place(where, ".moving"), "wb"));
        for (int k = 0; k < ended; k++)
            assert_int_equal(rename(place("", parts[k]), place(where, parts[k])), 0);
        set_aside(room);
        expect(where, text);
    }
    /* the mark is gone: what comes next has a place of its own, also where it was ended before the mark */
    for (int k = 0; k < N_PARTS; k++) write_part("", k, "last");
    assert_int_equal(mkdir(place("", "aside-7"), 0777), 0);
    set_aside("aside-7");
    expect("aside-7/", "last");
    expect("aside-6/", "run 4");
    expect("aside-1/", "first");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_are_whole)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
