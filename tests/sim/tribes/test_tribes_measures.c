/* What episodes are judged by, against sums over the tallies and the living. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/tribes/support_tribes.h"

enum { TEAMS = 3, AGENTS = 7, STATES = 3 };
static const int team_agents[TEAMS] = {2, 1, 4};
static const char *const names[] = {"gathered", "delivered", "traded", "stolen",
                                    "lost",     "defended",  "caught"};

static double value_of(const lud_model *model, const double *values, const char *name) {
    for (int k = 0; k < model->layout.n_measures; k++)
        if (!strcmp(model->layout.measures[k].name, name)) return values[k];
    fail_msg("no measure %s", name);
    return 0;
}

static void test_measures_of_states(void **unused) {
    (void)unused;
    lud_model *model = tribes_make(
        "  map: ['11.A', '2..B', '3333', 'C...']\n  health: 3\n  teams: [{name: oak}, {}, {name: elm}]\n");
    const lud_tribes_model *m = lud_tribes_of(model);
    const lud_layout *layout = &model->layout;
    const size_t bytes = layout->state_bytes;
    assert_int_equal(layout->n_measures, 7 + 3 + TEAMS);
    assert_int_equal(layout->n_columns, 7 + 3);
    uint8_t *states = malloc(STATES * bytes);
    double *values = malloc(STATES * (size_t)layout->n_measures * sizeof *values);
    const uint32_t ticks[STATES] = {0};
    lud_tribes_world.reset(model, (lud_range){.n = STATES, .tick = ticks}, states);
    uint32_t tally[STATES][TEAMS][LUD_TRIBES_TALLIES];
    for (int e = 0; e < STATES; e++) {
        uint8_t *state = states + (size_t)e * bytes;
        for (int t = 0; t < TEAMS; t++)
            for (int k = 0; k < LUD_TRIBES_TALLIES; k++) {
                tally[e][t][k] = (uint32_t)(1 + (e * 31 + t * 17 + k * 7) % 90 + 70000 * (k % 2));
                lud_tribes_put(state + m->at.tally + 4 * (uint32_t)(t * LUD_TRIBES_TALLIES + k), 4,
                               tally[e][t][k]);
            }
        for (int i = 0; i < 3 * e; i++) tribes_put(model, state, AGENTS - 1 - i, -1, -1, 0, 0, 0);
    }
    for (int k = 0; k < STATES * layout->n_measures; k++) values[k] = 1e6; /* what was there before */
    lud_tribes_world.measure(model, STATES, states, values);
    for (int e = 0; e < STATES; e++) {
        const double *found = values + e * layout->n_measures;
        double trades = 0, raids = 0;
        for (int k = 0; k < 7; k++) {
            double sum = 0;
            for (int t = 0; t < TEAMS; t++) sum += tally[e][t][k];
            assert_true(fabs(value_of(model, found, names[k]) - sum / AGENTS) < 1e-6);
        }
        for (int t = 0; t < TEAMS; t++) {
            static const char *const delivered[] = {"delivered_oak", "delivered_blue", "delivered_elm"};
            trades += tally[e][t][LUD_TRIBES_TRADES] / 2.0; /* two take part in each */
            raids += tally[e][t][LUD_TRIBES_RAIDS];
            assert_true(fabs(value_of(model, found, delivered[t]) -
                             (double)tally[e][t][LUD_TRIBES_DELIVERED] / team_agents[t]) < 1e-6);
        }
        assert_true(value_of(model, found, "trades") == trades);
        assert_true(value_of(model, found, "raids") == raids);
        assert_true(fabs(value_of(model, found, "alive") - (AGENTS - 3.0 * e) / AGENTS) < 1e-12);
        assert_int_equal(lud_tribes_world.is_terminal(model, states + (size_t)e * bytes), 0);
    }
    free(values);
    free(states);
    lud_tribes_world.free(model);
}

/* What is brought home is drawn as a curve, to two places; who is alive is only told where somebody can die;
 * all have a text. */
static void test_how_measures_are_told(void **unused) {
    (void)unused;
    for (int health = 0; health < 2; health++) {
        char section[128];
        snprintf(section, sizeof section, "  map: [A1]\n  health: %d\n  teams: [{}]\n", health);
        lud_model *model = tribes_make(section);
        for (int k = 0; k < model->layout.n_measures; k++) {
            const lud_measure *measure = &model->layout.measures[k];
            const bool delivered = !strcmp(measure->name, "delivered");
            assert_non_null(measure->help);
            assert_int_equal(measure->curve != NULL, delivered);
            if (delivered) {
                assert_string_equal(measure->format, "%.2f");
                assert_string_equal(measure->curve, "value brought home");
            }
            assert_int_equal(measure->absent, !health && !strcmp(measure->name, "alive"));
        }
        lud_tribes_world.free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_of_states),
        cmocka_unit_test(test_how_measures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
