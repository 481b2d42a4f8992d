#include "render/support_pictures.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stb_image.h>

#include "base/file.h"
#include "render/canvas/picture.h"

static size_t area(picture p) {
    return (size_t)p.width * (size_t)p.height;
}

picture picture_of(const lud_canvas *canvas) {
    int pitch;
    const uint32_t *row = lud_canvas_pixels(canvas, &pitch);
    picture p = {lud_canvas_width(canvas), lud_canvas_height(canvas), NULL};
    p.pixels = malloc(area(p) * sizeof *p.pixels);
    assert_non_null(p.pixels);
    for (int y = 0; y < p.height; y++, row += pitch / 4)
        for (int x = 0; x < p.width; x++) p.pixels[y * p.width + x] = row[x] & 0xffffff;
    return p;
}

picture picture_read(const char *path) {
    picture p = {0};
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    char *file;
    size_t length;
    int channels;
    if (lud_file_read(arena, path, 0, &file, &length, &error)) fail_msg("%s", error.text);
    uint8_t *bytes =
        stbi_load_from_memory((const uint8_t *)file, (int)length, &p.width, &p.height, &channels, 3);
    if (!bytes) fail_msg("%s: %s", path, stbi_failure_reason());
    p.pixels = malloc(area(p) * sizeof *p.pixels);
    assert_non_null(p.pixels);
    for (size_t k = 0; k < area(p); k++)
        p.pixels[k] = (uint32_t)bytes[3 * k] << 16 | (uint32_t)bytes[3 * k + 1] << 8 | bytes[3 * k + 2];
    stbi_image_free(bytes);
    lud_arena_destroy(arena);
    return p;
}

void picture_write(picture p, const char *path) {
    lud_error error = {0};
    if (lud_picture_write(path, p.pixels, p.width, p.height, 4 * p.width, &error)) fail_msg("%s", error.text);
}

void picture_free(picture *p) {
    free(p->pixels);
    *p = (picture){0};
}

int picture_differing(picture a, picture b) {
    if (a.width != b.width || a.height != b.height) return -1;
    int n = 0;
    for (size_t k = 0; k < area(a); k++) n += a.pixels[k] != b.pixels[k];
    return n;
}

enum { REACH = 1, SQUARE = 16 };

/* The mean of a channel over the box around a pixel, of those of its pixels that are within the picture. */
static double blurred(picture p, int x, int y, int shift) {
    int sum = 0, n = 0;
    for (int v = y - REACH; v <= y + REACH; v++)
        for (int u = x - REACH; u <= x + REACH; u++) {
            if (u < 0 || v < 0 || u >= p.width || v >= p.height) continue;
            sum += (int)(p.pixels[v * p.width + u] >> shift & 0xff);
            n++;
        }
    return (double)sum / n;
}

/* The mean over the channels of a pixel. */
static double apart(picture a, picture b, int x, int y) {
    double sum = 0;
    for (int shift = 0; shift <= 16; shift += 8)
        sum += fabs(blurred(a, x, y, shift) - blurred(b, x, y, shift));
    return sum / 3;
}

picture_distance picture_compare(picture a, picture b) {
    picture_distance d = {0};
    assert_int_equal(a.width, b.width);
    assert_int_equal(a.height, b.height);
    double *at = malloc(area(a) * sizeof *at);
    assert_non_null(at);
    for (int y = 0; y < a.height; y++)
        for (int x = 0; x < a.width; x++) d.mean += at[y * a.width + x] = apart(a, b, x, y);
    for (int top = 0; top + SQUARE <= a.height; top += SQUARE / 2)
        for (int left = 0; left + SQUARE <= a.width; left += SQUARE / 2) {
            double sum = 0;
            for (int k = 0; k < SQUARE * SQUARE; k++)
                sum += at[(top + k / SQUARE) * a.width + left + k % SQUARE];
            d.worst = fmax(d.worst, sum / (SQUARE * SQUARE));
        }
    d.mean /= (double)area(a);
    free(at);
    return d;
}
