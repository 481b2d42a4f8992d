#include "learn/empo/networks/inputs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool lud_empo_staging_create(lud_device *device, const lud_empo_features *features, const lud_empo_walk *walk,
                             int64_t max_states, int64_t max_entries, lud_empo_staging *s) {
    *s = (lud_empo_staging){.device = device, .features = features};
    if (walk->read) {
        s->paths = lud_empo_paths_create(features, walk);
        s->of_goals = calloc((size_t)features->layout.n_goals * LUD_EMPO_GOAL_PATHS, sizeof *s->of_goals);
        if (!s->paths || !s->of_goals) return false;
    }
    return lud_empo_staging_room(s, max_states, max_entries);
}

void lud_empo_staging_free(lud_empo_staging *s) {
    lud_arrays_free(&s->arrays);
    lud_empo_paths_destroy(s->paths);
    free(s->of_goals);
    *s = (lud_empo_staging){0};
}

bool lud_empo_staging_room(lud_empo_staging *s, int64_t n_states, int64_t n_entries) {
    if (n_states <= s->max_states && n_entries <= s->max_entries && s->host.global) return true;
    if (n_states < s->max_states) n_states = s->max_states;
    if (n_entries < s->max_entries) n_entries = s->max_entries;
    const size_t n = (size_t)n_states, entries = (size_t)n_entries;
    lud_empo_inputs *in = &s->host;
    lud_arrays *a = &s->arrays;
    lud_arrays_free(a);
    LUD_TAKE(a, in->global, n * LUD_EMPO_GLOBAL);
    LUD_TAKE(a, in->agents, n * LUD_EMPO_AGENT * (size_t)s->features->grid->n_agents);
    LUD_TAKE(a, in->interactive, n * LUD_EMPO_INTERACTIVE);
    LUD_TAKE(a, in->grid, n * (size_t)s->features->grid->n_cells);
    LUD_TAKE(a, in->entry_features, entries * LUD_EMPO_AGENT);
    LUD_TAKE(a, in->entry_goal, entries * LUD_EMPO_GOAL);
    LUD_TAKE(a, in->entry_state, entries);
    LUD_TAKE(a, in->entry_agent, entries);
    LUD_TAKE(a, in->entry_cell, entries);
    if (s->paths) {
        LUD_TAKE(a, in->state_paths, n * (size_t)lud_empo_state_paths(s->features->layout.n_humans));
        LUD_TAKE(a, in->helped, n);
        LUD_TAKE(a, in->entry_paths, entries * LUD_EMPO_GOAL_PATHS);
        LUD_TAKE(a, in->entry_alone, entries);
    }
    s->max_states = a->failed ? 0 : n_states;
    s->max_entries = a->failed ? 0 : n_entries;
    return !a->failed;
}

void lud_empo_staging_state(lud_empo_staging *s, int64_t i, const int32_t *record) {
    const lud_empo_features *f = s->features;
    const size_t agents = LUD_EMPO_AGENT * (size_t)f->grid->n_agents, cells = (size_t)f->grid->n_cells;
    assert(i < s->max_states);
    memcpy(s->host.global + i * LUD_EMPO_GLOBAL, record, LUD_EMPO_GLOBAL * sizeof(float));
    memcpy(s->host.agents + (size_t)i * agents, record + f->agents_at, agents * sizeof(float));
    if (f->interactive)
        memcpy(s->host.interactive + i * LUD_EMPO_INTERACTIVE, record + f->interactive_at,
               LUD_EMPO_INTERACTIVE * sizeof(float));
    memcpy(s->host.grid + (size_t)i * cells, record + f->grid_at, cells * sizeof(int32_t));
    if (!s->paths) return;
    s->of_record = record;
    s->host.helped[i] = lud_empo_paths_find(
        s->paths, record, s->of_goals, s->host.state_paths + i * lud_empo_state_paths(f->layout.n_humans));
}

/* Of the state that was encoded last. */
static void encode_paths(lud_empo_staging *s, int64_t i, const int32_t *record, int column) {
    float *to = s->host.entry_paths + i * LUD_EMPO_GOAL_PATHS;
    assert(record == s->of_record);
    (void)record;
    memset(to, 0, LUD_EMPO_GOAL_PATHS * sizeof *to);
    if (column >= 0) memcpy(to, s->of_goals + column * LUD_EMPO_GOAL_PATHS, LUD_EMPO_GOAL_PATHS * sizeof *to);
    s->host.entry_alone[i] = to[LUD_EMPO_ALONE];
}

void lud_empo_staging_entry(lud_empo_staging *s, int64_t i, int64_t row, const int32_t *record, int h,
                            int goal) {
    const lud_empo_features *f = s->features;
    const lud_empo_inputs *in = &s->host;
    const int agent = f->layout.humans[h];
    assert(i < s->max_entries);
    in->entry_state[i] = (int32_t)row;
    in->entry_agent[i] = agent;
    in->entry_cell[i] = lud_empo_features_cell(f, record, agent);
    memcpy(in->entry_features + i * LUD_EMPO_AGENT, lud_empo_features_agent(f, record, agent),
           LUD_EMPO_AGENT * sizeof(float));
    const int32_t *rectangle = f->goals + 4 * (f->layout.goal_begin[h] + goal);
    for (int k = 0; k < LUD_EMPO_GOAL; k++)
        in->entry_goal[i * LUD_EMPO_GOAL + k] = goal < 0 ? 0.0f : (float)rectangle[k];
    if (s->paths) encode_paths(s, i, record, goal < 0 ? -1 : f->layout.goal_begin[h] + goal);
}

/* ---- inputs as a list ---- */

enum { STATE_INPUTS = 6, INPUTS = 13 };

typedef struct input {
    int value;     /* of the graph */
    void *pointer; /* the address of the pointer in `sent` */
    const void *host;
    size_t row_bytes; /* 0: there is no such input */
} input;

/* Those of states first, then those of entries. */
static void list_inputs(lud_empo_staging *s, const lud_empo_graph *g, input list[INPUTS]) {
    const size_t n_agents = (size_t)s->features->grid->n_agents, n_cells = (size_t)s->features->grid->n_cells,
                 number = sizeof(float), paths = s->paths ? number : 0,
                 of_state = (size_t)lud_empo_state_paths(s->features->layout.n_humans);
    lud_empo_inputs *sent = &s->sent;
    const lud_empo_inputs *host = &s->host;
    const input all[INPUTS] = {
        {g->global, &sent->global, host->global, LUD_EMPO_GLOBAL * number},
        {g->agents, &sent->agents, host->agents, LUD_EMPO_AGENT * n_agents * number},
        {g->interactive, &sent->interactive, host->interactive, LUD_EMPO_INTERACTIVE * number},
        {g->grid, &sent->grid, host->grid, n_cells * number},
        {g->state_paths, &sent->state_paths, host->state_paths, of_state * paths},
        {g->helped, &sent->helped, host->helped, paths},
        {g->entry_state, &sent->entry_state, host->entry_state, number},
        {g->entry_agent, &sent->entry_agent, host->entry_agent, number},
        {g->entry_cell, &sent->entry_cell, host->entry_cell, number},
        {g->entry_features, &sent->entry_features, host->entry_features, LUD_EMPO_AGENT * number},
        {g->entry_goal, &sent->entry_goal, host->entry_goal, LUD_EMPO_GOAL * number},
        {g->entry_paths, &sent->entry_paths, host->entry_paths, LUD_EMPO_GOAL_PATHS * paths},
        {g->entry_alone, &sent->entry_alone, host->entry_alone, paths}};
    memcpy(list, all, sizeof all);
}

void lud_empo_staging_pack(lud_empo_staging *s, int64_t n, int64_t n_entries, lud_upload_batch *upload) {
    input list[INPUTS];
    assert(n <= s->max_states && n_entries <= s->max_entries);
    list_inputs(s, &(lud_empo_graph){0}, list);
    for (int i = 0; i < INPUTS; i++)
        if (list[i].row_bytes > 0)
            lud_upload_batch_add(upload, list[i].pointer, list[i].host,
                                 (size_t)(i < STATE_INPUTS ? n : n_entries) * list[i].row_bytes);
}

void lud_empo_staging_bind(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int64_t first,
                           int64_t first_entry, int64_t n_entries) {
    input list[INPUTS];
    list_inputs(s, g, list);
    for (int i = 0; i < INPUTS; i++) {
        if (list[i].row_bytes == 0) continue;
        const char *sent;
        memcpy(&sent, list[i].pointer, sizeof sent);
        lud_nn_bind(net, list[i].value,
                    sent + (size_t)(i < STATE_INPUTS ? first : first_entry) * list[i].row_bytes);
    }
    lud_nn_set_rows(net, g->entries, n_entries);
}

static void upload(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int first, int last,
                   int64_t n) {
    input list[INPUTS];
    list_inputs(s, g, list);
    for (int i = first; i < last; i++)
        if (list[i].row_bytes > 0)
            lud_device_upload(s->device, lud_nn_value(net, list[i].value), list[i].host,
                              (size_t)n * list[i].row_bytes);
}

void lud_empo_staging_states(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int64_t n,
                             const int32_t *const *records) {
    for (int64_t i = 0; i < n; i++) lud_empo_staging_state(s, i, records[i]);
    upload(s, net, g, 0, STATE_INPUTS, n);
}

void lud_empo_staging_entries(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int64_t n) {
    upload(s, net, g, STATE_INPUTS, INPUTS, n);
    lud_nn_set_rows(net, g->entries, n);
}
