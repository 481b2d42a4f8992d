/* How much memory plans take: what lives at the same time, and nothing else; and that it does live. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "learn/nn/nn.h"

enum { ROWS = 32, WIDTH = 64, ARRAY = ROWS * WIDTH * sizeof(float), COLUMN = 256 /* of a number a row */ };

TEST_DEVICE(1)

/* A chain of blocks, each a layer, whose output goes through a norm and a dropout where asked, and is added
 * to the block's input where asked. */
typedef struct chain {
    bool norms, drops, adds, drops_input;
} chain;

static size_t bytes_of(const chain *c, int n_blocks, lud_nn_mode mode, size_t *unshared) {
    lud_error error = {0};
    lud_parameters *parameters = lud_parameters_create(device, false);
    lud_nn *net = lud_nn_create(parameters, ROWS);
    int x = lud_nn_input(net, WIDTH);
    if (c->drops_input) x = lud_nn_dropout(net, x, 0.25, 100);
    for (int i = 0; i < n_blocks; i++) {
        char name[32];
        snprintf(name, sizeof name, "linear%d", i);
        int y = lud_nn_linear(net, x, name, WIDTH, LUD_RELU);
        snprintf(name, sizeof name, "norm%d", i);
        if (c->norms) y = lud_nn_layer_norm(net, y, name, 1e-5);
        if (c->drops) y = lud_nn_dropout(net, y, 0.25, (uint32_t)i);
        x = c->adds ? lud_nn_add(net, x, y) : y;
    }
    lud_nn_output(net, lud_nn_linear(net, x, "out", WIDTH, LUD_LINEAR));
    if (lud_parameters_build(parameters, 3, &error) || lud_nn_plan(net, mode, &error))
        fail_msg("%s", error.text);
    const size_t bytes = lud_nn_bytes(net);
    assert_true(bytes <= lud_nn_bytes_unshared(net));
    if (unshared) *unshared = lud_nn_bytes_unshared(net);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
    return bytes;
}

/* However many layers follow each other, two of their values live at a time beside the input, with a sum one
 * more. */
static void inference_holds_what_is_read_next(void **state) {
    (void)state;
    static const struct {
        chain c;
        int n_arrays, n_columns;
    } cases[] = {{{false, false, false, false}, 4, 0},
                 {{false, true, false, false}, 4, 0},
                 {{false, false, true, false}, 5, 0},
                 {{true, false, false, false}, 4, 2},
                 {{true, true, true, false}, 5, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const size_t five = bytes_of(&cases[k].c, 5, LUD_NN_INFERENCE, NULL);
        for (int n = 6; n < 12; n++) assert_int_equal(bytes_of(&cases[k].c, n, LUD_NN_INFERENCE, NULL), five);
        assert_true(five <= (size_t)cases[k].n_arrays * ARRAY + (size_t)cases[k].n_columns * COLUMN);
    }
}

/* Where nothing learns a dropout is not there. */
static void dropouts_take_nothing_in_inference(void **state) {
    (void)state;
    for (int form = 0; form < 8; form++)
        for (int n = 1; n < 5; n++) {
            const chain without = {.norms = form & 1, .adds = form & 2};
            chain with = without;
            with.drops = true, with.drops_input = form & 4;
            assert_int_equal(bytes_of(&with, n, LUD_NN_INFERENCE, NULL),
                             bytes_of(&without, n, LUD_NN_INFERENCE, NULL));
        }
}

/* A block more keeps what its backward run reads: what went into the layer and what came out of it, with a
 * norm that of every row. What a dropout or a sum makes takes over what it was made of. */
static void training_keeps_what_goes_backward(void **state) {
    (void)state;
    static const struct {
        chain c;
        size_t kept;
    } cases[] = {{{false, false, false, false}, ARRAY},
                 {{false, true, false, false}, 2 * ARRAY},
                 {{false, true, true, false}, 2 * ARRAY},
                 {{true, false, false, false}, 2 * ARRAY + 2 * COLUMN},
                 {{true, true, false, false}, 2 * ARRAY + 2 * COLUMN},
                 {{true, true, true, false}, 2 * ARRAY + 2 * COLUMN}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t before = bytes_of(&cases[k].c, 4, LUD_NN_TRAIN, NULL);
        for (int n = 5; n < 9; n++) {
            const size_t bytes = bytes_of(&cases[k].c, n, LUD_NN_TRAIN, NULL);
            if (bytes - before != cases[k].kept)
                fail_msg("case %zu: block %d takes %zu bytes, expected %zu", k, n, bytes - before,
                         cases[k].kept);
            before = bytes;
        }
    }
}

/* All sums of a chain have one gradient: a block more takes what its layer makes and the gradient of that,
 * and the sum. A dropout before the sum reads that gradient, too, and its result becomes the sum. */
static void sums_hand_their_gradient_on(void **state) {
    (void)state;
    static const struct {
        chain c;
        size_t arrays;
    } cases[] = {
        {{false, false, false, false}, 2}, {{false, false, true, false}, 3}, {{false, true, true, false}, 3}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t four, five;
        bytes_of(&cases[k].c, 4, LUD_NN_TRAIN, &four);
        bytes_of(&cases[k].c, 5, LUD_NN_TRAIN, &five);
        assert_int_equal(five - four, cases[k].arrays * ARRAY);
    }
}

/* Nor has what a pooling of two joins with the grid's convolution a place of its own: beside the words and
 * the smaller image there is no larger one. */
static void pooled_grids_take_what_is_pooled(void **state) {
    (void)state;
    enum { SIDE = 8, CELLS = SIDE * SIDE, FILTERS = 16 };
    lud_error error = {0};
    lud_parameters *parameters = lud_parameters_create(device, false);
    size_t bytes[2];
    for (int mode = LUD_NN_INFERENCE; mode <= LUD_NN_TRAIN; mode++) {
        lud_nn *net = lud_nn_create(parameters, ROWS);
        const int code = lud_nn_input_on(net, 0, LUD_NN_I32, CELLS, 0);
        const int grid = lud_nn_grid_conv(net, code, "grid", LUD_GRID_FULL, SIDE, SIDE, FILTERS, 3, LUD_RELU);
        lud_nn_output(net, lud_nn_max_pool(net, grid, SIDE, SIDE, 2));
        if (!parameters->values) assert_int_equal(lud_parameters_build(parameters, 3, &error), LUD_OK);
        assert_int_equal(lud_nn_plan(net, (lud_nn_mode)mode, &error), LUD_OK);
        bytes[mode] = lud_nn_bytes(net);
        lud_nn_destroy(net);
    }
    lud_parameters_destroy(parameters);
    const size_t words = ROWS * CELLS * sizeof(int32_t), image = ROWS * FILTERS * CELLS * sizeof(float);
    assert_int_equal(bytes[LUD_NN_INFERENCE], words + image / 4);
    assert_true(bytes[LUD_NN_TRAIN] >= words + image + image / 4);
}

/* Outputs are there after a run, also where they are another name for a value that is read no more. */
static void outputs_by_another_name_stay(void **state) {
    (void)state;
    enum { LAYERS = 6, N = ROWS * WIDTH };
    static double x[N], found[2][N];
    for (int i = 0; i < N; i++) x[i] = (double)(i * 7919 % 101) / 50.0 - 1.0;
    for (int mode = LUD_NN_INFERENCE; mode <= LUD_NN_TRAIN; mode++) {
        for (int named = 0; named < 2; named++) {
            lud_error error = {0};
            lud_parameters *parameters = lud_parameters_create(device, false);
            lud_nn *net = lud_nn_create(parameters, ROWS);
            const int input = lud_nn_input(net, WIDTH);
            /* a map of its own, which nobody's backward run reads */
            const int first = lud_nn_add(net, input, lud_nn_map(net, input, LUD_TANH));
            const int wanted = named ? lud_nn_stop_gradient(net, lud_nn_stop_gradient(net, first)) : first;
            int y = lud_nn_map(net, first, LUD_SIGMOID);
            for (int i = 0; i < LAYERS; i++) {
                char name[32];
                snprintf(name, sizeof name, "linear%d", i);
                y = lud_nn_linear(net, y, name, WIDTH, LUD_RELU);
            }
            lud_nn_output(net, wanted);
            lud_nn_output(net, y);
            assert_int_equal(lud_parameters_build(parameters, 3, &error), LUD_OK);
            assert_int_equal(lud_nn_plan(net, (lud_nn_mode)mode, &error), LUD_OK);
            lud_nn_write(net, input, ROWS, x);
            lud_nn_forward(net, ROWS, false);
            lud_nn_read(net, wanted, ROWS, found[named]);
            lud_nn_destroy(net);
            lud_parameters_destroy(parameters);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        assert_true(found[0][1] != found[0][2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inference_holds_what_is_read_next),
                                       cmocka_unit_test(dropouts_take_nothing_in_inference),
                                       cmocka_unit_test(training_keeps_what_goes_backward),
                                       cmocka_unit_test(sums_hand_their_gradient_on),
                                       cmocka_unit_test(pooled_grids_take_what_is_pooled),
                                       cmocka_unit_test(outputs_by_another_name_stay)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
