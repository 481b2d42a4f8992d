/* Video files: frames go to the encoder as they come, none is kept. The same frames give the same bytes. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef struct lud_video_options {
    int width, height; /* 16..4096; even for mp4 and webm */
    int fps;           /* 1..240 */
} lud_video_options;

typedef struct lud_video lud_video;

/* The format follows from the ending of `path`: .mp4 (H.264), .webm (VP9), .gif, or .png (one file a frame:
 * name-00001.png ...). Another ending is an error that lists these. The file is written beside and renamed by
 * finish. */
lud_status lud_video_open(const char *path, lud_video_options options, lud_video **video, lud_error *error);
/* pixels: [height] rows of `pitch` bytes of words 0xxxRRGGBB. */
lud_status lud_video_add(lud_video *video, const uint32_t *pixels, int pitch, lud_error *error);
/* Appends the file that holds a frame, 1 the first: that of the video, or one of its pictures. */
void lud_video_name_frame(const char *path, int64_t frame, lud_text *name);
/* Completes the file and destroys the video, also when it fails (then nothing is left on the disk). */
lud_status lud_video_finish(lud_video *video, lud_error *error);
/* Gives up: nothing is left on the disk (of a sequence: no further frame). Null is allowed. */
void lud_video_abandon(lud_video *video);
/* Whether the ending of the path is one of ours; if not, the error lists them. */
lud_status lud_video_check_path(const char *path, lud_error *error);
