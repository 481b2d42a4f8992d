/* What policies publish of agents reaches the overlay's source: numbers of those for whom a policy acts, and
 * what an agent read and wrote. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/cast_overlay.h"
#include "sim/scenario.h"

static void destroy(lud_policy *policy) {
    free(policy);
}

/* A delight that is the agent's number times its reward; knows nothing of steps that paid agent 0 nothing. */
static bool agent_numbers(lud_policy *policy, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values) {
    (void)before, (void)actions, (void)after;
    for (int i = 0; i < policy->model->layout.n_agents; i++) values[i] = i * (double)rewards[i];
    return rewards[0] != 0;
}

static bool agent_text(lud_policy *policy, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written) {
    policy->model->world->describe_agent(policy->model, state, agent, read);
    lud_text_append(written, "wait");
    return true;
}

static const lud_policy_kind reader = {.name = "reader",
                                       .about = "for this test",
                                       .destroy = destroy,
                                       .agent_number_name = "delight",
                                       .agent_numbers = agent_numbers,
                                       .agent_text = agent_text};

static lud_policy *make_reader(const lud_model *model) {
    lud_policy *policy = calloc(1, sizeof *policy);
    *policy = (lud_policy){.kind = &reader, .model = model};
    return policy;
}

static void test_numbers_and_texts_of_agents(void **unused) {
    (void)unused;
    lud_error error = {0};
    lud_scenario *scenario;
    lud_cast *cast;
    lud_overlay_source *source;
    const char *const sets[] = {"policies={other: random}"};
    if (lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/tribes/market.yaml", sets, 1, &scenario, &error))
        fail_msg("%s", error.text);
    const lud_model *model = scenario->model;
    assert_int_equal(lud_cast_create(model, scenario->policies, NULL, &cast, &error), LUD_OK);
    assert_int_equal(lud_cast_overlay(model, cast, &source, &error), LUD_OK);
    assert_true(!source || (!source->agent_numbers && !source->agent_text)); /* nobody publishes any */
    lud_overlay_source_destroy(source);
    lud_cast_set(cast, 2, make_reader(model));
    lud_cast_set(cast, 5, make_reader(model));
    assert_int_equal(lud_cast_overlay(model, cast, &source, &error), LUD_OK);
    assert_string_equal(source->agent_number_name, "delight");
    uint8_t *state = malloc(model->layout.state_bytes);
    const uint32_t tick = 0;
    const int32_t actions[12] = {0};
    float rewards[12];
    double values[12];
    model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, state);
    for (int i = 0; i < 12; i++) rewards[i] = 0.5f;
    assert_true(source->agent_numbers(source, state, actions, rewards, state, values));
    for (int i = 0; i < 12; i++) assert_true(i == 2 || i == 5 ? values[i] == i * 0.5 : isnan(values[i]));
    rewards[0] = 0;
    assert_false(source->agent_numbers(source, state, actions, rewards, state, values));
    lud_text read = {0}, written = {0};
    assert_false(source->agent_text(source, state, 1, &read, &written));
    assert_true(source->agent_text(source, state, 5, &read, &written));
    assert_non_null(strstr(read.bytes, "you are agent 5 of blue"));
    assert_string_equal(written.bytes, "wait");
    lud_text_free(&read);
    lud_text_free(&written);
    free(state);
    lud_overlay_source_destroy(source);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_and_texts_of_agents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
