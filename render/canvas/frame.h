/* What a frame is made of: rectangles, in the order in which they are drawn. It is compared with the frame
 * before in tiles of the picture, so that only the tiles in which another sequence of rectangles lies have to
 * be drawn: the same sequence gives the same pixels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <SDL.h>

#include "base/status.h"
#include "render/canvas/theme.h"

/* A rectangle: of one colour, or a part of the same size of a texture, multiplied by the colour. */
typedef struct lud_quad {
    SDL_Rect to;
    int32_t x, y;     /* in the texture, of the upper left corner */
    int32_t texture;  /* the caller's number of it, negative: none */
    lud_rgba colour;  /* alpha is the opacity */
    uint64_t version; /* of what the texture holds: another number where that is other */
    int32_t opaque;   /* whether nothing of what lies below is seen */
    int32_t unused;   /* 0: a quad is hashed as bytes */
} lud_quad;

typedef struct lud_frame lud_frame;

lud_status lud_frame_create(lud_frame **frame, lud_error *error);
void lud_frame_destroy(lud_frame *frame);

/* A new frame of a picture of this size begins. Without memory for the comparison every frame is other. */
void lud_frame_begin(lud_frame *frame, int width, int height);
/* Adds what of a rectangle lies within `clip` and the picture. False, and nothing is added, where there is no
 * memory: take what there is, and add again. */
bool lud_frame_add(lud_frame *frame, const lud_quad *quad, SDL_Rect clip);
/* The rectangles since the frame began or they were taken: for a caller that has to draw them, everywhere,
 * before the frame ends. */
const lud_quad *lud_frame_quads(const lud_frame *frame, size_t *n);
void lud_frame_take(lud_frame *frame);
/* The frame ends: the areas [*n] of the picture that are other than in the frame before, disjoint, in memory
 * of the frame's that is good until the next call. The whole picture where rectangles were taken. */
const SDL_Rect *lud_frame_end(lud_frame *frame, int *n);
/* The pixels are not those of the last frame. */
void lud_frame_forget(lud_frame *frame);

/* The first of n rectangles that has to be drawn in an area, as later ones hide what lies below. */
size_t lud_frame_first_seen(const lud_quad *quads, size_t n, SDL_Rect area);
