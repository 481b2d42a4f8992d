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
enum { LUD_NUMBER_BYTES = 40 };
/* The shortest decimal text, of at least six digits where there are so many, that reads back as the number,
 * which is finite. */
void lud_number_write(double value, char text[LUD_NUMBER_BYTES]);

/* Memory is given and told in binary units everywhere; options and flags hold it in GiB. */
#define LUD_GIBIBYTE 1073741824.0
/* A number of GiB, or one with its unit: K, M, G or T, in small letters too, or KiB, MiB, GiB, TiB, behind a
 * space or none. Decimal units (MB, GB) are refused: they would be something else. *end and the result as of
 * lud_number_real. */
bool lud_number_memory(const char *text, const char **end, double *gibibytes);
