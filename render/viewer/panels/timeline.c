#include "render/viewer/panels/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lud_timeline_free(lud_timeline *t) {
    free(t->events);
    *t = (lud_timeline){0};
}

void lud_timeline_lay_out(lud_timeline *t, lud_box box, float s) {
    t->line = box;
    t->track = (lud_box){0};
    for (int k = 0; k < LUD_BUTTONS; k++) t->buttons[k] = (lud_box){0};
    if (box.h <= 0) return;
    float side = 30 * s, x = box.x + 14 * s;
    for (int k = 0; k < LUD_BUTTONS; k++, x += side + 4 * s)
        t->buttons[k] = (lud_box){x, box.y + (box.h - side) * 0.5f, side, side};
    float left = x + 70 * s, right = box.x + box.w - 150 * s;
    t->track = (lud_box){left, box.y, fmaxf(right - left, 20), box.h};
}

void lud_timeline_add(lud_timeline *t, const lud_stage *stages, int n) {
    const size_t position = lud_stages_span(stages, n).position;
    if (position >= t->capacity) {
        size_t capacity = position * 2 + 64;
        uint8_t *events = realloc(t->events, capacity);
        if (!events) {
            t->incomplete = true;
            return;
        }
        memset(events + t->capacity, 0, capacity - t->capacity);
        t->events = events;
        t->capacity = capacity;
    }
    t->events[position] = 0;
    for (int k = 0; k < n; k++) {
        const lud_stage *stage = &stages[k];
        const uint8_t *before = lud_player_before(stage->player), *now = lud_player_state(stage->player);
        const lud_draw_world *kind = stage->drawing->kind;
        if (before && kind->events && lud_player_position(stage->player) == position)
            t->events[position] |= (uint8_t)kind->events(stage->drawing, before, now);
    }
}

lud_timeline_button lud_timeline_button_at(const lud_timeline *t, float x, float y) {
    int k = 0;
    while (k < LUD_BUTTONS && !lud_box_contains(t->buttons[k], x, y)) k++;
    return (lud_timeline_button)k;
}

size_t lud_timeline_position_at(const lud_timeline *t, lud_span span, float x) {
    float share = fminf(fmaxf((x - t->track.x) / t->track.w, 0), 1);
    size_t position = (size_t)lroundf(share * (float)(span.length - 1));
    return position < span.known ? position : span.known - 1;
}

static void draw_buttons(const lud_timeline *t, lud_canvas *canvas, const lud_theme *theme, bool playing) {
    const lud_sprite icons[LUD_BUTTONS] = {LUD_SPRITE_ICON_START, LUD_SPRITE_ICON_BACK,
                                           playing ? LUD_SPRITE_ICON_PAUSE : LUD_SPRITE_ICON_PLAY,
                                           LUD_SPRITE_ICON_FORWARD, LUD_SPRITE_ICON_END};
    static const char *const says[LUD_BUTTONS] = {"to the first state: Home", "one step back: Left",
                                                  "play, pause: Space", "one step: Right",
                                                  "to the last known state: End"};
    for (int k = 0; k < LUD_BUTTONS; k++) {
        lud_box box = t->buttons[k];
        bool main = k == LUD_BUTTON_PLAY;
        if (main)
            lud_canvas_disc(canvas, box.x + box.w * 0.5f, box.y + box.h * 0.5f, box.w * 0.55f, theme->accent);
        lud_rgba colour = main ? theme->floor : theme->text;
        float inset = box.w * (main ? 0.14f : 0.12f), side = box.w - 2 * inset;
        lud_canvas_hint(canvas, box, says[k]);
        lud_canvas_sprite(canvas, icons[k], colour, box.x + inset + (main && !playing ? 1.0f : 0.0f),
                          box.y + inset, (int)side, 0);
    }
}

static lud_rgba event_colour(const lud_theme *theme, int events) {
    return events & LUD_EVENT_TERMINATED ? theme->bad
           : events & LUD_EVENT_GOAL     ? theme->good
           : events & LUD_EVENT_DOOR     ? theme->caution
                                         : theme->accent;
}

/* Below the track, where the states of sides that go in step differ. */
static void draw_parted(const lud_timeline *t, lud_canvas *canvas, const lud_theme *theme,
                        const lud_stage *stages, int n, lud_span span) {
    const lud_sides sides = lud_stage_sides(stages, n);
    const float s = lud_canvas_scale(canvas), middle = t->line.y + t->line.h * 0.5f,
                unit = t->track.w / (float)(span.length > 1 ? span.length - 1 : 1);
    for (size_t from = 0, to; from < span.known; from = to + 1) {
        for (to = from; to < span.known && !lud_sides_same_at(&sides, to);) to++;
        if (to == from) continue;
        const float left = t->track.x + unit * ((float)from - 0.5f), width = unit * (float)(to - from);
        lud_canvas_rect(canvas, (lud_box){fmaxf(left, t->track.x), middle + 9 * s, width, 3 * s}, theme->bad);
    }
}

void lud_timeline_draw(const lud_timeline *t, lud_canvas *canvas, const lud_theme *theme,
                       const lud_stage *stages, int n, const lud_playback *playback, bool recording) {
    float s = lud_canvas_scale(canvas);
    lud_box line = t->line, track = t->track;
    lud_canvas_rect(canvas, (lud_box){line.x, line.y, line.w, 1}, theme->grid_line);
    draw_buttons(t, canvas, theme, playback->playing);
    float text_y = line.y + (line.h - lud_canvas_line_height(canvas, LUD_TEXT_SMALL)) * 0.5f;
    char text[96];
    snprintf(text, sizeof text, playback->speed < 1 ? "%.2g / s" : "%.0f / s", playback->speed);
    lud_canvas_text(canvas, track.x - 62 * s, text_y, LUD_TEXT_SMALL, theme->muted, text);

    const lud_span span = lud_stages_span(stages, n);
    const size_t known = span.known, position = span.position, length = span.length;
    float middle = line.y + line.h * 0.5f, bar = 4 * s, unit = track.w / (float)(length > 1 ? length - 1 : 1);
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, track.w, bar}, bar * 0.5f,
                          theme->grid_line);
    float known_width = length > 1 ? unit * (float)(known - 1) : 0,
          done = length > 1 ? unit * (float)position : 0;
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, known_width, bar}, bar * 0.5f,
                          lud_mixed(theme->grid_line, theme->muted, 0.6f));
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, done, bar}, bar * 0.5f,
                          theme->accent);
    if (t->incomplete) lud_canvas_miss(canvas);
    float last_mark = -100;
    for (size_t k = 1; k < known && k < t->capacity; k++) {
        float x = track.x + unit * (float)k;
        if (!t->events[k] || x - last_mark < 5 * s) continue;
        last_mark = x;
        lud_rgba colour = event_colour(theme, t->events[k]); /* a pin whose head stands clear of the track */
        lud_canvas_rect(canvas, (lud_box){x - s, middle - 14 * s, 2 * s, 14 * s}, lud_faded(colour, 0.8f));
        lud_canvas_disc(canvas, x, middle - 15 * s, 4.5f * s, colour);
    }
    lud_canvas_disc(canvas, track.x + done, middle, 7 * s, theme->accent);
    lud_canvas_disc(canvas, track.x + done, middle, 3 * s, theme->floor);

    if (n > 1 && !stages[0].apart) draw_parted(t, canvas, theme, stages, n, span);
    const int max_steps = lud_stage_layout(&stages[0])->max_steps;
    if (max_steps > 0)
        snprintf(text, sizeof text, "step %zu of %d", position, max_steps);
    else
        snprintf(text, sizeof text, "step %zu", position);
    float right = line.x + line.w - 14 * s;
    lud_canvas_text(canvas, right - lud_canvas_text_width(canvas, LUD_TEXT_SMALL, text), text_y,
                    LUD_TEXT_SMALL, theme->text, text);
    if (recording) lud_canvas_disc(canvas, right - 112 * s, middle, 5 * s, theme->bad);
}
