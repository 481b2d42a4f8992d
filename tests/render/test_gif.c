/* GIF: every picture comes back as it was drawn, and costs what changes in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "folder.h"
#include "render/video/video.h"

TEST_FOLDER("/tmp/ludus-gif-XXXXXX")

/* Two squares in opposite corners take two new colours in every picture. Their lower bits are 0, so that no
 * two colours are one to the palette. */
static uint32_t colour(int picture, int square) {
    const uint32_t k = (uint32_t)picture;
    return 0xFF000000u | (k % 32) * 8 << 16 | (square ? 0x80u : 0x08u) << 8 | (k * 5 % 32) * 8;
}

static void draw(uint32_t *pixels, int width, int height, int side, int picture) {
    for (int i = 0; i < width * height; i++) pixels[i] = 0xFFF0E8E0u;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            pixels[y * width + x] = colour(picture, 0);
            pixels[(height - 1 - y) * width + width - 1 - x] = colour(picture, 1);
        }
}

static void write_pictures(const char *path, uint32_t *pixels, int width, int height, int side, int n) {
    lud_video *video;
    lud_error error = {0};
    if (lud_video_open(path, (lud_video_options){width, height, 10}, &video, &error))
        fail_msg("%s", error.text);
    for (int k = 0; k < n; k++) {
        draw(pixels, width, height, side, k);
        if (lud_video_add(video, pixels, width * 4, &error)) fail_msg("%s", error.text);
    }
    if (lud_video_finish(video, &error)) fail_msg("%s", error.text);
}

static void check_picture(const AVFrame *frame, const uint32_t *pixels, int width, int height, int picture) {
    assert_int_equal(frame->format, AV_PIX_FMT_BGRA);
    for (int y = 0; y < height; y++) {
        const uint8_t *row = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        if (memcmp(row, pixels + (size_t)y * (size_t)width, (size_t)width * 4) != 0)
            fail_msg("picture %d, row %d is not as it was drawn", picture, y);
    }
}

static void read_pictures(const char *path, uint32_t *pixels, int width, int height, int side, int n) {
    AVFormatContext *input = NULL;
    assert_int_equal(avformat_open_input(&input, path, NULL, NULL), 0);
    assert_true(avformat_find_stream_info(input, NULL) >= 0);
    const AVCodecParameters *parameters = input->streams[0]->codecpar;
    AVCodecContext *decoder = avcodec_alloc_context3(avcodec_find_decoder(parameters->codec_id));
    assert_int_equal(avcodec_parameters_to_context(decoder, parameters), 0);
    assert_int_equal(avcodec_open2(decoder, NULL, NULL), 0);
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    int k = 0;
    for (bool end = false; !end;) {
        end = av_read_frame(input, packet) < 0;
        avcodec_send_packet(decoder, end ? NULL : packet);
        av_packet_unref(packet);
        for (; avcodec_receive_frame(decoder, frame) == 0; k++) {
            draw(pixels, width, height, side, k);
            check_picture(frame, pixels, width, height, k);
        }
    }
    assert_int_equal(k, n);
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&decoder);
    avformat_close_input(&input);
}

static int64_t bytes_of(int width, int height, int side, int n) {
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "%s/%d.gif", folder, width);
    uint32_t *pixels = malloc((size_t)width * (size_t)height * sizeof *pixels);
    assert_non_null(pixels);
    write_pictures(path, pixels, width, height, side, n);
    read_pictures(path, pixels, width, height, side, n);
    free(pixels);
    assert_int_equal(stat(path, &file), 0);
    return (int64_t)file.st_size;
}

/* A picture with a palette of its own takes 768 bytes for that alone. */
static void test_changes(void **state) {
    (void)state;
    const int64_t bytes = bytes_of(96, 64, 6, 30);
    if (bytes > 30 * 768 / 2)
        fail_msg("%lld bytes for 30 pictures in which two small squares change", (long long)bytes);
}

/* More than is kept until all colours are known. */
static void test_large(void **state) {
    (void)state;
    bytes_of(4096, 2048, 96, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
