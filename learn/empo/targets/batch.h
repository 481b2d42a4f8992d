/* A batch of the neural EMPO learner: transitions drawn from the replay memory and flattened, on the host and
 * on the device; stage 1 of the targets (learn/empo/targets/targets.h). The whole batch is drawn at once;
 * then stretches of it are flattened and worked on, one after the other: all of it, or a share's.
 *
 * Rows are the states whose values are needed: those of the transitions themselves (where wanted), the
 * successors of all their joint robot actions, and the states that came later in the trajectory, where
 * targets look further ahead. Links are (joint robot action, successor) pairs. */
#pragma once

#include "learn/empo/targets/hindsight.h"
#include "learn/empo/targets/targets.h"
#include "learn/empo/targets/trajectory.h"
#include "learn/nn/arrays.h"

typedef struct lud_empo_sample {
    lud_empo_values *values;
    lud_empo_replay *replay;
    const lud_empo_learner_options *options;
    lud_device *device;
    uint64_t seed;
    int64_t size;     /* of the batch */
    int64_t first, n; /* transitions of it at hand */
    int64_t n_actions, n_entries;
    lud_arrays arrays, row_arrays, link_arrays; /* those of fixed size, [row_room] and [link_room] */
    lud_empo_trajectory *trajectory;            /* with targets over several steps */
    lud_empo_hindsight *hindsight;              /* with hindsight_prob */
    int64_t first_successor; /* row of the first successor: the states themselves stand before, if at all */
    int64_t first_later;     /* row of the first state that came later, with trajectories */
    int64_t n_rows, n_links;
    int64_t run_rows, run_flat; /* n_rows and flat.n with the padding of recorded work, lud_capture_rows */
    int64_t row_room, link_room;
    uint64_t n_grown; /* times that memory on the device was taken anew, which makes recorded work void */
    int64_t *drawn;   /* [size] indices in the memory, room for [size * replay_contest] */
    float *error;     /* [size] sum over quantities of the mean squared error, for the contest */
    lud_empo_transition *all, *transitions; /* [size], and [n] of them at hand */
    int32_t *entry_offsets;                 /* [n + 1] */
    int32_t *offsets;                       /* [n * n_actions + 1] */
    const int32_t **records, **goals;       /* [row_room] */
    float *continues, *terminal;            /* [row_room] 1 and 0, or 0 and the terminal value */
    uint8_t *achieved;                      /* [row_room][n_entries] */
    double *probability;                    /* [link_room] */
    int32_t *link_row;                      /* [link_room] */
    int32_t *flat_row;                      /* [link_room] row of a flat successor */
    int32_t *profile;                       /* [link_room] with expected_people */
    double *marginal, *pursuing; /* of a transition: [n_human_profiles], [n_goals][n_human_profiles] */
    double *parts;               /* [n_humans][n_human_profiles] */
    lud_empo_flat flat;
    int32_t *value_index; /* [link_room * n_entries] place of V_h^e(row, entry) */
    float *expanded_achieved,
        *expanded_discount; /* [link_room * n_entries] discount: of V_h^e beyond, or 0 */
    /* on the device, once the upload was sent: those above and what is made there */
    struct {
        const int32_t *slot, *row, *expanded_slot, *entry, *value_index;
        const float *probability, *continues, *terminal;
        const float *expanded_probability, *achieved, *expanded_discount;
        const float *entry_weight; /* [n * n_entries] of V_h^e, null without hindsight */
        float *v_r, *v_h_e_next, *scratch;
    } on_device;
} lud_empo_sample;

/* values, replay and options must outlive it. */
lud_status lud_empo_sample_create(lud_empo_values *values, lud_empo_replay *replay,
                                  const lud_empo_learner_options *options, uint64_t seed,
                                  lud_empo_sample *batch, lud_error *error);
/* Safe on a zeroed struct. */
void lud_empo_sample_free(lud_empo_sample *batch);
/* Draws the transitions for training step `step`. Its pointers hold until the memory changes. */
lud_status lud_empo_sample_draw(lud_empo_sample *batch, int64_t step, const lud_empo_now *now,
                                lud_error *error);
/* Flattens the transitions first .. first + n - 1, which are then those at hand; with_states: their own
 * states are rows, and Q_r may learn. */
lud_status lud_empo_sample_collect(lud_empo_sample *batch, int64_t first, int64_t n, const lud_empo_now *now,
                                   bool with_states, lud_error *error);
/* The weights of their entries, [n][n_entries]; null without hindsight. */
const float *lud_empo_sample_weights(const lud_empo_sample *batch);
/* Adds what collecting found to an upload. */
void lud_empo_sample_pack(lud_empo_sample *batch, lud_upload_batch *upload);
