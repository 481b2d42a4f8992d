#include "learn/nn/arrays.h"

#include <assert.h>

void *lud_arrays_add(lud_arrays *a, void *memory) {
    assert(a->n_on_host < LUD_ARRAYS_ON_HOST);
    if (!memory) a->failed = true;
    return a->on_host[a->n_on_host++] = memory;
}

void *lud_arrays_add_device(lud_arrays *a, void *memory) {
    assert(a->n_on_device < LUD_ARRAYS_ON_DEVICE);
    if (!memory) a->failed = true;
    return a->on_device[a->n_on_device++] = memory;
}

void lud_arrays_free(lud_arrays *a) {
    for (int i = 0; i < a->n_on_host; i++) free(a->on_host[i]);
    for (int i = 0; i < a->n_on_device; i++)
        if (a->on_device[i]) lud_device_release(a->device, a->on_device[i]);
    *a = (lud_arrays){.device = a->device};
}
