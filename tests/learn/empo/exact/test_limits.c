/* What EMPO's parts say when something does not fit: a transition larger than the memory for it, more starts
 * than states allowed, an episode that is over before it began, a policy that keeps its probabilities to
 * itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/exact/open_goals.h"
#include "learn/empo/exact/options.h"
#include "learn/empo/exact/support_table_world.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/phase1/phase1.h"
#include "learn/empo/support_empo.h"

static const char section[] = "learner:\n"
                              "  type: empo-phase2\n  automatic: false\n"
                              "  human_prior: {type: heuristic}\n"
                              "  hidden_dim: 8\n"
                              "  goal_feature_dim: 4\n"
                              "  num_training_steps: 60\n"
                              "  buffer_size: 100\n"
                              "  environments: 3\n"
                              "  exact_max_states: 0\n";

/* A memory with room for one word: less than any record of a state. */
static lud_empo_replay *too_small(const lud_empo_features *features, int n_actions, int n_humans) {
    lud_empo_replay *replay = lud_empo_replay_create(10, 4, features->words, n_actions, n_humans, 0);
    assert_non_null(replay);
    return replay;
}

static void expect_too_large(lud_status status, const lud_error *error) {
    assert_int_equal(status, LUD_ERROR_LIMIT);
    int n;
    char raise[32];
    if (sscanf(error->text, "a transition with %d successors is larger than the replay memory; %31s", &n,
               raise) != 2 ||
        n < 1 || !strstr(error->text, "raise buffer_memory"))
        fail_msg("`%s`", error->text);
}

static void a_transition_larger_than_the_memory(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, section, 0, NULL);
    lud_empo_phase2_learner *l = r.learner;
    const lud_empo_layout *layout = &l->features.layout;
    lud_empo_replay *small = too_small(&l->features, layout->n_robot_actions, layout->n_humans);
    const lud_empo_now now = lud_empo_stages_at(&l->options.stages, 0);
    lud_error error = {0};
    expect_too_large(lud_empo_rollout_step(l->rollout, &now, 0, small, &error), &error);
    assert_int_equal(lud_empo_replay_count(small), 0);
    lud_empo_replay_destroy(small);
    support_empo_close(&r);
}

static void a_handed_transition_larger_than_the_memory(void **state) {
    (void)state;
    static const char *const set[] = {"learner.async_training=true", "learner.num_actors=1",
                                      "learner.async_min_buffer_size=10"};
    support_empo r;
    support_empo_open(&r, support_empo_corridor, section, 3, set);
    lud_empo_phase2_learner *l = r.learner;
    const lud_empo_layout *layout = &l->features.layout;
    lud_empo_replay *small = too_small(&l->features, layout->n_robot_actions, layout->n_humans);
    lud_error error = {0};
    assert_int_equal(lud_empo_async_run(l->async, 0, &error), LUD_OK);
    assert_int_equal(lud_empo_async_dequeue(l->async, small, 0, 1, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "a transition is larger than the replay memory; raise buffer_memory");
    lud_empo_replay_destroy(small);
    support_empo_close(&r);
}

static void a_persons_transition_larger_than_the_memory(void **state) {
    (void)state;
    static const char people[] = "learner:\n"
                                 "  type: empo-phase1\n"
                                 "  hidden_dim: 8\n"
                                 "  goal_feature_dim: 4\n"
                                 "  buffer_size: 60\n"
                                 "  environments: 2\n"
                                 "  exact_max_states: 0\n";
    lud_text text = {0};
    lud_text_append(&text, "%s%s", support_empo_corridor, people);
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *made = NULL;
    lud_error error = {0};
    lud_status status = lud_scenario_read("test.yaml", text.bytes, text.length, NULL, 0, &scenario, &error);
    if (!status) status = lud_device_open("cpu", 1, &device, &error);
    if (!status) status = lud_learner_create(scenario, device, &made, &error);
    if (status) fail_msg("%s", error.text);
    lud_empo_phase1_learner *l = (lud_empo_phase1_learner *)made;
    const lud_empo_layout *layout = &l->net.features.layout;
    int width = 0;
    for (int h = 0; h < layout->n_humans; h++)
        if (layout->n_human_actions[h] > width) width = layout->n_human_actions[h];
    lud_empo_replay *small = too_small(&l->net.features, width * layout->n_robot_actions, 1);
    expect_too_large(lud_empo_phase1_rollout_step(l->rollout, 0.1, 0, small, &error), &error);
    lud_empo_replay_destroy(small);
    lud_learner_destroy(made);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    lud_text_free(&text);
}

static void more_starts_than_states(void **state) {
    (void)state;
    static const char world[] = "ludus: 1\n"
                                "world: multigrid\n"
                                "multigrid:\n"
                                "  ensemble:\n"
                                "    - map: |\n"
                                "        We We We We We\n"
                                "        We Ay Ae .. We\n"
                                "        We We We We We\n"
                                "    - map: |\n"
                                "        We We We We We\n"
                                "        We Ay .. Ae We\n"
                                "        We We We We We\n"
                                "  max_steps: 3\n"
                                "goals:\n"
                                "  - {rectangle: [1, 1, 3, 1]}\n";
    static const lud_empo_theory theory = {
        .beta_h = 5, .gamma_h = 0.9, .gamma_r = 0.9, .beta_r = 2, .zeta = 2, .xi = 1, .eta = 1};
    lud_scenario *scenario = NULL;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", world, strlen(world), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    lud_empo_reference reference = {0};
    assert_int_equal(lud_empo_reference_create(scenario->model, &theory, NULL, 1, 1, 1, &reference, &error),
                     LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "2 different starts; at most 1 states were asked for");
    lud_empo_reference_free(&reference);
    lud_scenario_destroy(scenario);
}

static const char room[] = "ludus: 1\n"
                           "world: multigrid\n"
                           "multigrid:\n"
                           "  map: |\n"
                           "    We We We We We\n"
                           "    We Ay .. Ae We\n"
                           "    We We We We We\n"
                           "  max_steps: 3\n"
                           "goals: [{cell: [1, 1]}]\n";

static lud_scenario *open_room(const char *goals) {
    lud_scenario *scenario = NULL;
    lud_error error = {0};
    if (lud_scenario_read("room.yaml", room, strlen(room), &goals, 1, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

/* A person who has left its only cell for the last step has a goal left where there is another one, for which
 * it does not come too late and which counts: one without weight does not. */
static void goals_without_weight_are_none(void **state) {
    (void)state;
    static const struct {
        const char *goals;
        bool open;
    } cases[] = {{"goals=[{cell: [1, 1]}]", false},
                 {"goals=[{cell: [1, 1]}, {rectangle: [1, 1, 3, 1], weight: 0}]", false},
                 {"goals=[{cell: [1, 1]}, {rectangle: [1, 1, 3, 1], weight: 0.01}]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_scenario *scenario = open_room(cases[i].goals);
        lud_empo_layout layout;
        lud_error error = {0};
        assert_int_equal(lud_empo_layout_find(scenario->model, &layout, &error), LUD_OK);
        const lud_status status = lud_empo_check_open_goals(scenario->model, &layout, 1, &error);
        if (status != (cases[i].open ? LUD_OK : LUD_ERROR_INPUT)) fail_msg("%s", cases[i].goals);
        lud_scenario_destroy(scenario);
    }
}

/* Eight goals are told, and of more how many there are. */
static void goals_that_are_not_open_are_told(void **state) {
    (void)state;
    for (int n = 1; n <= 10; n++) {
        lud_text goals = {0}, expected = {0};
        for (int g = 0; g < n; g++) lud_text_append(&goals, "%s{cell: [1, 1]}", g ? ", " : "goals=[");
        lud_text_append(&goals, "]");
        for (int g = 0; g < n && g < 8; g++)
            lud_text_append(&expected, "%sbe at (1, 1)", g ? ", " : "Its goals: ");
        if (n > 8) lud_text_append(&expected, ", ... (%d in all)", n);
        lud_text_append(&expected, ". The state: ");
        lud_scenario *scenario = open_room(goals.bytes);
        lud_empo_layout layout;
        lud_error error = {0};
        uint8_t *start = calloc(1, scenario->model->layout.state_bytes);
        assert_int_equal(lud_empo_layout_find(scenario->model, &layout, &error), LUD_OK);
        scenario->model->world->reset(scenario->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, start);
        assert_int_equal(lud_empo_no_open_goal(scenario->model, &layout, 0, start, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, expected.bytes)) fail_msg("'%s' is not in '%s'", expected.bytes, error.text);
        free(start);
        lud_text_free(&goals);
        lud_text_free(&expected);
        lud_scenario_destroy(scenario);
    }
}

static void a_world_that_is_over_at_once(void **state) {
    (void)state;
    table_model *m = table_world_random(3, 1, 1, 2, 3, 4, false);
    uint8_t states[2][2] = {{0}};
    const lud_empo_environments environments = {.model = &m->base, .n = 2, .states = states[0]};
    lud_error error = {0};
    assert_int_equal(lud_empo_environments_check(&environments, &error), LUD_OK);
    const uint16_t last = (uint16_t)(m->n_states - 1); /* of the last layer, which has no successors */
    memcpy(states[1], &last, sizeof last);
    assert_int_equal(lud_empo_environments_check(&environments, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "the world ends before the first step; nothing can be learned");
    free(m);
}

/* Chooses its first action and says nothing about it. */
static void silent_act(lud_policy *policy, const lud_act *act) {
    (void)policy;
    for (int e = 0; act->discrete && e < act->range.n; e++)
        for (int i = 0; i < act->n_agents_acting; i++)
            act->discrete[e * act->model->layout.n_agents + act->agents[i]] = 0;
}

static void a_policy_without_probabilities(void **state) {
    (void)state;
    static const lud_policy_kind silent = {.name = "silent", .act = silent_act};
    support_empo r;
    support_empo_open(&r, support_empo_corridor, section, 0, NULL);
    lud_policy policy = {.kind = &silent, .model = r.scenario->model};
    lud_error error = {0};
    assert_int_equal(lud_empo_check_policy(&policy, 0, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "the policy 'silent' does not say its probabilities");
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transition_larger_than_the_memory),
        cmocka_unit_test(a_handed_transition_larger_than_the_memory),
        cmocka_unit_test(a_persons_transition_larger_than_the_memory),
        cmocka_unit_test(more_starts_than_states),
        cmocka_unit_test(goals_without_weight_are_none),
        cmocka_unit_test(goals_that_are_not_open_are_told),
        cmocka_unit_test(a_world_that_is_over_at_once),
        cmocka_unit_test(a_policy_without_probabilities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
