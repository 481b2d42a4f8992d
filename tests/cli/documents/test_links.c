/* Every link of README and docs to a file or a heading of this repository leads somewhere. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/documents/support_pages.h"

enum { LONGEST = 400 };

static int n_followed;

/* The anchor of a heading, as forges of Git make it: lower case, words joined by hyphens, other signs gone.
 */
static void anchor_of(const char *heading, size_t length, char *to) {
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)heading[i];
        if (isalnum(c) || c == '-' || c == '_' || c >= 128)
            *to++ = (char)tolower(c);
        else if (c == ' ')
            *to++ = '-';
    }
    *to = 0;
}

/* Begin of the next line that is not in a block of code, null at the end; the first one with line null. */
static const char *next_line(const char *text, const char *line) {
    bool code = false;
    for (const char *at = line ? strchr(line, '\n') : text; at && *at; at = strchr(at, '\n')) {
        at += *at == '\n';
        const bool fence = strncmp(at, "```", 3) == 0;
        if (!fence && !code) return *at ? at : NULL;
        code ^= fence;
    }
    return NULL;
}

static bool has_heading(const char *path, const char *anchor) {
    char *text = page_read(path);
    bool found = false;
    for (const char *line = next_line(text, NULL); line && !found; line = next_line(text, line)) {
        const size_t level = strspn(line, "#");
        char own[LONGEST];
        if (level == 0 || line[level] != ' ') continue;
        const size_t length = strcspn(line + level + 1, "\n");
        assert_true(length < sizeof own);
        anchor_of(line + level + 1, length, own);
        found = strcmp(own, anchor) == 0;
    }
    free(text);
    return found;
}

/* link: as it stands in a page. Whether it stays in this repository, and was looked at. */
static bool follow(const char *page, const char *link) {
    const char *colon = strchr(link, ':'), *slash = strrchr(page, '/'), *anchor = strchr(link, '#');
    if (colon && strspn(link, "abcdefghijklmnopqrstuvwxyz") == (size_t)(colon - link)) return false;
    char path[LONGEST];
    const int folder = slash ? (int)(slash + 1 - page) : 0,
              own = anchor ? (int)(anchor - link) : (int)strlen(link);
    if (own > 0)
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/%.*s%.*s", folder, page, own, link);
    else
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/%s", page);
    if (access(path, R_OK) != 0) fail_msg("%s: the link %s leads to no file", page, link);
    if (anchor && !has_heading(path, anchor + 1)) fail_msg("%s: the link %s leads to no heading", page, link);
    return true;
}

static void follow_all(const char *page, char *text) {
    for (const char *at = text; (at = strstr(at, "]("));) {
        char link[LONGEST];
        const size_t length = strcspn(at += 2, ") \n");
        assert_true(length < sizeof link);
        memcpy(link, at, length);
        link[length] = 0;
        n_followed += follow(page, link);
    }
}

static void links_lead_somewhere(void **state) {
    (void)state;
    page_each(follow_all);
    assert_true(n_followed > 100);
}

/* What the test itself must notice. */
static void anchors_are_those_of_forges(void **state) {
    (void)state;
    char anchor[LONGEST];
    static const char heading[] = "CUDA: what `solve -x` takes, 2-D";
    anchor_of(heading, strlen(heading), anchor);
    assert_string_equal(anchor, "cuda-what-solve--x-takes-2-d");
    assert_true(has_heading(LUDUS_SOURCE_DIR "/docs/empo-learned.md", "states-met"));
    assert_false(has_heading(LUDUS_SOURCE_DIR "/docs/empo-learned.md", "states"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(anchors_are_those_of_forges),
                                       cmocka_unit_test(links_lead_somewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
