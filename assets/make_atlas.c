/* Draws the sprite atlas: every sprite is a small painting made of signed-distance shapes.
 *
 * usage: make_atlas OUT.png
 *
 * Coordinates run from (0, 0) at the north-west corner of a cell to (1, 1); things that turn face east.
 * Sprites that take a colour are painted in grey: 0 is a dark shade of the colour, 0.5 the colour itself, 1
 * white. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/canvas/sprites.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#pragma GCC diagnostic pop

static const float pixel_width = 1.0f / LUD_ATLAS_SIDE;

/* One pixel while it is painted: where it is, and its colour so far (premultiplied). */
typedef struct brush {
    float x, y;
    float r, g, b, a;
} brush;

/* ---- distances to shapes: negative inside ---- */

static float disc(const brush *p, float cx, float cy, float radius) {
    return hypotf(p->x - cx, p->y - cy) - radius;
}

static float round_box(const brush *p, float cx, float cy, float half_w, float half_h, float radius) {
    float dx = fabsf(p->x - cx) - half_w + radius, dy = fabsf(p->y - cy) - half_h + radius;
    return hypotf(fmaxf(dx, 0), fmaxf(dy, 0)) + fminf(fmaxf(dx, dy), 0) - radius;
}

static float segment(const brush *p, float ax, float ay, float bx, float by, float half_width) {
    float px = p->x - ax, py = p->y - ay, vx = bx - ax, vy = by - ay;
    float t = fminf(fmaxf((px * vx + py * vy) / (vx * vx + vy * vy), 0), 1);
    return hypotf(px - t * vx, py - t * vy) - half_width;
}

static float polygon(const brush *p, const float (*v)[2], int n, float rounding) {
    float nearest = 1e9f;
    int inside = 0;
    for (int i = 0, j = n - 1; i < n; j = i++) {
        nearest = fminf(nearest, segment(p, v[j][0], v[j][1], v[i][0], v[i][1], 0));
        if ((v[i][1] > p->y) != (v[j][1] > p->y) &&
            p->x < (v[j][0] - v[i][0]) * (p->y - v[i][1]) / (v[j][1] - v[i][1]) + v[i][0])
            inside = !inside;
    }
    return (inside ? -nearest : nearest) - rounding;
}

static float ring(float distance, float half_width) {
    return fabsf(distance) - half_width;
}
static float both(float a, float b) {
    return fmaxf(a, b);
}
static float either(float a, float b) {
    return fminf(a, b);
}
static float without(float a, float b) {
    return fmaxf(a, -b);
}
/* Union with a soft seam of width k. */
static float melt(float a, float b, float k) {
    float h = fmaxf(k - fabsf(a - b), 0) / k;
    return fminf(a, b) - h * h * k * 0.25f;
}

/* ---- paint ---- */

static void paint(brush *p, float coverage, float r, float g, float b, float alpha) {
    float a = fminf(fmaxf(coverage, 0), 1) * alpha;
    p->r = r * a + p->r * (1 - a);
    p->g = g * a + p->g * (1 - a);
    p->b = b * a + p->b * (1 - a);
    p->a = a + p->a * (1 - a);
}
/* Fills a shape with a colour, or with a grey of the ramp. */
static void fill(brush *p, float distance, float r, float g, float b, float alpha) {
    paint(p, 0.5f - distance / pixel_width, r, g, b, alpha);
}
static void grey(brush *p, float distance, float value, float alpha) {
    fill(p, distance, value, value, value, alpha);
}
static void hex(brush *p, float distance, unsigned colour, float alpha) {
    fill(p, distance, (float)(colour >> 16 & 255) / 255, (float)(colour >> 8 & 255) / 255,
         (float)(colour & 255) / 255, alpha);
}
/* A body: dark outline, face, and a soft light from the upper left. */
static void body(brush *p, float distance, float face, float outline) {
    grey(p, distance, 0.10f, 1);
    float light = 0.07f * (1 - 1.15f * p->x * 0.4f - 1.6f * p->y * 0.6f);
    grey(p, distance + outline, face + light, 1);
}

/* ---- actors ---- */

static void draw_robot(brush *p) {
    for (int side = -1; side <= 1; side += 2) { /* tracks */
        float track = round_box(p, 0.47f, 0.5f + 0.345f * (float)side, 0.31f, 0.075f, 0.05f);
        grey(p, track, 0.04f, 1);
        grey(p, track + 0.018f, 0.27f, 1);
        for (int k = 0; k < 5; k++)
            grey(p,
                 both(track + 0.02f, round_box(p, 0.24f + 0.115f * (float)k, 0.5f + 0.345f * (float)side,
                                               0.022f, 0.1f, 0.01f)),
                 0.05f, 1);
    }
    float shell = round_box(p, 0.5f, 0.5f, 0.355f, 0.315f, 0.115f);
    body(p, shell, 0.5f, 0.03f);
    grey(p, round_box(p, 0.275f, 0.5f, 0.05f, 0.15f, 0.04f), 0.36f, 1); /* back plate */
    for (int k = -1; k <= 1; k++)
        grey(p, round_box(p, 0.275f, 0.5f + 0.085f * (float)k, 0.028f, 0.014f, 0.014f), 0.12f, 1);
    grey(p, disc(p, 0.615f, 0.5f, 0.195f), 0.10f, 1); /* the lens */
    grey(p, disc(p, 0.615f, 0.5f, 0.165f), 0.94f, 1);
    grey(p, disc(p, 0.645f, 0.5f, 0.115f), 0.04f, 1);
    grey(p, disc(p, 0.690f, 0.455f, 0.036f), 1.0f, 1);
}

static void draw_person(brush *p) {
    float head = disc(p, 0.46f, 0.5f, 0.335f);
    float nose = round_box(p, 0.80f, 0.5f, 0.105f, 0.085f, 0.085f);
    float whole = melt(head, nose, 0.06f);
    body(p, whole, 0.5f, 0.03f);
    grey(p, both(disc(p, 0.46f, 0.5f, 0.255f), -disc(p, 0.54f, 0.5f, 0.275f)), 0.30f, 0.85f); /* hair line */
    for (int side = -1; side <= 1; side += 2) {                                               /* eyes */
        float y = 0.5f + 0.135f * (float)side;
        grey(p, disc(p, 0.615f, y, 0.072f), 1.0f, 1);
        grey(p, disc(p, 0.640f, y, 0.044f), 0.03f, 1);
    }
}

static void draw_actor(brush *p) { /* agents that are neither: the classic arrow head */
    const float v[][2] = {{0.24f, 0.22f}, {0.80f, 0.5f}, {0.24f, 0.78f}, {0.36f, 0.5f}};
    float d = polygon(p, v, 4, 0.075f);
    body(p, d, 0.5f, 0.03f);
    grey(p, disc(p, 0.50f, 0.5f, 0.055f), 0.06f, 1);
}

/* ---- things ---- */

static void draw_key(brush *p) {
    float bow = disc(p, 0.33f, 0.36f, 0.185f), hole = disc(p, 0.33f, 0.36f, 0.075f);
    float shaft = segment(p, 0.42f, 0.45f, 0.80f, 0.83f, 0.055f);
    float teeth = either(segment(p, 0.72f, 0.75f, 0.835f, 0.635f, 0.05f),
                         segment(p, 0.59f, 0.62f, 0.685f, 0.525f, 0.05f));
    float d = without(either(either(bow, shaft), teeth), hole);
    body(p, d - 0.028f, 0.5f, 0.03f);
    grey(p, both(ring(disc(p, 0.33f, 0.36f, 0.135f), 0.018f), p->x + p->y - 0.66f), 0.80f, 0.9f);
}

static void draw_ball(brush *p) {
    float d = disc(p, 0.5f, 0.5f, 0.315f);
    body(p, d, 0.5f, 0.03f);
    grey(p, both(d + 0.03f, -disc(p, 0.43f, 0.42f, 0.33f)), 0.34f, 0.8f);
    grey(p, disc(p, 0.40f, 0.39f, 0.085f), 0.90f, 0.95f);
    grey(p, disc(p, 0.51f, 0.30f, 0.030f), 0.85f, 0.8f);
}

static void draw_box(brush *p) {
    float d = round_box(p, 0.5f, 0.53f, 0.33f, 0.30f, 0.05f);
    body(p, d, 0.5f, 0.03f);
    float lid = round_box(p, 0.5f, 0.315f, 0.38f, 0.115f, 0.05f);
    body(p, lid, 0.62f, 0.03f);
    float ribbon = both(round_box(p, 0.5f, 0.5f, 0.06f, 0.4f, 0.0f), either(d, lid) + 0.03f);
    grey(p, ribbon, 0.92f, 0.95f);
    grey(p, both(ring(lid, 0.015f), ribbon), 0.10f, 0.9f);
}

static void draw_block(brush *p) {
    float d = round_box(p, 0.5f, 0.5f, 0.41f, 0.41f, 0.045f);
    body(p, d, 0.5f, 0.03f);
    float inner = round_box(p, 0.5f, 0.5f, 0.27f, 0.27f, 0.02f);
    grey(p, inner, 0.40f, 1);
    float planks = either(ring(round_box(p, 0.5f, 0.5f, 0.27f, 0.09f, 0), 0.011f), ring(inner, 0.016f));
    grey(p, both(planks, inner - 0.016f), 0.16f, 0.95f);
    for (int k = 0; k < 4; k++) /* nails */
        grey(p, disc(p, k & 1 ? 0.845f : 0.155f, k & 2 ? 0.845f : 0.155f, 0.022f), 0.14f, 1);
}

static void draw_rock(brush *p) {
    const float v[][2] = {{0.30f, 0.22f}, {0.55f, 0.14f}, {0.78f, 0.25f}, {0.88f, 0.52f},
                          {0.80f, 0.78f}, {0.52f, 0.86f}, {0.22f, 0.80f}, {0.12f, 0.50f}};
    float d = polygon(p, v, 8, 0.035f);
    body(p, d, 0.5f, 0.03f);
    const float top[][2] = {{0.34f, 0.26f}, {0.55f, 0.20f}, {0.72f, 0.29f},
                            {0.60f, 0.44f}, {0.36f, 0.46f}, {0.22f, 0.42f}};
    grey(p, polygon(p, top, 6, 0.01f), 0.72f, 0.9f);
    const float side[][2] = {{0.62f, 0.46f}, {0.74f, 0.31f}, {0.83f, 0.52f},
                             {0.76f, 0.74f}, {0.56f, 0.80f}, {0.50f, 0.62f}};
    grey(p, polygon(p, side, 6, 0.005f), 0.34f, 0.9f);
    grey(p, segment(p, 0.30f, 0.56f, 0.38f, 0.66f, 0.014f), 0.22f, 1);
    grey(p, segment(p, 0.38f, 0.66f, 0.36f, 0.74f, 0.014f), 0.22f, 1);
}

/* ---- doors ---- */

static void door_frame(brush *p) {
    float outer = round_box(p, 0.5f, 0.5f, 0.47f, 0.47f, 0.06f),
          inner = round_box(p, 0.5f, 0.5f, 0.37f, 0.37f, 0.03f);
    grey(p, without(outer, inner), 0.14f, 1);
    grey(p, without(outer + 0.025f, inner - 0.022f), 0.5f, 1);
}

static void draw_door_open(brush *p) {
    door_frame(p);
    const float leaf[][2] = {{0.13f, 0.13f}, {0.31f, 0.22f}, {0.31f, 0.93f}, {0.13f, 0.87f}};
    float d = polygon(p, leaf, 4, 0);
    grey(p, d - 0.022f, 0.10f, 1);
    grey(p, d, 0.44f, 1);
    grey(p, disc(p, 0.262f, 0.565f, 0.024f), 0.95f, 1);
}

static void door_leaf(brush *p, float face) {
    door_frame(p);
    float leaf = round_box(p, 0.5f, 0.5f, 0.345f, 0.345f, 0.015f);
    grey(p, leaf - 0.025f, 0.10f, 1);
    grey(p, leaf, face, 1);
}

static void draw_door_closed(brush *p) {
    door_leaf(p, 0.52f);
    for (int k = 0; k < 2; k++) {
        float panel = round_box(p, 0.47f, 0.335f + 0.325f * (float)k, 0.215f, 0.115f, 0.02f);
        grey(p, panel, 0.34f, 1);
        grey(p, panel + 0.028f, 0.43f, 1);
    }
    grey(p, disc(p, 0.765f, 0.5f, 0.050f), 0.06f, 1);
    grey(p, disc(p, 0.765f, 0.5f, 0.032f), 0.95f, 1);
}

static void draw_door_locked(brush *p) {
    door_leaf(p, 0.42f);
    for (int k = 0; k < 2; k++)
        grey(p, round_box(p, 0.5f, 0.235f + 0.53f * (float)k, 0.345f, 0.034f, 0), 0.16f, 1);
    float shackle = both(ring(round_box(p, 0.5f, 0.46f, 0.105f, 0.165f, 0.105f), 0.034f), p->y - 0.52f);
    grey(p, shackle - 0.022f, 0.04f, 1);
    grey(p, shackle, 0.97f, 1);
    float lock = round_box(p, 0.5f, 0.60f, 0.175f, 0.14f, 0.035f);
    grey(p, lock - 0.024f, 0.04f, 1);
    grey(p, lock, 0.97f, 1);
    grey(p, either(disc(p, 0.5f, 0.575f, 0.042f), segment(p, 0.5f, 0.58f, 0.5f, 0.665f, 0.02f)), 0.04f, 1);
}

/* ---- ground ---- */

static void draw_goal(brush *p) {
    float tile = round_box(p, 0.5f, 0.5f, 0.47f, 0.47f, 0.07f);
    grey(p, tile, 0.5f, 0.28f);
    grey(p, ring(tile + 0.02f, 0.02f), 0.5f, 1);
    float pole = segment(p, 0.34f, 0.20f, 0.34f, 0.82f, 0.030f);
    const float flag[][2] = {{0.36f, 0.20f}, {0.76f, 0.345f}, {0.36f, 0.50f}};
    float pennant = polygon(p, flag, 3, 0.02f);
    grey(p, either(pole, pennant) - 0.024f, 0.06f, 1);
    grey(p, pole, 0.14f, 1);
    grey(p, pennant, 0.55f, 1);
    grey(p, round_box(p, 0.34f, 0.82f, 0.11f, 0.028f, 0.028f), 0.10f, 1);
}

static void draw_object_goal(brush *p) {
    float frame = ring(round_box(p, 0.5f, 0.5f, 0.36f, 0.36f, 0.08f), 0.028f);
    float gap = either(fabsf(p->x - 0.5f) - 0.13f, fabsf(p->y - 0.5f) - 0.13f);
    grey(p, without(frame, gap) - 0.02f, 0.08f, 0.9f);
    grey(p, without(frame, gap), 0.5f, 1);
    grey(p, ring(disc(p, 0.5f, 0.5f, 0.10f), 0.028f), 0.36f, 1);
}

static void draw_floor(brush *p) {
    float tile = round_box(p, 0.5f, 0.5f, 0.45f, 0.45f, 0.06f);
    grey(p, tile, 0.5f, 0.38f);
    grey(p, ring(tile + 0.015f, 0.015f), 0.5f, 0.7f);
}

static void draw_switch(brush *p) {
    float tile = round_box(p, 0.5f, 0.5f, 0.40f, 0.40f, 0.10f);
    grey(p, tile, 0.5f, 0.30f);
    grey(p, ring(tile + 0.02f, 0.02f), 0.5f, 1);
    float slot = round_box(p, 0.5f, 0.5f, 0.22f, 0.11f, 0.11f);
    grey(p, slot, 0.12f, 1);
    grey(p, disc(p, 0.39f, 0.5f, 0.078f), 0.95f, 1);
}

static float leaves(const brush *p, float grow) {
    static const float blob[][3] = {{0.31f, 0.36f, 0.18f}, {0.54f, 0.28f, 0.19f}, {0.73f, 0.42f, 0.17f},
                                    {0.70f, 0.66f, 0.18f}, {0.46f, 0.72f, 0.19f}, {0.25f, 0.60f, 0.16f},
                                    {0.48f, 0.50f, 0.24f}};
    float d = 1e9f;
    for (int k = 0; k < 7; k++) d = fminf(d, disc(p, blob[k][0], blob[k][1], blob[k][2] + grow));
    return d;
}

static void draw_bush(brush *p) {
    body(p, leaves(p, 0.02f), 0.40f, 0.03f);
    static const float tuft[][3] = {{0.32f, 0.35f, 0.12f}, {0.55f, 0.27f, 0.12f}, {0.70f, 0.44f, 0.11f},
                                    {0.46f, 0.50f, 0.13f}, {0.66f, 0.66f, 0.11f}, {0.44f, 0.70f, 0.11f},
                                    {0.26f, 0.57f, 0.09f}};
    for (int k = 0; k < 7; k++) {
        float d = disc(p, tuft[k][0], tuft[k][1], tuft[k][2]);
        grey(p, d, 0.30f, 0.8f);
        grey(p, both(d, disc(p, tuft[k][0] - 0.02f, tuft[k][1] - 0.025f, tuft[k][2] * 0.9f)), 0.58f, 1);
    }
}

static void draw_trampled(brush *p) {
    for (int k = 0; k < 5; k++) {
        float angle = 0.5f + 1.2566f * (float)k, x = 0.5f + 0.22f * cosf(angle),
              y = 0.55f + 0.16f * sinf(angle);
        grey(p, segment(p, x - 0.07f, y + 0.03f, x + 0.07f, y - 0.03f, 0.026f), 0.40f, 0.55f);
    }
}

static void draw_lava(brush *p) {
    fill(p, round_box(p, 0.5f, 0.5f, 0.5f, 0.5f, 0), 0.835f, 0.37f, 0.0f, 1);
    paint(p, 0.25f * p->y, 0.55f, 0.16f, 0.02f, 1);
}

static void draw_lava_wave(brush *p) { /* repeats every cell, so that it can be moved along */
    for (int k = 0; k < 3; k++) {
        float y = 0.2f + 0.3f * (float)k + 0.045f * sinf(6.2831853f * (p->x + 0.37f * (float)k));
        float d = fabsf(p->y - y);
        hex(p, d - 0.040f, 0xffb347, 1);
        hex(p, fabsf(p->y - y + 0.012f) - 0.014f, 0xffe9a8, 1);
    }
}

static void draw_unsteady(brush *p) {
    hex(p, round_box(p, 0.5f, 0.5f, 0.5f, 0.5f, 0), 0xC9AF8B, 0.75f);
    static const float crack[][4] = {
        {0.08f, 0.30f, 0.30f, 0.38f}, {0.30f, 0.38f, 0.42f, 0.24f}, {0.42f, 0.24f, 0.60f, 0.30f},
        {0.60f, 0.30f, 0.72f, 0.12f}, {0.30f, 0.38f, 0.38f, 0.58f}, {0.38f, 0.58f, 0.24f, 0.74f},
        {0.24f, 0.74f, 0.28f, 0.92f}, {0.38f, 0.58f, 0.60f, 0.64f}, {0.60f, 0.64f, 0.70f, 0.82f},
        {0.60f, 0.64f, 0.78f, 0.50f}, {0.78f, 0.50f, 0.94f, 0.56f}, {0.60f, 0.30f, 0.78f, 0.50f}};
    for (int k = 0; k < 12; k++)
        hex(p,
            segment(p, crack[k][0] + 0.008f, crack[k][1] + 0.014f, crack[k][2] + 0.008f, crack[k][3] + 0.014f,
                    0.022f),
            0xF2E6D2, 0.8f);
    for (int k = 0; k < 12; k++)
        hex(p, segment(p, crack[k][0], crack[k][1], crack[k][2], crack[k][3], k % 3 == 2 ? 0.013f : 0.020f),
            0x4A3420, 1);
}

static void draw_magic_wall(brush *p) {
    grey(p, round_box(p, 0.5f, 0.5f, 0.5f, 0.5f, 0), 0.5f, 1);
    for (int row = 0; row < 4; row++) { /* faint bricks: it is a wall */
        float y = 0.25f * (float)row;
        grey(p, fabsf(p->y - y) - 0.010f, 0.30f, 0.8f);
        for (int k = 0; k < 3; k++)
            grey(p,
                 both(fabsf(p->x - (0.5f * (float)k + (row & 1 ? 0.25f : 0.0f))) - 0.010f,
                      fabsf(p->y - y - 0.125f) - 0.125f),
                 0.30f, 0.8f);
    }
}

static void draw_magic_side(brush *p) { /* the east side; turned for the others */
    float t = fmaxf(0, (p->x - 0.52f) / 0.48f);
    fill(p, -1, 0.34f, 0.71f, 0.91f, t * t * 0.85f);
    fill(p, 0.925f - p->x, 0.80f, 0.94f, 1.0f, 1);
    for (int k = 0; k < 4; k++) { /* little arrows: this way in */
        float y = 0.125f + 0.25f * (float)k;
        const float v[][2] = {{0.90f, y - 0.055f}, {0.81f, y}, {0.90f, y + 0.055f}};
        fill(p, polygon(p, v, 3, 0.008f), 0.92f, 0.98f, 1.0f, 0.95f);
    }
}

static float star(const brush *p, float cx, float cy, float size) {
    float dx = fabsf(p->x - cx) / size, dy = fabsf(p->y - cy) / size;
    return (sqrtf(dx) + sqrtf(dy) - 1) * size * 0.6f;
}

static void draw_magic_sparkle(brush *p) {
    fill(p, star(p, 0.36f, 0.36f, 0.20f), 0.90f, 0.97f, 1.0f, 1);
    fill(p, star(p, 0.66f, 0.62f, 0.14f), 0.78f, 0.92f, 1.0f, 1);
    fill(p, star(p, 0.30f, 0.76f, 0.10f), 0.85f, 0.95f, 1.0f, 1);
    fill(p, star(p, 0.72f, 0.24f, 0.09f), 0.85f, 0.95f, 1.0f, 1);
}

static void draw_solidified(brush *p) { /* rivets and a bar: shut for good */
    for (int k = 0; k < 4; k++)
        grey(p, disc(p, k & 1 ? 0.84f : 0.16f, k & 2 ? 0.84f : 0.16f, 0.05f), 0.85f, 0.9f);
    grey(p, round_box(p, 0.5f, 0.5f, 0.26f, 0.05f, 0.05f), 0.85f, 0.9f);
}

/* ---- buttons ---- */

static void draw_plate(brush *p) {
    float base = round_box(p, 0.5f, 0.5f, 0.44f, 0.44f, 0.12f);
    grey(p, base, 0.08f, 1);
    grey(p, base + 0.03f, 0.30f, 1);
    float face = round_box(p, 0.5f, 0.475f, 0.375f, 0.375f, 0.10f);
    grey(p, face - 0.018f, 0.12f, 1);
    grey(p, face, 0.50f, 1);
    grey(p, round_box(p, 0.5f, 0.135f, 0.27f, 0.016f, 0.016f), 0.78f, 0.9f);
}

static void draw_plate_down(brush *p) { /* pressed in and lit */
    float base = round_box(p, 0.5f, 0.5f, 0.44f, 0.44f, 0.12f);
    grey(p, base, 0.08f, 1);
    grey(p, base + 0.03f, 0.92f, 1);
    float face = round_box(p, 0.5f, 0.515f, 0.345f, 0.345f, 0.10f);
    grey(p, face - 0.018f, 0.10f, 1);
    grey(p, face, 0.40f, 1);
}

static void symbol(brush *p, float distance) {
    grey(p, distance - 0.022f, 0.02f, 0.9f);
    grey(p, distance, 1.0f, 1);
}

static void draw_symbol_kill(brush *p) {
    symbol(p, either(segment(p, 0.37f, 0.31f, 0.63f, 0.57f, 0.05f),
                     segment(p, 0.63f, 0.31f, 0.37f, 0.57f, 0.05f)));
}
static void draw_symbol_pause(brush *p) {
    symbol(p, either(round_box(p, 0.41f, 0.44f, 0.052f, 0.165f, 0.02f),
                     round_box(p, 0.59f, 0.44f, 0.052f, 0.165f, 0.02f)));
}
static void draw_symbol_disable(brush *p) {
    symbol(p, either(ring(disc(p, 0.5f, 0.44f, 0.165f), 0.036f),
                     segment(p, 0.385f, 0.555f, 0.615f, 0.325f, 0.03f)));
}
static void draw_symbol_control(brush *p) { /* a cross of four ways round a stick */
    float cross = either(round_box(p, 0.5f, 0.44f, 0.185f, 0.062f, 0.03f),
                         round_box(p, 0.5f, 0.44f, 0.062f, 0.185f, 0.03f));
    symbol(p, cross);
    grey(p, disc(p, 0.5f, 0.44f, 0.045f), 0.04f, 1);
}

static void draw_disabled(brush *p) { /* a veil and a bar across the plate */
    float plate = round_box(p, 0.5f, 0.5f, 0.44f, 0.44f, 0.12f);
    hex(p, plate, 0x8A8F98, 0.72f);
    hex(p, both(segment(p, 0.16f, 0.84f, 0.84f, 0.16f, 0.050f), plate), 0x1E222A, 0.95f);
    hex(p, both(segment(p, 0.16f, 0.84f, 0.84f, 0.16f, 0.026f), plate), 0xF4F2EE, 1);
}

/* ---- marks ---- */

static void draw_shadow(brush *p) {
    float d = hypotf(p->x - 0.5f, (p->y - 0.56f) * 1.05f);
    float t = fminf(fmaxf((0.46f - d) / 0.20f, 0), 1);
    fill(p, -1, 0.05f, 0.06f, 0.09f, 0.24f * t * t * (3 - 2 * t));
}

static void draw_glow(brush *p) {
    float d = round_box(p, 0.5f, 0.5f, 0.36f, 0.36f, 0.14f);
    float t = fmaxf(0, 1 - fabsf(d) / 0.13f);
    grey(p, -1, 0.55f, t * t);
}

static void draw_fallen(brush *p) { /* closed for good: a cross over the body */
    float d = either(segment(p, 0.34f, 0.34f, 0.66f, 0.66f, 0.038f),
                     segment(p, 0.66f, 0.34f, 0.34f, 0.66f, 0.038f));
    hex(p, d - 0.026f, 0xF4F2EE, 0.95f);
    hex(p, d, 0x3A3E47, 1);
}

static void draw_paused(brush *p) {
    float d = either(round_box(p, 0.40f, 0.5f, 0.06f, 0.20f, 0.03f),
                     round_box(p, 0.60f, 0.5f, 0.06f, 0.20f, 0.03f));
    hex(p, d - 0.03f, 0x1E222A, 1);
    hex(p, d, 0xFFFFFF, 1);
}

static void draw_forced(brush *p) { /* a bolt: the next action is not its own choice */
    const float v[][2] = {{0.56f, 0.14f}, {0.26f, 0.56f}, {0.47f, 0.56f},
                          {0.40f, 0.88f}, {0.74f, 0.42f}, {0.52f, 0.42f}};
    float d = polygon(p, v, 6, 0.01f);
    hex(p, d - 0.05f, 0x1E222A, 1);
    hex(p, d, 0xF0E442, 1);
}

/* ---- icons: the tint alone ---- */

static void triangle(brush *p, float x, float width) {
    const float v[][2] = {{x, 0.24f}, {x + width, 0.5f}, {x, 0.76f}};
    grey(p, polygon(p, v, 3, 0.03f), 0.5f, 1);
}
static void draw_icon_play(brush *p) {
    triangle(p, 0.32f, 0.42f);
}
static void draw_icon_pause(brush *p) {
    grey(p,
         either(round_box(p, 0.37f, 0.5f, 0.07f, 0.26f, 0.025f),
                round_box(p, 0.63f, 0.5f, 0.07f, 0.26f, 0.025f)),
         0.5f, 1);
}
static void draw_icon_forward(brush *p) {
    triangle(p, 0.40f, 0.36f);
    grey(p, round_box(p, 0.25f, 0.5f, 0.045f, 0.27f, 0.02f), 0.5f, 1);
}
static void draw_icon_back(brush *p) {
    triangle(p, 0.60f, -0.36f);
    grey(p, round_box(p, 0.75f, 0.5f, 0.045f, 0.27f, 0.02f), 0.5f, 1);
}
static void draw_icon_start(brush *p) {
    triangle(p, 0.56f, -0.26f);
    triangle(p, 0.80f, -0.26f);
    grey(p, round_box(p, 0.20f, 0.5f, 0.04f, 0.27f, 0.02f), 0.5f, 1);
}
static void draw_icon_end(brush *p) {
    triangle(p, 0.44f, 0.26f);
    triangle(p, 0.20f, 0.26f);
    grey(p, round_box(p, 0.80f, 0.5f, 0.04f, 0.27f, 0.02f), 0.5f, 1);
}
static void draw_icon_record(brush *p) {
    grey(p, disc(p, 0.5f, 0.5f, 0.24f), 0.5f, 1);
}
static void draw_icon_restart(brush *p) {
    float gap = both(0.5f - p->x, fabsf(p->y - 0.40f) - 0.14f);
    grey(p, without(ring(disc(p, 0.5f, 0.5f, 0.23f), 0.045f), gap), 0.5f, 1);
    const float v[][2] = {{0.60f, 0.42f}, {0.86f, 0.42f}, {0.80f, 0.18f}};
    grey(p, polygon(p, v, 3, 0.01f), 0.5f, 1);
}
static void draw_icon_help(brush *p) {
    float hook =
        both(ring(disc(p, 0.5f, 0.38f, 0.14f), 0.045f), -both(p->y - 0.40f > 0 ? -1.0f : 1.0f, p->x - 0.5f));
    grey(p, either(hook, segment(p, 0.5f, 0.54f, 0.5f, 0.60f, 0.045f)), 0.5f, 1);
    grey(p, disc(p, 0.5f, 0.76f, 0.055f), 0.5f, 1);
}

/* ---- tribes ---- */

/* People of a tribe: a body whose shape tells the team, seen from above with a light on its shoulder. Eyes
 * are put on when it is drawn, so that it can look where it goes. */
static void draw_tribe(brush *p, float d) {
    body(p, d, 0.5f, 0.034f);
    grey(p, both(d + 0.055f, -disc(p, 0.60f, 0.64f, 0.36f)), 0.64f, 0.55f);
}
static void draw_tribe_disc(brush *p) {
    draw_tribe(p, disc(p, 0.5f, 0.52f, 0.315f));
}
static void draw_tribe_square(brush *p) {
    draw_tribe(p, round_box(p, 0.5f, 0.52f, 0.285f, 0.285f, 0.075f));
}
static void draw_tribe_triangle(brush *p) {
    const float v[][2] = {{0.5f, 0.24f}, {0.775f, 0.72f}, {0.225f, 0.72f}};
    draw_tribe(p, polygon(p, v, 3, 0.085f));
}
static void draw_tribe_diamond(brush *p) {
    const float v[][2] = {{0.5f, 0.20f}, {0.80f, 0.52f}, {0.5f, 0.84f}, {0.20f, 0.52f}};
    draw_tribe(p, polygon(p, v, 4, 0.06f));
}
/* A star or a regular polygon of n corners; `inner` is the share of the radius between two corners, 0: none.
 */
static float starlike(const brush *p, int n, float radius, float inner, float rounding) {
    float v[16][2];
    const int points = inner > 0 ? 2 * n : n;
    for (int k = 0; k < points; k++) {
        const float angle = 6.2831853f * ((float)k / (float)points - 0.25f);
        const float reach = inner > 0 && k % 2 ? radius * inner : radius;
        v[k][0] = 0.5f + reach * cosf(angle);
        v[k][1] = 0.53f + reach * sinf(angle);
    }
    return polygon(p, (const float(*)[2])v, points, rounding);
}
static void draw_tribe_hexagon(brush *p) {
    draw_tribe(p, starlike(p, 6, 0.285f, 0, 0.05f));
}
static void draw_tribe_star(brush *p) {
    draw_tribe(p, starlike(p, 5, 0.30f, 0.62f, 0.075f));
}

static void draw_house(brush *p) {
    const float wall = round_box(p, 0.5f, 0.66f, 0.33f, 0.27f, 0.04f);
    const float eaves[][2] = {{0.5f, 0.10f}, {0.92f, 0.46f}, {0.86f, 0.52f}, {0.14f, 0.52f}, {0.08f, 0.46f}};
    const float roof = polygon(p, eaves, 5, 0.035f);
    grey(p, wall, 0.10f, 1);
    grey(p, wall + 0.03f, 0.90f, 1);
    grey(p, both(wall + 0.03f, 0.60f - p->y), 0.94f, 1);
    grey(p, roof, 0.10f, 1);
    grey(p, roof + 0.03f, 0.52f, 1);
    for (int k = 0; k < 3; k++) /* courses of shingles */
        grey(p, both(roof + 0.045f, ring(p->y - 0.27f - 0.085f * (float)k, 0.008f)), 0.36f, 0.8f);
    grey(p, both(roof + 0.04f, ring(p->y + 0.86f * fabsf(p->x - 0.5f) * -1.0f - 0.115f, 0.012f)), 0.74f,
         0.8f);
}

static void draw_grain(brush *p) {
    for (int k = -1; k <= 1; k++) {
        const float lean = 0.20f * (float)k, top = k ? 0.30f : 0.20f;
        hex(p, segment(p, 0.5f + 0.06f * (float)k, 0.90f, 0.5f + lean, top + 0.12f, 0.026f), 0x7d6a22, 1);
        for (int g = 0; g < 4; g++)
            for (int side = -1; side <= 1; side += 2) {
                const float y = top + 0.02f + 0.095f * (float)g, along = (y - top) / (0.9f - top);
                const float x = 0.5f + lean + (0.06f * (float)k - lean) * along + 0.048f * (float)side;
                hex(p, disc(p, x, y + 0.018f * (float)k * (float)side, 0.062f), 0x9a7b1e, 1);
                hex(p, disc(p, x - 0.008f, y - 0.010f + 0.018f * (float)k * (float)side, 0.043f), 0xE9BD3F,
                    1);
            }
        hex(p, disc(p, 0.5f + lean, top - 0.045f, 0.05f), 0xE9BD3F, 1);
    }
}

static void draw_tree(brush *p) {
    hex(p, round_box(p, 0.5f, 0.80f, 0.065f, 0.15f, 0.03f), 0x5a4026, 1);
    hex(p, round_box(p, 0.485f, 0.80f, 0.03f, 0.13f, 0.02f), 0x7d5c39, 1);
    float crown = melt(disc(p, 0.5f, 0.34f, 0.235f), disc(p, 0.33f, 0.52f, 0.185f), 0.08f);
    crown = melt(crown, disc(p, 0.67f, 0.52f, 0.185f), 0.08f);
    hex(p, crown, 0x2c4a34, 1);
    hex(p, crown + 0.034f, 0x4f8460, 1);
    hex(p, both(crown + 0.05f, disc(p, 0.42f, 0.34f, 0.23f)), 0x6fa57d, 1);
    hex(p, both(crown + 0.06f, disc(p, 0.40f, 0.27f, 0.11f)), 0x96c4a0, 0.9f);
}

static void draw_log(brush *p) {
    const float trunk = segment(p, 0.26f, 0.60f, 0.70f, 0.44f, 0.17f);
    hex(p, trunk, 0x4a331d, 1);
    hex(p, trunk + 0.034f, 0x9a6f42, 1);
    hex(p, both(trunk + 0.05f, segment(p, 0.26f, 0.53f, 0.66f, 0.385f, 0.05f)), 0xb98b58, 1);
    hex(p, disc(p, 0.71f, 0.435f, 0.165f), 0x4a331d, 1);
    hex(p, disc(p, 0.71f, 0.435f, 0.132f), 0xe8cfa4, 1);
    hex(p, ring(disc(p, 0.71f, 0.435f, 0.075f), 0.012f), 0xb08a58, 1);
    hex(p, disc(p, 0.71f, 0.435f, 0.022f), 0xb08a58, 1);
}

static void draw_ore(brush *p) {
    const float whole[][2] = {{0.16f, 0.72f}, {0.24f, 0.44f}, {0.44f, 0.22f}, {0.62f, 0.26f},
                              {0.82f, 0.50f}, {0.86f, 0.74f}, {0.70f, 0.84f}, {0.30f, 0.84f}};
    const float light[][2] = {{0.26f, 0.46f}, {0.44f, 0.25f}, {0.54f, 0.46f}, {0.38f, 0.60f}};
    const float face[][2] = {{0.44f, 0.25f}, {0.61f, 0.29f}, {0.72f, 0.50f}, {0.54f, 0.46f}};
    const float dark[][2] = {{0.72f, 0.50f}, {0.80f, 0.52f}, {0.83f, 0.73f}, {0.68f, 0.81f}, {0.60f, 0.66f}};
    const float d = polygon(p, whole, 8, 0.03f);
    hex(p, d, 0x2d3848, 1);
    hex(p, d + 0.034f, 0x7088a3, 1);
    hex(p, polygon(p, light, 4, 0.004f), 0xc3d3e2, 1);
    hex(p, polygon(p, face, 4, 0.004f), 0x98adc2, 1);
    hex(p, polygon(p, dark, 5, 0.004f), 0x53677f, 1);
    hex(p, disc(p, 0.36f, 0.70f, 0.035f), 0xe7c15a, 1);
    hex(p, disc(p, 0.52f, 0.62f, 0.028f), 0xe7c15a, 1);
    hex(p, disc(p, 0.50f, 0.75f, 0.024f), 0xe7c15a, 1);
}

static void draw_shield(brush *p) {
    const float lower = both(disc(p, 0.22f, 0.28f, 0.60f), disc(p, 0.78f, 0.28f, 0.60f));
    const float d = both(lower, 0.16f - p->y) - 0.02f;
    grey(p, d, 0.08f, 1);
    grey(p, d + 0.045f, 0.97f, 1);
    grey(p, d + 0.095f, 0.5f, 1);
    grey(p, both(d + 0.095f, p->x - 0.5f), 0.62f, 1);
}

static void draw_spark(brush *p) {
    const float d = starlike(p, 8, 0.42f, 0.46f, 0.01f), inner = starlike(p, 8, 0.27f, 0.5f, 0.01f);
    hex(p, d, 0xC8481A, 1);
    hex(p, d + 0.04f, 0xF0A020, 1);
    hex(p, inner, 0xFFF0B0, 1);
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 2) {
        fprintf(stderr, "usage: make_atlas OUT.png\n");
        return 2;
    }
    static void (*const draw[])(brush *) = {
#define X(NAME, name, tinted) draw_##name,
        LUD_SPRITES(X)
#undef X
    };
    int rows = (LUD_SPRITE_COUNT + LUD_ATLAS_COLUMNS - 1) / LUD_ATLAS_COLUMNS;
    int width = LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE, height = rows * LUD_ATLAS_SIDE;
    unsigned char *pixels = calloc((size_t)width * (size_t)height, 4);
    if (!pixels) return 1;
    for (int s = 0; s < LUD_SPRITE_COUNT; s++)
        for (int y = 0; y < LUD_ATLAS_SIDE; y++)
            for (int x = 0; x < LUD_ATLAS_SIDE; x++) {
                brush p = {.x = ((float)x + 0.5f) * pixel_width, .y = ((float)y + 0.5f) * pixel_width};
                draw[s](&p);
                int column = s % LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE + x,
                    row = s / LUD_ATLAS_COLUMNS * LUD_ATLAS_SIDE + y;
                unsigned char *out = pixels + 4 * ((size_t)row * (size_t)width + (size_t)column);
                float unit = p.a > 0 ? 255 / p.a : 0;
                out[0] = (unsigned char)(p.r * unit + 0.5f);
                out[1] = (unsigned char)(p.g * unit + 0.5f);
                out[2] = (unsigned char)(p.b * unit + 0.5f);
                out[3] = (unsigned char)(p.a * 255 + 0.5f);
            }
    stbi_write_png_compression_level = 12;
    int written = stbi_write_png(arguments[1], width, height, 4, pixels, width * 4);
    free(pixels);
    if (!written) {
        fprintf(stderr, "make_atlas: cannot write %s\n", arguments[1]);
        return 1;
    }
    return 0;
}
