#include "sim/multigrid/file/grid_options.h"

#include <math.h>

#include "base/options/option_rows.h"

const char *const lud_grid_role_names[4] = {"other", "human", "robot", NULL};
static const char *const view_names[] = {"full", "partial", NULL};
static const char *const coding_names[] = {"compact", "cells", NULL};
static const char *const style_names[] = {"rooms", "maze", "open", NULL};
static const char *const gate_names[] = {"gap", "open", "closed", NULL};
static const char *const facing_names[] = {"east", "south", "west", "north", NULL};

#define OPTIONS lud_grid_chances
TABLE(chances_table, "chances", "probabilities of uncertain moves, for all things without their own",
      REAL(stumble, "0.5", 0, 1, "that an agent on unsteady ground stumbles when it moves forward"),
      REAL(solidify, "0.1", 0, 1, "that a magic wall turns solid when an attempt to enter fails"),
      REAL(enter_bush, "1.0", 0, 1, "that an agent that cannot trample gets into a bush"),
      REAL(enter_magic_wall, "0.5", 0, 1, "that an agent that can enter magic walls gets in"));

#undef OPTIONS
#define OPTIONS struct lud_grid_roles
#define ROLE(name, colour, role)                                                                             \
    CHOICE_AT(name, of[colour], role, lud_grid_role_names, "role of " name " agents")
TABLE(roles_table, "roles", "what agents of a colour are", ROLE("red", LUD_RED, "other"),
      ROLE("green", LUD_GREEN, "other"), ROLE("blue", LUD_BLUE, "other"), ROLE("purple", LUD_PURPLE, "other"),
      ROLE("yellow", LUD_YELLOW, "human"), ROLE("grey", LUD_GREY, "robot"),
      ROLE("brown", LUD_BROWN, "other"));

#undef OPTIONS
#define OPTIONS lud_grid_observation
TABLE(observation_table, "observation", "what agents see",
      CHOICE(view, "full", view_names, "the whole grid, or the square in front of the agent"),
      CHOICE(coding, "compact", coding_names, "one word a cell, or six numbers a cell"),
      INT(size, "7", 3, 31, "side of the square that is seen in a partial view; odd", "cells"),
      BOOL(see_through_walls, "false", "whether walls and closed doors hide what is behind them or not"));

#undef OPTIONS
#define OPTIONS struct lud_grid_collect
TABLE(collect_table, "collect", "rewards for picking up", REAL(key, "0", -1e6, 1e6, "for picking up a key"),
      REAL(ball, "0", -1e6, 1e6, "for picking up a ball"), REAL(box, "0", -1e6, 1e6, "for picking up a box"));

#undef OPTIONS
#define OPTIONS lud_grid_rewards
TABLE(rewards_table, "rewards", "what agents are rewarded for",
      REAL(goal, "0", -1e6, 1e6, "for moving onto a goal object"),
      BOOL(own_goal_only, "false", "only goal objects of the agent's own colour count"),
      REAL(step, "0", -1e6, 1e6, "for every step of an agent that is not terminated"),
      REAL(lava, "0", -1e6, 1e6, "for moving onto lava"),
      SECTION(collect, collect_table, "for picking things up, each time: also what was put down"),
      REAL(open_door, "0", -1e6, 1e6, "for unlocking a door"),
      BOOL(shared, "false", "every agent gets the sum of all agents' rewards"),
      BOOL(goal_ends, "false", "the episode ends when an agent moves onto a goal object that counts"));

#undef OPTIONS
#define OPTIONS lud_grid_options
static const lud_option lud_grid_option_table_list[] = {
    TREE(map, "rows of two-character codes, blanks and # comments between them ignored; or a list of rows"),
    TREE(ensemble,
         "list of maps in place of a map, each with `agents` of its own if need be: every episode draws one"),
    TREE(legend, "codes of one's own: things with parameters, such as M1: {magic_wall: {side: north}}"),
    TREE(generate, "random maps in place of a map; a section of its own"),
    TREE(agents,
         "list in the reading order of the map: role, facing, colour, can_push_rocks, can_enter_magic_walls"),
    INT_AT("max_steps", spec.max_steps, "100", 1, 65535, "length of an episode", "steps"),
    CHOICE_AT("actions", spec.actions, "automatic", lud_grid_action_set_names,
              "what agents can do; automatic: object when there is something to pick up, open or press, else "
              "small"),
    BOOL_AT("random_start", spec.random_start, "false",
            "each episode starts with the agents on random free cells"),
    BOOL_AT("goals_must_cover", spec.goals_must_cover, "false",
            "every walkable cell must lie in one of the goals"),
    SECTION(chances, chances_table, "probabilities of uncertain moves"),
    SECTION(roles, roles_table, "role of the agents of each colour"),
    TEXTS(can_push_rocks, "[grey]", "colours of the agents that can push rocks"),
    TEXTS(can_enter_magic_walls, "[]", "colours of the agents that can enter magic walls"),
    SECTION_AT("observation", spec.observation, observation_table, "what agents see"),
    SECTION_AT("rewards", spec.rewards, rewards_table, "what agents are rewarded for"),
};
const lud_option_table lud_grid_option_table =
    OPTION_TABLE("multigrid", "a grid world", lud_grid_option_table_list);

#undef OPTIONS
#define OPTIONS lud_grid_agent_options
static const lud_option lud_grid_agent_option_table_list[] = {
    CHOICE(role, "other", lud_grid_role_names, "what it is; default: the role of its colour"),
    CHOICE(facing, "east", facing_names, "where it looks at the start"),
    CHOICE(colour, "red", lud_colour_names, "its colour; default: that of the map"),
    BOOL(can_push_rocks, "false", "default: what its colour can"),
    BOOL(can_enter_magic_walls, "false", "default: what its colour can"),
};
const lud_option_table lud_grid_agent_option_table =
    OPTION_TABLE("agents", "one agent", lud_grid_agent_option_table_list);

#undef OPTIONS
#define OPTIONS lud_grid_goal_options
static const lud_option lud_grid_goal_option_table_list[] = {
    TREE(cell, "[x, y]: to be in this cell"),
    TREE(rectangle, "[x1, y1, x2, y2]: to be anywhere in it, corners included"),
    REAL(weight, "1", 0, 1e9, "how much it counts against the others; they are scaled to the sum 1"),
    TREE(agents, "numbers of the agents that may have it; default: every human"),
};
const lud_option_table lud_grid_goal_option_table =
    OPTION_TABLE("goals", "something a person may want", lud_grid_goal_option_table_list);

#undef OPTIONS
#define OPTIONS           struct lud_grid_object_counts
#define COUNT(name, type) INT_AT(name, of[type], "0", 0, 10000, "number of these")
TABLE(objects_table, "objects", "how many things of each type", COUNT("floor", LUD_FLOOR),
      COUNT("key", LUD_KEY), COUNT("ball", LUD_BALL), COUNT("box", LUD_BOX), COUNT("goal", LUD_GOAL),
      COUNT("lava", LUD_LAVA), COUNT("switch", LUD_SWITCH), COUNT("block", LUD_BLOCK),
      COUNT("rock", LUD_ROCK), COUNT("unsteady_ground", LUD_UNSTEADY_GROUND),
      COUNT("magic_wall", LUD_MAGIC_WALL), COUNT("kill_button", LUD_KILL_BUTTON),
      COUNT("pause_switch", LUD_PAUSE_SWITCH), COUNT("disabling_switch", LUD_DISABLING_SWITCH),
      COUNT("control_button", LUD_CONTROL_BUTTON), COUNT("bush", LUD_BUSH));

#undef OPTIONS
#define OPTIONS lud_grid_generate_options
static const lud_option lud_grid_generate_option_table_list[] = {
    CHOICE_AT("style", generate.style, "rooms", style_names,
              "rooms joined by doors, a maze, or an open field with walls here and there"),
    INTS(size, "[9, 9]", 3, 255, "width and height, the outer wall included; odd for a maze", "cells"),
    INTS(rooms, "[2, 2]", 1, 64, "rooms: how many across and down"),
    CHOICE_AT("doors", generate.doors, "closed", gate_names, "rooms: what joins two rooms"),
    REAL_AT("extra_doors", generate.extra_doors, "0.25", 0, 1,
            "rooms: probability of a door more than needed between neighbours"),
    INT_AT("locked_doors", generate.locked_doors, "0", 0, 1000,
           "doors that are locked; keys of their colours are added"),
    REAL_AT("braid", generate.braid, "0", 0, 1, "maze: part of the dead ends that are opened"),
    REAL_AT("walls", generate.walls, "0.15", 0, 0.9, "open: part of the cells that are walls"),
    SECTION_AT("objects", generate.objects, objects_table, "how many things of each type"),
    TEXTS(colours, "[red, green, blue, purple, yellow, grey]",
          "colours of doors, keys, balls, boxes and goals"),
    INT_AT("humans", generate.humans, "1", 0, 64, "number of humans (yellow)"),
    INT_AT("robots", generate.robots, "1", 0, 64, "number of robots (grey)"),
    BOOL_AT("solvable", generate.solvable, "true",
            "every human can get to every room and goal object on its own"),
    INT_AT("maps", generate.maps, "1", 1, LUD_GRID_MAX_MAPS, "maps to make; each episode draws one of them"),
    INT_AT("attempts", generate.attempts, "1000", 1, 10000, "tries for one map before giving up"),
    INT_AT("seed", generate.seed, "-1", -1, 1e19, "seed of the maps; -1: that of the run"),
};
const lud_option_table lud_grid_generate_option_table =
    OPTION_TABLE("generate", "random maps", lud_grid_generate_option_table_list);

#undef OPTIONS
#define OPTIONS lud_grid_variant_options
static const lud_option lud_grid_variant_option_table_list[] = {
    TREE(map, "as in the section; smaller maps get walls at the right and below"),
    TREE(agents,
         "as in the section, whose list it replaces; colours, roles and capabilities agree between maps"),
};
const lud_option_table lud_grid_variant_option_table =
    OPTION_TABLE("ensemble", "one of several maps", lud_grid_variant_option_table_list);
