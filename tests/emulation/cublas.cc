// Matrix products as plain loops over column-major matrices.
#include "cublas_v2.h"

#include <vector>

#include "emulation.h"

struct emulated_blas {
    cudaStream_t stream;
};

namespace {

float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// To nearest, ties to even, keeping the upper bits of the mantissa; NaN and infinity stay.
float rounded(float x, int dropped_bits) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dropped_bits == 0 || (bits & 0x7f800000u) == 0x7f800000u) return x;
    uint32_t half = 1u << (dropped_bits - 1), odd = bits >> dropped_bits & 1;
    return from_bits((bits + half - 1 + odd) & ~((half << 1) - 1));
}

struct product {
    bool transpose_a, transpose_b;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int dropped_bits; // of the operands' mantissas
};

// op(a)[m][k] and op(b)[n][k], each row together
std::vector<float> operand(const float *x, int64_t ld, bool rows_apart, int64_t rows, int64_t k,
                           int dropped_bits) {
    std::vector<float> all((size_t)(rows * k));
    for (int64_t l = 0; l < k; ++l)
        for (int64_t i = 0; i < rows; ++i)
            all[(size_t)(i * k + l)] = rounded(rows_apart ? x[l + i * ld] : x[i + l * ld], dropped_bits);
    return all;
}

bool multiply(const product &p) {
    enum { LANES = 8 };
    std::vector<float> a = operand(p.a, p.lda, p.transpose_a, p.m, p.k, p.dropped_bits);
    std::vector<float> b = operand(p.b, p.ldb, !p.transpose_b, p.n, p.k, p.dropped_bits);
    for (int64_t j = 0; j < p.n; ++j)
        for (int64_t i = 0; i < p.m; ++i) {
            const float *row = a.data() + i * p.k, *column = b.data() + j * p.k;
            float part[LANES] = {0}, sum = 0;
            int64_t l = 0;
            for (; l + LANES <= p.k; l += LANES)
                for (int64_t q = 0; q < LANES; ++q) part[q] += row[l + q] * column[l + q];
            for (; l < p.k; ++l) sum += row[l] * column[l];
            for (int q = 0; q < LANES; ++q) sum += part[q];
            float *to = p.c + i + j * p.ldc;
            *to = p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * *to; // beta 0 does not read
        }
    return true;
}

} // namespace

const char *cublasGetStatusString(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown status";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = new emulated_blas();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType_t type_a, int lda,
                            const void *b, cudaDataType_t type_b, int ldb, const void *beta, void *c,
                            cudaDataType_t type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    int rows_a = op_a == CUBLAS_OP_N ? m : k, rows_b = op_b == CUBLAS_OP_N ? k : n;
    if (m < 0 || n < 0 || k < 0 || lda < (rows_a > 1 ? rows_a : 1) || ldb < (rows_b > 1 ? rows_b : 1) ||
        ldc < (m > 1 ? m : 1) || !alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (type_a != CUDA_R_32F || type_b != CUDA_R_32F || type_c != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    product p = {
        op_a == CUBLAS_OP_T, op_b == CUBLAS_OP_T, m, n, k, lda, ldb, ldc, 0, 0, nullptr, nullptr, nullptr, 0};
    memcpy(&p.alpha, alpha, sizeof p.alpha); // the factors are the host's and are read now
    memcpy(&p.beta, beta, sizeof p.beta);
    p.a = static_cast<const float *>(a);
    p.b = static_cast<const float *>(b);
    p.c = static_cast<float *>(c);
    p.dropped_bits = compute == CUBLAS_COMPUTE_32F_FAST_16BF   ? 16
                     : compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13
                                                               : 0;
    return emulation::enqueue_work(handle->stream, [p] { return multiply(p); }) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_INITIALIZED;
}
