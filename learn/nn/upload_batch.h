/* Host arrays that go to the device together: one upload, however many they are. On the CPU nothing moves:
 * the device reads the arrays where they lie. */
#pragma once

#include "kernels/device.h"

enum { LUD_UPLOAD_BATCH_ITEMS = 96 }; /* arrays at most */

typedef struct lud_upload_batch_item {
    void *pointer; /* the address of a pointer */
    const void *host;
    size_t bytes, offset;
} lud_upload_batch_item;

typedef struct lud_upload_batch {
    lud_device *device;
    bool direct; /* the device reads host memory */
    int n;
    lud_upload_batch_item items[LUD_UPLOAD_BATCH_ITEMS];
    size_t bytes, room; /* of all items, and of the two blocks */
    char *host, *memory;
    uint64_t n_grown; /* times that `memory` was taken anew, which makes recorded work void */
} lud_upload_batch;

/* Fills the struct; takes nothing. */
void lud_upload_batch_start(lud_upload_batch *upload, lud_device *device);
/* Gives the memory back; safe on a zeroed struct. */
void lud_upload_batch_end(lud_upload_batch *upload);
/* Empties it for the next contents. */
void lud_upload_batch_clear(lud_upload_batch *upload);
/* Adds an array. `pointer` is the address of a pointer, which lud_upload_batch_send sets to where the array
 * then is in device memory: to be read only, until the next send. The array must stay until then, on the CPU
 * as long as it is read. */
void lud_upload_batch_add(lud_upload_batch *upload, void *pointer, const void *host, size_t bytes);
/* Sends all arrays and sets their pointers; false when memory is out. */
bool lud_upload_batch_send(lud_upload_batch *upload);
/* For lud_capture_run, after sending: stands for where all arrays lie. */
uint64_t lud_upload_batch_key(const lud_upload_batch *upload);
