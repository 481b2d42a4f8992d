#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "library/handles.h"

ludus_status ludus_state_initial(const ludus_scenario *scenario, uint64_t seed, uint32_t environment,
                                 uint8_t *state, ludus_error *error) {
    LUDUS_REQUIRE(scenario && state, error);
    const uint32_t tick = 0;
    const lud_range range = {.seed = seed, .first_environment = environment, .n = 1, .tick = &tick};
    scenario->inner->world->reset(scenario->inner->model, range, state);
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_state_check(const ludus_scenario *scenario, const uint8_t *state, ludus_error *error) {
    LUDUS_REQUIRE(scenario && state, error);
    lud_error inner = {0};
    return ludus_lift(lud_world_check_states(scenario->inner->model, 1, state, &inner), &inner, error);
}

uint64_t ludus_state_hash(const ludus_scenario *scenario, const uint8_t *state) {
    return scenario && state ? XXH3_64bits(state, scenario->inner->model->layout.state_bytes) : 0;
}

ludus_status ludus_state_describe(const ludus_scenario *scenario, const uint8_t *state, int agent,
                                  char **text, ludus_error *error) {
    LUDUS_REQUIRE(text, error);
    *text = NULL;
    const ludus_status status = ludus_state_check(scenario, state, error);
    if (status) return status;
    const lud_model *model = scenario->inner->model;
    LUDUS_REQUIRE(agent >= -1 && agent < model->layout.n_agents, error);
    lud_text words = {0};
    if (agent >= 0 && model->world->describe_agent)
        model->world->describe_agent(model, state, agent, &words);
    else
        model->world->describe(model, state, &words);
    return ludus_take_text(&words, text, error);
}

ludus_status ludus_state_successors(const ludus_scenario *scenario, const uint8_t *state,
                                    const int32_t *joint_action, size_t room, uint8_t *states,
                                    double *probabilities, size_t *n, ludus_error *error) {
    LUDUS_REQUIRE(n, error);
    *n = 0;
    const ludus_status checked = ludus_state_check(scenario, state, error);
    if (checked) return checked;
    LUDUS_REQUIRE(joint_action && (room == 0 || (states && probabilities)), error);
    const lud_model *model = scenario->inner->model;
    lud_error inner = {0};
    if (!model->world->successors || !lud_joint_action_count(&model->layout))
        return ludus_lift(
            lud_fail(&inner, LUD_ERROR_UNSUPPORTED, "%s has no exact model", scenario->inner->name), &inner,
            error);
    if (ludus_wrong_choice(&model->layout, joint_action) >= 0)
        return ludus_invalid(error, "a joint action with a choice that its agent does not have");
    lud_successors successors = {0};
    const lud_status status = model->world->successors(model, state, joint_action, &successors, &inner);
    if (!status) {
        const size_t kept = successors.n < room ? successors.n : room;
        *n = successors.n;
        if (kept) memcpy(states, successors.states, kept * model->layout.state_bytes);
        if (kept) memcpy(probabilities, successors.probability, kept * sizeof *probabilities);
    }
    lud_successors_free(&successors);
    return ludus_lift(status, &inner, error);
}

ludus_status ludus_state_achieves(const ludus_scenario *scenario, const uint8_t *state, int agent, int goal,
                                  bool *achieved, ludus_error *error) {
    const ludus_status status = ludus_state_check(scenario, state, error);
    if (status) return status;
    const lud_model *model = scenario->inner->model;
    LUDUS_REQUIRE(achieved, error);
    LUDUS_REQUIRE(agent >= 0 && agent < model->layout.n_agents, error);
    LUDUS_REQUIRE(model->world->n_goals && goal >= 0 && goal < model->world->n_goals(model, agent), error);
    *achieved = model->world->achieved(model, state, agent, goal);
    return LUDUS_OK;
}

ludus_status ludus_state_measure(const ludus_scenario *scenario, int n, const uint8_t *states, double *values,
                                 ludus_error *error) {
    LUDUS_REQUIRE(scenario && states && n >= 0, error);
    const lud_model *model = scenario->inner->model;
    LUDUS_REQUIRE(values || !model->layout.n_measures, error);
    lud_error inner = {0};
    const lud_status status = lud_world_check_states(model, n, states, &inner);
    if (!status && model->world->measure) model->world->measure(model, n, states, values);
    return ludus_lift(status, &inner, error);
}
