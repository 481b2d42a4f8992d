#include "learn/language/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/file.h"

/* The format's own limit on its header. */
enum { HEADER_LIMIT = 100 * 1000 * 1000, LENGTH_BYTES = 8, MAX_TENSORS = 1 << 20 };

struct lud_safetensors {
    lud_arena *arena;
    int n;
    lud_tensor *tensors;
    void *map; /* of a file; null: the caller's bytes */
    size_t map_bytes;
};

static lud_status wrong(lud_error *error, const char *file, const char *tensor, const char *what) {
    return lud_invalid(error, "%s: tensor '%.200s': %s", file, tensor, what);
}

static lud_tensor_type type_of(const json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    int type = 0;
    while (type < LUD_TENSOR_TYPES &&
           !(name && strcmp(lud_tensor_type_name((lud_tensor_type)type), name) == 0))
        type++;
    return (lud_tensor_type)type;
}

static lud_status parse_tensor(const char *file, const char *name, const json_t *entry,
                               const unsigned char *data, size_t n_data, lud_tensor *tensor,
                               lud_error *error) {
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    tensor->type = type_of(entry);
    if (tensor->type == LUD_TENSOR_TYPES) return wrong(error, file, name, "no dtype, or an unknown one");
    if (!json_is_array(shape) || json_array_size(shape) > LUD_TENSOR_MAX_DIMENSIONS)
        return wrong(error, file, name, "no shape, or one of too many dimensions");
    tensor->n_dimensions = (int)json_array_size(shape);
    tensor->bytes = lud_tensor_type_bytes(tensor->type);
    for (int i = 0; i < tensor->n_dimensions; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        tensor->dimensions[i] = json_is_integer(size) ? json_integer_value(size) : -1;
        if (tensor->dimensions[i] < 0 ||
            __builtin_mul_overflow(tensor->bytes, (size_t)tensor->dimensions[i], &tensor->bytes))
            return wrong(error, file, name, "impossible shape");
    }
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    const json_int_t begin = json_is_integer(first) ? json_integer_value(first) : -1;
    const json_int_t end = json_is_integer(last) ? json_integer_value(last) : -1;
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin || (uint64_t)(end - begin) != tensor->bytes)
        return wrong(error, file, name, "data_offsets that do not hold it");
    if ((uint64_t)end > n_data) return wrong(error, file, name, "truncated: it ends behind the file");
    tensor->data = data + begin;
    return LUD_OK;
}

static lud_status parse_header(lud_safetensors *file, const char *name, const json_t *header,
                               const unsigned char *data, size_t n_data, lud_error *error) {
    const size_t most = json_object_size(header);
    if (most > MAX_TENSORS) return lud_fail(error, LUD_ERROR_LIMIT, "%s: %zu tensors", name, most);
    file->tensors = lud_arena_take_array(file->arena, most + 1, sizeof *file->tensors);
    if (!file->tensors) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", name);
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)(uintptr_t)header, key, entry) {
        if (strcmp(key, "__metadata__") == 0) continue;
        lud_tensor *tensor = &file->tensors[file->n];
        LUD_TRY(parse_tensor(name, key, entry, data, n_data, tensor, error));
        tensor->name = lud_arena_text(file->arena, key, strlen(key));
        if (!tensor->name) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", name);
        file->n++;
    }
    return LUD_OK;
}

static lud_status parse(lud_safetensors *file, const char *name, const unsigned char *bytes, size_t length,
                        lud_error *error) {
    uint64_t n_header = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0 && length >= LENGTH_BYTES; i--) n_header = n_header << 8 | bytes[i];
    if (length < LENGTH_BYTES || n_header > length - LENGTH_BYTES || n_header > HEADER_LIMIT)
        return lud_invalid(error, "%s: no safetensors file: its header would have %" PRIu64 " bytes", name,
                           n_header);
    json_error_t problem;
    json_t *header = json_loadb((const char *)bytes + LENGTH_BYTES, (size_t)n_header, 0, &problem);
    lud_status status = LUD_OK;
    if (!json_is_object(header))
        status = lud_invalid(error, "%s: the header is no JSON object: %s", name, problem.text);
    else
        status = parse_header(file, name, header, bytes + LENGTH_BYTES + n_header,
                              length - LENGTH_BYTES - (size_t)n_header, error);
    json_decref(header);
    return status;
}

static lud_safetensors *make(void) {
    lud_safetensors *file = calloc(1, sizeof *file);
    if (file && !(file->arena = lud_arena_create(0))) {
        free(file);
        return NULL;
    }
    return file;
}

lud_status lud_safetensors_parse(const char *name, const void *bytes, size_t length, lud_safetensors **file,
                                 lud_error *error) {
    lud_safetensors *made = make();
    if (!made) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", name);
    const lud_status status = parse(made, name, bytes, length, error);
    if (status)
        lud_safetensors_close(made);
    else
        *file = made;
    return status;
}

lud_status lud_safetensors_open(const char *path, lud_safetensors **file, lud_error *error) {
    const int descriptor = lud_file_descriptor(path);
    struct stat info;
    if (descriptor < 0)
        return lud_invalid(error, "%s: cannot be opened as a file: %s", path, strerror(errno));
    void *map = MAP_FAILED;
    if (fstat(descriptor, &info) == 0 && info.st_size > 0)
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (map == MAP_FAILED) return lud_invalid(error, "%s: no file that could be read, or an empty one", path);
    lud_safetensors *made = NULL;
    const lud_status status = lud_safetensors_parse(path, map, (size_t)info.st_size, &made, error);
    if (status) {
        munmap(map, (size_t)info.st_size);
        return status;
    }
    made->map = map;
    made->map_bytes = (size_t)info.st_size;
    *file = made;
    return LUD_OK;
}

void lud_safetensors_close(lud_safetensors *file) {
    if (!file) return;
    if (file->map) munmap(file->map, file->map_bytes);
    lud_arena_destroy(file->arena);
    free(file);
}

int lud_safetensors_count(const lud_safetensors *file) {
    return file->n;
}

const lud_tensor *lud_safetensors_get(const lud_safetensors *file, int index) {
    return &file->tensors[index];
}

const lud_tensor *lud_safetensors_find(const lud_safetensors *file, const char *name) {
    for (int i = 0; i < file->n; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

/* --- numbers of two bytes --- */

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16. */
static float float_of_f16(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31,
                   mantissa = half & 0x3ff;
    if (exponent == 31) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent > 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = (float)mantissa * 0x1p-24f;
    return sign ? -small : small;
}

bool lud_safetensors_floats(const lud_tensor *tensor, int64_t first, int64_t n, float *values) {
    const unsigned char *data = tensor->data;
    if (tensor->type == LUD_TENSOR_F32) {
        memcpy(values, data + (size_t)first * sizeof *values, (size_t)n * sizeof *values);
        return true;
    }
    if (tensor->type != LUD_TENSOR_BF16 && tensor->type != LUD_TENSOR_F16) return false;
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, data + (size_t)(first + i) * sizeof half, sizeof half);
        values[i] =
            tensor->type == LUD_TENSOR_BF16 ? float_of_bits((uint32_t)half << 16) : float_of_f16(half);
    }
    return true;
}
