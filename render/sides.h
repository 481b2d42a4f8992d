/* Several policies in one world, side by side and in step: from the same start, with the same draws for the
 * same steps, so that what differs follows from what agents do. One side alone is what a single policy does.
 * Or several environments of one world in step, each with a seed of its own. */
#pragma once

#include "render/draw.h"
#include "render/episode.h"
#include "render/overlay.h"

/* At most so many; and policies beside each other, which are told apart by colours. */
enum { LUD_SIDES = 16, LUD_SIDES_COMPARED = 6 };

typedef struct lud_side {
    const char *name; /* of who acts; may be null where there is one side */
    const char *path; /* what messages call it; the same */
    lud_player *player;
    lud_drawing *drawing;
    lud_overlay *overlay; /* or null */
} lud_side;

/* The first side leads; the others are put to where it is. With more than one side the players remember. */
typedef struct lud_sides {
    int n;
    bool apart; /* environments with seeds of their own: nobody is put anywhere, and all differ */
    lud_side side[LUD_SIDES];
} lud_sides;

/* Whether so many environments (0 or 1: not apart) of as many scenarios or RUNs as are named can be shown
 * together; LUD_ERROR_INPUT where not. */
lud_status lud_sides_check(int n_environments, int n_named, lud_error *error);
/* Whether `model` is a world that can go in step with that of `leader`: the same kind of world, agents with
 * the same actions, states of the same size. LUD_ERROR_INPUT says what is other than in `leader_name`. */
lud_status lud_sides_fit(const lud_model *leader, const char *leader_name, const lud_model *model,
                         const char *name, lud_error *error);
/* Puts all to the start of the episode that the first is in. LUD_ERROR_INPUT where one starts in another
 * state. Environments apart stay where they are. */
lud_status lud_sides_begin(const lud_sides *sides, lud_error *error);
/* All anew: with this seed, environments apart with it and those that follow. And the next episode of each,
 * after the end of what is known of it. */
lud_status lud_sides_restart(const lud_sides *sides, uint64_t seed, lud_error *error);
lud_status lud_sides_next_episode(const lud_sides *sides, lud_error *error);
/* One step onward of all whose episode is not over, with `chosen` as for lud_player_step. *moved: of one at
 * least. */
lud_status lud_sides_step(const lud_sides *sides, const int32_t *chosen, bool *moved, lud_error *error);
/* To a state of 0..known-1; those whose episode was over before stay at its end. */
void lud_sides_seek(const lud_sides *sides, size_t position);

/* Steps since the start; number of states that all have come to, or ended before; whether all are over. */
size_t lud_sides_position(const lud_sides *sides);
size_t lud_sides_known(const lud_sides *sides);
bool lud_sides_over(const lud_sides *sides);
/* The first step after which a side's state was another than the first side's, up to the present; SIZE_MAX:
 * none. An episode that is over stays in its last state. */
size_t lud_sides_parted(const lud_sides *sides, int side);
/* Whether all are in the same state at a step that is known of all. */
bool lud_sides_same_at(const lud_sides *sides, size_t position);
/* Whether a side's present state is the first side's. */
bool lud_sides_same(const lud_sides *sides, int side);
