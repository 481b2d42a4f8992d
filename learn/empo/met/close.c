#include <stdlib.h>

#include "learn/empo/met/met_inside.h"

enum { RESETS = 2048, BEAT = 256, SWEPT = 1 << 17 };

static lud_status add_starts(lud_empo_met *met, const lud_model *model, uint64_t seed, lud_error *error) {
    const size_t bytes = model->layout.state_bytes;
    uint8_t *states = malloc(RESETS * bytes);
    uint32_t *ticks = calloc(RESETS, sizeof *ticks);
    lud_status status = states && ticks ? LUD_OK : lud_no_memory(error, "starts");
    if (!status) model->world->reset(model, (lud_range){.seed = seed, .n = RESETS, .tick = ticks}, states);
    for (size_t i = 0; i < RESETS && !status; i++) {
        int64_t node;
        status = lud_empo_met_add(met, states + i * bytes, &node, error);
    }
    free(states);
    free(ticks);
    return status;
}

/* In the order in which states are met for the first time, which is that of their highest levels: so what is
 * met at the end only stays as it is. */
static lud_status expand_all(lud_empo_met *m, int64_t most, lud_progress *progress, lud_error *full,
                             lud_error *error) {
    int64_t living = 0; /* all of them would have to be expanded */
    for (int64_t node = 0; node < m->n; node++) {
        if (!m->clocked || m->highest[node] > 1 || node == 0) living = m->n - m->n_terminal;
        if (node % BEAT == 0) LUD_TRY(lud_met_beat(m, progress, 0.25 * (double)living / (double)most, error));
        if (lud_empo_met_expanded(m, node) || lud_empo_met_terminal(m, node)) continue;
        if (m->clocked && m->highest[node] == 0) continue;
        if (living > most) return LUD_ERROR_LIMIT;
        LUD_TRY(lud_empo_met_expand(m, node, full));
    }
    return LUD_OK;
}

lud_status lud_empo_met_close(lud_empo_met *m, const lud_model *model, uint64_t seed, int64_t most,
                              lud_progress *progress, bool *closed, lud_error *error) {
    lud_error full = {0};
    *closed = false;
    LUD_TRY(lud_empo_met_restore(m, progress, error));
    lud_status status = add_starts(m, model, seed, &full);
    if (!status) status = expand_all(m, most, progress, &full, error);
    if (status == LUD_INTERRUPTED) return status;
    if (status == LUD_ERROR_LIMIT) {
        lud_empo_met_clear(m);
        return LUD_OK;
    }
    if (status) return full.status ? lud_fail(error, status, "%s", full.text) : status;
    lud_empo_met_none_new(m);
    lud_empo_met_mark_all(m);
    for (int64_t n = 1; n > 0;) {
        LUD_TRY(lud_empo_met_sweep(m, 0.0, SWEPT, &n, error));
        LUD_TRY(lud_met_beat(m, progress, 0.25 + 0.25 * m->lowest / m->n_levels, error));
    }
    m->closed = *closed = true;
    return LUD_OK;
}
