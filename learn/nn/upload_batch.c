#include "learn/nn/upload_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nn/capture.h"

enum { PARCEL_ALIGNMENT = 256 };

void lud_upload_batch_start(lud_upload_batch *p, lud_device *device) {
    *p = (lud_upload_batch){.device = device, .direct = device->backend->host_memory};
}

void lud_upload_batch_end(lud_upload_batch *p) {
    if (p->memory) lud_device_release(p->device, p->memory);
    free(p->host);
    *p = (lud_upload_batch){0};
}

void lud_upload_batch_clear(lud_upload_batch *p) {
    p->n = 0;
    p->bytes = 0;
}

void lud_upload_batch_add(lud_upload_batch *p, void *pointer, const void *host, size_t bytes) {
    assert(p->n < LUD_UPLOAD_BATCH_ITEMS);
    p->items[p->n++] =
        (lud_upload_batch_item){.pointer = pointer, .host = host, .bytes = bytes, .offset = p->bytes};
    p->bytes += (bytes + PARCEL_ALIGNMENT - 1) / PARCEL_ALIGNMENT * PARCEL_ALIGNMENT;
}

static bool make_room(lud_upload_batch *p) {
    if (p->bytes <= p->room) return true;
    const size_t room = p->bytes + p->bytes / 2;
    if (p->memory) lud_device_release(p->device, p->memory);
    free(p->host);
    p->host = malloc(room);
    p->memory = lud_device_allocate(p->device, room);
    p->n_grown++;
    p->room = p->host && p->memory ? room : 0;
    return p->room > 0;
}

bool lud_upload_batch_send(lud_upload_batch *p) {
    if (!p->direct && !make_room(p)) return false;
    for (int i = 0; i < p->n; i++) {
        const lud_upload_batch_item *item = &p->items[i];
        const void *place = item->host;
        if (!p->direct) {
            if (item->bytes) memcpy(p->host + item->offset, item->host, item->bytes);
            place = p->memory + item->offset;
        }
        memcpy(item->pointer, &place, sizeof place);
    }
    if (!p->direct && p->bytes) lud_device_upload(p->device, p->memory, p->host, p->bytes);
    return true;
}

uint64_t lud_upload_batch_key(const lud_upload_batch *p) {
    uint64_t key = lud_capture_key(0, p->n_grown);
    for (int i = 0; i < p->n; i++) key = lud_capture_key(key, (uint64_t)p->items[i].bytes);
    return key;
}
