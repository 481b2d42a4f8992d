/* Host arrays that go to the device together: one upload, however many they are. On the CPU nothing moves:
 * the device reads the arrays where they lie. */
#ifndef LUDUS_LEARN_NN_PARCEL_H
#define LUDUS_LEARN_NN_PARCEL_H

#include "kernels/device.h"

enum { LUD_PARCEL_ITEMS = 96 }; /* arrays at most */

typedef struct lud_parcel_item {
    void *pointer; /* the address of a pointer */
    const void *host;
    size_t bytes, offset;
} lud_parcel_item;

typedef struct lud_parcel {
    lud_device *device;
    bool direct; /* the device reads host memory */
    int n;
    lud_parcel_item items[LUD_PARCEL_ITEMS];
    size_t bytes, room; /* of all items, and of the two blocks */
    char *host, *memory;
    uint64_t n_grown; /* times that `memory` was taken anew, which makes recorded work void */
} lud_parcel;

/* Fills the struct; takes nothing. */
void lud_parcel_start(lud_parcel *parcel, lud_device *device);
/* Gives the memory back; safe on a zeroed struct. */
void lud_parcel_end(lud_parcel *parcel);
/* Empties it for the next contents. */
void lud_parcel_clear(lud_parcel *parcel);
/* Adds an array. `pointer` is the address of a pointer, which lud_parcel_send sets to where the array then is
 * in device memory: to be read only, until the next send. The array must stay until then, on the CPU as long
 * as it is read. */
void lud_parcel_add(lud_parcel *parcel, void *pointer, const void *host, size_t bytes);
/* Sends all arrays and sets their pointers; false when memory is out. */
bool lud_parcel_send(lud_parcel *parcel);
/* For lud_replay_run, after sending: stands for where all arrays lie. */
uint64_t lud_parcel_key(const lud_parcel *parcel);

#endif
