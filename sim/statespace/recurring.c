#include "sim/statespace/recurring.h"

#include <string.h>

enum { CHUNK = 4096 };

bool lud_recurring_possible(const lud_layout *layout, const uint8_t *starts, int n_starts) {
    const size_t clock = layout->clock.offset, bytes = layout->clock.bytes;
    for (int i = 1; i < n_starts && bytes; i++)
        if (memcmp(starts + (size_t)i * layout->state_bytes + clock, starts + clock, bytes) != 0)
            return false;
    return bytes > 0;
}

void lud_recurring_advance(const lud_layout *layout, uint8_t *state) {
    uint8_t *clock = state + layout->clock.offset;
    for (size_t i = 0; i < layout->clock.bytes && ++clock[i] == 0; i++) {
    }
}

/* The order of two states' bytes without those of the clock. */
static int compare(const lud_layout *layout, const uint8_t *a, const uint8_t *b) {
    const size_t head = layout->clock.offset, tail = head + layout->clock.bytes;
    const int order = head ? memcmp(a, b, head) : 0;
    return order ? order : memcmp(a + tail, b + tail, layout->state_bytes - tail);
}

static const uint8_t *state_at(const lud_statespace *space, uint64_t number) {
    return space->states + number * space->state_bytes;
}

/* The first state of from..to-1 that is not before `state`. */
static uint64_t lower_bound(const lud_statespace *space, uint64_t from, uint64_t to, const uint8_t *state) {
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        if (compare(&space->model->layout, state_at(space, middle), state) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool lud_recurring_find(const lud_statespace *space, uint64_t earlier_begin, uint64_t begin, uint64_t end,
                        int n_threads, uint32_t *before) {
    const lud_model *model = space->model;
    int any = 0;
#pragma omp parallel for schedule(static) num_threads(n_threads) reduction(| : any)
    for (uint64_t first = begin; first < end; first += CHUNK) {
        const uint64_t last = end - first < CHUNK ? end : first + CHUNK;
        uint64_t at = lower_bound(space, earlier_begin, begin, state_at(space, first));
        for (uint64_t s = first; s < last; s++) {
            const uint8_t *state = state_at(space, s);
            int order = -1;
            while (at < begin && (order = compare(&model->layout, state_at(space, at), state)) < 0) at++;
            const bool same = at < begin && order == 0 && !lud_statespace_terminal(space, at) &&
                              !model->world->is_terminal(model, state);
            before[s - begin] = same ? (uint32_t)at : LUD_NOT_RECURRING;
            any |= same;
        }
    }
    return any;
}

uint64_t lud_recurring_mark(const lud_statespace *space, uint64_t begin, uint64_t end, int n_threads,
                            const uint32_t *before, uint32_t *later) {
    const uint64_t n = end - begin;
    uint64_t n_marked = 0;
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < n; i++)
            for (int32_t k = 0; k < space->n_joint_actions && before[i] != LUD_NOT_RECURRING; k++) {
                const uint32_t *successor;
                const uint32_t n_successors = lud_recurring_row(space, before[i], k, &successor);
                for (uint32_t j = 0; j < n_successors; j++)
                    __atomic_store_n(&later[successor[j] - begin], 0, __ATOMIC_RELAXED);
            }
#pragma omp for schedule(static) reduction(+ : n_marked)
        for (uint64_t i = 0; i < n; i++) n_marked += later[i] == 0;
    }
    return n_marked;
}
