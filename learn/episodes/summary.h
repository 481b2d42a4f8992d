/* What a window of actions amounts to, in words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "sim/world.h"

/* Numbers of an increment that moves a hand: metres forward, left, up; radians of roll, pitch, yaw; and
 * whether the hand is to be open. */
enum {
    LUD_HAND_X,
    LUD_HAND_Y,
    LUD_HAND_Z,
    LUD_HAND_ROLL,
    LUD_HAND_PITCH,
    LUD_HAND_YAW,
    LUD_HAND_GRIP,
    LUD_HAND_NUMBERS
};

typedef enum lud_summary_style {
    LUD_SUMMARY_DECIMALS, /* "move forward 2 cm and move left 8 cm and open gripper" */
    LUD_SUMMARY_WORDS,    /* the directions alone */
    LUD_SUMMARY_COMPACT   /* "<+02 +08 -05 1>" */
} lud_summary_style;

typedef struct lud_summary_format {
    lud_summary_style style;
    int decimals;   /* of centimetres */
    bool rotations; /* said too */
} lud_summary_format;

/* "0f", "1f", ... "9f", "no_number" or "compact"; false for another word. */
bool lud_summary_format_read(const char *word, lud_summary_format *format);
/* Appends the sum of window[n][width], and whether the last row opens the hand. False, and nothing is
 * appended, where there is no row or a row has fewer numbers than LUD_HAND_NUMBERS. Lengths are rounded half
 * to even, angles to multiples of 5 degrees. */
bool lud_summary_hand(int64_t n, int64_t width, const double *window, const lud_summary_format *format,
                      lud_text *out);
/* Whether the window moves the hand less than 1 cm and, with rotations, turns it less than 10 degrees about
 * every axis. Windows without a summary are not idle. */
bool lud_summary_hand_is_idle(int64_t n, int64_t width, const double *window, bool rotations);

/* Appends how often each choice was made, in the order of first use: "forward 3, left 1, pickup 1". Choices
 * below 0 stand for none and are left out. False, and nothing is appended, where no choice was made. */
bool lud_summary_choices(int64_t n, const int32_t *choices, const lud_action_space *space, lud_text *out);
/* Whether all n choices (at least one) are the one that does nothing; idle below 0: never. */
bool lud_summary_choices_are_idle(int64_t n, const int32_t *choices, int32_t idle);
