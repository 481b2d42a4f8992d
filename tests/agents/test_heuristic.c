#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/heuristic.h"
#include "agents/support_grid.h"
#include "sim/multigrid/grid_view.h"

enum { STILL, LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE };

static lud_grid_goal cell_goal(int x, int y) {
    return (lud_grid_goal){.x1 = x, .y1 = y, .x2 = x, .y2 = y, .cell = true, .weight = 1, .agent = -1};
}

static void assert_near(double value, double expected) {
    if (fabs(value - expected) > 1e-12) fail_msg("%.17g instead of %.17g", value, expected);
}

/* Probabilities of agent 0 for its goal 0 at the start. */
static void decide(const char *const *rows, int height, lud_grid_action_set actions, lud_grid_goal goal,
                   double beta, double p[7]) {
    lud_model *model = grid_create(rows, height, actions, &goal, 1);
    uint8_t *state = grid_start(model);
    lud_policy *policy;
    assert_int_equal(lud_heuristic_create(model, beta, &policy, NULL), LUD_OK);
    memset(p, 0, 7 * sizeof *p);
    assert_true(lud_policy_distribution(policy, state, 0, 0, p));
    double sum = 0;
    for (int k = 0; k < 7; k++) sum += p[k];
    assert_near(sum, 1);
    lud_policy_destroy(policy);
    free(state);
    model->world->free(model);
}

#define DECIDE(actions, goal, beta, p, ...)                                                                  \
    do {                                                                                                     \
        static const char *const rows[] = {__VA_ARGS__};                                                     \
        decide(rows, (int)(sizeof rows / sizeof *rows), actions, goal, beta, p);                             \
    } while (0)

static void test_potential(void **state) {
    (void)state;
    static const char *const rows[] = {"########", "#>..C..#", "#.####.#", "#.....v#",
                                       "###L####", "#..r~b.#", "########"};
    lud_grid_goal goals[] = {cell_goal(6, 1),
                             {.x1 = 5, .y1 = 1, .x2 = 6, .y2 = 2, .weight = 1, .agent = -1},
                             cell_goal(6, 5),
                             cell_goal(6, 3)};
    lud_model *model = grid_create(rows, 7, LUD_ACTIONS_OBJECT, goals, 4);
    uint8_t *start = grid_start(model);
    lud_policy *policy;
    assert_int_equal(lud_heuristic_create(model, 1, &policy, NULL), LUD_OK);
    double scale = 50.0 * (8 + 7);
    /* east through the closed door: cells 1 1 2 1 1 */
    assert_near(lud_heuristic_potential(policy, start, 1, 1, 0, 0), -6 / scale);
    assert_near(lud_heuristic_potential(policy, start, 6, 1, 0, 0), 0);
    /* the rectangle: its cheapest cell */
    assert_near(lud_heuristic_potential(policy, start, 1, 1, 0, 1), -5 / scale);
    assert_near(lud_heuristic_potential(policy, start, 6, 2, 0, 1), 0);
    /* down, through the locked door, past unsteady ground and block: 1 1 1 1 25 50 2 2 1 */
    assert_near(lud_heuristic_potential(policy, start, 1, 1, 0, 2), -84 / scale);
    /* lava is closed: no path into it */
    assert_near(lud_heuristic_potential(policy, start, 1, 1, 0, 3), -1);
    /* up past the agent, whose cell costs 2: 1 2 1 1 2 1 1 */
    assert_near(lud_heuristic_potential(policy, start, 1, 3, 0, 0), -9 / scale);
    lud_policy_destroy(policy);
    free(start);
    model->world->free(model);
}

/* The softmax written out: facing the goal, sideways, and away from it. From every other neighbour the path
 * leads back over the agent's own cell, which costs 2, so those directions lose 2 units. */
static void test_walking(void **state) {
    (void)state;
    double p[7], beta = 100, unit = 1.0 / (50 * (7 + 5));
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 2), beta, p, "#######", "#.....#", "#..>..#", "#.....#",
           "#######");
    double gain[4] = {0, -unit, -unit, unit}, sum = 0;
    for (int k = 0; k < 4; k++) sum += exp(beta * gain[k]);
    for (int k = 0; k < 4; k++) assert_near(p[k], exp(beta * gain[k]) / sum);

    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 2), beta, p, "#######", "#.....#", "#..^..#", "#.....#",
           "#######");
    double turned[4] = {0, -unit, 0.8 * unit, -2 * unit};
    sum = 0;
    for (int k = 0; k < 4; k++) sum += exp(beta * turned[k]);
    for (int k = 0; k < 4; k++) assert_near(p[k], exp(beta * turned[k]) / sum);

    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 2), beta, p, "#######", "#.....#", "#..<..#", "#.....#",
           "#######");
    double behind[4] = {0, 0.6 * unit, 0.6 * unit, -2 * unit};
    sum = 0;
    for (int k = 0; k < 4; k++) sum += exp(beta * behind[k]);
    for (int k = 0; k < 4; k++) assert_near(p[k], exp(beta * behind[k]) / sum);

    /* walls, rocks and other agents cannot be entered: value -1 */
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 1), 1, p, "#######", "#..>r.#", "#######");
    assert_near(p[FORWARD] / p[STILL], exp(-1));
    assert_near(p[LEFT] / p[STILL], exp(-0.5));
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 1), 1, p, "#######", "#..>e.#", "#######");
    assert_near(p[FORWARD] / p[STILL], exp(-1));
    /* a block can be pushed */
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(5, 1), 1e6, p, "#######", "#..>b.#", "#######");
    assert_near(p[FORWARD], 1);
    /* object actions take no part in walking */
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(5, 1), 0, p, "#######", "#..>..#", "#######");
    for (int k = 0; k < 7; k++) assert_near(p[k], k < 4 ? 0.25 : 0);
}

static void test_rules(void **state) {
    (void)state;
    double p[7];
    /* in the goal: stands */
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(2, 1), 5, p, "#####", "#.>.#", "#####");
    assert_near(p[STILL], 1);
    /* a closed door: toggled when faced, turned to otherwise (right when behind) */
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 5, p, "#####", "#.>C#", "#####");
    assert_near(p[TOGGLE], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 5, p, "#####", "#.^C#", "#####");
    assert_near(p[RIGHT], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 5, p, "#####", "#.VC#", "#####");
    assert_near(p[LEFT], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 5, p, "#####", "#.<C#", "#####");
    assert_near(p[RIGHT], 1);
    /* no toggle in the set: walks into it */
    DECIDE(LUD_ACTIONS_SMALL, cell_goal(1, 1), 5, p, "#####", "#.>C#", "#####");
    assert_near(p[FORWARD], 1);
    /* an open door is no business, a locked one without key neither */
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(3, 1), 1e6, p, "#####", "#.>O#", "#####");
    assert_near(p[FORWARD], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 1e6, p, "#####", "#.>L#", "#####");
    assert_true(p[TOGGLE] == 0 && p[LEFT] > 0.49);
    /* a key that fits a locked door is picked up, one that fits none is not */
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 1e6, p, "######", "#.>k.#", "#...L#", "######");
    assert_near(p[PICKUP], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 1e6, p, "######", "#.Vk.#", "#...L#", "######");
    assert_near(p[LEFT], 1);
    DECIDE(LUD_ACTIONS_OBJECT, cell_goal(1, 1), 1e6, p, "######", "#.>K.#", "#...L#", "######");
    assert_true(p[PICKUP] == 0);
}

/* With the key in hand: open the door, and drop the key behind it where it is least in the way. */
static void test_carrying(void **state) {
    (void)state;
    static const char *const rows[] = {"#######", "#.k>L.#", "#######"};
    lud_grid_goal goal = cell_goal(5, 1);
    lud_model *model = grid_create(rows, 3, LUD_ACTIONS_OBJECT, &goal, 1);
    uint8_t *at = grid_start(model);
    lud_policy *policy;
    assert_int_equal(lud_heuristic_create(model, 1e6, &policy, NULL), LUD_OK);
    /* every move is certain, so the whole errand can be read off */
    static const int expected[] = {RIGHT, RIGHT, PICKUP, RIGHT, RIGHT,   TOGGLE,  RIGHT,
                                   RIGHT, DROP,  RIGHT,  RIGHT, FORWARD, FORWARD, STILL};
    uint32_t tick = 0;
    for (size_t step = 0; step < sizeof expected / sizeof *expected; step++) {
        double p[7];
        assert_true(lud_policy_distribution(policy, at, 0, 0, p));
        int32_t best = 0;
        for (int k = 0; k < 7; k++)
            if (p[k] > p[best]) best = k;
        /* half turns go either way with equal probability: follow the expected one */
        if (p[expected[step]] < 0.5 - 1e-9)
            fail_msg("step %zu: action %d, expected %d", step, best, expected[step]);
        best = expected[step];
        model->world->step(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, at,
                           (lud_actions){.discrete = &best}, (lud_outcome){0});
        tick++;
    }
    assert_true(model->world->achieved(model, at, 0, 0));
    lud_policy_destroy(policy);
    free(at);
    model->world->free(model);
}

/* A walk to a cell is that of somebody whose goal it is; destinations are open cells, half of them of use. */
static void test_destinations(void **state) {
    (void)state;
    static const char *const rows[] = {"########", "#>..C..#", "#.####.#", "#.....v#",
                                       "###L####", "#..r~b.#", "########"};
    enum { WIDTH = 8, DRAWN = 2000 };
    lud_model *plain = grid_create(rows, 7, LUD_ACTIONS_OBJECT, NULL, 0);
    uint8_t *start = grid_start(plain);
    lud_policy *policy;
    int of_use = 0, hits[WIDTH * 7] = {0};
    assert_int_equal(lud_heuristic_create(plain, 30, &policy, NULL), LUD_OK);
    for (int i = 0; i < DRAWN; i++) {
        const int cell = lud_heuristic_destination(policy, start, (i + 0.5) / DRAWN);
        const char *row = rows[cell / WIDTH];
        double walk[7] = {0}, own[7] = {0};
        assert_in_range(cell, 0, WIDTH * 7 - 1);
        assert_true(row[cell % WIDTH] != '#' && row[cell % WIDTH] != 'v');
        hits[cell]++;
        of_use += strchr("CLrb~", row[cell % WIDTH]) != NULL;
        if (hits[cell] > 1) continue;
        lud_heuristic_walk(policy, start, 0, cell, walk);
        lud_grid_goal goal = cell_goal(cell % WIDTH, cell / WIDTH);
        decide(rows, 7, LUD_ACTIONS_OBJECT, goal, 30, own);
        assert_memory_equal(walk, own, sizeof own);
    }
    assert_in_range(of_use, DRAWN / 2, DRAWN * 65 / 100); /* some of the others are, too */
    for (int c = 0; c < WIDTH * 7; c++)
        assert_true((hits[c] > 0) == (strchr("#v", rows[c / WIDTH][c % WIDTH]) == NULL));
    lud_policy_destroy(policy);
    free(start);
    plain->world->free(plain);
}

static void test_without_goal_and_elsewhere(void **state) {
    (void)state;
    static const char *const rows[] = {"####", "#>C#", "####"};
    lud_grid_goal goal = cell_goal(1, 1);
    lud_model *model = grid_create(rows, 3, LUD_ACTIONS_OBJECT, &goal, 1);
    uint8_t *start = grid_start(model);
    lud_policy *policy;
    assert_int_equal(lud_heuristic_create(model, 1e6, &policy, NULL), LUD_OK);
    double p[7];
    assert_true(lud_policy_distribution(policy, start, 0, -1, p));
    for (int k = 0; k < 7; k++) assert_near(p[k], 1.0 / 7);
    lud_policy_destroy(policy);

    lud_world other = *model->world;
    other.name = "other";
    lud_model elsewhere = {.world = &other, .layout = model->layout};
    lud_error error = {0};
    assert_int_equal(lud_heuristic_create(&elsewhere, 1, &policy, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text,
                        "the policy 'heuristic' knows multigrid worlds only, this one is 'other'");
    free(start);
    model->world->free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_potential),    cmocka_unit_test(test_walking),
        cmocka_unit_test(test_rules),        cmocka_unit_test(test_carrying),
        cmocka_unit_test(test_destinations), cmocka_unit_test(test_without_goal_and_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
