#include "cli/sweep/ranges.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"

static lud_status range_error(const char *text, lud_error *error) {
    return lud_invalid(error,
                       "--vary %s: expected KEY=a,b,c or KEY=low:high:count or KEY=low:high:count:log "
                       "(:int for whole numbers; with --samples without the count)",
                       text);
}

/* The end of a value of a list: a comma or a colon that stands in no bracket and no quotes. */
static const char *value_end(const char *at) {
    int depth = 0;
    for (char quote = 0; *at; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
            continue;
        }
        if (*at == '"' || *at == '\'') quote = *at;
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (depth <= 0 && (*at == ',' || *at == ':')) break;
    }
    return at;
}

/* What begins as a number is one. */
static bool read_value(lud_arena *arena, const char *at, const char *end, lud_sweep_value *value) {
    const char *behind;
    *value = (lud_sweep_value){NAN, lud_arena_text(arena, at, (size_t)(end - at))};
    if (!value->text || end == at) return false;
    for (const char *c = at; c < end; c++)
        if ((unsigned char)*c < ' ') return false; /* a row of the table is a line */
    const bool number = lud_number_real(at, &behind, &value->number) && behind == end;
    if (!number) value->number = NAN;
    const char *digit = at + (*at == '-' || *at == '+');
    return number || !isdigit((unsigned char)*digit);
}

static lud_status read_list(lud_arena *arena, const char *text, const char *at, lud_sweep_range *r,
                            lud_error *error) {
    for (;; at++) {
        const char *end = value_end(at);
        if (r->n == LUD_SWEEP_LIST)
            return lud_fail(error, LUD_ERROR_LIMIT, "--vary %s: more than %d values", r->key, LUD_SWEEP_LIST);
        if (!read_value(arena, at, end, &r->values[r->n++])) return range_error(text, error);
        at = end;
        if (*at != ',') break;
    }
    return *at ? range_error(text, error) : LUD_OK;
}

static double between(double low, double high, bool logarithmic, double t) {
    return logarithmic ? low * pow(high / low, t) : low + (high - low) * t;
}

/* A number of the range, t of the way from its low end to its high one. */
static double grid_number(const lud_sweep_range *r, double t) {
    const double x = between(r->low, r->high, r->logarithmic, t);
    return r->whole ? rint(x) : x;
}

/* A number drawn from the range by t in [0, 1); whole ones at the ends are as likely as those beside them. */
static double drawn_number(const lud_sweep_range *r, double t) {
    if (!r->whole) return between(r->low, r->high, r->logarithmic, t);
    return fmin(fmax(rint(between(r->low - 0.5, r->high + 0.5, r->logarithmic, t)), r->low), r->high);
}

/* low:high[:count][:log][:int] */
static lud_status read_ends(const char *text, const char *at, bool sampled, lud_sweep_range *r,
                            lud_error *error) {
    const char *end;
    int64_t count = 0;
    r->continuous = true;
    if (!lud_number_real(at, &end, &r->low) || *end != ':') return range_error(text, error);
    if (!lud_number_real(end + 1, &end, &r->high)) return range_error(text, error);
    if (*end == ':' && isdigit((unsigned char)end[1])) {
        if (lud_number_integer(end + 1, &end, &count) <= 0 || count < 1) return range_error(text, error);
    } else if (!sampled) {
        return range_error(text, error);
    }
    if (strncmp(end, ":log", 4) == 0) {
        r->logarithmic = true;
        end += 4;
    }
    if (strncmp(end, ":int", 4) == 0) {
        r->whole = true;
        r->low = ceil(r->low);
        r->high = floor(r->high); /* where there is none between them, low is more than high */
        end += 4;
    }
    if (*end || count > LUD_SWEEP_LIST || !(r->low <= r->high) || (r->logarithmic && !(r->low > 0)))
        return range_error(text, error);
    r->n = count > 0 ? (int)count : 2; /* its ends, where nobody asks for a grid */
    for (int i = 0; i < r->n; i++) {
        const double t = r->n > 1 ? (double)i / (r->n - 1) : 0;
        r->values[i] = (lud_sweep_value){grid_number(r, t), NULL};
    }
    return LUD_OK;
}

lud_status lud_sweep_range_read(lud_arena *arena, const char *text, bool sampled, lud_sweep_range *r,
                                lud_error *error) {
    const char *equals = strchr(text, '=');
    *r = (lud_sweep_range){0};
    if (!equals || equals == text || equals - text > 127) return range_error(text, error);
    r->key = lud_arena_text(arena, text, (size_t)(equals - text));
    r->values = lud_arena_take_array(arena, LUD_SWEEP_LIST, sizeof *r->values);
    if (!r->key || !r->values) return lud_no_memory(error, "a sweep");
    return *value_end(equals + 1) == ':' ? read_ends(text, equals + 1, sampled, r, error)
                                         : read_list(arena, text, equals + 1, r, error);
}

lud_status lud_sweep_count(const lud_sweep_range *ranges, int n_ranges, int64_t most, int64_t *n,
                           lud_error *error) {
    *n = 1;
    for (int k = 0; k < n_ranges; k++) {
        *n *= ranges[k].n;
        if (*n > most)
            return lud_fail(error, LUD_ERROR_LIMIT, "the grid has more than %lld points; use --samples",
                            (long long)most);
    }
    return LUD_OK;
}

void lud_sweep_point(const lud_sweep_range *ranges, int n_ranges, bool sampled, uint64_t seed, int64_t number,
                     lud_sweep_value *values) {
    int64_t rest = number;
    for (int k = 0; k < n_ranges; k++) {
        const lud_sweep_range *r = &ranges[k];
        if (!sampled) {
            values[k] = r->values[rest % r->n];
            rest /= r->n;
            continue;
        }
        const lud_words words =
            lud_draw((lud_random_key){seed, (uint32_t)k}, (uint32_t)number, 0, LUD_PURPOSE_USER, 0);
        values[k] = r->continuous
                        ? (lud_sweep_value){drawn_number(r, lud_unit53(words.v[0], words.v[1])), NULL}
                        : r->values[lud_below(words.v[2], (uint32_t)r->n)];
    }
}

const char *lud_sweep_text(lud_arena *arena, const lud_sweep_value *value) {
    char text[40];
    if (value->text) return value->text;
    /* a whole number stays one, however large */
    const bool whole = value->number == rint(value->number) && fabs(value->number) < 1e15;
    const int n = snprintf(text, sizeof text, whole ? "%.0f" : "%.6g", value->number);
    return lud_arena_text(arena, text, (size_t)n);
}
