/* Some steps in two environments of any model, with everything that its world can say of them as answers
 * (answers.h). */
#pragma once

#include <stdlib.h>

#include "answers.h"
#include "sim/batch.h"

enum { PLAY_STEPS = 6, PLAY_ENVIRONMENTS = 2, PLAY_GOALS = 20, PLAY_BYTES = 1 << 20 };

static inline void fuzz_answer_words(const lud_model *model, const uint8_t *state) {
    const lud_world *world = model->world;
    const lud_layout *layout = &model->layout;
    lud_text text = {0};
    world->describe(model, state, &text);
    if (world->names) world->names(model, &text);
    for (int team = 0; world->describe_team && team < layout->n_teams; team++)
        world->describe_team(model, team, &text);
    for (int i = 0; i < layout->n_agents; i++) {
        if (world->describe_agent) world->describe_agent(model, state, i, &text);
        for (int a = 0; world->describe_action && a < layout->actions[i].n_discrete; a++)
            world->describe_action(model, state, i, a, &text);
        for (int g = 0; world->n_goals && g < world->n_goals(model, i) && g < PLAY_GOALS; g++) {
            world->describe_goal(model, i, g, &text);
            lud_text_append(&text, "%g %d\n", world->goal_weight(model, i, g),
                            world->achieved(model, state, i, g));
        }
        if (world->is_alive) lud_text_append(&text, "%d", world->is_alive(model, state, i));
        const uint64_t situation = world->situation ? world->situation(model, state, i) : 0;
        fuzz_answer(&situation, sizeof situation);
    }
    fuzz_answer_text(text.bytes);
    lud_text_free(&text);
    double measures[64] = {0};
    if (layout->n_measures > 64) abort();
    if (world->measure) world->measure(model, 1, state, measures);
    for (int k = 0; k < layout->n_measures; k++) /* of what is no number there are many */
        fuzz_answer(&measures[k], measures[k] == measures[k] ? sizeof *measures : 0);
}

static inline void fuzz_answer_successors(const lud_model *model, const uint8_t *state,
                                          const int32_t *joint_action) {
    lud_successors found = {0};
    lud_error error = {0};
    if (model->world->successors(model, state, joint_action, &found, &error)) abort();
    if (found.n < 1000) {
        fuzz_answer(found.probability, found.n * sizeof *found.probability);
        fuzz_answer(found.states, found.n * model->layout.state_bytes);
    }
    lud_successors_free(&found);
}

static inline void fuzz_play(const lud_model *model) {
    const lud_layout *layout = &model->layout;
    const size_t n = (size_t)layout->n_agents * PLAY_ENVIRONMENTS, state_bytes = layout->state_bytes;
    size_t width = 1, bytes = state_bytes;
    for (int i = 0; i < layout->n_agents; i++)
        if ((size_t)layout->actions[i].n_continuous > width) width = (size_t)layout->actions[i].n_continuous;
    for (int p = 0; p < layout->n_parts; p++) bytes += layout->parts[p].bytes;
    if (bytes > PLAY_BYTES) return;
    lud_batch *batch;
    if (lud_batch_create(model, PLAY_ENVIRONMENTS, 1, 0, &batch, NULL)) abort();
    batch->n_threads = 1;
    int32_t *discrete = calloc(n + 1, sizeof *discrete);
    float *continuous = calloc(n * width + 1, sizeof *continuous), *rewards = calloc(n + 1, sizeof *rewards);
    const size_t n_components = n * (size_t)layout->n_components;
    float *components = calloc(n_components + 1, sizeof *components);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++)
        parts[p] = calloc(PLAY_ENVIRONMENTS, layout->parts[p].bytes + 1);
    uint8_t ended[2 * PLAY_ENVIRONMENTS];
    const lud_batch_out out = {.observations = parts,
                               .rewards = rewards,
                               .terminated = ended,
                               .truncated = ended + PLAY_ENVIRONMENTS,
                               .components = n_components ? components : NULL};
    lud_batch_reset(batch, &out);
    for (int t = 0; t < PLAY_STEPS; t++) {
        fuzz_answer(batch->states, PLAY_ENVIRONMENTS * state_bytes);
        for (int p = 0; p < layout->n_parts; p++)
            fuzz_answer(parts[p], PLAY_ENVIRONMENTS * layout->parts[p].bytes);
        if (t == 0 || t == PLAY_STEPS - 1) fuzz_answer_words(model, batch->states); /* they take long */
        for (size_t i = 0; i < n; i++) {
            const int choices = layout->actions[i % (size_t)layout->n_agents].n_discrete;
            discrete[i] = choices > 0 ? (int32_t)((i * 7 + (size_t)t * 3) % (size_t)choices) : 0;
            for (size_t c = 0; c < width; c++)
                continuous[i * width + c] = (float)((i * 5 + ((size_t)t + c) * 3) % 9) / 4 - 1;
        }
        if (model->world->successors) fuzz_answer_successors(model, batch->states, discrete);
        lud_batch_step(batch, (lud_actions){discrete, continuous}, &out);
        fuzz_answer(rewards, n * sizeof *rewards);
        fuzz_answer(components, n_components * sizeof *components);
        fuzz_answer(ended, sizeof ended);
    }
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    lud_batch_destroy(batch);
    free(discrete);
    free(continuous);
    free(rewards);
    free(components);
}
