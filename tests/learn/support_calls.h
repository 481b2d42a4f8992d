/* Counts what a device is asked for while it may only replay recorded graphs and move arrays. */
#pragma once

#include "kernels/device.h"

typedef struct support_calls {
    int launches, uploads, downloads;
    int others; /* copies and zeros */
} support_calls;

/* From now on calls of the device are counted, from zero; calling one of its operations by itself ends the
 * program. One device at a time. */
void support_calls_begin(lud_device *device);
/* The device is as before; what was counted. */
support_calls support_calls_end(lud_device *device);
