#include "sim/tribes/tribes_options.h"

#include "base/options/option_rows.h"

#define MOST_WEIGHT 1e6

const char *const lud_resource_names[] = {"grain", "wood", "ore", NULL};
const char *const lud_tribes_action_names[] = {"wait",    "east",  "south", "west",   "north", "gather",
                                               "deposit", "trade", "steal", "defend", NULL};
const char *const lud_tribes_component_names[] = {"gathered", "delivered", "traded", "stolen", "lost",
                                                  "defended", "caught",    "shared", NULL};
const char *const lud_tribes_team_names[] = {"red", "blue", "green", "yellow", "purple", "brown"};
static const char *const role_names[] = {"other", "human", "robot", NULL}; /* index: lud_role */

#define OPTIONS struct lud_tribes_regrow
static const lud_option regrow_rows[] = {
    REAL_AT("grain", of[LUD_GRAIN], "0.06", 0, 1, "that a field of grain gains a unit"),
    REAL_AT("wood", of[LUD_WOOD], "0.04", 0, 1, "that a field of wood gains a unit"),
    REAL_AT("ore", of[LUD_ORE], "0.03", 0, 1, "that a field of ore gains a unit"),
};
static const lud_option_table regrow_table =
    OPTION_TABLE("regrow", "probabilities of a step, for fields that are not full", regrow_rows);

#undef OPTIONS
#define OPTIONS struct lud_tribes_steal
static const lud_option steal_rows[] = {
    REAL(open, "0.6", 0, 1, "that a theft succeeds where nobody stands guard"),
    REAL(guarded, "0.1", 0, 1, "that it succeeds where somebody does"),
};
static const lud_option_table steal_table =
    OPTION_TABLE("steal", "probabilities that thefts succeed", steal_rows);

#undef OPTIONS
#define OPTIONS struct lud_tribes_weights
#define WEIGHT(key, component, preset, text)                                                                 \
    REAL_AT(key, of[component], preset, -MOST_WEIGHT, MOST_WEIGHT, text)
static const lud_option reward_rows[] = {
    WEIGHT("gathered", LUD_TRIBES_GATHERED, "0.1", "of the value of what is gathered"),
    WEIGHT("delivered", LUD_TRIBES_DELIVERED, "1", "of the value of what is brought home"),
    WEIGHT("traded", LUD_TRIBES_TRADED, "0.2", "of the value won by a swap"),
    WEIGHT("stolen", LUD_TRIBES_STOLEN, "0.5", "of the value of what is stolen"),
    WEIGHT("lost", LUD_TRIBES_LOST, "0.5", "of the value lost to thieves, which counts against"),
    WEIGHT("defended", LUD_TRIBES_DEFENDED, "0.5", "of the value that guards keep from thieves"),
    WEIGHT("caught", LUD_TRIBES_CAUGHT, "1", "of a theft that guards foil, which counts against the thief"),
    WEIGHT("shared", LUD_TRIBES_SHARED, "0", "of the mean over the team of the sum of the others"),
};
static const lud_option_table reward_table =
    OPTION_TABLE("rewards", "weights of the components of a reward", reward_rows);

#undef OPTIONS
#define OPTIONS lud_tribes_options
static const lud_option section_rows[] = {
    TREE(map, "rows of characters: . ground, ~ water, g w o fields of grain, wood and ore, A to F "
              "storehouses and 1 to 6 agents of the first to the sixth team"),
    TREE(generate, "random maps in place of a map; a section of its own"),
    TREE(teams, "list of 1 to 6 teams; a section of its own"),
    INT_AT("max_steps", spec.max_steps, "200", 1, 65535, "length of an episode", "steps"),
    INT_AT("carry", spec.carry, "4", 1, 15, "units that an agent can carry"),
    INT_AT("stock", spec.stock, "5", 1, 15, "units of a full field"),
    SECTION_AT("regrow", spec.regrow, regrow_table, "probabilities that fields gain a unit"),
    SECTION_AT("steal", spec.steal, steal_table, "probabilities that thefts succeed"),
    INT_AT("health", spec.health, "0", 0, 15,
           "blows and hungers that an agent survives between two rests at home; 0: nobody dies"),
    INT_AT("hunger", spec.hunger, "0", 0, 65535, "so often everybody loses one health; 0: never", "steps"),
    INT_AT("sight", spec.sight, "3", 1, 7, "how far agents see others in each direction", "cells"),
    BOOL_AT("random_start", spec.random_start, "false",
            "each episode starts with the agents on random free cells"),
    SECTION_AT("rewards", spec.rewards, reward_table, "weights of the components of a reward"),
};
const lud_option_table lud_tribes_option_table =
    OPTION_TABLE("tribes", "teams that gather, trade, steal and defend", section_rows);

#undef OPTIONS
#define OPTIONS lud_tribes_team_options
static const lud_option team_rows[] = {
    TEXT(name, NULL, "what it is called; without: its colour, red, blue, green, yellow, purple or brown"),
    CHOICE(role, "other", role_names, "what its agents are in the section `policies`"),
    INT(agents, "0", 0, LUD_TRIBES_MAX_AGENTS, "how many agents it has; 0: as many as the map shows"),
    INT(robots, "0", 0, LUD_TRIBES_MAX_AGENTS,
        "of them robots, whatever the role of the others; the last ones"),
    INTS(values, "[1, 2, 3]", 0, LUD_TRIBES_MAX_VALUE, "what a unit of grain, wood and ore is worth to it"),
    REALS(skills, "[1, 1, 1]", 0, 1, "probability that gathering a unit of grain, wood and ore succeeds"),
};
const lud_option_table lud_tribes_team_option_table = OPTION_TABLE("teams", "one team", team_rows);

#undef OPTIONS
#define OPTIONS lud_tribes_generate_options
static const lud_option generate_rows[] = {
    INTS(size, "[24, 16]", 5, LUD_TRIBES_MAX_SIDE, "width and height", "cells"),
    INT_AT("houses", generate.houses, "1", 1, 16, "storehouses of each team"),
    REAL_AT("water", generate.water, "0.06", 0, 0.4, "part of the cells that are water"),
    INT_AT("grain", generate.fields[LUD_GRAIN], "15", 0, 4096, "fields of grain"),
    INT_AT("wood", generate.fields[LUD_WOOD], "15", 0, 4096, "fields of wood"),
    INT_AT("ore", generate.fields[LUD_ORE], "15", 0, 4096, "fields of ore"),
    INT_AT("patch", generate.patch, "5", 1, 64, "fields of a kind that lie together"),
    INT_AT("maps", generate.maps, "1", 1, LUD_TRIBES_MAX_MAPS,
           "maps to make; each episode draws one of them"),
    INT_AT("seed", generate.seed, "-1", -1, 1e19, "seed of the maps; -1: that of the run"),
};
const lud_option_table lud_tribes_generate_option_table =
    OPTION_TABLE("generate", "random maps", generate_rows);

#undef OPTIONS
#define OPTIONS lud_tribes_goal_options
static const lud_option goal_rows[] = {
    INT(stored, "0", 0, 1000000, "that so many units lie in the storehouse of the person's team"),
    TREE(cell, "[x, y]: to be in this cell"),
    TREE(rectangle, "[x1, y1, x2, y2]: to be anywhere in it, corners included"),
    REAL(weight, "1", 0, 1e9, "how much it counts against the others; they are scaled to the sum 1"),
};
const lud_option_table lud_tribes_goal_option_table =
    OPTION_TABLE("goals", "something a person may want", goal_rows);

const lud_option_table *const lud_tribes_option_tables[] = {
    &lud_tribes_option_table, &lud_tribes_team_option_table, &lud_tribes_generate_option_table,
    &lud_tribes_goal_option_table, NULL};
