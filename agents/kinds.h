/* The policies that come with Ludus; agents/policy.c lists them. */
#ifndef LUDUS_AGENTS_KINDS_H
#define LUDUS_AGENTS_KINDS_H

#include "agents/policy.h"

extern const lud_policy_kind lud_policy_random;     /* every action with equal probability */
extern const lud_policy_kind lud_policy_weighted;   /* a fixed probability for each action */
extern const lud_policy_kind lud_policy_script;     /* a list of actions */
extern const lud_policy_kind lud_policy_keyboard;   /* agents/keyboard.h */
extern const lud_policy_kind lud_policy_heuristic;  /* agents/heuristic.h */
extern const lud_policy_kind lud_policy_controller; /* a force towards a target, particle world */
extern const lud_policy_kind lud_policy_villager;   /* gathers, trades, raids or guards, tribes world */

#endif
