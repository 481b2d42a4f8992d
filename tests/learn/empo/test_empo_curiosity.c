/* Exploration of the learner empo-phase2: random network distillation for states and for people's actions,
 * the count bonus for people. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/support_empo.h"

/* Two people, two robots, ground on which one stumbles. */
static const char crowd[] = "ludus: 1\n"
                            "name: crowd\n"
                            "world: multigrid\n"
                            "multigrid:\n"
                            "  map: |\n"
                            "    We We We We We We\n"
                            "    We Ay Un .. Ae We\n"
                            "    We .. .. .. .. We\n"
                            "    We Ay .. Un Ae We\n"
                            "    We We We We We We\n"
                            "  max_steps: 20\n"
                            "  actions: small\n"
                            "goals:\n"
                            "  - {rectangle: [1, 1, 2, 3]}\n"
                            "  - {rectangle: [3, 1, 4, 3]}\n"
                            "learner:\n"
                            "  type: empo-phase2\n  automatic: false\n"
                            "  human_prior: {type: random}\n"
                            "  hidden_dim: 8\n"
                            "  goal_feature_dim: 4\n"
                            "  num_training_steps: 40\n"
                            "  updates_per_iteration: 4\n"
                            "  batch_size: 8\n"
                            "  buffer_size: 100\n"
                            "  environments: 8\n"
                            "  exact_max_states: 0\n"
                            "  use_rnd: true\n"
                            "  use_human_action_rnd: true\n"
                            "  rnd_hidden_dim: 32\n"
                            "  rnd_feature_dim: 16\n"
                            "  lr_rnd: 1e-3\n";

enum { STATES = 24 };

/* Records of states on random walks. */
static int32_t *walk(const support_empo *r, uint32_t seed, const int32_t **records) {
    const lud_empo_features *f = &r->learner->features;
    const lud_model *model = r->scenario->model;
    uint8_t *state = calloc(1, model->layout.state_bytes);
    int32_t *all = calloc(STATES * (size_t)f->words, sizeof *all);
    uint32_t tick = 0;
    const lud_range range = {.seed = seed, .n = 1, .tick = &tick};
    for (uint32_t i = 0; i < STATES; i++) {
        if (i % 12 == 0) model->world->reset(model, range, state);
        int32_t actions[4];
        for (uint32_t k = 0; k < 4; k++)
            actions[k] =
                (int32_t)lud_below(lud_draw((lud_random_key){seed, k}, i, 0, LUD_PURPOSE_USER, 0).v[0], 4);
        model->world->step(model, range, state, (lud_actions){.discrete = actions}, (lud_outcome){0});
        tick++;
        records[i] = all + i * (size_t)f->words;
        lud_empo_features_encode(f, state, all + i * (size_t)f->words);
    }
    free(state);
    return all;
}

static double mean(const float *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] / n;
    return sum;
}

/* What the predictor was trained on becomes familiar, more so than what it has not seen; the running
 * deviation is the unit. */
static void what_was_seen_is_not_novel(void **state) {
    (void)state;
    static const char *const raw[] = {"learner.normalize_rnd=false"};
    support_empo r;
    support_empo_open(&r, crowd, "", 1, raw);
    lud_empo_novelty *novelty = r.learner->novelty;
    const int32_t *seen[STATES], *other[STATES];
    int32_t *memory = walk(&r, 1, seen), *more = walk(&r, 2, other);
    float before[STATES], after[STATES], unseen[STATES];
    lud_empo_novelty_set_step(novelty, 0); /* no encoder has faded in: all states look alike */
    lud_empo_novelty_states(novelty, STATES, seen, before);
    for (int i = 1; i < STATES; i++) assert_true(before[i] == before[0]);
    lud_empo_novelty_set_step(novelty, 1000000);
    lud_empo_novelty_states(novelty, STATES, seen, before);
    const int32_t *few[4] = {seen[0], seen[1], seen[0], seen[1]};
    for (int step = 0; step < 300; step++) lud_empo_novelty_learn(novelty, 4, few);
    lud_empo_novelty_states(novelty, STATES, seen, after);
    lud_empo_novelty_states(novelty, STATES, other, unseen);
    assert_true(mean(after, 2) < 0.1 * mean(before, 2));
    assert_true(mean(after, 2) < 0.3 * mean(unseen, STATES));
    const lud_empo_novelty_figures figures = lud_empo_novelty_get_figures(novelty);
    assert_true(figures.mean > 0 && figures.deviation > 0 && isnan(figures.loss_actions));
    /* the random network stays as it is, and copying carries everything over */
    float *numbers = calloc(lud_empo_novelty_floats(novelty), sizeof *numbers);
    lud_empo_novelty *copy = NULL;
    lud_error error = {0};
    assert_int_equal(lud_empo_novelty_create(&r.learner->values, 99, &copy, &error), LUD_OK);
    lud_empo_novelty_set_step(copy, 1000000);
    lud_empo_novelty_states(copy, STATES, seen, before);
    assert_true(before[0] != after[0]);
    lud_empo_novelty_export(novelty, numbers);
    lud_empo_novelty_import(copy, numbers);
    lud_empo_novelty_states(copy, STATES, seen, before);
    assert_memory_equal(before, after, sizeof before);
    free(numbers);
    lud_empo_novelty_destroy(copy);
    free(memory);
    free(more);
    support_empo_close(&r);

    static const char *const in_units[] = {"learner.normalize_rnd=true", "learner.rnd_normalization_decay=0"};
    support_empo_open(&r, crowd, "", 2, in_units);
    memory = walk(&r, 1, seen);
    lud_empo_novelty_set_step(r.learner->novelty, 1000000);
    lud_empo_novelty_states(r.learner->novelty, 8, seen, before); /* nothing learned yet: as it is */
    lud_empo_novelty_learn(r.learner->novelty, 8, seen);
    const double deviation = lud_empo_novelty_get_figures(r.learner->novelty).deviation;
    double m = mean(before, 8), variance = 0;
    for (int i = 0; i < 8; i++) variance += pow((double)before[i] - m, 2) / 8;
    assert_true(fabs(deviation - sqrt(variance)) < 1e-5 * deviation);
    free(memory);
    support_empo_close(&r);
}

/* The actions that somebody did become familiar in those states, the others stay novel. */
static void what_was_done_is_not_novel(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, crowd, "", 0, NULL);
    lud_empo_novelty *novelty = r.learner->novelty;
    const int32_t *records[STATES];
    int32_t *memory = walk(&r, 1, records), actions[2 * STATES];
    const int width = r.learner->features.layout.max_human_actions;
    assert_int_equal(width, 4);
    float before[STATES * 2 * 4], after[STATES * 2 * 4];
    for (int i = 0; i < 2 * STATES; i++) actions[i] = i % 2 ? 3 : 1; /* person 0 turns, person 1 walks */
    lud_empo_novelty_actions(novelty, STATES, records, before);
    for (int step = 0; step < 300; step++)
        lud_empo_novelty_learn_actions(novelty, 8, records + 8 * (step % 3), actions + 16 * (step % 3));
    lud_empo_novelty_actions(novelty, STATES, records, after);
    double done = 0, left = 0;
    for (int i = 0; i < STATES * 2 * 4; i++) {
        const bool did = i % 4 == (i / 4 % 2 ? 3 : 1);
        *(did ? &done : &left) += (double)after[i] / (double)before[i] / (did ? 2 * STATES : 6 * STATES);
    }
    assert_true(done < 0.3 && left > 2 * done);
    free(memory);
    support_empo_close(&r);
}

/* The bonus of a state or of a person's action falls with the root of how often it was met, by itself: one
 * more than that below ln N or 1, times the scale and the coefficient of whoever gets it. */
static void bonuses_follow_counts(void **state) {
    (void)state;
    enum { ENVS = 3 };
    support_empo r;
    support_empo_open(&r, crowd, "", 0, NULL);
    const lud_empo_features *f = &r.learner->features;
    const int32_t *records[STATES];
    int32_t *memory = walk(&r, 1, records);
    const int32_t *other = NULL; /* a state that the first is not */
    for (int i = 1; i < STATES && !other; i++)
        if (memcmp(records[0], records[i], (size_t)f->words * sizeof *memory) != 0) other = records[i];
    assert_non_null(other);
    for (int ucb = 0; ucb < 2; ucb++) {
        lud_empo_learner_options options = r.learner->options;
        options.use_count_based_curiosity = true;
        options.count_curiosity_use_ucb = ucb;
        options.count_curiosity_scale = 1.5;
        options.count_curiosity_bonus_coef_r = 0.25;
        options.count_curiosity_bonus_coef_h = 0.75;
        lud_empo_curiosity *c = lud_empo_curiosity_create(&options, NULL, f, ENVS);
        const int32_t *const seen[ENVS] = {records[0], other, records[0]};
        assert_true(lud_empo_curiosity_of_robots(c) && lud_empo_curiosity_of_people(c));
        assert_false(lud_empo_curiosity_needs_novelty(c));
        for (int n = 0; n < 6; n++) {
            const uint64_t steps = 100 + 7 * (uint64_t)n;
            const double top = ucb ? log((double)steps + 1.0) : 1.0, first = 1.5 * sqrt(top);
            assert_int_equal(lud_empo_curiosity_states(c), n > 0);
            assert_true(fabs(lud_empo_curiosity_of_state(c, records[0], 0, steps) -
                             0.25 * first / sqrt(n + 1.0)) < 1e-6);
            assert_true(fabs(lud_empo_curiosity_of_state(c, other, 0, steps) - 0.25 * first) < 1e-6);
            lud_empo_curiosity_measure_people(c, seen, steps);
            for (int e = 0; e < ENVS; e++)
                for (int h = 0; h < 2; h++)
                    for (int a = 0; a < 4; a++) {
                        const bool did = e != 1 && h == 1 && a == 2;
                        const double bonus = (double)lud_empo_curiosity_of_actions(c, e, h)[a];
                        assert_true(fabs(bonus - 0.75 * first / sqrt(did ? n + 1.0 : 1.0)) < 1e-5);
                    }
            assert_true(lud_empo_curiosity_count_state(c, records[0]));
            assert_true(lud_empo_curiosity_count_action(c, records[0], 1, 2));
        }
        lud_empo_curiosity_destroy(c);
    }
    free(memory);
    support_empo_close(&r);
}

/* Everything on: it runs, the same twice, and novelty changes what robots and people do. */
static void the_learner_uses_novelty(void **state) {
    (void)state;
    double rows[3][128];
    int32_t actions[3][16];
    int n_columns = 0;
    for (int round = 0; round < 3; round++) {
        static const char *const set[] = {"learner.rnd_use_adaptive_lr=true", "learner.rnd_bonus_coef_r=20",
                                          "learner.rnd_bonus_coef_h=20"};
        support_empo r;
        support_empo_open(&r, crowd, "", round == 2 ? 1 : 3, set);
        lud_error error = {0};
        n_columns = r.learner->base.n_columns;
        assert_true(n_columns <= 128);
        for (int i = 0; i < 10; i++)
            if (lud_empo_phase2.iterate(&r.learner->base, rows[round], &error)) fail_msg("%s", error.text);
        const lud_empo_last_step last = lud_empo_rollout_last_step(r.learner->rollout);
        assert_int_equal(last.n, 8);
        memcpy(actions[round], last.actions, sizeof actions[round]);
        support_empo_close(&r);
    }
    for (int i = 0; i < n_columns; i++)
        assert_true(rows[0][i] == rows[1][i] || (isnan(rows[0][i]) && isnan(rows[1][i])));
    assert_memory_equal(actions[0], actions[1], sizeof actions[0]);
    assert_memory_not_equal(actions[0], actions[2], sizeof actions[0]);
}

/* People who count what they did do more different things where their prior alone would repeat itself. */
static void counting_people_do_different_things(void **state) {
    (void)state;
    int64_t different[2];
    for (int round = 0; round < 2; round++) {
        const char *const set[] = {
            "learner.use_rnd=false",
            "learner.use_human_action_rnd=false",
            "learner.use_count_based_curiosity=true",
            "learner.include_step_count=false",
            "learner.steps_per_episode=3", /* so that states come again */
            "learner.count_curiosity_bonus_coef_r=0",
            "learner.human_prior={type: weighted, weights: {still: 97, left: 1, right: 1, forward: 1}}",
            round ? "learner.count_curiosity_bonus_coef_h=30" : "learner.count_curiosity_bonus_coef_h=0"};
        support_empo r;
        support_empo_open(&r, crowd, "", 8, set);
        lud_empo_now now = lud_empo_stages_at(&r.learner->options.stages, 0);
        now.epsilon_h = 0.0;
        lud_error error = {0};
        int counts[4] = {0};
        for (int i = 0; i < 200; i++) {
            assert_int_equal(lud_empo_rollout_step(r.learner->rollout, &now, 0, r.learner->replay, &error),
                             LUD_OK);
            const lud_empo_last_step last = lud_empo_rollout_last_step(r.learner->rollout);
            for (int k = 0; k < 2 * last.n; k++) counts[last.actions[k]]++;
        }
        different[round] = counts[1] + counts[2] + counts[3];
        support_empo_close(&r);
    }
    assert_true(different[0] < 300 && different[1] > 3 * different[0]);
}

static void wrong_options_are_told(void **state) {
    (void)state;
    static const char *const alone[] = {"learner.use_rnd=false"};
    static const char *const tables[] = {"learner.use_lookup_tables=true", "learner.x_h_use_network=false"};
    support_empo r;
    lud_error error = {0};
    assert_int_not_equal(support_empo_try(&r, crowd, "", 1, alone, &error), LUD_OK);
    assert_non_null(strstr(error.text, "use_human_action_rnd: expected use_rnd: true beside it"));
    support_empo_close(&r);
    assert_int_not_equal(support_empo_try(&r, crowd, "", 2, tables, &error), LUD_OK);
    assert_non_null(strstr(error.text, "use_count_based_curiosity"));
    support_empo_close(&r);
}

/* What adaptive rates follow is part of what a resumed training goes on from. */
static void adaptive_rates_resume(void **state) {
    (void)state;
    static const char *const set[] = {"learner.rnd_use_adaptive_lr=true", "learner.rnd_adaptive_lr_scale=3",
                                      "learner.rnd_adaptive_lr_max=8"};
    support_empo_assert_resumes(crowd, "", 3, set, support_empo_path);
}

/* Whether a training can go on from a checkpoint in which this one of the numbers of updates, the mean and
 * the variance of novelty is so. */
static bool goes_on_with(int which, double value) {
    support_empo r, again;
    lud_error error = {0};
    support_empo_open(&r, crowd, "", 0, NULL);
    support_empo_open(&again, crowd, "", 0, NULL);
    const size_t n = lud_empo_novelty_floats(r.learner->novelty), last = 3 * sizeof(double) / sizeof(float);
    float *numbers = malloc(n * sizeof *numbers);
    double statistics[3] = {7, 0.5, 0.25};
    statistics[which] = value;
    lud_empo_novelty_export(r.learner->novelty, numbers);
    memcpy(numbers + n - last, statistics, sizeof statistics);
    lud_empo_novelty_import(r.learner->novelty, numbers);
    lud_checkpoint *saved = support_empo_saved(&r);
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_phase2.visit(&again.learner->base, saved);
    const lud_status status = lud_checkpoint_status(saved, &error);
    if (status && !strstr(error.text, "'rnd.statistics' of the checkpoint is negative"))
        fail_msg("%s", error.text);
    if (!status) support_empo_assert_same(&r, &again);
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    free(numbers);
    support_empo_close(&r);
    support_empo_close(&again);
    return !status;
}

static void statistics_that_cannot_be_are_refused(void **state) {
    (void)state;
    assert_true(goes_on_with(0, 0) && goes_on_with(2, 0) && goes_on_with(1, 3));
    assert_false(goes_on_with(0, -1));
    assert_false(goes_on_with(2, -1e-9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_seen_is_not_novel),
        cmocka_unit_test(what_was_done_is_not_novel),
        cmocka_unit_test(bonuses_follow_counts),
        cmocka_unit_test(the_learner_uses_novelty),
        cmocka_unit_test(counting_people_do_different_things),
        cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(adaptive_rates_resume),
        cmocka_unit_test(statistics_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
