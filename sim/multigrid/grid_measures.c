#include "sim/multigrid/grid_measures.h"

#include "sim/multigrid/grid_board.h"

enum { AT_GOALS, ALL_AT_GOALS, ON_GOAL, N_MEASURES };

bool lud_grid_compile_measures(lud_grid_model *m) {
    lud_measure *measures = lud_arena_take_array(m->arena, N_MEASURES, sizeof *measures);
    if (!measures) return false;
    const lud_grid_rewards *rewards = &m->spec.rewards;
    const bool no_goals = m->goal_begin[m->n_agents] == 0, unpaid = rewards->goal == 0 && !rewards->goal_ends;
    measures[AT_GOALS] = (lud_measure){.name = "at_goals",
                                       .format = "%.3f",
                                       .help = "of the agents with goals are in one at the end",
                                       .absent = no_goals};
    measures[ALL_AT_GOALS] = (lud_measure){.name = "all_at_goals",
                                           .help = "episodes in which all of them are",
                                           .absent = no_goals,
                                           .caption = "goal reached"};
    measures[ON_GOAL] = (lud_measure){.name = "on_goal",
                                      .help = "of the agents stand on a goal object of theirs at the end",
                                      .absent = unpaid};
    m->model.layout.measures = measures;
    m->model.layout.n_measures = m->model.layout.n_columns = N_MEASURES;
    return true;
}

static bool in_a_goal(const lud_model *model, const uint8_t *state, int agent) {
    for (int g = 0; g < model->world->n_goals(model, agent); g++)
        if (model->world->achieved(model, state, agent, g)) return true;
    return false;
}

void lud_grid_measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    for (int e = 0; e < n; e++, states += model->layout.state_bytes, values += N_MEASURES) {
        const lud_grid_layer *layer = lud_grid_layer_of(m, states);
        int wanting = 0, there = 0, on_goal = 0;
        for (int i = 0; i < m->n_agents; i++) {
            wanting += model->world->n_goals(model, i) > 0;
            there += in_a_goal(model, states, i);
            on_goal += lud_grid_on_goal(m, layer, states, i);
        }
        values[AT_GOALS] = wanting ? (double)there / wanting : 0;
        values[ALL_AT_GOALS] = wanting && there == wanting;
        values[ON_GOAL] = m->n_agents ? (double)on_goal / m->n_agents : 0;
    }
}
