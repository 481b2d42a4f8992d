/* Any bytes are a tokenizer.json or an error; with a good one any bytes are a text that comes back; any text
 * holds an action or none. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "answers.h"
#include "learn/language/parse_action.h"
#include "learn/language/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MOST = 1 << 16 };

static void round_trip(const lud_tokenizer *tokenizer, const char *text, size_t length, bool whole) {
    int32_t *tokens = malloc((length + 1) * sizeof *tokens);
    if (!tokens) return;
    const int64_t n = lud_tokenizer_encode(tokenizer, text, length, tokens, (int64_t)length);
    if (n < 0 || n > (int64_t)length) abort();
    for (int64_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= lud_tokenizer_size(tokenizer)) abort();
    fuzz_answer(tokens, (size_t)n * sizeof *tokens);
    lud_text back = {0};
    lud_tokenizer_decode(tokenizer, n, tokens, &back);
    fuzz_answer(back.bytes, back.length);
    if (whole && (back.length != length || (length && memcmp(back.bytes, text, length) != 0))) abort();
    lud_text_free(&back);
    free(tokens);
}

static void parse(const char *text, size_t length) {
    static const char *const names[] = {"left", "right", "up"};
    for (int mode = 0; mode < LUD_PARSE_MODES; mode++) {
        int32_t choice = -1;
        const lud_parse_result result =
            lud_parse_choice((lud_parse_mode)mode, text, length, names, 3, &choice);
        if ((result == LUD_PARSED) != (choice >= 0 && choice < 3)) abort();
        fuzz_answer(&result, sizeof result);
        fuzz_answer(&choice, sizeof choice);
    }
    lud_object_scan scan = {0};
    lud_object_scan_next(&scan, text, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char *const list[] = {"{\"action\": \"", "\"}", " the", "ab", "abc", "\n"};
    const char *text = (const char *)bytes;
    if (length > MOST) return 0;
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL, *words = NULL;
    if (lud_tokenizer_parse("fuzz", text, length, &tokenizer, &error)) {
        if (tokenizer || !error.text[0]) abort();
        fuzz_answer_text(error.text);
    } else { /* the file read by itself: marks in it write nothing, so not all of it need come back */
        round_trip(tokenizer, text, length, false);
        lud_tokenizer_destroy(tokenizer);
    }
    if (lud_tokenizer_words(list, 6, &words, &error)) abort();
    round_trip(words, text, length, true);
    lud_tokenizer_destroy(words);
    parse(text, length);
    return 0;
}
