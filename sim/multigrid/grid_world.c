#include <assert.h>

#include "sim/multigrid/file/grid_options.h"
#include "sim/multigrid/file/grid_parse.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_describe.h"
#include "sim/multigrid/grid_measures.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/grid_step.h"
#include "sim/multigrid/grid_upload.h"

/* --- Goals --- */

static const lud_grid_goal *goal_of(const lud_model *model, int agent, int goal) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    assert(agent >= 0 && agent < m->n_agents && goal >= 0);
    assert(goal < m->goal_begin[agent + 1] - m->goal_begin[agent]);
    return &m->spec.goals[m->goal_index[m->goal_begin[agent] + goal]];
}

static int n_goals(const lud_model *model, int agent) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    return m->goal_begin[agent + 1] - m->goal_begin[agent];
}

static double goal_weight(const lud_model *model, int agent, int goal) {
    return goal_of(model, agent, goal)->weight;
}

static bool achieved(const lud_model *model, const uint8_t *state, int agent, int goal) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    const lud_grid_goal *g = goal_of(model, agent, goal);
    uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, agent);
    return m->cell_x[cell] >= g->x1 && m->cell_x[cell] <= g->x2 && m->cell_y[cell] >= g->y1 &&
           m->cell_y[cell] <= g->y2;
}

static void describe_goal(const lud_model *model, int agent, int goal, lud_text *out) {
    const lud_grid_goal *g = goal_of(model, agent, goal);
    if (g->cell)
        lud_text_append(out, "be at (%d, %d)", g->x1, g->y1);
    else
        lud_text_append(out, "be in the rectangle (%d, %d) to (%d, %d)", g->x1, g->y1, g->x2, g->y2);
}

static int elapsed(const lud_model *model, const uint8_t *state) {
    return (int)lud_grid_get16(state + ((const lud_grid_model *)model)->at.step);
}

static bool is_alive(const lud_model *model, const uint8_t *state, int agent) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    return !(state[m->at.agent + (uint32_t)agent] & LUD_AGENT_TERMINATED);
}

/* Things that can be carried lie wherever somebody dropped them: only those in hands count. */
static uint64_t situation(const lud_model *model, const uint8_t *state, int agent) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    const lud_grid_class *rocks = &m->classes[LUD_CLASS_ROCK];
    const int n_pushed = rocks->begin + rocks->n;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* Fowler, Noll and Vo's */
#define LUD_MIX(x) (hash = (hash ^ (uint64_t)(x)) * UINT64_C(0x100000001b3))
    LUD_MIX(lud_grid_get_cell(m, state, m->at.cell, agent));
    LUD_MIX(m->n_maps > 1 ? lud_grid_get16(state + m->at.map) : 0);
    LUD_MIX(m->n_classes > 2 ? state[m->at.carried + (uint32_t)agent] : 0);
    for (int s = 0; s < n_pushed; s++) LUD_MIX(lud_grid_get_cell(m, state, m->at.piece, s));
    for (int c = 0; c < (m->n_conditions + 3) / 4; c++) LUD_MIX(state[m->at.condition + (uint32_t)c]);
#undef LUD_MIX
    return hash;
}

const lud_world lud_multigrid_world = {
    .name = "multigrid",
    .options = lud_grid_option_tables,
    .about = "grid world of agents that move at once, push, carry, open doors and press buttons",
    .parse = lud_grid_parse,
    .free = lud_grid_model_destroy,
    .write = lud_grid_write,
    .reset = lud_grid_reset,
    .step = lud_grid_step,
    .observe = lud_grid_observe,
    .successors = lud_grid_successors,
    .all_successors = lud_grid_all_successors,
    .is_terminal = lud_grid_is_terminal,
    .check_state = lud_grid_check_state,
    .elapsed = elapsed,
    .n_goals = n_goals,
    .goal_weight = goal_weight,
    .achieved = achieved,
    .measure = lud_grid_measure,
    .describe_goal = describe_goal,
    .describe = lud_grid_describe,
    .describe_agent = lud_grid_tell_agent,
    .is_alive = is_alive,
    .situation = situation,
    .device_code = LUD_GRID_DEVICE_CODE,
    .upload = lud_grid_upload,
};
