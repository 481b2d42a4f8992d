/* The policies that come with Ludus; agents/policy.c lists them. */
#pragma once

#include "agents/policy.h"

/* The kind that a policy's mapping or bare name says; *type is the node of that word. */
lud_status lud_policy_kind_of(lud_tree *description, lud_tree **type, const lud_policy_kind **kind,
                              lud_error *error);
/* Reads the options of a kind into `values`, which keep nothing but numbers and parts of the tree. */
lud_status lud_policy_options_read(const lud_option_table *table, lud_tree *options, void *values,
                                   lud_error *error);

extern const lud_policy_kind lud_policy_random;     /* every action with equal probability */
extern const lud_policy_kind lud_policy_weighted;   /* a fixed probability for each action */
extern const lud_policy_kind lud_policy_script;     /* a list of actions */
extern const lud_policy_kind lud_policy_keyboard;   /* agents/keyboard.h */
extern const lud_policy_kind lud_policy_heuristic;  /* agents/heuristic.h */
extern const lud_policy_kind lud_policy_controller; /* a force towards a target, particle world */
extern const lud_policy_kind lud_policy_villager;   /* gathers, trades, raids or guards, tribes world */
extern const lud_policy_kind lud_policy_run;        /* of a RUN; opened by layers above (agents/cast.h) */

/* The RUN that a policy {type: run, run: NAME} names, text of the tree. */
lud_status lud_policy_run_read(lud_tree *description, const char **run, lud_error *error);
