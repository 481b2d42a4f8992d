/* Plays episodes of one environment: model, cast and seed give states one after another.
 *
 * With memory it keeps every state of the episode, so that any of them can be shown again; played on from an
 * earlier state it gives the same states as before, because every draw is keyed by its step. Without memory
 * it keeps two. The run is that of environment 0 of a batch with the same seed. */
#pragma once

#include "agents/cast.h"

typedef struct lud_player lud_player;

/* The model and the cast must outlive the player. Starts the first episode. */
lud_status lud_player_create(const lud_model *model, lud_cast *cast, uint64_t seed, bool remember,
                             lud_player **player, lud_error *error);
void lud_player_destroy(lud_player *player);
/* Starts anew with a seed; the next episode of the same run. */
void lud_player_restart(lud_player *player, uint64_t seed);
void lud_player_next_episode(lud_player *player);
/* Starts the episode that the leader is in, of a player of the same world: from the same state, and with the
 * same draws for the same steps. */
void lud_player_join(lud_player *player, const lud_player *leader);

/* An episode that was recorded elsewhere, with this model. */
typedef struct lud_recorded_episode {
    int64_t number; /* of the recording; counted from 0 */
    uint64_t seed;
    uint32_t environment, first_tick; /* key the draws of its first step, see lud_range */
    size_t n_states;                  /* at least 1 */
    const uint8_t *states;            /* [n_states][state_bytes] that the model came to */
    const int32_t *actions;           /* [n_states - 1][n_agents]; null: the agents have none */
    const float *rewards;             /* [n_states - 1][n_agents] */
    bool over;                        /* the last state ends it */
} lud_recorded_episode;
/* Where recorded episodes come from: who shows them does not know what they are read from. What `load` gives
 * stays until the next call. */
typedef struct lud_episode_source {
    int64_t n;
    lud_status (*load)(struct lud_episode_source *source, int64_t number, lud_recorded_episode *episode,
                       lud_error *error);
} lud_episode_source;
/* Shows it from its first state on, all of it known: stepped, sought and, by other actions, left like one
 * that the player has made. Needs memory. Goals are those that the cast would have drawn. */
lud_status lud_player_show(lud_player *player, const lud_recorded_episode *episode, lud_error *error);

/* One step onward. `chosen` (may be null) holds [n_agents] actions that replace those of the cast, -1: the
 * cast chooses. A remembered future is used as it is unless a chosen action differs from it; then it is
 * forgotten. *moved gets false when the episode is over. Fails only when memory is out. */
lud_status lud_player_step(lud_player *player, const int32_t *chosen, bool *moved, lud_error *error);
/* Goes to a remembered state, 0..known-1. Without memory only the present one is there. */
void lud_player_seek(lud_player *player, size_t position);

uint64_t lud_player_seed(const lud_player *player);
uint32_t lud_player_episode(const lud_player *player);
/* The parts of an agent's reward of the step that led to the present state, and their sums from the start:
 * last[n_components], sum[n_components]. Zero where the world knows no parts. Needs memory. */
void lud_player_components(const lud_player *player, int agent, double *last, double *sum);
/* Steps since the episode's start; number of states known; whether the present state ends the episode. */
size_t lud_player_position(const lud_player *player);
size_t lud_player_known(const lud_player *player);
bool lud_player_over(const lud_player *player);
/* Whether the last known state ends the episode. */
bool lud_player_ends(const lud_player *player);
/* The present state, and the one before with the joint action and rewards [n_agents] between them (null at
 * the start). */
const uint8_t *lud_player_state(const lud_player *player);
const uint8_t *lud_player_before(const lud_player *player);
const int32_t *lud_player_actions(const lud_player *player);
const float *lud_player_rewards(const lud_player *player);
/* A remembered state of the episode. */
const uint8_t *lud_player_state_at(const lud_player *player, size_t position);
/* Rewards [n_agents] of the step that led to a remembered state other than the first. */
const float *lud_player_rewards_at(const lud_player *player, size_t position);
/* Fills states[most] with the states before the present one, the latest first; returns how many there are.
 * Without memory that is the one before. */
int lud_player_trail(const lud_player *player, const uint8_t **states, int most);
/* The present state, to be changed in place; what was known to come is forgotten. */
uint8_t *lud_player_edit(lud_player *player);
/* Sum of an agent's rewards from the start to the present state. */
double lud_player_return(const lud_player *player, int agent);
/* The agents' current goals, [n_agents], -1: none; and that of one. */
const int32_t *lud_player_goals(lud_player *player);
int lud_player_goal(const lud_player *player, int agent);
/* What the cast remembers before it acts in the state that is looked at. */
const uint8_t *lud_player_hidden(const lud_player *player);
/* The joint action [n_agents] that would be taken now; changes nothing. */
void lud_player_plan(lud_player *player, const int32_t *chosen, int32_t *actions);
