/* Small images that were made once and are drawn many times: one texture, packed in shelves and found by key.
 *
 * When the page is full it is emptied and filled anew, so it never fails; what no longer is drawn is
 * forgotten. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <SDL.h>

#include "base/status.h"

enum { LUD_PAGE_SIDE = 2048 };

typedef struct lud_page lud_page;

lud_status lud_page_create(SDL_Renderer *renderer, lud_page **page, lud_error *error);
void lud_page_destroy(lud_page *page);
SDL_Texture *lud_page_texture(const lud_page *page);
/* Forgets everything, e.g. after the device lost its textures. */
void lud_page_clear(lud_page *page);

/* The place of the image with this key; false when it is not there. */
bool lud_page_find(const lud_page *page, uint64_t key, SDL_Rect *place);
/* Adds an image, pixels[height][width], ARGB words with straight alpha; width and height at most
 * LUD_PAGE_SIDE / 2. Returns false without adding when the page is full: draw what is pending, clear, and add
 * again. */
bool lud_page_add(lud_page *page, uint64_t key, const uint32_t *pixels, int width, int height,
                  SDL_Rect *place);
