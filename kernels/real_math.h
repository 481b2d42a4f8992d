/* Elementary functions of float that give the same bits on every device.
 *
 * They use only +, -, *, /, sqrt and integer operations, each correctly rounded and never contracted, and
 * have no branches, so compilers vectorise loops over them and a GPU computes the very same numbers. Errors
 * are those of a good single-precision library (a few units in the last place, stated below); the double
 * overloads of the gradient checks come from the C library (kernels/cpu/real.h). */
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h" /* LUD_HD */

LUD_HD static inline uint32_t lud_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

LUD_HD static inline float lud_bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* e^x, error below 2 units in the last place; subnormal results and overflow to infinity are right, NaN
 * stays. */
LUD_HD static inline float lud_expf(float x) {
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to the nearest integer */
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    float shifted = x * 1.44269504f + magic;
    float n = shifted - magic;
    uint32_t exponent = lud_float_bits(shifted) - 0x4b400000u; /* n as a two's complement integer */
    float r = x - n * 0.693145752f;                            /* ln 2 in two parts: the first has few bits */
    r = r - n * 1.42860677e-06f;
    float y = 1.0f / 5040.0f;
    y = y * r + 1.0f / 720.0f;
    y = y * r + 1.0f / 120.0f;
    y = y * r + 1.0f / 24.0f;
    y = y * r + 1.0f / 6.0f;
    y = y * r + 0.5f;
    y = y * r * r + r + 1.0f;
    /* two factors, so that neither leaves the range of normal numbers */
    uint32_t half = (uint32_t)((int32_t)exponent >> 1);
    return y * lud_bits_float((half + 127u) << 23) * lud_bits_float((exponent - half + 127u) << 23);
}

/* ln x, error below 2 units in the last place; 0 gives -infinity, negative numbers NaN. */
LUD_HD static inline float lud_logf(float x) {
    float scaled = x < FLT_MIN ? x * 8388608.0f : x;
    float bias = x < FLT_MIN ? 23.0f : 0.0f;
    uint32_t bits = lud_float_bits(scaled);
    uint32_t exponent = (uint32_t)((int32_t)(bits - 0x3f3504f3u) >> 23); /* mantissa in [sqrt 1/2, sqrt 2) */
    float f = lud_bits_float(bits - (exponent << 23)) - 1.0f;
    float n = (float)(int32_t)exponent - bias;
    /* ln(1 + f) = 2 artanh(s) = f - s (f - s^2 (2/3 + 2/5 s^2 + ...)), s = f / (2 + f) */
    float s = f / (2.0f + f);
    float z = s * s;
    float tail = z * (2.0f / 3.0f + z * (2.0f / 5.0f + z * (2.0f / 7.0f + z * (2.0f / 9.0f))));
    float y = n * 0.693145752f + (f - (s * (f - tail) - n * 1.42860677e-06f));
    y = x == 0.0f ? -INFINITY : y;
    y = x < 0.0f ? NAN : y;
    return x < INFINITY ? y : x; /* infinity and NaN stay */
}

/* ln(1 + x) for 0 <= x <= 1. */
LUD_HD static inline float lud_log1p_unitf(float x) {
    float u = 1.0f + x;
    return lud_logf(u) + (x - (u - 1.0f)) / u; /* gives back what the rounding of 1 + x lost */
}

/* ln(1 + e^x), without overflow. */
LUD_HD static inline float lud_softplusf(float x) {
    return (x > 0.0f ? x : 0.0f) + lud_log1p_unitf(lud_expf(-fabsf(x)));
}

LUD_HD static inline float lud_sigmoidf(float x) {
    return 1.0f / (1.0f + lud_expf(-x));
}

/* tanh x, error below 3 units in the last place. */
LUD_HD static inline float lud_tanhf(float x) {
    float z = x * x;
    float near =
        x * (945.0f + z * (105.0f + z)) / (945.0f + z * (420.0f + z * 15.0f)); /* continued fraction */
    float magnitude = fabsf(x);
    float far = 1.0f - 2.0f / (lud_expf(2.0f * magnitude) + 1.0f);
    far = x < 0.0f ? -far : far;
    return magnitude < 0.625f ? near : far;
}

/* Distribution function of the standard normal, absolute error below 1e-7. */
LUD_HD static inline float lud_normal_cdff(float x) {
    float a = fabsf(x) * 0.707106781f;
    float z = a * a;
    /* series of erf near 0 */
    float p = -1.0f / 76204800.0f;
    p = p * z + 1.0f / 6894720.0f;
    p = p * z - 1.0f / 685440.0f;
    p = p * z + 1.0f / 75600.0f;
    p = p * z - 1.0f / 9360.0f;
    p = p * z + 1.0f / 1320.0f;
    p = p * z - 1.0f / 216.0f;
    p = p * z + 1.0f / 42.0f;
    p = p * z - 1.0f / 10.0f;
    p = p * z + 1.0f / 3.0f;
    float erf_near = 1.12837917f * a * (1.0f - z * p);
    /* erfc = t exp(-z + q(t)), t = 2 / (2 + a), q fitted on 1 <= a <= 10 */
    float t = 2.0f / (2.0f + a);
    float q = -0.2478918879f;
    q = q * t + 0.669746284f;
    q = q * t - 0.4867337141f;
    q = q * t - 0.03653241749f;
    q = q * t - 0.08711600341f;
    q = q * t + 0.07594208425f;
    q = q * t + 0.3770446135f;
    q = q * t + 0.9997620999f;
    q = q * t - 1.265501511f;
    float upper_near = 0.5f - 0.5f * erf_near;
    float upper_far = 0.5f * t * lud_expf(q - z);
    float upper = a < 1.0f ? upper_near : upper_far;
    return x < 0.0f ? upper : 1.0f - upper;
}

/* Inverse distribution function of the standard normal at (word + 1/2) / 2^32 (Wichura, "Algorithm AS 241:
 * the percentage points of the normal distribution", 1988, routine PPND7), about 7 digits. Symmetric in the
 * word. */
LUD_HD static inline float lud_normal_quantile(uint32_t word) {
    uint32_t low = word < 0x80000000u ? word : ~word; /* distance to the nearer end: exact in both tails */
    float tail = ((float)low + 0.5f) * (1.0f / 4294967296.0f);
    float q = 0.5f - tail;
    float r = 0.180625f - q * q;
    float centre = q * (((59.109374720f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f) /
                   (((67.187563600f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f);
    float s = sqrtf(-lud_logf(tail));
    float a = s - 1.6f;
    float outer =
        (((0.17023821103f * a + 1.3067284816f) * a + 2.7568153900f) * a + 1.4234372777f) /
        ((0.12021132975f * a + 0.73700164250f) * a + 1.0f); /* the smallest tail, 2^-33, has s < 5 */
    float magnitude = q <= 0.425f ? centre : outer;
    return word < 0x80000000u ? -magnitude : magnitude;
}
