/* Arrays on the host and on a device that are given back together: an owner names each of them once. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "kernels/device.h"

enum { LUD_ARRAYS_ON_HOST = 64, LUD_ARRAYS_ON_DEVICE = 16 }; /* at most */

typedef struct lud_arrays {
    lud_device *device; /* of arrays that are not on the host; the rest begins with zeros */
    int n_on_host, n_on_device;
    bool failed; /* some array is null: memory is out */
    void *on_host[LUD_ARRAYS_ON_HOST], *on_device[LUD_ARRAYS_ON_DEVICE];
} lud_arrays;

/* Sets a pointer to n zeroed elements on the host, or to n elements on the device, and notes them. */
#define LUD_TAKE(arrays, pointer, n) ((pointer) = lud_arrays_add(arrays, calloc(n, sizeof *(pointer))))
#define LUD_TAKE_ON_DEVICE(arrays, pointer, n)                                                               \
    ((pointer) =                                                                                             \
         lud_arrays_add_device(arrays, lud_device_allocate((arrays)->device, (n) * sizeof *(pointer))))

/* Makes room for n elements of `size` bytes in an array that is not noted: `array` is the address of its
 * pointer, which realloc moves. False, and nothing has changed, when memory is out. */
static inline bool lud_grow(void *array, size_t n, size_t size) {
    void *old, *larger;
    memcpy(&old, array, sizeof old);
    if (!(larger = realloc(old, n * size))) return false;
    memcpy(array, &larger, sizeof larger);
    return true;
}

/* Notes an array, null included, and returns it. */
void *lud_arrays_add(lud_arrays *arrays, void *memory);
void *lud_arrays_add_device(lud_arrays *arrays, void *memory);
/* Gives all of them back; the struct is as at the beginning. */
void lud_arrays_free(lud_arrays *arrays);
