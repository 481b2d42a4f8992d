#include "base/options/yaml.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libfyaml.h>

#include "base/options/yaml_scalars.h"

/* The event interface is read rather than libfyaml's documents, so that every limit holds while reading,
 * before memory is spent on what a hostile file promises. */

typedef struct anchor {
    const char *name;
    size_t length;
    lud_tree *node; /* null until the node is complete: an alias to itself has no meaning */
    struct anchor *previous;
} anchor;

typedef struct reader {
    lud_arena *arena;
    const char *name;
    const char *source;
    size_t length;
    bool one_place;
    struct fy_parser *parser;
    struct fy_diag *diag;
    anchor *anchors;
    int n_anchors;
    size_t n_nodes;
    lud_error *error;
} reader;

static lud_place place_of(const reader *r, const struct fy_mark *mark) {
    if (r->one_place || !mark) return (lud_place){r->name, 0, 0};
    return (lud_place){r->name, mark->line + 1, mark->column + 1};
}

/* Where a value begins: libfyaml's mark of a quoted scalar or an alias is one behind its first character. */
static lud_place place_of_event(const reader *r, struct fy_event *event) {
    lud_place place = place_of(r, fy_event_start_mark(event));
    bool behind = event->type == FYET_ALIAS;
    if (event->type == FYET_SCALAR && event->scalar.value) {
        enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
        behind = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    }
    if (behind && place.column > 1) place.column--;
    return place;
}

static lud_status out_of_memory(reader *r) {
    return lud_fail(r->error, LUD_ERROR_MEMORY, "%s: out of memory", r->name);
}

static lud_status new_node(reader *r, lud_place place, lud_tree_kind kind, lud_tree **node) {
    if (++r->n_nodes > LUD_TREE_MAX_NODES)
        return lud_invalid_at(r->error, place, "expected at most %d values in a file, found more",
                              (int)LUD_TREE_MAX_NODES);
    *node = lud_arena_take(r->arena, sizeof **node);
    if (!*node) return out_of_memory(r);
    **node = (lud_tree){.kind = kind, .place = place, .key_place = place};
    return LUD_OK;
}

static lud_status check_depth(reader *r, lud_place place, int depth) {
    if (depth <= LUD_TREE_MAX_DEPTH) return LUD_OK;
    return lud_invalid_at(r->error, place, "expected at most %d levels of nesting, found more",
                          (int)LUD_TREE_MAX_DEPTH);
}

/* The message of the first problem libfyaml met. */
static lud_status syntax_error(reader *r) {
    void *iterator = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &iterator);
    const char *message = e && e->msg ? e->msg : "libfyaml does not say which";
    int line = e && e->line >= 0 && !r->one_place ? e->line : 0;
    lud_place place = {r->name, line, e && e->column >= 0 ? e->column : 0};
    size_t length = strcspn(message, "\n");
    return lud_invalid_at(r->error, place, "expected YAML, found a syntax error: %.*s",
                          (int)(length < 200 ? length : 200), message);
}

static lud_status next_event(reader *r, struct fy_event **event) {
    *event = fy_parser_parse(r->parser);
    return *event ? LUD_OK : syntax_error(r);
}

static lud_status open_anchor(reader *r, struct fy_token *token, lud_place place, anchor **opened) {
    *opened = NULL;
    if (!token) return LUD_OK;
    if (++r->n_anchors > LUD_TREE_MAX_ANCHORS)
        return lud_invalid_at(r->error, place, "expected at most %d anchors, found more",
                              (int)LUD_TREE_MAX_ANCHORS);
    size_t length = 0;
    const char *name = fy_token_get_text(token, &length);
    anchor *a = lud_arena_take(r->arena, sizeof *a);
    if (!a || !name) return out_of_memory(r);
    *a = (anchor){.name = lud_arena_text(r->arena, name, length), .length = length, .previous = r->anchors};
    if (!a->name) return out_of_memory(r);
    r->anchors = a;
    *opened = a;
    return LUD_OK;
}

/* `alias` is the place to name when a limit is met; the copies keep the places of what they are copies of. */
static lud_status copy_node(reader *r, const lud_tree *node, lud_place alias, int depth, lud_tree **copy) {
    LUD_TRY(check_depth(r, alias, depth));
    LUD_TRY(new_node(r, alias, node->kind, copy));
    lud_tree *c = *copy;
    *c = *node;
    c->next = NULL;
    c->key_begin = c->begin = c->end = 0; /* what is written elsewhere is not to be changed from here */
    lud_tree **link = &c->child;
    lud_status status = LUD_OK;
    for (const lud_tree *child = node->child; child && !status; child = child->next) {
        status = copy_node(r, child, alias, depth + 1, link);
        if (!status) link = &(*link)->next;
    }
    if (status) *link = NULL;
    return status;
}

static lud_status read_alias(reader *r, struct fy_event *event, int depth, lud_tree **node) {
    lud_place place = place_of_event(r, event);
    size_t length = 0;
    const char *name = fy_token_get_text(event->alias.anchor, &length);
    for (const anchor *a = r->anchors; a && name; a = a->previous) {
        if (a->length != length || memcmp(a->name, name, length) != 0) continue;
        if (!a->node)
            return lud_invalid_at(r->error, place,
                                  "expected an anchor that is complete, found '*%.60s' inside its own anchor",
                                  a->name);
        return copy_node(r, a->node, place, depth, node);
    }
    return lud_invalid_at(r->error, place, "expected an anchor defined before, found '*%.*s'",
                          name ? (int)(length < 60 ? length : 60) : 0, name ? name : "");
}

static lud_status scalar_text(const reader *r, struct fy_token *token, lud_place place, const char **text,
                              size_t *length) {
    const lud_yaml_source source = {r->arena, r->source, r->length, r->error};
    return lud_yaml_scalar(&source, token, place, text, length);
}

static bool is_null_word(const char *text) {
    return !*text || !strcmp(text, "~") || !strcmp(text, "null") || !strcmp(text, "Null") ||
           !strcmp(text, "NULL");
}

/* The columns that a literal block is indented by, from the first line of it that is not blank. `source` is
 * where the block begins in the file. */
static int block_indent(const reader *r, size_t source, const char *text) {
    size_t blank_lines = strspn(text, "\n"), spaces = 0;
    for (size_t i = 0; i < blank_lines; i++) {
        const char *end = source < r->length ? memchr(r->source + source, '\n', r->length - source) : NULL;
        if (!end) return 0;
        source = (size_t)(end - r->source) + 1;
    }
    while (source + spaces < r->length && r->source[source + spaces] == ' ') spaces++;
    size_t inside = strspn(text + blank_lines, " ");
    return spaces > inside ? (int)(spaces - inside) : 0;
}

/* The bytes of a scalar, without blanks behind it. */
static void find_span(const reader *r, struct fy_event *event, bool in_quotes, lud_tree *node) {
    const struct fy_mark *from = fy_event_start_mark(event), *to = fy_event_end_mark(event);
    if (r->one_place || !from || !to || from->input_pos > to->input_pos || to->input_pos > r->length) return;
    size_t begin = from->input_pos, end = to->input_pos;
    const char *s = r->source;
    if (in_quotes) {
        const bool found = begin > 0 && end < r->length && (s[begin - 1] == '\'' || s[begin - 1] == '"') &&
                           s[end] == s[begin - 1];
        if (!found) return;
        begin--;
        end++;
    }
    while (end > begin && isspace((unsigned char)s[end - 1])) end--;
    node->begin = begin;
    node->end = end;
}

/* What a text in no quotes stands for. */
static void settle_meaning(lud_tree *n) {
    if (!n->quoted && is_null_word(n->text)) {
        n->kind = LUD_TREE_NULL;
        n->text = NULL;
        n->text_length = 0;
    } else if (!lud_yaml_is_plain(n->text, n->text_length)) {
        n->quoted = true; /* such a text is never a number, and this way it is written back as it was read */
    }
}

static lud_status read_scalar(reader *r, struct fy_event *event, lud_tree **node) {
    lud_place place = place_of_event(r, event);
    LUD_TRY(new_node(r, place, LUD_TREE_SCALAR, node));
    LUD_TRY(scalar_text(r, event->scalar.value, place, &(*node)->text, &(*node)->text_length));
    lud_tree *n = *node;
    enum fy_scalar_style style =
        event->scalar.value ? fy_token_scalar_style(event->scalar.value) : FYSS_PLAIN;
    n->quoted = style != FYSS_PLAIN;
    find_span(r, event, style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED, n);
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (style == FYSS_LITERAL && mark && !r->one_place) {
        n->literal = true;
        n->place.column = 1 + block_indent(r, mark->input_pos, n->text);
    }
    settle_meaning(n);
    return LUD_OK;
}

static lud_status read_node(reader *r, struct fy_event *event, int depth, lud_tree **node);

typedef struct keyed {
    const lud_tree *node;
    size_t position;
} keyed;

static int compare_keys(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    int order = strcmp(x->node->key, y->node->key);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

/* Sorting keeps a mapping of many keys from costing the square of its size. */
static lud_status check_duplicates(reader *r, const lud_tree *mapping) {
    size_t n = mapping->n_children;
    if (n < 2) return LUD_OK;
    lud_arena_mark mark = lud_arena_get_mark(r->arena);
    keyed *keys = lud_arena_take_array(r->arena, n, sizeof *keys);
    if (!keys) return out_of_memory(r);
    size_t i = 0;
    for (const lud_tree *c = mapping->child; c; c = c->next, i++) keys[i] = (keyed){c, i};
    qsort(keys, n, sizeof *keys, compare_keys);
    const keyed *first = NULL, *again = NULL;
    for (i = 1; i < n; i++)
        if (!strcmp(keys[i].node->key, keys[i - 1].node->key) &&
            (!again || keys[i].position < again->position)) {
            first = &keys[i - 1];
            again = &keys[i];
        }
    lud_status status = LUD_OK;
    if (again) {
        char where[40] = ""; /* a value of the command line has no lines */
        if (first->node->key_place.line > 0)
            snprintf(where, sizeof where, " (first in line %d)", first->node->key_place.line);
        status = lud_invalid_at(r->error, again->node->key_place,
                                "expected each key once, found '%.60s' again%s", again->node->key, where);
    }
    lud_arena_release(r->arena, mark);
    return status;
}

static lud_status read_key(reader *r, struct fy_event *event, const char **key, lud_place *place) {
    *place = place_of_event(r, event);
    if (event->type != FYET_SCALAR)
        return lud_invalid_at(r->error, *place, "expected a word as key, found something else");
    if (event->scalar.tag)
        return lud_invalid_at(r->error, *place, "expected a key without a tag, found a YAML tag");
    size_t length;
    LUD_TRY(scalar_text(r, event->scalar.value, *place, key, &length));
    if (length > LUD_TREE_MAX_KEY_BYTES)
        return lud_invalid_at(r->error, *place, "expected a key of at most %d bytes, found %zu bytes",
                              (int)LUD_TREE_MAX_KEY_BYTES, length);
    return LUD_OK;
}

/* The bytes of a list or section: in brackets to the closing one, else to the end of its last value. */
static void end_span(const reader *r, struct fy_event *event, lud_tree *parent) {
    const struct fy_mark *to = fy_event_end_mark(event);
    if (r->one_place || parent->begin >= r->length) return;
    const char *s = r->source, open = s[parent->begin];
    const bool brackets = open == '{' || open == '[';
    const lud_tree *last = parent->child;
    while (last && last->next) last = last->next;
    if (brackets && to && to->input_pos > parent->begin && to->input_pos <= r->length &&
        s[to->input_pos - 1] == (open == '{' ? '}' : ']'))
        parent->end = to->input_pos;
    else if (!brackets && last)
        parent->end = last->end;
    if (parent->end <= parent->begin) parent->begin = parent->end = 0;
}

static lud_status read_children(reader *r, lud_tree *parent, int depth) {
    enum fy_event_type end = parent->kind == LUD_TREE_MAPPING ? FYET_MAPPING_END : FYET_SEQUENCE_END;
    lud_tree **link = &parent->child;
    for (;;) {
        struct fy_event *event;
        lud_status status = next_event(r, &event);
        if (status) return status;
        if (event->type == end) {
            end_span(r, event, parent);
            fy_parser_event_free(r->parser, event);
            return parent->kind == LUD_TREE_MAPPING ? check_duplicates(r, parent) : LUD_OK;
        }
        const char *key = NULL;
        lud_place key_place = {0};
        lud_tree key_span = {0};
        if (parent->kind == LUD_TREE_MAPPING) {
            status = read_key(r, event, &key, &key_place);
            if (!status)
                find_span(r, event,
                          r->length && event->scalar.value &&
                              fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN,
                          &key_span);
            fy_parser_event_free(r->parser, event);
            if (!status) status = next_event(r, &event);
            if (status) return status;
        }
        lud_tree *child = NULL;
        status = read_node(r, event, depth + 1, &child);
        fy_parser_event_free(r->parser, event);
        if (status) return status;
        child->key = key;
        if (key) child->key_place = key_place;
        if (key && child->end) child->key_begin = key_span.begin;
        if (key && !child->place.line) child->place = key_place; /* `key:` with nothing behind it */
        *link = child;
        link = &child->next;
        parent->n_children++;
    }
}

static lud_status read_node(reader *r, struct fy_event *event, int depth, lud_tree **node) {
    lud_place place = place_of_event(r, event);
    struct fy_token *tag = NULL, *anchor_token = NULL;
    switch (event->type) {
    case FYET_ALIAS:
        return read_alias(r, event, depth, node);
    case FYET_SCALAR:
        tag = event->scalar.tag;
        anchor_token = event->scalar.anchor;
        break;
    case FYET_SEQUENCE_START:
        tag = event->sequence_start.tag;
        anchor_token = event->sequence_start.anchor;
        break;
    default: /* what ends early is an error of the parser */
        assert(event->type == FYET_MAPPING_START);
        tag = event->mapping_start.tag;
        anchor_token = event->mapping_start.anchor;
    }
    if (tag) return lud_invalid_at(r->error, place, "expected a value without a tag, found a YAML tag");
    anchor *opened;
    LUD_TRY(check_depth(r, place, depth));
    LUD_TRY(open_anchor(r, anchor_token, place, &opened));
    if (event->type == FYET_SCALAR) {
        LUD_TRY(read_scalar(r, event, node));
    } else {
        lud_tree_kind kind = event->type == FYET_MAPPING_START ? LUD_TREE_MAPPING : LUD_TREE_SEQUENCE;
        LUD_TRY(new_node(r, place, kind, node));
        const struct fy_mark *mark = fy_event_start_mark(event);
        if (mark && !r->one_place) (*node)->begin = mark->input_pos;
        LUD_TRY(read_children(r, *node, depth));
    }
    if (opened) opened->node = *node;
    return LUD_OK;
}

static lud_status read_stream(reader *r, lud_tree **root) {
    *root = NULL;
    for (;;) {
        struct fy_event *event;
        lud_status status = next_event(r, &event);
        if (status) return status;
        enum fy_event_type type = event->type;
        bool content = type == FYET_SCALAR || type == FYET_ALIAS || type == FYET_SEQUENCE_START ||
                       type == FYET_MAPPING_START;
        if (content && *root)
            status =
                lud_invalid_at(r->error, place_of_event(r, event), "expected one document, found a second");
        else if (content)
            status = read_node(r, event, 1, root);
        fy_parser_event_free(r->parser, event);
        if (status) return status;
        if (type != FYET_STREAM_END) continue;
        lud_place start = {r->name, r->one_place ? 0 : 1, r->one_place ? 0 : 1};
        return *root ? LUD_OK : new_node(r, start, LUD_TREE_NULL, root);
    }
}

/* Offset of the first byte that is not part of valid UTF-8 (RFC 3629), or `length`. */
static size_t valid_utf8(const char *text, size_t length) {
    const unsigned char *t = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        unsigned char c = t[i];
        size_t more = c < 0x80                ? 0
                      : c >= 0xc2 && c < 0xe0 ? 1
                      : c >= 0xe0 && c < 0xf0 ? 2
                      : c >= 0xf0 && c < 0xf5 ? 3
                                              : 4;
        if (more == 4 || i + more >= length) return i;
        for (size_t k = 1; k <= more; k++)
            if ((t[i + k] & 0xc0) != 0x80) return i;
        bool overlong = (c == 0xe0 && t[i + 1] < 0xa0) || (c == 0xf0 && t[i + 1] < 0x90);
        bool outside = (c == 0xed && t[i + 1] >= 0xa0) || (c == 0xf4 && t[i + 1] >= 0x90);
        if (overlong || outside) return i;
        i += more + 1;
    }
    return length;
}

static bool is_empty_list(const char *text, size_t length) {
    return length == 2 && text[0] == '[' && text[1] == ']';
}

/* A text of one plain word or a few, or an empty list, as most values of options are: read without a parser,
 * which takes longer to make than a thousand words to read. */
static lud_status read_words(reader *r, lud_tree **root) {
    const int at = r->one_place ? 0 : 1;
    const bool list = is_empty_list(r->source, r->length);
    *root = NULL;
    const char *text = lud_arena_text(r->arena, r->source, r->length);
    if (!text) return out_of_memory(r);
    LUD_TRY(new_node(r, (lud_place){r->name, at, at}, list ? LUD_TREE_SEQUENCE : LUD_TREE_SCALAR, root));
    (*root)->end = r->one_place ? 0 : r->length;
    if (list) return LUD_OK;
    (*root)->text = text;
    (*root)->text_length = r->length;
    settle_meaning(*root);
    return LUD_OK;
}

/* Memory that a parse must find: a little, and more for every byte of the text than it mostly takes. */
enum { PARSE_BYTES = 1 << 18, PARSE_FACTOR = 64 };

static void swallow(struct fy_diag *diag, void *user, const char *bytes, size_t length) {
    (void)diag, (void)user, (void)bytes, (void)length;
}

lud_status lud_yaml_parse(lud_arena *arena, const char *name, const char *text, size_t length, bool one_place,
                          lud_tree **root, lud_error *error) {
    if (length > LUD_TREE_MAX_BYTES)
        return lud_invalid(error, "%s: expected at most %d MiB, found %zu bytes", name,
                           (int)LUD_TREE_MAX_BYTES >> 20, length);
    const char *zero = memchr(text, 0, length);
    if (zero) /* libfyaml would read it as the end of the text */
        return lud_invalid(error, "%s: expected text, found a zero byte at offset %zu", name,
                           (size_t)(zero - text));
    size_t valid = valid_utf8(text, length);
    if (valid < length)
        return lud_invalid(error, "%s: expected text in UTF-8, found the byte 0x%02x at offset %zu", name,
                           (unsigned char)text[valid], valid);
    reader r = {.arena = arena, .source = text, .length = length, .one_place = one_place, .error = error};
    r.name = lud_arena_text(arena, name, strlen(name));
    if (!r.name) return lud_out_of_memory(error);
    if (lud_yaml_is_plain(text, length) || is_empty_list(text, length)) return read_words(&r, root);
    /* libfyaml aborts, or forgets, where memory ends in the middle: what it takes must be there before */
    void *room = malloc(PARSE_BYTES + PARSE_FACTOR * length);
    if (!room) return out_of_memory(&r);
    free(room);
    struct fy_diag_cfg diagnostics;
    fy_diag_cfg_default(&diagnostics);
    diagnostics.fp = NULL;
    diagnostics.output_fn = swallow;
    r.diag = fy_diag_create(&diagnostics);
    if (!r.diag) return out_of_memory(&r);
    fy_diag_set_collect_errors(r.diag, true);
    struct fy_parse_cfg settings = {.flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE, .diag = r.diag};
    r.parser = fy_parser_create(&settings);
    lud_status status = LUD_OK;
    if (!r.parser || fy_parser_set_string(r.parser, text, length)) status = out_of_memory(&r);
    if (!status) status = read_stream(&r, root);
    if (r.parser) fy_parser_destroy(r.parser);
    fy_diag_destroy(r.diag);
    return status;
}

/* ---- writing ---- */

bool lud_yaml_is_plain(const char *text, size_t length) {
    if (!length || text[0] == ' ' || text[length - 1] == ' ') return false;
    if (text[0] == '-' && (length == 1 || !(isalnum((unsigned char)text[1]) || text[1] == '.'))) return false;
    if (!strncmp(text, "...", 3)) return false; /* would end the document */
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !memchr("_+-./ ", text[i], 6)) return false;
    return true;
}

static void print_quoted(const char *text, size_t length, lud_text *out) {
    lud_text_append_bytes(out, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char d = i + 1 < length ? (unsigned char)text[i + 1] : 0;
        unsigned char e = i + 2 < length ? (unsigned char)text[i + 2] : 0;
        if (c == '"' || c == '\\') {
            lud_text_append(out, "\\%c", c);
        } else if (c == '\n') {
            lud_text_append(out, "\\n");
        } else if (c == '\t') {
            lud_text_append(out, "\\t");
        } else if (c < 0x20 || c == 0x7f) {
            lud_text_append(out, "\\x%02x", c);
        } else if (c == 0xc2 && d >= 0x80 &&
                   d < 0xa0) { /* control characters above ASCII, next line among them */
            lud_text_append(out, "\\x%02x", d);
            i++;
        } else if (c == 0xe2 && d == 0x80 && (e == 0xa8 || e == 0xa9)) { /* line and paragraph separator */
            lud_text_append(out, "\\u20%02x", e - 0x80);
            i += 2;
        } else if (c == 0xef && d == 0xbb && e == 0xbf) { /* byte order mark */
            lud_text_append(out, "\\ufeff");
            i += 2;
        } else {
            lud_text_append_bytes(out, text + i, 1);
        }
    }
    lud_text_append_bytes(out, "\"", 1);
}

/* Whether a text of several lines can stand as a literal block and come back unchanged. */
static bool is_block(const char *text, size_t length) {
    if (!memchr(text, '\n', length) || text[0] == '\n' || text[0] == ' ') return false;
    if (length > 1 && text[length - 1] == '\n' && text[length - 2] == '\n') return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c != '\n' && (c < 0x20 || c >= 0x7f)) return false;
        bool line_end = i + 1 == length || text[i + 1] == '\n';
        if (line_end && c == ' ') return false;
    }
    return true;
}

static void print_block(const char *text, size_t length, int indent, lud_text *out) {
    bool ends = text[length - 1] == '\n';
    lud_text_append(out, ends ? "|\n" : "|-\n");
    for (size_t i = 0; i < length;) {
        const char *end = memchr(text + i, '\n', length - i);
        size_t line = end ? (size_t)(end - text) - i : length - i;
        if (line) lud_text_append(out, "%*s", indent, "");
        lud_text_append_bytes(out, text + i, line);
        lud_text_append_bytes(out, "\n", 1);
        i += line + 1;
    }
}

static void print_scalar(const lud_tree *node, lud_text *out) {
    if (node->kind == LUD_TREE_NULL)
        lud_text_append(out, "null");
    else if (!node->quoted && lud_yaml_is_plain(node->text, node->text_length))
        lud_text_append_bytes(out, node->text, node->text_length);
    else
        print_quoted(node->text, node->text_length, out);
}

static void print_key(const char *key, lud_text *out) {
    if (lud_yaml_is_plain(key, strlen(key)))
        lud_text_append(out, "%s: ", key);
    else {
        print_quoted(key, strlen(key), out);
        lud_text_append(out, ": ");
    }
}

/* Small values without structure inside read best on one line. */
static bool fits_one_line(const lud_tree *node) {
    if (node->kind != LUD_TREE_SEQUENCE && node->kind != LUD_TREE_MAPPING) return true;
    size_t width = 0;
    for (const lud_tree *c = node->child; c; c = c->next) {
        if (c->child || (c->kind == LUD_TREE_SCALAR && memchr(c->text, '\n', c->text_length))) return false;
        width += c->text_length + (c->key ? strlen(c->key) : 0) + 4;
        if (width > 90) return false;
    }
    return true;
}

static void print_one_line(const lud_tree *node, lud_text *out) {
    if (node->kind != LUD_TREE_SEQUENCE && node->kind != LUD_TREE_MAPPING) {
        print_scalar(node, out);
        return;
    }
    bool mapping = node->kind == LUD_TREE_MAPPING;
    lud_text_append(out, mapping ? "{" : "[");
    for (const lud_tree *c = node->child; c; c = c->next) {
        if (c->key) print_key(c->key, out);
        print_one_line(c, out);
        if (c->next) lud_text_append(out, ", ");
    }
    lud_text_append(out, mapping ? "}" : "]");
}

static void print_node(const lud_tree *node, int indent, bool in_sequence, lud_text *out);

static void print_children(const lud_tree *node, int indent, bool first_inline, lud_text *out) {
    for (const lud_tree *c = node->child; c; c = c->next) {
        if (!first_inline || c != node->child) lud_text_append(out, "%*s", indent, "");
        if (c->key)
            print_key(c->key, out);
        else
            lud_text_append(out, "- ");
        print_node(c, indent + 2, !c->key, out);
    }
}

/* The value behind `key: ` or `- `, with the end of its line. */
static void print_node(const lud_tree *node, int indent, bool in_sequence, lud_text *out) {
    if (node->kind == LUD_TREE_SCALAR && is_block(node->text, node->text_length)) {
        print_block(node->text, node->text_length, indent, out);
    } else if (fits_one_line(node)) {
        print_one_line(node, out);
        lud_text_append(out, "\n");
    } else if (in_sequence) {
        print_children(node, indent, true, out);
    } else {
        if (out->length && out->bytes[out->length - 1] == ' ') out->bytes[--out->length] = 0;
        lud_text_append(out, "\n");
        print_children(node, indent, false, out);
    }
}

void lud_yaml_print(const lud_tree *root, lud_text *out) {
    if (root->child)
        print_children(root, 0, false, out);
    else
        print_node(root, 2, false, out);
}
