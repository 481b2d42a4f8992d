/* The compact grid: one int32 word a cell, and the 40 channels of the grid tensor that a word stands for.
 *
 * This is the one place where the layout is written. Worlds write words, networks read them: the first
 * convolution works on the words themselves (ops `grid_conv`), and `grid_decode` unpacks them to
 * [n][channels][height][width].
 *
 *   bits  0-4   type    channel number 0-14 of the base table, 15 nothing of the table, 30 door, 31 key
 *   bits  5-7   colour  of a door or key (0 otherwise)
 *   bits  8-9   door    0 none, 1 open, 2 closed, 3 locked
 *   bits 10-12  agent   colour of the agent in the cell, 7 none
 *   bits 13-15  magic   0 no magic wall, 1-5: 1 + entry side while active, 6 inactive
 *   bits 16-17  other   0 none, else a thing outside the base table: 1 overlappable, 2 immobile, 3 mobile
 *
 * Two words differ from those of the reference program, which cannot tell an empty cell from a wall:
 *   - type 15 (unused there) stands in every cell that holds nothing of the base table: empty cells, magic
 * walls, trampled bushes, things that only have a category. Type 0 always is a wall.
 *   - what lies under an agent keeps its type, colour, door, magic and category fields.
 * lud_grid_code_reference turns a word into the reference's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h" /* LUD_HD */

/* Channels of the grid tensor. A channel holds 1 where the thing is, except doors (1 open, 2 closed, 3
 * locked) and the magic wall (1-6, the `magic` field). */
typedef enum lud_grid_channel {
    LUD_CHANNEL_WALL,
    LUD_CHANNEL_BALL,
    LUD_CHANNEL_BOX,
    LUD_CHANNEL_GOAL,
    LUD_CHANNEL_LAVA,
    LUD_CHANNEL_BLOCK,
    LUD_CHANNEL_ROCK,
    LUD_CHANNEL_UNSTEADY_GROUND,
    LUD_CHANNEL_SWITCH,
    LUD_CHANNEL_FLOOR,
    LUD_CHANNEL_KILL_BUTTON,
    LUD_CHANNEL_PAUSE_SWITCH,
    LUD_CHANNEL_DISABLING_SWITCH,
    LUD_CHANNEL_CONTROL_BUTTON,
    LUD_CHANNEL_BUSH,
    LUD_CHANNEL_DOOR,     /* + colour 0-6 */
    LUD_CHANNEL_KEY = 22, /* + colour 0-6 */
    LUD_CHANNEL_MAGIC_WALL = 29,
    LUD_CHANNEL_OTHER_OVERLAPPABLE,
    LUD_CHANNEL_OTHER_IMMOBILE,
    LUD_CHANNEL_OTHER_MOBILE,
    LUD_CHANNEL_AGENT, /* + colour 0-6 */
    LUD_GRID_CHANNELS = 40
} lud_grid_channel;

/* Values of the type field beyond the channel numbers of the base table. */
enum { LUD_CODE_NOTHING = 15, LUD_CODE_DOOR = 30, LUD_CODE_KEY = 31 };
enum { LUD_CODE_NO_AGENT = 7 };

/* Shifts of the fields. */
enum {
    LUD_CODE_TYPE_SHIFT = 0,
    LUD_CODE_COLOUR_SHIFT = 5,
    LUD_CODE_DOOR_SHIFT = 8,
    LUD_CODE_AGENT_SHIFT = 10,
    LUD_CODE_MAGIC_SHIFT = 13,
    LUD_CODE_OTHER_SHIFT = 16,
    LUD_CODE_BITS = 18 /* words are below 2^18 */
};

/* An empty cell, and a wall (also what lies outside a world smaller than the network's grid). */
enum {
    LUD_CODE_EMPTY = LUD_CODE_NOTHING | LUD_CODE_NO_AGENT << LUD_CODE_AGENT_SHIFT,
    LUD_CODE_WALL = LUD_CHANNEL_WALL | LUD_CODE_NO_AGENT << LUD_CODE_AGENT_SHIFT
};

/* Whether a word from elsewhere says what a cell can hold. */
static inline bool lud_grid_code_is_word(int32_t word) {
    const int32_t type = word & 31, colour = word >> LUD_CODE_COLOUR_SHIFT & 7;
    return word >= 0 && word < 1 << LUD_CODE_BITS && (type <= LUD_CODE_NOTHING || type >= LUD_CODE_DOOR) &&
           colour < 7 && (word >> LUD_CODE_MAGIC_SHIFT & 7) < 7;
}

/* How words become channels. */
typedef enum lud_grid_form {
    LUD_GRID_FULL,     /* everything the word says; what lies under an agent shows beside the agent */
    LUD_GRID_COVERED,  /* the reference's tensor: an agent hides what lies under it, except a bush, and sets
                          channel 31; the words are ours */
    LUD_GRID_REFERENCE /* the words are the reference's, decoded as its decompressor does: type 0 sets channel
                          0, doors are 1/3, 2/3, 1, agents do not set channel 31 */
} lud_grid_form;

/* The fields of a word. */
typedef struct lud_grid_cell {
    int type, colour, door, agent, magic, other;
} lud_grid_cell;

LUD_HD static inline lud_grid_cell lud_grid_code_fields(int32_t code) {
    lud_grid_cell cell;
    cell.type = code & 31;
    cell.colour = code >> LUD_CODE_COLOUR_SHIFT & 7;
    cell.door = code >> LUD_CODE_DOOR_SHIFT & 3;
    cell.agent = code >> LUD_CODE_AGENT_SHIFT & 7;
    cell.magic = code >> LUD_CODE_MAGIC_SHIFT & 7;
    cell.other = code >> LUD_CODE_OTHER_SHIFT & 3;
    return cell;
}

LUD_HD static inline int32_t lud_grid_code_make(lud_grid_cell cell) {
    return cell.type | cell.colour << LUD_CODE_COLOUR_SHIFT | cell.door << LUD_CODE_DOOR_SHIFT |
           cell.agent << LUD_CODE_AGENT_SHIFT | cell.magic << LUD_CODE_MAGIC_SHIFT |
           cell.other << LUD_CODE_OTHER_SHIFT;
}

/* The reference's word for the same cell: 15 becomes 0; an agent hides type (except a bush), colour and
 * category, keeps the door state, and of an active magic wall only that it is active (side 0). */
LUD_HD static inline int32_t lud_grid_code_reference(int32_t code) {
    lud_grid_cell cell = lud_grid_code_fields(code);
    if (cell.agent != LUD_CODE_NO_AGENT) {
        if (cell.type != LUD_CHANNEL_BUSH) cell.type = 0;
        cell.colour = 0;
        cell.other = 0;
        if (cell.magic >= 1 && cell.magic <= 5) cell.magic = 1;
    }
    if (cell.type == LUD_CODE_NOTHING) cell.type = 0;
    return lud_grid_code_make(cell);
}

/* A channel that is not zero in a cell. */
typedef struct lud_grid_active {
    int channel;
    float value;
} lud_grid_active;

enum { LUD_GRID_MAX_ACTIVE = 5 };

/* The channels that a word sets, each at most once; returns their number. */
LUD_HD static inline int lud_grid_code_active(int32_t code, lud_grid_form form,
                                              lud_grid_active active[LUD_GRID_MAX_ACTIVE]) {
    lud_grid_cell cell = lud_grid_code_fields(code);
    int n = 0;
    int has_agent = cell.agent != LUD_CODE_NO_AGENT;
    int hidden = form == LUD_GRID_COVERED && has_agent;
    float door_unit = form == LUD_GRID_REFERENCE ? 1.0f / 3.0f : 1.0f;
    if (cell.type <= LUD_CHANNEL_BUSH && !(hidden && cell.type != LUD_CHANNEL_BUSH)) {
        active[n].channel = cell.type;
        active[n++].value = 1;
    }
    if (cell.type == LUD_CODE_DOOR && !hidden && cell.door && cell.colour < 7) {
        active[n].channel = LUD_CHANNEL_DOOR + cell.colour;
        active[n++].value = (float)cell.door * door_unit;
    }
    if (cell.type == LUD_CODE_KEY && !hidden && cell.colour < 7) {
        active[n].channel = LUD_CHANNEL_KEY + cell.colour;
        active[n++].value = 1;
    }
    if (cell.magic && !hidden) {
        active[n].channel = LUD_CHANNEL_MAGIC_WALL;
        active[n++].value = (float)cell.magic;
    }
    if (hidden) {
        active[n].channel = LUD_CHANNEL_OTHER_IMMOBILE;
        active[n++].value = 1;
    } else if (cell.other) {
        active[n].channel = LUD_CHANNEL_OTHER_OVERLAPPABLE + cell.other - 1;
        active[n++].value = 1;
    }
    if (has_agent) {
        active[n].channel = LUD_CHANNEL_AGENT + cell.agent;
        active[n++].value = 1;
    }
    return n;
}
