/* Files of data sets that something is wrong with: cut off, changed, foreign, or left by a writer that was
 * killed. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/random.h"
#include "full_disk.h"
#include "learn/episodes/file/hdf5_file.h"
#include "learn/episodes/file/minari.h"
#include "learn/episodes/support_recording.h"

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

typedef struct bytes {
    lud_arena *arena;
    char *data;
    size_t n;
} bytes;

static bytes read_file(const char *name) {
    lud_error error = {0};
    bytes b = {.arena = lud_arena_create(0)};
    if (lud_file_read(b.arena, recording_path(name), 0, &b.data, &b.n, &error)) fail_msg("%s", error.text);
    return b;
}

static void write_file(const char *name, const void *data, size_t n) {
    lud_error error = {0};
    if (lud_file_write(recording_path(name), data, n, &error)) fail_msg("%s", error.text);
}

static int n_reasons; /* that reading has given */

/* Reads everything that a set says it has; returns whether all of it could be read. */
static bool read_everything(lud_data_set *set) {
    const lud_data_info *info = lud_data_set_info(set);
    lud_error error = {0};
    bool whole = true;
    for (int64_t e = 0; e < info->n_episodes && e < 50; e++) {
        for (int k = 0; k < LUD_DATA_ARRAYS; k++)
            for (int p = 0; p < (k == LUD_DATA_OBSERVATION ? info->n_parts : 1); p++) {
                if (!lud_data_set_has(set, (lud_data_array)k, p)) continue;
                const int32_t n = lud_data_set_rows(set, (lud_data_array)k, e);
                if (n > 1 << 20) continue;
                void *rows = malloc((size_t)n * lud_data_set_row_bytes(set, (lud_data_array)k, p) + 1);
                assert_non_null(rows);
                if (lud_data_set_read(set, (lud_data_array)k, p, e, 0, n, rows, &error)) {
                    static const char why[] = " cannot be read: "; /* and then it says why */
                    const char *reason = strstr(error.text, why);
                    assert_true(!reason || strlen(reason) > sizeof why + 2);
                    n_reasons += reason != NULL;
                    whole = false;
                }
                free(rows);
            }
        lud_text text = {0};
        whole = !lud_data_set_summary(set, e, 0, &text, &error) && whole;
        lud_text_free(&text);
        if (info->replays_exactly) whole = !lud_data_set_verify(set, e, &error) && whole;
    }
    return whole;
}

/* Files, groups, arrays and attributes that HDF5 holds open for us. */
static int64_t open_handles(void) {
    lud_hdf5_lock();
    const int64_t n = H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL);
    lud_hdf5_unlock();
    assert_true(n >= 0);
    return n;
}

/* Opens and reads; an error has to say which file. */
static bool is_whole(const char *name) {
    lud_error error = {0};
    lud_data_set *set = NULL;
    if (lud_data_set_open(recording_path(name), &set, &error)) {
        assert_non_null(strstr(error.text, name));
        return false;
    }
    const bool whole = read_everything(set);
    lud_data_set_close(set);
    return whole;
}

static void test_files_that_are_cut_off(void **state) {
    (void)state;
    recording_make(&(recording_call){"multigrid/rescue.yaml", "whole.h5", 2, 4, 1, 9, true, true});
    bytes b = read_file("whole.h5");
    assert_true(is_whole("whole.h5"));
    const int64_t handles = open_handles();
    lud_data_set *set = recording_open("whole.h5");
    assert_true(open_handles() > handles);
    lud_data_set_close(set);
    for (size_t k = 0; k < 64; k++) {
        write_file("cut.h5", b.data, b.n * k / 64);
        assert_false(is_whole("cut.h5"));
    }
    write_file("cut.h5", b.data, b.n - 1);
    assert_false(is_whole("cut.h5"));
    assert_int_equal(open_handles(), handles);
    lud_arena_destroy(b.arena);
}

/* Whatever a byte is changed to, everything can be read or an error says what cannot. */
static void test_files_with_other_bytes(void **state) {
    (void)state;
    enum { TRIALS = 400 };
    recording_make(&(recording_call){"multigrid/rescue.yaml", "whole.h5", 2, 3, 1, 9, true, true});
    bytes b = read_file("whole.h5");
    assert_true(is_whole("whole.h5"));
    const int64_t handles = open_handles();
    int broken = 0;
    for (uint32_t k = 0; k < TRIALS; k++) {
        const lud_words w = lud_draw((lud_random_key){1, 0}, k, 0, LUD_PURPOSE_USER, 0);
        /* half of them where the tables are */
        const size_t at = lud_below(w.v[0], k % 2 ? (uint32_t)b.n : 8192);
        const char before = b.data[at];
        b.data[at] = (char)(before ^ (char)(1 + lud_below(w.v[1], 255)));
        write_file("other.h5", b.data, b.n);
        broken += !is_whole("other.h5");
        if (open_handles() != handles) fail_msg("trial %u leaves something open", k);
        b.data[at] = before;
    }
    assert_true(broken > 10 && n_reasons > 3);
    lud_arena_destroy(b.arena);
}

static herr_t open_array(hid_t file, const char *name, const H5O_info_t *info, void *n_failed) {
    if (info->type != H5O_TYPE_DATASET) return 0;
    const hid_t array = H5Dopen2(file, name, H5P_DEFAULT);
    *(int *)n_failed += array < 0;
    if (array >= 0) H5Dclose(array);
    return 0;
}

/* How many arrays of a file, those that Minari reads included, HDF5 cannot open; -1: not even the file. */
static int arrays_that_are_closed(const char *name) {
    int n = -1;
    lud_hdf5_lock();
    const hid_t file = lud_hdf5_open(recording_path(name));
    if (file >= 0) {
        n = 0;
        H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, open_array, &n, H5O_INFO_BASIC);
        H5Fclose(file);
    }
    lud_hdf5_unlock();
    return n;
}

/* Lengths in the heap that says what Minari's arrays are made of, at which HDF5 would walk on the spot or out
 * of the heap. */
static void test_heaps_that_do_not_end(void **state) {
    (void)state;
    static const uint64_t lengths[] = {0, 1 << 20, UINT64_MAX, UINT64_MAX - 15, (uint64_t)1 << 63};
    recording_make(&(recording_call){"multigrid/rescue.yaml", "heap.h5", 2, 3, 1, 9, true, true});
    bytes b = read_file("heap.h5");
    size_t heap = 0, n_objects = 0;
    while (heap + 4096 <= b.n && memcmp(b.data + heap, "GCOL", 4) != 0) heap++;
    assert_true(heap + 4096 <= b.n);
    alarm(120);
    uint64_t size, length;
    memcpy(&size, b.data + heap + 8, sizeof size);
    for (size_t at = 16; at + 16 <= size; n_objects++) {
        char *const place = b.data + heap + at + 8;
        const bool is_free = b.data[heap + at] == 0 && b.data[heap + at + 1] == 0;
        memcpy(&length, place, sizeof length);
        for (size_t k = is_free ? 0 : 1; k < sizeof lengths / sizeof *lengths; k++) {
            memcpy(place, &lengths[k], sizeof lengths[k]);
            write_file("other.h5", b.data, b.n);
            if (arrays_that_are_closed("other.h5") == 0)
                fail_msg("object %zu has length %llu", n_objects, (unsigned long long)lengths[k]);
        }
        memcpy(place, &length, sizeof length);
        at += is_free ? length : 16 + (length + 7) / 8 * 8;
    }
    alarm(0);
    assert_true(n_objects > 1);
    assert_int_equal(arrays_that_are_closed("heap.h5"), 0);
    lud_arena_destroy(b.arena);
}

static void test_files_of_others(void **state) {
    (void)state;
    lud_error error = {0};
    lud_data_set *set;
    write_file("text.h5", "episodes\n", 9);
    assert_false(lud_data_set_is(recording_path("text.h5")));
    assert_int_equal(lud_data_set_open(recording_path("text.h5"), &set, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "found something else"));
    assert_int_equal(lud_data_set_open(recording_path("none.h5"), &set, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no such data set"));
    lud_hdf5_lock();
    H5Fclose(lud_hdf5_create(recording_path("empty.h5")));
    lud_hdf5_unlock();
    assert_true(lud_data_set_is(recording_path("empty.h5")));
    assert_int_equal(lud_data_set_open(recording_path("empty.h5"), &set, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "found neither"));
}

/* A file that says more than it can hold, or that points out of itself. */
static void test_hostile_files(void **state) {
    (void)state;
    lud_error error = {0};
    lud_data_set *set;
    recording_make(&(recording_call){"multigrid/rescue.yaml", "bomb.h5", 2, 3, 1, 9, true, false});
    lud_hdf5_lock();
    hid_t file = H5Fopen(recording_path("bomb.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t lengths = H5Dopen2(file, "ludus/episodes/length", H5P_DEFAULT);
    const hsize_t many = 1 << 29;
    assert_true(H5Dset_extent(lengths, &many) >= 0);
    H5Dclose(lengths);
    H5Fclose(file);
    lud_hdf5_unlock();
    assert_int_equal(lud_data_set_open(recording_path("bomb.h5"), &set, &error), LUD_ERROR_INPUT);

    recording_make(&(recording_call){"multigrid/rescue.yaml", "link.h5", 2, 3, 1, 9, true, false});
    lud_hdf5_lock();
    file = H5Fopen(recording_path("link.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(file, "ludus/steps/rewards", H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external("bomb.h5", "ludus/steps/rewards", file, "ludus/steps/rewards", H5P_DEFAULT,
                                   H5P_DEFAULT) >= 0);
    H5Fclose(file);
    lud_hdf5_unlock();
    assert_int_equal(lud_data_set_open(recording_path("link.h5"), &set, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "rewards"));
}

/* --- a writer that is killed --- */

static int64_t count_of(const char *name) {
    lud_hdf5_lock();
    int64_t value = -1;
    const hid_t file = lud_hdf5_open(recording_path(name));
    if (file >= 0) {
        if (!lud_hdf5_get_integer(file, "count", &value)) value = -2;
        H5Fclose(file);
    }
    lud_hdf5_unlock();
    return value;
}

static void fill(hid_t file, int from, int to) {
    for (int k = from; k < to; k++) {
        char name[32];
        snprintf(name, sizeof name, "group_%d", k);
        H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    assert_true(lud_hdf5_set_integer(file, "count", to));
}

/* Whatever moment the file is looked at, it is that of the last commit. */
static void test_commits(void **state) {
    (void)state;
    lud_hdf5_lock();
    const hid_t file = lud_hdf5_create(recording_path("file.h5"));
    fill(file, 0, 300);
    assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    fill(file, 300, 20000); /* more than the cache of the library holds: some of it is written */
    lud_hdf5_unlock();
    bytes before = read_file("file.h5");
    write_file("killed.h5", before.data, before.n);
    assert_int_equal(count_of("killed.h5"), 300);
    lud_hdf5_lock();
    assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    lud_hdf5_unlock();
    bytes after = read_file("file.h5");
    write_file("killed.h5", after.data, after.n);
    assert_int_equal(count_of("killed.h5"), 20000);
    lud_hdf5_lock();
    H5Fclose(file);
    lud_hdf5_unlock();
    assert_int_equal(count_of("file.h5"), 20000);

    /* Killed in the middle of a commit: half of the pages are of the new state, the journal has all. */
    enum { PAGE = 4096 };
    lud_text journal = {0};
    const uint64_t magic = 0x314c4e4a44554cu;
    uint64_t n = 0;
    for (size_t at = 0; at + PAGE <= before.n; at += PAGE)
        n += memcmp(before.data + at, after.data + at, PAGE) != 0;
    assert_true(n > 2);
    lud_text_append_bytes(&journal, (const char *)&magic, 8);
    lud_text_append_bytes(&journal, (const char *)&n, 8);
    uint64_t done = 0;
    for (size_t at = 0; at + PAGE <= before.n; at += PAGE) {
        if (!memcmp(before.data + at, after.data + at, PAGE)) continue;
        const uint64_t number = at / PAGE;
        lud_text_append_bytes(&journal, (const char *)&number, 8);
        lud_text_append_bytes(&journal, after.data + at, PAGE);
        if (++done > n / 2) memcpy(after.data + at, before.data + at, PAGE);
    }
    const uint64_t sum = XXH3_64bits(journal.bytes, journal.length);
    lud_text_append_bytes(&journal, (const char *)&sum, 8);
    write_file("killed.h5", after.data, after.n);
    write_file("killed.h5.journal", journal.bytes, journal.length);
    assert_int_equal(count_of("killed.h5"), 20000);
    /* Killed while the journal was written: nothing of it is in the file. */
    write_file("killed.h5", before.data, before.n);
    write_file("killed.h5.journal", journal.bytes, journal.length - 100);
    assert_int_equal(count_of("killed.h5"), 300);
    lud_text_free(&journal);
    lud_arena_destroy(before.arena);
    lud_arena_destroy(after.arena);
}

/* In this program a journal that goes leaves its bytes here where somebody wants them. */
static bytes *wanted_journal;

int unlink(const char *path) {
    const char *end = strrchr(path, '.');
    if (wanted_journal && end && !strcmp(end, ".journal")) {
        lud_error error = {0};
        wanted_journal->arena = lud_arena_create(0);
        if (lud_file_read(wanted_journal->arena, path, 0, &wanted_journal->data, &wanted_journal->n, &error))
            fail_msg("%s", error.text);
    }
    return unlinkat(AT_FDCWD, path, 0);
}

/* The journal of a commit holds all of it: with the file as it was before, it is the file behind it. One
 * byte of it that is another is noticed, and the file stays as it was. The next commit is of what was written
 * since. */
static void test_journals_hold_commits(void **state) {
    (void)state;
    bytes journal = {0};
    lud_hdf5_lock();
    const hid_t file = lud_hdf5_create(recording_path("file.h5"));
    fill(file, 0, 300);
    assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    fill(file, 300, 20000);
    lud_hdf5_unlock();
    bytes before = read_file("file.h5");
    wanted_journal = &journal;
    lud_hdf5_lock();
    assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    wanted_journal = NULL;
    lud_hdf5_unlock();
    bytes after = read_file("file.h5"), next = {0};
    wanted_journal = &next;
    lud_hdf5_lock();
    assert_true(lud_hdf5_set_integer(file, "count", 20001));
    assert_true(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    wanted_journal = NULL;
    H5Fclose(file);
    lud_hdf5_unlock();
    assert_true(next.n > 0 && next.n < journal.n / 4);
    assert_true(journal.n > 3 * 4096 && after.n >= before.n);
    assert_memory_not_equal(after.data, before.data, before.n);
    memcpy(after.data, before.data, before.n); /* its length is that of the new state already */
    for (int k = -1; k < 4; k++) {
        char *other =
            k < 0 ? NULL : journal.data + (size_t)k * (journal.n - 1) / 3; /* the first to the last */
        write_file("killed.h5", after.data, after.n);
        if (other) *other ^= 1;
        write_file("killed.h5.journal", journal.data, journal.n);
        if (other) *other ^= 1;
        assert_int_equal(count_of("killed.h5"), other ? 300 : 20000);
    }
    lud_arena_destroy(journal.arena);
    lud_arena_destroy(next.arena);
    lud_arena_destroy(before.arena);
    lud_arena_destroy(after.arena);
}

/* A disk that is full from some byte on: nothing is left but a file that holds episodes. */
static void test_full_disks(void **state) {
    (void)state;
    const recording_call call = {"multigrid/rescue.yaml", "full.h5", 2, 30, 1, 20, true, true};
    lud_recording_result whole = recording_make(&call);
    assert_int_equal(whole.episodes, 30);
    int told = 0, done = 0;
    for (rlim_t limit = 0; limit < 300000; limit = limit * 5 / 4 + 700) {
        lud_error error = {0};
        lud_recording_result result;
        unlink(recording_path("full.h5"));
        full_disk(limit);
        const lud_status status = recording_try(&call, &result, &error);
        empty_disk();
        done += status == LUD_OK;
        if (status != LUD_OK) {
            told++;
            assert_non_null(strstr(error.text, "full.h5"));
        }
        char left[128], journal[160];
        snprintf(left, sizeof left, "full.h5.partial-%ld", (long)getpid());
        snprintf(journal, sizeof journal, "%s.journal", left);
        assert_false(lud_file_exists(recording_path(journal)) && !lud_file_exists(recording_path(left)));
        if (lud_file_exists(recording_path(left))) {
            lud_data_set *set = recording_open(left);
            assert_true(lud_data_set_info(set)->n_episodes > 0);
            lud_data_set_close(set);
            unlink(recording_path(left));
            unlink(recording_path(journal));
        }
    }
    assert_true(told > 3 && done > 0);
}

/* Where data sets go, and under which id Minari finds them: a version of their own stays, others get one, and
 * what an id may not hold becomes a line. */
static void test_names_of_data_sets(void **state) {
    (void)state;
    static const struct {
        const char *name, *folder, *file, *link, *id;
    } names[] = {{"rescue.h5", "rescue.minari", "rescue.h5", "../rescue.h5", "rescue-v0"},
                 {"a/b/rescue.hdf5", "a/b/rescue.minari", "a/b/rescue.hdf5", "../rescue.hdf5", "rescue-v0"},
                 {"robots-v2.h5", "robots-v2.minari", "robots-v2.h5", "../robots-v2.h5", "robots-v2"},
                 {"robots-v12/", "robots-v12/data", "robots-v12/data/main_data.hdf5", "", "robots-v12"},
                 {"/d/my set.1//", "/d/my set.1/data", "/d/my set.1/data/main_data.hdf5", "", "my_set_1-v0"},
                 {"runv7.h5", "runv7.minari", "runv7.h5", "../runv7.h5", "runv7-v0"},
                 {"run-7.h5", "run-7.minari", "run-7.h5", "../run-7.h5", "run-7-v0"},
                 {"run-v.h5", "run-v.minari", "run-v.h5", "../run-v.h5", "run-v-v0"},
                 {"v3.h5", "v3.minari", "v3.h5", "../v3.h5", "v3-v0"},
                 {"-v3.h5", "-v3.minari", "-v3.h5", "../-v3.h5", "-v3-v0"},
                 {"a-v3.h5", "a-v3.minari", "a-v3.h5", "../a-v3.h5", "a-v3"},
                 {"7.h5", "7.minari", "7.h5", "../7.h5", "7-v0"},
                 {".h5", ".minari", ".h5", "../.h5", "data-v0"},
                 {"sets/main_data.hdf5", "sets", "sets/main_data.hdf5", "", "data-v0"},
                 {"main_data.hdf5", ".", "main_data.hdf5", "", "data-v0"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        lud_data_target t;
        lud_error error = {0};
        if (lud_data_target_of(names[k].name, &t, &error)) fail_msg("%s", error.text);
        assert_string_equal(t.folder.bytes, names[k].folder);
        assert_string_equal(t.file.bytes, names[k].file);
        assert_string_equal(t.link.length ? t.link.bytes : "", names[k].link);
        assert_string_equal(t.id.bytes, names[k].id);
        lud_data_target_free(&t);
    }
    assert_true(lud_data_target_is("a.h5") && lud_data_target_is("a.hdf5") && lud_data_target_is("a/"));
    assert_false(lud_data_target_is("a.mp4") || lud_data_target_is("ah5") || lud_data_target_is("a"));
}

static json_t *space_of(const json_t *metadata, const char *which) {
    json_t *space = json_loads(json_string_value(json_object_get(metadata, which)), 0, NULL);
    assert_non_null(space);
    return space;
}

static void expect_space(const json_t *space, const char *expected) {
    json_t *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(space, wanted)) fail_msg("%s\ninstead of %s", json_dumps(space, 0), expected);
    json_decref(wanted);
}

/* Minari is told of spaces as Gymnasium has them. */
static void test_spaces_for_minari(void **state) {
    (void)state;
    static const int32_t choices[] = {5, 0, 3}, none[] = {0, 0, 0};
    static const lud_observation_part parts[] = {
        {.name = "own", .per_agent = true, .dtype = LUD_F32, .n_dimensions = 1, .dimensions = {2}},
        {.name = "map", .dtype = LUD_U8, .n_dimensions = 2, .dimensions = {1, 2}},
        {.name = "all", .per_agent = true, .dtype = LUD_I32, .n_dimensions = 0}};
#define LARGEST "3.4028234663852886e38"
    static const struct {
        int n_agents, n_continuous;
        const int32_t *n_choices;
        float low, high;
        const char *actions, *own, *all;
    } cases[] = {
        {1, 0, choices, 0, 0, "{\"type\":\"Discrete\",\"dtype\":\"int64\",\"start\":0,\"n\":5}",
         "{\"type\":\"Box\",\"dtype\":\"float32\",\"shape\":[2],\"low\":[-" LARGEST ",-" LARGEST
         "],\"high\":[" LARGEST "," LARGEST "]}",
         "{\"type\":\"Box\",\"dtype\":\"int32\",\"shape\":[],\"low\":-2147483648,\"high\":2147483647}"},
        {3, 0, choices, 0, 0,
         "{\"type\":\"MultiDiscrete\",\"dtype\":\"int64\",\"nvec\":[5,1,3],\"start\":[0,-1,0]}", NULL,
         "{\"type\":\"Box\",\"dtype\":\"int32\",\"shape\":[3],\"low\":[-2147483648,-2147483648,-2147483648],"
         "\"high\":[2147483647,2147483647,2147483647]}"},
        {1, 2, none, -1, INFINITY,
         "{\"type\":\"Box\",\"dtype\":\"float32\",\"shape\":[2],\"low\":[-1.0,-1.0],\"high\":[" LARGEST
         "," LARGEST "]}",
         NULL, NULL},
        {2, 1, none, -INFINITY, 0.5f,
         "{\"type\":\"Box\",\"dtype\":\"float32\",\"shape\":[2,1],\"low\":[[-" LARGEST "],[-" LARGEST
         "]],\"high\":[[0.5],[0.5]]}",
         NULL, NULL},
        {1, 1, choices, 0, 2,
         "{\"type\":\"Dict\",\"subspaces\":{\"discrete\":{\"type\":\"Discrete\",\"dtype\":\"int64\","
         "\"start\":0,"
         "\"n\":5},\"continuous\":{\"type\":\"Box\",\"dtype\":\"float32\",\"shape\":[1],\"low\":[0.0],"
         "\"high\":[2.0]}}}",
         NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lud_data_info info = {.policy = "random",
                                    .n_agents = cases[i].n_agents,
                                    .n_continuous = cases[i].n_continuous,
                                    .n_choices = cases[i].n_choices,
                                    .low = cases[i].low,
                                    .high = cases[i].high,
                                    .n_parts = 3,
                                    .parts = parts};
        char *text = lud_minari_metadata(&info, "rescue-v0", 7, 65);
        json_t *metadata = json_loads(text, 0, NULL);
        assert_non_null(metadata);
        assert_string_equal(json_string_value(json_object_get(metadata, "dataset_id")), "rescue-v0");
        assert_string_equal(json_string_value(json_object_get(metadata, "algorithm_name")), "random");
        assert_string_equal(json_string_value(json_object_get(metadata, "data_format")), "hdf5");
        assert_int_equal(json_integer_value(json_object_get(metadata, "total_episodes")), 7);
        assert_int_equal(json_integer_value(json_object_get(metadata, "total_steps")), 65);
        assert_true(json_is_false(json_object_get(metadata, "jpeg_encoding")));
        json_t *actions = space_of(metadata, "action_space"),
               *observations = space_of(metadata, "observation_space"),
               *subspaces = json_object_get(observations, "subspaces");
        expect_space(actions, cases[i].actions);
        assert_int_equal(json_object_size(subspaces), 3);
        expect_space(json_object_get(subspaces, "map"),
                     "{\"type\":\"Box\",\"dtype\":\"uint8\",\"shape\":[1,2],"
                     "\"low\":[[0,0]],\"high\":[[255,255]]}");
        if (cases[i].own) expect_space(json_object_get(subspaces, "own"), cases[i].own);
        if (cases[i].all) expect_space(json_object_get(subspaces, "all"), cases[i].all);
        json_decref(actions);
        json_decref(observations);
        json_decref(metadata);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_data_sets),     cmocka_unit_test(test_spaces_for_minari),
        cmocka_unit_test(test_files_that_are_cut_off), cmocka_unit_test(test_files_with_other_bytes),
        cmocka_unit_test(test_heaps_that_do_not_end),  cmocka_unit_test(test_files_of_others),
        cmocka_unit_test(test_hostile_files),          cmocka_unit_test(test_commits),
        cmocka_unit_test(test_journals_hold_commits),  cmocka_unit_test(test_full_disks)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
