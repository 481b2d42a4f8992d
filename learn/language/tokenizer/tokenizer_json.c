/* Byte pair encoding from a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "learn/language/tokenizer/tokenizer_parts.h"

enum { MAX_FILE_BYTES = 256 << 20 };

typedef struct reader {
    const char *name; /* of the file */
    lud_error *error;
    lud_tokenizer *tokenizer;
} reader;

__attribute__((format(printf, 2, 3))) static lud_status refuse(reader *r, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lud_fail(r->error, LUD_ERROR_UNSUPPORTED, "%s: %s", r->name, text);
}

static lud_status wrong(reader *r, const char *what) {
    return lud_fail(r->error, LUD_ERROR_INPUT, "%s: %s", r->name, what);
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_type(const json_t *object, const char *type) {
    return strcmp(text_of(object, "type"), type) == 0;
}

/* --- the alphabet in which such files write bytes --- */

/* Printable characters of Latin-1 stand for themselves, the other bytes, ascending, for U+0100 and what
 * follows. The byte of a character; -1: of none. */
static int byte_of_character(uint32_t c) {
    const bool itself = (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || (c >= 174 && c <= 255);
    if (itself) return (int)c;
    int n = 0;
    for (int byte = 0; byte < 256 && c >= 256; byte++) {
        const bool plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        if (plain) continue;
        if ((uint32_t)n + 256 == c) return byte;
        n++;
    }
    return -1;
}

/* Bytes that a text in this alphabet stands for; -1 where it uses other characters or is too long. jansson
 * has seen to it that the text is UTF-8. */
static int64_t bytes_of(const char *text, size_t length, char bytes[LUD_TOKEN_MAX_BYTES]) {
    int64_t n = 0;
    for (size_t at = 0; at < length; n++) {
        const unsigned char *s = (const unsigned char *)text + at;
        uint32_t c = s[0];
        if (n == LUD_TOKEN_MAX_BYTES) return -1;
        if (c >= 0x80) {
            if (c >= 0xe0 || at + 1 >= length) return -1; /* beyond U+07ff */
            c = (c & 0x1f) << 6 | (s[1] & 0x3f);
            at++;
        }
        at++;
        const int byte = byte_of_character(c);
        if (byte < 0) return -1;
        bytes[n] = (char)byte;
    }
    return n;
}

/* --- parts of the file --- */

static lud_status read_split(reader *r, const json_t *split, lud_pre_tokenizer *kind) {
    const char *regex = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    if (!regex) return refuse(r, "a pre-tokeniser Split by something that is no Regex");
    if (strcmp(text_of(split, "behavior"), "Isolated") != 0 || json_is_true(json_object_get(split, "invert")))
        return refuse(r, "a pre-tokeniser Split with behavior '%s', only Isolated is known",
                      text_of(split, "behavior"));
    for (int k = 0; k < LUD_PRE_TOKENIZERS; k++) {
        const char *pattern = lud_pre_tokenizer_pattern((lud_pre_tokenizer)k);
        if (pattern && strcmp(pattern, regex) == 0) {
            *kind = (lud_pre_tokenizer)k;
            return LUD_OK;
        }
    }
    return refuse(r, "the pre-tokeniser's pattern %.300s is none of those of GPT-2, Llama 3 and Qwen 2",
                  regex);
}

static lud_status read_byte_level(reader *r, const json_t *level, bool cut_before, lud_pre_tokenizer *kind) {
    if (!is_type(level, "ByteLevel"))
        return refuse(r, "pre-tokeniser '%s', expected ByteLevel", text_of(level, "type"));
    if (json_is_true(json_object_get(level, "add_prefix_space")))
        return refuse(r, "ByteLevel with add_prefix_space");
    const bool own_pattern = !json_is_false(json_object_get(level, "use_regex"));
    if (cut_before && own_pattern) return refuse(r, "ByteLevel with use_regex behind a Split");
    if (!cut_before) *kind = own_pattern ? LUD_PRE_TOKENIZER_GPT2 : LUD_PRE_TOKENIZER_NONE;
    return LUD_OK;
}

static lud_status read_pre_tokenizer(reader *r, const json_t *pre, lud_pre_tokenizer *kind) {
    if (!is_type(pre, "Sequence")) return read_byte_level(r, pre, false, kind);
    const json_t *list = json_object_get(pre, "pretokenizers");
    if (json_array_size(list) != 2 || !is_type(json_array_get(list, 0), "Split"))
        return refuse(r, "a sequence of pre-tokenisers that is not Split and ByteLevel");
    lud_status status = read_split(r, json_array_get(list, 0), kind);
    return status ? status : read_byte_level(r, json_array_get(list, 1), true, kind);
}

/* One more than the largest number of a token; -1 where a number is none. */
static int64_t count_tokens(const json_t *vocabulary, const json_t *added) {
    int64_t n = 0;
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)vocabulary, key, value) {
        const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= LUD_TOKENIZER_MAX_TOKENS) return -1;
        if (id >= n) n = id + 1;
    }
    json_array_foreach(added, i, value) {
        const json_t *number = json_object_get(value, "id");
        const json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
        if (id < 0 || id >= LUD_TOKENIZER_MAX_TOKENS) return -1;
        if (id >= n) n = id + 1;
    }
    return n;
}

static bool taken(const lud_tokenizer *t, json_int_t id) {
    return t->tokens[id].bytes != NULL;
}

static lud_status read_vocabulary(reader *r, const json_t *vocabulary) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)vocabulary, key, value) {
        char bytes[LUD_TOKEN_MAX_BYTES];
        const int64_t n = bytes_of(key, strlen(key), bytes);
        if (n <= 0) continue; /* of the added ones, or nothing that a text could hold */
        const json_int_t id = json_integer_value(value);
        if (taken(r->tokenizer, id)) return wrong(r, "two tokens of the vocabulary have the same number");
        if (!lud_tokenizer_set(r->tokenizer, (int32_t)id, bytes, (size_t)n, false))
            return lud_fail(r->error, LUD_ERROR_MEMORY, "%s: memory is out", r->name);
    }
    for (int i = 0; i < 256; i++)
        if (r->tokenizer->byte[i] < 0)
            return refuse(r, "a vocabulary without a token for the byte %d: not every text could be written",
                          i);
    return LUD_OK;
}

/* The bytes of the two sides of a merge: "left right" or ["left", "right"]. */
static bool read_sides(const json_t *merge, char bytes[2 * LUD_TOKEN_MAX_BYTES], int64_t n[2]) {
    const char *left = json_string_value(merge), *right;
    size_t n_left;
    if (left) {
        right = strchr(left, ' ');
        if (!right) return false;
        n_left = (size_t)(right++ - left);
    } else {
        left = json_string_value(json_array_get(merge, 0));
        right = json_string_value(json_array_get(merge, 1));
        if (!left || !right || json_array_size(merge) != 2) return false;
        n_left = strlen(left);
    }
    n[0] = bytes_of(left, n_left, bytes);
    if (n[0] <= 0) return false;
    n[1] = bytes_of(right, strlen(right), bytes + n[0]);
    return n[1] > 0;
}

static lud_status read_merges(reader *r, const json_t *merges) {
    lud_tokenizer *t = r->tokenizer;
    size_t i;
    json_t *merge;
    json_array_foreach(merges, i, merge) {
        char bytes[2 * LUD_TOKEN_MAX_BYTES];
        int64_t n[2];
        if (!read_sides(merge, bytes, n))
            return lud_fail(r->error, LUD_ERROR_INPUT, "%s: merge %zu is not a pair of tokens", r->name, i);
        const lud_token_pair pair = {.left = lud_tokenizer_find(t, bytes, (size_t)n[0]),
                                     .right = lud_tokenizer_find(t, bytes + n[0], (size_t)n[1]),
                                     .merged = lud_tokenizer_find(t, bytes, (size_t)(n[0] + n[1])),
                                     .rank = (int32_t)i};
        if (pair.left < 0 || pair.right < 0 || pair.merged < 0)
            return lud_fail(r->error, LUD_ERROR_INPUT,
                            "%s: merge %zu is of tokens that are not in the vocabulary", r->name, i);
        lud_tokenizer_set_pair(t, pair);
    }
    return LUD_OK;
}

static int longer_first(const void *a, const void *b) {
    const lud_token *const *x = a, *const *y = b;
    if ((*x)->length != (*y)->length) return (*x)->length < (*y)->length ? 1 : -1;
    return (*x > *y) - (*x < *y);
}

/* Reserved tokens in the order in which texts are looked through for them. */
static bool order_reserved(lud_tokenizer *t) {
    const lud_token **order = malloc(((size_t)t->n_reserved + 1) * sizeof *order);
    if (!order) return false;
    for (int32_t i = 0; i < t->n_reserved; i++) order[i] = &t->tokens[t->reserved[i]];
    if (t->n_reserved) qsort(order, (size_t)t->n_reserved, sizeof *order, longer_first);
    for (int32_t i = 0; i < t->n_reserved; i++) t->reserved[i] = (int32_t)(order[i] - t->tokens);
    free(order);
    return true;
}

static void note_mark(lud_tokenizer *t, const char *content, int32_t token) {
    static const char *const begins[] = {"<|begin_of_text|>", "<s>"};
    static const char *const ends[] = {"<|endoftext|>", "</s>", "<|end_of_text|>", "<|eot_id|>",
                                       "<|im_end|>"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins && t->begin < 0; i++)
        if (strcmp(content, begins[i]) == 0) t->begin = token;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && t->end < 0; i++)
        if (strcmp(content, ends[i]) == 0) t->end = token;
}

static lud_status read_added(reader *r, const json_t *added) {
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    lud_tokenizer *t = r->tokenizer;
    size_t i;
    json_t *entry;
    t->reserved = lud_arena_take_array(t->arena, json_array_size(added) + 1, sizeof *t->reserved);
    if (!t->reserved) return lud_fail(r->error, LUD_ERROR_MEMORY, "%s: memory is out", r->name);
    json_array_foreach(added, i, entry) {
        const char *content = text_of(entry, "content");
        const size_t length = strlen(content);
        const json_int_t id = json_integer_value(json_object_get(entry, "id"));
        if (length == 0 || length > LUD_TOKEN_MAX_BYTES)
            return wrong(r, "an added token without a content, or with too long a one");
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (json_is_true(json_object_get(entry, flags[k])))
                return refuse(r, "the added token '%.100s' with %s", content, flags[k]);
        if (taken(t, id) && lud_tokenizer_find(t, content, length) != (int32_t)id)
            return wrong(r, "an added token has the number of another token");
        if (!taken(t, id) && !lud_tokenizer_set(t, (int32_t)id, content, length, false))
            return lud_fail(r->error, LUD_ERROR_MEMORY, "%s: memory is out", r->name);
        lud_token *token = &t->tokens[id];
        token->silent = json_is_true(json_object_get(entry, "special"));
        if (!token->reserved) t->reserved[t->n_reserved++] = (int32_t)id;
        token->reserved = true;
        note_mark(t, content, (int32_t)id);
    }
    return order_reserved(t) ? LUD_OK : lud_fail(r->error, LUD_ERROR_MEMORY, "%s: memory is out", r->name);
}

/* What a model may say and must mean nothing. */
static lud_status check_model(reader *r, const json_t *root, const json_t *model) {
    static const char *const texts[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    if (!is_type(model, "BPE")) return refuse(r, "model '%s', expected BPE", text_of(model, "type"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*text_of(model, texts[i])) return refuse(r, "model BPE with %s", texts[i]);
    if (json_is_true(json_object_get(model, "byte_fallback")))
        return refuse(r, "model BPE with byte_fallback (as of SentencePiece)");
    if (json_is_number(json_object_get(model, "dropout"))) return refuse(r, "model BPE with dropout");
    const json_t *normaliser = json_object_get(root, "normalizer");
    if (normaliser && !json_is_null(normaliser))
        return refuse(r, "normaliser '%s', only none is known", text_of(normaliser, "type"));
    if (!is_type(json_object_get(root, "decoder"), "ByteLevel"))
        return refuse(r, "decoder '%s', expected ByteLevel",
                      text_of(json_object_get(root, "decoder"), "type"));
    return LUD_OK;
}

static lud_status build(reader *r, const json_t *root) {
    const json_t *model = json_object_get(root, "model"), *vocabulary = json_object_get(model, "vocab"),
                 *merges = json_object_get(model, "merges"), *added = json_object_get(root, "added_tokens");
    lud_pre_tokenizer kind = LUD_PRE_TOKENIZER_NONE;
    lud_status status = check_model(r, root, model);
    if (!status) status = read_pre_tokenizer(r, json_object_get(root, "pre_tokenizer"), &kind);
    if (status) return status;
    const int64_t n = count_tokens(vocabulary, added);
    if (!json_is_object(vocabulary) || !json_is_array(merges) || n <= 0 ||
        json_array_size(merges) > LUD_TOKENIZER_MAX_TOKENS)
        return wrong(r, "expected model.vocab, tokens with their numbers, and model.merges, a list");
    LUD_TRY(lud_tokenizer_make(n, (int64_t)json_array_size(merges), &r->tokenizer, r->error));
    r->tokenizer->merges = true;
    r->tokenizer->pre_tokenizer = kind;
    r->tokenizer->whole_first = json_is_true(json_object_get(model, "ignore_merges"));
    status = read_vocabulary(r, vocabulary);
    if (!status) status = read_merges(r, merges);
    return status ? status : read_added(r, added);
}

lud_status lud_tokenizer_parse(const char *name, const char *bytes, size_t length, lud_tokenizer **tokenizer,
                               lud_error *error) {
    json_error_t problem;
    json_t *root = json_loadb(bytes, length, 0, &problem);
    if (!root)
        return lud_invalid_at(error, (lud_place){name, problem.line, problem.column}, "%s", problem.text);
    reader r = {.name = name, .error = error};
    const lud_status status = build(&r, root);
    json_decref(root);
    if (status)
        lud_tokenizer_destroy(r.tokenizer);
    else
        *tokenizer = r.tokenizer;
    return status;
}

lud_status lud_tokenizer_read(const char *path, lud_tokenizer **tokenizer, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", path);
    char *bytes = NULL;
    size_t length = 0;
    lud_status status = lud_file_read(arena, path, MAX_FILE_BYTES, &bytes, &length, error);
    if (!status) status = lud_tokenizer_parse(path, bytes, length, tokenizer, error);
    lud_arena_destroy(arena);
    return status;
}
