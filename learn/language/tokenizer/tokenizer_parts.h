/* The inside of tokenisers, shared by those who make them. Not for their users. */
#pragma once

#include "base/arena.h"
#include "learn/language/tokenizer/pre_tokenizer.h"
#include "learn/language/tokenizer/tokenizer.h"

typedef struct lud_token {
    const char *bytes; /* null: the number stands for no token */
    int32_t length;
    bool silent;   /* marks something; writes nothing */
    bool reserved; /* found in texts before they are cut */
} lud_token;

/* Two neighbouring tokens that become one. A lower rank goes first. */
typedef struct lud_token_pair {
    int32_t left, right, merged, rank;
} lud_token_pair;

struct lud_tokenizer {
    lud_arena *arena; /* all texts and tables */
    int32_t n;
    lud_token *tokens;   /* [n] */
    uint32_t table_size; /* a power of two, at least twice the tokens */
    int32_t *table;      /* open addressing by bytes: token + 1 */
    int32_t longest;     /* bytes of the longest token that texts are matched with */
    int32_t begin, end;
    int32_t byte[256]; /* the token of each byte, -1: none */
    /* byte pair encoding */
    bool merges;
    bool whole_first; /* a piece that is a token needs no merging */
    lud_pre_tokenizer pre_tokenizer;
    uint32_t pair_table_size;
    lud_token_pair *pairs; /* open addressing; merged -1: free */
    int32_t n_reserved;
    int32_t *reserved; /* tokens found in texts as they are, the longest first */
};

/* An empty tokeniser with room for `n` tokens and `n_pairs` pairs. */
lud_status lud_tokenizer_make(int64_t n, int64_t n_pairs, lud_tokenizer **tokenizer, lud_error *error);
/* Sets token number `token` (bytes are copied). Of several with the same bytes the first one is found. False
 * when memory is out. */
bool lud_tokenizer_set(lud_tokenizer *tokenizer, int32_t token, const char *bytes, size_t length,
                       bool silent);
/* Notes a pair; of two rules for the same pair the first counts. */
void lud_tokenizer_set_pair(lud_tokenizer *tokenizer, lud_token_pair pair);
const lud_token_pair *lud_tokenizer_pair(const lud_tokenizer *tokenizer, int32_t left, int32_t right);
