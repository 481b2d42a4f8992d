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
#include "sim/statespace/state_sort.h"
#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace_build.h"

/* How it works. A layer is expanded in rounds. In a round every thread (1) lists the successors of its block
 * of states into buffers of its own, then, after one thread has made room for all that was found, (2) looks
 * its successors up in the shared table, which gives the new ones provisional numbers, and writes its rows.
 * When the layer is done its new states are sorted, appended, and the numbers in the layer's rows and in the
 * table replaced by the final ones. Only the order in which states meet the table depends on timing, and
 * sorting removes that. */

enum { MAX_LOCAL_KINDS = 1 << 16 /* distributions a thread remembers before it starts anew */ };

/* What one thread owns. */
typedef struct worker {
    lud_expansion out; /* successors of this round's block */
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
                  lud_distributions_bytes(&w->local_kinds);
    }
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

/* Lists the successors of the worker's block into its buffers. */
static lud_status expand(const builder *b, worker *w) {
    const uint8_t *states = b->space->states + w->first_state * b->store.state_bytes;
    LUD_TRY(lud_expansion_list(&w->out, states, w->n_states, &w->error));
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
        n_branches += w->out.n_branches;
        n_successors += w->out.n_branch_records;
        space->n_terminal += w->out.n_terminal;
        space->n_transitions += w->out.n_records;
        LUD_TRY(number_kinds(b, w));
    }
    uint64_t chunks = (uint64_t)b->n_threads * LUD_STATE_CURSOR_CHUNK;
    uint64_t fresh = b->store.n_fresh + n_records + chunks;
    LUD_TRY(lud_statespace_check_numbers(space->n_states, fresh, n_branches, space->n_layers, b->error));
    LUD_TRY(grow(b, &b->store.fresh, &b->fresh_capacity, fresh, b->store.state_bytes));
    LUD_TRY(grow_array(b, LUD_ARRAY_BRANCH_BEGIN, (n_branches + 1) * sizeof *space->branch_begin));
    LUD_TRY(grow_array(b, LUD_ARRAY_BRANCH_KIND, n_branches * sizeof *space->branch_kind));
    LUD_TRY(grow_array(b, LUD_ARRAY_SUCCESSOR, n_successors * sizeof *space->successor));
    unsigned now = space->table->log2_slots, then = lud_state_table_log2_slots(space->n_states + fresh);
    lud_status status = check_memory(b, then > now ? sizeof(uint64_t) << then : 0);
    if (!status) status = lud_state_table_reserve(space->table, space->n_states + fresh, b->error);
    space->n_branches = n_branches;
    space->n_successors = n_successors;
    return status;
}

/* Looks the worker's successors up and writes its rows; new states count on from n_states for now. */
static void write_rows(builder *b, worker *w) {
    const lud_statespace *space = b->space;
    const lud_expansion *out = &w->out;
    lud_state_table_insert(space->table, &b->store, &w->cursor, out->n_records, out->records, out->tags,
                           out->numbers);
    uint32_t n_states = (uint32_t)space->n_states;
    for (size_t i = 0; i < out->n_records; i++)
        if (out->numbers[i] >= LUD_STATE_FRESH) out->numbers[i] += n_states - LUD_STATE_FRESH;
    uint64_t n_rows = w->n_states * (uint64_t)space->n_joint_actions;
    uint32_t *word = space->rows + w->first_state * (uint64_t)space->n_joint_actions;
    uint64_t branch = w->first_branch, successor = w->first_successor;
    size_t record = 0, local_branch = 0;
    for (uint64_t r = 0; r < n_rows; r++) {
        uint32_t count = out->row_count[r];
        if (count == 1) {
            word[r] = out->numbers[record];
        } else if (count == 0) {
            word[r] = LUD_ROW_NONE;
        } else {
            word[r] = LUD_ROW_BRANCH + (uint32_t)branch;
            space->branch_kind[branch] = w->global_kind[w->kinds[local_branch++]];
            memcpy(space->successor + successor, out->numbers + record, count * sizeof *out->numbers);
            successor += count;
            space->branch_begin[++branch] = successor;
        }
        record += count;
    }
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
        enum { GROUP = 32 };
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

static lud_status expand_layer(builder *b, uint64_t begin, uint64_t end) {
    lud_statespace *space = b->space;
    uint64_t n_joint = (uint64_t)space->n_joint_actions;
    LUD_TRY(grow_array(b, LUD_ARRAY_ROWS, end * n_joint * sizeof *space->rows));
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
        LUD_FREE(w->kinds, w->global_kind);
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
