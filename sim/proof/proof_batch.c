#include "sim/proof/proof_batch.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "sim/snapshot.h"

/* Successors are first written by each thread into its own stretch of the staging arrays (large enough for
 * the worst case of the slots it serves), then moved together. Stretches are cut by slot, so nothing depends
 * on who does it. */
typedef struct lud_proof_batch_memory {
    lud_arena *arena;
    int n_threads;
    int32_t *begin; /* [n_threads][share * S + 1] */
    lud_proof_atom *atoms;
    uint64_t *hash;
    lud_proof_step *step;
    int32_t *n_of_slot;         /* [n_slots] successors of each */
    int32_t *n_lists, *n_atoms; /* [n_threads + 1] totals, then offsets */
    lud_proof_cuts *cuts;       /* [n_threads] */
} lud_proof_batch_memory;

lud_proof_batch_options lud_proof_training_options(const lud_proof_model *model, int n_slots, uint64_t seed) {
    return (lud_proof_batch_options){.n_slots = n_slots,
                                     .seed = seed,
                                     .order = LUD_PROOF_AT_RANDOM,
                                     .pool = model->pools[LUD_PROOF_TRAIN],
                                     .negatives = (int)(model->options.negatives.per_positive + 0.5),
                                     .corrupt = (lud_proof_corrupt)model->options.negatives.corrupt};
}

lud_proof_batch_options lud_proof_evaluation_options(lud_proof_pool pool, int n_slots, uint64_t seed) {
    return (lud_proof_batch_options){.n_slots = n_slots, .seed = seed, .order = LUD_PROOF_ONCE, .pool = pool};
}

static uint8_t *state_of(const lud_proof_batch *batch, int slot) {
    return batch->states + (size_t)slot * batch->model->model.layout.state_bytes;
}
static lud_proof_state *head_of(const lud_proof_batch *batch, int slot) {
    return (lud_proof_state *)(void *)state_of(batch, slot);
}

/* First slot of a thread's share. */
static int share_begin(const lud_proof_batch *batch, int thread) {
    return (int)((int64_t)batch->n_slots * thread / batch->memory->n_threads);
}

lud_status lud_proof_batch_create(const lud_proof_model *model, const lud_proof_batch_options *options,
                                  lud_proof_batch **batch, lud_error *error) {
    if (options->pool.n == 0 && options->order != LUD_PROOF_ONCE)
        return lud_invalid(error, "no queries to play (after the filters of the scenario)");
    if (options->n_slots <= 0) return lud_invalid(error, "a batch needs at least one slot");
    lud_arena *arena = lud_arena_create(0);
    lud_proof_batch *b = arena ? lud_arena_take(arena, sizeof *b) : NULL;
    bool failed = !b;
    size_t n = (size_t)options->n_slots;
    int n_threads = options->n_threads > 0 ? options->n_threads : omp_get_max_threads();
    if (n_threads > options->n_slots) n_threads = options->n_slots;
    size_t threads = (size_t)n_threads;
    size_t lists = n * (size_t)model->limits.max_successors, atoms = lists * (size_t)model->limits.max_goals;
    if (atoms > INT32_MAX) {
        lud_arena_destroy(arena);
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "%zu slots x %d successors x %d goals are more than 2^31 goals in a batch", n,
                        model->limits.max_successors, model->limits.max_goals);
    }
#define TAKE(pointer, count)                                                                                 \
    failed = failed || !((pointer) = lud_arena_take_array(arena, (count), sizeof *(pointer)))
    if (!failed) {
        b->model = model;
        b->options = *options;
        b->n_slots = options->n_slots;
        TAKE(b->slot_begin, n + 1);
        TAKE(b->successors.begin, lists + 1);
        TAKE(b->successors.atoms, atoms);
        TAKE(b->successors.hash, lists);
        TAKE(b->steps, lists);
        TAKE(b->current.begin, n + 1);
        TAKE(b->current.atoms, n * (size_t)model->limits.max_goals);
        TAKE(b->current.hash, n);
        TAKE(b->states, n * model->model.layout.state_bytes);
        TAKE(b->resting, n);
        TAKE(b->rewards, n);
        TAKE(b->terminated, n);
        TAKE(b->truncated, n);
        TAKE(b->success, n);
        TAKE(b->label, n);
        TAKE(b->query, n);
        TAKE(b->length, n);
        TAKE(b->episode_return, n);
        TAKE(b->pointer, n);
        TAKE(b->n_negative, n);
        TAKE(b->n_corrupted, n);
        TAKE(b->cumulated, n);
        TAKE(b->tick, n);
        TAKE(b->memory, 1);
    }
    if (!failed) {
        lud_proof_batch_memory *m = b->memory;
        m->arena = arena;
        m->n_threads = n_threads;
        TAKE(m->begin, lists + threads);
        TAKE(m->atoms, atoms);
        TAKE(m->hash, lists);
        TAKE(m->step, lists);
        TAKE(m->n_of_slot, n);
        TAKE(m->n_lists, threads + 1);
        TAKE(m->n_atoms, threads + 1);
        TAKE(m->cuts, threads);
    }
#undef TAKE
    if (failed) {
        lud_arena_destroy(arena);
        return lud_no_memory(error, "a batch of %zu slots", n);
    }
    lud_proof_batch_reset(b);
    *batch = b;
    return LUD_OK;
}

void lud_proof_batch_destroy(lud_proof_batch *batch) {
    if (batch) lud_arena_destroy(batch->memory->arena);
}

/* The pool index a slot plays next; -1: none left. Called in the order of slots. */
static int32_t next_query(lud_proof_batch *batch, int slot, bool first) {
    const lud_proof_batch_options *o = &batch->options;
    int32_t n = o->pool.n;
    int32_t first_of_all = (int32_t)((o->first_environment + (uint32_t)slot) % (uint32_t)(n > 0 ? n : 1));
    switch (o->order) {
    case LUD_PROOF_AT_RANDOM: {
        if (first) return first_of_all;
        lud_random_key key = {o->seed, o->first_environment + (uint32_t)slot};
        return (int32_t)lud_below(lud_draw(key, batch->tick[slot], 0, LUD_PURPOSE_RESET, 0).v[0],
                                  (uint32_t)n);
    }
    case LUD_PROOF_IN_TURN:
        return first ? first_of_all : (batch->pointer[slot] + 1) % n;
    case LUD_PROOF_IN_RANGES: {
        int32_t begin = o->range_begin[slot], end = o->range_begin[slot + 1];
        if (begin == end) return -1;
        return first || batch->pointer[slot] + 1 == end ? begin : batch->pointer[slot] + 1;
    }
    case LUD_PROOF_ONCE:
        while (batch->next_once < n && o->pool.atoms[batch->next_once].predicate == 0) batch->next_once++;
        return batch->next_once < n ? batch->next_once++ : -1;
    }
    return -1;
}

/* Begins the query the slot's pointer stands at, or a corruption of it. */
static void begin_episode(lud_proof_batch *batch, int slot) {
    const lud_proof_batch_options *o = &batch->options;
    lud_proof_atom query = o->pool.atoms[batch->pointer[slot]];
    int32_t label = o->pool.labels ? o->pool.labels[batch->pointer[slot]] : 1;
    if (o->negatives > 0 && batch->n_negative[slot] != 0) {
        lud_proof_corrupt mode = o->corrupt;
        if (mode == LUD_PROOF_BOTH) mode = batch->n_corrupted[slot] % 2 ? LUD_PROOF_TAIL : LUD_PROOF_HEAD;
        lud_random_key key = {o->seed, o->first_environment + (uint32_t)slot};
        lud_proof_atom corruption;
        bool found = lud_proof_corrupt_once(batch->model, &query, mode, key, batch->tick[slot], &corruption);
        if (!found && o->corrupt == LUD_PROOF_BOTH) {
            mode = mode == LUD_PROOF_HEAD ? LUD_PROOF_TAIL : LUD_PROOF_HEAD;
            found = lud_proof_corrupt_once(batch->model, &query, mode, key, batch->tick[slot], &corruption);
        }
        if (found) {
            query = corruption;
            label = 0;
        }
        batch->n_corrupted[slot]++;
    }
    if (o->negatives > 0) batch->n_negative[slot] = (batch->n_negative[slot] + 1) % (o->negatives + 1);
    batch->tick[slot]++;
    batch->cumulated[slot] = 0.0f;
    lud_proof_start(batch->model, &query, label, batch->pointer[slot], state_of(batch, slot));
}

static bool is_running(const lud_proof_batch *batch, int slot) {
    return !batch->resting[slot] && head_of(batch, slot)->outcome == LUD_PROOF_RUNNING;
}

/* Applies an action: new state, reward, flags and, at the end, the episode's results. */
static void act(lud_proof_batch *batch, int slot, int32_t action) {
    const lud_proof_model *model = batch->model;
    const lud_proof_lists *lists = &batch->successors;
    uint8_t *state = state_of(batch, slot);
    lud_proof_state *s = head_of(batch, slot);
    batch->rewards[slot] = 0.0f;
    batch->terminated[slot] = batch->truncated[slot] = 0;
    if (!is_running(batch, slot)) return;
    int32_t chosen = batch->slot_begin[slot] + action;
    assert(action >= 0 && chosen < batch->slot_begin[slot + 1]);
    const float before = lud_proof_potential(model, state);
    lud_proof_enter(model, lists->atoms + lists->begin[chosen],
                    lists->begin[chosen + 1] - lists->begin[chosen], batch->steps[chosen], state);
    const float reward = lud_proof_shaped_reward(model, state, before);
    batch->rewards[slot] = reward;
    batch->cumulated[slot] += reward;
    if (s->outcome == LUD_PROOF_RUNNING) return;
    batch->terminated[slot] = s->outcome != LUD_PROOF_TRUNCATED;
    batch->truncated[slot] = s->outcome == LUD_PROOF_TRUNCATED;
    batch->success[slot] = s->outcome == LUD_PROOF_PROVED;
    batch->label[slot] = (int8_t)s->label;
    batch->query[slot] = s->query_index;
    batch->length[slot] = s->depth;
    batch->episode_return[slot] = batch->cumulated[slot];
}

/* Expands a thread's share of slots into its staging; `settle` moves on through unary states where that is
 * asked for. */
static void expand_share(lud_proof_batch *batch, int thread, bool settle) {
    const lud_proof_model *model = batch->model;
    lud_proof_batch_memory *m = batch->memory;
    int first = share_begin(batch, thread), last = share_begin(batch, thread + 1);
    size_t offset = (size_t)first * (size_t)model->limits.max_successors;
    lud_proof_successors out = {.begin = m->begin + offset + (size_t)thread,
                                .atoms = m->atoms + offset * (size_t)model->limits.max_goals,
                                .hash = m->hash + offset,
                                .step = m->step + offset};
    lud_proof_cuts cuts = {0};
    out.begin[0] = 0;
    for (int slot = first; slot < last; slot++) {
        int32_t before = out.n;
        if (!batch->resting[slot] && settle)
            lud_proof_settle(model, state_of(batch, slot), &out, &cuts);
        else if (!batch->resting[slot])
            lud_proof_successors_of(model, state_of(batch, slot), &out, &cuts);
        m->n_of_slot[slot] = out.n - before;
    }
    m->n_lists[thread] = out.n;
    m->n_atoms[thread] = out.begin[out.n];
    m->cuts[thread] = cuts;
}

/* Turns the threads' totals into offsets and lays out the present states. */
static void lay_out(lud_proof_batch *batch) {
    lud_proof_batch_memory *m = batch->memory;
    int32_t lists = 0, atoms = 0;
    for (int t = 0; t < m->n_threads; t++) {
        int32_t n_lists = m->n_lists[t], n_atoms = m->n_atoms[t];
        m->n_lists[t] = lists;
        m->n_atoms[t] = atoms;
        lists += n_lists;
        atoms += n_atoms;
        batch->cuts.expansions += m->cuts[t].expansions;
        batch->cuts.over_goals += m->cuts[t].over_goals;
        batch->cuts.over_successors += m->cuts[t].over_successors;
        batch->cuts.revisited += m->cuts[t].revisited;
    }
    m->n_lists[m->n_threads] = lists;
    m->n_atoms[m->n_threads] = atoms;
    batch->successors.n = lists;
    batch->successors.begin[lists] = atoms;
    int32_t begin = 0, goals = 0;
    for (int slot = 0; slot < batch->n_slots; slot++) {
        batch->slot_begin[slot] = begin;
        begin += m->n_of_slot[slot];
        batch->current.begin[slot] = goals;
        if (is_running(batch, slot)) goals += head_of(batch, slot)->n_goals;
    }
    batch->slot_begin[batch->n_slots] = begin;
    batch->current.begin[batch->n_slots] = goals;
    batch->current.n = batch->n_slots;
}

/* Moves a thread's successors from staging to their place, and its slots' goals. */
static void gather_share(lud_proof_batch *batch, int thread) {
    const lud_proof_model *model = batch->model;
    const lud_proof_batch_memory *m = batch->memory;
    int first = share_begin(batch, thread), last = share_begin(batch, thread + 1);
    size_t offset = (size_t)first * (size_t)model->limits.max_successors;
    int32_t at = m->n_lists[thread], n = m->n_lists[thread + 1] - at, atoms = m->n_atoms[thread];
    const int32_t *begin = m->begin + offset + (size_t)thread;
    lud_proof_lists *to = &batch->successors;
    for (int32_t i = 0; i < n; i++) to->begin[at + i] = begin[i] + atoms;
    memcpy(to->atoms + atoms, m->atoms + offset * (size_t)model->limits.max_goals,
           (size_t)(m->n_atoms[thread + 1] - atoms) * sizeof *to->atoms);
    memcpy(to->hash + at, m->hash + offset, (size_t)n * sizeof *to->hash);
    memcpy(batch->steps + at, m->step + offset, (size_t)n * sizeof *batch->steps);
    for (int slot = first; slot < last; slot++) {
        int32_t goals = batch->current.begin[slot + 1] - batch->current.begin[slot];
        const lud_proof_atom *from = lud_proof_goals_const(state_of(batch, slot));
        memcpy(batch->current.atoms + batch->current.begin[slot], from, (size_t)goals * sizeof *from);
        batch->current.hash[slot] = lud_proof_state_hash(from, goals);
    }
}

/* What a call does besides expanding every slot. */
typedef enum phase { RESTORE, STEP, STEP_RESET, RESET } phase;

static void advance(lud_proof_batch *batch, const int32_t *actions, phase what) {
    bool first = what == RESET, begin_next = first || what == STEP_RESET;
    lud_proof_batch_memory *m = batch->memory;
#pragma omp parallel num_threads(m->n_threads)
    {
        /* each share is served by number, so a smaller team than asked for still serves all */
        if (actions) {
#pragma omp for schedule(static, 1)
            for (int t = 0; t < m->n_threads; t++)
                for (int slot = share_begin(batch, t); slot < share_begin(batch, t + 1); slot++)
                    act(batch, slot, actions[slot]);
        }
        if (begin_next) {
#pragma omp single
            for (int slot = 0; slot < batch->n_slots; slot++) {
                if (!first && (batch->resting[slot] || is_running(batch, slot))) continue;
                int32_t query = next_query(batch, slot, first);
                batch->resting[slot] = query < 0;
                if (query >= 0) batch->pointer[slot] = query;
                m->n_of_slot[slot] = query >= 0 ? -1 : 0; /* -1 marks a slot that begins */
            }
#pragma omp for schedule(static, 1)
            for (int t = 0; t < m->n_threads; t++)
                for (int slot = share_begin(batch, t); slot < share_begin(batch, t + 1); slot++)
                    if (m->n_of_slot[slot] == -1) begin_episode(batch, slot);
        }
#pragma omp for schedule(static, 1)
        for (int t = 0; t < m->n_threads; t++) expand_share(batch, t, what != RESTORE);
#pragma omp single
        lay_out(batch);
#pragma omp for schedule(static, 1)
        for (int t = 0; t < m->n_threads; t++) gather_share(batch, t);
    }
}

void lud_proof_batch_reset(lud_proof_batch *batch) {
    size_t n = (size_t)batch->n_slots;
    memset(batch->rewards, 0, n * sizeof *batch->rewards);
    memset(batch->terminated, 0, n);
    memset(batch->truncated, 0, n);
    memset(batch->success, 0, n);
    memset(batch->label, 0, n);
    memset(batch->query, 0, n * sizeof *batch->query);
    memset(batch->length, 0, n * sizeof *batch->length);
    memset(batch->episode_return, 0, n * sizeof *batch->episode_return);
    memset(batch->n_negative, 0, n * sizeof *batch->n_negative);
    memset(batch->n_corrupted, 0, n * sizeof *batch->n_corrupted);
    memset(batch->tick, 0, n * sizeof *batch->tick);
    batch->next_once = 0;
    batch->cuts = (lud_proof_cuts){0};
    advance(batch, NULL, RESET);
}

void lud_proof_batch_play(lud_proof_batch *batch, lud_proof_pool pool, const int32_t *range_begin) {
    assert(pool.n > 0 || batch->options.order == LUD_PROOF_ONCE);
    batch->options.pool = pool;
    batch->options.range_begin = range_begin;
    lud_proof_batch_reset(batch);
}

void lud_proof_batch_step(lud_proof_batch *batch, const int32_t *actions) {
    advance(batch, actions, STEP);
}
void lud_proof_batch_step_reset(lud_proof_batch *batch, const int32_t *actions) {
    advance(batch, actions, STEP_RESET);
}

void lud_proof_batch_abandon(lud_proof_batch *batch, int slot) {
    if (is_running(batch, slot)) head_of(batch, slot)->outcome = LUD_PROOF_GAVE_UP;
}

/* The arrays that make up a snapshot, one after the other. */
enum { N_PARTS = 16 };
static void list_parts(const lud_proof_batch *b, lud_snapshot_part parts[N_PARTS]) {
    size_t n = (size_t)b->n_slots;
    const lud_snapshot_part all[N_PARTS] = {{b->states, n * b->model->model.layout.state_bytes},
                                            {b->resting, n},
                                            {b->rewards, n * sizeof *b->rewards},
                                            {b->terminated, n},
                                            {b->truncated, n},
                                            {b->success, n},
                                            {b->label, n},
                                            {b->query, n * sizeof *b->query},
                                            {b->length, n * sizeof *b->length},
                                            {b->episode_return, n * sizeof *b->episode_return},
                                            {b->pointer, n * sizeof *b->pointer},
                                            {b->n_negative, n * sizeof *b->n_negative},
                                            {b->n_corrupted, n * sizeof *b->n_corrupted},
                                            {b->cumulated, n * sizeof *b->cumulated},
                                            {b->tick, n * sizeof *b->tick},
                                            {(void *)(uintptr_t)&b->next_once, sizeof b->next_once}};
    memcpy(parts, all, sizeof all);
}

size_t lud_proof_batch_snapshot_bytes(const lud_proof_batch *batch) {
    lud_snapshot_part parts[N_PARTS];
    list_parts(batch, parts);
    return lud_snapshot_bytes(parts, N_PARTS);
}

void lud_proof_batch_save(const lud_proof_batch *batch, void *snapshot) {
    lud_snapshot_part parts[N_PARTS];
    list_parts(batch, parts);
    lud_snapshot_save(parts, N_PARTS, snapshot);
}

/* Whether a slot stands at a query that it can be given, and in a state that a search can be in. */
static lud_status check_slot(const lud_proof_batch *batch, int slot, lud_error *error) {
    const lud_proof_batch_options *o = &batch->options;
    const bool ranged = o->order == LUD_PROOF_IN_RANGES;
    const int32_t first = ranged ? o->range_begin[slot] : 0,
                  end = ranged ? o->range_begin[slot + 1] : o->pool.n;
    if (batch->resting[slot] > 1)
        return lud_invalid(error, "slot %d rests %d times", slot, batch->resting[slot]);
    if (!batch->resting[slot] && (batch->pointer[slot] < first || batch->pointer[slot] >= end))
        return lud_invalid(error, "slot %d plays query %d, expected %d to %d", slot, batch->pointer[slot],
                           first, end - 1);
    if (batch->n_negative[slot] < 0 || batch->n_negative[slot] > o->negatives)
        return lud_invalid(error, "slot %d is at corruption %d of %d", slot, batch->n_negative[slot],
                           o->negatives);
    if (batch->n_corrupted[slot] < 0 || batch->n_corrupted[slot] == INT32_MAX)
        return lud_invalid(error, "slot %d counts %d corruptions", slot, batch->n_corrupted[slot]);
    if (!__builtin_isfinite(batch->cumulated[slot]) || !__builtin_isfinite(batch->rewards[slot]))
        return lud_invalid(error, "slot %d has a reward that is not finite", slot);
    if (batch->resting[slot] && head_of(batch, slot)->query.predicate == 0) return LUD_OK; /* never begun */
    if (lud_proof_check_state(batch->model, state_of(batch, slot), error))
        return lud_fail_context(error, "slot %d", slot);
    /* results are stored by this number */
    return head_of(batch, slot)->query_index < o->pool.n
               ? LUD_OK
               : lud_invalid(error, "slot %d plays query %d of %d", slot, head_of(batch, slot)->query_index,
                             o->pool.n);
}

lud_status lud_proof_batch_load(lud_proof_batch *batch, const void *snapshot, lud_error *error) {
    lud_snapshot_part parts[N_PARTS];
    list_parts(batch, parts);
    lud_snapshot_load(parts, N_PARTS, snapshot);
    if (batch->next_once < 0 || batch->next_once > batch->options.pool.n)
        return lud_invalid(error, "%d queries were handed out, there are %d", batch->next_once,
                           batch->options.pool.n);
    for (int slot = 0; slot < batch->n_slots; slot++) LUD_TRY(check_slot(batch, slot, error));
    advance(batch, NULL, RESTORE);
    return LUD_OK;
}

bool lud_proof_batch_is_done(const lud_proof_batch *batch) {
    for (int slot = 0; slot < batch->n_slots; slot++)
        if (!batch->resting[slot]) return false;
    return true;
}
