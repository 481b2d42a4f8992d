/* Safetensors files that others have written: looked at in place, without a checksum. (Our own, which carry
 * one, are read by learn/store/checkpoint.h.) */
#pragma once

#include "learn/store/checkpoint.h"

typedef struct lud_safetensors lud_safetensors;

/* Maps a file into memory. Tensors have to lie within the file; they may leave gaps. */
lud_status lud_safetensors_open(const char *path, lud_safetensors **file, lud_error *error);
/* The same on bytes of the caller's, which outlive it; `name` stands for the file in messages. */
lud_status lud_safetensors_parse(const char *name, const void *bytes, size_t length, lud_safetensors **file,
                                 lud_error *error);
/* Null is allowed. */
void lud_safetensors_close(lud_safetensors *file);
int lud_safetensors_count(const lud_safetensors *file);
/* Tensor number `index`; names and data are the file's. Data need not be aligned. */
const lud_tensor *lud_safetensors_get(const lud_safetensors *file, int index);
/* Null where there is none of the name. */
const lud_tensor *lud_safetensors_find(const lud_safetensors *file, const char *name);
/* Numbers first .. first + n - 1 of a tensor of type F32, BF16 or F16 as floats; false for other types. */
bool lud_safetensors_floats(const lud_tensor *tensor, int64_t first, int64_t n, float *values);
