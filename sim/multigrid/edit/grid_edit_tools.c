#include "sim/multigrid/edit/grid_edit_tools.h"

#include <stdio.h>
#include <string.h>

#include "sim/multigrid/edit/grid_edit_parts.h"

/* ---- what is picked ---- */

static const lud_grid_thing *thing_at(const lud_grid_edit *edit, int x, int y) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    return x >= 0 && y >= 0 && x < w->width && y < w->height ? &w->things[y * w->width + x] : NULL;
}

/* Whether something lies or stands on the ground of the cell. */
static bool is_laden(const lud_grid_thing *thing) {
    return thing->is_agent || lud_grid_is_piece(thing->object.type);
}

bool lud_grid_pick_is(const lud_grid_edit *edit, lud_grid_pick pick) {
    if (pick.kind == LUD_PICK_WORLD) return true;
    if (pick.kind == LUD_PICK_GOAL) return pick.goal >= 0 && pick.goal < lud_grid_edit_get(edit)->n_goals;
    const lud_grid_thing *thing = thing_at(edit, pick.x, pick.y);
    if (!thing) return false;
    if (pick.layer == 0) return is_laden(thing) || thing->object.type != LUD_EMPTY;
    return pick.layer == 1 && thing->under.type != LUD_EMPTY;
}

static bool covers(const lud_grid_edit_goal *goal, int x, int y) {
    return x >= goal->x1 && x <= goal->x2 && y >= goal->y1 && y <= goal->y2;
}

lud_grid_pick lud_grid_pick_next(const lud_grid_edit *edit, lud_grid_pick last, int x, int y) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    bool here = last.kind == LUD_PICK_CELL && last.x == x && last.y == y;
    here |= last.kind == LUD_PICK_GOAL && last.goal < w->n_goals && covers(&w->goals[last.goal], x, y);
    int place = !here ? 0 : last.kind == LUD_PICK_CELL ? last.layer + 1 : 3 + last.goal;
    for (int tried = 0; tried < w->n_goals + 2; tried++, place++) {
        place %= w->n_goals + 2;
        const lud_grid_pick pick =
            place < 2 ? (lud_grid_pick){.kind = LUD_PICK_CELL, .x = x, .y = y, .layer = place}
                      : (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = place - 2};
        if (!lud_grid_pick_is(edit, pick)) continue;
        if (place < 2 || covers(&w->goals[pick.goal], x, y)) return pick;
    }
    return (lud_grid_pick){.kind = LUD_PICK_WORLD};
}

static void append_words(const char *name, lud_text *out) {
    for (; *name; name++) lud_text_append(out, "%c", *name == '_' ? ' ' : *name);
}

void lud_grid_edit_describe_object(const lud_grid_object *object, lud_text *out) {
    const lud_option_table *table = lud_grid_thing_table(object->type);
    if (table && table->n && !strcmp(table->options[0].key, "colour"))
        lud_text_append(out, "%s ", lud_colour_names[object->colour]);
    append_words(lud_grid_type_names[object->type], out);
}

void lud_grid_pick_describe(const lud_grid_edit *edit, lud_grid_pick pick, lud_text *out) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    if (pick.kind == LUD_PICK_WORLD) {
        lud_text_append(out, "the world, %d x %d", w->width, w->height);
    } else if (pick.kind == LUD_PICK_GOAL) {
        const lud_grid_edit_goal *goal = &w->goals[pick.goal];
        if (goal->cell)
            lud_text_append(out, "goal %d: be at (%d, %d)", pick.goal, goal->x1, goal->y1);
        else
            lud_text_append(out, "goal %d: be in (%d, %d) to (%d, %d)", pick.goal, goal->x1, goal->y1,
                            goal->x2, goal->y2);
    } else {
        const lud_grid_thing *thing = thing_at(edit, pick.x, pick.y);
        if (!thing) return;
        if (pick.layer) {
            lud_grid_edit_describe_object(&thing->under, out);
            lud_text_append(out, " below, at (%d, %d)", pick.x, pick.y);
            return;
        }
        if (thing->is_agent)
            lud_text_append(out, "%s agent %d, %s", lud_colour_names[thing->agent.colour],
                            w->agent[pick.y * w->width + pick.x], lud_grid_role_names[thing->agent.role]);
        else
            lud_grid_edit_describe_object(&thing->object, out);
        lud_text_append(out, ", at (%d, %d)", pick.x, pick.y);
    }
}

/* ---- changes ---- */

static lud_status outside(int x, int y, lud_error *error) {
    return lud_invalid(error, "(%d, %d) is outside of the map", x, y);
}

/* What an agent of a colour is where nothing else is said. */
static void give_usual(const lud_grid_edit *edit, lud_grid_agent *agent) {
    const lud_grid_options *options = lud_grid_edit_options(edit);
    agent->role = (lud_role)options->roles.of[agent->colour];
    agent->can_push_rocks = lud_grid_has_colour(&options->can_push_rocks, agent->colour);
    agent->can_enter_magic_walls = lud_grid_has_colour(&options->can_enter_magic_walls, agent->colour);
}

bool lud_grid_edit_brush(const lud_grid_edit *edit, int index, lud_grid_thing *thing, lud_text *name) {
    const lud_grid_chances *chances = &lud_grid_edit_options(edit)->chances;
    bool seen[LUD_GRID_TYPES] = {0}, coloured;
    for (int i = 0;; i++) { /* what kinds of a type differ in are its parameters */
        lud_text ignored = {0};
        const bool more = lud_grid_kind(i, LUD_RED, chances, thing, &coloured, &ignored);
        lud_text_free(&ignored);
        if (!more) return false;
        const lud_grid_type type = thing->is_agent ? LUD_AGENT : thing->object.type;
        if (seen[type]) continue;
        seen[type] = true;
        if (index--) continue;
        if (thing->is_agent)
            thing->agent.colour = LUD_YELLOW;
        else if (type != LUD_EMPTY)
            thing->object = lud_grid_object_with(type, chances);
        if (thing->is_agent) give_usual(edit, &thing->agent);
        append_words(lud_grid_type_names[type], name);
        return true;
    }
}

/* A copy of the world with a cell changed, applied. */
static lud_status apply_cell(lud_grid_edit *edit, int x, int y, const lud_grid_thing *thing, int agent,
                             const char *name, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    wanted.things[y * wanted.width + x] = *thing;
    wanted.agent[y * wanted.width + x] = agent;
    const lud_status status = lud_grid_edit_apply(edit, &wanted, name, error);
    lud_grid_edit_world_free(&wanted);
    return status;
}

static const lud_grid_object nothing = {.type = LUD_EMPTY};

static lud_status take_top(lud_grid_edit *edit, int x, int y, lud_error *error) {
    const lud_grid_thing *is = thing_at(edit, x, y);
    lud_grid_thing left = {.object = is_laden(is) ? is->under : nothing, .under = nothing};
    return apply_cell(edit, x, y, &left, -1, "remove", error);
}

lud_status lud_grid_edit_put(lud_grid_edit *edit, int x, int y, const lud_grid_thing *thing,
                             lud_error *error) {
    const lud_grid_thing *is = thing_at(edit, x, y);
    if (!is) return outside(x, y, error);
    lud_grid_thing wanted = *thing;
    wanted.under = nothing;
    if (!is_laden(thing) && thing->object.type == LUD_EMPTY) return take_top(edit, x, y, error);
    lud_grid_thing below = wanted; /* with what stays where it is below what does not, if that can be */
    int agent = -1;
    if (is_laden(thing)) {
        below.under = is_laden(is) ? is->under : is->object;
        if (thing->is_agent) agent = lud_grid_edit_get(edit)->agent[y * lud_grid_edit_get(edit)->width + x];
    } else if (is_laden(is)) {
        below = *is;
        below.under = thing->object;
        agent = is->is_agent ? lud_grid_edit_get(edit)->agent[y * lud_grid_edit_get(edit)->width + x] : -1;
    }
    lud_error first = {0};
    if (!apply_cell(edit, x, y, &below, agent, "place", &first)) return LUD_OK;
    const lud_status status = apply_cell(edit, x, y, &wanted, -1, "place", error);
    if (status && error) *error = first;
    return status;
}

static lud_status remove_goal(lud_grid_edit *edit, int goal, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    memmove(&wanted.goals[goal], &wanted.goals[goal + 1],
            (size_t)(wanted.n_goals - 1 - goal) * sizeof *wanted.goals);
    wanted.n_goals--;
    const lud_status status = lud_grid_edit_apply(edit, &wanted, "remove goal", error);
    lud_grid_edit_world_free(&wanted);
    return status;
}

lud_status lud_grid_edit_remove(lud_grid_edit *edit, lud_grid_pick pick, lud_error *error) {
    if (pick.kind == LUD_PICK_WORLD || !lud_grid_pick_is(edit, pick))
        return lud_invalid(error, "there is nothing to remove");
    if (pick.kind == LUD_PICK_GOAL) return remove_goal(edit, pick.goal, error);
    if (pick.layer == 0) return take_top(edit, pick.x, pick.y, error);
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    lud_grid_thing left = *thing_at(edit, pick.x, pick.y);
    left.under = nothing;
    return apply_cell(edit, pick.x, pick.y, &left, w->agent[pick.y * w->width + pick.x], "remove", error);
}

static lud_status move_goal(lud_grid_edit *edit, int number, int x, int y, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    lud_grid_edit_goal *goal = &wanted.goals[number];
    const int w = goal->x2 - goal->x1, h = goal->y2 - goal->y1;
    goal->x1 = x < 0 ? 0 : x + w >= wanted.width ? wanted.width - 1 - w : x;
    goal->y1 = y < 0 ? 0 : y + h >= wanted.height ? wanted.height - 1 - h : y;
    goal->x2 = goal->x1 + w;
    goal->y2 = goal->y1 + h;
    const lud_status status = lud_grid_edit_apply(edit, &wanted, "move goal", error);
    lud_grid_edit_world_free(&wanted);
    return status;
}

lud_status lud_grid_edit_move(lud_grid_edit *edit, lud_grid_pick *pick, int x, int y, lud_error *error) {
    if (pick->kind == LUD_PICK_WORLD || !lud_grid_pick_is(edit, *pick))
        return lud_invalid(error, "there is nothing to move");
    if (pick->kind == LUD_PICK_GOAL) return move_goal(edit, pick->goal, x, y, error);
    if (x == pick->x && y == pick->y) return LUD_OK;
    if (!thing_at(edit, x, y)) return outside(x, y, error);
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    const int from = pick->y * wanted.width + pick->x, to = y * wanted.width + x;
    lud_grid_thing *source = &wanted.things[from], *target = &wanted.things[to];
    lud_status status = LUD_OK;
    const bool laden = is_laden(source);
    if (laden && pick->layer == 0) { /* it leaves its ground and comes onto another */
        if (is_laden(target)) status = lud_invalid(error, "(%d, %d) is taken", x, y);
        const lud_grid_object ground = target->object;
        *target = *source;
        target->under = ground;
        *source = (lud_grid_thing){.object = source->under, .under = nothing};
        wanted.agent[to] = wanted.agent[from];
        wanted.agent[from] = -1;
    } else {
        const lud_grid_object moved = laden ? source->under : source->object;
        if (is_laden(target))
            target->under = moved;
        else
            target->object = moved;
        if (laden)
            source->under = nothing;
        else
            source->object = nothing;
    }
    if (!status) status = lud_grid_edit_apply(edit, &wanted, "move", error);
    if (!status) {
        pick->layer = !(laden && pick->layer == 0) && is_laden(target) ? 1 : 0;
        pick->x = x;
        pick->y = y;
    }
    lud_grid_edit_world_free(&wanted);
    return status;
}

lud_status lud_grid_edit_turn(lud_grid_edit *edit, lud_grid_pick pick, int by, lud_error *error) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_grid_edit_parameters(edit, pick, parameters);
    for (int k = 0; k < n; k++) {
        const lud_grid_parameter *p = &parameters[k];
        if (!p->turns) continue;
        const int sides = (int)p->maximum + 1;
        return lud_grid_edit_change_parameter(edit, pick, k, ((int)p->value + by % sides + sides) % sides,
                                              error);
    }
    return lud_invalid(error, "this looks nowhere, so it cannot be turned");
}

lud_status lud_grid_edit_add_goal(lud_grid_edit *edit, int x1, int y1, int x2, int y2, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!thing_at(edit, x1, y1)) return outside(x1, y1, error);
    if (!thing_at(edit, x2, y2)) return outside(x2, y2, error);
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    wanted.goals[wanted.n_goals++] = (lud_grid_edit_goal){.x1 = x1 < x2 ? x1 : x2,
                                                          .y1 = y1 < y2 ? y1 : y2,
                                                          .x2 = x1 < x2 ? x2 : x1,
                                                          .y2 = y1 < y2 ? y2 : y1,
                                                          .cell = x1 == x2 && y1 == y2,
                                                          .weight = 1,
                                                          .for_all = true,
                                                          .origin = -1};
    const lud_status status = lud_grid_edit_apply(edit, &wanted, "add goal", error);
    lud_grid_edit_world_free(&wanted);
    return status;
}
