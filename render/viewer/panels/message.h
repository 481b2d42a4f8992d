/* The line over the world that says what happened, for a while. */
#pragma once

#include "render/canvas/canvas.h"

typedef struct lud_message {
    char text[512];
    double clock, until; /* seconds in all, and when the message goes; infinity for errors that stay */
    bool is_error;
} lud_message;

/* Replaces the message; it stays for so many seconds. */
void lud_message_say(lud_message *message, double seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lud_message_error(lud_message *message, double seconds, const lud_error *error);
/* Time goes on, and messages away. */
void lud_message_update(lud_message *message, double seconds);
/* Near the upper edge of a box. */
void lud_message_draw(const lud_message *message, lud_canvas *canvas, const lud_theme *theme, lud_box box);
