/* What networks are told of how far people have to walk, against people who walk. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agents/heuristic.h"
#include "learn/empo/networks/paths.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/grid_view.h"
#include "sim/scenario.h"

/* Two people in corridors of their own, one behind a locked door and with a rock in the way, which the robot
 * leaves alone. */
static const char world[] = "ludus: 1\n"
                            "name: corridors\n"
                            "world: multigrid\n"
                            "multigrid:\n"
                            "  map: |\n"
                            "    We We We We We We We We\n"
                            "    We .. Ay .. .. Cb .. We\n"
                            "    We We We We We We We We\n"
                            "    We .. Ro Ay Ly .. .. We\n"
                            "    We We We We We We We We\n"
                            "    We We We Ae We We We We\n"
                            "    We We We We We We We We\n"
                            "  max_steps: 12\n"
                            "  actions: object\n"
                            "goals:\n"
                            "  - {cell: [1, 1], agents: [0]}\n"
                            "  - {cell: [2, 1], agents: [0], weight: 2}\n"
                            "  - {cell: [6, 1], agents: [0]}\n"
                            "  - {rectangle: [1, 3, 2, 3], agents: [1]}\n"
                            "  - {cell: [3, 3], agents: [1]}\n"
                            "  - {rectangle: [5, 3, 6, 3], agents: [1]}\n"
                            "  - {cell: [4, 1], agents: [1]}\n";

static const lud_empo_walk walk = {.read = true,
                                   .gamma_h = 0.9,
                                   .gamma_r = 0.95,
                                   .zeta = 2,
                                   .xi = 1,
                                   .eta = 1.1,
                                   .power_floor = 0.01,
                                   .mean = true};

typedef struct fixture {
    lud_scenario *scenario;
    lud_policy *person;
    lud_empo_features features;
    lud_empo_paths *paths;
} fixture;

static void start(fixture *f) {
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", world, strlen(world), NULL, 0, &f->scenario, &error) ||
        lud_heuristic_create(f->scenario->model, 1e6, &f->person, &error) ||
        lud_empo_features_create(f->scenario->model, true, &f->features, &error))
        fail_msg("%s", error.text);
    f->paths = lud_empo_paths_create(&f->features, &walk);
    assert_non_null(f->paths);
}

static void end(fixture *f) {
    lud_empo_paths_destroy(f->paths);
    lud_empo_features_free(&f->features);
    lud_policy_destroy(f->person);
    lud_scenario_destroy(f->scenario);
}

/* V_h^e of a goal by walking through everything that can happen while nobody else moves. */
static double v_h_e(const fixture *f, const uint8_t *state, int agent, int goal) {
    const lud_model *model = f->scenario->model;
    double p[16], sum = 0;
    if (model->world->is_terminal(model, state)) return 0;
    assert_true(lud_policy_distribution(f->person, state, agent, goal, p));
    for (int a = 0; a < model->layout.actions[agent].n_discrete; a++) {
        if (p[a] < 1e-9) continue;
        int32_t joint[3];
        for (int i = 0; i < 3; i++) joint[i] = i == agent ? a : model->layout.idle[i];
        lud_successors found = {0};
        lud_error error = {0};
        assert_int_equal(model->world->successors(model, state, joint, &found, &error), LUD_OK);
        for (size_t i = 0; i < found.n; i++) {
            uint8_t next[256];
            assert_true(model->layout.state_bytes <= sizeof next);
            memcpy(next, found.states + i * model->layout.state_bytes, model->layout.state_bytes);
            sum += p[a] * found.probability[i] *
                   (model->world->achieved(model, next, agent, goal)
                        ? 1
                        : walk.gamma_h * v_h_e(f, next, agent, goal));
        }
        lud_successors_free(&found);
    }
    return sum;
}

/* The state where the world begins, with so many steps left. */
static void begin(const fixture *f, int left, uint8_t *state) {
    const lud_model *model = f->scenario->model;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    lud_error error = {0};
    model->world->reset(model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    lud_grid_scene_read(scene, model, state);
    scene->step = model->layout.max_steps - left;
    assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
    lud_grid_scene_destroy(scene);
}

enum { GOALS = 7, PEOPLE = 2, MOST_WORDS = 512, NUMBERS = 3 * (PEOPLE + 1) + 16 };

static float find(const fixture *f, int left, float of_goals[GOALS][LUD_EMPO_GOAL_PATHS], float *of_state) {
    uint8_t state[256];
    int32_t record[MOST_WORDS];
    assert_true(f->features.words <= MOST_WORDS && f->scenario->model->layout.state_bytes <= sizeof state);
    assert_int_equal(f->features.layout.n_goals, GOALS);
    assert_int_equal(lud_empo_state_paths(PEOPLE), NUMBERS);
    begin(f, left, state);
    lud_empo_features_encode(&f->features, state, record);
    return lud_empo_paths_find(f->paths, record, of_goals[0], of_state);
}

static void a_walk_is_worth_what_walking_brings(void **unused) {
    (void)unused;
    fixture f;
    start(&f);
    const lud_empo_layout *layout = &f.features.layout;
    int reached = 0;
    for (int left = 1; left <= 12; left++) {
        float of_goals[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
        uint8_t state[256];
        find(&f, left, of_goals, of_state);
        begin(&f, left, state);
        for (int h = 0; h < PEOPLE; h++)
            for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
                const double expected = v_h_e(&f, state, layout->humans[h], g - layout->goal_begin[h]);
                assert_float_equal(of_goals[g][LUD_EMPO_ALONE], expected, 1e-6);
                assert_true(of_goals[g][1] >= of_goals[g][0] * 0.9f * 0.9f);
                reached += expected > 0;
            }
    }
    assert_true(reached > 12);
    end(&f);
}

/* Where nothing counts the steps a walk takes as long as it takes. */
static void without_a_count_there_is_time_for_every_walk(void **unused) {
    (void)unused;
    fixture f, uncounted;
    lud_error error = {0};
    start(&f);
    start(&uncounted);
    lud_empo_paths_destroy(uncounted.paths);
    lud_empo_features_free(&uncounted.features);
    assert_int_equal(lud_empo_features_create(uncounted.scenario->model, false, &uncounted.features, &error),
                     LUD_OK);
    uncounted.paths = lud_empo_paths_create(&uncounted.features, &walk);
    assert_non_null(uncounted.paths);
    float all[GOALS][LUD_EMPO_GOAL_PATHS], some[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
    find(&f, 12, all, of_state); /* every walk takes less */
    for (int left = 1; left <= 12; left += 11) {
        find(&uncounted, left, some, of_state);
        for (int g = 0; g < GOALS; g++) {
            assert_float_equal(some[g][0], all[g][0], 1e-6);
            assert_float_equal(some[g][1], all[g][1], 1e-6);
        }
    }
    end(&uncounted);
    end(&f);
}

/* What is behind the door and the rock is within reach once they are out of the way. */
static void what_is_in_the_way_is_told_apart(void **unused) {
    (void)unused;
    fixture f;
    float of_goals[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
    start(&f);
    find(&f, 12, of_goals, of_state);
    const int first = f.features.layout.goal_begin[1];
    for (int g = first; g < GOALS; g++) {
        const bool here = g == first + 1, never = g == GOALS - 1;
        assert_true((of_goals[g][0] > 0) == here && (of_goals[g][1] > 0) == !never);
    }
    assert_true(of_state[1] < of_state[0] - 0.05f); /* people lack less */
    assert_true(of_state[3] <= of_state[4] && of_state[6] < of_state[7]);
    end(&f);
}

/* Equations (7) to (9) by summing over remaining steps, everybody staying; the robot, shut in, has no choice.
 */
static void check_standing(double gamma_r) {
    fixture f;
    start(&f);
    lud_empo_paths_destroy(f.paths);
    lud_empo_walk own = walk;
    own.gamma_r = gamma_r;
    f.paths = lud_empo_paths_create(&f.features, &own);
    assert_non_null(f.paths);
    const lud_empo_layout *layout = &f.features.layout;
    /* the least likely goals are a quarter of them, and nobody is shut off from all */
    const double half_a_goal = 0.5 * f.features.goal_weight[0];
    double sum = 0, weights = 0;
    for (int left = 1; left <= 12; left++) {
        float of_goals[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
        const float standing = find(&f, left, of_goals, of_state);
        double y = 0;
        for (int h = 0; h < PEOPLE; h++) {
            double power = 0;
            for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
                power += f.features.goal_weight[g] * (double)of_goals[g][0] * (double)of_goals[g][0];
            if (power < half_a_goal) power = half_a_goal;
            assert_float_equal(of_state[3 + 3 * h] * 8, log(power), 1e-5);
            y += 1 / power / PEOPLE;
        }
        sum = pow(y, walk.eta) + gamma_r * sum;
        weights = 1 + gamma_r * weights;
        assert_float_equal(standing, log(sum / weights), 1e-5);
        assert_float_equal(of_state[0] * 8, standing, 1e-5);
        assert_float_equal(of_state[2] * 8, standing, 1e-5);
    }
    end(&f);
}

static void standing_is_the_sum_over_remaining_steps(void **unused) {
    (void)unused;
    check_standing(0.95);
    check_standing(1.0); /* a plain mean */
}

/* A robot between a rock and a key whose door is further on; and the same from behind. */
#define ERRANDS(row)                                                                                         \
    "ludus: 1\nname: errands\nworld: multigrid\nmultigrid:\n  map: |\n"                                      \
    "    We We We We We We We We We\n" row "    We We We We We We We We We\n"                                \
    "    We Ay Ly .. We We We We We\n    We We We We We We We We We\n"                                       \
    "  max_steps: 12\n  actions: object\ngoals: [{cell: [3, 3]}]\n"
static const char errands[] = ERRANDS("    We .. Ro Ae .. Kr .. Lr We\n");
static const char turned[] = ERRANDS("    We Lr .. Kr .. Ae Ro .. We\n");

enum { ERRANDS_AT = 6, KINDS = 8 };

/* A number of agent 0's in a record that is another than in the world; 0: none is. */
typedef struct change {
    int number;
    float value;
} change;

/* What is told of the state in which the world of errands begins, its agents being these; returns which of
 * them is the robot. */
static int find_errands(const char *map, const char *agents, change c,
                        float of_state[ERRANDS_AT + 2 * KINDS]) {
    lud_scenario *scenario;
    lud_error error = {0};
    lud_empo_features features;
    uint8_t state[256];
    int32_t record[MOST_WORDS];
    float of_goal[LUD_EMPO_GOAL_PATHS];
    if (lud_scenario_read("errands.yaml", map, strlen(map), &agents, 1, &scenario, &error) ||
        lud_empo_features_create(scenario->model, true, &features, &error))
        fail_msg("%s", error.text);
    assert_int_equal(lud_empo_state_paths(1), ERRANDS_AT + 2 * KINDS);
    lud_empo_paths *paths = lud_empo_paths_create(&features, &walk);
    assert_non_null(paths);
    scenario->model->world->reset(scenario->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    lud_empo_features_encode(&features, state, record);
    if (c.number)
        memcpy(record + features.agents_at + LUD_GRID_AGENT_FEATURES * features.place[0] + c.number, &c.value,
               sizeof c.value);
    lud_empo_paths_find(paths, record, of_goal, of_state);
    const int first_robot = features.layout.robots[0];
    lud_empo_paths_destroy(paths);
    lud_empo_features_free(&features);
    lud_scenario_destroy(scenario);
    return first_robot;
}

/* Turn and push; turn to the key, take it, go on, open; nobody has the yellow key. */
static void errands_are_as_near_as_they_are(void **unused) {
    (void)unused;
    static const struct {
        const char *map, *facing;
        int to_rock, to_key;
    } cases[] = {{errands, "east", 2, 0},  {errands, "south", 1, 1}, {errands, "west", 0, 2},
                 {errands, "north", 1, 1}, {turned, "east", 0, 2},   {turned, "west", 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char agents[128];
        float of_state[ERRANDS_AT + 2 * KINDS];
        snprintf(agents, sizeof agents,
                 "multigrid.agents=[{role: robot, facing: %s, can_push_rocks: true}, {role: human}]",
                 cases[i].facing);
        assert_int_equal(find_errands(cases[i].map, agents, (change){0}, of_state), 0);
        for (int k = 0; k < KINDS; k++) {
            const double actions = k == 0             ? cases[i].to_rock + 1.0
                                   : k == 1 + LUD_RED ? cases[i].to_key + 1.0 + 1 + 2 + 1
                                                      : (double)INFINITY;
            assert_float_equal(of_state[ERRANDS_AT + k], exp(-actions / 16), 1e-6);
            assert_float_equal(of_state[ERRANDS_AT + KINDS + k], exp(-actions / 64), 1e-6);
        }
    }
}

/* A robot that does not act, as it is paused or out of the world, has no errand. */
static void who_does_not_act_runs_no_errands(void **unused) {
    (void)unused;
    static const int numbers[] = {LUD_GRID_AGENT_PAUSED, LUD_GRID_AGENT_TERMINATED};
    for (int n = 0; n < 2; n++)
        for (int value = 0; value < 2; value++) {
            float of_state[ERRANDS_AT + 2 * KINDS], sum = 0;
            find_errands(errands,
                         "multigrid.agents=[{role: robot, facing: east, can_push_rocks: true}, "
                         "{role: human}]",
                         (change){numbers[n], (float)value}, of_state);
            for (int k = 0; k < 2 * KINDS; k++) sum += of_state[ERRANDS_AT + k];
            assert_true(value ? sum == 0.0f : sum > 0.5f);
        }
}

/* People may do all that and are told of it by their walks; the robot, shut in, has no errand. */
static void people_run_no_errands(void **unused) {
    (void)unused;
    float of_state[ERRANDS_AT + 2 * KINDS];
    assert_int_equal(find_errands(errands,
                                  "multigrid.agents=[{role: human, facing: east, can_push_rocks: true}, "
                                  "{role: robot}]",
                                  (change){0}, of_state),
                     1);
    for (int k = 0; k < 2 * KINDS; k++) assert_true(of_state[ERRANDS_AT + k] == 0.0f);
}

/* Somebody behind a locked door that the robot can open in three steps, with the key in the way of nobody; a
 * rock that it is no use to push. */
static const char locked[] = "ludus: 1\n"
                             "name: locked\n"
                             "world: multigrid\n"
                             "multigrid:\n"
                             "  map: |\n"
                             "    We We We We We We We\n"
                             "    We .. Ay Lr .. Kr We\n"
                             "    We We We We Ae .. We\n"
                             "    We We We We Ro .. We\n"
                             "    We We We We .. .. We\n"
                             "    We We We We We We We\n"
                             "  agents: [{role: human}, {role: robot, facing: east, can_push_rocks: true}]\n"
                             "  max_steps: 20\n"
                             "  actions: object\n"
                             "goals: [{cell: [1, 1]}, {cell: [4, 1]}]\n";

/* V_r by equations (7) to (9) over remaining steps: the door is shut until the robot is done, and nobody goes
 * anywhere. Forward, turn to the key, take it; on, turn, on, and open: the person is two steps from the goal.
 */
static void an_errand_is_worth_what_comes_after_it(void **unused) {
    (void)unused;
    enum { DONE = 3 + 4, LEFT = 20, TO_HERE = 3, TO_THERE = 2 };
    lud_scenario *scenario;
    lud_error error = {0};
    lud_empo_features features;
    uint8_t state[256];
    int32_t record[MOST_WORDS];
    float of_goals[2][LUD_EMPO_GOAL_PATHS], of_state[6 + 16];
    if (lud_scenario_read("locked.yaml", locked, strlen(locked), NULL, 0, &scenario, &error) ||
        lud_empo_features_create(scenario->model, true, &features, &error))
        fail_msg("%s", error.text);
    lud_empo_paths *paths = lud_empo_paths_create(&features, &walk);
    assert_non_null(paths);
    scenario->model->world->reset(scenario->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    lud_empo_features_encode(&features, state, record);
    const float found = lud_empo_paths_find(paths, record, of_goals[0], of_state);
    double sum = 0, weights = 0;
    for (int left = 1; left <= LEFT; left++) {
        const bool open = left <= LEFT - DONE;
        const double here = left >= TO_HERE ? pow(walk.gamma_h, 2 * (TO_HERE - 1)) : 0,
                     there = open && left >= TO_THERE ? pow(walk.gamma_h, 2 * (TO_THERE - 1)) : 0,
                     power = 0.5 * here + 0.5 * there;
        sum = pow(power > 0.25 ? 1 / power : 4, walk.eta) + walk.gamma_r * sum;
        weights = 1 + walk.gamma_r * weights;
    }
    assert_float_equal(found, log(sum / weights), 1e-5);
    assert_float_equal(of_state[2], found / 8, 1e-6);
    assert_true(of_state[0] > of_state[2] && of_state[2] > of_state[1]);
    const double here = pow(walk.gamma_h, TO_HERE - 1), there = pow(walk.gamma_h, DONE - 1);
    assert_float_equal(of_goals[0][0], here, 1e-6);
    assert_float_equal(of_goals[0][2], here, 1e-6);
    assert_float_equal(of_goals[1][0], 0, 1e-6);
    assert_float_equal(of_goals[1][2], there, 1e-6); /* not before the robot is done */
    lud_empo_paths_destroy(paths);
    lud_empo_features_free(&features);
    lud_scenario_destroy(scenario);
}

/* Who is out of the world goes nowhere, however near a goal is; who is paused will. */
static void who_is_gone_goes_nowhere(void **unused) {
    (void)unused;
    static const struct {
        int number;
        bool goes;
    } cases[] = {{LUD_GRID_AGENT_TERMINATED, false}, {LUD_GRID_AGENT_PAUSED, true}};
    fixture f;
    start(&f);
    for (int c = 0; c < 2; c++) {
        uint8_t state[256];
        int32_t record[MOST_WORDS];
        float all[GOALS][LUD_EMPO_GOAL_PATHS], of_goals[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
        const float one = 1.0f;
        find(&f, 12, all, of_state);
        begin(&f, 12, state);
        lud_empo_features_encode(&f.features, state, record);
        const int agent = f.features.layout.humans[0], place = f.features.place[agent];
        memcpy(record + f.features.agents_at + LUD_GRID_AGENT_FEATURES * place + cases[c].number, &one,
               sizeof one);
        lud_empo_paths_find(f.paths, record, of_goals[0], of_state);
        int others = 0;
        for (int g = 0; g < f.features.layout.goal_begin[1]; g++) {
            const bool there = lud_empo_features_achieved(&f.features, record, 0, g);
            others += !there && all[g][1] > 0;
            if (there) continue;
            assert_true(of_goals[g][0] == 0.0f);                               /* as it is */
            assert_true(of_goals[g][1] == (cases[c].goes ? all[g][1] : 0.0f)); /* with nothing in the way */
        }
        assert_true(others > 0);
        for (int g = f.features.layout.goal_begin[1]; g < GOALS; g++) /* others are not concerned */
            assert_true(of_goals[g][0] == all[g][0] && of_goals[g][1] == all[g][1]);
    }
    end(&f);
}

/* Numbers stay finite whatever the theory. */
static void no_exponent_is_too_large(void **unused) {
    (void)unused;
    fixture f;
    float of_goals[GOALS][LUD_EMPO_GOAL_PATHS], of_state[NUMBERS];
    start(&f);
    lud_empo_paths_destroy(f.paths);
    lud_empo_walk extreme = walk;
    extreme.xi = extreme.eta = 1e6;
    extreme.gamma_h = extreme.gamma_r = 0;
    f.paths = lud_empo_paths_create(&f.features, &extreme);
    assert_non_null(f.paths);
    assert_true(fabsf(find(&f, 12, of_goals, of_state)) <= 40);
    for (int i = 0; i < NUMBERS; i++) assert_true(fabsf(of_state[i]) <= 8);
    end(&f);
}

/* What is kept of arrangements changes nothing. */
static void asked_again_it_says_the_same(void **unused) {
    (void)unused;
    fixture f, fresh;
    float kept[GOALS][LUD_EMPO_GOAL_PATHS], anew[GOALS][LUD_EMPO_GOAL_PATHS], of_state[2][NUMBERS];
    start(&f);
    for (int left = 12; left > 0; left--) {
        start(&fresh);
        const float a = find(&f, left, kept, of_state[0]), b = find(&fresh, left, anew, of_state[1]);
        assert_true(a == b);
        assert_memory_equal(kept, anew, sizeof kept);
        assert_memory_equal(of_state[0], of_state[1], sizeof of_state[0]);
        end(&fresh);
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_is_worth_what_walking_brings),
        cmocka_unit_test(without_a_count_there_is_time_for_every_walk),
        cmocka_unit_test(what_is_in_the_way_is_told_apart),
        cmocka_unit_test(standing_is_the_sum_over_remaining_steps),
        cmocka_unit_test(errands_are_as_near_as_they_are),
        cmocka_unit_test(people_run_no_errands),
        cmocka_unit_test(who_does_not_act_runs_no_errands),
        cmocka_unit_test(who_is_gone_goes_nowhere),
        cmocka_unit_test(an_errand_is_worth_what_comes_after_it),
        cmocka_unit_test(no_exponent_is_too_large),
        cmocka_unit_test(asked_again_it_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
