#include "sim/multigrid/file/grid_spec.h"

const char *const lud_grid_type_names[LUD_GRID_TYPES + 1] = {"unseen",
                                                             "empty",
                                                             "wall",
                                                             "floor",
                                                             "door",
                                                             "key",
                                                             "ball",
                                                             "box",
                                                             "goal",
                                                             "lava",
                                                             "agent",
                                                             "object_goal",
                                                             "switch",
                                                             "block",
                                                             "rock",
                                                             "unsteady_ground",
                                                             "magic_wall",
                                                             "kill_button",
                                                             "pause_switch",
                                                             "disabling_switch",
                                                             "control_button",
                                                             "bush",
                                                             NULL};
const char *const lud_colour_names[LUD_COLOURS + 1] = {"red",    "green", "blue",  "purple",
                                                       "yellow", "grey",  "brown", NULL};
const char *const lud_direction_names[6] = {"east", "south", "west", "north", "all", NULL};
const char *const lud_door_state_names[4] = {"open", "closed", "locked", NULL};
const char *const lud_grid_action_set_names[7] = {"automatic", "full", "object", "small",
                                                  "minimal",   "mine", NULL};

lud_grid_object lud_grid_object_default(lud_grid_type type) {
    lud_grid_object object = {.type = type, .content_type = LUD_EMPTY};
    switch (type) {
    case LUD_WALL:
        object.colour = LUD_GREY;
        break;
    case LUD_FLOOR:
        object.colour = LUD_BLUE;
        break;
    case LUD_DOOR:
        object.door = LUD_DOOR_CLOSED;
        break;
    case LUD_GOAL:
        object.colour = LUD_GREEN;
        break;
    case LUD_BLOCK:
        object.colour = LUD_BROWN;
        break;
    case LUD_ROCK:
        object.colour = LUD_GREY;
        break;
    case LUD_UNSTEADY_GROUND:
        object.colour = LUD_BROWN;
        object.stumble = 0.5;
        break;
    case LUD_MAGIC_WALL:
        object.colour = LUD_GREY;
        object.side = LUD_ALL_SIDES;
        object.entry = 0.5;
        object.solidify = 0.1;
        object.active = true;
        break;
    case LUD_BUSH:
        object.colour = LUD_GREEN;
        object.enter = 1.0;
        break;
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
    case LUD_CONTROL_BUTTON:
        object.colour = type == LUD_KILL_BUTTON ? LUD_RED : type == LUD_PAUSE_SWITCH ? LUD_BLUE : LUD_GREEN;
        object.trigger = LUD_YELLOW;
        object.target = LUD_GREY;
        object.enabled = true;
        break;
    case LUD_DISABLING_SWITCH:
        object.colour = LUD_PURPLE;
        object.trigger = LUD_GREY;
        object.target_type = LUD_KILL_BUTTON;
        break;
    default:
        break; /* colour 0, red: keys, balls, lava, switch */
    }
    return object;
}
