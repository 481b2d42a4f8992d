/* The scripted people of tribes: they choose what can be done, live by their crafts, and are named by team.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "sim/tribes/tribes.h"

static lud_scenario *load(const char *name, const char *const *set, int n_set) {
    char path[256];
    lud_error error = {0};
    lud_scenario *scenario;
    snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/tribes/%s.yaml", name);
    if (lud_scenario_load(path, set, n_set, &scenario, &error)) fail_msg("%s", error.text);
    return scenario;
}

/* The mean of a measure over some episodes, everybody with a craft. */
static double play(const char *name, const char *craft, const char *measure) {
    char set[64];
    lud_error error = {0};
    snprintf(set, sizeof set, "policies={other: {type: villager, craft: %s}}", craft);
    /* everybody can gather one kind only, which is worth least to it */
    const char *const sets[] = {set, "tribes.teams.0.skills=[1, 0, 0]", "tribes.teams.1.skills=[0, 1, 0]",
                                "tribes.teams.2.skills=[0, 0, 1]"};
    lud_scenario *scenario = load(name, sets, 4);
    lud_cast *cast;
    lud_rollout result;
    assert_int_equal(lud_cast_create(scenario->model, scenario->policies, NULL, &cast, &error), LUD_OK);
    assert_int_equal(lud_rollout_run(scenario, cast, 16, 0, NULL, &result, &error), LUD_OK);
    const double value = result.measures[lud_measure_find(&scenario->model->layout, measure)].mean;
    lud_rollout_free(&result);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    return value;
}

static void test_crafts(void **unused) {
    (void)unused;
    const double gatherers = play("market", "gatherer", "delivered");
    const double traders = play("market", "trader", "delivered");
    assert_true(gatherers > 5);
    assert_true(traders > 2 * gatherers); /* trade pays */
    assert_true(play("market", "trader", "trades") > 20);
    assert_true(play("market", "gatherer", "trades") == 0);
    assert_true(play("market", "raider", "raids") > 1);
    assert_true(play("village", "mixed", "defended") > 0.1);
}

static void test_choices_are_possible(void **unused) {
    (void)unused;
    static const char *const crafts[] = {"mixed", "gatherer", "trader", "raider", "guard"};
    lud_scenario *scenario = load("village", NULL, 0);
    const lud_model *model = scenario->model;
    const lud_tribes_model *m = lud_tribes_of(model);
    uint8_t state[1024];
    assert_true(model->layout.state_bytes <= sizeof state);
    for (int k = 0; k < 5; k++) {
        char text[64];
        lud_arena *arena = lud_arena_create(0);
        lud_tree *description;
        lud_policy *policy;
        lud_error error = {0};
        snprintf(text, sizeof text, "{type: villager, craft: %s, wander: 0.1}", crafts[k]);
        assert_int_equal(lud_tree_read_text(arena, "test", text, strlen(text), &description, &error), LUD_OK);
        assert_int_equal(lud_policy_create(model, description, NULL, &policy, &error), LUD_OK);
        uint32_t tick = 0;
        const lud_range range = {.seed = 4, .n = 1, .tick = &tick};
        model->world->reset(model, range, state);
        for (; tick < 100; tick++) {
            int32_t actions[64];
            int16_t at[28 * 20 + 1];
            int all[64];
            lud_tribes_board(m, state, at);
            for (int i = 0; i < m->n_agents; i++) {
                uint8_t mask[LUD_TRIBES_ACTIONS];
                double p[LUD_TRIBES_ACTIONS], sum = 0;
                all[i] = i;
                lud_tribes_mask(m, state, at, i, mask);
                assert_true(lud_policy_distribution(policy, state, i, -1, p));
                for (int a = 0; a < LUD_TRIBES_ACTIONS; a++) {
                    assert_true(p[a] >= 0 && (p[a] == 0 || mask[a]));
                    sum += p[a];
                }
                assert_true(fabs(sum - 1) < 1e-12);
            }
            const lud_act act = {.model = model,
                                 .range = range,
                                 .states = state,
                                 .agents = all,
                                 .n_agents_acting = m->n_agents,
                                 .discrete = actions};
            policy->kind->act(policy, &act);
            model->world->step(model, range, state, (lud_actions){.discrete = actions}, (lud_outcome){0});
        }
        lud_policy_destroy(policy);
        lud_arena_destroy(arena);
    }
    lud_scenario_destroy(scenario);
}

static void test_policies_by_team(void **unused) {
    (void)unused;
    static const char *const sets[] = {
        "policies={other: random, blue: {type: villager}, 4: random, 0: villager}"};
    lud_scenario *scenario = load("market", sets, 1);
    lud_cast *cast;
    lud_error error = {0};
    assert_int_equal(lud_cast_create(scenario->model, scenario->policies, NULL, &cast, &error), LUD_OK);
    for (int i = 0; i < 12; i++)
        assert_string_equal(lud_cast_get(cast, i)->kind->name,
                            i == 0 || (i > 4 && i < 8) ? "villager" : "random");
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    static const char *const wrong[] = {"policies={blu: random}"};
    scenario = load("market", wrong, 1);
    assert_int_equal(lud_cast_create(scenario->model, scenario->policies, NULL, &cast, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "did you mean 'blue'"));
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_possible),
        cmocka_unit_test(test_policies_by_team),
        cmocka_unit_test(test_crafts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
