/* A table, written as CSV, Markdown and LaTeX. */
#pragma once

#include "base/scores.h"
#include "base/status.h"
#include "base/text.h"

typedef enum lud_table_kind {
    LUD_TABLE_TEXT,
    LUD_TABLE_COUNT,   /* a whole number */
    LUD_TABLE_NUMBER,  /* to five figures */
    LUD_TABLE_INTERVAL /* a number and an interval; three columns of CSV: NAME, NAME_low, NAME_high */
} lud_table_kind;

typedef struct lud_table_column {
    const char *title, *name; /* in Markdown and LaTeX, and in CSV */
    lud_table_kind kind;
} lud_table_column;

typedef struct lud_table_cell {
    const char *text;   /* of a text, */
    lud_interval value; /* else its number is `value`; NaN: the cell is empty */
} lud_table_cell;

typedef struct lud_table {
    const lud_table_column *columns;
    int n_columns, n_rows;
    const lud_table_cell *cells; /* [n_rows][n_columns] */
} lud_table;

/* A field of CSV (RFC 4180): in quotes where it needs them. */
void lud_table_put_csv(const char *field, lud_text *out);
/* Appends the table as Markdown. */
void lud_table_put_markdown(const lud_table *table, lud_text *out);
/* Writes FOLDER/NAME.csv and NAME.tex, and FOLDER/NAME.md, which is `markdown` (this table with what is said
 * about it): each beside and renamed. */
lud_status lud_table_write(const lud_table *table, const char *folder, const char *name,
                           const lud_text *markdown, lud_error *error);
/* Writes FOLDER/NAME from a text, beside and renamed. */
lud_status lud_table_write_text(const char *folder, const char *name, const lud_text *text, lud_error *error);
