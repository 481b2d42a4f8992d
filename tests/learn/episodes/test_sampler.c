/* Orders of samples: each once, the same for any number of threads, and to be taken up again anywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/episodes/sampler.h"
#include "learn/episodes/support_recording.h"

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

static void test_orders_are_permutations(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 5, 16, 17, 100, 4095, 4096, 4097};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint64_t n = sizes[k];
        uint8_t *seen = calloc(n, 1);
        uint64_t in_place = 0;
        for (uint64_t p = 0; p < n; p++) {
            const uint64_t index = lud_shuffled_index(3, 5, 1, n, p);
            assert_true(index < n && !seen[index]);
            seen[index] = 1;
            in_place += index == p;
        }
        if (n >= 100) assert_true(in_place < 10); /* one is to be expected */
        free(seen);
    }
    int same = 0;
    for (uint64_t p = 0; p < 1000; p++)
        same += lud_shuffled_index(3, 5, 1, 1000, p) == lud_shuffled_index(3, 6, 1, 1000, p);
    assert_true(same < 10);
    assert_true(lud_shuffled_index(1, 0, 0, UINT64_MAX, 12345) < UINT64_MAX);
}

/* Where the first of 5 elements goes is uniform: chi-squared with 4 degrees of freedom, p > 1e-4. */
static void test_orders_are_uniform(void **state) {
    (void)state;
    enum { N = 5, ORDERS = 5000 };
    int count[N][N] = {0};
    for (uint32_t order = 0; order < ORDERS; order++)
        for (uint64_t p = 0; p < N; p++) count[p][lud_shuffled_index(11, order, 0, N, p)]++;
    for (int p = 0; p < N; p++) {
        double chi = 0;
        for (int k = 0; k < N; k++)
            chi += (count[p][k] - ORDERS / N) * (count[p][k] - ORDERS / N) / (double)(ORDERS / N);
        assert_true(chi < 23.5);
    }
}

static void test_mixtures(void **state) {
    (void)state;
    const lud_sample_source sources[3] = {{100, 1}, {30, 2}, {7, 1}};
    lud_sampler sampler;
    lud_error error = {0};
    assert_int_equal(lud_sampler_create(sources, 3, 9, true, false, &sampler, &error), LUD_OK);
    /* shares 1/4, 1/2, 1/4: the first needs 400 draws to be seen whole */
    assert_int_equal(sampler.epoch_samples, 400);
    int seen[3][100] = {0}, count[3] = {0}, early[3] = {0};
    lud_sample_cursor cursor = {0};
    for (int k = 0; k < 400; k++) {
        lud_sample s;
        lud_sampler_next(&sampler, &cursor, 1, &s);
        assert_true(s.index < sources[s.source].n);
        seen[s.source][s.index]++;
        count[s.source]++;
        if (k < 100) early[s.source]++;
    }
    assert_true(count[0] == 100 && count[1] == 200 && count[2] == 100);
    assert_true(early[0] > 10 && early[1] > 30 && early[2] > 10); /* mixed, not one after the other */
    for (int i = 0; i < 3; i++)
        for (uint64_t k = 0; k < sources[i].n; k++) /* as often as every other, up to one */
            assert_in_range(seen[i][k], (uint64_t)count[i] / sources[i].n,
                            (uint64_t)count[i] / sources[i].n + 1);
    lud_sampler_free(&sampler);
    assert_int_equal(lud_sampler_create(sources, 3, 9, true, true, &sampler, &error), LUD_OK);
    assert_int_equal(sampler.epoch_samples, 167); /* 100 / (100 / 167) */
    lud_sampler_free(&sampler);
    assert_int_equal(lud_sampler_create(sources, 3, 9, false, true, &sampler, &error), LUD_OK);
    assert_int_equal(sampler.epoch_samples, 137);
    cursor = (lud_sample_cursor){0};
    lud_sample all[137];
    lud_sampler_next(&sampler, &cursor, 137, all);
    assert_true(all[0].source == 0 && all[99].index == 99 && all[100].source == 1 && all[136].index == 6);
    lud_sampler_free(&sampler);
    const lud_sample_source wrong[] = {{0, 1}, {3, 0}, {3, -1}, {3, NAN}, {3, INFINITY}, {3, 1e100}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(lud_sampler_create(&wrong[i], 1, 9, true, true, &sampler, &error), LUD_ERROR_INPUT);
    const lud_sample_source right[] = {{3, 1e-30}, {3, 0.99e100}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(lud_sampler_create(&right[i], 1, 9, true, true, &sampler, &error), LUD_OK);
        lud_sampler_free(&sampler);
    }
}

/* --- feeders --- */

typedef struct filled {
    uint64_t sum, first;
} filled;

static lud_status fill_slot(void *context, const lud_sample *samples, int n, void *slot, lud_error *error) {
    const uint64_t *fails_at = context;
    filled *f = slot;
    *f = (filled){.first = samples[0].index};
    for (int k = 0; k < n; k++) {
        f->sum = f->sum * 31 + samples[k].index + 1000 * (uint64_t)samples[k].source;
        if (fails_at && samples[k].index == *fails_at) return lud_fail(error, LUD_ERROR_IO, "sample %d", k);
    }
    return LUD_OK;
}

static void feed(int n_threads, lud_sample_cursor cursor, int n, filled *batches,
                 lud_sample_cursor *cursors) {
    const lud_sample_source sources[2] = {{1000, 1}, {300, 1}};
    lud_sampler sampler;
    lud_feeder *feeder;
    lud_error error = {0};
    assert_int_equal(lud_sampler_create(sources, 2, 4, true, true, &sampler, &error), LUD_OK);
    const lud_feed options = {.sampler = &sampler,
                              .batch = 32,
                              .n_threads = n_threads,
                              .n_slots = n_threads + 2,
                              .slot_bytes = sizeof(filled),
                              .fill = fill_slot};
    assert_int_equal(lud_feeder_create(&options, cursor, &feeder, &error), LUD_OK);
    for (int k = 0; k < n; k++) {
        const void *slot;
        assert_int_equal(lud_feeder_next(feeder, &slot, &cursors[k], &error), LUD_OK);
        batches[k] = *(const filled *)slot;
    }
    lud_feeder_destroy(feeder);
    lud_sampler_free(&sampler);
}

static void test_any_number_of_threads(void **state) {
    (void)state;
    enum { N = 120 };
    static filled one[N], other[N];
    static lud_sample_cursor at[N], there[N];
    feed(0, (lud_sample_cursor){0}, N, one, at);
    for (int n_threads = 1; n_threads <= 5; n_threads += 2) {
        feed(n_threads, (lud_sample_cursor){0}, N, other, there);
        assert_memory_equal(one, other, sizeof one);
        assert_memory_equal(at, there, sizeof at);
    }
    assert_true(at[N - 1].epoch > 1); /* several epochs */
    /* taken up again after 50 batches */
    feed(2, at[49], N - 50, other, there);
    assert_memory_equal(one + 50, other, (N - 50) * sizeof *one);
    assert_memory_equal(at + 50, there, (N - 50) * sizeof *at);
}

static void test_failures_are_told(void **state) {
    (void)state;
    const lud_sample_source source = {100, 1};
    uint64_t fails_at = 37;
    lud_sampler sampler;
    lud_error error = {0};
    assert_int_equal(lud_sampler_create(&source, 1, 4, false, true, &sampler, &error), LUD_OK);
    for (int n_threads = 0; n_threads < 3; n_threads++) {
        const lud_feed options = {.sampler = &sampler,
                                  .batch = 10,
                                  .n_threads = n_threads,
                                  .n_slots = 4,
                                  .slot_bytes = sizeof(filled),
                                  .fill = fill_slot,
                                  .context = &fails_at};
        lud_feeder *feeder;
        lud_sample_cursor cursor;
        const void *slot;
        assert_int_equal(lud_feeder_create(&options, (lud_sample_cursor){0}, &feeder, &error), LUD_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(lud_feeder_next(feeder, &slot, &cursor, &error), LUD_OK);
        for (int k = 0; k < 2; k++) {
            error = (lud_error){0};
            assert_int_equal(lud_feeder_next(feeder, &slot, &cursor, &error), LUD_ERROR_IO);
            assert_string_equal(error.text, "sample 7");
        }
        lud_feeder_destroy(feeder);
    }
    lud_sampler_free(&sampler);
}

/* The split follows the episode, not its place in a file. */
static void test_split(void **state) {
    (void)state;
    recording_make(&(recording_call){"multigrid/tiny.yaml", "many.h5", 10, 2000, 1, 0, false, false});
    recording_make(&(recording_call){"multigrid/tiny.yaml", "few.h5", 10, 500, 1, 0, false, false});
    lud_data_set *many = recording_open("many.h5"), *few = recording_open("few.h5");
    int validation = 0, other_seed = 0, matched = 0;
    for (int64_t e = 0; e < 2000; e++) {
        validation += lud_validation_episode(0, many, e, 0.1);
        other_seed += lud_validation_episode(0, many, e, 0.1) && lud_validation_episode(1, many, e, 0.1);
        assert_false(lud_validation_episode(0, many, e, 0));
        assert_true(lud_validation_episode(0, many, e, 1));
    }
    assert_in_range(validation, 150, 250); /* 200 +- 3.7 deviations */
    assert_in_range(other_seed, 3, 45);
    for (int64_t e = 0; e < 500; e++)
        for (int64_t k = 0; k < 2000; k++) {
            const lud_data_episode *a = lud_data_set_episode(few, e), *b = lud_data_set_episode(many, k);
            if (a->environment != b->environment || a->number != b->number) continue;
            matched++;
            assert_int_equal(lud_validation_episode(0, few, e, 0.1), lud_validation_episode(0, many, k, 0.1));
        }
    assert_int_equal(matched, 500);
    lud_data_set_close(many);
    lud_data_set_close(few);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_are_permutations),
                                       cmocka_unit_test(test_orders_are_uniform),
                                       cmocka_unit_test(test_mixtures),
                                       cmocka_unit_test(test_any_number_of_threads),
                                       cmocka_unit_test(test_failures_are_told),
                                       cmocka_unit_test(test_split)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
