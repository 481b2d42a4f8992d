#include <math.h>
#include <string.h>

#include "learn/empo/met/met_inside.h"

/* ---- marked states: a heap, the fewest remaining steps first ---- */

static void swap(lud_met_mark *a, lud_met_mark *b) {
    const lud_met_mark c = *a;
    *a = *b;
    *b = c;
}

void lud_met_mark_node(lud_empo_met *m, int64_t node) {
    enum { ORDER_BITS = 44 };
    if (m->flags[node] & LUD_MET_MARKED) return;
    m->flags[node] |= LUD_MET_MARKED;
    const uint64_t left = (uint64_t)(m->left[node] > 0 ? m->left[node] : 0);
    int64_t i = m->n_marks++;
    m->marks[i] =
        (lud_met_mark){left << ORDER_BITS | (m->order++ & ((UINT64_C(1) << ORDER_BITS) - 1)), (uint32_t)node};
    for (; i > 0 && m->marks[i].key < m->marks[(i - 1) / 2].key; i = (i - 1) / 2)
        swap(&m->marks[i], &m->marks[(i - 1) / 2]);
}

static int64_t take_first(lud_empo_met *m) {
    const int64_t node = m->marks[0].node;
    m->marks[0] = m->marks[--m->n_marks];
    for (int64_t i = 0;;) {
        int64_t least = i;
        for (int64_t k = 2 * i + 1; k <= 2 * i + 2 && k < m->n_marks; k++)
            if (m->marks[k].key < m->marks[least].key) least = k;
        if (least == i) break;
        swap(&m->marks[i], &m->marks[least]);
        i = least;
    }
    m->flags[node] &= (uint8_t)~LUD_MET_MARKED;
    return node;
}

void lud_met_mark_before(lud_empo_met *m, int64_t node) {
    for (uint32_t b = m->first_before[node]; b != LUD_MET_NONE; b = m->before[b].next)
        lud_met_mark_node(m, m->before[b].node);
}

void lud_empo_met_mark_all(lud_empo_met *m) {
    for (int64_t i = 0; i < m->n_expanded; i++) lud_met_mark_node(m, m->expanded[i]);
}

/* ---- one state ---- */

/* The equations' row of a state's own: its V_h^m part, which phase 2 does not read, lies in the row before.
 */
static const double *whole_row(const lud_empo_met *m, const double *row) {
    return row - (m->stride - 1);
}

/* The expectation of rows under joint action k, where `sum` is the scratch's. */
static void expect(const lud_empo_met *m, lud_met_successors row, double *sum) {
    memset(sum, 0, m->stride * sizeof *sum);
    for (uint32_t i = 0; i < row.n; i++) {
        const double p = lud_met_probability(row, i), *from = lud_met_row(m, row.node[i]);
        for (size_t j = 0; j < m->stride; j++) sum[j] += p * from[j];
    }
}

/* (4) to (9), once the scratch's rows and the policies stand. */
static void finish(lud_empo_met *m, double *record) {
    const lud_empo_state_inputs inputs = {0};
    const int human = lud_empo_phase_2(&m->game, &m->scratch, &inputs, record, 0, 1);
    (void)human; /* power has a floor above 0 */
}

void lud_empo_met_look(lud_empo_met *m, int64_t node, double *record) {
    const float *policies = lud_empo_met_policies(m, node);
    for (int32_t i = 0; i < m->n_policies; i++) record[m->game.policies + i] = (double)policies[i];
    for (int32_t k = 0; k < m->n_joint; k++) {
        const lud_met_successors row = lud_met_row_of(m, node, k);
        if (row.probability) {
            double *sum = m->scratch.expected + (size_t)k * (size_t)m->game.width;
            expect(m, row, sum + m->stride - 1);
            m->scratch.row[k] = sum;
        } else {
            m->scratch.row[k] = whole_row(m, lud_met_row(m, row.node[0]));
        }
    }
    finish(m, record);
}

void lud_empo_met_look_from(lud_empo_met *m, const uint8_t *state, const double *policies,
                            const double *const *row, double *record) {
    if (policies)
        memcpy(record + m->game.policies, policies, (size_t)m->n_policies * sizeof *policies);
    else
        lud_met_ask_people(m, state, record + m->game.policies);
    for (int32_t k = 0; k < m->n_joint; k++) {
        double *sum = m->scratch.expected + (size_t)k * (size_t)m->game.width;
        memcpy(sum + m->stride - 1, row[k], m->stride * sizeof *sum);
        m->scratch.row[k] = sum;
    }
    finish(m, record);
}

/* ---- sweeping ---- */

/* Whether a state's worth has changed by more than `tolerance` of itself, and takes on what it is now. */
static bool renew(lud_empo_met *m, int64_t node, double tolerance) {
    const lud_empo_layout *layout = &m->problem->layout;
    double *row = lud_met_row(m, node), *fresh = m->look_rows;
    lud_empo_met_look(m, node, m->record);
    lud_empo_met_credit(m, lud_empo_met_state(m, node), m->record + layout->v_h_e, m->record[layout->v_r],
                        fresh);
    bool changed = false;
    for (size_t k = 0; k < m->stride; k++) {
        changed |= !(fabs(fresh[k] - row[k]) <= tolerance * fabs(row[k]));
        row[k] = fresh[k];
    }
    return changed;
}

int64_t lud_empo_met_sweep(lud_empo_met *m, double tolerance, int64_t most) {
    int64_t n = 0;
    while (m->n_marks > 0 && (most == 0 || n < most)) {
        const int64_t node = take_first(m);
        if (!(m->flags[node] & LUD_MET_EXPANDED)) continue;
        if (renew(m, node, tolerance)) lud_met_mark_before(m, node);
        n++;
    }
    m->computed += n;
    return n;
}
