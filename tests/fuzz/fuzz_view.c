/* Any bytes as a view file: an error, or a view within its bounds that is written and read back as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "sim/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

static void check(const lud_view_section *v) {
    const double shares[] = {v->panels.width, v->panels.overlay_height, v->panels.comparison_height,
                             v->panels.training_height};
    for (int k = 0; k < 4; k++)
        if (!(shares[k] >= 0 && shares[k] <= 1)) abort();
    if (v->size.n != 0 && v->size.n != 2) abort();
    for (size_t k = 0; k < v->size.n; k++)
        if (v->size.items[k] < 16 || v->size.items[k] > 4096 || v->size.items[k] % 2) abort();
    if (!(v->scale == 0 || (v->scale >= 0.5 && v->scale <= 4)) || !(v->camera.zoom > 0)) abort();
    if (v->camera.centre.n % 2 || v->cell.n % 2 || v->agent < -1 || (v->camera.follow && v->agent < 0))
        abort();
}

/* Panels alone, as a user's are remembered, are read back as the same. */
static void check_panels(lud_arena *arena, const lud_view_panels *panels) {
    lud_error error = {0};
    lud_view_section again;
    lud_tree *root;
    char *text, *second;
    size_t length, second_length;
    if (lud_view_panels_write(arena, panels, &text, &length, &error) ||
        lud_tree_read_text(arena, "panels", text, length, &root, &error) ||
        lud_view_section_read(arena, root, &again, &error) ||
        lud_view_panels_write(arena, &again.panels, &second, &second_length, &error))
        abort();
    if (length != second_length || memcmp(text, second, length) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lud_error error = {0};
    lud_view_section view, again;
    lud_tree *root;
    char *text, *second;
    size_t length, second_length;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return 0;
    if (lud_tree_read_text(arena, "fuzz", (const char *)data, size, &root, &error) ||
        lud_view_section_read(arena, root, &view, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_text(error.text);
    } else {
        check(&view);
        check_panels(arena, &view.panels);
        if (lud_view_section_write(arena, &view, &text, &length, &error) ||
            lud_tree_read_text(arena, "again", text, length, &root, &error) ||
            lud_view_section_read(arena, root, &again, &error) ||
            lud_view_section_write(arena, &again, &second, &second_length, &error))
            abort();
        if (length != second_length || memcmp(text, second, length) != 0) abort();
        fuzz_answer(text, length);
    }
    lud_arena_destroy(arena);
    return 0;
}
