/* Text as numbers: bytes, words of a vocabulary, and byte pair encoding read from a tokenizer.json.
 *
 * Every tokeniser can write every text and gives it back byte for byte: what is in no longer token is spelled
 * in bytes. A tokeniser does not change after it was made and may be used by several threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Texts of tokens may not be longer, and a vocabulary not larger. */
enum { LUD_TOKEN_MAX_BYTES = 1024, LUD_TOKENIZER_MAX_TOKENS = 1 << 21 };

typedef struct lud_tokenizer lud_tokenizer;

/* Tokens 0..255 are the bytes, 256 stands for the beginning of a text, 257 for its end. */
lud_status lud_tokenizer_bytes(lud_tokenizer **tokenizer, lud_error *error);
/* The same with the words (any strings without a zero byte, at most LUD_TOKEN_MAX_BYTES long) from 258 on. A
 * text is taken from left to right, each time the longest word that fits, else a byte. Words given twice
 * count once. */
lud_status lud_tokenizer_words(const char *const *words, int64_t n_words, lud_tokenizer **tokenizer,
                               lud_error *error);
/* Byte pair encoding on bytes (Sennrich et al., 2016; Radford et al., 2019) from the tokenizer.json of
 * Hugging Face's tokenizers: model BPE, decoder ByteLevel, no normaliser, and one of the ways to cut a text
 * before pairs are merged that pre_tokenizer.h names. Anything else is refused by name. Tokens that the file
 * adds are found in texts whole; what its post-processor would put around a text is not added. */
lud_status lud_tokenizer_read(const char *path, lud_tokenizer **tokenizer, lud_error *error);
/* The same from memory; `name` stands for the file in messages. */
lud_status lud_tokenizer_parse(const char *name, const char *bytes, size_t length, lud_tokenizer **tokenizer,
                               lud_error *error);
/* Null is allowed. */
void lud_tokenizer_destroy(lud_tokenizer *tokenizer);

/* One more than the largest token. */
int64_t lud_tokenizer_size(const lud_tokenizer *tokenizer);
/* The tokens that begin and end a text; -1: the file names none (a token that it adds of one of the usual
 * names: <|begin_of_text|>, <s>, <|endoftext|>, </s>, <|end_of_text|>, <|eot_id|>, <|im_end|>). */
int32_t lud_tokenizer_begin(const lud_tokenizer *tokenizer);
int32_t lud_tokenizer_end(const lud_tokenizer *tokenizer);
/* The token with exactly these bytes, -1: none. */
int32_t lud_tokenizer_find(const lud_tokenizer *tokenizer, const char *bytes, size_t length);
/* A number that stands for all tokens and their order: of two tokenisers with different ones a model that was
 * trained with one cannot read the other's. */
uint64_t lud_tokenizer_hash(const lud_tokenizer *tokenizer);
/* The bytes of a token; those that only mark something (begin, end) have none. */
const char *lud_tokenizer_token(const lud_tokenizer *tokenizer, int32_t token, size_t *length);

/* Writes the tokens of the text, at most `most` of them, to `tokens` (may be null when `most` is 0). Returns
 * how many there are in all, -1 when memory is out. */
int64_t lud_tokenizer_encode(const lud_tokenizer *tokenizer, const char *text, size_t length, int32_t *tokens,
                             int64_t most);
/* Appends the bytes of n tokens; tokens out of range have none. */
void lud_tokenizer_decode(const lud_tokenizer *tokenizer, int64_t n, const int32_t *tokens, lud_text *out);
