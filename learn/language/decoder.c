#include "learn/language/decoder.h"

#include <math.h>
#include <string.h>

/* --- weights --- */

static size_t packed_bytes(const lud_decoder *d, int64_t rows, int64_t columns) {
    const size_t number = d->half ? sizeof(uint16_t) : sizeof(float);
    return ((size_t)lud_pack_numbers(rows, columns) * number + 255) / 256 * 256;
}

static const float *value_of(const lud_decoder *d, const char *name) {
    return lud_parameters_value(d->parameters, lud_parameters_find(d->parameters, name));
}

static const float *part_value(const lud_decoder *d, int64_t layer, lud_transformer_part part) {
    char name[LUD_TRANSFORMER_NAME_BYTES];
    lud_transformer_part_name(layer, part, name);
    return value_of(d, name);
}

/* Places of all packed matrices from `memory` on; returns how many bytes they take. */
static size_t lay_out(lud_decoder *d, char *memory) {
    size_t at = 0;
    for (int64_t layer = 0; layer < d->shape.layers; layer++)
        for (int part = 0; part < LUD_PART_MATRICES; part++) {
            int64_t rows, columns;
            lud_transformer_part_size(&d->shape, (lud_transformer_part)part, &rows, &columns);
            d->matrices[layer][part] = memory ? memory + at : NULL;
            at += packed_bytes(d, rows, columns);
        }
    d->head = memory ? memory + at : NULL;
    return at + packed_bytes(d, d->shape.vocabulary, d->shape.width);
}

void lud_decoder_publish(lud_decoder *d) {
    const lud_ops *ops = d->device->ops;
    if (!d->packed) return;
    for (int64_t layer = 0; layer < d->shape.layers; layer++)
        for (int part = 0; part < LUD_PART_MATRICES; part++) {
            int64_t rows, columns;
            lud_transformer_part_size(&d->shape, (lud_transformer_part)part, &rows, &columns);
            ops->pack_weights(d->device, d->half, rows, columns,
                              part_value(d, layer, (lud_transformer_part)part), d->matrices[layer][part]);
        }
    ops->pack_weights(d->device, d->half, d->shape.vocabulary, d->shape.width,
                      value_of(d, lud_transformer_head_name(&d->shape)), d->head);
}

/* --- memory --- */

static bool take_run(lud_decoder *d, lud_decoder_run *run, bool on_device) {
    const size_t tokens = (size_t)d->max_tokens, rows = (size_t)d->max_rows;
    const struct {
        int32_t **array;
        size_t n;
    } all[] = {{&run->tokens, tokens},
               {&run->positions, tokens},
               {&run->slots, tokens},
               {&run->query_offsets, tokens + 1},
               {&run->key_offsets, tokens},
               {&run->key_lengths, tokens},
               {&run->prefix_offsets, tokens},
               {&run->prefix_lengths, tokens},
               {&run->wanted, rows}};
    size_t total = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) total += (all[i].n + 15) / 16 * 16;
    int32_t *memory;
    if (on_device)
        LUD_TAKE_ON_DEVICE(&d->arrays, memory, total);
    else
        LUD_TAKE(&d->arrays, memory, total);
    if (!memory) return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].array = memory;
        memory += (all[i].n + 15) / 16 * 16;
    }
    return true;
}

static void take_floats(lud_decoder *d, float **array, int64_t n) {
    LUD_TAKE_ON_DEVICE(&d->arrays, *array, (size_t)n);
    d->activation_bytes += (size_t)n * sizeof **array;
}

bool lud_decoder_create(lud_decoder *d, const lud_transformer_shape *shape, const lud_parameters *parameters,
                        bool half, bool cache_bytes, int64_t max_tokens, int64_t max_rows, int64_t capacity) {
    memset(d, 0, sizeof *d);
    d->device = d->arrays.device = parameters->device;
    d->shape = *shape;
    d->parameters = parameters;
    d->half = half;
    d->packed = d->device->backend->host_memory;
    d->max_tokens = max_tokens;
    d->max_rows = max_rows;
    const int64_t q = shape->heads * shape->head_dim, kv = shape->kv_heads * shape->head_dim;
    const struct {
        float **array;
        int64_t n;
    } all[] = {{&d->x, max_tokens * shape->width},
               {&d->h, max_tokens * shape->width},
               {&d->q, max_tokens * q},
               {&d->k, max_tokens * kv},
               {&d->v, max_tokens * kv},
               {&d->attended, max_tokens * q},
               {&d->gate, max_tokens * shape->hidden},
               {&d->up, max_tokens * shape->hidden},
               {&d->last, max_rows * shape->width},
               {&d->logits, max_rows * shape->vocabulary},
               {&d->filtered, max_rows * shape->vocabulary}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) take_floats(d, all[i].array, all[i].n);
    bool ok = take_run(d, &d->run, false) && take_run(d, &d->on_device, true);
    if (ok && d->packed) {
        d->weight_bytes = lay_out(d, NULL);
        d->memory = lud_device_allocate(d->device, d->weight_bytes);
        ok = d->memory != NULL;
        if (ok) lay_out(d, d->memory);
    }
    ok = ok && !d->arrays.failed && lud_kv_cache_create(&d->cache, d->device, shape, capacity, cache_bytes);
    if (ok)
        lud_decoder_publish(d);
    else
        lud_decoder_destroy(d);
    return ok;
}

void lud_decoder_destroy(lud_decoder *d) {
    if (!d->device) return;
    if (d->cache.device) lud_kv_cache_destroy(&d->cache);
    if (d->memory) lud_device_release(d->device, d->memory);
    lud_arrays_free(&d->arrays);
    memset(d, 0, sizeof *d);
}

/* --- running --- */

/* y (+)= x w^T. */
static void product(const lud_decoder *d, int64_t n, int64_t layer, lud_transformer_part part, const float *x,
                    float *y, bool add) {
    const lud_ops *ops = d->device->ops;
    int64_t rows, columns;
    lud_transformer_part_size(&d->shape, part, &rows, &columns);
    if (d->packed)
        ops->linear_packed(d->device, d->half, n, columns, rows, x, d->matrices[layer][part], y, add);
    else
        ops->matmul(d->device, false, true, n, rows, columns, 1.0, x, columns, part_value(d, layer, part),
                    columns, add ? 1.0 : 0.0, y, rows);
}

static void upload(lud_decoder *d) {
    const lud_decoder_run *from = &d->run;
    lud_decoder_run *to = &d->on_device;
    const struct {
        int32_t *to;
        const int32_t *from;
        int64_t n;
    } all[] = {{to->tokens, from->tokens, from->n_tokens},
               {to->positions, from->positions, from->n_tokens},
               {to->slots, from->slots, from->n_tokens},
               {to->query_offsets, from->query_offsets, from->n_pieces + 1},
               {to->key_offsets, from->key_offsets, from->n_pieces},
               {to->key_lengths, from->key_lengths, from->n_pieces},
               {to->prefix_offsets, from->prefix_offsets, from->n_pieces},
               {to->prefix_lengths, from->prefix_lengths, from->n_pieces},
               {to->wanted, from->wanted, from->n_wanted}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        lud_device_upload(d->device, all[i].to, all[i].from, (size_t)all[i].n * sizeof(int32_t));
}

static void run_layer(lud_decoder *d, int64_t layer, const lud_attention *shape) {
    const lud_ops *ops = d->device->ops;
    const lud_transformer_shape *s = &d->shape;
    const int64_t n = d->run.n_tokens;
    ops->rms_norm(d->device, n, s->width, s->norm_epsilon, d->x,
                  part_value(d, layer, LUD_PART_ATTENTION_NORM), d->h, NULL);
    product(d, n, layer, LUD_PART_QUERY, d->h, d->q, false);
    product(d, n, layer, LUD_PART_KEY, d->h, d->k, false);
    product(d, n, layer, LUD_PART_VALUE, d->h, d->v, false);
    const int32_t *position = d->on_device.positions;
    ops->rotary(d->device, n, s->heads, s->head_dim, s->rope_theta, position, false, d->q, d->q);
    ops->rotary(d->device, n, s->kv_heads, s->head_dim, s->rope_theta, position, false, d->k, d->k);
    lud_kv_cache_store(&d->cache, layer, n, d->on_device.slots, d->k, d->v);
    const float *keys, *values;
    lud_kv_cache_read(&d->cache, layer, d->run.used_slots, &keys, &values);
    ops->attention(d->device, shape, d->q, keys, values, d->attended, NULL);
    product(d, n, layer, LUD_PART_ATTENTION_OUT, d->attended, d->x, true);
    ops->rms_norm(d->device, n, s->width, s->norm_epsilon, d->x, part_value(d, layer, LUD_PART_MLP_NORM),
                  d->h, NULL);
    product(d, n, layer, LUD_PART_GATE, d->h, d->gate, false);
    product(d, n, layer, LUD_PART_UP, d->h, d->up, false);
    ops->map(d->device, LUD_SILU, n * s->hidden, d->gate, d->gate);
    ops->multiply(d->device, n * s->hidden, d->gate, d->up, d->gate);
    product(d, n, layer, LUD_PART_DOWN, d->gate, d->x, true);
}

static void run_head(lud_decoder *d) {
    const lud_ops *ops = d->device->ops;
    const lud_transformer_shape *s = &d->shape;
    const int64_t n = d->run.n_wanted;
    if (n == 0) return;
    ops->gather_rows(d->device, n, s->width, d->x, d->on_device.wanted, d->last);
    ops->rms_norm(d->device, n, s->width, s->norm_epsilon, d->last, value_of(d, lud_transformer_norm_name),
                  d->last, NULL);
    if (d->no_logits) return;
    if (d->packed)
        ops->linear_packed(d->device, d->half, n, s->width, s->vocabulary, d->last, d->head, d->logits,
                           false);
    else
        ops->linear(d->device, LUD_LINEAR, n, s->width, s->vocabulary, d->last,
                    value_of(d, lud_transformer_head_name(s)), NULL, d->logits, d->logits);
}

void lud_decoder_forward(lud_decoder *d) {
    const lud_transformer_shape *s = &d->shape;
    const lud_decoder_run *on = &d->on_device;
    upload(d);
    const lud_attention shape = {.n_rows = d->run.n_pieces,
                                 .n_tokens = d->run.n_tokens,
                                 .heads = s->heads,
                                 .kv_heads = s->kv_heads,
                                 .head_dim = s->head_dim,
                                 .max_keys = s->context,
                                 .scale = 1.0 / sqrt((double)s->head_dim),
                                 .causal = true,
                                 .query_offsets = on->query_offsets,
                                 .key_offsets = on->key_offsets,
                                 .key_lengths = on->key_lengths,
                                 .prefix_offsets = on->prefix_offsets,
                                 .prefix_lengths = on->prefix_lengths};
    d->device->ops->gather_rows(d->device, d->run.n_tokens, s->width,
                                value_of(d, lud_transformer_embedding_name), on->tokens, d->x);
    for (int64_t layer = 0; layer < s->layers; layer++) run_layer(d, layer, &shape);
    run_head(d);
}
