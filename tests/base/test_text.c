/* Words as a shell reads them back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

/* What a shell makes of `printf %s WORD`. */
static void read_back(const char *word, char *out, size_t size) {
    lud_text command = {0};
    lud_text_append(&command, "printf %%s ");
    lud_text_append_word(&command, word);
    FILE *shell = popen(command.bytes, "r");
    assert_non_null(shell);
    const size_t n = fread(out, 1, size - 1, shell);
    out[n] = 0;
    assert_int_equal(pclose(shell), 0);
    lud_text_free(&command);
}

static void words_come_back(void **state) {
    (void)state;
    static const char *const words[] = {"plain", "runs/a-1_b.c,d:e=f+g%h@i",
                                        "a b",   "",
                                        "'",     "''",
                                        "it's",  "$HOME",
                                        "`ls`",  "a\\b",
                                        "\"q\"", "#c",
                                        "a;b",   "a&b",
                                        "*",     "~",
                                        "!x",    "-n",
                                        "\n",    "\xc3\xa9"};
    char out[64];
    lud_text text = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        read_back(words[i], out, sizeof out);
        assert_string_equal(out, words[i]);
        assert_string_equal(lud_text_word(&text, "before"), "before");
        const char *quoted = lud_text_word(&text, words[i]); /* in the place of what was there */
        assert_int_equal(strcmp(quoted, words[i]) == 0, i < 2 || strcmp(words[i], "-n") == 0);
    }
    lud_text_free(&text);
    for (int c = 1; c < 128; c++) {
        const char word[] = {'a', (char)c, 'b', 0};
        read_back(word, out, sizeof out);
        assert_string_equal(out, word);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_come_back)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
