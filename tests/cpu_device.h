/* The processor as the device of a test program. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/device.h"

/* With the instructions of `set`: plain, avx2 or avx512. */
static inline lud_device *open_set_of(const char *set, int n_threads) {
    lud_device *device = NULL;
    lud_error error = {0};
    setenv("LUDUS_CPU", set, 1);
    const lud_status status = lud_device_open("cpu", n_threads, &device, &error);
    unsetenv("LUDUS_CPU");
    if (status != LUD_OK) fail_msg("%s", error.text);
    return device;
}

/* Defines `device`, and open_device and close_device for the group of tests. */
#define TEST_DEVICE(n_threads)                                                                               \
    static lud_device *device;                                                                               \
    static int open_device(void **state) {                                                                   \
        (void)state;                                                                                         \
        return lud_device_open("cpu", n_threads, &device, NULL) == LUD_OK ? 0 : -1;                          \
    }                                                                                                        \
    static int close_device(void **state) {                                                                  \
        (void)state;                                                                                         \
        lud_device_close(device);                                                                            \
        return 0;                                                                                            \
    }
