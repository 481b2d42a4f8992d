/* The option tables of tribes files. */
#pragma once

#include "base/options/options.h"
#include "sim/tribes/tribes.h"

/* Section `tribes`: what the spec takes as it stands, and what is read further. */
typedef struct lud_tribes_options {
    lud_tribes_spec spec;
    lud_tree *map, *generate, *teams;
} lud_tribes_options;
extern const lud_option_table lud_tribes_option_table;

/* An entry of `teams`. */
typedef struct lud_tribes_team_options {
    const char *name;
    int role;
    int64_t agents, robots;
    lud_int_list values;
    lud_real_list skills;
} lud_tribes_team_options;
extern const lud_option_table lud_tribes_team_option_table;

/* Section `generate`. */
typedef struct lud_tribes_generate_options {
    lud_tribes_generate generate;
    lud_int_list size;
} lud_tribes_generate_options;
extern const lud_option_table lud_tribes_generate_option_table;

/* An entry of the top-level list `goals`. */
typedef struct lud_tribes_goal_options {
    int64_t stored;
    lud_tree *cell, *rectangle;
    double weight;
} lud_tribes_goal_options;
extern const lud_option_table lud_tribes_goal_option_table;

/* All of them for the help; null-terminated. */
extern const lud_option_table *const lud_tribes_option_tables[];

/* What teams are called where the file does not say: the names of their colours. */
extern const char *const lud_tribes_team_names[LUD_TRIBES_MAX_TEAMS];
