/* A model's tables in one block: every array whole, at a boundary of 16 bytes, none over another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/device_block.h"

enum { ARRAYS = 8 };
static const size_t sizes[ARRAYS] = {24, 1, 16, 0, 17, 31, 32, 5};
static uint8_t arrays[ARRAYS][32];
static uint8_t *placed[ARRAYS];

static void build(lud_device_block *block, const void *model) {
    (void)model;
    for (int i = 0; i < ARRAYS; i++) {
        void *host;
        placed[i] = lud_device_block_put(block, arrays[i], sizes[i], &host);
        if (!block->bytes) assert_true(!placed[i] && !host);
        if (block->bytes) assert_true((uint8_t *)host - block->bytes == placed[i] - block->device);
    }
}

static void arrays_stand_side_by_side(void **state) {
    (void)state;
    lud_error error = {0};
    lud_device *device;
    void *uploaded;
    for (int i = 0; i < ARRAYS; i++) memset(arrays[i], 1 + i, sizeof arrays[i]);
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    assert_int_equal(lud_device_block_upload(device, build, NULL, &uploaded, &error), LUD_OK);
    assert_ptr_equal(uploaded, placed[0]);
    const uint8_t *end = placed[0];
    for (int i = 0; i < ARRAYS; i++) {
        uint8_t there[32];
        assert_int_equal((placed[i] - placed[0]) % 16, 0);
        assert_true(placed[i] >= end);
        assert_true(placed[i] - end < 16); /* and nothing is wasted */
        end = placed[i] + sizes[i];
        lud_device_download(device, there, placed[i], sizes[i]);
        assert_memory_equal(there, arrays[i], sizes[i]);
    }
    lud_device_release(device, uploaded);
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_stand_side_by_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
