/* Rows of what a clone learns from: samples in whose window nothing is done count less, labels are kept as
 * they were given. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hdf5.h>

#include "learn/clone/support_clone.h"

/* Agents that wait more often than not. */
#define GRID(more)                                                                                           \
    "ludus: 1\nname: waits\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay .. Ae "    \
    "We\n    We We We We We\n  actions: full\n  max_steps: 9\nrun: {environments: 4, seed: 3}\n" more

static void idle_samples_count_less(void **state) {
    (void)state;
    enum { HORIZON = 2, ROWS = 64 };
    char path[96], text[1024];
    snprintf(path, sizeof path, "%s/waits.h5", clone_folder);
    record(GRID("policies: {other: {type: random}}\n"), path, 30);
    snprintf(text, sizeof text,
             GRID("learner: {type: clone, data: [%s], steps: 1, batch: 64, evaluation_episodes: 4, "
                  "idle_weight: 0.25, "
                  "windows: {horizon: 2}, network: {hidden_size: 8, encoder: mlp}}\n"),
             path);
    bed b = open_text(text, 1);
    minibatch m;
    minibatch_open(&m, &b, ROWS);
    const lud_layout *layout = &m.shape.model->layout;
    int n_idle = 0, n_half = 0, n_last = 0;
    for (int64_t from = 0; from + ROWS <= m.data.source_first[m.data.n_sources]; from += ROWS) {
        int positions = 0;
        for (int i = 0; i < ROWS; i++) {
            m.batch.track[i] = m.data.sample_track[from + i];
            m.batch.step[i] = m.data.sample_step[from + i];
        }
        lud_clone_batch_make(&m.batch, ROWS, false);
        for (int i = 0; i < ROWS; i++) positions += m.batch.lengths[i];
        for (int i = 0; i < ROWS; i++) {
            const lud_clone_track *track = &m.data.tracks[m.batch.track[i]];
            const int idle = layout->idle[track->agent];
            const int64_t step = m.batch.step[i];
            const int n = track->length - step < HORIZON ? (int)(track->length - step) : HORIZON;
            int waits = 0;
            for (int k = 0; k < n; k++) waits += m.data.choices[track->first + step + k] == idle;
            const double expected = waits == n ? 0.25 : 1.0;
            assert_true(idle >= 0 && n > 0);
            assert_true(m.batch.weight[i] == (float)expected);
            for (int k = 0; k < HORIZON; k++) {
                const double weight = (double)((const float *)m.batch.weights.host)[HORIZON * i + k];
                assert_true(fabs(weight - (k < n ? expected / (ROWS * n) : 0.0)) < 1e-6);
            }
            n_idle += waits == n;
            n_half += waits > 0 && waits < n;
            n_last += n < HORIZON;
        }
        assert_int_equal(m.batch.n_positions, positions);
    }
    assert_true(n_idle > 3 && n_half > 10 && n_last > 3);
    minibatch_close(&m);
    close_bed(&b);
}

/* Labels stand behind what was read, each in a track of one step, in the order in which they were given. */
static void labels_are_kept(void **state) {
    (void)state;
    enum { LABELS = 7 };
    for (int of_numbers = 0; of_numbers < 2; of_numbers++) {
        lud_error error = {0};
        bed b = open_bed(of_numbers ? "continuous" : "discrete", of_numbers ? numbers_file : choices_file,
                         "steps: 1", 1);
        lud_arena *arena = lud_arena_create(0);
        lud_clone_options options;
        lud_mappo_shape shape;
        lud_clone_data data;
        read_shape(&b, arena, &options, &shape);
        if (lud_clone_data_open(&options, &shape, 3, LABELS, &data, &error)) fail_msg("%s", error.text);
        const int64_t rows = data.n_rows, tracks = data.n_tracks, frames = data.n_frames;
        const int64_t samples = data.source_first[data.n_sources], width = shape.n_continuous;
        assert_int_equal(width, of_numbers ? 2 : 0);
        for (int i = 0; i < LABELS; i++) {
            const float numbers[2] = {0.5f + (float)i, -1.0f - (float)i};
            const int64_t frame = lud_clone_data_frame(&data);
            assert_int_equal(frame, frames + i);
            lud_clone_data_label(&data, frame, 0, i % 5, of_numbers ? numbers : NULL, i % 2);
        }
        assert_int_equal(data.n_rows, rows + LABELS);
        assert_int_equal(data.n_tracks, tracks + LABELS);
        assert_int_equal(data.n_labels, LABELS);
        assert_int_equal(data.n_asked, LABELS / 2);
        assert_int_equal(data.source_first[data.n_sources], samples + LABELS);
        for (int i = 0; i < LABELS; i++) {
            const lud_clone_track *track = &data.tracks[tracks + i];
            assert_int_equal(track->first, rows + i);
            assert_int_equal(track->frame, frames + i);
            assert_int_equal(track->length, 1);
            assert_int_equal(track->agent, 0);
            assert_int_equal(track->source, data.n_sources - 1);
            assert_int_equal(data.sample_track[samples + i], tracks + i);
            assert_int_equal(data.sample_step[samples + i], 0);
            assert_int_equal(lud_track_observation(&data.all, tracks + i, 0), frames + i);
            if (!of_numbers) assert_int_equal(data.choices[rows + i], i % 5);
            for (int64_t k = 0; k < width; k++) {
                const float number = k ? -1.0f - (float)i : 0.5f + (float)i;
                assert_true(data.numbers[(rows + i) * width + k] == number);
                assert_true(data.normal[(rows + i) * width + k] ==
                            (float)lud_normalise(&data.normalisation, k, (double)number));
            }
        }
        lud_clone_data_close(&data);
        lud_arena_destroy(arena);
        close_bed(&b);
    }
}

/* Puts a number into a row of a column of steps of a copy of a file. */
static void change_step(const char *file, const char *copy, const char *column, hsize_t row, double number) {
    char command[256];
    const hsize_t first[3] = {row, 0, 0}, one[3] = {1, 1, 1};
    snprintf(command, sizeof command, "cp %s %s", file, copy);
    assert_int_equal(system(command), 0);
    const hid_t opened = H5Fopen(copy, H5F_ACC_RDWR, H5P_DEFAULT),
                array = H5Dopen2(opened, column, H5P_DEFAULT), space = H5Dget_space(array),
                cell = H5Screate_simple(1, one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, one, NULL);
    assert_true(H5Dwrite(array, H5T_NATIVE_DOUBLE, cell, space, H5P_DEFAULT, &number) >= 0);
    H5Sclose(cell);
    H5Sclose(space);
    H5Dclose(array);
    H5Fclose(opened);
}

/* What no agent can have done is told with its file, episode and step, and not learned from. */
static void actions_that_cannot_be_are_told(void **state) {
    (void)state;
    enum { LENGTH = 12 };
    static const struct {
        bool of_numbers;
        hsize_t row;
        double number;
        const char *told; /* null: it can be */
    } cases[] = {
        {false, 0, 5, "bad.h5: episode 0: step 0: agent 0 chose 5 of 5"},
        {false, LENGTH - 1, 5, "bad.h5: episode 0: step 11: agent 0 chose 5 of 5"},
        {false, 3 * LENGTH + 2, 100, "bad.h5: episode 3: step 2: agent 0 chose 100 of 5"},
        {false, 3 * LENGTH + 2, 4, NULL},
        {false, 3 * LENGTH + 2, 0, NULL},
        {true, 2 * LENGTH + 1, NAN, "bad.h5: episode 2: step 1: agent 0's action is not finite"},
        {true, 4 * LENGTH - 1, -INFINITY, "bad.h5: episode 3: step 11: agent 0's action is not finite"},
        {true, 4 * LENGTH - 1, -1e30, NULL}};
    char path[96];
    snprintf(path, sizeof path, "%s/bad.h5", clone_folder);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bool of_numbers = cases[k].of_numbers;
        const char *file = of_numbers ? numbers_file : choices_file;
        lud_error error = {0};
        bed b = open_bed(of_numbers ? "continuous" : "discrete", file, "steps: 1", 1);
        lud_arena *arena = lud_arena_create(0);
        lud_clone_options options;
        lud_mappo_shape shape;
        lud_clone_data data;
        read_shape(&b, arena, &options, &shape);
        change_step(file, path, of_numbers ? "ludus/steps/continuous" : "ludus/steps/discrete", cases[k].row,
                    cases[k].number);
        const char *const files[] = {path};
        options.data = (lud_text_list){(const char **)(uintptr_t)files, 1};
        const lud_status status = lud_clone_data_open(&options, &shape, 3, 0, &data, &error);
        assert_int_equal(status, cases[k].told ? LUD_ERROR_INPUT : LUD_OK);
        if (cases[k].told && !strstr(error.text, cases[k].told)) fail_msg("%s", error.text);
        lud_clone_data_close(&data);
        lud_arena_destroy(arena);
        close_bed(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_samples_count_less),
        cmocka_unit_test(labels_are_kept),
        cmocka_unit_test(actions_that_cannot_be_are_told),
    };
    return cmocka_run_group_tests(tests, clone_set_up, clone_tear_down);
}
