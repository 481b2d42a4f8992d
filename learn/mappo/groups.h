/* Which agents share networks: the option `groups`. */
#pragma once

#include "learn/mappo/update.h"

enum { LUD_MAPPO_GROUPS = 16 };

typedef struct lud_mappo_grouping {
    int n;
    const char *names[LUD_MAPPO_GROUPS]; /* empty where all agents are one group and nobody asked for any */
    const char *prefixes[LUD_MAPPO_GROUPS]; /* of their tensors in checkpoints: `NAME.`, or empty */
    int *of;                                /* [n_agents] the group of each agent */
} lud_mappo_grouping;

/* Finds the groups of a model's agents; texts live in the arena. LUD_ERROR_INPUT, with its place, when an
 * agent is in no group or in two, or when another option has no meaning with groups. */
lud_status lud_mappo_groups_find(const lud_layout *layout, const lud_mappo_options *options, lud_arena *arena,
                                 lud_mappo_grouping *grouping, lud_error *error);

/* Networks, and the agents who act and learn by them. */
typedef struct lud_mappo_group {
    const char *name, *prefix; /* as above */
    int64_t n_agents;
    int32_t *agents;             /* [n_agents] ascending */
    bool whole;                  /* these are all agents of the model */
    lud_mappo_networks *update;  /* own the parameters */
    lud_mappo_networks *rollout; /* share them */
    lud_mappo_ppo ppo;
} lud_mappo_group;
