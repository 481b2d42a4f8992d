/* Ctrl-C, SIGTERM and SIGHUP: the one mechanism by which long work learns that it shall stop.
 *
 * A signal sets a flag and nothing else. Whoever computes for longer than a moment asks for the flag at least
 * several times a second, at places where stopping leaves nothing broken, and returns LUD_INTERRUPTED. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Installs a handler for Ctrl-C, SIGTERM and, unless it is ignored (nohup), SIGHUP, and lets them through
 * where a parent had blocked them; the first sets the flag below, one that comes 0.3 seconds later or more
 * ends the program. The handler runs on a thread of its own: the caller and the threads it makes from then on
 * are never interrupted. */
void lud_interrupt_install(void);
/* Whether a signal came. Any thread may ask. */
bool lud_interrupted(void);
/* Its number, 0: none came. */
int lud_interrupt_signal(void);
/* LUD_INTERRUPTED, with a message, when one came. */
lud_status lud_interrupt_check(lud_error *error);

/* Sets or clears the flag without a signal, for programs that Ludus is a library of. */
void lud_interrupt_set(bool stop);

/* For tests: the flag is cleared, and the n-th question from now on, of any thread, sets it, as a signal that
 * came just then; 0: no question does. */
void lud_interrupt_at(int64_t n);
/* For tests: questions asked since the last lud_interrupt_at. */
int64_t lud_interrupt_questions(void);
