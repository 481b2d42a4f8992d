/* A picture of which only what is other is drawn is the picture that is drawn whole: random frames, on a
 * canvas that has seen all before and on one that has seen nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <SDL.h>

#include "render/canvas/canvas.h"
#include "render/canvas/frame.h"
#include "render/support_pictures.h"

enum { WIDTH = 333, HEIGHT = 250, FRAMES = 60, MOST_THINGS = 40 };

static uint32_t draws = 1;

static int drawn(int below) {
    draws = draws * 1664525u + 1013904223u;
    return (int)((uint64_t)draws * (uint64_t)below >> 32);
}

/* ---- frames of random things ---- */

typedef struct thing {
    int kind, a, b, c, d;
    lud_rgba colour;
} thing;

static thing draw_thing(void) {
    return (thing){.kind = drawn(11),
                   .a = drawn(WIDTH + 60) - 30,
                   .b = drawn(HEIGHT + 60) - 30,
                   .c = drawn(120),
                   .d = drawn(120),
                   .colour = {(uint8_t)drawn(256), (uint8_t)drawn(256), (uint8_t)drawn(256),
                              (uint8_t)(drawn(2) ? 255 : drawn(256))}};
}

static void put(lud_canvas *canvas, const thing *t) {
    const float x = (float)t->a, y = (float)t->b, w = (float)t->c, h = (float)t->d;
    char text[32];
    switch (t->kind) {
    case 0:
        lud_canvas_rect(canvas, (lud_box){x, y, w, h}, t->colour);
        break;
    case 1:
        lud_canvas_round_rect(canvas, (lud_box){x, y, w, h}, 9, t->colour);
        break;
    case 2:
        lud_canvas_frame(canvas, (lud_box){x, y, w, h}, 7, 2, t->colour);
        break;
    case 3:
        lud_canvas_disc(canvas, x + 0.4f, y, w * 0.3f, t->colour);
        break;
    case 4:
        lud_canvas_arrow(canvas, x, y, x + w, y + h, 3, t->colour);
        break;
    case 5:
        lud_canvas_sprite(canvas, (lud_sprite)(t->c % LUD_SPRITE_COUNT), t->colour, x, y, 8 + t->d / 2, t->c);
        break;
    case 6:
        lud_canvas_sprite_rolled(canvas, LUD_SPRITE_LAVA_WAVE, t->colour, x, y, 40, t->c);
        break;
    case 7:
        lud_canvas_clip(canvas, (lud_box){x, y, w, h});
        break;
    case 8:
        lud_canvas_unclip(canvas);
        break;
    case 9: /* what stays the same, of few kinds, so that one may be asked for twice in a frame */
        lud_canvas_layer_choose(canvas, t->c % 2);
        if (lud_canvas_layer_begin(canvas, (uint64_t)(t->d % 3), (lud_rgba){20, 40, 60, 255})) {
            lud_canvas_disc(canvas, 100, 100, (float)(20 + 10 * (t->d % 3)), (lud_rgba){200, 100, 0, 130});
            lud_canvas_text(canvas, 10, 10, LUD_TEXT_LARGE, (lud_rgba){255, 255, 255, 255}, "layer");
            lud_canvas_layer_end(canvas);
        }
        lud_canvas_layer_draw(canvas);
        break;
    default:
        snprintf(text, sizeof text, "number %d", t->c);
        lud_canvas_text(canvas, x, y, t->d & 1 ? LUD_TEXT_SMALL : LUD_TEXT_LARGE, t->colour, text);
    }
}

static void draw_frame(lud_canvas *canvas, const thing *things, int n, lud_rgba ground) {
    lud_canvas_begin(canvas, ground);
    for (int k = 0; k < n; k++) put(canvas, &things[k]);
    lud_canvas_unclip(canvas);
    lud_canvas_end(canvas);
}

static lud_canvas *open_canvas(void) {
    lud_canvas *canvas;
    lud_error error = {0};
    if (lud_canvas_create_offscreen(WIDTH, HEIGHT, 1, &canvas, &error)) fail_msg("%s", error.text);
    return canvas;
}

/* Some things come, go and change places, as from one picture of a window to the next. */
static int change(thing *things, int n) {
    for (int k = drawn(5); k > 0; k--) {
        const int at = drawn(n + 1);
        if (at == n && n < MOST_THINGS)
            things[n++] = draw_thing();
        else if (at < n && drawn(3))
            things[at] = draw_thing();
        else if (at < n && n > 1)
            things[at] = things[--n];
    }
    return n;
}

static void check_same(const lud_canvas *one, const lud_canvas *other, int frame) {
    picture a = picture_of(one), b = picture_of(other);
    if (picture_differing(a, b)) fail_msg("frame %d: %d pixels are other", frame, picture_differing(a, b));
    picture_free(&a);
    picture_free(&b);
}

static void as_drawn_whole(void **state) {
    (void)state;
    thing things[MOST_THINGS];
    int n = 0;
    lud_canvas *kept = open_canvas();
    while (n < MOST_THINGS / 2) things[n++] = draw_thing();
    for (int frame = 0; frame < FRAMES; frame++) {
        const lud_rgba ground = {(uint8_t)(frame / 30 * 50), 90, 120, 255};
        lud_canvas *fresh = open_canvas();
        n = change(things, n);
        draw_frame(kept, things, n, ground);
        draw_frame(fresh, things, n, ground);
        check_same(kept, fresh, frame);
        lud_canvas_destroy(fresh);
        if (frame % 17 == 0) lud_canvas_forget(kept);
    }
    lud_canvas_destroy(kept);
}

/* More pictures than have room on the page in which they are kept, in one frame. */
static void beyond_the_page(void **state) {
    (void)state;
    enum { LINES = 160, CHECKED = 3 };
    lud_canvas *kept = open_canvas(), *fresh = NULL;
    for (int frame = 0; frame < CHECKED; frame++) {
        lud_canvas_destroy(fresh);
        fresh = open_canvas();
        lud_canvas *both[] = {kept, fresh};
        for (int k = 0; k < 2; k++) {
            lud_canvas_begin(both[k], (lud_rgba){255, 255, 255, 255});
            for (int line = 0; line < LINES; line++) {
                const float y = (float)(line + frame) * 0.5f;
                lud_canvas_line(both[k], 3, y, (float)WIDTH - 3, (float)HEIGHT - y, 1.5f,
                                (lud_rgba){(uint8_t)line, 40, 90, 140});
                if (line == LINES / 2) { /* drawn while the page is emptied */
                    if (lud_canvas_layer_begin(both[k], (uint64_t)frame + 1, (lud_rgba){0, 60, 0, 255})) {
                        for (int more = 0; more < LINES; more++)
                            lud_canvas_line(both[k], 5, 5, (float)WIDTH - (float)(more + frame) * 0.25f,
                                            (float)HEIGHT - 9, 1, (lud_rgba){200, 200, (uint8_t)more, 90});
                        lud_canvas_layer_end(both[k]);
                    }
                    lud_canvas_clip(both[k], (lud_box){100, 80, 90, 90});
                    lud_canvas_layer_draw(both[k]);
                    lud_canvas_unclip(both[k]);
                }
            }
            lud_canvas_end(both[k]);
        }
        check_same(kept, fresh, frame);
    }
    lud_canvas_destroy(fresh);
    lud_canvas_destroy(kept);
}

/* A renderer whose pixels are somebody else's, as a window's are, and which grows. */
static void on_a_renderer(void **state) {
    (void)state;
    thing things[MOST_THINGS];
    lud_error error = {0};
    lud_canvas *canvas;
    int n = 0;
    SDL_Surface *surface = SDL_CreateRGBSurfaceWithFormat(0, WIDTH, HEIGHT, 32, SDL_PIXELFORMAT_ARGB8888);
    SDL_Renderer *renderer = SDL_CreateSoftwareRenderer(surface);
    if (lud_canvas_create(renderer, 1, NULL, &canvas, &error)) fail_msg("%s", error.text);
    while (n < MOST_THINGS / 2) things[n++] = draw_thing();
    for (int frame = 0; frame < FRAMES / 4; frame++) {
        const lud_rgba ground = {10, 90, 120, 255};
        lud_canvas *fresh = open_canvas();
        n = change(things, n);
        SDL_FillRect(surface, NULL, 0xffff00ff); /* a window may have lost what it showed */
        draw_frame(canvas, things, n, ground);
        draw_frame(fresh, things, n, ground);
        int pitch, n_other = 0;
        const uint32_t *pixels = lud_canvas_pixels(fresh, &pitch);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const uint32_t shown = ((uint32_t *)surface->pixels)[y * surface->pitch / 4 + x];
                n_other += (shown & 0xffffff) != (pixels[y * pitch / 4 + x] & 0xffffff);
            }
        if (n_other) fail_msg("frame %d: %d pixels are other", frame, n_other);
        lud_canvas_destroy(fresh);
    }
    lud_canvas_destroy(canvas);
    SDL_DestroyRenderer(renderer);
    SDL_FreeSurface(surface);
}

/* ---- what has to be drawn ---- */

static lud_quad quad_at(int x, int y, int side, uint8_t tone) {
    return (lud_quad){
        .to = {x, y, side, side}, .texture = -1, .colour = {tone, tone, tone, 255}, .opaque = 1};
}

/* The pixels of the areas, which are disjoint; and whether they hold a rectangle. */
static int area_of(const SDL_Rect *areas, int n, SDL_Rect wanted, bool *held) {
    static uint8_t marked[HEIGHT][WIDTH];
    int sum = 0, inside = 0;
    memset(marked, 0, sizeof marked);
    for (int k = 0; k < n; k++)
        for (int y = areas[k].y; y < areas[k].y + areas[k].h; y++)
            for (int x = areas[k].x; x < areas[k].x + areas[k].w; x++) {
                assert_true(x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT && !marked[y][x]);
                marked[y][x] = 1;
                sum++;
                inside +=
                    x >= wanted.x && y >= wanted.y && x < wanted.x + wanted.w && y < wanted.y + wanted.h;
            }
    *held = inside == wanted.w * wanted.h;
    return sum;
}

static const SDL_Rect *frame_of(lud_frame *f, const lud_quad *quads, size_t n_quads, int *n) {
    const SDL_Rect whole = {0, 0, WIDTH, HEIGHT};
    lud_frame_begin(f, WIDTH, HEIGHT);
    for (size_t k = 0; k < n_quads; k++) assert_true(lud_frame_add(f, &quads[k], whole));
    return lud_frame_end(f, n);
}

static void only_what_is_other(void **state) {
    (void)state;
    lud_frame *f;
    lud_error error = {0};
    bool held;
    int n;
    assert_int_equal(lud_frame_create(&f, &error), LUD_OK);
    lud_quad quads[3] = {quad_at(0, 0, 400, 200), quad_at(40, 50, 20, 10), quad_at(200, 180, 30, 30)};
    const SDL_Rect all = {0, 0, WIDTH, HEIGHT};
    const SDL_Rect *areas = frame_of(f, quads, 3, &n);
    assert_int_equal(area_of(areas, n, all, &held), WIDTH * HEIGHT);
    frame_of(f, quads, 3, &n);
    assert_int_equal(n, 0);
    const SDL_Rect left = quads[1].to;
    quads[1].to.x += 90;
    areas = frame_of(f, quads, 3, &n);
    assert_true(area_of(areas, n, left, &held) <= 2 * 2 * 64 * 64 && held);
    area_of(areas, n, quads[1].to, &held);
    assert_true(held);
    quads[2].version = 7; /* the texture holds something else */
    areas = frame_of(f, quads, 3, &n);
    assert_true(area_of(areas, n, quads[2].to, &held) <= 64 * 64 && held);
    const lud_quad first = quads[1]; /* another order, in another place than either alone */
    quads[2].to = (SDL_Rect){first.to.x + 10, first.to.y + 10, 30, 30};
    frame_of(f, quads, 3, &n);
    quads[1] = quads[2];
    quads[2] = first;
    areas = frame_of(f, quads, 3, &n);
    SDL_Rect common;
    SDL_IntersectRect(&quads[1].to, &quads[2].to, &common);
    area_of(areas, n, common, &held);
    assert_true(held);
    lud_frame_forget(f);
    areas = frame_of(f, quads, 3, &n);
    assert_int_equal(area_of(areas, n, all, &held), WIDTH * HEIGHT);
    lud_frame_begin(f, WIDTH, HEIGHT); /* what was drawn meanwhile lies below what comes */
    lud_frame_add(f, &quads[0], all);
    lud_frame_take(f);
    lud_frame_add(f, &quads[1], all);
    areas = lud_frame_end(f, &n);
    assert_int_equal(area_of(areas, n, all, &held), WIDTH * HEIGHT);
    assert_int_equal(lud_frame_first_seen(quads, 3, common), 2);
    assert_int_equal(lud_frame_first_seen(quads, 3, (SDL_Rect){0, 0, 10, 10}), 0);
    lud_frame_destroy(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_drawn_whole), cmocka_unit_test(beyond_the_page),
                                       cmocka_unit_test(on_a_renderer), cmocka_unit_test(only_what_is_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
