/* The environments in which learners of EMPO act: when episodes are over, whose goals are drawn anew, and
 * what of them can be read from a file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/memory/environments.h"
#include "learn/empo/support_empo.h"

enum { N = 3 };

static const char section[] = "learner:\n  type: empo-phase2\n  hidden_dim: 8\n  goal_feature_dim: 4\n"
                              "  environments: 3\n  human_prior: {type: random}\n  exact_max_states: 0\n";

typedef struct bed {
    support_empo empo;
    lud_arena *arena;
    lud_empo_environments v;
    int n_humans;
} bed;

static void open_bed(bed *b) {
    *b = (bed){.arena = lud_arena_create(0)};
    support_empo_open(&b->empo, support_empo_crowd, section, 0, NULL);
    const lud_empo_features *f = &b->empo.learner->features;
    assert_true(lud_empo_environments_create(b->arena, f, b->empo.scenario->model, 5, N, &b->v));
    for (int e = 0; e < N; e++) {
        b->v.tick[e] = 0;
        lud_empo_environments_begin(&b->v, e);
        lud_empo_environments_reset(&b->v, e);
        lud_empo_environments_encode(&b->v, e);
    }
    b->n_humans = f->layout.n_humans;
    assert_true(b->n_humans > 1);
}

static void close_bed(bed *b) {
    lud_arena_destroy(b->arena);
    support_empo_close(&b->empo);
}

/* An episode is over when the world ends or after so many steps, where there is a limit. */
static void episodes_are_over_after_so_many_steps(void **state) {
    (void)state;
    bed b;
    open_bed(&b);
    const lud_model *model = b.v.model;
    for (int steps = 0; steps < 5; steps++)
        for (int64_t limit = 0; limit < 5; limit++) {
            b.v.episode_step[1] = steps;
            assert_int_equal(lud_empo_environments_over(&b.v, 1, limit), limit > 0 && steps >= limit);
        }
    b.v.episode_step[1] = 0;
    uint8_t *own = lud_empo_environments_state(&b.v, 1);
    for (size_t k = 0; k < model->layout.clock.bytes; k++)
        own[model->layout.clock.offset + k] = (uint8_t)(model->layout.max_steps >> 8 * k);
    for (int64_t limit = 0; limit < 5; limit++) assert_true(lud_empo_environments_over(&b.v, 1, limit));
    assert_false(lud_empo_environments_over(&b.v, 0, 0));
    close_bed(&b);
}

/* Goals that are achieved are drawn anew; where nobody achieves one all are, as often as is asked for. */
static void goals_are_renewed(void **state) {
    (void)state;
    bed b;
    open_bed(&b);
    const lud_empo_features *f = b.v.features;
    int some_achieved = 0, none_achieved = 0;
    for (uint32_t tick = 0; tick < 200; tick++)
        for (int often = 0; often < 2; often++) {
            int32_t before[8];
            int achieved = 0;
            const int e = (int)(tick % N);
            const int32_t *record = lud_empo_environments_encode(&b.v, e);
            b.v.tick[e] = tick;
            for (int h = 0; h < b.n_humans; h++) {
                int32_t *goal = &b.v.goals[e * b.n_humans + h];
                *goal =
                    (int32_t)((tick + 3 * (uint32_t)h * tick) % (uint32_t)lud_empo_goals_of(&f->layout, h));
                before[h] = *goal;
                achieved += lud_empo_features_achieved(f, record, h, *goal);
            }
            assert_int_equal(lud_empo_environments_renew_goals(&b.v, e, often), achieved);
            for (int h = 0; h < b.n_humans; h++) {
                const int32_t now = b.v.goals[e * b.n_humans + h];
                const int expected =
                    lud_empo_features_achieved(f, record, h, before[h])
                        ? lud_empo_environments_goal(&b.v, e, h, LUD_EMPO_GOAL_AFTER_ACHIEVEMENT)
                    : often && !achieved ? lud_empo_environments_goal(&b.v, e, h, LUD_EMPO_GOAL_AT_RANDOM)
                                         : before[h];
                assert_int_equal(now, expected);
            }
            some_achieved += achieved > 0;
            none_achieved += achieved == 0;
        }
    assert_true(some_achieved > 50 && none_achieved > 50);
    close_bed(&b);
}

/* Whether they can be read again; what is told names the field. */
static bool can_be_read(bed *b, const char *field) {
    bed other;
    lud_error error = {0};
    lud_checkpoint *saved = lud_checkpoint_create();
    open_bed(&other);
    lud_empo_environments_visit(&b->v, "e.", saved);
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_environments_visit(&other.v, "e.", saved);
    const lud_status status = lud_checkpoint_status(saved, &error);
    if (status && !strstr(error.text, field)) fail_msg("%s: %s", field, error.text);
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    close_bed(&other);
    return !status;
}

static void environments_are_checked(void **state) {
    (void)state;
    bed b;
    open_bed(&b);
    const lud_model *model = b.v.model;
    const lud_empo_layout *layout = &b.v.features->layout;
    assert_true(can_be_read(&b, ""));
    for (int e = 0; e < N; e++) {
        for (int h = 0; h < b.n_humans; h++) {
            int32_t *goal = &b.v.goals[e * b.n_humans + h];
            const int32_t before = *goal;
            *goal = lud_empo_goals_of(layout, h) - 1;
            assert_true(can_be_read(&b, ""));
            ++*goal;
            assert_false(can_be_read(&b, "e.goals"));
            *goal = -1;
            assert_false(can_be_read(&b, "e.goals"));
            *goal = before;
        }
        b.v.episode_step[e] = INT64_C(1) << 48;
        assert_true(can_be_read(&b, ""));
        b.v.episode_step[e]++;
        assert_false(can_be_read(&b, "e.episode_step"));
        b.v.episode_step[e] = -1;
        assert_false(can_be_read(&b, "e.episode_step"));
        b.v.episode_step[e] = 0;
        uint8_t *own = lud_empo_environments_state(&b.v, e), *first = own + model->layout.clock.offset;
        *first = (uint8_t)model->layout.max_steps; /* the world ends */
        assert_false(can_be_read(&b, "e.states"));
        *first = 0;
    }
    assert_true(can_be_read(&b, ""));
    close_bed(&b);
}

/* Updates that are due are a number, not below nothing and not without end. */
static void credits_are_checked(void **state) {
    (void)state;
    static const struct {
        double credit;
        bool can_be;
    } cases[] = {{0, true},
                 {0.5, true},
                 {1e9, true},
                 {-1e-9, false},
                 {1e9 + 1, false},
                 {(double)NAN, false},
                 {(double)INFINITY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        lud_checkpoint *checkpoint = lud_checkpoint_create();
        lud_empo_check_credit(checkpoint, cases[i].credit); /* what is saved is not looked at */
        assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
        if (lud_checkpoint_write(checkpoint, support_empo_path, &error)) fail_msg("%s", error.text);
        lud_checkpoint_destroy(checkpoint);
        if (lud_checkpoint_open(support_empo_path, &checkpoint, &error)) fail_msg("%s", error.text);
        lud_empo_check_credit(checkpoint, cases[i].credit);
        assert_int_equal(lud_checkpoint_status(checkpoint, &error) == LUD_OK, cases[i].can_be);
        lud_checkpoint_destroy(checkpoint);
        assert_int_equal(remove(support_empo_path), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(episodes_are_over_after_so_many_steps),
        cmocka_unit_test(goals_are_renewed),
        cmocka_unit_test(environments_are_checked),
        cmocka_unit_test(credits_are_checked),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
