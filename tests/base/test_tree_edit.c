/* Changes of a YAML text in place: what is changed reads as it was asked for, all else as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/options/tree_edit.h"

static const char text[] =
    "# begin\na: 1   # one\nlist:   # of three\n  - x   # first\n  - {k: 'it''s', m: \"q\"}\n"
    "  - deep:\n      er: 2   # last\nflow: [a, {b: c}, 'd e']\nblock: |\n  line\n\n# end\n";

static lud_tree *read_tree(lud_arena *arena, const lud_text *t) {
    lud_error error = {0};
    lud_tree *root;
    if (lud_tree_read_text(arena, "text", t->bytes, t->length, &root, &error))
        fail_msg("%s\n%s", error.text, t->bytes);
    return root;
}

static lud_text begin(void) {
    lud_text t = {0};
    lud_text_append(&t, "%s", text);
    return t;
}

/* Every node's bytes read as that node. */
static void check_spans(lud_arena *arena, const lud_text *t, const lud_tree *node) {
    if (node->kind == LUD_TREE_SCALAR && !node->literal) {
        char *written = lud_tree_edit_written(arena, t, node);
        lud_error error = {0};
        lud_tree *again;
        if (lud_tree_read_text(arena, "span", written, strlen(written), &again, &error))
            fail_msg("%s", error.text);
        assert_string_equal(again->text, node->text);
    }
    if (node->key) assert_memory_equal(t->bytes + node->key_begin, node->key, strlen(node->key));
    for (const lud_tree *c = node->child; c; c = c->next) {
        assert_true(c->begin >= node->begin && c->end <= node->end);
        check_spans(arena, t, c);
    }
}

static void test_spans(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    lud_text t = begin();
    check_spans(arena, &t, read_tree(arena, &t));
    lud_text_free(&t);
    lud_arena_destroy(arena);
}

/* The text with `from` replaced by `to`. */
static void expect(lud_text *t, const char *from, const char *to) {
    lud_text wanted = {0};
    const char *at = strstr(text, from);
    assert_non_null(at);
    lud_text_append_bytes(&wanted, text, (size_t)(at - text));
    lud_text_append(&wanted, "%s%s", to, at + strlen(from));
    assert_string_equal(t->bytes, wanted.bytes);
    lud_text_free(&wanted);
    lud_text_free(t);
    *t = begin();
}

static void test_changes(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_text t = begin();
    const lud_tree *root = read_tree(arena, &t), *list = lud_tree_find(root, "list"),
                   *flow = lud_tree_find(root, "flow"), *mapping = list->child->next;
    assert_int_equal(lud_tree_edit_value(&t, lud_tree_find(root, "a"), "22", &error), LUD_OK);
    expect(&t, "a: 1 ", "a: 22 ");
    assert_int_equal(lud_tree_edit_value(&t, lud_tree_find(mapping, "k"), "z", &error), LUD_OK);
    expect(&t, "'it''s'", "z");
    assert_int_equal(lud_tree_edit_add_key(&t, mapping, "m", "n", "5", &error), LUD_OK);
    expect(&t, "\"q\"}", "\"q\", n: 5}");
    assert_int_equal(lud_tree_edit_add_key(&t, root, "a", "b", "5", &error), LUD_OK);
    expect(&t, "list:", "b: 5\nlist:");
    assert_int_equal(lud_tree_edit_add_key(&t, root, "block", "b", "5", &error), LUD_OK);
    expect(&t, "  line\n", "  line\nb: 5\n");
    assert_int_equal(lud_tree_edit_insert_item(&t, list, 0, "new", &error), LUD_OK);
    expect(&t, "  - x ", "  - new\n  - x ");
    assert_int_equal(lud_tree_edit_insert_item(&t, list, 3, "new", &error), LUD_OK);
    expect(&t, "# last\n", "# last\n  - new\n");
    assert_int_equal(lud_tree_edit_insert_item(&t, flow, 3, "new", &error), LUD_OK);
    expect(&t, "'d e']", "'d e', new]");
    assert_int_equal(lud_tree_edit_remove_item(&t, list, 0, &error), LUD_OK);
    expect(&t, "  - x   # first\n", "");
    assert_int_equal(lud_tree_edit_remove_item(&t, list, 2, &error), LUD_OK);
    expect(&t, "  - deep:\n      er: 2   # last\n", "");
    assert_int_equal(lud_tree_edit_remove_item(&t, flow, 2, &error), LUD_OK);
    expect(&t, ", 'd e']", "]");
    const int order[] = {1, 0, 2};
    assert_int_equal(lud_tree_edit_permute(&t, list, order, &error), LUD_OK);
    expect(&t, "  - x   # first\n  - {k: 'it''s', m: \"q\"}\n",
           "  - {k: 'it''s', m: \"q\"}\n  - x   # first\n");
    /* what is written elsewhere is left alone */
    const lud_tree *set = lud_tree_add_int(arena, NULL, NULL, 3);
    assert_int_equal(lud_tree_edit_value(&t, set, "4", &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(t.bytes, text);
    lud_text_free(&t);
    lud_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spans), cmocka_unit_test(test_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
