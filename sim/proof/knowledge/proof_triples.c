#include "sim/proof/knowledge/proof_triples.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* ---- which format ---- */

/* Commas outside of brackets and quotes. */
static int count_commas(const char *line, size_t length) {
    int n = 0, depth = 0;
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        const char c = line[i];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"') {
            quote = c;
        } else if (c == '(') {
            depth++;
        } else if (c == ')') {
            depth--;
        } else if (c == ',' && depth <= 0) {
            n++;
        }
    }
    return n;
}

lud_proof_format lud_proof_guess_format(const char *line, size_t length) {
    if (length > 0 && *line == '<') return LUD_PROOF_NTRIPLES;
    if (length > 1 && line[0] == '_' && line[1] == ':') return LUD_PROOF_NTRIPLES;
    if (length > 0 && *line == '[') return LUD_PROOF_ATOMS; /* a list of Prolog */
    const char *tab = memchr(line, '\t', length), *end = line + length;
    const char *again = tab ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
    const bool opens = tab && memchr(line, '(', (size_t)(tab - line)) &&
                       !memchr(line, ')', (size_t)(tab - line)); /* a blank inside an atom */
    if (again && !opens) return LUD_PROOF_TABS;
    return count_commas(line, length) >= 2 ? LUD_PROOF_COMMAS : LUD_PROOF_ATOMS;
}

bool lud_proof_is_header(const lud_proof_line *line) {
    static const char *const names[3][4] = {
        {"head", "subject", "h", "s"}, {"relation", "predicate", "r", "p"}, {"tail", "object", "t", "o"}};
    for (int k = 0; k < 4 && line->n >= 3; k++) {
        bool all = true;
        for (int i = 0; i < 3; i++)
            all = all && line->fields[i].length == strlen(names[i][k]) &&
                  strncasecmp(line->fields[i].text, names[i][k], line->fields[i].length) == 0;
        if (all) return true;
    }
    return false;
}

/* ---- fields ---- */

typedef struct splitter {
    const char *line;
    size_t length, at;
    char *room;
    size_t used;
    lud_proof_line *out;
} splitter;

static bool fault(splitter *s, size_t at, const char *what, const char *expected) {
    s->out->fault = what;
    s->out->expected = expected;
    s->out->fault_at = at;
    return false;
}

static char peek(const splitter *s) {
    return s->at < s->length ? s->line[s->at] : 0;
}

static void skip_blanks(splitter *s) {
    while (s->at < s->length && strchr(" \t\r", s->line[s->at]) && s->line[s->at]) s->at++;
}

static bool add_field(splitter *s, const char *text, size_t length, size_t at) {
    if (s->out->n == LUD_PROOF_FIELDS)
        return fault(s, at, "a fifth field", "subject, predicate and object, and perhaps a depth");
    s->out->fields[s->out->n].text = text;
    s->out->fields[s->out->n].length = length;
    s->out->fields[s->out->n++].at = at;
    return true;
}

/* A field of `"..."`, in which `""` is a quote. */
static bool read_quoted(splitter *s) {
    const size_t begin = s->at++;
    char *text = s->room + s->used;
    for (;; s->at++) {
        if (s->at == s->length)
            return fault(s, begin, "a quote that is not closed", "the same quote again on this line");
        if (s->line[s->at] == '"') {
            if (s->at + 1 == s->length || s->line[s->at + 1] != '"') break;
            s->at++;
        }
        s->room[s->used++] = s->line[s->at];
    }
    s->at++;
    return add_field(s, text, (size_t)(s->room + s->used - text), begin);
}

static bool split_values(splitter *s, char separator) {
    for (;;) {
        while (peek(s) == ' ' || peek(s) == '\r') s->at++;
        if (separator == ',' && peek(s) == '"') {
            if (!read_quoted(s)) return false;
            while (peek(s) == ' ' || peek(s) == '\r') s->at++;
            if (s->at < s->length && s->line[s->at] != separator)
                return fault(s, s->at, "text behind a quote", "a comma or the end of the line");
        } else {
            const size_t begin = s->at;
            while (s->at < s->length && s->line[s->at] != separator) s->at++;
            size_t end = s->at;
            while (end > begin && (s->line[end - 1] == ' ' || s->line[end - 1] == '\r')) end--;
            if (!add_field(s, s->line + begin, end - begin, begin)) return false;
        }
        if (s->at == s->length) break;
        s->at++;
    }
    return s->out->n >= 3 || fault(s, s->length, "fewer than three fields", "subject, predicate and object");
}

/* ---- N-Triples ---- */

static void put_character(splitter *s, unsigned long code) {
    s->used += lud_utf8_put(s->room + s->used, (uint32_t)code);
}

/* Behind a backslash. Never longer than what stands in the line. */
static bool read_escape(splitter *s) {
    static const char letters[] = "tbnrf\"'\\", meant[] = "\t\b\n\r\f\"'\\";
    const size_t begin = s->at++;
    const char kind = peek(s);
    const char *letter = kind ? strchr(letters, kind) : NULL;
    if (letter) {
        s->room[s->used++] = meant[letter - letters];
        s->at++;
        return true;
    }
    const int n = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    unsigned long code = 0;
    s->at++;
    int read = 0;
    for (int value; read < n && (value = lud_hex_value(peek(s))) >= 0; read++, s->at++)
        code = code * 16 + (unsigned long)value;
    if (n == 0 || read < n || code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fault(s, begin, "an escape that means nothing", "one such as \\n, \\\" or \\u00e9");
    put_character(s, code);
    return true;
}

/* Up to `close`, decoded into the room. */
static bool read_until(splitter *s, char close, const char *expected) {
    const size_t begin = s->at++;
    while (peek(s) != close || s->at == s->length) {
        if (s->at == s->length) return fault(s, begin, "something that is not closed", expected);
        if (peek(s) == '\\') {
            if (!read_escape(s)) return false;
        } else {
            s->room[s->used++] = s->line[s->at++];
        }
    }
    s->at++;
    return true;
}

/* `@en` or `^^<type>` behind a literal, kept as `@en` and `^^type`. */
static bool read_suffix(splitter *s) {
    if (peek(s) == '@')
        while (s->at < s->length && !strchr(" \t.", s->line[s->at])) s->room[s->used++] = s->line[s->at++];
    if (peek(s) != '^') return true;
    for (int i = 0; i < 2; i++) {
        if (peek(s) != '^') return fault(s, s->at, "half of a datatype", "^^<IRI>");
        s->room[s->used++] = '^';
        s->at++;
    }
    if (peek(s) != '<') return fault(s, s->at, "a datatype without its IRI", "^^<IRI>");
    return read_until(s, '>', "> at the end of the IRI");
}

/* An IRI without its brackets, a blank node, or (`literals`) a literal without its quotes. */
static bool read_term(splitter *s, bool literals) {
    skip_blanks(s);
    const size_t begin = s->at, used = s->used;
    bool whole = true;
    if (peek(s) == '<') {
        whole = read_until(s, '>', "> at the end of the IRI");
    } else if (peek(s) == '"' && literals) {
        whole = read_until(s, '"', "the same quote again on this line") && read_suffix(s);
    } else if (peek(s) == '_' && s->at + 1 < s->length && s->line[s->at + 1] == ':') {
        while (s->at < s->length && !strchr(" \t", s->line[s->at])) s->room[s->used++] = s->line[s->at++];
        if (s->used > used && s->room[s->used - 1] == '.' && s->at == s->length) { /* the end of the line */
            s->used--;
            s->at--;
        }
    } else {
        return fault(s, begin, "something else",
                     literals ? "<IRI>, _:name or \"literal\"" : "<IRI> or _:name of a triple");
    }
    return whole && add_field(s, s->room + used, s->used - used, begin);
}

static bool split_ntriple(splitter *s) {
    skip_blanks(s);
    if (peek(s) == '#') return true;
    for (int term = 0; term < 3; term++)
        if (!read_term(s, term == 2)) return false;
    skip_blanks(s);
    if (peek(s) != '.') return fault(s, s->at, "no dot behind a triple", "`.`");
    s->at++;
    skip_blanks(s);
    return s->at == s->length || peek(s) == '#' ||
           fault(s, s->at, "more text behind a triple", "the end of the line");
}

bool lud_proof_split_line(lud_proof_format format, const char *line, size_t length, char *room,
                          lud_proof_line *out) {
    *out = (lud_proof_line){0};
    splitter s = {.line = line, .length = length, .room = room, .out = out};
    if (memchr(line, 0, length)) return fault(&s, 0, "a zero byte", "text");
    return format == LUD_PROOF_NTRIPLES ? split_ntriple(&s)
                                        : split_values(&s, format == LUD_PROOF_TABS ? '\t' : ',');
}
