/* Any bytes as a scenario file: an error or a model that can be written, read back and reset; nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "play.h"
#include "sim/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lud_error error = {0};
    lud_scenario *scenario, *again;
    if (lud_scenario_read("fuzz", (const char *)data, size, NULL, 0, &scenario, &error)) {
        if (!error.text[0]) abort(); /* an error without a message */
        fuzz_answer_text(error.text);
        return 0;
    }
    fuzz_play(scenario->model);
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    char *text;
    size_t length;
    if (arena && !lud_scenario_effective(scenario, arena, &root, &error) &&
        !lud_tree_write(arena, root, &text, &length, &error)) {
        fuzz_answer(text, length);
        if (lud_scenario_read("again", text, length, NULL, 0, &again, &error)) abort();
        if (again->model->layout.state_bytes != scenario->model->layout.state_bytes) abort();
        lud_scenario_destroy(again);
    }
    lud_arena_destroy(arena);
    lud_scenario_destroy(scenario);
    return 0;
}
