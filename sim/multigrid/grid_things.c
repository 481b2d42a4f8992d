#include "base/option_rows.h"
#include "sim/multigrid/grid_options.h"

static const char *const target_names[] = {"kill_button", "pause_switch", "control_button", NULL};

#define OPTIONS lud_grid_thing_options
static const lud_option wall_table_list[] = {
    CHOICE(colour, "grey", lud_colour_names, "its colour"),
};
static const lud_option_table wall_table = OPTION_TABLE("wall", "blocks always", wall_table_list);

static const lud_option floor_table_list[] = {
    CHOICE(colour, "blue", lud_colour_names, "its colour"),
};
static const lud_option_table floor_table = OPTION_TABLE("floor", "walked over", floor_table_list);

static const lud_option door_table_list[] = {
    CHOICE(colour, "red", lud_colour_names, "its colour"),
    CHOICE(state, "closed", lud_door_state_names, "at the start"),
};
static const lud_option_table door_table =
    OPTION_TABLE("door", "opened by toggling, locked ones with a key of their colour", door_table_list);

static const lud_option key_table_list[] = {
    CHOICE(colour, "red", lud_colour_names, "its colour"),
};
static const lud_option_table key_table = OPTION_TABLE("key", "opens doors of its colour", key_table_list);

static const lud_option ball_table_list[] = {
    CHOICE(colour, "red", lud_colour_names, "its colour"),
};
static const lud_option_table ball_table = OPTION_TABLE("ball", "can be picked up", ball_table_list);

static const lud_option box_table_list[] = {
    CHOICE(colour, "red", lud_colour_names, "its colour"),
    TREE(contains, "key, ball or box inside, such as {key: {colour: blue}}"),
};
static const lud_option_table box_table =
    OPTION_TABLE("box", "can be picked up, or opened by toggling", box_table_list);

static const lud_option goal_table_list[] = {
    CHOICE(colour, "green", lud_colour_names, "its colour"),
};
static const lud_option_table goal_table =
    OPTION_TABLE("goal", "walked over, may bring a reward", goal_table_list);

static const lud_option_table lava_table = NO_OPTIONS("lava", "terminates an agent that moves onto it");

static const lud_option object_goal_table_list[] = {
    CHOICE(colour, "red", lud_colour_names, "its colour"),
};
static const lud_option_table object_goal_table =
    OPTION_TABLE("object_goal", "blocks", object_goal_table_list);

static const lud_option_table switch_table = NO_OPTIONS("switch", "walked over, does nothing");

static const lud_option_table block_table = NO_OPTIONS("block", "pushed by every agent");

static const lud_option_table rock_table = NO_OPTIONS("rock", "pushed by agents that can push rocks");

static const lud_option unsteady_ground_table_list[] = {
    REAL(stumble, "0.5", 0, 1, "probability to stumble; default: that of `chances`"),
};
static const lud_option_table unsteady_ground_table =
    OPTION_TABLE("unsteady_ground", "agents may stumble on it", unsteady_ground_table_list);

static const lud_option magic_wall_table_list[] = {
    CHOICE(side, "all", lud_direction_names, "from where it can be entered"),
    REAL(entry, "0.5", 0, 1, "probability to get in; default: that of `chances`"),
    REAL(solidify, "0.1", 0, 1,
         "probability to turn solid when an attempt fails; default: that of `chances`"),
    BOOL(active, "true", "false: solid from the start"),
};
static const lud_option_table magic_wall_table =
    OPTION_TABLE("magic_wall", "entered with luck by agents that can", magic_wall_table_list);

static const lud_option kill_button_table_list[] = {
    CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can press it"),
    CHOICE(target, "grey", lud_colour_names, "colour of the agents that it terminates"),
    BOOL(enabled, "true", "at the start"),
};
static const lud_option_table kill_button_table =
    OPTION_TABLE("kill_button", "terminates agents of a colour", kill_button_table_list);

static const lud_option pause_switch_table_list[] = {
    CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can toggle it"),
    CHOICE(target, "grey", lud_colour_names, "colour of the agents that it pauses"),
    BOOL(on, "false", "at the start"),
    BOOL(enabled, "true", "at the start"),
};
static const lud_option_table pause_switch_table =
    OPTION_TABLE("pause_switch", "pauses agents of a colour", pause_switch_table_list);

static const lud_option disabling_switch_table_list[] = {
    CHOICE(trigger, "grey", lud_colour_names, "colour of the agents that can toggle it"),
    CHOICE(disables, "kill_button", target_names, "which buttons it disables"),
};
static const lud_option_table disabling_switch_table =
    OPTION_TABLE("disabling_switch", "disables and enables buttons of a type", disabling_switch_table_list);

static const lud_option control_button_table_list[] = {
    CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can command"),
    CHOICE(target, "grey", lud_colour_names, "colour of the agents that are commanded"),
    BOOL(enabled, "true", "at the start"),
};
static const lud_option_table control_button_table =
    OPTION_TABLE("control_button", "makes an agent do what it was taught", control_button_table_list);

static const lud_option bush_table_list[] = {
    REAL(enter, "1.0", 0, 1,
         "probability that an agent that cannot trample gets in; default: that of `chances`"),
};
static const lud_option_table bush_table =
    OPTION_TABLE("bush", "entered with luck, trampled by some", bush_table_list);

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
