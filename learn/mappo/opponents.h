/* Self-play against past versions: the option `opponents`. In some iterations one group acts as it did
 * earlier in the training, and only the others learn, so that they do not forget how to meet what is not
 * played any more (fictitious play; Bansal et al., "Emergent complexity via multi-agent competition", ICLR
 * 2018). */
#pragma once

#include "learn/mappo/groups.h"

typedef struct lud_mappo_opponents_options {
    int64_t past, every;
    double share;
} lud_mappo_opponents_options;

extern const lud_option_table lud_mappo_opponents_table;

enum { LUD_MAPPO_PAST = 64 };

typedef struct lud_mappo_opponents {
    lud_mappo_opponents_options options; /* past 0: none */
    int n_groups;
    lud_parameters *past[LUD_MAPPO_GROUPS][LUD_MAPPO_PAST]; /* versions, the oldest is overwritten */
    lud_parameters *newest[LUD_MAPPO_GROUPS];               /* while a past one is in its place */
    int group; /* who plays as a past version in the iteration in hand; negative: nobody */
} lud_mappo_opponents;

/* Reads the section (null: no past versions) and takes memory for the versions of `groups`; destroy it after
 * an error too. LUD_ERROR_INPUT, with its place, where there is one group. */
lud_status lud_mappo_opponents_open(lud_mappo_opponents *opponents, lud_tree *section,
                                    const lud_mappo_group *groups, int n_groups, lud_arena *arena,
                                    lud_error *error);
/* Safe on a zeroed struct. */
void lud_mappo_opponents_destroy(lud_mappo_opponents *opponents);
/* Before the rollout of an iteration: keeps the groups as they are, where that is due, and draws who plays as
 * a past version, which is put into its parameters. A function of the seed and the iteration. */
void lud_mappo_opponents_begin(lud_mappo_opponents *opponents, const lud_mappo_group *groups, uint64_t seed,
                               uint64_t iteration);
/* After it: the group has its newest parameters again. It is not to learn from this rollout. */
void lud_mappo_opponents_end(lud_mappo_opponents *opponents, const lud_mappo_group *groups);
/* Saves or loads the versions that there are after so many iterations. */
void lud_mappo_opponents_visit(lud_mappo_opponents *opponents, const lud_mappo_group *groups,
                               uint64_t iterations, lud_checkpoint *checkpoint);
