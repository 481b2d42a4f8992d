#include "render/viewer/panels/scroll.h"

#include <math.h>

static float most(const lud_scroll *scroll) {
    return fmaxf(0, scroll->content - scroll->box.h);
}

float lud_scroll_begin(lud_scroll *scroll, lud_canvas *canvas, lud_box box, float content) {
    scroll->box = box;
    scroll->content = content;
    scroll->offset = roundf(fminf(fmaxf(scroll->offset, 0), most(scroll)));
    lud_canvas_clip(canvas, box);
    return box.y - scroll->offset;
}

void lud_scroll_end(const lud_scroll *scroll, lud_canvas *canvas, const lud_theme *theme) {
    const lud_box box = scroll->box;
    const float s = lud_canvas_scale(canvas), thick = 4 * s;
    lud_canvas_unclip(canvas);
    if (scroll->content <= box.h + 0.5f) return;
    const float height = fmaxf(box.h * box.h / scroll->content, fminf(24 * s, box.h)),
                way = most(scroll) > 0 ? scroll->offset / most(scroll) : 0;
    lud_canvas_round_rect(
        canvas, (lud_box){box.x + box.w - thick - 2 * s, box.y + way * (box.h - height), thick, height},
        thick * 0.5f, lud_faded(theme->muted, 0.6f));
}

bool lud_scroll_turn(lud_scroll *scroll, float by) {
    const float before = scroll->offset;
    scroll->offset = roundf(fminf(fmaxf(scroll->offset + by, 0), most(scroll)));
    return scroll->offset != before;
}
