/* One case an operation: the arrays it takes and how to call it forward and backward. The tests run every
 * case for gradients (double, central differences), float against double, thread counts, instruction sets and
 * CUDA. */
#pragma once

#include "kernels/device.h"

enum { CASE_INPUTS = 8, CASE_INDICES = 6, CASE_OUTPUTS = 5, CASE_VARIANTS = 6 };

/* How an array is made of the rows of a batch. */
typedef enum case_batch {
    CASE_WHOLE,    /* not at all: weights, totals over rows */
    CASE_ROWS,     /* [rows][width] */
    CASE_STEPS,    /* [steps][rows][width], the width in step_width */
    CASE_SEGMENTS, /* [offsets[rows]][width], offsets being index 0 */
    CASE_OFFSETS,  /* indices only: [rows + 1], ascending from 0 */
    CASE_NODES,    /* indices only: as CASE_SEGMENTS, and the values count rows */
    CASE_EDGES     /* indices only: as CASE_SEGMENTS, and the values count what is in segments */
} case_batch;

/* Whether the gradients of a run's inputs are added to what is there, where an operation asks. */
typedef enum case_add { CASE_AS_USUAL, CASE_ADDED, CASE_WRITTEN } case_add;
/* What becomes of that where an operation does not ask: parameters' gradients always add. */
typedef enum case_rule { CASE_ASKED, CASE_ALWAYS_ADDED, CASE_ALWAYS_WRITTEN } case_rule;

/* Where the elements of a part of a batch stand in the whole: element j at before + j / block * stride + j %
 * block; block 0: at j. */
typedef struct case_slice {
    int64_t before, block, stride;
} case_slice;

typedef struct case_layout {
    int64_t rows, a, b, c; /* sizes that the calls need */
    int64_t in[CASE_INPUTS];
    double low[CASE_INPUTS], high[CASE_INPUTS]; /* range of the random values; both 0: -1 .. 1 */
    bool gradient[CASE_INPUTS];
    case_rule rule[CASE_INPUTS]; /* of its gradient */
    unsigned unwanted;           /* inputs, as bits, whose gradients may be null, each by itself */
    unsigned unwanted_together;  /* those whose gradients may be null, but only all of them */
    case_add add;
    double held[CASE_INPUTS]; /* what gradients are before */
    int64_t index[CASE_INDICES];
    int32_t *index_values[CASE_INDICES]; /* host memory, owned by the layout */
    int64_t mask;                        /* bytes of index 5 used as a mask, or 0 */
    int64_t out[CASE_OUTPUTS];
    bool kept[CASE_OUTPUTS]; /* not a function value but something kept for backward */
    double tolerance;        /* float against double, relative to the largest value; 0: 2e-5 */
    bool discrete;           /* outputs may jump: not compared between float and double */
    /* How rows of a batch compare with the same rows alone. */
    case_batch in_batch[CASE_INPUTS], out_batch[CASE_OUTPUTS], index_batch[CASE_INDICES];
    int64_t in_step_width[CASE_INPUTS], out_step_width[CASE_OUTPUTS];
    double row_tolerance; /* relative to the largest number of a row and term of its sums; 0: the same bits */
    int32_t *row_ends; /* rows that belong together (graphs): where each group ends; null: each row alone */
    case_slice in_slice[CASE_INPUTS], out_slice[CASE_OUTPUTS]; /* of a part */
} case_layout;

typedef struct case_f64 {
    double *in[CASE_INPUTS], *out[CASE_OUTPUTS], *dout[CASE_OUTPUTS], *din[CASE_INPUTS];
    int32_t *index[CASE_INDICES];
    const uint8_t *mask;
} case_f64;
typedef struct case_f32 {
    float *in[CASE_INPUTS], *out[CASE_OUTPUTS], *dout[CASE_OUTPUTS], *din[CASE_INPUTS];
    int32_t *index[CASE_INDICES];
    const uint8_t *mask;
} case_f32;

typedef struct kernel_case {
    const char *name;
    void (*layout)(case_layout *l, uint64_t seed);
    void (*forward_f64)(const lud_ops_f64 *ops, lud_device *device, const case_layout *l, case_f64 *x);
    void (*backward_f64)(const lud_ops_f64 *ops, lud_device *device, const case_layout *l, case_f64 *x);
    void (*forward_f32)(const lud_ops *ops, lud_device *device, const case_layout *l, case_f32 *x);
    void (*backward_f32)(const lud_ops *ops, lud_device *device, const case_layout *l, case_f32 *x);
} kernel_case;

extern const kernel_case kernel_cases[];
extern const int n_kernel_cases;

/* The layout of a case for one variant: 0 no rows, 1 one row, else random odd sizes. Free with
 * case_layout_free. */
case_layout case_layout_make(const kernel_case *c, int variant);
/* The same for given sizes, from which a case may deviate. */
case_layout case_layout_sized(const kernel_case *c, int64_t rows, int64_t a, int64_t b, int64_t width_c);
/* Rows first .. end - 1 of a batch as a batch of their own, with the same values. Their results are those of
 * the elements that the slices name. */
case_layout case_layout_part(const case_layout *whole, int64_t first, int64_t end);
static inline int64_t case_place(const case_slice *s, int64_t j) {
    return s->block == 0 ? j : s->before + j / s->block * s->stride + j % s->block;
}
/* Fails where outputs and gradients of rows alone are not those of the batch. Returns how many numbers of
 * rows were compared: none for what does not work on rows. */
int64_t case_check_rows(const kernel_case *c, const case_layout *whole, lud_device *device);
void case_layout_free(case_layout *l);

/* What the gradients of inputs begin with where they are added to, and where they are written; and which of
 * that is asked for. */
void case_hold(case_layout *l, case_add add, double added_to, double written_over);
/* Whether the gradient of an input is added to what is there. */
bool case_adds(const case_layout *l, int input);

/* Deterministic test values. */
double case_uniform(uint64_t seed, uint32_t index);
int64_t case_below(uint64_t seed, uint32_t index, int64_t n);

/* Called before and after every call of an operation of a float run, which may then fail; null: nothing. */
extern void (*case_around)(bool begins);

/* All results of one float run on a device, in host memory: outputs, then gradients; free with free(). */
float *case_run_f32(const kernel_case *c, const case_layout *l, lud_device *device, int64_t *n);
/* The same, from a recorded graph; the device must be able to record. */
float *case_run_recorded(const kernel_case *c, const case_layout *l, lud_device *device, int64_t *n);
/* The same in double; `bump` >= 0 adds `step` to that element of input `which` and skips the gradients; the
 * result is then only outputs. */
double *case_run_f64(const kernel_case *c, const case_layout *l, lud_device *device, int which, int64_t bump,
                     double step, int64_t *n);
/* Fails where results a differ from b, |a - b| relative to the largest value of each array; masked entries
 * (beyond 1e30 on both sides) count as equal. `what` stands between the two numbers in the message. */
void case_compare(const kernel_case *c, int variant, const case_layout *l, const float *a, const double *b,
                  double tolerance, const char *what);
/* The weight of output element i in the scalar that gradients are of. */
double case_weight(int output, int64_t i);
