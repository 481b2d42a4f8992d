#include "render/canvas/font.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "render/canvas/assets.h"

/* What a glyph's outline and its edges take while it is drawn. stb_truetype does not look whether it got
 * memory, so where the pool is too small the drawing is left by a jump, and begun anew with a larger pool.
 * Nothing else is held meanwhile that the jump could lose. */
enum { POOL_BYTES = 1 << 14, POOL_ALIGN = 16 };

typedef struct pool {
    unsigned char *bytes; /* [size] */
    size_t size, used;
    jmp_buf too_small;
} pool;

static void *take(pool *p, size_t n) {
    const size_t whole = (n + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    if (whole > p->size - p->used) longjmp(p->too_small, 1);
    p->used += whole;
    return p->bytes + p->used - whole;
}

#define STBTT_malloc(n, owner)   take(owner, n)
#define STBTT_free(piece, owner) ((void)(piece), (void)(owner))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wpedantic"
#define STB_TRUETYPE_IMPLEMENTATION
#define STBTT_STATIC
#include <stb_truetype.h>
#pragma GCC diagnostic pop

/* What was found out about a glyph: outlines are read anew for every question otherwise. */
typedef struct metrics {
    uint32_t code_point;
    float size;
    bool has_advance, has_glyph;
    float advance;
    lud_glyph glyph;
} metrics;
enum { METRICS = 1024 }; /* a power of two; those of another glyph at the same place are forgotten */

struct lud_font {
    stbtt_fontinfo info;
    metrics *metrics; /* [METRICS] */
    pool *pool;
    int ascent, descent, line_gap;
    int digit_advance; /* of the widest digit, in font units */
};

/* The 32-bit words of a whole OpenType file sum up to this (OpenType specification, table `head`,
 * checksumAdjustment). Nothing of a file is looked at before: stb_truetype trusts what it reads. */
static bool is_whole(lud_asset asset) {
    uint32_t sum = 0;
    for (size_t i = 0; i + 4 <= asset.length; i += 4)
        sum += (uint32_t)asset.bytes[i] << 24 | (uint32_t)asset.bytes[i + 1] << 16 |
               (uint32_t)asset.bytes[i + 2] << 8 | asset.bytes[i + 3];
    return asset.length % 4 == 0 && sum == 0xB1B0AFBAu;
}

/* Twice the size; false without memory for it. */
static bool grow(pool *p) {
    size_t size = p->size ? 2 * p->size : POOL_BYTES;
    unsigned char *bytes = realloc(p->bytes, size);
    if (!bytes) return false;
    p->bytes = bytes;
    p->size = size;
    return true;
}

lud_status lud_font_create(lud_font **font, lud_error *error) {
    lud_asset asset = lud_asset_font();
    if (!is_whole(asset)) return lud_invalid(error, "the font of this program is damaged; install it anew");
    lud_font *f = calloc(1, sizeof *f);
    if (f) f->pool = calloc(1, sizeof *f->pool);
    if (f) f->metrics = calloc(METRICS, sizeof *f->metrics);
    if (!f || !f->pool || !f->metrics || !grow(f->pool)) {
        lud_font_destroy(f);
        return lud_no_memory(error, "the font");
    }
    f->info.userdata = f->pool;
    const int read = stbtt_InitFont(&f->info, asset.bytes, stbtt_GetFontOffsetForIndex(asset.bytes, 0));
    assert(read); /* the font is part of the program */
    (void)read;
    stbtt_GetFontVMetrics(&f->info, &f->ascent, &f->descent, &f->line_gap);
    for (int digit = '0'; digit <= '9'; digit++) {
        int advance, bearing;
        stbtt_GetCodepointHMetrics(&f->info, digit, &advance, &bearing);
        if (advance > f->digit_advance) f->digit_advance = advance;
    }
    *font = f;
    return LUD_OK;
}

void lud_font_destroy(lud_font *font) {
    if (!font) return;
    if (font->pool) free(font->pool->bytes);
    free(font->pool);
    free(font->metrics);
    free(font);
}

static float scale_of(const lud_font *font, float size) {
    return stbtt_ScaleForMappingEmToPixels(&font->info, size);
}

float lud_font_ascent(const lud_font *font, float size) {
    return (float)font->ascent * scale_of(font, size);
}

float lud_font_line_height(const lud_font *font, float size) {
    return (float)(font->ascent - font->descent + font->line_gap) * scale_of(font, size);
}

static bool is_digit(uint32_t code_point) {
    return code_point >= '0' && code_point <= '9';
}

static metrics *metrics_of(const lud_font *font, uint32_t code_point, float size) {
    const uint32_t mixed = code_point * 2654435761u ^ (uint32_t)(size * 8) * 40503u;
    metrics *m = &font->metrics[(mixed ^ mixed >> 16) & (METRICS - 1)];
    if (m->code_point != code_point || m->size != size)
        *m = (metrics){.code_point = code_point, .size = size};
    return m;
}

float lud_font_advance(const lud_font *font, uint32_t code_point, float size) {
    metrics *m = metrics_of(font, code_point, size);
    int advance = font->digit_advance, bearing;
    if (m->has_advance) return m->advance;
    if (!is_digit(code_point)) stbtt_GetCodepointHMetrics(&font->info, (int)code_point, &advance, &bearing);
    m->has_advance = true;
    return m->advance = (float)advance * scale_of(font, size);
}

static lud_glyph measured(const lud_font *font, uint32_t code_point, float size) {
    float scale = scale_of(font, size);
    int x0, y0, x1, y1;
    stbtt_GetCodepointBitmapBox(&font->info, (int)code_point, scale, scale, &x0, &y0, &x1, &y1);
    lud_glyph glyph = {x0, y0, x1 - x0, y1 - y0};
    if (is_digit(code_point)) { /* centred in the common width */
        int advance, bearing;
        stbtt_GetCodepointHMetrics(&font->info, (int)code_point, &advance, &bearing);
        glyph.left += (int)lroundf((float)(font->digit_advance - advance) * 0.5f * scale);
    }
    return glyph;
}

lud_glyph lud_font_glyph(const lud_font *font, uint32_t code_point, float size) {
    metrics *m = metrics_of(font, code_point, size);
    if (!m->has_glyph) m->glyph = measured(font, code_point, size);
    m->has_glyph = true;
    return m->glyph;
}

/* False when the pool is too small. */
static bool draw_glyph(const lud_font *font, uint32_t code_point, float size, uint8_t *mask) {
    font->pool->used = 0;
    if (setjmp(font->pool->too_small)) return false;
    float scale = scale_of(font, size);
    lud_glyph glyph = lud_font_glyph(font, code_point, size);
    stbtt_MakeCodepointBitmap(&font->info, mask, glyph.width, glyph.height, glyph.width, scale, scale,
                              (int)code_point);
    return true;
}

bool lud_font_render(const lud_font *font, uint32_t code_point, float size, uint8_t *mask) {
    while (!draw_glyph(font, code_point, size, mask))
        if (!grow(font->pool)) return false;
    return true;
}

uint32_t lud_utf8_next(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    if (!*s) return 0;
    int extra = *s < 0x80 ? 0 : *s >= 0xF0 && *s < 0xF8 ? 3 : *s >= 0xE0 ? 2 : *s >= 0xC0 ? 1 : -1;
    if (*s >= 0xF8) extra = -1;
    uint32_t code = extra <= 0 ? *s : *s & (0x3Fu >> extra);
    for (int k = 1; k <= extra; k++) {
        if ((s[k] & 0xC0) != 0x80)
            extra = -1;
        else
            code = code << 6 | (s[k] & 0x3Fu);
    }
    if (extra < 0) {
        *text += 1;
        return 0xFFFD;
    }
    *text += extra + 1;
    return code;
}
