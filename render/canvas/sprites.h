/* The sprites of the atlas, in the order in which they lie in it.
 *
 * assets/make_atlas.c draws each one and writes assets/atlas.png; the same list is the index at run time, so
 * a sprite is added by one line here and one function there.
 *
 * TINTED sprites are grey ramps: 0 is a dark shade of the tint, one half the tint itself, 1 white. PLAIN
 * sprites have their own colours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* X(enumerator suffix, function suffix in make_atlas.c, tinted) */
#define LUD_SPRITES(X)                                                                                       \
    X(ROBOT, robot, true)                                                                                    \
    X(PERSON, person, true)                                                                                  \
    X(ACTOR, actor, true)                                                                                    \
    X(KEY, key, true)                                                                                        \
    X(BALL, ball, true)                                                                                      \
    X(BOX, box, true)                                                                                        \
    X(BLOCK, block, true)                                                                                    \
    X(ROCK, rock, true)                                                                                      \
    X(DOOR_OPEN, door_open, true)                                                                            \
    X(DOOR_CLOSED, door_closed, true)                                                                        \
    X(DOOR_LOCKED, door_locked, true)                                                                        \
    X(GOAL, goal, true)                                                                                      \
    X(OBJECT_GOAL, object_goal, true)                                                                        \
    X(FLOOR, floor, true)                                                                                    \
    X(SWITCH, switch, true)                                                                                  \
    X(BUSH, bush, true)                                                                                      \
    X(TRAMPLED, trampled, true)                                                                              \
    X(LAVA, lava, false)                                                                                     \
    X(LAVA_WAVE, lava_wave, false)                                                                           \
    X(UNSTEADY, unsteady, false)                                                                             \
    X(MAGIC_WALL, magic_wall, true)                                                                          \
    X(MAGIC_SIDE, magic_side, false)                                                                         \
    X(MAGIC_SPARKLE, magic_sparkle, false)                                                                   \
    X(SOLIDIFIED, solidified, true)                                                                          \
    X(PLATE, plate, true)                                                                                    \
    X(PLATE_DOWN, plate_down, true)                                                                          \
    X(SYMBOL_KILL, symbol_kill, true)                                                                        \
    X(SYMBOL_PAUSE, symbol_pause, true)                                                                      \
    X(SYMBOL_DISABLE, symbol_disable, true)                                                                  \
    X(SYMBOL_CONTROL, symbol_control, true)                                                                  \
    X(DISABLED, disabled, false)                                                                             \
    X(SHADOW, shadow, false)                                                                                 \
    X(GLOW, glow, true)                                                                                      \
    X(FALLEN, fallen, false)                                                                                 \
    X(PAUSED, paused, false)                                                                                 \
    X(FORCED, forced, false)                                                                                 \
    X(ICON_PLAY, icon_play, true)                                                                            \
    X(ICON_PAUSE, icon_pause, true)                                                                          \
    X(ICON_FORWARD, icon_forward, true)                                                                      \
    X(ICON_BACK, icon_back, true)                                                                            \
    X(ICON_START, icon_start, true)                                                                          \
    X(ICON_END, icon_end, true)                                                                              \
    X(ICON_RECORD, icon_record, true)                                                                        \
    X(ICON_RESTART, icon_restart, true)                                                                      \
    X(ICON_HELP, icon_help, true)                                                                            \
    X(TRIBE_DISC, tribe_disc, true)                                                                          \
    X(TRIBE_SQUARE, tribe_square, true)                                                                      \
    X(TRIBE_TRIANGLE, tribe_triangle, true)                                                                  \
    X(TRIBE_DIAMOND, tribe_diamond, true)                                                                    \
    X(TRIBE_HEXAGON, tribe_hexagon, true)                                                                    \
    X(TRIBE_STAR, tribe_star, true)                                                                          \
    X(HOUSE, house, true)                                                                                    \
    X(GRAIN, grain, false)                                                                                   \
    X(TREE, tree, false)                                                                                     \
    X(LOG, log, false)                                                                                       \
    X(ORE, ore, false)                                                                                       \
    X(SHIELD, shield, true)                                                                                  \
    X(SPARK, spark, false)

typedef enum lud_sprite {
#define X(NAME, name, tinted) LUD_SPRITE_##NAME,
    LUD_SPRITES(X)
#undef X
        LUD_SPRITE_COUNT
} lud_sprite;

/* Geometry of the atlas: square sprites in rows of LUD_ATLAS_COLUMNS. */
enum { LUD_ATLAS_SIDE = 160, LUD_ATLAS_COLUMNS = 8 };

typedef struct lud_rgba {
    uint8_t r, g, b, a;
} lud_rgba;

typedef struct lud_sprites lud_sprites;

/* Unpacks the atlas that is part of the program; LUD_ERROR_INPUT where it is damaged. */
lud_status lud_sprites_create(lud_sprites **sprites, lud_error *error);
void lud_sprites_destroy(lud_sprites *sprites);

/* Renders one sprite with area-weighted filtering: pixels[size][size], ARGB words with straight alpha. `turn`
 * counts 1/128 of a clockwise turn. `tint` is ignored by sprites that have their own colours. */
void lud_sprites_render(const lud_sprites *sprites, lud_sprite sprite, lud_rgba tint, int size, int turn,
                        uint32_t *pixels);
