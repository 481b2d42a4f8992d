#include "learn/empo/exact/level_sweep.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/ranks/ranks.h"
#include "learn/empo/exact/one_state.h"
#include "learn/empo/exact/open_goals.h"
#include "sim/statespace/expansion.h"
#include "sim/statespace/state_table.h"

enum { SLAB_BYTES = 64 << 20, SHARES = 8 /* blocks of a thread in a slab, at least, where it has as many */ };

typedef struct worker {
    lud_empo_state_scratch scratch;
    lud_expansion out;
    lud_status status;
    lud_error error;
} worker;

typedef struct level_sweep {
    const lud_empo_problem *problem;
    const lud_empo_layers *layers;
    const lud_empo_run *run;
    lud_empo_game game;
    int32_t noop[LUD_EMPO_MAX_AGENTS];
    size_t state_bytes;
    uint64_t slab_states; /* their records are let go together */
    worker *workers;
    int n_threads;
    lud_state_table table;  /* of the next level's states, by their places in it */
    double *next, *credits; /* credits of the next level and of this one */
    lud_arena *arena;
    lud_progress progress;
    lud_empo_powerless powerless;
} level_sweep;

static const uint8_t *state_at(const level_sweep *s, uint64_t index) {
    return s->layers->states + index * s->state_bytes;
}

static double *record_at(const level_sweep *s, uint64_t index) {
    return s->run->records + index * (uint64_t)s->game.record_doubles;
}

/* ---- a block of states ---- */

/* The rows of a state as the equations read them; row, record and branch are where the state's begin, and
 * become where those of the next do. */
static void take_rows(worker *w, int32_t n_joint, uint64_t *row, size_t *record, size_t *branch) {
    static const double certain = 1;
    for (int32_t k = 0; k < n_joint; k++) {
        const uint32_t n = w->out.row_count[(*row)++];
        w->scratch.rows[k] = (lud_statespace_row){n, w->out.numbers + *record,
                                                  n > 1 ? w->out.probability + *branch : &certain};
        *record += n;
        if (n > 1) *branch += n;
    }
}

static lud_status look_up(const level_sweep *s, worker *w, int level) {
    const lud_empo_layers *layers = s->layers;
    /* without states known to it, as in the last level, the table has nothing to compare with */
    const lud_state_store store = {.state_bytes = s->state_bytes,
                                   .known =
                                       level + 1 < layers->n ? state_at(s, layers->begin[level + 1]) : NULL};
    lud_state_table_find_all(&s->table, &store, w->out.n_records, w->out.records, w->out.tags,
                             w->out.numbers);
    for (size_t i = 0; i < w->out.n_records; i++)
        if (w->out.numbers[i] == UINT32_MAX)
            return lud_invalid(
                &w->error,
                "a successor of a state in level %d is not in the next level: the levels on disk "
                "are not this world's; remove them to start anew",
                level);
    return LUD_OK;
}

static lud_status solve_block(level_sweep *s, worker *w, int level, uint64_t begin, uint64_t n) {
    const uint64_t level_begin = s->layers->begin[level];
    const int32_t n_joint = s->game.n_joint_actions;
    LUD_TRY(lud_expansion_list(&w->out, state_at(s, begin), n, &w->error));
    LUD_TRY(look_up(s, w, level));
    const lud_empo_credits next = {.rows = s->next, .window = lud_empo_window_of(UINT32_MAX)};
    uint64_t row = 0;
    size_t record = 0, branch = 0;
    for (uint64_t index = begin; index < begin + n; index++) {
        const bool terminal = w->out.row_count[row] == 0;
        take_rows(w, n_joint, &row, &record, &branch);
        const int human = lud_empo_state_solve(s->problem, s->run->hooks, &s->game, &next, index,
                                               state_at(s, index), terminal, &w->scratch, record_at(s, index),
                                               s->credits + (index - level_begin) * (uint64_t)s->game.width);
        lud_empo_powerless_note(&s->powerless, index, human);
    }
    return LUD_OK;
}

/* ---- a level ---- */

static lud_status solve_states(level_sweep *s, int level, uint64_t begin, uint64_t end, lud_error *error) {
    const uint64_t done = s->layers->begin[s->layers->n] - s->layers->begin[level + 1];
    const uint64_t most = s->workers[0].out.block_states;
    uint64_t block = (end - begin) / (uint64_t)(s->n_threads * SHARES) + 1;
    if (block > most) block = most;
    const int64_t n_blocks = (int64_t)((end - begin + block - 1) / block);
    int stopped = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->n_threads)
    for (int64_t b = 0; b < n_blocks; b++) {
        int skip;
#pragma omp atomic read
        skip = stopped;
        if (skip) continue;
        worker *w = &s->workers[omp_get_thread_num()];
        const uint64_t first = begin + (uint64_t)b * block, n = end - first < block ? end - first : block;
        w->status = solve_block(s, w, level, first, n);
        if (omp_get_thread_num() == 0)
            lud_progress_update(&s->progress, done + (first + n - s->layers->begin[level]));
        if (w->status || lud_interrupted()) {
#pragma omp atomic write
            stopped = 1;
        }
    }
    for (int t = 0; t < s->n_threads; t++) {
        if (!s->workers[t].status) continue;
        if (error) *error = s->workers[t].error;
        return s->workers[t].status;
    }
    if (stopped) return lud_fail(error, LUD_INTERRUPTED, "interrupted in level %d", level);
    return LUD_OK;
}

/* Each process solves a stretch of the slab; then all have the credits of all of it, and the first one, which
 * writes, the records: those of processes beside it are written in its file already. */
static lud_status solve_slab(level_sweep *s, int level, uint64_t begin, uint64_t end, lud_error *error) {
    lud_ranks *ranks = s->run->ranks;
    const int rank = lud_ranks_rank(ranks), size = lud_ranks_size(ranks);
    const int64_t n = (int64_t)(end - begin);
    const uint64_t first = begin + (uint64_t)lud_share_begin(n, size, rank),
                   last = begin + (uint64_t)lud_share_begin(n, size, rank + 1);
    LUD_TRY(lud_ranks_agree(ranks, solve_states(s, level, first, last, error), error));
    const size_t width = (size_t)s->game.width;
    const lud_ranks_array credits = {s->credits + (begin - s->layers->begin[level]) * width,
                                     width * sizeof(double), 1, n};
    LUD_TRY(lud_ranks_complete(ranks, &credits, 1, size, error));
    return lud_ranks_collect(ranks, record_at(s, begin), (size_t)s->game.record_doubles * sizeof(double), n,
                             size, s->run->common, error);
}

/* The first of the states in which somebody has no power, of those that all processes have met. */
static lud_status find_powerless(level_sweep *s, lud_error *error) {
    lud_ranks *ranks = s->run->ranks;
    const int size = lud_ranks_size(ranks);
    int64_t n;
    if (!ranks) return LUD_OK;
    lud_empo_powerless *all = malloc((size_t)size * sizeof *all);
    lud_status status = all ? LUD_OK : lud_no_memory(error, "solving by levels");
    status = lud_ranks_agree(ranks, status, error);
    if (!status) status = lud_ranks_join_lists(ranks, &s->powerless, 1, sizeof *all, all, size, &n, error);
    for (int k = 0; k < size && !status; k++)
        if (all[k].state < s->powerless.state) s->powerless = all[k];
    free(all);
    return status;
}

/* The table of a level's states. */
static lud_status fill_table(level_sweep *s, int level, lud_error *error) {
    const uint64_t begin = s->layers->begin[level], n = s->layers->begin[level + 1] - begin;
    lud_state_table_clear(&s->table);
    LUD_TRY(lud_state_table_reserve(&s->table, n, error));
#pragma omp parallel num_threads(s->n_threads)
    {
        enum { GROUP = 32 };
        uint32_t tags[GROUP];
#pragma omp for schedule(static)
        for (uint64_t from = 0; from < n; from += GROUP) {
            const uint64_t count = n - from < GROUP ? n - from : GROUP;
            for (uint64_t i = 0; i < count; i++) {
                tags[i] = lud_state_tag(state_at(s, begin + from + i), s->state_bytes);
                lud_state_table_prefetch(&s->table, tags[i]);
            }
            for (uint64_t i = 0; i < count; i++)
                lud_state_table_place(&s->table, tags[i], (uint32_t)(from + i));
        }
    }
    return LUD_OK;
}

/* Room for the credits of a level, in place of those of the level after the next. */
static lud_status take_credits(level_sweep *s, int level, lud_error *error) {
    const uint64_t n = s->layers->begin[level + 1] - s->layers->begin[level];
    free(s->next);
    s->next = s->credits;
    s->credits = malloc(n * (uint64_t)s->game.width * sizeof *s->credits);
    return s->credits ? LUD_OK : lud_no_memory(error, "values of the states of level %d", level);
}

static lud_status solve_level(level_sweep *s, int level, lud_error *error) {
    const uint64_t begin = s->layers->begin[level], end = s->layers->begin[level + 1];
    LUD_TRY(take_credits(s, level, error));
    s->powerless = LUD_EMPO_NONE_POWERLESS;
    for (uint64_t at = begin; at < end;) {
        const uint64_t to = end - at < s->slab_states ? end : at + s->slab_states;
        LUD_TRY(solve_slab(s, level, at, to, error));
        if (s->run->states_done) s->run->states_done(s->run->context, at, to);
        at = to;
    }
    LUD_TRY(find_powerless(s, error));
    if (s->powerless.state != UINT64_MAX)
        return lud_empo_no_open_goal(s->problem->model, &s->problem->layout, s->powerless.human,
                                     state_at(s, s->powerless.state), error);
    return fill_table(s, level, error);
}

/* The first process' records of these states come to all; by way of plain memory, as MPI does not read and
 * write every kind of mapped memory. */
static lud_status share_records(level_sweep *s, uint64_t begin, uint64_t end, lud_error *error) {
    lud_ranks *ranks = s->run->ranks;
    const size_t record_bytes = (size_t)s->game.record_doubles * sizeof(double);
    const bool *common = s->run->common;
    if (!ranks || (common && lud_ranks_all(ranks, common))) return LUD_OK;
    const bool has_first_ones = lud_ranks_leads(ranks) || (common && common[lud_ranks_rank(ranks)]);
    double *some = malloc(s->slab_states * record_bytes);
    lud_status status = lud_ranks_agree(ranks, some ? LUD_OK : lud_no_memory(error, "records"), error);
    for (uint64_t at = begin; at < end && !status;) {
        const uint64_t n = end - at < s->slab_states ? end - at : s->slab_states;
        if (lud_ranks_leads(ranks)) memcpy(some, record_at(s, at), n * record_bytes);
        status = lud_ranks_broadcast(ranks, some, n * record_bytes, error);
        if (!status && !has_first_ones) memcpy(record_at(s, at), some, n * record_bytes);
        at += n;
    }
    free(some);
    return status;
}

/* A finished level: its credits come from its records. */
static lud_status recall(level_sweep *s, int level, lud_error *error) {
    const uint64_t begin = s->layers->begin[level], end = s->layers->begin[level + 1];
    LUD_TRY(take_credits(s, level, error));
    LUD_TRY(share_records(s, begin, end, error));
#pragma omp parallel for schedule(static) num_threads(s->n_threads)
    for (uint64_t index = begin; index < end; index++)
        lud_empo_state_recall(s->problem, &s->game, state_at(s, index),
                              &s->workers[omp_get_thread_num()].scratch, record_at(s, index),
                              s->credits + (index - begin) * (uint64_t)s->game.width);
    return fill_table(s, level, error);
}

/* ---- all levels ---- */

static lud_status prepare(level_sweep *s, lud_error *error) {
    s->game = lud_empo_game_of(s->problem, s->noop);
    s->slab_states = SLAB_BYTES / ((uint64_t)s->game.record_doubles * sizeof(double)) + 1;
    s->arena = lud_arena_create(1 << 16);
    s->workers = calloc((size_t)s->n_threads, sizeof *s->workers);
    if (!s->arena || !s->workers) return lud_no_memory(error, "solving by levels");
    for (int t = 0; t < s->n_threads; t++) {
        worker *w = &s->workers[t];
        if (!lud_empo_state_scratch_take(&s->game, s->arena, &w->scratch))
            return lud_no_memory(error, "solving by levels");
        LUD_TRY(lud_expansion_create(&w->out, s->problem->model, s->game.n_joint_actions,
                                     lud_expansion_block(s->game.n_joint_actions), error));
    }
    return lud_state_table_create(&s->table, 0, error);
}

static lud_status sweep_back(level_sweep *s, lud_error *error) {
    const lud_empo_run *run = s->run;
    int level = run->first_level < s->layers->n ? run->first_level : s->layers->n;
    if (level < s->layers->n) LUD_TRY(recall(s, level, error));
    s->progress.before = s->layers->begin[s->layers->n] - s->layers->begin[level];
    while (level-- > 0) {
        LUD_TRY(lud_ranks_agree(run->ranks, solve_level(s, level, error), error));
        const lud_status noted = run->level_done ? run->level_done(run->context, level, error) : LUD_OK;
        LUD_TRY(lud_ranks_agree(run->ranks, noted, error));
    }
    return LUD_OK;
}

uint64_t lud_empo_level_bytes_beside(const lud_empo_layout *layout) {
    return (uint64_t)lud_empo_credit_width(layout) * sizeof(double);
}

lud_status lud_empo_solve_levels(const lud_empo_problem *problem, const lud_empo_layers *layers,
                                 const lud_empo_run *run, lud_error *error) {
    level_sweep s = {.problem = problem,
                     .layers = layers,
                     .run = run,
                     .state_bytes = problem->model->layout.state_bytes,
                     .n_threads = run->n_threads > 0 ? run->n_threads : omp_get_max_threads()};
    lud_status status = prepare(&s, error);
    lud_progress_start(&s.progress, run->progress, "solving", "states", layers->begin[layers->n]);
    if (!status) status = sweep_back(&s, error);
    lud_progress_finish(&s.progress);
    for (int t = 0; s.workers && t < s.n_threads; t++) lud_expansion_free(&s.workers[t].out);
    LUD_FREE(s.workers, s.next, s.credits);
    lud_state_table_free(&s.table);
    lud_arena_destroy(s.arena);
    return status;
}
