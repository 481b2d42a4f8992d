/* Windows over recorded episodes: which steps a window holds, how many of them are valid, what stands behind
 * them; on that chunks of actions, chunks relative to where they begin, and sums over the near future.
 *
 * A track is what one agent did in one episode: T actions, one behind the other, tracks behind each other in
 * flat arrays. Window (track, t) holds the actions t, t + 1, ... of its track and never one of another. A
 * window is a place and a count; its rows are copied once, into the batch, by one operation
 * (lud_ops.gather_windows), whatever numbers they are.
 *
 * What windows, padding, pairs and their metadata mean has the number LUD_WINDOW_SEMANTICS (data_set.h). Data
 * files and checkpoints carry it: a model that was trained with another one saw other data.
 *
 * Two ways to record are told apart. Layout Q has T actions and T + 1 observations: every action led to an
 * observation. Layout P has T of each: the last action led to nothing that was recorded, so it is no action
 * to learn from. */
#pragma once

#include "kernels/device.h"
#include "learn/episodes/data_set.h"
#include "learn/episodes/numbers.h"
#include "learn/episodes/statistics.h"
#include "learn/nn/arrays.h"

/* Lanes of LUD_PURPOSE_SHUFFLE for draws of a step (seed, episode; t, agent), above those of orders. */
enum { LUD_WINDOW_LANE_DELTA = 0xfe00, LUD_WINDOW_LANE_DECISION, LUD_WINDOW_LANE_HORIZON };

typedef struct lud_tracks {
    int64_t n;
    const int64_t *offsets;             /* [n + 1] rows of actions at which tracks begin */
    const int64_t *observation_offsets; /* [n + 1] the same of observations; null: as actions (layout P) */
    bool last_action_valid;             /* layout Q: true; P: false */
} lud_tracks;

static inline int64_t lud_track_length(const lud_tracks *tracks, int64_t track) {
    return tracks->offsets[track + 1] - tracks->offsets[track];
}
/* The row of observation t of a track. */
static inline int64_t lud_track_observation(const lud_tracks *tracks, int64_t track, int64_t t) {
    return (tracks->observation_offsets ? tracks->observation_offsets : tracks->offsets)[track] + t;
}
/* How many rows of a window are valid: those before the end of a track of `length` steps, at most `horizon`
 * and at most `wanted` (any integer). */
static inline int64_t lud_window_count(int64_t length, int64_t t, int64_t horizon, int64_t wanted) {
    int64_t count = length - t < horizon ? length - t : horizon;
    if (wanted < count) count = wanted;
    return count > 0 ? count : 0;
}

/* ---- sets of windows ---- */

/* Windows to be gathered together. Host arrays are the caller's to read. */
typedef struct lud_window_set {
    lud_device *device;
    int64_t capacity, n, horizon;
    bool has_lengths;
    int64_t *first, *end;               /* [n] rows, see lud_windows */
    int32_t *length;                    /* [n] where has_lengths */
    int32_t *valid;                     /* [n] rows that a window holds */
    int32_t *happened;                  /* [n] those of them whose action led to a recorded observation */
    int64_t *device_first, *device_end; /* the same in the device's memory */
    int32_t *device_length;
    lud_arrays arrays;
} lud_window_set;

/* Takes memory for at most `capacity` windows. After an error too the set is to be destroyed. */
lud_status lud_window_set_create(lud_device *device, int64_t capacity, lud_window_set *set, lud_error *error);
/* Safe on a zeroed struct. */
void lud_window_set_destroy(lud_window_set *set);
/* Windows of `horizon` rows at every step of every track, in order (n = all rows). lengths[rows] may be null:
 * fixed windows. The rows must fit the capacity. */
void lud_window_set_all(lud_window_set *set, const lud_tracks *tracks, int64_t horizon,
                        const int32_t *lengths);
/* Windows at steps step[n] of tracks track[n]; lengths[n] may be null. */
void lud_window_set_some(lud_window_set *set, const lud_tracks *tracks, int64_t horizon, int64_t n,
                         const int64_t *track, const int64_t *step, const int32_t *lengths);
/* Copies the rows: out[n][horizon][row_bytes] from data[rows][row_bytes], with padding behind the valid ones;
 * value[row_bytes] of LUD_PAD_VALUE. All in the device's memory. */
void lud_window_set_gather(lud_window_set *set, int64_t row_bytes, const void *data, lud_padding padding,
                           const void *value, void *out);

/* ---- chunks of actions ---- */

/* What a number of an action means decides what stands behind the end of an episode. */
typedef enum lud_action_meaning {
    LUD_ACTION_INCREMENT, /* velocities, forces, moves: zeros */
    LUD_ACTION_ABSOLUTE,  /* targets, poses: the last one, stay */
    LUD_ACTION_CHOICE     /* numbers of choices: the choice that does nothing */
} lud_action_meaning;
lud_padding lud_padding_of(lud_action_meaning meaning);
/* The choice that does nothing, where all agents of `agents` (as bits; 0: all) have the same; -1: there is
 * none, and nothing stands in its place. */
int32_t lud_idle_choice(const lud_layout *layout, uint64_t agents);

/* Whether the world's actions mean the same in every state, so that later actions can be predicted.
 * LUD_ERROR_INPUT where they are numbers of what a state offers, as successors of a proof. */
lud_status lud_chunks_check(const lud_model *model, lud_error *error);

/* Rows as chunks are made of: numbers of `width` are normalised (null: left as they are), then filled with
 * zeros up to `action_dim`. rows[n_rows][action_dim] of floats, or of doubles (`real_bytes` 8), on the host.
 * Chunks are windows over these rows, gathered with zeros or the last row behind them: padding comes after
 * normalising and stays neutral. LUD_ERROR_INPUT when width > action_dim: nothing is cut off. */
lud_status lud_chunk_rows(int64_t n_rows, int64_t width, lud_numbers actions,
                          const lud_normalisation *normalisation, int64_t action_dim, size_t real_bytes,
                          void *rows, lud_error *error);

/* Chunks relative to where they begin: positions (the first n_positions of `width` columns) of row k + 1
 * minus those of row 0, the others of row k. `gathered` [n][horizon + 1][width] are windows with the last row
 * behind them; chunks[n][horizon][width]. Columns of angles (is_angle[n_positions], null: none) are wrapped
 * into (-pi, pi]. */
void lud_chunks_relative(int64_t n, int64_t horizon, int64_t width, int64_t n_positions, const bool *is_angle,
                         const double *gathered, double *chunks);
/* Into (-pi, pi]. */
double lud_wrap_angle(double angle);

/* ---- sums over the near future ---- */

/* How columns of an action add up: increments are summed, angles too and wrapped, turns (choices of a quarter
 * each) modulo 4, and of states such as an open hand the last valid one counts. */
typedef enum lud_sum_kind { LUD_SUM_ADD, LUD_SUM_ANGLE, LUD_SUM_TURN, LUD_SUM_LAST } lud_sum_kind;

/* Steps that the sums look ahead: about a second, at most `summation_steps`. */
int64_t lud_group_steps(double control_frequency, int64_t summation_steps);
/* Steps of a horizon in seconds: at least 1, halves to even. */
int64_t lud_horizon_steps(double seconds, double control_frequency);
/* For every step of every track one of n horizons, drawn by (seed, episode[track], agent[track], t): its
 * steps in lengths[rows], its number in chosen[rows] (may be null). episode null: the number of the track;
 * agent null: 0. */
void lud_horizons_draw(const lud_tracks *tracks, uint64_t seed, const uint32_t *episode,
                       const uint32_t *agent, int n, const double *seconds, double control_frequency,
                       int32_t *lengths, int32_t *chosen);
/* sum[n][width] over the valid rows of every window of the set; kinds[width]. Windows without valid rows have
 * none: NaN. `actions` [rows][width] on the host. */
void lud_window_sums(const lud_window_set *set, int64_t width, const lud_sum_kind *kinds, lud_numbers actions,
                     double *sum);
