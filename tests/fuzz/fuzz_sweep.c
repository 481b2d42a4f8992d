/* Any bytes as the table that a sweep finds: rows with as many fields as the header, each of which is found
 * by its first field. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "cli/sweep/kept_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char header[] = "a,b,c\n";
    lud_error error = {0};
    lud_kept_rows rows;
    lud_arena *arena = lud_arena_create(0);
    char *text = arena ? lud_arena_take(arena, sizeof header + size) : NULL;
    if (!text) abort();
    memcpy(text, header, sizeof header - 1);
    memcpy(text + sizeof header - 1, data, size);
    text[sizeof header - 1 + size] = '\0';
    if (lud_kept_rows_read(arena, text, header, &rows, &error)) abort();
    for (size_t k = 0; k < rows.n; k++) {
        const size_t length = strcspn(rows.lines[k], ",");
        char *field = lud_arena_text(arena, rows.lines[k], length + 1);
        const char *found = lud_kept_rows_find(&rows, field);
        fuzz_answer_text(rows.lines[k]);
        if (!found || strncmp(found, field, length + 1) != 0 || strchr(found, '\n')) abort();
    }
    lud_arena_destroy(arena);
    return 0;
}
