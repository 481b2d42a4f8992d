#include "render/canvas/canvas.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <SDL.h>

#include "base/arena.h"
#include "render/canvas/font.h"
#include "render/canvas/frame.h"
#include "render/canvas/shape.h"
#include "render/page.h"

enum { MAX_QUADS = 1024, MAX_POINTS = 512 };

typedef struct layer {
    SDL_Texture *texture;
    int width, height;
    uint64_t key;
    bool valid;
    bool awaited; /* is among the rectangles of the frame that are not drawn yet */
} layer;

/* Textures of a frame's rectangles, by number. */
enum { NO_TEXTURE = -1, PAGE = 0, LINES = 1, FIRST_LAYER = 2 };

enum { MOST_HINTS = 96 };
typedef struct hint {
    lud_box box;
    char text[384];
} hint;

struct lud_canvas {
    SDL_Renderer *renderer;
    SDL_Surface *surface;   /* offscreen: what is drawn on; null on a window */
    float own_scale, scale; /* as it was made, and magnified */
    bool measured;          /* nothing is drawn */
    bool clipped;
    lud_box clip;
    SDL_Rect clip_area; /* where it is clipped */
    hint *hints;        /* [MOST_HINTS] of this frame; null: none yet */
    int n_hints;
    int width, height;
    lud_sprites *sprites;
    lud_font *font;
    /* Everything, until that is full: then lines and polygons, most of which are other from step to step, go
     * to a page of their own, so that the rest stays where it is. null: not yet. */
    lud_page *pages[FIRST_LAYER];
    uint64_t page_version[FIRST_LAYER]; /* another number where what was on it may be elsewhere */
    lud_frame *frame;
    SDL_Texture *picture; /* on a window: what was drawn, as its own pixels are not kept; null: nowhere */
    layer layers[LUD_CANVAS_LAYERS];
    int slot;          /* of the layer that is asked for */
    layer *open;       /* is being drawn; null: none */
    uint32_t *scratch; /* room for the picture that is being made */
    uint8_t *mask;
    size_t scratch_pixels;
    bool incomplete; /* something of this frame is missing */
    int pending;     /* texture of the quads waiting */
    int n_quads;
    SDL_Vertex vertices[4 * MAX_QUADS];
    int indices[6 * MAX_QUADS];
};

/* What a cached picture is made of; hashed as bytes, so every byte of it is set. */
typedef struct recipe {
    int32_t kind, size;
    int32_t a, b, c, d, e, f;
} recipe;
enum { RECIPE_SPRITE = 1, RECIPE_GLYPH, RECIPE_RING, RECIPE_LINE, RECIPE_POLYGON };

static uint64_t recipe_key(const recipe *r) {
    return XXH3_64bits(r, sizeof *r);
}

/* ---- making and destroying ---- */

lud_status lud_canvas_create(SDL_Renderer *renderer, float scale, lud_sprites *sprites, lud_canvas **canvas,
                             lud_error *error) {
    lud_canvas *c = calloc(1, sizeof *c);
    if (!c) {
        lud_sprites_destroy(sprites);
        return lud_no_memory(error, "the canvas");
    }
    c->sprites = sprites;
    c->renderer = renderer;
    c->scale = c->own_scale = scale;
    for (int k = 0; k < MAX_QUADS; k++) {
        static const int corner[6] = {0, 1, 2, 0, 2, 3};
        for (int i = 0; i < 6; i++) c->indices[6 * k + i] = 4 * k + corner[i];
    }
    SDL_GetRendererOutputSize(renderer, &c->width, &c->height);
    SDL_SetRenderDrawBlendMode(renderer, SDL_BLENDMODE_BLEND);
    lud_status status = sprites ? LUD_OK : lud_sprites_create(&c->sprites, error);
    if (!status) status = lud_font_create(&c->font, error);
    if (!status) status = lud_page_create(renderer, &c->pages[PAGE], error);
    if (!status) status = lud_frame_create(&c->frame, error);
    if (status)
        lud_canvas_destroy(c);
    else
        *canvas = c;
    return status;
}

lud_status lud_canvas_create_offscreen(int width, int height, float scale, lud_canvas **canvas,
                                       lud_error *error) {
    assert(width > 0 && height > 0);
    SDL_Surface *surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_ARGB8888);
    SDL_Renderer *renderer = surface ? SDL_CreateSoftwareRenderer(surface) : NULL;
    lud_status status = LUD_OK;
    if (!renderer)
        status = lud_fail(error, LUD_ERROR_MEMORY, "cannot make a picture of %d x %d: %s", width, height,
                          SDL_GetError());
    if (!status) status = lud_canvas_create(renderer, scale, NULL, canvas, error);
    if (status) {
        if (renderer) SDL_DestroyRenderer(renderer);
        SDL_FreeSurface(surface);
        return status;
    }
    (*canvas)->surface = surface;
    return LUD_OK;
}

void lud_canvas_destroy(lud_canvas *canvas) {
    if (!canvas) return;
    for (int k = 0; k < LUD_CANVAS_LAYERS; k++)
        if (canvas->layers[k].texture) SDL_DestroyTexture(canvas->layers[k].texture);
    if (canvas->picture) SDL_DestroyTexture(canvas->picture);
    lud_frame_destroy(canvas->frame);
    for (int k = 0; k < FIRST_LAYER; k++) lud_page_destroy(canvas->pages[k]);
    lud_font_destroy(canvas->font);
    lud_sprites_destroy(canvas->sprites);
    if (canvas->surface) {
        SDL_DestroyRenderer(canvas->renderer);
        SDL_FreeSurface(canvas->surface);
    }
    LUD_FREE(canvas->scratch, canvas->mask, canvas->hints, canvas);
}

int lud_canvas_width(const lud_canvas *canvas) {
    return canvas->width;
}
int lud_canvas_height(const lud_canvas *canvas) {
    return canvas->height;
}
float lud_canvas_scale(const lud_canvas *canvas) {
    return canvas->scale;
}

void lud_canvas_magnify(lud_canvas *canvas, float factor) {
    canvas->scale = canvas->own_scale * factor;
}

void lud_canvas_measure(lud_canvas *canvas, bool measured) {
    canvas->measured = measured;
}

/* ---- hints ---- */

void lud_canvas_hint(lud_canvas *canvas, lud_box box, const char *text) {
    if (canvas->measured || canvas->n_hints == MOST_HINTS) return;
    if (!canvas->hints) canvas->hints = calloc(MOST_HINTS, sizeof *canvas->hints);
    if (!canvas->hints) return;
    if (canvas->clipped) {
        const lud_box c = canvas->clip;
        const float right = fminf(box.x + box.w, c.x + c.w), bottom = fminf(box.y + box.h, c.y + c.h);
        box.x = fmaxf(box.x, c.x);
        box.y = fmaxf(box.y, c.y);
        box.w = right - box.x;
        box.h = bottom - box.y;
        if (box.w <= 0 || box.h <= 0) return;
    }
    hint *h = &canvas->hints[canvas->n_hints++];
    h->box = box;
    snprintf(h->text, sizeof h->text, "%s", text);
}

const char *lud_canvas_hint_at(const lud_canvas *canvas, float x, float y) {
    for (int k = canvas->n_hints - 1; k >= 0; k--)
        if (lud_box_contains(canvas->hints[k].box, x, y)) return canvas->hints[k].text;
    return NULL;
}

/* ---- drawing what a frame is made of ---- */

static float whole(float x) {
    return floorf(x + 0.5f);
}

/* Of a whole number; far outside stays far outside. */
static int pixel(float x) {
    return (int)fminf(fmaxf(x, -1e8f), 1e8f);
}

static void flush(lud_canvas *canvas) {
    if (!canvas->n_quads) return;
    SDL_Texture *texture =
        canvas->pending == NO_TEXTURE ? NULL : lud_page_texture(canvas->pages[canvas->pending]);
    if (SDL_RenderGeometry(canvas->renderer, texture, canvas->vertices, 4 * canvas->n_quads, canvas->indices,
                           6 * canvas->n_quads))
        canvas->incomplete = true;
    canvas->n_quads = 0;
}

static void draw_quad(lud_canvas *canvas, const lud_quad *q, SDL_Rect to) {
    const int x = q->x + to.x - q->to.x, y = q->y + to.y - q->to.y;
    if (q->texture >= FIRST_LAYER) {
        flush(canvas);
        SDL_RenderCopy(canvas->renderer, canvas->layers[q->texture - FIRST_LAYER].texture,
                       &(SDL_Rect){x, y, to.w, to.h}, &to);
        return;
    }
    if (canvas->n_quads == MAX_QUADS || (canvas->n_quads && canvas->pending != q->texture)) flush(canvas);
    canvas->pending = q->texture;
    const float unit = 1.0f / LUD_PAGE_SIDE; /* a power of two: texture coordinates are exact */
    const float left = (float)to.x, top = (float)to.y, right = (float)(to.x + to.w),
                bottom = (float)(to.y + to.h);
    const float u0 = (float)x * unit, v0 = (float)y * unit, u1 = (float)(x + to.w) * unit,
                v1 = (float)(y + to.h) * unit;
    const SDL_Color c = {q->colour.r, q->colour.g, q->colour.b, q->colour.a};
    SDL_Vertex *v = canvas->vertices + 4 * canvas->n_quads++;
    v[0] = (SDL_Vertex){{left, top}, c, {u0, v0}};
    v[1] = (SDL_Vertex){{right, top}, c, {u1, v0}};
    v[2] = (SDL_Vertex){{right, bottom}, c, {u1, v1}};
    v[3] = (SDL_Vertex){{left, bottom}, c, {u0, v1}};
}

static void draw_area(lud_canvas *canvas, const lud_quad *quads, size_t n, SDL_Rect area) {
    SDL_Rect to;
    for (size_t k = lud_frame_first_seen(quads, n, area); k < n; k++)
        if (SDL_IntersectRect(&quads[k].to, &area, &to)) draw_quad(canvas, &quads[k], to);
    flush(canvas);
}

/* Where frames are drawn: what is not drawn anew has to be there still. */
static void aim_at_picture(lud_canvas *canvas) {
    int width = 0, height = 0;
    if (canvas->surface) {
        SDL_SetRenderTarget(canvas->renderer, NULL);
        return;
    }
    if (canvas->picture) SDL_QueryTexture(canvas->picture, NULL, NULL, &width, &height);
    if (canvas->picture && (width != canvas->width || height != canvas->height)) {
        SDL_DestroyTexture(canvas->picture);
        canvas->picture = NULL;
    }
    if (!canvas->picture) {
        canvas->picture = SDL_CreateTexture(canvas->renderer, SDL_PIXELFORMAT_ARGB8888,
                                            SDL_TEXTUREACCESS_TARGET, canvas->width, canvas->height);
        lud_frame_forget(canvas->frame);
        if (canvas->picture) SDL_SetTextureBlendMode(canvas->picture, SDL_BLENDMODE_NONE);
    }
    SDL_SetRenderTarget(canvas->renderer, canvas->picture);
}

/* Draws now what waits for the end of the frame, as what it is made of will not be there then. */
static void draw_early(lud_canvas *canvas) {
    size_t n;
    const lud_quad *quads = lud_frame_quads(canvas->frame, &n);
    flush(canvas);
    aim_at_picture(canvas);
    draw_area(canvas, quads, n, (SDL_Rect){0, 0, canvas->width, canvas->height});
    SDL_SetRenderTarget(canvas->renderer, canvas->open ? canvas->open->texture : NULL);
    lud_frame_take(canvas->frame);
    for (int k = 0; k < LUD_CANVAS_LAYERS; k++) canvas->layers[k].awaited = false;
}

static void add(lud_canvas *canvas, const lud_quad *quad) {
    if (quad->to.w <= 0 || quad->to.h <= 0 || !quad->colour.a || canvas->measured) return;
    const SDL_Rect whole = {0, 0, canvas->width, canvas->height};
    if (canvas->open) {
        draw_quad(canvas, quad, quad->to);
    } else if (!lud_frame_add(canvas->frame, quad, canvas->clipped ? canvas->clip_area : whole)) {
        draw_early(canvas);
        lud_frame_add(canvas->frame, quad, canvas->clipped ? canvas->clip_area : whole);
    }
}

static void add_plain(lud_canvas *canvas, SDL_Rect to, lud_rgba colour) {
    add(canvas, &(lud_quad){.to = to, .texture = NO_TEXTURE, .colour = colour, .opaque = colour.a == 255});
}

/* ---- frames and layers ---- */

void lud_canvas_begin(lud_canvas *canvas, lud_rgba clear) {
    canvas->incomplete = false;
    canvas->slot = canvas->n_hints = 0;
    SDL_ClearError();
    SDL_GetRendererOutputSize(canvas->renderer, &canvas->width, &canvas->height);
    lud_frame_begin(canvas->frame, canvas->width, canvas->height);
    for (int k = 0; k < LUD_CANVAS_LAYERS; k++) canvas->layers[k].awaited = false;
    clear.a = 255;
    add_plain(canvas, (SDL_Rect){0, 0, canvas->width, canvas->height}, clear);
}

static bool is_whole(const lud_canvas *canvas) {
    /* what SDL draws later, in software, fails without a word to the caller */
    return !canvas->incomplete && strcmp(SDL_GetError(), "Out of memory") != 0;
}

void lud_canvas_end(lud_canvas *canvas) {
    size_t n;
    int n_areas;
    aim_at_picture(canvas);
    const lud_quad *quads = lud_frame_quads(canvas->frame, &n);
    const SDL_Rect *areas = lud_frame_end(canvas->frame, &n_areas);
    for (int k = 0; k < n_areas; k++) draw_area(canvas, quads, n, areas[k]);
    if (SDL_RenderFlush(canvas->renderer)) canvas->incomplete = true;
    if (!canvas->surface) {
        SDL_SetRenderTarget(canvas->renderer, NULL);
        if (canvas->picture) SDL_RenderCopy(canvas->renderer, canvas->picture, NULL, NULL);
        SDL_RenderPresent(canvas->renderer);
    }
    if (!is_whole(canvas) || (!canvas->surface && !canvas->picture)) lud_frame_forget(canvas->frame);
}

const uint32_t *lud_canvas_pixels(const lud_canvas *canvas, int *pitch) {
    assert(canvas->surface);
    *pitch = canvas->surface->pitch;
    return canvas->surface->pixels;
}

void lud_canvas_miss(lud_canvas *canvas) {
    canvas->incomplete = true;
}

void lud_canvas_text_done(lud_canvas *canvas, lud_text *text) {
    if (text->failed) lud_canvas_miss(canvas);
    lud_text_free(text);
}

lud_status lud_canvas_check(const lud_canvas *canvas, lud_error *error) {
    return is_whole(canvas) ? LUD_OK : lud_no_memory(error, "a picture");
}

void lud_canvas_forget(lud_canvas *canvas) {
    for (int k = 0; k < FIRST_LAYER; k++) {
        if (canvas->pages[k]) lud_page_clear(canvas->pages[k]);
        canvas->page_version[k]++;
    }
    for (int k = 0; k < LUD_CANVAS_LAYERS; k++) canvas->layers[k].valid = false;
    lud_frame_forget(canvas->frame);
}

void lud_canvas_layer_choose(lud_canvas *canvas, int number) {
    assert(number >= 0 && number < LUD_CANVAS_LAYERS);
    canvas->slot = number;
}

bool lud_canvas_layer_begin(lud_canvas *canvas, uint64_t key, lud_rgba clear) {
    layer *l = &canvas->layers[canvas->slot];
    const bool fits = l->texture && l->width == canvas->width && l->height == canvas->height;
    if (fits && l->valid && l->key == key) return false;
    if (l->awaited) draw_early(canvas);
    if (!fits) {
        if (l->texture) SDL_DestroyTexture(l->texture);
        l->texture = SDL_CreateTexture(canvas->renderer, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_TARGET,
                                       canvas->width, canvas->height);
        l->width = canvas->width;
        l->height = canvas->height;
        if (l->texture) SDL_SetTextureBlendMode(l->texture, SDL_BLENDMODE_NONE);
    }
    l->key = key;
    l->valid = l->texture != NULL;
    clear.a = 255;
    if (l->texture) {
        canvas->open = l;
        SDL_SetRenderTarget(canvas->renderer, l->texture);
    } /* without memory for a layer the caller draws straight onto the canvas, every frame */
    add_plain(canvas, (SDL_Rect){0, 0, canvas->width, canvas->height}, clear);
    return true;
}

void lud_canvas_layer_end(lud_canvas *canvas) {
    flush(canvas);
    canvas->open = NULL;
    SDL_SetRenderTarget(canvas->renderer, NULL);
}

void lud_canvas_layer_draw(lud_canvas *canvas) {
    layer *l = &canvas->layers[canvas->slot];
    if (!l->texture) return;
    l->awaited = true;
    add(canvas, &(lud_quad){.to = {0, 0, canvas->width, canvas->height},
                            .texture = FIRST_LAYER + canvas->slot,
                            .colour = {255, 255, 255, 255},
                            .version = l->key,
                            .opaque = true});
}

void lud_canvas_clip(lud_canvas *canvas, lud_box box) {
    canvas->clipped = true;
    canvas->clip = box;
    canvas->clip_area =
        (SDL_Rect){pixel(floorf(box.x)), pixel(floorf(box.y)), pixel(ceilf(box.w)), pixel(ceilf(box.h))};
}

void lud_canvas_unclip(lud_canvas *canvas) {
    canvas->clipped = false;
}

/* ---- rectangles and pictures ---- */

void lud_canvas_rect(lud_canvas *canvas, lud_box box, lud_rgba colour) {
    float x = whole(box.x), y = whole(box.y);
    const int left = pixel(x), top = pixel(y);
    add_plain(canvas,
              (SDL_Rect){left, top, pixel(whole(box.x + box.w)) - left, pixel(whole(box.y + box.h)) - top},
              colour);
}

/* Makes room for a picture of this size; false when memory is out or it is larger than the page takes. */
static bool reserve(lud_canvas *canvas, int width, int height) {
    if (width <= 0 || height <= 0 || width > LUD_PAGE_SIDE / 2 || height > LUD_PAGE_SIDE / 2) return false;
    size_t n = (size_t)width * (size_t)height;
    if (n <= canvas->scratch_pixels) return true;
    uint32_t *scratch = realloc(canvas->scratch, n * sizeof *scratch);
    if (scratch) canvas->scratch = scratch;
    uint8_t *mask = realloc(canvas->mask, n);
    if (mask) canvas->mask = mask;
    if (!scratch || !mask) canvas->incomplete = true;
    if (!scratch || !mask) return false;
    canvas->scratch_pixels = n;
    return true;
}

/* Puts the picture in `scratch` on the page. */
static bool keep(lud_canvas *canvas, int page, uint64_t key, int width, int height, SDL_Rect *place) {
    lud_error ignored = {0};
    if (lud_page_add(canvas->pages[page], key, canvas->scratch, width, height, place)) return true;
    draw_early(canvas);
    lud_page_clear(canvas->pages[page]);
    canvas->page_version[page]++;
    /* without memory for it lines stay where they were */
    if (!canvas->pages[LINES]) lud_page_create(canvas->renderer, &canvas->pages[LINES], &ignored);
    return lud_page_add(canvas->pages[page], key, canvas->scratch, width, height, place);
}

/* The same for the coverage in `mask`: white, to be coloured when drawn. */
static bool keep_mask(lud_canvas *canvas, int page, uint64_t key, int width, int height, SDL_Rect *place) {
    for (int i = 0; i < width * height; i++) canvas->scratch[i] = (uint32_t)canvas->mask[i] << 24 | 0xFFFFFF;
    return keep(canvas, page, key, width, height, place);
}

static void picture(lud_canvas *canvas, int page, float x, float y, SDL_Rect place, lud_rgba colour) {
    add(canvas, &(lud_quad){.to = {pixel(x), pixel(y), place.w, place.h},
                            .x = place.x,
                            .y = place.y,
                            .texture = page,
                            .colour = colour,
                            .version = canvas->page_version[page]});
}

/* ---- shapes ---- */

void lud_canvas_arc(lud_canvas *canvas, float x, float y, float radius, float thickness, float from,
                    float sweep, lud_rgba colour) {
    if (radius <= 0 || canvas->measured) return;
    /* an eighth of a pixel, and of 1/512 turn, is below what can be seen */
    float left = floorf(x - radius) - 1, top = floorf(y - radius) - 1;
    int size = (int)ceilf(2 * radius) + 3;
    recipe r = {.kind = RECIPE_RING,
                .size = size,
                .a = (int32_t)lroundf((x - left) * 8),
                .b = (int32_t)lroundf((y - top) * 8),
                .c = (int32_t)lroundf(radius * 8),
                .d = (int32_t)lroundf(fminf(thickness, radius) * 8),
                .e = (int32_t)lroundf(from * (256 / 3.14159265f)),
                .f = (int32_t)lroundf(fminf(sweep, 6.2831853f) * (256 / 3.14159265f))};
    SDL_Rect place;
    uint64_t key = recipe_key(&r);
    if (!lud_page_find(canvas->pages[PAGE], key, &place)) {
        if (!reserve(canvas, size, size)) return;
        float inner = (float)(r.c - r.d) / 8;
        lud_shape_ring(canvas->mask, size, size, (float)r.a / 8, (float)r.b / 8, (float)r.c / 8, inner,
                       (float)r.e * (3.14159265f / 256),
                       r.f >= 512 ? 7.0f : (float)r.f * (3.14159265f / 256));
        if (!keep_mask(canvas, PAGE, key, size, size, &place)) return;
    }
    picture(canvas, PAGE, left, top, place, colour);
}

void lud_canvas_disc(lud_canvas *canvas, float x, float y, float radius, lud_rgba colour) {
    lud_canvas_arc(canvas, x, y, radius, radius, 0, 7, colour);
}

/* The four quarters of a disc or ring at the corners of a box whose edges are whole pixels. */
static bool corners(lud_canvas *canvas, lud_box box, int radius, int thickness, lud_rgba colour) {
    int size = 2 * radius;
    recipe r = {.kind = RECIPE_RING, .size = -size, .c = radius, .d = thickness};
    SDL_Rect place;
    uint64_t key = recipe_key(&r);
    if (!lud_page_find(canvas->pages[PAGE], key, &place)) {
        if (!reserve(canvas, size, size)) return false;
        lud_shape_ring(canvas->mask, size, size, (float)radius, (float)radius, (float)radius,
                       (float)(radius - thickness), 0, 7);
        if (!keep_mask(canvas, PAGE, key, size, size, &place)) return false;
    }
    for (int k = 0; k < 4; k++) {
        SDL_Rect quarter = {place.x + (k & 1) * radius, place.y + (k >> 1) * radius, radius, radius};
        float x = k & 1 ? box.x + box.w - (float)radius : box.x;
        float y = k >> 1 ? box.y + box.h - (float)radius : box.y;
        picture(canvas, PAGE, x, y, quarter, colour);
    }
    return true;
}

static lud_box whole_box(lud_box box) {
    lud_box b = {whole(box.x), whole(box.y), 0, 0};
    b.w = whole(box.x + box.w) - b.x;
    b.h = whole(box.y + box.h) - b.y;
    return b;
}

static int corner_radius(lud_box box, float radius) {
    return (int)floorf(fminf(whole(radius), floorf(fminf(box.w, box.h) * 0.5f)));
}

void lud_canvas_round_rect(lud_canvas *canvas, lud_box box, float radius, lud_rgba colour) {
    if (canvas->measured) return;
    box = whole_box(box);
    int r = corner_radius(box, radius);
    if (r < 1 || !corners(canvas, box, r, r, colour)) {
        lud_canvas_rect(canvas, box, colour);
        return;
    }
    float f = (float)r;
    lud_canvas_rect(canvas, (lud_box){box.x + f, box.y, box.w - 2 * f, f}, colour);
    lud_canvas_rect(canvas, (lud_box){box.x, box.y + f, box.w, box.h - 2 * f}, colour);
    lud_canvas_rect(canvas, (lud_box){box.x + f, box.y + box.h - f, box.w - 2 * f, f}, colour);
}

void lud_canvas_frame(lud_canvas *canvas, lud_box box, float radius, float thickness, lud_rgba colour) {
    if (canvas->measured) return;
    box = whole_box(box);
    float t = fmaxf(1, whole(thickness));
    int r = corner_radius(box, radius);
    if (r > 0 && !corners(canvas, box, r, (int)fminf(t, (float)r), colour)) r = 0;
    float f = r ? fmaxf((float)r, t) : t;
    lud_canvas_rect(canvas, (lud_box){box.x + (float)r, box.y, box.w - 2 * (float)r, t}, colour);
    lud_canvas_rect(canvas, (lud_box){box.x + (float)r, box.y + box.h - t, box.w - 2 * (float)r, t}, colour);
    lud_canvas_rect(canvas, (lud_box){box.x, box.y + f, t, box.h - 2 * f}, colour);
    lud_canvas_rect(canvas, (lud_box){box.x + box.w - t, box.y + f, t, box.h - 2 * f}, colour);
}

/* A shape given by points, made in the box around them. */
static void point_shape(lud_canvas *canvas, int kind, const float (*points)[2], int n, float width,
                        lud_rgba colour) {
    if (n < 2 || n > MAX_POINTS || canvas->measured) return;
    float x0 = points[0][0], y0 = points[0][1], x1 = x0, y1 = y0;
    for (int k = 1; k < n; k++) {
        x0 = fminf(x0, points[k][0]);
        y0 = fminf(y0, points[k][1]);
        x1 = fmaxf(x1, points[k][0]);
        y1 = fmaxf(y1, points[k][1]);
    }
    float border = width * 0.5f + 2, left = floorf(x0 - border), top = floorf(y0 - border);
    int w = (int)ceilf(x1 + border - left), h = (int)ceilf(y1 + border - top);
    int32_t rounded[MAX_POINTS][2];
    for (int k = 0; k < n; k++) {
        rounded[k][0] = (int32_t)lroundf((points[k][0] - left) * 8);
        rounded[k][1] = (int32_t)lroundf((points[k][1] - top) * 8);
    }
    recipe r = {.kind = kind, .size = n, .a = (int32_t)lroundf(width * 8), .b = w, .c = h};
    uint64_t key = XXH3_64bits_withSeed(rounded, (size_t)n * sizeof rounded[0], recipe_key(&r));
    SDL_Rect place;
    const int page = canvas->pages[LINES] ? LINES : PAGE;
    if (!lud_page_find(canvas->pages[page], key, &place)) {
        if (!reserve(canvas, w, h)) return;
        float local[MAX_POINTS][2];
        for (int k = 0; k < n; k++) {
            local[k][0] = (float)rounded[k][0] / 8;
            local[k][1] = (float)rounded[k][1] / 8;
        }
        if (kind == RECIPE_LINE)
            lud_shape_polyline(canvas->mask, w, h, (const float(*)[2])local, n, (float)r.a / 8);
        else
            lud_shape_polygon(canvas->mask, w, h, (const float(*)[2])local, n);
        if (!keep_mask(canvas, page, key, w, h, &place)) return;
    }
    picture(canvas, page, left, top, place, colour);
}

void lud_canvas_polyline(lud_canvas *canvas, const float (*points)[2], int n, float width, lud_rgba colour) {
    point_shape(canvas, RECIPE_LINE, points, n, width, colour);
}

void lud_canvas_polygon(lud_canvas *canvas, const float (*points)[2], int n, lud_rgba colour) {
    if (n >= 3) point_shape(canvas, RECIPE_POLYGON, points, n, 0, colour);
}

void lud_canvas_line(lud_canvas *canvas, float x0, float y0, float x1, float y1, float width,
                     lud_rgba colour) {
    float points[2][2] = {{x0, y0}, {x1, y1}};
    point_shape(canvas, RECIPE_LINE, (const float(*)[2])points, 2, width, colour);
}

void lud_canvas_arrow(lud_canvas *canvas, float x0, float y0, float x1, float y1, float width,
                      lud_rgba colour) {
    float dx = x1 - x0, dy = y1 - y0, length = hypotf(dx, dy);
    if (length < 0.5f) return;
    dx /= length;
    dy /= length;
    float head = fminf(width * 3.2f, length), half = head * 0.55f;
    float bx = x1 - dx * head, by = y1 - dy * head;
    if (length > head) lud_canvas_line(canvas, x0, y0, bx + dx, by + dy, width, colour);
    float points[3][2] = {{x1, y1}, {bx - dy * half, by + dx * half}, {bx + dy * half, by - dx * half}};
    lud_canvas_polygon(canvas, (const float(*)[2])points, 3, colour);
}

/* ---- sprites ---- */

static bool find_sprite(lud_canvas *canvas, lud_sprite sprite, lud_rgba tint, int size, int turn,
                        SDL_Rect *place) {
    recipe r = {.kind = RECIPE_SPRITE,
                .size = size,
                .a = (int32_t)sprite,
                .b = turn & 127,
                .c = tint.r << 16 | tint.g << 8 | tint.b};
    uint64_t key = recipe_key(&r);
    if (lud_page_find(canvas->pages[PAGE], key, place)) return true;
    if (!reserve(canvas, size, size)) return false;
    lud_sprites_render(canvas->sprites, sprite, tint, size, turn, canvas->scratch);
    return keep(canvas, PAGE, key, size, size, place);
}

void lud_canvas_sprite(lud_canvas *canvas, lud_sprite sprite, lud_rgba tint, float x, float y, int size,
                       int turn) {
    SDL_Rect place;
    if (canvas->measured || !find_sprite(canvas, sprite, tint, size, turn, &place)) return;
    picture(canvas, PAGE, whole(x), whole(y), place, (lud_rgba){255, 255, 255, tint.a});
}

void lud_canvas_sprite_rolled(lud_canvas *canvas, lud_sprite sprite, lud_rgba tint, float x, float y,
                              int size, int shift) {
    SDL_Rect place;
    if (canvas->measured || !find_sprite(canvas, sprite, tint, size, 0, &place)) return;
    shift = (shift % size + size) % size;
    lud_rgba plain = {255, 255, 255, tint.a};
    x = whole(x);
    y = whole(y);
    picture(canvas, PAGE, x + (float)shift, y, (SDL_Rect){place.x, place.y, size - shift, size}, plain);
    picture(canvas, PAGE, x, y, (SDL_Rect){place.x + size - shift, place.y, shift, size}, plain);
}

/* ---- text ---- */

static float text_pixels(const lud_canvas *canvas, lud_text_size size) {
    return whole((size == LUD_TEXT_SMALL ? 13.0f : 18.0f) * canvas->scale);
}

size_t lud_canvas_text_breaking(const lud_canvas *canvas, lud_text_size size, const char *text, float width) {
    size_t length = 0, space = 0;
    char part[512];
    while (text[length]) {
        const char *next = text + length;
        lud_utf8_next(&next);
        size_t end = (size_t)(next - text);
        if (end >= sizeof part) break;
        memcpy(part, text, end);
        part[end] = 0;
        if (length && lud_canvas_text_width(canvas, size, part) > width) return space ? space : length;
        length = end;
        if (text[length] == ' ') space = length;
    }
    return length;
}

size_t lud_canvas_text_fitting(const lud_canvas *canvas, const char *text, float width) {
    return lud_canvas_text_breaking(canvas, LUD_TEXT_SMALL, text, width);
}

int lud_canvas_text_wrapped(lud_canvas *canvas, float x, float y, float width, float row, lud_text_size size,
                            lud_rgba colour, const char *text) {
    int n = 0;
    while (*text) {
        const char *newline = strchr(text, '\n');
        char line[512];
        snprintf(line, sizeof line, "%.*s", newline ? (int)(newline - text) : (int)strlen(text), text);
        size_t length = lud_canvas_text_breaking(canvas, size, line, width);
        const bool whole = !line[length] && (!text[length] || text[length] == '\n');
        line[length] = 0;
        lud_canvas_text(canvas, x, y + (float)n++ * row, size, colour, line);
        text += length + (whole && newline);
        while (!whole && *text == ' ') text++;
    }
    return n;
}

float lud_canvas_line_height(const lud_canvas *canvas, lud_text_size size) {
    return whole(lud_font_line_height(canvas->font, text_pixels(canvas, size)) * 1.15f);
}

float lud_canvas_text_width(const lud_canvas *canvas, lud_text_size size, const char *text) {
    float pixels = text_pixels(canvas, size), width = 0;
    for (uint32_t code; (code = lud_utf8_next(&text)) != 0;)
        width += lud_font_advance(canvas->font, code, pixels);
    return width;
}

static void draw_glyph(lud_canvas *canvas, uint32_t code, float pixels, float x, float baseline,
                       lud_rgba colour) {
    if (canvas->measured) return;
    lud_glyph glyph = lud_font_glyph(canvas->font, code, pixels);
    if (glyph.width <= 0 || glyph.height <= 0) return;
    recipe r = {.kind = RECIPE_GLYPH, .size = (int32_t)pixels, .a = (int32_t)code};
    uint64_t key = recipe_key(&r);
    SDL_Rect place;
    if (!lud_page_find(canvas->pages[PAGE], key, &place)) {
        if (!reserve(canvas, glyph.width, glyph.height)) return;
        if (!lud_font_render(canvas->font, code, pixels, canvas->mask)) {
            canvas->incomplete = true;
            return;
        }
        if (!keep_mask(canvas, PAGE, key, glyph.width, glyph.height, &place)) return;
    }
    picture(canvas, PAGE, whole(x) + (float)glyph.left, baseline + (float)glyph.top, place, colour);
}

float lud_canvas_text(lud_canvas *canvas, float x, float y, lud_text_size size, lud_rgba colour,
                      const char *text) {
    float pixels = text_pixels(canvas, size), pen = x;
    float baseline = whole(y + lud_font_ascent(canvas->font, pixels));
    for (uint32_t code; (code = lud_utf8_next(&text)) != 0;) {
        draw_glyph(canvas, code, pixels, pen, baseline, colour);
        pen += lud_font_advance(canvas->font, code, pixels);
    }
    return pen - x;
}

float lud_canvas_text_cut(lud_canvas *canvas, float x, float y, float width, lud_text_size size,
                          lud_rgba colour, const char *text) {
    if (lud_canvas_text_width(canvas, size, text) <= width)
        return lud_canvas_text(canvas, x, y, size, colour, text);
    lud_canvas_hint(canvas, (lud_box){x, y, width, lud_canvas_line_height(canvas, size)}, text);
    const uint32_t ellipsis = 0x2026;
    float pixels = text_pixels(canvas, size), pen = x,
          dots = lud_font_advance(canvas->font, ellipsis, pixels);
    float baseline = whole(y + lud_font_ascent(canvas->font, pixels));
    for (uint32_t code; (code = lud_utf8_next(&text)) != 0;) {
        float advance = lud_font_advance(canvas->font, code, pixels);
        if (pen - x + advance + dots > width) break;
        draw_glyph(canvas, code, pixels, pen, baseline, colour);
        pen += advance;
    }
    draw_glyph(canvas, ellipsis, pixels, pen, baseline, colour);
    return pen + dots - x;
}
