#include <stdlib.h>
#include <string.h>

#include "base/options/tree.h"
#include "learn/runs/run.h"
#include "library/handles.h"

_Static_assert((int)LUDUS_ROLE_ROBOT == (int)LUD_ROLE_ROBOT && (int)LUDUS_FLOAT32 == (int)LUD_F32 &&
                   (int)LUDUS_MASK == (int)LUD_OBSERVATION_MASK,
               "roles, types and kinds have the same numbers");

static ludus_status wrap(const char *path, lud_status status, lud_scenario *inner, ludus_scenario **scenario,
                         const lud_error *inner_error, ludus_error *error) {
    if (status) return ludus_lift_from(path, status, inner_error, error);
    ludus_scenario *s = calloc(1, sizeof *s);
    if (!s) {
        lud_scenario_destroy(inner);
        return ludus_no_memory(error);
    }
    s->inner = inner;
    s->max_actions = lud_max_discrete(&inner->model->layout);
    s->max_continuous = lud_max_continuous(&inner->model->layout);
    *scenario = s;
    return ludus_lift(LUD_OK, NULL, error);
}

static bool are_texts(const char *const *texts, int n) {
    for (int i = 0; i < n; i++)
        if (!texts || !texts[i]) return false;
    return n >= 0;
}

ludus_status ludus_scenario_load(const char *path, const char *const *overrides, int n_overrides,
                                 ludus_scenario **scenario, ludus_error *error) {
    LUDUS_REQUIRE(scenario, error);
    *scenario = NULL;
    LUDUS_REQUIRE(path, error);
    LUDUS_REQUIRE(are_texts(overrides, n_overrides), error);
    lud_error inner_error = {0};
    lud_scenario *inner = NULL;
    const lud_scenario_overrides given = {.set = overrides, .n_set = n_overrides, .run = lud_run_as_written};
    const int threads = ludus_take_threads(NULL);
    const lud_status status = lud_run_scenario(path, &given, &inner, &inner_error);
    ludus_give_threads(threads);
    return wrap(path, status, inner, scenario, &inner_error, error);
}

ludus_status ludus_scenario_read(const char *name, const char *text, size_t length,
                                 const char *const *overrides, int n_overrides, ludus_scenario **scenario,
                                 ludus_error *error) {
    LUDUS_REQUIRE(scenario, error);
    *scenario = NULL;
    LUDUS_REQUIRE(name && text, error);
    LUDUS_REQUIRE(are_texts(overrides, n_overrides), error);
    lud_error inner_error = {0};
    lud_scenario *inner = NULL;
    const lud_status status =
        lud_scenario_read(name, text, length, overrides, n_overrides, &inner, &inner_error);
    return wrap(name, status, inner, scenario, &inner_error, error);
}

void ludus_scenario_free(ludus_scenario *scenario) {
    if (!scenario) return;
    lud_scenario_destroy(scenario->inner);
    free(scenario);
}

ludus_status ludus_scenario_get_info(const ludus_scenario *scenario, ludus_scenario_info *info) {
    LUDUS_REQUIRE(scenario && info, NULL);
    const lud_scenario *s = scenario->inner;
    const lud_layout *layout = &s->model->layout;
    *info = (ludus_scenario_info){.name = s->name,
                                  .about = s->about ? s->about : "",
                                  .world = s->world->name,
                                  .state_bytes = layout->state_bytes,
                                  .n_agents = layout->n_agents,
                                  .n_teams = layout->n_teams,
                                  .n_parts = layout->n_parts,
                                  .n_measures = layout->n_measures,
                                  .n_components = layout->n_components,
                                  .max_steps = layout->max_steps,
                                  .max_actions = scenario->max_actions,
                                  .max_continuous = scenario->max_continuous,
                                  .n_joint_actions = lud_joint_action_count(layout),
                                  .has_model = s->world->successors != NULL,
                                  .seed = (uint64_t)s->run.seed,
                                  .n_environments = (int)s->run.environments};
    return LUDUS_OK;
}

ludus_status ludus_scenario_get_agent(const ludus_scenario *scenario, int agent, ludus_agent_info *info) {
    LUDUS_REQUIRE(scenario && info, NULL);
    const lud_model *model = scenario->inner->model;
    const lud_layout *layout = &model->layout;
    LUDUS_REQUIRE(agent >= 0 && agent < layout->n_agents, NULL);
    const lud_action_space *space = &layout->actions[agent];
    const int team = layout->n_teams ? layout->teams[agent] : -1;
    *info = (ludus_agent_info){.n_actions = space->n_discrete,
                               .n_continuous = space->n_continuous,
                               .low = space->low,
                               .high = space->high,
                               .action_names = space->names,
                               .idle = layout->idle ? layout->idle[agent] : -1,
                               .role = (ludus_role)layout->roles[agent],
                               .team = team,
                               .team_name = team >= 0 ? layout->team_names[team] : NULL,
                               .n_goals = model->world->n_goals ? model->world->n_goals(model, agent) : 0};
    return LUDUS_OK;
}

ludus_status ludus_scenario_get_part(const ludus_scenario *scenario, int part, ludus_part_info *info) {
    LUDUS_REQUIRE(scenario && info, NULL);
    const lud_layout *layout = &scenario->inner->model->layout;
    LUDUS_REQUIRE(part >= 0 && part < layout->n_parts, NULL);
    const lud_observation_part *p = &layout->parts[part];
    *info = (ludus_part_info){.name = p->name,
                              .kind = (ludus_kind)p->kind,
                              .dtype = (ludus_dtype)p->dtype,
                              .per_agent = p->per_agent,
                              .n_dimensions = p->n_dimensions,
                              .bytes = p->bytes};
    memcpy(info->dimensions, p->dimensions, sizeof info->dimensions);
    return LUDUS_OK;
}

const char *ludus_measure_name(const ludus_scenario *scenario, int measure, const char **about) {
    if (!scenario || measure < 0 || measure >= scenario->inner->model->layout.n_measures) return NULL;
    const lud_measure *m = &scenario->inner->model->layout.measures[measure];
    if (about) *about = m->help;
    return m->name;
}

const char *ludus_component_name(const ludus_scenario *scenario, int component) {
    if (!scenario || component < 0 || component >= scenario->inner->model->layout.n_components) return NULL;
    return scenario->inner->model->layout.components[component];
}

ludus_status ludus_scenario_text(const ludus_scenario *scenario, char **text, ludus_error *error) {
    LUDUS_REQUIRE(scenario && text, error);
    *text = NULL;
    lud_error inner = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = NULL;
    char *written = NULL;
    size_t length = 0;
    lud_status status =
        arena ? lud_scenario_effective(scenario->inner, arena, &root, &inner) : lud_out_of_memory(&inner);
    if (!status) status = lud_tree_write(arena, root, &written, &length, &inner);
    if (!status && !(*text = strndup(written, length))) status = lud_out_of_memory(&inner);
    lud_arena_destroy(arena);
    return ludus_lift(status, &inner, error);
}

ludus_status ludus_open_cast(const ludus_scenario *scenario, const char *run, lud_cast **cast,
                             ludus_error *error) {
    lud_error inner = {0};
    const int threads = ludus_take_threads(scenario->inner);
    const lud_status status = lud_run_cast(run, scenario->inner, cast, &inner);
    ludus_give_threads(threads);
    return run ? ludus_lift_from(run, status, &inner, error) : ludus_lift(status, &inner, error);
}
