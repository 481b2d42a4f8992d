#include "base/options/yaml_scalars.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Where the run of blanks and line breaks at i ends, and how many breaks are in it. */
static size_t space_end(const char *s, size_t i, size_t end, size_t *breaks) {
    for (*breaks = 0; i < end && (is_blank(s[i]) || s[i] == '\n' || s[i] == '\r'); i++)
        *breaks += s[i] == '\n' || (s[i] == '\r' && (i + 1 == end || s[i + 1] != '\n'));
    return i;
}

/* ---- block scalars ---- */

typedef struct source_line {
    size_t begin, end; /* without its break */
    size_t next;       /* where the following one begins */
} source_line;

static source_line line_at(const lud_yaml_source *y, size_t begin, size_t stop) {
    source_line line = {begin, begin, stop};
    while (line.end < stop && y->text[line.end] != '\n' && y->text[line.end] != '\r') line.end++;
    if (line.end == stop) return line;
    const bool two = y->text[line.end] == '\r' && line.end + 1 < stop && y->text[line.end + 1] == '\n';
    line.next = line.end + (two ? 2 : 1);
    return line;
}

static size_t spaces_of(const lud_yaml_source *y, source_line line) {
    size_t n = 0;
    while (line.begin + n < line.end && y->text[line.begin + n] == ' ') n++;
    return n;
}

/* What stands behind the `|` or `>` whose text begins on the next line, at `begin`: a digit, the indentation
 * that is meant, and what becomes of the last breaks: '-' none stays, '+' all, 0 one. */
static void block_header(const lud_yaml_source *y, size_t begin, char *digit, char *chomping) {
    const char *s = y->text;
    size_t end = begin, first;
    while (end > 0 && (s[end - 1] == '\n' || s[end - 1] == '\r') && begin - end < 2) end--;
    first = end;
    while (first > 0 && s[first - 1] != '\n' && s[first - 1] != '\r') first--;
    for (; first < end; first++) {
        if (s[first] != '|' && s[first] != '>') continue;
        size_t at = first + 1;
        *digit = *chomping = 0;
        for (; at < end && at < first + 3; at++)
            if (s[at] >= '1' && s[at] <= '9' && !*digit)
                *digit = s[at];
            else if ((s[at] == '-' || s[at] == '+') && !*chomping)
                *chomping = s[at];
            else
                break;
        const bool apart = at == end || is_blank(s[at]);
        while (at < end && is_blank(s[at])) at++;
        if (at == end || (apart && s[at] == '#')) return;
    }
    *digit = *chomping = 0;
}

/* The text of a literal or folded block (YAML 1.2, 8.1), from the source: libfyaml 0.7 counts some longer
 * than it writes them, and hands back what its memory held before. `said` is its text, of which the beginning
 * is right. */
static lud_status block_text(const lud_yaml_source *y, struct fy_token *token, const char *said,
                             size_t said_length, const char **text, size_t *length) {
    const size_t begin = fy_token_start_mark(token)->input_pos, stop = fy_token_end_mark(token)->input_pos;
    const bool folds = fy_token_scalar_style(token) == FYSS_FOLDED;
    assert(begin <= stop && stop <= y->length);
    char digit, chomping;
    block_header(y, begin, &digit, &chomping);
    size_t indent = 0;
    bool any = false;
    for (size_t at = begin; at < stop && !any;) { /* that of the first line with something on it */
        const source_line line = line_at(y, at, stop);
        const size_t spaces = spaces_of(y, line);
        any = line.begin + spaces < line.end;
        if (any || spaces > indent) indent = spaces;
        at = line.next;
    }
    if (digit && any) { /* so many of its spaces are text */
        size_t first = 0, spaces = 0;
        for (size_t i = 0; i < said_length && (said[i] == ' ' || said[i] == '\n'); i++) {
            if (said[i] == '\n') first = i + 1;
            spaces = i + 1 - first;
        }
        indent -= spaces < indent ? spaces : indent;
    }
    char *out = lud_arena_take(y->arena, stop - begin + 2);
    if (!out) return lud_out_of_memory(y->error);
    size_t n = 0, breaks = 0; /* not yet written */
    bool was_spaced = false;
    any = false; /* whether a line is written */
    for (size_t at = begin; at < stop;) {
        const source_line line = line_at(y, at, stop);
        const size_t spaces = spaces_of(y, line);
        at = line.next;
        const bool blank = line.begin + spaces == line.end;
        if (spaces < indent && !blank) break;      /* a comment behind it */
        if (blank && line.end == line.next) break; /* or the blanks before one */
        const size_t from = line.begin + (spaces < indent ? spaces : indent), bytes = line.end - from;
        if (bytes == 0) {
            breaks++;
            continue;
        }
        const bool spaced = is_blank(y->text[from]);
        if (folds && any && !spaced && !was_spaced) {
            /* one break is a space, of several the first goes */
            if (breaks == 1) out[n++] = ' ';
            breaks--;
        }
        for (; breaks > 0; breaks--) out[n++] = '\n';
        memcpy(out + n, y->text + from, bytes);
        n += bytes;
        any = true;
        breaks = 1; /* its own */
        was_spaced = spaced;
    }
    if (chomping != '+') breaks = !chomping && any;
    for (; breaks > 0; breaks--) out[n++] = '\n';
    out[n] = 0;
    *text = out;
    *length = n;
    return LUD_OK;
}

/* ---- quotes ---- */

/* The character that s[0..n-1], behind a backslash, stands for; `used`: bytes of it. */
static uint32_t escaped_character(const char *s, size_t n, size_t *used) {
    static const char letters[] = "0abt\tnvfre \"/\\N_LP";
    static const uint32_t meanings[] = {0,    7,   8,   '\t', '\t', '\n', 11,   12,     '\r',
                                        0x1b, ' ', '"', '/',  '\\', 0x85, 0xa0, 0x2028, 0x2029};
    const size_t digits = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : s[0] == 'U' ? 8 : 0;
    *used = 1;
    if (!digits) {
        const char *found = memchr(letters, s[0], sizeof letters - 1);
        return found ? meanings[found - letters] : (unsigned char)s[0];
    }
    uint32_t c = 0;
    for (; *used <= digits && *used < n && lud_hex_value(s[*used]) >= 0; ++*used)
        c = c << 4 | (uint32_t)lud_hex_value(s[*used]);
    return c;
}

/* The text between quotes (YAML 1.2, 7.3.1 and 7.3.2): blanks around a line break go, and a run of n breaks
 * is a space where n is 1, else n - 1 breaks. Of single quotes two are one; double ones have escapes, also of
 * a break, which then is no space. From the source, because libfyaml 0.7 writes single quotes that stand side
 * by side more than once, leaks where there are many, and loses what stands behind escaped blanks and breaks.
 */
static lud_status quoted_text(const lud_yaml_source *y, struct fy_token *token, lud_place place,
                              const char **text, size_t *length) {
    const size_t begin = fy_token_start_mark(token)->input_pos, end = fy_token_end_mark(token)->input_pos;
    const bool is_double = fy_token_scalar_style(token) == FYSS_DOUBLE_QUOTED;
    assert(begin <= end && end <= y->length);
    const char *s = y->text;
    char *out = lud_arena_take(y->arena, end - begin + 1);
    if (!out) return lud_out_of_memory(y->error);
    size_t n = 0;
    for (size_t i = begin; i < end;) {
        const bool escapes = is_double && s[i] == '\\' && i + 1 < end;
        const bool escaped_break = escapes && (s[i + 1] == '\n' || s[i + 1] == '\r');
        if (escapes && !escaped_break) {
            size_t used;
            const uint32_t c = escaped_character(s + i + 1, end - i - 1, &used);
            if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
                return lud_invalid_at(y->error, place, "expected a character, found the escape of none, 0x%x",
                                      c);
            n += lud_utf8_put(out + n, c);
            i += 1 + used;
            continue;
        }
        size_t breaks;
        const size_t next = space_end(s, i + escaped_break, end, &breaks);
        if (next == i) {
            i += !is_double && s[i] == '\'' ? 2 : 1;
            out[n++] = s[next];
            continue;
        }
        if (!breaks) {
            memcpy(out + n, s + i, next - i);
            n += next - i;
        }
        if (breaks == 1 && !escaped_break) out[n++] = ' ';
        for (size_t k = 1; k < breaks; k++) out[n++] = '\n';
        i = next;
    }
    if (memchr(out, 0, n)) return lud_invalid_at(y->error, place, "expected text, found a zero byte in it");
    out[n] = 0;
    *text = out;
    *length = n;
    return LUD_OK;
}

static bool has_breaks(const lud_yaml_source *y, struct fy_token *token) {
    const size_t begin = fy_token_start_mark(token)->input_pos, end = fy_token_end_mark(token)->input_pos;
    return begin < end && end <= y->length &&
           (memchr(y->text + begin, '\n', end - begin) || memchr(y->text + begin, '\r', end - begin));
}

/* ---- all ---- */

lud_status lud_yaml_scalar(const lud_yaml_source *y, struct fy_token *token, lud_place place,
                           const char **text, size_t *length) {
    *length = 0;
    const enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    if (style == FYSS_SINGLE_QUOTED || (style == FYSS_DOUBLE_QUOTED && has_breaks(y, token)))
        return quoted_text(y, token, place, text, length);
    const char *bytes = token ? fy_token_get_text(token, length) : "";
    /* libfyaml hands back an empty text when it has no memory for one, and counts it without */
    if (!bytes || (*length == 0 && token && fy_token_get_text_length(token) > 0))
        return lud_out_of_memory(y->error);
    if (style == FYSS_LITERAL || style == FYSS_FOLDED)
        return block_text(y, token, bytes, *length, text, length);
    if (memchr(bytes, 0, *length))
        return lud_invalid_at(y->error, place, "expected text, found a zero byte in it");
    *text = lud_arena_text(y->arena, bytes, *length);
    return *text ? LUD_OK : lud_out_of_memory(y->error);
}
