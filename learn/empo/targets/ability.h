/* X_h without a network of its own: sum_g w_g V_h^e(s, h, g)^zeta over all goals of a person, or over a draw
 * of them with equal shares of the weight. V_h^e comes from its target network, whose passes are queued here,
 * or from its table.
 *
 * Two steps, so that the second can be part of a recorded piece: the host encodes states and entries and adds
 * them to an upload; once that was sent, the rest is operations. On the CPU the sums are taken in double
 * precision, elsewhere by operations on floats. */
#pragma once

#include "learn/empo/networks/inputs.h"
#include "learn/empo/networks/table.h"
#include "learn/empo/options.h"
#include "learn/nn/arrays.h"

typedef struct lud_empo_ability {
    lud_device *device;
    const lud_empo_features *features;
    const lud_empo_learner_options *options;
    const lud_empo_table *table; /* of V_h^e, or the network and its limits: */
    lud_nn *net;
    const lud_empo_graph *graph;
    const lud_empo_walk *walk;       /* of its shape */
    int64_t max_states, max_entries; /* of a pass */
    uint64_t *n_grown;               /* counts times that device memory was taken anew */

    bool direct, known, all; /* V_h^e stands in device memory; over all goals */
    int64_t n, per_state;    /* of what was staged: states, entries of a state */
    int64_t group, at_once;  /* states of a group, of a pass within it */
    int64_t room;            /* entries */
    lud_empo_staging staging;
    lud_arrays arrays, entry_arrays; /* those of fixed size, and [room] */
    double *weight;                  /* [per_state] */
    float *weight_host;              /* the same */
    int32_t *offsets;                /* [n * n_humans + 1] entries of a person in a state */
    float *from_table;               /* [room] host */
    float *made, *scratch;           /* [room] device */
    const float *value;              /* [n][per_state] V_h^e, where it stands */
    const float *weight_sent;        /* on the device */
    const int32_t *offsets_sent;
} lud_empo_ability;

/* With device, features, options, table or net, graph and limits, and n_grown set, the rest zero: takes what
 * does not depend on the number of states. False when memory is out. */
bool lud_empo_ability_start(lud_empo_ability *ability);
/* Safe on a zeroed struct. */
void lud_empo_ability_free(lud_empo_ability *ability);

/* Encodes n states (up to `rows` the last one again, as padding) and their entries (all goals, or
 * options->x_h_goals drawn ones where that is not 0 and `all` is not set) and adds them to the upload. `draw`
 * keys the draws; those of each `group` states have a key of their own, draw + the number of the first. On
 * the CPU a pass takes a group at most, whose values then stay in the cache. False when memory is out. */
bool lud_empo_ability_stage(lud_empo_ability *ability, int64_t n, int64_t rows, const int32_t *const *records,
                            uint32_t draw, int64_t group, bool all, lud_upload_batch *upload);
/* The same for V_h^e[n][n_goals] of all goals that stands in device memory by then. */
bool lud_empo_ability_stage_known(lud_empo_ability *ability, int64_t n, const float *v_h_e,
                                  lud_upload_batch *upload);
/* Queues the passes and the sums: x[n][n_humans] on the device. V_h^e is then at ability->value. */
void lud_empo_ability_queue(lud_empo_ability *ability, float *x);
