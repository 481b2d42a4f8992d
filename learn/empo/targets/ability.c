#include "learn/empo/targets/ability.h"

#include <math.h>

#include "base/random.h"

bool lud_empo_ability_start(lud_empo_ability *p) {
    const lud_empo_layout *layout = &p->features->layout;
    const int64_t drawn = p->options->x_h_goals * layout->n_humans;
    const size_t most = (size_t)(drawn > layout->n_goals ? drawn : layout->n_goals);
    p->arrays.device = p->entry_arrays.device = p->device;
    LUD_TAKE(&p->arrays, p->weight, most);
    LUD_TAKE(&p->arrays, p->weight_host, most);
    return lud_empo_staging_create(p->device, p->features, p->walk, 0, 0, &p->staging) && !p->arrays.failed;
}

void lud_empo_ability_free(lud_empo_ability *p) {
    lud_arrays_free(&p->arrays);
    lud_arrays_free(&p->entry_arrays);
    lud_empo_staging_free(&p->staging);
    *p = (lud_empo_ability){0};
}

static bool make_room(lud_empo_ability *p, int64_t entries) {
    if (entries <= p->room) return true;
    const size_t n = (size_t)(entries + entries / 2);
    lud_arrays *a = &p->entry_arrays;
    lud_arrays_free(a);
    ++*p->n_grown;
    LUD_TAKE(a, p->offsets, n + 1);
    LUD_TAKE(a, p->from_table, n);
    LUD_TAKE_ON_DEVICE(a, p->made, n);
    LUD_TAKE_ON_DEVICE(a, p->scratch, n);
    p->room = a->failed ? 0 : (int64_t)n;
    return !a->failed;
}

static int goals_of(const lud_empo_ability *p, int h) {
    const lud_empo_layout *layout = &p->features->layout;
    return p->all ? lud_empo_goals_of(layout, h) : (int)p->options->x_h_goals;
}

/* Goal k of person h: the k-th of all, or a draw. */
static int goal_of(const lud_empo_ability *p, uint32_t draw, int64_t row, int h, int k) {
    if (p->all) return k;
    const lud_random_key key = {(uint64_t)draw, (uint32_t)row};
    const lud_words words = lud_draw(key, (uint32_t)k, (uint32_t)h, LUD_PURPOSE_GOAL, 0x100);
    return lud_empo_features_draw_goal(p->features, h, lud_unit53(words.v[0], words.v[1]));
}

/* Weights of entries and, for sums on the device, where the entries of each person begin. */
static bool stage_sums(lud_empo_ability *p, int64_t n, bool all, lud_upload_batch *upload) {
    const lud_empo_layout *layout = &p->features->layout;
    p->n = n;
    p->all = all || p->options->x_h_goals == 0;
    p->direct = upload->direct;
    p->per_state = 0;
    for (int h = 0; h < layout->n_humans; h++)
        for (int k = 0; k < goals_of(p, h); k++)
            p->weight[p->per_state++] = p->all ? p->features->goal_weight[layout->goal_begin[h] + k]
                                               : p->features->weight_sum[h] / goals_of(p, h);
    if (!make_room(p, n * p->per_state)) return false;
    if (p->direct) return true;
    for (int64_t k = 0; k < p->per_state; k++) p->weight_host[k] = (float)p->weight[k];
    int32_t *offset = p->offsets;
    *offset = 0;
    for (int64_t i = 0; i < n; i++)
        for (int h = 0; h < layout->n_humans; h++, offset++) offset[1] = offset[0] + goals_of(p, h);
    lud_upload_batch_add(upload, &p->weight_sent, p->weight_host,
                         (size_t)p->per_state * sizeof *p->weight_host);
    lud_upload_batch_add(upload, &p->offsets_sent, p->offsets,
                         (size_t)(n * layout->n_humans + 1) * sizeof *p->offsets);
    return true;
}

bool lud_empo_ability_stage(lud_empo_ability *p, int64_t n, int64_t rows, const int32_t *const *records,
                            uint32_t draw, int64_t group, bool all, lud_upload_batch *upload) {
    if (!stage_sums(p, rows, all, upload)) return false;
    p->known = false;
    p->value = p->made;
    p->at_once = p->max_entries / p->per_state;
    if (p->at_once > p->max_states) p->at_once = p->max_states;
    p->group = p->direct ? group : rows;
    if (!p->table && !lud_empo_staging_room(&p->staging, rows, rows * p->per_state)) return false;
    int64_t entry = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int32_t *record = records[i < n ? i : n - 1];
        const uint64_t key = p->table ? lud_empo_state_key(p->features, record) : 0;
        const int64_t first = i - i % group;
        if (!p->table) lud_empo_staging_state(&p->staging, i, record);
        for (int h = 0; h < p->features->layout.n_humans; h++)
            for (int k = 0; k < goals_of(p, h); k++, entry++) {
                const int goal = goal_of(p, draw + (uint32_t)first, i - first, h, k);
                if (p->table)
                    p->from_table[entry] = *lud_empo_table_read(p->table, lud_empo_goal_key(key, h, goal));
                else
                    lud_empo_staging_entry(&p->staging, entry, i % p->group % p->at_once, record, h, goal);
            }
    }
    if (p->table)
        lud_upload_batch_add(upload, &p->value, p->from_table, (size_t)entry * sizeof *p->from_table);
    else
        lud_empo_staging_pack(&p->staging, rows, entry, upload);
    return true;
}

bool lud_empo_ability_stage_known(lud_empo_ability *p, int64_t n, const float *v_h_e,
                                  lud_upload_batch *upload) {
    p->known = true;
    p->value = v_h_e;
    return stage_sums(p, n, true, upload);
}

static void queue_passes(lud_empo_ability *p) {
    for (int64_t first = 0, rows; first < p->n; first += rows) {
        rows = p->group - first % p->group;
        if (rows > p->at_once) rows = p->at_once;
        if (rows > p->n - first) rows = p->n - first;
        const int64_t entries = rows * p->per_state;
        lud_empo_staging_bind(&p->staging, p->net, p->graph, first, first * p->per_state, entries);
        lud_nn_forward(p->net, rows, false);
        lud_device_copy(p->device, p->made + first * p->per_state, lud_nn_value(p->net, p->graph->v_h_e),
                        (size_t)entries * sizeof(float));
    }
}

/* The CPU's memory is the host's. */
static void sum_in_double(const lud_empo_ability *p, float *x) {
    const double zeta = p->options->theory.zeta;
    const float *value = p->value;
    for (int64_t i = 0; i < p->n; i++) {
        const double *weight = p->weight;
        for (int h = 0; h < p->features->layout.n_humans; h++) {
            double sum = 0;
            for (int k = goals_of(p, h); k > 0; k--, value++, weight++)
                sum += *weight * (zeta == 2.0 ? (double)*value * (double)*value : pow((double)*value, zeta));
            *x++ = (float)sum;
        }
    }
}

void lud_empo_ability_queue(lud_empo_ability *p, float *x) {
    if (!p->known && !p->table) queue_passes(p);
    if (p->direct) {
        sum_in_double(p, x);
        return;
    }
    const lud_ops *ops = p->device->ops;
    ops->map(p->device, (lud_map){LUD_MAP_POWER, p->options->theory.zeta, 0.0}, p->n * p->per_state, p->value,
             p->scratch);
    ops->scale_columns(p->device, p->n, p->per_state, p->scratch, p->weight_sent, p->scratch);
    ops->segment_reduce(p->device, LUD_REDUCE_SUM, p->n * p->features->layout.n_humans, 1, p->offsets_sent,
                        NULL, p->scratch, x, NULL);
}
