#include "render/video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render/canvas/picture.h"
#include "render/video/encoder.h"

typedef struct format {
    const char *ending;
    lud_encoding encoding; /* its muxer is null for pictures */
} format;

static const format formats[] = {
    {".mp4", {.muxer = "mp4", .encoders = {"libx264"}}},
    {".webm", {.muxer = "webm", .encoders = {"libvpx-vp9", "libvpx"}}},
    {".gif", {.muxer = "gif", .encoders = {"gif"}, .palette = true}},
    {".png", {.muxer = NULL}},
};

struct lud_video {
    const format *format;
    lud_video_options options;
    lud_encoder *encoder; /* null for pictures */
    int64_t n_frames;
    char *path; /* of pictures: the name before the number */
};

static const format *format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    for (size_t k = 0; dot && k < sizeof formats / sizeof *formats; k++)
        if (!strcasecmp(dot, formats[k].ending)) return &formats[k];
    return NULL;
}

lud_status lud_video_check_path(const char *path, lud_error *error) {
    const format *f = format_of(path);
    if (f) return f->encoding.muxer ? lud_encoder_check(path, error) : LUD_OK;
    return lud_invalid(
        error, "%s: cannot tell the kind of file from its ending; use .mp4, .webm, .gif or .png", path);
}

static void destroy(lud_video *v) {
    free(v->path);
    free(v);
}

lud_status lud_video_open(const char *path, lud_video_options options, lud_video **video, lud_error *error) {
    LUD_TRY(lud_video_check_path(path, error));
    const format *f = format_of(path);
    const bool halves = f->encoding.muxer && !f->encoding.palette; /* two pixels share a colour */
    const bool even = !halves || (options.width % 2 == 0 && options.height % 2 == 0);
    if (options.width < 16 || options.height < 16 || options.width > 4096 || options.height > 4096 || !even)
        return lud_invalid(error, "%s: a picture of %d x %d cannot be recorded; sides go from 16 to 4096%s",
                           path, options.width, options.height, even ? "" : " and are even for mp4 and webm");
    if (options.fps < 1 || options.fps > 240)
        return lud_invalid(error, "%s: %d frames a second; 1 to 240 are possible", path, options.fps);
    lud_video *v = calloc(1, sizeof *v);
    if (v) {
        v->format = f;
        v->options = options;
        v->path = strdup(path);
    }
    if (!v || !v->path) {
        if (v) destroy(v);
        return lud_no_memory(error, "a video");
    }
    const lud_status status =
        f->encoding.muxer ? lud_encoder_open(path, &f->encoding, options, &v->encoder, error) : LUD_OK;
    if (status)
        destroy(v);
    else
        *video = v;
    return status;
}

void lud_video_name_frame(const char *path, int64_t frame, lud_text *name) {
    const format *f = format_of(path);
    if (!f || f->encoding.muxer) {
        lud_text_append(name, "%s", path);
        return;
    }
    const int stem = (int)(strrchr(path, '.') - path);
    lud_text_append(name, "%.*s-%05lld%s", stem, path, (long long)frame, path + stem);
}

static lud_status add_png(lud_video *v, const uint32_t *pixels, int pitch, lud_error *error) {
    lud_text name = {0};
    lud_video_name_frame(v->path, v->n_frames, &name);
    lud_status status = name.failed ? lud_no_memory(error, "a frame")
                                    : lud_picture_write(name.bytes, pixels, v->options.width,
                                                        v->options.height, pitch, error);
    lud_text_free(&name);
    return status;
}

lud_status lud_video_add(lud_video *v, const uint32_t *pixels, int pitch, lud_error *error) {
    v->n_frames++;
    return v->encoder ? lud_encoder_add(v->encoder, pixels, pitch, error) : add_png(v, pixels, pitch, error);
}

lud_status lud_video_finish(lud_video *v, lud_error *error) {
    const lud_status status = v->encoder ? lud_encoder_finish(v->encoder, error) : LUD_OK;
    destroy(v);
    return status;
}

void lud_video_abandon(lud_video *video) {
    if (!video) return;
    lud_encoder_abandon(video->encoder);
    destroy(video);
}
