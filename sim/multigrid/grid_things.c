#include "base/options/option_rows.h"
#include "sim/multigrid/file/grid_options.h"

static const char *const target_names[] = {"kill_button", "pause_switch", "control_button", NULL};

#define OPTIONS                lud_grid_thing_options
#define COLOUR(value)          CHOICE(colour, value, lud_colour_names, "its colour")
#define THING(name, text, ...) TABLE(name##_table, #name, text, __VA_ARGS__)

THING(wall, "blocks always", COLOUR("grey"));
THING(floor, "walked over", COLOUR("blue"));
THING(door, "opened by toggling, locked ones with a key of their colour", COLOUR("red"),
      CHOICE(state, "closed", lud_door_state_names, "at the start"));
THING(key, "opens doors of its colour", COLOUR("red"));
THING(ball, "can be picked up", COLOUR("red"));
THING(box, "can be picked up, or opened by toggling", COLOUR("red"),
      TREE(contains, "key, ball or box inside, such as {key: {colour: blue}}"));
THING(goal, "walked over, may bring a reward", COLOUR("green"));
static const lud_option_table lava_table = NO_OPTIONS("lava", "terminates an agent that moves onto it");
THING(object_goal, "blocks", COLOUR("red"));
static const lud_option_table switch_table = NO_OPTIONS("switch", "walked over, does nothing");
static const lud_option_table block_table = NO_OPTIONS("block", "pushed by every agent");
static const lud_option_table rock_table = NO_OPTIONS("rock", "pushed by agents that can push rocks");
THING(unsteady_ground, "agents may stumble on it",
      REAL(stumble, "0.5", 0, 1, "probability to stumble; default: that of `chances`"));
THING(magic_wall, "entered with luck by agents that can",
      CHOICE(side, "all", lud_direction_names, "from where it can be entered"),
      REAL(entry, "0.5", 0, 1, "probability to get in; default: that of `chances`"),
      REAL(solidify, "0.1", 0, 1,
           "probability to turn solid when an attempt fails; default: that of `chances`"),
      BOOL(active, "true", "false: solid from the start"));
THING(kill_button, "terminates agents of a colour",
      CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can press it"),
      CHOICE(target, "grey", lud_colour_names, "colour of the agents that it terminates"),
      BOOL(enabled, "true", "at the start"));
THING(pause_switch, "pauses agents of a colour",
      CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can toggle it"),
      CHOICE(target, "grey", lud_colour_names, "colour of the agents that it pauses"),
      BOOL(on, "false", "at the start"), BOOL(enabled, "true", "at the start"));
THING(disabling_switch, "disables and enables buttons of a type",
      CHOICE(trigger, "grey", lud_colour_names, "colour of the agents that can toggle it"),
      CHOICE(disables, "kill_button", target_names, "which buttons it disables"));
THING(control_button, "makes an agent do what it was taught",
      CHOICE(trigger, "yellow", lud_colour_names, "colour of the agents that can command"),
      CHOICE(target, "grey", lud_colour_names, "colour of the agents that are commanded"),
      BOOL(enabled, "true", "at the start"));
THING(bush, "entered with luck, trampled by some",
      REAL(enter, "1.0", 0, 1,
           "probability that an agent that cannot trample gets in; default: that of `chances`"));

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
