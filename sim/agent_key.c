#include "sim/agent_key.h"

#include <stdlib.h>
#include <string.h>

enum { N_ROLES = 3 };
static const char *const role_names[N_ROLES] = {"human", "robot", "other"};
static const lud_role roles[N_ROLES] = {LUD_ROLE_HUMAN, LUD_ROLE_ROBOT, LUD_ROLE_NONE};

/* The place of the word in a list; -1: it is not there. */
static int place_of(const char *word, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(word, names[i]) == 0) return i;
    return -1;
}

static int number_of(const char *word, int n_agents) {
    char *end;
    const long number = strtol(word, &end, 10);
    return end == word || *end || number < 0 || number >= n_agents ? -1 : (int)number;
}

bool lud_agent_key_find(const lud_layout *layout, const char *word, lud_agent_key *key) {
    const int found[LUD_AGENT_KEYS] = {
        [LUD_AGENT_KEY_ROLE] = place_of(word, role_names, N_ROLES),
        [LUD_AGENT_KEY_TEAM] = place_of(word, layout->team_names, layout->n_teams),
        [LUD_AGENT_KEY_KIND] = place_of(word, layout->kind_names, layout->n_kinds),
        [LUD_AGENT_KEY_AGENT] = number_of(word, layout->n_agents)};
    for (int kind = 0; kind < LUD_AGENT_KEYS; kind++) {
        if (found[kind] < 0) continue;
        *key = (lud_agent_key){(lud_agent_key_kind)kind, found[kind]};
        return true;
    }
    return false;
}

bool lud_agent_key_names(const lud_layout *layout, lud_agent_key key, int agent) {
    switch (key.kind) {
    case LUD_AGENT_KEY_ROLE:
        return layout->roles[agent] == roles[key.number];
    case LUD_AGENT_KEY_TEAM:
        return layout->teams[agent] == key.number;
    case LUD_AGENT_KEY_KIND:
        return layout->kinds[agent] == key.number;
    default:
        return agent == key.number;
    }
}

lud_status lud_agent_key_unknown(const lud_layout *layout, const char *word, lud_place place,
                                 lud_error *error) {
    const char *near = lud_nearest_name(word, role_names, N_ROLES);
    if (!near && layout->n_teams) near = lud_nearest_name(word, layout->team_names, layout->n_teams);
    if (!near && layout->n_kinds) near = lud_nearest_name(word, layout->kind_names, layout->n_kinds);
    lud_text kinds = {0};
    for (int k = 0; k < layout->n_kinds; k++) lud_text_append(&kinds, ", %s", layout->kind_names[k]);
    const lud_status status =
        kinds.failed ? lud_no_memory(error, "a message")
                     : lud_invalid_at(error, place,
                                      "unknown key '%s', expected human, robot, other%s%s or the number of "
                                      "an agent, below %d%s%s%s",
                                      word, layout->n_teams ? ", the name of a team" : "",
                                      kinds.bytes ? kinds.bytes : "", layout->n_agents,
                                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    lud_text_free(&kinds);
    return status;
}

const char *lud_agent_key_word(const lud_layout *layout, int agent) {
    if (layout->n_kinds) return layout->kind_names[layout->kinds[agent]];
    if (layout->n_teams) return layout->team_names[layout->teams[agent]];
    for (int r = 0; r < N_ROLES - 1; r++)
        if (layout->roles[agent] == roles[r]) return role_names[r];
    return role_names[N_ROLES - 1];
}
