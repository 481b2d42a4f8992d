/* The CUDA device of a test program: opened before its first test, closed after the last. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/device.h"

static lud_device *cuda; /* null where there is none: tests skip */

static int open_device(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cuda", 0, &cuda, &error) == LUD_OK) return 0;
    print_message("no CUDA: %s\n", error.text);
    cuda = NULL;
    /* asked for and not there is a failure, not a reason to skip */
    return getenv("LUDUS_CUDA_MODULE") ? -1 : 0;
}

static int close_device(void **state) {
    (void)state;
    lud_device_close(cuda);
    return 0;
}
