#include "render/worlds/draw_multigrid.h"

#include <math.h>

/* A cell that a wall joins without a rounded end. */
static bool joins_wall(const lud_grid_map *map, int width, int height, int x, int y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    lud_grid_type type = map->cells[y * width + x].type;
    return type == LUD_WALL || type == LUD_MAGIC_WALL || type == LUD_DOOR;
}

/* What is drawn on the ground for good; doors, bushes, magic walls and buttons change and are drawn every
 * frame. */
static bool is_wall(const lud_grid_map *map, int width, int height, int x, int y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    lud_grid_type type = map->cells[y * width + x].type;
    return type == LUD_WALL || type == LUD_MAGIC_WALL;
}

static void draw_wall(lud_canvas *canvas, const lud_theme *theme, const lud_grid_map *map, int width,
                      int height, int x, int y, float px, float py, float s) {
    const lud_grid_object *object = &map->cells[y * width + x];
    lud_rgba face = theme->wall, edge = theme->wall_edge;
    if (object->colour != LUD_GREY) {
        face = lud_mixed(face, theme->colours[object->colour], 0.55f);
        edge = lud_mixed(edge, theme->colours[object->colour], 0.55f);
    }
    bool east = joins_wall(map, width, height, x + 1, y), west = joins_wall(map, width, height, x - 1, y);
    bool south = joins_wall(map, width, height, x, y + 1), north = joins_wall(map, width, height, x, y - 1);
    /* round where the wall ends, square where it goes on */
    lud_canvas_round_rect(canvas, (lud_box){px, py, s, s}, s * 0.2f, face);
    float half = s * 0.5f;
    if (east) lud_canvas_rect(canvas, (lud_box){px + half, py, s - half, s}, face);
    if (west) lud_canvas_rect(canvas, (lud_box){px, py, half, s}, face);
    if (south) lud_canvas_rect(canvas, (lud_box){px, py + half, s, s - half}, face);
    if (north) lud_canvas_rect(canvas, (lud_box){px, py, s, half}, face);
    if (!north && y > 0) { /* the rim of the map stays plain */
        float left = west ? 0 : s * 0.2f, right = east ? 0 : s * 0.2f;
        lud_canvas_rect(canvas, (lud_box){px + left, py, s - left - right, fmaxf(1, floorf(s * 0.09f))},
                        edge);
    }
}

/* The soft shadow that a wall throws on the cell south of it. */
static void draw_wall_shadow(lud_canvas *canvas, float px, float py, float s) {
    int depth = (int)(s * 0.16f);
    for (int k = 0; k < depth; k++) {
        float t = 1 - (float)k / (float)depth;
        lud_canvas_rect(canvas, (lud_box){px, py + (float)k, s, 1},
                        (lud_rgba){10, 12, 18, (uint8_t)(46 * t * t)});
    }
}

void lud_grid_draw_ground(const lud_grid_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, int map_index) {
    const lud_grid_spec *spec = lud_grid_model_spec(drawing->drawing.model);
    const lud_grid_map *map = &spec->maps[map_index];
    int width = spec->width, height = spec->height, size = (int)camera->scale;
    float s = camera->scale, left, top;
    lud_camera_to_screen(camera, 0, 0, &left, &top);

    for (int y = 0; y < height; y++) /* floor; at the rounded outer edge only where it shows */
        for (int x = 0; x < width; x++) {
            bool wall = is_wall(map, width, height, x, y);
            lud_box box = {left + (float)x * s, top + (float)y * s, s, s};
            if (wall) {
                float west = x == 0 ? s * 0.5f : 0, east = x == width - 1 ? s * 0.5f : 0;
                float north = y == 0 ? s * 0.5f : 0, south = y == height - 1 ? s * 0.5f : 0;
                box.x += west;
                box.w -= west + east;
                box.y += north;
                box.h -= north + south;
            }
            lud_canvas_rect(canvas, box, theme->floor);
        }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            if (is_wall(map, width, height, x, y)) continue;
            float px = left + (float)x * s, py = top + (float)y * s;
            lud_canvas_rect(canvas, (lud_box){px, py, s, 1}, theme->grid_line);
            lud_canvas_rect(canvas, (lud_box){px, py, 1, s}, theme->grid_line);
        }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const lud_grid_object *object = &map->cells[y * width + x];
            lud_rgba colour = lud_theme_thing(theme, (int)object->colour);
            float px = left + (float)x * s, py = top + (float)y * s;
            switch (object->type) {
            case LUD_WALL:
                draw_wall(canvas, theme, map, width, height, x, y, px, py, s);
                continue;
            case LUD_FLOOR:
                lud_canvas_sprite(canvas, LUD_SPRITE_FLOOR, colour, px, py, size, 0);
                break;
            case LUD_GOAL:
                lud_canvas_sprite(canvas, LUD_SPRITE_GOAL, colour, px, py, size, 0);
                break;
            case LUD_OBJECT_GOAL:
                lud_canvas_sprite(canvas, LUD_SPRITE_OBJECT_GOAL, colour, px, py, size, 0);
                break;
            case LUD_SWITCH:
                lud_canvas_sprite(canvas, LUD_SPRITE_SWITCH, colour, px, py, size, 0);
                break;
            case LUD_LAVA:
                lud_canvas_sprite(canvas, LUD_SPRITE_LAVA, colour, px, py, size, 0);
                break;
            case LUD_UNSTEADY_GROUND:
                lud_canvas_sprite(canvas, LUD_SPRITE_UNSTEADY, colour, px, py, size, 0);
                break;
            default:
                break;
            }
            if (is_wall(map, width, height, x, y - 1) && object->type != LUD_MAGIC_WALL)
                draw_wall_shadow(canvas, px, py, s);
        }
}
