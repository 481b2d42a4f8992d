#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "sim/proof/knowledge/proof_builder.h"
#include "sim/proof/knowledge/proof_triples.h"

/* One line being read. */
typedef struct cursor {
    lud_proof_builder *builder;
    const char *file;
    const char *next, *end;        /* of the text after the present line */
    const char *begin, *at, *stop; /* the line, without its end */
    int line;
    lud_error *error;
    lud_proof_format format; /* of the lines: atoms where they are rules or domains */
} cursor;

static lud_status fail(const cursor *c, const char *at, const char *what, const char *expected) {
    lud_place place = {c->file, c->line, (int)(at - c->begin) + 1};
    return lud_invalid_at(c->error, place, "%s, expected %s", what, expected);
}

static lud_status no_memory(const cursor *c) {
    return lud_fail(c->error, LUD_ERROR_MEMORY, "%s: out of memory while reading line %d", c->file, c->line);
}

static bool grow(void *list, size_t size) {
    struct {
        void *items;
        size_t n, capacity;
    } any;
    memcpy(&any, list, sizeof any);
    if (any.n < any.capacity) return true;
    size_t capacity = any.capacity ? any.capacity * 2 : 64;
    void *items = capacity > SIZE_MAX / size ? NULL : realloc(any.items, capacity * size);
    if (!items) return false;
    any.items = items;
    any.capacity = capacity;
    memcpy(list, &any, sizeof any);
    return true;
}
#define APPEND(list, ...)                                                                                    \
    (grow(&(list), sizeof *(list).items) && ((list).items[(list).n++] = (__VA_ARGS__), true))

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
static void skip_blanks(cursor *c) {
    while (c->at < c->stop && is_blank(*c->at)) c->at++;
}
static bool at_end(const cursor *c) {
    return c->at == c->stop;
}
static char peek(const cursor *c) {
    return c->at < c->stop ? *c->at : 0;
}

/* A field of tabs or commas may be a name that begins with #, so that a comment there has a blank behind it.
 */
static bool is_comment(const cursor *c) {
    if (*c->at == '%') return true;
    if (*c->at != '#') return false;
    const bool fields = c->format == LUD_PROOF_TABS || c->format == LUD_PROOF_COMMAS;
    return !fields || c->at + 1 == c->stop || c->at[1] == ' ' || c->at[1] == '#';
}

/* Moves to the next line that is neither blank nor a comment; false at the end of the text. */
static bool next_line(cursor *c) {
    while (c->next < c->end) {
        const char *stop = memchr(c->next, '\n', (size_t)(c->end - c->next));
        if (!stop) stop = c->end;
        c->begin = c->at = c->next;
        c->stop = stop;
        c->next = stop < c->end ? stop + 1 : stop;
        c->line++;
        while (c->stop > c->at && is_blank(c->stop[-1])) c->stop--;
        skip_blanks(c);
        if (!at_end(c) && !is_comment(c)) return true;
    }
    return false;
}

static cursor begin(lud_proof_builder *builder, const char *file, const char *text, size_t length,
                    lud_error *error) {
    /* an entry has five bytes or more, so this also keeps their numbers within 32 bits */
    assert(length <= INT32_MAX);
    cursor c = {builder, file, text, text + length, text, text, text, 0, error, LUD_PROOF_ATOMS};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) c.next += 3; /* byte order mark */
    return c;
}

static bool contains(const cursor *c, const char *word) {
    return memmem(c->at, (size_t)(c->stop - c->at), word, strlen(word)) != NULL;
}

/* A name up to one of the characters in `stops`, without blanks around it, or the inside of quotes. */
static lud_status read_name(cursor *c, const char *stops, const char *expected, const char **name,
                            size_t *length, bool *quoted) {
    skip_blanks(c);
    const char *start = c->at;
    *quoted = peek(c) == '\'' || peek(c) == '"';
    if (*quoted) {
        const char *close = memchr(start + 1, *start, (size_t)(c->stop - start - 1));
        if (!close) return fail(c, start, "a quote that is not closed", "the same quote again on this line");
        *name = start + 1;
        *length = (size_t)(close - start - 1);
        c->at = close + 1;
        skip_blanks(c);
    } else {
        while (!at_end(c) && !strchr(stops, *c->at) && *c->at != 0) c->at++;
        const char *stop = c->at;
        while (stop > start && is_blank(stop[-1])) stop--;
        *name = start;
        *length = (size_t)(stop - start);
    }
    if (*length == 0) return fail(c, start, "an empty name", expected);
    if (*length > LUD_PROOF_MAX_NAME) return fail(c, start, "a name over 4096 bytes", "a shorter one");
    if (memchr(*name, 0, *length) || (c->at < c->stop && *c->at == 0))
        return fail(c, c->at, "a zero byte", "text");
    return LUD_OK;
}

/* What to do with an argument: its term, or a negative status as INT32_MIN. */
typedef lud_status (*read_term)(cursor *c, const char *name, size_t length, bool quoted, int32_t *term);

static lud_status constant_term(cursor *c, const char *name, size_t length, bool quoted, int32_t *term) {
    (void)quoted;
    *term = lud_proof_names_add(&c->builder->constants, name, length);
    return *term < 0 ? no_memory(c) : LUD_OK;
}

/* Names of the rule that is being read start at entry `variables` of the builder's list. */
static lud_status rule_term(cursor *c, const char *name, size_t length, bool quoted, int32_t *term) {
    lud_proof_builder *b = c->builder;
    if (quoted) return constant_term(c, name, length, quoted, term);
    int32_t label = lud_proof_names_add(&b->labels, name, length);
    if (label < 0) return no_memory(c);
    raw_rule *rule = &b->rules.items[b->rules.n - 1];
    for (int32_t j = 0; j < rule->n_variables; j++)
        if (b->variable_names.items[rule->variables + (size_t)j] == label) {
            *term = -1 - j;
            return LUD_OK;
        }
    if (rule->n_variables == LUD_PROOF_MAX_VARIABLES)
        return fail(c, name, "more than 64 variables in a rule", "fewer");
    if (!APPEND(b->variable_names, label)) return no_memory(c);
    *term = -1 - rule->n_variables++;
    return LUD_OK;
}

static lud_status check_arity(cursor *c, const char *place, int32_t predicate, int n_terms) {
    lud_proof_builder *b = c->builder;
    if ((size_t)predicate == b->arity.n) {
        if (!APPEND(b->arity, (uint8_t)n_terms)) return no_memory(c);
    } else if (b->arity.items[predicate] != n_terms) {
        char what[128];
        snprintf(what, sizeof what, "%d arguments where this predicate had %d before", n_terms,
                 b->arity.items[predicate]);
        return fail(c, place, what, "the same number everywhere");
    }
    return LUD_OK;
}

/* An atom with its brackets. *arity is set even when `keep` is false, and then nothing is registered. */
static lud_status read_atom(cursor *c, read_term term, raw_atom *atom) {
    const char *name, *place;
    size_t length;
    bool quoted;
    skip_blanks(c);
    place = c->at;
    LUD_TRY(read_name(c, "(),", "a predicate name", &name, &length, &quoted));
    if (peek(c) != '(')
        return fail(c, c->at, at_end(c) ? "the end of the line" : "something else",
                    term == constant_term && at_end(c)
                        ? "`(` after a predicate, or tabs or commas between the parts of a triple"
                        : "`(` after a predicate");
    c->at++;
    *atom = (raw_atom){0};
    int n_terms = 0;
    for (;;) {
        const char *argument;
        size_t argument_length;
        LUD_TRY(read_name(c, "(),", "an argument", &argument, &argument_length, &quoted));
        if (n_terms == LUD_PROOF_MAX_ARITY) return fail(c, argument, "a fifth argument", "at most four");
        LUD_TRY(term(c, argument, argument_length, quoted, &atom->terms[n_terms++]));
        char separator = peek(c);
        if (separator != ',' && separator != ')')
            return fail(c, c->at, at_end(c) ? "the end of the line" : "something else",
                        "`,` or `)` after an argument");
        c->at++;
        if (separator == ')') break;
    }
    if (c->builder->syntax == LUD_PROOF_TRIPLES && n_terms != 2)
        return fail(c, place, "an atom that does not have two arguments", "two (or the syntax `relations`)");
    atom->predicate = lud_proof_names_add(&c->builder->predicates, name, length);
    if (atom->predicate < 0) return no_memory(c);
    return check_arity(c, place, atom->predicate, n_terms);
}

/* Number of arguments of the atom that starts here, by commas outside quotes; for skipping what is not a
 * triple. */
static int count_arguments(const cursor *c) {
    const char *at = memchr(c->at, '(', (size_t)(c->stop - c->at));
    if (!at) return -1;
    int n = 1;
    char quote = 0;
    for (at++; at < c->stop; at++) {
        if (quote) {
            if (*at == quote) quote = 0;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == ',') {
            n++;
        } else if (*at == ')') {
            return n;
        }
    }
    return -1;
}

/* Lines of a Prolog file that hold no triple. */
static bool is_skipped(const cursor *c) {
    if (c->builder->syntax != LUD_PROOF_TRIPLES) return false;
    static const char one_step[] = "one_step";
    size_t rest = (size_t)(c->stop - c->at);
    if (contains(c, ":-") || contains(c, "findall") || *c->at == '[' || *c->at == ']') return true;
    if (rest >= sizeof one_step - 1 && memcmp(c->at, one_step, sizeof one_step - 1) == 0) return true;
    int n = count_arguments(c);
    return n > 0 && n != 2;
}

static void skip_dot(cursor *c) {
    skip_blanks(c);
    if (peek(c) == '.') c->at++;
    skip_blanks(c);
}

static lud_status expect_end(cursor *c) {
    skip_dot(c);
    return at_end(c) ? LUD_OK : fail(c, c->at, "more text after the atom", "the end of the line");
}

static lud_status read_integer(cursor *c, int64_t minimum, int64_t maximum, int64_t *value) {
    skip_blanks(c);
    const char *start = c->at;
    bool negative = peek(c) == '-';
    if (negative) c->at++;
    int64_t v = 0;
    int digits = 0;
    for (; peek(c) >= '0' && peek(c) <= '9' && digits < 18; c->at++, digits++) v = v * 10 + (*c->at - '0');
    if (negative) v = -v;
    if (digits == 0 || v < minimum || v > maximum || (!at_end(c) && !is_blank(*c->at)))
        return fail(c, start, "not a whole number in range", "one");
    *value = v;
    return LUD_OK;
}

/* A finite decimal number that ends at a blank, the line's end or a character of `stops`. */
static lud_status read_real(cursor *c, const char *stops, double *value) {
    skip_blanks(c);
    const char *start = c->at;
    char copy[64];
    size_t n = 0;
    while (!at_end(c) && !is_blank(*c->at) && !(*c->at && strchr(stops, *c->at)) && n + 1 < sizeof copy)
        copy[n++] = *c->at++;
    copy[n] = 0;
    const char *stop;
    if (!lud_number_real(copy, &stop, value) || *stop)
        return fail(c, start, "not a number", "a finite decimal number");
    return LUD_OK;
}

/* ---- facts and queries ---- */

/* Keeps the name of the file that is read. */
static bool keep_name(char **kept, const char *name) {
    free(*kept);
    return (*kept = strdup(name)) != NULL;
}

static lud_status field_term(cursor *c, lud_proof_names *names, const lud_proof_line *line, int field,
                             int32_t *number) {
    const size_t length = line->fields[field].length;
    const char *at = c->at + line->fields[field].at;
    if (length == 0) return fail(c, at, "an empty field", "a name");
    if (length > LUD_PROOF_MAX_NAME) return fail(c, at, "a name over 4096 bytes", "a shorter one");
    *number = lud_proof_names_add(names, line->fields[field].text, length);
    return *number < 0 ? no_memory(c) : LUD_OK;
}

/* A line of three fields, and of a query its depth. *none: it is a comment or names the columns. */
static lud_status read_fields(cursor *c, lud_proof_format format, char *room, bool first, raw_query *query,
                              bool with_depth, bool *none) {
    lud_proof_builder *b = c->builder;
    lud_proof_line line;
    if (!lud_proof_split_line(format, c->at, (size_t)(c->stop - c->at), room, &line))
        return fail(c, c->at + line.fault_at, line.fault, line.expected);
    *none = line.n == 0 || (first && lud_proof_is_header(&line));
    if (*none) return LUD_OK;
    const char *begin = c->at;
    query->atom = (raw_atom){0};
    lud_status status = field_term(c, &b->constants, &line, 0, &query->atom.terms[0]);
    if (!status) status = field_term(c, &b->predicates, &line, 1, &query->atom.predicate);
    if (!status) status = field_term(c, &b->constants, &line, 2, &query->atom.terms[1]);
    if (!status) status = check_arity(c, begin + line.fields[1].at, query->atom.predicate, 2);
    if (status || line.n < LUD_PROOF_FIELDS) return status;
    c->at = begin + line.fields[3].at;
    if (!with_depth) return fail(c, c->at, "a fourth field", "the end of the line");
    int64_t depth;
    status = read_integer(c, -1, 1000000, &depth);
    query->depth = (int32_t)depth;
    return status ? status : expect_end(c);
}

/* An atom, and of a query its depth. */
static lud_status read_atom_line(cursor *c, raw_query *query, bool with_depth) {
    lud_status status = read_atom(c, constant_term, &query->atom);
    if (status || !with_depth) return status ? status : expect_end(c);
    skip_dot(c);
    if (at_end(c)) return LUD_OK;
    int64_t depth;
    status = read_integer(c, -1, 1000000, &depth);
    query->depth = (int32_t)depth;
    return status ? status : expect_end(c);
}

/* What to do with what a line of facts or queries says. */
typedef lud_status (*take_triple)(cursor *c, const raw_query *query, lud_proof_split split);

static lud_status take_fact(cursor *c, const raw_query *query, lud_proof_split split) {
    (void)split;
    const raw_fact fact = {query->atom, 1.0f};
    return APPEND(c->builder->facts, fact) ? LUD_OK : no_memory(c);
}

static lud_status take_query(cursor *c, const raw_query *query, lud_proof_split split) {
    return APPEND(c->builder->queries[split], *query) ? LUD_OK : no_memory(c);
}

/* By the first line that does not begin with #; where all do, these are names, not comments. */
static lud_proof_format guess_format(const cursor *c) {
    cursor ahead = *c;
    ahead.format = LUD_PROOF_ATOMS;
    if (!next_line(&ahead)) {
        ahead = *c;
        ahead.format = LUD_PROOF_TABS;
        if (!next_line(&ahead)) return LUD_PROOF_ATOMS;
    }
    return lud_proof_guess_format(ahead.at, (size_t)(ahead.stop - ahead.at));
}

static lud_status read_triples(cursor *c, take_triple take, lud_proof_split split) {
    const lud_proof_format format =
        c->builder->format == LUD_PROOF_AUTO ? guess_format(c) : c->builder->format;
    c->format = format;
    const bool with_depth = take == take_query;
    char *room = NULL; /* for any line of the text */
    lud_status status = LUD_OK;
    for (bool first = true; !status && next_line(c); first = false) {
        raw_query query = {.depth = LUD_PROOF_NO_DEPTH, .line = c->line};
        bool none = format == LUD_PROOF_ATOMS && is_skipped(c);
        c->builder->skipped += none;
        if (format != LUD_PROOF_ATOMS && !room && !(room = malloc((size_t)(c->end - c->begin) + 1)))
            status = no_memory(c);
        else if (format != LUD_PROOF_ATOMS)
            status = read_fields(c, format, room, first, &query, with_depth, &none);
        else if (!none)
            status = read_atom_line(c, &query, with_depth);
        if (!status && !none) status = take(c, &query, split);
    }
    free(room);
    return status;
}

lud_status lud_proof_read_facts(lud_proof_builder *builder, const char *name, const char *text, size_t length,
                                lud_error *error) {
    cursor c = begin(builder, name, text, length, error);
    return read_triples(&c, take_fact, LUD_PROOF_TRAIN);
}

lud_status lud_proof_read_queries(lud_proof_builder *builder, lud_proof_split split, const char *name,
                                  const char *text, size_t length, lud_error *error) {
    cursor c = begin(builder, name, text, length, error);
    if (!keep_name(&builder->query_files[split], name)) return no_memory(&c);
    return read_triples(&c, take_query, split);
}

/* ---- rules ---- */

/* Takes the text from here to `colon` as the rule's name. */
static lud_status take_label(cursor *c, raw_rule *rule, const char *colon) {
    const char *stop = colon;
    skip_blanks(c);
    while (stop > c->at && is_blank(stop[-1])) stop--;
    if (stop == c->at) return fail(c, c->at, "an empty rule name", "a name before the colon");
    rule->name = lud_proof_names_add(&c->builder->labels, c->at, (size_t)(stop - c->at));
    if (rule->name < 0) return no_memory(c);
    c->at = colon + 1;
    return LUD_OK;
}

/* Whether it is written as a number, also one that is out of range, which then is no name. */
static bool is_number(const char *from, const char *to) {
    bool digits = false;
    while (from < to && is_blank(*from)) from++;
    while (to > from && is_blank(to[-1])) to--;
    for (; from < to; from++) {
        if (!*from || !strchr("0123456789+-.eE", *from)) return false;
        digits = digits || (*from >= '0' && *from <= '9');
    }
    return digits;
}

/* Whether `a:b(` without a blank means b with the name a: where nothing is called a:b, but something b. */
static bool is_name(const cursor *c, const char *colon, const char *bracket) {
    const char *begin = c->at, *end = bracket;
    while (begin < colon && is_blank(*begin)) begin++;
    while (end > colon && is_blank(end[-1])) end--;
    const lud_proof_names *known = &c->builder->predicates;
    return lud_proof_names_find(known, begin, (size_t)(end - begin)) < 0 &&
           lud_proof_names_find(known, colon + 1, (size_t)(end - colon - 1)) >= 0;
}

/* `name:weight:` or `name: ` before the first predicate. */
static lud_status read_rule_label(cursor *c, raw_rule *rule) {
    const char *bracket = memchr(c->at, '(', (size_t)(c->stop - c->at));
    if (!bracket) return LUD_OK;
    const char *colon[2] = {NULL, NULL};
    int n = 0;
    for (const char *p = c->at; p < bracket && n < 2; p++)
        if (*p == ':') colon[n++] = p;
    const bool apart = n > 0 && is_blank(colon[0][1]);
    if (n < 2 || (apart && !is_number(colon[0] + 1, colon[1])))
        return apart || (n == 1 && is_name(c, colon[0], bracket)) ? take_label(c, rule, colon[0]) : LUD_OK;
    lud_status status = take_label(c, rule, colon[0]);
    if (!status) status = read_real(c, ":", &rule->weight);
    if (status) return status;
    skip_blanks(c);
    if (c->at != colon[1]) return fail(c, c->at, "text between weight and colon", "`:`");
    c->at++;
    return LUD_OK;
}

/* Body atoms up to the end of the line or `->`. */
static lud_status read_body(cursor *c, raw_rule *rule, bool arrow_follows) {
    lud_proof_builder *b = c->builder;
    for (;;) {
        skip_blanks(c);
        if (rule->n_body == LUD_PROOF_MAX_BODY)
            return fail(c, c->at, "more than 32 atoms in a body", "fewer");
        raw_atom atom;
        LUD_TRY(read_atom(c, rule_term, &atom));
        if (!APPEND(b->bodies, atom)) return no_memory(c);
        rule = &b->rules.items[b->rules.n - 1];
        rule->n_body++;
        skip_blanks(c);
        if (peek(c) == ',') {
            c->at++;
            continue;
        }
        if (!arrow_follows) return LUD_OK;
        if (c->stop - c->at >= 2 && c->at[0] == '-' && c->at[1] == '>') {
            c->at += 2;
            return LUD_OK;
        }
        return fail(c, c->at, "something else between atoms", "`,` or `->`");
    }
}

/* Renumbers the rule's variables by first appearance, head before body (an arrow rule is read body first). */
static void order_variables(lud_proof_builder *b, raw_rule *rule) {
    int32_t map[LUD_PROOF_MAX_VARIABLES], names[LUD_PROOF_MAX_VARIABLES], n = 0;
    for (int32_t j = 0; j < rule->n_variables; j++) map[j] = -1;
    for (int32_t a = -1; a < rule->n_body; a++) {
        raw_atom *atom = a < 0 ? &rule->head : &b->bodies.items[rule->body + (size_t)a];
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
            if (atom->terms[i] >= 0) continue;
            int32_t j = -1 - atom->terms[i];
            if (map[j] < 0) {
                names[n] = b->variable_names.items[rule->variables + (size_t)j];
                map[j] = n++;
            }
            atom->terms[i] = -1 - map[j];
        }
    }
    if (n > 0) memcpy(&b->variable_names.items[rule->variables], names, (size_t)n * sizeof *names);
}

static lud_status read_rule(cursor *c) {
    lud_proof_builder *b = c->builder;
    raw_rule fresh = {
        .body = b->bodies.n, .variables = b->variable_names.n, .name = -1, .weight = 1.0, .line = c->line};
    if (!APPEND(b->rules, fresh)) return no_memory(c);
    raw_rule *rule = &b->rules.items[b->rules.n - 1];
    LUD_TRY(read_rule_label(c, rule));
    bool arrow = contains(c, "->");
    skip_blanks(c);
    if (arrow && c->stop - c->at >= 2 && memcmp(c->at, "->", 2) == 0)
        return fail(c, c->at, "a body without atoms", "atoms before `->`, or the head alone");
    if (arrow) LUD_TRY(read_body(c, rule, true));
    raw_atom head;
    LUD_TRY(read_atom(c, rule_term, &head));
    rule = &b->rules.items[b->rules.n - 1];
    rule->head = head;
    skip_blanks(c);
    if (!arrow && c->stop - c->at >= 2 && c->at[0] == ':' && c->at[1] == '-') {
        c->at += 2;
        LUD_TRY(read_body(c, rule, false));
    } else if (!arrow && !at_end(c) && peek(c) != '.') {
        return fail(c, c->at, "something else behind the first atom",
                    "`body -> head`, `head :- body` or a head alone");
    }
    lud_status status = expect_end(c);
    if (!status) order_variables(b, &b->rules.items[b->rules.n - 1]);
    return status;
}

lud_status lud_proof_read_rules(lud_proof_builder *builder, const char *name, const char *text, size_t length,
                                lud_error *error) {
    cursor c = begin(builder, name, text, length, error);
    if (!keep_name(&builder->rule_file, name)) return no_memory(&c);
    while (next_line(&c)) {
        LUD_TRY(read_rule(&c));
    }
    return LUD_OK;
}

static lud_status read_signature(cursor *c, const char *first_colon) {
    lud_proof_builder *b = c->builder;
    const char *second = memchr(first_colon + 1, ':', (size_t)(c->stop - first_colon - 1));
    if (!second || memchr(second + 1, ':', (size_t)(c->stop - second - 1)))
        return fail(c, first_colon, "not two colons", "predicate:first_domain:last_domain");
    const char *starts[3] = {c->at, first_colon + 1, second + 1}, *stops[3] = {first_colon, second, c->stop};
    int32_t index[3];
    lud_proof_names *names[3] = {&b->signatures, &b->domains, &b->domains};
    for (int i = 0; i < 3; i++) {
        const char *start = starts[i], *stop = stops[i];
        while (start < stop && is_blank(*start)) start++;
        while (stop > start && is_blank(stop[-1])) stop--;
        if (start == stop) return fail(c, starts[i], "an empty name", "a predicate or a domain");
        index[i] = lud_proof_names_add(names[i], start, (size_t)(stop - start));
        if (index[i] < 0) return no_memory(c);
    }
    if (!APPEND(b->argument_domains, (raw_signature){index[0], index[1], index[2]})) return no_memory(c);
    return LUD_OK;
}

lud_status lud_proof_read_domains(lud_proof_builder *builder, const char *name, const char *text,
                                  size_t length, lud_error *error) {
    cursor c = begin(builder, name, text, length, error);
    while (next_line(&c)) {
        if (memchr(c.at, 0, (size_t)(c.stop - c.at))) return fail(&c, c.at, "a zero byte", "text");
        const char *blank = c.at;
        while (blank < c.stop && !is_blank(*blank)) blank++;
        const char *colon = memchr(c.at, ':', (size_t)(blank - c.at));
        if (colon) {
            LUD_TRY(read_signature(&c, colon));
            continue;
        }
        int32_t domain = lud_proof_names_add(&builder->domains, c.at, (size_t)(blank - c.at));
        if (domain < 0) return no_memory(&c);
        c.at = blank;
        for (skip_blanks(&c); !at_end(&c); skip_blanks(&c)) {
            const char *start = c.at;
            while (!at_end(&c) && !is_blank(*c.at)) c.at++;
            int32_t member = lud_proof_names_add(&builder->members, start, (size_t)(c.at - start));
            if (member < 0 || !APPEND(builder->memberships, (raw_membership){domain, member}))
                return no_memory(&c);
        }
    }
    return LUD_OK;
}

lud_status lud_proof_read_scores(lud_proof_builder *builder, const char *name, const char *text,
                                 size_t length, bool as_facts, int64_t top_k, double threshold,
                                 lud_error *error) {
    cursor c = begin(builder, name, text, length, error);
    while (next_line(&c)) {
        raw_fact entry;
        double score;
        int64_t rank;
        LUD_TRY(read_atom(&c, constant_term, &entry.atom));
        skip_dot(&c);
        LUD_TRY(read_real(&c, "", &score));
        LUD_TRY(read_integer(&c, 0, INT64_C(1000000000000), &rank));
        LUD_TRY(expect_end(&c));
        entry.score = (float)score;
        if (!APPEND(builder->scores, entry)) return no_memory(&c);
        if (as_facts && rank <= top_k && score >= threshold && !APPEND(builder->facts, entry))
            return no_memory(&c);
    }
    return LUD_OK;
}

lud_proof_builder *lud_proof_builder_create(lud_proof_syntax syntax) {
    lud_proof_builder *builder = calloc(1, sizeof *builder);
    if (builder) builder->syntax = syntax;
    return builder;
}

void lud_proof_builder_set_format(lud_proof_builder *builder, lud_proof_format format) {
    builder->format = format;
}

int64_t lud_proof_builder_skipped(const lud_proof_builder *builder) {
    return builder->skipped;
}

void lud_proof_builder_destroy(lud_proof_builder *builder) {
    if (!builder) return;
    lud_proof_names *names[] = {&builder->constants, &builder->predicates, &builder->labels,
                                &builder->domains,   &builder->members,    &builder->signatures};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) lud_proof_names_free(names[i]);
    free(builder->arity.items);
    free(builder->facts.items);
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) LUD_FREE(builder->queries[s].items, builder->query_files[s]);
    LUD_FREE(builder->rule_file, builder->rules.items, builder->bodies.items, builder->variable_names.items,
             builder->memberships.items, builder->argument_domains.items, builder->scores.items, builder);
}
