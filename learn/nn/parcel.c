#include "learn/nn/parcel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nn/replay.h"

enum { PARCEL_ALIGNMENT = 256 };

void lud_parcel_start(lud_parcel *p, lud_device *device) {
    *p = (lud_parcel){.device = device, .direct = strcmp(device->backend->name, "cpu") == 0};
}

void lud_parcel_end(lud_parcel *p) {
    if (p->memory) lud_device_release(p->device, p->memory);
    free(p->host);
    *p = (lud_parcel){0};
}

void lud_parcel_clear(lud_parcel *p) {
    p->n = 0;
    p->bytes = 0;
}

void lud_parcel_add(lud_parcel *p, void *pointer, const void *host, size_t bytes) {
    assert(p->n < LUD_PARCEL_ITEMS);
    p->items[p->n++] =
        (lud_parcel_item){.pointer = pointer, .host = host, .bytes = bytes, .offset = p->bytes};
    p->bytes += (bytes + PARCEL_ALIGNMENT - 1) / PARCEL_ALIGNMENT * PARCEL_ALIGNMENT;
}

static bool make_room(lud_parcel *p) {
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

bool lud_parcel_send(lud_parcel *p) {
    if (!p->direct && !make_room(p)) return false;
    for (int i = 0; i < p->n; i++) {
        const lud_parcel_item *item = &p->items[i];
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

uint64_t lud_parcel_key(const lud_parcel *p) {
    uint64_t key = lud_replay_key(0, p->n_grown);
    for (int i = 0; i < p->n; i++) key = lud_replay_key(key, (uint64_t)p->items[i].bytes);
    return key;
}
