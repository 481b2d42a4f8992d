/* Which parameters a file of them holds: of which iteration, and why these. */
#pragma once

#include "base/text.h"
#include "learn/store/checkpoint.h"

typedef struct lud_kept {
    uint64_t iteration; /* after which they were so */
    bool scored;        /* they are the best */
    double score;
    char column[96]; /* that it is */
    uint64_t over;   /* iterations that it is a mean of; 1: of none */
} lud_kept;

/* As of the text `ITERATION SCORE OVER COLUMN`; false, and zeroed, when it is none. */
bool lud_kept_parse(const char *text, lud_kept *kept);
/* That text. */
void lud_kept_format(const lud_kept *kept, lud_text *out);
/* Writes down what a file of parameters holds, or reads it; zeroed where the file does not say. */
void lud_kept_write(const lud_kept *kept, lud_checkpoint *checkpoint);
void lud_kept_read(lud_checkpoint *checkpoint, lud_kept *kept);
/* Appends `iteration 40 of 200, the best by return 1.47 (mean of 2 iterations)`. */
void lud_kept_print(const lud_kept *kept, lud_text *out);
