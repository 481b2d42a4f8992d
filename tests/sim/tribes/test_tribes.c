/* The rules of tribes, one by one, on maps that are drawn for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/tribes/support_tribes.h"

enum { AGENTS = 4 };

/* A state with the agents where the map has them, and what a step of it paid. */
typedef struct scene {
    lud_model *model;
    uint8_t state[256];
    float rewards[AGENTS], parts[AGENTS][LUD_TRIBES_COMPONENTS];
    uint8_t terminated, truncated;
    uint32_t tick;
} scene;

#define TEAMS "  teams: [{values: [1, 3, 2]}, {values: [2, 1, 3]}]\n"
#define WEIGHTS                                                                                              \
    "  rewards: {gathered: 1, delivered: 1, traded: 1, stolen: 1, lost: 1, defended: 1, caught: 1, shared: " \
    "0}\n"

static scene *begin(const char *section) {
    scene *s = calloc(1, sizeof *s);
    s->model = tribes_make(section);
    assert_true(s->model->layout.state_bytes <= sizeof s->state && s->model->layout.n_agents <= AGENTS);
    lud_tribes_world.reset(s->model, (lud_range){.seed = 3, .n = 1, .tick = &s->tick}, s->state);
    return s;
}

static void end(scene *s) {
    lud_tribes_world.free(s->model);
    free(s);
}

static void act(scene *s, int a, int b, int c, int d) {
    const int32_t actions[AGENTS] = {a, b, c, d};
    lud_tribes_world.step(s->model, (lud_range){.seed = 3, .n = 1, .tick = &s->tick}, s->state,
                          (lud_actions){.discrete = actions},
                          (lud_outcome){s->rewards, &s->terminated, &s->truncated, s->parts[0]});
    s->tick++;
}

static const lud_tribes_model *model_of(const scene *s) {
    return lud_tribes_of(s->model);
}

static void assert_at(const scene *s, int agent, int x, int y) {
    assert_int_equal(lud_tribes_cell(model_of(s), s->state, agent), y * model_of(s)->spec.width + x);
}

static void assert_load(const scene *s, int agent, int grain, int wood, int ore) {
    const uint8_t *load = lud_tribes_load(model_of(s), s->state, agent);
    assert_int_equal(load[LUD_GRAIN], grain);
    assert_int_equal(load[LUD_WOOD], wood);
    assert_int_equal(load[LUD_ORE], ore);
}

static const int W = LUD_TRIBES_WAIT, E = LUD_TRIBES_EAST, S = LUD_TRIBES_SOUTH, WEST = LUD_TRIBES_WEST,
                 N = LUD_TRIBES_NORTH, G = LUD_TRIBES_GATHER, D = LUD_TRIBES_DEPOSIT, T = LUD_TRIBES_TRADE,
                 STEAL = LUD_TRIBES_STEAL, GUARD = LUD_TRIBES_DEFEND;

/* --- Moves --- */

static void test_moves(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1.~, .A., 2.B]\n" TEAMS);
    act(s, E, E, W, W);
    assert_at(s, 0, 1, 0);
    assert_at(s, 1, 1, 2);
    act(s, E, E, W, W); /* water and a storehouse stop */
    assert_at(s, 0, 1, 0);
    assert_at(s, 1, 1, 2);
    act(s, S, N, W, W); /* so does one's own */
    assert_at(s, 0, 1, 0);
    assert_at(s, 1, 1, 2);
    act(s, N, S, W, W); /* and the edge */
    assert_at(s, 0, 1, 0);
    assert_at(s, 1, 1, 2);
    end(s);
}

static void test_nobody_enters_where_somebody_stood(void **unused) {
    (void)unused;
    scene *s = begin("  map: [12..A, ....B]\n" TEAMS);
    act(s, E, E, W, W); /* a row does not move up: only the first has a free cell before it */
    assert_at(s, 0, 0, 0);
    assert_at(s, 1, 2, 0);
    tribes_put(s->model, s->state, 1, 1, 0, 0, 0, 0);
    act(s, E, WEST, W, W); /* nor do two change places */
    assert_at(s, 0, 0, 0);
    assert_at(s, 1, 1, 0);
    end(s);
}

static void test_one_of_those_who_want_a_cell_gets_it(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1.2, A.B]\n" TEAMS);
    int first = 0;
    for (int k = 0; k < 200; k++) {
        tribes_put(s->model, s->state, 0, 0, 0, 0, 0, 0);
        tribes_put(s->model, s->state, 1, 2, 0, 0, 0, 0);
        act(s, E, WEST, W, W);
        const int at[2] = {lud_tribes_cell(model_of(s), s->state, 0),
                           lud_tribes_cell(model_of(s), s->state, 1)};
        assert_true((at[0] == 1) != (at[1] == 1));
        first += at[0] == 1;
    }
    assert_in_range(first, 70, 130); /* 4.2 standard deviations about the half */
    end(s);
}

/* Leaves zeros where functions that are called next have their variables. */
__attribute__((noinline)) static void leave_zeros(void) {
    volatile uint8_t stack[1 << 18];
    for (size_t i = 0; i < sizeof stack; i++) stack[i] = 0;
}

/* A cell can be entered wherever it lies, the last one of the map too, whatever memory held before the step.
 */
static void test_every_cell_can_be_entered(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12, ..., B..]\n" TEAMS);
    tribes_put(s->model, s->state, 0, 0, 1, 0, 0, 0); /* out of the way */
    for (int y = 0; y < 3; y++)
        for (int x = 1; x < 3; x++) {
            tribes_put(s->model, s->state, 1, 3 - x, y, 0, 0, 0);
            leave_zeros();
            act(s, W, x == 1 ? WEST : E, W, W);
            assert_at(s, 1, x, y);
        }
    end(s);
}

/* --- Work --- */

static void test_gathering(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1g2, A.B]\n  carry: 2\n  stock: 3\n  regrow: {grain: 0}\n" TEAMS WEIGHTS);
    act(s, G, W, W, W); /* there is nothing under it */
    assert_load(s, 0, 0, 0, 0);
    act(s, E, W, W, W);
    act(s, G, W, W, W);
    assert_load(s, 0, 1, 0, 0);
    assert_true(s->parts[0][LUD_TRIBES_GATHERED] == 1 && s->rewards[0] == 1 && s->rewards[1] == 0);
    assert_int_equal(lud_tribes_stock(model_of(s), s->state, 0), 2);
    act(s, G, W, W, W);
    act(s, G, W, W, W); /* hands are full */
    assert_load(s, 0, 2, 0, 0);
    assert_int_equal(lud_tribes_stock(model_of(s), s->state, 0), 1);
    tribes_put(s->model, s->state, 0, 1, 0, 0, 0, 0);
    tribes_put_stock(s->model, s->state, 0, 0);
    act(s, G, W, W, W); /* the field is empty */
    assert_load(s, 0, 0, 0, 0);
    assert_int_equal(lud_tribes_tally(model_of(s), s->state, 0, LUD_TRIBES_GATHERED), 2);
    end(s);
}

static void test_skill(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1gA]\n  carry: 1\n  regrow: {grain: 1}\n  teams: [{skills: [0.25, 1, 1]}]\n");
    int gathered = 0;
    for (int k = 0; k < 400; k++) {
        tribes_put(s->model, s->state, 0, 1, 0, 0, 0, 0);
        act(s, G, W, W, W);
        gathered += lud_tribes_load(model_of(s), s->state, 0)[LUD_GRAIN];
    }
    assert_in_range(gathered, 65, 135); /* standard deviation 8.7 about 100 */
    end(s);
}

static void test_growth(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1gggggggg2, AwwwwwwwwB]\n  stock: 2\n  regrow: {grain: 0.5, wood: 1}\n" TEAMS);
    int grown = 0;
    for (int k = 0; k < 100; k++) {
        for (int f = 0; f < 16; f++) tribes_put_stock(s->model, s->state, f, f % 2);
        act(s, W, W, W, W);
        for (int f = 0; f < 16; f++) {
            const int more = lud_tribes_stock(model_of(s), s->state, f) - f % 2;
            if (f < 8)
                grown += more;
            else
                assert_int_equal(more, 1);
        }
    }
    assert_in_range(grown, 340, 460); /* of 800; standard deviation 14 */
    for (int f = 0; f < 16; f++) tribes_put_stock(s->model, s->state, f, 2);
    act(s, W, W, W, W); /* full fields stay as they are */
    for (int f = 0; f < 16; f++) assert_int_equal(lud_tribes_stock(model_of(s), s->state, f), 2);
    end(s);
}

static void test_delivering(void **unused) {
    (void)unused;
    scene *s = begin("  map: [1..2, A..B]\n" TEAMS WEIGHTS);
    tribes_put(s->model, s->state, 0, 0, 0, 2, 1, 0);
    tribes_put(s->model, s->state, 1, 1, 1, 2, 0, 0); /* beside a storehouse of another team */
    act(s, D, D, W, W);
    assert_load(s, 0, 0, 0, 0);
    assert_load(s, 1, 2, 0, 0);
    assert_true(s->rewards[0] == 2 * 1 + 1 * 3 && s->rewards[1] == 0);
    assert_true(s->parts[0][LUD_TRIBES_DELIVERED] == 5);
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 0, LUD_GRAIN), 2);
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 0, LUD_WOOD), 1);
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 1, LUD_GRAIN), 0);
    end(s);
}

/* --- Trade --- */

static void test_a_swap_pays_for_both(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n" TEAMS WEIGHTS);
    tribes_put(s->model, s->state, 0, 1, 0, 2, 0, 1); /* grain is worth 1 to it, wood 3 */
    tribes_put(s->model, s->state, 1, 2, 0, 0, 2, 0); /* wood is worth 1 to it, grain 2 */
    act(s, T, W, W, W);                               /* both have to want it */
    assert_load(s, 0, 2, 0, 1);
    act(s, T, T, W, W);
    assert_load(s, 0, 1, 1, 1);
    assert_load(s, 1, 1, 1, 0);
    assert_true(s->parts[0][LUD_TRIBES_TRADED] == 2 && s->parts[1][LUD_TRIBES_TRADED] == 1);
    assert_int_equal(lud_tribes_tally(model_of(s), s->state, 0, LUD_TRIBES_TRADES), 1);
    tribes_put(s->model, s->state, 0, 1, 0, 0, 1, 0); /* what each gives up is worth more to itself */
    tribes_put(s->model, s->state, 1, 2, 0, 1, 0, 0);
    act(s, T, T, W, W);
    assert_load(s, 0, 0, 1, 0);
    tribes_put(s->model, s->state, 0, 1, 0, 0, 0, 0); /* who has nothing cannot swap */
    act(s, T, T, W, W);
    assert_load(s, 1, 1, 0, 0);
    end(s);
}

static void test_one_partner_of_two(void **unused) {
    (void)unused;
    scene *s = begin("  map: [212A, ...B]\n" TEAMS WEIGHTS);
    int first = 0;
    for (int k = 0; k < 200; k++) {
        tribes_put(s->model, s->state, 0, 1, 0, 1, 0, 0);
        tribes_put(s->model, s->state, 1, 0, 0, 0, 1, 0);
        tribes_put(s->model, s->state, 2, 2, 0, 0, 1, 0);
        act(s, T, T, T, W);
        assert_load(s, 0, 0, 1, 0);
        first += lud_tribes_load(model_of(s), s->state, 1)[LUD_GRAIN];
    }
    assert_in_range(first, 70, 130);
    end(s);
}

/* --- Thefts --- */

static void test_stealing_from_an_agent(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n  carry: 2\n  steal: {open: 1, guarded: 0}\n" TEAMS WEIGHTS);
    tribes_put(s->model, s->state, 1, 2, 0, 1, 1, 0);
    act(s, STEAL, W, W, W); /* wood is worth most to the thief */
    assert_load(s, 0, 0, 1, 0);
    assert_load(s, 1, 1, 0, 0);
    assert_true(s->parts[0][LUD_TRIBES_STOLEN] == 3 && s->parts[1][LUD_TRIBES_LOST] == -1);
    act(s, STEAL, GUARD, W, W); /* who defends itself is not robbed */
    assert_load(s, 1, 1, 0, 0);
    assert_true(s->parts[0][LUD_TRIBES_CAUGHT] == -1 && s->parts[1][LUD_TRIBES_DEFENDED] == 2);
    act(s, STEAL, W, W, W);
    assert_load(s, 0, 1, 1, 0);
    tribes_put(s->model, s->state, 1, 2, 0, 0, 0, 1);
    act(s, STEAL, W, W, W); /* no hand is free */
    assert_load(s, 1, 0, 0, 1);
    assert_int_equal(lud_tribes_tally(model_of(s), s->state, 0, LUD_TRIBES_RAIDS), 2);
    end(s);
}

static void test_stealing_from_each_other(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n  carry: 1\n  steal: {open: 1}\n" TEAMS WEIGHTS);
    tribes_put(s->model, s->state, 0, 1, 0, 0, 0, 0);
    tribes_put(s->model, s->state, 1, 2, 0, 1, 0, 0);
    act(s, STEAL, STEAL, W, W); /* the second's hands are full, and the first had nothing */
    assert_load(s, 0, 1, 0, 0);
    assert_load(s, 1, 0, 0, 0);
    end(s);
    s = begin("  map: [A12B]\n  carry: 2\n  steal: {open: 1}\n" TEAMS WEIGHTS);
    tribes_put(s->model, s->state, 0, 1, 0, 1, 0, 0);
    tribes_put(s->model, s->state, 1, 2, 0, 0, 1, 0);
    act(s, STEAL, STEAL, W, W); /* at once: what each had before goes to the other */
    assert_load(s, 0, 0, 1, 0);
    assert_load(s, 1, 1, 0, 0);
    end(s);
}

static void test_stealing_from_a_storehouse(void **unused) {
    (void)unused;
    scene *s = begin("  map: ['1B2', 'A.2', '...']\n  steal: {open: 1, guarded: 0}\n" TEAMS WEIGHTS);
    tribes_put_store(s->model, s->state, 1, LUD_WOOD, 4);
    tribes_put(s->model, s->state, 2, 2, 2, 0, 0, 0);
    act(s, STEAL, W, W, W);
    assert_load(s, 0, 0, 1, 0);
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 1, LUD_WOOD), 3);
    for (int i = 1; i < 3; i++) assert_true(s->parts[i][LUD_TRIBES_LOST] == -0.5f); /* shared by the team */
    act(s, STEAL, GUARD, GUARD, W); /* only one of the two stands beside it */
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 1, LUD_WOOD), 3);
    assert_true(s->parts[1][LUD_TRIBES_DEFENDED] == 1 && s->parts[2][LUD_TRIBES_DEFENDED] == 0);
    end(s);
}

static void test_a_store_is_robbed_once_a_step(void **unused) {
    (void)unused;
    scene *s = begin("  map: ['1B2', '1.A', 'B..']\n  steal: {open: 1}\n" TEAMS WEIGHTS);
    int first = 0;
    for (int k = 0; k < 200; k++) {
        tribes_put_store(s->model, s->state, 1, LUD_WOOD, 5);
        tribes_put(s->model, s->state, 0, 0, 0, 0, 0, 0);
        tribes_put(s->model, s->state, 1, 0, 1, 0, 0, 0);
        act(s, STEAL, STEAL, W, W); /* at two storehouses of one team */
        assert_int_equal(lud_tribes_stored(model_of(s), s->state, 1, LUD_WOOD), 4);
        first += lud_tribes_load(model_of(s), s->state, 0)[LUD_WOOD];
    }
    assert_in_range(first, 70, 130);
    end(s);
}

static void test_what_was_just_delivered_can_be_stolen(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A21B]\n  steal: {open: 1}\n" TEAMS);
    tribes_put(s->model, s->state, 1, 1, 0, 1, 0, 0);
    act(s, D, STEAL, W, W); /* nobody is beside the right house: nothing happens */
    assert_load(s, 1, 1, 0, 0);
    tribes_put(s->model, s->state, 0, 1, 0, 1, 0, 0);
    tribes_put(s->model, s->state, 1, 2, 0, 0, 0, 0);
    act(s, D, STEAL, W, W); /* the hands are empty when the thief reaches for them */
    assert_load(s, 1, 0, 0, 0);
    assert_int_equal(lud_tribes_stored(model_of(s), s->state, 0, LUD_GRAIN), 1);
    end(s);
}

/* --- Life --- */

static void test_thieves_that_are_caught_are_hurt(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n  health: 2\n  steal: {open: 1, guarded: 0}\n" TEAMS);
    tribes_put(s->model, s->state, 0, 1, 0, 0, 0, 1);
    tribes_put(s->model, s->state, 1, 2, 0, 1, 0, 0);
    act(s, STEAL, GUARD, W, W);
    assert_int_equal(lud_tribes_health(model_of(s), s->state, 0), 1);
    act(s, W, W, W, W); /* beside its storehouse it rests */
    assert_int_equal(lud_tribes_health(model_of(s), s->state, 0), 2);
    act(s, STEAL, GUARD, W, W);
    assert_false(s->terminated);
    act(s, STEAL, GUARD, W, W);
    assert_false(lud_tribes_world.is_alive(s->model, s->state, 0));
    assert_true(lud_tribes_world.is_alive(s->model, s->state, 1));
    assert_load(s, 0, 0, 0, 0);
    act(s, E, WEST, W, W); /* its cell is free now, and it does nothing more */
    assert_at(s, 1, 1, 0);
    assert_false(lud_tribes_world.is_alive(s->model, s->state, 0));
    assert_true(s->rewards[0] == 0);
    end(s);
}

static void test_hunger(void **unused) {
    (void)unused;
    scene *s = begin("  map: ['A1.', 'B.2']\n  health: 1\n  hunger: 2\n" TEAMS);
    act(s, W, E, W, W);
    assert_true(lud_tribes_world.is_alive(s->model, s->state, 1));
    act(s, W, W, W, W); /* the second is not at home when hunger comes */
    assert_true(lud_tribes_world.is_alive(s->model, s->state, 0));
    assert_false(lud_tribes_world.is_alive(s->model, s->state, 1));
    assert_false(s->terminated);
    act(s, E, W, W, W);
    act(s, W, W, W, W);
    assert_true(s->terminated);
    assert_true(lud_tribes_world.is_terminal(s->model, s->state));
    end(s);
}

/* --- Rewards and ends --- */

static void test_rewards_are_the_weighted_parts(void **unused) {
    (void)unused;
    scene *s = begin("  map: ['11.A', '.2.B']\n"
                     "  rewards: {gathered: 0, delivered: 2, shared: 0.5}\n" TEAMS);
    tribes_put(s->model, s->state, 0, 3, 0, 0, 0, 0);
    tribes_put(s->model, s->state, 0, 2, 0, 1, 1, 0);
    tribes_put(s->model, s->state, 1, 0, 0, 0, 0, 0);
    act(s, D, W, W, W);
    assert_true(s->parts[0][LUD_TRIBES_DELIVERED] == 8);
    assert_true(s->parts[0][LUD_TRIBES_SHARED] == 2 && s->parts[1][LUD_TRIBES_SHARED] == 2);
    assert_true(s->rewards[0] == 10 && s->rewards[1] == 2 && s->rewards[2] == 0);
    end(s);
}

static void test_the_limit_truncates(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n  max_steps: 2\n" TEAMS);
    act(s, W, W, W, W);
    assert_false(s->truncated);
    act(s, W, W, W, W);
    assert_true(s->truncated);
    assert_false(s->terminated);
    assert_true(lud_tribes_world.is_terminal(s->model, s->state));
    assert_int_equal(lud_tribes_world.elapsed(s->model, s->state), 2);
    end(s);
}

/* --- Measures and goals --- */

static void test_measures(void **unused) {
    (void)unused;
    scene *s = begin("  map: [A12B]\n" TEAMS);
    tribes_put(s->model, s->state, 0, 1, 0, 2, 1, 0);
    tribes_put(s->model, s->state, 1, 2, 0, 0, 2, 0);
    act(s, T, T, W, W);
    act(s, D, D, W, W);
    double values[32];
    lud_tribes_world.measure(s->model, 1, s->state, values);
    const lud_layout *layout = &s->model->layout;
    assert_true(values[lud_measure_find(layout, "delivered")] == (1 + 2 * 3 + 2 + 1) / 2.0);
    assert_true(values[lud_measure_find(layout, "delivered_red")] == 7);
    assert_true(values[lud_measure_find(layout, "delivered_blue")] == 3);
    assert_true(values[lud_measure_find(layout, "trades")] == 1);
    assert_true(values[lud_measure_find(layout, "traded")] == 1.5);
    assert_int_equal(lud_measure_find(layout, "alive"), -1);
    end(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_nobody_enters_where_somebody_stood),
        cmocka_unit_test(test_one_of_those_who_want_a_cell_gets_it),
        cmocka_unit_test(test_every_cell_can_be_entered),
        cmocka_unit_test(test_gathering),
        cmocka_unit_test(test_skill),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_delivering),
        cmocka_unit_test(test_a_swap_pays_for_both),
        cmocka_unit_test(test_one_partner_of_two),
        cmocka_unit_test(test_stealing_from_an_agent),
        cmocka_unit_test(test_stealing_from_each_other),
        cmocka_unit_test(test_stealing_from_a_storehouse),
        cmocka_unit_test(test_a_store_is_robbed_once_a_step),
        cmocka_unit_test(test_what_was_just_delivered_can_be_stolen),
        cmocka_unit_test(test_thieves_that_are_caught_are_hurt),
        cmocka_unit_test(test_hunger),
        cmocka_unit_test(test_rewards_are_the_weighted_parts),
        cmocka_unit_test(test_the_limit_truncates),
        cmocka_unit_test(test_measures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
