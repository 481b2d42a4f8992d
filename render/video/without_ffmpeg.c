/* What a build without the headers of FFmpeg's libraries answers. */
#include "render/video/encoder.h"

lud_status lud_encoder_check(const char *path, lud_error *error) {
    return lud_fail(
        error, LUD_ERROR_UNSUPPORTED,
        "%s: this Ludus was built without FFmpeg and writes no videos; record .png pictures, or "
        "install libavcodec-dev, libavformat-dev, libavutil-dev and libswscale-dev and build again",
        path);
}

lud_status lud_encoder_open(const char *path, const lud_encoding *encoding, lud_video_options options,
                            lud_encoder **encoder, lud_error *error) {
    (void)encoding, (void)options, (void)encoder;
    return lud_encoder_check(path, error);
}

lud_status lud_encoder_add(lud_encoder *encoder, const uint32_t *pixels, int pitch, lud_error *error) {
    (void)encoder, (void)pixels, (void)pitch;
    return lud_encoder_check("a video", error);
}

lud_status lud_encoder_finish(lud_encoder *encoder, lud_error *error) {
    (void)encoder;
    return lud_encoder_check("a video", error);
}

void lud_encoder_abandon(lud_encoder *encoder) {
    (void)encoder;
}
