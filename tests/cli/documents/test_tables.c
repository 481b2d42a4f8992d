/* Every option that a page lists is one that the program has, in the words of its help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/documents/support_pages.h"
#include "cli/support_program.h"

static char *help; /* all tables of options, as the program prints them */
static int n_rows;

/* Whether the text has the line. */
static bool has_line(const char *text, const char *line, size_t length) {
    for (const char *at = text; at && *at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, length) == 0 && (at[length] == '\n' || !at[length])) return true;
    }
    return false;
}

static void check_page(const char *page, char *text) {
    static const char head[] = "| key | type | default | meaning |\n";
    for (const char *table = text; (table = strstr(table, head));) {
        table += strlen(head);
        for (; *table == '|'; table += strcspn(table, "\n"), table += *table == '\n') {
            const size_t length = strcspn(table, "\n");
            if (table[1] == '-') continue; /* below the head */
            if (!has_line(help, table, length))
                fail_msg("%s: no option of `ludus help options --markdown` is\n%.*s", page, (int)length,
                         table);
            n_rows++;
        }
    }
}

static void tables_are_those_of_the_program(void **state) {
    (void)state;
    program_result r = LUDUS("help", "options", "--markdown");
    assert_int_equal(r.exit_code, 0);
    help = r.out;
    page_each(check_page);
    assert_true(n_rows > 300);
    program_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_those_of_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
