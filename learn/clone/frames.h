/* Frames of recorded episodes as the networks read them: in memory, or where that does not hold them in files
 * without a name that are mapped into it, so that the system keeps the pages in use. */
#pragma once

#include "learn/mappo/inputs.h"
#include "sim/large_array.h"

typedef struct lud_clone_frames {
    int n_parts;
    size_t bytes[LUD_MAX_OBSERVATION_PARTS];           /* of a frame; 0: the networks do not read the part */
    lud_large_array arrays[LUD_MAX_OBSERVATION_PARTS]; /* [capacity](part) */
    bool on_disk;
} lud_clone_frames;

/* Whether the networks read a part of the observations. */
bool lud_clone_reads_part(const lud_mappo_shape *shape, int part);
/* Room for `capacity` frames: in memory when they are at most `memory` bytes, else in files in $TMPDIR or
 * /var/tmp. LUD_ERROR_IO when the folder does not hold them. After an error too it is to be freed. */
lud_status lud_clone_frames_create(const lud_mappo_shape *shape, int64_t capacity, uint64_t memory,
                                   lud_clone_frames *frames, lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_frames_free(lud_clone_frames *frames);
/* Reads one frame from the disk, so that it is in memory when it is used soon. Several threads may. */
void lud_clone_frames_touch(const lud_clone_frames *frames, int64_t frame);
