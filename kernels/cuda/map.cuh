// Elementwise maps on the GPU; the same formulas as kernels/cpu/operations/ops_elementwise.inc.
#pragma once

#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

__device__ static inline float apply_map(lud_map map, float x) {
    float a = (float)map.a, b = (float)map.b, width = (float)(map.b - map.a);
    // clang-format off
    switch (map.kind) {
    case LUD_MAP_RELU: return x > 0 ? x : 0;
    case LUD_MAP_GELU: return x * lud_normal_cdff(x);
    case LUD_MAP_SILU: return x * lud_sigmoidf(x);
    case LUD_MAP_TANH: return lud_tanhf(x);
    case LUD_MAP_SIGMOID: return lud_sigmoidf(x);
    case LUD_MAP_SOFTPLUS: return lud_softplusf(x);
    case LUD_MAP_SOFTPLUS_SHIFTED: return lud_softplusf(x) - 0.69314718055994530942f;
    case LUD_MAP_NEG_SOFTPLUS: return -lud_softplusf(x);
    case LUD_MAP_NEG_SOFTPLUS_NEG: return -lud_softplusf(-x);
    case LUD_MAP_EXP: return lud_expf(x);
    case LUD_MAP_ONE_PLUS_EXP: return 1 + lud_expf(x);
    case LUD_MAP_NEG_POWER: return -powf(x, a);
    case LUD_MAP_POWER: return powf(x, a);
    case LUD_MAP_LOG: return lud_logf(x);
    case LUD_MAP_LOG_NEGATED: return lud_logf(-x);
    case LUD_MAP_SQUARE: return x * x;
    case LUD_MAP_AFFINE: return a * x + b;
    case LUD_MAP_CLAMP: return x < a ? a : x > b ? b : x; // NaN stays
    case LUD_MAP_ABS_CLAMP: return fabsf(x) < a ? a : fabsf(x) > b ? b : fabsf(x);
    case LUD_MAP_SOFT_CLAMP:
        return x > b   ? b + width * (1 - lud_expf(-(x - b) / width))
               : x < a ? a - width * (1 - lud_expf(-(a - x) / width))
                       : x;
    default: return x;
    }
    // clang-format on
}

// `v` is the map's input or its output as lud_map_needs_input says.
__device__ static inline float slope_of(lud_map map, float v) {
    float a = (float)map.a, b = (float)map.b;
    // clang-format off
    switch (map.kind) {
    case LUD_MAP_RELU: return v > 0 ? 1 : 0;
    case LUD_MAP_GELU: return lud_normal_cdff(v) + v * 0.39894228040143267794f * lud_expf(v * v * -0.5f);
    case LUD_MAP_SILU: {
        float s = lud_sigmoidf(v);
        return s * (1 + v * (1 - s));
    }
    case LUD_MAP_TANH: return 1 - v * v;
    case LUD_MAP_SIGMOID: return v * (1 - v);
    case LUD_MAP_SOFTPLUS:
    case LUD_MAP_SOFTPLUS_SHIFTED: return lud_sigmoidf(v);
    case LUD_MAP_NEG_SOFTPLUS: return -lud_sigmoidf(v);
    case LUD_MAP_NEG_SOFTPLUS_NEG: return lud_sigmoidf(-v);
    case LUD_MAP_EXP: return v;
    case LUD_MAP_ONE_PLUS_EXP: return v - 1;
    case LUD_MAP_NEG_POWER: return -a * powf(v, a - 1);
    case LUD_MAP_POWER: return a * powf(v, a - 1);
    case LUD_MAP_LOG:
    case LUD_MAP_LOG_NEGATED: return 1 / v;
    case LUD_MAP_SQUARE: return 2 * v;
    case LUD_MAP_AFFINE: return a;
    case LUD_MAP_CLAMP: return v >= a && v <= b ? 1 : 0;
    case LUD_MAP_ABS_CLAMP: return fabsf(v) >= a && fabsf(v) <= b ? (v < 0 ? -1 : 1) : 0;
    case LUD_MAP_SOFT_CLAMP: return lud_expf(-(v > b ? v - b : v < a ? a - v : 0) / (b - a));
    default: return 1;
    }
    // clang-format on
}

} // namespace lud_cuda
