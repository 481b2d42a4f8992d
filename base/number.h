/* Numbers in texts, as they are meant or not at all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* An integer of YAML 1.2's core schema with any sign: decimal, 0o octal, 0x hexadecimal. *end: behind it. 0:
 * none begins here, 1: it fits into *value, -1: it is too large. */
int lud_number_integer(const char *text, const char **end, int64_t *value);
/* A decimal number, with or without fraction and exponent, or an integer of another base. *end: behind it.
 * False, and *end is `text`, when none begins here; also for what a double cannot hold: a number beyond its
 * range, or one other than 0 that would become 0. */
bool lud_number_real(const char *text, const char **end, double *value);
