/* A program whose font or sprites are damaged: an error that says so instead of wrong letters or pictures.
 * The two files come from here instead of from render/canvas/assets.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/file.h"
#include "render/canvas/assets.h"
#include "render/canvas/canvas.h"
#include "render/canvas/font.h"

static lud_arena *arena;
static lud_asset atlas, font;

lud_asset lud_asset_atlas(void) {
    return atlas;
}
lud_asset lud_asset_font(void) {
    return font;
}

static lud_asset read_asset(const char *name) {
    char path[512], *bytes;
    size_t length;
    lud_error error = {0};
    snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/assets/%s", name);
    if (lud_file_read(arena, path, 0, &bytes, &length, &error)) fail_msg("%s", error.text);
    return (lud_asset){(const unsigned char *)bytes, length};
}

static lud_status open_atlas(lud_error *error) {
    lud_sprites *sprites = NULL;
    lud_status status = lud_sprites_create(&sprites, error);
    lud_sprites_destroy(sprites);
    return status;
}

static lud_status open_font(lud_error *error) {
    lud_font *opened = NULL;
    lud_status status = lud_font_create(&opened, error);
    lud_font_destroy(opened);
    return status;
}

/* The whole asset works; with a byte changed at so many places, or cut, the message is `message`. */
static void check_damage(lud_asset *asset, lud_status (*create)(lud_error *), const char *message) {
    enum { PLACES = 400 };
    const lud_asset whole = *asset;
    lud_error error = {0};
    if (create(&error)) fail_msg("%s", error.text);
    unsigned char *copy = malloc(whole.length);
    memcpy(copy, whole.bytes, whole.length);
    for (size_t k = 0; k < PLACES; k++) {
        /* every byte of the beginning, where the sizes stand, then one here and there */
        const size_t at = k < PLACES / 2 ? k : (k - PLACES / 2 + 1) * (whole.length - 1) / (PLACES / 2);
        copy[at] ^= 0x41;
        *asset = (lud_asset){copy, whole.length};
        error = (lud_error){0};
        if (create(&error) != LUD_ERROR_INPUT || strcmp(error.text, message))
            fail_msg("byte %zu: status %d, `%s`", at, (int)error.status, error.text);
        copy[at] ^= 0x41;
    }
    static const size_t eighths[] = {0, 1, 4, 7};
    for (size_t k = 0; k < sizeof eighths / sizeof *eighths; k++) {
        const size_t length = whole.length * eighths[k] / 8;
        unsigned char *cut = malloc(length + 1); /* so that a sanitizer sees every byte beyond */
        memcpy(cut, whole.bytes, length);
        *asset = (lud_asset){cut, length};
        error = (lud_error){0};
        assert_int_equal(create(&error), LUD_ERROR_INPUT);
        assert_string_equal(error.text, message);
        lud_canvas *canvas = NULL; /* and so it is told where it is needed */
        assert_int_equal(lud_canvas_create_offscreen(64, 64, 1, &canvas, &error), LUD_ERROR_INPUT);
        assert_string_equal(error.text, message);
        free(cut);
    }
    free(copy);
    *asset = whole;
}

static void test_atlas(void **state) {
    (void)state;
    check_damage(&atlas, open_atlas, "the sprites of this program are damaged; install it anew");
}

static void test_font(void **state) {
    (void)state;
    check_damage(&font, open_font, "the font of this program is damaged; install it anew");
}

/* The ink of a glyph grows with the square of its size, also where drawing it takes much memory. */
static void test_large_glyphs(void **state) {
    (void)state;
    lud_font *opened = NULL;
    lud_error error = {0};
    if (lud_font_create(&opened, &error)) fail_msg("%s", error.text);
    double first = 0;
    for (float size = 100; size <= 3200; size *= 2) {
        const lud_glyph glyph = lud_font_glyph(opened, '@', size);
        const size_t n = (size_t)glyph.width * (size_t)glyph.height;
        uint8_t *mask = calloc(1, n);
        assert_true(lud_font_render(opened, '@', size, mask));
        double ink = 0;
        for (size_t i = 0; i < n; i++) ink += mask[i];
        ink /= (double)size * (double)size;
        if (size == 100) first = ink;
        assert_true(ink > 0.99 * first && ink < 1.01 * first);
        free(mask);
    }
    lud_font_destroy(opened);
}

static int set_up(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    atlas = read_asset("atlas.png");
    font = read_asset("Inter-Regular.otf");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_atlas), cmocka_unit_test(test_font),
                                       cmocka_unit_test(test_large_glyphs)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
