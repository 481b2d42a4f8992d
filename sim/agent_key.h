/* Words that stand for agents of a model: a role (`human`, `robot`, `other`), a team, a kind of agents, or
 * the number of one agent. */
#pragma once

#include "sim/world.h"

/* What a word names. Narrower ones stand behind wider ones. */
typedef enum lud_agent_key_kind {
    LUD_AGENT_KEY_ROLE,
    LUD_AGENT_KEY_TEAM,
    LUD_AGENT_KEY_KIND,
    LUD_AGENT_KEY_AGENT,
    LUD_AGENT_KEYS
} lud_agent_key_kind;

typedef struct lud_agent_key {
    lud_agent_key_kind kind;
    int number; /* of the role, the team, the kind or the agent */
} lud_agent_key;

/* False: the word names no agents of this model. A role is known where nobody has it. */
bool lud_agent_key_find(const lud_layout *layout, const char *word, lud_agent_key *key);
/* Whether the agent is meant. */
bool lud_agent_key_names(const lud_layout *layout, lud_agent_key key, int agent);
/* LUD_ERROR_INPUT at the place of the word's node, with what was expected and the nearest word. */
lud_status lud_agent_key_unknown(const lud_layout *layout, const char *word, lud_place place,
                                 lud_error *error);
/* The word for agents like this one: its kind, else its team, else its role. */
const char *lud_agent_key_word(const lud_layout *layout, int agent);
