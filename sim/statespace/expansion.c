#include "sim/statespace/expansion.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace_build.h"

enum {
    BLOCK_RECORDS = 32768, /* successors a thread gathers at once, about: its buffers stay in the cache */
    MAX_BLOCK_STATES = 2048
};

uint64_t lud_expansion_block(int32_t n_joint_actions) {
    uint64_t states = BLOCK_RECORDS / (uint64_t)n_joint_actions;
    return states < 1 ? 1 : states > MAX_BLOCK_STATES ? MAX_BLOCK_STATES : states;
}

lud_status lud_expansion_create(lud_expansion *e, const lud_model *model, int32_t n_joint_actions,
                                uint64_t block_states, lud_error *error) {
    *e = (lud_expansion){.model = model, .n_joint_actions = n_joint_actions, .block_states = block_states};
    e->row_count = malloc(block_states * (uint64_t)n_joint_actions * sizeof *e->row_count);
    e->joint_action = calloc((size_t)model->layout.n_agents + 1, sizeof *e->joint_action);
    if (!e->row_count || !e->joint_action) return lud_no_memory(error, "successors");
    return lud_expansion_reserve(e, block_states * (uint64_t)n_joint_actions, error);
}

void lud_expansion_free(lud_expansion *e) {
    lud_successors_free(&e->successors);
    lud_successors_free(&e->scratch);
    LUD_FREE(e->joint_action, e->row_count, e->records, e->tags, e->numbers, e->probability);
    *e = (lud_expansion){0};
}

lud_status lud_expansion_reserve(lud_expansion *e, size_t more, lud_error *error) {
    size_t need = e->n_records + more;
    if (need <= e->record_capacity) return LUD_OK;
    size_t capacity = e->record_capacity + e->record_capacity / 2;
    if (capacity < need) capacity = need;
    uint8_t *records = realloc(e->records, capacity * e->model->layout.state_bytes);
    if (records) e->records = records;
    uint32_t *tags = realloc(e->tags, capacity * sizeof *tags);
    if (tags) e->tags = tags;
    uint32_t *numbers = realloc(e->numbers, capacity * sizeof *numbers);
    if (numbers) e->numbers = numbers;
    if (!records || !tags || !numbers) return lud_no_memory(error, "successors");
    e->record_capacity = capacity;
    return LUD_OK;
}

static lud_status add_branch(lud_expansion *e, const double *probability, size_t n, lud_error *error) {
    const size_t need = e->n_branch_records + n;
    if (need > e->probability_capacity) {
        size_t capacity = need + need / 2 + 1024;
        double *larger = realloc(e->probability, capacity * sizeof *larger);
        if (!larger) return lud_no_memory(error, "successors");
        e->probability = larger;
        e->probability_capacity = capacity;
    }
    memcpy(e->probability + e->n_branch_records, probability, n * sizeof *probability);
    e->n_branch_records = need;
    e->n_branches++;
    return LUD_OK;
}

/* The same as a world's all_successors, by its successors. */
static lud_status ask_for_each(lud_expansion *e, const uint8_t *state, uint32_t *count, lud_error *error) {
    const lud_model *model = e->model;
    const size_t state_bytes = model->layout.state_bytes;
    lud_successors *all = &e->successors, *one = &e->scratch;
    all->n = 0;
    memset(count, 0, (size_t)e->n_joint_actions * sizeof *count);
    memset(e->joint_action, 0, (size_t)model->layout.n_agents * sizeof *e->joint_action);
    for (int32_t k = 0; k < e->n_joint_actions; k++) {
        LUD_TRY(model->world->successors(model, state, e->joint_action, one, error));
        if (one->n == 0) return LUD_OK;
        LUD_TRY(lud_successors_reserve(all, state_bytes, one->n, error));
        memcpy(all->states + all->n * state_bytes, one->states, one->n * state_bytes);
        memcpy(all->probability + all->n, one->probability, one->n * sizeof *one->probability);
        all->n += one->n;
        count[k] = (uint32_t)one->n;
        lud_joint_action_next(&model->layout, e->joint_action);
    }
    return LUD_OK;
}

lud_status lud_expansion_list(lud_expansion *e, const uint8_t *states, uint64_t n_states, lud_error *error) {
    const lud_model *model = e->model;
    const size_t state_bytes = model->layout.state_bytes;
    assert(n_states <= e->block_states);
    e->n_states = n_states;
    e->n_records = e->n_branches = e->n_branch_records = 0;
    e->n_terminal = 0;
    uint32_t *count = e->row_count;
    for (uint64_t s = 0; s < n_states; s++, count += e->n_joint_actions) {
        const uint8_t *state = states + s * state_bytes;
        const lud_successors *all = &e->successors;
        if (model->world->all_successors)
            LUD_TRY(model->world->all_successors(model, state, &e->scratch, &e->successors, count, error));
        else
            LUD_TRY(ask_for_each(e, state, count, error));
        if (all->n == 0) {
            e->n_terminal++;
            continue;
        }
        LUD_TRY(lud_expansion_reserve(e, all->n, error));
        memcpy(e->records + e->n_records * state_bytes, all->states, all->n * state_bytes);
        lud_state_tags(all->n, all->states, state_bytes, e->tags + e->n_records);
        e->n_records += all->n;
        size_t at = 0;
        for (int32_t k = 0; k < e->n_joint_actions; at += count[k++])
            if (count[k] > 1) LUD_TRY(add_branch(e, all->probability + at, count[k], error));
    }
    return LUD_OK;
}

uint64_t lud_expansion_bytes(const lud_expansion *e) {
    return e->record_capacity * (e->model->layout.state_bytes + sizeof *e->tags + sizeof *e->numbers) +
           e->probability_capacity * sizeof *e->probability;
}
