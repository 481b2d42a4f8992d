/* Recorded episodes: what is written is read, what is read can be played again, in every world. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hdf5.h>

#include "agents/rollout.h"
#include "learn/episodes/convert.h"
#include "learn/episodes/file/hdf5_file.h"
#include "learn/episodes/file/schema.h"
#include "learn/episodes/replay.h"
#include "learn/episodes/support_recording.h"

static const char *const worlds[] = {"multigrid/rescue.yaml", "multigrid/unsteady_ground.yaml",
                                     "particle/navigation_3.yaml", "particle/simple_tag.yaml",
                                     "proof/family_tree.yaml"};
enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

/* All rows of an array of an episode; to be freed. */
static uint8_t *rows_of(lud_data_set *set, lud_data_array array, int part, int64_t episode, size_t *bytes) {
    lud_error error = {0};
    const int32_t n = lud_data_set_rows(set, array, episode);
    *bytes = (size_t)n * lud_data_set_row_bytes(set, array, part);
    uint8_t *rows = malloc(*bytes + 1);
    assert_non_null(rows);
    if (lud_data_set_read(set, array, part, episode, 0, n, rows, &error)) fail_msg("%s", error.text);
    return rows;
}

static void assert_same_array(lud_data_set *a, lud_data_set *b, lud_data_array array, int part,
                              int64_t episode) {
    assert_int_equal(lud_data_set_has(a, array, part), lud_data_set_has(b, array, part));
    if (!lud_data_set_has(a, array, part)) return;
    size_t n, m;
    uint8_t *one = rows_of(a, array, part, episode, &n), *other = rows_of(b, array, part, episode, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, other, n);
    free(one);
    free(other);
}

/* Every fact and every array. */
static void assert_same_sets(lud_data_set *a, lud_data_set *b) {
    const lud_data_info *info = lud_data_set_info(a), *other = lud_data_set_info(b);
    assert_int_equal(info->n_episodes, other->n_episodes);
    assert_int_equal(info->n_steps, other->n_steps);
    for (int64_t e = 0; e < info->n_episodes; e++) {
        const lud_data_episode *x = lud_data_set_episode(a, e), *y = lud_data_set_episode(b, e);
        assert_true(x->length == y->length && x->seed == y->seed && x->environment == y->environment &&
                    x->number == y->number && x->first_tick == y->first_tick &&
                    x->terminated == y->terminated && x->truncated == y->truncated &&
                    x->first_step == y->first_step);
        for (int i = 0; i < info->n_agents; i++) {
            lud_text one = {0}, two = {0};
            assert_true(lud_data_set_returns(a, e)[i] == lud_data_set_returns(b, e)[i]);
            assert_int_equal(lud_data_set_tracks(a, e)[i], lud_data_set_tracks(b, e)[i]);
            assert_int_equal(lud_data_set_summary(a, e, i, &one, NULL), LUD_OK);
            assert_int_equal(lud_data_set_summary(b, e, i, &two, NULL), LUD_OK);
            assert_string_equal(one.bytes, two.bytes);
            lud_text_free(&one);
            lud_text_free(&two);
        }
        for (int k = 0; k < LUD_DATA_ARRAYS; k++)
            for (int p = 0; p < (k == LUD_DATA_OBSERVATION ? info->n_parts : 1); p++)
                assert_same_array(a, b, (lud_data_array)k, p, e);
    }
}

static void verify_all(lud_data_set *set) {
    lud_error error = {0};
    for (int64_t e = 0; e < lud_data_set_info(set)->n_episodes; e++)
        if (lud_data_set_verify(set, e, &error)) fail_msg("%s", error.text);
}

/* Stored observations are those of the batch; replayed ones come of the scenario in the file. */
static void test_stored_is_replayed(void **state) {
    (void)state;
    for (int w = 0; w < N_WORLDS; w++) {
        const recording_call stored = {worlds[w], "stored.h5", 3, 7, 1, 0, true, true},
                             replayed = {worlds[w], "replayed.h5", 3, 7, 1, 0, false, false};
        const lud_recording_result result = recording_make(&stored);
        recording_make(&replayed);
        lud_data_set *a = recording_open("stored.h5"), *b = recording_open("replayed.h5");
        int64_t n_steps = 0;
        for (int64_t e = 0; e < 7; e++) n_steps += lud_data_set_episode(a, e)->length;
        assert_int_equal(result.episodes, 7);
        assert_int_equal(result.steps, n_steps);
        assert_int_equal(lud_data_set_info(a)->n_episodes, 7);
        assert_true(lud_data_set_info(a)->n_parts > 0 && lud_data_set_has(a, LUD_DATA_STATES, 0));
        for (int k = 0; k < 2; k++) {
            lud_data_set *set = k ? b : a;
            assert_false(lud_data_set_has(set, LUD_DATA_OBSERVATION, -1));
            assert_false(lud_data_set_has(set, LUD_DATA_OBSERVATION, lud_data_set_info(set)->n_parts));
        }
        assert_true(lud_data_set_info(a)->complete && lud_data_set_info(a)->last_action_valid);
        assert_int_equal(lud_data_set_info(a)->window_semantics, LUD_WINDOW_SEMANTICS);
        assert_string_equal(lud_data_set_info(a)->policy, "the scenario's");
        assert_string_equal(lud_data_set_info(a)->scenario, lud_data_set_info(b)->scenario);
        verify_all(a);
        verify_all(b);
        assert_same_sets(a, b);
        lud_data_set_close(a);
        lud_data_set_close(b);
    }
}

/* Hashes of one episode end where those of the next begin, however the number of frames lies to their
 * interval. */
static void test_hashes_of_any_length(void **state) {
    (void)state;
    for (int n_frames = LUD_HASH_INTERVAL - 1; n_frames <= 2 * LUD_HASH_INTERVAL + 2; n_frames++) {
        if (n_frames > LUD_HASH_INTERVAL + 2 && n_frames < 2 * LUD_HASH_INTERVAL - 1) continue;
        recording_make(
            &(recording_call){"multigrid/crowd.yaml", "hashes.h5", 2, 3, 1, n_frames - 1, false, false});
        lud_data_set *set = recording_open("hashes.h5");
        assert_int_equal(lud_data_set_info(set)->n_episodes, 3);
        for (int64_t e = 0; e < 3; e++) assert_int_equal(lud_data_set_episode(set, e)->length, n_frames - 1);
        verify_all(set);
        lud_data_set_close(set);
    }
}

/* Who remembers where it is in a list of actions begins anew with every episode, also where episodes are cut.
 */
static void test_cut_episodes_are_forgotten(void **state) {
    (void)state;
    enum { STEPS = 5, EPISODES = 7 };
    static const char text[] =
        "ludus: 1\nname: listed\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay .. .. "
        "We\n    We We We We We\n  actions: full\n  max_steps: 8\nrun: {environments: 2, seed: 3}\n"
        "policies: {human: {type: script, actions: [left, right, forward, left, left, right, forward]}}\n";
    static const char *const listed[STEPS] = {"left", "right", "forward", "left", "left"};
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    lud_recording_result result;
    if (lud_scenario_read("listed.yaml", text, sizeof text - 1, NULL, 0, &scenario, &error) ||
        lud_cast_create(scenario->model, scenario->policies, "listed.yaml", &cast, &error))
        fail_msg("%s", error.text);
    const lud_recording_options options = {
        .path = recording_path("listed.h5"), .episodes = EPISODES, .max_steps = STEPS, .level = 1};
    if (lud_record_data(scenario, cast, &options, &result, &error)) fail_msg("%s", error.text);
    lud_data_set *set = recording_open("listed.h5");
    assert_int_equal(lud_data_set_info(set)->n_episodes, EPISODES);
    for (int64_t e = 0; e < EPISODES; e++) {
        int32_t choices[STEPS];
        assert_int_equal(lud_data_set_episode(set, e)->length, STEPS);
        if (lud_data_set_read(set, LUD_DATA_DISCRETE, 0, e, 0, STEPS, choices, &error))
            fail_msg("%s", error.text);
        for (int t = 0; t < STEPS; t++)
            assert_string_equal(scenario->model->layout.actions[0].names[choices[t]], listed[t]);
    }
    lud_data_set_close(set);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

static void test_any_number_of_threads(void **state) {
    (void)state;
    for (int w = 0; w < N_WORLDS; w += 2) {
        recording_make(&(recording_call){worlds[w], "one.h5", 130, 140, 1, 0, true, false});
        recording_make(&(recording_call){worlds[w], "four.h5", 130, 140, 4, 0, true, false});
        lud_data_set *a = recording_open("one.h5"), *b = recording_open("four.h5");
        assert_same_sets(a, b);
        lud_data_set_close(a);
        lud_data_set_close(b);
    }
}

/* The episodes are those that `ludus run` counts. */
static void test_episodes_of_a_rollout(void **state) {
    (void)state;
    char path[512];
    lud_error error = {0};
    for (int w = 0; w < N_WORLDS; w++) {
        recording_make(&(recording_call){worlds[w], "episodes.h5", 5, 23, 1, 0, false, false});
        lud_data_set *set = recording_open("episodes.h5");
        snprintf(path, sizeof path, "%s/scenarios/%s", LUDUS_SOURCE_DIR, worlds[w]);
        lud_scenario *scenario = NULL;
        lud_cast *cast = NULL;
        lud_rollout r;
        if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
        scenario->run.environments = 5;
        if (lud_cast_create(scenario->model, scenario->policies, path, &cast, &error))
            fail_msg("%s", error.text);
        if (lud_rollout_run(scenario, cast, 23, 0, NULL, &r, &error)) fail_msg("%s", error.text);
        double length = 0, sum = 0;
        int64_t terminated = 0;
        for (int64_t e = 0; e < 23; e++) {
            length += lud_data_set_episode(set, e)->length;
            terminated += lud_data_set_episode(set, e)->terminated;
            sum += lud_data_set_returns(set, e)[0];
        }
        assert_float_equal(length / 23, r.length.mean, 1e-9);
        assert_float_equal(sum / 23, r.agents[0].episode_return.mean, 1e-6);
        assert_int_equal(terminated, r.terminated);
        lud_rollout_free(&r);
        lud_cast_destroy(cast);
        lud_scenario_destroy(scenario);
        lud_data_set_close(set);
    }
}

static int32_t *choices_of(lud_data_set *set, int64_t episode) {
    size_t bytes;
    return (int32_t *)(void *)rows_of(set, LUD_DATA_DISCRETE, 0, episode, &bytes);
}

static void test_ranges_and_summaries(void **state) {
    (void)state;
    recording_make(&(recording_call){worlds[0], "words.h5", 2, 4, 1, 0, true, true});
    lud_data_set *set = recording_open("words.h5");
    const lud_data_info *info = lud_data_set_info(set);
    lud_error error = {0};
    for (int64_t e = 0; e < 4; e++) {
        int32_t *all = choices_of(set, e), some[6];
        const int32_t length = lud_data_set_episode(set, e)->length;
        assert_int_equal(lud_data_set_read(set, LUD_DATA_DISCRETE, 0, e, length - 3, 3, some, &error),
                         LUD_OK);
        assert_memory_equal(some, all + (length - 3) * 2, sizeof some);
        for (int i = 0; i < 2; i++) {
            /* counts of names that the summary tells, added up, are the steps; each is what the actions say
             */
            lud_text text = {0};
            assert_int_equal(lud_data_set_summary(set, e, i, &text, &error), LUD_OK);
            int total = 0, seen = 0;
            for (char *word = strtok(text.bytes, ","); word; word = strtok(NULL, ","), seen++) {
                char name[32];
                int count, found = 0, k = 0;
                assert_int_equal(sscanf(word, " %31s %d", name, &count), 2);
                while (strcmp(info->choice_names[i][k], name)) k++;
                for (int32_t t = 0; t < length; t++) found += all[t * 2 + i] == k;
                assert_int_equal(found, count);
                if (!seen) assert_int_equal(all[i], k); /* in the order of first use */
                total += count;
            }
            assert_int_equal(total, length);
            lud_text_free(&text);
        }
        free(all);
    }
    lud_data_set_close(set);
}

/* Choices in words: by name where there is one, the rarest of very many together. */
static void test_choices_in_words(void **state) {
    (void)state;
    static const char *const of_agent[] = {"left", "right"};
    static const char *const *const names[] = {of_agent};
    static const int32_t n_choices[] = {2}, few[] = {1, 0, 1, 7, -1, 1};
    for (int named = 0; named < 2; named++) {
        const lud_data_info info = {
            .n_agents = 1, .n_choices = n_choices, .choice_names = named ? names : NULL};
        lud_text text = {0};
        lud_data_summarise_choices(&info, 0, few, 1, 6, &text);
        assert_string_equal(text.bytes,
                            named ? "right 3, left 1, action 7: 1" : "action 1: 3, action 0: 1, action 7: 1");
        lud_text_free(&text);
    }
    enum { MANY = 70 };
    int32_t many[2 * MANY];
    for (int i = 0; i < MANY; i++) many[2 * i] = many[2 * i + 1] = 1000 * i;
    const lud_data_info info = {.n_agents = 1, .n_choices = n_choices};
    lud_text text = {0};
    lud_data_summarise_choices(&info, 0, many, 1, 2 * MANY, &text);
    assert_non_null(strstr(text.bytes, "action 63000: 2, others 12"));
    lud_text_free(&text);
}

static void test_cut_episodes(void **state) {
    (void)state;
    recording_make(&(recording_call){worlds[0], "cut.h5", 3, 10, 1, 11, true, false});
    lud_data_set *set = recording_open("cut.h5");
    for (int64_t e = 0; e < 10; e++) {
        const lud_data_episode *episode = lud_data_set_episode(set, e);
        assert_int_equal(episode->length, 11);
        assert_false(episode->terminated || episode->truncated);
        assert_int_equal(episode->first_tick, 11 * episode->number); /* none between was left out */
    }
    verify_all(set);
    lud_data_set_close(set);
}

/* The log-probabilities of random actions are known. */
static void test_log_probs(void **state) {
    (void)state;
    recording_make(&(recording_call){"particle/simple_tag.yaml", "log_probs.h5", 2, 4, 1, 0, false, false});
    lud_data_set *set = recording_open("log_probs.h5");
    const lud_data_info *info = lud_data_set_info(set);
    size_t bytes;
    float *log_probs = (float *)(void *)rows_of(set, LUD_DATA_LOG_PROBS, 0, 1, &bytes);
    uint32_t *version = (uint32_t *)(void *)rows_of(set, LUD_DATA_POLICY_VERSION, 0, 1, &bytes);
    for (size_t t = 0; t < bytes / sizeof *version; t++) {
        assert_int_equal(version[t], 7);
        for (int i = 0; i < info->n_agents; i++)
            assert_float_equal(log_probs[t * (size_t)info->n_agents + (size_t)i], -log(info->n_choices[i]),
                               1e-6);
    }
    free(log_probs);
    free(version);
    lud_data_set_close(set);
}

/* A file of window semantics 0 says so, and converted it is the same with the present ones. */
static void test_older_window_semantics(void **state) {
    (void)state;
    lud_error error = {0};
    recording_make(&(recording_call){worlds[2], "old.h5", 2, 5, 1, 0, true, true});
    lud_hdf5_lock();
    const hid_t file = H5Fopen(recording_path("old.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
                group = H5Gopen2(file, "ludus", H5P_DEFAULT);
    assert_true(lud_hdf5_set_integer(group, "window_semantics_version", 0));
    H5Gclose(group);
    H5Fclose(file);
    lud_hdf5_unlock();
    lud_data_set *old = recording_open("old.h5");
    assert_int_equal(lud_data_set_info(old)->window_semantics, 0);
    assert_int_equal(lud_data_set_check_windows(old, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "ludus convert"));
    for (int frames = 0; frames < 2; frames++) {
        const lud_convert_options options = {
            .path = recording_path("new.h5"), .frames = frames, .views = frames, .level = 6, .n_threads = 2};
        lud_convert_result result;
        if (lud_data_convert(old, &options, &result, &error)) fail_msg("%s", error.text);
        assert_int_equal(result.episodes, 5);
        assert_int_equal(result.dropped, 0);
        lud_data_set *new = recording_open("new.h5");
        assert_int_equal(lud_data_set_check_windows(new, &error), LUD_OK);
        assert_same_sets(old, new);
        verify_all(new);
        lud_data_set_close(new);
    }
    lud_data_set_close(old);
}

/* A changed action leads elsewhere, and the hash tells. */
/* Another number in the first column of a row. */
static void change_number(const char *name, const char *column, hsize_t row) {
    lud_hdf5_lock();
    const hid_t file = H5Fopen(recording_path(name), H5F_ACC_RDWR, H5P_DEFAULT),
                array = H5Dopen2(file, column, H5P_DEFAULT), space = H5Dget_space(array);
    const hsize_t first[2] = {row, 0}, one[2] = {1, 1};
    int number;
    const hid_t cell = H5Screate_simple(2, one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, one, NULL);
    assert_true(H5Dread(array, H5T_NATIVE_INT, cell, space, H5P_DEFAULT, &number) >= 0);
    number = number ? 0 : 1;
    assert_true(H5Dwrite(array, H5T_NATIVE_INT, cell, space, H5P_DEFAULT, &number) >= 0);
    H5Sclose(cell);
    H5Sclose(space);
    H5Dclose(array);
    H5Fclose(file);
    lud_hdf5_unlock();
}

/* An action, and the last state of all: 25 steps an episode. */
static void test_changed_files_are_found(void **state) {
    (void)state;
    static const struct {
        const char *column;
        hsize_t row;
        int episode;
    } changes[] = {{"ludus/steps/discrete", 30, 1}, {"ludus/frames/states", 3 * 26 - 1, 2}};
    for (int k = 0; k < 2; k++) {
        lud_error error = {0};
        recording_make(&(recording_call){"particle/simple_tag.yaml", "changed.h5", 2, 3, 1, 0, true, false});
        change_number("changed.h5", changes[k].column, changes[k].row);
        lud_data_set *set = recording_open("changed.h5");
        for (int e = 0; e < 3; e++)
            assert_int_equal(lud_data_set_verify(set, e, &error),
                             e == changes[k].episode ? LUD_ERROR_NUMERIC : LUD_OK);
        assert_non_null(strstr(error.text, "other states"));
        lud_data_set_close(set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored_is_replayed),
                                       cmocka_unit_test(test_hashes_of_any_length),
                                       cmocka_unit_test(test_cut_episodes_are_forgotten),
                                       cmocka_unit_test(test_any_number_of_threads),
                                       cmocka_unit_test(test_episodes_of_a_rollout),
                                       cmocka_unit_test(test_ranges_and_summaries),
                                       cmocka_unit_test(test_cut_episodes),
                                       cmocka_unit_test(test_choices_in_words),
                                       cmocka_unit_test(test_log_probs),
                                       cmocka_unit_test(test_older_window_semantics),
                                       cmocka_unit_test(test_changed_files_are_found)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
