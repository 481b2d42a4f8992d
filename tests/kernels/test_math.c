/* Elementary functions against the C library, draws against their definition, rows against batches, the
 * device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "kernels/device.h"
#include "kernels/real_math.h"

/* Largest mean error of f on 64 pieces of [low, high], signed, and of any single one, relative to max(|g|,
 * floor): rounding is now too much and now too little, a coefficient that is off is not. */
static void expect_close(float (*f)(float), double (*g)(double), double low, double high, double floor,
                         double most_bias, double most) {
    enum { PIECES = 64, POINTS = 4000 };
    double largest = 0, bias = 0;
    for (int k = 0; k < PIECES; ++k) {
        double sum = 0;
        for (int i = 0; i < POINTS; ++i) {
            float x = (float)(low + (high - low) * (k + (i + 0.5) / POINTS) / PIECES);
            double y = g((double)x), e = ((double)f(x) - y) / fmax(fabs(y), floor);
            sum += e / POINTS;
            if (!(fabs(e) <= largest)) largest = fabs(e);
        }
        if (!(fabs(sum) <= bias)) bias = fabs(sum);
    }
    if (!(bias < most_bias && largest < most))
        fail_msg("from %g to %g: off by %g, on the mean %g, expected %g and %g", low, high, largest, bias,
                 most, most_bias);
}

static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static double normal_cdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static void test_functions(void **state) {
    (void)state;
    expect_close(lud_expf, exp, -87, 88, 0, 3.48e-09, 8.4e-08);
    expect_close(lud_expf, exp, -1, 1, 0, 7.09e-09, 7.49e-08);
    expect_close(lud_logf, log, 1e-30, 1e-3, 0, 1.02e-09, 6.36e-08);
    expect_close(lud_logf, log, 0.2, 5, 0.01, 3.92e-09, 8.26e-08);
    expect_close(lud_logf, log, 5, 3e38, 0, 1.53e-09, 4.78e-08);
    expect_close(lud_tanhf, tanh, -12, 12, 0, 2.01e-08, 1.7e-07);
    expect_close(lud_tanhf, tanh, -0.7, 0.7, 1e-3, 1.93e-09, 1.94e-07);
    expect_close(lud_sigmoidf, sigmoid, -80, 80, 0, 9.41e-09, 1.34e-07);
    expect_close(lud_sigmoidf, sigmoid, -4, 4, 0, 1.3e-08, 1.19e-07);
    expect_close(lud_softplusf, softplus, -80, 80, 0, 1.11e-08, 1.62e-07);
    expect_close(lud_softplusf, softplus, -3, 3, 0, 7.98e-09, 1.69e-07);
    expect_close(lud_normal_cdff, normal_cdf, -12, 12, 1, 1.15e-08, 9.98e-08);
    expect_close(lud_normal_cdff, normal_cdf, -1.414, 1.414, 1, 1.44e-08, 1.04e-07);
    expect_close(lud_normal_cdff, normal_cdf, -5, -1.414, 0, 4.74e-07, 2.36e-06);
    assert_true(isnan(lud_expf(NAN)) && isnan(lud_logf(NAN)) && isnan(lud_logf(-1)) && isnan(lud_tanhf(NAN)));
    assert_true(isinf(lud_expf(100)) && lud_expf(-200) == 0 && lud_expf(0) == 1);
    assert_true(isinf(lud_logf(0)) && lud_logf(0) < 0 && isinf(lud_logf(INFINITY)) && lud_logf(1) == 0);
    assert_true(lud_expf(-95) > 0 && fabs((double)lud_expf(-95) / exp(-95) - 1) < 1e-3); /* subnormal */
}

static void test_quantile(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200000; ++i) {
        uint32_t word = i * 21474u + 11u;
        double p = ((double)word + 0.5) / 4294967296.0, x = (double)lud_normal_quantile(word);
        /* the distribution function of the quantile gives the probability back */
        assert_true(fabs(normal_cdf(x) - p) < 2e-7 * fmax(p, 1 - p) && fabs(x) < 6.5);
        assert_true(lud_normal_quantile(word) == -lud_normal_quantile(~word));
    }
    for (int k = 0; k < 64; ++k) {
        double bias = 0;
        for (int i = 0; i < 4000; ++i) {
            uint32_t word = (uint32_t)((k + (i + 0.5) / 4000) / 64 * 4294967296.0);
            double off = normal_cdf((double)lud_normal_quantile(word)) - ((double)word + 0.5) / 4294967296.0;
            assert_true(fabs(off) < 1e-7);
            bias += off / 4000;
        }
        assert_true(fabs(bias) < 4e-8);
    }
}

static lud_device *open_cpu(int n_threads) {
    lud_device *device;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", n_threads, &device, &error), LUD_OK);
    return device;
}

static void test_draws(void **state) {
    (void)state;
    enum { N = 1003 };
    lud_device *device = open_cpu(1);
    float uniform[N], normal[N], ones[N], kept[N];
    uint64_t seed = 0x123456789abcdefull;
    device->ops->random_uniform(device, N, seed, 7, 9, 0, 1, uniform);
    device->ops->random_normal(device, N, seed, 7, 9, 2, normal);
    device->ops->fill(device, N, 1, ones);
    device->ops->dropout(device, N, 0.25, seed, 7, 9, 0, 0, ones, kept);
    for (int i = 0; i < N; ++i) {
        lud_random_key key = {seed, 7};
        uint32_t word = lud_draw(key, 9, (uint32_t)(i / 4), LUD_PURPOSE_PARAMETERS, 0).v[i % 4];
        assert_true(uniform[i] == lud_unit_float(word) && normal[i] == 2 * lud_normal_quantile(word));
        word = lud_draw(key, 9, (uint32_t)(i / 4), LUD_PURPOSE_DROPOUT, 0).v[i % 4];
        assert_true(kept[i] == (lud_unit(word) >= 0.25 ? 4.0f / 3.0f : 0));
    }
    /* a part from element 4 x 50 on has the whole's draws */
    device->ops->dropout(device, N - 200, 0.25, seed, 7, 9, 0, 50, ones, uniform);
    assert_memory_equal(uniform, kept + 200, (N - 200) * sizeof *kept);
    lud_device_close(device);
}

/* Frequencies of sampled actions agree with the probabilities; the log-probability is that of the chosen
 * action; the action depends on who draws, not on the place in the batch. */
static void test_sampling(void **state) {
    (void)state;
    enum { N = 40000, CHOICES = 5 };
    lud_device *device = open_cpu(2);
    static float logits[N][CHOICES], log_prob[N];
    static int32_t action[N];
    static const double p[CHOICES] = {0.05, 0.4, 0, 0.25, 0.3};
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < CHOICES; ++j) logits[i][j] = p[j] > 0 ? (float)log(p[j]) + 3 : -1e30f;
    lud_draws draws = {.seed = 5, .n_agents = 4, .step = 8, .purpose = LUD_PURPOSE_ACTION};
    device->ops->categorical_sample(device, N, CHOICES, logits[0], 0, &draws, 0, action, log_prob);
    int count[CHOICES] = {0};
    for (int i = 0; i < N; ++i) {
        ++count[action[i]];
        assert_true(fabs((double)log_prob[i] - log(p[action[i]])) < 1e-5);
    }
    for (int j = 0; j < CHOICES; ++j)
        assert_true(fabs(count[j] / (double)N - p[j]) < 5 * sqrt(p[j] / N) + 1e-12);
    int32_t part[100];
    draws.first_environment = 1000; /* rows 4000 .. 4099 of the batch */
    device->ops->categorical_sample(device, 100, CHOICES, logits[0], 0, &draws, 0, part, 0);
    assert_memory_equal(part, action + 4000, sizeof part);
    lud_device_close(device);
}

/* Row i of a batch equals the same row alone, within 1e-6 of the row's size. */
static void test_rows_alone(void **state) {
    (void)state;
    enum { N = 77, IN = 33, OUT = 29 };
    lud_device *device = open_cpu(2);
    const lud_ops *ops = device->ops;
    static float x[N * IN], w[OUT * IN], b[OUT], batch[N * OUT], one[OUT], y[N * OUT], log_prob[N], alone[1];
    ops->random_normal(device, N * IN, 1, 1, 0, 1, x);
    ops->random_normal(device, OUT * IN, 1, 2, 0, 1, w);
    ops->random_normal(device, OUT, 1, 3, 0, 1, b);
    for (int kind = 0; kind < LUD_MAP_KINDS; ++kind) {
        if (kind == LUD_MAP_LOG || kind == LUD_MAP_LOG_NEGATED || kind == LUD_MAP_POWER ||
            kind == LUD_MAP_NEG_POWER || kind == LUD_MAP_EXP || kind == LUD_MAP_ONE_PLUS_EXP)
            continue; /* outside their range, or blowing up a rounding of the product */
        lud_map map = {(lud_map_kind)kind, -1, 1};
        ops->linear(device, map, N, IN, OUT, x, w, b, 0, batch);
        for (int i = 0; i < N; ++i) {
            ops->linear(device, map, 1, IN, OUT, x + i * IN, w, b, 0, one);
            float size = 1;
            for (int j = 0; j < OUT; ++j) size = fmaxf(size, fabsf(one[j]));
            for (int j = 0; j < OUT; ++j)
                if (!(fabsf(one[j] - batch[i * OUT + j]) <= 1e-6f * fmaxf(size, 10)))
                    fail_msg("map %d row %d: %.9g alone, %.9g in the batch", kind, i, (double)one[j],
                             (double)batch[i * OUT + j]);
        }
    }
    int32_t action[N] = {0};
    ops->layer_norm(device, N, OUT, 1e-5, batch, b, b, y, 0, 0);
    ops->log_softmax(device, N, OUT, 1, y, 0, batch);
    ops->categorical_log_prob(device, N, OUT, y, 0, action, log_prob, 0);
    for (int i = 0; i < N; ++i) { /* these are the same bits */
        ops->log_softmax(device, 1, OUT, 1, y + i * OUT, 0, one);
        assert_memory_equal(one, batch + i * OUT, sizeof one);
        ops->categorical_log_prob(device, 1, OUT, y + i * OUT, 0, action, alone, 0);
        assert_memory_equal(alone, log_prob + i, sizeof alone);
    }
    /* images */
    enum { IMAGES = 11, SIDE = 6, FILTERS = 5 };
    static float image[IMAGES * 3 * SIDE * SIDE], kernel[FILTERS * 27], out[IMAGES * FILTERS * SIDE * SIDE];
    static float single[FILTERS * SIDE * SIDE];
    ops->random_normal(device, IMAGES * 3 * SIDE * SIDE, 1, 4, 0, 1, image);
    ops->random_normal(device, FILTERS * 27, 1, 5, 0, 1, kernel);
    lud_conv shape = {IMAGES, 3, SIDE, SIDE, FILTERS, 3, 1, 1}, one_shape = shape;
    one_shape.n = 1;
    lud_map relu = {LUD_MAP_RELU, 0, 0};
    ops->conv2d(device, relu, &shape, image, kernel, b, 0, out);
    for (int i = 0; i < IMAGES; ++i) {
        ops->conv2d(device, relu, &one_shape, image + i * 3 * SIDE * SIDE, kernel, b, 0, single);
        for (int j = 0; j < FILTERS * SIDE * SIDE; ++j)
            assert_true(fabsf(single[j] - out[i * FILTERS * SIDE * SIDE + j]) <= 1e-5f);
    }
    lud_device_close(device);
}

/* The sparse first convolution equals unpacking and convolving. */
static void test_grid_forms(void **state) {
    (void)state;
    enum { N = 9, SIDE = 7, CELLS = SIDE * SIDE, OUT = 48 };
    lud_device *device = open_cpu(2);
    const lud_ops *ops = device->ops;
    static int32_t code[N * CELLS];
    static float dense[N * 40 * CELLS], w[OUT * 40 * 9], b[OUT], y[N * OUT * CELLS],
        expected[N * OUT * CELLS];
    static float dw[OUT * 40 * 9], dw_expected[OUT * 40 * 9], db[OUT], db_expected[OUT], dz[N * OUT * CELLS];
    for (int i = 0; i < N * CELLS; ++i) {
        lud_words r = lud_draw((lud_random_key){3, 0}, 0, (uint32_t)i, LUD_PURPOSE_USER, 0);
        lud_grid_cell cell = {(int)(r.v[0] % 16), (int)(r.v[1] % 7), 0,
                              (int)(r.v[2] % 8),  (int)(r.v[3] % 7), (int)(r.v[3] / 7 % 4)};
        if (r.v[1] % 5 == 0) cell.type = LUD_CODE_DOOR, cell.door = 1 + (int)(r.v[2] / 8 % 3);
        code[i] = lud_grid_code_make(cell);
    }
    ops->random_normal(device, OUT * 360, 1, 1, 0, 1, w);
    ops->random_normal(device, OUT, 1, 2, 0, 1, b);
    lud_conv shape = {N, LUD_GRID_CHANNELS, SIDE, SIDE, OUT, 3, 1, 1};
    lud_map relu = {LUD_MAP_RELU, 0, 0};
    for (int form = LUD_GRID_FULL; form <= LUD_GRID_REFERENCE; ++form) {
        ops->grid_decode(device, (lud_grid_form)form, N, CELLS, code, dense);
        ops->conv2d(device, relu, &shape, dense, w, b, 0, expected);
        ops->grid_conv(device, relu, (lud_grid_form)form, &shape, code, w, b, 0, y);
        for (int i = 0; i < N * OUT * CELLS; ++i) assert_true(fabsf(y[i] - expected[i]) < 3e-4f);
        memset(dw, 0, sizeof dw);
        memset(db, 0, sizeof db);
        memset(dw_expected, 0, sizeof dw);
        memset(db_expected, 0, sizeof db);
        ops->conv2d_backward(device, relu, &shape, dense, w, 0, expected, y, dz, 0, false, dw_expected,
                             db_expected);
        ops->grid_conv_backward(device, relu, (lud_grid_form)form, &shape, code, 0, expected, y, dz, dw, db);
        for (int i = 0; i < OUT * 360; ++i)
            assert_true(fabsf(dw[i] - dw_expected[i]) < 1e-3f * (10 + fabsf(dw[i])));
        for (int i = 0; i < OUT; ++i)
            assert_true(fabsf(db[i] - db_expected[i]) < 1e-3f * (10 + fabsf(db[i])));
    }
    lud_device_close(device);
}

static void test_open(void **state) {
    (void)state;
    lud_device *device;
    lud_error error = {0};
    assert_int_equal(lud_device_open("gpu", 0, &device, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "unknown device `gpu`, expected cpu, cuda or auto");
    assert_null(device);
    assert_int_equal(lud_device_open("auto", 1, &device, &error), LUD_OK);
    lud_device_close(device);
    device = open_cpu(3);
    assert_int_equal(device->n_threads, 3);
    assert_false(lud_device_record_begin(device));
    assert_true(lud_device_reserve(device, 1 << 20) && device->workspace_bytes >= 1 << 20);
    lud_device_close(device);
    lud_device_close(0);
}

static const char *const sets[] = {"plain", "avx2", "avx512"};

/* The exponentials of the vector code are those of lud_expf, bit for bit: two rows in a segment, 0 and x,
 * give e^x / (1 + e^x). */
static void test_powers(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    float *x = calloc(2 * N, sizeof *x), *y = calloc(2 * N, sizeof *y);
    assert_true(x && y);
    const int32_t offsets[2] = {0, 2};
    for (int64_t i = 0; i < N; ++i) x[N + i] = (float)(-110.0 * (double)i / N);
    x[N + 1] = -FLT_MAX;
    x[N + 2] = -1e-30f;
    for (int set = 0; set < 3; ++set) {
        lud_device *device = open_set_of(sets[set], 1);
        device->ops->segment_softmax(device, 1, N, offsets, x, y);
        for (int64_t i = 0; i < N; ++i) {
            const float power = lud_expf(x[N + i]), expected = power * (1.0f / (1.0f + power));
            if (memcmp(&y[N + i], &expected, sizeof expected) != 0)
                fail_msg("%s: e^%.9g: %.9g, not %.9g", sets[set], (double)x[N + i], (double)y[N + i],
                         (double)expected);
        }
        lud_device_close(device);
    }
    free(x);
    free(y);
}

/* The action of one row as categorical_sample is defined. */
static int32_t sampled(int64_t n_choices, const float *x, const uint8_t *mask, double u, float *log_prob) {
    enum { LANES = 32 };
    double lanes[LANES] = {0}, total = 0, passed = 0;
    float largest = -FLT_MAX;
    int32_t last = 0, n_open = 0;
    for (int64_t j = 0; j < n_choices; ++j)
        if (!mask || mask[j]) largest = x[j] > largest ? x[j] : largest, ++n_open;
    if (n_open == 0) {
        *log_prob = -lud_logf((float)n_choices);
        return (int32_t)(u * (double)n_choices);
    }
    for (int64_t j = 0; j < n_choices; ++j)
        lanes[j % LANES] += !mask || mask[j] ? (double)lud_expf(x[j] - largest) : 0;
    for (int lane = 0; lane < LANES; ++lane) total += lanes[lane];
    int32_t chosen = -1;
    for (int32_t j = 0; j < n_choices && chosen < 0; ++j) {
        if (mask && !mask[j]) continue;
        const float p = lud_expf(x[j] - largest);
        passed += (double)p;
        if (p > 0) last = j;
        if (passed > u * total) chosen = j;
    }
    if (chosen < 0) chosen = last;
    *log_prob = x[chosen] - largest - lud_logf((float)total);
    return chosen;
}

/* Samples are those of the definition for any number of rows and choices, drawn and given. */
static void test_samples(void **state) {
    (void)state;
    enum { ROWS = 37, CHOICES = 41 };
    float logits[ROWS * CHOICES], uniform[ROWS], log_prob[ROWS];
    uint8_t mask[ROWS * CHOICES];
    int32_t action[ROWS];
    uint32_t environment[ROWS], agent[ROWS];
    for (int set = 0; set < 3; ++set) {
        lud_device *device = open_set_of(sets[set], 1);
        for (int64_t choices = 1; choices <= CHOICES; ++choices)
            for (int64_t rows = 1; rows <= ROWS; rows += rows < 6 ? 1 : 5)
                for (int variant = 0; variant < 4; ++variant) {
                    const lud_random_key key = {11, (uint32_t)(choices * 64 + rows)};
                    for (uint32_t i = 0; i < rows * choices; ++i) {
                        const lud_words w = lud_draw(key, 1, i, LUD_PURPOSE_USER, 0);
                        /* some far below the others: no probability at all */
                        logits[i] = (float)lud_unit(w.v[0]) * 6 - (w.v[1] % 7 == 0 ? 300 : 0);
                        /* rows 2, 18 and 34: all masked */
                        mask[i] = w.v[2] % 3 != 0 && i / choices % 16 != 2;
                    }
                    for (uint32_t i = 0; i < rows; ++i) {
                        const lud_words w = lud_draw(key, 2, i, LUD_PURPOSE_USER, 0);
                        uniform[i] = i % 4 == 0 ? 0.99999994f : lud_unit_float(w.v[0]);
                        environment[i] = w.v[1], agent[i] = w.v[2];
                    }
                    lud_draws draws = {.seed = 77ull << 32 | 5,
                                       .first_environment = 9,
                                       .n_agents = 3,
                                       .step = 4,
                                       .purpose = LUD_PURPOSE_ACTION,
                                       .lane = 2};
                    if (variant & 2) draws.environment = environment, draws.agent = agent;
                    const uint8_t *masked = variant & 1 ? mask : NULL;
                    const bool given = variant == 3;
                    device->ops->categorical_sample(device, rows, choices, logits, masked, &draws,
                                                    given ? uniform : NULL, action, log_prob);
                    for (uint32_t i = 0; i < rows; ++i) {
                        const lud_random_key own = {draws.seed, variant & 2 ? environment[i] : 9 + i / 3};
                        const lud_words w =
                            lud_draw(own, 4, variant & 2 ? agent[i] : i % 3, LUD_PURPOSE_ACTION, 2);
                        float expected_log_prob;
                        const int32_t expected =
                            sampled(choices, logits + i * choices, masked ? masked + i * choices : NULL,
                                    given ? (double)uniform[i] : lud_unit(w.v[0]), &expected_log_prob);
                        if (action[i] != expected ||
                            memcmp(&log_prob[i], &expected_log_prob, sizeof expected_log_prob) != 0)
                            fail_msg("%s, %ld choices, row %u of %ld, variant %d: %d (%.9g), not %d (%.9g)",
                                     sets[set], (long)choices, i, (long)rows, variant, action[i],
                                     (double)log_prob[i], expected, (double)expected_log_prob);
                    }
                }
        lud_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),  cmocka_unit_test(test_quantile),   cmocka_unit_test(test_draws),
        cmocka_unit_test(test_powers),     cmocka_unit_test(test_samples),    cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_rows_alone), cmocka_unit_test(test_grid_forms), cmocka_unit_test(test_open)};
    return cmocka_run_group_tests(tests, 0, 0);
}
