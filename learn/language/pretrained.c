#include "learn/language/pretrained.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "learn/language/safetensors.h"

enum { MAX_JSON_BYTES = 64 << 20, MAX_PATH_BYTES = 4096 };

/* --- config.json --- */

static bool is_nothing(const json_t *value) {
    return !value || json_is_null(value);
}

/* A whole number; `preset` (negative: required) where the key is not there. */
static lud_status read_int(const json_t *root, const char *name, const char *key, int64_t preset,
                           int64_t *value, lud_error *error) {
    const json_t *entry = json_object_get(root, key);
    if (is_nothing(entry) && preset >= 0) {
        *value = preset;
        return LUD_OK;
    }
    if (!json_is_integer(entry)) return lud_invalid(error, "%s: expected %s, a whole number", name, key);
    *value = json_integer_value(entry);
    return LUD_OK;
}

static double read_real(const json_t *root, const char *key, double preset) {
    const json_t *entry = json_object_get(root, key);
    return json_is_number(entry) ? json_number_value(entry) : preset;
}

/* Rotary positions: at the top as rope_theta and rope_scaling, newer files as rope_parameters. */
static lud_status read_rotary(const json_t *root, const char *name, lud_transformer_shape *shape,
                              lud_error *error) {
    const json_t *scaling = json_object_get(root, "rope_scaling"),
                 *parameters = json_object_get(root, "rope_parameters");
    shape->rope_theta = read_real(root, "rope_theta", 10000.0);
    if (json_is_object(parameters))
        shape->rope_theta = read_real(parameters, "rope_theta", shape->rope_theta);
    const json_t *const both[] = {scaling, parameters};
    for (int i = 0; i < 2; i++) {
        if (is_nothing(both[i])) continue;
        const char *type = json_string_value(json_object_get(both[i], "rope_type"));
        if (!type) type = json_string_value(json_object_get(both[i], "type"));
        if (!type || strcmp(type, "default") != 0)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: rotary positions with scaling '%.60s'", name,
                            type ? type : "?");
    }
    if (read_real(root, "partial_rotary_factor", 1.0) != 1.0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: partial_rotary_factor other than 1", name);
    return LUD_OK;
}

static lud_status check_kind(const json_t *root, const char *name, lud_error *error) {
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (!type || strcmp(type, "llama") != 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: model_type '%.60s', expected llama", name,
                        type ? type : "?");
    const json_t *activation = json_object_get(root, "hidden_act");
    const char *map = json_string_value(activation);
    if (activation && (!map || strcmp(map, "silu") != 0))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: hidden_act '%.60s', expected silu", name,
                        map ? map : "?");
    static const char *const flags[] = {"attention_bias", "mlp_bias"};
    for (int i = 0; i < 2; i++)
        if (json_is_true(json_object_get(root, flags[i])))
            return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: %s", name, flags[i]);
    static const char *const absent[] = {"quantization_config", "sliding_window"};
    for (int i = 0; i < 2; i++)
        if (!is_nothing(json_object_get(root, absent[i])))
            return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: %s", name, absent[i]);
    return LUD_OK;
}

static lud_status read_shape(const json_t *root, const char *name, lud_transformer_shape *s,
                             lud_error *error) {
    lud_status status = check_kind(root, name, error);
    if (!status) status = read_rotary(root, name, s, error);
    if (!status) status = read_int(root, name, "vocab_size", -1, &s->vocabulary, error);
    if (!status) status = read_int(root, name, "hidden_size", -1, &s->width, error);
    if (!status) status = read_int(root, name, "num_hidden_layers", -1, &s->layers, error);
    if (!status) status = read_int(root, name, "num_attention_heads", -1, &s->heads, error);
    if (!status) status = read_int(root, name, "intermediate_size", -1, &s->hidden, error);
    if (!status) status = read_int(root, name, "max_position_embeddings", 2048, &s->context, error);
    if (status) return status;
    if (s->heads < 1 || s->heads > s->width)
        return lud_invalid(error, "%s: num_attention_heads is %" PRId64, name, s->heads);
    status = read_int(root, name, "num_key_value_heads", s->heads, &s->kv_heads, error);
    if (!status) status = read_int(root, name, "head_dim", s->width / s->heads, &s->head_dim, error);
    if (status) return status;
    s->norm_epsilon = read_real(root, "rms_norm_eps", 1e-6);
    s->tied = json_is_true(json_object_get(root, "tie_word_embeddings"));
    status = lud_transformer_check(s, error);
    return status ? lud_fail_context(error, "%s", name) : LUD_OK;
}

static lud_status load_json(const char *name, const char *bytes, size_t length, json_t **root,
                            lud_error *error) {
    json_error_t problem;
    *root = json_loadb(bytes, length, 0, &problem);
    if (json_is_object(*root)) return LUD_OK;
    const bool parsed = *root != NULL;
    json_decref(*root);
    return lud_invalid_at(error, (lud_place){name, problem.line, problem.column}, "%s",
                          parsed ? "expected an object" : problem.text);
}

lud_status lud_pretrained_shape_parse(const char *name, const char *bytes, size_t length,
                                      lud_transformer_shape *shape, lud_error *error) {
    json_t *root;
    *shape = (lud_transformer_shape){0};
    lud_status status = load_json(name, bytes, length, &root, error);
    if (status) return status;
    status = read_shape(root, name, shape, error);
    json_decref(root);
    return status;
}

static lud_status read_json_file(const char *path, json_t **root, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t length;
    lud_status status = arena ? lud_file_read(arena, path, MAX_JSON_BYTES, &bytes, &length, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", path);
    if (!status) status = load_json(path, bytes, length, root, error);
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_pretrained_shape(const char *path, lud_transformer_shape *shape, lud_error *error) {
    json_t *root;
    *shape = (lud_transformer_shape){0};
    lud_status status = read_json_file(path, &root, error);
    if (status) return status;
    status = read_shape(root, path, shape, error);
    json_decref(root);
    return status;
}

/* --- weights --- */

typedef struct loader {
    const lud_transformer_shape *shape;
    lud_parameters *parameters;
    bool *filled; /* [parameters] */
    float *row;   /* [longest row] */
} loader;

/* Files pair number i of a head with i + half; here they are neighbours. Which row of the file row `row` of a
 * query or key projection is. */
static int64_t file_row(int64_t row, int64_t head_dim) {
    const int64_t head = row / head_dim, at = row % head_dim;
    return head * head_dim + at / 2 + at % 2 * (head_dim / 2);
}

static bool is_rotated(const char *name) {
    return strstr(name, ".self_attn.q_proj.") || strstr(name, ".self_attn.k_proj.");
}

/* Tensors that files hold beside the parameters. */
static bool is_known_extra(const loader *l, const char *name) {
    return strstr(name, "rotary_emb.inv_freq") || (l->shape->tied && strcmp(name, "lm_head.weight") == 0);
}

static lud_status fill(loader *l, const char *file, const lud_tensor *tensor, int index, lud_error *error) {
    const lud_parameter *p = &l->parameters->items[index];
    if (p->n_dimensions != tensor->n_dimensions ||
        memcmp(p->dimensions, tensor->dimensions, sizeof p->dimensions) != 0)
        return lud_invalid(error, "%s: tensor '%.200s' has another shape than config.json says", file,
                           tensor->name);
    const int64_t rows = p->n_dimensions == 2 ? p->dimensions[0] : 1, columns = p->n / rows;
    const bool rotated = is_rotated(p->name);
    float *to = lud_parameters_value(l->parameters, index);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t from = rotated ? file_row(row, l->shape->head_dim) : row;
        if (!lud_safetensors_floats(tensor, from * columns, columns, l->row))
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "%s: tensor '%.200s' is of type %s, expected F32, BF16 or F16", file,
                            tensor->name, lud_tensor_type_name(tensor->type));
        for (int64_t k = 0; k < columns; k++)
            if (!isfinite(l->row[k]))
                return lud_fail(error, LUD_ERROR_NUMERIC, "%s: tensor '%.200s' is not finite at [%lld, %lld]",
                                file, tensor->name, (long long)row, (long long)k);
        lud_device_upload(l->parameters->device, to + row * columns, l->row,
                          (size_t)columns * sizeof *l->row);
    }
    l->filled[index] = true;
    return LUD_OK;
}

static lud_status fill_all(loader *l, const char *name, const lud_safetensors *file, lud_error *error) {
    lud_status status = LUD_OK;
    for (int i = 0; i < lud_safetensors_count(file) && !status; i++) {
        const lud_tensor *tensor = lud_safetensors_get(file, i);
        const int index = lud_parameters_find(l->parameters, tensor->name);
        if (index >= 0)
            status = fill(l, name, tensor, index, error);
        else if (!is_known_extra(l, tensor->name))
            status = lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: tensor '%.200s' belongs to no Llama model",
                              name, tensor->name);
    }
    return status;
}

static lud_status begin(loader *l, const lud_transformer_shape *shape, lud_parameters *parameters,
                        lud_error *error) {
    int64_t longest = 1;
    for (int i = 0; i < parameters->n; i++) {
        const lud_parameter *p = &parameters->items[i];
        const int64_t columns = p->n_dimensions == 2 ? p->dimensions[1] : p->n;
        if (columns > longest) longest = columns;
    }
    *l = (loader){shape, parameters, calloc((size_t)parameters->n + 1, sizeof *l->filled),
                  malloc((size_t)longest * sizeof *l->row)};
    return l->filled && l->row ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "no memory to load a model");
}

/* Whether nothing is missing. */
static lud_status end(loader *l, const char *name, lud_status status, lud_error *error) {
    for (int i = 0; i < l->parameters->n && !status; i++)
        if (!l->filled[i] && lud_transformer_names(l->shape, l->parameters->items[i].name))
            status = lud_invalid(error, "%s: tensor '%s' is missing", name, l->parameters->items[i].name);
    free(l->filled);
    free(l->row);
    return status;
}

lud_status lud_pretrained_load_bytes(const char *name, const void *bytes, size_t length,
                                     const lud_transformer_shape *shape, lud_parameters *parameters,
                                     lud_error *error) {
    loader l;
    lud_safetensors *file = NULL;
    lud_status status = begin(&l, shape, parameters, error);
    if (!status) status = lud_safetensors_parse(name, bytes, length, &file, error);
    if (!status) status = fill_all(&l, name, file, error);
    lud_safetensors_close(file);
    return end(&l, name, status, error);
}

static lud_status load_file(loader *l, const char *path, lud_error *error) {
    lud_safetensors *file = NULL;
    lud_status status = lud_safetensors_open(path, &file, error);
    if (!status) status = fill_all(l, path, file, error);
    lud_safetensors_close(file);
    return status;
}

/* Whether an earlier tensor of the index lies in the same file. */
static bool seen_before(json_t *map, const char *key, const char *file) {
    const char *other;
    json_t *value;
    json_object_foreach(map, other, value) {
        if (strcmp(other, key) == 0) return false;
        const char *name = json_string_value(value);
        if (name && strcmp(name, file) == 0) return true;
    }
    return false;
}

static lud_status load_index(loader *l, const char *folder, const char *path, lud_error *error) {
    json_t *root;
    lud_status status = read_json_file(path, &root, error);
    if (status) return status;
    json_t *map = json_object_get(root, "weight_map"), *value;
    const char *key;
    if (!json_is_object(map)) status = lud_invalid(error, "%s: expected weight_map, an object", path);
    json_object_foreach(map, key, value) {
        const char *name = json_string_value(value);
        char file[MAX_PATH_BYTES];
        if (!name || strchr(name, '/'))
            status = lud_invalid(error, "%s: '%.200s' lies in no file of the folder", path, key);
        else if (!seen_before(map, key, name) &&
                 (size_t)snprintf(file, sizeof file, "%s/%s", folder, name) < sizeof file)
            status = load_file(l, file, error);
        if (status) break;
    }
    json_decref(root);
    return status;
}

lud_status lud_pretrained_load(const char *folder, const lud_transformer_shape *shape,
                               lud_parameters *parameters, lud_error *error) {
    char path[MAX_PATH_BYTES];
    loader l;
    lud_status status = begin(&l, shape, parameters, error);
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    if (!status && lud_file_exists(path)) {
        status = load_index(&l, folder, path, error);
    } else if (!status) {
        snprintf(path, sizeof path, "%s/model.safetensors", folder);
        status = load_file(&l, path, error);
    }
    return end(&l, path, status, error);
}
