/* Which parameters of a training are the best, told by rows that are made up, and how that is gone on with.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "learn/best.h"

TEST_FOLDER("/tmp/ludus-best-XXXXXX")

static const lud_metric columns[] = {{.name = "loss"}, {.name = "reward"}},
                        judged[] = {{.name = "other"}, {.name = "return"}};

/* A learner of which nothing but its scores is asked. */
static lud_learner learner_of(const lud_learner_kind *kind, uint64_t iterations) {
    return (lud_learner){.kind = kind,
                         .columns = columns,
                         .n_columns = 2,
                         .evaluation_columns = judged,
                         .n_evaluation_columns = 2,
                         .n_iterations = iterations};
}

static lud_best open_best(lud_learner *learner, int64_t evaluate_every) {
    lud_best best;
    lud_error error = {0};
    if (lud_best_open(&best, learner, evaluate_every, &error)) fail_msg("%s", error.text);
    return best;
}

/* Evaluations count where there are some, then means over a twentieth of the training, at least ten
 * iterations; without either, or where the last are wanted, nothing is the best. */
static void what_is_judged(void **state) {
    (void)state;
    static const lud_learner_kind both = {.score = {"return", false}, .training_score = {"loss", true}},
                                  trained = {.training_score = {"reward", false}},
                                  measured = {.score = {"reward", false}, .training_score = {"loss", true}},
                                  none = {0}, unknown = {.score = {"nothing", false}};
    static const struct {
        const lud_learner_kind *kind;
        uint64_t iterations;
        int64_t every;
        int column;
        bool least, keeps_last;
        uint64_t block;
        const char *name;
    } cases[] = {
        {&both, 1000, 5, 3, false, false, 1, "return"},
        {&both, 1000, 0, 0, true, false, 50, "loss"},
        {&both, 219, 0, 0, true, false, 10, "loss"},
        {&both, 220, 0, 0, true, false, 11, "loss"},
        {&trained, 199, 5, 1, false, false, 10, "reward"},
        {&trained, 10000, 0, 1, false, false, 500, "reward"},
        {&measured, 1000, 0, 1, false, false, 1, "reward"},
        {&none, 1000, 5, -1, false, false, 1, ""},
        {&unknown, 1000, 5, -1, false, false, 1, ""},
        {&both, 1000, 5, -1, false, true, 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_learner learner = learner_of(cases[i].kind, cases[i].iterations);
        learner.keeps_last = cases[i].keeps_last;
        lud_best best = open_best(&learner, cases[i].every);
        assert_int_equal(best.column, cases[i].column);
        assert_int_equal(best.block, cases[i].block);
        if (best.column >= 0) assert_int_equal(best.least, cases[i].least);
        assert_string_equal(best.kept.column, cases[i].name);
        if (best.column < 0) assert_false(lud_best_judge(&best, 10, (const double[]){1, 1, 1, 1}));
        lud_best_close(&best);
    }
}

/* The most, or the least, and of equal ones the later; what is not finite counts nothing. */
static void the_best_is_kept(void **state) {
    (void)state;
    static const double scores[] = {1.0, 0.5, 2.0, NAN, 2.0, 1.9, INFINITY, -INFINITY, -3.0, 2.5, -3.0};
    static const bool most[] = {true, false, true, false, true, false, false, false, false, true, false},
                      least[] = {true, true, false, false, false, false, false, false, true, false, true};
    for (int wants_least = 0; wants_least < 2; wants_least++) {
        const lud_learner_kind kind = {.score = {"return", wants_least}};
        lud_learner learner = learner_of(&kind, 100);
        lud_best best = open_best(&learner, 1);
        double kept = 0.0;
        for (uint64_t i = 0; i < sizeof scores / sizeof *scores; i++) {
            const double row[] = {NAN, 7.0, 7.0, scores[i]};
            const bool is_best = lud_best_judge(&best, i + 1, row);
            assert_int_equal(is_best, wants_least ? least[i] : most[i]);
            if (is_best) {
                kept = scores[i];
                assert_int_equal(best.kept.iteration, i + 1);
            }
            assert_true(best.kept.scored && best.kept.score == kept);
        }
        lud_best_close(&best);
    }
}

/* Means over blocks, of what is finite in them; an empty block says nothing. */
static void means_of_blocks_count(void **state) {
    (void)state;
    static const lud_learner_kind kind = {.training_score = {"reward", false}};
    lud_learner learner = learner_of(&kind, 40); /* blocks of ten */
    lud_best best = open_best(&learner, 0);
    for (uint64_t i = 1; i <= 40; i++) {
        const double value = i <= 10   ? (i == 3 ? NAN : 2.0)
                             : i <= 20 ? NAN
                             : i <= 30 ? (double)(i - 20)
                                       : 5.0;
        const bool is_best = lud_best_judge(&best, i, (const double[]){0, value, 0, 0});
        assert_int_equal(is_best, i == 10 || i == 30); /* 2, nothing, 5.5, 5 */
    }
    assert_true(best.kept.score == 5.5);
    assert_int_equal(best.kept.iteration, 30);
    lud_best_close(&best);
}

static void save(const char *path, lud_best *best, const char *text) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_checkpoint_u64(checkpoint, "iterations", &(uint64_t){1});
    if (best) lud_best_visit(best, checkpoint);
    if (text) lud_checkpoint_set_text(checkpoint, "ludus.best", text);
    if (lud_checkpoint_write(checkpoint, path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
}

static void load(const char *path, lud_best *best) {
    lud_error error = {0};
    lud_checkpoint *checkpoint;
    if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("%s", error.text);
    lud_best_visit(best, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
}

/* Judging goes on in the middle of a block as if nothing had been; what a stranger wrote there is passed
 * over. */
static void judging_goes_on(void **state) {
    (void)state;
    static const lud_learner_kind kind = {.training_score = {"reward", false}},
                                  other = {.training_score = {"loss", true}};
    char path[128];
    snprintf(path, sizeof path, "%s/c.safetensors", folder);
    lud_learner learner = learner_of(&kind, 40), longer = learner_of(&kind, 4000),
                by_loss = learner_of(&other, 40);
    for (uint64_t stop = 1; stop < 40; stop++) {
        lud_best whole = open_best(&learner, 0), begun = open_best(&learner, 0),
                 resumed = open_best(&longer, 0);
        for (uint64_t i = 1; i <= 40; i++) {
            const double row[] = {0, (double)(i * 37 % 11) / 3.0, 0, 0};
            const bool is_best = lud_best_judge(&whole, i, row);
            if (i == stop + 1) {
                save(path, &begun, NULL);
                load(path, &resumed);
                assert_int_equal(resumed.kept.scored, stop >= 10);
            }
            assert_int_equal(lud_best_judge(i > stop ? &resumed : &begun, i, row), is_best);
        }
        assert_true(resumed.kept.score == whole.kept.score &&
                    resumed.kept.iteration == whole.kept.iteration && resumed.block == 10);
        lud_best_close(&whole);
        lud_best_close(&begun);
        lud_best_close(&resumed);
    }
    static const char *const strange[] = {"",
                                          "1",
                                          "1 0.5 3",
                                          "1 0.5 3 ",
                                          "1 nan 3 4 2.5 10 reward",
                                          "1 inf 3 4 2.5 10 reward",
                                          "1 0.5 3 4 nan 10 reward",
                                          "1 0.5 3 4 2.5 0 reward",
                                          "x 0.5 3 4 2.5 10 reward",
                                          "1 0.5 3 4 2.5 10 loss"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        lud_best best = open_best(&learner, 0);
        save(path, NULL, strange[i]);
        load(path, &best);
        assert_false(best.kept.scored);
        assert_true(best.sum == 0.0 && best.n == 0 && best.block == 10);
        lud_best_close(&best);
    }
    lud_best best = open_best(&learner, 0), least = open_best(&by_loss, 0);
    save(path, NULL, "1 0.5 3 4 2.5 7 reward");
    load(path, &best);
    assert_true(best.kept.scored && best.kept.score == 2.5 && best.kept.iteration == 4 && best.sum == 0.5 &&
                best.n == 3 && best.block == 7);
    load(path, &least); /* by another column it begins anew */
    assert_false(least.kept.scored);
    lud_best_close(&best);
    lud_best_close(&least);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_judged),
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(means_of_blocks_count),
        cmocka_unit_test(judging_goes_on),
    };
    return cmocka_run_group_tests_name("best", tests, set_up, tear_down);
}
