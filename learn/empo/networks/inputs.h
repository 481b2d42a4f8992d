/* From compact records (learn/empo/memory/features.h) to the inputs of a declared graph
 * (learn/empo/networks/networks.h): states by rows, people with a goal by entries. Filled on the host and
 * sent to the device in a few pieces. */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/empo/networks/networks.h"
#include "learn/empo/networks/paths.h"
#include "learn/nn/arrays.h"
#include "learn/nn/upload_batch.h"

/* The inputs of a graph, one array each. */
typedef struct lud_empo_inputs {
    float *global, *agents, *interactive, *entry_features, *entry_goal;
    float *state_paths, *helped, *entry_paths, *entry_alone; /* null without paths */
    int32_t *grid, *entry_state, *entry_agent, *entry_cell;
} lud_empo_inputs;

typedef struct lud_empo_staging {
    lud_device *device;
    const lud_empo_features *features;
    int64_t max_states, max_entries;
    lud_empo_paths *paths;    /* null: networks do not read them */
    const int32_t *of_record; /* whose goals these are: */
    float *of_goals;          /* [n_goals][LUD_EMPO_GOAL_PATHS] */
    lud_arrays arrays;
    lud_empo_inputs host,
        sent; /* sent: in device memory, after lud_empo_staging_pack and lud_upload_batch_send */
} lud_empo_staging;

/* Takes the memory for so many states and entries at once; the features must outlive it. walk: what paths
 * follow from, where networks read them. False when memory is out; freeing is safe in any case. */
bool lud_empo_staging_create(lud_device *device, const lud_empo_features *features, const lud_empo_walk *walk,
                             int64_t max_states, int64_t max_entries, lud_empo_staging *staging);
/* Safe on a zeroed struct. */
void lud_empo_staging_free(lud_empo_staging *staging);
/* Makes room for so many at least; what was encoded before is lost. False when memory is out. */
bool lud_empo_staging_room(lud_empo_staging *staging, int64_t n_states, int64_t n_entries);

/* Encodes the record of row i. */
void lud_empo_staging_state(lud_empo_staging *staging, int64_t i, const int32_t *record);
/* Adds the first n states and entries encoded to an upload. */
void lud_empo_staging_pack(lud_empo_staging *staging, int64_t n, int64_t n_entries, lud_upload_batch *upload);
/* Once it was sent: a net reads its inputs from there, beginning with row `first` and entry `first_entry`,
 * and has so many entries. */
void lud_empo_staging_bind(lud_empo_staging *staging, lud_nn *net, const lud_empo_graph *graph, int64_t first,
                           int64_t first_entry, int64_t n_entries);

/* Sends n <= max_states records to rows 0 .. n - 1 of the graph's inputs on axis 0. */
void lud_empo_staging_states(lud_empo_staging *staging, lud_nn *net, const lud_empo_graph *graph, int64_t n,
                             const int32_t *const *records);
/* Encodes entry i: person h with a goal (-1: none) in the state of row `row`, whose record that is. */
void lud_empo_staging_entry(lud_empo_staging *staging, int64_t i, int64_t row, const int32_t *record, int h,
                            int goal);
/* Sends the first n entries encoded and sets their number. */
void lud_empo_staging_entries(lud_empo_staging *staging, lud_nn *net, const lud_empo_graph *graph, int64_t n);
