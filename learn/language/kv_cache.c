#include "learn/language/kv_cache.h"

static int64_t width_of(const lud_kv_cache *cache) {
    return cache->kv_heads * cache->head_dim;
}

bool lud_kv_cache_create(lud_kv_cache *cache, lud_device *device, const lud_transformer_shape *shape,
                         int64_t capacity, bool bytes) {
    *cache = (lud_kv_cache){.device = device,
                            .layers = shape->layers,
                            .kv_heads = shape->kv_heads,
                            .head_dim = shape->head_dim,
                            .capacity = capacity,
                            .bytes = bytes};
    const size_t tokens = (size_t)(2 * capacity), layers = (size_t)shape->layers;
    const size_t layer = tokens * (size_t)width_of(cache);
    cache->numbers = lud_device_allocate(device, (bytes ? 1 : layers) * layer * sizeof *cache->numbers);
    if (bytes) {
        cache->codes = lud_device_allocate(device, layers * layer);
        cache->scales =
            lud_device_allocate(device, layers * tokens * (size_t)shape->kv_heads * sizeof *cache->scales);
    }
    if (cache->numbers && (!bytes || (cache->codes && cache->scales))) return true;
    lud_kv_cache_destroy(cache);
    return false;
}

void lud_kv_cache_destroy(lud_kv_cache *cache) {
    void *const parts[] = {cache->numbers, cache->codes, cache->scales};
    for (int i = 0; i < 3; i++)
        if (parts[i]) lud_device_release(cache->device, parts[i]);
    *cache = (lud_kv_cache){0};
}

/* Numbers before the keys (0) or values (1) of a layer, for something with `width` of them a token. */
static int64_t block_at(const lud_kv_cache *cache, int64_t layer, int which, int64_t width) {
    return (2 * layer + which) * cache->capacity * width;
}

void lud_kv_cache_store(lud_kv_cache *cache, int64_t layer, int64_t n, const int32_t *slot, const float *k,
                        const float *v) {
    const lud_ops *ops = cache->device->ops;
    const int64_t width = width_of(cache);
    const float *const from[2] = {k, v};
    for (int which = 0; which < 2; which++) {
        const int64_t at = block_at(cache, layer, which, width);
        if (cache->bytes)
            ops->quantise_rows(cache->device, n, width, cache->head_dim, from[which], slot, cache->codes + at,
                               cache->scales + block_at(cache, layer, which, cache->kv_heads));
        else
            ops->scatter_rows(cache->device, n, width, from[which], slot, cache->numbers + at);
    }
}

void lud_kv_cache_read(lud_kv_cache *cache, int64_t layer, int64_t used, const float **k, const float **v) {
    const int64_t width = width_of(cache);
    float *to[2];
    for (int which = 0; which < 2; which++) {
        to[which] = cache->numbers + block_at(cache, cache->bytes ? 0 : layer, which, width);
        if (cache->bytes)
            cache->device->ops->dequantise_rows(
                cache->device, used, width, cache->head_dim,
                cache->codes + block_at(cache, layer, which, width),
                cache->scales + block_at(cache, layer, which, cache->kv_heads), to[which]);
    }
    *k = to[0];
    *v = to[1];
}

double lud_kv_cache_token_bytes(const lud_transformer_shape *shape, double bytes_per_number, bool scales) {
    const double numbers = 2.0 * (double)(shape->layers * shape->kv_heads);
    return numbers * ((double)shape->head_dim * bytes_per_number + (scales ? sizeof(float) : 0.0));
}
