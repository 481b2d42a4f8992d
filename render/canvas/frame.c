#include "render/canvas/frame.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/arena.h"

enum { TILE = 32, FIRST_QUADS = 4096 };

struct lud_frame {
    int width, height, columns, rows; /* columns 0: there are no tiles */
    uint64_t *now, *before;           /* [rows][columns] of this frame and of the last */
    SDL_Rect *areas;                  /* [rows * columns] */
    SDL_Rect whole;
    lud_quad *quads; /* [n], room for `capacity` */
    size_t n, capacity;
    bool taken; /* some of this frame were */
    bool other; /* the pixels are not those of `before` */
};

lud_status lud_frame_create(lud_frame **frame, lud_error *error) {
    lud_frame *f = calloc(1, sizeof *f);
    if (f) f->quads = malloc(FIRST_QUADS * sizeof *f->quads);
    if (!f || !f->quads) {
        lud_frame_destroy(f);
        return lud_no_memory(error, "the canvas");
    }
    f->capacity = FIRST_QUADS;
    *frame = f;
    return LUD_OK;
}

void lud_frame_destroy(lud_frame *frame) {
    if (!frame) return;
    LUD_FREE(frame->now, frame->before, frame->areas, frame->quads, frame);
}

static void resize(lud_frame *f, int width, int height) {
    LUD_FREE(f->now, f->before, f->areas);
    f->width = width;
    f->height = height;
    f->columns = (width + TILE - 1) / TILE;
    f->rows = (height + TILE - 1) / TILE;
    const size_t n = (size_t)f->columns * (size_t)f->rows;
    f->now = calloc(n, sizeof *f->now);
    f->before = calloc(n, sizeof *f->before);
    f->areas = calloc(n, sizeof *f->areas);
    f->other = true;
    if (f->now && f->before && f->areas) return;
    LUD_FREE(f->now, f->before, f->areas);
    f->now = f->before = NULL;
    f->areas = NULL;
    f->columns = f->rows = 0;
}

void lud_frame_begin(lud_frame *f, int width, int height) {
    f->n = 0;
    f->taken = false;
    if (!f->columns || width != f->width || height != f->height) resize(f, width, height);
    if (f->columns) memset(f->now, 0, (size_t)f->columns * (size_t)f->rows * sizeof *f->now);
}

static uint64_t mixed(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15); /* odd: nothing is lost */
    return hash ^ hash >> 32;
}

bool lud_frame_add(lud_frame *f, const lud_quad *quad, SDL_Rect clip) {
    lud_quad q = *quad;
    const SDL_Rect picture = {0, 0, f->width, f->height};
    if (!SDL_IntersectRect(&clip, &picture, &clip) || !SDL_IntersectRect(&q.to, &clip, &q.to)) return true;
    q.x += q.to.x - quad->to.x;
    q.y += q.to.y - quad->to.y;
    if (f->n == f->capacity) {
        lud_quad *quads = realloc(f->quads, 2 * f->capacity * sizeof *quads);
        if (!quads) return false;
        f->quads = quads;
        f->capacity *= 2;
    }
    f->quads[f->n++] = q;
    if (!f->columns) return true;
    const uint64_t hash = XXH3_64bits(&q, sizeof q);
    const int left = q.to.x / TILE, right = (q.to.x + q.to.w - 1) / TILE, top = q.to.y / TILE,
              bottom = (q.to.y + q.to.h - 1) / TILE;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            uint64_t *tile = &f->now[y * f->columns + x];
            *tile = mixed(*tile, hash);
        }
    return true;
}

const lud_quad *lud_frame_quads(const lud_frame *f, size_t *n) {
    *n = f->n;
    return f->quads;
}

void lud_frame_take(lud_frame *f) {
    f->n = 0;
    f->taken = true;
}

void lud_frame_forget(lud_frame *f) {
    f->other = true;
}

/* Tiles that are other, as rectangles: runs of a row, and those of rows below that are the same runs. */
static int find_areas(lud_frame *f) {
    int n = 0, above = 0; /* areas, and the first of them that ends where this row begins */
    for (int y = 0; y < f->rows; y++) {
        const int first = n;
        for (int x = 0; x < f->columns; x++) {
            const size_t at = (size_t)y * (size_t)f->columns;
            if (f->now[at + (size_t)x] == f->before[at + (size_t)x]) continue;
            int end = x;
            while (end < f->columns && f->now[at + (size_t)end] != f->before[at + (size_t)end]) end++;
            SDL_Rect area = {x * TILE, y * TILE, (end - x) * TILE, TILE};
            for (int k = above; k < first; k++)
                if (f->areas[k].x == area.x && f->areas[k].w == area.w &&
                    f->areas[k].y + f->areas[k].h == area.y) {
                    f->areas[k].h += TILE;
                    area.w = 0;
                    break;
                }
            if (area.w) f->areas[n++] = area;
            x = end;
        }
        while (above < n && f->areas[above].y + f->areas[above].h <= y * TILE) above++;
    }
    for (int k = 0; k < n; k++) { /* the last tiles reach beyond the picture */
        f->areas[k].w = SDL_min(f->areas[k].w, f->width - f->areas[k].x);
        f->areas[k].h = SDL_min(f->areas[k].h, f->height - f->areas[k].y);
    }
    return n;
}

const SDL_Rect *lud_frame_end(lud_frame *f, int *n) {
    const bool all = !f->columns || f->other || f->taken;
    uint64_t *now = f->now;
    f->whole = (SDL_Rect){0, 0, f->width, f->height};
    *n = all ? 1 : find_areas(f);
    f->now = f->before;
    f->before = now;
    f->other = false;
    return all ? &f->whole : f->areas;
}

size_t lud_frame_first_seen(const lud_quad *quads, size_t n, SDL_Rect area) {
    size_t k = n;
    while (k-- > 0) {
        const SDL_Rect to = quads[k].to;
        if (quads[k].opaque && to.x <= area.x && to.y <= area.y && to.x + to.w >= area.x + area.w &&
            to.y + to.h >= area.y + area.h)
            return k;
    }
    return 0;
}
