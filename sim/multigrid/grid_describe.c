#include "sim/multigrid/grid_describe.h"

#include <stdlib.h>

#include "sim/directions.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_view.h"

/* --- For people --- */

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

static void describe_one(const lud_grid_model *m, const lud_grid_scene *scene, int i, lud_text *out) {
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

void lud_grid_describe(const lud_model *model, const uint8_t *state, lud_text *out) {
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
    for (int i = 0; i < m->n_agents; i++) describe_one(m, scene, i, out);
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

/* --- For an agent --- */

enum { MAX_TOLD = 8, MAX_TOLD_GOALS = 3 };

/* A cell that holds something worth telling. */
typedef struct told {
    int cell, away;
} told;

static bool is_worth_telling(const lud_grid_scene_cell *cell, int agent) {
    if (cell->agent >= 0) return cell->agent != agent;
    if (cell->piece >= 0) return true;
    if (cell->trampled) return false;
    return cell->ground.type != LUD_EMPTY && cell->ground.type != LUD_WALL && cell->ground.type != LUD_FLOOR;
}

/* The nearest cells worth telling, in `nearest`; returns how many. */
static int find_nearest(const lud_grid_scene *scene, int agent, told nearest[MAX_TOLD]) {
    const lud_grid_scene_agent *self = &scene->agents[agent];
    int n = 0;
    for (int c = 0; c < scene->width * scene->height; c++) {
        if (!is_worth_telling(&scene->cells[c], agent)) continue;
        const told found = {c, abs(c % scene->width - self->x) + abs(c / scene->width - self->y)};
        int at = n;
        for (; at > 0 && nearest[at - 1].away > found.away; at--)
            if (at < MAX_TOLD) nearest[at] = nearest[at - 1];
        if (at < MAX_TOLD) nearest[at] = found;
        if (n < MAX_TOLD) n++;
    }
    return n;
}

/* " 2 ahead 1 right", as the agent faces. */
static void tell_way(const lud_grid_scene_agent *self, int x, int y, lud_text *out) {
    const int dx = x - self->x, dy = y - self->y, facing = (int)self->direction, right = (facing + 1) % 4;
    const int ahead = dx * lud_step_x(facing) + dy * lud_step_y(facing);
    const int aside = dx * lud_step_x(right) + dy * lud_step_y(right);
    if (ahead) lud_text_append(out, " %d %s", abs(ahead), ahead > 0 ? "ahead" : "behind");
    if (aside) lud_text_append(out, " %d %s", abs(aside), aside > 0 ? "right" : "left");
    if (!ahead && !aside) lud_text_append(out, " here");
}

static void tell_cell(const lud_grid_model *m, const lud_grid_scene *scene, int c, lud_text *out) {
    const lud_grid_scene_cell *cell = &scene->cells[c];
    if (cell->agent >= 0)
        lud_text_append(out, "%s agent %d", lud_colour_names[scene->agents[cell->agent].colour], cell->agent);
    else if (cell->piece >= 0)
        describe_object(&scene->pieces[cell->piece].object, out);
    else
        describe_object(&cell->ground, out);
    if (cell->agent < 0 && cell->piece < 0) describe_fixed(m, cell, out);
}

static void tell_ahead(const lud_grid_model *m, const lud_grid_scene *scene, int agent, lud_text *out) {
    const lud_grid_scene_agent *self = &scene->agents[agent];
    const int cell = self->y * scene->width + self->x, front = m->next[cell * 4 + (int)self->direction];
    lud_text_append(out, "ahead ");
    if (front == m->n_cells)
        lud_text_append(out, "the edge");
    else if (is_worth_telling(&scene->cells[front], agent))
        tell_cell(m, scene, front, out);
    else
        lud_text_append(out, "%s", scene->cells[front].ground.type == LUD_WALL ? "wall" : "free");
    lud_text_append(out, "\n");
}

/* The goals of the largest weights, the first of equals first. */
static void tell_goals(const lud_model *model, int agent, lud_text *out) {
    const lud_world *world = model->world;
    const int n = world->n_goals(model, agent);
    double below = -1;
    for (int k = 0, last = -1; k < MAX_TOLD_GOALS && k < n; k++) {
        int best = -1;
        for (int g = 0; g < n; g++) {
            const double weight = world->goal_weight(model, agent, g);
            const bool later = last < 0 || weight < below || (weight == below && g > last);
            if (later && (best < 0 || weight > world->goal_weight(model, agent, best))) best = g;
        }
        last = best;
        below = world->goal_weight(model, agent, best);
        lud_text_append(out, "goal ");
        world->describe_goal(model, agent, best, out);
        lud_text_append(out, "\n");
    }
}

void lud_grid_tell_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    if (!scene) {
        out->failed = true;
        return;
    }
    lud_grid_scene_read(scene, model, state);
    lud_text_append(out, "step %d of %d\nyou are ", scene->step, (int)m->spec.max_steps);
    describe_one(m, scene, agent, out);
    tell_ahead(m, scene, agent, out);
    tell_goals(model, agent, out);
    told nearest[MAX_TOLD];
    const int n = find_nearest(scene, agent, nearest);
    for (int k = 0; k < n; k++) {
        tell_cell(m, scene, nearest[k].cell, out);
        lud_text_append(out, ",");
        tell_way(&scene->agents[agent], nearest[k].cell % scene->width, nearest[k].cell / scene->width, out);
        lud_text_append(out, "\n");
    }
    lud_grid_scene_destroy(scene);
}
