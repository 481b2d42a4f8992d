/* Drawing: antialiased shapes, sprites and text through SDL_RenderGeometry, on a window or in memory.
 *
 * Everything is drawn as rectangles of one texture whose pictures (sprites at their size, colour and turn;
 * glyphs; shapes) are made on the processor when first needed. So a window and an offscreen surface show the
 * same, and drawing is fast where there is no GPU. Coordinates are pixels, x right and y down; rectangles and
 * pictures are placed on whole pixels. Drawing never fails: what there is no memory for is left out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "render/canvas/camera.h"
#include "render/canvas/theme.h"

typedef struct lud_canvas lud_canvas;
struct SDL_Renderer;

typedef enum lud_text_size { LUD_TEXT_SMALL, LUD_TEXT_LARGE } lud_text_size; /* 13 and 18 pixels at scale 1 */

/* A picture in memory of width * height pixels; needs no display. `scale` multiplies text sizes. */
lud_status lud_canvas_create_offscreen(int width, int height, float scale, lud_canvas **canvas,
                                       lud_error *error);
/* On a renderer of the caller's, which must outlive the canvas. `sprites` are taken over, also when it fails;
 * null: unpacked now. */
lud_status lud_canvas_create(struct SDL_Renderer *renderer, float scale, lud_sprites *sprites,
                             lud_canvas **canvas, lud_error *error);
void lud_canvas_destroy(lud_canvas *canvas);

/* Size in pixels (follows a window's size) and text scale. */
int lud_canvas_width(const lud_canvas *canvas);
int lud_canvas_height(const lud_canvas *canvas);
float lud_canvas_scale(const lud_canvas *canvas);
/* Makes texts, and what is laid out by the scale, so many times as large as at the canvas's own scale. */
void lud_canvas_magnify(lud_canvas *canvas, float factor);
/* While it is measured nothing is drawn: to find out how much room something takes. */
void lud_canvas_measure(lud_canvas *canvas, bool measured);

/* What is said about a place of this frame when it is pointed at; without memory for it nothing is. Texts
 * that are cut say themselves whole. */
void lud_canvas_hint(lud_canvas *canvas, lud_box box, const char *text);
/* The last one at a point, of the frame that was drawn last; null: none. */
const char *lud_canvas_hint_at(const lud_canvas *canvas, float x, float y);

/* A frame: begin clears, end draws what is pending and, on a window, shows it. */
void lud_canvas_begin(lud_canvas *canvas, lud_rgba clear);
void lud_canvas_end(lud_canvas *canvas);
/* The pixels of an offscreen canvas after `end`: 32-bit words 0xxxRRGGBB, `pitch` bytes a row (multiple of
 * 4). */
const uint32_t *lud_canvas_pixels(const lud_canvas *canvas, int *pitch);
/* LUD_ERROR_MEMORY when there was none for something that was drawn since `begin`. */
lud_status lud_canvas_check(const lud_canvas *canvas, lud_error *error);
/* After the device lost its textures (SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET). */
void lud_canvas_forget(lud_canvas *canvas);

/* Where several worlds are drawn side by side each has a layer, by its number below LUD_CANVAS_LAYERS; 0 at
 * first in every frame. */
enum { LUD_CANVAS_LAYERS = 18 };
void lud_canvas_layer_choose(lud_canvas *canvas, int number);
/* A layer is what stays the same from frame to frame, kept as a picture as large as the canvas. `begin`
 * returns true when the layer of this key has to be drawn (over `clear`), followed by `end`; `draw` then puts
 * it on the canvas. */
bool lud_canvas_layer_begin(lud_canvas *canvas, uint64_t key, lud_rgba clear);
void lud_canvas_layer_end(lud_canvas *canvas);
void lud_canvas_layer_draw(lud_canvas *canvas);

/* Draws only inside the box, until unclip. */
void lud_canvas_clip(lud_canvas *canvas, lud_box box);
void lud_canvas_unclip(lud_canvas *canvas);

void lud_canvas_rect(lud_canvas *canvas, lud_box box, lud_rgba colour);
/* Filled, and as a frame of a thickness inside the box. */
void lud_canvas_round_rect(lud_canvas *canvas, lud_box box, float radius, lud_rgba colour);
void lud_canvas_frame(lud_canvas *canvas, lud_box box, float radius, float thickness, lud_rgba colour);
void lud_canvas_disc(lud_canvas *canvas, float x, float y, float radius, lud_rgba colour);
/* Part of a ring; angles in radians clockwise from east, thickness inwards from the radius. */
void lud_canvas_arc(lud_canvas *canvas, float x, float y, float radius, float thickness, float from,
                    float sweep, lud_rgba colour);
void lud_canvas_line(lud_canvas *canvas, float x0, float y0, float x1, float y1, float width,
                     lud_rgba colour);
/* points[n][2] */
void lud_canvas_polyline(lud_canvas *canvas, const float (*points)[2], int n, float width, lud_rgba colour);
void lud_canvas_polygon(lud_canvas *canvas, const float (*points)[2], int n, lud_rgba colour);
/* A line with a head at its end. */
void lud_canvas_arrow(lud_canvas *canvas, float x0, float y0, float x1, float y1, float width,
                      lud_rgba colour);

/* A sprite in a square of `size` whole pixels with the upper left corner (x, y); `turn` in 1/128 of a
 * clockwise turn; tint.a is the opacity. */
void lud_canvas_sprite(lud_canvas *canvas, lud_sprite sprite, lud_rgba tint, float x, float y, int size,
                       int turn);
/* The same, moved right by `shift` pixels with what leaves at the right coming in at the left. */
void lud_canvas_sprite_rolled(lud_canvas *canvas, lud_sprite sprite, lud_rgba tint, float x, float y,
                              int size, int shift);

/* Frees a text that was drawn; where there was no memory for all of it the picture is not whole. */
void lud_canvas_text_done(lud_canvas *canvas, lud_text *text);
/* Something is missing in the picture for want of memory. */
void lud_canvas_miss(lud_canvas *canvas);

/* UTF-8 text with the upper left corner of its line at (x, y); returns its width. */
float lud_canvas_text(lud_canvas *canvas, float x, float y, lud_text_size size, lud_rgba colour,
                      const char *text);
/* The same, cut with an ellipsis where it would pass `width`. */
float lud_canvas_text_cut(lud_canvas *canvas, float x, float y, float width, lud_text_size size,
                          lud_rgba colour, const char *text);
float lud_canvas_text_width(const lud_canvas *canvas, lud_text_size size, const char *text);
float lud_canvas_line_height(const lud_canvas *canvas, lud_text_size size);
/* Bytes of a text that fit into `width`, broken at a space where there is one; of a small one. */
size_t lud_canvas_text_breaking(const lud_canvas *canvas, lud_text_size size, const char *text, float width);
size_t lud_canvas_text_fitting(const lud_canvas *canvas, const char *text, float width);
/* Text on as many lines as it needs, a newline ends one; returns their number. */
int lud_canvas_text_wrapped(lud_canvas *canvas, float x, float y, float width, float row, lud_text_size size,
                            lud_rgba colour, const char *text);
