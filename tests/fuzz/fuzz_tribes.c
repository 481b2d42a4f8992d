/* Any text as a tribes section: either an error, or a model that runs, observes, tells its agents what they
 * see and writes itself back. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "sim/tribes/tribes.h"
#include "tests/fuzz/section.h"

const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(const lud_model *model) {
    const lud_layout *layout = &model->layout;
    uint32_t tick[2] = {0, 1};
    const lud_range range = {1, 0, 2, tick};
    const size_t n = 2 * (size_t)layout->n_agents;
    uint8_t *states = malloc(2 * layout->state_bytes + 1), flags[4];
    int32_t *actions = calloc(n, sizeof *actions);
    float *rewards = malloc(n * sizeof *rewards);
    float *components = malloc(n * LUD_TRIBES_COMPONENTS * sizeof *components);
    double *values = malloc((size_t)layout->n_measures * sizeof *values);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = malloc(2 * layout->parts[p].bytes + 1);
    lud_tribes_world.reset(model, range, states);
    for (int t = 0; t < 5; t++) {
        for (size_t i = 0; i < n; i++) actions[i] = (int32_t)((i * 7 + (size_t)t * 3) % LUD_TRIBES_ACTIONS);
        lud_tribes_world.step(model, range, states, (lud_actions){.discrete = actions},
                              (lud_outcome){rewards, flags, flags + 2, components});
        lud_tribes_world.observe(model, range, states, parts);
        fuzz_answer(states, 2 * layout->state_bytes);
        for (int p = 0; p < layout->n_parts; p++) fuzz_answer(parts[p], 2 * layout->parts[p].bytes);
    }
    lud_tribes_world.measure(model, 1, states, values);
    lud_text text = {0};
    lud_tribes_world.describe(model, states, &text);
    lud_tribes_world.describe_agent(model, states, layout->n_agents - 1, &text);
    lud_tribes_world.describe_team(model, layout->n_teams - 1, &text);
    fuzz_answer_text(text.bytes);
    lud_text_free(&text);
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(states);
    free(actions);
    free(rewards);
    free(components);
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_section(&lud_tribes_world, data, size, play);
}
