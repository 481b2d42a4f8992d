/* What a clone learns from: frames in memory and on the disk, targets and sums of minibatches, and choices
 * that there are not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "learn/clone/policy.h"
#include "learn/clone/support_clone.h"
#include "learn/train.h"

/* Frames that memory does not hold are the same in a file, of which nothing is left; a folder that cannot
 * hold them is named. */
static void test_frames_on_the_disk(void **state) {
    (void)state;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_clone_options o;
    lud_mappo_shape shape;
    lud_clone_data data[2] = {0};
    bed b = open_bed("discrete", choices_file, "steps: 1", 1);
    read_shape(&b, arena, &o, &shape);
    for (int i = 0; i < 2; i++) {
        o.frame_memory = i == 0 ? 1.0 : 1e-6;
        if (lud_clone_data_open(&o, &shape, 3, 0, &data[i], &error)) fail_msg("%s", error.text);
        assert_int_equal(data[i].store.on_disk, i == 1);
    }
    const lud_layout *layout = &b.scenario->model->layout;
    int n_parts = 0;
    for (int p = 0; p < layout->n_parts; p++) {
        if (!data[0].parts[p]) continue;
        assert_memory_equal(data[0].parts[p], data[1].parts[p],
                            (size_t)data[0].n_frames * layout->parts[p].bytes);
        n_parts++;
    }
    assert_true(n_parts > 0);
    assert_int_equal(data[0].n_frames, data[1].n_frames);
    setenv("TMPDIR", "/no/such/folder", 1);
    lud_clone_data nowhere;
    assert_int_equal(lud_clone_data_open(&o, &shape, 3, 0, &nowhere, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, "/no/such/folder"));
    unsetenv("TMPDIR");
    lud_clone_data_close(&nowhere);
    for (int i = 0; i < 2; i++) lud_clone_data_close(&data[i]);
    lud_arena_destroy(arena);
    close_bed(&b);
}

/* ---- targets ---- */

/* What a minibatch of the first episode's steps learns: targets, and how much each position counts. */
static void expect_targets(const char *windows, bool counts_last, bool counts_padding, int32_t padding) {
    char options[256];
    snprintf(options, sizeof options, "steps: 1, windows: {horizon: 3, %s}", windows);
    bed b = open_bed("discrete", choices_file, options, 1);
    minibatch m;
    minibatch_open(&m, &b, 12);
    assert_int_equal(m.data.tracks[0].length, 12);
    for (int i = 0; i < 12; i++) {
        m.batch.track[i] = 0;
        m.batch.step[i] = i;
    }
    lud_clone_batch_make(&m.batch, 12, false);
    const int32_t *target = m.batch.target.host;
    const float *weight = m.batch.weights.host;
    for (int i = 0; i < 12; i++) {
        int n = 0;
        double total = 0.0;
        for (int k = 0; k < 3; k++) {
            const bool there = i + k < (counts_last ? 12 : 11);
            total += (double)weight[3 * i + k];
            assert_int_equal(weight[3 * i + k] > 0.0f, there || counts_padding);
            if (there) assert_int_equal(target[3 * i + k], m.data.choices[i + k]);
            if (!there && counts_padding)
                assert_int_equal(target[3 * i + k], padding == -2 ? m.data.choices[11] : padding);
            n += there || counts_padding;
        }
        assert_true(fabs(total - (n > 0 ? 1.0 / 12.0 : 0.0)) < 1e-6); /* a sample counts once */
    }
    minibatch_close(&m);
    close_bed(&b);
}

static void test_targets(void **state) {
    (void)state;
    expect_targets("pad: auto", true, false, 0);
    expect_targets("pad: last, train_on_padding: true", true, true, -2);
    expect_targets("pad: zero, train_on_padding: true", true, true, 0);
    expect_targets("layout: aligned", false, false, 0);
    expect_targets("layout: aligned, last_action: valid", true, false, 0);
}

/* In aligned data nobody knows the last action: it is a zero, choice or number, and there is no frame behind
 * it. */
static void test_aligned_data_forget(void **state) {
    (void)state;
    for (int numbers = 0; numbers < 2; numbers++) {
        bed b = open_bed(numbers ? "continuous" : "discrete", numbers ? numbers_file : choices_file,
                         "steps: 1, windows: {layout: aligned}, normalisation: none", 1);
        minibatch m;
        minibatch_open(&m, &b, 4);
        const int64_t width = m.shape.n_continuous;
        int64_t n_frames = 0;
        int n_else = 0;
        for (int64_t i = 0; i < m.data.n_tracks; i++) {
            const lud_clone_track *track = m.data.tracks + i;
            assert_int_equal(track->length, 12);
            assert_int_equal(track->frame, n_frames);
            n_frames += track->length;
            for (int64_t row = track->first; row < track->first + track->length; row++) {
                const bool last = row + 1 == track->first + track->length;
                if (m.data.choices && last) assert_int_equal(m.data.choices[row], 0);
                if (m.data.choices) n_else += m.data.choices[row] != 0;
                for (int64_t j = 0; j < width; j++) {
                    const float number = m.data.numbers[row * width + j];
                    if (last) assert_true(number == 0);
                    assert_true(m.data.normal[row * width + j] == number);
                    n_else += number != 0;
                }
            }
        }
        assert_int_equal(m.data.n_frames, n_frames);
        assert_true(n_else > 100);
        minibatch_close(&m);
        close_bed(&b);
    }
}

/* Numbers have mean 0 and deviation 1 over what is learned from, of one file or several; nobody looks at what
 * is held out. */
static void test_numbers_are_normalised_by_what_is_learned_from(void **state) {
    (void)state;
    char other[80], text[2048];
    snprintf(other, sizeof other, "%s/others.h5", clone_folder);
    record("ludus: 1\nname: t\nworld: particle\n"
           "particle: {task: navigation, agents: 1, obstacles: 0, episode_length: 12, actions: continuous}\n"
           "run: {environments: 8, seed: 5}\n",
           other, 30); /* at random, which is unlike those who steer */
    for (int n_files = 1; n_files <= 2; n_files++) {
        snprintf(text, sizeof text, "%slearner: {type: clone, data: [%s%s%s], " SMALL ", steps: 1}\n",
                 WORLD("continuous"), numbers_file, n_files > 1 ? ", " : "", n_files > 1 ? other : "");
        bed b = open_text(text, 1);
        minibatch m;
        minibatch_open(&m, &b, 4);
        const int64_t width = m.shape.n_continuous;
        for (int64_t j = 0; j < width; j++) {
            double n[2] = {0}, sum[2] = {0}, square[2] = {0};
            for (int64_t i = 0; i < m.data.n_tracks; i++) {
                const lud_clone_track *track = m.data.tracks + i;
                for (int64_t row = track->first; row < track->first + track->length; row++) {
                    const double x = (double)m.data.normal[row * width + j];
                    n[track->held_out]++;
                    sum[track->held_out] += x;
                    square[track->held_out] += x * x;
                }
            }
            assert_true(n[0] > n[1] && n[1] > 0);
            assert_true(fabs(sum[0] / n[0]) < 1e-5 && fabs(square[0] / n[0] - 1) < 1e-4);
            assert_true(fabs(sum[1] / n[1]) > 1e-4 || fabs(square[1] / n[1] - 1) > 1e-3);
        }
        minibatch_close(&m);
        close_bed(&b);
    }
}

/* What a sum of a sample has to be: the actions from `first` to `last`, choices counted or numbers added, as
 * parts of so many steps. */
static void expect_sum(const lud_clone_data *data, int64_t track, int64_t first, int64_t last, int64_t steps,
                       const float *sum) {
    const int64_t width = data->choices ? data->shape->n_discrete : data->shape->n_continuous;
    for (int64_t j = 0; j < width; j++) {
        double expected = 0.0;
        for (int64_t t = first; t < last && t < data->tracks[track].length; t++) {
            const int64_t row = data->tracks[track].first + t;
            expected += data->choices ? data->choices[row] == j : (double)data->normal[row * width + j];
        }
        assert_true(fabs((double)sum[j] - expected / (double)steps) < 1e-5);
    }
}

/* Sums of the coming window, of its own length or another, and of what lies between the frames of pairs. */
static void test_sums(void **state) {
    (void)state;
    enum { ROWS = 60 };
    for (int numbers = 0; numbers < 2; numbers++)
        for (int steps = 0; steps < 2; steps++) {
            bed b =
                open_bed(numbers ? "continuous" : "discrete", numbers ? numbers_file : choices_file,
                         steps ? "steps: 1, windows: {horizon: 3}, summary: {weight: 1, steps: 5}, pairs: "
                                 "{weight: 1, prob: 1, max_horizon: 6, steps: 6}"
                               : "steps: 1, windows: {horizon: 3}, summary: {weight: 1}, pairs: {weight: 1, "
                                 "prob: 1, max_horizon: 4, steps: 4}",
                         1);
            minibatch m;
            minibatch_open(&m, &b, ROWS);
            /* every action is one sample */
            assert_int_equal(m.data.source_first[m.data.n_sources] + m.data.n_held_out, m.data.n_rows);
            for (int64_t i = 0; i < m.data.source_first[m.data.n_sources]; i++)
                assert_true(m.data.sample_step[i] < m.data.tracks[m.data.sample_track[i]].length);
            for (int64_t i = 0; i < m.data.n_held_out; i++)
                assert_true(m.data.held_out_step[i] < m.data.tracks[m.data.held_out_track[i]].length);
            for (int i = 0; i < ROWS; i++) {
                m.batch.track[i] = i / 12;
                m.batch.step[i] = i % 12;
            }
            lud_clone_batch_make(&m.batch, ROWS, true);
            const int64_t width = m.networks.width, window = steps ? 5 : 3, between = steps ? 6 : 4;
            for (int i = 0; i < ROWS; i++)
                expect_sum(&m.data, m.batch.track[i], m.batch.step[i], m.batch.step[i] + window, window,
                           (const float *)m.batch.summary.host + i * width);
            assert_true(m.batch.n_pairs > ROWS / 2);
            for (int64_t k = 0; k < m.batch.n_pairs; k++) {
                const lud_pair *pair = &m.batch.pairs[k];
                assert_true(pair->realised > 0 && pair->realised <= between);
                expect_sum(&m.data, pair->track, pair->step, pair->step + pair->realised, between,
                           (const float *)m.batch.pair_target.host + k * width);
                /* rows of the two frames stand behind the samples */
                const int64_t first = ((const int32_t *)m.batch.first.host)[k],
                              second = ((const int32_t *)m.batch.second.host)[k];
                assert_int_equal(first, ROWS + 2 * k);
                assert_int_equal(second, ROWS + 2 * k + 1);
                assert_int_equal(m.batch.place[first], m.data.tracks[pair->track].frame + pair->step);
                assert_int_equal(m.batch.place[second], m.batch.place[first] + pair->realised);
            }
            minibatch_close(&m);
            close_bed(&b);
        }
}

/* What is predicted follows from the sample alone, and of what was done between two frames from the two:
 * whoever else is in the minibatch. */
static void test_predictions_are_of_samples(void **state) {
    (void)state;
    enum { ROWS = 20 };
    bed b = open_bed("discrete", choices_file,
                     "steps: 1, windows: {horizon: 3}, summary: {weight: 1}, pairs: {weight: 1, prob: 1}", 1);
    minibatch m;
    minibatch_open(&m, &b, ROWS);
    const lud_nn *nn = m.networks.base->actor.nn;
    const int64_t width = m.networks.width, of_actions = m.networks.horizon * width;
    static float actions[ROWS * 3 * 8], summary[ROWS * 8], pairs[ROWS * 8];
    assert_true(width <= 8);
    for (int alone = 0; alone < 2; alone++) {
        const int64_t n = alone ? 1 : ROWS;
        for (int i = 0; i < ROWS; i += (int)n) {
            for (int k = i; k < i + n; k++) { /* no last step, which has no frame but its own behind it */
                m.batch.track[k - i] = k;
                m.batch.step[k - i] = (5 * k) % 11;
            }
            lud_clone_batch_make(&m.batch, n, true);
            assert_int_equal(m.batch.n_pairs, n);
            lud_clone_networks_forward(&m.networks, m.batch.n_pairs, false);
            const struct {
                int value;
                float *all;
                int64_t width;
            } parts[] = {{m.networks.actions, actions, of_actions},
                         {m.networks.summary, summary, width},
                         {m.networks.pairs, pairs, width}};
            for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
                const float *found = lud_nn_value(nn, parts[p].value);
                float *kept = parts[p].all + i * parts[p].width;
                for (int64_t j = 0; j < n * parts[p].width; j++)
                    if (alone)
                        assert_true(fabsf(found[j] - kept[j]) <= 1e-5f * (1 + fabsf(kept[j])));
                    else
                        kept[j] = found[j];
            }
        }
    }
    minibatch_close(&m);
    close_bed(&b);
}

/* ---- choices that there are not ---- */

#define TRIBES                                                                                               \
    "ludus: 1\nname: t\nworld: tribes\n"                                                                     \
    "tribes:\n  map: |\n    g . w\n    1 A 1\n    . ~ .\n"                                                   \
    "  teams:\n    - {name: people, role: human, robots: 1, values: [1, 2, 3]}\n"                            \
    "  carry: 1\n  stock: 1\n  regrow: {grain: 0.5, wood: 0.5}\n  max_steps: 9\n"                            \
    "run: {environments: 4, seed: 3}\n"

static int mask_of(const lud_layout *layout) {
    for (int p = 0; p < layout->n_parts; p++)
        if (layout->parts[p].kind == LUD_OBSERVATION_MASK) return p;
    fail_msg("no mask");
    return -1;
}

/* Of a choice that a step's agent makes, at whatever distance it is predicted from, the step's own mask
 * holds, and what was recorded although it has no effect is allowed where it was. */
static void expect_allowed(const lud_clone_data *data, const lud_clone_batch *batch, int64_t horizon) {
    const lud_layout *layout = &data->shape->model->layout;
    const int mask = mask_of(layout), width = data->shape->n_discrete;
    const uint8_t *allowed = batch->choices.host;
    int n_kept_out = 0, n_let_in = 0;
    for (int64_t i = 0; i < batch->n; i++)
        for (int64_t k = 0; k < horizon; k++) {
            const lud_clone_track *track = data->tracks + batch->track[i];
            const bool there = batch->step[i] + k < track->length;
            const uint8_t *frame = (const uint8_t *)data->parts[mask] +
                                   (size_t)(track->frame + batch->step[i] + k) * layout->parts[mask].bytes;
            for (int c = 0; c < width; c++) {
                const bool offered = !there || frame[track->agent * width + c];
                const bool done = there && data->choices[track->first + batch->step[i] + k] == c;
                assert_int_equal(allowed[(i * horizon + k) * width + c], offered || done);
                n_kept_out += !offered && !done;
                n_let_in += !offered && done;
            }
        }
    assert_true(n_kept_out > 0 && n_let_in > 0);
}

/* A clone learns from what agents did, which may have had no effect, and never does what has none; it is as
 * likely as the data say, also where a mean of several predictions acts. */
static void test_only_what_there_is(void **state) {
    (void)state;
    static const char *const ways[] = {
        "windows: {horizon: 1}", "windows: {horizon: 3}, execute: 2",
        "windows: {horizon: 3}, ensemble: true, execute: 1", "windows: {horizon: 1}, deterministic: true",
        "windows: {horizon: 2}, pairs: {weight: 1, prob: 1}, summary: {weight: 1}"};
    enum { N_ENVS = 4 };
    char path[128], text[2048];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/tribes.h5", clone_folder);
    record(TRIBES, path, 60);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        snprintf(text, sizeof text,
                 TRIBES "learner: {type: clone, agents: all, data: [%s], " SMALL
                        ", learning_rate: 0.003, steps: 300, %s}\n",
                 path, ways[w]);
        bed b = open_text(text, 1);
        const lud_layout *layout = &b.scenario->model->layout;
        const int mask = mask_of(layout), width = lud_max_discrete(layout);
        char run[64];
        lud_train_result result;
        snprintf(run, sizeof run, "%s/tribes-%zu", clone_folder, w);
        const lud_train_options options = {.folder = run, .configuration = text};
        if (lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
        assert_true(judged(&b, "held_out/log_prob") > -log(width)); /* better than chance among all */
        lud_cast *cast;
        lud_runner runner = {0};
        if (lud_cast_create(b.scenario->model, NULL, NULL, &cast, &error) ||
            lud_clone_join(b.scenario, b.scenario, run, cast, &error))
            fail_msg("%s", error.text);
        if (lud_runner_create(b.scenario->model, cast, N_ENVS, 5, 0, &runner, &error) ||
            lud_runner_tell(&runner, true, &error))
            fail_msg("%s", error.text);
        int n_refused = 0;
        lud_runner_start(&runner);
        for (int t = 0; t < 40; t++) {
            uint8_t offered[N_ENVS * 64];
            assert_true(layout->parts[mask].bytes * N_ENVS <= sizeof offered);
            memcpy(offered, runner.observations[mask], layout->parts[mask].bytes * N_ENVS);
            lud_runner_act(&runner);
            for (int i = 0; i < N_ENVS * layout->n_agents; i++) {
                assert_true(offered[i * width + runner.discrete[i]]);
                for (int c = 0; c < width; c++) n_refused += !offered[i * width + c];
                assert_true(isfinite(runner.log_probs[i]) && runner.log_probs[i] <= 0.0f);
            }
            lud_runner_step(&runner);
            lud_runner_renew(&runner);
        }
        assert_true(n_refused > 0);
        lud_runner_destroy(&runner);
        lud_cast_destroy(cast);

        enum { ROWS = 64 };
        minibatch m;
        minibatch_open(&m, &b, ROWS);
        for (int i = 0; i < ROWS; i++) {
            m.batch.track[i] = i % m.data.n_tracks;
            m.batch.step[i] = i % m.data.tracks[i % m.data.n_tracks].length;
        }
        lud_clone_batch_make(&m.batch, ROWS, false);
        expect_allowed(&m.data, &m.batch, m.options.windows.horizon);
        minibatch_close(&m);
        close_bed(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_on_the_disk),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_aligned_data_forget),
        cmocka_unit_test(test_numbers_are_normalised_by_what_is_learned_from),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_predictions_are_of_samples),
        cmocka_unit_test(test_only_what_there_is),
    };
    return cmocka_run_group_tests(tests, clone_set_up, clone_tear_down);
}
