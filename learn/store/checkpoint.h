/* Checkpoints: named tensors and texts in one safetensors file, readable as it is by every safetensors
 * library.
 *
 * What belongs to a checkpoint is named once: an owner writes one function that visits its fields, and the
 * same function saves (fields are copied out) or loads (fields are checked and copied in):
 *
 *     static void visit(my_learner *learner, lud_checkpoint *checkpoint) {
 *         lud_checkpoint_u64(checkpoint, "iteration", &learner->iteration);
 *         lud_checkpoint_tensor(checkpoint, "table", LUD_TENSOR_F64, 1, (int64_t[]){learner->n},
 * learner->table);
 *     }
 *
 * The file is written beside its place, fsynced and renamed, so a reader finds the old or the new file, never
 * half of one; the file it replaces is kept as `NAME.previous.EXT`. An XXH3 checksum over header and data
 * stands in the metadata (key `ludus.xxh3`; computed with its own sixteen digits set to zero). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum lud_tensor_type {
    LUD_TENSOR_F64,
    LUD_TENSOR_I64,
    LUD_TENSOR_U64,
    LUD_TENSOR_F32,
    LUD_TENSOR_I32,
    LUD_TENSOR_U32,
    LUD_TENSOR_F16,
    LUD_TENSOR_BF16,
    LUD_TENSOR_I16,
    LUD_TENSOR_U16,
    LUD_TENSOR_I8,
    LUD_TENSOR_U8,
    LUD_TENSOR_BOOL,
    LUD_TENSOR_TYPES
} lud_tensor_type;

enum { LUD_TENSOR_MAX_DIMENSIONS = 8 };

/* One tensor of a checkpoint, row-major. `name` and `data` belong to the checkpoint. */
typedef struct lud_tensor {
    const char *name;
    lud_tensor_type type;
    int n_dimensions; /* 0: a scalar */
    int64_t dimensions[LUD_TENSOR_MAX_DIMENSIONS];
    size_t bytes;
    const void *data;
    bool any; /* of real numbers: they need not be finite; known of tensors that are saved */
} lud_tensor;

/* No count of steps, updates or episodes is larger; sums and products with options do not overflow. */
#define LUD_CHECKPOINT_MOST (UINT64_C(1) << 48)

typedef struct lud_checkpoint lud_checkpoint;

/* An empty checkpoint to save into. Null when memory is out. */
lud_checkpoint *lud_checkpoint_create(void);
/* Forgets all fields, keeps the memory. */
void lud_checkpoint_clear(lud_checkpoint *checkpoint);
/* Null is allowed. */
void lud_checkpoint_destroy(lud_checkpoint *checkpoint);

/* Reads a file for loading. A missing, truncated, damaged or foreign file is an error that says what is wrong
 * and names the previous checkpoint when that one is readable. */
lud_status lud_checkpoint_open(const char *path, lud_checkpoint **checkpoint, lud_error *error);
/* The same from memory; `name` stands for the file in messages. The bytes are copied. */
lud_status lud_checkpoint_parse(const char *name, const void *bytes, size_t length,
                                lud_checkpoint **checkpoint, lud_error *error);

/* Visiting. True while loading, false while saving. */
bool lud_checkpoint_loading(const lud_checkpoint *checkpoint);
/* Saves data[dimensions...] under the name, or fills it from the tensor of that name, type and shape.
 * Failures (missing tensor, other shape, memory) stick; later calls do nothing; see lud_checkpoint_status.
 *
 * A file may be anybody's: real numbers that are loaded are finite, what else they say is checked by their
 * owner, in release builds too (lud_checkpoint_limit, lud_world_check_states). */
void lud_checkpoint_tensor(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                           int n_dimensions, const int64_t *dimensions, void *data);
/* Saving: room for the tensor's bytes, which the caller fills before its next call on the checkpoint.
 * Loading: the stored bytes. Null after a failure. For data that does not lie in host memory. */
void *lud_checkpoint_place(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                           int n_dimensions, const int64_t *dimensions);
/* lud_checkpoint_tensor for real numbers that may be infinite or not numbers. */
void lud_checkpoint_any_tensor(lud_checkpoint *checkpoint, const char *name, lud_tensor_type type,
                               int n_dimensions, const int64_t *dimensions, void *data);
/* `n` plain bytes (a U8 vector). */
void lud_checkpoint_bytes(lud_checkpoint *checkpoint, const char *name, void *data, size_t n);
void lud_checkpoint_u64(lud_checkpoint *checkpoint, const char *name, uint64_t *value);
void lud_checkpoint_real(lud_checkpoint *checkpoint, const char *name, double *value);
/* Makes loading fail when a whole number that was read as `name` is above `most`. */
void lud_checkpoint_limit(lud_checkpoint *checkpoint, const char *name, uint64_t value, uint64_t most);
/* Makes the visit fail with the error of a check of what was read as `name`; LUD_OK: nothing. */
void lud_checkpoint_require(lud_checkpoint *checkpoint, const char *name, lud_status status,
                            const lud_error *error);
/* A text in the metadata; both are copied. Only while saving. */
void lud_checkpoint_set_text(lud_checkpoint *checkpoint, const char *key, const char *text);
/* Makes the visit fail with a message of the owner (a field that makes no sense). */
void lud_checkpoint_fail(lud_checkpoint *checkpoint, lud_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* LUD_OK, or the first failure of the visit. */
lud_status lud_checkpoint_status(const lud_checkpoint *checkpoint, lud_error *error);

/* Forgets a failure, so that the checkpoint can be visited again. */
void lud_checkpoint_forgive(lud_checkpoint *checkpoint);

/* Looking inside. A text or tensor that is not there is null. */
const char *lud_checkpoint_text(const lud_checkpoint *checkpoint, const char *key);
const lud_tensor *lud_checkpoint_find(const lud_checkpoint *checkpoint, const char *name);
int lud_checkpoint_n_tensors(const lud_checkpoint *checkpoint);
const lud_tensor *lud_checkpoint_get(const lud_checkpoint *checkpoint, int index);
/* The word safetensors uses ("F32") and the bytes of one element. */
const char *lud_tensor_type_name(lud_tensor_type type);
size_t lud_tensor_type_bytes(lud_tensor_type type);

/* LUD_ERROR_NUMERIC when a tensor to be saved holds a real number that is not finite and is not one of those
 * that may; the message names it. */
lud_status lud_checkpoint_check_finite(const lud_checkpoint *checkpoint, lud_error *error);

/* Writes the file now, keeping the one it replaces as the previous one. */
lud_status lud_checkpoint_write(lud_checkpoint *checkpoint, const char *path, lud_error *error);
/* `a/b.safetensors` -> `a/b.previous.safetensors`. Caller frees; null when memory is out. */
char *lud_checkpoint_previous_path(const char *path);

/* A thread that writes checkpoints beside the training, which stops only to copy its fields out. It has one
 * file or several, numbered in the order in which they are written. */
typedef struct lud_checkpoint_writer lud_checkpoint_writer;
lud_status lud_checkpoint_writer_create(const char *const *paths, int n, lud_checkpoint_writer **writer,
                                        lud_error *error);
/* Whether something is being written. */
bool lud_checkpoint_writer_busy(lud_checkpoint_writer *writer);
/* An empty checkpoint to fill for a file, or null while the one before is still being written (try again
 * later). */
lud_checkpoint *lud_checkpoint_writer_begin(lud_checkpoint_writer *writer, int file);
/* Takes a filled checkpoint for a file and gives another, to be filled, in its place. Only while it is not
 * busy. */
void lud_checkpoint_writer_exchange(lud_checkpoint_writer *writer, int file, lud_checkpoint **filled);
/* Hands the filled checkpoints over; a failed visit, and what became infinite or no number, is reported here
 * and nothing is written. What could not
 * be written is written at the next time, with what is new then. */
lud_status lud_checkpoint_writer_submit(lud_checkpoint_writer *writer, lud_error *error);
/* Waits until nothing is being written; reports a failure of the last write once. */
lud_status lud_checkpoint_writer_wait(lud_checkpoint_writer *writer, lud_error *error);
/* Reports it without waiting: LUD_OK while nothing is known. */
lud_status lud_checkpoint_writer_failure(lud_checkpoint_writer *writer, lud_error *error);
/* Waits and frees. Null is allowed. */
void lud_checkpoint_writer_destroy(lud_checkpoint_writer *writer);
