/* `ludus plot`: pictures of metrics.csv, and what it says when there is nothing to draw. */
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

#include "base/arena.h"
#include "base/file.h"
#include "cli/support_program.h"

static char folder[] = "/tmp/ludus-plot-XXXXXX";
static char rising[64], other[64], empty[64], apart[64], moved[64], picture[64];

static void write_run(const char *run, const char *metrics) {
    char path[96];
    assert_int_equal(mkdir(run, 0700), 0);
    if (!metrics) return;
    snprintf(path, sizeof path, "%s/metrics.csv", run);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(metrics, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(rising, sizeof rising, "%s/rising", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(empty, sizeof empty, "%s/empty", folder);
    snprintf(picture, sizeof picture, "%s/curves.png", folder);
    write_run(rising, "iteration,steps,return,evaluation/return\n1,100,-4,\n2,200,-2,-3\n3,300,-1,\n");
    write_run(other,
              "iteration,return,loss\n1,-3,0.5\n2,nan,0.4\n3,-2"); /* another learner's; the last line torn */
    write_run(empty, NULL);
    snprintf(apart, sizeof apart, "%s/apart", folder);
    snprintf(moved, sizeof moved, "%s/apart/rising", folder);
    if (mkdir(apart, 0700)) return -1;
    write_run(moved, "evaluation/return,iteration,steps\n,1,100\n-3,2,200\n,3,300\n");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void check(program_result r, int exit_code, const char *message) {
    const char *text = exit_code ? r.err : r.out;
    if (r.exit_code != exit_code || !strstr(text, message))
        fail_msg("exit code %d, expected %d with '%s': %s%s", r.exit_code, exit_code, message, r.out, r.err);
    program_free(&r);
}

/* The picture's bytes; it is a PNG. */
static char *read_picture(lud_arena *arena, size_t *length) {
    lud_error error = {0};
    char *bytes;
    if (lud_file_read(arena, picture, 0, &bytes, length, &error)) fail_msg("%s", error.text);
    assert_true(*length > 1000);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    return bytes;
}

static void test_curves(void **unused) {
    (void)unused;
    lud_arena *arena = lud_arena_create(0);
    size_t n[4];
    char *bytes[4];
    check(LUDUS("plot", rising, "-c", "return", "-o", picture), 0, "curves.png written");
    bytes[0] = read_picture(arena, &n[0]);
    check(LUDUS("plot", rising, other, "-c", "return", "-o", picture), 0, "curves.png written");
    bytes[1] = read_picture(arena, &n[1]);
    check(LUDUS("plot", rising, "-c", "return", "-l", "-1.5=scripted", "-o", picture), 0, "written");
    bytes[2] = read_picture(arena, &n[2]);
    check(LUDUS("plot", rising, "-c", "return", "-o", picture), 0, "written");
    bytes[3] = read_picture(arena, &n[3]);
    assert_true(n[0] == n[3] && !memcmp(bytes[0], bytes[3], n[0]));
    assert_false(n[0] == n[1] && !memcmp(bytes[0], bytes[1], n[0]));
    assert_false(n[0] == n[2] && !memcmp(bytes[0], bytes[2], n[0]));
    /* a column that only some runs have, and panels beside each other: the width stands at byte 16 */
    check(LUDUS("plot", rising, other, "-c", "loss", "-c", "return", "-o", picture), 0, "written");
    bytes[1] = read_picture(arena, &n[1]);
    const uint8_t *one = (const uint8_t *)bytes[0] + 16, *two = (const uint8_t *)bytes[1] + 16;
    assert_int_equal(two[2] * 256 + two[3], 2 * (one[2] * 256 + one[3]));
    /* a last column that is empty in some lines is as any other */
    check(LUDUS("plot", rising, "-c", "evaluation/return", "-o", picture), 0, "written");
    bytes[1] = read_picture(arena, &n[1]);
    check(LUDUS("plot", moved, "-c", "evaluation/return", "-o", picture), 0, "written");
    bytes[2] = read_picture(arena, &n[2]);
    assert_true(n[1] == n[2] && !memcmp(bytes[1], bytes[2], n[1]));
    /* over another column */
    check(LUDUS("plot", rising, "-c", "return", "-x", "iteration", "-o", picture), 0, "written");
    bytes[1] = read_picture(arena, &n[1]);
    assert_false(n[0] == n[1] && !memcmp(bytes[0], bytes[1], n[0]));
    lud_arena_destroy(arena);
}

/* Lines and letters, with what XML would read as its own escaped. */
static void test_svg(void **unused) {
    (void)unused;
    size_t n;
    char *bytes;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    check(LUDUS("plot", rising, other, "-c", "return", "-l", "2=a<b&c", "-o", "curves.svg"), 0,
          "curves.svg written");
    assert_int_equal(lud_file_read(arena, "curves.svg", 0, &bytes, &n, &error), LUD_OK);
    assert_ptr_equal(strstr(bytes, "<svg xmlns="), bytes);
    assert_string_equal(bytes + n - 7, "</svg>\n");
    int lines = 0;
    for (const char *at = bytes; (at = strstr(at, "<polyline")); at++) lines++;
    assert_int_equal(lines, 3); /* two runs and a level */
    assert_non_null(strstr(bytes, ">a&lt;b&amp;c</text>"));
    assert_null(strstr(bytes, "nan"));
    unlink("curves.svg");
    lud_arena_destroy(arena);
}

static size_t number_behind(const char *text, const char *word) {
    const char *at = strstr(text, word);
    assert_non_null(at);
    return strtoul(at + strlen(word), NULL, 10);
}

/* Every object lies where the table says, the page is as long as it says, and texts are in it letter by
 * letter. */
static void test_pdf(void **unused) {
    (void)unused;
    size_t n;
    char *bytes;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    check(LUDUS("plot", rising, other, "-c", "return", "-l", "2=a(b)\\ \xc3\xa9\xe2\x80\xa6\xe4\xb8\x80",
                "-o", "curves.pdf"),
          0, "curves.pdf written");
    assert_int_equal(lud_file_read(arena, "curves.pdf", 0, &bytes, &n, &error), LUD_OK);
    assert_memory_equal(bytes, "%PDF-1.4\n", 9);
    assert_memory_equal(bytes + n - 6, "%%EOF\n", 6);
    assert_int_equal(strlen(bytes), n); /* nothing is cut at a zero byte */
    const char *table = bytes + number_behind(bytes, "startxref\n");
    assert_memory_equal(table, "xref\n0 7\n0000000000 65535 f \n", 29);
    for (int k = 1; k < 7; k++) {
        const char *entry = table + 9 + 20 * k;
        char name[32];
        snprintf(name, sizeof name, "%d 0 obj\n", k);
        assert_memory_equal(entry + 10, " 00000 n \n", 10);
        assert_memory_equal(bytes + strtoul(entry, NULL, 10), name, strlen(name));
    }
    const char *page = strstr(bytes, "stream\n") + 7;
    assert_memory_equal(page + number_behind(bytes, "/Length "), "endstream", 9);
    assert_non_null(strstr(page, "(a\\(b\\)\\\\ \\351\\205?) Tj"));
    assert_non_null(strstr(page, "(rising) Tj"));
    assert_non_null(strstr(bytes, "/MediaBox [0 0 675.00 540.00]"));
    assert_null(strstr(bytes, "nan"));
    unlink("curves.pdf");
    lud_arena_destroy(arena);
}

static void test_errors(void **unused) {
    (void)unused;
    check(LUDUS("plot", rising), 2, "name columns with -c; ");
    check(LUDUS("plot", rising), 2, "rising/metrics.csv has iteration,steps,return,evaluation/return");
    check(LUDUS("plot", rising, "-c", "retrun", "-o", picture), 2, "nothing was measured of 'retrun'; ");
    check(LUDUS("plot", rising, "-c", "return", "-x", "seconds", "-o", picture), 2,
          "nothing was measured of");
    check(LUDUS("plot", empty, "-c", "return", "-o", picture), 2, "empty has no metrics.csv: not a training");
    check(LUDUS("plot", rising, "-c", "return", "-o", "curves.eps"), 2,
          "curves.eps: a plot is written as .png, .svg or .pdf");
    check(LUDUS("plot", rising, "-c", "return"), 2, "'ludus plot' needs -o FILE");
    check(LUDUS("plot", rising, "-c", "return", "-l", "high", "-o", picture), 2,
          "--level: expected a number and a name as in -7.6=scripted, found 'high'");
    check(LUDUS("plot", rising, "-c", "a", "-c", "b", "-c", "c", "-c", "d", "-c", "e", "-c", "f", "-c", "g",
                "-o", picture),
          2, "at most 6 columns fit into one picture");
    check(LUDUS("plot", rising, "-c", "return", "-o", "/nowhere/at/all.png"), 1, "/nowhere/at");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curves), cmocka_unit_test(test_svg),
                                       cmocka_unit_test(test_pdf), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
