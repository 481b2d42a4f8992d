/* The CUDA backend against the CPU: every operation, plainly and from recorded graphs, edge sizes,
 * precisions, memory. Runs on a GPU where there is one, and in any case as `test_cuda_emulated` on
 * tests/emulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_cases.h"

static lud_device *cpu, *cuda;

static lud_device *open_cuda(void) {
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open("cuda", 0, &device, &error) == LUD_OK) return device;
    print_message("no CUDA: %s\n", error.text);
    return NULL;
}

static int open_devices(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cpu", 1, &cpu, &error) != LUD_OK) return -1;
    cuda = open_cuda();
    /* asked for and not there is a failure, not a reason to skip */
    return !cuda && getenv("LUDUS_CUDA_MODULE") ? -1 : 0;
}

static int close_devices(void **state) {
    (void)state;
    lud_device_close(cuda);
    lud_device_close(cpu);
    return 0;
}

static void need_cuda(void) {
    if (!cuda) skip();
}

/* What an earlier operation left in the workspace must not matter. */
static void spoil_workspace(void) {
    size_t bytes = cuda->workspace_bytes < 1 << 18 ? cuda->workspace_bytes : 1 << 18;
    cuda->ops->fill(cuda, (int64_t)(bytes / sizeof(float)), NAN, cuda->workspace);
}

static double *widen(const float *x, int64_t n) {
    double *wide = calloc((size_t)n + 1, sizeof *wide);
    assert_non_null(wide);
    for (int64_t i = 0; i < n; ++i) wide[i] = (double)x[i];
    return wide;
}

static void test_every_operation(void **state) {
    (void)state;
    need_cuda();
    for (int i = 0; i < n_kernel_cases; ++i)
        for (int variant = 0; variant < CASE_VARIANTS; ++variant) {
            const kernel_case *c = &kernel_cases[i];
            case_layout l = case_layout_make(c, variant);
            int64_t n;
            float *expected = case_run_f32(c, &l, cpu, &n);
            double *wide = widen(expected, n);
            spoil_workspace();
            float *plain = case_run_f32(c, &l, cuda, &n);
            case_compare(c, variant, &l, plain, wide, l.tolerance > 0 ? l.tolerance : 2e-5, "on the CPU");
            spoil_workspace();
            float *recorded = case_run_recorded(c, &l, cuda, &n);
            for (int64_t j = 0; j < n; ++j)
                if (memcmp(&plain[j], &recorded[j], sizeof *plain) != 0)
                    fail_msg("%s variant %d: result %ld is %.9g, from a recorded graph %.9g", c->name,
                             variant, (long)j, (double)plain[j], (double)recorded[j]);
            free(expected);
            free(wide);
            free(plain);
            free(recorded);
            case_layout_free(&l);
        }
}

/* Gradients are written whatever was there, or added to it, as the CPU does (test_gradient_forms.c). */
static void test_added_gradients(void **state) {
    (void)state;
    need_cuda();
    for (int i = 0; i < n_kernel_cases; ++i)
        for (int variant = 1; variant < 4; ++variant) {
            const kernel_case *c = &kernel_cases[i];
            case_layout l = case_layout_make(c, variant);
            for (int form = 0; form < 2; ++form) {
                case_hold(&l, form == 0 ? CASE_ADDED : CASE_WRITTEN, 3, NAN);
                int64_t n;
                float *expected = case_run_f32(c, &l, cpu, &n), *found = case_run_f32(c, &l, cuda, &n);
                double *wide = widen(expected, n);
                case_compare(c, variant, &l, found, wide, l.tolerance > 0 ? l.tolerance : 2e-5, "on the CPU");
                free(expected);
                free(found);
                free(wide);
            }
            case_layout_free(&l);
        }
}

/* No result depends on how blocks and warps are scheduled; the emulation draws another order for each device.
 */
static void test_any_order(void **state) {
    (void)state;
    need_cuda();
    for (int order = 2; order < 5; ++order) {
        char text[16];
        snprintf(text, sizeof text, "%d", order);
        setenv("LUDUS_EMULATED_ORDER", text, 1);
        lud_device *other = open_cuda();
        assert_non_null(other);
        for (int i = 0; i < n_kernel_cases; ++i) {
            const kernel_case *c = &kernel_cases[i];
            int variant = 1 + (i + order) % (CASE_VARIANTS - 1);
            case_layout l = case_layout_make(c, variant);
            int64_t n;
            float *a = case_run_f32(c, &l, cuda, &n), *b = case_run_f32(c, &l, other, &n);
            for (int64_t j = 0; j < n; ++j)
                if (memcmp(&a[j], &b[j], sizeof *a) != 0)
                    fail_msg("%s variant %d: result %ld is %.9g and %.9g", c->name, variant, (long)j,
                             (double)a[j], (double)b[j]);
            free(a);
            free(b);
            case_layout_free(&l);
        }
        lud_device_close(other);
    }
    unsetenv("LUDUS_EMULATED_ORDER");
}

static float *numbers(lud_device *device, int64_t n, uint32_t stream) {
    float *x = lud_device_allocate(device, (size_t)n * sizeof *x);
    assert_non_null(x);
    device->ops->random_uniform(device, n, 5, stream, 0, -1, 1, x);
    return x;
}

static float *fetched(lud_device *device, const float *x, int64_t n) {
    float *host = malloc((size_t)n * sizeof *host);
    assert_non_null(host);
    lud_device_download(device, host, x, (size_t)n * sizeof *host);
    if (lud_device_failure(device)) fail_msg("%s", lud_device_failure(device));
    return host;
}

/* All transpositions with row strides beyond the rows; what lies between rows stays. Reduced precisions round
 * operands and nothing else: with operands that need no rounding they are exact. */
static void test_products(void **state) {
    (void)state;
    need_cuda();
    enum { M = 19, N = 33, K = 70, PAD = 3 };
    static const lud_precision precisions[] = {LUD_PRECISION_F32, LUD_PRECISION_TF32, LUD_PRECISION_BF16};
    static const double bounds[] = {1e-6, 1e-3, 8e-3};
    for (int p = 0; p < 3; ++p)
        for (int form = 0; form < 8; ++form) {
            bool ta = form & 1, tb = form & 2, whole = form & 4;
            int64_t lda = (ta ? M : K) + PAD, ldb = (tb ? K : N) + PAD, ldc = N + PAD;
            int64_t n_a = (ta ? K : M) * lda, n_b = (tb ? N : K) * ldb, n_c = M * ldc;
            float *a = numbers(cuda, n_a, 1), *b = numbers(cuda, n_b, 2), *c = numbers(cuda, n_c, 3);
            float *host_a = fetched(cuda, a, n_a), *host_b = fetched(cuda, b, n_b),
                  *before = fetched(cuda, c, n_c);
            if (whole) { /* eighths below 4: exact in bfloat16, and so are all sums in float */
                for (int64_t i = 0; i < n_a; ++i) host_a[i] = rintf(host_a[i] * 31) / 8;
                for (int64_t i = 0; i < n_b; ++i) host_b[i] = rintf(host_b[i] * 31) / 8;
                lud_device_upload(cuda, a, host_a, (size_t)n_a * sizeof *a);
                lud_device_upload(cuda, b, host_b, (size_t)n_b * sizeof *b);
            }
            lud_device_set_precision(cuda, precisions[p]);
            cuda->ops->matmul(cuda, ta, tb, M, N, K, 2, a, lda, b, ldb, whole ? 0 : 0.5, c, ldc);
            lud_device_set_precision(cuda, LUD_PRECISION_F32);
            float *after = fetched(cuda, c, n_c);
            double rounding = 0;
            for (int64_t i = 0; i < M; ++i)
                for (int64_t j = 0; j < ldc; ++j) {
                    double sum = 0, got = (double)after[i * ldc + j], was = (double)before[i * ldc + j];
                    for (int64_t l = 0; l < K && j < N; ++l)
                        sum += (double)host_a[ta ? l * lda + i : i * lda + l] *
                               (double)host_b[tb ? j * ldb + l : l * ldb + j];
                    double expected = j >= N ? was : 2 * sum + (whole ? 0 : 0.5 * was);
                    if (j >= N || whole) assert_true(got == expected);
                    rounding = fmax(rounding, fabs(got - expected) / (2 * sqrt((double)K)));
                }
            assert_true(rounding <= bounds[p]);
            if (!whole && precisions[p] == LUD_PRECISION_BF16)
                assert_true(rounding > 1e-5); /* it does round */
            void *const all[] = {a, b, c};
            for (int i = 0; i < 3; ++i) lud_device_release(cuda, all[i]);
            float *const host[] = {host_a, host_b, before, after};
            for (int i = 0; i < 4; ++i) free(host[i]);
        }
}

/* More elements than threads of the largest launch, tiles of a transposition at the border of one. */
static void test_large(void **state) {
    (void)state;
    need_cuda();
    const int64_t n = 65536 * 256 + 3;
    float *x = lud_device_allocate(cuda, (size_t)n * sizeof *x);
    assert_non_null(x);
    cuda->ops->fill(cuda, n, 0.25, x);
    float *host = fetched(cuda, x, n);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong += host[i] != 0.25F;
    assert_int_equal(wrong, 0);
    free(host);
    lud_device_release(cuda, x);
    static const int64_t sides[][2] = {{32, 32}, {33, 31}, {1, 65}, {64, 1}};
    for (size_t k = 0; k < sizeof sides / sizeof *sides; ++k) {
        const int64_t rows = sides[k][0], columns = sides[k][1], size = 3 * rows * columns;
        float *from = numbers(cuda, size, 1), *to = numbers(cuda, size, 2);
        cuda->ops->transpose(cuda, 3, rows, columns, from, to);
        float *a = fetched(cuda, from, size), *b = fetched(cuda, to, size);
        for (int64_t i = 0; i < size; ++i) {
            int64_t block = i / (rows * columns), at = i % (rows * columns);
            assert_true(a[i] == b[block * rows * columns + at % columns * rows + at / columns]);
        }
        free(a);
        free(b);
        lud_device_release(cuda, from);
        lud_device_release(cuda, to);
    }
}

static void same(lud_device *other, const float *a, const float *b, int64_t n, double tolerance,
                 const char *what) {
    float *x = fetched(cuda, a, n), *y = fetched(other, b, n);
    for (int64_t i = 0; i < n; ++i)
        if (!(fabsf(x[i] - y[i]) <= (float)tolerance))
            fail_msg("%s, element %ld: %.9g, on the CPU %.9g", what, (long)i, (double)x[i], (double)y[i]);
    free(x);
    free(y);
}

/* A convolution that takes its patches in several pieces. */
static void test_convolution_in_pieces(void **state) {
    (void)state;
    need_cuda();
    const lud_map relu = {LUD_MAP_RELU, 0, 0};
    const lud_conv s = {45, 15, 31, 33, 3, 5, 1, 2};
    const int64_t n_x = s.n * s.channels_in * 31 * 33, n_y = s.n * s.channels_out * 31 * 33,
                  n_w = 3 * 15 * 25;
    lud_device *const devices[] = {cuda, cpu};
    float *y[2], *dx[2], *dw[2], *db[2];
    for (int d = 0; d < 2; ++d) {
        lud_device *device = devices[d];
        float *x = numbers(device, n_x, 1), *w = numbers(device, n_w, 2), *b = numbers(device, 3, 3);
        float *dy = numbers(device, n_y, 4);
        y[d] = numbers(device, n_y, 5), dx[d] = numbers(device, n_x, 6), dw[d] = numbers(device, n_w, 7);
        db[d] = numbers(device, 3, 8);
        device->ops->conv2d(device, relu, &s, x, w, b, 0, y[d]);
        device->ops->conv2d_backward(device, relu, &s, x, w, 0, y[d], dy, dy, dx[d], true, dw[d], db[d]);
        float *const used[] = {x, w, b, dy};
        for (int i = 0; i < 4; ++i) lud_device_release(device, used[i]);
    }
    same(cpu, y[0], y[1], n_y, 1e-4, "y");
    same(cpu, dx[0], dx[1], n_x, 1e-4, "dx");
    same(cpu, dw[0], dw[1], n_w, 2e-2, "dw"); /* sums of 46 thousand terms around one */
    same(cpu, db[0], db[1], 3, 5e-2, "db");
    for (int d = 0; d < 2; ++d) {
        float *const made[] = {y[d], dx[d], dw[d], db[d]};
        for (int i = 0; i < 4; ++i) lud_device_release(devices[d], made[i]);
    }
}

/* Grids whose cells do not fit into shared memory take another way. */
static void test_large_grid(void **state) {
    (void)state;
    need_cuda();
    const lud_map tanh_map = {LUD_MAP_TANH, 0, 0};
    const lud_conv s = {2, LUD_GRID_CHANNELS, 41, 43, 5, 3, 1, 1};
    const int64_t cells = s.height * s.width, n_w = 5 * LUD_GRID_CHANNELS * 9, n_y = s.n * 5 * cells;
    int32_t *words = malloc((size_t)(s.n * cells) * sizeof *words);
    assert_non_null(words);
    for (int64_t i = 0; i < s.n * cells; ++i) {
        lud_grid_cell cell = {(int)case_below(61, (uint32_t)i, 16), 0, 0, LUD_CODE_NO_AGENT, 0, 0};
        if (case_uniform(62, (uint32_t)i) < 0.3) cell.agent = (int)case_below(63, (uint32_t)i, 7);
        words[i] = lud_grid_code_make(cell);
    }
    lud_device *const devices[] = {cuda, cpu};
    float *y[2], *dw[2];
    for (int d = 0; d < 2; ++d) {
        lud_device *device = devices[d];
        float *w = numbers(device, n_w, 2), *b = numbers(device, 5, 3), *dy = numbers(device, n_y, 4);
        int32_t *code = lud_device_allocate(device, (size_t)(s.n * cells) * sizeof *code);
        assert_non_null(code);
        lud_device_upload(device, code, words, (size_t)(s.n * cells) * sizeof *code);
        y[d] = numbers(device, n_y, 5), dw[d] = numbers(device, n_w, 6);
        device->ops->grid_conv(device, tanh_map, LUD_GRID_FULL, &s, code, w, b, 0, y[d]);
        device->ops->grid_conv_backward(device, tanh_map, LUD_GRID_FULL, &s, code, 0, y[d], dy, dy, dw[d], 0);
        void *const used[] = {w, b, dy, code};
        for (int i = 0; i < 4; ++i) lud_device_release(device, used[i]);
    }
    same(cpu, y[0], y[1], n_y, 1e-5, "y");
    same(cpu, dw[0], dw[1], n_w, 1e-3, "dw");
    for (int d = 0; d < 2; ++d) {
        lud_device_release(devices[d], y[d]);
        lud_device_release(devices[d], dw[d]);
    }
    free(words);
}

/* Rows are added at indices by sorting once there are many: destinations of thousands of rows, of one and of
 * none, rows that go nowhere, as many destinations as take two passes, and one alone. */
static void test_many_rows_added(void **state) {
    (void)state;
    need_cuda();
    enum { MANY = 9001, MOST_OUT = 700, WIDTH = 37 };
    const int64_t outs[] = {MOST_OUT, 3, 1};
    static int32_t index[MANY];
    lud_device *const devices[] = {cuda, cpu};
    for (int k = 0; k < 6; ++k) {
        const int64_t n_out = outs[k / 2];
        for (uint32_t i = 0; i < MANY; ++i) {
            const double u = case_uniform(70 + (uint64_t)k, i);
            const int any = (int)case_below(80 + (uint64_t)k, i, (uint32_t)n_out);
            index[i] = u < 0.1 ? -1 : u < 0.4 ? (int32_t)(n_out / 3) : u < 0.7 ? (int32_t)(n_out - 1) : any;
        }
        float *y[2];
        for (int d = 0; d < 2; ++d) {
            lud_device *device = devices[d];
            float *x = numbers(device, MANY * WIDTH, 2), *weight = numbers(device, MANY, 3);
            int32_t *to = lud_device_allocate(device, sizeof index);
            assert_non_null(to);
            lud_device_upload(device, to, index, sizeof index);
            y[d] = numbers(device, n_out * WIDTH, 4);
            device->ops->scatter_add(device, MANY, WIDTH, n_out, x, k % 2 ? weight : 0, to, y[d]);
            void *const used[] = {x, weight, to};
            for (int i = 0; i < 3; ++i) lud_device_release(device, used[i]);
        }
        same(cpu, y[0], y[1], n_out * WIDTH, 1e-3, "sums of many rows");
        for (int d = 0; d < 2; ++d) lud_device_release(devices[d], y[d]);
    }
}

/* Steps and schedules that are read from device memory change between replays of one graph. */
static void test_replay_sees_new_numbers(void **state) {
    (void)state;
    need_cuda();
    enum { N = 1000 };
    lud_device *device = open_cuda();
    assert_non_null(device);
    float *x = numbers(device, N, 1), *y = numbers(device, N, 2), *expected = numbers(device, N, 3);
    uint32_t *step = lud_device_allocate(device, sizeof *step), at = 7;
    assert_non_null(step);
    assert_true(lud_device_record_begin(device));
    device->ops->dropout(device, N, 0.4, 11, 2, 100, step, 0, x, y);
    lud_graph *graph = lud_device_record_end(device);
    assert_non_null(graph);
    for (int i = 0; i < 3; ++i, at += 5) {
        lud_device_upload(device, step, &at, sizeof at);
        lud_graph_launch(device, graph);
        device->ops->dropout(device, N, 0.4, 11, 2, 100 + at, 0, 0, x, expected);
        float *a = fetched(device, y, N), *b = fetched(device, expected, N);
        assert_memory_equal(a, b, N * sizeof *a);
        free(a);
        free(b);
    }
    lud_graph_destroy(device, graph);
    lud_device_release(device, x);
    lud_device_release(device, y);
    lud_device_release(device, expected);
    lud_device_release(device, step);
    lud_device_close(device);
}

/* Memory begins as zeros; running out is a null and no failure; a workspace that would grow inside a
 * recording fails with a message, and later calls do nothing. */
static void test_memory(void **state) {
    (void)state;
    need_cuda();
    lud_device *device = open_cuda();
    assert_non_null(device);
    assert_null(lud_device_allocate(device, (size_t)1 << 50));
    assert_null(lud_device_failure(device));
    float *x = lud_device_allocate(device, 1000 * sizeof *x);
    assert_non_null(x);
    assert_int_equal((uintptr_t)x % 256, 0);
    float *host = fetched(device, x, 1000);
    for (int i = 0; i < 1000; ++i) assert_true(host[i] == 0);
    free(host);
    const int64_t much =
        (int64_t)(device->workspace_bytes / sizeof(float)) * 65; /* its blocks of sums do not fit */
    assert_true(lud_device_record_begin(device));
    device->ops->column_sum(device, much, 1, x, x, false);
    assert_null(lud_device_record_end(device));
    assert_non_null(strstr(lud_device_failure(device), "grow while recording"));
    device->ops->fill(device, 1000, 1, x);
    lud_device_release(device, x);
    lud_device_close(device);
}

/* Row i of a batch is the same row alone. */
static void test_rows(void **state) {
    (void)state;
    need_cuda();
    static const int64_t sizes[][4] = {{1, 7, 5, 3}, {3, 33, 19, 4}, {17, 13, 64, 3}};
    for (int i = 0; i < n_kernel_cases; ++i)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            const kernel_case *c = &kernel_cases[i];
            case_layout l = case_layout_sized(c, sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3]);
            case_check_rows(c, &l, cuda);
            case_layout_free(&l);
        }
}

typedef struct piece {
    int case_index;
    bool fails;
    float *results;
    int64_t n;
} piece;

static void run_piece(lud_device *device, void *context) {
    piece *p = context;
    if (p->fails) { /* a sum whose blocks do not fit into the workspace that a recording finds */
        float *x = lud_device_allocate(device, sizeof *x);
        assert_non_null(x);
        assert_true(lud_device_record_begin(device));
        device->ops->column_sum(device, (int64_t)(device->workspace_bytes / sizeof(float)) * 65, 1, x, x,
                                false);
        assert_null(lud_device_record_end(device));
        lud_device_release(device, x);
        return;
    }
    case_layout l = case_layout_make(&kernel_cases[p->case_index], 3);
    p->results = case_run_f32(&kernel_cases[p->case_index], &l, device, &p->n);
    case_layout_free(&l);
}

/* One operation whose result nobody looks at. */
static void add_one(lud_device *device, void *context) {
    (void)context;
    float *x = numbers(device, 100, 1);
    lud_device_release(device, x);
}

/* Two pieces run one behind the other on the device itself; a failure of either is the device's. */
static void test_both(void **state) {
    (void)state;
    need_cuda();
    for (int i = 0; i + 1 < n_kernel_cases; i += 2) {
        piece alone[2] = {{.case_index = i}, {.case_index = i + 1}}, both[2] = {alone[0], alone[1]};
        for (int k = 0; k < 2; ++k) run_piece(cuda, &alone[k]);
        lud_device_run_both(cuda, run_piece, &both[0], run_piece, &both[1]);
        for (int k = 0; k < 2; ++k) {
            assert_int_equal(alone[k].n, both[k].n);
            assert_memory_equal(alone[k].results, both[k].results,
                                (size_t)alone[k].n * sizeof *alone[k].results);
            free(alone[k].results);
            free(both[k].results);
        }
    }
    for (int fails = 0; fails < 2; ++fails) {
        lud_device *device = open_cuda();
        assert_non_null(device);
        piece bad = {.fails = true};
        lud_device_run_both(device, fails == 0 ? run_piece : add_one, &bad, fails == 1 ? run_piece : add_one,
                            &bad);
        assert_non_null(lud_device_failure(device));
        lud_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operation),
                                       cmocka_unit_test(test_added_gradients),
                                       cmocka_unit_test(test_any_order),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_both),
                                       cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_convolution_in_pieces),
                                       cmocka_unit_test(test_large_grid),
                                       cmocka_unit_test(test_many_rows_added),
                                       cmocka_unit_test(test_replay_sees_new_numbers),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
