#include "sim/statespace/levels.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/ranks/ranks.h"
#include "sim/statespace/expansion.h"
#include "sim/statespace/state_sort.h"
#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace_build.h"

/* As in sim/statespace.c, threads list the successors of blocks of states, then, after one of them has made
 * room, look them up in a table they share. Here the table has the states of the next level only, and no rows
 * are written. */

typedef struct worker {
    lud_expansion out;
    lud_state_cursor cursor;
    lud_status status;
    lud_error error;
} worker;

typedef struct finder {
    const lud_model *model;
    const lud_levels_options *options;
    lud_levels *levels;
    uint64_t memory_limit;
    size_t state_bytes;
    int n_threads;
    worker *workers;
    uint64_t n_current; /* states of the level in hand */
    uint8_t *current;   /* [n_current][state_bytes] */
    lud_state_table table;
    lud_state_store store; /* `fresh`: the states of the next level, in no order */
    uint64_t fresh_capacity;
    int begin_capacity;
    int step; /* that the states of the level in hand say */
    lud_progress progress;
    lud_error *error;
} finder;

static lud_status out_of_memory(const finder *f) {
    return lud_fail(f->error, LUD_ERROR_MEMORY, "out of memory after %" PRIu64 " states",
                    f->levels->n_states);
}

uint64_t lud_levels_sweep_bytes(uint64_t n_states, uint64_t n_next, size_t state_bytes,
                                uint64_t bytes_beside) {
    return (n_states + n_next) * (state_bytes + bytes_beside) +
           (sizeof(uint64_t) << lud_state_table_log2_slots(n_next));
}

/* ---- memory ---- */

static lud_status keep_within(finder *f, uint64_t bytes) {
    if (bytes > f->levels->peak_bytes) f->levels->peak_bytes = bytes;
    if (bytes <= f->memory_limit) return LUD_OK;
    char limit[16];
    return lud_fail(f->error, LUD_ERROR_MEMORY,
                    "levels %d and %d need more than the memory limit of %s: reached %" PRIu64 " states",
                    f->levels->n - 1, f->levels->n, lud_format_memory((double)f->memory_limit, limit),
                    f->levels->n_states + f->store.n_fresh);
}

static uint64_t bytes_held(const finder *f) {
    uint64_t bytes = (f->n_current + f->fresh_capacity) * f->state_bytes + lud_state_table_bytes(&f->table);
    for (int t = 0; t < f->n_threads; t++) bytes += lud_expansion_bytes(&f->workers[t].out);
    return bytes;
}

/* Room for all that the workers listed: of the next level's states, and in the table. */
static lud_status make_room(finder *f, uint64_t n_records) {
    const uint64_t need = f->store.n_fresh + n_records + (uint64_t)f->n_threads * LUD_STATE_CURSOR_CHUNK;
    if (need > LUD_MAX_STATES)
        return lud_fail(f->error, LUD_ERROR_LIMIT, "more than 2^31 states in level %d", f->levels->n);
    if (need > f->fresh_capacity) {
        const uint64_t capacity = need + need / 2;
        LUD_TRY(keep_within(f, bytes_held(f) + (capacity - f->fresh_capacity) * f->state_bytes));
        uint8_t *fresh = realloc(f->store.fresh, capacity * f->state_bytes);
        if (!fresh) return out_of_memory(f);
        f->store.fresh = fresh;
        f->fresh_capacity = capacity;
    }
    const unsigned then = lud_state_table_log2_slots(need);
    LUD_TRY(keep_within(f, bytes_held(f) + (then > f->table.log2_slots ? sizeof(uint64_t) << then : 0)));
    return lud_state_table_reserve(&f->table, need, f->error);
}

/* ---- one level ---- */

static lud_status insert_round(finder *f, int n_workers) {
    uint64_t n_records = 0;
    for (int t = 0; t < n_workers; t++) {
        worker *w = &f->workers[t];
        if (w->status) {
            if (f->error) *f->error = w->error;
            return w->status;
        }
        n_records += w->out.n_records;
        f->levels->n_terminal += w->out.n_terminal;
    }
    f->levels->n_transitions += n_records;
    LUD_TRY(make_room(f, n_records));
#pragma omp parallel for schedule(static, 1) num_threads(n_workers)
    for (int t = 0; t < n_workers; t++) {
        worker *w = &f->workers[t];
        lud_state_table_insert(&f->table, &f->store, &w->cursor, w->out.n_records, w->out.records,
                               w->out.tags, w->out.numbers);
    }
    return LUD_OK;
}

/* Finds the states of the next level, in no order: those that follow from this process' stretch. */
static lud_status expand_level(finder *f) {
    lud_ranks *ranks = f->options->ranks;
    const int rank = lud_ranks_rank(ranks), size = lud_ranks_size(ranks);
    const uint64_t own = (uint64_t)lud_share_begin((int64_t)f->n_current, size, rank),
                   end = (uint64_t)lud_share_begin((int64_t)f->n_current, size, rank + 1);
    const uint64_t share = (end - own + (uint64_t)f->n_threads - 1) / (uint64_t)f->n_threads;
    const uint64_t most = f->workers[0].out.block_states, block = share < most ? share : most;
    lud_state_table_clear(&f->table);
    f->store.n_fresh = 0;
    for (int t = 0; t < f->n_threads; t++) f->workers[t].cursor = (lud_state_cursor){0};
    for (uint64_t at = own; at < end;) {
        if (lud_interrupted())
            return lud_fail(f->error, LUD_INTERRUPTED, "interrupted after %" PRIu64 " states in %d levels",
                            f->levels->n_states, f->levels->n);
        uint64_t first = at;
        int n_workers = 0;
        for (; n_workers < f->n_threads && at < end; n_workers++) at += end - at < block ? end - at : block;
#pragma omp parallel for schedule(static, 1) num_threads(n_workers)
        for (int t = 0; t < n_workers; t++) {
            const uint64_t begin = first + (uint64_t)t * block;
            const uint64_t n = at - begin < block ? at - begin : block;
            worker *w = &f->workers[t];
            w->status = lud_expansion_list(&w->out, f->current + begin * f->state_bytes, n, &w->error);
        }
        LUD_TRY(insert_round(f, n_workers));
        lud_progress_update(&f->progress,
                            f->levels->n_states - f->n_current + (at - own) * f->n_current / (end - own));
    }
    return LUD_OK;
}

/* Numbers of `fresh` that threads took and did not use are no states. */
static bool is_unused(const finder *f, uint64_t number) {
    for (int t = 0; t < f->n_threads; t++)
        if (number >= f->workers[t].cursor.next && number < f->workers[t].cursor.end) return true;
    return false;
}

/* Puts the new states in order: they become the level in hand. */
static lud_status sort_level(finder *f) {
    uint64_t n = f->store.n_fresh;
    for (int t = 0; t < f->n_threads; t++) n -= f->workers[t].cursor.end - f->workers[t].cursor.next;
    free(f->current);
    f->current = NULL;
    f->n_current = 0;
    if (n == 0) return LUD_OK;
    LUD_TRY(keep_within(f, bytes_held(f) + n * (2 * sizeof(lud_sort_item) + f->state_bytes)));
    lud_sort_item *items = malloc(n * sizeof *items), *scratch = malloc(n * sizeof *scratch);
    f->current = malloc(n * f->state_bytes);
    if (!items || !scratch || !f->current) {
        LUD_FREE(items, scratch);
        return out_of_memory(f);
    }
    size_t n_items = 0;
    for (uint64_t i = 0; i < f->store.n_fresh; i++)
        if (!is_unused(f, i)) items[n_items++] = (lud_sort_item){.number = (uint32_t)i};
    assert(n_items == n);
    lud_state_sort(f->store.fresh, f->state_bytes, items, scratch, n, f->n_threads);
#pragma omp parallel for schedule(static) num_threads(f->n_threads)
    for (uint64_t i = 0; i < n; i++)
        memcpy(f->current + i * f->state_bytes, f->store.fresh + items[i].number * f->state_bytes,
               f->state_bytes);
    LUD_FREE(items, scratch);
    f->n_current = n;
    return LUD_OK;
}

/* What a process found in a level. */
typedef struct found {
    uint64_t n_states, n_transitions, n_terminal;
} found;

/* Where the level in hand is cut: process k owns the states from cuts[k] up to cuts[k + 1] in the order of
 * their bytes, about as many as the others. Samples of what each has found say where; the joined level does
 * not depend on it. cuts[size][state_bytes], of which the first is not read. */
static lud_status choose_cuts(finder *f, const found *all, int size, uint8_t *cuts) {
    enum { SAMPLES = 256 };
    const size_t bytes = f->state_bytes;
    size_t *begin = calloc((size_t)size + 1, sizeof *begin);
    for (int k = 0; begin && k < size; k++)
        begin[k + 1] = begin[k] + (all[k].n_states < SAMPLES ? all[k].n_states : SAMPLES);
    const size_t n = begin ? begin[size] : 0;
    uint8_t *own = malloc(SAMPLES * bytes), *samples = malloc(n * bytes + 1),
            *scratch = malloc(n * bytes + 1), *sorted = NULL;
    lud_status status = begin && own && samples && scratch ? LUD_OK : out_of_memory(f);
    status = lud_ranks_agree(f->options->ranks, status, f->error);
    const size_t n_own = f->n_current < SAMPLES ? f->n_current : SAMPLES;
    int64_t n_all;
    for (size_t i = 0; i < n_own && !status; i++)
        memcpy(own + i * bytes, f->current + i * f->n_current / n_own * bytes, bytes);
    if (!status)
        status = lud_ranks_join_lists(f->options->ranks, own, (int64_t)n_own, bytes, samples, (int64_t)n,
                                      &n_all, f->error);
    const size_t n_sorted = status ? 0 : lud_state_merge(samples, scratch, bytes, begin, size, &sorted);
    for (size_t k = 1; k < (size_t)size && n_sorted; k++)
        memcpy(cuts + k * bytes, sorted + k * n_sorted / (size_t)size * bytes, bytes);
    LUD_FREE(begin, own, samples, scratch);
    return status;
}

/* The first state of the level in hand that is not below `state`. */
static int64_t place_of(const finder *f, const uint8_t *state) {
    uint64_t low = 0, high = f->n_current;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (memcmp(f->current + middle * f->state_bytes, state, f->state_bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low;
}

/* What all have found of the states that this process owns becomes its level in hand. */
static lud_status take_own(finder *f, const uint8_t *cuts, int64_t *begin, int64_t *came, size_t *lists,
                           int size) {
    lud_ranks *ranks = f->options->ranks;
    begin[0] = 0;
    for (int k = 1; k < size; k++) begin[k] = place_of(f, cuts + (size_t)k * f->state_bytes);
    begin[size] = (int64_t)f->n_current;
    LUD_TRY(lud_ranks_count_lists(ranks, begin, came, f->error));
    const size_t bytes = (size_t)came[size] * f->state_bytes;
    lud_status status = keep_within(f, bytes_held(f) + 2 * bytes);
    uint8_t *states = status ? NULL : malloc(bytes + 1), *scratch = status ? NULL : malloc(bytes + 1),
            *merged = NULL;
    if (!status && (!states || !scratch)) status = out_of_memory(f);
    status = lud_ranks_agree(ranks, status, f->error);
    if (!status)
        status = lud_ranks_exchange_lists(ranks, f->current, begin, f->state_bytes, states, came, f->error);
    if (!status) {
        for (int k = 0; k <= size; k++) lists[k] = (size_t)came[k];
        free(f->current);
        f->n_current = lud_state_merge(states, scratch, f->state_bytes, lists, size, &merged);
        f->current = merged;
    }
    if (states != merged) free(states);
    if (scratch != merged) free(scratch);
    return status;
}

/* What all processes own, in their order, becomes the level in hand of each. */
static lud_status join_owned(finder *f) {
    lud_ranks *ranks = f->options->ranks;
    const int size = lud_ranks_size(ranks);
    const int64_t own = (int64_t)f->n_current;
    int64_t *of_all = malloc((size_t)size * sizeof *of_all), n_processes, n = 0;
    lud_status status = lud_ranks_agree(ranks, of_all ? LUD_OK : out_of_memory(f), f->error);
    if (!status)
        status = lud_ranks_join_lists(ranks, &own, 1, sizeof own, of_all, size, &n_processes, f->error);
    for (int k = 0; k < size && !status; k++) n += of_all[k];
    free(of_all);
    if (!status) status = keep_within(f, bytes_held(f) + (uint64_t)n * f->state_bytes);
    uint8_t *states = status ? NULL : malloc((size_t)n * f->state_bytes + 1);
    if (!status && !states) status = out_of_memory(f);
    status = lud_ranks_agree(ranks, status, f->error);
    if (!status)
        status = lud_ranks_join_lists(ranks, f->current, own, f->state_bytes, states, n, &n, f->error);
    if (status) {
        free(states);
        return status;
    }
    free(f->current);
    f->current = states;
    f->n_current = (uint64_t)n;
    return LUD_OK;
}

/* The level that all processes have found together becomes the level in hand of each: every process joins
 * what was found of the states that it owns, and then all have everything. */
static lud_status join_lists(finder *f, const found *all, int size) {
    const size_t n = (size_t)size;
    uint8_t *cuts = calloc(n, f->state_bytes);
    int64_t *begin = calloc(n + 1, sizeof *begin), *came = calloc(n + 1, sizeof *came);
    size_t *lists = calloc(n + 1, sizeof *lists);
    lud_status status = cuts && begin && came && lists ? LUD_OK : out_of_memory(f);
    status = lud_ranks_agree(f->options->ranks, status, f->error);
    if (!status) status = choose_cuts(f, all, size, cuts);
    if (!status) status = take_own(f, cuts, begin, came, lists, size);
    if (!status) status = join_owned(f);
    LUD_FREE(cuts, begin, came, lists);
    return status;
}

static lud_status join_level(finder *f, uint64_t n_transitions, uint64_t n_terminal) {
    lud_ranks *ranks = f->options->ranks;
    if (!ranks) return LUD_OK;
    const int size = lud_ranks_size(ranks);
    const found own = {f->n_current, f->levels->n_transitions - n_transitions,
                       f->levels->n_terminal - n_terminal};
    int64_t n;
    found *all = malloc((size_t)size * sizeof *all);
    if (!all) return out_of_memory(f);
    lud_status status = lud_ranks_join_lists(ranks, &own, 1, sizeof own, all, size, &n, f->error);
    if (!status) status = join_lists(f, all, size);
    f->levels->n_transitions = n_transitions;
    f->levels->n_terminal = n_terminal;
    for (int k = 0; k < size && !status; k++) {
        f->levels->n_transitions += all[k].n_transitions;
        f->levels->n_terminal += all[k].n_terminal;
    }
    free(all);
    return status;
}

/* Whether all states of the level say the step that comes next: then none of them is in another level. Each
 * process looks at a stretch. */
static lud_status check_step(finder *f) {
    const lud_model *model = f->model;
    const int rank = lud_ranks_rank(f->options->ranks), size = lud_ranks_size(f->options->ranks);
    const uint64_t own = (uint64_t)lud_share_begin((int64_t)f->n_current, size, rank),
                   end = (uint64_t)lud_share_begin((int64_t)f->n_current, size, rank + 1);
    const int step = f->levels->n == 0 ? model->world->elapsed(model, f->current) : f->step + 1;
    int wrong = 0;
#pragma omp parallel for schedule(static) num_threads(f->n_threads) reduction(| : wrong)
    for (uint64_t i = own; i < end; i++)
        wrong |= model->world->elapsed(model, f->current + i * f->state_bytes) != step;
    f->step = step;
    if (!wrong) return LUD_OK;
    return lud_fail(f->error, LUD_ERROR_UNSUPPORTED,
                    "world '%s': states do not count every step, so it cannot be explored by levels",
                    model->world->name);
}

/* Notes the level in hand as the next one. */
static lud_status add_level(finder *f) {
    lud_levels *levels = f->levels;
    if (levels->n + 2 > f->begin_capacity) {
        int capacity = f->begin_capacity * 2 + 64;
        uint64_t *begin = realloc(levels->begin, (size_t)capacity * sizeof *begin);
        if (!begin) return out_of_memory(f);
        if (!levels->begin) begin[0] = 0;
        levels->begin = begin;
        f->begin_capacity = capacity;
    }
    if (levels->n_states + f->n_current >= LUD_LEVELS_MOST_STATES)
        return lud_fail(f->error, LUD_ERROR_LIMIT, "more than 2^40 states: reached %" PRIu64 " in level %d",
                        levels->n_states, levels->n);
    const uint64_t before = levels->n ? levels->begin[levels->n] - levels->begin[levels->n - 1] : 0;
    levels->n_states += f->n_current;
    levels->begin[++levels->n] = levels->n_states;
    return keep_within(
        f, lud_levels_sweep_bytes(before, f->n_current, f->state_bytes, f->options->bytes_beside));
}

/* A level that was found now: checked, kept, noted. None: the file ends. */
static lud_status finish_level(finder *f) {
    if (f->n_current) LUD_TRY(check_step(f));
    if (f->options->file)
        LUD_TRY(lud_level_file_append(f->options->file, f->current, f->n_current, f->levels->n_transitions,
                                      f->levels->n_terminal, f->error));
    return f->n_current ? add_level(f) : LUD_OK;
}

/* ---- all levels ---- */

static lud_status begin_with_reset(finder *f) {
    uint32_t tick = 0;
    f->current = malloc(f->state_bytes);
    if (!f->current) return out_of_memory(f);
    f->model->world->reset(f->model, (lud_range){.seed = f->options->seed, .n = 1, .tick = &tick},
                           f->current);
    f->n_current = 1;
    return finish_level(f);
}

/* The levels of the first process' file come into the files of the others, which are new. */
static lud_status share_file(finder *f) {
    lud_ranks *ranks = f->options->ranks;
    lud_level_file *file = f->options->file;
    const bool leads = lud_ranks_leads(ranks);
    struct {
        uint64_t n_transitions, n_terminal;
        int32_t n_levels, ended;
    } has = {file->n_transitions, file->n_terminal, file->n_levels, file->ended};
    LUD_TRY(lud_ranks_broadcast(ranks, &has, sizeof has, f->error));
    for (int level = 0; level < has.n_levels; level++) {
        uint64_t n = leads ? file->levels[level].n_states : 0;
        LUD_TRY(lud_ranks_broadcast(ranks, &n, sizeof n, f->error));
        uint8_t *states = malloc(n * f->state_bytes);
        lud_status status = states ? LUD_OK : out_of_memory(f);
        if (!status && leads) status = lud_level_file_read(file, level, states, f->error);
        status = lud_ranks_agree(ranks, status, f->error);
        if (!status) status = lud_ranks_broadcast(ranks, states, n * f->state_bytes, f->error);
        if (!status && !leads)
            status = lud_level_file_append(file, states, n, has.n_transitions, has.n_terminal, f->error);
        free(states);
        LUD_TRY(lud_ranks_agree(ranks, status, f->error));
    }
    if (!has.ended || leads) return LUD_OK;
    return lud_level_file_append(file, NULL, 0, has.n_transitions, has.n_terminal, f->error);
}

/* Takes up the levels of the file: the last one becomes the level in hand. */
static lud_status begin_with_file(finder *f) {
    const lud_level_file *file = f->options->file;
    for (int level = 0; level < file->n_levels; level++) {
        f->n_current = file->levels[level].n_states;
        LUD_TRY(add_level(f));
    }
    f->levels->n_before = f->levels->n_states;
    f->levels->n_transitions = file->n_transitions;
    f->levels->n_terminal = file->n_terminal;
    if (file->ended) {
        f->n_current = 0;
        return LUD_OK;
    }
    f->current = malloc(f->n_current * f->state_bytes);
    if (!f->current) return out_of_memory(f);
    LUD_TRY(lud_level_file_read(file, file->n_levels - 1, f->current, f->error));
    f->step = f->model->world->elapsed(f->model, f->current);
    return LUD_OK;
}

static lud_status find(finder *f) {
    f->workers = calloc((size_t)f->n_threads, sizeof *f->workers);
    if (!f->workers) return out_of_memory(f);
    for (int t = 0; t < f->n_threads; t++)
        LUD_TRY(lud_expansion_create(&f->workers[t].out, f->model, f->levels->n_joint_actions,
                                     lud_expansion_block(f->levels->n_joint_actions), f->error));
    LUD_TRY(lud_state_table_create(&f->table, 0, f->error));
    const lud_level_file *file = f->options->file;
    lud_ranks *ranks = f->options->ranks;
    if (ranks && file) LUD_TRY(lud_ranks_agree(ranks, share_file(f), f->error));
    LUD_TRY(
        lud_ranks_agree(ranks, file && file->n_levels ? begin_with_file(f) : begin_with_reset(f), f->error));
    f->progress.before = f->levels->n_before;
    while (f->n_current) {
        lud_progress_note(&f->progress, "level %d, %" PRIu64 " states wide", f->levels->n - 1, f->n_current);
        const uint64_t n_transitions = f->levels->n_transitions, n_terminal = f->levels->n_terminal;
        lud_status status = expand_level(f);
        if (!status) status = sort_level(f);
        LUD_TRY(lud_ranks_agree(ranks, status, f->error));
        LUD_TRY(join_level(f, n_transitions, n_terminal));
        LUD_TRY(lud_ranks_agree(ranks, finish_level(f), f->error));
    }
    return LUD_OK;
}

bool lud_levels_possible(const lud_model *model) {
    return model->world->successors && model->world->elapsed;
}

double lud_levels_guess_bytes(const lud_statespace_estimate *estimate, size_t state_bytes,
                              uint64_t bytes_beside) {
    const uint64_t half =
        estimate->two_layers < LUD_MAX_STATES ? (uint64_t)(estimate->two_layers / 2) : LUD_MAX_STATES / 2;
    return (double)lud_levels_sweep_bytes(half, half, state_bytes, bytes_beside);
}

static uint64_t limit_of(const lud_levels_options *options) {
    return lud_statespace_memory_limit(&(lud_statespace_options){.memory_limit = options->memory_limit});
}

lud_status lud_levels_check_memory(const lud_statespace_estimate *estimate, size_t state_bytes,
                                   const lud_levels_options *options, lud_error *error) {
    const uint64_t limit = limit_of(options);
    const double needed = lud_levels_guess_bytes(estimate, state_bytes, options->bytes_beside);
    if (needed <= (double)limit * (estimate->exhausted ? 1.0 : 1.1)) return LUD_OK;
    char bytes[16], states[16], most[16];
    return lud_fail(error, LUD_ERROR_MEMORY,
                    "two levels of the world have %s%s states and need %s of memory, more than the memory "
                    "limit of %s",
                    estimate->exhausted ? "" : "at least about ",
                    lud_format_count(estimate->two_layers, states), lud_format_memory(needed, bytes),
                    lud_format_memory((double)limit, most));
}

lud_status lud_levels_find(const lud_model *model, const lud_levels_options *options, lud_levels *levels,
                           lud_error *error) {
    *levels = (lud_levels){0};
    LUD_TRY(lud_statespace_check(model, &levels->n_joint_actions, error));
    if (!lud_levels_possible(model))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "world '%s': states do not count their steps, so it cannot be explored by levels",
                        model->world->name);
    const double started = lud_clock_seconds();
    finder f = {.model = model,
                .options = options,
                .levels = levels,
                .memory_limit = limit_of(options),
                .state_bytes = model->layout.state_bytes,
                .store.state_bytes = model->layout.state_bytes,
                .n_threads = options->n_threads > 0 ? options->n_threads : omp_get_max_threads(),
                .error = error};
    lud_progress_start(&f.progress, options->progress, "levels", "states", 0);
    const lud_status status = find(&f);
    lud_progress_finish(&f.progress);
    for (int t = 0; f.workers && t < f.n_threads; t++) lud_expansion_free(&f.workers[t].out);
    LUD_FREE(f.workers, f.current, f.store.fresh);
    lud_state_table_free(&f.table);
    if (status) lud_levels_free(levels);
    levels->seconds = lud_clock_seconds() - started;
    return status;
}

void lud_levels_free(lud_levels *levels) {
    free(levels->begin);
    *levels = (lud_levels){0};
}
