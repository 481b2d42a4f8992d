#include "render/viewer/timeline.h"

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

void lud_timeline_add(lud_timeline *t, const lud_stage *stage) {
    size_t position = lud_player_position(stage->player);
    if (position >= t->capacity) {
        size_t capacity = position * 2 + 64;
        uint8_t *events = realloc(t->events, capacity);
        if (!events) return;
        memset(events + t->capacity, 0, capacity - t->capacity);
        t->events = events;
        t->capacity = capacity;
    }
    const uint8_t *before = lud_player_before(stage->player), *now = lud_player_state(stage->player);
    const lud_draw_world *kind = stage->drawing->kind;
    t->events[position] = before && kind->events ? (uint8_t)kind->events(stage->drawing, before, now) : 0;
}

lud_timeline_button lud_timeline_button_at(const lud_timeline *t, float x, float y) {
    int k = 0;
    while (k < LUD_BUTTONS && !lud_box_contains(t->buttons[k], x, y)) k++;
    return (lud_timeline_button)k;
}

size_t lud_timeline_position_at(const lud_timeline *t, const lud_stage *stage, float x) {
    size_t known = lud_player_known(stage->player), length = lud_stage_length(stage);
    float share = fminf(fmaxf((x - t->track.x) / t->track.w, 0), 1);
    size_t position = (size_t)lroundf(share * (float)(length - 1));
    return position < known ? position : known - 1;
}

static void draw_buttons(const lud_timeline *t, lud_canvas *canvas, const lud_theme *theme, bool playing) {
    const lud_sprite icons[LUD_BUTTONS] = {LUD_SPRITE_ICON_START, LUD_SPRITE_ICON_BACK,
                                           playing ? LUD_SPRITE_ICON_PAUSE : LUD_SPRITE_ICON_PLAY,
                                           LUD_SPRITE_ICON_FORWARD, LUD_SPRITE_ICON_END};
    for (int k = 0; k < LUD_BUTTONS; k++) {
        lud_box box = t->buttons[k];
        bool main = k == LUD_BUTTON_PLAY;
        if (main)
            lud_canvas_disc(canvas, box.x + box.w * 0.5f, box.y + box.h * 0.5f, box.w * 0.55f, theme->accent);
        lud_rgba colour = main ? theme->floor : theme->text;
        float inset = box.w * (main ? 0.14f : 0.12f), side = box.w - 2 * inset;
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

void lud_timeline_draw(const lud_timeline *t, lud_canvas *canvas, const lud_theme *theme,
                       const lud_stage *stage, const lud_playback *playback, bool recording) {
    float s = lud_canvas_scale(canvas);
    lud_box line = t->line, track = t->track;
    lud_canvas_rect(canvas, (lud_box){line.x, line.y, line.w, 1}, theme->grid_line);
    draw_buttons(t, canvas, theme, playback->playing);
    float text_y = line.y + (line.h - lud_canvas_line_height(canvas, LUD_TEXT_SMALL)) * 0.5f;
    char text[96];
    snprintf(text, sizeof text, playback->speed < 1 ? "%.2g / s" : "%.0f / s", playback->speed);
    lud_canvas_text(canvas, track.x - 62 * s, text_y, LUD_TEXT_SMALL, theme->muted, text);

    size_t known = lud_player_known(stage->player), position = lud_player_position(stage->player),
           length = lud_stage_length(stage);
    float middle = line.y + line.h * 0.5f, bar = 4 * s, unit = track.w / (float)(length > 1 ? length - 1 : 1);
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, track.w, bar}, bar * 0.5f,
                          theme->grid_line);
    float known_width = length > 1 ? unit * (float)(known - 1) : 0,
          done = length > 1 ? unit * (float)position : 0;
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, known_width, bar}, bar * 0.5f,
                          lud_mixed(theme->grid_line, theme->muted, 0.6f));
    lud_canvas_round_rect(canvas, (lud_box){track.x, middle - bar * 0.5f, done, bar}, bar * 0.5f,
                          theme->accent);
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

    int max_steps = lud_stage_layout(stage)->max_steps;
    if (max_steps > 0)
        snprintf(text, sizeof text, "step %zu of %d", position, max_steps);
    else
        snprintf(text, sizeof text, "step %zu", position);
    float right = line.x + line.w - 14 * s;
    lud_canvas_text(canvas, right - lud_canvas_text_width(canvas, LUD_TEXT_SMALL, text), text_y,
                    LUD_TEXT_SMALL, theme->text, text);
    if (recording) lud_canvas_disc(canvas, right - 112 * s, middle, 5 * s, theme->bad);
}
