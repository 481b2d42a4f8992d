#include "render/viewer/takeover.h"

#include <stdlib.h>
#include <string.h>

lud_status lud_takeover_create(const lud_layout *layout, lud_takeover *takeover, lud_error *error) {
    size_t n = (size_t)layout->n_agents + 1;
    lud_takeover t = {layout, malloc(n * sizeof *t.chosen), calloc(n, sizeof *t.taken)};
    if (!t.chosen || !t.taken) {
        lud_takeover_free(&t);
        return lud_no_memory(error, "the viewer");
    }
    for (size_t i = 0; i < n; i++) t.chosen[i] = -1;
    *takeover = t;
    return LUD_OK;
}

void lud_takeover_free(lud_takeover *takeover) {
    free(takeover->chosen);
    free(takeover->taken);
    *takeover = (lud_takeover){0};
}

void lud_takeover_toggle(lud_takeover *takeover, int agent) {
    takeover->taken[agent] = !takeover->taken[agent];
    takeover->chosen[agent] = takeover->taken[agent] ? 0 : -1;
}

static int action_named(const lud_layout *layout, int agent, const char *name) {
    const lud_action_space *space = &layout->actions[agent];
    for (int a = 0; a < space->n_discrete; a++)
        if (!strcmp(space->names[a], name)) return a;
    return -1;
}

void lud_takeover_rest(lud_takeover *takeover) {
    for (int i = 0; i < takeover->layout->n_agents; i++) {
        if (!takeover->taken[i]) continue;
        int still = action_named(takeover->layout, i, "still");
        takeover->chosen[i] = still < 0 ? 0 : still;
    }
}

static const struct {
    const char *action;
    SDL_Keycode key;
    const char *shown;
} action_keys[] = {{"forward", SDLK_UP, "Up"},
                   {"left", SDLK_LEFT, "Left"},
                   {"right", SDLK_RIGHT, "Right"},
                   {"still", SDLK_DOWN, "Down"},
                   {"up", SDLK_UP, "Up"},
                   {"down", SDLK_DOWN, "Down"},
                   {"pickup", SDLK_e, "E"},
                   {"drop", SDLK_q, "Q"},
                   {"toggle", SDLK_RETURN, "Enter"},
                   {"done", SDLK_BACKSPACE, "Backspace"},
                   {"build", SDLK_BACKSPACE, "Backspace"}};
enum { N_ACTION_KEYS = sizeof action_keys / sizeof *action_keys };

int lud_takeover_key_action(const lud_layout *layout, int agent, SDL_Keycode key) {
    if (key >= SDLK_1 && key <= SDLK_9 && key - SDLK_1 < layout->actions[agent].n_discrete)
        return key - SDLK_1;
    int action = -1;
    for (int k = 0; k < N_ACTION_KEYS && action < 0; k++)
        if (action_keys[k].key == key) action = action_named(layout, agent, action_keys[k].action);
    return action;
}

void lud_takeover_keys(const lud_layout *layout, int agent, lud_text *out) {
    const lud_action_space *space = &layout->actions[agent];
    for (int a = 0; a < space->n_discrete; a++) {
        lud_text_append(out, "%s\t", space->names[a]);
        for (int k = 0; k < N_ACTION_KEYS; k++)
            if (!strcmp(space->names[a], action_keys[k].action))
                lud_text_append(out, "%s, ", action_keys[k].shown);
        if (a < 9) lud_text_append(out, "%d", a + 1);
        lud_text_append(out, "\n");
    }
}

const char *lud_takeover_hint(const lud_layout *layout, int agent) {
    return lud_takeover_key_action(layout, agent, SDLK_LEFT) < 0 ? "1 to 9 are its actions"
           : action_named(layout, agent, "forward") >= 0 ? "Up forward, Left and Right turn, Down waits"
                                                         : "the arrows move it, 1 waits";
}
