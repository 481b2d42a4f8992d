/* Prediction pairs: two frames of a track and the actions that led from one to the other.
 *
 * Frame t is paired with frame f = min(t + d, T - 1), d drawn between 1 and the largest horizon that fits.
 * What lies between them are the realised f - t actions, not the d that were drawn: action T - 1 leads to a
 * frame that is not among the T, and is never used. */
#pragma once

#include "learn/episodes/windows.h"

typedef enum lud_delta_rule {
    LUD_DELTA_REALISED,
    LUD_DELTA_SAMPLED /* for comparison: counts d actions near the end too, the last one included */
} lud_delta_rule;
extern const char *const lud_delta_rule_names[]; /* null-terminated */

typedef struct lud_pair_options {
    int64_t max_horizon;        /* frames that may lie between the two */
    int64_t summation_steps;    /* rows of a window of actions */
    bool farthest;              /* always the largest horizon instead of a drawn one */
    int delta_rule;             /* lud_delta_rule */
    bool drop_zero;             /* leave out steps that have no later frame */
    double probability;         /* share of steps that become pairs, see lud_pair_is_drawn */
    double primary_probability; /* share of these that show the primary view */
    uint64_t seed;
} lud_pair_options;

typedef struct lud_pair {
    int64_t track, step, future; /* future: the step of the second frame */
    int32_t sampled, realised;   /* frames between the two, as drawn and as they are */
    int32_t delta;               /* what the pair says about itself: by the rule one of these */
    int32_t window;              /* actions that it holds */
    bool truncated;              /* more actions lie between the frames than the window has rows */
} lud_pair;

/* Who is keyed: draws of a step follow from (seed, episode, agent, t), in whatever order samples come. */
typedef struct lud_pair_source {
    const lud_tracks *tracks;
    const uint32_t *episode; /* [tracks] null: the number of the track */
    const uint32_t *agent;   /* [tracks] null: 0 */
} lud_pair_source;

/* The largest horizon of a track of `length` steps: at least 1, at most length - 1. */
int64_t lud_pair_horizon(const lud_pair_options *options, int64_t length);
/* d of step t. */
int32_t lud_pair_draw(const lud_pair_options *options, const lud_pair_source *source, int64_t track,
                      int64_t t);
/* Whether step t becomes a pair, and (primary may be null) whether it shows the primary view. */
bool lud_pair_is_drawn(const lud_pair_options *options, const lud_pair_source *source, int64_t track,
                       int64_t t, bool *primary);
/* The pair of step t for a given d. */
lud_pair lud_pair_at(const lud_pair_options *options, const lud_tracks *tracks, int64_t track, int64_t t,
                     int32_t sampled);
/* The pairs of all steps of all tracks, in order; pairs has room for as many as there are steps. With
 * drop_zero, steps without a later frame are left out. Returns how many. */
int64_t lud_pairs_add(const lud_pair_options *options, const lud_pair_source *source, lud_pair *pairs);
/* Their windows of actions, to be gathered with zeros behind. n must fit the set's capacity; scratch[2 n]. */
void lud_pairs_windows(const lud_pair_options *options, const lud_tracks *tracks, int64_t n,
                       const lud_pair *pairs, lud_window_set *set, int64_t *scratch);
/* Rows of their frames: rows[2 n], first and second frame of each. Every array of observations takes both
 * frames from its own. */
void lud_pairs_frames(const lud_tracks *tracks, int64_t n, const lud_pair *pairs, int64_t *rows);
