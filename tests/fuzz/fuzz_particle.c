/* Any text as a particle section: either an error, or a model that runs, observes and writes itself back. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/particle/particle.h"
#include "tests/fuzz/section.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(const lud_model *model) {
    const lud_layout *layout = &model->layout;
    uint32_t tick[3] = {0, 1, 2};
    lud_range range = {1, 0, 3, tick};
    int width = 1;
    for (int a = 0; a < layout->n_agents; a++)
        if (layout->actions[a].n_continuous > width) width = layout->actions[a].n_continuous;
    size_t n = 3 * (size_t)layout->n_agents;
    uint8_t *states = malloc(3 * layout->state_bytes + 1), flags[6];
    int32_t *discrete = calloc(n, sizeof *discrete);
    float *continuous = calloc(n * (size_t)width, sizeof *continuous), *rewards = malloc(n * sizeof *rewards);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = malloc(3 * layout->parts[p].bytes + 1);
    lud_particle_world.reset(model, range, states);
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; i < n; i++) {
            int choices = layout->actions[i % (size_t)layout->n_agents].n_discrete;
            discrete[i] = choices > 0 ? (int32_t)((i + (size_t)t) % (size_t)choices) : 0;
        }
        lud_particle_world.step(
            model, range, states, (lud_actions){discrete, continuous},
            (lud_outcome){.rewards = rewards, .terminated = flags, .truncated = flags + 3});
        lud_particle_world.observe(model, range, states, parts);
    }
    lud_text text = {0};
    lud_particle_world.describe(model, states, &text);
    lud_text_free(&text);
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(states);
    free(discrete);
    free(continuous);
    free(rewards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_section(&lud_particle_world, data, size, play);
}
