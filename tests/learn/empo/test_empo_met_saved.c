/* A table of met states that was saved: what can be one is read again, and whatever number of it is another
 * than any table has is told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/met/met_inside.h"
#include "learn/empo/support_empo.h"

static const char small[] =
    "learner:\n  type: empo-phase2\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: 0.97\n  beta_r: 10\n"
    "  num_training_steps: 24\n  updates_per_iteration: 4\n  batch_size: 6\n  hidden_dim: 8\n"
    "  goal_feature_dim: 4\n  environments: 2\n  human_prior: {type: random}\n  exact_max_states: 0\n";

static lud_empo_met *empty(const support_empo *r) {
    lud_empo_met *met = NULL;
    lud_error error = {0};
    const lud_empo_phase2_learner *l = r->learner;
    if (lud_empo_met_create(&l->features, &l->options.theory, &l->prior, 1e-9, 16 << 20, &met, &error))
        fail_msg("%s", error.text);
    return met;
}

/* Expands states that were met, in their order, until so many are expanded. */
static void expand(lud_empo_met *met, int64_t most) {
    lud_error error = {0};
    for (int64_t node = 0; lud_empo_met_get(met).expanded < most; node++) {
        assert_true(node < lud_empo_met_get(met).n);
        if (lud_empo_met_expanded(met, node) || lud_empo_met_terminal(met, node)) continue;
        lud_empo_met_visit_node(met, node);
        assert_int_equal(lud_empo_met_expand(met, node, &error), LUD_OK);
    }
}

/* A table with states of every kind: expanded ones of which some are marked, forgotten ones, the rim. */
static lud_empo_met *make(const support_empo *r) {
    lud_empo_met *met = empty(r);
    const lud_model *model = r->scenario->model;
    uint8_t *start = calloc(1, model->layout.state_bytes);
    int64_t node, n;
    lud_error error = {0};
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &(uint32_t){0}}, start);
    assert_int_equal(lud_empo_met_add(met, start, &node, &error), LUD_OK);
    free(start);
    expand(met, 30);
    assert_int_equal(lud_empo_met_sweep(met, 0.0, 0, &n, &error), LUD_OK);
    assert_int_equal(lud_empo_met_forget(met, &error), LUD_OK);
    expand(met, 18);
    lud_empo_met_ground(met, 50, 20);
    assert_true(met->n_active > 1 && met->n_active < met->n_expanded);
    return met;
}

static int64_t first_with(const lud_empo_met *met, uint8_t flags) {
    for (int64_t i = 0; i < met->n; i++)
        if ((met->flags[i] & ~LUD_MET_MARKED) == flags) return i;
    fail_msg("no state has the flags %d", flags);
    return -1;
}

/* What reading says of the saved table when bytes of a field are others; error.text is empty where it is
 * taken. */
static lud_error read_with(const support_empo *r, lud_empo_met *written, const char *field, size_t at,
                           const void *bytes, size_t n) {
    char name[32];
    lud_error error = {0};
    lud_empo_met *read = empty(r);
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_met_visit(written, "m.", saved);
    snprintf(name, sizeof name, "m.%s", field);
    const lud_tensor *tensor = lud_checkpoint_find(saved, name);
    assert_non_null(tensor);
    assert_true(at + n <= tensor->bytes);
    memcpy((char *)(uintptr_t)tensor->data + at, bytes, n);
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_met_visit(read, "m.", saved);
    if (!lud_checkpoint_status(saved, &error)) {
        const lud_empo_met_figures a = lud_empo_met_get(written), b = lud_empo_met_get(read);
        assert_true(a.n == b.n && a.terminal == b.terminal);
        assert_int_equal(lud_empo_met_restore(read, NULL, &error), LUD_OK);
        for (int64_t i = 0; i < b.n; i++) /* each is found again */
            assert_int_equal(lud_empo_met_find(read, lud_empo_met_bytes_of(read, i)), i);
        int64_t swept;
        assert_int_equal(lud_empo_met_sweep(read, 0.0, 0, &swept, &error), LUD_OK);
    }
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    lud_empo_met_destroy(read);
    return error;
}

#define READ(field, type, at, value)                                                                         \
    read_with(&r, met, field, (size_t)(at) * sizeof(type), &(type){value}, sizeof(type))
#define TAKES(field, type, at, value)                                                                        \
    do {                                                                                                     \
        const lud_error told = READ(field, type, at, value);                                                 \
        if (told.status) fail_msg("%s %s: %s", field, #value, told.text);                                    \
    } while (0)
#define REFUSES(field, type, at, value, words)                                                               \
    do {                                                                                                     \
        const lud_error told = READ(field, type, at, value);                                                 \
        if (told.status != LUD_ERROR_INPUT || !strstr(told.text, words))                                     \
            fail_msg("%s %s: '%s'", field, #value, told.text);                                               \
    } while (0)

static void states_are_checked(void **unused) {
    (void)unused;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    lud_empo_met *met = make(&r);
    static const char state[] = "makes no sense";
    const lud_clock *clock = &met->model->layout.clock;
    const int64_t expanded = met->expanded[0], other = met->expanded[1],
                  forgotten = first_with(met, LUD_MET_FORGOTTEN), at_the_rim = first_with(met, 0),
                  last = met->n - 1;
    TAKES("flags", uint8_t, expanded, met->flags[expanded]); /* nothing is changed */
    const int64_t some[] = {0, expanded, forgotten, at_the_rim, last};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        const int64_t i = some[k];
        for (size_t b = 0; b < clock->bytes; b++)
            REFUSES("states", uint8_t, (size_t)i * met->state_bytes + clock->offset + b, 1, state);
        TAKES("highest", int32_t, i, 0);
        TAKES("highest", int32_t, i, met->n_levels - 1);
        REFUSES("highest", int32_t, i, -1, state);
        REFUSES("highest", int32_t, i, met->n_levels, state);
        REFUSES("flags", uint8_t, i, LUD_MET_TERMINAL, state);
        REFUSES("flags", uint8_t, i, 8, state);
        REFUSES("flags", uint8_t, i, LUD_MET_FORGOTTEN | LUD_MET_EXPANDED, state);
        for (int knot = 0; knot < met->n_knots; knot += met->n_knots - 1) {
            const size_t first = ((size_t)i * (size_t)met->n_knots + (size_t)knot) * met->stride,
                         v_r = first + met->stride - 1;
            for (size_t g = first; g < v_r; g += met->stride - 2) {
                TAKES("known", float, g, 0.0f);
                TAKES("known", float, g, 1.0f);
                TAKES("known", float, g, LUD_MET_ACHIEVED);
                REFUSES("known", float, g, -0.01f, state);
                REFUSES("known", float, g, 1.01f, state);
            }
            TAKES("known", float, v_r, 0.0f);
            TAKES("known", float, v_r, -1e6f);
            REFUSES("known", float, v_r, 0.01f, state);
        }
    }
    /* who has a block, and which */
    TAKES("flags", uint8_t, forgotten, 0);
    REFUSES("flags", uint8_t, forgotten, LUD_MET_EXPANDED, "is missing");
    REFUSES("flags", uint8_t, expanded, LUD_MET_FORGOTTEN, "expanded: entry 0 makes no sense");
    REFUSES("flags", uint8_t, at_the_rim, LUD_MET_FORGOTTEN, state);
    REFUSES("flags", uint8_t, at_the_rim, LUD_MET_EXPANDED, state);
    REFUSES("flags", uint8_t, at_the_rim, LUD_MET_MARKED, state);
    REFUSES("flags", uint8_t, forgotten, LUD_MET_FORGOTTEN | LUD_MET_MARKED, state);
    TAKES("flags", uint8_t, expanded, LUD_MET_EXPANDED);
    TAKES("flags", uint8_t, expanded, LUD_MET_EXPANDED | LUD_MET_MARKED);
    REFUSES("block", uint32_t, expanded, LUD_MET_NONE, state);
    REFUSES("block", uint32_t, forgotten, LUD_MET_NONE, state);
    REFUSES("block", uint32_t, expanded, (uint32_t)met->n_blocks, state);
    REFUSES("block", uint32_t, expanded, met->block[other], state);
    REFUSES("block", uint32_t, at_the_rim, met->block[expanded], state);
    REFUSES("rows.1", float, met->stride - 1, 0.01f, "rows: values that are none");
    TAKES("rows.1", float, met->stride - 1, 0.0f);
    char top[24];
    snprintf(top, sizeof top, "rows.%d", met->n_levels - 1);
    REFUSES(top, float, (size_t)met->n_blocks * met->stride - 1, 0.01f, "rows: values that are none");
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

static void lists_are_checked(void **unused) {
    (void)unused;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    lud_empo_met *met = make(&r);
    const uint32_t at_the_rim = (uint32_t)first_with(met, 0), n = (uint32_t)met->n;
    for (int64_t i = 0; i < met->n_expanded; i += met->n_expanded - 1) {
        const char *const words = i ? "expanded: entry 17 makes no sense" : "expanded: entry ";
        REFUSES("expanded", uint32_t, i, n, words);
        REFUSES("expanded", uint32_t, i, at_the_rim, words);
        REFUSES("expanded", uint32_t, i, met->expanded[1], "makes no sense");
    }
    static const char active[] = "active: states that are none";
    for (int64_t i = 0; i < met->n_active; i += met->n_active - 1) {
        REFUSES("active", uint32_t, i, n, active);
        REFUSES("active", uint32_t, i, met->active[i ? 0 : 1], active); /* one twice */
    }
    const int64_t place = met->n_active - 1;
    lud_empo_met_settle(met, met->active[place], 1e9); /* active still, with no marks */
    TAKES("active", uint32_t, place, met->active[place]);
    REFUSES("active", uint32_t, place, n, active);
    /* marks are of active states, at levels that are computed */
    const int64_t marked = met->active[0];
    assert_true(met->mark_words == 1 && met->n_levels < 64);
    TAKES("marks", uint64_t, marked, UINT64_C(2));
    TAKES("marks", uint64_t, marked, UINT64_C(1) << (met->n_levels - 1));
    REFUSES("marks", uint64_t, marked, UINT64_C(1), active);
    REFUSES("marks", uint64_t, marked, UINT64_C(1) << met->n_levels, active);
    REFUSES("marks", uint64_t, marked, UINT64_C(1) << 63, active);
    REFUSES("marks", uint64_t, at_the_rim, UINT64_C(2), active);
    TAKES("grounded", double, 0, 0.0);
    TAKES("grounded", double, 0, 1.0);
    REFUSES("grounded", double, 0, -0.01, "is no share");
    REFUSES("grounded", double, 0, 1.01, "is no share");
    REFUSES("grounded", double, 0, (double)NAN, "is no share");
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* What there is of each fits into the room for it, and rooms into the memory. */
static void rooms_are_checked(void **unused) {
    (void)unused;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    lud_empo_met *met = make(&r);
    static const char words[] = "that were met do not fit";
    TAKES("room", uint64_t, 0, (uint64_t)met->n);
    REFUSES("room", uint64_t, 0, (uint64_t)met->n - 1, words);
    REFUSES("room", uint64_t, 0, 0, words);
    REFUSES("room", uint64_t, 0, INT32_MAX, words);
    TAKES("room_blocks", uint64_t, 0, (uint64_t)met->n_blocks);
    REFUSES("room_blocks", uint64_t, 0, (uint64_t)met->n_blocks - 1, words);
    REFUSES("room_words", uint64_t, 0, UINT64_C(1) << 40, words);
    REFUSES("room_before", uint64_t, 0, UINT64_C(1) << 31, words);
    REFUSES("n", uint64_t, 0, (uint64_t)met->room + 1, words);
    REFUSES("n_expanded", uint64_t, 0, (uint64_t)met->n + 1, words);
    REFUSES("n_active", uint64_t, 0, (uint64_t)met->n + 1, words);
    REFUSES("closed", uint64_t, 0, 2, "closed");
    TAKES("closed", uint64_t, 0, 1);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_checked),
        cmocka_unit_test(lists_are_checked),
        cmocka_unit_test(rooms_are_checked),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
