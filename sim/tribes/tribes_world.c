/* The table of the world, and its goals. */
#include <assert.h>

#include "sim/tribes/tribes_options.h"
#include "sim/tribes/tribes_parts.h"

static int elapsed(const lud_model *model, const uint8_t *state) {
    return lud_tribes_step_count(lud_tribes_of(model), state);
}

static const lud_tribes_goal *goal_of(const lud_model *model, int goal) {
    const lud_tribes_model *m = lud_tribes_of(model);
    assert(goal >= 0 && goal < m->spec.n_goals);
    return &m->spec.goals[goal];
}

static int n_goals(const lud_model *model, int agent) {
    return model->layout.roles[agent] == LUD_ROLE_HUMAN ? lud_tribes_of(model)->spec.n_goals : 0;
}

static double goal_weight(const lud_model *model, int agent, int goal) {
    (void)agent;
    return goal_of(model, goal)->weight;
}

static bool achieved(const lud_model *model, const uint8_t *state, int agent, int goal) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const lud_tribes_goal *g = goal_of(model, goal);
    if (g->stored) {
        int64_t units = 0;
        for (int k = 0; k < LUD_RESOURCES; k++) units += lud_tribes_stored(m, state, m->team[agent], k);
        return units >= g->units;
    }
    const int cell = lud_tribes_cell(m, state, agent);
    if (cell == LUD_TRIBES_NOBODY) return false;
    const int x = cell % m->spec.width, y = cell / m->spec.width;
    return x >= g->x1 && x <= g->x2 && y >= g->y1 && y <= g->y2;
}

static void describe_goal(const lud_model *model, int agent, int goal, lud_text *out) {
    const lud_tribes_goal *g = goal_of(model, goal);
    (void)agent;
    if (g->stored)
        lud_text_append(out, "%lld units in the storehouse", (long long)g->units);
    else if (g->cell)
        lud_text_append(out, "be at (%d, %d)", g->x1, g->y1);
    else
        lud_text_append(out, "be in the rectangle (%d, %d) to (%d, %d)", g->x1, g->y1, g->x2, g->y2);
}

const lud_world lud_tribes_world = {
    .name = "tribes",
    .about = "teams on a grid that gather, trade, steal and stand guard",
    .options = lud_tribes_option_tables,
    .parse = lud_tribes_parse,
    .free = lud_tribes_free,
    .write = lud_tribes_write,
    .reset = lud_tribes_reset,
    .step = lud_tribes_step,
    .observe = lud_tribes_observe,
    .successors = lud_tribes_successors,
    .is_terminal = lud_tribes_is_terminal,
    .check_state = lud_tribes_check_state,
    .elapsed = elapsed,
    .n_goals = n_goals,
    .goal_weight = goal_weight,
    .achieved = achieved,
    .describe_goal = describe_goal,
    .measure = lud_tribes_measure,
    .describe = lud_tribes_describe,
    .describe_agent = lud_tribes_describe_agent,
    .describe_team = lud_tribes_describe_team,
    .is_alive = lud_tribes_is_alive,
};
