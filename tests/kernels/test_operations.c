/* Every operation: gradients, float against double, thread counts, instruction sets. test_cuda.c has CUDA. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"
#include "kernels/support_cases.h"

static lud_device *open_device(const char *choice, int n_threads) {
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open(choice, n_threads, &device, &error) != LUD_OK) fail_msg("%s", error.text);
    return device;
}

static double scalar(const case_layout *l, const double *out) {
    double total = 0;
    for (int i = 0; i < CASE_OUTPUTS; out += l->out[i++])
        for (int64_t j = 0; j < l->out[i] && !l->kept[i]; ++j) total += case_weight(i, j) * out[j];
    return total;
}

/* dL/dx of L = sum of weights * outputs against (L(x + h) - L(x - h)) / 2h. Where two step sizes disagree,
 * the function has a corner between the points (ReLU, max, clipping) and the element is passed over. */
static void test_gradients(void **state) {
    (void)state;
    lud_device *device = open_device("cpu", 1);
    long checked = 0, corners = 0;
    for (int i = 0; i < n_kernel_cases; ++i)
        for (int variant = 0; variant < CASE_VARIANTS; ++variant) {
            const kernel_case *c = &kernel_cases[i];
            case_layout l = case_layout_make(c, variant);
            int64_t n;
            double *whole = case_run_f64(c, &l, device, 0, -1, 0, &n), *gradient = whole;
            for (int o = 0; o < CASE_OUTPUTS; ++o) gradient += l.out[o];
            for (int input = 0; input < CASE_INPUTS; ++input) {
                if (!l.gradient[input]) continue;
                int samples = l.in[input] < 8 ? (int)l.in[input] : 8;
                for (int s = 0; s < samples; ++s) {
                    int64_t at =
                        l.in[input] <= 8 ? s : case_below(500 + (uint64_t)variant, (uint32_t)s, l.in[input]);
                    double slope[2];
                    for (int k = 0; k < 2; ++k) {
                        double h = k == 0 ? 1e-5 : 1e-6;
                        double *up = case_run_f64(c, &l, device, input, at, h, &n), *down;
                        down = case_run_f64(c, &l, device, input, at, -h, &n);
                        slope[k] = (scalar(&l, up) - scalar(&l, down)) / (2 * h);
                        free(up);
                        free(down);
                    }
                    double size = 1 + fabs(slope[0]);
                    ++checked;
                    if (fabs(slope[0] - slope[1]) > 1e-5 * size) {
                        ++corners;
                        continue;
                    }
                    if (!(fabs(slope[0] - gradient[at]) <= 2e-6 * size))
                        fail_msg(
                            "%s variant %d input %d element %ld of %ld: gradient %.10g, differences %.10g",
                            c->name, variant, input, (long)at, (long)l.in[input], gradient[at], slope[0]);
                }
                gradient += l.in[input];
            }
            free(whole);
            case_layout_free(&l);
        }
    assert_true(corners * 100 < checked);
    lud_device_close(device);
}

static void test_float_against_double(void **state) {
    (void)state;
    static const char *const sets[] = {"plain", "avx2", "avx512"};
    for (int set = 0; set < 3; ++set) {
        setenv("LUDUS_CPU", sets[set], 1);
        lud_device *device = open_device("cpu", 2);
        for (int i = 0; i < n_kernel_cases; ++i)
            for (int variant = 0; variant < CASE_VARIANTS; ++variant) {
                const kernel_case *c = &kernel_cases[i];
                case_layout l = case_layout_make(c, variant);
                int64_t n;
                float *narrow = case_run_f32(c, &l, device, &n);
                double *wide = case_run_f64(c, &l, device, 0, -1, 0, &n);
                if (!l.discrete)
                    case_compare(c, variant, &l, narrow, wide, l.tolerance > 0 ? l.tolerance : 2e-5,
                                 "in double");
                free(narrow);
                free(wide);
                case_layout_free(&l);
            }
        lud_device_close(device);
    }
    unsetenv("LUDUS_CPU");
}

static void test_threads(void **state) {
    (void)state;
    lud_device *one = open_device("cpu", 1);
    for (int threads = 2; threads <= 4; ++threads) {
        lud_device *many = open_device("cpu", threads);
        ((lud_cpu *)many)->work_per_thread = 1; /* all threads, however small the case */
        for (int i = 0; i < n_kernel_cases; ++i) {
            const kernel_case *c = &kernel_cases[i];
            for (int variant = 1; variant < CASE_VARIANTS; ++variant) {
                case_layout l = case_layout_make(c, variant);
                int64_t n;
                float *a = case_run_f32(c, &l, one, &n), *b = case_run_f32(c, &l, many, &n);
                for (int64_t j = 0; j < n; ++j)
                    if (memcmp(&a[j], &b[j], sizeof *a) != 0)
                        fail_msg("%s variant %d: result %ld is %.9g with one thread, %.9g with %d", c->name,
                                 variant, (long)j, (double)a[j], (double)b[j], threads);
                free(a);
                free(b);
                case_layout_free(&l);
            }
        }
        lud_device_close(many);
    }
    lud_device_close(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_float_against_double),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, 0, 0);
}
