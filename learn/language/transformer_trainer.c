/* Learning: a network for the embedding, one for each layer, one for the head. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/language/transformer.h"
#include "learn/nn/arrays.h"

enum { HEAD_ROWS = 256 }; /* positions whose logits are in memory at a time */

struct lud_transformer_trainer {
    lud_transformer_shape shape;
    lud_parameters *parameters;
    lud_device *device;
    int64_t max_tokens, n_inputs;
    bool checkpointing;
    lud_attention attention;
    lud_nn *embedding, *head, *layers[LUD_TRANSFORMER_MAX_LAYERS];
    int token, embedded;             /* values of the embedding */
    int x, y, position;              /* of every layer */
    int state, logits;               /* of the head */
    size_t layer_bytes, other_bytes; /* memory of the layers' networks, and of all else */
    float *kept;    /* checkpointing: what went into each layer, [layers][max_tokens][width] */
    float *carried; /* the gradient between two layers, [max_tokens][width] */
    float *log_prob, *dlog_prob, *dentropy;                       /* [HEAD_ROWS] on the device */
    int32_t *rows, *targets;                                      /* [HEAD_ROWS] on the device */
    int32_t *offsets, *lengths, *prefix_offsets, *prefix_lengths; /* on the device */
    lud_packing packing;                                          /* on the host */
    float *host_log_prob, *host_entropy;                          /* [HEAD_ROWS] */
    lud_arrays arrays;
};

/* --- declaring --- */

static void layer_name(int64_t layer, lud_transformer_part part, char name[LUD_TRANSFORMER_NAME_BYTES]) {
    lud_transformer_part_name(layer, part, name);
    *strrchr(name, '.') = 0; /* networks add `.weight` */
}

static int product(lud_nn *net, int64_t layer, lud_transformer_part part, int x, int64_t width, lud_map map) {
    char name[LUD_TRANSFORMER_NAME_BYTES];
    layer_name(layer, part, name);
    return lud_nn_linear_without_bias(net, x, name, width, map);
}

static int norm(lud_nn *net, const lud_transformer_shape *s, int64_t layer, lud_transformer_part part,
                int x) {
    char name[LUD_TRANSFORMER_NAME_BYTES];
    layer_name(layer, part, name);
    return lud_nn_rms_norm(net, x, name, s->norm_epsilon);
}

static lud_nn *declare_layer(lud_transformer_trainer *t, int64_t layer) {
    const lud_transformer_shape *s = &t->shape;
    lud_nn *net = lud_nn_create(t->parameters, t->max_tokens);
    if (!net) return NULL;
    const int64_t kv = s->kv_heads * s->head_dim;
    t->x = lud_nn_input(net, s->width);
    lud_nn_want_gradient(net, t->x);
    t->position = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 0);
    const int seen = norm(net, s, layer, LUD_PART_ATTENTION_NORM, t->x);
    const int q = product(net, layer, LUD_PART_QUERY, seen, s->heads * s->head_dim, LUD_LINEAR);
    const int k = product(net, layer, LUD_PART_KEY, seen, kv, LUD_LINEAR);
    const int v = product(net, layer, LUD_PART_VALUE, seen, kv, LUD_LINEAR);
    const int attended =
        lud_nn_attention(net, lud_nn_rotary(net, q, t->position, s->heads, s->rope_theta),
                         lud_nn_rotary(net, k, t->position, s->kv_heads, s->rope_theta), v, &t->attention);
    const int stream =
        lud_nn_add(net, t->x, product(net, layer, LUD_PART_ATTENTION_OUT, attended, s->width, LUD_LINEAR));
    const int read = norm(net, s, layer, LUD_PART_MLP_NORM, stream);
    const int gate = product(net, layer, LUD_PART_GATE, read, s->hidden, LUD_SILU);
    const int up = product(net, layer, LUD_PART_UP, read, s->hidden, LUD_LINEAR);
    t->y =
        lud_nn_add(net, stream,
                   product(net, layer, LUD_PART_DOWN, lud_nn_multiply(net, gate, up), s->width, LUD_LINEAR));
    lud_nn_output(net, t->y);
    return net;
}

static bool declare(lud_transformer_trainer *t) {
    const lud_transformer_shape *s = &t->shape;
    t->embedding = lud_nn_create(t->parameters, t->max_tokens);
    t->head = lud_nn_create(t->parameters, HEAD_ROWS);
    if (!t->embedding || !t->head) return false;
    t->token = lud_nn_input_on(t->embedding, 0, LUD_NN_I32, 1, 0);
    t->embedded = lud_nn_embedding(t->embedding, t->token, "model.embed_tokens", s->vocabulary, s->width);
    lud_nn_output(t->embedding, t->embedded);
    for (int64_t layer = 0; layer < s->layers; layer++)
        if (!(t->layers[layer] = declare_layer(t, layer))) return false;
    t->state = lud_nn_input(t->head, s->width);
    lud_nn_want_gradient(t->head, t->state);
    const int index = lud_parameters_find(t->parameters, lud_transformer_head_name(s));
    const bool low_rank = index >= 0 && t->parameters->items[index].low_rank;
    t->logits =
        lud_nn_linear_without_bias(t->head, lud_nn_rms_norm(t->head, t->state, "model.norm", s->norm_epsilon),
                                   s->tied ? "model.embed_tokens" : "lm_head", s->vocabulary, LUD_LINEAR);
    if (index >= 0) t->parameters->items[index].low_rank = low_rank; /* layers mark what they multiply with */
    lud_nn_output(t->head, t->logits);
    return true;
}

static lud_status plan(lud_transformer_trainer *t, lud_error *error) {
    lud_status status = lud_nn_plan(t->embedding, LUD_NN_TRAIN, error);
    if (!status) status = lud_nn_plan(t->head, LUD_NN_TRAIN, error);
    for (int64_t layer = 0; layer < t->shape.layers && !status; layer++) {
        if (layer > 0 && t->checkpointing) lud_nn_borrow(t->layers[layer], t->layers[0]);
        status = lud_nn_plan(t->layers[layer], LUD_NN_TRAIN, error);
        if (layer == 0 || !t->checkpointing) t->layer_bytes += lud_nn_bytes(t->layers[layer]);
    }
    return status;
}

static bool take(lud_transformer_trainer *t) {
    const size_t tokens = (size_t)t->max_tokens, stream = tokens * (size_t)t->shape.width;
    lud_arrays *a = &t->arrays;
    a->device = t->device;
    if (t->checkpointing) LUD_TAKE_ON_DEVICE(a, t->kept, stream * (size_t)t->shape.layers);
    LUD_TAKE_ON_DEVICE(a, t->carried, stream);
    LUD_TAKE_ON_DEVICE(a, t->log_prob, HEAD_ROWS);
    LUD_TAKE_ON_DEVICE(a, t->dlog_prob, HEAD_ROWS);
    LUD_TAKE_ON_DEVICE(a, t->dentropy, HEAD_ROWS);
    LUD_TAKE_ON_DEVICE(a, t->rows, HEAD_ROWS);
    LUD_TAKE_ON_DEVICE(a, t->targets, HEAD_ROWS);
    LUD_TAKE_ON_DEVICE(a, t->offsets, tokens + 1);
    LUD_TAKE_ON_DEVICE(a, t->lengths, tokens);
    LUD_TAKE_ON_DEVICE(a, t->prefix_offsets, tokens);
    LUD_TAKE_ON_DEVICE(a, t->prefix_lengths, tokens);
    LUD_TAKE(a, t->packing.tokens, tokens);
    LUD_TAKE(a, t->packing.positions, tokens);
    LUD_TAKE(a, t->packing.offsets, tokens + 1);
    LUD_TAKE(a, t->packing.lengths, tokens);
    LUD_TAKE(a, t->packing.prefix_offsets, tokens);
    LUD_TAKE(a, t->packing.prefix_lengths, tokens);
    LUD_TAKE(a, t->packing.rows, tokens);
    LUD_TAKE(a, t->packing.targets, tokens);
    LUD_TAKE(a, t->packing.owner, tokens);
    LUD_TAKE(a, t->packing.prompts, tokens);
    LUD_TAKE(a, t->packing.responses, tokens);
    LUD_TAKE(a, t->packing.begin, tokens + 1);
    LUD_TAKE(a, t->host_log_prob, HEAD_ROWS);
    LUD_TAKE(a, t->host_entropy, HEAD_ROWS);
    t->other_bytes = lud_nn_bytes(t->embedding) + lud_nn_bytes(t->head) +
                     stream * sizeof(float) * (t->checkpointing ? (size_t)t->shape.layers + 1 : 1);
    return !a->failed;
}

lud_status lud_transformer_trainer_create(const lud_transformer_shape *shape, lud_parameters *parameters,
                                          int64_t max_tokens, bool checkpointing,
                                          lud_transformer_trainer **trainer, lud_error *error) {
    assert(max_tokens >= shape->context && parameters->values && parameters->real_bytes == sizeof(float));
    lud_transformer_trainer *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "a transformer");
    t->shape = *shape;
    t->parameters = parameters;
    t->device = parameters->device;
    t->max_tokens = max_tokens;
    t->checkpointing = checkpointing;
    t->attention = (lud_attention){.heads = shape->heads,
                                   .kv_heads = shape->kv_heads,
                                   .head_dim = shape->head_dim,
                                   .max_keys = shape->context,
                                   .scale = 1.0 / __builtin_sqrt((double)shape->head_dim),
                                   .causal = true};
    lud_status status = declare(t) ? plan(t, error) : LUD_ERROR_MEMORY;
    if (!status && !take(t)) status = LUD_ERROR_MEMORY;
    if (status) {
        lud_transformer_trainer_destroy(t);
        return lud_fail(error, status, "no memory to train a transformer on %lld tokens",
                        (long long)max_tokens);
    }
    t->attention.query_offsets = t->attention.key_offsets = t->offsets;
    t->attention.key_lengths = t->lengths;
    *trainer = t;
    return LUD_OK;
}

void lud_transformer_trainer_destroy(lud_transformer_trainer *trainer) {
    if (!trainer) return;
    lud_nn_destroy(trainer->embedding);
    lud_nn_destroy(trainer->head);
    for (int64_t layer = trainer->shape.layers - 1; layer >= 0; layer--)
        lud_nn_destroy(trainer->layers[layer]); /* the lender last */
    lud_arrays_free(&trainer->arrays);
    free(trainer);
}

size_t lud_transformer_trainer_bytes(const lud_transformer_trainer *trainer) {
    return trainer->layer_bytes + trainer->other_bytes;
}

int64_t lud_transformer_trainer_inputs(const lud_transformer_trainer *trainer) {
    return trainer->n_inputs;
}

/* --- running --- */

static size_t stream_bytes(const lud_transformer_trainer *t) {
    return (size_t)(t->packing.n_inputs * t->shape.width) * sizeof(float);
}

/* What goes into a layer. */
static float *into(const lud_transformer_trainer *t, int64_t layer) {
    if (t->checkpointing) return t->kept + layer * t->max_tokens * t->shape.width;
    return layer == 0 ? lud_nn_value(t->embedding, t->embedded) : lud_nn_value(t->layers[layer - 1], t->y);
}

static void run_layer(lud_transformer_trainer *t, int64_t layer) {
    lud_nn_bind(t->layers[layer], t->x, into(t, layer));
    lud_nn_bind(t->layers[layer], t->position, lud_nn_value(t->layers[0], t->position));
    lud_nn_forward(t->layers[layer], t->packing.n_inputs, true);
}

static void forward(lud_transformer_trainer *t) {
    const lud_packing *p = &t->packing;
    lud_device *device = t->device;
    const size_t tokens = (size_t)p->n_inputs * sizeof(int32_t), rows = (size_t)p->n_rows;
    lud_device_upload(device, t->offsets, p->offsets, (rows + 1) * sizeof(int32_t));
    lud_device_upload(device, t->lengths, p->lengths, rows * sizeof(int32_t));
    if (p->shares) {
        lud_device_upload(device, t->prefix_offsets, p->prefix_offsets, rows * sizeof(int32_t));
        lud_device_upload(device, t->prefix_lengths, p->prefix_lengths, rows * sizeof(int32_t));
    }
    t->attention.prefix_offsets = p->shares ? t->prefix_offsets : NULL;
    t->attention.prefix_lengths = p->shares ? t->prefix_lengths : NULL;
    lud_device_upload(device, lud_nn_value(t->embedding, t->token), p->tokens, tokens);
    t->attention.n_rows = p->n_rows;
    t->attention.n_tokens = p->n_inputs;
    t->n_inputs += p->n_inputs;
    lud_nn_forward(t->embedding, p->n_inputs, true);
    if (t->checkpointing)
        lud_device_copy(device, into(t, 0), lud_nn_value(t->embedding, t->embedded), stream_bytes(t));
    for (int64_t layer = 0; layer < t->shape.layers; layer++) {
        if (layer == 0)
            lud_device_upload(device, lud_nn_value(t->layers[0], t->position), p->positions, tokens);
        run_layer(t, layer);
        if (t->checkpointing && layer + 1 < t->shape.layers)
            lud_device_copy(device, into(t, layer + 1), lud_nn_value(t->layers[layer], t->y),
                            stream_bytes(t));
    }
}

/* Log-probabilities of the targets from `first` on and, with coefficients, the gradient of what the last
 * layer gave. */
static void run_head(lud_transformer_trainer *t, int64_t first, int64_t n, const float *log_prob,
                     const float *entropy, float *log_probs) {
    const lud_ops *ops = t->device->ops;
    const int64_t width = t->shape.width, vocabulary = t->shape.vocabulary;
    const lud_nn *last = t->layers[t->shape.layers - 1];
    lud_device_upload(t->device, t->rows, t->packing.rows + first, (size_t)n * sizeof(int32_t));
    lud_device_upload(t->device, t->targets, t->packing.targets + first, (size_t)n * sizeof(int32_t));
    ops->gather_rows(t->device, n, width, lud_nn_value(last, t->y), t->rows, lud_nn_value(t->head, t->state));
    lud_nn_forward(t->head, n, true);
    const float *logits = lud_nn_value(t->head, t->logits);
    if (log_probs) {
        ops->categorical_log_prob(t->device, n, vocabulary, logits, NULL, t->targets, t->log_prob, NULL);
        lud_device_download(t->device, log_probs, t->log_prob, (size_t)n * sizeof(float));
    }
    if (!log_prob) return;
    for (int64_t i = 0; i < n; i++) {
        t->host_log_prob[i] = log_prob[t->packing.owner[first + i]];
        t->host_entropy[i] = entropy ? entropy[t->packing.owner[first + i]] : 0.0f;
    }
    lud_device_upload(t->device, t->dlog_prob, t->host_log_prob, (size_t)n * sizeof(float));
    lud_device_upload(t->device, t->dentropy, t->host_entropy, (size_t)n * sizeof(float));
    ops->categorical_backward(t->device, n, vocabulary, logits, NULL, t->targets, t->dlog_prob,
                              entropy ? t->dentropy : NULL, lud_nn_gradient(t->head, t->logits), false);
    lud_nn_backward(t->head);
    ops->scatter_add(t->device, n, width, t->packing.n_inputs, lud_nn_gradient(t->head, t->state), NULL,
                     t->rows, t->carried);
}

static void backward(lud_transformer_trainer *t) {
    for (int64_t layer = t->shape.layers - 1; layer >= 0; layer--) {
        lud_nn *net = t->layers[layer];
        if (t->checkpointing && layer + 1 < t->shape.layers) run_layer(t, layer);
        lud_device_copy(t->device, lud_nn_gradient(net, t->y), t->carried, stream_bytes(t));
        lud_nn_backward(net);
        lud_device_copy(t->device, t->carried, lud_nn_gradient(net, t->x), stream_bytes(t));
    }
    lud_device_copy(t->device, lud_nn_gradient(t->embedding, t->embedded), t->carried, stream_bytes(t));
    lud_nn_backward(t->embedding);
}

/* Sequences that fit into one run. */
static void run(lud_transformer_trainer *t, int64_t n, const lud_sequence *sequences, const float *log_prob,
                const float *entropy, float *log_probs) {
    lud_sequences_pack(n, sequences, &t->packing);
    if (t->packing.n_targets == 0) return;
    forward(t);
    if (log_prob) lud_device_zero(t->device, t->carried, stream_bytes(t));
    for (int64_t first = 0; first < t->packing.n_targets; first += HEAD_ROWS) {
        const int64_t left = t->packing.n_targets - first;
        run_head(t, first, left < HEAD_ROWS ? left : HEAD_ROWS, log_prob, entropy,
                 log_probs ? log_probs + first : NULL);
    }
    if (log_prob) backward(t);
}

/* As many sequences at a time as fit. */
static void run_pieces(lud_transformer_trainer *t, int64_t n, const lud_sequence *sequences,
                       const float *log_prob, const float *entropy, float *log_probs) {
    for (int64_t first = 0, end; first < n; first = end) {
        int64_t inputs = 0, targets = 0;
        for (end = first; end < n; end++) {
            const int64_t more = lud_sequence_inputs(&sequences[end]);
            assert(more <= t->shape.context);
            if (inputs + more > t->max_tokens) break;
            inputs += more;
            targets += sequences[end].response;
        }
        run(t, end - first, sequences + first, log_prob ? log_prob + first : NULL,
            entropy ? entropy + first : NULL, log_probs);
        if (log_probs) log_probs += targets;
    }
}

void lud_transformer_log_probs(lud_transformer_trainer *trainer, int64_t n, const lud_sequence *sequences,
                               float *log_probs) {
    run_pieces(trainer, n, sequences, NULL, NULL, log_probs);
}

void lud_transformer_gradient(lud_transformer_trainer *trainer, int64_t n, const lud_sequence *sequences,
                              const float *log_prob, const float *entropy, float *log_probs) {
    run_pieces(trainer, n, sequences, log_prob, entropy, log_probs);
}
