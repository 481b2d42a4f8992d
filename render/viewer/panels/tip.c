#include "render/viewer/panels/tip.h"

#include <math.h>

static const double patience = 0.35;

void lud_pointer_move(lud_pointer *pointer, float x, float y) {
    *pointer = (lud_pointer){x, y, 0};
}

void lud_pointer_quiet(lud_pointer *pointer) {
    pointer->rested = -INFINITY;
}

bool lud_pointer_waits(const lud_pointer *pointer) {
    return pointer->rested >= 0 && pointer->rested < patience + 0.1;
}

void lud_tip_draw(const lud_pointer *pointer, lud_canvas *canvas, const lud_theme *theme) {
    const char *text =
        pointer->rested >= patience ? lud_canvas_hint_at(canvas, pointer->x, pointer->y) : NULL;
    if (!text) return;
    const float s = lud_canvas_scale(canvas), pad = 9 * s, w = (float)lud_canvas_width(canvas),
                h = (float)lud_canvas_height(canvas),
                row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 1 * s,
                width = fminf(fminf(300 * s, w - 4 * pad),
                              lud_canvas_text_width(canvas, LUD_TEXT_SMALL, text) + 1);
    lud_canvas_measure(canvas, true);
    const int n = lud_canvas_text_wrapped(canvas, 0, 0, width, row, LUD_TEXT_SMALL, theme->text, text);
    lud_canvas_measure(canvas, false);
    lud_box box = {pointer->x + 12 * s, pointer->y + 18 * s, width + 2 * pad, (float)n * row + 1.4f * pad};
    if (box.x + box.w > w - 4 * s) box.x = fmaxf(4 * s, w - 4 * s - box.w);
    if (box.y + box.h > h - 4 * s) box.y = fmaxf(4 * s, pointer->y - box.h - 8 * s);
    lud_canvas_round_rect(canvas, box, 6 * s, theme->text);
    lud_canvas_text_wrapped(canvas, box.x + pad, box.y + 0.7f * pad, width, row, LUD_TEXT_SMALL, theme->floor,
                            text);
}
