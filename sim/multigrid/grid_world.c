#include <assert.h>

#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_measures.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/grid_options.h"
#include "sim/multigrid/grid_parse.h"
#include "sim/multigrid/grid_step.h"
#include "sim/multigrid/grid_view.h"

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

/* --- Description --- */

static void describe_object(const lud_grid_object *o, lud_text *out) {
    switch (o->type) {
    case LUD_BLOCK:
    case LUD_ROCK:
    case LUD_BUSH:
    case LUD_LAVA:
    case LUD_UNSTEADY_GROUND:
        lud_text_append(out, "%s", lud_grid_type_names[o->type]);
        break;
    default:
        lud_text_append(out, "%s %s", lud_colour_names[o->colour], lud_grid_type_names[o->type]);
        break;
    }
    if (o->type == LUD_BOX && o->content_type != LUD_EMPTY && o->content_type != LUD_UNSEEN)
        lud_text_append(out, " with a %s %s in it", lud_colour_names[o->content_colour],
                        lud_grid_type_names[o->content_type]);
}

static const char *action_name(const lud_grid_model *m, int action) {
    int n;
    const char *const *names = lud_grid_action_names(m->spec.actions, &n);
    return action >= 0 && action < n ? names[action] : "none";
}

static void describe_agent(const lud_grid_model *m, const lud_grid_scene *scene, int i, lud_text *out) {
    const lud_grid_scene_agent *agent = &scene->agents[i];
    static const char *const roles[] = {"", ", human", ", robot"};
    lud_text_append(out, "agent %d (%s%s) at (%d, %d) facing %s", i, lud_colour_names[agent->colour],
                    roles[agent->role], agent->x, agent->y, lud_direction_names[agent->direction]);
    const lud_grid_object *ground = &scene->cells[agent->y * scene->width + agent->x].ground;
    if (ground->type != LUD_EMPTY) {
        lud_text_append(out, ", on a ");
        describe_object(ground, out);
    }
    if (agent->carries) {
        lud_text_append(out, ", carries a ");
        describe_object(&agent->carried, out);
    }
    if (agent->terminated) lud_text_append(out, ", terminated");
    if (agent->paused) lud_text_append(out, ", paused");
    if (agent->forced_action >= 0)
        lud_text_append(out, ", forced to %s next", action_name(m, agent->forced_action));
    lud_text_append(out, "\n");
}

/* The condition of an immobile object that has one. */
static void describe_fixed(const lud_grid_model *m, const lud_grid_scene_cell *cell, lud_text *out) {
    const lud_grid_object *o = &cell->ground;
    switch (o->type) {
    case LUD_DOOR:
        lud_text_append(out, ": %s", lud_door_state_names[o->door]);
        break;
    case LUD_MAGIC_WALL:
        lud_text_append(out, ": %s, entered from %s", o->active ? "active" : "solid",
                        lud_direction_names[o->side]);
        break;
    case LUD_BUSH:
        lud_text_append(out, ": %s", cell->trampled ? "trampled" : "standing");
        break;
    case LUD_KILL_BUTTON:
        lud_text_append(out, ": %s, %s agents terminate %s agents", o->enabled ? "enabled" : "disabled",
                        lud_colour_names[o->trigger], lud_colour_names[o->target]);
        break;
    case LUD_PAUSE_SWITCH:
        lud_text_append(out, ": %s, %s, %s agents pause %s agents", o->on ? "on" : "off",
                        o->enabled ? "enabled" : "disabled", lud_colour_names[o->trigger],
                        lud_colour_names[o->target]);
        break;
    case LUD_DISABLING_SWITCH:
        lud_text_append(out, ": %s agents switch every %s", lud_colour_names[o->trigger],
                        lud_grid_type_names[o->target_type]);
        break;
    case LUD_CONTROL_BUTTON:
        lud_text_append(out, ": %s, %s agents command %s agents", o->enabled ? "enabled" : "disabled",
                        lud_colour_names[o->trigger], lud_colour_names[o->target]);
        if (cell->controlled_agent >= 0)
            lud_text_append(out, ", linked to agent %d, action %s%s", cell->controlled_agent,
                            action_name(m, cell->recorded_action),
                            cell->awaiting ? ", waiting for its next action" : "");
        break;
    default:
        break;
    }
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    if (!scene) {
        out->failed = true;
        return;
    }
    lud_grid_scene_read(scene, model, state);
    lud_text_append(out, "step %d of %d", scene->step, (int)m->spec.max_steps);
    if (m->n_maps > 1) lud_text_append(out, ", map %d", scene->map);
    lud_text_append(out, "\n");
    for (int i = 0; i < m->n_agents; i++) describe_agent(m, scene, i, out);
    for (int p = 0; p < scene->n_pieces; p++) {
        describe_object(&scene->pieces[p].object, out);
        lud_text_append(out, " at (%d, %d)\n", scene->pieces[p].x, scene->pieces[p].y);
    }
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    for (int k = 0; k < layer->n_fixed; k++) {
        const lud_grid_fixed *f = &layer->fixed[k];
        if (f->type == LUD_UNSTEADY_GROUND) continue;
        describe_object(&scene->cells[f->cell].ground, out);
        lud_text_append(out, " at (%d, %d)", m->cell_x[f->cell], m->cell_y[f->cell]);
        describe_fixed(m, &scene->cells[f->cell], out);
        lud_text_append(out, "\n");
    }
    lud_grid_scene_destroy(scene);
}

static int elapsed(const lud_model *model, const uint8_t *state) {
    return (int)lud_grid_get16(state + ((const lud_grid_model *)model)->at.step);
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
    .is_terminal = lud_grid_is_terminal,
    .elapsed = elapsed,
    .n_goals = n_goals,
    .goal_weight = goal_weight,
    .achieved = achieved,
    .measure = lud_grid_measure,
    .describe_goal = describe_goal,
    .describe = describe,
};
