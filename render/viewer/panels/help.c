#include "render/viewer/panels/help.h"

static const char *const help_lines[][2] = {
    {"Time", NULL},
    {"Space", "play, pause"},
    {".  or  Right", "one step"},
    {",  or  Left", "one step back"},
    {"Home   End", "first, last known state"},
    {"+   -", "faster, slower"},
    {"N   Shift N", "next episode, the one before"},
    {"R   Shift R", "another seed, same seed again"},
    {"X", "play on, or stop at an end"},
    {"Look", NULL},
    {"Click", "everything about a cell or agent"},
    {"Tab", "next agent"},
    {"Drag   Wheel", "move (things too), zoom"},
    {"K   Shift K", "next of several; all, one large"},
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
    {"S   Shift S", "screenshot; the view as a file"},
    {"V", "record on, off"},
    {"E", "edit the world"},
    {"Ctrl S   Ctrl E", "training: save, save and end"},
    {"Show", NULL},
    {"P   Shift P", "fold all panels; as at first"},
    {"Titles, edges", "fold a panel, resize it"},
    {"M", "smooth motion on, off"},
    {"T", "light, dark"},
    {"H", "this page"},
    {"Ctrl +   Ctrl -", "larger, smaller; Ctrl 0 as at first"},
    {"F11", "full screen"},
    {"PgUp   PgDn", "scroll a panel, as the wheel does"},
    {"Esc", "let go; Ctrl Q ends"},
};

static const char *const editor_lines[][2] = {
    {"Draw", NULL},
    {"Click, drag", "place what is chosen"},
    {"Right button", "take away"},
    {"1 ... 7", "colour of what is chosen"},
    {"Esc", "select again"},
    {"Goals", NULL},
    {"G", "click: a cell, drag: a rectangle"},
    {"Change", NULL},
    {"Click", "select; again, what lies below"},
    {"Drag, arrows", "move what is selected"},
    {"R   Shift R", "turn it"},
    {"Delete", "remove it"},
    {"1 ... 7", "its colour"},
    {"Click a value", "type a number; Enter, too"},
    {"Tab   Esc", "the next number; as it was"},
    {"Ctrl Z   Ctrl Y", "undo, redo"},
    {"Size of the map", NULL},
    {"Ctrl arrows", "a row, a column more there"},
    {"Ctrl Shift arrows", "one less"},
    {"Keep", NULL},
    {"Ctrl S", "save into the file"},
    {"S", "screenshot"},
    {"Look", NULL},
    {"N", "solve now, where it is small"},
    {"Wheel   F", "zoom, fit into the window"},
    {"T   M", "light or dark, smooth motion"},
    {"Ctrl +   Ctrl -", "larger, smaller"},
    {"E", "back to the viewer"},
};

/* The lines of a page: a key and what it does, or a heading. */
typedef struct content {
    const char *const (*lines)[2];
    int n;
} content;

static const content viewer_keys = {help_lines, sizeof help_lines / sizeof *help_lines},
                     editor_keys = {editor_lines, sizeof editor_lines / sizeof *editor_lines};

/* How the page is divided at the canvas's scale. */
typedef struct page {
    float s, row, pad, gap, title, column;
    int split; /* where the second column begins, the number of lines: there is none */
    lud_box box;
} page;

static page lay_out(const content *c, const lud_canvas *canvas) {
    const float w = (float)lud_canvas_width(canvas), h = (float)lud_canvas_height(canvas),
                s = lud_canvas_scale(canvas);
    page p = {.s = s,
              .row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 2 * s,
              .pad = 20 * s,
              .gap = 8 * s,
              .title = lud_canvas_line_height(canvas, LUD_TEXT_LARGE) + 6 * s,
              .column = 330 * s,
              .split = c->n};
    int n_headings = 0;
    for (int k = 0; k < c->n; k++) n_headings += !c->lines[k][1];
    const bool two = (float)c->n * p.row + (float)n_headings * p.gap + p.title + 2 * p.pad > h;
    for (int k = c->n / 2 + 2; two && k > 0; k--) /* the heading nearest to the middle */
        if (!c->lines[k][1]) {
            p.split = k;
            break;
        }
    const int longer = two && c->n - p.split > p.split ? c->n - p.split : p.split;
    const float width = p.column * (two ? 2 : 1) + 2 * p.pad,
                height = (float)longer * p.row + 4 * p.gap + p.title + 2 * p.pad;
    p.box = (lud_box){(w - width) * 0.5f, (h - height) * 0.5f, width, height};
    return p;
}

static void draw_page(const content *c, const page *p, lud_canvas *canvas, const lud_theme *theme) {
    const lud_box box = p->box;
    lud_canvas_rect(canvas,
                    (lud_box){0, 0, (float)lud_canvas_width(canvas), (float)lud_canvas_height(canvas)},
                    lud_faded(theme->ground, 0.72f));
    lud_canvas_round_rect(canvas, box, 12 * p->s, theme->panel);
    lud_canvas_frame(canvas, box, 12 * p->s, 1, theme->grid_line);
    lud_canvas_text(canvas, box.x + p->pad, box.y + p->pad - 4 * p->s, LUD_TEXT_LARGE, theme->text, "Keys");
    float x = box.x + p->pad, y = box.y + p->pad + p->title;
    for (int k = 0; k < c->n; k++) {
        if (k == p->split) {
            x += p->column;
            y = box.y + p->pad + p->title;
        }
        if (!c->lines[k][1]) {
            if (k && k != p->split) y += p->gap;
            lud_canvas_text(canvas, x, y, LUD_TEXT_SMALL, theme->accent, c->lines[k][0]);
        } else {
            lud_canvas_text(canvas, x, y, LUD_TEXT_SMALL, theme->text, c->lines[k][0]);
            lud_canvas_text(canvas, x + 110 * p->s, y, LUD_TEXT_SMALL, theme->muted, c->lines[k][1]);
        }
        y += p->row;
    }
}

static void draw(const content *c, lud_canvas *canvas, const lud_theme *theme) {
    const float scale = lud_canvas_scale(canvas);
    lud_canvas_magnify(canvas, 1);
    const float factor = scale / lud_canvas_scale(canvas);
    lud_canvas_magnify(canvas, factor);
    page p = lay_out(c, canvas);
    for (float f = factor;
         p.box.x < 0 || p.box.y < 0;) { /* all of it has room, if need be in smaller letters */
        f *= 0.95f;
        if (f < 0.3f * factor) break;
        lud_canvas_magnify(canvas, f);
        p = lay_out(c, canvas);
    }
    draw_page(c, &p, canvas, theme);
    lud_canvas_magnify(canvas, factor);
}

void lud_help_draw(lud_canvas *canvas, const lud_theme *theme) {
    draw(&viewer_keys, canvas, theme);
}

void lud_help_draw_editor(lud_canvas *canvas, const lud_theme *theme) {
    draw(&editor_keys, canvas, theme);
}

void lud_help_draw_first_keys(lud_canvas *canvas, const lud_theme *theme) {
    const char *keys = "Space  play      .  one step      H  all keys";
    float width = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, keys);
    float y = (float)lud_canvas_height(canvas) - lud_canvas_line_height(canvas, LUD_TEXT_SMALL) -
              9 * lud_canvas_scale(canvas);
    lud_canvas_text(canvas, ((float)lud_canvas_width(canvas) - width) * 0.5f, y, LUD_TEXT_SMALL, theme->muted,
                    keys);
}
