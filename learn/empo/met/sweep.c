#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/ranks/divide.h"
#include "learn/empo/met/met_inside.h"

/* ---- marks ---- */

static void note_active(lud_empo_met *m, int64_t node, int level) {
    if (level < m->lowest) {
        m->lowest = level;
        m->all_marked = false;
    }
    if (m->flags[node] & LUD_MET_MARKED) return;
    m->flags[node] |= LUD_MET_MARKED;
    m->active[m->n_active++] = (uint32_t)node;
}

static uint64_t *word_of(const lud_empo_met *m, int64_t node, int level) {
    return &m->marks[(size_t)node * m->mark_words + (size_t)level / 64];
}

static void mark(lud_empo_met *m, int64_t node, int level) {
    *word_of(m, node, level) |= UINT64_C(1) << level % 64;
    note_active(m, node, level);
}

void lud_met_mark_from(lud_empo_met *m, int64_t node, int level) {
    for (int l = level; l < m->n_levels; l++) *word_of(m, node, l) |= UINT64_C(1) << l % 64;
    if (level < m->n_levels) note_active(m, node, level);
}

void lud_met_mark_before(lud_empo_met *m, int64_t node) {
    const int first = m->clocked ? 2 : 0; /* level 0, the end, never changes */
    for (uint32_t b = m->first_before[node]; b != LUD_MET_NONE; b = m->before[b].next)
        lud_met_mark_from(m, m->before[b].node, first);
}

/* The same where it has changed at one level. */
static void mark_before_level(lud_empo_met *m, int64_t node, int level) {
    const int next = m->clocked ? level + 1 : 0;
    if (next == m->n_levels) return;
    for (uint32_t b = m->first_before[node]; b != LUD_MET_NONE; b = m->before[b].next)
        mark(m, m->before[b].node, next);
}

void lud_empo_met_mark_all(lud_empo_met *m) {
    for (int64_t i = 0; i < m->n_expanded; i++) lud_met_mark_from(m, m->expanded[i], lud_met_first_level(m));
    m->all_marked = m->clocked;
}

/* ---- one state ---- */

/* (4) to (9), once the scratch's rows and the policies stand. */
static void finish(const lud_empo_met *m, lud_empo_scratch *scratch, double *record) {
    const lud_empo_state_inputs inputs = {0};
    const int human = lud_empo_phase_2(&m->game, scratch, &inputs, record, 0, 1);
    (void)human; /* power has a floor above 0 */
}

/* Where a joint action's row of the equations begins: its V_h^m part, which phase 2 does not read, lies
 * before. */
static double *expected_row(const lud_empo_met *m, const lud_empo_scratch *scratch, int32_t k) {
    double *row = scratch->expected + (size_t)k * (size_t)m->game.width;
    scratch->row[k] = row;
    return row + m->stride - 1;
}

/* Where the row of a distinct successor begins, likewise. */
static double *distinct_row(const lud_empo_met *m, const lud_met_scratch *scratch, uint32_t place) {
    return scratch->distinct + (size_t)place * m->stride;
}

/* The expectation of what the successors of one joint action are worth, sum[stride]. */
static void expect(const lud_empo_met *m, const lud_met_scratch *scratch, lud_met_successors row,
                   double *sum) {
    memset(sum, 0, m->stride * sizeof *sum);
    for (uint32_t i = 0; i < row.n; i++) {
        const double p = lud_met_probability(row, i);
        const double *one = distinct_row(m, scratch, row.place[i]) + m->stride - 1;
        for (size_t j = 0; j < m->stride; j++) sum[j] += p * one[j];
    }
}

static void look(const lud_empo_met *m, lud_met_scratch *scratch, int64_t node, int level, double *record) {
    const float *policies = lud_empo_met_policies(m, node, level);
    const lud_met_distinct successors = lud_met_distinct_of(m, node);
    for (int32_t i = 0; i < m->n_policies; i++) record[m->game.policies + i] = (double)policies[i];
    for (uint32_t i = 0; i < successors.n; i++)
        lud_met_read(m, successors.node[i], lud_met_level_after(m, level),
                     distinct_row(m, scratch, i) + m->stride - 1);
    for (int32_t k = 0; k < m->n_joint; k++) {
        const lud_met_successors row = lud_met_row_of(m, node, k);
        if (row.probability)
            expect(m, scratch, row, expected_row(m, &scratch->equations, k));
        else
            scratch->equations.row[k] = distinct_row(m, scratch, row.place[0]);
    }
    finish(m, &scratch->equations, record);
}

void lud_empo_met_look(lud_empo_met *m, int64_t node, int level, double *record) {
    look(m, m->scratch, node, level, record);
}

void lud_empo_met_look_from(lud_empo_met *m, const uint8_t *state, const double *policies,
                            const double *const *row, double *record) {
    if (policies)
        memcpy(record + m->game.policies, policies, (size_t)m->n_policies * sizeof *policies);
    else
        lud_met_ask_people(m, state, record + m->game.policies);
    lud_empo_scratch *scratch = &m->scratch->equations;
    for (int32_t k = 0; k < m->n_joint; k++)
        memcpy(expected_row(m, scratch, k), row[k], m->stride * sizeof **row);
    finish(m, scratch, record);
}

const uint32_t *lud_empo_met_likely(lud_empo_met *m, int64_t node, int level, double least, int64_t *n) {
    const lud_met_distinct successors = lud_met_distinct_of(m, node);
    lud_empo_scratch *t = &m->scratch->equations;
    double *record = m->scratch->record, *chance = m->scratch->distinct;
    const float *policies = lud_empo_met_policies(m, node, level);
    for (int32_t i = 0; i < m->n_policies; i++) record[m->game.policies + i] = (double)policies[i];
    lud_empo_profiles(&m->game, t, record, 0, 1);
    memset(m->likely, 0, successors.n * sizeof *m->likely);
    for (int r = 0; r < m->game.n_robot_actions; r++) {
        memset(chance, 0, successors.n * sizeof *chance);
        for (int profile = 0; profile < m->game.n_profiles; profile++) {
            if (t->profile[profile] == 0) continue;
            const lud_met_successors row =
                lud_met_row_of(m, node, m->game.joint_of[profile * m->game.n_robot_actions + r]);
            for (uint32_t i = 0; i < row.n; i++)
                chance[row.place[i]] += t->profile[profile] * lud_met_probability(row, i);
        }
        for (uint32_t i = 0; i < successors.n; i++) m->likely[i] |= chance[i] >= least;
    }
    *n = 0;
    for (uint32_t i = 0; i < successors.n; i++)
        if (m->likely[i]) m->likely[(*n)++] = successors.node[i];
    return m->likely;
}

/* ---- sweeping ---- */

/* Whether a state's worth at a level has changed by more than `tolerance` of itself, and takes on what it is
 * now. */
static bool renew(const lud_empo_met *m, lud_met_scratch *scratch, int64_t node, int level,
                  double tolerance) {
    const lud_empo_layout *layout = &m->problem->layout;
    float *row = lud_met_row(m, node, level);
    look(m, scratch, node, level, scratch->record);
    lud_empo_met_credit(m, lud_empo_met_bytes_of(m, node), scratch->record + layout->v_h_e,
                        scratch->record[layout->v_r], scratch->row);
    bool changed = false;
    for (size_t k = 0; k < m->stride; k++) {
        const float fresh = (float)scratch->row[k];
        changed |= !(fabs((double)fresh - (double)row[k]) <= tolerance * fabs((double)row[k]));
        row[k] = fresh;
    }
    return changed;
}

/* Takes the states that are marked at a level, at most so many (0: all). Whether that is all. */
static bool take_level(lud_empo_met *m, int level, int64_t most, int64_t *n) {
    const uint64_t bit = UINT64_C(1) << level % 64;
    *n = 0;
    for (int64_t i = 0; i < m->n_active; i++) {
        const uint32_t node = m->active[i];
        uint64_t *word = word_of(m, node, level);
        if (!(*word & bit)) continue;
        if (most > 0 && *n == most) return false;
        *word &= ~bit;
        if (m->flags[node] & LUD_MET_EXPANDED) m->work[(*n)++] = node;
    }
    return true;
}

/* States of a level that are renewed together. */
typedef struct level_work {
    lud_empo_met *met;
    int level;
    int64_t first; /* the first of them in the table's list of work */
    double tolerance;
} level_work;

/* States i .. i + n - 1 of these, at the same time. */
static void renew_some(const level_work *w, int64_t i, int64_t n) {
    enum { PARALLEL_FROM = 256 };
    const lud_empo_met *m = w->met;
    const int64_t first = w->first + i;
#pragma omp parallel for schedule(static) num_threads(m->n_threads) if (n >= PARALLEL_FROM)
    for (int64_t k = first; k < first + n; k++)
        m->changed[k] = renew(m, &m->scratch[omp_get_thread_num()], m->work[k], w->level, w->tolerance);
}

/* The same for other processes. */
static lud_status renew_for_all(void *work, int64_t i, int64_t n, lud_error *error) {
    const level_work *w = work;
    const lud_empo_met *m = w->met;
    if (!m->renewed) return lud_no_memory(error, "values of states that were met");
    renew_some(w, i, n);
    for (int64_t k = i; k < i + n; k++)
        memcpy(m->renewed + (size_t)k * m->stride, lud_met_row(m, m->work[w->first + k], w->level),
               m->stride * sizeof *m->renewed);
    return LUD_OK;
}

/* Those of a level that processes divide: the table is the same everywhere afterwards. */
static lud_status renew_together(lud_empo_met *m, int level, int64_t n, double tolerance, lud_error *error) {
    const size_t row_bytes = m->stride * sizeof *m->renewed;
    if (!m->renewed) m->renewed = malloc(LUD_MET_DIVIDED * row_bytes);
    for (int64_t first = 0; first < n; first += LUD_MET_DIVIDED) {
        level_work work = {m, level, first, tolerance};
        const int64_t some = n - first < LUD_MET_DIVIDED ? n - first : LUD_MET_DIVIDED;
        const lud_ranks_array arrays[] = {{m->renewed, row_bytes, 1, some},
                                          {m->changed + first, sizeof *m->changed, 1, some}};
        LUD_TRY(lud_ranks_divide(m->ranks, lud_ranks_size(m->ranks), some, renew_for_all, &work, arrays, 2,
                                 error));
        for (int64_t k = 0; k < some; k++)
            memcpy(lud_met_row(m, m->work[first + k], level), m->renewed + (size_t)k * m->stride, row_bytes);
    }
    return LUD_OK;
}

/* Levels follow from other levels, so their states can be computed at the same time. Where there is one level
 * each goes on from what the one before it has found, and those met last, which the others lead to, come
 * first. */
static lud_status renew_level(lud_empo_met *m, int level, int64_t n, double tolerance, lud_error *error) {
    enum { TOGETHER_FROM = 256 }; /* about half a millisecond of work */
    const level_work all = {m, level, 0, tolerance};
    if (m->clocked && m->ranks && n >= TOGETHER_FROM)
        LUD_TRY(renew_together(m, level, n, tolerance, error));
    else if (m->clocked)
        renew_some(&all, 0, n);
    else
        for (int64_t i = n - 1; i >= 0; i--)
            m->changed[i] = renew(m, m->scratch, m->work[i], level, tolerance);
    for (int64_t i = 0; i < n && !m->all_marked; i++)
        if (m->changed[i]) mark_before_level(m, m->work[i], level);
    return LUD_OK;
}

/* States without marks are active no longer. */
static void leave_active(lud_empo_met *m) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n_active; i++) {
        const uint32_t node = m->active[i];
        uint64_t any = 0;
        for (size_t w = 0; w < m->mark_words; w++) any |= m->marks[(size_t)node * m->mark_words + w];
        if (any)
            m->active[n++] = node;
        else
            m->flags[node] &= (uint8_t)~LUD_MET_MARKED;
    }
    m->n_active = n;
}

void lud_empo_met_settle(lud_empo_met *m, int64_t node, double tolerance) {
    m->all_marked = false;
    for (int level = lud_met_first_level(m); level < m->n_levels; level++) {
        const uint64_t bit = UINT64_C(1) << level % 64;
        if (!(*word_of(m, node, level) & bit)) continue;
        *word_of(m, node, level) &= ~bit;
        if (renew(m, m->scratch, node, level, tolerance)) mark_before_level(m, node, level);
        m->computed++;
    }
}

lud_status lud_empo_met_sweep(lud_empo_met *m, double tolerance, int64_t most, int64_t *n, lud_error *error) {
    for (*n = 0; m->lowest < m->n_levels && (most == 0 || *n < most);) {
        const int level = m->lowest;
        int64_t taken;
        if (take_level(m, level, most ? most - *n : 0, &taken)) m->lowest = level + 1;
        /* may lower it again where there is no clock */
        LUD_TRY(renew_level(m, level, taken, tolerance, error));
        *n += taken;
    }
    leave_active(m);
    m->computed += *n;
    return LUD_OK;
}
