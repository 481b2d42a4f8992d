/* Actions out of what a language model has written: a JSON object with the key `action`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

typedef enum lud_parse_mode {
    LUD_PARSE_FLAT,     /* the first {...} without braces inside; when that is none, there is none */
    LUD_PARSE_BALANCED, /* the first {...} with all its braces closed that has the key */
    LUD_PARSE_MODES
} lud_parse_mode;
extern const char *const lud_parse_mode_names[LUD_PARSE_MODES + 1]; /* null-terminated */

/* The object in a text, of which what stands before the last `</think>` does not count; null: none. The
 * caller gives it back with json_decref. */
struct json_t *lud_parse_action(lud_parse_mode mode, const char *text, size_t length);

typedef enum lud_parse_result {
    LUD_PARSED,
    LUD_PARSED_NOTHING, /* no object with the key `action` */
    LUD_PARSED_UNKNOWN, /* its value is the name of no choice */
    LUD_PARSE_RESULTS
} lud_parse_result;

/* Reads one text: *choice is the index of the action's name among names[n_names] (may contain nulls, which
 * are nobody's). */
lud_parse_result lud_parse_choice(lud_parse_mode mode, const char *text, size_t length,
                                  const char *const *names, int n_names, int32_t *choice);

/* Follows a text token by token and tells when its first {...} has all its braces closed. Zeroed before. */
typedef struct lud_object_scan {
    int depth;
    bool in_string, escaped, complete;
} lud_object_scan;
/* Whether the object is complete after these bytes too. */
bool lud_object_scan_next(lud_object_scan *scan, const char *bytes, size_t length);
