/* Any lines as --set of a scenario: an error, or a scenario that writes itself. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "sim/scenario.h"

const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char text[] =
    "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay .. We\n    We We "
    "We We\n"
    "goals: [{cell: [1, 1]}]\npolicies: {human: random}\nlearner: {type: empo-exact}\n";

static void answer(const lud_scenario *scenario) {
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    char *written;
    size_t n;
    lud_error error = {0};
    if (lud_scenario_effective(scenario, arena, &root, &error) ||
        lud_tree_write(arena, root, &written, &n, &error))
        abort();
    fuzz_answer(written, n);
    lud_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    enum { MOST = 16 };
    const char *set[MOST];
    int n = 0;
    char *copy = malloc(length + 1);
    if (!copy) return 0;
    memcpy(copy, bytes, length);
    copy[length] = 0;
    for (char *line = copy; line < copy + length && n < MOST; line += strlen(line) + 1) {
        char *end = memchr(line, '\n', (size_t)(copy + length - line));
        if (end) *end = 0;
        set[n++] = line;
    }
    lud_scenario *scenario = NULL;
    lud_error error = {0};
    if (lud_scenario_read("fuzz.yaml", text, sizeof text - 1, set, n, &scenario, &error)) {
        if (scenario || !error.text[0]) abort();
        fuzz_answer_text(error.text);
    } else {
        answer(scenario);
        lud_scenario_destroy(scenario);
    }
    free(copy);
    return 0;
}
