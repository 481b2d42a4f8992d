/* Options that are `auto`: how they get a value that follows from the world, and how that is said.
 *
 * A section is read as ever (base/options/options.h). Its reader then begins a list of choices over the
 * values it has read and gives every automatic option a value, which takes effect where nobody gave the
 * option another. The list says, a line each, what was chosen and why.
 *
 *     lud_automatic a = {.table = &lud_mappo_option_table, .mapping = learner, .values = options};
 *     lud_automatic_set(&a, &options->discount, 0.99, "rewards within %d steps count", horizon); */
#pragma once

#include "base/options/options.h"
#include "base/text.h"

/* The row of a table with automatic options by which all are kept at their fixed values. */
#define LUD_AUTOMATIC_ROW                                                                                    \
    BOOL(automatic, "true",                                                                                  \
         "options that are auto follow from the world; false: they have the fixed values in brackets")

typedef struct lud_automatic {
    const lud_option_table *table;
    lud_tree *mapping; /* what was read; null: nothing was given */
    void *values;      /* the table's struct, already read */
    bool off;          /* nothing is chosen: open options keep the values that they were read with */
    lud_text said;     /* the list; freed by lud_automatic_end */
} lud_automatic;

/* Whether a value is to be found for the option whose field this is, of the table or a section in it. The
 * field must be that of an automatic option. */
bool lud_automatic_is_open(const lud_automatic *automatic, const void *field);
/* The value of an open option: a whole number for INT, 0 or 1 for BOOL, an index for CHOICE; kept within the
 * option's range. `why` is a printf format for the line that says so; null: no line. Nothing happens to an
 * option that was given. */
void lud_automatic_set(lud_automatic *automatic, void *field, double value, const char *why, ...)
    __attribute__((format(printf, 4, 5)));
/* A line about a value that stands elsewhere. */
void lud_automatic_say(lud_automatic *automatic, const char *key, const char *value, const char *why, ...)
    __attribute__((format(printf, 4, 5)));
/* The list, in the arena, empty where nothing was chosen; null when memory is out. */
const char *lud_automatic_end(lud_automatic *automatic, lud_arena *arena);
