#include "sim/multigrid/grid_options.h"

static const char *const target_names[] = {"kill_button", "pause_switch", "control_button", NULL};

static const lud_option wall_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "grey",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table wall_table = {.name = "wall",
                                            .help = "blocks always",
                                            .options = wall_table_list,
                                            .n = (int)(sizeof wall_table_list / sizeof *wall_table_list),
                                            .bytes = sizeof(lud_grid_thing_options)};

static const lud_option floor_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "blue",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table floor_table = {.name = "floor",
                                             .help = "walked over",
                                             .options = floor_table_list,
                                             .n = (int)(sizeof floor_table_list / sizeof *floor_table_list),
                                             .bytes = sizeof(lud_grid_thing_options)};

static const lud_option door_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "red",
     .choices = lud_colour_names,
     .help = "its colour"},
    {.key = "state",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, state),
     .default_value = "closed",
     .choices = lud_door_state_names,
     .help = "at the start"},
};
static const lud_option_table door_table = {.name = "door",
                                            .help =
                                                "opened by toggling, locked ones with a key of their colour",
                                            .options = door_table_list,
                                            .n = (int)(sizeof door_table_list / sizeof *door_table_list),
                                            .bytes = sizeof(lud_grid_thing_options)};

static const lud_option key_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "red",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table key_table = {.name = "key",
                                           .help = "opens doors of its colour",
                                           .options = key_table_list,
                                           .n = (int)(sizeof key_table_list / sizeof *key_table_list),
                                           .bytes = sizeof(lud_grid_thing_options)};

static const lud_option ball_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "red",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table ball_table = {.name = "ball",
                                            .help = "can be picked up",
                                            .options = ball_table_list,
                                            .n = (int)(sizeof ball_table_list / sizeof *ball_table_list),
                                            .bytes = sizeof(lud_grid_thing_options)};

static const lud_option box_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "red",
     .choices = lud_colour_names,
     .help = "its colour"},
    {.key = "contains",
     .type = LUD_OPTION_TREE,
     .offset = offsetof(lud_grid_thing_options, contains),
     .help = "key, ball or box inside, such as {key: {colour: blue}}"},
};
static const lud_option_table box_table = {.name = "box",
                                           .help = "can be picked up, or opened by toggling",
                                           .options = box_table_list,
                                           .n = (int)(sizeof box_table_list / sizeof *box_table_list),
                                           .bytes = sizeof(lud_grid_thing_options)};

static const lud_option goal_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "green",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table goal_table = {.name = "goal",
                                            .help = "walked over, may bring a reward",
                                            .options = goal_table_list,
                                            .n = (int)(sizeof goal_table_list / sizeof *goal_table_list),
                                            .bytes = sizeof(lud_grid_thing_options)};

static const lud_option_table lava_table = {.name = "lava",
                                            .help = "terminates an agent that moves onto it",
                                            .bytes = sizeof(lud_grid_thing_options)};

static const lud_option object_goal_table_list[] = {
    {.key = "colour",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, colour),
     .default_value = "red",
     .choices = lud_colour_names,
     .help = "its colour"},
};
static const lud_option_table object_goal_table = {
    .name = "object_goal",
    .help = "blocks",
    .options = object_goal_table_list,
    .n = (int)(sizeof object_goal_table_list / sizeof *object_goal_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option_table switch_table = {
    .name = "switch", .help = "walked over, does nothing", .bytes = sizeof(lud_grid_thing_options)};

static const lud_option_table block_table = {
    .name = "block", .help = "pushed by every agent", .bytes = sizeof(lud_grid_thing_options)};

static const lud_option_table rock_table = {
    .name = "rock", .help = "pushed by agents that can push rocks", .bytes = sizeof(lud_grid_thing_options)};

static const lud_option unsteady_ground_table_list[] = {
    {.key = "stumble",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(lud_grid_thing_options, stumble),
     .default_value = "0.5",
     .minimum = 0,
     .maximum = 1,
     .help = "probability to stumble; default: that of `chances`"},
};
static const lud_option_table unsteady_ground_table = {
    .name = "unsteady_ground",
    .help = "agents may stumble on it",
    .options = unsteady_ground_table_list,
    .n = (int)(sizeof unsteady_ground_table_list / sizeof *unsteady_ground_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option magic_wall_table_list[] = {
    {.key = "side",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, side),
     .default_value = "all",
     .choices = lud_direction_names,
     .help = "from where it can be entered"},
    {.key = "entry",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(lud_grid_thing_options, entry),
     .default_value = "0.5",
     .minimum = 0,
     .maximum = 1,
     .help = "probability to get in; default: that of `chances`"},
    {.key = "solidify",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(lud_grid_thing_options, solidify),
     .default_value = "0.1",
     .minimum = 0,
     .maximum = 1,
     .help = "probability to turn solid when an attempt fails; default: that of `chances`"},
    {.key = "active",
     .type = LUD_OPTION_BOOL,
     .offset = offsetof(lud_grid_thing_options, active),
     .default_value = "true",
     .help = "false: solid from the start"},
};
static const lud_option_table magic_wall_table = {
    .name = "magic_wall",
    .help = "entered with luck by agents that can",
    .options = magic_wall_table_list,
    .n = (int)(sizeof magic_wall_table_list / sizeof *magic_wall_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option kill_button_table_list[] = {
    {.key = "trigger",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, trigger),
     .default_value = "yellow",
     .choices = lud_colour_names,
     .help = "colour of the agents that can press it"},
    {.key = "target",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, target),
     .default_value = "grey",
     .choices = lud_colour_names,
     .help = "colour of the agents that it terminates"},
    {.key = "enabled",
     .type = LUD_OPTION_BOOL,
     .offset = offsetof(lud_grid_thing_options, enabled),
     .default_value = "true",
     .help = "at the start"},
};
static const lud_option_table kill_button_table = {
    .name = "kill_button",
    .help = "terminates agents of a colour",
    .options = kill_button_table_list,
    .n = (int)(sizeof kill_button_table_list / sizeof *kill_button_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option pause_switch_table_list[] = {
    {.key = "trigger",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, trigger),
     .default_value = "yellow",
     .choices = lud_colour_names,
     .help = "colour of the agents that can toggle it"},
    {.key = "target",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, target),
     .default_value = "grey",
     .choices = lud_colour_names,
     .help = "colour of the agents that it pauses"},
    {.key = "on",
     .type = LUD_OPTION_BOOL,
     .offset = offsetof(lud_grid_thing_options, on),
     .default_value = "false",
     .help = "at the start"},
    {.key = "enabled",
     .type = LUD_OPTION_BOOL,
     .offset = offsetof(lud_grid_thing_options, enabled),
     .default_value = "true",
     .help = "at the start"},
};
static const lud_option_table pause_switch_table = {
    .name = "pause_switch",
    .help = "pauses agents of a colour",
    .options = pause_switch_table_list,
    .n = (int)(sizeof pause_switch_table_list / sizeof *pause_switch_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option disabling_switch_table_list[] = {
    {.key = "trigger",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, trigger),
     .default_value = "grey",
     .choices = lud_colour_names,
     .help = "colour of the agents that can toggle it"},
    {.key = "disables",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, disables),
     .default_value = "kill_button",
     .choices = target_names,
     .help = "which buttons it disables"},
};
static const lud_option_table disabling_switch_table = {
    .name = "disabling_switch",
    .help = "disables and enables buttons of a type",
    .options = disabling_switch_table_list,
    .n = (int)(sizeof disabling_switch_table_list / sizeof *disabling_switch_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option control_button_table_list[] = {
    {.key = "trigger",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, trigger),
     .default_value = "yellow",
     .choices = lud_colour_names,
     .help = "colour of the agents that can command"},
    {.key = "target",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(lud_grid_thing_options, target),
     .default_value = "grey",
     .choices = lud_colour_names,
     .help = "colour of the agents that are commanded"},
    {.key = "enabled",
     .type = LUD_OPTION_BOOL,
     .offset = offsetof(lud_grid_thing_options, enabled),
     .default_value = "true",
     .help = "at the start"},
};
static const lud_option_table control_button_table = {
    .name = "control_button",
    .help = "makes an agent do what it was taught",
    .options = control_button_table_list,
    .n = (int)(sizeof control_button_table_list / sizeof *control_button_table_list),
    .bytes = sizeof(lud_grid_thing_options)};

static const lud_option bush_table_list[] = {
    {.key = "enter",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(lud_grid_thing_options, enter),
     .default_value = "1.0",
     .minimum = 0,
     .maximum = 1,
     .help = "probability that an agent that cannot trample gets in; default: that of `chances`"},
};
static const lud_option_table bush_table = {.name = "bush",
                                            .help = "entered with luck, trampled by some",
                                            .options = bush_table_list,
                                            .n = (int)(sizeof bush_table_list / sizeof *bush_table_list),
                                            .bytes = sizeof(lud_grid_thing_options)};

const lud_option_table *lud_grid_thing_table(lud_grid_type type) {
    static const lud_option_table *const tables[LUD_GRID_TYPES] = {
        [LUD_WALL] = &wall_table,
        [LUD_FLOOR] = &floor_table,
        [LUD_DOOR] = &door_table,
        [LUD_KEY] = &key_table,
        [LUD_BALL] = &ball_table,
        [LUD_BOX] = &box_table,
        [LUD_GOAL] = &goal_table,
        [LUD_LAVA] = &lava_table,
        [LUD_OBJECT_GOAL] = &object_goal_table,
        [LUD_SWITCH] = &switch_table,
        [LUD_BLOCK] = &block_table,
        [LUD_ROCK] = &rock_table,
        [LUD_UNSTEADY_GROUND] = &unsteady_ground_table,
        [LUD_MAGIC_WALL] = &magic_wall_table,
        [LUD_KILL_BUTTON] = &kill_button_table,
        [LUD_PAUSE_SWITCH] = &pause_switch_table,
        [LUD_DISABLING_SWITCH] = &disabling_switch_table,
        [LUD_CONTROL_BUTTON] = &control_button_table,
        [LUD_BUSH] = &bush_table,
    };
    return tables[type];
}

const lud_option_table *const lud_grid_option_tables[] = {&lud_grid_option_table,
                                                          &lud_grid_variant_option_table,
                                                          &lud_grid_goal_option_table,
                                                          &lud_grid_agent_option_table,
                                                          &lud_grid_generate_option_table,
                                                          &wall_table,
                                                          &floor_table,
                                                          &door_table,
                                                          &key_table,
                                                          &ball_table,
                                                          &box_table,
                                                          &goal_table,
                                                          &lava_table,
                                                          &object_goal_table,
                                                          &switch_table,
                                                          &block_table,
                                                          &rock_table,
                                                          &unsteady_ground_table,
                                                          &magic_wall_table,
                                                          &kill_button_table,
                                                          &pause_switch_table,
                                                          &disabling_switch_table,
                                                          &control_button_table,
                                                          &bush_table,
                                                          NULL};
