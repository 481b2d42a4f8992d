/* Parameters of what is picked: those of its option table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

/* ---- options as parameters ---- */

static double value_of(const lud_option *option, const void *values) {
    const char *field = (const char *)values + option->offset;
    switch (option->type) {
    case LUD_OPTION_BOOL:
        return *(const bool *)field;
    case LUD_OPTION_INT:
        return (double)*(const int64_t *)field;
    case LUD_OPTION_REAL:
        return *(const double *)field;
    default:
        return *(const int *)field;
    }
}

static void put_value(const lud_option *option, void *values, double value) {
    char *field = (char *)values + option->offset;
    switch (option->type) {
    case LUD_OPTION_BOOL:
        *(bool *)field = value != 0;
        break;
    case LUD_OPTION_INT:
        *(int64_t *)field = (int64_t)value;
        break;
    case LUD_OPTION_REAL:
        *(double *)field = value;
        break;
    default:
        *(int *)field = (int)value;
        break;
    }
}

static bool is_simple(const lud_option *option) {
    return option->type == LUD_OPTION_BOOL || option->type == LUD_OPTION_INT ||
           option->type == LUD_OPTION_REAL || option->type == LUD_OPTION_CHOICE;
}

static int n_choices(const lud_option *option) {
    int n = 0;
    while (option->choices[n]) n++;
    return n;
}

static void show_value(const lud_option *option, double value, char *shown, size_t size) {
    if (option->type == LUD_OPTION_BOOL)
        snprintf(shown, size, "%s", value != 0 ? "true" : "false");
    else if (option->type == LUD_OPTION_CHOICE)
        snprintf(shown, size, "%s", option->choices[(int)value]);
    else if (option->type == LUD_OPTION_INT)
        snprintf(shown, size, "%.0f", value);
    else {
        char number[LUD_NUMBER_BYTES];
        lud_number_write(value, number);
        snprintf(shown, size, "%s", number);
    }
}

static lud_grid_parameter parameter_of(const lud_option *option, const char *section, const void *values) {
    lud_grid_parameter p = {.help = option->help, .value = value_of(option, values)};
    snprintf(p.name, sizeof p.name, "%s%s%s", section, *section ? "." : "", option->key);
    show_value(option, p.value, p.shown, sizeof p.shown);
    p.step = 1;
    p.minimum = option->minimum;
    p.maximum = option->maximum;
    if (option->type == LUD_OPTION_REAL) p.step = option->maximum <= 1 ? 0.05 : 0.5;
    if (option->type == LUD_OPTION_BOOL) p.maximum = 1;
    if (option->type == LUD_OPTION_CHOICE) p.maximum = n_choices(option) - 1;
    p.turns = option->type == LUD_OPTION_CHOICE && !strcmp(option->choices[0], lud_direction_names[LUD_EAST]);
    p.colours = option->type == LUD_OPTION_CHOICE && option->choices == lud_colour_names;
    p.wraps = option->type == LUD_OPTION_BOOL || option->type == LUD_OPTION_CHOICE;
    p.number = !p.wraps;
    p.whole = option->type == LUD_OPTION_INT;
    return p;
}

static int table_parameters(const lud_option_table *table, const char *section, const void *values, int n,
                            lud_grid_parameter *parameters) {
    for (int k = 0; table && k < table->n && n < LUD_GRID_PARAMETERS; k++) {
        const lud_option *option = &table->options[k];
        if (is_simple(option)) parameters[n++] = parameter_of(option, section, values);
    }
    return n;
}

/* The simple option of this number among those of a table. */
static const lud_option *simple_option(const lud_option_table *table, int number) {
    for (int k = 0; table && k < table->n; k++)
        if (is_simple(&table->options[k]) && number-- == 0) return &table->options[k];
    return NULL;
}

/* ---- things ---- */

/* What may be in a box, counted: nothing, then every type in every colour. */
static bool content_at(int number, lud_grid_type *type, lud_colour *colour) {
    *type = LUD_EMPTY;
    *colour = LUD_RED;
    if (number-- == 0) return true;
    for (int t = 0; t < LUD_GRID_TYPES; t++) {
        if (t == LUD_EMPTY || !lud_grid_fits_box((lud_grid_type)t)) continue;
        if (number < LUD_COLOURS) {
            *type = (lud_grid_type)t;
            *colour = (lud_colour)number;
            return true;
        }
        number -= LUD_COLOURS;
    }
    return false;
}

/* The option that says what is inside; null: the table has none. */
static const lud_option *content_option(const lud_option_table *table) {
    for (int k = 0; table && k < table->n; k++)
        if (table->options[k].type == LUD_OPTION_TREE) return &table->options[k];
    return NULL;
}

static lud_grid_parameter content_parameter(const lud_option *option, const lud_grid_object *object) {
    lud_grid_parameter p = {.help = option->help, .step = 1, .wraps = true};
    snprintf(p.name, sizeof p.name, "%s", option->key);
    snprintf(p.shown, sizeof p.shown, "nothing");
    lud_grid_type type;
    lud_colour colour;
    for (int k = 0; content_at(k, &type, &colour); k++) {
        p.maximum = k;
        if (type == LUD_EMPTY || type != object->content_type || colour != object->content_colour) continue;
        p.value = k;
        snprintf(p.shown, sizeof p.shown, "%s %s", lud_colour_names[colour], lud_grid_type_names[type]);
    }
    return p;
}

static lud_grid_agent_options agent_values(const lud_grid_agent *agent) {
    return (lud_grid_agent_options){.role = (int)agent->role,
                                    .facing = (int)agent->direction,
                                    .colour = (int)agent->colour,
                                    .can_push_rocks = agent->can_push_rocks,
                                    .can_enter_magic_walls = agent->can_enter_magic_walls};
}

static const lud_grid_thing *picked_thing(const lud_grid_edit *edit, lud_grid_pick pick) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    return &w->things[pick.y * w->width + pick.x];
}

int lud_grid_thing_parameters(const lud_grid_thing *thing, int layer, lud_grid_parameter *parameters) {
    if (thing->is_agent && layer == 0) {
        const lud_grid_agent_options values = agent_values(&thing->agent);
        return table_parameters(&lud_grid_agent_option_table, "", &values, 0, parameters);
    }
    const lud_grid_object *object = layer ? &thing->under : &thing->object;
    const lud_option_table *table = lud_grid_thing_table(object->type);
    const lud_grid_thing_options values = lud_grid_thing_values(object);
    int n = table_parameters(table, "", &values, 0, parameters);
    const lud_option *content = content_option(table);
    if (content && n < LUD_GRID_PARAMETERS) parameters[n++] = content_parameter(content, object);
    return n;
}

/* An agent of another colour becomes what agents of that colour are, in what it was as those of its own. */
static void recolour(const lud_grid_edit *edit, lud_grid_agent *agent, lud_colour colour) {
    const lud_grid_options *o = lud_grid_edit_options(edit);
    const lud_colour was = agent->colour;
    if (agent->role == (lud_role)o->roles.of[was]) agent->role = (lud_role)o->roles.of[colour];
    if (agent->can_push_rocks == lud_grid_has_colour(&o->can_push_rocks, was))
        agent->can_push_rocks = lud_grid_has_colour(&o->can_push_rocks, colour);
    if (agent->can_enter_magic_walls == lud_grid_has_colour(&o->can_enter_magic_walls, was))
        agent->can_enter_magic_walls = lud_grid_has_colour(&o->can_enter_magic_walls, colour);
    agent->colour = colour;
}

static void change_agent(const lud_grid_edit *edit, lud_grid_agent *agent, int number, double value) {
    const lud_option *option = simple_option(&lud_grid_agent_option_table, number);
    lud_grid_agent_options values = agent_values(agent);
    if (!option) return;
    put_value(option, &values, value);
    if ((lud_colour)values.colour != agent->colour) {
        recolour(edit, agent, (lud_colour)values.colour);
        return;
    }
    agent->role = (lud_role)values.role;
    agent->direction = (lud_direction)values.facing;
    agent->can_push_rocks = values.can_push_rocks;
    agent->can_enter_magic_walls = values.can_enter_magic_walls;
}

static void change_object(lud_grid_object *object, int number, double value) {
    const lud_option_table *table = lud_grid_thing_table(object->type);
    const lud_option *option = simple_option(table, number);
    if (!option) {
        content_at((int)value, &object->content_type, &object->content_colour);
        return;
    }
    lud_grid_thing_options values = lud_grid_thing_values(object);
    put_value(option, &values, value);
    lud_grid_thing_apply(&values, object);
}

void lud_grid_thing_change(const lud_grid_edit *edit, lud_grid_thing *thing, int layer, int number,
                           double value) {
    if (thing->is_agent && layer == 0)
        change_agent(edit, &thing->agent, number, value);
    else
        change_object(layer ? &thing->under : &thing->object, number, value);
}

static lud_status change_thing(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                               const char *name, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    lud_grid_thing *thing = &wanted.things[pick.y * wanted.width + pick.x];
    lud_grid_thing_change(edit, thing, pick.layer, number, value);
    const lud_status status = lud_grid_edit_apply(edit, &wanted, name, error);
    lud_grid_edit_world_free(&wanted);
    return status;
}

/* ---- goals ---- */

static uint64_t humans_of(const lud_grid_edit *edit, int *n_agents) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    uint64_t humans = 0;
    *n_agents = 0;
    for (int c = 0; c < w->width * w->height; c++) {
        if (w->agent[c] < 0) continue;
        ++*n_agents;
        if (w->things[c].agent.role == LUD_ROLE_HUMAN) humans |= UINT64_C(1) << w->agent[c];
    }
    return humans;
}

static int goal_parameters(const lud_grid_edit *edit, int number, lud_grid_parameter *parameters) {
    const lud_grid_edit_goal *goal = &lud_grid_edit_get(edit)->goals[number];
    const lud_grid_goal_options values = {.weight = goal->weight};
    int n = table_parameters(&lud_grid_goal_option_table, "", &values, 0, parameters), n_agents;
    const uint64_t humans = humans_of(edit, &n_agents), has = goal->for_all ? humans : goal->agents;
    for (int i = 0; i < n_agents && n < LUD_GRID_PARAMETERS; i++) {
        lud_grid_parameter *p = &parameters[n++];
        *p = (lud_grid_parameter){.help = "whether this agent may have the goal",
                                  .value = (double)(has >> i & 1),
                                  .maximum = 1,
                                  .step = 1,
                                  .wraps = true};
        snprintf(p->name, sizeof p->name, "agent %d", i);
        snprintf(p->shown, sizeof p->shown, "%s", p->value != 0 ? "may have it" : "no");
    }
    return n;
}

static lud_status change_goal(lud_grid_edit *edit, int goal_number, int number, double value,
                              const char *name, lud_error *error) {
    lud_grid_edit_world wanted;
    if (!lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted)) return lud_no_memory(error, "a change");
    lud_grid_edit_goal *goal = &wanted.goals[goal_number];
    lud_grid_goal_options values = {.weight = goal->weight};
    const lud_option *option = simple_option(&lud_grid_goal_option_table, number);
    lud_status status = LUD_OK;
    if (option) {
        put_value(option, &values, value);
        goal->weight = values.weight;
    } else {
        lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
        const int n = goal_parameters(edit, goal_number, parameters);
        int n_agents;
        const uint64_t humans = humans_of(edit, &n_agents),
                       bit = UINT64_C(1) << (number - (n - n_agents)) % LUD_GRID_MAX_AGENTS;
        if (goal->for_all) goal->agents = humans;
        goal->for_all = false;
        goal->agents = value != 0 ? goal->agents | bit : goal->agents & ~bit;
        if (!goal->agents) status = lud_invalid(error, "somebody must have the goal; Delete removes it");
    }
    if (!status) status = lud_grid_edit_apply(edit, &wanted, name, error);
    lud_grid_edit_world_free(&wanted);
    return status;
}

/* ---- the world ---- */

/* The size of the map is no key of the file: the rows of the map say it. */
enum { WIDTH, HEIGHT, SIZES };

static lud_grid_parameter size_parameter(const char *name, const char *help, int value) {
    lud_grid_parameter p = {.help = help,
                            .value = value,
                            .minimum = LUD_GRID_MIN_SIDE,
                            .maximum = LUD_GRID_MAX_SIDE,
                            .step = 1,
                            .number = true,
                            .whole = true};
    snprintf(p.name, sizeof p.name, "%s", name);
    snprintf(p.shown, sizeof p.shown, "%d", value);
    return p;
}

static int world_parameters(const lud_grid_edit *edit, lud_grid_parameter *parameters) {
    const lud_grid_options *options = lud_grid_edit_options(edit);
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    parameters[WIDTH] = size_parameter("width", "columns of the map; changes at its right", w->map_width);
    parameters[HEIGHT] = size_parameter("height", "rows of the map; changes below", w->map_height);
    int n = table_parameters(&lud_grid_option_table, "", options, SIZES, parameters);
    for (int k = 0; k < lud_grid_option_table.n; k++) {
        const lud_option *option = &lud_grid_option_table.options[k];
        if (option->type == LUD_OPTION_SECTION)
            n = table_parameters(option->section, option->key, (const char *)options + option->offset, n,
                                 parameters);
    }
    return n;
}

static lud_status change_world(lud_grid_edit *edit, const lud_grid_parameter *p, int number, double value,
                               lud_error *error) {
    if (number < SIZES)
        return lud_grid_edit_resize(edit, number == WIDTH ? LUD_EAST : LUD_SOUTH, (int)(value - p->value),
                                    NULL, error);
    char section[64] = "", text[64];
    const char *dot = strchr(p->name, '.'), *key = dot ? dot + 1 : p->name;
    if (dot) snprintf(section, sizeof section, "%.*s", (int)(dot - p->name), p->name);
    const lud_option_table *table = &lud_grid_option_table;
    for (int k = 0; dot && k < lud_grid_option_table.n; k++)
        if (!strcmp(lud_grid_option_table.options[k].key, section))
            table = lud_grid_option_table.options[k].section;
    for (int k = 0; k < table->n; k++) {
        if (strcmp(table->options[k].key, key) != 0) continue;
        show_value(&table->options[k], value, text, sizeof text);
        return lud_grid_edit_set(edit, p->name, text, error);
    }
    return lud_invalid(error, "there is no parameter %s", p->name);
}

/* ---- all ---- */

int lud_grid_edit_parameters(const lud_grid_edit *edit, lud_grid_pick pick, lud_grid_parameter *parameters) {
    if (!lud_grid_pick_is(edit, pick)) return 0;
    if (pick.kind == LUD_PICK_WORLD) return world_parameters(edit, parameters);
    return pick.kind == LUD_PICK_GOAL
               ? goal_parameters(edit, pick.goal, parameters)
               : lud_grid_thing_parameters(picked_thing(edit, pick), pick.layer, parameters);
}

double lud_grid_parameter_fit(const lud_grid_parameter *p, double value) {
    if (p->wraps && value > p->maximum) value = p->minimum;
    if (p->wraps && value < p->minimum) value = p->maximum;
    value = fmin(fmax(value, p->minimum), p->maximum);
    return round(value * 1e9) / 1e9; /* sums of twentieths are twentieths */
}

void lud_grid_parameter_expects(const lud_grid_parameter *p, char *text, size_t size) {
    char minimum[LUD_NUMBER_BYTES], maximum[LUD_NUMBER_BYTES];
    lud_number_write(p->minimum, minimum);
    lud_number_write(p->maximum, maximum);
    snprintf(text, size, "a %snumber from %s to %s", p->whole ? "whole " : "", minimum, maximum);
}

lud_status lud_grid_parameter_read(const lud_grid_parameter *p, const char *typed, double *value,
                                   lud_error *error) {
    const char *end;
    char expected[3 * LUD_NUMBER_BYTES];
    while (*typed == ' ') typed++;
    bool good = p->number && lud_number_real(typed, &end, value);
    if (good)
        while (*end == ' ') end++;
    good = good && !*end && *value >= p->minimum && *value <= p->maximum &&
           (!p->whole || *value == trunc(*value));
    if (good) return LUD_OK;
    lud_grid_parameter_expects(p, expected, sizeof expected);
    return lud_invalid(error, "%s: expected %s, found %.40s", p->name, expected, *typed ? typed : "nothing");
}

static lud_status give(lud_grid_edit *edit, lud_grid_pick pick, int number, double value, bool fitted,
                       lud_error *error) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_grid_edit_parameters(edit, pick, parameters);
    if (number < 0 || number >= n) return lud_invalid(error, "there is no such parameter");
    const lud_grid_parameter *p = &parameters[number];
    if (fitted) value = lud_grid_parameter_fit(p, value);
    if (!(value >= p->minimum && value <= p->maximum))
        return lud_invalid(error, "%s is out of range", p->name);
    if (pick.kind == LUD_PICK_WORLD) return change_world(edit, p, number, value, error);
    if (pick.kind == LUD_PICK_GOAL) return change_goal(edit, pick.goal, number, value, p->name, error);
    return change_thing(edit, pick, number, value, p->name, error);
}

lud_status lud_grid_edit_change_parameter(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                                          lud_error *error) {
    return give(edit, pick, number, value, true, error);
}

lud_status lud_grid_edit_type_parameter(lud_grid_edit *edit, lud_grid_pick pick, int number, double value,
                                        lud_error *error) {
    return give(edit, pick, number, value, false, error);
}
