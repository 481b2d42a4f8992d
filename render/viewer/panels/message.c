#include "render/viewer/panels/message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lud_message_say(lud_message *message, double seconds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    message->is_error = false;
    message->until = message->clock + seconds;
}

void lud_message_error(lud_message *message, double seconds, const lud_error *error) {
    lud_message_say(message, seconds, "%s", error->text);
    message->is_error = true;
}

void lud_message_update(lud_message *message, double seconds) {
    message->clock += seconds;
    if (message->clock > message->until) message->text[0] = 0;
}

void lud_message_draw(const lud_message *message, lud_canvas *canvas, const lud_theme *theme, lud_box box) {
    if (!message->text[0]) return;
    enum { MOST_LINES = 4 };
    float s = lud_canvas_scale(canvas), pad = 12 * s, most = box.w - 4 * pad, widest = 0;
    float row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    char lines[MOST_LINES][512];
    int n = 0;
    for (const char *text = message->text; *text && n < MOST_LINES; n++) {
        size_t length = lud_canvas_text_fitting(canvas, text, most);
        memcpy(lines[n], text, length);
        lines[n][length] = 0;
        widest = fmaxf(widest, lud_canvas_text_width(canvas, LUD_TEXT_SMALL, lines[n]));
        text += length;
        while (*text == ' ') text++;
    }
    float height = (float)n * row + 10 * s;
    lud_box ground = {fmaxf((box.w - widest) * 0.5f - pad, pad), 8 * s, widest + 2 * pad, height};
    lud_rgba face = message->is_error ? lud_mixed(theme->bad, (lud_rgba){0, 0, 0, 255}, 0.18f) : theme->text;
    lud_rgba ink = message->is_error ? (lud_rgba){255, 255, 255, 255} : theme->floor;
    lud_canvas_round_rect(canvas, ground, (row + 10 * s) * 0.5f, lud_faded(face, 0.95f));
    for (int k = 0; k < n; k++)
        lud_canvas_text(canvas, ground.x + pad, ground.y + 5 * s + (float)k * row, LUD_TEXT_SMALL, ink,
                        lines[k]);
}
