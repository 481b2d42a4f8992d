#include "learn/mappo/groups.h"

#include <string.h>

#include "learn/policy_gradient/options.h"
#include "sim/agent_key.h"

/* What is being read. */
typedef struct reading {
    const lud_layout *layout;
    const lud_tree *section;
    lud_arena *arena;
    lud_mappo_grouping *g;
} reading;

static lud_status add(reading *r, const char *name, lud_place place, lud_error *error) {
    lud_mappo_grouping *g = r->g;
    if (g->n == LUD_MAPPO_GROUPS)
        return lud_fail_at(error, LUD_ERROR_LIMIT, place, "learner.groups: more than %d groups",
                           LUD_MAPPO_GROUPS);
    lud_text prefix = {0};
    if (*name) lud_text_append(&prefix, "%s.", name);
    g->names[g->n] = lud_arena_text(r->arena, name, strlen(name));
    g->prefixes[g->n] =
        prefix.failed ? NULL : lud_arena_text(r->arena, prefix.bytes ? prefix.bytes : "", prefix.length);
    lud_text_free(&prefix);
    if (!g->names[g->n] || !g->prefixes[g->n]) return lud_no_memory(error, "groups");
    g->n++;
    return LUD_OK;
}

/* The agents that a word names join the newest group. */
static lud_status join(reading *r, const lud_tree *word, lud_error *error) {
    lud_agent_key key;
    if (word->kind != LUD_TREE_SCALAR)
        return lud_invalid_at(error, word->place,
                              "learner.groups: expected the name of agents, or a list of names");
    if (!lud_agent_key_find(r->layout, word->text, &key))
        return lud_agent_key_unknown(r->layout, word->text, word->place, error);
    for (int i = 0; i < r->layout->n_agents; i++) {
        if (!lud_agent_key_names(r->layout, key, i)) continue;
        if (r->g->of[i] >= 0)
            return lud_invalid_at(error, word->place,
                                  "learner.groups: agent %d (%s) is in '%s' already, expected in one group",
                                  i, lud_agent_key_word(r->layout, i), r->g->names[r->g->of[i]]);
        r->g->of[i] = r->g->n - 1;
    }
    return LUD_OK;
}

static lud_status read_mapping(reading *r, lud_error *error) {
    for (const lud_tree *entry = r->section->child; entry; entry = entry->next) {
        LUD_TRY(add(r, entry->key, entry->key_place, error));
        if (entry->kind != LUD_TREE_SEQUENCE) LUD_TRY(join(r, entry, error));
        for (const lud_tree *word = entry->kind == LUD_TREE_SEQUENCE ? entry->child : NULL; word;
             word = word->next)
            LUD_TRY(join(r, word, error));
    }
    for (int i = 0; i < r->layout->n_agents; i++)
        if (r->g->of[i] < 0)
            return lud_invalid_at(error, r->section->place,
                                  "learner.groups: agent %d (%s) is in no group, expected in one", i,
                                  lud_agent_key_word(r->layout, i));
    for (int k = 0; k < r->g->n; k++) {
        int n = 0;
        for (int i = 0; i < r->layout->n_agents; i++) n += r->g->of[i] == k;
        if (n == 0)
            return lud_invalid_at(error, r->section->place, "learner.groups: nobody is in '%s'",
                                  r->g->names[k]);
    }
    return LUD_OK;
}

/* A group for each kind, in the order of the agents. */
static lud_status read_kinds(reading *r, lud_error *error) {
    for (int i = 0; i < r->layout->n_agents; i++) {
        const char *word = lud_agent_key_word(r->layout, i);
        int k = 0;
        while (k < r->g->n && strcmp(r->g->names[k], word) != 0) k++;
        if (k == r->g->n) LUD_TRY(add(r, word, r->section->place, error));
        r->g->of[i] = k;
    }
    return LUD_OK;
}

/* What is about one policy, or counts the whole rollout. */
static lud_status check(const lud_mappo_options *o, lud_error *error) {
    const char *other = o->control != LUD_MAPPO_DIRECT                   ? "control"
                        : o->start                                       ? "start"
                        : o->update.gate.mode != LUD_GATE_OFF            ? "gate"
                        : o->update.baseline.type != LUD_BASELINE_CRITIC ? "baseline"
                                                                         : NULL;
    if (!other) return LUD_OK;
    return lud_invalid_at(error, o->groups->place,
                          "learner.groups: expected learner.%s at its default with groups", other);
}

lud_status lud_mappo_groups_find(const lud_layout *layout, const lud_mappo_options *o, lud_arena *arena,
                                 lud_mappo_grouping *g, lud_error *error) {
    reading r = {layout, o->groups, arena, g};
    *g = (lud_mappo_grouping){.of = lud_arena_take_array(arena, (size_t)layout->n_agents + 1, sizeof *g->of)};
    if (!g->of) return lud_no_memory(error, "groups");
    for (int i = 0; i < layout->n_agents; i++) g->of[i] = o->groups ? -1 : 0;
    if (!o->groups) return add(&r, "", (lud_place){0}, error);
    LUD_TRY(check(o, error));
    if (o->groups->kind == LUD_TREE_MAPPING && o->groups->child) return read_mapping(&r, error);
    if (o->groups->kind == LUD_TREE_SCALAR && strcmp(o->groups->text, "kinds") == 0)
        return read_kinds(&r, error);
    return lud_invalid_at(
        error, o->groups->place,
        "learner.groups: expected `kinds`, or groups by name such as {predators: adversary, prey: agent}");
}
