/* Any bytes as a state of each world: refused, or one that can be described, observed and gone on from. The
 * first byte chooses the world; the others change a state that it makes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "sim/batch.h"
#include "sim/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char *const texts[] = {
    "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We We\n    We Ay .. Ae Bl "
    "Ro We\n"
    "    We .. Ky Ly Kb Un We\n    We .. Xy .. .. Bu We\n    We We We We We We We\n  max_steps: 50\n  "
    "actions: object\n",
    "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ae Bl We\n"
    "    We .. .. .. We\n    We We We We We\n  max_steps: 50\n",
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_reference, episode_length: 9}\n",
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: 2, obstacles: 1}\n",
    "ludus: 1\nname: t\nworld: tribes\ntribes:\n  generate: {size: [12, 10]}\n  teams: [{name: a, agents: "
    "2}, {name: b, "
    "agents: 2}]\n  health: 3\n",
};
enum { TEXTS = sizeof texts / sizeof *texts, ENVS = 1 };
static lud_scenario *scenarios[TEXTS]; /* kept as long as their models */
static lud_batch *batches[TEXTS];
static void *parts[TEXTS][LUD_MAX_OBSERVATION_PARTS];

static void open_all(void) {
    for (int k = 0; k < TEXTS; k++) {
        lud_error error = {0};
        if (lud_scenario_read("fuzz.yaml", texts[k], strlen(texts[k]), NULL, 0, &scenarios[k], &error)) {
            fprintf(stderr, "%s\n", error.text);
            abort();
        }
        if (lud_batch_create(scenarios[k]->model, ENVS, 1, 0, &batches[k], NULL)) abort();
        batches[k]->n_threads = 1;
        for (int p = 0; p < scenarios[k]->model->layout.n_parts; p++)
            parts[k][p] = calloc(ENVS, scenarios[k]->model->layout.parts[p].bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static bool opened;
    if (!opened) open_all();
    opened = true;
    if (length < 2) return 0;
    const int k = bytes[0] % TEXTS;
    lud_batch *batch = batches[k];
    const lud_model *model = batch->model;
    const size_t n = model->layout.state_bytes;
    memset(batch->tick, 0, sizeof *batch->tick);
    lud_batch_reset(batch, NULL);
    if (bytes[1] & 1) { /* changes at places */
        for (size_t i = 2; i + 2 < length; i += 3)
            batch->states[(size_t)(bytes[i] | bytes[i + 1] << 8) % n] ^= bytes[i + 2];
    } else { /* all of it */
        memcpy(batch->states, bytes + 2, length - 2 < n ? length - 2 : n);
    }
    lud_error error = {0};
    if (model->world->check_state(model, batch->states, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_text(error.text);
        return 0;
    }
    static int32_t actions[64];
    static float numbers[1024];
    lud_text text = {0};
    model->world->describe(model, batch->states, &text);
    fuzz_answer_text(text.bytes);
    lud_text_free(&text);
    const lud_batch_out out = {.observations = parts[k]};
    lud_batch_observe(batch, parts[k]);
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < model->layout.n_agents; i++)
            actions[i] = model->layout.actions[i].n_discrete
                             ? (bytes[1] >> 1) % model->layout.actions[i].n_discrete
                             : 0;
        lud_batch_step(batch, (lud_actions){actions, numbers}, &out);
        fuzz_answer(batch->states, n);
        for (int p = 0; p < model->layout.n_parts; p++)
            fuzz_answer(parts[k][p], model->layout.parts[p].bytes);
    }
    return 0;
}
