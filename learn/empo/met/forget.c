#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "learn/empo/met/met_inside.h"

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Which expanded states stay so: about half of them, those seen last; of those seen equally long ago the ones
 * that were expanded last. keep[n], scratch[n_expanded]. */
static void choose(const lud_empo_met *m, uint8_t *keep, uint32_t *scratch) {
    const int64_t n = m->n_expanded;
    for (int64_t i = 0; i < n; i++) scratch[i] = m->seen[m->expanded[i]];
    qsort(scratch, (size_t)n, sizeof *scratch, compare);
    const uint32_t middle = scratch[n / 2];
    int64_t left = n / 2;
    for (int64_t i = 0; i < n; i++)
        if (m->seen[m->expanded[i]] > middle) {
            keep[m->expanded[i]] = 1;
            left--;
        }
    for (int64_t i = n - 1; i >= 0 && left > 0; i--)
        if (m->seen[m->expanded[i]] == middle) {
            keep[m->expanded[i]] = 1;
            left--;
        }
}

static int64_t length_of(const lud_empo_met *m, int64_t node) {
    const uint32_t *at = m->words + m->list[node] + m->n_policy_words + m->n_joint;
    return (int64_t)at[0] + at[1];
}

static void renumber(const lud_empo_met *m, uint32_t *list, const uint32_t *number) {
    const uint32_t *at = list + m->n_policy_words + m->n_joint;
    for (uint32_t i = 0; i < at[1]; i++) list[at[0] + i] = number[list[at[0] + i]];
}

/* Lists of the states that stay move together; they stand in the order in which states were expanded. */
static void move_lists(lud_empo_met *m, const uint8_t *keep, const uint32_t *number) {
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < m->n_expanded; i++) {
        const uint32_t node = m->expanded[i];
        if (!keep[node]) {
            m->flags[node] &= (uint8_t)~LUD_MET_EXPANDED;
            m->flags[node] |= LUD_MET_FORGOTTEN;
            m->list[node] = -1;
            continue;
        }
        const int64_t length = length_of(m, node);
        memmove(m->words + at, m->words + m->list[node], (size_t)length * sizeof *m->words);
        m->list[node] = at;
        renumber(m, m->words + at, number);
        at += length;
        m->expanded[n++] = number[node];
    }
    m->forgotten += m->n_expanded - n;
    m->n_expanded = n;
    m->n_words = at;
}

/* A state takes a smaller number, or the same. */
static void move(lud_empo_met *m, int64_t from, int64_t to) {
    memmove(m->states + (size_t)to * m->state_bytes, lud_empo_met_bytes_of(m, from), m->state_bytes);
    m->block[to] = m->block[from];
    memmove(lud_met_known(m, to, 0), lud_met_known(m, from, 0),
            (size_t)m->n_knots * m->stride * sizeof *m->known);
    memmove(m->marks + (size_t)to * m->mark_words, m->marks + (size_t)from * m->mark_words,
            m->mark_words * sizeof *m->marks);
    m->flags[to] = m->flags[from];
    m->list[to] = m->list[from];
    m->seen[to] = m->seen[from];
    m->visits[to] = m->visits[from];
    m->highest[to] = m->highest[from];
}

static void move_states(lud_empo_met *m, const uint32_t *number) {
    int64_t n = 0, n_fresh = 0;
    for (int64_t i = 0; i < m->n_fresh; i++)
        if (number[m->fresh[i]] != LUD_MET_NONE) m->fresh[n_fresh++] = number[m->fresh[i]];
    m->n_fresh = n_fresh;
    m->n_terminal = 0;
    for (int64_t i = 0; i < m->n; i++) {
        if (number[i] == LUD_MET_NONE) continue;
        move(m, i, n);
        m->first_before[n] = LUD_MET_NONE;
        m->touched[n] = 0;
        m->n_terminal += lud_empo_met_terminal(m, n++);
    }
    m->n = n;
}

/* Blocks of states that stay move together. */
static void move_blocks(lud_empo_met *m, const uint32_t *number) {
    int64_t n = 0;
    for (int64_t block = 0; block < m->n_blocks; block++) {
        const uint32_t node = m->owner[block];
        if (number[node] == LUD_MET_NONE) continue;
        for (int level = lud_met_first_level(m); level < m->n_levels; level++)
            memmove(m->rows[level] + (size_t)n * m->stride, m->rows[level] + (size_t)block * m->stride,
                    m->stride * sizeof **m->rows);
        m->owner[n] = number[node];
        m->block[node] = (uint32_t)n++;
    }
    m->n_blocks = n;
}

lud_status lud_empo_met_forget(lud_empo_met *m, lud_error *error) {
    const size_t n = (size_t)m->n;
    uint8_t *keep = calloc(n + 1, sizeof *keep);
    uint32_t *number = calloc(n + 1, sizeof *number);
    if (!keep || !number || m->n_expanded == 0) {
        const bool empty = m->n_expanded == 0;
        char most[16];
        LUD_FREE(keep, number);
        return empty ? lud_fail(error, LUD_ERROR_LIMIT, "%s do not hold the successors of a state",
                                lud_format_memory((double)m->most_bytes, most))
                     : lud_no_memory(error, "states that were met");
    }
    choose(m, keep, number);
    memset(number, 0, n * sizeof *number); /* first: whether it stays */
    for (int64_t i = 0; i < m->n_expanded; i++) {
        const uint32_t node = m->expanded[i];
        if (!keep[node]) continue;
        number[node] = 1;
        const lud_met_distinct successors = lud_met_distinct_of(m, node);
        for (uint32_t j = 0; j < successors.n; j++) number[successors.node[j]] = 1;
    }
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) number[i] = number[i] ? next++ : LUD_MET_NONE;
    move_blocks(m, number);
    move_lists(m, keep, number);
    move_states(m, number);
    lud_met_hash_again(m);
    m->n_before = 0;
    m->expansion = 0;
    for (int64_t i = 0; i < m->n_expanded; i++) lud_met_note_before(m, m->expanded[i]);
    m->closed = false;
    m->n_active = 0;
    for (int64_t i = 0; i < m->n; i++) {
        if (m->flags[i] & LUD_MET_MARKED && lud_empo_met_expanded(m, i)) {
            m->active[m->n_active++] = (uint32_t)i;
            continue;
        }
        m->flags[i] &= (uint8_t)~LUD_MET_MARKED;
        memset(m->marks + (size_t)i * m->mark_words, 0, m->mark_words * sizeof *m->marks);
    }
    LUD_FREE(keep, number);
    return LUD_OK;
}

/* ---- saving ---- */

static const char *name_of(char text[128], const char *prefix, const char *name) {
    snprintf(text, 128, "%s%s", prefix, name);
    return text;
}

/* Blocks that were loaded: finite, and nobody's yet. */
static bool blocks_are_sound(lud_empo_met *m) {
    bool sound = true;
    for (int64_t b = 0; b < m->n_blocks; b++) {
        m->owner[b] = LUD_MET_NONE;
        for (int level = lud_met_first_level(m); level < m->n_levels; level++) {
            const float *row = m->rows[level] + (size_t)b * m->stride;
            for (size_t k = 0; k < m->stride; k++) sound &= isfinite(row[k]) != 0;
            sound &= row[m->stride - 1] <= 0.0f;
        }
    }
    return sound;
}

/* Whether what is known of a state can be, and a block that it has is there and no other state's. */
static bool worth_is_sound(lud_empo_met *m, int64_t node, bool terminal) {
    const uint32_t block = m->block[node];
    for (int knot = 0; knot < m->n_knots; knot++) {
        const float *known = lud_met_known(m, node, knot), last = known[m->stride - 1];
        for (size_t k = 0; k + 1 < m->stride; k++)
            if (known[k] != LUD_MET_ACHIEVED && !(known[k] >= 0.0f && known[k] <= 1.0f)) return false;
        if (!isfinite(last) || last > 0.0f) return false;
    }
    if (block == LUD_MET_NONE) return !(m->flags[node] & (LUD_MET_EXPANDED | LUD_MET_FORGOTTEN));
    if (terminal || block >= m->n_blocks || m->owner[block] != LUD_MET_NONE) return false;
    m->owner[block] = (uint32_t)node;
    return true;
}

/* Active states that were loaded, each once; the others have no marks. */
static bool marks_are_sound(lud_empo_met *m) {
    m->lowest = m->n_levels;
    m->all_marked = false;
    for (int64_t i = 0; i < m->n_active; i++) {
        const uint32_t node = m->active[i];
        if (node >= m->n || m->flags[node] & LUD_MET_MARKED) return false;
        m->flags[node] |= LUD_MET_MARKED;
    }
    for (int64_t i = 0; i < m->n; i++)
        for (int level = 0; level < (int)m->mark_words * 64; level++) {
            if (!(m->marks[(size_t)i * m->mark_words + (size_t)level / 64] >> level % 64 & 1)) continue;
            if (!(m->flags[i] & LUD_MET_MARKED) || level < lud_met_first_level(m) || level >= m->n_levels)
                return false;
            if (level < m->lowest) m->lowest = level;
        }
    return true;
}

/* What was loaded is a table: states of the model, each with the flags that it can have and finite worth. */
static void check(lud_empo_met *m, const char *prefix, lud_checkpoint *checkpoint) {
    const lud_world *world = m->model->world;
    const lud_clock *clock = &m->model->layout.clock;
    m->n_terminal = 0;
    if (!blocks_are_sound(m))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%srows: values that are none", prefix);
    for (int64_t i = 0; i < m->n && !lud_checkpoint_status(checkpoint, NULL); i++) {
        const uint8_t *state = lud_empo_met_bytes_of(m, i), flags = m->flags[i];
        lud_error error = {0};
        bool sound = !world->check_state || world->check_state(m->model, state, &error) == LUD_OK;
        const bool terminal = sound && world->is_terminal(m->model, state);
        for (size_t k = 0; m->clocked && k < clock->bytes; k++) sound &= state[clock->offset + k] == 0;
        sound &= m->highest[i] >= 0 && m->highest[i] < m->n_levels;
        sound &= worth_is_sound(m, i, terminal);
        const uint8_t expanded_flags =
            flags & LUD_MET_EXPANDED ? LUD_MET_EXPANDED | LUD_MET_MARKED : LUD_MET_FORGOTTEN;
        sound &= terminal ? flags == LUD_MET_TERMINAL : (flags & expanded_flags) == flags;
        m->list[i] = -1;
        m->first_before[i] = LUD_MET_NONE;
        m->touched[i] = 0;
        m->flags[i] &= (uint8_t)~LUD_MET_MARKED; /* of those that are active set again */
        m->n_terminal += terminal;
        if (!sound)
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%sstates: state %lld makes no sense", prefix,
                                (long long)i);
    }
    for (int64_t b = 0; b < m->n_blocks && !lud_checkpoint_status(checkpoint, NULL); b++)
        if (m->owner[b] == LUD_MET_NONE)
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%srows: row %lld is nobody's", prefix,
                                (long long)b);
    for (int64_t i = 0; i < m->n_expanded && !lud_checkpoint_status(checkpoint, NULL); i++) {
        const uint32_t node = m->expanded[i];
        if (node >= m->n || !(m->flags[node] & LUD_MET_EXPANDED) || m->touched[node]) {
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%sexpanded: entry %lld makes no sense", prefix,
                                (long long)i);
            return;
        }
        m->touched[node] = 1;
    }
    for (int64_t i = 0; i < m->n && !lud_checkpoint_status(checkpoint, NULL); i++)
        if (lud_empo_met_expanded(m, i) && !m->touched[i])
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%sexpanded: state %lld is missing", prefix,
                                (long long)i);
    if (!(m->grounded >= 0 && m->grounded <= 1))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%sgrounded: %g is no share", prefix, m->grounded);
    memset(m->touched, 0, (size_t)m->n * sizeof *m->touched);
    if (!lud_checkpoint_status(checkpoint, NULL) && !marks_are_sound(m))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%sactive: states that are none", prefix);
}

void lud_empo_met_visit(lud_empo_met *m, const char *prefix, lud_checkpoint *checkpoint) {
    char text[128];
    int64_t closed = m->closed;
    struct {
        const char *name;
        int64_t *value;
        int64_t most;
    } counts[] = {{"room", &m->room, INT32_MAX},
                  {"room_words", &m->room_words, INT64_MAX / 8},
                  {"room_before", &m->room_before, UINT32_MAX},
                  {"n", &m->n, INT32_MAX},
                  {"n_expanded", &m->n_expanded, INT32_MAX},
                  {"closed", &closed, 1},
                  {"room_blocks", &m->room_blocks, INT32_MAX},
                  {"n_blocks", &m->n_blocks, INT32_MAX},
                  {"n_active", &m->n_active, INT32_MAX}};
    int64_t read[9];
    const bool loading = lud_checkpoint_loading(checkpoint);
    for (int i = 0; i < 9; i++) {
        uint64_t value = (uint64_t)*counts[i].value;
        lud_checkpoint_u64(checkpoint, name_of(text, prefix, counts[i].name), &value);
        lud_checkpoint_limit(checkpoint, text, value, (uint64_t)counts[i].most);
        read[i] = (int64_t)value;
    }
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    if (loading) {
        bool failed = false;
        const bool sound =
            read[3] <= read[0] && read[4] <= read[3] && read[7] <= read[6] && read[8] <= read[3];
        lud_empo_met_clear(m);
        if (!sound || read[0] < 1 ||
            !lud_met_reserve_exactly(m, (lud_met_rooms){read[0], read[1], read[2], read[6]}, &failed)) {
            lud_checkpoint_fail(checkpoint, failed ? LUD_ERROR_MEMORY : LUD_ERROR_INPUT,
                                failed ? "no memory for %lld states that were met"
                                       : "%lld states that were met do not fit",
                                (long long)read[3]);
            return;
        }
        m->n = read[3];
        m->n_expanded = read[4];
        m->closed = read[5] != 0;
        m->n_blocks = read[7];
        m->n_active = read[8];
    }
    const size_t n = (size_t)m->n;
    const struct {
        const char *name;
        void *data;
        size_t bytes;
    } arrays[] = {{"states", m->states, n * m->state_bytes},
                  {"flags", m->flags, n},
                  {"block", m->block, n * sizeof *m->block},
                  {"highest", m->highest, n * sizeof *m->highest},
                  {"seen", m->seen, n * sizeof *m->seen},
                  {"visits", m->visits, n * sizeof *m->visits},
                  {"expanded", m->expanded, (size_t)m->n_expanded * sizeof *m->expanded},
                  {"active", m->active, (size_t)m->n_active * sizeof *m->active},
                  {"marks", m->marks, n * m->mark_words * sizeof *m->marks},
                  {"grounded", &m->grounded, sizeof m->grounded},
                  {"clock", &m->clock, sizeof m->clock},
                  {"computed", &m->computed, sizeof m->computed},
                  {"forgotten", &m->forgotten, sizeof m->forgotten}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lud_checkpoint_bytes(checkpoint, name_of(text, prefix, arrays[i].name), arrays[i].data,
                             arrays[i].bytes);
    lud_checkpoint_tensor(checkpoint, name_of(text, prefix, "known"), LUD_TENSOR_F32, 2,
                          (const int64_t[]){m->n, m->n_knots * (int64_t)m->stride}, m->known);
    for (int level = lud_met_first_level(m); level < m->n_levels; level++) {
        snprintf(text, sizeof text, "%srows.%d", prefix, level);
        lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_F32, 2,
                              (const int64_t[]){m->n_blocks, (int64_t)m->stride}, m->rows[level]);
    }
    if (loading && !lud_checkpoint_status(checkpoint, NULL)) {
        check(m, prefix, checkpoint);
        lud_met_hash_again(m);
    }
}
