/* Lines that hold a triple as three fields: tab-separated and comma-separated values (RFC 4180 without line
 * breaks inside quotes), subject first, and N-Triples (W3C Recommendation, 2014). For the reader
 * (proof_read.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sim/proof/knowledge/proof_base.h"

enum { LUD_PROOF_FIELDS = 4 }; /* subject, predicate, object, and what may stand behind them */

typedef struct lud_proof_line {
    struct {
        const char *text; /* in the line, or decoded in the room given */
        size_t length;
        size_t at; /* where it begins in the line */
    } fields[LUD_PROOF_FIELDS];
    int n;
    /* what is wrong, null: nothing; what was expected, and where */
    const char *fault, *expected;
    size_t fault_at;
} lud_proof_line;

/* The format of a file by its first line that is no comment. */
lud_proof_format lud_proof_guess_format(const char *line, size_t length);
/* Takes a line apart, of a format with fields; room[length] gets what has to be decoded. A comment has no
 * fields. False, and `fault`, when it is not a triple. */
bool lud_proof_split_line(lud_proof_format format, const char *line, size_t length, char *room,
                          lud_proof_line *out);
/* Whether the fields are the names of columns, as `head,relation,tail`. */
bool lud_proof_is_header(const lud_proof_line *line);
