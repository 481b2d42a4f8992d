#include "kernels/cpu/products.h"

#include "kernels/cpu/onednn.h"

/* An output tile has at most so many columns and rows, at least LEAST_ROWS where there is another, and as
 * much work as is worth a thread. Of a product with few tiles the sum is cut as well, into pieces of at least
 * SUM_PIECE. */
enum {
    TILE_ROWS = 256,
    LEAST_ROWS = 64,
    ROW_GRAIN = 24, /* a multiple of the rows that the library multiplies at a time: 8, with AVX2 6 */
    TILE_COLUMNS = 512,
    TILE_WORK = 1 << 22,
    SUM_PIECE = 1024,
    FEW_TILES = 4,
    MAX_PIECES = 16
};

typedef struct product_shape {
    bool transpose_a, transpose_b;
    int64_t m, n, k, lda, ldb, tile_rows, n_tiles, n_pieces;
} product_shape;

/* One tile of the output, one piece of its sum. */
static void product_job(lud_device *device, const product_shape *s, int64_t job, float alpha, const float *a,
                        const float *b, float beta, float *c, int64_t ldc) {
    int64_t tile = job % s->n_tiles, piece = job / s->n_tiles;
    int64_t first_k = s->k * piece / s->n_pieces, end_k = s->k * (piece + 1) / s->n_pieces;
    int64_t n_rows = (s->m + s->tile_rows - 1) / s->tile_rows;
    int64_t i = tile % n_rows * s->tile_rows, j = tile / n_rows * TILE_COLUMNS;
    int64_t rows = s->m - i < s->tile_rows ? s->m - i : s->tile_rows;
    int64_t columns = s->n - j < TILE_COLUMNS ? s->n - j : TILE_COLUMNS;
    a += s->transpose_a ? first_k * s->lda + i : i * s->lda + first_k;
    b += s->transpose_b ? j * s->ldb + first_k : first_k * s->ldb + j;
    c += piece * s->m * s->n + i * ldc + j; /* pieces lie behind each other */
    const lud_onednn_settings before = lud_onednn_enter();
    LUD_ONEDNN(device, lud_onednn.sgemm(s->transpose_a ? 'T' : 'N', s->transpose_b ? 'T' : 'N', rows, columns,
                                        end_k - first_k, alpha, a, s->lda, b, s->ldb, beta, c, ldc));
    lud_onednn_leave(before);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Into how many pieces a sum is cut: few tiles with long sums are gradients of weights. Pieces are what the
 * bytes of a result follow from, so that they do not depend on how its rows are cut now: tiles here have
 * TILE_ROWS rows, or as many times a power of two as are worth a thread. */
static int64_t sum_pieces(int64_t m, int64_t n, int64_t k) {
    int64_t rows = TILE_ROWS;
    while (rows < m && rows * least(n, TILE_COLUMNS) * k < TILE_WORK) rows *= 2;
    const int64_t n_tiles = (m + rows - 1) / rows * ((n + TILE_COLUMNS - 1) / TILE_COLUMNS);
    const int64_t n_pieces = n_tiles <= FEW_TILES ? least(k / SUM_PIECE, MAX_PIECES) : 1;
    return n_pieces < 1 ? 1 : n_pieces;
}

/* Rows of a tile: an even number of nearly equal tiles, so that two threads, or any even number of them, have
 * the same to do. It follows from the shape alone. How rows are cut changes no sum. */
static int64_t rows_of_tile(int64_t m, int64_t n, int64_t k) {
    const int64_t unit = (n + TILE_COLUMNS - 1) / TILE_COLUMNS % 2 == 0 ? 1 : 2;
    const int64_t worth = least(m * least(n, TILE_COLUMNS) * k / TILE_WORK, m / LEAST_ROWS);
    const int64_t wanted = (m + unit * TILE_ROWS - 1) / (unit * TILE_ROWS) * unit;
    const int64_t n_tiles = least(wanted, worth / unit * unit);
    if (n_tiles <= 1) return m;
    return ((m + n_tiles - 1) / n_tiles + ROW_GRAIN - 1) / ROW_GRAIN * ROW_GRAIN;
}

void lud_cpu_sgemm(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                   float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                   float *c, int64_t ldc) {
    const int64_t tile_rows = rows_of_tile(m, n, k), n_pieces = sum_pieces(m, n, k);
    const int64_t n_tiles = (m + tile_rows - 1) / tile_rows * ((n + TILE_COLUMNS - 1) / TILE_COLUMNS);
    const product_shape shape = {transpose_a, transpose_b, m, n, k, lda, ldb, tile_rows, n_tiles, n_pieces};
    float *parts =
        n_pieces > 1 ? lud_cpu_product_scratch(device, (size_t)(n_pieces * m * n) * sizeof *parts) : 0;
    if (n_pieces > 1 && !parts) return;
    float *to = parts ? parts : c, keep = parts ? 0 : beta;
    int64_t stride = parts ? n : ldc, n_jobs = n_tiles * n_pieces;
    int n_threads = n_jobs == 1 ? 1 : lud_cpu_threads(device, m * n * k / 8);
    if (n_threads == 1) { /* small products do without the cost of a parallel region */
        for (int64_t job = 0; job < n_jobs; ++job)
            product_job(device, &shape, job, alpha, a, b, keep, to, stride);
    } else {
#pragma omp parallel for schedule(static) num_threads(n_threads)
        for (int64_t job = 0; job < n_jobs; ++job)
            product_job(device, &shape, job, alpha, a, b, keep, to, stride);
    }
    for (int64_t i = 0; i < m && parts; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0;
            for (int64_t piece = 0; piece < n_pieces; ++piece) sum += parts[piece * m * n + i * n + j];
            c[i * ldc + j] = sum + (beta != 0 ? beta * c[i * ldc + j] : 0);
        }
}
