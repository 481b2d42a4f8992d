/* Videos on a machine whose libav lacks an encoder or fails at some step: the message names the step and
 * libav's reason, and no file is left. The table of libav's functions is filled here instead of by
 * render/video/av.c. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "render/video/av.h"
#include "render/video/video.h"

TEST_FOLDER("/tmp/ludus-video-XXXXXX")
static void (*damage)(lud_av *av); /* what is replaced in the table of the next video */

lud_status lud_av_load(lud_av *av, lud_error *error) {
    (void)error;
#define X(library, function) av->function = function;
    LUD_AV_FUNCTIONS(X)
#undef X
    damage(av);
    return LUD_OK;
}

/* ---- functions that fail as libav's can ---- */

static const AVCodec *no_encoder(const char *name) {
    (void)name;
    return NULL;
}
static void *no_bytes(size_t n) {
    (void)n;
    return NULL;
}
static int no_container(AVFormatContext **muxer, const AVOutputFormat *format, const char *name,
                        const char *file) {
    (void)format, (void)name, (void)file;
    *muxer = NULL;
    return AVERROR_MUXER_NOT_FOUND;
}
static AVStream *no_stream(AVFormatContext *muxer, const AVCodec *codec) {
    (void)muxer, (void)codec;
    return NULL;
}
static int no_open(AVCodecContext *encoder, const AVCodec *codec, AVDictionary **options) {
    (void)encoder, (void)codec, (void)options;
    return AVERROR(EINVAL);
}
static int no_buffer(AVFrame *frame, int align) {
    (void)frame, (void)align;
    return AVERROR_EXTERNAL;
}
static int no_header(AVFormatContext *muxer, AVDictionary **options) {
    (void)muxer, (void)options;
    return AVERROR(EINVAL);
}
static int not_writable(AVFrame *frame) {
    (void)frame;
    return AVERROR(ENOMEM);
}
static int no_frame(AVCodecContext *encoder, const AVFrame *frame) {
    (void)encoder;
    return frame ? AVERROR_EXTERNAL : 0;
}
static int no_end(AVCodecContext *encoder, const AVFrame *frame) {
    return frame ? avcodec_send_frame(encoder, frame) : AVERROR_EXTERNAL;
}
static int no_packet(AVCodecContext *encoder, AVPacket *packet) {
    (void)encoder, (void)packet;
    return AVERROR_BUG;
}

#define DAMAGE(name, function, by)                                                                           \
    static void name(lud_av *av) {                                                                           \
        av->function = by;                                                                                   \
    }
DAMAGE(without_encoder, avcodec_find_encoder_by_name, no_encoder)
DAMAGE(without_bytes, av_malloc, no_bytes)
DAMAGE(without_container, avformat_alloc_output_context2, no_container)
DAMAGE(without_stream, avformat_new_stream, no_stream)
DAMAGE(without_open, avcodec_open2, no_open)
DAMAGE(without_buffer, av_frame_get_buffer, no_buffer)
DAMAGE(without_header, avformat_write_header, no_header)
DAMAGE(without_writable, av_frame_make_writable, not_writable)
DAMAGE(without_frame, avcodec_send_frame, no_frame)
DAMAGE(without_packet, avcodec_receive_packet, no_packet)
DAMAGE(without_end, avcodec_send_frame, no_end)

/* A video of two frames, to wherever it gets. */
static lud_status write_video(const char *path, lud_error *error) {
    static uint32_t pixels[64 * 64];
    lud_video *video = NULL;
    lud_status status = lud_video_open(path, (lud_video_options){64, 64, 30}, &video, error);
    for (int k = 0; k < 2 && !status; k++) {
        status = lud_video_add(video, pixels, 256, error);
        if (status) lud_video_abandon(video);
    }
    return status ? status : lud_video_finish(video, error);
}

static void test_failures(void **state) {
    (void)state;
    static const struct {
        void (*damage)(lud_av *av);
        const char *name;
        lud_status status;
        const char *message; /* behind the path */
    } cases[] = {
        {without_encoder, "a.mp4", LUD_ERROR_UNSUPPORTED,
         "libavcodec on this machine has no encoder libx264"},
        {without_encoder, "a.webm", LUD_ERROR_UNSUPPORTED,
         "libavcodec on this machine has no encoder libvpx-vp9"},
        {without_encoder, "a.gif", LUD_ERROR_UNSUPPORTED, "libavcodec on this machine has no encoder gif"},
        {without_bytes, "a.gif", LUD_ERROR_MEMORY, "cannot write: Cannot allocate memory"},
        {without_container, "a.gif", LUD_ERROR_UNSUPPORTED, "cannot open the container: Muxer not found"},
        {without_stream, "a.gif", LUD_ERROR_MEMORY, "cannot open the container: Cannot allocate memory"},
        {without_open, "a.mp4", LUD_ERROR_UNSUPPORTED, "cannot open the encoder: Invalid argument"},
        {without_buffer, "a.gif", LUD_ERROR_UNSUPPORTED,
         "cannot open the encoder: Generic error in an external library"},
        {without_header, "a.webm", LUD_ERROR_UNSUPPORTED, "cannot write the header: Invalid argument"},
        {without_writable, "a.gif", LUD_ERROR_MEMORY, "cannot encode: Cannot allocate memory"},
        {without_frame, "a.mp4", LUD_ERROR_UNSUPPORTED,
         "cannot encode: Generic error in an external library"},
        {without_packet, "a.gif", LUD_ERROR_UNSUPPORTED,
         "cannot encode: Internal bug, should not have happened"},
        {without_end, "a.mp4", LUD_ERROR_UNSUPPORTED,
         "cannot complete the file: Generic error in an external library"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], expected[200], pattern[80];
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
        snprintf(expected, sizeof expected, "%s: %s", path, cases[i].message);
        damage = cases[i].damage;
        lud_error error = {0};
        if (write_video(path, &error) != cases[i].status || strcmp(error.text, expected))
            fail_msg("status %d, `%s`, expected %d, `%s`", (int)error.status, error.text,
                     (int)cases[i].status, expected);
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/*", folder);
        assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
    }
}

static void nothing(lud_av *av) {
    (void)av;
}

/* With the whole table a file is written: the cases above fail for what they replace and nothing else. */
static void test_whole_table(void **state) {
    (void)state;
    char path[64];
    lud_error error = {0};
    damage = nothing;
    static const char *const names[] = {"b.mp4", "b.webm", "b.gif"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (write_video(path, &error)) fail_msg("%s", error.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures), cmocka_unit_test(test_whole_table)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
