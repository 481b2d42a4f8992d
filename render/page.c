#include "render/page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14 }; /* a power of two; at most half are used */

typedef struct slot {
    uint64_t key; /* 0: empty */
    SDL_Rect place;
} slot;

struct lud_page {
    SDL_Texture *texture;
    int x, y, shelf; /* where the next image goes, and the height of the shelf it goes on */
    int n;
    slot slots[SLOTS];
};

lud_status lud_page_create(SDL_Renderer *renderer, lud_page **page, lud_error *error) {
    lud_page *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "the picture cache");
    p->texture = SDL_CreateTexture(renderer, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_STATIC,
                                   LUD_PAGE_SIDE, LUD_PAGE_SIDE);
    if (!p->texture || SDL_SetTextureBlendMode(p->texture, SDL_BLENDMODE_BLEND)) {
        lud_page_destroy(p);
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "cannot make a texture: %s", SDL_GetError());
    }
    SDL_SetTextureScaleMode(p->texture, SDL_ScaleModeNearest);
    *page = p;
    return LUD_OK;
}

void lud_page_destroy(lud_page *page) {
    if (!page) return;
    if (page->texture) SDL_DestroyTexture(page->texture);
    free(page);
}

SDL_Texture *lud_page_texture(const lud_page *page) {
    return page->texture;
}

void lud_page_clear(lud_page *page) {
    page->x = page->y = page->shelf = page->n = 0;
    memset(page->slots, 0, sizeof page->slots);
}

bool lud_page_find(const lud_page *page, uint64_t key, SDL_Rect *place) {
    if (!key) key = 1;
    for (uint64_t i = key & (SLOTS - 1);; i = (i + 1) & (SLOTS - 1)) {
        if (!page->slots[i].key) return false;
        if (page->slots[i].key == key) {
            *place = page->slots[i].place;
            return true;
        }
    }
}

bool lud_page_add(lud_page *page, uint64_t key, const uint32_t *pixels, int width, int height,
                  SDL_Rect *place) {
    assert(width > 0 && height > 0 && width <= LUD_PAGE_SIDE / 2 && height <= LUD_PAGE_SIDE / 2);
    if (!key) key = 1;
    if (page->n >= SLOTS / 2) return false;
    if (page->x + width > LUD_PAGE_SIDE) {
        page->y += page->shelf;
        page->x = page->shelf = 0;
    }
    if (page->y + height > LUD_PAGE_SIDE) return false;
    SDL_Rect rect = {page->x, page->y, width, height};
    SDL_UpdateTexture(page->texture, &rect, pixels, width * (int)sizeof *pixels);
    page->x += width;
    if (height > page->shelf) page->shelf = height;
    uint64_t i = key & (SLOTS - 1);
    while (page->slots[i].key) i = (i + 1) & (SLOTS - 1);
    page->slots[i].key = key;
    page->slots[i].place = rect;
    page->n++;
    *place = rect;
    return true;
}
