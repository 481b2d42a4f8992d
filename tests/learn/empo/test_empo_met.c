/* The states that a learner of EMPO has met: a table of all that can be reached against the exact solver,
 * whatever the order in which it came together; bounded memory; saving; the learner on top of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/interrupt.h"
#include "learn/empo/met/actor.h"
#include "learn/empo/phase2/evaluation.h"
#include "learn/empo/phase2/met_evaluation.h"
#include "learn/empo/support_empo.h"

#define THEORY                                                                                               \
    "learner:\n  type: empo-phase2\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: 0.97\n  beta_r: 10\n"
#define SMALL                                                                                                \
    "  num_training_steps: 24\n  updates_per_iteration: 4\n  batch_size: 6\n  hidden_dim: 8\n"               \
    "  goal_feature_dim: 4\n  environments: 2\n"
static const char small[] = THEORY SMALL;
/* People at random, so that nothing needs to be solved; the crowd has too many states for so little memory.
 */
static const char bounded[] = THEORY SMALL
    "  human_prior: {type: random}\n  met_memory: 0.5M\n  exact_max_states: 0\n"
    "  restart_prob: 0.3\n  restart_steps: 4\n  restart_from: configurations\n  met_refresh: 9\n";

/* Two people who want to pass a robot, and room for a part of the states. */
static const char passage[] = "ludus: 1\nname: passage\nworld: multigrid\nmultigrid:\n  map: |\n"
                              "    We We We We We We We\n    We Ay .. Ae .. Ay We\n"
                              "    We We We .. We We We\n    We We We We We We We\n"
                              "  max_steps: 6\n  actions: small\n"
                              "goals:\n  - {rectangle: [1, 1, 2, 2]}\n  - {rectangle: [3, 1, 3, 2]}\n"
                              "  - {rectangle: [4, 1, 5, 2]}\n";
static const char rim[] = "learner: {type: empo-phase2, met_memory: 0.5M, num_training_steps: 60, "
                          "updates_per_iteration: 10, batch_size: 6, hidden_dim: 8, goal_feature_dim: 4}\n";

static uint32_t random_below(uint32_t i, uint32_t n) {
    return lud_below(lud_draw((lud_random_key){31, i}, 0, 0, LUD_PURPOSE_USER, 0).v[0], n);
}

static lud_empo_met *met_of(const support_empo *r, size_t bytes) {
    lud_empo_met *met = NULL;
    lud_error error = {0};
    const lud_empo_phase2_learner *l = r->learner;
    if (lud_empo_met_create(&l->features, &l->options.theory, &l->prior, 1e-9, bytes, &met, &error))
        fail_msg("%s", error.text);
    return met;
}

static void sweep(lud_empo_met *met, int64_t most) {
    lud_error error = {0};
    int64_t n;
    assert_int_equal(lud_empo_met_sweep(met, 0.0, most, &n, &error), LUD_OK);
}

/* Every state of the exact solution stands in the table with its values. */
static void assert_exact(const lud_empo_phase2_learner *l, lud_empo_met *met) {
    const lud_empo_layout *layout = &l->features.layout;
    const lud_statespace *space = l->reference.space;
    double *record = calloc((size_t)layout->record_doubles, sizeof *record);
    uint8_t *own = calloc(1, space->state_bytes);
    /* the exact solution counts a state once for every time at which it occurs */
    int64_t last = 0;
    for (uint64_t s = 0; s < space->n_states; s++)
        last += lud_empo_met_level(met, space->states + s * space->state_bytes) == 0;
    assert_in_range(lud_empo_met_get(met).n, last, space->n_states);
    for (uint64_t s = 0; s < space->n_states; s++) {
        const uint8_t *at = space->states + s * space->state_bytes;
        const int64_t node = lud_empo_met_find(met, at);
        const int level = lud_empo_met_level(met, at);
        const double *exact = l->reference.records + s * (uint64_t)layout->record_doubles;
        assert_true(node != LUD_EMPO_UNMET);
        assert_true(level <= lud_empo_met_highest(met, node));
        lud_empo_met_state(met, node, level, own);
        assert_memory_equal(own, at, space->state_bytes);
        assert_true(((lud_empo_met_levels(met) > 1 && level == 0) || lud_empo_met_terminal(met, node)) ==
                    lud_statespace_terminal(space, s));
        if (lud_statespace_terminal(space, s)) continue;
        lud_empo_met_look(met, node, level, record);
        assert_true(fabs(record[layout->v_r] - exact[layout->v_r]) <= 1e-6 * fabs(exact[layout->v_r]));
        for (int h = 0; h < layout->n_humans; h++)
            assert_true(fabs(record[layout->x_h + h] - exact[layout->x_h + h]) <= 1e-6);
        for (int g = 0; g < layout->n_goals; g++)
            assert_true(fabs(record[layout->v_h_e + g] - exact[layout->v_h_e + g]) <= 1e-6);
        for (int a = 0; a < layout->n_robot_actions; a++)
            assert_true(fabs(record[layout->pi_r + a] - exact[layout->pi_r + a]) <= 1e-5);
    }
    free(record);
    free(own);
}

static void what_is_closed_is_exact(void **state) {
    (void)state;
    support_empo r;
    lud_error error = {0};
    bool closed;
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    lud_empo_met *met = met_of(&r, 64 << 20);
    const int64_t most = 200000;
    assert_int_equal(lud_empo_met_close(met, r.scenario->model, 1, most, NULL, &closed, &error), LUD_OK);
    assert_true(closed && lud_empo_met_complete(met));
    int64_t n_new;
    (void)lud_empo_met_new(met, &n_new);
    assert_int_equal(n_new, 0); /* nobody has to be shown what is all known */
    assert_exact(r.learner, met);
    const int64_t all = lud_empo_met_get(met).expanded;
    assert_int_equal(lud_empo_met_forget(met, &error), LUD_OK);
    assert_false(lud_empo_met_complete(met)); /* no longer */
    lud_empo_met_destroy(met);
    /* as many as there are, and one too few; that much is done is said on the way */
    for (int few = 0; few < 2; few++) {
        lud_progress progress = {0};
        met = met_of(&r, 64 << 20);
        assert_int_equal(lud_empo_met_close(met, r.scenario->model, 1, all - few, &progress, &closed, &error),
                         LUD_OK);
        assert_true(closed == !few && lud_empo_met_get(met).expanded == (few ? 0 : all));
        assert_true(progress.part > 0 && progress.part <= 0.5);
        lud_empo_met_destroy(met);
    }
    /* where that does not fit, nothing stays */
    met = met_of(&r, 30000);
    assert_int_equal(lud_empo_met_close(met, r.scenario->model, 1, most, NULL, &closed, &error), LUD_OK);
    assert_false(closed);
    assert_int_equal(lud_empo_met_get(met).n, 0);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* A world that goes on for longer than a table has levels is met state by state. */
static void a_long_world_is_exact(void **state) {
    (void)state;
    static const char *const set[] = {"multigrid.max_steps=1001", "learner.exact_max_states=200000"};
    for (int i = 0; i < 2; i++) {
        support_empo r;
        lud_error error = {0};
        bool closed;
        support_empo_open(&r, support_empo_corridor, small, 2 - i, set + i);
        lud_empo_met *met = met_of(&r, 256 << 20);
        assert_int_equal(lud_empo_met_close(met, r.scenario->model, 1, 200000, NULL, &closed, &error),
                         LUD_OK);
        assert_true(closed && (lud_empo_met_levels(met) == 1) == (i == 0));
        assert_exact(r.learner, met);
        lud_empo_met_destroy(met);
        support_empo_close(&r);
    }
}

/* States are expanded in any order and swept in between, with nonsense at the rim. */
static void the_order_does_not_matter(void **state) {
    (void)state;
    support_empo r;
    lud_error error = {0};
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    lud_empo_met *met = met_of(&r, 64 << 20);
    const lud_model *model = r.scenario->model;
    uint8_t *start = calloc(1, model->layout.state_bytes);
    static const uint32_t tick = 0;
    float v_h_e[1024], v_r[16];
    int64_t node;
    for (int g = 0; g < 1024; g++) v_h_e[g] = 0.3f;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, start);
    assert_int_equal(lud_empo_met_add(met, start, &node, &error), LUD_OK);
    for (uint32_t i = 0; !lud_empo_met_complete(met); i++) {
        node = random_below(i, (uint32_t)lud_empo_met_get(met).n);
        while (lud_empo_met_expanded(met, node) || lud_empo_met_terminal(met, node))
            node = (node + 1) % lud_empo_met_get(met).n;
        for (int k = 0; k < 16; k++) v_r[k] = -2.0f - (float)(i % 7);
        if (i % 3 == 0) lud_empo_met_set(met, node, v_h_e, v_r);
        if (i % 3 == 1) lud_empo_met_scale(met, node, 1 + (int)(i % 2), v_h_e, v_r[0]);
        assert_int_equal(lud_empo_met_expand(met, node, &error), LUD_OK);
        if (i % 5 == 0) sweep(met, i % 2 ? 3 : 0);
    }
    sweep(met, 0);
    assert_exact(r.learner, met);
    free(start);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* Each expanded state is worth what its successors make it, at every level. */
static void assert_swept(lud_empo_met *met) {
    const lud_empo_layout *layout = lud_empo_met_layout(met);
    double *record = calloc((size_t)layout->record_doubles, sizeof *record);
    double *row = calloc((size_t)layout->n_goals + 1, sizeof *row),
           *own = calloc((size_t)layout->n_goals + 1, sizeof *own);
    for (int64_t i = 0; i < lud_empo_met_get(met).expanded; i++) {
        const int64_t node = lud_empo_met_expanded_at(met, i);
        assert_true(lud_empo_met_expanded(met, node));
        assert_int_equal(lud_empo_met_find(met, lud_empo_met_bytes_of(met, node)), node);
        for (int level = 1; level < lud_empo_met_levels(met); level++) {
            lud_empo_met_look(met, node, level, record);
            lud_empo_met_credit(met, lud_empo_met_bytes_of(met, node), record + layout->v_h_e,
                                record[layout->v_r], row);
            lud_empo_met_row(met, node, level, own);
            for (int g = 0; g <= layout->n_goals; g++) assert_true((float)row[g] == (float)own[g]);
        }
    }
    free(record);
    free(row);
    free(own);
}

static void memory_is_bounded(void **state) {
    (void)state;
    support_empo r;
    lud_error error = {0};
    support_empo_open(&r, support_empo_crowd, bounded, 0, NULL);
    enum { MOST = 1 << 20 };
    lud_empo_met *met = met_of(&r, MOST);
    const lud_model *model = r.scenario->model;
    uint8_t *start = calloc(1, model->layout.state_bytes);
    static const uint32_t tick = 0;
    int64_t node, forgets = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, start);
    for (uint32_t i = 0; forgets < 4; i++) {
        assert_true(lud_empo_met_get(met).bytes <= MOST);
        lud_status status = lud_empo_met_add(met, start, &node, &error);
        const int64_t n = lud_empo_met_get(met).n;
        if (!status && i % 50) node = random_below(i, (uint32_t)n);
        for (int64_t k = 0; !status && k < n; k++, node = (node + 1) % n)
            if (!lud_empo_met_expanded(met, node) && !lud_empo_met_terminal(met, node)) break;
        if (!status) {
            lud_empo_met_visit_node(met, node);
            status = lud_empo_met_expand(met, node, &error);
        }
        assert_true(status == LUD_OK || status == LUD_ERROR_LIMIT);
        if (i % 20 == 0) sweep(met, 0);
        if (status == LUD_OK) continue;
        sweep(met, 0);
        const lud_empo_met_figures before = lud_empo_met_get(met);
        assert_int_equal(lud_empo_met_forget(met, &error), LUD_OK);
        const lud_empo_met_figures after = lud_empo_met_get(met);
        assert_int_equal(after.expanded, before.expanded / 2);
        assert_int_equal(after.forgotten - before.forgotten, before.expanded - after.expanded);
        assert_true(after.n < before.n);
        assert_swept(met);
        forgets++;
    }
    sweep(met, 0);
    assert_swept(met);
    free(start);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* A table of so many expanded states, in no order; computed. */
static lud_empo_met *expanded_of(const support_empo *r, int64_t most) {
    lud_empo_met *met = met_of(r, 16 << 20);
    const lud_model *model = r->scenario->model;
    uint8_t *start = calloc(1, model->layout.state_bytes);
    int64_t node;
    lud_error error = {0};
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &(uint32_t){0}}, start);
    assert_int_equal(lud_empo_met_add(met, start, &node, &error), LUD_OK);
    for (uint32_t i = 0; lud_empo_met_get(met).expanded < most; i++) {
        node = random_below(i, (uint32_t)lud_empo_met_get(met).n);
        if (lud_empo_met_expanded(met, node) || lud_empo_met_terminal(met, node)) continue;
        assert_int_equal(lud_empo_met_expand(met, node, &error), LUD_OK);
    }
    sweep(met, 0);
    free(start);
    return met;
}

/* Of so many states, each expanded, the half that is to stay so: those that somebody acted in last, and among
 * those of whom that is equally long ago those that were expanded last. */
static void choose_half(int n, const int *acted_in, bool *stays) {
    for (int left = n / 2; left > 0; left--) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!stays[i] && (best < 0 || acted_in[i] >= acted_in[best])) best = i;
        stays[best] = true;
    }
}

/* The half of the expanded states that nobody acted in for longest lose their successors, again and again.
 * All that stand there are worth what they were, and nothing that was known of them is lost. */
static void what_was_seen_last_stays(void **state) {
    (void)state;
    enum { N = 24 };
    support_empo r;
    support_empo_open(&r, support_empo_crowd, bounded, 0, NULL);
    const size_t bytes = r.scenario->model->layout.state_bytes,
                 stride = (size_t)r.learner->features.layout.n_goals + 1;
    for (int seen = 0; seen <= N; seen += 6) {
        lud_error error = {0};
        lud_empo_met *met = expanded_of(&r, N);
        int acted_in[N] = {0}, times = 0;
        for (int i = 0; i < seen; i++) {
            const int which = (7 * i + 3) % N;
            for (int k = 0; k <= i % 3; k++)
                lud_empo_met_visit_node(met, lud_empo_met_expanded_at(met, which));
            acted_in[which] = ++times;
        }
        const int64_t n = lud_empo_met_get(met).n;
        const int levels = lud_empo_met_levels(met);
        uint8_t *states = calloc((size_t)n, bytes);
        double *rows = calloc((size_t)n * (size_t)levels * stride, sizeof *rows),
               *row = calloc(stride, sizeof *row);
        int *highest = calloc((size_t)n, sizeof *highest), *expanded = calloc((size_t)n, sizeof *expanded);
        uint32_t *visits = calloc((size_t)n, sizeof *visits);
        for (int64_t i = 0; i < n; i++) {
            memcpy(states + (size_t)i * bytes, lud_empo_met_bytes_of(met, i), bytes);
            for (int l = 0; l < levels; l++)
                lud_empo_met_row(met, i, l, rows + ((size_t)i * (size_t)levels + (size_t)l) * stride);
            highest[i] = lud_empo_met_highest(met, i);
            visits[i] = lud_empo_met_visits(met, i);
            expanded[i] = -1; /* place among those that are */
        }
        for (int i = 0; i < N; i++) expanded[lud_empo_met_expanded_at(met, i)] = i;
        int n_expanded = N;
        for (int round = 0; round < 3; round++) {
            bool stays[N] = {0};
            choose_half(n_expanded, acted_in, stays);
            assert_int_equal(lud_empo_met_forget(met, &error), LUD_OK);
            assert_int_equal(lud_empo_met_get(met).expanded, n_expanded / 2);
            assert_int_equal(lud_empo_met_get(met).forgotten, N - n_expanded / 2);
            int64_t there = 0, terminal = 0;
            for (int64_t i = 0; i < n; i++) {
                const int64_t now = lud_empo_met_find(met, states + (size_t)i * bytes);
                const bool stays_expanded = expanded[i] >= 0 && stays[expanded[i]];
                if (now == LUD_EMPO_UNMET) {
                    assert_false(stays_expanded);
                    expanded[i] = -1;
                    continue;
                }
                there++;
                terminal += lud_empo_met_terminal(met, now);
                assert_int_equal(lud_empo_met_expanded(met, now), stays_expanded);
                if (expanded[i] >= 0) assert_true(lud_empo_met_sure(met, now));
                assert_int_equal(lud_empo_met_highest(met, now), highest[i]);
                assert_int_equal(lud_empo_met_visits(met, now), visits[i]);
                for (int l = 0; l < levels; l++) {
                    lud_empo_met_row(met, now, l, row);
                    assert_memory_equal(row, rows + ((size_t)i * (size_t)levels + (size_t)l) * stride,
                                        stride * sizeof *row);
                }
            }
            assert_true(there == lud_empo_met_get(met).n && terminal == lud_empo_met_get(met).terminal);
            assert_swept(met);
            int kept = 0, place[N];
            for (int i = 0; i < n_expanded; i++) {
                place[i] = stays[i] ? kept : -1;
                if (stays[i]) acted_in[kept++] = acted_in[i];
            }
            for (int64_t i = 0; i < n; i++)
                if (expanded[i] >= 0) expanded[i] = place[expanded[i]];
            n_expanded = kept;
        }
        LUD_FREE(states, rows, row, highest, expanded, visits);
        lud_empo_met_destroy(met);
    }
    support_empo_close(&r);
}

/* What is said of a state at the rim at one level is what it is worth there; at the other levels it changes
 * in proportion, but to no more than can be: a goal is reached for certain at most, and with more time there
 * is at most more to lose in proportion to it. */
static void what_is_said_at_one_level_counts_at_all(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_crowd, bounded, 0, NULL);
    const lud_empo_layout *layout = &r.learner->features.layout;
    const int goals = layout->n_goals;
    lud_empo_met *met = expanded_of(&r, 12);
    int n_knots;
    const int32_t *knots = lud_empo_met_knots(met, &n_knots);
    double *row = calloc((size_t)goals + 1, sizeof *row),
           *before = calloc((size_t)(n_knots * (goals + 1)), sizeof *before),
           *credit = calloc((size_t)goals + 1, sizeof *credit), *exact = calloc((size_t)goals, sizeof *exact);
    float *v_h_e = calloc((size_t)(n_knots * goals), sizeof *v_h_e),
          *v_rs = calloc((size_t)n_knots, sizeof *v_rs);
    int looked_at = 0, limited = 0;
    for (int64_t node = 0; node < lud_empo_met_get(met).n; node++) {
        if (lud_empo_met_sure(met, node)) continue;
        for (int k = 0; k < n_knots; k++) {
            const int level = knots[k];
            const float v_r = k % 2 ? -0.5f : -80.0f;
            /* nearly nothing at first and very much at last */
            for (int j = 0; j < n_knots; j++) v_rs[j] = -(float)pow(10, j - 3);
            for (int j = 0; j < n_knots * goals; j++) v_h_e[j] = 0.3f;
            if (node % 2) lud_empo_met_set(met, node, v_h_e, v_rs);
            for (int g = 0; g < goals; g++) v_h_e[g] = g % 3 == 0 ? 0.9f : g % 3 == 1 ? 0.05f : 1.5f;
            for (int g = 0; g < goals; g++) exact[g] = fmin((double)v_h_e[g], 1.0);
            for (int j = 0; j < n_knots; j++) lud_empo_met_row(met, node, knots[j], before + j * (goals + 1));
            lud_empo_met_scale(met, node, level, v_h_e, v_r);
            lud_empo_met_credit(met, lud_empo_met_bytes_of(met, node), exact, (double)v_r, credit);
            lud_empo_met_row(met, node, level, row);
            for (int g = 0; g <= goals; g++) assert_true(fabs(row[g] - credit[g]) <= 1e-5 * fabs(credit[g]));
            for (int j = 0; j < n_knots; j++) {
                const double *old = before + j * (goals + 1), *here = before + k * (goals + 1);
                lud_empo_met_row(met, node, knots[j], row);
                for (int g = 0; g < goals; g++) {
                    if (credit[g] == 1.0) continue; /* achieved */
                    const double expected = fmin(old[g] * credit[g] / here[g], 1.0);
                    assert_true(fabs(row[g] - expected) <= 1e-4 * expected);
                }
                const double most = fabs(credit[goals]) * fmax(1.0, (double)knots[j] / level),
                             expected = fmax(old[goals] * credit[goals] / here[goals], -most);
                assert_true(fabs(row[goals] - expected) <= 1e-4 * fabs(expected));
                limited += expected == -most && most > fabs(credit[goals]);
            }
            looked_at++;
        }
    }
    assert_true(looked_at > 20 && limited > 20);
    LUD_FREE(row, before, credit, exact, v_h_e, v_rs);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* Every level from the first to the highest at which a state occurs is drawn as often; where there is none it
 * is the end. Of no states nothing is learned. */
static void levels_are_drawn_alike(void **state) {
    (void)state;
    enum { DRAWS = 120 };
    support_empo r;
    support_empo_open(&r, support_empo_crowd, bounded, 0, NULL);
    lud_empo_met *met = expanded_of(&r, 12);
    for (int64_t node = 0; node < lud_empo_met_get(met).n; node++) {
        const int highest = lud_empo_met_highest(met, node);
        assert_int_equal(lud_empo_met_likely_level(met, node), highest > 0 ? highest : 1);
        for (int i = 0; i < DRAWS; i++) {
            const double uniform = (i + 0.5) / DRAWS;
            assert_int_equal(lud_empo_met_some_level(met, node, uniform),
                             highest > 0 ? 1 + (int)(uniform * highest) : 0);
        }
        if (highest > 0) assert_int_equal(lud_empo_met_some_level(met, node, 1.0 - 1e-15), highest);
    }
    lud_empo_met_ground(met, 0, 0);
    assert_true(lud_empo_met_belief(met) == 0);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* ---- the learner ---- */

/* The defaults keep the states met; what they learn is exact where everything was. */
static void the_learner_is_exact(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, small, 0, NULL);
    assert_non_null(r.learner->met);
    assert_non_null(strstr(r.learner->base.chosen, "met_memory"));
    const lud_empo_distance d = support_empo_learn(&r);
    assert_true(d.everywhere.v_r < 1e-6 && d.everywhere.x_h < 1e-6 && fabs(d.regret) < 1e-6);
    assert_true(d.divergence < 1e-5);
    assert_true(r.learner->trust.complete && lud_empo_trusted(&r.learner->trust));
    assert_true(r.learner->trust.residual < 1e-6 && r.learner->trust.met == 1.0);
    /* played, exact values come true as far as chance allows */
    const lud_empo_worth played[2] = {r.learner->trust.v_r, r.learner->trust.v_h_e};
    for (int k = 0; k < 2; k++) {
        assert_true(played[k].deviation > 0);
        assert_true(fabs(played[k].returned - played[k].predicted) < 3.5 * played[k].deviation);
    }
    /* the networks alone have hardly learned */
    assert_true(r.learner->alone.everywhere.v_r > 1e-3);
    support_empo_close(&r);
}

/* A person who may stand where no goal is can lose all power: V_r has no exact value there. The learner
 * counts x_h_floor, and says that there is nothing to compare it with. */
static void without_an_exact_solution_nothing_is_compared(void **state) {
    (void)state;
    support_empo r;
    lud_text text = {0};
    char world[1024];
    snprintf(world, sizeof world, "%s", support_empo_corridor);
    *strstr(world, "  - {cell: [3, 1]}") = 0;
    support_empo_open(&r, world, small, 0, NULL);
    support_empo_iterate(&r, 6);
    support_empo_evaluate(&r);
    lud_empo_phase2_report_evaluation(r.learner, &text);
    assert_non_null(
        strstr(text.bytes, "not compared with an exact solution, as there is none: no goal is open to"));
    assert_null(strstr(text.bytes, "Learned against exact"));
    lud_text_free(&text);
    support_empo_close(&r);
}

/* A table too small for the world, and networks for the rest: little training is not trusted. */
static void a_small_table_is_not_trusted(void **state) {
    (void)state;
    support_empo r;
    lud_text text = {0};
    support_empo_open(&r, support_empo_crowd, bounded, 0, NULL);
    support_empo_iterate(&r, 6);
    const lud_empo_met_figures met = lud_empo_met_get(r.learner->met->met);
    assert_true(met.bytes <= met.most_bytes && met.expanded > 0 && met.expanded < met.n);
    support_empo_evaluate(&r);
    const lud_empo_trust *t = &r.learner->trust;
    assert_false(t->complete);
    assert_true(t->states > 0 && t->met < 1.0 && t->from_table < 1.0 && t->residual > 0.0);
    assert_false(lud_empo_trusted(t));
    lud_empo_trust_print(t, &met, &text);
    assert_non_null(strstr(text.bytes, "no: "));
    assert_non_null(strstr(text.bytes, "num_training_steps"));
    lud_text_free(&text);
    support_empo_close(&r);
}

/* The person who pursues a goal keeps it, and each action until then counts by gamma_h: where that is a half,
 * one too many would show. */
static void goals_come_true_as_soon_as_promised(void **state) {
    (void)state;
    static const char *const set[2] = {"learner.gamma_h=0.5", "learner.gamma_h=1"};
    for (int k = 0; k < 2; k++) {
        support_empo r;
        support_empo_open(&r, support_empo_corridor, small, 1, &set[k]);
        (void)support_empo_learn(&r);
        const lud_empo_worth *w = &r.learner->trust.v_h_e;
        assert_int_equal(r.learner->trust.person, 0);
        assert_true(w->deviation < 0.05);
        print_message("%s: V_h^e %.4f, came %.4f +- %.4f\n", set[k], w->predicted, w->returned, w->deviation);
        assert_true(fabs(w->returned - w->predicted) < 3 * w->deviation);
        support_empo_close(&r);
    }
}

/* Values that agree with each other, and goals of a person that do not come true. */
static void what_does_not_come_is_not_trusted(void **state) {
    (void)state;
    lud_text text = {0};
    const lud_empo_met_figures met = {0};
    lud_empo_trust t = {.episodes = 64,
                        .states = 640,
                        .residual = 0.01,
                        .v_r = {-50, -51, 0.2},
                        .v_h_e = {0.6, 0.55, 0.02},
                        .person = 3};
    assert_true(lud_empo_trusted(&t)); /* 5 % of 0.6 and two standard errors are 0.07 */
    t.v_h_e.returned = 0.5;
    assert_false(lud_empo_trusted(&t));
    lud_empo_trust_print(&t, &met, &text);
    assert_non_null(
        strstr(text.bytes, "V_h^e of person 3 at the start 0.6000, what then came 0.5000 +- 0.04"));
    assert_non_null(strstr(text.bytes, "no: what comes is worse than what values at the start say"));
    t.v_h_e.returned = 0.7;
    assert_false(lud_empo_trusted(&t));
    t.v_h_e.returned = 0.6;
    t.v_r.returned = -56;
    assert_false(lud_empo_trusted(&t));
    t.v_r.returned = -50;
    t.residual = 0.03;
    assert_false(lud_empo_trusted(&t));
    lud_text_free(&text);
}

/* What came may be off by a twentieth of what was predicted and two standard errors, to either side, and
 * values by two hundredths; of a complete table nothing is asked. */
static void trust_has_limits(void **state) {
    (void)state;
    static const double little = 1e-9;
    const lud_empo_trust good = {
        .residual = 0.02, .v_r = {-50, -50, 0.25}, .v_h_e = {0.5, 0.5, 0.01}}; /* off by 3 and by 0.045 */
    assert_true(lud_empo_trusted(&good));
    for (int side = -1; side <= 1; side += 2)
        for (int k = 0; k < 2; k++)
            for (int more = 0; more < 2; more++) {
                lud_empo_trust t = good;
                lud_empo_worth *w = k ? &t.v_h_e : &t.v_r;
                w->returned += side * ((k ? 0.045 : 3.0) + (more ? little : -little));
                assert_int_equal(lud_empo_trusted(&t), !more);
                t.complete = true;
                assert_true(lud_empo_trusted(&t));
            }
    lud_empo_trust t = good;
    t.v_r = t.v_h_e = (lud_empo_worth){0, 0, 0}; /* nothing was predicted, and nothing came */
    assert_true(lud_empo_trusted(&t));
    t.residual = 0.02 + little;
    assert_false(lud_empo_trusted(&t));
}

/* Robots whose exponent is too small for what one step is worth go nowhere, and the report says so. */
static void robots_at_random_are_told(void **state) {
    (void)state;
    static const char *const set[2] = {"learner.beta_r=0.01", "learner.beta_r=300"};
    for (int k = 0; k < 2; k++) {
        support_empo r;
        lud_text text = {0};
        support_empo_open(&r, support_empo_corridor, small, 1, &set[k]);
        support_empo_iterate(&r, 1);
        support_empo_evaluate(&r);
        const lud_empo_trust *t = &r.learner->trust;
        const lud_empo_met_figures met = lud_empo_met_get(r.learner->met->met);
        lud_empo_trust_print(t, &met, &text);
        assert_int_equal(t->n_actions, 4);
        assert_true(k ? t->choices < 3.0 && t->choices >= 1.0
                      : t->choices > 3.999 && t->choices <= 4.0 + 1e-9);
        assert_true((strstr(text.bytes, "nearly at random, among 4.0 of 4") != NULL) == (k == 0));
        lud_text_free(&text);
        support_empo_close(&r);
    }
}

static void resume_equals_no_interruption(void **state) {
    (void)state;
    support_empo_assert_resumes(support_empo_corridor, small, 0, NULL, support_empo_path);
    support_empo_assert_resumes(support_empo_crowd, bounded, 0, NULL, support_empo_path);
    /* long enough for states to occur earlier than they did when their successors were listed */
    support_empo_assert_resumes(passage, rim, 0, NULL, support_empo_path);
}

/* Whoever is stopped while defaults are chosen chooses nothing: an exact solution that was broken off is not
 * one that cannot be. */
static void a_stop_chooses_nothing(void **state) {
    (void)state;
    lud_status status = LUD_INTERRUPTED;
    int64_t n = 0;
    while (status) {
        support_empo r;
        lud_error error = {0};
        lud_interrupt_at(++n);
        status = support_empo_try(&r, passage, rim, 0, NULL, &error);
        /* lud_interrupted() would be a question itself, and be told to stop where the learner was not */
        assert_int_equal(status, lud_interrupt_questions() >= n ? LUD_INTERRUPTED : LUD_OK);
        support_empo_close(&r);
    }
    lud_interrupt_at(0);
    assert_true(n > 2);
}

/* The policy acts as the table says, and a learner that has only what acting needs does the same. */
static void acting_is_look_ahead(void **state) {
    (void)state;
    support_empo a, b;
    lud_error error = {0};
    double record[2][4096];
    support_empo_open(&a, support_empo_crowd, bounded, 0, NULL);
    support_empo_open(&b, support_empo_crowd, bounded, 0, NULL);
    support_empo_iterate(&a, 6);
    lud_checkpoint *saved = lud_checkpoint_create();
    a.learner->base.kind->visit_policy(&a.learner->base, saved);
    assert_int_equal(lud_checkpoint_status(saved, &error), LUD_OK);
    assert_int_equal(lud_checkpoint_write(saved, support_empo_path, &error), LUD_OK);
    lud_checkpoint_destroy(saved);
    assert_int_equal(lud_checkpoint_open(support_empo_path, &saved, &error), LUD_OK);
    b.learner->base.kind->visit_policy(&b.learner->base, saved);
    if (lud_checkpoint_status(saved, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    remove(support_empo_path);
    lud_empo_met *met = a.learner->met->met;
    const lud_empo_layout *layout = lud_empo_met_layout(met);
    assert_in_range(layout->record_doubles, 1, 4096);
    uint8_t *at = calloc(1, a.scenario->model->layout.state_bytes);
    for (int64_t i = 0; i < lud_empo_met_get(met).n; i += 37) {
        if (lud_empo_met_terminal(met, i)) continue;
        lud_empo_met_state(met, i, 1 + (int)(i % (lud_empo_met_levels(met) - 1)), at);
        if (lud_empo_look_ahead(&a.learner->met->ahead, at, &error)) fail_msg("%s", error.text);
        if (lud_empo_look_ahead(&b.learner->met->ahead, at, &error)) fail_msg("%s", error.text);
        memcpy(record[0], a.learner->met->ahead.record, (size_t)layout->record_doubles * sizeof(double));
        memcpy(record[1], b.learner->met->ahead.record, (size_t)layout->record_doubles * sizeof(double));
        assert_memory_equal(record[0] + layout->pi_r, record[1] + layout->pi_r,
                            (size_t)layout->n_robot_actions * sizeof(double));
        assert_true(record[0][layout->v_r] == record[1][layout->v_r]);
    }
    free(at);
    support_empo_close(&a);
    support_empo_close(&b);
}

static void what_does_not_go_together_is_told(void **state) {
    (void)state;
    static const struct {
        const char *set, *expected;
    } cases[] = {
        {"learner.use_lookup_tables=true", "use_lookup_tables belongs to training from a replay memory"},
        {"learner.hindsight_prob=0.5", "hindsight_prob belongs to"},
        {"learner.expected_people=false", "expected expected_people: true"},
        {"learner.v_r_use_network=false", "v_r_use_network: true"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_empo r;
        lud_error error = {0};
        const char *const set[] = {cases[i].set, "learner.met_memory=1M"};
        assert_int_equal(support_empo_try(&r, support_empo_corridor, small, 2, set, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, cases[i].expected)) fail_msg("%s", error.text);
        support_empo_close(&r);
    }
}

/* Options that need a replay memory have one, and the reference's values have a name. */
static void other_trainings_are_chosen(void **state) {
    (void)state;
    support_empo r;
    static const char *const tables[] = {"learner.use_lookup_tables=true"};
    support_empo_open(&r, support_empo_corridor, small, 1, tables);
    assert_null(r.learner->met);
    assert_true(r.learner->options.use_lookup_tables);
    support_empo_close(&r);
    static const char *const reference[] = {"learner.preset=reference"};
    support_empo_open(&r, support_empo_corridor, small, 1, reference);
    assert_null(r.learner->met);
    assert_false(r.learner->options.automatic || r.learner->options.expected_people);
    assert_int_equal(r.learner->options.stages.warmup[LUD_NET_V_H_E], 10000);
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_closed_is_exact),
        cmocka_unit_test(a_long_world_is_exact),
        cmocka_unit_test(the_order_does_not_matter),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(what_was_seen_last_stays),
        cmocka_unit_test(what_is_said_at_one_level_counts_at_all),
        cmocka_unit_test(levels_are_drawn_alike),
        cmocka_unit_test(trust_has_limits),
        cmocka_unit_test(the_learner_is_exact),
        cmocka_unit_test(a_small_table_is_not_trusted),
        cmocka_unit_test(without_an_exact_solution_nothing_is_compared),
        cmocka_unit_test(goals_come_true_as_soon_as_promised),
        cmocka_unit_test(what_does_not_come_is_not_trusted),
        cmocka_unit_test(robots_at_random_are_told),
        cmocka_unit_test(resume_equals_no_interruption),
        cmocka_unit_test(a_stop_chooses_nothing),
        cmocka_unit_test(acting_is_look_ahead),
        cmocka_unit_test(what_does_not_go_together_is_told),
        cmocka_unit_test(other_trainings_are_chosen),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
