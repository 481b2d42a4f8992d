#include "learn/episodes/file/row_deflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

/* A token is a literal, or SHORTEST and more equal bytes of the row before. */
enum { LITERALS = 256, SHORTEST = 3, LONGEST = 258, TOKENS = LITERALS + LONGEST - SHORTEST + 1 };
/* Symbols of RFC 1951. */
enum { END = 256, LENGTH_SYMBOL = 257, SYMBOLS = 286, DISTANCES = 30, FURTHEST = 1 << 15 };
enum { LENGTH_KINDS = 19, MOST_BITS = 15, MOST_LENGTH_BITS = 7 };

size_t lud_row_deflate_room(size_t n) {
    return n / 2 + n / LONGEST + 2 * LONGEST; /* of two planes the last may have a byte more */
}

/* --- tokens --- */

static uint64_t load(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* How many of n bytes are equal from the first on. */
static size_t equal_bytes(const uint8_t *a, const uint8_t *b, size_t n) {
    size_t at = 0;
    while (at + 32 <= n) {
        const uint64_t d0 = load(a + at) ^ load(b + at), d1 = load(a + at + 8) ^ load(b + at + 8),
                       d2 = load(a + at + 16) ^ load(b + at + 16), d3 = load(a + at + 24) ^ load(b + at + 24);
        if (d0 | d1 | d2 | d3) break;
        at += 32;
    }
    for (; at + 8 <= n; at += 8) {
        const uint64_t difference = load(a + at) ^ load(b + at);
        if (difference) return at + (size_t)__builtin_ctzll(difference) / 8;
    }
    while (at < n && a[at] == b[at]) at++;
    return at;
}

/* Splits a match so that no piece is too short. */
static uint16_t *put_match(uint16_t *token, size_t length) {
    for (; length > LONGEST + SHORTEST; length -= LONGEST) *token++ = LITERALS + LONGEST - SHORTEST;
    if (length > LONGEST) {
        *token++ = LITERALS;
        length -= SHORTEST;
    }
    *token++ = (uint16_t)(LITERALS + length - SHORTEST);
    return token;
}

/* Whether bytes are spread so evenly that Huffman's words would save little: two of them are equal hardly
 * more often than by chance. */
static bool is_noise(const uint8_t *from, size_t n) {
    uint32_t count[LITERALS] = {0};
    double equal = 0.0;
    for (size_t k = 0; k < n; k++) count[from[k]]++;
    for (int k = 0; k < LITERALS; k++) equal += (double)count[k] * (double)count[k];
    return equal * LITERALS < 1.5 * (double)n * (double)n;
}

/* The share of bytes of an eighth of them that are those of the row before. */
static double share_alike(const uint8_t *from, size_t n, size_t row_bytes) {
    size_t equal = 0;
    const size_t most = n / 8 + 1 < n - row_bytes ? n / 8 + 1 : n - row_bytes;
    for (size_t k = 0; k < most; k++) equal += from[row_bytes + k] == from[k];
    return (double)equal / (double)most;
}

/* Returns the number of tokens, at most half of n where rows have to be alike; 0: they are too many, or an
 * eighth of the bytes says that there is nothing to be had. */
static size_t find_tokens(const uint8_t *from, size_t n, size_t row_bytes, bool alike, uint16_t *tokens) {
    uint16_t *token = tokens;
    if (alike ? row_bytes > n / 2 : is_noise(from, n / 8)) return 0;
    const double share = row_bytes < n ? share_alike(from, n, row_bytes) : 0.0;
    if (alike && share < 0.5) return 0;
    /* where matches are short it takes longer to find them than they save */
    const size_t first = share < 0.8 && !alike ? n : row_bytes;
    for (size_t at = 0; at < first; at++) *token++ = from[at];
    for (size_t at = first; at < n;) {
        const size_t length = equal_bytes(from + at, from + at - row_bytes, n - at);
        const size_t literals = length >= SHORTEST ? 0 : length + 1 < n - at ? length + 1 : n - at;
        for (size_t k = 0; k < literals; k++) *token++ = from[at + k];
        if (length >= SHORTEST) token = put_match(token, length);
        at += literals ? literals : length;
        if (alike && (size_t)(token - tokens) > n / 2) return 0;
    }
    return (size_t)(token - tokens);
}

/* --- Huffman codes --- */

typedef struct leaf {
    uint32_t count;
    uint16_t symbol;
} leaf;

static int by_count(const void *a, const void *b) {
    const leaf *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? -1 : 1) : (int)x->symbol - (int)y->symbol;
}

/* The depth of every leaf of Huffman's tree over sorted leaves, by merging two queues: leaves, and inner
 * nodes in the order of their making. Returns the greatest. */
static int measure_depths(const leaf *leaves, int n, uint8_t *depth) {
    uint32_t count[2 * SYMBOLS];
    uint16_t parent[2 * SYMBOLS];
    uint8_t level[2 * SYMBOLS];
    int next_leaf = 0, next_inner = n, most = 0;
    for (int k = 0; k < n; k++) count[k] = leaves[k].count;
    for (int made = n; made < 2 * n - 1; made++) {
        count[made] = 0;
        for (int side = 0; side < 2; side++) {
            const bool is_leaf =
                next_leaf < n && (next_inner >= made || count[next_leaf] <= count[next_inner]);
            const int child = is_leaf ? next_leaf++ : next_inner++;
            parent[child] = (uint16_t)made;
            count[made] += count[child];
        }
    }
    level[2 * n - 2] = 0;
    for (int k = 2 * n - 3; k >= 0; k--) level[k] = (uint8_t)(level[parent[k]] + 1);
    for (int k = 0; k < n; k++) {
        depth[k] = level[k];
        if (level[k] > most) most = level[k];
    }
    return most;
}

/* Lengths of a code in which no word is longer than `most`: where Huffman's has longer ones, rare symbols
 * count for more. At least two symbols have to occur. */
static void find_lengths(const uint32_t *count, int n, int most, uint8_t *length) {
    leaf leaves[SYMBOLS];
    uint8_t depth[SYMBOLS];
    int used = 0;
    memset(length, 0, (size_t)n);
    for (int k = 0; k < n; k++)
        if (count[k]) leaves[used++] = (leaf){count[k], (uint16_t)k};
    qsort(leaves, (size_t)used, sizeof *leaves, by_count);
    while (measure_depths(leaves, used, depth) > most)
        for (int k = 0; k < used; k++) leaves[k].count = leaves[k].count / 2 + 1;
    for (int k = 0; k < used; k++) length[leaves[k].symbol] = depth[k];
}

typedef struct word {
    uint64_t bits;
    uint32_t n;
} word;

/* Words in the order of RFC 1951, 3.2.2, first bit lowest. */
static void find_words(const uint8_t *length, int n, word *words) {
    uint32_t of_length[MOST_BITS + 2] = {0}, next[MOST_BITS + 2] = {0};
    for (int k = 0; k < n; k++) of_length[length[k]]++;
    of_length[0] = 0;
    for (int bits = 1; bits <= MOST_BITS; bits++) next[bits] = (next[bits - 1] + of_length[bits - 1]) << 1;
    for (int k = 0; k < n; k++) {
        const uint32_t code = length[k] ? next[length[k]]++ : 0;
        words[k] = (word){.n = length[k]};
        for (uint32_t b = 0; b < length[k]; b++)
            words[k].bits |= (uint64_t)(code >> b & 1) << (length[k] - 1 - b);
    }
}

/* --- lengths and distances: a symbol and more bits (RFC 1951, 3.2.5) --- */

typedef struct place {
    uint32_t symbol, n_extra, extra;
} place;

static place place_of_length(uint32_t length) {
    const uint32_t x = length - SHORTEST;
    if (length == LONGEST) return (place){SYMBOLS - 1, 0, 0};
    if (x < 8) return (place){LENGTH_SYMBOL + x, 0, 0};
    const uint32_t n_extra = 29 - (uint32_t)__builtin_clz(x);
    return (place){LENGTH_SYMBOL + 4 * n_extra + (x >> n_extra), n_extra, x & ((1u << n_extra) - 1)};
}

static place place_of_distance(uint32_t distance) {
    const uint32_t x = distance - 1;
    if (x < 4) return (place){x, 0, 0};
    const uint32_t n_extra = 30 - (uint32_t)__builtin_clz(x);
    return (place){2 * n_extra + (x >> n_extra), n_extra, x & ((1u << n_extra) - 1)};
}

/* --- the stream --- */

typedef struct writer {
    uint8_t *to;
    uint64_t bits;
    uint32_t n;
} writer;

/* At most 56 bits; writes eight bytes at a time, of which the last ones are written again. */
static void put(writer *w, word x) {
    w->bits |= x.bits << w->n;
    w->n += x.n;
    memcpy(w->to, &w->bits, sizeof w->bits);
    w->to += w->n / 8;
    w->bits >>= w->n & ~7u;
    w->n &= 7;
}

/* The lengths of all words as symbols: 0 to 15, 17 and 18 for runs of zeros with how many in `extra`. */
static int shorten(const uint8_t *length, int n, uint8_t *symbols, uint8_t *extra) {
    int made = 0;
    for (int k = 0; k < n;) {
        int zeros = 0;
        while (k + zeros < n && !length[k + zeros] && zeros < 138) zeros++;
        symbols[made] = zeros >= 11 ? 18 : zeros >= 3 ? 17 : length[k];
        extra[made++] = (uint8_t)(zeros >= 11 ? zeros - 11 : zeros >= 3 ? zeros - 3 : 0);
        k += zeros >= 3 ? zeros : 1;
    }
    return made;
}

static void put_head(writer *w, const uint8_t *lengths, int n_distances, bool last) {
    static const uint8_t order[LENGTH_KINDS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t symbols[SYMBOLS + DISTANCES], extra[SYMBOLS + DISTANCES], bits[LENGTH_KINDS];
    uint32_t count[LENGTH_KINDS] = {[0] = 1, [18] = 1}; /* a code of one symbol is not allowed here */
    word words[LENGTH_KINDS];
    const int n = shorten(lengths, SYMBOLS + n_distances, symbols, extra);
    for (int k = 0; k < n; k++) count[symbols[k]]++;
    find_lengths(count, LENGTH_KINDS, MOST_LENGTH_BITS, bits);
    find_words(bits, LENGTH_KINDS, words);
    put(w, (word){(uint64_t)last | 2 << 1, 3});
    put(w, (word){(uint64_t)(SYMBOLS - LENGTH_SYMBOL) | (uint64_t)(n_distances - 1) << 5 |
                      (uint64_t)(LENGTH_KINDS - 4) << 10,
                  14});
    for (int k = 0; k < LENGTH_KINDS; k++) put(w, (word){bits[order[k]], 3});
    for (int k = 0; k < n; k++) {
        put(w, words[symbols[k]]);
        if (symbols[k] >= 17) put(w, (word){extra[k], symbols[k] == 18 ? 7 : 3});
    }
}

/* Everything of a token in one word. */
static void find_token_words(const uint8_t *lengths, place distance, word *token_words, word *end) {
    word words[SYMBOLS];
    find_words(lengths, SYMBOLS, words);
    memcpy(token_words, words, LITERALS * sizeof *words);
    *end = words[END];
    for (uint32_t length = SHORTEST; length <= LONGEST; length++) {
        const place p = place_of_length(length);
        word x = words[p.symbol];
        x.bits |= (uint64_t)p.extra << x.n;
        x.n += p.n_extra + 1; /* the only distance is a zero bit */
        x.bits |= (uint64_t)distance.extra << x.n;
        x.n += distance.n_extra;
        token_words[LITERALS + length - SHORTEST] = x;
    }
}

static void align(writer *w) {
    if (w->n) put(w, (word){0, 8 - w->n});
}

static void put_checksum(writer *w, const uint8_t *from, size_t n) {
    align(w);
    const uint32_t sum = libdeflate_adler32(1, from, n);
    for (int k = 3; k >= 0; k--) *w->to++ = (uint8_t)(sum >> 8 * k);
}

/* --- blocks --- */

static const word stream_head = {0x0178, 16}; /* of RFC 1950: deflate, 32 KiB, fast */
enum {
    AROUND = 512
}; /* more bytes than stand before and behind the tokens of a block, and than put() writes ahead */

typedef struct block {
    size_t n_tokens, bytes; /* bytes: at most, as it will be written */
    int n_distances;
    uint8_t lengths[SYMBOLS + DISTANCES];
    word words[TOKENS], end;
} block;

/* False: the tokens are too many, see find_tokens. */
static bool plan_block(const uint8_t *from, size_t n, size_t row_bytes, bool alike, uint16_t *room,
                       block *b) {
    uint32_t of_token[TOKENS] = {0}, count[SYMBOLS] = {[END] = 1};
    b->n_tokens = row_bytes <= FURTHEST && n <= 1u << 30 ? find_tokens(from, n, row_bytes, alike, room) : 0;
    if (!b->n_tokens) return false;
    for (size_t k = 0; k < b->n_tokens; k++) of_token[room[k]]++;
    for (uint32_t k = 0; k < TOKENS; k++)
        count[k < LITERALS ? k : place_of_length(k - LITERALS + SHORTEST).symbol] += of_token[k];
    const place distance = place_of_distance((uint32_t)row_bytes);
    memset(b->lengths, 0, sizeof b->lengths);
    find_lengths(count, SYMBOLS, MOST_BITS, b->lengths);
    b->lengths[SYMBOLS + distance.symbol] = 1;
    b->n_distances = (int)distance.symbol + 1;
    find_token_words(b->lengths, distance, b->words, &b->end);
    size_t bits = 0;
    for (uint32_t k = 0; k < TOKENS; k++) bits += (size_t)of_token[k] * b->words[k].n;
    b->bytes = bits / 8 + AROUND;
    return true;
}

static void put_block(writer *w, const block *b, const uint16_t *tokens, bool last) {
    put_head(w, b->lengths, b->n_distances, last);
    for (size_t k = 0; k < b->n_tokens; k++) put(w, b->words[tokens[k]]);
    put(w, b->end);
}

/* As they are (RFC 1951, 3.2.4). */
static void put_bytes(writer *w, const uint8_t *from, size_t n, bool last) {
    enum { MOST = 65535 };
    for (size_t at = 0; at < n;) {
        const size_t some = n - at < MOST ? n - at : MOST;
        put(w, (word){last && at + some == n, 3});
        align(w);
        put(w, (word){some | (~some & MOST) << 16, 32});
        memcpy(w->to, from + at, some);
        w->to += some;
        at += some;
    }
}

size_t lud_row_deflate(const uint8_t *from, size_t n, size_t row_bytes, uint16_t *room, uint8_t *to,
                       size_t capacity) {
    block b;
    if (!plan_block(from, n, row_bytes, true, room, &b) || b.bytes > n / 2 || b.bytes > capacity) return 0;
    writer w = {.to = to};
    put(&w, stream_head);
    put_block(&w, &b, room, true);
    put_checksum(&w, from, n);
    return (size_t)(w.to - to);
}

size_t lud_plane_deflate(const uint8_t *from, size_t n, size_t row_bytes, int n_planes, uint16_t *room,
                         uint8_t *to, size_t capacity) {
    const size_t plane = n / (size_t)n_planes;
    writer w = {.to = to};
    block b;
    if (plane == 0 || capacity < AROUND) return 0;
    put(&w, stream_head);
    for (int k = 0; k < n_planes; k++) {
        const uint8_t *at = from + (size_t)k * plane;
        const bool last = k + 1 == n_planes;
        const size_t size = last ? n - (size_t)k * plane : plane, left = capacity - (size_t)(w.to - to);
        const bool tokens =
            plan_block(at, size, row_bytes / (size_t)n_planes, false, room, &b) && b.bytes < size;
        if ((tokens ? b.bytes : size + AROUND) > left) return 0;
        if (tokens)
            put_block(&w, &b, room, last);
        else
            put_bytes(&w, at, size, last);
    }
    put_checksum(&w, from, n);
    return (size_t)(w.to - to);
}
