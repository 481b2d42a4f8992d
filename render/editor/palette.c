#include "render/editor/palette.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/multigrid/grid_model.h"

enum { PALETTE_LAYER = LUD_CANVAS_LAYERS - 1 };

lud_status lud_palette_fill(lud_grid_palette *p, const lud_grid_edit *edit, lud_error *error) {
    for (int i = 0;; i++) {
        lud_grid_thing thing;
        lud_text name = {0};
        const bool more = i < LUD_PALETTE_BRUSHES && lud_grid_edit_brush(edit, i, &thing, &name);
        const bool failed = name.failed;
        if (more && !failed && i >= p->n) {
            p->brushes[i].thing = thing;
            snprintf(p->brushes[i].name, sizeof p->brushes[i].name, "%s", name.bytes);
            p->n = i + 1;
        }
        lud_text_free(&name);
        if (failed) return lud_no_memory(error, "the palette");
        if (!more) return LUD_OK;
    }
}

void lud_palette_forget(lud_grid_palette *p) {
    lud_drawing_destroy(p->drawing);
    if (p->model) lud_grid_model_destroy(p->model);
    free(p->state);
    p->drawing = NULL;
    p->model = NULL;
    p->state = NULL;
}

void lud_palette_free(lud_grid_palette *p) {
    lud_palette_forget(p);
}

/* Pixels of a picture, whole ones. */
static int tile(const lud_canvas *canvas) {
    return (int)lroundf(24 * lud_canvas_scale(canvas));
}

static void divide(const lud_grid_palette *p, const lud_canvas *canvas, float width, int *columns, int *rows,
                   int *cells) {
    *columns = 2;
    *cells = (int)(width / 2) / tile(canvas);
    if (*cells < 2) *cells = 2;
    *rows = (p->n + *columns - 1) / *columns;
    if (*rows < 2) *rows = 2;
}

/* A brush in the first cell of each column of each row; rows of pictures have one of ground between them. */
static lud_status build(lud_grid_palette *p, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_out_of_memory(error);
    lud_grid_options options;
    lud_status status = lud_options_default(&lud_grid_option_table, arena, &options, error);
    lud_grid_spec spec = options.spec;
    spec.width = p->columns * p->cells;
    spec.height = p->rows < 3 ? 3 : p->rows;
    spec.actions = LUD_ACTIONS_OBJECT;
    spec.n_maps = 1;
    const size_t n = (size_t)spec.width * (size_t)spec.height;
    lud_grid_thing *things = lud_arena_take_array(arena, n, sizeof *things), *agents = NULL;
    lud_grid_map map;
    lud_grid_rows rows = {.width = spec.width, .height = spec.height};
    rows.places = lud_arena_take_array(arena, n, sizeof *rows.places);
    int n_agents = 0;
    if (!status && (!things || !rows.places)) status = lud_out_of_memory(error);
    for (size_t c = 0; c < n && !status; c++)
        things[c] = (lud_grid_thing){.object = {.type = LUD_EMPTY}, .under = {.type = LUD_EMPTY}};
    for (int i = 0; i < p->n && !status; i++) {
        lud_grid_thing *thing = &things[i % p->rows * spec.width + i / p->rows * p->cells];
        *thing = p->brushes[i].thing;
        thing->gives_role = thing->gives_rocks = thing->gives_magic = true;
    }
    if (!status) status = lud_grid_agents_collect(arena, things, &rows, &agents, &n_agents, error);
    if (!status) status = lud_grid_map_build(arena, things, agents, n_agents, &options, &spec, &map, error);
    spec.maps = &map;
    if (!status) status = lud_grid_model_create(&spec, &p->model, error);
    if (!status) status = lud_drawing_create(p->model, &p->drawing, error);
    if (!status && !(p->state = malloc(p->model->layout.state_bytes)))
        status = lud_no_memory(error, "the palette");
    const uint32_t tick = 0;
    if (!status) p->model->world->reset(p->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, p->state);
    lud_arena_destroy(arena);
    if (status) lud_palette_forget(p);
    return status;
}

float lud_palette_height(const lud_grid_palette *p, const lud_canvas *canvas, float width) {
    int columns, rows, cells;
    divide(p, canvas, width, &columns, &rows, &cells);
    return (float)(rows * tile(canvas));
}

static void draw_names(lud_grid_palette *p, lud_canvas *canvas, const lud_theme *theme, float x, float y,
                       lud_box seen, int chosen) {
    const float t = (float)tile(canvas), s = lud_canvas_scale(canvas),
                row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    for (int column = 0; column < p->columns; column++) {
        const lud_box names = {x + ((float)(column * p->cells) + 1) * t, y, (float)(p->cells - 1) * t,
                               (float)p->rows * t};
        lud_canvas_rect(canvas, names, theme->ground);
    }
    for (int i = 0; i < p->columns * p->rows; i++) {
        const float px = x + (float)(i / p->rows * p->cells) * t, py = y + (float)(i % p->rows) * t;
        if (i >= p->n) {
            lud_canvas_rect(canvas, (lud_box){px, py, t, t}, theme->ground);
            continue;
        }
        lud_palette_brush *brush = &p->brushes[i];
        const lud_box box = {px, py, (float)p->cells * t - 2 * s, t};
        const float top = fmaxf(box.y, seen.y), bottom = fminf(box.y + box.h, seen.y + seen.h);
        brush->box = bottom > top ? (lud_box){box.x, top, box.w, bottom - top} : (lud_box){0};
        lud_canvas_frame(canvas, (lud_box){px, py, t, t}, 0, 1, theme->ground);
        lud_canvas_frame(canvas, (lud_box){px + 1, py + 1, t - 2, t - 2}, 2 * s, 1, theme->grid_line);
        if (i == chosen) {
            lud_canvas_round_rect(canvas, (lud_box){px + t, py + 1, box.w - t, t - 2}, 4 * s,
                                  lud_faded(theme->accent, 0.22f));
            lud_canvas_frame(canvas, (lud_box){px, py, t, t}, 3 * s, fmaxf(2, 2 * s), theme->accent);
        }
        lud_canvas_text_cut(canvas, px + t + 6 * s, py + (t - row) * 0.5f, box.w - t - 8 * s, LUD_TEXT_SMALL,
                            theme->text, brush->name);
    }
}

void lud_palette_draw(lud_grid_palette *p, lud_canvas *canvas, const lud_theme *theme, float x, float y,
                      float width, lud_box seen, int chosen, float seconds) {
    int columns, rows, cells;
    lud_error ignored = {0}; /* without memory the names are there all the same */
    divide(p, canvas, width, &columns, &rows, &cells);
    if (columns != p->columns || rows != p->rows || cells != p->cells) lud_palette_forget(p);
    p->columns = columns;
    p->rows = rows;
    p->cells = cells;
    if (!p->drawing) build(p, &ignored);
    const float t = (float)tile(canvas);
    x = roundf(x);
    y = roundf(y);
    if (p->drawing) {
        lud_camera camera = {0};
        const lud_box world = p->drawing->kind->extent(p->drawing), whole = {x, y, world.w * t, world.h * t};
        lud_camera_fit(&camera, whole, world, 0, true);
        lud_canvas_layer_choose(canvas, PALETTE_LAYER);
        const lud_moment moment = {
            .state = p->state, .progress = 1, .seconds = seconds, .selected_agent = -1};
        p->drawing->kind->draw(p->drawing, canvas, theme, &camera, &moment);
        lud_canvas_layer_choose(canvas, 0);
    }
    draw_names(p, canvas, theme, x, y, seen, chosen);
}

int lud_palette_at(const lud_grid_palette *p, float x, float y) {
    for (int i = 0; i < p->n; i++)
        if (lud_box_contains(p->brushes[i].box, x, y)) return i;
    return -1;
}
