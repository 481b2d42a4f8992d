/* Settings of a RUN: what makes another key and what does not, and how differences are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/runs/settings.h"
#include "written.h"

TEST_FOLDER("/tmp/ludus-settings-XXXXXX")

static const char *key_of(const char *configuration) {
    static char keys[8][LUD_KEY_BYTES]; /* several are compared */
    static int next;
    lud_error error = {0};
    char *key = keys[next++ % 8];
    if (lud_settings_key(folder, configuration, key, &error)) fail_msg("%s", error.text);
    assert_int_equal(strlen(key), LUD_KEY_BYTES - 1);
    assert_int_equal(strspn(key, "0123456789abcdef"), LUD_KEY_BYTES - 1);
    return key;
}

/* ---- keys ---- */

static const char plain[] =
    "name: one\nabout: words\nworld: w\nrun: {threads: 1, episodes: 2, steps: 3, seed: 4}\n"
    "view: {cell: 8}\nlearner: {type: t, sizes: [1, 2], none: [], empty: {}}\n";

/* Names, remarks, views, threads and episodes are of no account; all else is, wherever it stands. */
static void keys_are_of_what_counts(void **state) {
    (void)state;
    static const char *const same[] = {
        "name: two\nabout: words\nworld: w\nrun: {threads: 1, episodes: 2, steps: 3, seed: 4}\nview: {cell: "
        "8}\n"
        "learner: {type: t, sizes: [1, 2], none: [], empty: {}}\n",
        "about: [other, words]\nworld: w\nrun: {threads: 7, episodes: 9, steps: 3, seed: 4}\n"
        "learner: {type: t, sizes: [1, 2], none: [], empty: {}}\n",
        "world: w\nview: {cell: {wide: 9}, path: x}\nrun: {steps: 3, seed: 4}\n"
        "learner: {type: \"t\", sizes:\n  [1,\n   2], none: [], empty: {}}\n",
    };
    static const char *const others[] = {
        "world: w2\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [1, 2], none: [], empty: {}}\n",
        "world: w\nrun: {steps: 4, seed: 4}\nlearner: {type: t, sizes: [1, 2], none: [], empty: {}}\n",
        "world: w\nrun: {steps: 3}\nlearner: {type: t, sizes: [1, 2], none: [], empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [2, 1], none: [], empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [12], none: [], empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [1, 2], none: {}, empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [1, 2], empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4, threads_x: 1}\nlearner: {type: t, sizes: [1, 2], none: [], "
        "empty: {}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nnames: x\nlearner: {type: t, sizes: [1, 2], none: [], empty: "
        "{}}\n",
        "world: w\nrun: {steps: 3, seed: 4}\nlearner: {type: t, sizes: [1, 2], none: [], empty: {}, name: "
        "x}\n",
    };
    enum { N_OTHERS = sizeof others / sizeof *others };
    char keys[N_OTHERS + 1][LUD_KEY_BYTES];
    strcpy(keys[N_OTHERS], key_of(plain));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(key_of(same[i]), keys[N_OTHERS]);
    for (int i = 0; i < N_OTHERS; i++) strcpy(keys[i], key_of(others[i]));
    for (int i = 0; i <= N_OTHERS; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(keys[i], keys[j]);
    char key[LUD_KEY_BYTES];
    lud_error error = {0};
    assert_int_equal(lud_settings_key(folder, "a: [1", key, &error), LUD_ERROR_INPUT);
}

/* What a setting names in RUN/files belongs to the key: each byte of it, names within it, its length; not
 * what is hidden, or elsewhere. */
static void keys_are_of_files(void **state) {
    (void)state;
    static const char text[] = "world: w\nlearner: {start: files/a, list: files/list.txt}\n";
    char first[LUD_KEY_BYTES], now[LUD_KEY_BYTES];
    strcpy(first, key_of(text)); /* nothing is there */
    assert_int_equal(mkdir(in_folder("files"), 0700), 0);
    write_in(folder, "files/list.txt", "one");
    strcpy(now, key_of(text));
    assert_string_not_equal(now, first);
    strcpy(first, now);
    write_in(folder, "files/list.txt", "two");
    assert_string_not_equal(key_of(text), first);
    write_in(folder, "files/list.txt", "one");
    assert_string_equal(key_of(text), first);

    assert_int_equal(mkdir(in_folder("files/a"), 0700), 0);
    assert_int_equal(mkdir(in_folder("files/a/within"), 0700), 0);
    strcpy(first, key_of(text));
    write_in(folder, "files/a/within/b", "1");
    write_in(folder, "files/a/c", "2");
    strcpy(now, key_of(text));
    assert_string_not_equal(now, first);
    write_in(folder, "files/a/.hidden", "x");
    write_in(folder, "files/other", "x");
    write_in(folder, "beside", "x");
    assert_string_equal(key_of(text), now);
    write_in(folder, "files/a/within/b", "3");
    assert_string_not_equal(key_of(text), now);
    write_in(folder, "files/a/within/b", "1");
    char from[512], to[512];
    snprintf(from, sizeof from, "%s", in_folder("files/a/c"));
    snprintf(to, sizeof to, "%s", in_folder("files/a/d"));
    assert_int_equal(rename(from, to), 0);
    assert_string_not_equal(key_of(text), now);

    /* files elsewhere are not looked at */
    const char *const elsewhere[] = {"learner: {start: files/../beside}\n", "learner: {start: beside}\n"};
    for (int i = 0; i < 2; i++) {
        write_in(folder, "beside", "x");
        strcpy(first, key_of(elsewhere[i]));
        write_in(folder, "beside", "y");
        assert_string_equal(key_of(elsewhere[i]), first);
    }
}

/* ---- differences ---- */

static bool is_skipped(const void *context, const char *path) {
    return strcmp(path, context) == 0;
}

typedef struct asked {
    const char *before, *now, *plain, *skip;
    int most, n; /* n: expected */
    const char *told;
} asked;

static void differences_are_told(void **state) {
    (void)state;
    static const asked cases[] = {
        {"a: 1\n", "a: 1\n", NULL, NULL, 9, 0, ""},
        {"a: 1\n", "a: 2\n", NULL, NULL, 9, 1, "a: 1 in the run, 2 now"},
        {"a: 1\n", "b: 2\n", NULL, NULL, 9, 2, "b: nothing in the run, 2 now; a: 1 in the run, nothing now"},
        {"l: {x: 1, y: [1, 2]}\n", "l: {x: 1, y: [1, 3, 4]}\n", NULL, NULL, 9, 2,
         "l.y.1: 2 in the run, 3 now; l.y.2: nothing in the run, 4 now"},
        /* in whatever order they stand */
        {"a: 1\nb: 2\nc: 3\n", "c: 3\nb: 4\na: 1\n", NULL, NULL, 9, 1, "b: 2 in the run, 4 now"},
        {"b: 2\na: 1\n", "a: 1\nb: 3\n", "b: 3\na: 1\n", NULL, 9, 1, "b: 2 in the run, 3 now"},
        {"l: {}\n", "l: []\n", NULL, NULL, 9, 1, "l: {} in the run, [] now"},
        {"name: a\nview: {x: 1}\nrun: {threads: 1}\n", "name: b\nabout: c\nrun: {episodes: 3}\n", NULL, NULL,
         9, 0, ""},
        /* at most so many are told, all are counted */
        {"a: 1\nb: 1\nc: 1\n", "a: 2\nb: 2\nc: 2\n", NULL, NULL, 2, 3,
         "a: 1 in the run, 2 now; b: 1 in the run, 2 now"},
        {"a: 1\nb: 1\nc: 1\n", "a: 2\nb: 2\nc: 2\n", NULL, NULL, 0, 3, ""},
        /* without those that are asked for, and those that follow from them */
        {"a: 1\nb: 1\n", "a: 2\nb: 2\n", NULL, "a", 9, 1, "b: 1 in the run, 2 now"},
        {"a: 1\nb: 1\n", "a: 2\nb: 2\n", "a: 1\nb: 2\n", NULL, 9, 1, "b: 1 in the run, 2 now"},
        {"a: 1\nb: 1\n", "a: 2\n", "a: 2\n", "a", 9, 1, "b: 1 in the run, nothing now"},
        {"a: 1\nb: 1\n", "a: 2\n", "a: 2\nb: 1\n", "a", 9, 0, ""},
        /* a copy in RUN/files of what was named */
        {"f: data/x.csv\n", "f: files/x.csv\n", NULL, NULL, 9, 0, ""},
        {"f: /data/runs/a/policy.safetensors\n", "f: files/a/policy.safetensors\n", NULL, NULL, 9, 0, ""},
        {"f: x.csv\n", "f: files/x.csv\n", NULL, NULL, 9, 1, "f: x.csv in the run, files/x.csv now"},
        {"f: data/xx.csv\n", "f: files/x.csv\n", NULL, NULL, 9, 1,
         "f: data/xx.csv in the run, files/x.csv now"},
        {"f: files/x.csv\n", "f: data/x.csv\n", NULL, NULL, 9, 1,
         "f: files/x.csv in the run, data/x.csv now"},
        /* long values and those of several lines stay on one */
        {"t: 1\n", "t: 012345678901234567890123456789012345678901234567890123456789\n", NULL, NULL, 9, 1,
         "t: 1 in the run, 012345678901234567890123456789012345678901234567890123456789 now"},
        {"t: 1\n", "t: 012345678901234567890123456789012345678901234567890123456789x\n", NULL, NULL, 9, 1,
         "t: 1 in the run, 012345678901234567890123456789012345678901234567890123456789... now"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const asked *c = &cases[i];
        lud_text told = {0};
        lud_error error = {0};
        int n = -1;
        if (lud_settings_differences(c->before, c->now, c->plain, "the run", c->most,
                                     c->skip ? is_skipped : NULL, c->skip, &told, &n, &error))
            fail_msg("%s", error.text);
        assert_int_equal(n, c->n);
        assert_string_equal(told.bytes ? told.bytes : "", c->told);
        lud_text_free(&told);
    }
    lud_text told = {0};
    lud_error error = {0};
    int n;
    assert_int_equal(lud_settings_differences("t: 1\n", "t: \"two\\nlines\"\n", NULL, "it", 1, NULL, NULL,
                                              &told, &n, &error),
                     LUD_OK);
    assert_int_equal(n, 1);
    assert_null(strchr(told.bytes, '\n'));
    lud_text_free(&told);
    /* which side it is that cannot be read */
    assert_int_equal(
        lud_settings_differences("a: [", "a: 1\n", NULL, "the run", 1, NULL, NULL, &told, &n, &error),
        LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "the run"));
    assert_int_equal(
        lud_settings_differences("a: 1\n", "a: [", NULL, "the run", 1, NULL, NULL, &told, &n, &error),
        LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "the scenario"));
    lud_text_free(&told);
}

/* More settings than there is room for at first. */
static void many_settings_are_compared(void **state) {
    (void)state;
    enum { N = 1500 };
    lud_text before = {0}, now = {0}, told = {0};
    lud_error error = {0};
    int n;
    for (int i = 0; i < N; i++) {
        lud_text_append(&before, "k%d: %d\n", i, i);
        lud_text_append(&now, "k%d: %d\n", i, i == N - 1 ? 0 : i);
    }
    assert_int_equal(
        lud_settings_differences(before.bytes, now.bytes, NULL, "it", 4, NULL, NULL, &told, &n, &error),
        LUD_OK);
    assert_int_equal(n, 1);
    assert_string_equal(told.bytes, "k1499: 1499 in it, 0 now");
    lud_text_free(&before);
    lud_text_free(&now);
    lud_text_free(&told);
}

/* ---- a folder's own ---- */

/* Comments at the top are apart from the text, whose key they do not change; results belong to it, and to
 * the settings whose key the comments tell. */
static void comments_tell_of_settings_before(void **state) {
    (void)state;
    lud_settings s;
    lud_error error = {0};
    bool there = true;
    assert_int_equal(lud_settings_find(in_folder("nowhere"), &s, &there, &error), LUD_OK);
    assert_false(there);
    assert_int_equal(lud_settings_read(in_folder("nowhere"), &s, &error), LUD_ERROR_INPUT);
    lud_settings_free(&s);
    static const char *const tops[] = {"",
                                       "# until iteration 3 with other settings, key 0123456789abcdef: x\n",
                                       "# one 0123456789abcdef\n# two\n#\n"};
    for (int i = 0; i < 3; i++) {
        lud_text text = {0};
        lud_text_append(&text, "%s%s# within\n", tops[i], plain);
        write_in(folder, "scenario.yaml", text.bytes);
        if (lud_settings_find(folder, &s, &there, &error)) fail_msg("%s", error.text);
        assert_true(there);
        assert_string_equal(s.comments, tops[i]);
        assert_string_equal(s.text, text.bytes + strlen(tops[i]));
        assert_string_equal(s.key, key_of(plain));
        assert_true(lud_settings_made(&s, s.key));
        assert_int_equal(lud_settings_made(&s, "0123456789abcdef"), i > 0);
        assert_false(lud_settings_made(&s, "0123456789abcde"));
        assert_false(lud_settings_made(&s, ""));
        assert_false(lud_settings_made(&s, "123456789abcdef0"));
        lud_settings_free(&s);
        /* text and comments alone: what nothing can be read of has no key */
        lud_text_append(&text, "a: [");
        write_in(folder, "scenario.yaml", text.bytes);
        if (lud_settings_find_text(folder, &s, &there, &error)) fail_msg("%s", error.text);
        assert_true(there);
        assert_string_equal(s.comments, tops[i]);
        assert_string_equal(s.text, text.bytes + strlen(tops[i]));
        assert_string_equal(s.key, "");
        lud_settings_free(&s);
        assert_int_equal(lud_settings_find(folder, &s, &there, &error), LUD_ERROR_INPUT);
        lud_settings_free(&s);
        lud_text_free(&text);
    }
    write_in(folder, "scenario.yaml", "# nothing else, and no end of the line");
    if (lud_settings_find(folder, &s, &there, &error) == LUD_OK) assert_string_equal(s.text, "");
    lud_settings_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_of_what_counts),
        cmocka_unit_test(keys_are_of_files),
        cmocka_unit_test(differences_are_told),
        cmocka_unit_test(many_settings_are_compared),
        cmocka_unit_test(comments_tell_of_settings_before),
    };
    return cmocka_run_group_tests_name("settings", tests, set_up, tear_down);
}
