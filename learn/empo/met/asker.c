#include "learn/empo/met/asker.h"

#include <math.h>

/* Each share has at least so many states where they are divided; at most so many shares have their full
 * number at once. */
enum { LEAST_OF_SHARE = 16, MOST_FULL = 16 };

bool lud_empo_asker_create(lud_empo_values *values, lud_empo_met *met, int n_shares, lud_empo_asker *a) {
    const size_t some = LUD_EMPO_ASKED, n = some * (size_t)(n_shares < MOST_FULL ? n_shares : MOST_FULL),
                 words = (size_t)values->features->words;
    *a = (lud_empo_asker){.values = values, .met = met, .n_shares = n_shares, .at_once = (int64_t)n};
    LUD_TAKE(&a->arrays, a->record, some * words);
    LUD_TAKE(&a->arrays, a->records, some);
    LUD_TAKE(&a->arrays, a->states, n);
    LUD_TAKE(&a->arrays, a->levels, n * values->features->grid->model.layout.state_bytes);
    LUD_TAKE(&a->arrays, a->v_h_e, n * (size_t)values->features->layout.n_goals);
    LUD_TAKE(&a->arrays, a->v_r, n);
    for (size_t i = 0; !a->arrays.failed && i < some; i++) a->records[i] = a->record + i * words;
    return !a->arrays.failed;
}

void lud_empo_asker_free(lud_empo_asker *a) {
    lud_arrays_free(&a->arrays);
    LUD_FREE(a->rim, a->rim_level);
    *a = (lud_empo_asker){0};
}

/* What networks add to what paths make of it counts as much as they are believed: of the states of the last
 * run, the first of which is `first`. */
static void believe(lud_empo_asker *a, int64_t first, int64_t n) {
    const lud_empo_estimates paths = lud_empo_values_estimates(a->values);
    const double belief = lud_empo_met_belief(a->met);
    const int64_t n_goals = a->values->features->layout.n_goals;
    float *v_h_e = a->v_h_e + first * n_goals, *v_r = a->v_r + first;
    for (int64_t i = 0; paths.v_h_e && i < n * n_goals; i++) {
        const double alone = (double)paths.v_h_e[i], said = (double)v_h_e[i];
        v_h_e[i] = (float)(alone + belief * (said - alone));
    }
    for (int64_t i = 0; paths.log_v_r && i < n; i++) {
        const double alone = (double)paths.log_v_r[i], said = log(-(double)v_r[i]);
        v_r[i] = (float)-exp(alone + belief * (said - alone));
    }
}

/* Of the states in hand first .. first + n - 1, at most LUD_EMPO_ASKED. */
static lud_status ask_stretch(void *asker, int64_t first, int64_t n, lud_error *error) {
    lud_empo_asker *a = asker;
    lud_empo_values *v = a->values;
    const uint8_t *const *states = a->in_hand + first;
    const size_t words = (size_t)v->features->words;
    const int64_t goals = v->features->layout.n_goals;
    for (int64_t i = 0; i < n; i++)
        lud_empo_features_encode(v->features, states[i], a->record + (size_t)i * words);
    LUD_TRY(lud_empo_values_run(v, n, a->records, NULL, LUD_WANT_WORTH, 0.0, 0, error));
    lud_device_download(v->device, a->v_h_e + first * goals, v->v_h_e, (size_t)(n * goals) * sizeof(float));
    lud_device_download(v->device, a->v_r + first, v->v_r, (size_t)n * sizeof(float));
    believe(a, first, n);
    for (int64_t i = 0; i < n; i++)
        a->v_r[first + i] *= (float)lud_empo_met_annuity(a->met, lud_empo_met_level(a->met, states[i]));
    return LUD_OK;
}

lud_status lud_empo_ask(lud_empo_asker *a, int64_t n, const uint8_t *const *states, lud_error *error) {
    a->in_hand = states;
    return n > 0 ? ask_stretch(a, 0, n, error) : LUD_OK;
}

/* Of the first n states of the asker's own, by all processes together. */
static lud_status ask_together(lud_empo_asker *a, int64_t n, lud_error *error) {
    const int64_t goals = a->values->features->layout.n_goals;
    const lud_ranks_array said[] = {{a->v_h_e, (size_t)goals * sizeof *a->v_h_e, 1, n},
                                    {a->v_r, sizeof *a->v_r, 1, n}};
    a->in_hand = a->states;
    if (a->n_shares > 1 && n >= LEAST_OF_SHARE * (int64_t)a->n_shares)
        return lud_ranks_divide(a->values->device->ranks, a->n_shares, n, ask_stretch, a, said, 2, error);
    for (int64_t first = 0; first < n; first += LUD_EMPO_ASKED)
        LUD_TRY(ask_stretch(a, first, n - first < LUD_EMPO_ASKED ? n - first : LUD_EMPO_ASKED, error));
    return LUD_OK;
}

/* States at the rim, each at one level that is not the end; at other levels they change in proportion. */
static lud_status ask_some(lud_empo_asker *a, int64_t n, const uint32_t *nodes, const int *levels,
                           lud_error *error) {
    const size_t goals = (size_t)a->values->features->layout.n_goals,
                 bytes = a->values->features->grid->model.layout.state_bytes;
    for (int64_t i = 0; i < n; i++) {
        uint8_t *state = a->levels + (size_t)i * bytes;
        lud_empo_met_state(a->met, nodes[i], levels[i], state);
        a->states[i] = state;
    }
    LUD_TRY(ask_together(a, n, error));
    for (int64_t i = 0; i < n; i++)
        lud_empo_met_scale(a->met, nodes[i], levels[i], a->v_h_e + (size_t)i * goals, a->v_r[i]);
    return LUD_OK;
}

/* Any number of them. */
static lud_status ask_at(lud_empo_asker *a, int64_t n, const uint32_t *nodes, const int *levels,
                         lud_error *error) {
    for (int64_t first = 0; first < n; first += a->at_once)
        LUD_TRY(ask_some(a, n - first < a->at_once ? n - first : a->at_once, nodes + first, levels + first,
                         error));
    return LUD_OK;
}

lud_status lud_empo_ask_nodes(lud_empo_asker *a, int64_t n, const uint32_t *nodes, lud_error *error) {
    const size_t goals = (size_t)a->values->features->layout.n_goals,
                 bytes = a->values->features->grid->model.layout.state_bytes;
    int n_knots;
    const int32_t *knots = lud_empo_met_knots(a->met, &n_knots);
    const int64_t at_once = a->at_once / n_knots;
    for (int64_t first = 0; first < n; first += at_once) {
        const int64_t some = n - first < at_once ? n - first : at_once;
        for (int64_t i = 0; i < some * n_knots; i++) {
            uint8_t *state = a->levels + (size_t)i * bytes;
            lud_empo_met_state(a->met, nodes[first + i / n_knots], knots[i % n_knots], state);
            a->states[i] = state;
        }
        LUD_TRY(ask_together(a, some * n_knots, error));
        for (int64_t i = 0; i < some; i++)
            lud_empo_met_set(a->met, nodes[first + i], a->v_h_e + (size_t)(i * n_knots) * goals,
                             a->v_r + i * n_knots);
    }
    return LUD_OK;
}

/* Chance from which on what a successor is worth is asked for. */
static const double least_chance = 0.02;

static bool room_at_the_rim(lud_empo_asker *a, int64_t wanted) {
    if (wanted <= a->room_rim) return true;
    const int64_t room = 2 * wanted;
    if (!lud_grow(&a->rim, (size_t)room, sizeof *a->rim) ||
        !lud_grow(&a->rim_level, (size_t)room, sizeof *a->rim_level))
        return false;
    a->room_rim = room;
    return true;
}

lud_status lud_empo_ask_after(lud_empo_asker *a, int64_t n, const int64_t *nodes, const int *levels,
                              double *shares, lud_error *error) {
    const bool clocked = lud_empo_met_levels(a->met) > 1;
    int64_t n_rim = 0;
    if (shares) *shares = (double)n;
    for (int64_t i = 0; i < n; i++) {
        int64_t n_likely;
        if (clocked && levels[i] < 2) continue; /* the end follows, which is known */
        const uint32_t *likely = lud_empo_met_likely(a->met, nodes[i], levels[i], least_chance, &n_likely);
        if (!room_at_the_rim(a, n_rim + n_likely)) return lud_no_memory(error, "successors");
        int64_t n_sure = 0;
        for (int64_t k = 0; k < n_likely; k++) {
            if (lud_empo_met_sure(a->met, likely[k])) {
                n_sure++;
                continue;
            }
            a->rim_level[n_rim] = clocked ? levels[i] - 1 : 0;
            a->rim[n_rim++] = likely[k];
        }
        if (shares && n_likely > 0) *shares -= (double)(n_likely - n_sure) / (double)n_likely;
    }
    return ask_at(a, n_rim, a->rim, a->rim_level, error);
}

void lud_empo_mark_asked_after(const lud_empo_asker *a, int64_t expanded, uint8_t *wanted) {
    int64_t n;
    const uint32_t *likely =
        lud_empo_met_likely(a->met, expanded, lud_empo_met_likely_level(a->met, expanded), least_chance, &n);
    for (int64_t i = 0; i < n; i++)
        if (!lud_empo_met_sure(a->met, likely[i])) wanted[likely[i]] = 1;
}
