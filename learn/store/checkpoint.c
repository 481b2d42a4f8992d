#include "learn/store/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/text.h"

/* The format's own limit on its header. */
enum { HEADER_LIMIT = 100 * 1000 * 1000, CHECKSUM_DIGITS = 16 };
static const char header_start[] = "{\"__metadata__\":{\"ludus.xxh3\":\"";
static const char checksum_key[] = "ludus.xxh3";

static const struct {
    const char *name;
    size_t bytes;
} tensor_types[LUD_TENSOR_TYPES] = {
    [LUD_TENSOR_F64] = {"F64", 8},   [LUD_TENSOR_I64] = {"I64", 8},   [LUD_TENSOR_U64] = {"U64", 8},
    [LUD_TENSOR_F32] = {"F32", 4},   [LUD_TENSOR_I32] = {"I32", 4},   [LUD_TENSOR_U32] = {"U32", 4},
    [LUD_TENSOR_F16] = {"F16", 2},   [LUD_TENSOR_BF16] = {"BF16", 2}, [LUD_TENSOR_I16] = {"I16", 2},
    [LUD_TENSOR_U16] = {"U16", 2},   [LUD_TENSOR_I8] = {"I8", 1},     [LUD_TENSOR_U8] = {"U8", 1},
    [LUD_TENSOR_BOOL] = {"BOOL", 1},
};

typedef struct text_entry {
    const char *key, *text;
} text_entry;

struct lud_checkpoint {
    bool loading;
    lud_error error; /* the first failure of the visit */
    lud_arena *names;
    lud_arena_mark no_names;
    lud_arena *file; /* loading: the file's bytes */
    lud_tensor *tensors;
    size_t *offsets; /* saving: of each tensor in `data`, which may move as it grows */
    size_t n_tensors, capacity;
    text_entry *texts;
    size_t n_texts, texts_capacity;
    unsigned char *data;
    size_t n_data, data_capacity;
    uint32_t *table; /* open addressing: index + 1 of the tensor of a name */
    size_t table_size;
};

const char *lud_tensor_type_name(lud_tensor_type type) {
    return tensor_types[type].name;
}
size_t lud_tensor_type_bytes(lud_tensor_type type) {
    return tensor_types[type].bytes;
}
bool lud_checkpoint_loading(const lud_checkpoint *checkpoint) {
    return checkpoint->loading;
}

lud_checkpoint *lud_checkpoint_create(void) {
    lud_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint) return NULL;
    checkpoint->names = lud_arena_create(0);
    if (!checkpoint->names) {
        free(checkpoint);
        return NULL;
    }
    checkpoint->no_names = lud_arena_get_mark(checkpoint->names);
    return checkpoint;
}

void lud_checkpoint_clear(lud_checkpoint *checkpoint) {
    assert(!checkpoint->loading);
    lud_arena_release(checkpoint->names, checkpoint->no_names);
    checkpoint->n_tensors = checkpoint->n_texts = checkpoint->n_data = 0;
    if (checkpoint->table) memset(checkpoint->table, 0, checkpoint->table_size * sizeof *checkpoint->table);
    checkpoint->error = (lud_error){0};
}

void lud_checkpoint_destroy(lud_checkpoint *checkpoint) {
    if (!checkpoint) return;
    lud_arena_destroy(checkpoint->names);
    lud_arena_destroy(checkpoint->file);
    LUD_FREE(checkpoint->tensors, checkpoint->offsets, checkpoint->texts, checkpoint->data, checkpoint->table,
             checkpoint);
}

void lud_checkpoint_fail(lud_checkpoint *checkpoint, lud_status status, const char *format, ...) {
    if (checkpoint->error.status) return;
    va_list arguments;
    va_start(arguments, format);
    char text[LUD_ERROR_TEXT_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lud_fail(&checkpoint->error, status, "%s", text);
}

lud_status lud_checkpoint_status(const lud_checkpoint *checkpoint, lud_error *error) {
    if (checkpoint->error.status)
        return lud_fail(error, checkpoint->error.status, "%s", checkpoint->error.text);
    return LUD_OK;
}

void lud_checkpoint_forgive(lud_checkpoint *checkpoint) {
    checkpoint->error = (lud_error){0};
}

static void out_of_memory(lud_checkpoint *checkpoint) {
    lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "checkpoint: memory is out");
}

/* --- names --- */

static size_t table_slot(const lud_checkpoint *checkpoint, const char *name) {
    const size_t mask = checkpoint->table_size - 1;
    size_t slot = (size_t)XXH3_64bits(name, strlen(name)) & mask;
    while (checkpoint->table[slot] &&
           strcmp(checkpoint->tensors[checkpoint->table[slot] - 1].name, name) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

const lud_tensor *lud_checkpoint_find(const lud_checkpoint *checkpoint, const char *name) {
    if (checkpoint->table_size == 0) return NULL;
    const uint32_t index = checkpoint->table[table_slot(checkpoint, name)];
    return index ? lud_checkpoint_get(checkpoint, (int)index - 1) : NULL;
}

/* Room for one tensor more, in the list and in the table (at most half full). */
static bool grow_tensors(lud_checkpoint *checkpoint) {
    if (checkpoint->n_tensors < checkpoint->capacity) return true;
    const size_t capacity = checkpoint->capacity ? 2 * checkpoint->capacity : 64;
    lud_tensor *tensors = realloc(checkpoint->tensors, capacity * sizeof *tensors);
    if (!tensors) return false;
    checkpoint->tensors = tensors;
    size_t *offsets = realloc(checkpoint->offsets, capacity * sizeof *offsets);
    if (!offsets) return false;
    checkpoint->offsets = offsets;
    uint32_t *table = calloc(2 * capacity, sizeof *table);
    if (!table) return false;
    free(checkpoint->table);
    checkpoint->table = table;
    checkpoint->table_size = 2 * capacity;
    checkpoint->capacity = capacity;
    for (size_t i = 0; i < checkpoint->n_tensors; i++)
        table[table_slot(checkpoint, checkpoint->tensors[i].name)] = (uint32_t)i + 1;
    return true;
}

/* Appends a tensor; false when memory is out or the name is taken. */
static bool add_tensor(lud_checkpoint *checkpoint, const lud_tensor *tensor, size_t offset) {
    if (!grow_tensors(checkpoint)) return false;
    const size_t slot = table_slot(checkpoint, tensor->name);
    if (checkpoint->table[slot]) return false;
    const size_t index = checkpoint->n_tensors++;
    checkpoint->tensors[index] = *tensor;
    checkpoint->tensors[index].name = lud_arena_text(checkpoint->names, tensor->name, strlen(tensor->name));
    checkpoint->offsets[index] = offset;
    if (!checkpoint->tensors[index].name) {
        checkpoint->n_tensors--;
        return false;
    }
    checkpoint->table[slot] = (uint32_t)index + 1;
    return true;
}

static bool add_text(lud_checkpoint *checkpoint, const char *key, const char *text) {
    if (checkpoint->n_texts == checkpoint->texts_capacity) {
        const size_t capacity = checkpoint->texts_capacity ? 2 * checkpoint->texts_capacity : 16;
        text_entry *texts = realloc(checkpoint->texts, capacity * sizeof *texts);
        if (!texts) return false;
        checkpoint->texts = texts;
        checkpoint->texts_capacity = capacity;
    }
    text_entry entry = {lud_arena_text(checkpoint->names, key, strlen(key)),
                        lud_arena_text(checkpoint->names, text, strlen(text))};
    if (!entry.key || !entry.text) return false;
    checkpoint->texts[checkpoint->n_texts++] = entry;
    return true;
}

void lud_checkpoint_set_text(lud_checkpoint *checkpoint, const char *key, const char *text) {
    assert(!checkpoint->loading && strcmp(key, checksum_key) != 0);
    if (!checkpoint->error.status && !add_text(checkpoint, key, text)) out_of_memory(checkpoint);
}

const char *lud_checkpoint_text(const lud_checkpoint *checkpoint, const char *key) {
    for (size_t i = 0; i < checkpoint->n_texts; i++)
        if (strcmp(checkpoint->texts[i].key, key) == 0) return checkpoint->texts[i].text;
    return NULL;
}

int lud_checkpoint_n_tensors(const lud_checkpoint *checkpoint) {
    return (int)checkpoint->n_tensors;
}

const lud_tensor *lud_checkpoint_get(const lud_checkpoint *checkpoint, int index) {
    lud_tensor *tensor = &checkpoint->tensors[index];
    if (!checkpoint->loading) tensor->data = checkpoint->data + checkpoint->offsets[index];
    return tensor;
}

/* --- visiting --- */

/* Bytes of a shape; false when a dimension is negative or the product overflows. */
static bool shape_bytes(lud_tensor_type type, int n_dimensions, const int64_t *dimensions, size_t *bytes) {
    size_t product = tensor_types[type].bytes;
    for (int i = 0; i < n_dimensions; i++)
        if (dimensions[i] < 0 || __builtin_mul_overflow(product, (size_t)dimensions[i], &product))
            return false;
    *bytes = product;
    return true;
}

static const char *shape_text(int n_dimensions, const int64_t *dimensions, char text[192]) {
    size_t used = (size_t)snprintf(text, 192, "[");
    for (int i = 0; i < n_dimensions && used < 160; i++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%" PRId64, i ? ", " : "", dimensions[i]);
    snprintf(text + used, 192 - used, "]");
    return text;
}

static void *place_for_saving(lud_checkpoint *checkpoint, const lud_tensor *tensor) {
    const size_t start = (checkpoint->n_data + 63) / 64 * 64, end = start + tensor->bytes;
    if (end > checkpoint->data_capacity) {
        const size_t capacity = end + end / 2;
        unsigned char *data = realloc(checkpoint->data, capacity);
        if (!data) {
            out_of_memory(checkpoint);
            return NULL;
        }
        checkpoint->data = data;
        checkpoint->data_capacity = capacity;
    }
    assert(!lud_checkpoint_find(checkpoint, tensor->name));
    if (!add_tensor(checkpoint, tensor, start)) {
        out_of_memory(checkpoint);
        return NULL;
    }
    checkpoint->n_data = end;
    return checkpoint->data + start;
}

/* Index of the first number that is infinite or no number; -1: all are finite. Reads bit patterns, whatever
 * the type: exponents of ones. */
static int64_t first_unreal(const lud_tensor *tensor) {
    static const struct {
        lud_tensor_type type;
        uint64_t exponent;
    } reals[] = {{LUD_TENSOR_F64, UINT64_C(0x7ff0000000000000)},
                 {LUD_TENSOR_F32, 0x7f800000},
                 {LUD_TENSOR_F16, 0x7c00},
                 {LUD_TENSOR_BF16, 0x7f80}};
    const size_t bytes = tensor_types[tensor->type].bytes;
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
        if (reals[k].type != tensor->type) continue;
        /* eight bytes at a time: one more in an exponent reaches the sign where it is all ones */
        const uint64_t each = bytes == 8 ? 1 : UINT64_MAX / ((UINT64_C(1) << 8 * bytes) - 1),
                       exponents = each * reals[k].exponent, one = exponents & ~(exponents << 1),
                       signs = exponents + one;
        const char *numbers = tensor->data;
        uint64_t eight = 0;
        size_t at = 0;
        for (; at + sizeof eight <= tensor->bytes; at += sizeof eight) {
            memcpy(&eight, numbers + at, sizeof eight);
            if (((eight & exponents) + one) & signs) break;
        }
        for (; at < tensor->bytes; at += bytes) {
            uint64_t pattern = 0;
            memcpy(&pattern, numbers + at, bytes);
            if ((pattern & reals[k].exponent) == reals[k].exponent) return (int64_t)(at / bytes);
        }
    }
    return -1;
}

/* Saving: room for a tensor. Loading: the stored one of that name, type and shape; `any`: its numbers need
 * not be finite. */
static void *find_place(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type, int n_dimensions,
                        const int64_t *dimensions, bool any) {
    if (checkpoint->error.status) return NULL;
    assert(n_dimensions <= LUD_TENSOR_MAX_DIMENSIONS);
    lud_tensor wanted = {.name = name, .type = type, .n_dimensions = n_dimensions, .any = any};
    for (int i = 0; i < n_dimensions; i++) wanted.dimensions[i] = dimensions[i];
    const bool possible = shape_bytes(type, n_dimensions, dimensions, &wanted.bytes);
    assert(possible);
    (void)possible;
    if (!checkpoint->loading) return place_for_saving(checkpoint, &wanted);

    const lud_tensor *found = lud_checkpoint_find(checkpoint, name);
    if (!found) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the checkpoint has no tensor '%s'", name);
        return NULL;
    }
    if (found->type != type || found->n_dimensions != n_dimensions ||
        memcmp(found->dimensions, wanted.dimensions, sizeof wanted.dimensions) != 0) {
        char has[192], needs[192];
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT,
                            "tensor '%s' of the checkpoint is %s%s, this configuration needs %s%s", name,
                            tensor_types[found->type].name,
                            shape_text(found->n_dimensions, found->dimensions, has), tensor_types[type].name,
                            shape_text(n_dimensions, dimensions, needs));
        return NULL;
    }
    const int64_t unreal = any ? -1 : first_unreal(found);
    if (unreal >= 0) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_NUMERIC,
                            "tensor '%s' of the checkpoint is not finite at number %" PRId64, name, unreal);
        return NULL;
    }
    return (void *)(uintptr_t)found->data;
}

void *lud_checkpoint_place(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                           int n_dimensions, const int64_t *dimensions) {
    return find_place(checkpoint, name, type, n_dimensions, dimensions, false);
}

static void copy_tensor(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type, int n_dimensions,
                        const int64_t *dimensions, bool any, void *data) {
    void *place = find_place(checkpoint, name, type, n_dimensions, dimensions, any);
    if (!place) return;
    size_t bytes = 0;
    shape_bytes(type, n_dimensions, dimensions, &bytes);
    if (bytes == 0) return;
    if (checkpoint->loading)
        memcpy(data, place, bytes);
    else
        memcpy(place, data, bytes);
}

void lud_checkpoint_tensor(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                           int n_dimensions, const int64_t *dimensions, void *data) {
    copy_tensor(checkpoint, name, type, n_dimensions, dimensions, false, data);
}

void lud_checkpoint_any_tensor(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                               int n_dimensions, const int64_t *dimensions, void *data) {
    copy_tensor(checkpoint, name, type, n_dimensions, dimensions, true, data);
}

void lud_checkpoint_limit(lud_checkpoint *checkpoint, const char *name, uint64_t value, uint64_t most) {
    if (checkpoint->loading && value > most)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT,
                            "'%s' of the checkpoint is %" PRIu64 ", at most %" PRIu64 " can be", name, value,
                            most);
}

void lud_checkpoint_require(lud_checkpoint *checkpoint, const char *name, lud_status status,
                            const lud_error *error) {
    if (status) lud_checkpoint_fail(checkpoint, status, "'%s' of the checkpoint: %s", name, error->text);
}

void lud_checkpoint_bytes(lud_checkpoint *checkpoint, const char *name, void *data, size_t n) {
    const int64_t length = (int64_t)n;
    lud_checkpoint_tensor(checkpoint, name, LUD_TENSOR_U8, 1, &length, data);
}

void lud_checkpoint_u64(lud_checkpoint *checkpoint, const char *name, uint64_t *value) {
    lud_checkpoint_tensor(checkpoint, name, LUD_TENSOR_U64, 0, NULL, value);
}

void lud_checkpoint_real(lud_checkpoint *checkpoint, const char *name, double *value) {
    lud_checkpoint_tensor(checkpoint, name, LUD_TENSOR_F64, 0, NULL, value);
}

lud_status lud_checkpoint_check_finite(const lud_checkpoint *checkpoint, lud_error *error) {
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(checkpoint, i);
        const int64_t unreal = tensor->any ? -1 : first_unreal(tensor);
        if (unreal >= 0)
            return lud_fail(error, LUD_ERROR_NUMERIC,
                            "'%s' is not finite, first at number %" PRId64
                            ": the training has diverged; try a smaller learning_rate or max_norm",
                            tensor->name, unreal);
    }
    return LUD_OK;
}

/* --- reading --- */

static void write_digits(uint64_t checksum, char digits[CHECKSUM_DIGITS + 1]) {
    snprintf(digits, CHECKSUM_DIGITS + 1, "%016" PRIx64, checksum);
}

/* Checksum of the 8 length bytes, the header with its digits as zeros, and the data. */
static XXH3_state_t *hash_start(const unsigned char length_bytes[8], const char *header, size_t n_header) {
    XXH3_state_t *state = XXH3_createState();
    if (!state) return NULL;
    static const char zeros[CHECKSUM_DIGITS + 1] = "0000000000000000";
    const size_t before = sizeof header_start - 1;
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, length_bytes, 8);
    XXH3_64bits_update(state, header, before);
    XXH3_64bits_update(state, zeros, CHECKSUM_DIGITS);
    XXH3_64bits_update(state, header + before + CHECKSUM_DIGITS, n_header - before - CHECKSUM_DIGITS);
    return state;
}

static uint64_t read_u64(const unsigned char *bytes) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | bytes[i];
    return value;
}

static lud_status parse_tensor(lud_checkpoint *checkpoint, const char *file, const char *name,
                               const json_t *entry, const unsigned char *data, size_t n_data,
                               lud_error *error) {
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    const char *type_name = json_string_value(json_object_get(entry, "dtype"));
    if (!type_name || !json_is_array(shape) || !json_is_array(offsets) || json_array_size(offsets) != 2)
        return lud_invalid(error, "%s: tensor '%s': expected an object with dtype, shape and data_offsets",
                           file, name);
    lud_tensor tensor = {.name = name};
    while (tensor.type < LUD_TENSOR_TYPES && strcmp(tensor_types[tensor.type].name, type_name) != 0)
        tensor.type++;
    if (tensor.type == LUD_TENSOR_TYPES)
        return lud_invalid(error, "%s: tensor '%s': unknown dtype '%s'", file, name, type_name);
    if (json_array_size(shape) > LUD_TENSOR_MAX_DIMENSIONS)
        return lud_fail(error, LUD_ERROR_LIMIT, "%s: tensor '%s': %zu dimensions, at most %d are supported",
                        file, name, json_array_size(shape), LUD_TENSOR_MAX_DIMENSIONS);
    tensor.n_dimensions = (int)json_array_size(shape);
    for (int i = 0; i < tensor.n_dimensions; i++) {
        const json_t *dimension = json_array_get(shape, (size_t)i);
        tensor.dimensions[i] = json_is_integer(dimension) ? json_integer_value(dimension) : -1;
    }
    if (!shape_bytes(tensor.type, tensor.n_dimensions, tensor.dimensions, &tensor.bytes))
        return lud_invalid(error, "%s: tensor '%s': impossible shape", file, name);
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    const json_int_t begin = json_is_integer(first) ? json_integer_value(first) : -1;
    const json_int_t end = json_is_integer(last) ? json_integer_value(last) : -1;
    if (begin < 0 || end < begin || (uint64_t)(end - begin) != tensor.bytes)
        return lud_invalid(
            error, "%s: tensor '%s': data_offsets [%" PRId64 ", %" PRId64 "] do not hold its %zu bytes", file,
            name, (int64_t)begin, (int64_t)end, tensor.bytes);
    if ((uint64_t)end > n_data)
        return lud_invalid(
            error, "%s: truncated: tensor '%s' ends at byte %" PRId64 " of the data, the file has %zu", file,
            name, (int64_t)end, n_data);
    tensor.data = data + begin;
    if (!add_tensor(checkpoint, &tensor, (size_t)begin))
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", file);
    return LUD_OK;
}

static int by_offset(const void *a, const void *b) {
    const lud_tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Tensors must cover the data without gap or overlap. Sorts them into file order. */
static lud_status check_cover(lud_checkpoint *checkpoint, const char *file, const unsigned char *data,
                              size_t n_data, lud_error *error) {
    if (checkpoint->n_tensors)
        qsort(checkpoint->tensors, checkpoint->n_tensors, sizeof *checkpoint->tensors, by_offset);
    const unsigned char *next = data;
    for (size_t i = 0; i < checkpoint->n_tensors; i++) {
        if (checkpoint->tensors[i].data != next)
            return lud_invalid(error, "%s: tensor '%s' overlaps another or leaves a gap", file,
                               checkpoint->tensors[i].name);
        next += checkpoint->tensors[i].bytes;
    }
    if (next != data + n_data)
        return lud_invalid(error, "%s: %zu bytes of data belong to no tensor", file,
                           (size_t)(data + n_data - next));
    if (checkpoint->table) memset(checkpoint->table, 0, checkpoint->table_size * sizeof *checkpoint->table);
    for (size_t i = 0; i < checkpoint->n_tensors; i++)
        checkpoint->table[table_slot(checkpoint, checkpoint->tensors[i].name)] = (uint32_t)i + 1;
    return LUD_OK;
}

static lud_status parse_header(lud_checkpoint *checkpoint, const char *file, const json_t *header,
                               const unsigned char *data, size_t n_data, lud_error *error) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)header, key, value) {
        if (strcmp(key, "__metadata__") != 0) {
            LUD_TRY(parse_tensor(checkpoint, file, key, value, data, n_data, error));
            continue;
        }
        const char *text_key;
        json_t *text;
        json_object_foreach(value, text_key, text) {
            if (!json_is_string(text))
                return lud_invalid(error, "%s: metadata '%s' is not a text", file, text_key);
            if (strcmp(text_key, checksum_key) == 0) continue;
            if (!add_text(checkpoint, text_key, json_string_value(text)))
                return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", file);
        }
    }
    return check_cover(checkpoint, file, data, n_data, error);
}

static lud_status parse_bytes(lud_checkpoint *checkpoint, const char *file, const unsigned char *bytes,
                              size_t length, lud_error *error) {
    if (length < 8)
        return lud_invalid(error, "%s: truncated: %zu bytes, a safetensors file has at least 8", file,
                           length);
    const uint64_t n_header = read_u64(bytes);
    if (n_header > HEADER_LIMIT || (length > 8 && bytes[8] != '{'))
        return lud_invalid(error, "%s: not a safetensors file", file);
    if (n_header > length - 8)
        return lud_invalid(error, "%s: truncated: the header has %" PRIu64 " bytes, only %zu are there", file,
                           n_header, length - 8);
    const char *header = (const char *)bytes + 8;
    json_error_t json_error;
    json_t *root = json_loadb(header, (size_t)n_header, JSON_REJECT_DUPLICATES, &json_error);
    if (!json_is_object(root)) {
        json_decref(root);
        return lud_invalid(error, "%s: not a safetensors file: header: %s", file,
                           root ? "not an object" : json_error.text);
    }
    const size_t before = sizeof header_start - 1;
    const unsigned char *data = bytes + 8 + n_header;
    const size_t n_data = length - 8 - (size_t)n_header;
    lud_status status = parse_header(checkpoint, file, root, data, n_data, error);
    json_decref(root);
    if (status) return status;
    if (n_header < before + CHECKSUM_DIGITS + 1 || memcmp(header, header_start, before) != 0)
        return lud_invalid(error, "%s: a safetensors file of another program: it has no checksum of Ludus",
                           file);

    XXH3_state_t *state = hash_start(bytes, header, (size_t)n_header);
    if (!state) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", file);
    XXH3_64bits_update(state, data, n_data);
    char digits[CHECKSUM_DIGITS + 1];
    write_digits(XXH3_64bits_digest(state), digits);
    XXH3_freeState(state);
    if (memcmp(header + before, digits, CHECKSUM_DIGITS) != 0)
        return lud_invalid(error, "%s: damaged: its checksum is %s, the file says %.16s", file, digits,
                           header + before);
    return LUD_OK;
}

/* `bytes` live in `arena`, which the checkpoint takes over. */
static lud_status parse_owned(const char *name, lud_arena *arena, const void *bytes, size_t length,
                              lud_checkpoint **checkpoint, lud_error *error) {
    *checkpoint = lud_checkpoint_create();
    if (!*checkpoint) {
        lud_arena_destroy(arena);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", name);
    }
    (*checkpoint)->loading = true;
    (*checkpoint)->file = arena;
    lud_status status = parse_bytes(*checkpoint, name, bytes, length, error);
    if (status) {
        lud_checkpoint_destroy(*checkpoint);
        *checkpoint = NULL;
    }
    return status;
}

lud_status lud_checkpoint_parse(const char *name, const void *bytes, size_t length,
                                lud_checkpoint **checkpoint, lud_error *error) {
    *checkpoint = NULL;
    lud_arena *arena = lud_arena_create(length + 64);
    char *copy = arena ? lud_arena_take(arena, length) : NULL;
    if (!copy) {
        lud_arena_destroy(arena);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", name);
    }
    if (length) memcpy(copy, bytes, length);
    return parse_owned(name, arena, copy, length, checkpoint, error);
}

static lud_status open_one(const char *path, lud_checkpoint **checkpoint, lud_error *error) {
    *checkpoint = NULL;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", path);
    char *bytes = NULL;
    size_t length = 0;
    lud_status status = lud_file_read(arena, path, SIZE_MAX / 2, &bytes, &length, error);
    if (status) {
        lud_arena_destroy(arena);
        return status;
    }
    return parse_owned(path, arena, bytes, length, checkpoint, error);
}

lud_status lud_checkpoint_open(const char *path, lud_checkpoint **checkpoint, lud_error *error) {
    lud_error first = {0};
    lud_status status = open_one(path, checkpoint, &first);
    if (status == LUD_OK) return LUD_OK;
    char *previous = lud_checkpoint_previous_path(path);
    lud_checkpoint *older = NULL;
    const char *format = NULL; /* from parameters that act training cannot go on */
    if (previous && open_one(previous, &older, NULL) == LUD_OK) format = lud_checkpoint_text(older, "format");
    if (older && !(format && strcmp(format, "ludus-policy-1") == 0))
        lud_fail(error, status,
                 "%s; the previous checkpoint %s is readable, --resume-previous goes on from it", first.text,
                 previous);
    else
        lud_fail(error, status, "%s", first.text);
    lud_checkpoint_destroy(older);
    free(previous);
    return status;
}

/* --- writing --- */

char *lud_checkpoint_previous_path(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    char *previous = NULL;
    if (asprintf(&previous, "%.*s.previous%s", (int)stem, path, path + stem) < 0) return NULL;
    return previous;
}

/* The order of the data in the file: larger elements first, so that every tensor is aligned. */
static int by_element_size(const lud_checkpoint *checkpoint, size_t *order) {
    size_t n = 0;
    for (size_t bytes = 8; bytes; bytes /= 2)
        for (size_t i = 0; i < checkpoint->n_tensors; i++)
            if (tensor_types[checkpoint->tensors[i].type].bytes == bytes) order[n++] = i;
    return n == checkpoint->n_tensors;
}

/* A value as JSON text, and no value any more; false where it was none, which is not UTF-8 or out of memory.
 */
static bool append_json(lud_text *out, json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
    if (text) lud_text_append(out, "%s", text);
    free(text);
    return text;
}

static bool append_texts(const lud_checkpoint *checkpoint, lud_text *out) {
    json_t *texts = json_object();
    int failed = json_object_set_new(texts, checksum_key, json_string("0000000000000000"));
    for (size_t i = 0; i < checkpoint->n_texts; i++)
        failed |=
            json_object_set_new(texts, checkpoint->texts[i].key, json_string(checkpoint->texts[i].text));
    return append_json(out, texts) && !failed;
}

static bool append_name(lud_text *out, const char *name) {
    for (const char *c = name; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\') return append_json(out, json_string(name));
    lud_text_append(out, "\"%s\"", name);
    return true;
}

/* The header as JSON text with zeros for the checksum, padded to a multiple of eight bytes. Caller frees. */
static char *make_header(const lud_checkpoint *checkpoint, const size_t *order, size_t *n_header) {
    lud_text out = {0};
    size_t offset = 0;
    lud_text_append(&out, "{\"__metadata__\":");
    bool whole = append_texts(checkpoint, &out);
    for (size_t i = 0; i < checkpoint->n_tensors; i++) {
        const lud_tensor *tensor = &checkpoint->tensors[order[i]];
        lud_text_append(&out, ",");
        whole &= append_name(&out, tensor->name);
        lud_text_append(&out, ":{\"dtype\":\"%s\",\"shape\":[", tensor_types[tensor->type].name);
        for (int d = 0; d < tensor->n_dimensions; d++)
            lud_text_append(&out, "%s%" PRId64, d ? "," : "", tensor->dimensions[d]);
        lud_text_append(&out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor->bytes);
        offset += tensor->bytes;
    }
    lud_text_append(&out, "}");
    while (out.length % 8 != 0 && !out.failed) lud_text_append(&out, " ");
    if (!whole || out.failed) {
        lud_text_free(&out);
        return NULL;
    }
    assert(strncmp(out.bytes, header_start, sizeof header_start - 1) == 0);
    *n_header = out.length;
    return out.bytes;
}

/* Keeps the present file as the previous one. The present name never goes: a second link is made first. */
static void keep_previous(const char *path) {
    char *previous = lud_checkpoint_previous_path(path), *link_path = NULL;
    if (previous && asprintf(&link_path, "%s.partial-%ld", previous, (long)getpid()) >= 0) {
        unlink(link_path);
        if (link(path, link_path) != 0 || rename(link_path, previous) != 0) {
            /* a file system without links: a moment without the present name is the price */
            if (errno != ENOENT) rename(path, previous);
            unlink(link_path);
        }
        free(link_path);
    }
    free(previous);
}

static lud_status write_parts(lud_checkpoint *checkpoint, const char *path, const size_t *order, char *header,
                              size_t n_header, lud_error *error) {
    unsigned char length_bytes[8];
    for (int i = 0; i < 8; i++) length_bytes[i] = (unsigned char)(n_header >> (8 * i));
    XXH3_state_t *state = hash_start(length_bytes, header, n_header);
    if (!state) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", path);
    for (size_t i = 0; i < checkpoint->n_tensors; i++)
        XXH3_64bits_update(state, checkpoint->data + checkpoint->offsets[order[i]],
                           checkpoint->tensors[order[i]].bytes);
    char digits[CHECKSUM_DIGITS + 1];
    write_digits(XXH3_64bits_digest(state), digits);
    XXH3_freeState(state);
    memcpy(header + sizeof header_start - 1, digits, CHECKSUM_DIGITS);

    lud_file_writer writer;
    LUD_TRY(lud_file_write_begin(&writer, path, error));
    bool written = fwrite(length_bytes, 1, 8, writer.stream) == 8 &&
                   fwrite(header, 1, n_header, writer.stream) == n_header;
    for (size_t i = 0; written && i < checkpoint->n_tensors; i++) {
        const size_t bytes = checkpoint->tensors[order[i]].bytes;
        written = bytes == 0 ||
                  fwrite(checkpoint->data + checkpoint->offsets[order[i]], 1, bytes, writer.stream) == bytes;
    }
    if (!written || fflush(writer.stream) != 0 || fsync(fileno(writer.stream)) != 0) {
        const int reason = errno;
        lud_file_write_abandon(&writer);
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write the checkpoint: %s", path, strerror(reason));
    }
    keep_previous(path);
    return lud_file_write_commit(&writer, error);
}

lud_status lud_checkpoint_write(lud_checkpoint *checkpoint, const char *path, lud_error *error) {
    assert(!checkpoint->loading);
    LUD_TRY(lud_checkpoint_status(checkpoint, error));
    size_t *order = malloc((checkpoint->n_tensors + 1) * sizeof *order), n_header = 0;
    char *header =
        order && by_element_size(checkpoint, order) ? make_header(checkpoint, order, &n_header) : NULL;
    const lud_status status =
        header ? write_parts(checkpoint, path, order, header, n_header, error)
               : lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out, or a name or text is not UTF-8", path);
    free(header);
    free(order);
    return status;
}
