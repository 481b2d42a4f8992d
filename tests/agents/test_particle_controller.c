/* The scripted controller of the particle world: it reaches goals in both families and both kinds of actions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/cast.h"
#include "sim/batch.h"
#include "sim/particle/particle.h"

enum { ENVS = 40 };

static lud_tree *read_text(lud_arena *arena, const char *text) {
    lud_error error = {0};
    lud_tree *root = NULL;
    if (lud_tree_read_text(arena, "test", text, strlen(text), &root, &error)) fail_msg("%s", error.text);
    return root;
}

typedef struct outcome {
    double success; /* share of environments in which every agent reached its goal */
    double reward;  /* mean of a step and an agent */
} outcome;

static outcome roll_out(const char *section, const char *policy_text, int steps) {
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_model *model;
    lud_policy *policy;
    lud_batch *batch;
    char text[300]; /* with a limit that leaves time: who arrives after it has failed */
    snprintf(text, sizeof text, "particle: {episode_length: 200, %s}", section);
    if (lud_particle_world.parse(&lud_particle_world, read_text(arena, text), "test", 0, &model, &error))
        fail_msg("%s", error.text);
    if (lud_policy_create(model, read_text(arena, policy_text), "test", &policy, &error))
        fail_msg("%s", error.text);
    assert_int_equal(lud_batch_create(model, ENVS, 5, 0, &batch, &error), LUD_OK);
    batch->end = LUD_END_GOES_ON;
    lud_batch_reset(batch, NULL);
    int n = model->layout.n_agents, agents[16];
    int32_t *discrete = calloc((size_t)(ENVS * n), sizeof *discrete);
    float *continuous =
        calloc((size_t)(ENVS * n * lud_max_continuous(&model->layout)) + 1, sizeof *continuous);
    float *rewards = calloc((size_t)(ENVS * n), sizeof *rewards);
    const lud_batch_out out = {.rewards = rewards};
    outcome result = {0};
    for (int a = 0; a < n; a++) agents[a] = a;
    for (int t = 0; t < steps; t++) {
        lud_act act = {.model = model,
                       .range = {5, 0, ENVS, batch->tick},
                       .states = batch->states,
                       .agents = agents,
                       .n_agents_acting = n,
                       .discrete = discrete,
                       .continuous = continuous};
        policy->kind->act(policy, &act);
        lud_batch_step(batch, (lud_actions){discrete, continuous}, &out);
        for (int i = 0; i < ENVS * n; i++) result.reward += (double)rewards[i] / (ENVS * n * steps);
    }
    for (int e = 0; e < ENVS; e++)
        result.success += lud_particle_get_metrics((const lud_particle_model *)model,
                                                   batch->states + (size_t)e * model->layout.state_bytes)
                              .success /
                          ENVS;
    free(rewards);
    free(discrete);
    free(continuous);
    lud_batch_destroy(batch);
    lud_policy_destroy(policy);
    lud_particle_world.free(model);
    lud_arena_destroy(arena);
    return result;
}

static double success(const char *section, const char *policy_text, int steps) {
    return roll_out(section, policy_text, steps).success;
}

static void test_reaches_goals(void **unused) {
    (void)unused;
    const char *calm = "{type: controller, gain: 0.5, brake: 0.15}";
    assert_true(success("task: navigation_graph, agents: 1, obstacles: 0, actions: continuous",
                        "{type: controller}", 60) > 0.97);
    assert_true(success("task: navigation_graph, agents: 1, obstacles: 0", calm, 60) > 0.97);
    const char *mpe = "task: navigation_graph, agents: 1, obstacles: 0, physics: {family: mpe}, actions: %s";
    char text[200];
    snprintf(text, sizeof text, mpe, "continuous");
    assert_true(success(text, calm, 60) > 0.97);
    snprintf(text, sizeof text, mpe, "discrete");
    assert_true(success(text, calm, 60) > 0.97);
    /* fleeing does not get there, nor does resting */
    assert_true(success(text, "{type: controller, gain: -0.5}", 60) < 0.1);
    assert_true(success(text, "{type: controller, rest: 100}", 60) < 0.1);
    /* a target by name: the nearest adversary is caught */
    assert_true(success("task: simple_tag, adversaries: 1, obstacles: 0",
                        "{type: controller, target: agent, brake: 0.15}", 100) > 0.9);
}

/* In simple_reference each agent knows the other's landmark: going there is no better than going anywhere. */
static void test_goes_to_what_the_next_agent_knows(void **unused) {
    (void)unused;
    const char *task = "task: simple_reference";
    double own = roll_out(task, "{type: controller, target: target, brake: 0.3}", 25).reward;
    double next = roll_out(task, "{type: controller, target: target, of: next, brake: 0.3}", 25).reward;
    assert_true(next > 0.7 * own); /* rewards are negative */
}

/* Mean reward of a step of the first hunter and of the prey, in simple_tag with three hunters. */
static void hunt(const char *hunters, const char *prey, double reward[2]) {
    enum { STEPS = 50, AGENTS = 4 };
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_model *model;
    lud_cast *cast;
    lud_batch *batch;
    char text[300];
    snprintf(text, sizeof text, "{other: %s, 3: %s}", hunters, prey);
    if (lud_particle_world.parse(&lud_particle_world, read_text(arena, "particle: {task: simple_tag}"),
                                 "test", 0, &model, &error) ||
        lud_cast_create(model, read_text(arena, text), "test", &cast, &error))
        fail_msg("%s", error.text);
    assert_int_equal(model->layout.n_agents, AGENTS);
    assert_int_equal(lud_batch_create(model, ENVS, 5, 0, &batch, &error), LUD_OK);
    lud_batch_reset(batch, NULL);
    int32_t actions[ENVS * AGENTS];
    float rewards[ENVS * AGENTS];
    const lud_range range = {5, 0, ENVS, batch->tick};
    uint8_t *hidden = calloc(ENVS, lud_cast_hidden_bytes(cast));
    lud_cast_reset(cast, range, batch->states, hidden);
    reward[0] = reward[1] = 0;
    for (int t = 0; t < STEPS; t++) {
        lud_cast_act(cast, range, batch->states, NULL, hidden, actions, NULL);
        lud_batch_step(batch, (lud_actions){actions, NULL}, &(lud_batch_out){.rewards = rewards});
        for (int e = 0; e < ENVS; e++) {
            reward[0] += (double)rewards[e * AGENTS] / (ENVS * STEPS);
            reward[1] += (double)rewards[e * AGENTS + 3] / (ENVS * STEPS);
        }
    }
    free(hidden);
    lud_batch_destroy(batch);
    lud_cast_destroy(cast);
    lud_particle_world.free(model);
    lud_arena_destroy(arena);
}

static void test_hunts_and_flees(void **unused) {
    (void)unused;
    const char *intercept = "{type: controller, target: agent, course: intercept, gain: 5, brake: 2}";
    const char *towards = "{type: controller, target: agent, gain: 5, brake: 2}";
    const char *away = "{type: controller, target: adversary, course: away, gain: 1}";
    const char *nearest = "{type: controller, target: adversary, gain: -1}";
    double chased[2], random[2], headed_off[2], cornered[2], resting[2];
    hunt(towards, away, chased);
    hunt("random", away, random);
    hunt(intercept, away, headed_off);
    hunt(intercept, nearest, cornered);
    hunt(intercept, "{type: controller, target: adversary, rest: 100}", resting);
    assert_true(chased[0] > 2 * random[0]);
    assert_true(headed_off[0] > 1.1 * chased[0]);
    /* the prey is better off to flee than to stand, and to mind all hunters and the edges than the nearest */
    assert_true(headed_off[1] > 0.7 * resting[1]);
    assert_true(headed_off[1] > 0.7 * cornered[1]);
}

static void test_errors(void **unused) {
    (void)unused;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_model *model;
    lud_policy *policy;
    assert_int_equal(lud_particle_world.parse(&lud_particle_world,
                                              read_text(arena, "particle: {task: simple_spread}"), "test", 0,
                                              &model, &error),
                     LUD_OK);
    lud_tree *options = read_text(arena, "{type: controller, target: nobody}");
    assert_int_equal(lud_policy_create(model, options, "test", &policy, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "test:1:1: target: there is no choice and no body 'nobody'");
    options = read_text(arena, "{type: controller, course: away}");
    assert_int_equal(lud_policy_create(model, options, "test", &policy, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "test:1:1: course: away needs a target, the name of bodies to flee from");
    /* scripts are lists of discrete actions; agents that push with forces have none */
    lud_particle_world.free(model);
    assert_int_equal(
        lud_particle_world.parse(&lud_particle_world,
                                 read_text(arena, "particle: {task: navigation_graph, actions: continuous}"),
                                 "test", 0, &model, &error),
        LUD_OK);
    options = read_text(arena, "{type: script, actions: [[0]]}");
    assert_int_equal(lud_policy_create(model, options, "test", &policy, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "script: agent 0 has no discrete actions");
    lud_particle_world.free(model);
    lud_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reaches_goals),
                                       cmocka_unit_test(test_goes_to_what_the_next_agent_knows),
                                       cmocka_unit_test(test_hunts_and_flees), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
