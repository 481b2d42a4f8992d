/* Reading and writing particle sections: shipped files, parameters, effective configuration, errors with
 * their place. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "sim/particle/support_particle.h"
#include "sim/scenario.h"

static void test_shipped_scenarios(void **unused) {
    (void)unused;
    const char *folder = LUDUS_SOURCE_DIR "/scenarios/particle";
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".yaml")) continue;
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        lud_error error = {0};
        lud_scenario *scenario;
        if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
        assert_true(scenario->world == &lud_particle_world);
        assert_true(scenario->model->layout.n_parts > 0);
        lud_scenario_destroy(scenario);
        n++;
    }
    closedir(dir);
    assert_true(n >= 11);
}

/* A built-in task is the shipped file: the same section either way. */
static void test_task_is_file(void **unused) {
    (void)unused;
    const char *name;
    for (int i = 0; (name = lud_particle_task_name(i)); i++) {
        char path[1000], section[100];
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/particle/%s.yaml", name);
        snprintf(section, sizeof section, "task: %s", name);
        lud_error error = {0};
        lud_scenario *scenario;
        assert_int_equal(lud_scenario_load(path, NULL, 0, &scenario, &error), LUD_OK);
        lud_model *model = particle_model(section);
        char *text[2];
        size_t length[2];
        lud_arena *arena = lud_arena_create(0);
        for (int k = 0; k < 2; k++) {
            lud_tree *root = lud_arena_take(arena, sizeof *root);
            root->kind = LUD_TREE_MAPPING;
            assert_int_equal(lud_particle_world.write(k ? model : scenario->model, arena, root, &error),
                             LUD_OK);
            assert_int_equal(lud_tree_write(arena, root, &text[k], &length[k], &error), LUD_OK);
        }
        assert_string_equal(text[0], text[1]);
        lud_arena_destroy(arena);
        lud_particle_world.free(model);
        lud_scenario_destroy(scenario);
    }
    assert_null(lud_particle_task_name(-1));
}

/* What is written keeps its parameters: they can be changed in what was written, too. */
static void test_parameters_stay(void **unused) {
    (void)unused;
    lud_model *model = particle_model("task: navigation_graph, agents: 4, obstacles: 2"), *again = NULL;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = lud_arena_take(arena, sizeof *root);
    root->kind = LUD_TREE_MAPPING;
    char *text;
    size_t length;
    assert_int_equal(lud_particle_world.write(model, arena, root, &error), LUD_OK);
    assert_int_equal(lud_tree_write(arena, root, &text, &length, &error), LUD_OK);
    assert_int_equal(lud_tree_read_text(arena, "again", text, length, &root, &error), LUD_OK);
    assert_int_equal(lud_tree_set(arena, root, "particle.agents=7", &error), LUD_OK);
    if (lud_particle_world.parse(&lud_particle_world, root, "again", 0, &again, &error))
        fail_msg("%s in\n%s", error.text, text);
    assert_int_equal(again->layout.n_agents, 7);
    assert_int_equal(lud_particle_entity_count(particle_of(again)), 7 + 7 + 2);
    lud_particle_world.free(model);
    lud_particle_world.free(again);
    lud_arena_destroy(arena);
}

/* What is written reads back as the same model: same text again, same states and rewards. */
static void test_round_trip(void **unused) {
    (void)unused;
    const char *sections[] = {
        "task: simple_tag, agents: 2, terminate_on_success: true, curriculum_stage: 0",
        "task: simple_world_comm, actions: continuous", "task: simple_push",
        "task: navigation, observation: nearby, agents: 4, world_size: 3, physics: {damping: 0.1}",
        "task: navigation_graph, collaborative: false, disturbance: {std: 0.1}"};
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        lud_model *model = particle_model(sections[s]), *again = NULL;
        lud_error error = {0};
        lud_arena *arena = lud_arena_create(0);
        char *text[2];
        size_t length[2];
        lud_tree *root = lud_arena_take(arena, sizeof *root);
        root->kind = LUD_TREE_MAPPING;
        assert_int_equal(lud_particle_world.write(model, arena, root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &text[0], &length[0], &error), LUD_OK);
        if (lud_tree_read_text(arena, "again", text[0], length[0], &root, &error) ||
            lud_particle_world.parse(&lud_particle_world, root, "again", 0, &again, &error))
            fail_msg("%s in\n%s", error.text, text[0]);
        root = lud_arena_take(arena, sizeof *root);
        root->kind = LUD_TREE_MAPPING;
        assert_int_equal(lud_particle_world.write(again, arena, root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &text[1], &length[1], &error), LUD_OK);
        assert_string_equal(text[0], text[1]);
        assert_int_equal(model->layout.state_bytes, again->layout.state_bytes);
        assert_int_equal(model->layout.n_parts, again->layout.n_parts);
        uint8_t *a = malloc(model->layout.state_bytes), *b = malloc(model->layout.state_bytes);
        uint32_t tick = 0;
        int32_t discrete[16];
        float continuous[16 * 16], rewards[2][16] = {{0}};
        lud_range range = {1, 0, 1, &tick};
        lud_particle_world.reset(model, range, a);
        lud_particle_world.reset(again, range, b);
        for (uint32_t t = 0; t < 10; t++) {
            particle_random_actions(model, 0, t, discrete, continuous);
            lud_actions actions = {discrete, continuous};
            lud_particle_world.step(model, range, a, actions, (lud_outcome){.rewards = rewards[0]});
            lud_particle_world.step(again, range, b, actions, (lud_outcome){.rewards = rewards[1]});
        }
        assert_memory_equal(a, b, model->layout.state_bytes);
        assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
        free(a);
        free(b);
        lud_arena_destroy(arena);
        lud_particle_world.free(model);
        lud_particle_world.free(again);
    }
}

static void test_parameters(void **unused) {
    (void)unused;
    lud_model *model = particle_model("task: simple_spread, agents: 5");
    assert_int_equal(model->layout.n_agents, 5);
    assert_int_equal(lud_particle_entity_count(particle_of(model)), 10);
    assert_int_equal(model->layout.parts[0].dimensions[0], 4 + 10 + 8 + 8);
    assert_int_equal(model->layout.max_steps, 25);
    lud_particle_world.free(model);
    model = particle_model("task: simple_spread, parameters: {agents: 2}, episode_length: 0");
    assert_int_equal(model->layout.n_agents, 2);
    assert_int_equal(model->layout.max_steps, 0);
    lud_particle_world.free(model);
    model = particle_model("task: simple_tag, curriculum_stage: 0");
    assert_near(lud_particle_get_entity(particle_of(model), 3).max_speed, 0.65, 0);
    lud_particle_world.free(model);
    model = particle_model("task: navigation, observation: local");
    assert_int_equal(lud_particle_observation_size(particle_of(model), 0), 6);
    assert_int_equal(lud_particle_goal_offset(particle_of(model), 0), 4);
    lud_particle_world.free(model);
    model = particle_model("task: navigation, observation: global, use_speech: true");
    assert_int_equal(lud_particle_observation_size(particle_of(model), 0), 6 + 2 * 5 + 2 * 2);
    lud_particle_world.free(model);
    model = particle_model("task: simple_reference");
    assert_int_equal(model->layout.actions[0].n_discrete, 50);
    assert_string_equal(model->layout.actions[0].names[5 * 3 + 2], "right, say 3");
    lud_particle_world.free(model);
    model = particle_model("task: navigation_graph, actions: continuous");
    assert_int_equal(model->layout.actions[0].n_continuous, 2);
    assert_int_equal(model->layout.actions[0].n_discrete, 0);
    lud_particle_world.free(model);
}

/* Assignments from the command line reach parameters, the task's own keys and single rows. */
static void test_assignments(void **unused) {
    (void)unused;
    const char *set[] = {"particle.agents=7", "particle.physics.damping=0.5", "particle.goal_distance=0.2"};
    lud_error error = {0};
    lud_scenario *scenario;
    const char *path = LUDUS_SOURCE_DIR "/scenarios/particle/navigation_5.yaml";
    if (lud_scenario_load(path, set, 3, &scenario, &error)) fail_msg("%s", error.text);
    assert_int_equal(scenario->model->layout.n_agents, 7);
    assert_int_equal(scenario->model->layout.actions[0].n_continuous, 2);
    lud_scenario_destroy(scenario);
    path = LUDUS_SOURCE_DIR "/scenarios/particle/simple_spread.yaml";
    set[1] = "particle.bodies.0.radius=0.4";
    if (lud_scenario_load(path, set, 2, &scenario, &error)) fail_msg("%s", error.text);
    assert_int_equal(scenario->model->layout.n_agents, 7);
    assert_near(lud_particle_get_entity(particle_of(scenario->model), 6).radius, 0.4, 0);
    lud_scenario_destroy(scenario);
    set[0] = "particle.agnets=7";
    assert_int_equal(lud_scenario_load(path, set, 1, &scenario, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "agnets"));
}

static void test_errors(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        {"world: particle", "", "needs a section `particle`"},
        {"particle: {}", "test:1:11", "needs `task`"},
        {"particle:\n  task: simple_sprad", "test:2:9", "did you mean `simple_spread`"},
        {"particle:\n  task: simple_spread\n  agent: 3", "test:3:3", "agent"},
        {"particle:\n  task: simple_spread\n  agents: many", "test:3:11", "integer"},
        {"particle:\n  task: simple_spread\n  curriculum_stage: 7", "test:3:21", "none of the 2"},
        {"particle:\n  task: simple_spread\n  local_ratio: 2", "test:3:16", "0"},
        {"particle:\n  bodies:\n    - {name: a}", "test:3:5", "at least one agent"},
        {"particle:\n  bodies:\n    - {type: agent}", "test:3:7", "`name`"},
        {"particle:\n  bodies:\n    - {name: other, type: agent}", "test:3:7", "meaning of its own"},
        {"particle:\n  bodies:\n    - {name: a, type: agent}\n    - {name: a}", "test:", "used twice"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, radius: 0}", "test:3:38", "number"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, colour: [1, 2]}", "test:3:38", "3 to 8"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, at: [[0, 0], [1, 1]]}", "test:3:34",
         "list of 1 positions"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, observes: [{term: relative, of: goall}]}\n    - "
         "{name: goal}",
         "test:3:62", "did you mean `goal`"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, observes: [{term: speech, of: b}]}\n    - "
         "{name: b}",
         "test:3:", "only agents speak"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: distance, cost: 1}",
         "test:4:7", "needs `to`"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: control, to: a, cost: 1}",
         "test:4:27", "takes no `to`"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: overlap, for: self, to: a}",
         "test:4:28", "depends on an agent"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: reach, to: a, weight: 1}",
         "test:4:7", "`within`"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: speech_error, to: a, cost: "
         "1}",
         "test:4:7", "that speak"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b}]\n  choices: [{name: c, from: d}]",
         "test:3:29", "no body `d`"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b, count: 0}]\n  choices: [{name: c, from: "
         "b}]",
         "test:3:29", "at least 1"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  success: {every: a}", "test:3:12", "`reaches`"},
        {"particle:\n  bodies: [{name: a, type: agent, count: 600}]", "test:2:42", "512"},
        {"particle:\n  parameters: {bodies: 3}\n  bodies: [{name: a, type: agent}]", "test:2:16",
         "key of this section"},
        {"particle:\n  parameters: {x: 3}\n  bodies: [{name: a, type: agent, count: $y}]", "test:3:42",
         "no parameter `y`"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  walls: [{at: 0, from: 1, to: 0}]", "test:3:10",
         "ends before"},
        {"particle:\n  bodies: [{name: a, type: agent, apart_from: b}]", "test:2:47", "neither"},
        {"particle:\n  bodies: 3", "test:2:11", "list"},
        {"particle:\n  bodies: [3]", "test:2:12", "mapping"},
        {"particle:\n  task: [simple_spread]", "test:2:9", "`task` must be the name of a task"},
        {"particle:\n  parameters: 3", "test:2:15", "`parameters` must be a mapping of names to values"},
        {"particle:\n  world_size: {pick: [1, 2]}", "test:2:15",
         "`pick` needs `by`, the name of a parameter"},
        {"particle:\n  parameters: {x: 3}\n  world_size: {pick: [1, 2], by: x}", "test:2:19",
         "`x: 3` is none of the 2 that `pick` offers"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  choices: [{name: c}]", "test:3:12",
         "choice `c` needs `from`, the name of a body"},
        {"particle:\n  bodies: [{name: a, type: agent, paint: {scale: 1}}]", "test:2:42",
         "`paint` needs `choice`, the name of a choice"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b, paint: {choice: c}}]\n  choices: [{name: "
         "c, "
         "from: a, per: agent}]",
         "test:2:53", "choice `c` differs between agents, so only agents can be painted by it"},
        {"particle:\n  bodies: [{name: a, type: agent, paint: {choice: c}}]\n  choices: [{name: c, from: a}]",
         "test:2:42", "cannot be painted by a body that is painted itself"},
        {"particle:\n  bodies: [{name: a, type: agent, region: [0, 0, 1]}]", "test:2:11",
         "`region` of `a` must be four numbers x0, y0, x1, y1"},
        {"particle:\n  bodies: [{name: a, type: agent, at: [[0, 0, 0]]}]", "test:2:40",
         "expected a position [x, y]"},
        {"particle:\n  bodies: [{name: a, type: agent, apart_from: {b: 1}}]", "test:2:47",
         "expected a name or a list of names"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b}]\n  rewards: [{term: distance, to: [b, "
         "b]}]",
         "test:3:38", "`b` is already in the list"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, observes: [{term: colour, of: [b, c]}]}\n"
         "    - {name: b, colour: [0, 0, 0]}\n    - {name: c, colour: [0, 0, 0, 0]}",
         "test:3:41", "the colours to observe have different numbers of components"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b}]\n  rewards: [{term: control, from: b}]",
         "test:3:13", "only agents have controls"},
        {"particle:\n  speech_size: 4\n  bodies: [{name: a, type: agent, speaks: true}, {name: b}]\n  "
         "rewards: "
         "[{term: speech_error, to: b}]",
         "test:4:13", "speech_error compares 4 numbers of speech, the colour has only 3"},
        {"particle:\n  bodies: [{name: a, type: agent}, {name: b}]\n  rewards: [{term: constant, for: b}]",
         "test:3:35", "only agents receive rewards"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, observes: [{term: position, of: b, nearest: "
         "512}, "
         "{term: position, of: b, nearest: 512}, {term: distance, of: b, nearest: 1}]}\n    - {name: b}",
         "test:3:40", "an observation of more than 2048 numbers"},
        {"particle:\n  bodies: [{name: a, type: agent}]\n  rewards:\n    - {term: control, from: a}",
         "test:4:7", "a reward row needs its `weight` or its `cost`"},
        {"particle:\n  speech_size: 64\n  bodies: [{name: a, type: agent, speaks: true, count: 100}]",
         "test:2:3", "the task needs 7566 numbers an environment, at most 4096 are possible"},
        {"particle:\n  bodies:\n    - {name: a, type: agent, count: 300}\n    - {name: b, count: 300}",
         "test:3:5", "600 bodies, at most 512 are possible"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *message = particle_error(cases[i].text);
        if (strncmp(message, cases[i].place, strlen(cases[i].place)) != 0 ||
            !strstr(message, cases[i].message))
            fail_msg("case %zu: expected `%s ... %s`, got `%s`", i, cases[i].place, cases[i].message,
                     message);
    }
}

/* `n` rows in a list, each made from its number. */
static void expect_long_list(const char *before, const char *row, int n, const char *after,
                             const char *expected) {
    lud_text text = {0};
    lud_text_append(&text, "%s", before);
    for (int i = 0; i < n; i++) {
        const char *number = strchr(row, '#');
        if (number)
            lud_text_append(&text, "%s%.*s%d%s", i ? ", " : "", (int)(number - row), row, i, number + 1);
        else
            lud_text_append(&text, "%s%s", i ? ", " : "", row);
    }
    lud_text_append(&text, "%s", after);
    assert_false(text.failed);
    assert_string_equal(particle_error(text.bytes), expected);
    lud_text_free(&text);
}

/* Lists that are longer than what the world can number. */
static void test_limits(void **unused) {
    (void)unused;
    expect_long_list("particle:\n  bodies: [", "0", 32768, "]",
                     "test:2:11: too many rows of `particle.bodies`");
    expect_long_list("particle:\n  bodies: [", "{name: a#}", 513, "]", "test:2:11: too many bodies");
    expect_long_list(
        "particle:\n  bodies: [{name: a, type: agent, count: 511}, {name: b}]\n  choices: [",
        "{name: c#, from: b, per: agent}", 32, "]",
        "test:3:12: too many choices: 16352 draws an environment, at most 15871 are possible with 512 "
        "bodies");
}

/* Choices are observed like bodies, so that more of both could be sorted than there are bodies at most. */
static void test_most_that_is_sorted(void **unused) {
    (void)unused;
    for (int n_choices = 12; n_choices <= 13; n_choices++)
        for (int nearest = 0; nearest < 2; nearest++) {
            lud_text choices = {0}, of = {0}, text = {0};
            for (int i = 0; i < n_choices; i++) {
                lud_text_append(&choices, "%s{name: c%d, from: b}", i ? ", " : "", i);
                lud_text_append(&of, ", c%d", i);
            }
            lud_text_append(&text,
                            "particle: {choices: [%s], bodies: [{name: b, count: 500}, "
                            "{name: a, type: agent, observes: [{term: distance, of: [b%s], nearest: %d}]}]",
                            choices.bytes, of.bytes, nearest);
            if (n_choices == 13 && nearest) {
                lud_text_append(&text, "}");
                assert_non_null(
                    strstr(particle_error(text.bytes),
                           ": 513 bodies and choices to sort by distance, at most 512 are possible"));
            } else {
                lud_particle_world.free(particle_model(text.bytes + strlen("particle: {")));
            }
            lud_text_free(&choices);
            lud_text_free(&of);
            lud_text_free(&text);
        }
}

/* A task of one's own, in words only: a dog herds sheep-like balls into a pen. */
static void test_own_task(void **unused) {
    (void)unused;
    lud_model *model = particle_model("bodies: [{name: dog, type: agent, max_speed: 1, at: [[0, 0]], "
                                      "observes: [{term: velocity}, {term: relative, of: "
                                      "[sheep, pen]}]}, {name: sheep, count: 2, movable: true, at: [[0.5, "
                                      "0], [0, 0.5]]}, {name: pen, collides: false, "
                                      "radius: 0.3, at: [[0.5, 0.2]]}], rewards: [{term: distance, from: "
                                      "sheep, to: pen, over_from: mean, cost: 2}, {name: "
                                      "penned, term: overlap, from: sheep, to: pen, weight: 1}], success: "
                                      "{every: sheep, reaches: pen, terminate: true}");
    uint8_t state[400];
    uint32_t tick = 0;
    lud_range range = {1, 0, 1, &tick};
    int32_t still = 0;
    float reward;
    uint8_t terminated;
    assert_true(model->layout.state_bytes <= sizeof state);
    lud_particle_world.reset(model, range, state);
    lud_particle_world.step(model, range, state, (lud_actions){.discrete = &still},
                            (lud_outcome){.rewards = &reward, .terminated = &terminated});
    assert_near((double)reward, -(0.2 + 0.5830951894845301) + 1, 1e-6);
    assert_int_equal(terminated, 0);
    lud_particle_metrics metrics = lud_particle_get_metrics(particle_of(model), state);
    assert_true(metrics.has_success && metrics.success == 0);
    assert_near(metrics.fraction, 1, 0);
    assert_near(metrics.reward, (double)reward, 1e-6);
    assert_string_equal(lud_particle_reward_name(particle_of(model), 1), "penned");
    assert_near(lud_particle_reward_return(particle_of(model), state, 1), 1, 0);
    lud_particle_set_body(particle_of(model), state, 2, (lud_particle_body){{0.4, 0.3}, {0, 0}});
    assert_true(lud_particle_world.is_terminal(model, state));
    lud_particle_world.step(model, range, state, (lud_actions){.discrete = &still},
                            (lud_outcome){.rewards = &reward, .terminated = &terminated});
    assert_int_equal(terminated, 1);
    assert_near(lud_particle_get_metrics(particle_of(model), state).success, 1, 0);
    lud_particle_world.free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_scenarios),
                                       cmocka_unit_test(test_task_is_file),
                                       cmocka_unit_test(test_parameters_stay),
                                       cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_assignments),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_most_that_is_sorted),
                                       cmocka_unit_test(test_own_task)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
