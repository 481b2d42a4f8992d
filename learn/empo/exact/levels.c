#include "learn/empo/exact/levels.h"

#include <stdlib.h>

#include "sim/statespace/recurring.h"

/* Whether every successor of a state in layer t is in layer t + 1 (breadth-first layers rule out later ones):
 * where states count steps from the same one on, by what their world promises. */
static bool layers_are_levels(const lud_statespace *space) {
    if (lud_recurring_possible(&space->model->layout, space->states, (int)space->layer_begin[1])) return true;
    for (int layer = 0; layer < space->n_layers; layer++) {
        uint64_t next = space->layer_begin[layer + 1];
        int early = 0;
#pragma omp parallel for schedule(static) reduction(| : early)
        for (uint64_t s = space->layer_begin[layer]; s < next; s++)
            for (int32_t k = 0; k < space->n_joint_actions; k++) {
                lud_statespace_row row = lud_statespace_get_row(space, s, k);
                for (uint32_t i = 0; i < row.n; i++) early |= row.successor[i] < next;
            }
        if (early) return false;
    }
    return true;
}

typedef struct frame {
    uint32_t state;
    int32_t joint_action; /* the next row to visit */
    uint32_t entry;       /* and its next entry */
} frame;

enum { UNSEEN = -1, OPEN = -2 };

/* The next successor of the frame's state, or UINT32_MAX after the last. */
static uint32_t next_successor(const lud_statespace *space, frame *f) {
    for (; f->joint_action < space->n_joint_actions; f->joint_action++, f->entry = 0) {
        lud_statespace_row row = lud_statespace_get_row(space, f->state, f->joint_action);
        if (f->entry < row.n) return row.successor[f->entry++];
    }
    return UINT32_MAX;
}

/* height[s] = longest way from s to a terminal state, by depth-first search with an explicit stack. */
static lud_status find_heights(const lud_statespace *space, int32_t *height, frame *stack, lud_error *error) {
    for (uint64_t s = 0; s < space->n_states; s++) height[s] = UNSEEN;
    for (uint64_t root = 0; root < space->n_states; root++) {
        if (height[root] != UNSEEN) continue;
        uint64_t depth = 0;
        stack[depth++] = (frame){.state = (uint32_t)root};
        height[root] = OPEN;
        while (depth > 0) {
            uint32_t successor = next_successor(space, &stack[depth - 1]);
            if (successor == UINT32_MAX) { /* all seen: the height is known */
                uint32_t state = stack[--depth].state;
                int32_t highest = -1;
                for (frame again = {.state = state};
                     (successor = next_successor(space, &again)) != UINT32_MAX;)
                    if (height[successor] > highest) highest = height[successor];
                height[state] = highest + 1;
            } else if (height[successor] == OPEN) {
                return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                                "state %u can be reached from itself; backward induction needs a world whose "
                                "episodes end, e.g. by max_steps",
                                successor);
            } else if (height[successor] == UNSEEN) {
                height[successor] = OPEN;
                stack[depth++] = (frame){.state = successor};
            }
        }
    }
    return LUD_OK;
}

/* Levels by falling height: a counting sort keeps states of one level in the order of their numbers. */
static lud_status order_by_height(const lud_statespace *space, const int32_t *height, lud_arena *arena,
                                  lud_empo_levels *levels, lud_error *error) {
    int32_t highest = 0;
    for (uint64_t s = 0; s < space->n_states; s++)
        if (height[s] > highest) highest = height[s];
    levels->n = highest + 1;
    levels->begin = lud_arena_take_array(arena, (size_t)levels->n + 1, sizeof *levels->begin);
    levels->order = lud_arena_take_array(arena, space->n_states, sizeof *levels->order);
    uint64_t *at = lud_arena_take_array(arena, (size_t)levels->n + 1, sizeof *at);
    if (!levels->begin || !levels->order || !at)
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory to order %llu states",
                        (unsigned long long)space->n_states);
    for (uint64_t s = 0; s < space->n_states; s++) levels->begin[highest - height[s] + 1]++;
    for (int level = 0; level < levels->n; level++) levels->begin[level + 1] += levels->begin[level];
    for (int level = 0; level < levels->n; level++) at[level] = levels->begin[level];
    for (uint64_t s = 0; s < space->n_states; s++) levels->order[at[highest - height[s]]++] = (uint32_t)s;
    return LUD_OK;
}

lud_status lud_empo_levels_find(const lud_statespace *space, lud_arena *arena, lud_empo_levels *levels,
                                lud_error *error) {
    *levels = (lud_empo_levels){0};
    if (layers_are_levels(space)) {
        levels->n = space->n_layers;
        levels->begin = space->layer_begin;
        levels->consecutive = true;
        return LUD_OK;
    }
    int32_t *height = malloc(space->n_states * sizeof *height);
    frame *stack = malloc(space->n_states * sizeof *stack);
    lud_status status =
        height && stack ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "no memory to order states");
    if (status == LUD_OK) status = find_heights(space, height, stack, error);
    if (status == LUD_OK) status = order_by_height(space, height, arena, levels, error);
    free(height);
    free(stack);
    return status;
}
