/* Numbers of any type that a data set may hold, read one by one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "learn/store/checkpoint.h"

/* An array of numbers on the host. Types that are read: f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, bool.
 */
typedef struct lud_numbers {
    lud_tensor_type type;
    const void *data;
} lud_numbers;

/* Number i; 0 for types that are not read. */
static inline double lud_number(lud_numbers numbers, int64_t i) {
    switch (numbers.type) {
    case LUD_TENSOR_F64:
        return ((const double *)numbers.data)[i];
    case LUD_TENSOR_F32:
        return (double)((const float *)numbers.data)[i];
    case LUD_TENSOR_I64:
        return (double)((const int64_t *)numbers.data)[i];
    case LUD_TENSOR_I32:
        return (double)((const int32_t *)numbers.data)[i];
    case LUD_TENSOR_I16:
        return (double)((const int16_t *)numbers.data)[i];
    case LUD_TENSOR_I8:
        return (double)((const int8_t *)numbers.data)[i];
    case LUD_TENSOR_U64:
        return (double)((const uint64_t *)numbers.data)[i];
    case LUD_TENSOR_U32:
        return (double)((const uint32_t *)numbers.data)[i];
    case LUD_TENSOR_U16:
        return (double)((const uint16_t *)numbers.data)[i];
    case LUD_TENSOR_U8:
    case LUD_TENSOR_BOOL:
        return (double)((const uint8_t *)numbers.data)[i];
    default:
        return 0.0;
    }
}
