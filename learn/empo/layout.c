#include "learn/empo/layout.h"

#include <stdio.h>
#include <string.h>

static lud_status list_agents(const lud_model *model, lud_empo_layout *layout, lud_error *error) {
    const lud_layout *world = &model->layout;
    if (world->n_agents > LUD_EMPO_MAX_AGENTS)
        return lud_fail(error, LUD_ERROR_LIMIT, "%d agents; EMPO takes at most %d", world->n_agents,
                        (int)LUD_EMPO_MAX_AGENTS);
    for (int i = 0; i < world->n_agents; i++) {
        if (world->actions[i].n_continuous > 0 || world->actions[i].n_discrete < 1)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "agent %d has continuous actions; EMPO needs discrete ones", i);
        switch (world->roles[i]) {
        case LUD_ROLE_HUMAN:
            layout->humans[layout->n_humans] = i;
            layout->n_human_actions[layout->n_humans++] = world->actions[i].n_discrete;
            if (world->actions[i].n_discrete > layout->max_human_actions)
                layout->max_human_actions = world->actions[i].n_discrete;
            break;
        case LUD_ROLE_ROBOT:
            layout->robots[layout->n_robots++] = i;
            break;
        default:
            return lud_invalid(
                error,
                "agent %d has no role; expected human or robot (yellow agents are people and grey ones "
                "robots, others need `role:`)",
                i);
        }
    }
    if (layout->n_humans == 0)
        return lud_invalid(error, "the world has no people; EMPO computes the power of people");
    return LUD_OK;
}

/* Places the parts of a record one behind the other. */
static void lay_out_record(lud_empo_layout *layout) {
    int at = 0;
    layout->v_r = at++;
    layout->u_r = at++;
    layout->x_h = at;
    at += layout->n_humans;
    layout->v_h_e = at;
    at += layout->n_goals;
    layout->v_h_m = at;
    at += layout->n_goals;
    layout->q_r = at;
    at += layout->n_robot_actions;
    layout->pi_r = at;
    at += layout->n_robot_actions;
    layout->policies = at;
    at += layout->policy_begin[layout->n_humans];
    layout->record_doubles = at;
}

lud_status lud_empo_layout_find(const lud_model *model, lud_empo_layout *layout, lud_error *error) {
    const lud_world *world = model->world;
    *layout = (lud_empo_layout){.n_robot_actions = 1, .n_human_profiles = 1};
    if (!world->successors || !world->n_goals)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the world %s has no exact model with goals",
                        world->name);
    LUD_TRY(list_agents(model, layout, error));
    if (lud_joint_action_count(&model->layout) == 0)
        return lud_fail(error, LUD_ERROR_LIMIT, "too many joint actions; expected at most 2^31 - 1");
    for (int r = 0; r < layout->n_robots; r++)
        layout->n_robot_actions *= model->layout.actions[layout->robots[r]].n_discrete;
    for (int h = 0; h < layout->n_humans; h++) {
        int n_goals = world->n_goals(model, layout->humans[h]);
        if (n_goals == 0)
            return lud_invalid(error, "agent %d is a person without goals; add `goals:`", layout->humans[h]);
        layout->n_human_profiles *= layout->n_human_actions[h];
        layout->goal_begin[h] = layout->n_goals;
        layout->n_goals += n_goals;
        layout->policy_begin[h + 1] = layout->policy_begin[h] + n_goals * layout->n_human_actions[h];
    }
    layout->goal_begin[layout->n_humans] = layout->n_goals;
    lay_out_record(layout);
    return LUD_OK;
}

int32_t lud_empo_human_profile(const lud_empo_layout *layout, const int32_t *actions) {
    int32_t number = 0;
    for (int h = layout->n_humans - 1; h >= 0; h--)
        number = number * layout->n_human_actions[h] + actions[layout->humans[h]];
    return number;
}

int32_t lud_empo_robot_action(const lud_empo_layout *layout, const lud_model *model, const int32_t *actions) {
    int32_t number = 0;
    for (int r = 0; r < layout->n_robots; r++)
        number = number * model->layout.actions[layout->robots[r]].n_discrete + actions[layout->robots[r]];
    return number;
}

void lud_empo_robot_decode(const lud_empo_layout *layout, const lud_model *model, int32_t number,
                           int32_t *actions) {
    for (int r = layout->n_robots - 1; r >= 0; r--) {
        int n_actions = model->layout.actions[layout->robots[r]].n_discrete;
        actions[layout->robots[r]] = number % n_actions;
        number /= n_actions;
    }
}

const char *lud_empo_robot_name(const lud_model *model, const lud_empo_layout *layout, int number,
                                char text[256]) {
    int32_t actions[LUD_EMPO_MAX_AGENTS] = {0};
    size_t used = 0;
    lud_empo_robot_decode(layout, model, number, actions);
    strcpy(text, "-");
    for (int r = 0; r < layout->n_robots && used < 255; r++) {
        const lud_action_space *space = &model->layout.actions[layout->robots[r]];
        int n = space->names
                    ? snprintf(text + used, 256 - used, "%s%s", r ? "+" : "",
                               space->names[actions[layout->robots[r]]])
                    : snprintf(text + used, 256 - used, "%s%d", r ? "+" : "", actions[layout->robots[r]]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

int lud_empo_person_of(const lud_empo_layout *layout, int agent) {
    for (int h = 0; h < layout->n_humans; h++)
        if (layout->humans[h] == agent) return h;
    return -1;
}

void lud_empo_goal_weights(const lud_empo_layout *layout, const lud_model *model, double *weights) {
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
            weights[layout->goal_begin[h] + g] = model->world->goal_weight(model, layout->humans[h], g);
}

void lud_empo_robot_part(const lud_empo_layout *layout, const lud_model *model, const double *pi_r, int agent,
                         double *to) {
    int32_t robots[LUD_EMPO_MAX_AGENTS];
    memset(to, 0, (size_t)model->layout.actions[agent].n_discrete * sizeof *to);
    for (int32_t k = 0; k < layout->n_robot_actions; k++) {
        lud_empo_robot_decode(layout, model, k, robots);
        to[robots[agent]] += pi_r[k];
    }
}

void lud_empo_marginal_of(const lud_empo_layout *layout, const double *goal_weight, const double *record,
                          int human, double *policy) {
    lud_empo_marginal(
        goal_weight + layout->goal_begin[human], record + layout->policies + layout->policy_begin[human],
        layout->goal_begin[human + 1] - layout->goal_begin[human], layout->n_human_actions[human], policy);
}
