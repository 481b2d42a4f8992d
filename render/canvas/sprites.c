#include "render/canvas/sprites.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/canvas/assets.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wpedantic"
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#include <stb_image.h>
#pragma GCC diagnostic pop

struct lud_sprites {
    unsigned char *pixels; /* RGBA, straight alpha */
    int width, height;
};

static const bool tinted[LUD_SPRITE_COUNT] = {
#define X(NAME, name, is_tinted) is_tinted,
    LUD_SPRITES(X)
#undef X
};

/* CRC-32 of ISO 3309, as the PNG specification (annex D) has it, four bits at a time. */
static uint32_t crc32_of(const unsigned char *bytes, size_t n) {
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ (uint32_t)(bytes[i] >> 4)) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static uint32_t read_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Whether every chunk up to the last has its checksum; stb_image does not look at them. */
static bool is_whole(lud_asset asset) {
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (asset.length < sizeof signature || memcmp(asset.bytes, signature, sizeof signature) != 0)
        return false;
    for (size_t at = sizeof signature; asset.length - at >= 12;) {
        const unsigned char *chunk = asset.bytes + at;
        const uint32_t n = read_u32(chunk);
        if (n > asset.length - at - 12 || crc32_of(chunk + 4, n + 4) != read_u32(chunk + 8 + n)) return false;
        at += n + 12;
        if (memcmp(chunk + 4, "IEND", 4) == 0) return at == asset.length;
    }
    return false;
}

lud_status lud_sprites_create(lud_sprites **sprites, lud_error *error) {
    lud_asset atlas = lud_asset_atlas();
    if (!is_whole(atlas))
        return lud_invalid(error, "the sprites of this program are damaged; install it anew");
    lud_sprites *s = calloc(1, sizeof *s);
    if (!s) return lud_no_memory(error, "the sprites");
    int channels;
    s->pixels = stbi_load_from_memory(atlas.bytes, (int)atlas.length, &s->width, &s->height, &channels, 4);
    int rows = (LUD_SPRITE_COUNT + LUD_ATLAS_COLUMNS - 1) / LUD_ATLAS_COLUMNS;
    if (!s->pixels) { /* the atlas is whole: only memory can be lacking */
        lud_sprites_destroy(s);
        return lud_no_memory(error, "the sprites");
    }
    assert(s->width == LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE && s->height == rows * LUD_ATLAS_SIDE);
    (void)rows;
    *sprites = s;
    return LUD_OK;
}

void lud_sprites_destroy(lud_sprites *sprites) {
    if (!sprites) return;
    stbi_image_free(sprites->pixels);
    free(sprites);
}

/* One texel of a sprite, premultiplied and in 0..1; transparent outside. */
static void texel(const lud_sprites *sprites, lud_sprite sprite, int x, int y, float out[4]) {
    if (x < 0 || y < 0 || x >= LUD_ATLAS_SIDE || y >= LUD_ATLAS_SIDE) {
        out[0] = out[1] = out[2] = out[3] = 0;
        return;
    }
    size_t column = (size_t)((int)sprite % LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE + x);
    size_t row = (size_t)((int)sprite / LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE + y);
    const unsigned char *p = sprites->pixels + 4 * (row * (size_t)sprites->width + column);
    float alpha = (float)p[3] * (1.0f / 255);
    for (int c = 0; c < 3; c++) out[c] = (float)p[c] * (1.0f / 255) * alpha;
    out[3] = alpha;
}

/* Premultiplied colour of the sprite at a point given in texels, bilinear. */
static void sample(const lud_sprites *sprites, lud_sprite sprite, float x, float y, float out[4]) {
    float fx = floorf(x - 0.5f), fy = floorf(y - 0.5f);
    float tx = x - 0.5f - fx, ty = y - 0.5f - fy;
    float corner[4][4];
    for (int k = 0; k < 4; k++) texel(sprites, sprite, (int)fx + (k & 1), (int)fy + (k >> 1), corner[k]);
    for (int c = 0; c < 4; c++)
        out[c] = (corner[0][c] * (1 - tx) + corner[1][c] * tx) * (1 - ty) +
                 (corner[2][c] * (1 - tx) + corner[3][c] * tx) * ty;
}

/* Grey ramp -> colour: 0 a dark shade, 0.5 the tint, 1 white. */
static float ramp(float value, float tint) {
    float dark = 0.18f * tint + 0.02f;
    return value < 0.5f ? dark + (tint - dark) * value * 2 : tint + (1 - tint) * (value - 0.5f) * 2;
}

void lud_sprites_render(const lud_sprites *sprites, lud_sprite sprite, lud_rgba tint, int size, int turn,
                        uint32_t *pixels) {
    assert(size > 0 && sprite >= 0 && sprite < LUD_SPRITE_COUNT);
    float angle = (float)(turn & 127) * (6.28318530717958648f / 128);
    float cosine = cosf(angle), sine = sinf(angle);
    float scale = (float)LUD_ATLAS_SIDE / (float)size;
    /* enough samples a pixel that they are at most about a texel apart */
    int n = (int)ceilf(scale) + (turn & 31 ? 1 : 0);
    if (n < 1) n = 1;
    const float centre = LUD_ATLAS_SIDE * 0.5f;
    const float tint_channels[3] = {(float)tint.r / 255, (float)tint.g / 255, (float)tint.b / 255};
    for (int py = 0; py < size; py++)
        for (int px = 0; px < size; px++) {
            float sum[4] = {0, 0, 0, 0};
            for (int k = 0; k < n * n; k++) {
                float x = ((float)px + ((float)(k % n) + 0.5f) / (float)n) * scale - centre;
                float y = ((float)py + ((float)(k / n) + 0.5f) / (float)n) * scale - centre;
                float tx = cosine * x + sine * y + centre, ty = -sine * x + cosine * y + centre, colour[4];
                if (n > 2) /* so many samples make a smooth mean by themselves */
                    texel(sprites, sprite, (int)floorf(tx), (int)floorf(ty), colour);
                else
                    sample(sprites, sprite, tx, ty, colour);
                for (int c = 0; c < 4; c++) sum[c] += colour[c];
            }
            float alpha = sum[3] / (float)(n * n);
            uint32_t word = (uint32_t)(alpha * 255 + 0.5f) << 24;
            for (int c = 0; c < 3; c++) {
                float value = sum[3] > 0 ? sum[c] / sum[3] : 0;
                if (tinted[sprite]) value = ramp(value, tint_channels[c]);
                word |= (uint32_t)(fminf(value, 1) * 255 + 0.5f) << (16 - 8 * c);
            }
            pixels[(size_t)py * (size_t)size + (size_t)px] = word;
        }
}
