#include "cli/documents/support_pages.h"

#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

char *page_read(const char *path) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    lud_error error = {0};
    if (lud_file_read(arena, path, 0, &bytes, &length, &error)) fail_msg("%s", error.text);
    char *copy = strndup(bytes, length);
    lud_arena_destroy(arena);
    return copy;
}

int page_words(const char *text, char *words[PAGE_WORDS + 1]) {
    int n = 0;
    for (const char *at = text; n < PAGE_WORDS;) {
        while (isspace((unsigned char)*at)) at++;
        if (!*at || *at == '#' || *at == '>' || (*at == '|' && isspace((unsigned char)at[1]))) break;
        char *word = calloc(strlen(at) + 1, 1), *to = word;
        for (char quote = 0; *at && (quote || !isspace((unsigned char)*at)); at++) {
            if (quote ? *at == quote : *at == '"' || *at == '\'')
                quote = quote ? 0 : *at;
            else
                *to++ = *at;
        }
        words[n++] = word;
    }
    words[n] = NULL;
    return n;
}

const char *page_value(char *const *words, int n, const char *letter, const char *name) {
    for (int i = 1; i + 1 < n; i++)
        if (strcmp(words[i], letter) == 0 || strcmp(words[i], name) == 0) return words[i + 1];
    return NULL;
}

void page_each(void (*visit)(const char *page, char *text)) {
    static const char root[] = LUDUS_SOURCE_DIR "/";
    static const char *const patterns[] = {"README.md", "docs/*.md", "docs/*/*.md"};
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        char pattern[sizeof root + 40];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", root, patterns[k]);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char *text = page_read(found.gl_pathv[i]);
            visit(found.gl_pathv[i] + strlen(root), text);
            free(text);
        }
        globfree(&found);
    }
}
