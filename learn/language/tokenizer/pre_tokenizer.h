/* How a text is cut into pieces before pairs of bytes are merged: the patterns of the usual tokenisers, each
 * a scanner of its own. */
#pragma once

#include <stddef.h>

typedef enum lud_pre_tokenizer {
    LUD_PRE_TOKENIZER_GPT2,   /* that of GPT-2: what ByteLevel does with its own pattern */
    LUD_PRE_TOKENIZER_LLAMA3, /* letters may follow one other character, numbers come in threes */
    LUD_PRE_TOKENIZER_QWEN2,  /* the same, numbers digit by digit */
    LUD_PRE_TOKENIZER_NONE,   /* the text as it stands */
    LUD_PRE_TOKENIZERS
} lud_pre_tokenizer;

/* The pattern as a tokenizer.json writes it; null for NONE. */
const char *lud_pre_tokenizer_pattern(lud_pre_tokenizer kind);
/* Bytes of the first piece of a text of `length` > 0 bytes, at least one. Bytes that are no UTF-8 count as
 * characters that are neither letters nor numbers nor space. */
size_t lud_pre_tokenizer_next(lud_pre_tokenizer kind, const char *text, size_t length);
