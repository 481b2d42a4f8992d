/* Rows of a batch beside the same rows alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_cases.h"

static int32_t *take_indices(case_layout *l, int i, int64_t n) {
    l->index[i] = n;
    l->index_values[i] = calloc((size_t)n + 1, sizeof(int32_t));
    assert_non_null(l->index_values[i]);
    return l->index_values[i];
}

/* Where the rows first .. end - 1 begin in an array of `size` elements, and their number in *n. */
static case_slice slice_of(const case_layout *whole, case_batch batch, int64_t size, int64_t step_width,
                           int64_t first, int64_t end, int64_t *n) {
    const int32_t *offsets = whole->index_values[0];
    const int64_t rows = whole->rows, own = end - first;
    int64_t begin = 0, width = 1, block = size, stride = 0;
    *n = size;
    switch (batch) {
    case CASE_ROWS:
        width = size / rows;
        begin = first * width, *n = block = own * width;
        break;
    case CASE_STEPS:
        begin = first * step_width, block = own * step_width, stride = rows * step_width;
        *n = size / stride * block;
        break;
    case CASE_OFFSETS:
        begin = first, *n = block = own + 1;
        break;
    case CASE_SEGMENTS:
    case CASE_NODES:
    case CASE_EDGES:
        width = offsets[rows] > 0 ? size / offsets[rows] : 0;
        begin = offsets[first] * width, *n = block = (offsets[end] - offsets[first]) * width;
        break;
    case CASE_WHOLE:
        break;
    }
    return (case_slice){begin, batch == CASE_WHOLE ? 0 : block, stride};
}

case_layout case_layout_part(const case_layout *whole, int64_t first, int64_t end) {
    case_layout part = *whole;
    part.rows = end - first;
    part.row_ends = 0;
    for (int i = 0; i < CASE_INPUTS; ++i)
        part.in_slice[i] = slice_of(whole, whole->in_batch[i], whole->in[i], whole->in_step_width[i], first,
                                    end, &part.in[i]);
    for (int i = 0; i < CASE_OUTPUTS; ++i)
        part.out_slice[i] = slice_of(whole, whole->out_batch[i], whole->out[i], whole->out_step_width[i],
                                     first, end, &part.out[i]);
    for (int i = 0; i < CASE_INDICES; ++i) {
        const case_batch batch = whole->index_batch[i];
        if (!whole->index_values[i]) continue;
        if (i == 5 && whole->mask > 0) { /* bytes */
            part.mask = whole->mask / whole->rows * part.rows;
            memcpy(take_indices(&part, i, (part.mask + 3) / 4),
                   (const uint8_t *)whole->index_values[i] + whole->mask / whole->rows * first,
                   (size_t)part.mask);
            continue;
        }
        int64_t n;
        const case_slice s = slice_of(whole, batch, whole->index[i], 0, first, end, &n);
        const int32_t *from = whole->index_values[i] + s.before;
        const int32_t less = batch == CASE_OFFSETS ? from[0]
                             : batch == CASE_NODES ? (int32_t)first
                             : batch == CASE_EDGES ? whole->index_values[0][first]
                                                   : 0;
        int32_t *to = take_indices(&part, i, n);
        for (int64_t j = 0; j < n; ++j) to[j] = from[j] - less;
    }
    return part;
}

/* One array of a part beside its place in the whole's. */
static void check_array(const kernel_case *c, const case_layout *whole, int64_t first, int64_t n,
                        const case_slice *slice, const float *alone, const float *batch) {
    /* of the row's numbers and of the terms of its sums: inputs and weights of products lie in -1 .. 1 */
    double largest = 1;
    for (int64_t j = 0; j < n; ++j) largest = fmax(largest, fabs((double)alone[j]));
    for (int64_t j = 0; j < n; ++j) {
        const float expected = batch[case_place(slice, j)];
        const double apart = fabs((double)alone[j] - (double)expected);
        if (whole->row_tolerance > 0 ? !(apart <= whole->row_tolerance * largest)
                                     : memcmp(&alone[j], &expected, sizeof expected) != 0)
            fail_msg(
                "%s, %ld rows of sizes %ld, %ld, %ld, row %ld, element %ld: %.9g alone, %.9g in the batch "
                "(largest %.9g)",
                c->name, (long)whole->rows, (long)whole->a, (long)whole->b, (long)whole->c, (long)first,
                (long)j, (double)alone[j], (double)expected, largest);
    }
}

int64_t case_check_rows(const kernel_case *c, const case_layout *whole, lud_device *device) {
    enum { FEW = 9 };
    int64_t total, n_checked = 0, first = 0;
    float *batch = case_run_f32(c, whole, device, &total);
    for (int64_t group = 0; first < whole->rows; ++group) {
        const int64_t end = whole->row_ends ? whole->row_ends[group] : first + 1;
        /* of many rows the first ones, the last one, and some between */
        if (!whole->row_ends && first >= FEW && first + 1 < whole->rows && first % 37 != 0) {
            first = end;
            continue;
        }
        case_layout part = case_layout_part(whole, first, end);
        float *results = case_run_f32(c, &part, device, &total);
        const float *alone = results, *in_batch = batch;
        for (int i = 0; i < CASE_OUTPUTS; alone += part.out[i], in_batch += whole->out[i], ++i) {
            if (whole->out_batch[i] == CASE_WHOLE) continue;
            check_array(c, whole, first, part.out[i], &part.out_slice[i], alone, in_batch);
            n_checked += part.out[i];
        }
        for (int i = 0; i < CASE_INPUTS; ++i) {
            if (!whole->gradient[i]) continue;
            if (whole->in_batch[i] != CASE_WHOLE) {
                check_array(c, whole, first, part.in[i], &part.in_slice[i], alone, in_batch);
                n_checked += part.in[i];
            }
            alone += part.in[i], in_batch += whole->in[i];
        }
        free(results);
        case_layout_free(&part);
        first = end;
    }
    free(batch);
    return n_checked;
}
