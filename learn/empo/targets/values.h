/* The quantities of the neural EMPO learner for many states at once, each from its target network, from a
 * lookup table, or in closed form from the others:
 *
 *   V_h^e(s, h, g)  network or table
 *   X_h(s)          network or table; else sum_g w_g V_h^e^zeta over the goals (or a draw of them)
 *   U_r(s)          network or table (of y); else -(mean_h X_h^-xi)^eta
 *   Q_r(s, .)       network or table
 *   V_r(s)          network or table; else w U_r + sum_a pi_r Q_r
 *
 * States are compact records (learn/empo/memory/features.h). Results stand in device memory until the next
 * run. */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/empo/networks/networks.h"
#include "learn/empo/networks/table.h"
#include "learn/empo/options.h"
#include "learn/empo/targets/ability.h"
#include "learn/nn/capture.h"
#include "learn/store/profile.h"

typedef struct lud_empo_values lud_empo_values;
struct lud_empo_values {
    lud_device *device;
    const lud_empo_features *features;
    const lud_empo_learner_options *options;
    lud_empo_shape shape;
    lud_parameters *online, *target;       /* null when everything is a table or a closed form */
    lud_empo_table *tables[LUD_EMPO_NETS]; /* null: network, or closed form */
    /* Entries of a state: a person and a goal. With expected_people every goal of every person (in the order
     * of the layout), else one for each person, whose goal the caller gives. */
    int n_entries;
    double
        reward_scale; /* of U_r in V_r: its weight, and for a sum over people what turns the mean into it */

    lud_profile *profile; /* where encoding and forward passes are timed; may be null */

    lud_capture
        capture; /* lud_empo_values_run, on CUDA from a recorded graph; `never` counts for updates too */

    /* results of the last run, [n] states */
    int64_t n;
    uint64_t version; /* of the target networks' parameters, see lud_nn_hold */
    uint64_t n_grown; /* times that memory on the device was taken anew, which makes recorded work void */
    float *v_h_e;     /* [n][n_entries] */
    float *x_h;       /* [n][n_humans] */
    float *y, *u_r, *v_r;
    float *q_r, *pi_r; /* [n][n_robot_actions] */
    struct lud_empo_workspace *workspace;
};

/* What a run computes; worth: V_h^e of all goals and V_r by their networks alone. */
enum { LUD_WANT_V_H_E = 1, LUD_WANT_Q_R = 2, LUD_WANT_ALL = 7, LUD_WANT_WORTH = 8 };

/* Parameters are drawn with `seed`. */
lud_status lud_empo_values_create(lud_device *device, const lud_empo_features *features,
                                  const lud_empo_learner_options *options, uint64_t seed,
                                  lud_empo_values *values, lud_error *error);
/* Safe on a zeroed struct. The struct must not be moved before. */
void lud_empo_values_free(lud_empo_values *values);

/* Computes `want` for n states: records[n] pointers, goals[n] pointers to [n_humans] goals (null without
 * LUD_WANT_V_H_E, and not read with expected_people). `draw` keys the goals drawn for X_h without a network.
 * Grows its arrays when n is larger than ever before. */
lud_status lud_empo_values_run(lud_empo_values *values, int64_t n, const int32_t *const *records,
                               const int32_t *const *goals, unsigned want, double beta_r, uint32_t draw,
                               lud_error *error);
/* What paths alone make of the states of the last run, on the host; null where networks do not add to it. */
typedef struct lud_empo_estimates {
    const float *v_h_e;   /* [n][n_goals] as everything lies; with expected_people */
    const float *log_v_r; /* [n] ln(-V_r) for each remaining step, after the best errand of a robot or none */
} lud_empo_estimates;
lud_empo_estimates lud_empo_values_estimates(const lud_empo_values *values);
/* The same in two steps, for recorded pieces that go on with the results. The first does what the host has to
 * do: it encodes all states (padded to lud_capture_rows), reads tables and adds what the device needs to the
 * upload. Once that was sent the second only queues operations. The key stands for their shapes, beside the
 * upload's own. */
lud_status lud_empo_values_prepare(lud_empo_values *values, int64_t n, const int32_t *const *records,
                                   const int32_t *const *goals, unsigned want, double beta_r, uint32_t draw,
                                   lud_upload_batch *upload, lud_error *error);
void lud_empo_values_queue(lud_empo_values *values);
uint64_t lud_empo_values_key(const lud_empo_values *values);
/* For acting: q[n][n_robot_actions] on the host. And for a search while acting (lud_empo_search_values; the
 * first argument is a lud_empo_values): also u[n] = U_r as it enters V_r, v[n]; goals[n] pointers to
 * [n_humans]. Both are left out of the profile, where acting is measured as a whole. */
lud_status lud_empo_values_for_acting(lud_empo_values *values, int n, const int32_t *const *records,
                                      double beta_r, float *q, lud_error *error);
lud_status lud_empo_values_for_search(void *values, int n, const int32_t *const *records,
                                      const int32_t *const *goals, double beta_r, float *q, float *u,
                                      float *v, lud_error *error);
/* On the host: x[n][n_humans] = sum_g w_g V_h^e^zeta over all goals, or over options->x_h_goals drawn ones;
 * v_h_e[n][n_goals] (may be null; then all goals are used). */
lud_status lud_empo_values_power(lud_empo_values *values, int64_t n, const int32_t *const *records,
                                 uint32_t draw, float *x, float *v_h_e, lud_error *error);
/* Another such sum for pieces that hold more than one, on the networks of `values`; lud_empo_ability_free
 * gives it back. False when memory is out. */
bool lud_empo_values_start_ability(lud_empo_values *values, lud_empo_ability *ability);

/* Fills the inputs of a declared graph for n rows, until the next call of anything here; entries follow each
 * other by state. goals may be null: zeros, or with expected_people not needed. The net must have room. False
 * when memory is out. */
bool lud_empo_values_stage(lud_empo_values *values, lud_nn *net, const lud_empo_graph *graph, int64_t n,
                           const int32_t *const *records, const int32_t *const *goals);
/* Encodes the same, `n_entries` of each state, in a staging with room; rows n .. `rows` - 1 repeat the last.
 * A pass takes `at_once` rows. */
void lud_empo_values_encode(const lud_empo_values *values, lud_empo_staging *staging, int64_t n, int64_t rows,
                            const int32_t *const *records, const int32_t *const *goals, int64_t at_once,
                            int64_t n_entries);

/* Person and goal of entry k of a state with goals[n_humans]. */
void lud_empo_values_entry(const lud_empo_values *values, int k, const int32_t *goals, int *h, int *goal);

/* Rows that a state has in the table of a quantity, and the key of row k; goals as above. */
int lud_empo_values_rows_of(const lud_empo_values *values, int net);
uint64_t lud_empo_values_row_key(const lud_empo_values *values, int net, uint64_t state_key, int k,
                                 const int32_t *goals);

/* To be called whenever the target networks' parameters were changed otherwise than by the functions here. */
void lud_empo_values_changed(lud_empo_values *values);
/* Copies what learns to the target networks of these quantities, a bit 1 << LUD_NET_... each. */
void lud_empo_values_copy(lud_empo_values *values, unsigned nets);
/* Least X_h where it has no network. */
double lud_empo_values_power_floor(const lud_empo_values *values);

/* All parameters and tables; and those that values are read from. */
void lud_empo_values_visit(lud_empo_values *values, lud_checkpoint *checkpoint);
void lud_empo_values_visit_policy(lud_empo_values *values, lud_checkpoint *checkpoint);
