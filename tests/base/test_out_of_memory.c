/* Memory that runs out while files, trees, options and texts are read and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/options/option_rows.h"
#include "base/options/tree.h"
#include "folder.h"
#include "out_of_memory.h"

TEST_FOLDER("/tmp/ludus-memory-XXXXXX")

static lud_arena *arena_or_null(lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    if (!arena) lud_no_memory(error, "the test's arena");
    return arena;
}

static const char document[] = "a: [1, 2.5, {b: c}]\n"
                               "base: &base {x: 1, y: 'two'}\n"
                               "other: {<<: *base, y: \"th\\tree\"}\n"
                               "text: |\n  line one\n  line two\n"
                               "none:\n";

static lud_status tree(const void *path, uint64_t *result, lud_error *error) {
    lud_arena *arena = arena_or_null(error);
    if (!arena) return LUD_ERROR_MEMORY;
    lud_tree_files files = {0};
    lud_tree *root;
    char *text;
    size_t length;
    lud_status status = path ? lud_tree_read_file(arena, path, &files, &root, error)
                             : lud_tree_read_text(arena, "test", document, strlen(document), &root, error);
    if (!status) status = lud_tree_set(arena, root, "new.section.key=[1, {a: b}]", error);
    if (!status) status = lud_tree_set(arena, root, "base.x=7", error);
    if (!status) status = lud_tree_write(arena, root, &text, &length, error);
    if (!status) out_of_memory_hash(result, text, length);
    lud_tree_files_free(&files);
    lud_arena_destroy(arena);
    return status;
}

static void trees(void **state) {
    (void)state;
    out_of_memory_test("a tree", tree, NULL);
    lud_error error = {0};
    if (lud_file_write(in_folder("included.yaml"), document, strlen(document), &error))
        fail_msg("%s", error.text);
    static const char including[] = "include: included.yaml\nlast: {deep: {deeper: 1}}\n";
    if (lud_file_write(in_folder("including.yaml"), including, strlen(including), &error))
        fail_msg("%s", error.text);
    char path[128];
    snprintf(path, sizeof path, "%s", in_folder("including.yaml"));
    out_of_memory_test("a file that includes another", tree, path);
}

static lud_status built(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_arena *arena = arena_or_null(error);
    if (!arena) return LUD_ERROR_MEMORY;
    lud_tree *root = lud_tree_add_mapping(arena, NULL, NULL), *list = NULL;
    bool complete = root && (list = lud_tree_add_sequence(arena, root, "list"));
    complete = complete && lud_tree_add_int(arena, list, NULL, 3) &&
               lud_tree_add_real(arena, list, NULL, 0.25) && lud_tree_add_bool(arena, root, "yes", true) &&
               lud_tree_add_text(arena, root, "text", "a: b") &&
               lud_tree_add_copy(arena, root, "again", list);
    lud_status status = complete ? LUD_OK : lud_no_memory(error, "the test's tree");
    char *text;
    size_t length;
    if (!status) status = lud_tree_write(arena, root, &text, &length, error);
    if (!status) out_of_memory_hash(result, text, length);
    lud_arena_destroy(arena);
    return status;
}

static void trees_in_code(void **state) {
    (void)state;
    out_of_memory_test("a tree built in code", built, NULL);
}

typedef struct values {
    int64_t number;
    const char *text;
    lud_int_list numbers;
} values;

#define OPTIONS values
static const lud_option rows[] = {
    INT(number, "3", 0, 10, "a number"),
    TEXT(text, "word", "a text"),
    INTS(numbers, "[1, 2]", 0, 10, "a list"),
};
static const lud_option_table table = OPTION_TABLE("test", "a test", rows);

static lud_status options(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_arena *arena = arena_or_null(error);
    if (!arena) return LUD_ERROR_MEMORY;
    static const char text[] = "number: 4\nnumbers: [5, 6, 7]\n";
    lud_tree *mapping, *out = NULL;
    values v;
    lud_status status = lud_tree_read_text(arena, "test", text, strlen(text), &mapping, error);
    if (!status) status = lud_options_read(&table, arena, mapping, &v, error);
    if (!status && !(out = lud_tree_add_mapping(arena, NULL, NULL)))
        status = lud_no_memory(error, "the test's tree");
    if (!status) status = lud_options_write(&table, arena, &v, out, error);
    char *written;
    size_t length;
    if (!status) status = lud_tree_write(arena, out, &written, &length, error);
    if (!status) out_of_memory_hash(result, written, length);
    lud_arena_destroy(arena);
    return status;
}

static void option_tables(void **state) {
    (void)state;
    out_of_memory_test("options", options, NULL);
}

static lud_status file(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_arena *arena = arena_or_null(error);
    if (!arena) return LUD_ERROR_MEMORY;
    static char content[40000];
    memset(content, 'x', sizeof content);
    char *bytes;
    size_t length;
    lud_status status = lud_folder_make(in_folder("new/inside"), error);
    if (!status) status = lud_file_write(in_folder("new/inside/file"), content, sizeof content, error);
    if (!status) status = lud_file_read(arena, in_folder("new/inside/file"), 0, &bytes, &length, error);
    if (!status) status = length == sizeof content ? LUD_OK : lud_fail(error, LUD_ERROR_IO, "short");
    if (!status)
        status =
            lud_path_beside(arena, "a/b.yaml", "c.yaml") ? LUD_OK : lud_no_memory(error, "the test's path");
    if (!status) out_of_memory_hash(result, bytes, length);
    lud_arena_destroy(arena);
    return status;
}

static void files(void **state) {
    (void)state;
    out_of_memory_test("a file", file, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees), cmocka_unit_test(trees_in_code),
                                       cmocka_unit_test(option_tables), cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
