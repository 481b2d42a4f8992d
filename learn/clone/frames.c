#include "learn/clone/frames.h"

#include <stdlib.h>
#include <sys/mman.h>

bool lud_clone_reads_part(const lud_mappo_shape *shape, int part) {
    for (int k = 0; k < shape->n_pieces; k++)
        if (shape->pieces[k].part == part) return true;
    return part == shape->grid || part == shape->nodes || part == shape->edge_begin ||
           part == shape->edge_source || part == shape->edge_length || part == shape->choices;
}

/* Neighbours on the disk are other steps of an episode, which no minibatch wants together. */
static lud_status to_file(lud_large_array *array, uint64_t bytes, lud_error *error) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/var/tmp";
    lud_status status = lud_large_array_to_file(array, 0, folder, error);
    if (!status) status = lud_large_array_reserve(array, bytes, error);
    if (status)
        return lud_fail_context(error, "%llu MiB of frames in %s", (unsigned long long)(bytes >> 20), folder);
    (void)madvise(array->bytes, array->capacity, MADV_RANDOM);
    return LUD_OK;
}

lud_status lud_clone_frames_create(const lud_mappo_shape *shape, int64_t capacity, uint64_t memory,
                                   lud_clone_frames *frames, lud_error *error) {
    const lud_layout *layout = &shape->model->layout;
    const uint64_t n = capacity > 0 ? (uint64_t)capacity : 1;
    uint64_t all = 0;
    *frames = (lud_clone_frames){.n_parts = layout->n_parts};
    for (int p = 0; p < layout->n_parts; p++) {
        if (!lud_clone_reads_part(shape, p)) continue;
        frames->bytes[p] = layout->parts[p].bytes;
        all += n * layout->parts[p].bytes;
    }
    frames->on_disk = all > memory;
    for (int p = 0; p < layout->n_parts; p++) {
        if (frames->bytes[p] == 0) continue;
        const uint64_t bytes = n * frames->bytes[p];
        LUD_TRY(frames->on_disk ? to_file(&frames->arrays[p], bytes, error)
                                : lud_large_array_reserve(&frames->arrays[p], bytes, error));
    }
    return LUD_OK;
}

void lud_clone_frames_free(lud_clone_frames *frames) {
    for (int p = 0; p < frames->n_parts; p++) lud_large_array_free(&frames->arrays[p]);
    *frames = (lud_clone_frames){0};
}

void lud_clone_frames_touch(const lud_clone_frames *frames, int64_t frame) {
    enum { PAGE = 4096 };
    for (int p = 0; p < frames->n_parts; p++) {
        const volatile uint8_t *from =
            (const uint8_t *)frames->arrays[p].bytes + (size_t)frame * frames->bytes[p];
        for (size_t at = 0; at < frames->bytes[p]; at += PAGE) (void)from[at];
        if (frames->bytes[p] > 0) (void)from[frames->bytes[p] - 1];
    }
}
