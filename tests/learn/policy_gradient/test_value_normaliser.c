/* Statistics of returns as they are defined, by plain sums over all returns there have been. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/value_normaliser.h"

enum { BATCHES = 9, RETURNS = 40 };

static double draw(uint32_t batch, uint32_t k) {
    return lud_unit(lud_draw((lud_random_key){5, batch}, k, 0, LUD_PURPOSE_RESET, 0).v[0]);
}

/* Means of means and of mean squares, the newest weighted most, over what the weights sum to. */
static void statistics_are_debiased_averages(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
    lud_value_normaliser v = {.device = device, .kind = LUD_VALUE_NORM, .beta = 0.8};
    assert_true(lud_value_normaliser_create(&v));
    double mean = 0, square = 0, whole = 0;
    for (uint32_t b = 0; b < BATCHES; b++) {
        /* a sanitizer sees a step beyond what is its own */
        const int64_t n = 1 + (int64_t)(RETURNS * draw(b, 0) / 2);
        float *returns = malloc(RETURNS * sizeof *returns);
        int32_t *row = malloc((size_t)n * sizeof *row);
        double of_batch = 0, of_squares = 0;
        for (uint32_t k = 0; k < RETURNS; k++) returns[k] = (float)(30 * draw(b, 1 + k) - 10);
        for (int64_t i = 0; i < n; i++) {
            row[i] = (int32_t)(RETURNS * draw(b, 100 + (uint32_t)i));
            of_batch += (double)returns[row[i]] / (double)n;
            of_squares += (double)returns[row[i]] * (double)returns[row[i]] / (double)n;
        }
        lud_value_normaliser_update(&v, n, row, returns);
        mean = 0.8 * mean + 0.2 * of_batch;
        square = 0.8 * square + 0.2 * of_squares;
        whole = 0.8 * whole + 0.2;
        const double deviation = sqrt(fmax(square / whole - pow(mean / whole, 2), 1e-2));

        float target[RETURNS], back[RETURNS];
        assert_ptr_equal(lud_value_normaliser_targets(&v, device, RETURNS, returns, target), target);
        for (int i = 0; i < RETURNS; i++) {
            assert_true(fabs((double)target[i] - ((double)returns[i] - mean / whole) / deviation) < 1e-3);
            back[i] = target[i];
        }
        lud_value_normaliser_denormalise(&v, RETURNS, back);
        for (int i = 0; i < RETURNS; i++) assert_float_equal(back[i], returns[i], 1e-3);
        free(returns);
        free(row);
    }
    lud_value_normaliser_destroy(&v);
    lud_device_close(device);
}

/* Equal returns have no deviation, but are not made infinite by that; before any values stay as they are. */
static void least_deviation_is_a_tenth(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
    lud_value_normaliser v = {.device = device, .kind = LUD_VALUE_NORM, .beta = 0.5};
    assert_true(lud_value_normaliser_create(&v));
    float values[2] = {-3, 5};
    lud_value_normaliser_denormalise(&v, 2, values);
    assert_true(values[0] == -3.0f && values[1] == 5.0f);
    const float returns[2] = {4, 5};
    lud_value_normaliser_update(&v, 1, (const int32_t[]){0}, returns);
    float target[2];
    lud_value_normaliser_targets(&v, device, 2, returns, target);
    assert_float_equal(target[0], 0, 1e-4);
    assert_float_equal(target[1], 10, 1e-3);
    lud_value_normaliser_denormalise(&v, 2, target);
    assert_float_equal(target[1], 5, 1e-4);
    lud_value_normaliser_destroy(&v);
    lud_device_close(device);
}

/* With PopArt the output layer moves with the statistics, so that values in units of reward stay as they
 * were, whatever returns come; without it they move, and the layer stays. */
static void values_stay_with_popart(void **state) {
    (void)state;
    enum { HIDDEN = 5 };
    for (int kind = LUD_VALUE_PLAIN; kind <= LUD_VALUE_POPART; kind++) {
        lud_device *device = NULL;
        assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
        lud_parameters *parameters = lud_parameters_create(device, false);
        const lud_init normal = {.kind = LUD_INIT_NORMAL, .a = 1.0};
        lud_value_normaliser v = {.device = device, .kind = (lud_value_normaliser_kind)kind, .beta = 0.7};
        v.parameters = parameters;
        v.weight = lud_parameters_add(parameters, "w", 2, (const int64_t[]){1, HIDDEN}, normal);
        v.bias = lud_parameters_add(parameters, "b", 1, (const int64_t[]){1}, normal);
        assert_int_equal(lud_parameters_build(parameters, 3, NULL), LUD_OK);
        assert_true(lud_value_normaliser_create(&v));
        const float *w = lud_parameters_value(parameters, v.weight),
                    *b = lud_parameters_value(parameters, v.bias);
        for (uint32_t batch = 0; batch < BATCHES; batch++) {
            float returns[RETURNS], values[2], weights[HIDDEN], target[RETURNS];
            int32_t row[RETURNS];
            for (uint32_t k = 0; k < RETURNS; k++) {
                returns[k] = (float)((1 << batch) * (draw(batch, k) - 0.3));
                row[k] = (int32_t)(RETURNS - 1 - k);
            }
            for (int k = 0; k < HIDDEN; k++) weights[k] = w[k];
            for (int after = 0; after < 2; after++) {
                values[after] = b[0];
                for (int k = 0; k < HIDDEN; k++) values[after] += w[k] * (float)(k - 2);
                lud_value_normaliser_denormalise(&v, 1, &values[after]);
                if (after == 0) lud_value_normaliser_update(&v, RETURNS, row, returns);
            }
            const bool same = fabsf(values[0] - values[1]) < 1e-4f * (1.0f + fabsf(values[0]));
            assert_int_equal(same, kind != LUD_VALUE_NORM);
            for (int k = 0; k < HIDDEN; k++) assert_int_equal(weights[k] == w[k], kind != LUD_VALUE_POPART);
            const float *at = lud_value_normaliser_targets(&v, device, RETURNS, returns, target);
            assert_true(at == (kind == LUD_VALUE_PLAIN ? returns : target));
            if (kind == LUD_VALUE_PLAIN) continue;
            lud_value_normaliser_denormalise(&v, RETURNS, target);
            for (int k = 0; k < RETURNS; k++)
                assert_true(fabsf(target[k] - returns[k]) < 1e-3f * (float)(1 << batch));
        }
        lud_value_normaliser_destroy(&v);
        lud_parameters_destroy(parameters);
        lud_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_debiased_averages),
        cmocka_unit_test(least_deviation_is_a_tenth),
        cmocka_unit_test(values_stay_with_popart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
