/* Files of Minari's own: spaces of every kind that can be read come as they are, what disagrees is told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "learn/episodes/convert.h"
#include "learn/episodes/data_set.h"
#include "learn/episodes/file/hdf5_file.h"
#include "learn/episodes/support_recording.h"

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

static void add_array(hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dimensions,
                      const void *numbers) {
    const hid_t space = H5Screate_simple(rank, dimensions, NULL),
                array = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(array >= 0 && H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    H5Dclose(array);
    H5Sclose(space);
}

/* As h5py stores booleans. */
static void add_flags(hid_t parent, const char *name, hsize_t n, bool last, bool as_enumeration) {
    const int8_t no = 0, yes = 1;
    const hid_t type = as_enumeration ? H5Tenum_create(H5T_NATIVE_INT8) : H5Tcopy(H5T_NATIVE_INT8);
    if (as_enumeration) {
        H5Tenum_insert(type, "FALSE", &no);
        H5Tenum_insert(type, "TRUE", &yes);
    }
    int8_t flags[16] = {0};
    flags[n - 1] = last;
    add_array(parent, name, type, 1, &n, flags);
    H5Tclose(type);
}

/* What is unlike in an episode that is made. */
typedef struct making {
    bool dictionary, continuous, as_many_frames, enumeration;
    int rewards_more, flags_more, actions_more, frames_more; /* rows too many */
    int64_t choice;                                          /* in place of the first action; 0: none */
    bool choices_as_floats;
} making;

enum { LENGTH = 3, PLAYED = 4 };

/* Numbers that say where they belong: episode, row, place. */
static double number_of(int64_t episode, int row, int place) {
    return 100.0 * (double)episode + 10.0 * row + place;
}

static void add_episode(hid_t file, int64_t k, const making *m) {
    char name[32];
    snprintf(name, sizeof name, "episode_%lld", (long long)k);
    const int n = LENGTH + (int)k; /* each is longer than the one before */
    const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(group >= 0 && lud_hdf5_set_integer(group, "seed", 40 + k));
    double rewards[16];
    for (int t = 0; t < 16; t++) rewards[t] = 0.5 * t - (double)k;
    add_array(group, "rewards", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){(hsize_t)(n + m->rewards_more)}, rewards);
    add_flags(group, "terminations", (hsize_t)(n + m->flags_more), k % 2 == 0, m->enumeration);
    add_flags(group, "truncations", (hsize_t)n, k % 2 == 1, m->enumeration);
    if (m->continuous) {
        float moves[16][2];
        for (int t = 0; t < 16; t++)
            for (int i = 0; i < 2; i++) moves[t][i] = (float)number_of(k, t, i) / 8.0f;
        add_array(group, "actions", H5T_NATIVE_FLOAT, 2, (hsize_t[]){(hsize_t)(n + m->actions_more), 2},
                  moves);
    } else {
        int64_t choices[16];
        for (int t = 0; t < 16; t++) choices[t] = (t + k) % 4;
        if (m->choice) choices[0] = m->choice;
        if (m->choices_as_floats)
            add_array(group, "actions", H5T_NATIVE_FLOAT, 1, (hsize_t[]){(hsize_t)n}, rewards);
        else
            add_array(group, "actions", H5T_NATIVE_INT64, 1, (hsize_t[]){(hsize_t)(n + m->actions_more)},
                      choices);
    }
    const hsize_t frames = (hsize_t)(n + !m->as_many_frames + m->frames_more);
    double box[16][2];
    uint8_t picture[16][2][3];
    int32_t place[16];
    for (int t = 0; t < 16; t++) {
        for (int i = 0; i < 2; i++) box[t][i] = number_of(k, t, i);
        for (int i = 0; i < 6; i++) picture[t][i / 3][i % 3] = (uint8_t)number_of(0, t, i);
        place[t] = -(int32_t)number_of(k, t, 7);
    }
    if (m->dictionary) {
        const hid_t top = H5Gcreate2(group, "observations", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                    own = H5Gcreate2(top, "own", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                    deep = H5Gcreate2(own, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        add_array(top, "picture", H5T_NATIVE_UINT8, 3, (hsize_t[]){frames, 2, 3}, picture);
        add_array(deep, "place", H5T_NATIVE_INT32, 1, &frames, place);
        add_array(own, "speed", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){frames, 2}, box);
        H5Gclose(deep);
        H5Gclose(own);
        H5Gclose(top);
    } else {
        add_array(group, "observations", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){frames, 2}, box);
    }
    H5Gclose(group);
}

/* A file of episodes, the last of them as told, the others alike in their spaces. */
static void make(const char *name, const making *m, int n_episodes) {
    making others = {m->dictionary, m->continuous, m->as_many_frames, m->enumeration, 0, 0, 0, 0, 0, false};
    lud_hdf5_lock();
    const hid_t file = H5Fcreate(recording_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    for (int k = 0; k < n_episodes; k++) add_episode(file, k, k + 1 < n_episodes ? &others : m);
    H5Fclose(file);
    lud_hdf5_unlock();
}

static void expect_frames(lud_data_set *set, const making *m, int64_t k) {
    const lud_data_info *info = lud_data_set_info(set);
    lud_error error = {0};
    for (int p = 0; p < info->n_parts; p++) {
        const int n = lud_data_set_rows(set, LUD_DATA_OBSERVATION, k);
        union {
            float box[16][2];
            uint8_t picture[16][2][3];
            int32_t place[16];
        } rows;
        assert_int_equal(lud_data_set_read(set, LUD_DATA_OBSERVATION, p, k, 1, n - 1, &rows, &error), LUD_OK);
        for (int t = 1; t < n; t++) {
            if (m->dictionary && p == 2)
                for (int i = 0; i < 6; i++)
                    assert_int_equal(rows.picture[t - 1][i / 3][i % 3], (uint8_t)number_of(0, t, i));
            else if (m->dictionary && p == 0)
                assert_int_equal(rows.place[t - 1], -(int32_t)number_of(k, t, 7));
            else
                for (int i = 0; i < 2; i++) assert_true(rows.box[t - 1][i] == (float)number_of(k, t, i));
        }
    }
}

static void expect_episode(lud_data_set *set, const making *m, int64_t k, int64_t first) {
    const lud_data_episode *e = lud_data_set_episode(set, k);
    const int n = LENGTH + (int)k;
    lud_error error = {0};
    float rewards[16];
    double sum = 0;
    assert_true(e->length == n && e->first_step == first && e->number == k && e->seed == 40 + (uint64_t)k);
    assert_true(e->terminated == (k % 2 == 0) && e->truncated == (k % 2 == 1));
    assert_int_equal(*lud_data_set_tracks(set, k), n);
    assert_int_equal(lud_data_set_rows(set, LUD_DATA_REWARDS, k), n);
    assert_int_equal(lud_data_set_rows(set, LUD_DATA_OBSERVATION, k), n + !m->as_many_frames);
    assert_int_equal(lud_data_set_read(set, LUD_DATA_REWARDS, 0, k, 0, n, rewards, &error), LUD_OK);
    for (int t = 0; t < n; t++) {
        assert_true(rewards[t] == (float)(0.5 * t - (double)k));
        sum += rewards[t];
    }
    assert_true(*lud_data_set_returns(set, k) == sum);
    if (m->continuous) {
        float moves[16][2];
        assert_int_equal(lud_data_set_read(set, LUD_DATA_CONTINUOUS, 0, k, 0, n, moves, &error), LUD_OK);
        for (int t = 0; t < n; t++)
            for (int i = 0; i < 2; i++) assert_true(moves[t][i] == (float)number_of(k, t, i) / 8.0f);
    } else {
        int32_t choices[16];
        assert_int_equal(lud_data_set_read(set, LUD_DATA_DISCRETE, 0, k, 1, n - 1, choices, &error), LUD_OK);
        for (int t = 1; t < n; t++) assert_int_equal(choices[t - 1], (t + k) % 4);
    }
    expect_frames(set, m, k);
}

/* Boxes and dictionaries, choices and numbers, a frame more than steps or as many. */
static void test_spaces_come_as_they_are(void **state) {
    (void)state;
    for (int kind = 0; kind < 16; kind++) {
        const making m = {.dictionary = kind & 1,
                          .continuous = kind & 2,
                          .as_many_frames = kind & 4,
                          .enumeration = kind & 8};
        make("own.hdf5", &m, PLAYED);
        lud_data_set *set = recording_open("own.hdf5");
        const lud_data_info *info = lud_data_set_info(set);
        assert_true(info->n_episodes == PLAYED && info->n_agents == 1 && info->complete);
        assert_true(!info->world && !info->scenario && !info->policy && info->format == 0);
        assert_int_equal(info->n_steps, 3 + 4 + 5 + 6);
        assert_int_equal(info->last_action_valid, !m.as_many_frames);
        assert_int_equal(info->n_continuous, m.continuous ? 2 : 0);
        assert_int_equal(info->n_choices[0], m.continuous ? 0 : 4);
        assert_int_equal(info->idle[0], -1);
        assert_true(!m.continuous ||
                    (isinf(info->low) && info->low < 0 && isinf(info->high) && info->high > 0));
        assert_int_equal(info->n_parts, m.dictionary ? 3 : 1);
        if (m.dictionary) { /* in the order of their names */
            static const char *const names[] = {"own/deep/place", "picture", "own/speed"};
            static const lud_dtype types[] = {LUD_I32, LUD_U8, LUD_F32};
            static const size_t bytes[] = {4, 6, 8};
            static const int ranks[] = {0, 2, 1};
            const int order[] = {0, 2, 1}; /* "own" before "picture" */
            for (int p = 0; p < 3; p++) {
                const lud_observation_part *part = &info->parts[p];
                assert_string_equal(part->name, names[order[p]]);
                assert_true(part->dtype == types[order[p]] && part->bytes == bytes[order[p]] &&
                            part->n_dimensions == ranks[order[p]]);
            }
        } else {
            assert_string_equal(info->parts[0].name, "observation");
            assert_true(info->parts[0].dtype == LUD_F32 && info->parts[0].bytes == 8);
        }
        lud_data_set_close(set);
    }
}

/* What was not recorded is not known of what was made of it: how likely actions were is no number. */
static void expect_unknown(lud_data_set *set, int64_t k) {
    const int n = (int)lud_data_set_episode(set, k)->length;
    float log_probs[16];
    lud_error error = {0};
    assert_true(lud_data_set_has(set, LUD_DATA_LOG_PROBS, 0) && n <= 16);
    assert_int_equal(lud_data_set_read(set, LUD_DATA_LOG_PROBS, 0, k, 0, n, log_probs, &error), LUD_OK);
    for (int t = 0; t < n; t++) assert_true(isnan(log_probs[t]));
}

static void test_numbers_come_as_they_are(void **state) {
    (void)state;
    for (int kind = 0; kind < 16; kind++) {
        const making m = {.dictionary = kind & 8,
                          .continuous = kind & 2,
                          .as_many_frames = kind & 4,
                          .enumeration = kind & 1};
        make("own.hdf5", &m, PLAYED);
        lud_data_set *set = recording_open("own.hdf5");
        for (int64_t k = 0, first = 0; k < PLAYED; first += LENGTH + k, k++)
            expect_episode(set, &m, k, first);
        char *path = strdup(recording_path("converted.h5"));
        const lud_convert_options options = {.path = path, .frames = true, .views = true, .n_threads = 1};
        lud_convert_result result;
        lud_error error = {0};
        if (lud_data_convert(set, &options, &result, &error)) fail_msg("%s", error.text);
        lud_data_set_close(set);
        free(path);
        assert_int_equal(result.episodes, PLAYED);
        assert_int_equal(result.dropped, m.as_many_frames ? PLAYED : 0);
        set = recording_open("converted.h5");
        assert_true(lud_data_set_has(set, m.continuous ? LUD_DATA_CONTINUOUS : LUD_DATA_DISCRETE, 0));
        assert_false(lud_data_set_has(set, m.continuous ? LUD_DATA_DISCRETE : LUD_DATA_CONTINUOUS, 0));
        assert_true(lud_data_set_has(set, LUD_DATA_REWARDS, 0));
        assert_false(lud_data_set_has(set, LUD_DATA_STATES, 0));
        for (int64_t k = 0; k < PLAYED; k++) expect_unknown(set, k);
        for (int64_t k = 0, first = 0; k < PLAYED; first += LENGTH + k, k++)
            if (m.as_many_frames) /* what follows the last action is not known */
                assert_int_equal(lud_data_set_episode(set, k)->length, LENGTH + k - 1);
            else
                expect_episode(set, &m, k, first);
        lud_data_set_close(set);
    }
}

/* metadata.json beside the file says how many choices there are and what range numbers have. */
static void test_metadata(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool continuous;
        int n_choices;
        float low, high;
        const char *policy;
    } cases[] = {{"{\"action_space\": \"{\\\"type\\\": \\\"Discrete\\\", \\\"n\\\": 9, \\\"start\\\": 0}\", "
                  "\"algorithm_name\": \"walker\"}",
                  false, 9, 0, 0, "walker"},
                 {"{\"action_space\": \"{\\\"n\\\": 9}\"}", false, 9, 0, 0, NULL},
                 {"{\"action_space\": \"{\\\"n\\\": 9, \\\"start\\\": 1}\"}", false, 4, 0, 0, NULL},
                 {"{\"action_space\": \"{\\\"n\\\": 3}\"}", false, 4, 0, 0,
                  NULL}, /* choices that are there are more */
                 {"{\"action_space\": \"{\\\"n\\\": 1048576}\"}", false, 4, 0, 0, NULL},
                 {"{\"action_space\": \"{\\\"low\\\": [-2.0, -1.0], \\\"high\\\": [[3.5, 1.0]]}\"}", true, 0,
                  -2.0f, 3.5f, NULL},
                 {"{\"action_space\": \"{\\\"low\\\": -1, \\\"high\\\": 1.5}\"}", true, 0, -1.0f, 1.5f, NULL},
                 {"{\"action_space\": 7}", false, 4, 0, 0, NULL},
                 {"no JSON", false, 4, 0, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        const making m = {.continuous = cases[i].continuous};
        make("own.hdf5", &m, 2);
        assert_int_equal(
            lud_file_write(recording_path("metadata.json"), cases[i].text, strlen(cases[i].text), &error),
            LUD_OK);
        lud_data_set *set = recording_open("own.hdf5");
        const lud_data_info *info = lud_data_set_info(set);
        assert_int_equal(info->n_choices[0], cases[i].n_choices);
        if (cases[i].continuous) assert_true(info->low == cases[i].low && info->high == cases[i].high);
        assert_int_equal(info->policy != NULL, cases[i].policy != NULL);
        if (cases[i].policy) assert_string_equal(info->policy, cases[i].policy);
        lud_data_set_close(set);
    }
    remove(recording_path("metadata.json"));
}

static void test_what_disagrees_is_told(void **state) {
    (void)state;
    static const making wrong[] = {{.rewards_more = 1},
                                   {.rewards_more = -1},
                                   {.flags_more = 1},
                                   {.flags_more = -1},
                                   {.actions_more = 1},
                                   {.actions_more = -1},
                                   {.frames_more = 1},
                                   {.frames_more = -1},
                                   {.frames_more = -1, .dictionary = true},
                                   {.choice = -1},
                                   {.choice = 1 << 20},
                                   {.choices_as_floats = true},
                                   {.actions_more = 1, .continuous = true},
                                   {.actions_more = -1, .continuous = true}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lud_error error = {0};
        lud_data_set *set = NULL;
        make("wrong.hdf5", &wrong[i], 2);
        assert_int_equal(lud_data_set_open(recording_path("wrong.hdf5"), &set, &error), LUD_ERROR_INPUT);
        assert_non_null(strstr(error.text, "wrong.hdf5"));
        assert_non_null(strstr(error.text,
                               "episode_1: expected rewards, terminations, truncations, actions and "
                               "observations of one length"));
    }
    /* the greatest choice that can be */
    make("own.hdf5", &(making){.choice = (1 << 20) - 1}, 2);
    lud_data_set *set = recording_open("own.hdf5");
    assert_int_equal(lud_data_set_info(set)->n_choices[0], 1 << 20);
    lud_data_set_close(set);
}

/* Extents of an array of a group, [4]; returns how many. */
static int extents_of(hid_t group, const char *name, hsize_t *extents) {
    const hid_t array = H5Dopen2(group, name, H5P_DEFAULT);
    if (array < 0) fail_msg("no %s", name);
    const hid_t space = H5Dget_space(array);
    const int rank = H5Sget_simple_extent_ndims(space);
    assert_in_range(rank, 1, 4);
    H5Sget_simple_extent_dims(space, extents, NULL);
    H5Sclose(space);
    H5Dclose(array);
    return rank;
}

/* Fails unless the array has `n` rows, for each agent where there are several, of these extents. */
static void expect_extents(hid_t group, const char *name, hsize_t n, int n_agents, int rank,
                           const int *dimensions) {
    hsize_t found[4];
    const int n_found = extents_of(group, name, found), first = n_agents > 1 ? 2 : 1;
    assert_int_equal(n_found, first + rank);
    assert_int_equal(found[0], n);
    if (n_agents > 1) assert_int_equal(found[1], n_agents);
    for (int d = 0; d < rank; d++) assert_int_equal(found[first + d], dimensions[d]);
}

/* What Minari reads of a recording has a row a step, for each agent where there are several, and the numbers
 * that are read otherwise. */
static void test_recordings_as_minari_sees_them(void **state) {
    (void)state;
    static const char *const worlds[] = {"particle/simple.yaml", "particle/simple_spread.yaml"};
    for (int several = 0; several < 2; several++) {
        recording_make(&(recording_call){worlds[several], "views.h5", 2, 3, 1, 9, true, true});
        lud_data_set *set = recording_open("views.h5");
        const lud_data_info *info = lud_data_set_info(set);
        const int n_agents = info->n_agents;
        assert_int_equal(n_agents > 1, several);
        for (int64_t k = 0; k < info->n_episodes; k++) {
            const int length = lud_data_set_episode(set, k)->length;
            float *rewards = calloc((size_t)(length * n_agents), sizeof *rewards),
                  *viewed = calloc((size_t)(length * n_agents), sizeof *viewed);
            int32_t *choices = calloc((size_t)(length * n_agents), sizeof *choices),
                    *chosen = calloc((size_t)(length * n_agents), sizeof *chosen);
            lud_error error = {0};
            char name[64];
            if (lud_data_set_read(set, LUD_DATA_REWARDS, 0, k, 0, length, rewards, &error) ||
                lud_data_set_read(set, LUD_DATA_DISCRETE, 0, k, 0, length, choices, &error))
                fail_msg("%s", error.text);
            const hid_t file = H5Fopen(recording_path("views.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
            snprintf(name, sizeof name, "episode_%d", (int)k);
            const hid_t episode = H5Gopen2(file, name, H5P_DEFAULT);
            assert_true(episode >= 0);
            expect_extents(episode, "rewards", (hsize_t)length, n_agents, 0, NULL);
            expect_extents(episode, "actions", (hsize_t)length, n_agents, 0, NULL);
            for (int p = 0; p < info->n_parts; p++) {
                const lud_observation_part *part = &info->parts[p];
                snprintf(name, sizeof name, "observations/%s", part->name);
                expect_extents(episode, name, (hsize_t)length + 1, part->per_agent ? n_agents : 1,
                               part->n_dimensions, part->dimensions);
            }
            const hid_t of_rewards = H5Dopen2(episode, "rewards", H5P_DEFAULT),
                        of_actions = H5Dopen2(episode, "actions", H5P_DEFAULT);
            assert_true(H5Dread(of_rewards, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, viewed) >= 0);
            assert_true(H5Dread(of_actions, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, chosen) >= 0);
            H5Dclose(of_rewards);
            H5Dclose(of_actions);
            H5Gclose(episode);
            H5Fclose(file);
            assert_memory_equal(rewards, viewed, (size_t)(length * n_agents) * sizeof *rewards);
            assert_memory_equal(choices, chosen, (size_t)(length * n_agents) * sizeof *choices);
            free(rewards);
            free(viewed);
            free(choices);
            free(chosen);
        }
        lud_data_set_close(set);
    }
}

/* Episodes of others are known by the name of their file and their number in it, wherever it lies: no two of
 * a file, or of files with other names, are the same. */
static void test_episodes_are_told_apart(void **state) {
    (void)state;
    enum { EPISODES = 5, FILES = 3 };
    static const char *const names[FILES] = {"first.hdf5", "second.hdf5", "elsewhere/first.hdf5"};
    const making m = {.continuous = true};
    uint64_t hash[FILES][EPISODES];
    lud_error error = {0};
    if (lud_folder_make(recording_path("elsewhere"), &error)) fail_msg("%s", error.text);
    for (int f = 0; f < FILES; f++) {
        make(names[f], &m, EPISODES);
        lud_data_set *set = recording_open(names[f]);
        for (int64_t e = 0; e < EPISODES; e++) hash[f][e] = lud_data_set_episode_hash(set, e);
        lud_data_set_close(set);
    }
    for (int a = 0; a < 2 * EPISODES; a++)
        for (int b = 0; b < a; b++)
            assert_true(hash[a / EPISODES][a % EPISODES] != hash[b / EPISODES][b % EPISODES]);
    assert_memory_equal(hash[0], hash[2], sizeof hash[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spaces_come_as_they_are),
                                       cmocka_unit_test(test_numbers_come_as_they_are),
                                       cmocka_unit_test(test_metadata),
                                       cmocka_unit_test(test_what_disagrees_is_told),
                                       cmocka_unit_test(test_recordings_as_minari_sees_them),
                                       cmocka_unit_test(test_episodes_are_told_apart)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
