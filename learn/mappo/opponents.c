#include "learn/mappo/opponents.h"

#include <stdio.h>

#include "base/options/option_rows.h"
#include "base/random.h"
#include "learn/mappo/networks.h"

#define OPTIONS lud_mappo_opponents_options
static const lud_option opponents_options[] = {
    INT(past, "10", 1, LUD_MAPPO_PAST, "versions that are kept of each group, the newest ones"),
    INT(every, "10", 1, 1e15, "iterations between two of them"),
    REAL(share, "0.5", 0, 1, "of the iterations in which one group plays as a past version"),
};
const lud_option_table lud_mappo_opponents_table =
    OPTION_TABLE("opponents", "self-play against past versions", opponents_options);

lud_status lud_mappo_opponents_open(lud_mappo_opponents *o, lud_tree *section, const lud_mappo_group *groups,
                                    int n_groups, lud_arena *arena, lud_error *error) {
    *o = (lud_mappo_opponents){.n_groups = n_groups, .group = -1};
    if (!section) return LUD_OK;
    LUD_TRY(lud_options_read(&lud_mappo_opponents_table, arena, section, &o->options, error));
    if (n_groups < 2)
        return lud_invalid_at(error, section->place,
                              "learner.opponents: expected several groups (learner.groups): one plays as it "
                              "did earlier, the others learn");
    for (int k = 0; k < n_groups; k++) {
        const lud_parameters *own = groups[k].update->parameters;
        bool whole = (o->newest[k] = lud_parameters_clone(own)) != NULL;
        for (int64_t i = 0; i < o->options.past && whole; i++)
            whole = (o->past[k][i] = lud_parameters_clone(own)) != NULL;
        if (!whole) return lud_no_memory(error, "past versions");
    }
    return LUD_OK;
}

void lud_mappo_opponents_destroy(lud_mappo_opponents *o) {
    for (int k = 0; k < LUD_MAPPO_GROUPS; k++) {
        lud_parameters_destroy(o->newest[k]);
        for (int i = 0; i < LUD_MAPPO_PAST; i++) lud_parameters_destroy(o->past[k][i]);
    }
    *o = (lud_mappo_opponents){0};
}

/* Versions that are there when so many iterations have begun. */
static int64_t n_kept(const lud_mappo_opponents *o, uint64_t begun) {
    if (o->options.past == 0 || begun == 0) return 0;
    const uint64_t taken = (begun - 1) / (uint64_t)o->options.every + 1;
    return taken < (uint64_t)o->options.past ? (int64_t)taken : o->options.past;
}

void lud_mappo_opponents_begin(lud_mappo_opponents *o, const lud_mappo_group *groups, uint64_t seed,
                               uint64_t iteration) {
    o->group = -1;
    if (o->options.past == 0) return;
    const uint64_t every = (uint64_t)o->options.every, slot = iteration / every % (uint64_t)o->options.past;
    for (int k = 0; k < o->n_groups && iteration % every == 0; k++)
        lud_parameters_copy(o->past[k][slot], groups[k].update->parameters);
    /* the last environment's number is no environment's */
    const lud_words words =
        lud_draw((lud_random_key){seed, UINT32_MAX}, (uint32_t)iteration, 0, LUD_PURPOSE_EXPLORE, 0);
    if (lud_unit(words.v[0]) >= o->options.share) return;
    o->group = (int)lud_below(words.v[1], (uint32_t)o->n_groups);
    const uint32_t version = lud_below(words.v[2], (uint32_t)n_kept(o, iteration + 1));
    lud_parameters *own = groups[o->group].update->parameters;
    lud_parameters_copy(o->newest[o->group], own);
    lud_parameters_copy(own, o->past[o->group][version]);
}

void lud_mappo_opponents_end(lud_mappo_opponents *o, const lud_mappo_group *groups) {
    if (o->group >= 0) lud_parameters_copy(groups[o->group].update->parameters, o->newest[o->group]);
}

void lud_mappo_opponents_visit(lud_mappo_opponents *o, const lud_mappo_group *groups, uint64_t iterations,
                               lud_checkpoint *checkpoint) {
    const int64_t n = n_kept(o, iterations);
    for (int k = 0; k < o->n_groups; k++)
        for (int64_t i = 0; i < n; i++) {
            char prefix[160];
            snprintf(prefix, sizeof prefix, "past.%d.%s", (int)i, groups[k].prefix);
            lud_parameters_visit(o->past[k][i], prefix, checkpoint);
        }
}
