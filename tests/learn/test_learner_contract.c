/* What learn/learner.h promises of every learner: looking at it (evaluation, also one that is broken off
 * anywhere, inspection, reports, policies) changes nothing of what is learned later, the same evaluation says
 * the same, rows have their columns and no more, and what is saved begins with what acting needs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/policy.h"
#include "base/interrupt.h"
#include "learn/support_trainings.h"

enum { MOST_COLUMNS = 512, MOST_STOPS = 12 };

static lud_checkpoint *saved_policy(const support_bed *b) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    b->learner->kind->visit_policy(b->learner, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

/* A row of n columns, as learners get it, with something behind it that is not theirs. */
static const double not_theirs = -77;

static void prepare_row(double *row, int n) {
    assert_true(n < MOST_COLUMNS);
    for (int i = 0; i < MOST_COLUMNS; i++) row[i] = i < n ? (double)NAN : not_theirs;
}

static void expect_row(const double *row, int n) {
    for (int i = n; i < MOST_COLUMNS; i++) assert_true(row[i] == not_theirs);
}

/* The evaluation's row; false: it was broken off. */
static bool evaluated(const support_bed *b, double *row) {
    const int n = b->learner->n_evaluation_columns;
    lud_error error = {0};
    prepare_row(row, n);
    const lud_status status = b->learner->kind->evaluate(b->learner, row, &error);
    if (status && status != LUD_INTERRUPTED) fail_msg("%s", error.text);
    expect_row(row, n);
    return !status;
}

static void look_at(const support_bed *b) {
    const lud_learner_kind *kind = b->learner->kind;
    lud_error error = {0};
    if (kind->evaluate) {
        double first[MOST_COLUMNS], second[MOST_COLUMNS], row[MOST_COLUMNS];
        lud_interrupt_at(0);
        assert_true(evaluated(b, first)); /* what is needed once is there now */
        lud_interrupt_at(0);
        assert_true(evaluated(b, row));
        const int64_t questions = lud_interrupt_questions();
        for (int k = 0; k < MOST_STOPS && k < questions; k++) { /* at the first, at the last, and between */
            lud_interrupt_at(1 + (questions - 1) * k / (questions < MOST_STOPS ? questions : MOST_STOPS - 1));
            assert_false(evaluated(b, row));
        }
        lud_interrupt_at(0);
        assert_true(evaluated(b, second));
        support_expect_same_evaluation(b->learner, first, second);
    }
    support_tell(b);
    lud_policy *policy = NULL;
    if (kind->policy && kind->policy(b->learner, &policy, &error) == LUD_OK) lud_policy_destroy(policy);
}

static void looking_changes_nothing(void **state) {
    const support_training *t = *state;
    support_bed plain = support_bed_open(t, "cpu", 1), seen = support_bed_open(t, "cpu", 1);
    double row[MOST_COLUMNS];
    for (int i = 0; i < 2; i++) {
        prepare_row(row, plain.learner->n_columns);
        support_bed_iterate(t, &plain, row);
        expect_row(row, plain.learner->n_columns);
        support_bed_iterate(t, &seen, row);
        look_at(&seen);
    }
    lud_checkpoint *a = support_bed_save(&plain), *b = support_bed_save(&seen);
    support_expect_same(a, b, t->name);
    lud_checkpoint_destroy(a);
    lud_checkpoint_destroy(b);
    support_bed_close(&plain);
    support_bed_close(&seen);
}

static void what_acts_is_saved_first(void **state) {
    const support_training *t = *state;
    support_bed b = support_bed_open(t, "cpu", 1);
    double row[MOST_COLUMNS];
    support_bed_iterate(t, &b, row);
    lud_checkpoint *all = support_bed_save(&b), *acts = saved_policy(&b);
    assert_true(lud_checkpoint_n_tensors(acts) > 0);
    support_expect_within(acts, all, t->name);
    lud_checkpoint_destroy(all);
    lud_checkpoint_destroy(acts);
    support_bed_close(&b);
}

#define ENDLESS(learner)                                                                                     \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_spread, episode_length: 0}\n"               \
    "run: {environments: 3, seed: 5}\nlearner: {" learner "}\n"

/* Evaluations wait for whole episodes, also in a world that ends none. */
static void evaluations_end_in_endless_worlds(void **state) {
    (void)state;
    static const support_training endless[] = {
        {.name = "graph-mappo",
         .text = ENDLESS("type: graph-mappo, automatic: false, hidden_size: 8, steps: 12, rollout_length: 4, "
                         "evaluation_episodes: 2")},
        {.name = "ticks",
         .text = ENDLESS("type: ticks, ticks: 2, evaluation_episodes: 2, policy: {hidden_size: 8}")},
        {.name = "clone",
         .text = ENDLESS("type: clone, steps: 2, report_every: 1, batch: 4, windows: {horizon: 2}, "
                         "evaluation_episodes: 2, dagger: {rounds: 1, labels: 9, environments: 3, "
                         "expert: random}, network: {hidden_size: 8}")}};
    for (size_t k = 0; k < sizeof endless / sizeof *endless; k++) {
        double row[MOST_COLUMNS];
        support_bed b = support_bed_open(&endless[k], "cpu", 1);
        support_bed_iterate(&endless[k], &b, row);
        assert_true(evaluated(&b, row));
        bool measured = false; /* the world's rules ended none of them */
        for (int i = 0; i < b.learner->n_evaluation_columns; i++)
            if (!strcmp(b.learner->evaluation_columns[i].name, "evaluation/ended")) {
                measured = true;
                assert_true(row[i] == 0.0);
            }
        print_message("%s%s\n", endless[k].name, measured ? ", none ended" : "");
        support_bed_close(&b);
    }
}

int main(void) {
    struct CMUnitTest *tests = calloc(2 * (size_t)n_support_trainings + 1, sizeof *tests);
    size_t n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(evaluations_end_in_endless_worlds);
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        tests[n++] = (struct CMUnitTest){t->name, looking_changes_nothing, NULL, NULL, (void *)(uintptr_t)t};
        tests[n++] = (struct CMUnitTest){t->name, what_acts_is_saved_first, NULL, NULL, (void *)(uintptr_t)t};
    }
    const int failed = _cmocka_run_group_tests("learners", tests, n, NULL, NULL);
    free(tests);
    return failed;
}
