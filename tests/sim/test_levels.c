/* Worlds explored level by level, with levels on disk: the same states, in the same order, as the whole graph
 * has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <dirent.h>

#include "base/interrupt.h"
#include "folder.h"
#include "full_disk.h"
#include "sim/scenario.h"
#include "sim/statespace/levels.h"
#include "sim/statespace/statespace.h"
#include "sim/support_walk.h"

TEST_FOLDER("/tmp/ludus-levels-XXXXXX")

enum { KEY = 77 };

static off_t size_of(const char *path) {
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    return file.st_size;
}

/* ---- a world of walkers that says its step ---- */

static int walk_elapsed(const lud_model *model, const uint8_t *state) {
    (void)model;
    uint16_t step;
    memcpy(&step, state, sizeof step);
    return step;
}

typedef struct stepping {
    walk_model *walk;
    lud_world world;
} stepping;

static stepping stepping_create(int walkers, int length, int max_steps) {
    stepping s = {.walk = walk_create(walkers, length, max_steps)};
    s.world = *s.walk->model.world;
    s.world.elapsed = walk_elapsed;
    return s;
}

static const lud_model *model_of(stepping *s) {
    s->walk->model.world = &s->world;
    return &s->walk->model;
}

/* ---- against the whole graph ---- */

static void check_same(const lud_statespace *space, const lud_levels *levels, const lud_level_file *file) {
    assert_int_equal(levels->n_states, space->n_states);
    assert_int_equal(levels->n_terminal, space->n_terminal);
    assert_int_equal(levels->n_transitions, space->n_transitions);
    assert_int_equal(levels->n, space->n_layers);
    for (int i = 0; i <= levels->n; i++) assert_int_equal(levels->begin[i], space->layer_begin[i]);
    if (!file) return;
    assert_true(file->ended);
    assert_int_equal(file->n_levels, space->n_layers);
    assert_int_equal(file->n_states, space->n_states);
    assert_int_equal(file->n_transitions, space->n_transitions);
    assert_int_equal(file->n_terminal, space->n_terminal);
    uint8_t *states = malloc(space->n_states * space->state_bytes);
    lud_error error = {0};
    for (int level = 0; level < file->n_levels; level++)
        if (lud_level_file_read(file, level, states + levels->begin[level] * space->state_bytes, &error))
            fail_msg("%s", error.text);
    assert_memory_equal(states, space->states, space->n_states * space->state_bytes);
    free(states);
}

static lud_level_file *opened(const lud_model *model, const char *name, bool resume) {
    lud_level_file *file;
    lud_error error = {0};
    if (lud_level_file_open(in_folder(name), model->layout.state_bytes, KEY, resume, &file, &error))
        fail_msg("%s", error.text);
    return file;
}

static void check_model(const lud_model *model, const char *name) {
    lud_statespace *space;
    lud_error error = {0};
    if (lud_statespace_build(model, &(lud_statespace_options){.n_threads = 2}, &space, &error))
        fail_msg("%s: %s", name, error.text);
    uint64_t widest = 0;
    for (int i = 0; i < space->n_layers; i++)
        if (space->layer_begin[i + 1] - space->layer_begin[i] > widest)
            widest = space->layer_begin[i + 1] - space->layer_begin[i];
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        lud_level_file *file = n_threads < 3 ? opened(model, "levels", false) : NULL; /* or counted only */
        lud_levels levels;
        const lud_levels_options options = {.file = file, .n_threads = n_threads};
        if (lud_levels_find(model, &options, &levels, &error)) fail_msg("%s: %s", name, error.text);
        check_same(space, &levels, file);
        lud_levels_free(&levels);
        lud_level_file_close(file);
    }
    lud_statespace_destroy(space);
}

static void test_walkers(void **state) {
    (void)state;
    struct {
        int walkers, length, max_steps;
    } cases[] = {{1, 5, 9}, {2, 4, 6}, {3, 5, 5}, {2, 3, 1}, {3, 17, 9}, {3, 40, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stepping s = stepping_create(cases[i].walkers, cases[i].length, cases[i].max_steps);
        check_model(model_of(&s), "walkers");
        walk_destroy(s.walk);
    }
}

/* Every world of a folder that counts its steps; the large ones with fewer steps. */
static int check_worlds(const char *of) {
    DIR *d = opendir(of);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (!strstr(entry->d_name, ".yaml")) continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", of, entry->d_name);
        bool small = false;
        static const char *const fewer[] = {NULL, "multigrid.max_steps=6", "multigrid.max_steps=3",
                                            "multigrid.max_steps=1"};
        for (int k = 0; k < 4 && !small; k++) {
            lud_scenario *scenario;
            lud_error error = {0};
            if (lud_scenario_load(path, &fewer[k], k > 0, &scenario, &error)) fail_msg("%s", error.text);
            const lud_model *model = scenario->model;
            const int32_t n_joint = lud_joint_action_count(&model->layout);
            if (lud_levels_possible(model) && n_joint > 0 && n_joint < 500) {
                lud_statespace *space;
                const lud_statespace_options options = {.max_states = 1000000 / (uint64_t)n_joint,
                                                        .n_threads = 1};
                const lud_status status = lud_statespace_build(model, &options, &space, &error);
                small = status == LUD_OK;
                if (!small && status != LUD_ERROR_LIMIT) fail_msg("%s: %s", path, error.text);
                lud_statespace_destroy(space);
            }
            if (small) check_model(model, path);
            n += small;
            lud_scenario_destroy(scenario);
        }
    }
    closedir(d);
    return n;
}

static void test_shipped_worlds(void **state) {
    (void)state;
    assert_true(check_worlds(LUDUS_SOURCE_DIR "/scenarios/empo") >= 15);
    assert_true(check_worlds(LUDUS_SOURCE_DIR "/scenarios/multigrid") >= 15);
}

/* ---- memory ---- */

/* The limit counts: just what it takes is enough, less is an error that says how far it came, and what is
 * there by then can be gone on from. */
static void test_little_memory(void **state) {
    (void)state;
    stepping s = stepping_create(3, 40, 14);
    const lud_model *model = model_of(&s);
    lud_levels all, levels;
    lud_error error = {0};
    assert_int_equal(lud_levels_find(model, &(lud_levels_options){.n_threads = 1}, &all, &error), LUD_OK);
    lud_statespace *space;
    assert_int_equal(lud_statespace_build(model, &(lud_statespace_options){.n_threads = 1}, &space, NULL),
                     LUD_OK);
    assert_true(all.peak_bytes < space->peak_bytes / 2); /* two of fifteen levels, no rows */
    lud_levels_options options = {.n_threads = 1, .memory_limit = all.peak_bytes};
    assert_int_equal(lud_levels_find(model, &options, &levels, &error), LUD_OK);
    check_same(space, &levels, NULL);
    lud_levels_free(&levels);
    lud_level_file *file = opened(model, "little", false);
    options = (lud_levels_options){.n_threads = 1, .memory_limit = all.peak_bytes / 4 * 3, .file = file};
    assert_int_equal(lud_levels_find(model, &options, &levels, &error), LUD_ERROR_MEMORY);
    assert_non_null(strstr(error.text, "need more than the memory limit of "));
    assert_non_null(strstr(error.text, ": reached "));
    const int came = file->n_levels;
    assert_true(came > 2 && came < space->n_layers);
    lud_level_file_close(file);
    file = opened(model, "little", true);
    assert_int_equal(file->n_levels, came);
    options = (lud_levels_options){.n_threads = 2, .file = file};
    assert_int_equal(lud_levels_find(model, &options, &levels, &error), LUD_OK);
    assert_int_equal(levels.n_before, space->layer_begin[came]);
    check_same(space, &levels, file);
    lud_levels_free(&levels);
    lud_level_file_close(file);
    /* what a sweep will need beside is asked for while levels are found */
    options = (lud_levels_options){
        .n_threads = 1, .memory_limit = 2 * all.peak_bytes, .bytes_beside = all.peak_bytes / 1000};
    assert_int_equal(lud_levels_find(model, &options, &levels, &error), LUD_ERROR_MEMORY);
    lud_levels_free(&all);
    lud_statespace_destroy(space);
    walk_destroy(s.walk);
}

/* ---- ended in between ---- */

/* Ctrl-C at any question, then again, until the end. */
static void test_interrupted_and_resumed(void **state) {
    (void)state;
    stepping s = stepping_create(3, 20, 8);
    const lud_model *model = model_of(&s);
    lud_statespace *space;
    assert_int_equal(lud_statespace_build(model, &(lud_statespace_options){.n_threads = 1}, &space, NULL),
                     LUD_OK);
    lud_status status = LUD_INTERRUPTED;
    int sessions = 0;
    for (; status == LUD_INTERRUPTED; sessions++) {
        lud_level_file *file = opened(model, "interrupted", sessions > 0);
        lud_levels levels;
        lud_error error = {0};
        lud_interrupt_at(2 + sessions % 3);
        status = lud_levels_find(model, &(lud_levels_options){.n_threads = 2, .file = file}, &levels, &error);
        lud_interrupt_at(0);
        lud_interrupt_set(false);
        if (status == LUD_OK) check_same(space, &levels, file);
        if (status == LUD_INTERRUPTED) assert_non_null(strstr(error.text, "interrupted after "));
        lud_levels_free(&levels);
        lud_level_file_close(file);
        assert_true(sessions < 1000);
    }
    assert_int_equal(status, LUD_OK);
    assert_true(sessions > 3);
    lud_statespace_destroy(space);
    walk_destroy(s.walk);
}

/* A file that ends anywhere, as a killed writer leaves it, is taken up behind its finished levels. */
static void test_cut_anywhere(void **state) {
    (void)state;
    stepping s = stepping_create(2, 9, 5);
    const lud_model *model = model_of(&s);
    lud_statespace *space;
    assert_int_equal(lud_statespace_build(model, &(lud_statespace_options){.n_threads = 1}, &space, NULL),
                     LUD_OK);
    lud_level_file *file = opened(model, "cut", false);
    lud_levels levels;
    assert_int_equal(
        lud_levels_find(model, &(lud_levels_options){.n_threads = 1, .file = file}, &levels, NULL), LUD_OK);
    lud_levels_free(&levels);
    lud_level_file_close(file);
    static uint8_t whole[1 << 16], again[1 << 16];
    FILE *in = fopen(in_folder("cut"), "rb");
    const size_t length = fread(whole, 1, sizeof whole, in);
    fclose(in);
    assert_true(length > 500 && length < sizeof whole);
    for (size_t cut = 0; cut <= length; cut++) {
        FILE *out = fopen(in_folder("cut"), "wb");
        fwrite(whole, 1, cut, out);
        if (cut % 3 == 1) fwrite("half a block of what was written next", 1, 37, out);
        fclose(out);
        lud_error error = {0};
        const lud_status status =
            lud_level_file_open(in_folder("cut"), model->layout.state_bytes, KEY, true, &file, &error);
        if (cut < 40 && cut % 3 == 1) { /* a header that is none */
            if (status) assert_int_equal(status, LUD_ERROR_INPUT);
            if (status) continue;
        }
        assert_int_equal(status, LUD_OK);
        assert_int_equal(
            lud_levels_find(model, &(lud_levels_options){.n_threads = 1, .file = file}, &levels, &error),
            LUD_OK);
        check_same(space, &levels, file);
        lud_levels_free(&levels);
        lud_level_file_close(file);
        in = fopen(in_folder("cut"), "rb");
        assert_int_equal(fread(again, 1, sizeof again, in), length);
        fclose(in);
        assert_memory_equal(again, whole, length);
    }
    /* a byte that changed costs at most the levels from there on, never the result */
    for (size_t at = 40; at < length; at += 7) {
        memcpy(again, whole, length);
        again[at] ^= 0x40;
        FILE *out = fopen(in_folder("cut"), "wb");
        fwrite(again, 1, length, out);
        fclose(out);
        file = opened(model, "cut", true);
        assert_int_equal(
            lud_levels_find(model, &(lud_levels_options){.n_threads = 1, .file = file}, &levels, NULL),
            LUD_OK);
        check_same(space, &levels, file);
        lud_levels_free(&levels);
        lud_level_file_close(file);
    }
    lud_statespace_destroy(space);
    walk_destroy(s.walk);
}

static void test_full_disk(void **state) {
    (void)state;
    stepping s = stepping_create(3, 30, 10);
    const lud_model *model = model_of(&s);
    lud_statespace *space;
    assert_int_equal(lud_statespace_build(model, &(lud_statespace_options){.n_threads = 1}, &space, NULL),
                     LUD_OK);
    lud_level_file *file = opened(model, "full", false);
    lud_levels levels;
    lud_error error = {0};
    full_disk(9000);
    const lud_status status =
        lud_levels_find(model, &(lud_levels_options){.n_threads = 1, .file = file}, &levels, &error);
    empty_disk();
    assert_int_equal(status, LUD_ERROR_IO);
    assert_non_null(strstr(error.text, "/full: cannot write: " FULL_DISK));
    assert_true(size_of(in_folder("full")) <= 9000);
    lud_level_file_close(file);
    file = opened(model, "full", true);
    assert_true(file->n_levels > 1);
    assert_int_equal(
        lud_levels_find(model, &(lud_levels_options){.n_threads = 1, .file = file}, &levels, NULL), LUD_OK);
    check_same(space, &levels, file);
    /* states that hardly differ from their neighbours take little */
    assert_true((uint64_t)size_of(in_folder("full")) < space->n_states * space->state_bytes * 2 / 3);
    lud_levels_free(&levels);
    lud_level_file_close(file);
    lud_statespace_destroy(space);
    walk_destroy(s.walk);
}

/* ---- what cannot be done ---- */

static int late(const lud_model *model, const uint8_t *state) {
    const int step = walk_elapsed(model, state);
    return step > 3 ? 3 : step;
}

static void test_worlds_without_levels(void **state) {
    (void)state;
    stepping s = stepping_create(2, 7, 6);
    lud_levels levels;
    lud_error error = {0};
    s.world.elapsed = NULL;
    assert_false(lud_levels_possible(model_of(&s)));
    assert_int_equal(lud_levels_find(model_of(&s), &(lud_levels_options){0}, &levels, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "world 'walk': states do not count their steps"));
    s.world.elapsed = late; /* a count that stands still is found out */
    assert_int_equal(lud_levels_find(model_of(&s), &(lud_levels_options){0}, &levels, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "states do not count every step"));
    assert_null(levels.begin);
    s.world.elapsed = walk_elapsed;
    s.world.successors = NULL;
    assert_int_equal(lud_levels_find(model_of(&s), &(lud_levels_options){0}, &levels, &error),
                     LUD_ERROR_UNSUPPORTED);
    walk_destroy(s.walk);
}

static void test_foreign_files(void **state) {
    (void)state;
    lud_level_file *file;
    lud_error error = {0};
    const uint8_t states[] = {0, 1, 0, 2, 7, 7};
    assert_int_equal(lud_level_file_open(in_folder("foreign"), 2, KEY, false, &file, &error), LUD_OK);
    assert_int_equal(lud_level_file_append(file, states, 3, 0, 0, &error), LUD_OK);
    lud_level_file_close(file);
    assert_int_equal(lud_level_file_open(in_folder("foreign"), 2, KEY + 1, true, &file, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "/foreign: belongs to another world"));
    assert_null(file);
    assert_int_equal(lud_level_file_open(in_folder("foreign"), 3, KEY, true, &file, &error), LUD_ERROR_INPUT);
    FILE *out = fopen(in_folder("foreign"), "wb");
    fputs("something else that is long enough for a header", out);
    fclose(out);
    assert_int_equal(lud_level_file_open(in_folder("foreign"), 2, KEY, true, &file, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "not a file of levels"));
    assert_int_equal(lud_level_file_open("/no/such/folder/levels", 2, KEY, false, &file, &error),
                     LUD_ERROR_IO);
    /* a link is not written through */
    char target[128];
    snprintf(target, sizeof target, "%s", in_folder("foreign"));
    assert_int_equal(symlink(target, in_folder("link")), 0);
    assert_int_equal(lud_level_file_open(in_folder("link"), 2, KEY, false, &file, &error), LUD_OK);
    assert_int_equal(size_of(target), 47);
    lud_level_file_discard(file);
    lud_level_file_close(file);
    assert_int_not_equal(access(in_folder("link"), F_OK), 0);
    lud_level_file_discard(NULL);
    lud_level_file_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walkers),
        cmocka_unit_test(test_shipped_worlds),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_interrupted_and_resumed),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_worlds_without_levels),
        cmocka_unit_test(test_foreign_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
