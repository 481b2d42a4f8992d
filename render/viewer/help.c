#include "render/viewer/help.h"

#include <math.h>

static const char *const help_lines[][2] = {
    {"Time", NULL},
    {"Space", "play, pause"},
    {".  or  Right", "one step"},
    {",  or  Left", "one step back"},
    {"Home   End", "first, last known state"},
    {"+   -", "faster, slower"},
    {"N   Shift N", "next episode, previous recorded one"},
    {"R   Shift R", "another seed, same seed again"},
    {"X", "play on or stop where an episode ends"},
    {"Look", NULL},
    {"Click", "everything about a cell or agent"},
    {"Tab", "next agent"},
    {"Drag   Wheel", "move (things too), zoom"},
    {"K", "next of several sides"},
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
    {"Ctrl S   Ctrl E", "training: save, save and end"},
    {"Show", NULL},
    {"P", "fold or unfold the panels"},
    {"M", "smooth motion on, off"},
    {"T", "light, dark"},
    {"H", "this page"},
    {"Esc", "let go; Ctrl Q ends"},
};

void lud_help_draw(lud_canvas *canvas, const lud_theme *theme) {
    enum { N_LINES = sizeof help_lines / sizeof *help_lines };
    float w = (float)lud_canvas_width(canvas), h = (float)lud_canvas_height(canvas);
    float s = lud_canvas_scale(canvas), row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 2 * s,
          pad = 20 * s, gap = 8 * s;
    int n_headings = 0;
    for (int k = 0; k < N_LINES; k++) n_headings += !help_lines[k][1];
    float title = lud_canvas_line_height(canvas, LUD_TEXT_LARGE) + 6 * s;
    int n_columns = (float)N_LINES * row + (float)n_headings * gap + title + 2 * pad > h ? 2 : 1;
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
    lud_box box = {(w - width) * 0.5f, fmaxf((h - height) * 0.5f, 4), width, height};
    lud_canvas_rect(canvas, (lud_box){0, 0, w, h}, lud_faded(theme->ground, 0.72f));
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

void lud_help_draw_first_keys(lud_canvas *canvas, const lud_theme *theme) {
    const char *keys = "Space  play      .  one step      H  all keys";
    float width = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, keys);
    float y = (float)lud_canvas_height(canvas) - lud_canvas_line_height(canvas, LUD_TEXT_SMALL) -
              9 * lud_canvas_scale(canvas);
    lud_canvas_text(canvas, ((float)lud_canvas_width(canvas) - width) * 0.5f, y, LUD_TEXT_SMALL, theme->muted,
                    keys);
}
