/* What plans without a backward run do otherwise: pooling joins the grid's convolution, and what is made of
 * constant inputs is held while the parameters' version stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/nn/nn.h"

enum { ROWS = 5, HEIGHT = 5, WIDTH = 6, CELLS = HEIGHT * WIDTH, FILTERS = 4, MOST = ROWS * FILTERS * CELLS };

static lud_device *device;

static int set_up(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cpu", 1, &device, &error)) fail_msg("%s", error.text);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lud_device_close(device);
    return 0;
}

static void plan(lud_parameters *parameters, lud_nn *net, lud_nn_mode mode) {
    lud_error error = {0};
    if (!parameters->values && lud_parameters_build(parameters, 3, &error)) fail_msg("%s", error.text);
    if (lud_nn_plan(net, mode, &error)) fail_msg("%s", error.text);
}

/* A grid's convolution with what may stand behind it. */
typedef struct pooling {
    lud_map map;
    int64_t size;
    bool also_output, also_read; /* the convolution's own values */
} pooling;

static size_t run_pooling(const pooling *p, lud_parameters *parameters, lud_nn_mode mode, double *to) {
    int32_t code[ROWS * CELLS];
    lud_nn *net = lud_nn_create(parameters, ROWS);
    const int words = lud_nn_input_on(net, 0, LUD_NN_I32, CELLS, 0);
    const int grid = lud_nn_grid_conv(net, words, "grid", LUD_GRID_FULL, HEIGHT, WIDTH, FILTERS, 3, p->map);
    int outputs[3] = {lud_nn_max_pool(net, grid, HEIGHT, WIDTH, p->size)}, n = 1;
    if (p->also_output) outputs[n++] = grid;
    if (p->also_read) outputs[n++] = lud_nn_map(net, grid, LUD_TANH);
    for (int k = 0; k < n; k++) lud_nn_output(net, outputs[k]);
    plan(parameters, net, mode);
    for (int i = 0; i < ROWS * CELLS; i++) code[i] = i % 3 ? LUD_CODE_EMPTY : LUD_CODE_WALL;
    lud_nn_write_i32(net, words, ROWS, code);
    lud_nn_forward(net, ROWS, false);
    size_t at = 0;
    for (int k = 0; k < n; k++) {
        lud_nn_read(net, outputs[k], ROWS, to + at);
        at += (size_t)(ROWS * lud_nn_width(net, outputs[k]));
    }
    lud_nn_destroy(net);
    return at;
}

/* The same bits as the two operations of a training plan, whatever else reads the convolution. */
static void pools_as_in_training(void **state) {
    (void)state;
    const pooling cases[] = {{LUD_RELU, 2, false, false}, {LUD_LINEAR, 2, false, false},
                             {LUD_TANH, 2, false, false}, {LUD_RELU, 3, false, false},
                             {LUD_RELU, 2, true, false},  {LUD_RELU, 2, false, true},
                             {LUD_LINEAR, 2, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static double trained[3 * MOST], inferred[3 * MOST];
        lud_parameters *parameters = lud_parameters_create(device, false);
        const size_t n = run_pooling(&cases[i], parameters, LUD_NN_TRAIN, trained);
        assert_int_equal(run_pooling(&cases[i], parameters, LUD_NN_INFERENCE, inferred), n);
        assert_memory_equal(trained, inferred, n * sizeof *trained);
        double largest = 0.0;
        for (size_t k = 0; k < n; k++) largest = inferred[k] > largest ? inferred[k] : largest;
        assert_true(largest > 0.0);
        lud_parameters_destroy(parameters);
    }
}

/* y = out(gather(places(maps))) + own(x): `places` depends on the constant maps alone. */
typedef struct table {
    lud_parameters *parameters;
    lud_nn *net;
    int x, index, out;
} table;

static void open_table(table *t) {
    enum { PLACES = 3 };
    t->parameters = lud_parameters_create(device, false);
    t->net = lud_nn_create(t->parameters, ROWS);
    const int axis = lud_nn_axis(t->net, PLACES);
    const int maps = lud_nn_input_on(t->net, axis, LUD_NN_REAL, PLACES, 0);
    lud_nn_set_constant(t->net, maps);
    t->x = lud_nn_input(t->net, 2);
    t->index = lud_nn_input_on(t->net, 0, LUD_NN_I32, 1, 0);
    const int hidden = lud_nn_linear(t->net, maps, "places.0", 7, LUD_SILU);
    const int places = lud_nn_linear(t->net, hidden, "places.1", 2, LUD_TANH);
    const int gathered = lud_nn_gather(t->net, places, t->index);
    /* large values that come and go between what is held and what reads it */
    int own = lud_nn_linear(t->net, t->x, "own.0", 64, LUD_SILU);
    own = lud_nn_linear(t->net, own, "own.1", 2, LUD_LINEAR);
    t->out = lud_nn_linear(t->net, lud_nn_add(t->net, gathered, own), "out", 3, LUD_LINEAR);
    lud_nn_output(t->net, t->out);
    plan(t->parameters, t->net, LUD_NN_INFERENCE);
    lud_nn_set_rows(t->net, axis, PLACES);
    lud_nn_write(t->net, maps, PLACES, (const double[]){1, 0, 0, 0, 1, 0, 0, 0, 1});
}

static void run_table(table *t, int64_t n, double *out) {
    static const double x[2 * ROWS] = {0.3, -1, 2, 0.5, -0.25, 1, 1, -2, 0.125, 3};
    static const int32_t index[ROWS] = {2, 0, 1, 1, 2};
    lud_nn_write(t->net, t->x, n, x);
    lud_nn_write_i32(t->net, t->index, n, index);
    lud_nn_forward(t->net, n, false);
    lud_nn_read(t->net, t->out, n, out);
}

static void shift(table *t, const char *name, double by) {
    double numbers[64];
    const int index = lud_parameters_find(t->parameters, name);
    lud_parameters_read(t->parameters, index, numbers);
    for (int64_t i = 0; i < t->parameters->items[index].n; i++) numbers[i] += by;
    lud_parameters_write(t->parameters, index, numbers);
}

static void constants_are_held(void **state) {
    (void)state;
    enum { OUT = 3 * ROWS };
    table t;
    open_table(&t);
    double first[OUT], again[OUT], fresh[OUT];
    run_table(&t, ROWS, first);
    lud_nn_hold(t.net, 5);
    for (int i = 0; i < 3; i++) { /* from the first run on with this version */
        run_table(&t, 2, again);
        run_table(&t, ROWS, again);
        assert_memory_equal(first, again, sizeof again);
    }
    shift(&t, "places.1.bias", 0.5);
    run_table(&t, ROWS, again); /* nobody said that they have changed */
    assert_memory_equal(first, again, sizeof again);
    shift(&t, "own.1.bias", 0.5); /* what depends on other inputs is never held */
    run_table(&t, ROWS, again);
    for (int i = 0; i < OUT; i++) assert_true(first[i] != again[i]);
    lud_nn_hold(t.net, 6);
    run_table(&t, ROWS, fresh);
    for (int i = 0; i < OUT; i++) assert_true(again[i] != fresh[i]);
    lud_nn_hold(t.net, 0); /* always anew */
    run_table(&t, ROWS, again);
    assert_memory_equal(fresh, again, sizeof again);
    shift(&t, "places.0.weight", -0.25);
    run_table(&t, ROWS, again);
    for (int i = 0; i < OUT; i++) assert_true(again[i] != fresh[i]);
    /* another set of parameters */
    lud_nn_hold(t.net, 7);
    run_table(&t, ROWS, first);
    lud_parameters *other = lud_parameters_clone(t.parameters);
    assert_non_null(other);
    lud_parameters *own = t.parameters;
    t.parameters = other;
    shift(&t, "places.1.bias", 1.0);
    lud_nn_use(t.net, other);
    run_table(&t, ROWS, again);
    for (int i = 0; i < OUT; i++) assert_true(again[i] != first[i]);
    lud_nn_destroy(t.net);
    lud_parameters_destroy(other);
    lud_parameters_destroy(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pools_as_in_training),
                                       cmocka_unit_test(constants_are_held)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
