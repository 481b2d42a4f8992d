#include "render/sides_draw.h"

#include <math.h>
#include <stdio.h>

#include "render/caption.h"
#include "render/plots/chart.h"

static const float gap = 6; /* at scale 1, between what is beside each other */

static float scale_in(lud_box extent, lud_box area, float heading, int columns, int rows) {
    return fminf(area.w / (float)columns / extent.w, (area.h / (float)rows - heading) / extent.h);
}

void lud_sides_grid(int n, int columns, lud_box area, lud_box boxes[LUD_SIDES]) {
    const int rows = (n + columns - 1) / columns;
    for (int k = 0; k < n; k++) {
        const int column = k % columns, row = k / columns;
        const float left = roundf(area.x + area.w * (float)column / (float)columns),
                    right = roundf(area.x + area.w * (float)(column + 1) / (float)columns),
                    top = roundf(area.y + area.h * (float)row / (float)rows),
                    bottom = roundf(area.y + area.h * (float)(row + 1) / (float)rows);
        boxes[k] = (lud_box){left, top, right - left, bottom - top};
    }
}

void lud_sides_divide(int n, lud_box extent, lud_box area, float heading, lud_box boxes[LUD_SIDES]) {
    int columns = n;
    for (int c = n - 1; c >= 1; c--) /* side by side wins where both are as large */
        if (scale_in(extent, area, heading, c, (n + c - 1) / c) >
            scale_in(extent, area, heading, columns, (n + columns - 1) / columns) * 1.02f)
            columns = c;
    const int rows = (n + columns - 1) / columns; /* as many rows need no more columns than this: */
    lud_sides_grid(n, (n + rows - 1) / rows, area, boxes);
}

void lud_sides_draw_rules(int n, const lud_box boxes[LUD_SIDES], lud_canvas *canvas, const lud_theme *theme) {
    for (int k = 0; k < n; k++) {
        const lud_box b = boxes[k];
        if (b.x > boxes[0].x) lud_canvas_rect(canvas, (lud_box){b.x, b.y, 1, b.h}, theme->grid_line);
        if (b.y > boxes[0].y) lud_canvas_rect(canvas, (lud_box){b.x, b.y, b.w, 1}, theme->grid_line);
    }
}

void lud_sides_arrange(int n, int width, int height, int *columns, int *rows) {
    static const float screen = 16.0f / 9;
    float best = INFINITY;
    for (int c = n; c >= 1; c--) {
        const int r = (n + c - 1) / c;
        const float shape = (float)(c * width) / (float)(r * height), off = fabsf(logf(shape / screen));
        if (off >= best) continue;
        best = off;
        *columns = c;
        *rows = r;
    }
}

int lud_sides_heading_height(const lud_canvas *canvas) {
    const float lines =
        lud_canvas_line_height(canvas, LUD_TEXT_LARGE) + lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    return ((int)ceilf(lines + 2 * gap * lud_canvas_scale(canvas)) + 1) & ~1;
}

int lud_sides_label_height(const lud_canvas *canvas) {
    return (int)ceilf(lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + gap * lud_canvas_scale(canvas));
}

/* Of an environment that goes apart: seed, step, returns and outcome, in one line. */
static void draw_label(const lud_side *s, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                       bool chosen) {
    const float scale = lud_canvas_scale(canvas), margin = 8 * scale;
    lud_text line = {0};
    lud_canvas_rect(canvas, box, theme->panel);
    if (chosen) lud_canvas_rect(canvas, (lud_box){box.x, box.y, box.w, 2 * scale}, theme->accent);
    lud_text_append(&line, "seed %llu \xc2\xb7 ", (unsigned long long)lud_player_seed(s->player));
    lud_caption_progress(&line, s->drawing->model, s->player);
    if (!line.failed)
        lud_canvas_text_cut(canvas, box.x + margin, box.y + 0.5f * gap * scale, box.w - 2 * margin,
                            LUD_TEXT_SMALL, lud_player_over(s->player) ? theme->muted : theme->text,
                            line.bytes);
    lud_canvas_text_done(canvas, &line);
}

/* How a side is related to the first, in a few words and in the colour that says it. */
static lud_rgba tell_relation(const lud_sides *sides, int side, const lud_theme *theme, char *text,
                              size_t n) {
    const size_t parted = lud_sides_parted(sides, side);
    if (side == 0) {
        bool all = true;
        for (int k = 1; k < sides->n; k++) all = all && lud_sides_same(sides, k);
        snprintf(text, n, "%s", all ? "same states" : "");
        return theme->good;
    }
    const bool same = lud_sides_same(sides, side);
    if (parted == SIZE_MAX)
        snprintf(text, n, "same states");
    else if (same)
        snprintf(text, n, "same state again");
    else
        snprintf(text, n, "differs since step %zu", parted);
    return same ? theme->good : theme->bad;
}

void lud_sides_draw_heading(const lud_sides *sides, int side, lud_canvas *canvas, const lud_theme *theme,
                            lud_box box, bool chosen) {
    const lud_side *s = &sides->side[side];
    const float scale = lud_canvas_scale(canvas), margin = roundf(fmaxf(8 * scale, box.w * 0.025f)),
                large = lud_canvas_line_height(canvas, LUD_TEXT_LARGE), chip = 5 * scale;
    const lud_rgba colour = lud_chart_colour(theme, side);
    float x = box.x + margin, y = box.y + gap * scale, width = box.w - 2 * margin;
    if (sides->apart) {
        draw_label(s, canvas, theme, box, chosen);
        return;
    }
    lud_canvas_rect(canvas, box, theme->panel);
    if (chosen) lud_canvas_rect(canvas, (lud_box){box.x, box.y, box.w, 3 * scale}, colour);
    lud_canvas_disc(canvas, x + chip, y + large * 0.5f, chip, colour);
    lud_canvas_text_cut(canvas, x + 2 * chip + gap * scale, y, width - 2 * chip - gap * scale, LUD_TEXT_LARGE,
                        theme->text, s->name);
    y += large;
    char relation[64];
    const lud_rgba tone = tell_relation(sides, side, theme, relation, sizeof relation);
    const float taken = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, relation);
    lud_canvas_text(canvas, x + width - taken, y, LUD_TEXT_SMALL, tone, relation);
    lud_text line = {0};
    lud_caption_progress(&line, s->drawing->model, s->player);
    if (!line.failed)
        lud_canvas_text_cut(canvas, x, y, width - taken - 2 * gap * scale, LUD_TEXT_SMALL, theme->muted,
                            line.bytes);
    lud_canvas_text_done(canvas, &line);
}

/* ---- marks ---- */

/* A ring of dashes, of who stands elsewhere. */
static void draw_ghost(lud_canvas *canvas, float x, float y, float radius, float thickness, lud_rgba colour) {
    enum { DASHES = 8 };
    const float each = 2 * (float)M_PI / DASHES, rim = fmaxf(1, 0.4f * thickness);
    for (int k = 0; k < DASHES; k++) /* on a pale ground, to be seen on any other */
        lud_canvas_arc(canvas, x, y, radius + rim, thickness + 2 * rim, each * ((float)k - 0.05f),
                       each * 0.72f, (lud_rgba){255, 255, 255, 200});
    for (int k = 0; k < DASHES; k++)
        lud_canvas_arc(canvas, x, y, radius, thickness, each * (float)k, each * 0.62f, colour);
}

static void mark_agents(const lud_sides *sides, int side, int other, lud_canvas *canvas,
                        const lud_theme *theme, const lud_camera *camera, const lud_moment *moments) {
    const lud_drawing *drawing = sides->side[side].drawing;
    const lud_draw_world *kind = drawing->kind;
    const float scale = lud_canvas_scale(canvas),
                thickness = fmaxf(2, kind->whole_cells ? 0.035f * camera->scale : 2 * scale),
                radius = kind->whole_cells ? 0.46f * camera->scale : 11 * scale,
                apart = kind->whole_cells ? 0.01f : 2 / camera->scale;
    const lud_rgba colour = lud_chart_colour(theme, other);
    for (int i = 0; i < drawing->model->layout.n_agents; i++) {
        float here[2], there[2];
        kind->agent_position(sides->side[side].drawing, &moments[side], i, &here[0], &here[1]);
        kind->agent_position(sides->side[other].drawing, &moments[other], i, &there[0], &there[1]);
        if (!(hypotf(here[0] - there[0], here[1] - there[1]) > apart)) continue;
        lud_camera_to_screen(camera, here[0], here[1], &here[0], &here[1]);
        lud_camera_to_screen(camera, there[0], there[1], &there[0], &there[1]);
        const float length = hypotf(here[0] - there[0], here[1] - there[1]);
        if (length > 1.7f * radius) { /* from the ring to who it stands for */
            const float x = (here[0] - there[0]) / length, y = (here[1] - there[1]) / length;
            const float from[2] = {there[0] + radius * x, there[1] + radius * y},
                        to[2] = {here[0] - 0.6f * radius * x, here[1] - 0.6f * radius * y};
            lud_canvas_line(canvas, from[0], from[1], to[0], to[1], 2 * thickness,
                            (lud_rgba){255, 255, 255, 150});
            lud_canvas_line(canvas, from[0], from[1], to[0], to[1], thickness, lud_faded(colour, 0.8f));
        }
        draw_ghost(canvas, there[0], there[1], radius, thickness, colour);
    }
}

static void mark_cells(const lud_sides *sides, int side, int other, lud_canvas *canvas,
                       const lud_theme *theme, const lud_camera *camera, const lud_moment *moments) {
    enum { MOST = 256 };
    int32_t cells[MOST][2];
    const lud_side *s = &sides->side[side];
    if (!s->drawing->kind->differing_cells) return;
    const float thickness = fmaxf(2, 2 * lud_canvas_scale(canvas)), inset = fmaxf(1, camera->scale * 0.04f);
    const int n =
        s->drawing->kind->differing_cells(s->drawing, moments[side].state, moments[other].state, cells, MOST);
    for (int k = 0; k < n; k++) {
        float x, y;
        lud_camera_to_screen(camera, (float)cells[k][0], (float)cells[k][1], &x, &y);
        const float size = camera->scale - 2 * inset;
        lud_canvas_frame(canvas, (lud_box){x + inset, y + inset, size, size}, 0.16f * camera->scale,
                         thickness, theme->caution);
    }
}

void lud_sides_draw_marks(const lud_sides *sides, int side, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, const lud_moment *moments) {
    const int from = side == 0 ? 1 : 0, to = sides->apart ? 0 : side == 0 ? sides->n : 1;
    for (int other = from; other < to; other++)
        mark_cells(sides, side, other, canvas, theme, camera, moments);
    for (int other = from; other < to; other++)
        mark_agents(sides, side, other, canvas, theme, camera, moments);
}
