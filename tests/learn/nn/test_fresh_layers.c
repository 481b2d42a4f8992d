/* What layers are and begin with: gains of one and shifts of zero, weights and biases within the bounds that
 * follow from how much goes in, and initial values of shapes with more than two dimensions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "learn/nn/nn.h"

enum { MOST = 1 << 15 };

TEST_DEVICE(1)

typedef struct range_of {
    int64_t n;
    double least, most, mean, deviation;
} range_of;

static range_of measure(int64_t n, const double *values) {
    range_of r = {n, INFINITY, -INFINITY, 0.0, 0.0};
    for (int64_t i = 0; i < n; i++) {
        r.least = fmin(r.least, values[i]);
        r.most = fmax(r.most, values[i]);
        r.mean += values[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) r.deviation += pow(values[i] - r.mean, 2) / (double)n;
    r.deviation = sqrt(r.deviation);
    return r;
}

static range_of of_parameter(const lud_parameters *parameters, const char *name, int64_t n) {
    static double values[MOST];
    const int index = lud_parameters_find(parameters, name);
    if (index < 0) fail_msg("there is no %s", name);
    assert_int_equal(parameters->items[index].n, n);
    assert_true(n <= MOST);
    lud_parameters_read(parameters, index, values);
    return measure(n, values);
}

/* All the same number. */
static void is_constant(const lud_parameters *parameters, const char *name, int64_t n, double value) {
    const range_of r = of_parameter(parameters, name, n);
    if (r.least != value || r.most != value)
        fail_msg("%s: %g .. %g, expected %g", name, r.least, r.most, value);
}

/* Uniform between -bound and bound: within it, and near it somewhere. */
static void is_within(const char *name, range_of r, double bound) {
    const double missed = 8.0 * bound / (double)r.n;
    if (!(r.least >= -bound && r.most <= bound && r.least < missed - bound && r.most > bound - missed))
        fail_msg("%s: %g .. %g, expected -%g .. %g", name, r.least, r.most, bound, bound);
}

static void is_normal(const char *name, range_of r, double deviation) {
    const double error = 5.0 * deviation / sqrt((double)r.n);
    if (!(fabs(r.mean) < error && fabs(r.deviation - deviation) < error && r.most > 2.0 * deviation))
        fail_msg("%s: deviation %g, expected %g", name, r.deviation, deviation);
}

static void layers_begin_as_declared(void **state) {
    (void)state;
    enum { IN = 9, OUT = 200, SIDE = 6, CHANNELS = 20, SIZE = 300, EDGE_WIDTH = 3 };
    lud_error error = {0};
    lud_parameters *p = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(p, 2);
    const int envs = lud_nn_axis(net, 1), edge_axis = lud_nn_axis(net, 1);
    const int x = lud_nn_input(net, IN), image = lud_nn_input(net, 4 * SIDE * SIDE),
              code = lud_nn_input_on(net, 0, LUD_NN_I32, SIDE * SIDE, 0),
              word = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 0),
              features = lud_nn_input_on(net, edge_axis, LUD_NN_REAL, EDGE_WIDTH, 0);
    static const int32_t offsets[3] = {0, 0, 1}, source[1] = {0};
    const lud_edges edges = {2, 1, offsets, source, NULL, NULL, NULL};
    const int linear = lud_nn_linear(net, x, "linear", OUT, LUD_RELU);
    const int outputs[] = {
        lud_nn_layer_norm(net, linear, "norm", 1e-5),
        lud_nn_rms_norm(net, linear, "root", 1e-5),
        lud_nn_conv(net, image, "conv", SIDE, SIDE, CHANNELS, 3, LUD_RELU),
        lud_nn_grid_conv(net, code, "grid", LUD_GRID_FULL, SIDE, SIDE, CHANNELS, 3, LUD_RELU),
        lud_nn_embedding(net, word, "words", 50, OUT),
        lud_nn_lru(net, x, "lru", SIZE, envs, -1, -1, 0.4, 0.9, 1.5),
        lud_nn_gru(net, x, "gru", SIZE, envs, -1, -1),
        lud_nn_graph_attention(net, linear, lud_nn_map(net, linear, LUD_TANH),
                               lud_nn_map(net, linear, LUD_SIGMOID), features, "edge", edge_axis, 2, &edges)};
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) lud_nn_output(net, outputs[k]);
    assert_int_equal(lud_parameters_build(p, 5, &error), LUD_OK);

    is_constant(p, "norm.weight", OUT, 1.0);
    is_constant(p, "norm.bias", OUT, 0.0);
    is_constant(p, "root.weight", OUT, 1.0);
    /* a bias has the bound of the weights that it is added to */
    const struct {
        const char *name;
        int64_t n, fan_in;
    } bounded[] = {{"linear.weight", OUT * IN, IN},
                   {"linear.bias", OUT, IN},
                   {"conv.weight", CHANNELS * 4 * 9, 4 * 9},
                   {"conv.bias", CHANNELS, 4 * 9},
                   {"grid.weight", CHANNELS * LUD_GRID_CHANNELS * 9, LUD_GRID_CHANNELS * 9},
                   {"grid.bias", CHANNELS, LUD_GRID_CHANNELS * 9},
                   {"gru.input.weight", 3 * SIZE * IN, IN},
                   {"gru.input.bias", 3 * SIZE, IN},
                   {"gru.hidden.bias", 3 * SIZE, SIZE},
                   {"edge.weight", OUT * EDGE_WIDTH, EDGE_WIDTH}};
    for (size_t k = 0; k < sizeof bounded / sizeof *bounded; k++)
        is_within(bounded[k].name, of_parameter(p, bounded[k].name, bounded[k].n),
                  1.0 / sqrt((double)bounded[k].fan_in));
    is_normal("words", of_parameter(p, "words.weight", 50 * OUT), 1.0);
    is_normal("lru.b", of_parameter(p, "lru.b.weight", 2 * SIZE * IN), sqrt(0.5 / IN));
    const range_of nu = of_parameter(p, "lru.nu_log", SIZE), theta = of_parameter(p, "lru.theta_log", SIZE);
    assert_true(exp(-exp(nu.most)) >= 0.4 && exp(-exp(nu.most)) < 0.45);
    assert_true(exp(-exp(nu.least)) <= 0.9 && exp(-exp(nu.least)) > 0.88);
    assert_true(exp(theta.most) <= 1.5 && exp(theta.most) > 1.45 && exp(theta.least) < 0.05);
    lud_nn_destroy(net);
    lud_parameters_destroy(p);
}

/* Layers that end in a ReLU, and no others, in the order of their declaration; as many as are asked for. */
static void relu_layers_are_listed(void **state) {
    (void)state;
    enum { SIDE = 4, N = 3 };
    lud_error error = {0};
    lud_parameters *p = lud_parameters_create(device, false);
    lud_nn *net = lud_nn_create(p, 2);
    const int x = lud_nn_input(net, 5), image = lud_nn_input(net, 2 * SIDE * SIDE),
              code = lud_nn_input_on(net, 0, LUD_NN_I32, SIDE * SIDE, 0);
    lud_nn_layer expected[N] = {{0, "b.weight", 7}, {0, "c.weight", 3}, {0, "g.weight", 4}}, found[N + 1];
    const int a = lud_nn_linear(net, x, "a", 6, LUD_TANH);
    expected[0].value = lud_nn_linear(net, a, "b", 7, LUD_RELU);
    lud_nn_output(net, lud_nn_map(net, lud_nn_layer_norm(net, expected[0].value, "norm", 1e-5), LUD_RELU));
    expected[1].value = lud_nn_conv(net, image, "c", SIDE, SIDE, 3, 3, LUD_RELU);
    lud_nn_output(net, lud_nn_conv(net, expected[1].value, "d", SIDE, SIDE, 3, 3, LUD_LINEAR));
    expected[2].value = lud_nn_grid_conv(net, code, "g", LUD_GRID_FULL, SIDE, SIDE, 4, 3, LUD_RELU);
    lud_nn_output(net, expected[2].value);
    assert_int_equal(lud_parameters_build(p, 5, &error), LUD_OK);
    for (int most = 0; most <= N + 1; most++) {
        for (int i = 0; i <= N; i++) found[i] = (lud_nn_layer){.value = -7};
        assert_int_equal(lud_nn_relu_layers(net, most, found), N);
        for (int i = 0; i <= N; i++) {
            assert_int_equal(found[i].value, i < N && i < most ? expected[i].value : -7);
            if (i >= N || i >= most) continue;
            assert_string_equal(found[i].name, expected[i].name);
            assert_int_equal(found[i].units, expected[i].units);
        }
    }
    lud_nn_destroy(net);
    lud_parameters_destroy(p);
}

/* Xavier's bound counts the cells of a kernel on both sides; a fan that is given counts instead of the
 * shape's.
 */
static void fans_of_kernels(void **state) {
    (void)state;
    static double v[MOST];
    static const int64_t shapes[3][4] = {{40, 60, 1, 1}, {12, 20, 3, 3}, {30, 8, 5, 1}};
    for (int k = 0; k < 3; k++)
        for (int n_dimensions = 2; n_dimensions <= 4; n_dimensions++) {
            const int64_t *shape = shapes[k];
            int64_t cells = 1;
            for (int i = 2; i < n_dimensions; i++) cells *= shape[i];
            const int64_t n = shape[0] * shape[1] * cells;
            const double in = (double)(shape[1] * cells), out = (double)(shape[0] * cells);
            lud_init init = {.kind = LUD_INIT_XAVIER, .a = 0.7};
            lud_init_values(&init, "w", n_dimensions, shape, 3, 1, v);
            is_within("xavier", measure(n, v), 0.7 * sqrt(6.0 / (in + out)));
            init.fan_in = 11;
            lud_init_values(&init, "w", n_dimensions, shape, 3, 1, v);
            is_within("xavier of a fan", measure(n, v), 0.7 * sqrt(6.0 / (11.0 + out)));
            init.kind = LUD_INIT_FAN_IN;
            lud_init_values(&init, "w", n_dimensions, shape, 3, 1, v);
            is_within("a fan", measure(n, v), 1.0 / sqrt(11.0));
            init.kind = LUD_INIT_KAIMING;
            lud_init_values(&init, "w", n_dimensions, shape, 3, 1, v);
            is_normal("kaiming of a fan", measure(n, v), 0.7 / sqrt(11.0));
            init.fan_in = 0;
            lud_init_values(&init, "w", n_dimensions, shape, 3, 1, v);
            is_normal("kaiming", measure(n, v), 0.7 / sqrt(in));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_begin_as_declared),
                                       cmocka_unit_test(relu_layers_are_listed),
                                       cmocka_unit_test(fans_of_kernels)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
