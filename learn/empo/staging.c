#include "learn/empo/staging.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool lud_empo_staging_create(lud_device *device, const lud_empo_features *features, int64_t max_states,
                             int64_t max_entries, lud_empo_staging *s) {
    const size_t n = (size_t)max_states, entries = (size_t)max_entries, real = sizeof(float);
    *s = (lud_empo_staging){
        .device = device, .features = features, .max_states = max_states, .max_entries = max_entries};
    s->global = calloc(n * LUD_EMPO_GLOBAL, real);
    s->agents = calloc(n * LUD_EMPO_AGENT * (size_t)features->grid->n_agents, real);
    s->interactive = calloc(n * LUD_EMPO_INTERACTIVE, real);
    s->grid = calloc(n * (size_t)features->grid->n_cells, sizeof(int32_t));
    s->entry_features = calloc(entries * LUD_EMPO_AGENT, real);
    s->entry_goal = calloc(entries * LUD_EMPO_GOAL, real);
    s->entry_state = calloc(entries, sizeof(int32_t));
    s->entry_agent = calloc(entries, sizeof(int32_t));
    s->entry_cell = calloc(entries, sizeof(int32_t));
    return s->global && s->agents && s->interactive && s->grid && s->entry_features && s->entry_goal &&
           s->entry_state && s->entry_agent && s->entry_cell;
}

void lud_empo_staging_free(lud_empo_staging *s) {
    float *const reals[] = {s->global, s->agents, s->interactive, s->entry_features, s->entry_goal};
    int32_t *const integers[] = {s->grid, s->entry_state, s->entry_agent, s->entry_cell};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) free(reals[i]);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) free(integers[i]);
    *s = (lud_empo_staging){0};
}

void lud_empo_staging_states(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int64_t n,
                             const int32_t *const *records) {
    const lud_empo_features *f = s->features;
    const size_t agents = LUD_EMPO_AGENT * (size_t)f->grid->n_agents, cells = (size_t)f->grid->n_cells;
    assert(n <= s->max_states);
    for (int64_t i = 0; i < n; i++) {
        const int32_t *record = records[i];
        memcpy(s->global + i * LUD_EMPO_GLOBAL, record, LUD_EMPO_GLOBAL * sizeof(float));
        memcpy(s->agents + (size_t)i * agents, record + f->agents_at, agents * sizeof(float));
        if (f->interactive)
            memcpy(s->interactive + i * LUD_EMPO_INTERACTIVE, record + f->interactive_at,
                   LUD_EMPO_INTERACTIVE * sizeof(float));
        memcpy(s->grid + (size_t)i * cells, record + f->grid_at, cells * sizeof(int32_t));
    }
    const size_t rows = (size_t)n;
    lud_device_upload(s->device, lud_nn_value(net, g->global), s->global,
                      rows * LUD_EMPO_GLOBAL * sizeof(float));
    lud_device_upload(s->device, lud_nn_value(net, g->agents), s->agents, rows * agents * sizeof(float));
    lud_device_upload(s->device, lud_nn_value(net, g->interactive), s->interactive,
                      rows * LUD_EMPO_INTERACTIVE * sizeof(float));
    lud_device_upload(s->device, lud_nn_value(net, g->grid), s->grid, rows * cells * sizeof(int32_t));
}

void lud_empo_staging_entry(lud_empo_staging *s, int64_t i, int64_t row, const int32_t *record, int h,
                            int goal) {
    const lud_empo_features *f = s->features;
    const int agent = f->layout.humans[h];
    assert(i < s->max_entries);
    s->entry_state[i] = (int32_t)row;
    s->entry_agent[i] = agent;
    s->entry_cell[i] = lud_empo_features_cell(f, record, agent);
    memcpy(s->entry_features + i * LUD_EMPO_AGENT, lud_empo_features_agent(f, record, agent),
           LUD_EMPO_AGENT * sizeof(float));
    const int32_t *rectangle = f->goals + 4 * (f->layout.goal_begin[h] + goal);
    for (int k = 0; k < LUD_EMPO_GOAL; k++)
        s->entry_goal[i * LUD_EMPO_GOAL + k] = goal < 0 ? 0.0f : (float)rectangle[k];
}

void lud_empo_staging_entries(lud_empo_staging *s, lud_nn *net, const lud_empo_graph *g, int64_t n) {
    const size_t entries = (size_t)n;
    lud_device_upload(s->device, lud_nn_value(net, g->entry_state), s->entry_state,
                      entries * sizeof(int32_t));
    lud_device_upload(s->device, lud_nn_value(net, g->entry_agent), s->entry_agent,
                      entries * sizeof(int32_t));
    lud_device_upload(s->device, lud_nn_value(net, g->entry_cell), s->entry_cell, entries * sizeof(int32_t));
    lud_device_upload(s->device, lud_nn_value(net, g->entry_features), s->entry_features,
                      entries * LUD_EMPO_AGENT * sizeof(float));
    lud_device_upload(s->device, lud_nn_value(net, g->entry_goal), s->entry_goal,
                      entries * LUD_EMPO_GOAL * sizeof(float));
    lud_nn_set_rows(net, g->entries, n);
}
