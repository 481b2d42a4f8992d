#include "learn/empo/exact/state_inputs.h"

void lud_empo_state_inputs_fill(const lud_empo_problem *problem, const lud_empo_hooks *hooks, uint64_t index,
                                const uint8_t *state, bool terminal, uint8_t *achieved, double *habit,
                                double *belief, double *robot, lud_empo_state_inputs *inputs) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_model *model = problem->model;
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            achieved[g] = model->world->achieved(model, state, layout->humans[h], g - layout->goal_begin[h]);
    *inputs = (lud_empo_state_inputs){.achieved = achieved};
    if (terminal) return;
    if (lud_empo_uses_habit(problem, hooks)) {
        hooks->habit(hooks->context, index, state, habit);
        inputs->habit = habit;
    }
    if (hooks && hooks->belief) {
        double *to = belief;
        for (int h = 0; h < layout->n_humans; h++)
            for (int a = 0; a < layout->n_human_actions[h]; a++, to += layout->n_human_profiles)
                hooks->belief(hooks->context, state, h, a, to);
        inputs->belief = belief;
    }
    if (hooks && hooks->robot) {
        hooks->robot(hooks->context, index, state, robot);
        inputs->robot = robot;
    }
}
