/* Messages to the user: errors and notes on stderr, optionally copied to a log file. */
#pragma once

#include <stdio.h>

typedef enum lud_log_level { LUD_LOG_ERROR, LUD_LOG_WARNING, LUD_LOG_INFO, LUD_LOG_DEBUG } lud_log_level;

/* The level up to which messages are shown (the one global of the program). Default: LUD_LOG_INFO. */
void lud_log_set_level(lud_log_level level);
lud_log_level lud_log_get_level(void);
/* One line to stderr (`ludus: warning: ...`; errors and warnings coloured on a terminal); a progress line in
 * the way is cleared first. `copy` (may be null) gets the same line with a time stamp. */
void lud_log(FILE *copy, lud_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Messages go to `sink` instead of stderr, whatever the level; null: to stderr again. Set before other
 * threads begin. */
void lud_log_set_sink(void (*sink)(lud_log_level level, const char *message));
