#include "kernels/cpu/conv.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/onednn.h"

enum { OPERANDS = 4 }; /* input, weights, bias, output */
enum { INPUT, WEIGHTS, BIAS, OUTPUT };

typedef struct conv_key {
    int64_t pass, relu, has_bias, slot; /* a thread has its own primitives: they have memory */
    lud_conv shape;
} conv_key;

/* The library's preferred form of one operand: the caller's memory when that is the plain form. */
typedef struct conv_operand {
    dnnl_memory_t plain, blocked; /* the same object when there is nothing to reorder */
    dnnl_primitive_t reorder;     /* plain -> blocked for what the pass reads, back for what it writes */
    void *buffer;
} conv_operand;

typedef struct conv_primitive {
    conv_key key;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    conv_operand operand[OPERANDS];
    dnnl_memory_t scratch;
    void *scratch_buffer;
    struct conv_primitive *next;
} conv_primitive;

struct lud_cpu_conv_cache {
    dnnl_engine_t engine;
    conv_primitive *first;
};

lud_cpu_conv_cache *lud_cpu_conv_cache_create(void) {
    lud_cpu_conv_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return 0;
    if (lud_onednn.engine_create(&cache->engine, dnnl_cpu, 0) != dnnl_success) {
        lud_cpu_conv_cache_destroy(cache);
        return 0;
    }
    return cache;
}

static void conv_destroy(conv_primitive *conv) {
    for (int i = 0; i < OPERANDS; ++i) {
        conv_operand *o = &conv->operand[i];
        if (o->reorder) lud_onednn.primitive_destroy(o->reorder);
        if (o->blocked && o->blocked != o->plain) lud_onednn.memory_destroy(o->blocked);
        if (o->plain) lud_onednn.memory_destroy(o->plain);
        free(o->buffer);
    }
    if (conv->primitive) lud_onednn.primitive_destroy(conv->primitive);
    if (conv->stream) lud_onednn.stream_destroy(conv->stream);
    if (conv->scratch) lud_onednn.memory_destroy(conv->scratch);
    free(conv->scratch_buffer);
    free(conv);
}

void lud_cpu_conv_cache_destroy(lud_cpu_conv_cache *cache) {
    if (!cache) return;
    while (cache->first) {
        conv_primitive *next = cache->first->next;
        conv_destroy(cache->first);
        cache->first = next;
    }
    if (cache->engine) lud_onednn.engine_destroy(cache->engine);
    free(cache);
}

static dnnl_engine_t engine_of(const lud_device *device) {
    return ((const lud_cpu *)device)->conv_cache->engine;
}

/* Memory for a description. */
static bool buffer_create(lud_device *device, const dnnl_memory_desc_t *description, void **buffer,
                          dnnl_memory_t *memory) {
    const size_t bytes = (dnnl_memory_desc_get_size(description) + 63) / 64 * 64;
    *buffer = aligned_alloc(64, bytes);
    if (!*buffer)
        lud_cpu_fail(device, LUD_ERROR_MEMORY, "out of memory: a convolution needs %zu bytes", bytes);
    return *buffer &&
           LUD_ONEDNN(device, lud_onednn.memory_create(memory, description, engine_of(device), *buffer));
}

/* Memory objects and the reorder of one operand. `written`: by the pass. */
static bool operand_create(lud_device *device, conv_operand *o, const dnnl_memory_desc_t *plain,
                           const dnnl_memory_desc_t *preferred, bool written) {
    const dnnl_engine_t engine = engine_of(device);
    if (!LUD_ONEDNN(device, lud_onednn.memory_create(&o->plain, plain, engine, DNNL_MEMORY_NONE)))
        return false;
    if (dnnl_memory_desc_equal(plain, preferred)) {
        o->blocked = o->plain;
        return true;
    }
    dnnl_primitive_desc_t reorder = 0;
    const bool ok =
        buffer_create(device, preferred, &o->buffer, &o->blocked) &&
        LUD_ONEDNN(device,
                   lud_onednn.reorder_primitive_desc_create(&reorder, written ? preferred : plain, engine,
                                                            written ? plain : preferred, engine, 0)) &&
        LUD_ONEDNN(device, lud_onednn.primitive_create(&o->reorder, reorder));
    if (reorder) lud_onednn.primitive_desc_destroy(reorder);
    return ok;
}

/* The operands as the caller has them; `any`: in whatever form the library prefers. */
static bool operands_describe(lud_device *device, const lud_conv *s, dnnl_memory_desc_t plain[OPERANDS],
                              dnnl_memory_desc_t any[OPERANDS]) {
    static const dnnl_format_tag_t tags[OPERANDS] = {dnnl_nchw, dnnl_oihw, dnnl_x, dnnl_nchw};
    const dnnl_dims_t dims[OPERANDS] = {
        {s->n, s->channels_in, s->height, s->width},
        {s->channels_out, s->channels_in, s->kernel, s->kernel},
        {s->channels_out},
        {s->n, s->channels_out, lud_conv_height_out(s), lud_conv_width_out(s)}};
    for (int i = 0; i < OPERANDS; ++i) {
        const int n = i == BIAS ? 1 : 4;
        if (!LUD_ONEDNN(device,
                        lud_onednn.memory_desc_init_by_tag(&plain[i], n, dims[i], dnnl_f32, tags[i])) ||
            !LUD_ONEDNN(device, lud_onednn.memory_desc_init_by_tag(&any[i], n, dims[i], dnnl_f32,
                                                                   i == BIAS ? dnnl_x : dnnl_format_tag_any)))
            return false;
    }
    return true;
}

/* The pass itself; null when the library refuses. */
static dnnl_primitive_desc_t pass_describe(lud_device *device, const conv_key *key,
                                           const dnnl_memory_desc_t any[OPERANDS]) {
    const lud_conv *s = &key->shape;
    const dnnl_dims_t strides = {s->stride, s->stride}, padding = {s->padding, s->padding};
    const dnnl_engine_t engine = engine_of(device);
    dnnl_convolution_desc_t forward, backward;
    dnnl_primitive_attr_t attributes = 0;
    dnnl_primitive_desc_t description = 0, hint = 0;
    bool ok = LUD_ONEDNN(device, lud_onednn.convolution_forward_desc_init(
                                     &forward, dnnl_forward_training, dnnl_convolution_direct, &any[INPUT],
                                     &any[WEIGHTS], key->has_bias ? &any[BIAS] : 0, &any[OUTPUT], strides,
                                     padding, padding)) &&
              lud_onednn_attributes(device, key->relu, false, &attributes) &&
              LUD_ONEDNN(device, lud_onednn.primitive_desc_create(&hint, &forward, attributes, engine, 0));
    if (key->pass == LUD_CONV_FORWARD) {
        description = hint;
        hint = 0;
    } else {
        if (key->pass == LUD_CONV_DATA)
            ok = ok && LUD_ONEDNN(device, lud_onednn.convolution_backward_data_desc_init(
                                              &backward, dnnl_convolution_direct, &any[INPUT], &any[WEIGHTS],
                                              &any[OUTPUT], strides, padding, padding));
        else
            ok = ok && LUD_ONEDNN(device, lud_onednn.convolution_backward_weights_desc_init(
                                              &backward, dnnl_convolution_direct, &any[INPUT], &any[WEIGHTS],
                                              0, &any[OUTPUT], strides, padding, padding));
        if (ok)
            LUD_ONEDNN(device,
                       lud_onednn.primitive_desc_create(&description, &backward, attributes, engine, hint));
    }
    if (hint) lud_onednn.primitive_desc_destroy(hint);
    if (attributes) lud_onednn.primitive_attr_destroy(attributes);
    return description;
}

static const int written_by[3] = {OUTPUT, INPUT, WEIGHTS}; /* each pass */

/* Everything of a primitive whose key is known. */
static bool conv_make(lud_device *device, conv_primitive *conv) {
    static const dnnl_query_t queries[3][OPERANDS] = {
        {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_dst_md},
        {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
    const conv_key *key = &conv->key;
    dnnl_memory_desc_t plain[OPERANDS], any[OPERANDS];
    if (!operands_describe(device, &key->shape, plain, any)) return false;
    dnnl_primitive_desc_t description = pass_describe(device, key, any);
    if (!description) return false;
    bool ok = LUD_ONEDNN(device, lud_onednn.primitive_create(&conv->primitive, description)) &&
              LUD_ONEDNN(device, lud_onednn.stream_create(&conv->stream, engine_of(device),
                                                          dnnl_stream_default_flags));
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    if (ok && scratch && dnnl_memory_desc_get_size(scratch) > 0)
        ok = buffer_create(device, scratch, &conv->scratch_buffer, &conv->scratch);
    for (int i = 0; i < OPERANDS && ok; ++i) {
        if (i == BIAS && !key->has_bias) continue;
        const dnnl_memory_desc_t *preferred =
            dnnl_primitive_desc_query_md(description, queries[key->pass][i], i == BIAS ? 1 : 0);
        ok = operand_create(device, &conv->operand[i], &plain[i], preferred, i == written_by[key->pass]);
    }
    lud_onednn.primitive_desc_destroy(description);
    return ok;
}

static conv_primitive *conv_create(lud_device *device, const conv_key *key) {
    lud_cpu_conv_cache *cache = ((lud_cpu *)device)->conv_cache;
    conv_primitive *conv = calloc(1, sizeof *conv);
    if (!conv) {
        lud_cpu_fail(device, LUD_ERROR_MEMORY, "out of memory for a convolution");
        return 0;
    }
    conv->key = *key;
    if (!conv_make(device, conv)) {
        conv_destroy(conv);
        return 0;
    }
    conv->next = cache->first;
    cache->first = conv;
    return conv;
}

/* Null when it has to be made and cannot. */
static conv_primitive *conv_find(lud_device *device, const conv_key *key) {
    conv_primitive *conv = ((lud_cpu *)device)->conv_cache->first;
    while (conv && memcmp(&conv->key, key, sizeof *key) != 0) conv = conv->next;
    return conv ? conv : conv_create(device, key);
}

static bool reorder_run(lud_device *device, const conv_primitive *conv, const conv_operand *o, bool written) {
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, written ? o->blocked : o->plain},
                                    {DNNL_ARG_TO, written ? o->plain : o->blocked}};
    return LUD_ONEDNN(device, lud_onednn.primitive_execute(o->reorder, conv->stream, 2, arguments));
}

static void conv_run(lud_device *device, conv_primitive *conv, float *const data[OPERANDS]) {
    static const int names[3][OPERANDS] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
        {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_DST},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST}};
    int64_t pass = conv->key.pass;
    dnnl_exec_arg_t arguments[OPERANDS + 1];
    int n = 0;
    for (int i = 0; i < OPERANDS; ++i) {
        conv_operand *o = &conv->operand[i];
        if (!o->plain) continue;
        if (!LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(o->plain, data[i]))) return;
        if (o->reorder && i != written_by[pass] && !reorder_run(device, conv, o, false)) return;
        arguments[n].arg = names[pass][i];
        arguments[n++].memory = o->blocked;
    }
    if (conv->scratch) arguments[n++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, conv->scratch};
    if (!LUD_ONEDNN(device, lud_onednn.primitive_execute(conv->primitive, conv->stream, n, arguments)))
        return;
    const conv_operand *result = &conv->operand[written_by[pass]];
    if (result->reorder) reorder_run(device, conv, result, true);
    LUD_ONEDNN(device, lud_onednn.stream_wait(conv->stream));
}

/* Images are run in pieces, at most so many whole ones and the rest in powers of two; a piece is worth a
 * thread. */
enum { WHOLE_PIECES = 16, MAX_JOBS = WHOLE_PIECES + 48 };
static const double piece_work = 2e6; /* multiplications */

typedef struct conv_job {
    int64_t first, n;
} conv_job;

static int64_t conv_jobs(int64_t n, double work, conv_job *jobs) {
    int64_t piece = 1, n_jobs = 0;
    while (piece * WHOLE_PIECES < n || (double)piece * work < piece_work) piece *= 2;
    for (int64_t first = 0; first < n; first += jobs[n_jobs++].n) {
        while (piece > n - first) piece /= 2;
        jobs[n_jobs] = (conv_job){first, piece};
    }
    return n_jobs;
}

void lud_cpu_conv(lud_device *device, lud_conv_pass pass, const lud_conv *shape, bool relu, bool add,
                  float *x, float *w, const float *b, float *y) {
    int64_t x_size = shape->channels_in * shape->height * shape->width;
    int64_t y_size = shape->channels_out * lud_conv_height_out(shape) * lud_conv_width_out(shape);
    int64_t w_size = shape->channels_out * shape->channels_in * shape->kernel * shape->kernel;
    int64_t work = y_size * w_size / shape->channels_out;
    conv_job jobs[MAX_JOBS];
    conv_primitive *primitives[MAX_JOBS];
    int64_t n_jobs = conv_jobs(shape->n, (double)work, jobs);
    int n_threads = n_jobs == 1 ? 1 : lud_cpu_threads(device, shape->n * work / 4);
    if (n_threads > n_jobs) n_threads = (int)n_jobs;
    bool found = true;
    const lud_onednn_settings settings = lud_onednn_enter();
    for (int64_t job = 0; job < n_jobs && found; ++job) {
        conv_key key;
        memset(&key, 0, sizeof key); /* compared as bytes */
        key.pass = pass;
        key.relu = relu;
        key.has_bias = b != 0;
        key.slot = job * n_threads / n_jobs;
        key.shape = *shape;
        key.shape.n = jobs[job].n;
        primitives[job] = conv_find(device, &key);
        found = found && primitives[job];
    }
    lud_onednn_leave(settings);
    if (!found) return;
    /* gradients of weights: each piece's sum, then the pieces in order */
    bool sum = pass == LUD_CONV_WEIGHTS ? n_jobs > 1 || add : add && pass == LUD_CONV_DATA;
    int64_t sum_size = pass == LUD_CONV_WEIGHTS ? n_jobs * w_size : shape->n * x_size;
    float *sums = sum ? lud_cpu_workspace(device, (size_t)sum_size * sizeof *sums) : 0;
    if (sum && !sums) return;
#pragma omp parallel for schedule(static, 1) num_threads(n_threads)
    for (int t = 0; t < n_threads; ++t) {
        const lud_onednn_settings before = lud_onednn_enter();
        for (int64_t job = 0; job < n_jobs; ++job) {
            if (job * n_threads / n_jobs != t) continue;
            int64_t first = jobs[job].first;
            float *data[OPERANDS] = {x + first * x_size, w, (float *)b, y + first * y_size};
            if (sum && pass == LUD_CONV_DATA) data[INPUT] = sums + first * x_size;
            if (sum && pass == LUD_CONV_WEIGHTS) data[WEIGHTS] = sums + job * w_size;
            conv_run(device, primitives[job], data);
        }
        lud_onednn_leave(before);
    }
    if (sum && pass == LUD_CONV_DATA)
        for (int64_t i = 0; i < sum_size; ++i) x[i] += sums[i];
    if (sum && pass == LUD_CONV_WEIGHTS)
        for (int64_t i = 0; i < w_size; ++i) {
            float total = add ? w[i] : 0;
            for (int64_t job = 0; job < n_jobs; ++job) total += sums[job * w_size + i];
            w[i] = total;
        }
}
