#include "learn/ticks/support_ticks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "learn/ticks/policy.h"

/* Step of the episode, then everybody's cue. */
typedef struct cues {
    uint8_t step, cue[SUPPORT_MOST];
} cues;

static void draw_cues(const lud_model *model, lud_range range, int e, lud_purpose purpose, cues *c) {
    const lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
    for (int i = 0; i < model->layout.n_agents; i++)
        c->cue[i] =
            (uint8_t)lud_below(lud_draw(key, range.tick[e], (uint32_t)i, purpose, 0).v[0], SUPPORT_CUES);
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    memset(states, 0, (size_t)range.n * sizeof(cues));
    for (int e = 0; e < range.n; e++) draw_cues(model, range, e, LUD_PURPOSE_RESET, (cues *)states + e);
}

static bool is_alive(const lud_model *model, const uint8_t *state, int agent) {
    (void)model;
    return agent % 2 == 0 || ((const cues *)state)->step <= 2 + agent % 5;
}

static void step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome) {
    const support_ticks_model *m = (const support_ticks_model *)model;
    const int n = model->layout.n_agents;
    for (int e = 0; e < range.n; e++) {
        cues *c = (cues *)states + e;
        for (int i = 0; i < n; i++) {
            const int32_t choice = actions.discrete[e * n + i];
            const bool pays = !m->nothing_is_paid && is_alive(model, (const uint8_t *)c, i);
            const float match = pays && choice == c->cue[i] ? 1.0f : 0.0f,
                        effort = pays && choice != SUPPORT_CHOICES - 1 ? -0.1f : 0.0f;
            if (outcome.rewards) outcome.rewards[e * n + i] = match + effort;
            if (!outcome.components) continue;
            outcome.components[2 * (e * n + i)] = match;
            outcome.components[2 * (e * n + i) + 1] = effort;
        }
        c->step++;
        draw_cues(model, range, e, LUD_PURPOSE_TRANSITION, c);
        if (outcome.terminated) outcome.terminated[e] = 0;
        if (outcome.truncated) outcome.truncated[e] = c->step == SUPPORT_STEPS;
    }
}

static void observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    const int n = model->layout.n_agents;
    float *to = parts[0];
    for (int e = 0; e < range.n && to; e++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < SUPPORT_CUES; k++) *to++ = ((const cues *)states)[e].cue[i] == k;
}

static void measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    (void)model;
    for (int e = 0; e < n; e++) values[e] = ((const cues *)states)[e].step;
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    (void)model;
    lud_text_append(out, "step %d of a world of cues", ((const cues *)state)->step);
}

static void describe_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out) {
    const cues *c = (const cues *)state;
    lud_text_append(out, "the cue is %s\nit is step %d\n", model->layout.actions[agent].names[c->cue[agent]],
                    c->step);
}

static void describe_team(const lud_model *model, int team, lud_text *out) {
    lud_text_append(out, "you are of team %s, do as the cue says\n",
                    model->layout.n_teams > 0 ? model->layout.team_names[team] : "all");
}

static const lud_world world = {.name = "cues",
                                .about = "everybody is told what will be paid",
                                .reset = reset,
                                .step = step,
                                .observe = observe,
                                .measure = measure,
                                .is_alive = is_alive,
                                .describe = describe,
                                .describe_agent = describe_agent,
                                .describe_team = describe_team};

static support_ticks_model *make_model(int n_agents, int n_teams) {
    static const char *const choices[] = {"one", "two", "three", "rest"};
    static const char *const teams[] = {"red", "blue", "gray"};
    static const char *const components[] = {"match", "effort"};
    support_ticks_model *m = calloc(1, sizeof *m);
    assert_true(m && n_agents <= SUPPORT_MOST && n_teams <= 3);
    for (int i = 0; i < n_agents; i++) {
        m->actions[i] = (lud_action_space){.n_discrete = SUPPORT_CHOICES, .names = choices};
        m->idle[i] = SUPPORT_CHOICES - 1;
        m->teams[i] = n_teams > 0 ? i % n_teams : 0;
    }
    m->measures[0] = (lud_measure){.name = "length", .format = NULL, .help = "steps of an episode"};
    m->base.world = &world;
    m->base.layout = (lud_layout){.state_bytes = sizeof(cues),
                                  .n_agents = n_agents,
                                  .max_steps = SUPPORT_STEPS,
                                  .actions = m->actions,
                                  .roles = m->roles,
                                  .idle = m->idle,
                                  .n_teams = n_teams,
                                  .team_names = teams,
                                  .teams = n_teams > 0 ? m->teams : NULL,
                                  .n_components = 2,
                                  .components = components,
                                  .n_parts = 1,
                                  .n_measures = 1,
                                  .n_columns = 1,
                                  .measures = m->measures};
    m->base.layout.parts[0] =
        (lud_observation_part){.name = "cue",
                               .kind = LUD_OBSERVATION_VECTOR,
                               .dtype = LUD_F32,
                               .per_agent = true,
                               .n_dimensions = 1,
                               .dimensions = {SUPPORT_CUES},
                               .bytes = (size_t)n_agents * SUPPORT_CUES * sizeof(float)};
    return m;
}

void support_ticks_again(support_ticks *s) {
    lud_error error = {0};
    lud_learner *learner = NULL;
    if (s->learner) lud_learner_destroy(&s->learner->base);
    s->learner = NULL;
    if (lud_learner_create(s->scenario, s->device, &learner, &error)) fail_msg("%s", error.text);
    s->learner = (lud_tick_learner *)learner;
}

support_ticks support_ticks_open(int n_agents, int n_teams, int n_envs, const char *options) {
    support_ticks s = {.model = make_model(n_agents, n_teams), .arena = lud_arena_create(0)};
    char text[2048];
    lud_error error = {0};
    lud_tree *root = NULL;
    const char *policy = strstr(options, "policy:") ? "" : "policy: {hidden_size: 16, layers: 0}, ";
    snprintf(text, sizeof text, "learner: {type: ticks, %s%s}\n", policy, options);
    if (lud_tree_read_text(s.arena, "test.yaml", text, strlen(text), &root, &error))
        fail_msg("%s", error.text);
    s.scenario = lud_arena_take(s.arena, sizeof *s.scenario);
    assert_non_null(s.scenario);
    *s.scenario = (lud_scenario){.arena = s.arena,
                                 .path = "test.yaml",
                                 .name = "cues",
                                 .world = &world,
                                 .model = &s.model->base,
                                 .run = {.environments = n_envs, .seed = 7},
                                 .root = root,
                                 .learner = lud_tree_get(root, "learner")};
    if (lud_device_open("cpu", 1, &s.device, &error)) fail_msg("%s", error.text);
    support_ticks_again(&s);
    return s;
}

void support_ticks_close(support_ticks *s) {
    if (s->learner) lud_learner_destroy(&s->learner->base);
    lud_device_close(s->device);
    lud_arena_destroy(s->arena);
    free(s->model);
}

void support_ticks_run(support_ticks *s, int n) {
    lud_error error = {0};
    for (int i = 0; i < n; i++)
        if (lud_tick_run(s->learner, &error)) fail_msg("%s", error.text);
}

lud_cast *support_ticks_join(support_ticks *s) {
    char folder[] = "/tmp/ludus-ticks-XXXXXX", path[64];
    lud_error error = {0};
    lud_cast *cast = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    s->learner->base.kind->visit(&s->learner->base, checkpoint);
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(lud_cast_create(&s->model->base, NULL, "test.yaml", &cast, &error), LUD_OK);
    if (lud_tick_join(s->scenario, s->scenario, folder, cast, &error)) fail_msg("%s", error.text);
    unlink(path);
    rmdir(folder);
    return cast;
}

int support_ticks_compare_delights(support_ticks *s, lud_cast *cast) {
    enum { MOST_BYTES = 64 };
    lud_tick_learner *l = s->learner;
    lud_tick_stepping *t = &l->training;
    const lud_model *model = &s->model->base;
    uint8_t before[MOST_BYTES], *hidden = calloc(1, lud_cast_hidden_bytes(cast) + 1);
    int32_t discrete[SUPPORT_MOST];
    lud_policy *policy = lud_cast_get(cast, 0);
    assert_true(model->layout.state_bytes <= MOST_BYTES && hidden);
    memcpy(before, t->batch->states, model->layout.state_bytes);
    const lud_range range = lud_batch_range(t->batch, 0, 1);
    lud_cast_act(cast, range, before, t->sights[t->now].parts, hidden, discrete, NULL);
    free(hidden);
    const double old_square = l->scoring.square / l->scoring.square_weight;
    l->options.learning_rate = l->options.critic_learning_rate = 0.0;
    support_ticks_run(s, 1);
    const double scale = l->policy->has_critic && l->options.standardise
                             ? sqrt(l->scoring.square / l->scoring.square_weight) / sqrt(old_square)
                             : 1.0;
    double values[SUPPORT_MOST];
    assert_memory_equal(discrete, t->discrete, (size_t)model->layout.n_agents * sizeof *discrete);
    assert_true(policy->kind->agent_numbers(policy, before, discrete, t->rewards, t->batch->states, values));
    bool told[SUPPORT_MOST] = {false};
    int n = 0;
    for (int64_t i = 0; i < l->scoring.selection.n; i++) {
        const int32_t row = l->scoring.scored[i], a = t->rows.agent[row];
        if (t->rows.environment[row] != 0) continue;
        const double expected =
            -(double)l->scoring.scored_advantage[i] * (double)l->scoring.scored_log_prob[i] * scale;
        told[a] = true;
        n += expected != 0.0;
        if (!(fabs(values[a] - expected) <= 1e-4 * (1.0 + fabs(expected))))
            fail_msg("agent %d: %g, the learner says %g", a, values[a], expected);
    }
    for (int a = 0; a < model->layout.n_agents; a++) assert_true(told[a] == !isnan(values[a]));
    return n;
}

uint64_t support_ticks_hash(support_ticks *s, const char *prefix) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    assert_non_null(checkpoint);
    s->learner->base.kind->visit(&s->learner->base, checkpoint);
    uint64_t hash = 0;
    int n = 0;
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(checkpoint, i);
        if (prefix && strncmp(tensor->name, prefix, strlen(prefix)) != 0) continue;
        hash = XXH3_64bits_withSeed(tensor->data, tensor->bytes, hash);
        n++;
    }
    assert_true(n > 0);
    lud_checkpoint_destroy(checkpoint);
    return hash;
}

double support_ticks_share(const support_ticks *s, int32_t choice) {
    const lud_tick_stepping *t = &s->learner->training;
    double n = 0;
    for (int64_t i = 0; i < t->rows.n; i++)
        n += choice < 0 ? t->choices.failed[i] : t->choices.discrete[i] == choice;
    return n / (double)t->rows.n;
}

int support_ticks_cue(const support_ticks *s, int64_t environment, int agent) {
    return ((const cues *)s->learner->training.batch->states)[environment].cue[agent];
}
