/* Option tables: each section of a scenario file is described once, and read, overridden, written back,
 * explained and documented from that one description. */
#pragma once

#include <stdio.h>

#include "base/options/tree.h"

typedef enum lud_option_type {
    LUD_OPTION_BOOL,    /* bool */
    LUD_OPTION_INT,     /* int64_t */
    LUD_OPTION_REAL,    /* double */
    LUD_OPTION_MEMORY,  /* double: GiB */
    LUD_OPTION_CHOICE,  /* int: index into `choices` */
    LUD_OPTION_TEXT,    /* const char *, lives in the reader's arena; null when absent without default */
    LUD_OPTION_INTS,    /* lud_int_list */
    LUD_OPTION_REALS,   /* lud_real_list */
    LUD_OPTION_TEXTS,   /* lud_text_list */
    LUD_OPTION_SECTION, /* the struct of the nested table `section` stands at `offset` */
    LUD_OPTION_TREE     /* lud_tree *: left to the caller to read; null when absent */
} lud_option_type;

/* What a text, or each of a list of texts, names: something outside the scenario, which a RUN takes along. */
typedef enum lud_option_names {
    LUD_NAMES_NOTHING,
    LUD_NAMES_FILE,   /* or a folder in the place of one, as Minari's data sets are */
    LUD_NAMES_FOLDER, /* of files that belong together */
    LUD_NAMES_RUN,
    LUD_NAMES_POLICY /* of a TREE: a policy, or policies by name, whose `file` and `run` are such, or a RUN */
} lud_option_names;

typedef struct lud_int_list {
    int64_t *items;
    size_t n;
} lud_int_list;
typedef struct lud_real_list {
    double *items;
    size_t n;
} lud_real_list;
typedef struct lud_text_list {
    const char **items;
    size_t n;
} lud_text_list;

typedef struct lud_option_table lud_option_table;

typedef struct lud_option {
    const char *key;
    lud_option_type type;
    size_t offset;              /* of the field in the section's struct */
    const char *default_value;  /* YAML text ("0.99", "[1, 2]"); null: required, except for TEXT and TREE */
    double minimum, maximum;    /* for INT, REAL, MEMORY and their lists: allowed range, both ends included */
    const char *const *choices; /* CHOICE: names, null-terminated */
    const lud_option_table *section;
    const char *help; /* one line */
    const char *unit; /* for the help line, or null */
    lud_option_names names;
    bool automatic; /* may be `auto`, which it is where nobody gives it: it has its default until who reads
                       the section finds a value for it (base/options/automatic.h) */
} lud_option;

struct lud_option_table {
    const char *name; /* of the section as a user writes it, e.g. "multigrid" or "run" */
    const char *help; /* one line */
    const lud_option *options;
    int n;
    size_t bytes; /* of the section's struct */
};

/* Fills `values` (table->bytes) with the defaults; a required option is left zero. */
lud_status lud_options_default(const lud_option_table *table, lud_arena *arena, void *values,
                               lud_error *error);
/* Whether the node says `auto` to an option that may be it. */
bool lud_option_is_auto(const lud_option *option, const lud_tree *node);
/* Defaults, then the mapping's values (`mapping` may be null: defaults only). Unknown keys, wrong types,
 * values out of range and missing required keys are errors with place, expectation and nearest key. */
lud_status lud_options_read(const lud_option_table *table, lud_arena *arena, lud_tree *mapping, void *values,
                            lud_error *error);
/* Appends every option with its present value, defaults included, to the mapping `out`. */
lud_status lud_options_write(const lud_option_table *table, lud_arena *arena, const void *values,
                             lud_tree *out, lud_error *error);
/* Calls `found` with every text of the mapping, as the table describes it, that names something; sections
 * within too. Stops at the first failure and returns it. */
lud_status lud_options_named(const lud_option_table *table, lud_tree *mapping,
                             lud_status (*found)(void *context, lud_option_names names, lud_tree *text,
                                                 lud_error *error),
                             void *context, lud_error *error);
/* Writes where a key has its place in a section, or in one within it: `section.key`, `section.nested.key`.
 * False where the table has no such key. */
bool lud_option_place(const lud_option_table *table, const char *section, const char *key, char *place,
                      size_t size);
/* Explains the table on a terminal, one option a line; nested sections indented. */
void lud_options_help(const lud_option_table *table, FILE *out);
/* The same as a Markdown table for docs/. */
void lud_options_markdown(const lud_option_table *table, FILE *out);
