/* What a learner of EMPO needs where it cannot meet all states: configurations to begin in, what is asked of
 * the networks and when, and how far they are believed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/met/asker.h"
#include "learn/empo/met/kinds.h"
#include "learn/empo/support_empo.h"

static const char learner[] = "learner:\n  type: empo-phase2\n  zeta: 2\n  gamma_h: 0.95\n  gamma_r: 0.9\n"
                              "  beta_r: 10\n  hidden_dim: 8\n  goal_feature_dim: 4\n  environments: 2\n"
                              "  human_prior: {type: heuristic, beta: 20}\n  met_memory: 4M\n"
                              "  exact_max_states: 0\n  restart_from: configurations\n";

/* A robot among things that it can carry about: as many configurations as one likes. */
static const char many_things[] = "ludus: 1\nname: many things\nworld: multigrid\nmultigrid:\n  map: |\n"
                                  "    We We We We We We We\n"
                                  "    We Ay .. Ky .. .. We\n"
                                  "    We .. Kr .. Kb .. We\n"
                                  "    We .. .. Ae .. Kg We\n"
                                  "    We .. .. .. .. .. We\n"
                                  "    We We We We We We We\n"
                                  "  max_steps: 1000\n  actions: object\n"
                                  "goals:\n  - {rectangle: [1, 1, 2, 3]}\n  - {cell: [4, 3], weight: 0.5}\n";

static uint32_t random_word(uint32_t i, uint32_t lane) {
    return lud_draw((lud_random_key){77, i}, 0, 0, LUD_PURPOSE_USER, lane).v[0];
}

/* One step of everybody at random. */
static void wander(const lud_model *model, uint8_t *state, uint32_t i) {
    lud_successors found = {0};
    int32_t joint[8];
    lud_joint_action_decode(
        &model->layout,
        (int32_t)lud_below(random_word(i, 0), (uint32_t)lud_joint_action_count(&model->layout)), joint);
    assert_int_equal(model->world->successors(model, state, joint, &found, NULL), LUD_OK);
    const size_t bytes = model->layout.state_bytes;
    const uint8_t *next = found.states + lud_below(random_word(i, 1), (uint32_t)found.n) * bytes;
    if (!model->world->is_terminal(model, next)) memcpy(state, next, bytes);
    lud_successors_free(&found);
}

static void reset(const lud_model *model, uint8_t *state) {
    static const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
}

/* Whether a state is among those drawn for some episodes. */
static bool is_drawn(const lud_empo_kinds *kinds, const uint8_t *state, size_t bytes, int episodes) {
    const uint8_t *states[LUD_EMPO_KINDS_DRAWN];
    int64_t kind[LUD_EMPO_KINDS_DRAWN];
    for (int e = 0; e < episodes; e++) {
        const int n = lud_empo_kinds_draw(kinds, (lud_random_key){5, (uint32_t)e}, 9, kind, states);
        assert_in_range(n, 1, LUD_EMPO_KINDS_DRAWN);
        for (int i = 0; i < n; i++) {
            assert_in_range(kind[i], 0, lud_empo_kinds_count(kinds) - 1);
            if (memcmp(states[i], state, bytes) == 0) return true;
        }
    }
    return false;
}

/* Configurations that promise more stay when there are too many; those that promise less do not come in. */
static void what_promises_more_stays(void **test) {
    (void)test;
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    const size_t bytes = model->layout.state_bytes;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *state = calloc(1, bytes), *first = calloc(1, bytes);
    reset(model, state);
    memcpy(first, state, bytes);
    lud_empo_kinds_show(kinds, first, -1.0); /* the best of all */
    assert_true(is_drawn(kinds, first, bytes, 1));
    uint32_t i = 0;
    int64_t most = 0, full = 0;
    for (int64_t n = 0; full < 1000; n++) {
        for (int k = 0; k < 8; k++) wander(model, state, i++);
        if (n % 500 == 0) reset(model, state);
        const bool held = lud_empo_kinds_act(kinds, state, -2.0);
        lud_empo_kinds_show(kinds, state, -2.0 - 1e-5 * (double)n);
        full += !held && lud_empo_kinds_count(kinds) == most;
        most = lud_empo_kinds_count(kinds);
        assert_true(n < 400000);
    }
    assert_in_range(most, 1000, 100000);
    assert_true(is_drawn(kinds, first, bytes, 4000));
    /* a new one that promises more than some takes a place, one that promises less than all does not */
    for (int worse = 0; worse < 2; worse++) {
        do
            for (int k = 0; k < 40; k++) wander(model, state, i++);
        while (lud_empo_kinds_act(kinds, state, -2.0));
        lud_empo_kinds_show(kinds, state, worse ? -1e9 : -1.5);
        assert_int_equal(lud_empo_kinds_count(kinds), most);
        assert_int_equal(is_drawn(kinds, state, bytes, 8000), !worse);
        assert_int_equal(lud_empo_kinds_act(kinds, state, -2.0), !worse);
    }
    lud_empo_kinds_destroy(kinds);
    free(state);
    free(first);
    support_empo_close(&r);
}

/* What somebody found by acting counts, for a while. */
static void promises_are_of_late(void **test) {
    (void)test;
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *state = calloc(1, model->layout.state_bytes), *other = calloc(1, model->layout.state_bytes);
    double promise;
    reset(model, state);
    memcpy(other, state, model->layout.state_bytes);
    lud_empo_kinds_show(kinds, state, -3.0);
    assert_false(lud_empo_kinds_known(kinds, 0, &promise));
    for (int i = 0; i < 100; i++) lud_empo_kinds_act(kinds, state, -1.0 - (i < 50));
    assert_true(lud_empo_kinds_known(kinds, 0, &promise));
    assert_true(promise < -1.0 && promise > -1.3); /* -2 is half forgotten, and half again */
    for (uint32_t i = 0; memcmp(state, other, model->layout.state_bytes) == 0 || i < 400; i++)
        wander(model, other, i);
    for (int i = 0; i < 10; i++) lud_empo_kinds_act(kinds, other, -9.0); /* is not held */
    assert_true(lud_empo_kinds_known(kinds, 0, &promise));
    for (int i = 0; i < 100; i++) lud_empo_kinds_act(kinds, other, -9.0);
    assert_false(lud_empo_kinds_known(kinds, 0, &promise));
    assert_true(promise > -1.3);
    lud_empo_kinds_destroy(kinds);
    free(state);
    free(other);
    support_empo_close(&r);
}

/* What acting finds is a plain mean at first and forgets as one of thirty; it is known as long as what was
 * done since, in whatever configuration, is at most an eighth of all that was. */
static void a_promise_is_known_for_an_eighth_of_the_time(void **test) {
    (void)test;
    enum { FORGETS = 30, LATELY = 8 };
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *state = calloc(1, model->layout.state_bytes), *other = calloc(1, model->layout.state_bytes);
    double promise, expected = 0;
    reset(model, state);
    memcpy(other, state, model->layout.state_bytes);
    lud_empo_kinds_show(kinds, state, -3.0);
    assert_false(lud_empo_kinds_known(kinds, 0, &promise)); /* nobody has acted there */
    assert_true(promise == -3.0);
    for (int i = 1; i <= 80; i++) {
        const double found = -1.0 - i % 7;
        assert_true(lud_empo_kinds_act(kinds, state, found));
        expected += (found - expected) / (i < FORGETS ? i : FORGETS);
        assert_true(lud_empo_kinds_known(kinds, 0, &promise));
        assert_true(fabs(promise - expected) < 1e-12);
    }
    uint32_t steps = 0;
    while (lud_empo_kinds_act(kinds, other, -9.0))
        wander(model, other, steps++); /* to another configuration */
    int all = 80 + (int)steps + 1, last = 80 + (int)steps;
    for (; all < 400; all++) {
        assert_int_equal(lud_empo_kinds_known(kinds, 0, &promise), all - last <= all / LATELY);
        assert_false(lud_empo_kinds_act(kinds, other, -9.0));
    }
    assert_true(lud_empo_kinds_act(kinds, state, -2.0));
    assert_true(lud_empo_kinds_known(kinds, 0, &promise));
    lud_empo_kinds_destroy(kinds);
    free(state);
    free(other);
    support_empo_close(&r);
}

/* Shows states of one configuration, the one that everything begins in, until so many different ones were. */
static void show_some(const support_empo *r, lud_empo_kinds *kinds, uint8_t *shown, int most) {
    const lud_model *model = r->scenario->model;
    const size_t bytes = model->layout.state_bytes;
    uint8_t *state = calloc(1, bytes);
    int n = 0;
    reset(model, state);
    for (uint32_t i = 0; n < most; i++) {
        bool known = n > 0 && !lud_empo_kinds_act(kinds, state, -3.0); /* another configuration */
        for (int k = 0; k < n; k++) known |= memcmp(shown + (size_t)k * bytes, state, bytes) == 0;
        if (!known) {
            lud_empo_kinds_show(kinds, state, -3.0);
            memcpy(shown + (size_t)n++ * bytes, state, bytes);
        }
        if (i % 20 == 19) reset(model, state);
        wander(model, state, i);
    }
    assert_int_equal(lud_empo_kinds_count(kinds), 1);
    free(state);
}

/* How many states of a configuration there is room for. */
static int room_for_states(lud_empo_kinds *kinds, size_t bytes) {
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_kinds_visit(kinds, "", saved);
    const int room = (int)(lud_checkpoint_find(saved, "kinds.states")->bytes / bytes);
    lud_checkpoint_destroy(saved);
    return room;
}

/* As many states of a configuration as there is room for are kept as they come, and each of them is drawn;
 * one more takes the place of one of them, but for chance. However many are shown, those of another
 * configuration stay what they are. */
static void all_states_of_a_configuration_are_begun_in(void **test) {
    (void)test;
    enum { TRIES = 8 };
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    const size_t bytes = model->layout.state_bytes;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *shown = calloc(1000, bytes), *other = calloc(1, bytes);
    show_some(&r, kinds, shown, 1);
    const int room = room_for_states(kinds, bytes);
    assert_in_range(room, 2, 500);
    lud_empo_kinds_destroy(kinds);
    kinds = lud_empo_kinds_create(&r.learner->features, 3);
    show_some(&r, kinds, shown, room);
    for (int k = 0; k < room; k++) assert_true(is_drawn(kinds, shown + (size_t)k * bytes, bytes, 8000));
    lud_empo_kinds_destroy(kinds);
    int stays = 0;
    for (int seed = 0; seed < TRIES; seed++) {
        kinds = lud_empo_kinds_create(&r.learner->features, (uint64_t)seed);
        show_some(&r, kinds, shown, room + 1);
        stays += is_drawn(kinds, shown + (size_t)room * bytes, bytes, 8000);
        lud_empo_kinds_destroy(kinds);
    }
    assert_true(stays > TRIES / 2);
    /* another configuration, of one state */
    kinds = lud_empo_kinds_create(&r.learner->features, 3);
    show_some(&r, kinds, shown, 1);
    memcpy(other, shown, bytes);
    for (uint32_t i = 0; lud_empo_kinds_act(kinds, other, -3.0); i++) wander(model, other, i);
    lud_empo_kinds_show(kinds, other, -3.0);
    for (int i = 0; i < 4000; i++) lud_empo_kinds_show(kinds, shown, -3.0);
    for (uint32_t e = 0; e < 200; e++) {
        const uint8_t *states[LUD_EMPO_KINDS_DRAWN];
        int64_t kind[LUD_EMPO_KINDS_DRAWN];
        const int n = lud_empo_kinds_draw(kinds, (lud_random_key){5, e}, 9, kind, states);
        for (int i = 0; i < n; i++) assert_memory_equal(states[i], kind[i] ? other : shown, bytes);
    }
    lud_empo_kinds_destroy(kinds);
    free(shown);
    free(other);
    support_empo_close(&r);
}

/* Where there are as many configurations as can be, a new one takes the place of one that promises less,
 * never that of one that promises as much or more: all that promise most stay. */
static void check_places(double worse, double better, double fresh, bool comes) {
    enum { MORE = 200 };
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *state = calloc(1, model->layout.state_bytes);
    uint32_t i = 0;
    int64_t most = 0;
    for (int64_t n = 0, same = 0; same < 100; n++) { /* until there is room for no more */
        if (n % 500 == 0) reset(model, state);
        for (int k = 0; k < 8; k++) wander(model, state, i++);
        const double own = most % 2 ? better : worse;
        assert_true(n < 400000);
        if (lud_empo_kinds_act(kinds, state, own)) continue;
        lud_empo_kinds_show(kinds, state, own);
        same = lud_empo_kinds_count(kinds) == most ? same + 1 : 0;
        most = lud_empo_kinds_count(kinds);
    }
    for (int n = 0; n < MORE; n++) {
        do {
            if (i / 40 % 20 == 0) reset(model, state);
            for (int k = 0; k < 40; k++) wander(model, state, i++);
        } while (lud_empo_kinds_act(kinds, state, better));
        lud_empo_kinds_show(kinds, state, fresh);
        assert_int_equal(lud_empo_kinds_count(kinds), most);
        assert_int_equal(lud_empo_kinds_act(kinds, state, fresh), comes);
    }
    lud_empo_kinds_destroy(kinds);
    free(state);
    support_empo_close(&r);
}

static void a_new_configuration_takes_the_place_of_a_worse_one(void **test) {
    (void)test;
    check_places(-3.0, -1.0, -2.0, true);
    check_places(-3.0, -1.0, -1e9, false);
    check_places(-1.0, -1.0, -1.0, false);
}

/* Whether configurations can be read again when bytes of a field of theirs are others. */
static bool can_be_read(const support_empo *r, lud_empo_kinds *written, const char *field, size_t at,
                        const void *bytes, size_t n) {
    lud_error error = {0};
    lud_empo_kinds *read = lud_empo_kinds_create(&r->learner->features, 3);
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_kinds_visit(written, "", saved);
    const lud_tensor *tensor = lud_checkpoint_find(saved, field);
    assert_true(tensor && at + n <= tensor->bytes);
    memcpy((char *)(uintptr_t)tensor->data + at, bytes, n);
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_kinds_visit(read, "", saved);
    const lud_status status = lud_checkpoint_status(saved, &error);
    assert_true(status == LUD_OK || status == LUD_ERROR_INPUT);
    if (!status) assert_true(lud_empo_kinds_count(read) == lud_empo_kinds_count(written));
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    lud_empo_kinds_destroy(read);
    return !status;
}

/* Of what is read again every configuration has a state that the world goes on from. */
static void configurations_are_checked(void **test) {
    (void)test;
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    lud_empo_kinds *kinds = lud_empo_kinds_create(&r.learner->features, 3);
    uint8_t *state = calloc(1, model->layout.state_bytes);
    reset(model, state);
    for (uint32_t i = 0; lud_empo_kinds_count(kinds) < 3 || i < 300; i++) {
        lud_empo_kinds_show(kinds, state, -3.0);
        wander(model, state, i);
    }
    const int64_t n = lud_empo_kinds_count(kinds);
    for (int64_t i = 0; i < n; i += n - 1) {
        const size_t at = (size_t)i * sizeof(uint64_t);
        static const uint64_t none = 0, one = 1;
        assert_true(can_be_read(&r, kinds, "kinds.acted", at, &none, sizeof none)); /* as it is */
        assert_false(can_be_read(&r, kinds, "kinds.shown", at, &none, sizeof none));
        assert_true(can_be_read(&r, kinds, "kinds.shown", at, &one, sizeof one));
    }
    /* a first state that is none, and one at the end of the episode */
    uint8_t *wrong = calloc(1, model->layout.state_bytes);
    memset(wrong, 0xff, model->layout.state_bytes);
    assert_false(can_be_read(&r, kinds, "kinds.states", 0, wrong, model->layout.state_bytes));
    reset(model, wrong);
    const int last = model->layout.max_steps;
    for (size_t b = 0; b < model->layout.clock.bytes; b++)
        wrong[model->layout.clock.offset + b] = (uint8_t)(last >> 8 * b);
    assert_true(model->world->is_terminal(model, wrong));
    assert_false(can_be_read(&r, kinds, "kinds.states", 0, wrong, model->layout.state_bytes));
    static const uint64_t too_many = 4097;
    assert_false(can_be_read(&r, kinds, "kinds", 0, &too_many, sizeof too_many));
    lud_empo_kinds_destroy(kinds);
    free(state);
    free(wrong);
    support_empo_close(&r);
}

static lud_empo_met *met_of(const support_empo *r) {
    lud_empo_met *met = NULL;
    lud_error error = {0};
    const lud_empo_phase2_learner *l = r->learner;
    if (lud_empo_met_create(&l->features, &l->options.theory, &l->prior, 1e-9, 16 << 20, &met, &error))
        fail_msg("%s", error.text);
    return met;
}

static void steps_count_less_and_less(void **test) {
    (void)test;
    support_empo r;
    support_empo_open(&r, many_things, learner, 0, NULL);
    lud_empo_met *met = met_of(&r);
    const int high = lud_empo_met_levels(met) - 1;
    /* a penny a step */
    double sum = 0, factor = 1;
    for (int level = 1; level <= high; level++, factor *= 0.9) {
        sum += factor;
        assert_true(fabs(lud_empo_met_annuity(met, level) - sum) < 1e-12 * sum);
    }
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* Chances of successors under every action of the robot, from the world and the people themselves. */
static void what_is_asked_for_is_likely(void **test) {
    (void)test;
    support_empo r;
    lud_error error = {0};
    support_empo_open(&r, support_empo_crowd, learner, 0, NULL);
    const lud_empo_phase2_learner *l = r.learner;
    const lud_model *model = r.scenario->model;
    const lud_empo_layout *layout = &l->features.layout;
    const size_t bytes = model->layout.state_bytes;
    lud_empo_met *met = met_of(&r);
    uint8_t *state = calloc(1, bytes);
    int64_t node, n;
    reset(model, state);
    assert_int_equal(lud_empo_met_add(met, state, &node, &error), LUD_OK);
    assert_int_equal(lud_empo_met_expand(met, node, &error), LUD_OK);
    const int level = lud_empo_met_level(met, state), n_states = (int)lud_empo_met_get(met).n;
    double *chance = calloc((size_t)n_states * (size_t)layout->n_robot_actions, sizeof *chance);
    double *marginal = calloc((size_t)(layout->n_humans * layout->max_human_actions), sizeof *marginal);
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            double p[16];
            lud_empo_prior_policy(&l->prior, &l->features, state, h, g - layout->goal_begin[h], p);
            for (int a = 0; a < layout->n_human_actions[h]; a++)
                marginal[h * layout->max_human_actions + a] += l->features.goal_weight[g] * p[a];
        }
    lud_successors found = {0};
    int32_t joint[8];
    for (int32_t k = 0; k < lud_joint_action_count(&model->layout); k++) {
        lud_joint_action_decode(&model->layout, k, joint);
        double weight = 1;
        for (int h = 0; h < layout->n_humans; h++)
            weight *= marginal[h * layout->max_human_actions + joint[layout->humans[h]]];
        assert_int_equal(model->world->successors(model, state, joint, &found, &error), LUD_OK);
        for (size_t i = 0; i < found.n; i++) {
            const int64_t to = lud_empo_met_find(met, found.states + i * bytes);
            assert_in_range(to, 0, n_states - 1);
            chance[to * layout->n_robot_actions + lud_empo_robot_action(layout, model, joint)] +=
                weight * found.probability[i];
        }
    }
    for (int i = 0; i < 3; i++) {
        const double least = (const double[]){1e-12, 0.02, 0.3}[i];
        const uint32_t *likely = lud_empo_met_likely(met, node, level, least, &n);
        for (int64_t s = 0; s < n_states; s++) {
            double best = 0;
            bool listed = false;
            for (int a = 0; a < layout->n_robot_actions; a++)
                best = fmax(best, chance[s * layout->n_robot_actions + a]);
            for (int64_t k = 0; k < n; k++) listed |= likely[k] == s;
            if (fabs(best - least) < 1e-7) continue; /* policies are kept in single precision */
            assert_int_equal(listed, best >= least);
        }
        assert_true(i == 0 || n < n_states);
    }
    /* asking changes these, where they are looked at, and no others */
    lud_empo_asker asker;
    assert_true(lud_empo_asker_create(&r.learner->values, met, 1, &asker));
    double before[64], after[64];
    assert_in_range(layout->n_goals, 1, 63);
    const uint32_t *likely = lud_empo_met_likely(met, node, level, 0.02, &n);
    uint8_t *is_likely = calloc((size_t)n_states, 1);
    double *old = calloc((size_t)n_states, sizeof *old);
    for (int64_t k = 0; k < n; k++) is_likely[likely[k]] = 1;
    for (int64_t s = 0; s < n_states; s++) {
        lud_empo_met_row(met, s, level - 1, before);
        old[s] = before[layout->n_goals];
    }
    double share;
    assert_int_equal(lud_empo_ask_after(&asker, 1, &node, &level, &share, &error), LUD_OK);
    int64_t n_sure = 0;
    for (int64_t s = 0; s < n_states; s++) n_sure += is_likely[s] && lud_empo_met_sure(met, s);
    assert_true(fabs(share - (double)n_sure / (double)n) < 1e-12);
    for (int64_t s = 0; s < n_states; s++) {
        if (s == node) continue;
        lud_empo_met_row(met, s, level - 1, after);
        if (!is_likely[s] || lud_empo_met_terminal(met, s)) {
            assert_true(after[layout->n_goals] == old[s]);
            continue;
        }
        lud_empo_met_state(met, s, level - 1, state);
        const uint8_t *const asked[1] = {state};
        assert_int_equal(lud_empo_ask(&asker, 1, asked, &error), LUD_OK);
        assert_true(fabs(after[layout->n_goals] - 0.9 * (double)asker.v_r[0]) <= 1e-5 * fabs(old[s]) + 1e-6);
    }
    lud_empo_asker_free(&asker);
    lud_successors_free(&found);
    LUD_FREE(state, chance, marginal, is_likely, old);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* What networks say of a state of the table at a level: V_r's part of its row. */
static double said_of(lud_empo_asker *asker, int64_t node, int level, uint8_t *state) {
    lud_error error = {0};
    lud_empo_met_state(asker->met, node, level, state);
    const uint8_t *const asked[1] = {state};
    assert_int_equal(lud_empo_ask(asker, 1, asked, &error), LUD_OK);
    return 0.9 * (double)asker->v_r[0];
}

/* However many states there are to ask about, each at the rim is worth at every knot what networks say of it
 * there. What follows a state with one step left is the end, of which nobody is asked; what follows one with
 * two is asked about; and look-ahead from a state counts those of what follows that have a chance and are not
 * sure. */
static void everybody_at_the_rim_is_asked_about(void **test) {
    (void)test;
    enum { EXPANDED = 60 };
    support_empo r;
    lud_error error = {0};
    support_empo_open(&r, support_empo_crowd, learner, 0, NULL);
    const lud_model *model = r.scenario->model;
    const int v_r = r.learner->features.layout.n_goals;
    lud_empo_met *met = met_of(&r);
    lud_empo_asker asker;
    uint8_t *state = calloc(1, model->layout.state_bytes);
    double *row = calloc((size_t)v_r + 1, sizeof *row);
    int64_t node;
    assert_true(lud_empo_asker_create(&r.learner->values, met, 1, &asker));
    reset(model, state);
    assert_int_equal(lud_empo_met_add(met, state, &node, &error), LUD_OK);
    for (; lud_empo_met_get(met).expanded < EXPANDED; node++)
        if (!lud_empo_met_terminal(met, node))
            assert_int_equal(lud_empo_met_expand(met, node, &error), LUD_OK);
    const int64_t n = lud_empo_met_get(met).n;
    uint32_t *rim = calloc((size_t)n, sizeof *rim);
    int64_t n_rim = 0;
    for (int64_t i = 0; i < n; i++)
        if (!lud_empo_met_sure(met, i)) rim[n_rim++] = (uint32_t)i;
    int n_knots;
    const int32_t *knots = lud_empo_met_knots(met, &n_knots);
    assert_true(n_rim * n_knots > 2 * LUD_EMPO_ASKED);
    assert_int_equal(lud_empo_ask_nodes(&asker, n_rim, rim, &error), LUD_OK);
    for (int64_t i = 0; i < n_rim; i++)
        for (int k = 0; k < n_knots; k++) {
            const double said = said_of(&asker, rim[i], knots[k], state);
            lud_empo_met_row(met, rim[i], knots[k], row);
            assert_true(fabs(row[v_r] - said) <= 1e-4 * fabs(said));
        }
    /* after all expanded states at once, again and again, so that they are more than are asked about at a
     * time */
    enum { TIMES = 40 };
    int64_t *nodes = calloc(EXPANDED * TIMES, sizeof *nodes);
    int *levels = calloc(EXPANDED * TIMES, sizeof *levels);
    double *before = calloc((size_t)n, sizeof *before), shares;
    for (int i = 0; i < EXPANDED * TIMES; i++) nodes[i] = lud_empo_met_expanded_at(met, i % EXPANDED);
    for (int level = 1; level <= 2; level++) {
        uint8_t *expected = calloc((size_t)n, 1);
        for (int64_t i = 0; i < n; i++) {
            lud_empo_met_row(met, i, 1, row);
            before[i] = row[v_r];
        }
        double known = 0;
        int64_t asked = 0;
        for (int i = 0; i < EXPANDED * TIMES; i++) {
            int64_t n_likely, n_sure = 0;
            levels[i] = level;
            const uint32_t *likely = lud_empo_met_likely(met, nodes[i], level, 0.02, &n_likely);
            for (int64_t k = 0; k < n_likely; k++) {
                const bool sure = lud_empo_met_sure(met, likely[k]);
                n_sure += sure;
                if (!sure) expected[likely[k]] = 1;
                asked += !sure;
            }
            known += level == 1 || n_likely == 0 ? 1.0 : (double)n_sure / (double)n_likely;
        }
        assert_true(asked > LUD_EMPO_ASKED);
        assert_int_equal(lud_empo_ask_after(&asker, EXPANDED * TIMES, nodes, levels, &shares, &error),
                         LUD_OK);
        assert_true(fabs(shares - known) < 1e-9 * known);
        for (int64_t i = 0; i < n; i++) {
            lud_empo_met_row(met, i, 1, row);
            if (level == 1 || !expected[i]) {
                assert_true(row[v_r] == before[i]);
                continue;
            }
            const double said = said_of(&asker, i, 1, state);
            assert_true(fabs(row[v_r] - said) <= 1e-4 * fabs(said));
        }
        free(expected);
    }
    for (int64_t i = 0; i < EXPANDED; i++) {
        uint8_t *wanted = calloc((size_t)n, 1);
        const int64_t own = lud_empo_met_expanded_at(met, i);
        int64_t n_likely, n_wanted = 0, n_expected = 0;
        lud_empo_mark_asked_after(&asker, own, wanted);
        const uint32_t *likely =
            lud_empo_met_likely(met, own, lud_empo_met_likely_level(met, own), 0.02, &n_likely);
        for (int64_t k = 0; k < n_likely; k++) {
            assert_int_equal(wanted[likely[k]], !lud_empo_met_sure(met, likely[k]));
            n_expected += wanted[likely[k]];
        }
        for (int64_t k = 0; k < n; k++) n_wanted += wanted[k];
        assert_int_equal(n_wanted, n_expected);
        free(wanted);
    }
    lud_empo_asker_free(&asker);
    LUD_FREE(state, row, rim, nodes, levels, before);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

/* What is asked goes from what paths say to what the network says as the table comes to answer for more. */
static void what_is_guessed_counts_at_most_as_much_as_what_is_known(void **test) {
    (void)test;
    enum { MANY = 1 << 30 };
    support_empo r;
    lud_error error = {0};
    support_empo_open(&r, many_things, learner, 0, NULL);
    lud_empo_values *values = &r.learner->values;
    const lud_empo_features *f = values->features;
    lud_empo_met *met = met_of(&r);
    lud_empo_asker asker;
    uint8_t *state = calloc(1, f->grid->model.layout.state_bytes);
    int32_t *record = calloc((size_t)f->words, sizeof *record);
    assert_true(lud_empo_asker_create(values, met, 1, &asker));
    reset(&f->grid->model, state);
    lud_empo_features_encode(f, state, record);
    const double annuity = lud_empo_met_annuity(met, lud_empo_met_level(met, state));
    const uint8_t *const states[1] = {state};
    const int32_t *const records[1] = {record};
    lud_empo_paths *paths = lud_empo_paths_create(f, &values->shape.walk);
    float *of_goals = calloc((size_t)f->layout.n_goals * LUD_EMPO_GOAL_PATHS, sizeof *of_goals),
          *of_state = calloc((size_t)lud_empo_state_paths(f->layout.n_humans), sizeof *of_state), said;
    assert_true(paths && of_goals && of_state);
    const double alone = (double)lud_empo_paths_find(paths, record, of_goals, of_state);
    assert_int_equal(lud_empo_values_run(values, 1, records, NULL, LUD_WANT_WORTH, 0.0, 0, &error), LUD_OK);
    lud_device_download(values->device, &said, values->v_r, sizeof said);
    const double by_network = log(-(double)said);
    assert_true(fabs(by_network - alone) > 1e-4);
    float *v_h_e = calloc((size_t)f->layout.n_goals, sizeof *v_h_e);
    assert_non_null(v_h_e);
    lud_device_download(values->device, v_h_e, values->v_h_e, (size_t)f->layout.n_goals * sizeof *v_h_e);
    static const struct {
        double share, belief;
    } cases[] = {{0, 0}, {0.25, 1.0 / 3}, {0.5, 1}, {0.75, 1}, {1, 1}};
    for (int i = 0; i < 5; i++) {
        lud_empo_met_clear(met);
        assert_true(lud_empo_met_belief(met) == 0);
        if (i > 0) lud_empo_met_ground(met, MANY, MANY * cases[i].share);
        const double belief = cases[i].belief;
        assert_true(fabs(lud_empo_met_belief(met) - belief) < 1e-12);
        assert_int_equal(lud_empo_ask(&asker, 1, states, &error), LUD_OK);
        const double asked = log(-(double)asker.v_r[0] / annuity);
        assert_true(fabs(asked - (alone + belief * (by_network - alone))) < 1e-5);
        double apart = 0;
        for (int g = 0; g < f->layout.n_goals; g++) {
            const double walk = (double)of_goals[g * LUD_EMPO_GOAL_PATHS + LUD_EMPO_ALONE];
            apart = fmax(apart, fabs((double)v_h_e[g] - walk));
            assert_true(fabs((double)asker.v_h_e[g] - (walk + belief * ((double)v_h_e[g] - walk))) < 1e-6);
        }
        assert_true(apart > 1e-4);
    }
    lud_empo_met_clear(met);
    lud_empo_met_ground(met, MANY, MANY * 0.4);
    lud_empo_met_ground(met, 100, 0); /* slowly: a hundredth for a hundred states */
    assert_true(fabs(lud_empo_met_belief(met) - 0.396 / 0.604) < 1e-3);
    free(v_h_e);
    lud_empo_paths_destroy(paths);
    lud_empo_asker_free(&asker);
    LUD_FREE(state, record, of_goals, of_state);
    lud_empo_met_destroy(met);
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_promises_more_stays),
        cmocka_unit_test(promises_are_of_late),
        cmocka_unit_test(a_promise_is_known_for_an_eighth_of_the_time),
        cmocka_unit_test(all_states_of_a_configuration_are_begun_in),
        cmocka_unit_test(a_new_configuration_takes_the_place_of_a_worse_one),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(steps_count_less_and_less),
        cmocka_unit_test(what_is_asked_for_is_likely),
        cmocka_unit_test(everybody_at_the_rim_is_asked_about),
        cmocka_unit_test(what_is_guessed_counts_at_most_as_much_as_what_is_known),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
