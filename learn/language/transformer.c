#include "learn/language/transformer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char lud_transformer_embedding_name[] = "model.embed_tokens.weight";
const char lud_transformer_norm_name[] = "model.norm.weight";
static const char head_name[] = "lm_head.weight";

static const char *const part_names[LUD_LAYER_PARTS] = {[LUD_PART_QUERY] = "self_attn.q_proj",
                                                        [LUD_PART_KEY] = "self_attn.k_proj",
                                                        [LUD_PART_VALUE] = "self_attn.v_proj",
                                                        [LUD_PART_ATTENTION_OUT] = "self_attn.o_proj",
                                                        [LUD_PART_GATE] = "mlp.gate_proj",
                                                        [LUD_PART_UP] = "mlp.up_proj",
                                                        [LUD_PART_DOWN] = "mlp.down_proj",
                                                        [LUD_PART_ATTENTION_NORM] = "input_layernorm",
                                                        [LUD_PART_MLP_NORM] = "post_attention_layernorm"};

lud_status lud_transformer_check(const lud_transformer_shape *s, lud_error *error) {
    const struct {
        const char *name;
        int64_t value, most;
    } counts[] = {{"vocabulary", s->vocabulary, 1 << 24},
                  {"width", s->width, 1 << 20},
                  {"layers", s->layers, LUD_TRANSFORMER_MAX_LAYERS},
                  {"heads", s->heads, 1 << 14},
                  {"kv_heads", s->kv_heads, 1 << 14},
                  {"head_dim", s->head_dim, 1 << 14},
                  {"hidden", s->hidden, 1 << 22},
                  {"context", s->context, 1 << 24}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < 1 || counts[i].value > counts[i].most)
            return lud_invalid(error, "transformer: %s is %" PRId64 ", expected 1 to %" PRId64,
                               counts[i].name, counts[i].value, counts[i].most);
    if (s->heads % s->kv_heads != 0)
        return lud_invalid(error, "transformer: %" PRId64 " heads do not share %" PRId64 " kv_heads evenly",
                           s->heads, s->kv_heads);
    if (s->head_dim % 2 != 0)
        return lud_invalid(error, "transformer: head_dim %" PRId64 " is odd", s->head_dim);
    if (!(s->rope_theta > 0) || !(s->norm_epsilon > 0) || !isfinite(s->rope_theta + s->norm_epsilon))
        return lud_invalid(error, "transformer: rope_theta and norm_epsilon must be above 0");
    return LUD_OK;
}

void lud_transformer_part_size(const lud_transformer_shape *s, lud_transformer_part part, int64_t *rows,
                               int64_t *columns) {
    const int64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    const int64_t sizes[LUD_LAYER_PARTS][2] = {
        [LUD_PART_QUERY] = {q, s->width},        [LUD_PART_KEY] = {kv, s->width},
        [LUD_PART_VALUE] = {kv, s->width},       [LUD_PART_ATTENTION_OUT] = {s->width, q},
        [LUD_PART_GATE] = {s->hidden, s->width}, [LUD_PART_UP] = {s->hidden, s->width},
        [LUD_PART_DOWN] = {s->width, s->hidden}, [LUD_PART_ATTENTION_NORM] = {1, s->width},
        [LUD_PART_MLP_NORM] = {1, s->width}};
    *rows = sizes[part][0];
    *columns = sizes[part][1];
}

void lud_transformer_part_name(int64_t layer, lud_transformer_part part,
                               char name[LUD_TRANSFORMER_NAME_BYTES]) {
    snprintf(name, LUD_TRANSFORMER_NAME_BYTES, "model.layers.%" PRId64 ".%s.weight", layer, part_names[part]);
}

const char *lud_transformer_head_name(const lud_transformer_shape *shape) {
    return shape->tied ? lud_transformer_embedding_name : head_name;
}

bool lud_transformer_names(const lud_transformer_shape *shape, const char *name) {
    return strncmp(name, "model.", 6) == 0 || strcmp(name, lud_transformer_head_name(shape)) == 0;
}

static int64_t layer_numbers(const lud_transformer_shape *shape, int n_parts) {
    int64_t n = 0, rows, columns;
    for (int part = 0; part < n_parts; part++) {
        lud_transformer_part_size(shape, (lud_transformer_part)part, &rows, &columns);
        n += rows * columns;
    }
    return n;
}

int64_t lud_transformer_numbers(const lud_transformer_shape *s) {
    const int64_t table = s->vocabulary * s->width;
    return table * (s->tied ? 1 : 2) + s->layers * layer_numbers(s, LUD_LAYER_PARTS) + s->width;
}

double lud_transformer_multiply_adds(const lud_transformer_shape *s, bool head) {
    return head ? (double)(s->vocabulary * s->width)
                : (double)(s->layers * layer_numbers(s, LUD_PART_MATRICES));
}

/* The stream begins with numbers of size 1, or with those that give a tied head logits of size 1. */
void lud_transformer_declare(const lud_transformer_shape *s, lud_parameters *parameters) {
    const double width = (double)s->width;
    const lud_init plain = {.kind = LUD_INIT_KAIMING, .a = 1.0};
    const lud_init into_stream = {.kind = LUD_INIT_KAIMING, .a = 1.0 / sqrt(2.0 * (double)s->layers)};
    const lud_init embedding = {.kind = LUD_INIT_NORMAL, .a = s->tied ? 1.0 / sqrt(width) : 1.0};
    const lud_init head = {.kind = LUD_INIT_NORMAL, .a = 0.1 / sqrt(width)};
    const lud_init one = {.kind = LUD_INIT_CONSTANT, .a = 1.0};
    const int64_t table[2] = {s->vocabulary, s->width};
    lud_parameters_add(parameters, lud_transformer_embedding_name, 2, table, embedding);
    for (int64_t layer = 0; layer < s->layers; layer++)
        for (int k = 0; k < LUD_LAYER_PARTS; k++) {
            const lud_transformer_part part = (lud_transformer_part)k;
            char name[LUD_TRANSFORMER_NAME_BYTES];
            int64_t size[2];
            lud_transformer_part_size(s, part, &size[0], &size[1]);
            lud_transformer_part_name(layer, part, name);
            const bool matrix = k < LUD_PART_MATRICES;
            const bool out = part == LUD_PART_ATTENTION_OUT || part == LUD_PART_DOWN;
            const int index = lud_parameters_add(parameters, name, matrix ? 2 : 1, size + (matrix ? 0 : 1),
                                                 !matrix ? one
                                                 : out   ? into_stream
                                                         : plain);
            if (index >= 0) parameters->items[index].low_rank = matrix;
        }
    lud_parameters_add(parameters, lud_transformer_norm_name, 1, &s->width, one);
    if (!s->tied) lud_parameters_add(parameters, head_name, 2, table, head);
}
