/* Merging pairs of bytes into tokens. */
#pragma once

#include "learn/language/tokenizer/tokenizer.h"

/* lud_tokenizer_encode for a tokeniser with merges: reserved tokens are taken out, the rest is cut into
 * pieces (pre_tokenizer.h), and of each piece the neighbours with the lowest rank are merged, of equal ones
 * the leftmost, until no rule applies. In time n log n of a piece's length. */
int64_t lud_byte_pairs_encode(const lud_tokenizer *tokenizer, const char *text, size_t length,
                              int32_t *tokens, int64_t most);
