#include "learn/language/parse_action.h"

#include <string.h>

#include <jansson.h>

const char *const lud_parse_mode_names[LUD_PARSE_MODES + 1] = {"flat", "balanced", NULL};

static const char think_end[] = "</think>";
enum { MARK = sizeof think_end - 1 };

/* What follows the last mark. */
static const char *behind_thoughts(const char *text, size_t *length) {
    for (size_t at = *length; at >= MARK; at--)
        if (memcmp(text + at - MARK, think_end, MARK) == 0) {
            *length -= at;
            return text + at;
        }
    return text;
}

/* The object in these bytes if it has the key. */
static json_t *action_object(const char *bytes, size_t length) {
    json_t *object = json_loadb(bytes, length, 0, NULL);
    if (json_is_object(object) && json_object_get(object, "action")) return object;
    json_decref(object);
    return NULL;
}

static json_t *parse_flat(const char *text, size_t length) {
    const char *open = NULL;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '{') open = text + i;
        if (text[i] == '}' && open) return action_object(open, (size_t)(text + i + 1 - open));
    }
    return NULL;
}

bool lud_object_scan_next(lud_object_scan *scan, const char *bytes, size_t length) {
    for (size_t i = 0; i < length && !scan->complete; i++) {
        const char c = bytes[i];
        if (scan->in_string) {
            scan->in_string = c != '"' || scan->escaped;
            scan->escaped = c == '\\' && !scan->escaped;
        } else if (c == '{') {
            scan->depth++;
        } else if (scan->depth > 0) {
            scan->in_string = c == '"';
            if (c == '}') scan->complete = --scan->depth == 0;
        }
    }
    return scan->complete;
}

static json_t *parse_balanced(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '{') continue;
        lud_object_scan scan = {0};
        size_t end = i;
        while (end < length && !lud_object_scan_next(&scan, text + end, 1)) end++;
        if (end == length) continue;
        json_t *object = action_object(text + i, end + 1 - i);
        if (object) return object;
    }
    return NULL;
}

json_t *lud_parse_action(lud_parse_mode mode, const char *text, size_t length) {
    text = behind_thoughts(text, &length);
    return mode == LUD_PARSE_FLAT ? parse_flat(text, length) : parse_balanced(text, length);
}

lud_parse_result lud_parse_choice(lud_parse_mode mode, const char *text, size_t length,
                                  const char *const *names, int n_names, int32_t *choice) {
    json_t *object = lud_parse_action(mode, text, length);
    if (!object) return LUD_PARSED_NOTHING;
    const char *name = json_string_value(json_object_get(object, "action"));
    int found = 0;
    while (found < n_names && !(name && names[found] && strcmp(name, names[found]) == 0)) found++;
    json_decref(object);
    if (found == n_names) return LUD_PARSED_UNKNOWN;
    *choice = found;
    return LUD_PARSED;
}
