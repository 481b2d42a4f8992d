#include "sim/statespace/statespace.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "sim/statespace/distributions.h"
#include "sim/statespace/expansion.h"
#include "sim/statespace/recurring.h"
#include "sim/statespace/state_sort.h"
#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace_build.h"

/* How it works. A layer is expanded in rounds. In a round every thread (1) lists the successors of its block
 * of states into buffers of its own, then, after one thread has made room for all that was found, (2) looks
 * its successors up in the shared table, which gives the new ones provisional numbers, and writes its rows.
 * When the layer is done its new states are sorted, appended, and the numbers in the layer's rows and in the
 * table replaced by the final ones. Only the order in which states meet the table depends on timing, and
 * sorting removes that.
 *
 * States that recur (recurring.h) are not listed: before the rounds what follows from them is looked up once
 * a state, not once a row, and their rows are those of the layer before with these numbers put in. */

enum {
    MAX_LOCAL_KINDS = 1 << 16, /* distributions a thread remembers before it starts anew */
    GROUP = 32                 /* states that go to the table together */
};

/* What one thread owns. */
typedef struct worker {
    lud_expansion out; /* successors of the states of this round's block that do not recur */
    uint8_t *listed;   /* [block_states][state_bytes] these, where some do */
    uint64_t recurring_branches, recurring_successors, recurring_transitions; /* of those that do */
    lud_state_cursor cursor;
    uint64_t first_state, n_states; /* this round's block */
    size_t branch_capacity;
    uint32_t *kinds; /* [out.n_branches] numbers in local_kinds */
    lud_distributions local_kinds;
    uint32_t *global_kind; /* [local_kinds.n] where known */
    uint32_t n_global_kinds, global_kind_capacity;
    uint64_t first_branch, first_successor; /* where this round's branches go */
    lud_status status;
    lud_error error;
} worker;

typedef struct builder {
    lud_statespace *space;
    const lud_statespace_options *options;
    uint64_t memory_limit, max_states;
    int n_threads;
    worker *workers;
    uint64_t block_states;
    bool may_recur;
    uint64_t layer;           /* first state of the layer in hand */
    uint32_t *before, *later; /* of its states, see recurring.h; null: none recurs */
    lud_state_store store;
    uint64_t fresh_capacity, layer_capacity; /* in states, in layers */
    lud_distributions kinds;
    lud_progress progress;
    lud_error *error;
} builder;

static lud_status out_of_memory(builder *b) {
    return lud_fail(b->error, LUD_ERROR_MEMORY, "out of memory after %" PRIu64 " states", b->space->n_states);
}

/* Makes room for `need` elements of `size` in *array, growing by half; *capacity counts elements. */
static lud_status grow(builder *b, void *array, uint64_t *capacity, uint64_t need, size_t size) {
    if (need <= *capacity) return LUD_OK;
    uint64_t larger = *capacity + *capacity / 2;
    if (larger < need) larger = need;
    void *old, *moved = NULL;
    memcpy(&old, array, sizeof old);
    if (larger <= SIZE_MAX / 2 / (size ? size : 1)) moved = realloc(old, larger * size);
    if (!moved) return out_of_memory(b);
    memcpy(array, &moved, sizeof moved);
    *capacity = larger;
    return LUD_OK;
}

/* The arrays that may lie in files keep their addresses in the state space too. */
static void find_arrays(builder *b) {
    lud_statespace *space = b->space;
    space->rows = space->arrays[LUD_ARRAY_ROWS].bytes;
    space->successor = space->arrays[LUD_ARRAY_SUCCESSOR].bytes;
    space->branch_begin = space->arrays[LUD_ARRAY_BRANCH_BEGIN].bytes;
    space->branch_kind = space->arrays[LUD_ARRAY_BRANCH_KIND].bytes;
    space->states = space->arrays[LUD_ARRAY_STATES].bytes;
    b->store.known = space->states;
}

/* Makes room for `bytes` in one of them, growing by half. */
static lud_status grow_array(builder *b, lud_statespace_array which, uint64_t bytes) {
    lud_large_array *array = &b->space->arrays[which];
    if (bytes <= array->capacity) return LUD_OK;
    uint64_t larger = array->capacity + array->capacity / 2;
    lud_status status = lud_large_array_reserve(array, larger > bytes ? larger : bytes, b->error);
    find_arrays(b);
    return status;
}

/* Bytes of an array that are in use. */
static uint64_t array_bytes(const lud_statespace *space, lud_statespace_array which) {
    switch (which) {
    case LUD_ARRAY_ROWS:
        return space->n_states * (uint64_t)space->n_joint_actions * sizeof *space->rows;
    case LUD_ARRAY_SUCCESSOR:
        return space->n_successors * sizeof *space->successor;
    case LUD_ARRAY_BRANCH_BEGIN:
        return (space->n_branches + 1) * sizeof *space->branch_begin;
    case LUD_ARRAY_BRANCH_KIND:
        return space->n_branches * sizeof *space->branch_kind;
    default:
        return space->n_states * space->state_bytes;
    }
}

static uint64_t bytes_held(const builder *b) {
    uint64_t bytes = lud_state_table_bytes(b->space->table) + lud_distributions_bytes(&b->kinds);
    for (int i = 0; i < LUD_STATESPACE_ARRAYS; i++)
        if (!b->space->arrays[i].mapped) bytes += array_bytes(b->space, (lud_statespace_array)i);
    return bytes;
}

/* Moves the next array that still is in memory to a file; *moved gets false when none is left. */
static lud_status move_to_file(builder *b, bool *moved) {
    *moved = false;
    for (int i = 0; i < LUD_STATESPACE_ARRAYS; i++) {
        lud_large_array *array = &b->space->arrays[i];
        /* the last layer's rows may be written already and are not counted yet: all of it moves */
        if (array->mapped) continue;
        lud_status status = lud_large_array_to_file(array, array->capacity, b->options->folder, b->error);
        find_arrays(b);
        *moved = !status;
        return status;
    }
    return LUD_OK;
}

/* Notes the memory in use, `extra` bytes of passing needs included, and keeps it within the limit. */
static lud_status check_memory(builder *b, uint64_t extra) {
    uint64_t beside = b->store.n_fresh * b->store.state_bytes + extra;
    for (int t = 0; t < b->n_threads; t++) {
        const worker *w = &b->workers[t];
        beside += lud_expansion_bytes(&w->out) + w->branch_capacity * sizeof *w->kinds +
                  lud_distributions_bytes(&w->local_kinds) +
                  (w->listed ? b->block_states * b->store.state_bytes : 0);
    }
    if (b->before) beside += (b->space->n_states - b->layer) * (sizeof *b->before + sizeof *b->later);
    uint64_t bytes = bytes_held(b) + beside;
    for (bool moved = b->options->folder != NULL; moved && bytes > b->memory_limit;) {
        LUD_TRY(move_to_file(b, &moved));
        bytes = bytes_held(b) + beside;
    }
    if (bytes > b->space->peak_bytes) b->space->peak_bytes = bytes;
    if (bytes <= b->memory_limit) return LUD_OK;
    char limit[16];
    return lud_fail(b->error, LUD_ERROR_MEMORY,
                    "the state space needs more than the memory limit of %s: reached %" PRIu64
                    " states in layer %d",
                    lud_format_memory((double)b->memory_limit, limit), b->space->n_states + b->store.n_fresh,
                    b->space->n_layers);
}

/* Numbers the distributions of the worker's branches among its own. */
static lud_status number_branches(worker *w) {
    const lud_expansion *out = &w->out;
    if (out->n_branches > w->branch_capacity) {
        size_t capacity = out->n_branches * 2 + 1024;
        uint32_t *kinds = realloc(w->kinds, capacity * sizeof *kinds);
        if (!kinds) return lud_no_memory(&w->error, "branches");
        w->kinds = kinds;
        w->branch_capacity = capacity;
    }
    const double *probability = out->probability;
    const uint32_t *count = out->row_count;
    for (size_t branch = 0; branch < out->n_branches; count++) {
        if (*count < 2) continue;
        LUD_TRY(
            lud_distributions_number(&w->local_kinds, probability, *count, &w->kinds[branch++], &w->error));
        probability += *count;
    }
    return LUD_OK;
}

/* Counts what a recurring state's rows hold, from those of the state before. */
static void count_recurring(const lud_statespace *space, uint64_t before, worker *w) {
    for (int32_t k = 0; k < space->n_joint_actions; k++) {
        const uint32_t *successor, n = lud_recurring_row(space, before, k, &successor);
        w->recurring_transitions += n;
        if (n < 2) continue;
        w->recurring_branches++;
        w->recurring_successors += n;
    }
}

/* Lists the successors of the worker's block into its buffers, but for states that recur. */
static lud_status expand(const builder *b, worker *w) {
    const size_t state_bytes = b->store.state_bytes;
    const uint8_t *states = b->space->states + w->first_state * state_bytes;
    uint64_t n_listed = w->n_states;
    w->recurring_branches = w->recurring_successors = w->recurring_transitions = 0;
    if (b->before) {
        const uint32_t *before = b->before + (w->first_state - b->layer);
        n_listed = 0;
        for (uint64_t i = 0; i < w->n_states; i++)
            if (before[i] == LUD_NOT_RECURRING)
                memcpy(w->listed + n_listed++ * state_bytes, states + i * state_bytes, state_bytes);
            else
                count_recurring(b->space, before[i], w);
        states = w->listed;
    }
    LUD_TRY(lud_expansion_list(&w->out, states, n_listed, &w->error));
    return number_branches(w);
}

/* Gives the distributions a worker met first in this round their numbers. Done in block order, hence in the
 * order of rows, whatever the number of threads. */
static lud_status number_kinds(builder *b, worker *w) {
    if (w->local_kinds.n > w->global_kind_capacity) {
        uint32_t capacity = w->local_kinds.n * 2;
        uint32_t *global_kind = realloc(w->global_kind, capacity * sizeof *global_kind);
        if (!global_kind) return out_of_memory(b);
        w->global_kind = global_kind;
        w->global_kind_capacity = capacity;
    }
    for (; w->n_global_kinds < w->local_kinds.n; w->n_global_kinds++) {
        uint64_t begin = w->local_kinds.begin[w->n_global_kinds];
        LUD_TRY(lud_distributions_number(&b->kinds, w->local_kinds.probability + begin,
                                         w->local_kinds.begin[w->n_global_kinds + 1] - begin,
                                         &w->global_kind[w->n_global_kinds], b->error));
    }
    return LUD_OK;
}

lud_status lud_statespace_check_numbers(uint64_t n_states, uint64_t n_fresh, uint64_t n_branches,
                                        int n_layers, lud_error *error) {
    if (n_branches >= LUD_ROW_NONE - LUD_ROW_BRANCH)
        return lud_fail(error, LUD_ERROR_LIMIT, "more than 2^31 branching rows after %" PRIu64 " states",
                        n_states);
    if (n_states + n_fresh > LUD_MAX_STATES)
        return lud_fail(error, LUD_ERROR_LIMIT, "more than 2^31 states: reached %" PRIu64 " in layer %d",
                        n_states, n_layers);
    return LUD_OK;
}

/* New states that there may be at most when each thread has looked up its part of `more`. */
static uint64_t fresh_after(const builder *b, uint64_t more) {
    return b->store.n_fresh + more + (uint64_t)b->n_threads * LUD_STATE_CURSOR_CHUNK;
}

/* Makes room in the table for so many new states. */
static lud_status reserve_slots(builder *b, uint64_t fresh) {
    const lud_statespace *space = b->space;
    const unsigned now = space->table->log2_slots, then = lud_state_table_log2_slots(space->n_states + fresh);
    LUD_TRY(check_memory(b, then > now ? sizeof(uint64_t) << then : 0));
    return lud_state_table_reserve(space->table, space->n_states + fresh, b->error);
}

/* Between the two halves of a round: room for everything found, and each worker's place for its branches. */
static lud_status prepare_round(builder *b, int n_workers) {
    lud_statespace *space = b->space;
    uint64_t n_records = 0, n_branches = space->n_branches, n_successors = space->n_successors;
    for (int t = 0; t < n_workers; t++) {
        worker *w = &b->workers[t];
        if (w->status) {
            if (b->error) *b->error = w->error;
            return w->status;
        }
        n_records += w->out.n_records;
        w->first_branch = n_branches;
        w->first_successor = n_successors;
        n_branches += w->out.n_branches + w->recurring_branches;
        n_successors += w->out.n_branch_records + w->recurring_successors;
        space->n_terminal += w->out.n_terminal;
        space->n_transitions += w->out.n_records + w->recurring_transitions;
        LUD_TRY(number_kinds(b, w));
    }
    const uint64_t fresh = fresh_after(b, n_records);
    LUD_TRY(lud_statespace_check_numbers(space->n_states, fresh, n_branches, space->n_layers, b->error));
    LUD_TRY(grow(b, &b->store.fresh, &b->fresh_capacity, fresh, b->store.state_bytes));
    LUD_TRY(grow_array(b, LUD_ARRAY_BRANCH_BEGIN, (n_branches + 1) * sizeof *space->branch_begin));
    LUD_TRY(grow_array(b, LUD_ARRAY_BRANCH_KIND, n_branches * sizeof *space->branch_kind));
    LUD_TRY(grow_array(b, LUD_ARRAY_SUCCESSOR, n_successors * sizeof *space->successor));
    const lud_status status = reserve_slots(b, fresh);
    space->n_branches = n_branches;
    space->n_successors = n_successors;
    return status;
}

/* Looks states up that are in none of the finished layers; those that are new count on from n_states for now.
 */
static void insert(builder *b, worker *w, size_t n, const uint8_t *states, const uint32_t *tags,
                   uint32_t *numbers) {
    lud_state_table_insert(b->space->table, &b->store, &w->cursor, n, states, tags, numbers);
    const uint32_t n_states = (uint32_t)b->space->n_states;
    for (size_t i = 0; i < n; i++)
        if (numbers[i] >= LUD_STATE_FRESH) numbers[i] += n_states - LUD_STATE_FRESH;
}

/* Where the worker writes and reads next. */
typedef struct row_place {
    uint32_t *word;             /* of the row */
    uint64_t branch, successor; /* in the state space */
    size_t row, record, kind;   /* in the worker's lists */
} row_place;

/* The rows of a state that was listed. */
static void write_listed(const builder *b, const worker *w, row_place *at) {
    const lud_statespace *space = b->space;
    const lud_expansion *out = &w->out;
    for (int32_t k = 0; k < space->n_joint_actions; k++) {
        const uint32_t count = out->row_count[at->row++];
        if (count == 1) {
            *at->word++ = out->numbers[at->record];
        } else if (count == 0) {
            *at->word++ = LUD_ROW_NONE;
        } else {
            *at->word++ = LUD_ROW_BRANCH + (uint32_t)at->branch;
            space->branch_kind[at->branch] = w->global_kind[w->kinds[at->kind++]];
            memcpy(space->successor + at->successor, out->numbers + at->record, count * sizeof *out->numbers);
            at->successor += count;
            space->branch_begin[++at->branch] = at->successor;
        }
        at->record += count;
    }
}

/* The rows of a state that recurs: those of the one before, a step later. */
static void write_recurring(const builder *b, uint64_t before, row_place *at) {
    const lud_statespace *space = b->space;
    const uint32_t *word = space->rows + before * (uint64_t)space->n_joint_actions, *later = b->later;
    const uint64_t layer = b->layer;
    for (int32_t k = 0; k < space->n_joint_actions; k++) {
        if (word[k] < LUD_ROW_BRANCH) {
            *at->word++ = later[word[k] - layer];
            continue;
        }
        const uint32_t branch = word[k] - LUD_ROW_BRANCH;
        const uint64_t end = space->branch_begin[branch + 1];
        *at->word++ = LUD_ROW_BRANCH + (uint32_t)at->branch;
        space->branch_kind[at->branch] = space->branch_kind[branch];
        for (uint64_t i = space->branch_begin[branch]; i < end; i++)
            space->successor[at->successor++] = later[space->successor[i] - layer];
        space->branch_begin[++at->branch] = at->successor;
    }
}

/* Looks the worker's successors up and writes its rows. */
static void write_rows(builder *b, worker *w) {
    const lud_statespace *space = b->space;
    insert(b, w, w->out.n_records, w->out.records, w->out.tags, w->out.numbers);
    row_place at = {.word = space->rows + w->first_state * (uint64_t)space->n_joint_actions,
                    .branch = w->first_branch,
                    .successor = w->first_successor};
    for (uint64_t s = w->first_state; s < w->first_state + w->n_states; s++)
        if (b->before && b->before[s - b->layer] != LUD_NOT_RECURRING)
            write_recurring(b, b->before[s - b->layer], &at);
        else
            write_listed(b, w, &at);
    if (w->local_kinds.n > MAX_LOCAL_KINDS) {
        lud_distributions_clear(&w->local_kinds);
        w->n_global_kinds = 0;
    }
}

/* Sorts the fresh states and appends them as a new layer. rank[fresh number] gets the final number; the
 * caller frees it. Nothing to append leaves *rank null. */
static lud_status append_layer(builder *b, uint32_t **rank) {
    lud_statespace *space = b->space;
    size_t state_bytes = b->store.state_bytes;
    uint64_t n_fresh = b->store.n_fresh, n = n_fresh;
    *rank = NULL;
    for (int t = 0; t < b->n_threads; t++) n -= b->workers[t].cursor.end - b->workers[t].cursor.next;
    if (n == 0) return LUD_OK;
    if (space->n_states + n > b->max_states)
        return lud_fail(b->error, LUD_ERROR_LIMIT,
                        "more than the limit of %" PRIu64 " states: reached %" PRIu64 " in layer %d",
                        b->max_states, space->n_states + n, space->n_layers);
    LUD_TRY(check_memory(b, n * (2 * sizeof(lud_sort_item) + state_bytes) + n_fresh * sizeof **rank));
    LUD_TRY(grow_array(b, LUD_ARRAY_STATES, (space->n_states + n) * state_bytes));
    LUD_TRY(grow(b, &space->layer_begin, &b->layer_capacity, (uint64_t)space->n_layers + 2,
                 sizeof *space->layer_begin));

    lud_sort_item *items = malloc(n * sizeof *items), *scratch = malloc(n * sizeof *scratch);
    *rank = malloc(n_fresh * sizeof **rank);
    if (!items || !scratch || !*rank) {
        free(items);
        free(scratch);
        return out_of_memory(b);
    }
    /* numbers that threads took and did not use are no states */
    memset(*rank, 0, n_fresh * sizeof **rank);
    for (int t = 0; t < b->n_threads; t++) {
        lud_state_cursor *cursor = &b->workers[t].cursor;
        for (uint64_t i = cursor->next; i < cursor->end; i++) (*rank)[i] = UINT32_MAX;
        *cursor = (lud_state_cursor){0};
    }
    size_t n_items = 0;
    for (uint64_t i = 0; i < n_fresh; i++)
        if ((*rank)[i] != UINT32_MAX) items[n_items++] = (lud_sort_item){.number = (uint32_t)i};
    assert(n_items == n);
    lud_state_sort(b->store.fresh, state_bytes, items, scratch, n, b->n_threads);
    uint8_t *layer = space->states + space->n_states * state_bytes;
    uint32_t first = (uint32_t)space->n_states;
#pragma omp parallel num_threads(b->n_threads)
    {
        uint32_t tags[GROUP];
#pragma omp for schedule(static)
        for (size_t group = 0; group < (n + GROUP - 1) / GROUP; group++) {
            size_t begin = group * GROUP, count = n - begin < GROUP ? n - begin : GROUP;
            for (size_t i = 0; i < count; i++) {
                const uint8_t *state = b->store.fresh + (size_t)items[begin + i].number * state_bytes;
                memcpy(layer + (begin + i) * state_bytes, state, state_bytes);
                tags[i] = lud_state_tag(state, state_bytes);
                lud_state_table_prefetch(space->table, tags[i]);
            }
            for (size_t i = 0; i < count; i++) {
                uint32_t number = items[begin + i].number, final = first + (uint32_t)(begin + i);
                (*rank)[number] = final;
                lud_state_table_renumber(space->table, tags[i], LUD_STATE_FRESH + number, final);
            }
        }
    }
    free(items);
    free(scratch);
    b->store.n_fresh = 0;
    space->n_states += n;
    space->layer_begin[++space->n_layers] = space->n_states;
    return LUD_OK;
}

/* Replaces the provisional numbers, which count from `first`, in the rows of a finished layer. */
static void renumber_layer(const builder *b, uint64_t row_begin, uint64_t row_end, uint64_t successor_begin,
                           uint32_t first, const uint32_t *rank) {
    uint32_t *rows = b->space->rows, *successor = b->space->successor;
    uint64_t successor_end = b->space->n_successors;
#pragma omp parallel num_threads(b->n_threads)
    {
#pragma omp for schedule(static) nowait
        for (uint64_t r = row_begin; r < row_end; r++)
            if (rows[r] >= first && rows[r] < LUD_ROW_BRANCH) rows[r] = rank[rows[r] - first];
#pragma omp for schedule(static)
        for (uint64_t i = successor_begin; i < successor_end; i++)
            if (successor[i] >= first) successor[i] = rank[successor[i] - first];
    }
}

/* Looks up what follows from recurring states: the marked states, a step later. */
static void insert_later(builder *b, uint64_t n) {
    const size_t state_bytes = b->store.state_bytes;
#pragma omp parallel for schedule(static, 1) num_threads(b->n_threads)
    for (int t = 0; t < b->n_threads; t++) {
        worker *w = &b->workers[t];
        const uint64_t begin = n * (uint64_t)t / (uint64_t)b->n_threads,
                       end = n * (uint64_t)(t + 1) / (uint64_t)b->n_threads;
        uint32_t place[GROUP];
        size_t n_group = 0;
        for (uint64_t i = begin; i < end; i++) {
            if (b->later[i] != LUD_NOT_RECURRING) {
                uint8_t *state = w->out.records + n_group * state_bytes;
                memcpy(state, b->space->states + (b->layer + i) * state_bytes, state_bytes);
                lud_recurring_advance(&b->space->model->layout, state);
                w->out.tags[n_group] = lud_state_tag(state, state_bytes);
                place[n_group++] = (uint32_t)i;
            }
            if (n_group < GROUP && i + 1 < end) continue;
            insert(b, w, n_group, w->out.records, w->out.tags, w->out.numbers);
            for (size_t g = 0; g < n_group; g++) b->later[place[g]] = w->out.numbers[g];
            n_group = 0;
        }
    }
}

static void forget_recurring(builder *b) {
    LUD_FREE(b->before, b->later);
    b->before = b->later = NULL;
}

/* Finds the layer's states that recur, and what follows from them. */
static lud_status find_recurring(builder *b, uint64_t begin, uint64_t end) {
    const lud_statespace *space = b->space;
    const uint64_t n = end - begin;
    b->layer = begin;
    if (!b->may_recur || space->n_layers < 2) return LUD_OK;
    b->before = malloc(n * sizeof *b->before);
    b->later = malloc(n * sizeof *b->later);
    if (!b->before || !b->later) return out_of_memory(b);
    const uint64_t earlier = space->layer_begin[space->n_layers - 2];
    if (!lud_recurring_find(space, earlier, begin, end, b->n_threads, b->before)) {
        forget_recurring(b);
        return LUD_OK;
    }
    memset(b->later, 0xff, n * sizeof *b->later);
    const uint64_t n_marked = lud_recurring_mark(space, begin, end, b->n_threads, b->before, b->later),
                   fresh = fresh_after(b, n_marked);
    LUD_TRY(
        lud_statespace_check_numbers(space->n_states, fresh, space->n_branches, space->n_layers, b->error));
    LUD_TRY(grow(b, &b->store.fresh, &b->fresh_capacity, fresh, b->store.state_bytes));
    for (int t = 0; t < b->n_threads; t++) {
        worker *w = &b->workers[t];
        w->out.n_records = 0;
        if (lud_expansion_reserve(&w->out, GROUP, NULL)) return out_of_memory(b);
        if (!w->listed) w->listed = malloc(b->block_states * b->store.state_bytes);
        if (!w->listed) return out_of_memory(b);
    }
    LUD_TRY(reserve_slots(b, fresh));
    insert_later(b, n);
    return LUD_OK;
}

static lud_status expand_layer(builder *b, uint64_t begin, uint64_t end) {
    lud_statespace *space = b->space;
    uint64_t n_joint = (uint64_t)space->n_joint_actions;
    LUD_TRY(grow_array(b, LUD_ARRAY_ROWS, end * n_joint * sizeof *space->rows));
    LUD_TRY(find_recurring(b, begin, end));
    for (uint64_t at = begin; at < end;) {
        if (lud_interrupted())
            return lud_fail(b->error, LUD_INTERRUPTED, "interrupted after %" PRIu64 " states",
                            space->n_states);
        uint64_t left = end - at, share = (left + (uint64_t)b->n_threads - 1) / (uint64_t)b->n_threads;
        uint64_t block = share < b->block_states ? share : b->block_states;
        int n_workers = 0;
        for (; n_workers < b->n_threads && at < end; n_workers++) {
            worker *w = &b->workers[n_workers];
            w->first_state = at;
            w->n_states = end - at < block ? end - at : block;
            at += w->n_states;
        }
#pragma omp parallel for schedule(static, 1) num_threads(n_workers)
        for (int t = 0; t < n_workers; t++) b->workers[t].status = expand(b, &b->workers[t]);
        LUD_TRY(prepare_round(b, n_workers));
#pragma omp parallel for schedule(static, 1) num_threads(n_workers)
        for (int t = 0; t < n_workers; t++) write_rows(b, &b->workers[t]);
        lud_progress_update(&b->progress, at);
    }
    return LUD_OK;
}

static lud_status build_layers(builder *b, const uint8_t *starts, int n_starts) {
    lud_statespace *space = b->space;
    worker *first = &b->workers[0];
    if (lud_expansion_reserve(&first->out, (size_t)n_starts, NULL)) return out_of_memory(b);
    for (int i = 0; i < n_starts; i++)
        first->out.tags[i] = lud_state_tag(starts + (size_t)i * b->store.state_bytes, b->store.state_bytes);
    uint64_t room = (uint64_t)n_starts + LUD_STATE_CURSOR_CHUNK;
    LUD_TRY(grow(b, &b->store.fresh, &b->fresh_capacity, room, b->store.state_bytes));
    LUD_TRY(lud_state_table_reserve(space->table, room, b->error));
    LUD_TRY(grow(b, &space->layer_begin, &b->layer_capacity, 2, sizeof *space->layer_begin));
    LUD_TRY(grow_array(b, LUD_ARRAY_BRANCH_BEGIN, sizeof *space->branch_begin));
    space->layer_begin[0] = space->branch_begin[0] = 0;
    lud_state_table_insert(space->table, &b->store, &first->cursor, (size_t)n_starts, starts, first->out.tags,
                           first->out.numbers);
    uint32_t *rank = NULL;
    lud_status status = append_layer(b, &rank);
    free(rank);
    uint64_t begin = 0;
    while (!status && begin < space->n_states) {
        uint64_t end = space->n_states, successor_begin = space->n_successors;
        uint64_t n_joint = (uint64_t)space->n_joint_actions;
        lud_progress_note(&b->progress, "layer %d, %" PRIu64 " states wide", space->n_layers - 1,
                          end - begin);
        rank = NULL;
        status = expand_layer(b, begin, end);
        forget_recurring(b);
        if (!status) status = append_layer(b, &rank);
        if (!status && rank)
            renumber_layer(b, begin * n_joint, end * n_joint, successor_begin, (uint32_t)end, rank);
        free(rank);
        begin = end;
    }
    return status;
}

static void free_workers(builder *b) {
    for (int t = 0; b->workers && t < b->n_threads; t++) {
        worker *w = &b->workers[t];
        lud_expansion_free(&w->out);
        lud_distributions_free(&w->local_kinds);
        LUD_FREE(w->listed, w->kinds, w->global_kind);
    }
    free(b->workers);
    free(b->store.fresh);
}

static lud_status create_workers(builder *b) {
    const lud_statespace *space = b->space;
    b->block_states = lud_expansion_block(space->n_joint_actions);
    b->workers = calloc((size_t)b->n_threads, sizeof *b->workers);
    if (!b->workers) return out_of_memory(b);
    for (int t = 0; t < b->n_threads; t++)
        if (lud_expansion_create(&b->workers[t].out, space->model, space->n_joint_actions, b->block_states,
                                 NULL))
            return out_of_memory(b);
    return LUD_OK;
}

/* The number behind `key` in a file of the kernel, `without` when there is none. */
static uint64_t kernel_number(const char *path, const char *key, uint64_t without) {
    FILE *file = fopen(path, "r");
    if (!file) return without;
    char line[256];
    uint64_t number = without;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && sscanf(line + length, "%" SCNu64, &number) == 1) break;
    }
    fclose(file);
    return number;
}

uint64_t lud_free_memory(void) {
    uint64_t machine = kernel_number("/proc/meminfo", "MemAvailable:", (uint64_t)4 << 20) << 10;
    uint64_t limit = kernel_number("/sys/fs/cgroup/memory.max", "", UINT64_MAX);
    uint64_t used = kernel_number("/sys/fs/cgroup/memory.current", "", 0);
    uint64_t group = limit > used ? limit - used : 0;
    return machine < group ? machine : group;
}

uint64_t lud_statespace_memory_limit(const lud_statespace_options *options) {
    return options->memory_limit ? options->memory_limit : lud_free_memory() / 4 * 3;
}

void lud_joint_action_next(const lud_layout *layout, int32_t *joint_action) {
    for (int i = 0; i < layout->n_agents; i++) {
        if (++joint_action[i] < layout->actions[i].n_discrete) return;
        joint_action[i] = 0;
    }
}

lud_status lud_statespace_check(const lud_model *model, int32_t *n_joint_actions, lud_error *error) {
    if (!model->world->successors)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "world '%s' has no exact model: it cannot list successors", model->world->name);
    *n_joint_actions = lud_joint_action_count(&model->layout);
    if (*n_joint_actions <= 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "world '%s' has no finite number of joint actions here (at most 2^31 - 1)",
                        model->world->name);
    return LUD_OK;
}

lud_status lud_statespace_build(const lud_model *model, const lud_statespace_options *options,
                                lud_statespace **out, lud_error *error) {
    static const lud_statespace_options defaults = {0};
    if (!options) options = &defaults;
    *out = NULL;
    int32_t n_joint_actions;
    LUD_TRY(lud_statespace_check(model, &n_joint_actions, error));
    double started = lud_clock_seconds();
    lud_statespace *space = calloc(1, sizeof *space);
    uint8_t *reset_state = malloc(model->layout.state_bytes);
    lud_state_table *table = calloc(1, sizeof *table);
    if (!space || !reset_state || !table || lud_state_table_create(table, 0, error)) {
        LUD_FREE(space, reset_state, table);
        return lud_no_memory(error, "a state space");
    }
    space->model = model;
    space->table = table;
    space->state_bytes = model->layout.state_bytes;
    space->n_joint_actions = n_joint_actions;
    builder b = {.space = space,
                 .options = options,
                 .memory_limit = lud_statespace_memory_limit(options),
                 .max_states = options->max_states ? options->max_states : LUD_MAX_STATES,
                 .n_threads = options->n_threads > 0 ? options->n_threads : omp_get_max_threads(),
                 .store.state_bytes = model->layout.state_bytes,
                 .error = error};
    const uint8_t *starts = options->starts;
    int n_starts = options->n_starts;
    if (!starts) {
        uint32_t tick = 0;
        model->world->reset(model, (lud_range){.seed = options->seed, .n = 1, .tick = &tick}, reset_state);
        starts = reset_state;
        n_starts = 1;
    }
    b.may_recur = lud_recurring_possible(&model->layout, starts, n_starts);
    lud_progress_start(&b.progress, options->progress, "state space", "states", 0);
    lud_status status = create_workers(&b);
    if (!status) status = build_layers(&b, starts, n_starts);
    lud_progress_finish(&b.progress);
    free_workers(&b);
    free(reset_state);
    space->n_distributions = b.kinds.n;
    space->distribution_begin = b.kinds.begin;
    space->probability = b.kinds.probability;
    free(b.kinds.slots);
    if (status) {
        lud_statespace_destroy(space);
        return status;
    }
    b.kinds.slots = NULL;
    b.kinds.log2_slots = 0;
    for (int i = 0; i < LUD_STATESPACE_ARRAYS; i++) {
        uint64_t used = array_bytes(space, (lud_statespace_array)i);
        lud_large_array_trim(&space->arrays[i], used);
        if (space->arrays[i].mapped) space->file_bytes += used;
    }
    find_arrays(&b);
    space->bytes = bytes_held(&b);
    space->seconds = lud_clock_seconds() - started;
    *out = space;
    return LUD_OK;
}

void lud_statespace_destroy(lud_statespace *space) {
    if (!space) return;
    lud_state_table_free(space->table);
    free(space->table);
    for (int i = 0; i < LUD_STATESPACE_ARRAYS; i++) lud_large_array_free(&space->arrays[i]);
    LUD_FREE(space->layer_begin, space->distribution_begin, space->probability, space);
}

uint32_t lud_statespace_find(const lud_statespace *space, const uint8_t *state) {
    lud_state_store store = {.state_bytes = space->state_bytes, .known = space->states};
    return lud_state_table_find(space->table, &store, state, lud_state_tag(state, space->state_bytes));
}
