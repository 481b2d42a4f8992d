#include "sim/device_block.h"

#include <stdlib.h>
#include <string.h>

void *lud_device_block_put(lud_device_block *b, const void *from, size_t bytes, void **host) {
    const size_t at = b->used;
    b->used = (at + bytes + 15) / 16 * 16;
    if (host) *host = b->bytes ? b->bytes + at : NULL;
    if (!b->bytes) return NULL;
    if (bytes) memcpy(b->bytes + at, from, bytes);
    return b->device + at;
}

lud_status lud_device_block_upload(lud_device *device, lud_device_block_build *build, const void *model,
                                   void **uploaded, lud_error *error) {
    lud_device_block b = {0};
    *uploaded = NULL;
    build(&b, model);
    b.bytes = calloc(1, b.used);
    b.device = b.bytes ? lud_device_allocate(device, b.used) : NULL;
    if (!b.device) {
        free(b.bytes);
        return lud_no_memory(error, "a model on %s", device->name);
    }
    b.used = 0;
    build(&b, model);
    lud_device_upload(device, b.device, b.bytes, b.used);
    free(b.bytes);
    *uploaded = b.device;
    return LUD_OK;
}
