/* One compressed video file, by FFmpeg's libraries. A build without their headers has without_ffmpeg.c in the
 * place of encoder.c. */
#pragma once

#include <stdbool.h>

#include "render/video/video.h"

typedef struct lud_encoding {
    const char *muxer;
    const char *encoders[3]; /* in order of preference, null behind the last */
    bool palette;            /* 256 colours a frame; else YUV 4:2:0 of BT.709 */
} lud_encoding;

typedef struct lud_encoder lud_encoder;

/* Whether this build can write such a file at all; LUD_ERROR_UNSUPPORTED says what is missing. */
lud_status lud_encoder_check(const char *path, lud_error *error);
/* As lud_video_open, _add, _finish and _abandon, whose checks are made. `encoding` must outlive the encoder.
 */
lud_status lud_encoder_open(const char *path, const lud_encoding *encoding, lud_video_options options,
                            lud_encoder **encoder, lud_error *error);
lud_status lud_encoder_add(lud_encoder *encoder, const uint32_t *pixels, int pitch, lud_error *error);
lud_status lud_encoder_finish(lud_encoder *encoder, lud_error *error);
void lud_encoder_abandon(lud_encoder *encoder);
