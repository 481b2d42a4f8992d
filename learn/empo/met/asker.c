#include "learn/empo/met/asker.h"

bool lud_empo_asker_create(lud_empo_values *values, lud_empo_met *met, lud_empo_asker *a) {
    const size_t n = LUD_EMPO_ASKED, words = (size_t)values->features->words;
    *a = (lud_empo_asker){.values = values, .met = met};
    LUD_TAKE(&a->arrays, a->record, n * words);
    LUD_TAKE(&a->arrays, a->records, n);
    LUD_TAKE(&a->arrays, a->states, n);
    LUD_TAKE(&a->arrays, a->levels, n * values->features->grid->model.layout.state_bytes);
    LUD_TAKE(&a->arrays, a->v_h_e, n * (size_t)values->features->layout.n_goals);
    LUD_TAKE(&a->arrays, a->v_r, n);
    for (size_t i = 0; !a->arrays.failed && i < n; i++) a->records[i] = a->record + i * words;
    return !a->arrays.failed;
}

void lud_empo_asker_free(lud_empo_asker *a) {
    lud_arrays_free(&a->arrays);
    *a = (lud_empo_asker){0};
}

lud_status lud_empo_ask(lud_empo_asker *a, int64_t n, const uint8_t *const *states, lud_error *error) {
    lud_empo_values *v = a->values;
    const size_t words = (size_t)v->features->words, goals = (size_t)v->features->layout.n_goals;
    if (n == 0) return LUD_OK;
    for (int64_t i = 0; i < n; i++)
        lud_empo_features_encode(v->features, states[i], a->record + (size_t)i * words);
    LUD_TRY(lud_empo_values_run(v, n, a->records, NULL, LUD_WANT_WORTH, 0.0, 0, error));
    lud_device_download(v->device, a->v_h_e, v->v_h_e, (size_t)n * goals * sizeof(float));
    lud_device_download(v->device, a->v_r, v->v_r, (size_t)n * sizeof(float));
    return LUD_OK;
}

static lud_status ask_some(lud_empo_asker *a, int64_t n, const uint32_t *nodes, lud_error *error) {
    const size_t goals = (size_t)a->values->features->layout.n_goals,
                 bytes = a->values->features->grid->model.layout.state_bytes;
    for (int64_t i = 0; i < n; i++) {
        uint8_t *state = a->levels + (size_t)i * bytes;
        lud_empo_met_state(a->met, nodes[i], lud_empo_met_likely_level(a->met, nodes[i]), state);
        a->states[i] = state;
    }
    LUD_TRY(lud_empo_ask(a, n, a->states, error));
    for (int64_t i = 0; i < n; i++)
        lud_empo_met_scale(a->met, nodes[i], lud_empo_met_likely_level(a->met, nodes[i]),
                           a->v_h_e + (size_t)i * goals, a->v_r[i]);
    return LUD_OK;
}

lud_status lud_empo_ask_nodes(lud_empo_asker *a, int64_t n, const uint32_t *nodes, lud_error *error) {
    const size_t goals = (size_t)a->values->features->layout.n_goals,
                 bytes = a->values->features->grid->model.layout.state_bytes;
    int n_knots;
    const int32_t *knots = lud_empo_met_knots(a->met, &n_knots);
    const int64_t at_once = LUD_EMPO_ASKED / n_knots;
    for (int64_t first = 0; first < n; first += at_once) {
        const int64_t some = n - first < at_once ? n - first : at_once;
        for (int64_t i = 0; i < some * n_knots; i++) {
            uint8_t *state = a->levels + (size_t)i * bytes;
            lud_empo_met_state(a->met, nodes[first + i / n_knots], knots[i % n_knots], state);
            a->states[i] = state;
        }
        LUD_TRY(lud_empo_ask(a, some * n_knots, a->states, error));
        for (int64_t i = 0; i < some; i++)
            lud_empo_met_set(a->met, nodes[first + i], a->v_h_e + (size_t)(i * n_knots) * goals,
                             a->v_r + i * n_knots);
    }
    return LUD_OK;
}

/* Of the unsaid ones those that were expanded meanwhile need nobody's word. */
lud_status lud_empo_ask_unsaid(lud_empo_asker *a, lud_error *error) {
    int64_t n;
    const uint32_t *nodes = lud_empo_met_unsaid(a->met, &n);
    uint32_t some[LUD_EMPO_ASKED];
    int64_t n_some = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!lud_empo_met_expanded(a->met, nodes[i])) some[n_some++] = nodes[i];
        if (n_some < LUD_EMPO_ASKED && i + 1 < n) continue;
        LUD_TRY(ask_some(a, n_some, some, error));
        n_some = 0;
    }
    lud_empo_met_all_said(a->met);
    return LUD_OK;
}
