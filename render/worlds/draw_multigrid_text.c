/* Multigrid states in words, for the inspector. */
#include "render/worlds/draw_multigrid.h"
#include "sim/multigrid/grid_model.h"

static void append_words(lud_text *out, const char *name) {
    for (; *name; name++) lud_text_append(out, "%c", *name == '_' ? ' ' : *name);
}

static const char *action_name(const lud_model *model, int action) {
    const lud_layout *layout = &model->layout;
    if (!layout->n_agents || action < 0 || action >= layout->actions[0].n_discrete) return "none";
    return layout->actions[0].names[action];
}

static const char *yes(bool value) {
    return value ? "yes" : "no";
}

static const char *role_name(lud_role role) {
    return role == LUD_ROLE_HUMAN ? "person" : role == LUD_ROLE_ROBOT ? "robot" : "agent";
}

static void append_object(lud_text *out, const lud_grid_object *object) {
    lud_text_append(out, "%s ", lud_colour_names[object->colour]);
    append_words(out, lud_grid_type_names[object->type]);
}

void lud_grid_describe_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    const lud_grid_scene_agent *a = &g->after->agents[agent];
    lud_text_append(out, "Agent %d: %s %s\n", agent, lud_colour_names[a->colour], role_name(a->role));
    lud_text_append(out, "cell\t%d, %d\nfaces\t%s\n", a->x, a->y, lud_direction_names[a->direction]);
    lud_text_append(out, "carries\t");
    if (a->carries)
        append_object(out, &a->carried);
    else
        lud_text_append(out, "nothing");
    lud_text_append(out, "\nstate\t%s\n", a->terminated ? "terminated" : a->paused ? "paused" : "active");
    if (a->forced_action >= 0)
        lud_text_append(out, "forced next\t%s\n", action_name(drawing->model, a->forced_action));
    lud_text_append(out, "pushes rocks\t%s\n", yes(a->can_push_rocks));
    if (a->can_enter_magic_walls) lud_text_append(out, "magic walls\tcan enter\n");
}

static void describe_ground(const lud_model *model, const lud_grid_scene_cell *cell, lud_text *out) {
    const lud_grid_object *o = &cell->ground;
    lud_text_append(out, "ground\t");
    if (o->type == LUD_EMPTY) {
        lud_text_append(out, "free\n");
        return;
    }
    append_object(out, o);
    lud_text_append(out, "\n");
    switch (o->type) {
    case LUD_DOOR:
        lud_text_append(out, "door\t%s\n", lud_door_state_names[o->door]);
        break;
    case LUD_UNSTEADY_GROUND:
        lud_text_append(out, "stumble\t%.3g\n", o->stumble);
        break;
    case LUD_BUSH:
        lud_text_append(out, "trampled\t%s\nentry\t%.3g\n", yes(cell->trampled), o->enter);
        break;
    case LUD_MAGIC_WALL:
        lud_text_append(out, "magic side\t%s\nactive\t%s\nentry\t%.3g\nsolidify\t%.3g\n",
                        lud_direction_names[o->side], yes(o->active), o->entry, o->solidify);
        break;
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
        lud_text_append(out, "pressed by\t%s\nstops\t%s\nenabled\t%s\n", lud_colour_names[o->trigger],
                        lud_colour_names[o->target], yes(o->enabled));
        if (o->type == LUD_PAUSE_SWITCH) lud_text_append(out, "switched on\t%s\n", yes(o->on));
        break;
    case LUD_DISABLING_SWITCH:
        lud_text_append(out, "pressed by\t%s\nswitches\t", lud_colour_names[o->trigger]);
        append_words(out, lud_grid_type_names[o->target_type]);
        lud_text_append(out, "\n");
        break;
    case LUD_CONTROL_BUTTON:
        lud_text_append(out, "pressed by\t%s\ncontrols\t%s\nenabled\t%s\nwaits\t%s\n",
                        lud_colour_names[o->trigger], lud_colour_names[o->target], yes(o->enabled),
                        yes(cell->awaiting));
        if (cell->controlled_agent >= 0) lud_text_append(out, "agent\t%d\n", cell->controlled_agent);
        if (cell->recorded_action >= 0)
            lud_text_append(out, "recorded\t%s\n", action_name(model, cell->recorded_action));
        break;
    default:
        break;
    }
}

void lud_grid_describe_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    if (x < 0 || y < 0 || x >= g->after->width || y >= g->after->height) return;
    const lud_grid_scene_cell *cell = &g->after->cells[y * g->after->width + x];
    lud_text_append(out, "Cell %d, %d\n", x, y);
    describe_ground(drawing->model, cell, out);
    if (cell->piece >= 0) {
        lud_text_append(out, "holds\t");
        append_object(out, &g->after->pieces[cell->piece].object);
        lud_text_append(out, "\n");
    }
    if (cell->agent >= 0) lud_text_append(out, "agent\t%d\n", cell->agent);
}

void lud_grid_describe_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                              lud_text *out) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->before, drawing->model, before);
    lud_grid_scene_read(g->after, drawing->model, after);
    size_t start = out->length;
    for (int i = 0; i < g->after->n_agents; i++) {
        const lud_grid_scene_agent *a = &g->before->agents[i], *b = &g->after->agents[i];
        if (a->x != b->x || a->y != b->y) lud_text_append(out, "agent %d to %d, %d\n", i, b->x, b->y);
        if (a->direction != b->direction)
            lud_text_append(out, "agent %d faces %s\n", i, lud_direction_names[b->direction]);
        if (a->carries != b->carries) {
            lud_text_append(out, "agent %d %s ", i, b->carries ? "takes" : "puts down");
            append_object(out, b->carries ? &b->carried : &a->carried);
            lud_text_append(out, "\n");
        }
        if (a->terminated != b->terminated) lud_text_append(out, "agent %d is terminated\n", i);
        if (a->paused != b->paused)
            lud_text_append(out, "agent %d %s\n", i, b->paused ? "is paused" : "goes on");
        if (a->forced_action != b->forced_action && b->forced_action >= 0)
            lud_text_append(out, "agent %d will be made to %s\n", i,
                            action_name(drawing->model, b->forced_action));
    }
    for (int c = 0; c < g->after->width * g->after->height; c++) {
        const lud_grid_scene_cell *a = &g->before->cells[c], *b = &g->after->cells[c];
        int x = c % g->after->width, y = c / g->after->width;
        if (a->ground.door != b->ground.door)
            lud_text_append(out, "door %d, %d is %s\n", x, y, lud_door_state_names[b->ground.door]);
        if (a->trampled != b->trampled) lud_text_append(out, "bush %d, %d is trampled\n", x, y);
        if (a->ground.active != b->ground.active) lud_text_append(out, "wall %d, %d is solid\n", x, y);
        if (a->ground.enabled != b->ground.enabled)
            lud_text_append(out, "button %d, %d is %s\n", x, y, b->ground.enabled ? "enabled" : "disabled");
        if (a->ground.on != b->ground.on)
            lud_text_append(out, "switch %d, %d is %s\n", x, y, b->ground.on ? "on" : "off");
        if (a->awaiting != b->awaiting && b->awaiting) lud_text_append(out, "button %d, %d waits\n", x, y);
        if (a->recorded_action != b->recorded_action && b->recorded_action >= 0)
            lud_text_append(out, "button %d, %d records %s\n", x, y,
                            action_name(drawing->model, b->recorded_action));
    }
    if (out->length == start) lud_text_append(out, "nothing changes\n");
}

/* Whether the same lies in a cell of both scenes. */
static bool same_content(const lud_grid_scene *a, const lud_grid_scene *b, int cell) {
    const lud_grid_scene_cell *p = &a->cells[cell], *q = &b->cells[cell];
    const lud_grid_object *g = &p->ground, *h = &q->ground;
    if (g->type != h->type || g->door != h->door || g->active != h->active || g->enabled != h->enabled ||
        g->on != h->on || p->trampled != q->trampled || p->awaiting != q->awaiting ||
        p->recorded_action != q->recorded_action || (p->piece < 0) != (q->piece < 0))
        return false;
    if (p->piece < 0) return true;
    const lud_grid_object *left = &a->pieces[p->piece].object, *right = &b->pieces[q->piece].object;
    return left->type == right->type && left->colour == right->colour;
}

int lud_grid_differing_cells(lud_drawing *drawing, const uint8_t *state, const uint8_t *other,
                             int32_t (*cells)[2], int most) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    lud_grid_scene_read(g->before, drawing->model, other);
    int n = 0;
    const int width = g->after->width;
    for (int c = 0; c < width * g->after->height && n < most; c++) {
        if (same_content(g->after, g->before, c)) continue;
        cells[n][0] = c % width;
        cells[n++][1] = c / width;
    }
    return n;
}

int lud_grid_events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->before, drawing->model, before);
    lud_grid_scene_read(g->after, drawing->model, after);
    int events = 0;
    for (int i = 0; i < g->after->n_agents; i++) {
        const lud_grid_scene_agent *a = &g->before->agents[i], *b = &g->after->agents[i];
        if (a->carries != b->carries) events |= LUD_EVENT_PICKUP;
        if (!a->terminated && b->terminated) events |= LUD_EVENT_TERMINATED;
        if (a->paused != b->paused) events |= LUD_EVENT_ACT;
        if ((a->x != b->x || a->y != b->y) &&
            g->after->cells[b->y * g->after->width + b->x].ground.type == LUD_GOAL)
            events |= LUD_EVENT_GOAL;
    }
    for (int c = 0; c < g->after->width * g->after->height; c++) {
        const lud_grid_scene_cell *a = &g->before->cells[c], *b = &g->after->cells[c];
        if (a->ground.door != b->ground.door || a->ground.active != b->ground.active ||
            a->ground.enabled != b->ground.enabled || a->ground.on != b->ground.on ||
            a->recorded_action != b->recorded_action)
            events |= LUD_EVENT_DOOR;
    }
    return events;
}
