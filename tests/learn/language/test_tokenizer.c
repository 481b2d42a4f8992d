/* Tokenisers: texts come back byte for byte, byte pairs are those of the package tokenizers, files that mean
 * something else are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/file.h"
#include "base/random.h"
#include "learn/language/tokenizer/pre_tokenizer.h"
#include "learn/language/tokenizer/tokenizer.h"
#include "learn/language/tokenizer/vocabulary.h"

enum { MOST = 4096 };

static void round_trip(const lud_tokenizer *tokenizer, const char *text, size_t length) {
    static int32_t tokens[MOST];
    const int64_t n = lud_tokenizer_encode(tokenizer, text, length, tokens, MOST);
    assert_in_range(n, length ? 1 : 0, MOST);
    for (int64_t i = 0; i < n; i++) assert_in_range(tokens[i], 0, lud_tokenizer_size(tokenizer) - 1);
    lud_text back = {0};
    lud_tokenizer_decode(tokenizer, n, tokens, &back);
    assert_int_equal(back.length, length);
    if (length) assert_memory_equal(back.bytes, text, length);
    lud_text_free(&back);
    /* how many there are does not depend on the room */
    assert_int_equal(lud_tokenizer_encode(tokenizer, text, length, NULL, 0), n);
}

static void any_bytes(const lud_tokenizer *tokenizer) {
    char text[300];
    for (uint32_t k = 0; k < 200; k++) {
        const size_t length = k;
        for (size_t i = 0; i < length; i++) {
            const lud_words words = lud_draw((lud_random_key){3, k}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
            /* every second text of letters, spaces and the like */
            text[i] = (char)(k % 2 ? words.v[0] : (uint32_t) "ab '\n\r 1\xc3\xa9s{\"x"[words.v[0] % 15]);
        }
        round_trip(tokenizer, text, length);
    }
}

static void bytes_and_words(void **state) {
    (void)state;
    lud_error error = {0};
    lud_tokenizer *bytes = NULL, *words = NULL;
    static const char *const list[] = {"{\"action\": \"", "\"}", " north", " nor", "gather", "gather", "g"};
    assert_int_equal(lud_tokenizer_bytes(&bytes, &error), LUD_OK);
    assert_int_equal(lud_tokenizer_size(bytes), 258);
    assert_int_equal(lud_tokenizer_words(list, 7, &words, &error), LUD_OK);
    assert_int_equal(lud_tokenizer_size(words), 258 + 5); /* one is twice, one a byte */
    any_bytes(bytes);
    any_bytes(words);
    int32_t tokens[16];
    const char *text = "{\"action\": \"gather\"} north nort";
    assert_int_equal(lud_tokenizer_encode(words, text, strlen(text), tokens, 16), 6);
    assert_int_equal(tokens[0], lud_tokenizer_find(words, "{\"action\": \"", 12));
    assert_int_equal(tokens[3], lud_tokenizer_find(words, " north", 6));
    assert_int_equal(tokens[4], lud_tokenizer_find(words, " nor", 4)); /* the longest that fits */
    assert_int_equal(tokens[5], 't');
    size_t length;
    lud_tokenizer_token(words, lud_tokenizer_end(words), &length);
    assert_int_equal(length, 0); /* a mark writes nothing */
    static const char *const none[] = {""};
    lud_tokenizer *wrong = NULL;
    assert_int_equal(lud_tokenizer_words(none, 1, &wrong, &error), LUD_ERROR_INPUT);
    assert_null(wrong);
    lud_tokenizer_destroy(bytes);
    lud_tokenizer_destroy(words);
}

static void vocabulary_of_texts(void **state) {
    (void)state;
    lud_vocabulary v = {0};
    const char *text = "you see wood, you see stone 12 12; you";
    lud_vocabulary_read(&v, text, strlen(text));
    lud_vocabulary_add(&v, "{\"action\": \"", 12, 100);
    lud_vocabulary_order(&v, 4);
    assert_false(v.failed);
    assert_int_equal(v.n, 4);
    assert_string_equal(v.words[0], "{\"action\": \"");
    assert_string_equal(v.words[1], " 12");
    assert_string_equal(v.words[2], " see");
    assert_string_equal(v.words[3], " you");
    assert_int_equal(v.counts[3], 2);
    lud_vocabulary_free(&v);
}

/* Words that are seen again behind an ordering count where they stand now, those that were left out begin
 * anew; also where all were. */
static void vocabularies_count_on(void **state) {
    (void)state;
    static const char text[] = "b b b a a c";
    for (int64_t most = 0; most < 4; most++) {
        lud_vocabulary v = {0};
        lud_vocabulary_read(&v, text, strlen(text));
        lud_vocabulary_order(&v, most);
        assert_int_equal(v.n, most);
        lud_vocabulary_read(&v, text, strlen(text));
        assert_false(v.failed);
        assert_int_equal(v.n, 4); /* the first one has no blank before it */
        for (int64_t i = 0; i < v.n; i++) {
            const int64_t once = v.words[i][0] == 'b' ? 1 : v.words[i][1] == 'c' ? 1 : 2;
            assert_int_equal(v.counts[i], i < most ? 2 * once : once);
        }
        lud_vocabulary_free(&v);
    }
}

/* Words are runs of letters, of digits or of the rest, with one blank before them; nothing else parts them.
 */
static void words_of_texts(void **state) {
    (void)state;
    static const char text[] = "az_AZ09/:@[`{ a\n1  b\0c\x01 d";
    static const char *const words[] = {"az_AZ", "09", "/:@[`{", " a", "1", " b", "c", "\x01", " d"};
    lud_vocabulary v = {0};
    lud_vocabulary_read(&v, text, sizeof text - 1);
    assert_false(v.failed);
    assert_int_equal(v.n, (int64_t)(sizeof words / sizeof *words));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int64_t k = 0;
        while (k < v.n && strcmp(v.words[k], words[i]) != 0) k++;
        if (k == v.n) fail_msg("`%s` is missing", words[i]);
        assert_int_equal(v.counts[k], 1);
    }
    lud_vocabulary_free(&v);
    lud_vocabulary_read(&v, "one two", 5); /* what is behind that is not read */
    assert_int_equal(v.n, 2);
    assert_string_equal(v.words[0], "one");
    assert_string_equal(v.words[1], " t");
    lud_vocabulary_free(&v);
}

static char *read_golden(lud_arena *arena, const char *name, size_t *length) {
    char path[1024], *bytes = NULL;
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/tests/golden/language/%s", LUDUS_SOURCE_DIR, name);
    if (lud_file_read(arena, path, 0, &bytes, length, &error)) fail_msg("%s", error.text);
    return bytes;
}

static void check_byte_pairs(const char *name) {
    lud_arena *arena = lud_arena_create(0);
    char file[64];
    size_t length;
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    snprintf(file, sizeof file, "bpe_%s.json", name);
    const char *bytes = read_golden(arena, file, &length);
    if (lud_tokenizer_parse(file, bytes, length, &tokenizer, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_tokenizer_size(tokenizer), 402);
    assert_int_equal(lud_tokenizer_end(tokenizer), 400);
    snprintf(file, sizeof file, "bpe_%s_cases.json", name);
    bytes = read_golden(arena, file, &length);
    json_t *root = json_loadb(bytes, length, 0, NULL), *cases = json_object_get(root, "cases"), *c;
    size_t i;
    assert_true(json_array_size(cases) > 20);
    json_array_foreach(cases, i, c) {
        const char *text = json_string_value(json_object_get(c, "text"));
        const json_t *ids = json_object_get(c, "ids");
        int32_t tokens[256];
        const int64_t n = lud_tokenizer_encode(tokenizer, text, strlen(text), tokens, 256);
        bool same = n == (int64_t)json_array_size(ids);
        for (int64_t k = 0; k < n && same; k++)
            same = tokens[k] == json_integer_value(json_array_get(ids, (size_t)k));
        if (!same) fail_msg("%s: case %zu '%s' is cut otherwise", name, i, text);
        lud_text back = {0};
        lud_tokenizer_decode(tokenizer, n, tokens, &back);
        assert_string_equal(back.bytes ? back.bytes : "", json_string_value(json_object_get(c, "decoded")));
        lud_text_free(&back);
    }
    json_decref(root);
    /* what no text of the package could be: bytes that are no UTF-8; without reserved tokens all comes back
     */
    any_bytes(tokenizer);
    lud_tokenizer_destroy(tokenizer);
    lud_arena_destroy(arena);
}

static void byte_pairs_as_the_package(void **state) {
    (void)state;
    check_byte_pairs("gpt2");
    check_byte_pairs("llama3");
    check_byte_pairs("qwen2");
}

/* A slow oracle: merge the pair of the lowest rank, the leftmost first, until none is left. */
static void long_pieces(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    size_t length;
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    const char *bytes = read_golden(arena, "bpe_gpt2.json", &length);
    assert_int_equal(lud_tokenizer_parse("gpt2", bytes, length, &tokenizer, &error), LUD_OK);
    enum { LONG = 200000 };
    char *text = malloc(LONG);
    assert_non_null(text);
    for (int i = 0; i < LONG; i++) text[i] = "gathers"[i % 7]; /* one word of 200,000 letters */
    int32_t *tokens = malloc(LONG * sizeof *tokens);
    assert_non_null(tokens);
    const int64_t n = lud_tokenizer_encode(tokenizer, text, LONG, tokens, LONG);
    assert_in_range(n, LONG / 7, LONG / 2);
    lud_text back = {0};
    lud_tokenizer_decode(tokenizer, n, tokens, &back);
    assert_int_equal(back.length, LONG);
    assert_memory_equal(back.bytes, text, LONG);
    lud_text_free(&back);
    free(tokens);
    free(text);
    lud_tokenizer_destroy(tokenizer);
    lud_arena_destroy(arena);
}

/* The golden file with one text replaced. */
static void refused(const char *from, const char *to, lud_status expected, const char *says) {
    lud_arena *arena = lud_arena_create(0);
    size_t length;
    const char *bytes = read_golden(arena, "bpe_llama3.json", &length), *at = strstr(bytes, from);
    if (!at) fail_msg("the golden file has no %s", from);
    lud_text text = {0};
    lud_text_append_bytes(&text, bytes, (size_t)(at - bytes));
    lud_text_append(&text, "%s", to);
    lud_text_append_bytes(&text, at + strlen(from), length - (size_t)(at - bytes) - strlen(from));
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    const lud_status status = lud_tokenizer_parse("t.json", text.bytes, text.length, &tokenizer, &error);
    if (tokenizer) fail_msg("taken with %s", to);
    if (status != expected || !strstr(error.text, says))
        fail_msg("%d %s, expected %s", status, error.text, says);
    lud_text_free(&text);
    lud_arena_destroy(arena);
}

/* Gives a token of a vocabulary the number 0, and its own number to the one that had it. */
static void make_first(json_t *vocabulary, const char *token) {
    const char *word;
    json_t *number;
    const json_int_t own = json_integer_value(json_object_get(vocabulary, token));
    json_object_foreach(vocabulary, word, number) if (json_integer_value(number) == 0)
        json_integer_set(number, own);
    json_integer_set(json_object_get(vocabulary, token), 0);
}

/* A merge may be of token 0, on either side, and make it. */
static void merges_of_the_first_token(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    size_t length;
    const char *bytes = read_golden(arena, "bpe_llama3.json", &length);
    json_t *root = json_loadb(bytes, length, 0, NULL), *model = json_object_get(root, "model");
    for (int place = 0; place < 3; place++) { /* of the first merge: left, right, what comes of it */
        json_t *copy = json_deep_copy(root),
               *vocabulary = json_object_get(json_object_get(copy, "model"), "vocab");
        const char *merge = json_string_value(json_array_get(json_object_get(model, "merges"), 0)),
                   *space = strchr(merge, ' ');
        char token[64];
        assert_non_null(space);
        if (place == 0) snprintf(token, sizeof token, "%.*s", (int)(space - merge), merge);
        if (place == 1) snprintf(token, sizeof token, "%s", space + 1);
        if (place == 2) snprintf(token, sizeof token, "%.*s%s", (int)(space - merge), merge, space + 1);
        make_first(vocabulary, token);
        char *text = json_dumps(copy, 0);
        lud_error error = {0};
        lud_tokenizer *tokenizer = NULL;
        if (lud_tokenizer_parse("t.json", text, strlen(text), &tokenizer, &error)) fail_msg("%s", error.text);
        any_bytes(tokenizer);
        lud_tokenizer_destroy(tokenizer);
        free(text);
        json_decref(copy);
    }
    json_decref(root);
    lud_arena_destroy(arena);
}

/* A word that is in the vocabulary as it stands comes before all merges, token 0 too. */
static void whole_words_first(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    size_t length;
    const char *bytes = read_golden(arena, "bpe_llama3.json", &length), *token;
    json_t *root = json_loadb(bytes, length, 0, NULL), *model = json_object_get(root, "model"),
           *vocabulary = json_object_get(model, "vocab"), *number;
    assert_true(json_is_true(json_object_get(model, "ignore_merges")));
    const char *word = NULL; /* of several letters, which merges are taken from */
    json_object_foreach(vocabulary, token, number) {
        const size_t letters = strspn(token, "abcdefghijklmnopqrstuvwxyz");
        if (!word && letters >= 2 && !token[letters]) word = token;
    }
    assert_non_null(word);
    make_first(vocabulary, word);
    json_array_clear(json_object_get(model, "merges"));
    char *text = json_dumps(root, 0);
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    if (lud_tokenizer_parse("t.json", text, strlen(text), &tokenizer, &error)) fail_msg("%s", error.text);
    int32_t tokens[16] = {-1};
    assert_int_equal(lud_tokenizer_encode(tokenizer, word, strlen(word), tokens, 16), 1);
    assert_int_equal(tokens[0], 0);
    lud_tokenizer_destroy(tokenizer);
    free(text);
    json_decref(root);
    lud_arena_destroy(arena);
}

/* Tokens by whose names texts begin and end, the first of each kind. */
static void marks_of_texts(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    size_t length;
    const char *bytes = read_golden(arena, "bpe_llama3.json", &length);
    static const struct {
        const char *first, *second;
        int32_t begin, end;
    } cases[] = {{"<|endoftext|>", "<|mark|>", -1, 400},   {"<s>", "</s>", 400, 401},
                 {"<|begin_of_text|>", "<s>", 400, -1},    {"<|eot_id|>", "<|im_end|>", -1, 400},
                 {"<|mark|>", "<|end_of_text|>", -1, 401}, {"<|mark|>", "<|other|>", -1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *root = json_loadb(bytes, length, 0, NULL), *added = json_object_get(root, "added_tokens");
        json_object_set_new(json_array_get(added, 0), "content", json_string(cases[i].first));
        json_object_set_new(json_array_get(added, 1), "content", json_string(cases[i].second));
        char *text = json_dumps(root, 0);
        lud_error error = {0};
        lud_tokenizer *tokenizer = NULL;
        if (lud_tokenizer_parse("t.json", text, strlen(text), &tokenizer, &error)) fail_msg("%s", error.text);
        assert_int_equal(lud_tokenizer_begin(tokenizer), cases[i].begin);
        assert_int_equal(lud_tokenizer_end(tokenizer), cases[i].end);
        int32_t tokens[8];
        char both[64];
        const int n = snprintf(both, sizeof both, "%s%s", cases[i].second, cases[i].first);
        assert_int_equal(lud_tokenizer_encode(tokenizer, both, (size_t)n, tokens, 8), 2);
        assert_true(tokens[0] == 401 && tokens[1] == 400);
        lud_tokenizer_destroy(tokenizer);
        free(text);
        json_decref(root);
    }
    lud_arena_destroy(arena);
}

static void refusals(void **state) {
    (void)state;
    refused("\"type\":\"BPE\"", "\"type\":\"Unigram\"", LUD_ERROR_UNSUPPORTED, "Unigram");
    refused("\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"##\"",
            LUD_ERROR_UNSUPPORTED, "continuing_subword_prefix");
    refused("\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"x\"", LUD_ERROR_UNSUPPORTED,
            "end_of_word_suffix");
    refused("\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}", LUD_ERROR_UNSUPPORTED, "NFC");
    refused("{1,3}", "{1,4}", LUD_ERROR_UNSUPPORTED, "{1,4}");
    refused("\"behavior\":\"Isolated\"", "\"behavior\":\"Removed\"", LUD_ERROR_UNSUPPORTED, "Removed");
    refused("\"rstrip\":false", "\"rstrip\":true", LUD_ERROR_UNSUPPORTED, "rstrip");
    refused("\"merges\":[\"", "\"merges\":[\"zz ", LUD_ERROR_INPUT, "merge 0");
    refused("\"merges\":[", "\"merges\":[7,", LUD_ERROR_INPUT, "merge 0");
    refused("\"!\":", "\"!!!!!!\":", LUD_ERROR_UNSUPPORTED, "byte 33");
    refused("\"model\":", "\"model\"", LUD_ERROR_INPUT, "t.json:1");
    refused("\"invert\":false", "\"invert\":true", LUD_ERROR_UNSUPPORTED, "a pre-tokeniser Split");
    refused("\"Regex\":", "\"String\":", LUD_ERROR_UNSUPPORTED, "no Regex");
    refused("\"add_prefix_space\":false", "\"add_prefix_space\":true", LUD_ERROR_UNSUPPORTED,
            "add_prefix_space");
    refused("\"use_regex\":false", "\"use_regex\":true", LUD_ERROR_UNSUPPORTED, "use_regex behind a Split");
    refused("{\"type\":\"ByteLevel\"", "{\"type\":\"Digits\"", LUD_ERROR_UNSUPPORTED,
            "'Digits', expected ByteLevel");
    refused("{\"type\":\"Split\"", "{\"type\":\"Metaspace\"", LUD_ERROR_UNSUPPORTED,
            "not Split and ByteLevel");
    refused("\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"Fuse\"", LUD_ERROR_UNSUPPORTED,
            "decoder 'Fuse'");
    refused("\"dropout\":null", "\"dropout\":0.1", LUD_ERROR_UNSUPPORTED, "dropout");
    refused("\"byte_fallback\":false", "\"byte_fallback\":true", LUD_ERROR_UNSUPPORTED, "byte_fallback");
    refused("\"lstrip\":false", "\"lstrip\":true", LUD_ERROR_UNSUPPORTED, "with lstrip");
    refused("\"single_word\":false", "\"single_word\":true", LUD_ERROR_UNSUPPORTED, "with single_word");
    refused("\"content\":\"<|mark|>\"", "\"content\":\"\"", LUD_ERROR_INPUT,
            "an added token without a content");
    refused("\"id\":401", "\"id\":4", LUD_ERROR_INPUT, "the number of another token");
    refused("\"id\":401", "\"id\":-1", LUD_ERROR_INPUT, "expected model.vocab");
    refused("\"id\":401", "\"id\":\"x\"", LUD_ERROR_INPUT, "expected model.vocab");
    refused("\"merges\":", "\"pairs\":", LUD_ERROR_INPUT, "expected model.vocab");
    refused("\"vocab\":", "\"words\":", LUD_ERROR_INPUT, "expected model.vocab");
    refused(":399}", ":-1}", LUD_ERROR_INPUT, "expected model.vocab");
    refused(":399}", ":\"399\"}", LUD_ERROR_INPUT, "expected model.vocab");
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    assert_int_equal(lud_tokenizer_read("/nowhere/tokenizer.json", &tokenizer, &error), LUD_ERROR_INPUT);
}

/* Letters, numbers and the rest are told apart at the edges of their ranges, by every pattern. */
static void pieces_end_where_kinds_do(void **state) {
    (void)state;
    static const char letters[] = "AZazMm\xc3\xa9", numbers[] = "0959\xc2\xb2", others[] = "/:@[`{!~_";
    for (int kind = 0; kind < LUD_PRE_TOKENIZER_NONE; kind++) {
        assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, letters, strlen(letters)),
                         strlen(letters));
        assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, others, strlen(others)),
                         strlen(others));
        size_t n = 0, pieces = 0;
        for (; n < strlen(numbers); pieces++)
            n += lud_pre_tokenizer_next((lud_pre_tokenizer)kind, numbers + n, strlen(numbers) - n);
        assert_int_equal(pieces, kind == LUD_PRE_TOKENIZER_GPT2     ? 1
                                 : kind == LUD_PRE_TOKENIZER_LLAMA3 ? 2
                                                                    : 5);
        for (size_t a = 0; a < 6; a++)
            for (size_t b = 0; b < 4; b++) { /* a letter before a number, and the other way round */
                const char there[] = {letters[a], numbers[b], '\0'}, back[] = {numbers[b], letters[a], '\0'};
                assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, there, 2), 1);
                assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, back, 2), 1);
            }
        for (size_t b = 0; b < 4; b++)
            for (size_t c = 0; c < strlen(others); c++) {
                const char there[] = {numbers[b], others[c], '\0'}, back[] = {others[c], numbers[b], '\0'};
                assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, there, 2), 1);
                assert_int_equal(lud_pre_tokenizer_next((lud_pre_tokenizer)kind, back, 2), 1);
            }
    }
    for (int kind = 0; kind < LUD_PRE_TOKENIZER_NONE; kind++) /* blanks from a tab to a return, no others */
        for (char c = 1; c < 32; c++) {
            const char there[] = {'!', c, '!', '\0'};
            const bool blank = (c >= '\t' && c <= '\r');
            const size_t n = lud_pre_tokenizer_next((lud_pre_tokenizer)kind, there, 3);
            /* ends of lines stay with what they end, where a pattern says so */
            const bool ends = (c == '\n' || c == '\r') && kind != LUD_PRE_TOKENIZER_GPT2;
            assert_int_equal(n, !blank ? 3 : ends ? 2 : 1);
        }
    assert_int_equal(lud_pre_tokenizer_next(LUD_PRE_TOKENIZER_NONE, "a 1!\n", 5), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_end_where_kinds_do),
                                       cmocka_unit_test(bytes_and_words),
                                       cmocka_unit_test(vocabulary_of_texts),
                                       cmocka_unit_test(vocabularies_count_on),
                                       cmocka_unit_test(words_of_texts),
                                       cmocka_unit_test(byte_pairs_as_the_package),
                                       cmocka_unit_test(long_pieces),
                                       cmocka_unit_test(merges_of_the_first_token),
                                       cmocka_unit_test(whole_words_first),
                                       cmocka_unit_test(marks_of_texts),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
