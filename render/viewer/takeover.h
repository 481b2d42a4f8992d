/* Agents that the keyboard acts for. */
#pragma once

#include <SDL.h>

#include "sim/world.h"

typedef struct lud_takeover {
    const lud_layout *layout;
    int32_t *chosen; /* [n_agents] action of the next step; -1: the cast acts */
    bool *taken;     /* [n_agents] */
} lud_takeover;

/* Nobody is taken over. The layout must outlive it. */
lud_status lud_takeover_create(const lud_layout *layout, lud_takeover *takeover, lud_error *error);
void lud_takeover_free(lud_takeover *takeover);
/* Takes an agent with discrete actions, or gives it back. */
void lud_takeover_toggle(lud_takeover *takeover, int agent);
/* After a step those taken over wait unless a key says otherwise. */
void lud_takeover_rest(lud_takeover *takeover);

/* The action of an agent under this key, -1: none. */
int lud_takeover_key_action(const lud_layout *layout, int agent, SDL_Keycode key);
/* Lines `action<tab>keys` of all its actions; and the main ones in a few words. */
void lud_takeover_keys(const lud_layout *layout, int agent, lud_text *out);
const char *lud_takeover_hint(const lud_layout *layout, int agent);
