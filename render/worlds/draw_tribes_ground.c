/* Tribes: the land, what grows on it, and the storehouses. */
#include <math.h>

#include "render/worlds/draw_tribes.h"

/* Colours of units, for soil and for the levels of stores: straw, bark, stone. */
static const lud_rgba unit_colour[LUD_RESOURCES] = {
    {0xE9, 0xBD, 0x3F, 255}, {0x9A, 0x6F, 0x42, 255}, {0x70, 0x88, 0xA3, 255}};
static const lud_rgba soil_colour[LUD_RESOURCES] = {
    {0xD9, 0xB6, 0x5A, 255}, {0x6F, 0xA5, 0x7D, 255}, {0x8A, 0x93, 0xA0, 255}};

static lud_sprite growing(int kind) {
    return kind == LUD_GRAIN ? LUD_SPRITE_GRAIN : kind == LUD_WOOD ? LUD_SPRITE_TREE : LUD_SPRITE_ORE;
}

void lud_tribes_draw_unit(lud_canvas *canvas, int kind, float x, float y, float side, float opacity) {
    const lud_sprite sprite = kind == LUD_WOOD ? LUD_SPRITE_LOG : growing(kind);
    const int size = (int)lroundf(side);
    const lud_rgba tint = {255, 255, 255, (uint8_t)(255 * fminf(fmaxf(opacity, 0), 1))};
    if (size < 3) return;
    lud_canvas_sprite(canvas, sprite, tint, x - side * 0.5f, y - side * 0.5f, size, 0);
}

/* --- Land --- */

/* What a cell looks like from afar: -1 land, 0 to 2 soil of a kind, 3 water. */
static int look_of(const lud_tribes_painter *p, const lud_tribes_map *map, int x, int y) {
    enum { LAND = -1, WATER = LUD_RESOURCES };
    if (x < 0 || y < 0 || x >= p->m->spec.width || y >= p->m->spec.height) return LAND;
    const int cell = y * p->m->spec.width + x;
    if (map->ground[cell] == LUD_TRIBES_WATER) return WATER;
    return map->field_at[cell] < 0 ? LAND : (int)lud_tribes_kind(p->m, map->field_at[cell]);
}

/* A cell that melts into its neighbours of the same look and is round where it ends; `inset` pixels smaller
 * there. */
static void draw_melted(const lud_tribes_painter *p, const lud_tribes_map *map, int x, int y, float inset,
                        lud_rgba colour) {
    const int look = look_of(p, map, x, y);
    const bool east = look_of(p, map, x + 1, y) == look, west = look_of(p, map, x - 1, y) == look;
    const bool south = look_of(p, map, x, y + 1) == look, north = look_of(p, map, x, y - 1) == look;
    const float px = p->left + (float)x * p->s, py = p->top + (float)y * p->s, s = p->s, half = s * 0.5f;
    const float left = px + (west ? 0 : inset), right = px + s - (east ? 0 : inset);
    const float up = py + (north ? 0 : inset), down = py + s - (south ? 0 : inset);
    lud_canvas_round_rect(p->canvas, (lud_box){left, up, right - left, down - up}, s * 0.34f, colour);
    if (east) lud_canvas_rect(p->canvas, (lud_box){px + half, up, half, down - up}, colour);
    if (west) lud_canvas_rect(p->canvas, (lud_box){px, up, half, down - up}, colour);
    if (south) lud_canvas_rect(p->canvas, (lud_box){left, py + half, right - left, half}, colour);
    if (north) lud_canvas_rect(p->canvas, (lud_box){left, py, right - left, half}, colour);
}

/* A number from 0 to 1 that belongs to a cell. */
static float noise(int x, int y, int which) {
    const lud_words words =
        lud_draw((lud_random_key){7, 0}, (uint32_t)x, (uint32_t)y, LUD_PURPOSE_USER, (uint32_t)which);
    return lud_unit_float(words.v[0]);
}

static void draw_ripples(const lud_tribes_painter *p, int x, int y, lud_rgba colour) {
    if (p->s < 16) return;
    for (int k = 0; k < 2; k++) {
        const float px = p->left + ((float)x + 0.25f + 0.5f * noise(x, y, k)) * p->s;
        const float py = p->top + ((float)y + 0.42f + 0.36f * (float)k) * p->s;
        lud_canvas_arc(p->canvas, px, py, p->s * 0.13f, fmaxf(1, p->s * 0.03f), 3.6f, 2.2f, colour);
    }
}

void lud_tribes_draw_ground(const lud_tribes_painter *p, const lud_tribes_map *map) {
    const lud_theme *theme = p->theme;
    const lud_rgba land = lud_mixed(theme->floor, theme->good, 0.07f);
    const lud_rgba line = lud_mixed(theme->grid_line, land, 0.45f);
    const lud_rgba water = lud_mixed(theme->floor, theme->accent, 0.42f);
    const lud_rgba shore = lud_mixed(theme->floor, theme->accent, 0.24f);
    const int width = p->m->spec.width, height = p->m->spec.height;
    const lud_box whole = {p->left, p->top, (float)width * p->s, (float)height * p->s};
    lud_canvas_round_rect(p->canvas, whole, p->s * 0.35f, land);
    for (int x = 1; x < width; x++)
        lud_canvas_rect(p->canvas, (lud_box){p->left + (float)x * p->s, p->top, 1, whole.h}, line);
    for (int y = 1; y < height; y++)
        lud_canvas_rect(p->canvas, (lud_box){p->left, p->top + (float)y * p->s, whole.w, 1}, line);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int look = look_of(p, map, x, y);
            if (look == LUD_RESOURCES)
                draw_melted(p, map, x, y, 0, shore);
            else if (look >= 0)
                draw_melted(p, map, x, y, p->s * 0.04f, lud_mixed(theme->floor, soil_colour[look], 0.30f));
        }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (look_of(p, map, x, y) == LUD_RESOURCES) {
                draw_melted(p, map, x, y, p->s * 0.10f, water);
                draw_ripples(p, x, y, lud_mixed(water, theme->floor, 0.5f));
            }
}

/* --- Fields --- */

void lud_tribes_draw_fields(const lud_tribes_painter *p, const lud_tribes_map *map, const uint8_t *shown) {
    enum { PLACES = 5 };
    static const float places[PLACES][2] = {
        {0.50f, 0.52f}, {0.27f, 0.32f}, {0.72f, 0.76f}, {0.74f, 0.30f}, {0.26f, 0.78f}};
    static const int from_north[PLACES] = {3, 1, 0, 2, 4};
    for (int f = 0; f < p->m->n_fields; f++) {
        const int kind = (int)lud_tribes_kind(p->m, f), x = map->field[f] % p->m->spec.width;
        const int y = map->field[f] / p->m->spec.width, stock = lud_tribes_stock(p->m, shown, f);
        const int full = (int)p->m->spec.stock, most = full < PLACES ? full : PLACES;
        const int n = (stock * most + full - 1) / full;
        const float side = p->s * (kind == LUD_WOOD ? 0.52f : kind == LUD_GRAIN ? 0.46f : 0.40f);
        for (int k = 0; k < PLACES; k++) {
            const int place = from_north[k];
            if (place >= n) continue;
            const float dx = 0.10f * (noise(x, y, 8 + place) - 0.5f),
                        dy = 0.10f * (noise(y, x, 16 + place) - 0.5f);
            const float px = p->left + ((float)x + places[place][0] + dx) * p->s;
            const float py = p->top + ((float)y + places[place][1] + dy) * p->s;
            const lud_rgba white = {255, 255, 255, 255};
            const int size = (int)lroundf(side);
            if (size >= 3)
                lud_canvas_sprite(p->canvas, growing(kind), white, px - side * 0.5f,
                                  py - side * (kind == LUD_WOOD ? 0.62f : 0.5f), size, 0);
        }
        if (n == 0 && p->s >= 12) /* stubble where all is taken */
            for (int k = 0; k < 3; k++)
                lud_canvas_disc(p->canvas, p->left + ((float)x + places[k][0]) * p->s,
                                p->top + ((float)y + places[k][1]) * p->s, p->s * 0.035f,
                                lud_mixed(p->theme->floor, soil_colour[kind], 0.62f));
    }
}

/* --- Storehouses --- */

/* How high a store stands: a quarter of the wall for the first few units, all of it for very many. */
static float level_of(uint32_t units) {
    return fminf(1, log2f(1 + (float)units) / 7.5f);
}

static void draw_levels(const lud_tribes_painter *p, const uint8_t *shown, int team, lud_box wall) {
    const float gap = wall.w * 0.07f, width = (wall.w - 2 * gap) / LUD_RESOURCES;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        const float height = roundf(wall.h * level_of(lud_tribes_stored(p->m, shown, team, k)));
        if (height < 1) continue;
        const lud_box bar = {wall.x + (float)k * (width + gap), wall.y + wall.h - height, width, height};
        lud_canvas_rect(p->canvas, bar, unit_colour[k]);
        lud_canvas_rect(p->canvas, (lud_box){bar.x, bar.y, bar.w, fmaxf(1, p->s * 0.03f)},
                        lud_mixed(unit_colour[k], (lud_rgba){255, 255, 255, 255}, 0.45f));
    }
}

void lud_tribes_draw_houses(const lud_tribes_painter *p, const lud_tribes_map *map, const uint8_t *shown) {
    const float side = roundf(p->s * 1.24f);
    for (int h = 0; h < map->n_houses; h++) {
        const int team = map->owner[h];
        const float cx = p->left + ((float)(map->house[h] % p->m->spec.width) + 0.5f) * p->s;
        const float foot = p->top + ((float)(map->house[h] / p->m->spec.width) + 0.98f) * p->s;
        const float px = roundf(cx - side * 0.5f), py = roundf(foot - side * 0.95f);
        const lud_rgba colour = lud_tribes_colour(p->theme, team);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SHADOW, p->theme->text, px, py + side * 0.18f, (int)side, 0);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_HOUSE, colour, px, py, (int)side, 0);
        draw_levels(p, shown, team,
                    (lud_box){px + side * 0.24f, py + side * 0.56f, side * 0.52f, side * 0.31f});
        const int sign = (int)(side * 0.36f);
        lud_canvas_sprite(p->canvas, lud_tribes_body(team),
                          lud_mixed(colour, (lud_rgba){255, 255, 255, 255}, 0.55f), cx - (float)sign * 0.5f,
                          py + side * 0.14f, sign, 0);
    }
}
