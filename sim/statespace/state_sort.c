#include "sim/statespace/state_sort.h"

#include <omp.h>
#include <string.h>

enum {
    KEY_BITS = 64,
    MAX_FIELDS = 64,
    BUCKET_BITS = 10,
    BUCKETS = 1 << BUCKET_BITS,
    INSERTION = 16,
    MAX_THREADS = 64
};

/* A run of bits of one byte that goes into the key. */
typedef struct field {
    size_t byte;
    unsigned low, width;
} field;

static const uint8_t *bytes_of(const uint8_t *states, size_t state_bytes, lud_sort_item item) {
    return states + (size_t)item.number * state_bytes;
}

/* The leading bits in which states differ, most significant first: bits equal in all states do not matter for
 * their order, so the key holds a prefix of the rest. Returns the number of fields; *bits is their total
 * width. */
static int key_fields(const uint8_t *states, size_t state_bytes, const lud_sort_item *items, size_t n,
                      int n_threads, field *fields, unsigned *bits) {
    const uint8_t *first = bytes_of(states, state_bytes, items[0]);
    int n_fields = 0;
    *bits = 0;
    enum { STRIPE = 64 };
    for (size_t from = 0; from < state_bytes; from += STRIPE) {
        size_t width = state_bytes - from < STRIPE ? state_bytes - from : STRIPE;
        uint8_t differing[STRIPE] = {0};
#pragma omp parallel for schedule(static) num_threads(n_threads) reduction(| : differing[:STRIPE])
        for (size_t i = 0; i < n; i++) {
            const uint8_t *state = bytes_of(states, state_bytes, items[i]);
            for (size_t b = 0; b < width; b++)
                differing[b] = (uint8_t)(differing[b] | (state[from + b] ^ first[from + b]));
        }
        for (size_t b = 0; b < width; b++) {
            if (!differing[b]) continue;
            unsigned low = (unsigned)__builtin_ctz(differing[b]);
            unsigned run = 32 - (unsigned)__builtin_clz(differing[b]) - low;
            if (*bits + run > KEY_BITS || n_fields == MAX_FIELDS) return n_fields;
            fields[n_fields++] = (field){from + b, low, run};
            *bits += run;
        }
    }
    return n_fields;
}

typedef struct order {
    const uint8_t *states;
    size_t state_bytes;
} order;

static inline int before(const order *o, lud_sort_item a, lud_sort_item b) {
    if (a.key != b.key) return a.key < b.key;
    return memcmp(bytes_of(o->states, o->state_bytes, a), bytes_of(o->states, o->state_bytes, b),
                  o->state_bytes) < 0;
}

/* Merge sort from short insertion-sorted runs; the result ends in `items`. */
static void sort_bucket(const order *o, lud_sort_item *items, lud_sort_item *scratch, size_t n) {
    for (size_t begin = 0; begin < n; begin += INSERTION) {
        size_t end = begin + INSERTION < n ? begin + INSERTION : n;
        for (size_t i = begin + 1; i < end; i++) {
            lud_sort_item item = items[i];
            size_t j = i;
            for (; j > begin && before(o, item, items[j - 1]); j--) items[j] = items[j - 1];
            items[j] = item;
        }
    }
    lud_sort_item *from = items, *to = scratch;
    for (size_t run = INSERTION; run < n; run *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * run) {
            size_t middle = begin + run < n ? begin + run : n,
                   end = begin + 2 * run < n ? begin + 2 * run : n;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++)
                to[i] = b == end || (a < middle && before(o, from[a], from[b])) ? from[a++] : from[b++];
        }
        lud_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

void lud_state_sort(const uint8_t *states, size_t state_bytes, lud_sort_item *items, lud_sort_item *scratch,
                    size_t n, int n_threads) {
    if (n < 2) return;
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
    if (n < 4096) n_threads = 1;
    field fields[MAX_FIELDS];
    unsigned bits;
    int n_fields = key_fields(states, state_bytes, items, n, n_threads, fields, &bits);
    unsigned shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
    order o = {states, state_bytes};

    /* Buckets by the key's leading bits: counted and filled by every thread for its stretch of items. */
    size_t fill[MAX_THREADS][BUCKETS];
    size_t bucket_begin[BUCKETS + 1];
#pragma omp parallel num_threads(n_threads)
    {
        int thread = omp_get_thread_num(), team = omp_get_num_threads();
        size_t begin = n * (size_t)thread / (size_t)team, end = n * (size_t)(thread + 1) / (size_t)team;
        memset(fill[thread], 0, sizeof fill[thread]);
        for (size_t i = begin; i < end; i++) {
            const uint8_t *state = bytes_of(states, state_bytes, items[i]);
            uint64_t key = 0;
            for (int f = 0; f < n_fields; f++)
                key = key << fields[f].width |
                      ((state[fields[f].byte] >> fields[f].low) & ((1u << fields[f].width) - 1u));
            items[i].key = key;
            fill[thread][key >> shift]++;
        }
#pragma omp barrier
#pragma omp single
        {
            size_t at = 0;
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                bucket_begin[bucket] = at;
                for (int t = 0; t < team; t++) {
                    size_t count = fill[t][bucket];
                    fill[t][bucket] = at;
                    at += count;
                }
            }
            bucket_begin[BUCKETS] = at;
        }
        for (size_t i = begin; i < end; i++) scratch[fill[thread][items[i].key >> shift]++] = items[i];
#pragma omp barrier
#pragma omp for schedule(dynamic, 8)
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            size_t at = bucket_begin[bucket], count = bucket_begin[bucket + 1] - at;
            if (!count) continue;
            sort_bucket(&o, scratch + at, items + at, count);
            memcpy(items + at, scratch + at, count * sizeof *items);
        }
    }
}

/* Two lists become one; returns its length. */
static size_t merge_two(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, size_t state_bytes,
                        uint8_t *to) {
    const uint8_t *a_end = a + n_a * state_bytes, *b_end = b + n_b * state_bytes;
    const uint8_t *const begin = to;
    while (a < a_end && b < b_end) {
        const int compared = memcmp(a, b, state_bytes);
        memcpy(to, compared <= 0 ? a : b, state_bytes);
        to += state_bytes;
        if (compared <= 0) a += state_bytes;
        if (compared >= 0) b += state_bytes;
    }
    memcpy(to, a, (size_t)(a_end - a));
    to += a_end - a;
    memcpy(to, b, (size_t)(b_end - b));
    to += b_end - b;
    return (size_t)(to - begin) / state_bytes;
}

size_t lud_state_merge(uint8_t *states, uint8_t *scratch, size_t state_bytes, size_t *begin, int n_lists,
                       uint8_t **merged) {
    *merged = states;
    while (n_lists > 1) {
        size_t n = 0;
        int made = 0;
        for (int k = 0; k < n_lists; k += 2) {
            const size_t from = begin[k], middle = begin[k + 1],
                         to = k + 2 <= n_lists ? begin[k + 2] : middle;
            const size_t length =
                merge_two(*merged + from * state_bytes, middle - from, *merged + middle * state_bytes,
                          to - middle, state_bytes, scratch + n * state_bytes);
            begin[made++] = n; /* made <= k: what it had was read */
            n += length;
        }
        begin[made] = n;
        n_lists = made;
        uint8_t *swapped = *merged;
        *merged = scratch;
        scratch = swapped;
    }
    return begin[n_lists];
}
