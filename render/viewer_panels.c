/* The time line, the help page and messages. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/font.h"
#include "render/viewer_parts.h"

/* ---- time line ---- */

static void draw_buttons(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    const lud_sprite icons[5] = {LUD_SPRITE_ICON_START, LUD_SPRITE_ICON_BACK,
                                 v->playing ? LUD_SPRITE_ICON_PAUSE : LUD_SPRITE_ICON_PLAY,
                                 LUD_SPRITE_ICON_FORWARD, LUD_SPRITE_ICON_END};
    for (int k = 0; k < 5; k++) {
        lud_box box = v->boxes.buttons[k];
        bool main = k == 2;
        if (main)
            lud_canvas_disc(canvas, box.x + box.w * 0.5f, box.y + box.h * 0.5f, box.w * 0.55f, theme->accent);
        lud_rgba colour = main ? theme->floor : theme->text;
        float inset = box.w * (main ? 0.14f : 0.12f), side = box.w - 2 * inset;
        lud_canvas_sprite(canvas, icons[k], colour, box.x + inset + (main && !v->playing ? 1.0f : 0.0f),
                          box.y + inset, (int)side, 0);
    }
}

size_t lud_viewer_track_length(const lud_viewer *v) {
    size_t known = lud_player_known(v->player), limit = (size_t)v->scenario->model->layout.max_steps + 1;
    return v->scenario->model->layout.max_steps > 0 && limit <= 2000 && limit > known ? limit : known;
}

static lud_rgba event_colour(const lud_theme *theme, int events) {
    return events & LUD_EVENT_TERMINATED ? theme->bad
           : events & LUD_EVENT_GOAL     ? theme->good
           : events & LUD_EVENT_DOOR     ? theme->caution
                                         : theme->accent;
}

void lud_viewer_draw_timeline(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    float s = v->scale;
    lud_box line = v->boxes.timeline, track = v->boxes.track;
    lud_canvas_rect(canvas, (lud_box){line.x, line.y, line.w, 1}, theme->grid_line);
    draw_buttons(v, canvas, theme);
    float text_y = line.y + (line.h - lud_canvas_line_height(canvas, LUD_TEXT_SMALL)) * 0.5f;
    char text[96];
    snprintf(text, sizeof text, v->speed < 1 ? "%.2g / s" : "%.0f / s", v->speed);
    lud_canvas_text(canvas, track.x - 62 * s, text_y, LUD_TEXT_SMALL, theme->muted, text);

    size_t known = lud_player_known(v->player), position = lud_player_position(v->player),
           length = lud_viewer_track_length(v);
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
    for (size_t k = 1; k < known && k < v->events_capacity; k++) {
        float x = track.x + unit * (float)k;
        if (!v->events[k] || x - last_mark < 5 * s) continue;
        last_mark = x;
        lud_rgba colour = event_colour(theme, v->events[k]); /* a pin whose head stands clear of the track */
        lud_canvas_rect(canvas, (lud_box){x - s, middle - 14 * s, 2 * s, 14 * s}, lud_faded(colour, 0.8f));
        lud_canvas_disc(canvas, x, middle - 15 * s, 4.5f * s, colour);
    }
    lud_canvas_disc(canvas, track.x + done, middle, 7 * s, theme->accent);
    lud_canvas_disc(canvas, track.x + done, middle, 3 * s, theme->floor);

    if (v->scenario->model->layout.max_steps > 0)
        snprintf(text, sizeof text, "step %zu of %d", position, v->scenario->model->layout.max_steps);
    else
        snprintf(text, sizeof text, "step %zu", position);
    float right = line.x + line.w - 14 * s;
    lud_canvas_text(canvas, right - lud_canvas_text_width(canvas, LUD_TEXT_SMALL, text), text_y,
                    LUD_TEXT_SMALL, theme->text, text);
    if (v->video) {
        lud_canvas_disc(canvas, right - 112 * s, middle, 5 * s, theme->bad);
    }
}

/* ---- messages ---- */

size_t lud_viewer_fitting(lud_canvas *canvas, const char *text, float width) {
    size_t length = 0, space = 0;
    char part[512];
    while (text[length]) {
        const char *next = text + length;
        lud_utf8_next(&next);
        size_t end = (size_t)(next - text);
        if (end >= sizeof part) break;
        memcpy(part, text, end);
        part[end] = 0;
        if (length && lud_canvas_text_width(canvas, LUD_TEXT_SMALL, part) > width)
            return space ? space : length;
        length = end;
        if (text[length] == ' ') space = length;
    }
    return length;
}

void lud_viewer_draw_message(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    if (!v->message[0]) return;
    enum { MOST_LINES = 4 };
    float s = v->scale, pad = 12 * s, most = v->boxes.world.w - 4 * pad, widest = 0;
    float row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    char lines[MOST_LINES][512];
    int n = 0;
    for (const char *text = v->message; *text && n < MOST_LINES; n++) {
        size_t length = lud_viewer_fitting(canvas, text, most);
        memcpy(lines[n], text, length);
        lines[n][length] = 0;
        widest = fmaxf(widest, lud_canvas_text_width(canvas, LUD_TEXT_SMALL, lines[n]));
        text += length;
        while (*text == ' ') text++;
    }
    float height = (float)n * row + 10 * s;
    lud_box box = {fmaxf((v->boxes.world.w - widest) * 0.5f - pad, pad), 8 * s, widest + 2 * pad, height};
    lud_rgba face =
        v->message_is_error ? lud_mixed(theme->bad, (lud_rgba){0, 0, 0, 255}, 0.18f) : theme->text;
    lud_rgba ink = v->message_is_error ? (lud_rgba){255, 255, 255, 255} : theme->floor;
    lud_canvas_round_rect(canvas, box, (row + 10 * s) * 0.5f, lud_faded(face, 0.95f));
    for (int k = 0; k < n; k++)
        lud_canvas_text(canvas, box.x + pad, box.y + 5 * s + (float)k * row, LUD_TEXT_SMALL, ink, lines[k]);
}

/* ---- help ---- */

static const char *const help_lines[][2] = {
    {"Time", NULL},
    {"Space", "play, pause"},
    {".  or  Right", "one step"},
    {",  or  Left", "one step back"},
    {"Home   End", "first, last known state"},
    {"+   -", "faster, slower"},
    {"N", "next episode"},
    {"R   Shift R", "another seed, same seed again"},
    {"Look", NULL},
    {"Click", "everything about a cell or agent"},
    {"Tab", "next agent"},
    {"Drag   Wheel", "move (things too), zoom"},
    {"F", "fit the world into the window"},
    {"G", "follow the selected agent"},
    {"B", "successors of the joint action"},
    {"O   L", "goals, agent numbers"},
    {"W   A", "worth of goals, policy arrows"},
    {"U   D   I", "bars, curves, attention"},
    {"Act", NULL},
    {"C", "take over or give back the agent"},
    {"Arrows", "forward and turn; down waits"},
    {"E   Q   Enter", "pick up, drop, use"},
    {"1 ... 9", "an action by its number"},
    {"Keep", NULL},
    {"S", "screenshot"},
    {"V", "record on, off"},
    {"Show", NULL},
    {"P", "fold or unfold the panels"},
    {"M", "smooth motion on, off"},
    {"T", "light, dark"},
    {"H", "this page"},
    {"Esc", "let go; Ctrl Q ends"},
};

void lud_viewer_draw_help(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    enum { N_LINES = sizeof help_lines / sizeof *help_lines };
    float s = v->scale, row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 2 * s, pad = 20 * s,
          gap = 8 * s;
    int n_headings = 0;
    for (int k = 0; k < N_LINES; k++) n_headings += !help_lines[k][1];
    float title = lud_canvas_line_height(canvas, LUD_TEXT_LARGE) + 6 * s;
    int n_columns =
        (float)N_LINES * row + (float)n_headings * gap + title + 2 * pad > (float)v->height ? 2 : 1;
    int split = N_LINES;
    if (n_columns == 2) /* the second column begins with the heading nearest to the middle */
        for (int k = N_LINES / 2 + 2; k > 0; k--)
            if (!help_lines[k][1]) {
                split = k;
                break;
            }
    float column = 330 * s, key = 110 * s;
    int longer = n_columns == 2 && N_LINES - split > split ? N_LINES - split : split;
    float width = column * (float)n_columns + 2 * pad,
          height = (float)longer * row + 4 * gap + title + 2 * pad;
    lud_box box = {((float)v->width - width) * 0.5f, fmaxf(((float)v->height - height) * 0.5f, 4), width,
                   height};
    lud_canvas_rect(canvas, (lud_box){0, 0, (float)v->width, (float)v->height},
                    lud_faded(theme->ground, 0.72f));
    lud_canvas_round_rect(canvas, box, 12 * s, theme->panel);
    lud_canvas_frame(canvas, box, 12 * s, 1, theme->grid_line);
    lud_canvas_text(canvas, box.x + pad, box.y + pad - 4 * s, LUD_TEXT_LARGE, theme->text, "Keys");
    float x = box.x + pad, y = box.y + pad + title;
    for (int k = 0; k < N_LINES; k++) {
        if (k == split) {
            x += column;
            y = box.y + pad + title;
        }
        if (!help_lines[k][1]) {
            if (k && k != split) y += gap;
            lud_canvas_text(canvas, x, y, LUD_TEXT_SMALL, theme->accent, help_lines[k][0]);
        } else {
            lud_canvas_text(canvas, x, y, LUD_TEXT_SMALL, theme->text, help_lines[k][0]);
            lud_canvas_text(canvas, x + key, y, LUD_TEXT_SMALL, theme->muted, help_lines[k][1]);
        }
        y += row;
    }
}
