#include "learn/nn/parameters.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* Every parameter starts on a cache line. */
enum { ALIGN_NUMBERS = 16 };

lud_parameters *lud_parameters_create(lud_device *device, bool in_double) {
    lud_parameters *parameters = calloc(1, sizeof *parameters);
    if (!parameters) return NULL;
    parameters->device = device;
    parameters->real_bytes = in_double ? sizeof(double) : sizeof(float);
    return parameters;
}

void lud_parameters_destroy(lud_parameters *parameters) {
    if (!parameters) return;
    if (parameters->values && !parameters->borrows_values)
        lud_device_release(parameters->device, parameters->values);
    if (parameters->gradients) lud_device_release(parameters->device, parameters->gradients);
    for (int i = 0; i < parameters->n; i++) free((char *)(uintptr_t)parameters->items[i].name);
    free(parameters->items);
    free(parameters);
}

static uint64_t hash_of(const char *name) {
    return XXH3_64bits(name, strlen(name));
}

int lud_parameters_find(const lud_parameters *parameters, const char *name) {
    const uint64_t hash = hash_of(name);
    for (int i = 0; i < parameters->n; i++)
        if (parameters->items[i].hash == hash && strcmp(parameters->items[i].name, name) == 0) return i;
    return -1;
}

static bool grow(lud_parameters *parameters) {
    if (parameters->n < parameters->capacity) return true;
    const int capacity = parameters->capacity ? 2 * parameters->capacity : 64;
    lud_parameter *items = realloc(parameters->items, (size_t)capacity * sizeof *items);
    if (!items) return false;
    parameters->items = items;
    parameters->capacity = capacity;
    return true;
}

int lud_parameters_add(lud_parameters *parameters, const char *name, int n_dimensions,
                       const int64_t *dimensions, lud_init init) {
    const int found = lud_parameters_find(parameters, name);
    if (found >= 0) {
        const lud_parameter *old = &parameters->items[found];
        assert(old->n_dimensions == n_dimensions &&
               memcmp(old->dimensions, dimensions, (size_t)n_dimensions * sizeof *dimensions) == 0);
        (void)old;
        return found;
    }
    assert(!parameters->values && n_dimensions <= LUD_TENSOR_MAX_DIMENSIONS);
    char *copy = strdup(name);
    if (!copy || !grow(parameters)) {
        free(copy);
        parameters->failed = true;
        return -1;
    }
    lud_parameter *p = &parameters->items[parameters->n];
    *p = (lud_parameter){
        .name = copy, .hash = hash_of(name), .n_dimensions = n_dimensions, .n = 1, .init = init};
    for (int i = 0; i < n_dimensions; i++) {
        p->dimensions[i] = dimensions[i];
        p->n *= dimensions[i];
    }
    p->offset = parameters->size;
    parameters->size += (p->n + ALIGN_NUMBERS - 1) / ALIGN_NUMBERS * ALIGN_NUMBERS;
    return parameters->n++;
}

static void *at(const lud_parameters *parameters, void *block, int index) {
    return (char *)block + (size_t)parameters->items[index].offset * parameters->real_bytes;
}

void *lud_parameters_value(const lud_parameters *parameters, int index) {
    return at(parameters, parameters->values, index);
}

void *lud_parameters_gradient(const lud_parameters *parameters, int index) {
    return at(parameters, parameters->gradients, index);
}

static size_t block_bytes(const lud_parameters *parameters) {
    return (size_t)parameters->size * parameters->real_bytes;
}

lud_status lud_parameters_build(lud_parameters *parameters, uint64_t seed, lud_error *error) {
    assert(!parameters->values);
    parameters->values = lud_device_allocate(parameters->device, block_bytes(parameters));
    parameters->gradients = lud_device_allocate(parameters->device, block_bytes(parameters));
    int64_t largest = 1;
    for (int i = 0; i < parameters->n; i++)
        if (parameters->items[i].n > largest) largest = parameters->items[i].n;
    double *host = malloc((size_t)largest * sizeof *host);
    if (parameters->failed || !parameters->values || !parameters->gradients || !host) {
        free(host);
        return lud_no_memory(error, "%lld parameters", (long long)parameters->size);
    }
    for (int i = 0; i < parameters->n; i++) {
        const lud_parameter *p = &parameters->items[i];
        lud_init_values(&p->init, p->name, p->n_dimensions, p->dimensions, seed,
                        parameters->device->n_threads, host);
        lud_parameters_write(parameters, i, host);
    }
    free(host);
    return LUD_OK;
}

/* A second set of the same layout, without memory for numbers. Null when memory is out. */
static lud_parameters *laid_out_like(const lud_parameters *parameters) {
    lud_parameters *other =
        lud_parameters_create(parameters->device, parameters->real_bytes == sizeof(double));
    bool ok = other != NULL;
    for (int i = 0; ok && i < parameters->n; i++) {
        const lud_parameter *p = &parameters->items[i];
        ok = lud_parameters_add(other, p->name, p->n_dimensions, p->dimensions, p->init) == i;
        if (ok) {
            other->items[i].frozen = p->frozen;
            other->items[i].low_rank = p->low_rank;
        }
    }
    if (ok) return other;
    lud_parameters_destroy(other);
    return NULL;
}

lud_parameters *lud_parameters_clone(const lud_parameters *parameters) {
    lud_parameters *clone = laid_out_like(parameters);
    if (!clone) return NULL;
    clone->values = lud_device_allocate(clone->device, block_bytes(clone));
    if (!clone->values) {
        lud_parameters_destroy(clone);
        return NULL;
    }
    lud_parameters_copy(clone, parameters);
    return clone;
}

lud_parameters *lud_parameters_beside(const lud_parameters *parameters) {
    lud_parameters *beside = laid_out_like(parameters);
    if (!beside) return NULL;
    beside->gradients = lud_device_allocate(beside->device, block_bytes(beside));
    if (!beside->gradients) {
        lud_parameters_destroy(beside);
        return NULL;
    }
    beside->values = parameters->values;
    beside->borrows_values = true;
    lud_parameters_zero_gradients(beside);
    return beside;
}

void lud_parameters_copy(lud_parameters *target, const lud_parameters *source) {
    assert(target->size == source->size && target->real_bytes == source->real_bytes);
    lud_device_copy(target->device, target->values, source->values, block_bytes(source));
}

void lud_parameters_blend(lud_parameters *target, const lud_parameters *source, double tau) {
    assert(target->size == source->size && target->real_bytes == source->real_bytes);
    lud_device *device = target->device;
    if (target->real_bytes == sizeof(float))
        device->ops->combine(device, target->size, 1.0 - tau, target->values, tau, source->values,
                             target->values);
    else
        lud_cpu_ops_f64()->combine(device, target->size, 1.0 - tau, target->values, tau, source->values,
                                   target->values);
}

static int mark(lud_parameters *parameters, const char *prefix, size_t flag, bool on) {
    int count = 0;
    for (int i = 0; i < parameters->n; i++) {
        if (strncmp(parameters->items[i].name, prefix, strlen(prefix)) != 0) continue;
        memcpy((char *)&parameters->items[i] + flag, &on, sizeof on);
        count++;
    }
    return count;
}

int lud_parameters_freeze(lud_parameters *parameters, const char *prefix, bool frozen) {
    return mark(parameters, prefix, offsetof(lud_parameter, frozen), frozen);
}

int lud_parameters_set_low_rank(lud_parameters *parameters, const char *prefix, bool low_rank) {
    return mark(parameters, prefix, offsetof(lud_parameter, low_rank), low_rank);
}

void lud_parameters_zero_gradients(lud_parameters *parameters) {
    lud_device_zero(parameters->device, parameters->gradients, block_bytes(parameters));
}

void lud_parameters_take_gradients(lud_parameters *to, lud_parameters *from) {
    assert(to->size == from->size && to->real_bytes == sizeof(float));
    to->device->ops->combine(to->device, to->size, 1.0, to->gradients, 1.0, from->gradients, to->gradients);
    lud_parameters_zero_gradients(from);
}

/* Numbers that pass between host and device in one piece. */
enum { PIECE = 1024 };

void lud_write_reals(lud_device *device, size_t real_bytes, void *to, int64_t n, const double *values) {
    if (real_bytes == sizeof(double)) {
        lud_device_upload(device, to, values, (size_t)n * sizeof *values);
        return;
    }
    float piece[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t count = n - i < PIECE ? n - i : PIECE;
        for (int64_t k = 0; k < count; k++) piece[k] = (float)values[i + k];
        lud_device_upload(device, (float *)to + i, piece, (size_t)count * sizeof *piece);
    }
}

void lud_read_reals(lud_device *device, size_t real_bytes, const void *from, int64_t n, double *values) {
    if (real_bytes == sizeof(double)) {
        lud_device_download(device, values, from, (size_t)n * sizeof *values);
        return;
    }
    float piece[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t count = n - i < PIECE ? n - i : PIECE;
        lud_device_download(device, piece, (const float *)from + i, (size_t)count * sizeof *piece);
        for (int64_t k = 0; k < count; k++) values[i + k] = piece[k];
    }
}

void lud_parameters_read(const lud_parameters *parameters, int index, double *values) {
    lud_read_reals(parameters->device, parameters->real_bytes, lud_parameters_value(parameters, index),
                   parameters->items[index].n, values);
}

void lud_parameters_read_gradient(const lud_parameters *parameters, int index, double *values) {
    lud_read_reals(parameters->device, parameters->real_bytes, lud_parameters_gradient(parameters, index),
                   parameters->items[index].n, values);
}

void lud_parameters_write(lud_parameters *parameters, int index, const double *values) {
    lud_write_reals(parameters->device, parameters->real_bytes, lud_parameters_value(parameters, index),
                    parameters->items[index].n, values);
}

void lud_parameters_visit_block(const lud_parameters *parameters, const char *prefix, void *block,
                                lud_checkpoint *checkpoint) {
    const lud_tensor_type type = parameters->real_bytes == sizeof(double) ? LUD_TENSOR_F64 : LUD_TENSOR_F32;
    for (int i = 0; i < parameters->n; i++) {
        const lud_parameter *p = &parameters->items[i];
        char name[512];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        void *place = lud_checkpoint_place(checkpoint, name, type, p->n_dimensions, p->dimensions);
        if (!place || p->n == 0) continue;
        const size_t bytes = (size_t)p->n * parameters->real_bytes;
        if (lud_checkpoint_loading(checkpoint))
            lud_device_upload(parameters->device, at(parameters, block, i), place, bytes);
        else
            lud_device_download(parameters->device, place, at(parameters, block, i), bytes);
    }
}

void lud_parameters_visit(lud_parameters *parameters, const char *prefix, lud_checkpoint *checkpoint) {
    lud_parameters_visit_block(parameters, prefix, parameters->values, checkpoint);
}
