/* What is sent in one upload counts as if it were sent by itself: steps of dropouts, rates and limits of
 * optimisers, arrays of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "learn/nn/nn.h"
#include "learn/nn/optimiser.h"

TEST_DEVICE(1)

static void arrays_are_where_their_pointers_say(void **state) {
    (void)state;
    enum { ITEMS = 4 };
    static const size_t sizes[ITEMS] = {12, 0, 256, 257};
    char host[ITEMS][300];
    const void *at[ITEMS] = {0};
    lud_upload_batch upload;
    lud_upload_batch_start(&upload, device);
    uint64_t keys[3];
    for (int round = 0; round < 3; round++) { /* the last is smaller: other work */
        lud_upload_batch_clear(&upload);
        for (int i = 0; i < ITEMS; i++) {
            memset(host[i], 'a' + 10 * round + i, sizeof host[i]);
            lud_upload_batch_add(&upload, &at[i], host[i], round == 2 ? sizes[i] / 2 : sizes[i]);
        }
        assert_true(lud_upload_batch_send(&upload));
        for (int i = 0; i < ITEMS; i++)
            assert_memory_equal(at[i], host[i], round == 2 ? sizes[i] / 2 : sizes[i]);
        keys[round] = lud_upload_batch_key(&upload);
    }
    assert_true(keys[0] == keys[1] && keys[1] != keys[2]);
    lud_upload_batch_end(&upload);
}

/* The draws of a step, whichever way it is told. */
static void steps_draw_alike(void **state) {
    (void)state;
    enum { ROWS = 20, WIDTH = 30, N = ROWS * WIDTH };
    static double ones[N], told[N], packed[N];
    lud_error error = {0};
    lud_parameters *parameters = lud_parameters_create(device, false);
    lud_nn *net = lud_nn_create(parameters, ROWS);
    const int x = lud_nn_input(net, WIDTH), y = lud_nn_dropout(net, x, 0.5, 3);
    lud_nn_output(net, y);
    lud_parameters_add(parameters, "unused", 1, (const int64_t[]){1}, (lud_init){0});
    assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
    assert_int_equal(lud_nn_plan(net, LUD_NN_TRAIN, &error), LUD_OK);
    for (int i = 0; i < N; i++) ones[i] = 1;
    lud_nn_write(net, x, ROWS, ones);
    lud_upload_batch upload;
    lud_upload_batch_start(&upload, device);
    for (uint32_t step = 0; step < 4; step++) {
        lud_nn_set_step(net, 9, step + 5);
        lud_nn_forward(net, ROWS, true);
        lud_nn_read(net, y, ROWS, told);
        lud_nn_set_step(net, 9, 1000);
        lud_upload_batch_clear(&upload);
        lud_nn_pack_step(net, 9, step + 5, &upload);
        assert_true(lud_upload_batch_send(&upload));
        lud_nn_forward(net, ROWS, true);
        lud_nn_read(net, y, ROWS, packed);
        assert_memory_equal(told, packed, sizeof told);
    }
    lud_upload_batch_end(&upload);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

/* The same bits of weights after the same gradients. */
static void rates_step_alike(void **state) {
    (void)state;
    enum { N = 19, STEPS = 5 };
    for (int kind = LUD_OPTIMISER_SGD; kind <= LUD_OPTIMISER_ADAMW; kind++) {
        double weights[2][N];
        for (int packs = 0; packs < 2; packs++) {
            lud_error error = {0};
            lud_parameters *parameters = lud_parameters_create(device, false);
            lud_parameters_add(parameters, "w", 1, (const int64_t[]){N},
                               (lud_init){.kind = LUD_INIT_NORMAL, .a = 1.0});
            assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
            lud_optimiser *optimiser = lud_optimiser_create(parameters);
            lud_optimiser_options o = lud_optimiser_defaults((lud_optimiser_kind)kind);
            o.max_norm = 1.5;
            o.weight_decay = 0.1;
            assert_int_equal(lud_optimiser_group(optimiser, "", &o, false), 0);
            assert_int_equal(lud_optimiser_build(optimiser, 2, &error), LUD_OK);
            lud_upload_batch upload;
            lud_upload_batch_start(&upload, device);
            for (int t = 0; t < STEPS; t++) {
                const double lr = 0.1 / (t + 1);
                float *g = lud_parameters_gradient(parameters, 0);
                for (int i = 0; i < N; i++) g[i] = (float)((i * 7 + t * 3) % 11 - 5) / 3.0f;
                lud_upload_batch_clear(&upload);
                if (packs)
                    lud_optimiser_pack(optimiser, 0, lr, &upload);
                else
                    lud_optimiser_prepare(optimiser, 0, lr);
                assert_true(lud_upload_batch_send(&upload));
                lud_optimiser_apply(optimiser, 0);
            }
            lud_parameters_read(parameters, 0, weights[packs]);
            lud_upload_batch_end(&upload);
            lud_optimiser_destroy(optimiser);
            lud_parameters_destroy(parameters);
        }
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_are_where_their_pointers_say),
                                       cmocka_unit_test(steps_draw_alike),
                                       cmocka_unit_test(rates_step_alike)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
