/* The rows of option tables, one row one option. For the .c files that hold tables, not for headers.
 *
 *     #define OPTIONS lud_mappo_options
 *     static const lud_option options[] = {
 *         INT(rollout_length, "25", 1, 1e5, "steps of every environment between two updates"),
 *         CHOICE(encoder, "auto", encoder_names, "what sees the world"),
 *         SECTION(graph, graph_table, "networks over the graph of entities"),
 *         REAL_AT("lr_x_h", stages.lr[LUD_NET_X_H], "1e-4", 0, 10, "learning rate of X_h"),
 *     };
 *     const lud_option_table table = OPTION_TABLE("learner", "proximal policy optimisation", options);
 *
 * OPTIONS is the struct that the rows fill. A row names its field, which is its key too; the form _AT is for
 * a key of another name and for fields inside of fields. Behind the field stand the default as YAML text
 * (NULL: see base/options/options.h), for numbers and lists of them the least and the largest value, for
 * choices the names; then the help and, where there is one, the unit. A field of the wrong type does not
 * compile. AUTO behind the help: an option that follows from the world where nobody gives it
 * (base/options/automatic.h). */
#pragma once

#include <stddef.h>

#include "base/options/options.h"

#define OPTION_ROW(name, kind, c_type, field, ...)                                                           \
    {                                                                                                        \
        .key = name, .type = kind,                                                                           \
        .offset = offsetof(OPTIONS, field) + _Generic(((OPTIONS *)0)->field, c_type : 0), __VA_ARGS__        \
    }
#define AUTO .automatic = true
/* the help is followed by the unit, in the order of lud_option */
#define OPTION_PLAIN(name, kind, c_type, field, preset, ...)                                                 \
    OPTION_ROW(name, kind, c_type, field, .default_value = preset, .help = __VA_ARGS__)
#define OPTION_RANGED(name, kind, c_type, field, preset, low, high, ...)                                     \
    OPTION_ROW(name, kind, c_type, field, .default_value = preset, .minimum = low, .maximum = high,          \
               .help = __VA_ARGS__)

#define BOOL_AT(key, field, ...)   OPTION_PLAIN(key, LUD_OPTION_BOOL, bool, field, __VA_ARGS__)
#define TEXT_AT(key, field, ...)   OPTION_PLAIN(key, LUD_OPTION_TEXT, const char *, field, __VA_ARGS__)
#define TEXTS_AT(key, field, ...)  OPTION_PLAIN(key, LUD_OPTION_TEXTS, lud_text_list, field, __VA_ARGS__)
#define TREE_AT(key, field, ...)   OPTION_PLAIN(key, LUD_OPTION_TREE, lud_tree *, field, NULL, __VA_ARGS__)
#define INT_AT(key, field, ...)    OPTION_RANGED(key, LUD_OPTION_INT, int64_t, field, __VA_ARGS__)
#define REAL_AT(key, field, ...)   OPTION_RANGED(key, LUD_OPTION_REAL, double, field, __VA_ARGS__)
#define MEMORY_AT(key, field, ...) OPTION_RANGED(key, LUD_OPTION_MEMORY, double, field, __VA_ARGS__)
#define INTS_AT(key, field, ...)   OPTION_RANGED(key, LUD_OPTION_INTS, lud_int_list, field, __VA_ARGS__)
#define REALS_AT(key, field, ...)  OPTION_RANGED(key, LUD_OPTION_REALS, lud_real_list, field, __VA_ARGS__)
#define CHOICE_AT(key, field, preset, names, ...)                                                            \
    OPTION_ROW(key, LUD_OPTION_CHOICE, int, field, .default_value = preset, .choices = names,                \
               .help = __VA_ARGS__)
#define SECTION_AT(name, field, table, text)                                                                 \
    {                                                                                                        \
        .key = name, .type = LUD_OPTION_SECTION, .offset = offsetof(OPTIONS, field), .section = &(table),    \
        .help = text                                                                                         \
    }

#define BOOL(field, ...)    BOOL_AT(#field, field, __VA_ARGS__)
#define TEXT(field, ...)    TEXT_AT(#field, field, __VA_ARGS__)
#define TEXTS(field, ...)   TEXTS_AT(#field, field, __VA_ARGS__)
#define TREE(field, ...)    TREE_AT(#field, field, __VA_ARGS__)
#define INT(field, ...)     INT_AT(#field, field, __VA_ARGS__)
#define REAL(field, ...)    REAL_AT(#field, field, __VA_ARGS__)
#define MEMORY(field, ...)  MEMORY_AT(#field, field, __VA_ARGS__)
#define INTS(field, ...)    INTS_AT(#field, field, __VA_ARGS__)
#define REALS(field, ...)   REALS_AT(#field, field, __VA_ARGS__)
#define CHOICE(field, ...)  CHOICE_AT(#field, field, __VA_ARGS__)
#define SECTION(field, ...) SECTION_AT(#field, field, __VA_ARGS__)

/* The table of the rows `list`, which fill an OPTIONS; and that of a section without keys. */
#define OPTION_TABLE(title, text, list)                                                                      \
    {                                                                                                        \
        .name = title, .help = text, .options = list, .n = (int)(sizeof(list) / sizeof *(list)),             \
        .bytes = sizeof(OPTIONS)                                                                             \
    }
/* A table of this file with its rows: TABLE(table, "learner", "proximal policy optimisation", INT(...), ...).
 */
#define TABLE(table, title, text, ...)                                                                       \
    static const lud_option table##_rows[] = {__VA_ARGS__};                                                  \
    static const lud_option_table table = OPTION_TABLE(title, text, table##_rows)
#define NO_OPTIONS(title, text)                                                                              \
    { .name = title, .help = text, .bytes = sizeof(OPTIONS) }
