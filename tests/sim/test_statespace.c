#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "effort.h"
#include "sim/statespace/state_sort.h"
#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace.h"
#include "sim/statespace/statespace_build.h"
#include "sim/support_grids.h"
#include "sim/support_walk.h"

/* The plain way: a list of states with linear search, layer by layer. */
typedef struct naive_set {
    size_t n, state_bytes;
    uint8_t states[20000][16];
    int layer[20000];
} naive_set;

static int naive_find(const naive_set *set, const uint8_t *state) {
    for (size_t i = 0; i < set->n; i++)
        if (memcmp(set->states[i], state, set->state_bytes) == 0) return (int)i;
    return -1;
}

static void naive_add(naive_set *set, const uint8_t *state, int layer) {
    if (naive_find(set, state) >= 0) return;
    assert_true(set->n < 20000);
    memcpy(set->states[set->n], state, set->state_bytes);
    set->layer[set->n++] = layer;
}

static naive_set *naive_closure(const lud_model *model) {
    naive_set *set = calloc(1, sizeof *set);
    set->state_bytes = model->layout.state_bytes;
    uint8_t start[16];
    uint32_t tick = 0;
    model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, start);
    naive_add(set, start, 0);
    lud_successors successors = {0};
    for (size_t s = 0; s < set->n; s++)
        for (int32_t k = 0; k < lud_joint_action_count(&model->layout); k++) {
            int32_t action[8];
            lud_joint_action_decode(&model->layout, k, action);
            assert_int_equal(model->world->successors(model, set->states[s], action, &successors, NULL),
                             LUD_OK);
            for (size_t i = 0; i < successors.n; i++)
                naive_add(set, successors.states + i * set->state_bytes, set->layer[s] + 1);
        }
    lud_successors_free(&successors);
    return set;
}

static void check_against_naive(const walk_model *walk) {
    const lud_model *model = &walk->model;
    size_t state_bytes = model->layout.state_bytes;
    lud_statespace *space;
    lud_statespace_options options = {.n_threads = 2};
    assert_int_equal(lud_statespace_build(model, &options, &space, NULL), LUD_OK);
    naive_set *set = naive_closure(model);
    assert_int_equal(space->n_states, set->n);
    uint64_t n_transitions = 0, n_terminal = 0;
    for (int layer = 0; layer < space->n_layers; layer++)
        for (uint64_t s = space->layer_begin[layer]; s < space->layer_begin[layer + 1]; s++) {
            const uint8_t *state = space->states + s * state_bytes;
            int found = naive_find(set, state);
            assert_true(found >= 0);
            assert_int_equal(set->layer[found], layer);
            assert_int_equal(lud_statespace_find(space, state), s);
            if (s > space->layer_begin[layer])
                assert_true(memcmp(state - state_bytes, state, state_bytes) < 0);
            bool terminal = model->world->is_terminal(model, state);
            assert_int_equal(lud_statespace_terminal(space, s), terminal);
            n_terminal += terminal;
            for (int32_t k = 0; k < space->n_joint_actions; k++) {
                int32_t action[8];
                lud_joint_action_decode(&model->layout, k, action);
                lud_statespace_row row = lud_statespace_get_row(space, s, k);
                assert_int_equal(row.n == 0, terminal);
                double sum = 0;
                for (uint32_t i = 0; i < row.n; i++) {
                    assert_true(row.successor[i] < space->n_states);
                    double expected =
                        walk_probability(walk, state, action, space->states + row.successor[i] * state_bytes);
                    assert_true(row.probability[i] > 0);
                    assert_true(row.probability[i] - expected < 1e-14 &&
                                expected - row.probability[i] < 1e-14);
                    for (uint32_t j = 0; j < i; j++) assert_int_not_equal(row.successor[i], row.successor[j]);
                    sum += row.probability[i];
                }
                if (!terminal) assert_true(sum > 1 - 1e-12 && sum < 1 + 1e-12);
                n_transitions += row.n;
            }
        }
    assert_int_equal(n_transitions, space->n_transitions);
    assert_int_equal(n_terminal, space->n_terminal);
    free(set);
    lud_statespace_destroy(space);
}

static void test_against_plain_search(void **state) {
    (void)state;
    struct {
        int walkers, length, max_steps;
    } cases[] = {{1, 5, 0}, {1, 5, 9}, {2, 4, 6}, {2, 9, 0}, {3, 5, 5}, {3, 4, 0}, {2, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        walk_model *walk = walk_create(cases[i].walkers, cases[i].length, cases[i].max_steps);
        check_against_naive(walk);
        walk_destroy(walk);
    }
}

static uint64_t digest(const lud_statespace *space) {
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset(hash);
    XXH3_64bits_update(hash, space->states, space->n_states * space->state_bytes);
    XXH3_64bits_update(hash, space->layer_begin, ((size_t)space->n_layers + 1) * sizeof *space->layer_begin);
    XXH3_64bits_update(hash, space->rows,
                       space->n_states * (size_t)space->n_joint_actions * sizeof *space->rows);
    XXH3_64bits_update(hash, space->branch_begin, (space->n_branches + 1) * sizeof *space->branch_begin);
    XXH3_64bits_update(hash, space->branch_kind, space->n_branches * sizeof *space->branch_kind);
    XXH3_64bits_update(hash, space->successor, space->n_successors * sizeof *space->successor);
    if (space->n_distributions) {
        XXH3_64bits_update(hash, space->distribution_begin,
                           (space->n_distributions + 1) * sizeof *space->distribution_begin);
        XXH3_64bits_update(hash, space->probability,
                           space->distribution_begin[space->n_distributions] * sizeof *space->probability);
    }
    uint64_t result = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return result;
}

static void test_same_for_any_number_of_threads(void **state) {
    (void)state;
    /* layers of thousands of states, so that threads do meet; then a cyclic world */
    struct {
        int walkers, length, max_steps;
    } cases[] = {{3, 17, 9}, {3, 17, 0}};
    for (int i = 0; i < 2; i++) {
        walk_model *walk = walk_create(cases[i].walkers, cases[i].length, cases[i].max_steps);
        uint64_t expected = 0;
        int threads[] = {1, 2, 3, 8};
        for (int t = 0; t < 4; t++) {
            lud_statespace_options options = {.n_threads = threads[t]};
            lud_statespace *space;
            assert_int_equal(lud_statespace_build(&walk->model, &options, &space, NULL), LUD_OK);
            assert_true(space->n_states > 4000);
            if (t == 0) expected = digest(space);
            assert_int_equal(digest(space), expected);
            lud_statespace_destroy(space);
        }
        walk_destroy(walk);
    }
}

static uint64_t n_listed; /* calls of the function below */
static lud_status count_successors(const lud_model *model, const uint8_t *state, lud_successors *scratch,
                                   lud_successors *out, uint32_t *count, lud_error *error) {
#pragma omp atomic
    n_listed++;
    return lud_multigrid_world.all_successors(model, state, scratch, out, count, error);
}

/* The same bytes whether what recurs a step later is listed again or taken over, which saves listing. */
static void check_clock(lud_model *model, uint64_t *with, uint64_t *without) {
    const lud_clock clock = model->layout.clock;
    assert_true(clock.bytes > 0);
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        const lud_statespace_options options = {.n_threads = n_threads, .max_states = 5000};
        lud_statespace *plain = NULL, *space = NULL;
        n_listed = 0;
        model->layout.clock = (lud_clock){0};
        const lud_status status = lud_statespace_build(model, &options, &plain, NULL);
        const uint64_t n_listed_plain = n_listed;
        n_listed = 0;
        model->layout.clock = clock;
        assert_int_equal(lud_statespace_build(model, &options, &space, NULL), status);
        if (status == LUD_OK) {
            *without += n_listed_plain;
            *with += n_listed;
            assert_true(digest(space) == digest(plain));
            assert_int_equal(space->n_states, plain->n_states);
            assert_int_equal(space->n_terminal, plain->n_terminal);
            assert_int_equal(space->n_transitions, plain->n_transitions);
            assert_int_equal(space->n_branches, plain->n_branches);
            for (uint64_t s = 0; s < space->n_states; s++)
                assert_int_equal(lud_statespace_find(space, space->states + s * space->state_bytes), s);
        }
        lud_statespace_destroy(plain);
        lud_statespace_destroy(space);
    }
}

static void test_states_that_recur(void **state) {
    (void)state;
    uint64_t with = 0, without = 0;
    struct {
        int walkers, length, max_steps;
    } cases[] = {{1, 5, 9}, {2, 4, 6}, {3, 5, 5}, {2, 31, 25}, {3, 9, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        walk_model *walk = walk_create(cases[i].walkers, cases[i].length, cases[i].max_steps);
        check_clock(&walk->model, &with, &without);
        walk_destroy(walk);
    }
    /* grids with goals that end the episode, things that break for good, and chance */
    lud_world counted = lud_multigrid_world;
    counted.all_successors = count_successors;
    random_source source = {7};
    for (int g = 0; g < (SANITIZED ? 16 : 80); g++) {
        random_grid grid;
        random_grid_make(&source, &grid);
        grid.spec.rewards.goal = 1;
        grid.spec.rewards.goal_ends = g % 2;
        grid.spec.n_agents = grid.spec.n_agents > 2 ? 2 : grid.spec.n_agents;
        grid.spec.max_steps = 2 + g % 9;
        lud_model *model;
        assert_int_equal(lud_grid_model_create(&grid.spec, &model, NULL), LUD_OK);
        model->world = &counted;
        check_clock(model, &with, &without);
        lud_grid_model_destroy(model);
    }
    print_message("%llu states listed instead of %llu\n", (unsigned long long)with,
                  (unsigned long long)without);
    assert_true(with < without - without / 4);
}

/* Starts at different steps: nothing is taken for something that it is not. */
static void test_starts_at_different_steps(void **state) {
    (void)state;
    walk_model *walk = walk_create(2, 9, 7);
    uint8_t starts[2][6];
    walk_state(walk, 0, (int[]){7, 2}, starts[0]);
    walk_state(walk, 2, (int[]){7, 2}, starts[1]);
    const lud_statespace_options options = {.starts = starts[0], .n_starts = 2, .n_threads = 2};
    lud_statespace *space, *plain;
    assert_int_equal(lud_statespace_build(&walk->model, &options, &space, NULL), LUD_OK);
    walk->model.layout.clock = (lud_clock){0};
    assert_int_equal(lud_statespace_build(&walk->model, &options, &plain, NULL), LUD_OK);
    assert_true(digest(space) == digest(plain));
    lud_statespace_destroy(space);
    lud_statespace_destroy(plain);
    walk_destroy(walk);
}

static void test_starts(void **state) {
    (void)state;
    walk_model *walk = walk_create(1, 9, 3);
    uint8_t starts[3][4];
    walk_state(walk, 1, (int[]){7}, starts[0]);
    walk_state(walk, 1, (int[]){2}, starts[1]);
    walk_state(walk, 1, (int[]){7}, starts[2]); /* given twice, there once */
    lud_statespace *space;
    lud_statespace_options options = {.starts = starts[0], .n_starts = 3, .n_threads = 1};
    assert_int_equal(lud_statespace_build(&walk->model, &options, &space, NULL), LUD_OK);
    assert_int_equal(space->n_layers, 3);
    assert_int_equal(space->layer_begin[1], 2);
    assert_int_equal(lud_statespace_find(space, starts[1]), 0);
    assert_int_equal(lud_statespace_find(space, starts[0]), 1);
    uint8_t outside[4];
    walk_state(walk, 2, (int[]){5}, outside);
    assert_int_equal(lud_statespace_find(space, outside), UINT32_MAX);
    lud_statespace_destroy(space);
    walk_destroy(walk);
}

static void test_limits(void **state) {
    (void)state;
    walk_model *walk = walk_create(3, 40, 30);
    lud_statespace *space;
    lud_error error = {0};
    lud_statespace_options few = {.max_states = 1000, .n_threads = 2};
    assert_int_equal(lud_statespace_build(&walk->model, &few, &space, &error), LUD_ERROR_LIMIT);
    assert_null(space);
    assert_non_null(strstr(error.text, "more than the limit of 1000 states: reached"));
    lud_statespace_options little = {.memory_limit = 3 << 20, .n_threads = 2};
    assert_int_equal(lud_statespace_build(&walk->model, &little, &space, &error), LUD_ERROR_MEMORY);
    assert_null(space);
    assert_non_null(strstr(error.text, "needs more than the memory limit of 3.00 MiB: reached"));
    walk_destroy(walk);
}

/* What cannot be held is told before anything is built, with the estimate. */
static void test_memory_is_asked_for_before(void **state) {
    (void)state;
    walk_model *walk = walk_create(3, 40, 30);
    lud_error error = {0};
    lud_statespace_estimate e;
    assert_int_equal(lud_statespace_guess(&walk->model, NULL, &e, NULL), LUD_OK);
    assert_true(e.kept > 0 && e.kept < e.bytes);
    const uint64_t between = (uint64_t)((e.kept + e.bytes) / 2);
    lud_statespace_options o = {.memory_limit = 2 * (uint64_t)e.bytes};
    assert_int_equal(lud_statespace_check_memory(&e, &o, &error), LUD_OK);
    o.memory_limit = between / 2 < (uint64_t)e.kept ? between : between / 2;
    assert_int_equal(lud_statespace_check_memory(&e, &o, &error), LUD_ERROR_MEMORY);
    assert_non_null(strstr(error.text, "B of memory for "));
    assert_non_null(strstr(error.text, "more than the memory limit of "));
    o.folder = "/tmp"; /* the rest goes there */
    assert_int_equal(lud_statespace_check_memory(&e, &o, &error), LUD_OK);
    o.memory_limit = (uint64_t)(e.kept / 2);
    assert_int_equal(lud_statespace_check_memory(&e, &o, &error), LUD_ERROR_MEMORY);
    assert_non_null(strstr(error.text, "beside its files"));
    walk_destroy(walk);
}

static int arrays_in_files(const lud_statespace *space) {
    int n = 0;
    for (int i = 0; i < LUD_STATESPACE_ARRAYS; i++) n += space->arrays[i].mapped;
    return n;
}

/* Limits from "everything fits" down to "nothing but the table does" give the same state space. */
static void test_files_instead_of_memory(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-space-XXXXXX";
    assert_non_null(mkdtemp(folder));
    walk_model *walk = walk_create(3, 30, 12);
    lud_statespace *space;
    lud_error error = {0};
    assert_int_equal(
        lud_statespace_build(&walk->model, &(lud_statespace_options){.n_threads = 1}, &space, NULL), LUD_OK);
    uint64_t expected = digest(space), all = space->peak_bytes;
    assert_int_equal(arrays_in_files(space), 0);
    assert_true(space->file_bytes == 0);
    lud_statespace_destroy(space);
    bool some = false, most = false;
    for (uint64_t limit = all + all / 20; limit > all / 20; limit -= limit / 4) {
        lud_statespace_options options = {.memory_limit = limit, .folder = folder, .n_threads = 1};
        lud_status status = lud_statespace_build(&walk->model, &options, &space, &error);
        if (status) break; /* the table itself has no room */
        int n = arrays_in_files(space);
        some |= n > 0 && n < LUD_ARRAY_STATES;
        most |= n >= LUD_ARRAY_STATES; /* these states are so small that the table goes first */
        assert_int_equal(digest(space), expected);
        assert_true(space->peak_bytes <= limit);
        assert_int_equal(space->file_bytes > 0, n > 0);
        for (uint64_t s = 0; s < space->n_states; s += 97)
            assert_int_equal(lud_statespace_find(space, space->states + s * space->state_bytes), s);
        lud_statespace_destroy(space);
    }
    assert_true(some && most);
    assert_non_null(strstr(error.text, "memory limit"));
    assert_int_equal(rmdir(folder), 0); /* and nothing is left behind */
    lud_statespace_options nowhere = {.memory_limit = all / 2, .folder = folder, .n_threads = 1};
    assert_int_equal(lud_statespace_build(&walk->model, &nowhere, &space, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, folder));
    walk_destroy(walk);
}

static void test_large_array(void **state) {
    (void)state;
    enum { N = 900000 };                              /* past where an array has its own pages */
    for (int moved = 0; moved <= N; moved += N / 3) { /* never (0 bytes at once), in the middle, at the end */
        lud_large_array array = {0};
        lud_error error = {0};
        uint64_t used = 0;
        if (moved == 0) assert_int_equal(lud_large_array_to_file(&array, 0, "/tmp", &error), LUD_OK);
        for (int i = 0; i < N; i += 1000) {
            if (i == moved) assert_int_equal(lud_large_array_to_file(&array, used, "/tmp", &error), LUD_OK);
            assert_int_equal(lud_large_array_reserve(&array, used + 4000, &error), LUD_OK);
            for (int k = 0; k < 1000; k++) ((uint32_t *)array.bytes)[i + k] = (uint32_t)(i + k) * 2654435761u;
            used += 4000;
        }
        lud_large_array_trim(&array, used);
        assert_true(array.capacity >= used && array.capacity < used + 4096);
        for (int i = 0; i < N; i++)
            assert_int_equal(((const uint32_t *)array.bytes)[i], (uint32_t)i * 2654435761u);
        assert_int_equal(array.mapped, moved < N);
        lud_large_array_free(&array);
        assert_null(array.bytes);
    }
}

/* A disk that is full while an array grows. */
static void test_array_on_a_full_disk(void **state) {
    (void)state;
    lud_large_array array = {0};
    lud_error error = {0};
    assert_int_equal(lud_large_array_to_file(&array, 0, "/tmp", &error), LUD_OK);
    assert_int_equal(lud_large_array_reserve(&array, 8192, &error), LUD_OK);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){16384, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    lud_status status = lud_large_array_reserve(&array, 1 << 20, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, LUD_ERROR_IO);
    assert_string_equal(error.text, "cannot enlarge a file for what memory does not hold: File too large");
    ((uint8_t *)array.bytes)[8191] = 1; /* what was there is there */
    lud_large_array_free(&array);
    assert_int_equal(lud_large_array_to_file(&array, 0, "/no/such/folder", &error), LUD_ERROR_IO);
    assert_string_equal(error.text,
                        "/no/such/folder: cannot make a file for what memory does not hold: No such file "
                        "or directory");
}

static void test_worlds_without_exact_model(void **state) {
    (void)state;
    walk_model *walk = walk_create(1, 5, 3);
    lud_world no_successors = *walk->model.world;
    no_successors.successors = NULL;
    walk->model.world = &no_successors;
    lud_statespace *space;
    lud_statespace_estimate estimate;
    lud_error error = {0};
    assert_int_equal(lud_statespace_build(&walk->model, NULL, &space, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "world 'walk' has no exact model: it cannot list successors");
    assert_int_equal(lud_statespace_guess(&walk->model, NULL, &estimate, &error), LUD_ERROR_UNSUPPORTED);
    walk_destroy(walk);
}

/* More than what 32 bits number, without the hundreds of gigabytes that it would take. */
static void test_largest_numbers(void **state) {
    (void)state;
    lud_error error = {0};
    assert_int_equal(lud_statespace_check_numbers(LUD_MAX_STATES - 10, 10, 0x7ffffffe, 5, &error), LUD_OK);
    assert_int_equal(lud_statespace_check_numbers(LUD_MAX_STATES - 10, 11, 0, 5, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "more than 2^31 states: reached 2147483636 in layer 5");
    assert_int_equal(lud_statespace_check_numbers(99, 11, 0x7fffffff, 5, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "more than 2^31 branching rows after 99 states");
}

static void test_guess(void **state) {
    (void)state;
    /* small: exact */
    walk_model *walk = walk_create(2, 9, 8);
    lud_statespace_estimate estimate;
    lud_statespace *space;
    assert_int_equal(lud_statespace_guess(&walk->model, NULL, &estimate, NULL), LUD_OK);
    assert_int_equal(lud_statespace_build(&walk->model, NULL, &space, NULL), LUD_OK);
    assert_true(estimate.exhausted);
    assert_int_equal((uint64_t)estimate.states, space->n_states);
    assert_int_equal((uint64_t)estimate.transitions, space->n_transitions);
    assert_int_equal((uint64_t)estimate.branches, space->n_branches);
    assert_int_equal(estimate.layers, space->n_layers);
    lud_statespace_destroy(space);
    walk_destroy(walk);
    /* larger than the sample: right within a factor of two */
    walk = walk_create(3, 31, 16);
    assert_int_equal(lud_statespace_guess(&walk->model, NULL, &estimate, NULL), LUD_OK);
    assert_int_equal(lud_statespace_build(&walk->model, NULL, &space, NULL), LUD_OK);
    assert_false(estimate.exhausted);
    double truth = (double)space->n_states;
    assert_true(truth > 100000);
    assert_true(estimate.states > truth / 2 && estimate.states < truth * 2);
    assert_true(estimate.bytes > (double)space->bytes / 3 && estimate.bytes < (double)space->bytes * 3);
    lud_statespace_destroy(space);
    walk_destroy(walk);
}

/* Besides its successors a state costs at most 64 bytes, the building included in what is held. */
static void test_memory_per_state(void **state) {
    (void)state;
    walk_model *walk = walk_create(3, 31, 16);
    lud_statespace *space;
    assert_int_equal(lud_statespace_build(&walk->model, NULL, &space, NULL), LUD_OK);
    uint64_t successors = space->n_states * (uint64_t)space->n_joint_actions * sizeof *space->rows +
                          space->n_branches * 12 + space->n_successors * 4;
    assert_true(space->bytes >= successors);
    assert_true(space->bytes - successors <= 64 * space->n_states);
    assert_true(space->peak_bytes >= space->bytes / 2);
    lud_statespace_destroy(space);
    walk_destroy(walk);
}

static const uint8_t *sort_states;
static size_t sort_bytes;
static int compare_items(const void *a, const void *b) {
    const lud_sort_item *x = a, *y = b;
    return memcmp(sort_states + x->number * sort_bytes, sort_states + y->number * sort_bytes, sort_bytes);
}

static void test_sort(void **state) {
    (void)state;
    /* sizes with few and many differing bits, the last ones beyond a 64-bit key */
    struct {
        size_t n, bytes;
        uint8_t mask;
    } cases[] = {{2, 4, 0xff},      {17, 8, 0xff},      {5000, 6, 0x1c},
                 {40000, 24, 0x0f}, {20000, 200, 0x01}, {9000, 70, 0x80}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].n, bytes = cases[c].bytes;
        uint8_t *states = malloc(n * bytes);
        lud_sort_item *items = malloc(n * sizeof *items), *scratch = malloc(n * sizeof *items),
                      *expected = malloc(n * sizeof *items);
        for (size_t i = 0; i < n * bytes; i++)
            states[i] =
                0x42 ^ (cases[c].mask &
                        (uint8_t)lud_draw((lud_random_key){c, 0}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0).v[0]);
        for (size_t i = 0; i < n; i++) items[i].number = expected[i].number = (uint32_t)(n - 1 - i);
        sort_states = states;
        sort_bytes = bytes;
        qsort(expected, n, sizeof *expected, compare_items);
        /* drop equal ones: the sort is for sets */
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (!m || compare_items(&expected[m - 1], &expected[i])) expected[m++] = expected[i];
        for (size_t i = 0; i < m; i++) items[i].number = expected[(i * 7919 + 13) % m].number;
        bool permutation = m % 7919 != 0;
        assert_true(permutation);
        lud_state_sort(states, bytes, items, scratch, m, 3);
        for (size_t i = 0; i < m; i++) assert_int_equal(items[i].number, expected[i].number);
        free(states);
        free(items);
        free(scratch);
        free(expected);
    }
}

/* Sorted lists with states in common, none, or all of them, against marks of what is in any. */
static void test_merge(void **state) {
    (void)state;
    enum { MOST = 700, LISTS = 9 };
    for (int n_lists = 1; n_lists <= LISTS; n_lists++)
        for (uint32_t share = 0; share <= 4; share++) {
            uint8_t states[LISTS * MOST * 3], scratch[sizeof states], *merged;
            size_t begin[LISTS + 1] = {0}, n_marked = 0;
            bool marked[MOST] = {false};
            for (int k = 0; k < n_lists; k++) {
                begin[k + 1] = begin[k];
                for (uint32_t i = 0; i < MOST; i++) {
                    const lud_random_key key = {(uint64_t)n_lists, share};
                    if (lud_draw(key, i, (uint32_t)k, LUD_PURPOSE_USER, 0).v[0] % 4 >= share) continue;
                    uint8_t *one = states + 3 * begin[k + 1]++;
                    one[0] = (uint8_t)(i * 90 >> 16); /* so that all bytes differ, the first seldom */
                    one[1] = (uint8_t)(i * 90 >> 8);
                    one[2] = (uint8_t)(i * 90);
                    n_marked += !marked[i];
                    marked[i] = true;
                }
            }
            assert_int_equal(lud_state_merge(states, scratch, 3, begin, n_lists, &merged), n_marked);
            for (uint32_t i = 0; i < MOST; i++) {
                if (!marked[i]) continue;
                assert_int_equal(merged[0] << 16 | merged[1] << 8 | merged[2], i * 90);
                merged += 3;
            }
        }
}

/* What the machine says is available or, where that is less, what the group of processes may still have. */
static void test_free_memory(void **state) {
    (void)state;
    FILE *file = fopen("/proc/meminfo", "r");
    double available = 0, number;
    char line[256], unit[16];
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf %15s", &number, unit) == 2) available = number * 1024;
    fclose(file);
    assert_true(available > 0);
    double limit = INFINITY, used = 0;
    if ((file = fopen("/sys/fs/cgroup/memory.max", "r"))) {
        if (fscanf(file, "%lf", &number) == 1) limit = number;
        fclose(file);
    }
    if ((file = fopen("/sys/fs/cgroup/memory.current", "r"))) {
        if (fscanf(file, "%lf", &number) == 1) used = number;
        fclose(file);
    }
    const double expected = fmin(available, fmax(limit - used, 0)), found = (double)lud_free_memory();
    assert_true(fabs(found - expected) < 0.2 * expected + 256e6); /* others take and give meanwhile */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_memory),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_against_plain_search),
        cmocka_unit_test(test_same_for_any_number_of_threads),
        cmocka_unit_test(test_states_that_recur),
        cmocka_unit_test(test_starts_at_different_steps),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory_is_asked_for_before),
        cmocka_unit_test(test_files_instead_of_memory),
        cmocka_unit_test(test_large_array),
        cmocka_unit_test(test_array_on_a_full_disk),
        cmocka_unit_test(test_worlds_without_exact_model),
        cmocka_unit_test(test_largest_numbers),
        cmocka_unit_test(test_guess),
        cmocka_unit_test(test_memory_per_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
