/* The particle world stepped on a device against the CPU: every built-in task, both kinds of actions,
 * automatic resets, rooms of every size. Runs on a GPU where there is one, and in any case as
 * `test_cuda_particle_emulated` on tests/emulation, where every byte must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_device.h"
#include "sim/device_batch.h"
#include "sim/particle/particle.h"
#include "sim/support_device.h"

enum { ENVS = DEVICE_ENVS, STEPS = 60, SEED = DEVICE_SEED, FIRST = DEVICE_FIRST };

static bool emulated;

static lud_model *parse(const char *section) {
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *root = NULL;
    lud_model *model = NULL;
    char text[400];
    snprintf(text, sizeof text, "particle: {%s}", section);
    if (lud_tree_read_text(arena, "test", text, strlen(text), &root, &error) ||
        lud_particle_world.parse(&lud_particle_world, root, "test", 0, &model, &error))
        fail_msg("%s: %s", section, error.text);
    lud_arena_destroy(arena);
    return model;
}

static void compare(const char *section) {
    lud_model *model = parse(section);
    compare_on_device(section, model, cuda, STEPS, emulated);
    lud_particle_world.free(model);
}

static void test_every_task(void **state) {
    (void)state;
    if (!cuda) skip();
    static const char *const actions[] = {"discrete", "continuous"};
    char section[200];
    for (int t = 0; lud_particle_task_name(t); t++)
        for (int k = 0; k < 2; k++) {
            snprintf(section, sizeof section, "task: %s, episode_length: 20, actions: %s",
                     lud_particle_task_name(t), actions[k]);
            compare(section);
        }
}

/* Graphs, disturbances, walls that stop who is fast: what the tasks as they are leave out; and teams for the
 * larger rooms. */
static void test_more(void **state) {
    (void)state;
    if (!cuda) skip();
    compare("task: navigation_graph, episode_length: 20, agents: 5, obstacles: 3, actions: continuous, "
            "disturbance: {std: 0.1}, graph: {nodes: relative, edges: true, distances: true}");
    compare(
        "episode_length: 20, actions: continuous, bodies: [{name: a, type: agent, count: 3, region: [-0.8, "
        "-0.8, -0.4, 0.8], acceleration: 1e3, observes: [{term: position}]}], walls: [{at: 1}, {at: -1}, "
        "{at: "
        "1, orientation: vertical}, {at: -1, orientation: vertical}, {at: 0, orientation: vertical, to: "
        "0.3}]");
    compare("task: navigation_graph, episode_length: 20, agents: 12, obstacles: 4, "
            "graph: {nodes: global, edges: true, distances: true}");
    compare("task: navigation_graph, episode_length: 20, agents: 30, obstacles: 10");
    compare(
        "task: simple_spread, episode_length: 20, agents: 9, agent_neighbours: 3, landmark_neighbours: 2");
}

static void test_errors(void **state) {
    (void)state;
    if (!cuda) skip();
    lud_error error = {0};
    lud_device_batch *batch;
    lud_model *model = parse("task: simple, precision: double");
    assert_int_equal(lud_device_batch_create(model, cuda, 4, 0, 0, &batch, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "precision: double is for checks on a processor"));
    lud_particle_world.free(model);
    model = parse("task: simple");
    assert_int_equal(lud_device_batch_create(model, cuda, 0, 0, 0, &batch, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "a batch needs at least one environment, not 0"));
    lud_world other = *model->world;
    other.device_code = NULL;
    model->world = &other;
    assert_int_equal(lud_device_batch_create(model, cuda, 4, 0, 0, &batch, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "the world particle does not step on cuda"));
    model->world = &lud_particle_world;
    lud_particle_world.free(model);
}

/* On the CPU it is the ordinary batch. */
static void test_cpu(void **state) {
    (void)state;
    lud_error error = {0};
    lud_device *cpu;
    lud_device_batch *batch;
    lud_batch *plain;
    lud_model *model = parse("task: simple_spread, episode_length: 5");
    assert_int_equal(lud_device_open("cpu", 1, &cpu, &error), LUD_OK);
    assert_int_equal(lud_device_batch_create(model, cpu, ENVS, SEED, FIRST, &batch, &error), LUD_OK);
    assert_int_equal(lud_batch_create(model, ENVS, SEED, FIRST, &plain, &error), LUD_OK);
    lud_device_batch_reset(batch, NULL);
    lud_batch_reset(plain, NULL);
    int32_t *actions = calloc(ENVS * (size_t)model->layout.n_agents, sizeof *actions);
    for (int step = 0; step < 12; step++) {
        lud_device_batch_step(batch, (lud_actions){actions, NULL}, NULL);
        lud_batch_step(plain, (lud_actions){actions, NULL}, NULL);
        assert_memory_equal(batch->states, plain->states, ENVS * model->layout.state_bytes);
        assert_memory_equal(batch->episode, plain->episode, ENVS * sizeof *plain->episode);
    }
    free(actions);
    lud_batch_destroy(plain);
    lud_device_batch_destroy(batch);
    lud_device_close(cpu);
    lud_particle_world.free(model);
}

int main(void) {
    emulated = getenv("LUDUS_CUDA_MODULE") != NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task), cmocka_unit_test(test_more),
                                       cmocka_unit_test(test_errors), cmocka_unit_test(test_cpu)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
