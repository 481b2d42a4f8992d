/* Keys and values of a transformer's layers, kept while texts are written: as floats, or as bytes with a
 * scale for each head (a quarter of the memory, within 1/254 of a head's largest number). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/device.h"
#include "learn/language/transformer.h"

typedef struct lud_kv_cache {
    lud_device *device;
    int64_t layers, kv_heads, head_dim, capacity; /* tokens */
    bool bytes;
    float
        *numbers;  /* floats: [layers][2][capacity][kv_heads * head_dim]; bytes: one layer of that, scratch */
    int8_t *codes; /* bytes: [layers][2][capacity][kv_heads * head_dim] */
    float *scales; /* bytes: [layers][2][capacity][kv_heads] */
} lud_kv_cache;

/* Takes the memory; false when it is out (then nothing is held). */
bool lud_kv_cache_create(lud_kv_cache *cache, lud_device *device, const lud_transformer_shape *shape,
                         int64_t capacity, bool bytes);
void lud_kv_cache_destroy(lud_kv_cache *cache);
/* Puts k and v [n][kv_heads * head_dim] of a layer at the places slot[n] (device memory). */
void lud_kv_cache_store(lud_kv_cache *cache, int64_t layer, int64_t n, const int32_t *slot, const float *k,
                        const float *v);
/* A layer's keys and values as floats; of bytes the first `used` slots, until the next call. */
void lud_kv_cache_read(lud_kv_cache *cache, int64_t layer, int64_t used, const float **k, const float **v);

/* Bytes that a token takes: 2 * layers * kv_heads * head_dim * bytes of a number, and the scales. */
double lud_kv_cache_token_bytes(const lud_transformer_shape *shape, double bytes_per_number, bool scales);
