/* Any bytes as a scenario file that is edited: it is refused, or every edit holds or leaves the text alone,
 * and undoing all gives the first text again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "sim/multigrid/edit/grid_edit_check.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

enum { EDITS = 12, LARGEST = 1 << 12 };

static lud_status edit_somehow(lud_grid_edit *edit, uint64_t r, lud_error *error) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    const int x = (int)(r % (uint64_t)w->width), y = (int)((r >> 8) % (uint64_t)w->height),
              x2 = (int)((r >> 16) % (uint64_t)w->width), y2 = (int)((r >> 24) % (uint64_t)w->height);
    lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = x, .y = y, .layer = (int)(r >> 32 & 1)};
    if ((r >> 33) % 4 == 0)
        pick = (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = (int)((r >> 16) % (uint64_t)(w->n_goals + 1))};
    if ((r >> 33) % 4 == 1 && (r >> 40) % 3 == 0) pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
    lud_grid_thing thing;
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    lud_text name = {0};
    char typed[32];
    double value;
    int n;
    switch ((r >> 36) % 8) {
    case 0:
        n = lud_grid_edit_brush(edit, (int)((r >> 44) % 24), &thing, &name);
        lud_text_free(&name);
        return n ? lud_grid_edit_put(edit, x, y, &thing, error) : LUD_OK;
    case 1:
        return lud_grid_edit_move(edit, &pick, x2, y2, error);
    case 2:
        return lud_grid_edit_remove(edit, pick, error);
    case 3:
        return lud_grid_edit_turn(edit, pick, 1, error);
    case 4:
        return lud_grid_edit_add_goal(edit, x, y, x2, y2, error);
    case 5:
        return lud_grid_edit_resize(edit, (lud_direction)(r >> 44 & 3), (int)((r >> 46) % 7) - 3, &pick,
                                    error);
    case 6:
        n = lud_grid_edit_parameters(edit, pick, parameters);
        if (!n) return LUD_OK;
        n = (int)((r >> 44) % (uint64_t)n);
        snprintf(typed, sizeof typed, "%.4g", (double)(r & 1023) / 512.0);
        LUD_TRY(lud_grid_parameter_read(&parameters[n], typed, &value, error));
        return lud_grid_edit_type_parameter(edit, pick, n, value, error);
    default:
        n = lud_grid_edit_parameters(edit, pick, parameters);
        if (!n) return LUD_OK;
        n = (int)((r >> 44) % (uint64_t)n);
        return lud_grid_edit_change_parameter(edit, pick, n, parameters[n].value + parameters[n].step, error);
    }
}

static void answer_problems(const lud_grid_edit *edit) {
    lud_grid_problem problems[4];
    const int n = lud_grid_edit_check(edit, problems, 4, NULL);
    for (int k = 0; k < n && k < 4; k++) fuzz_answer_text(problems[k].text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 9 || size > LARGEST) return 0;
    uint64_t random;
    memcpy(&random, data, sizeof random);
    char *text = strndup((const char *)data + 8, size - 8);
    lud_grid_edit *edit = NULL;
    lud_error error = {0};
    if (!text || strstr(text, "include")) { /* reads no other files */
        free(text);
        return 0;
    }
    if (lud_grid_edit_open("fuzz.yaml", text, NULL, 0, 0, &edit, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_text(error.text);
        free(text);
        return 0;
    }
    for (int k = 0; k < EDITS; k++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        char *before = strdup(lud_grid_edit_text(edit));
        error = (lud_error){0};
        const lud_status status = edit_somehow(edit, random >> 3, &error);
        if (status && !error.text[0]) abort();
        if (status && strcmp(before, lud_grid_edit_text(edit)) != 0) abort();
        free(before);
        fuzz_answer_text(error.text);
        fuzz_answer_text(lud_grid_edit_text(edit));
        answer_problems(edit);
    }
    while (lud_grid_edit_undo_name(edit))
        if (lud_grid_edit_undo(edit, &error)) abort();
    if (strcmp(lud_grid_edit_text(edit), text) != 0) abort();
    lud_grid_edit_close(edit);
    free(text);
    return 0;
}
