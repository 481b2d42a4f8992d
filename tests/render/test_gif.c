/* GIF: every picture comes back as it was drawn, and costs what changes in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "folder.h"
#include "render/read_video.h"
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

/* What was drawn, of which `pixels` is room for one picture. */
typedef struct drawn {
    uint32_t *pixels;
    int width, height, side;
} drawn;

static void check_picture(void *data, const AVFrame *frame, int picture) {
    const drawn *d = data;
    draw(d->pixels, d->width, d->height, d->side, picture);
    assert_int_equal(frame->format, AV_PIX_FMT_BGRA);
    for (int y = 0; y < d->height; y++) {
        const uint8_t *row = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        if (memcmp(row, d->pixels + (size_t)y * (size_t)d->width, (size_t)d->width * 4) != 0)
            fail_msg("picture %d, row %d is not as it was drawn", picture, y);
    }
}

static int64_t bytes_of(int width, int height, int side, int n) {
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "%s/%d.gif", folder, width);
    uint32_t *pixels = malloc((size_t)width * (size_t)height * sizeof *pixels);
    assert_non_null(pixels);
    write_pictures(path, pixels, width, height, side, n);
    drawn d = {pixels, width, height, side};
    int read_width, read_height;
    assert_int_equal(read_video(path, &read_width, &read_height, check_picture, &d), n);
    assert_true(read_width == width && read_height == height);
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
