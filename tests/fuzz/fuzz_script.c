/* Any text as a script of actions: an error, or a policy that acts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agents/cast.h"
#include "answers.h"
#include "sim/batch.h"
#include "sim/scenario.h"

const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char text[] =
    "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay Ae We\n"
    "    We We We We\n";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static lud_scenario *scenario;
    if (!scenario && lud_scenario_read("fuzz.yaml", text, sizeof text - 1, NULL, 0, &scenario, NULL)) abort();
    lud_arena *arena = lud_arena_create(0);
    lud_tree *policies = NULL;
    lud_cast *cast = NULL;
    lud_error error = {0};
    if (!arena || lud_tree_read_text(arena, "fuzz", (const char *)bytes, length, &policies, &error)) {
        fuzz_answer_text(error.text);
        lud_arena_destroy(arena);
        return 0;
    }
    if (!lud_cast_create(scenario->model, policies, "/nowhere/fuzz.yaml", &cast, &error)) {
        lud_batch *batch = NULL;
        if (lud_batch_create(scenario->model, 1, 1, 0, &batch, NULL)) abort();
        lud_batch_reset(batch, NULL);
        uint8_t *hidden = calloc(1, lud_cast_hidden_bytes(cast) + 8);
        int32_t actions[8] = {0};
        lud_cast_reset(cast, lud_batch_range(batch, 0, 1), batch->states, hidden);
        for (int t = 0; t < 5 && !lud_cast_needs_observations(cast); t++) {
            lud_cast_act(cast, lud_batch_range(batch, 0, 1), batch->states, NULL, hidden, actions, NULL);
            lud_batch_step(batch, (lud_actions){.discrete = actions}, NULL);
            fuzz_answer(actions, sizeof actions);
        }
        free(hidden);
        lud_batch_destroy(batch);
        lud_cast_destroy(cast);
    } else if (!error.text[0]) {
        abort();
    }
    fuzz_answer_text(error.text);
    lud_arena_destroy(arena);
    return 0;
}
