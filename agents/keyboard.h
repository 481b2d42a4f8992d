/* A policy whose actions are set from outside: by a person at the keyboard, or by a program. */
#pragma once

#include "agents/policy.h"

/* The caller owns it until it is given to a cast. */
lud_status lud_keyboard_create(const lud_model *model, lud_policy **policy, lud_error *error);
/* What the agent does at the next steps, in every environment, until it is set again. At first it is the
 * action named `still`, or action 0 where there is none. */
void lud_keyboard_set(lud_policy *policy, int agent, int32_t action);
/* Back to the first action of every agent and no push; for use after each step when a key is one action. */
void lud_keyboard_release(lud_policy *policy);
