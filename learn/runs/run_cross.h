/* Cross-play: every player on every side of a scenario, against every player on the others. */
#pragma once

#include <stdio.h>

#include "base/scores.h"
#include "sim/scenario.h"

enum { LUD_CROSS_SIDES = 8, LUD_CROSS_PAIRINGS = 4096 };

/* Agents who play together. */
typedef struct lud_cross_side {
    const char *name;
    bool *acts; /* [n_agents of the scenario] */
    int n_agents;
} lud_cross_side;

/* What plays for a player: the RUNs of a folder that holds several (trainings of one kind with other seeds),
 * else itself. */
typedef struct lud_cross_player_runs {
    const char *const *runs;
    int n;
} lud_cross_player_runs;

typedef struct lud_cross_result {
    lud_interval returns[LUD_CROSS_SIDES]; /* of each side: mean over its agents, over episodes, and over
                                              trainings where a player has several */
    double length;                         /* mean steps of an episode */
    double *measures;                      /* [n_measures of the layout] means */
} lud_cross_result;

typedef struct lud_cross {
    const lud_scenario *scenario;
    int n_sides, n_players, n_pairings;
    lud_cross_side sides[LUD_CROSS_SIDES];
    const char *const
        *players; /* [n_players] the caller's: a RUN, or a policy as `policies:` has it, in YAML */
    const lud_cross_player_runs *runs; /* [n_players] */
    bool several;                      /* whether a player has several of them */
    int64_t episodes;                  /* of each pairing, and of each training in it */
    lud_cross_result *results;         /* [n_pairings] */
    lud_arena *arena;
} lud_cross;

/* Finds the sides. `sides`: words of sim/agent_key.h, `,` between sides and `+` within one; null: a side for
 * each kind of agents (else team, else role), and where all are of one, agent 0 and the others.
 * LUD_ERROR_INPUT when an agent is on no side or on two. The scenario and the players must outlive it. Free
 * with lud_cross_free, also on failure. */
lud_status lud_cross_open(const lud_scenario *scenario, const char *sides, const char *const *players,
                          int n_players, int64_t episodes, lud_cross *cross, lud_error *error);
void lud_cross_free(lud_cross *cross);
/* The player of a side in a pairing. The first side's changes slowest. */
int lud_cross_player(const lud_cross *cross, int pairing, int side);
/* Finds what plays for a player, which stands in the arena. */
lud_status lud_cross_runs(lud_arena *arena, const char *player, lud_cross_player_runs *runs,
                          lud_error *error);
/* Plays all pairings, each with the same seeds: mean returns with bootstrap intervals of 95 % over episodes
 * (base/scores.h). Where players are several trainings each of them plays with and against each, and the
 * intervals are over trainings, drawn for every side by itself (lud_scores_crossed). `progress`: where a
 * progress line goes, or null. */
lud_status lud_cross_play(lud_cross *cross, FILE *progress, lud_error *error);
