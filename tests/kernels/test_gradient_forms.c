/* The forms in which every operation's gradients may be asked for: written whatever was there, added to what
 * was there, or not wanted, which is nothing to the others. Known gradients are those of test_operations.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "kernels/cpu/cpu.h"
#include "kernels/support_cases.h"

/* Both of a run, in double. */
typedef struct case_results {
    double *narrow, *wide;
} case_results;

static case_results run(const kernel_case *c, const case_layout *l, lud_device *device) {
    int64_t n;
    float *narrow = case_run_f32(c, l, device, &n);
    case_results r = {calloc((size_t)n + 1, sizeof(double)), case_run_f64(c, l, device, 0, -1, 0, &n)};
    assert_non_null(r.narrow);
    for (int64_t i = 0; i < n; ++i) r.narrow[i] = (double)narrow[i];
    free(narrow);
    return r;
}

static void results_free(case_results r) {
    free(r.narrow);
    free(r.wide);
}

static int64_t n_outputs(const case_layout *l) {
    int64_t n = 0;
    for (int i = 0; i < CASE_OUTPUTS; ++i) n += l->out[i];
    return n;
}

/* Gradients of one input: `held` more than the fresh ones. */
static void check_held(const char *what, int64_t n, const double *found, const double *fresh, double held,
                       double tolerance) {
    double largest = fabs(held);
    for (int64_t i = 0; i < n; ++i) largest = fmax(largest, fabs(fresh[i]));
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs(found[i] - held - fresh[i]) <= tolerance * largest))
            fail_msg("%s: number %ld of %ld is %.9g, not %.9g and %.9g", what, (long)i, (long)n, found[i],
                     held, fresh[i]);
}

/* What is not read may be no number. */
static void check_add(const kernel_case *c, int variant, const char *set, case_add add, lud_device *device) {
    case_layout l = case_layout_make(c, variant);
    const case_results fresh = run(c, &l, device);
    case_hold(&l, add, 3, NAN);
    const case_results held = run(c, &l, device);
    int64_t at = n_outputs(&l);
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (!l.gradient[i]) continue;
        const double before = case_adds(&l, i) ? 3 : 0;
        char what[160];
        snprintf(what, sizeof what, "%s, variant %d, %s, gradient of input %d, %s", c->name, variant, set, i,
                 case_adds(&l, i) ? "added" : "written");
        check_held(what, l.in[i], held.narrow + at, fresh.narrow + at, before, 1e-5);
        check_held(what, l.in[i], held.wide + at, fresh.wide + at, before, 1e-12);
        at += l.in[i];
    }
    results_free(fresh);
    results_free(held);
    case_layout_free(&l);
}

static const char *const sets[] = {"plain", "avx2", "avx512"};
enum { SETS = sizeof sets / sizeof *sets };

static void test_added(void **state) {
    (void)state;
    for (int set = 0; set < SETS; ++set) {
        lud_device *device = open_set_of(sets[set], 2);
        for (int i = 0; i < n_kernel_cases; ++i)
            for (int variant = 0; variant < CASE_VARIANTS; ++variant) {
                check_add(&kernel_cases[i], variant, sets[set], CASE_ADDED, device);
                check_add(&kernel_cases[i], variant, sets[set], CASE_WRITTEN, device);
            }
        lud_device_close(device);
    }
}

static bool same(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The same bits of the others without the gradients of `without`. */
static void check_unwanted(const kernel_case *c, int variant, const char *set, unsigned without,
                           lud_device *device) {
    case_layout l = case_layout_make(c, variant);
    const case_results all = run(c, &l, device);
    case_layout less = l;
    for (int i = 0; i < CASE_INPUTS; ++i) less.gradient[i] = l.gradient[i] && !(without >> i & 1);
    const case_results some = run(c, &less, device);
    int64_t at = n_outputs(&l), at_some = at;
    for (int i = 0; i < CASE_INPUTS; ++i) {
        for (int64_t j = 0; j < l.in[i] && less.gradient[i]; ++j)
            if (!same(all.narrow[at + j], some.narrow[at_some + j]) ||
                !same(all.wide[at + j], some.wide[at_some + j]))
                fail_msg("%s, variant %d, %s: gradient %ld of input %d is another without those of %x",
                         c->name, variant, set, (long)j, i, without);
        at += l.gradient[i] ? l.in[i] : 0;
        at_some += less.gradient[i] ? l.in[i] : 0;
    }
    results_free(all);
    results_free(some);
    case_layout_free(&l);
}

static void test_unwanted(void **state) {
    (void)state;
    int n_checked = 0;
    for (int set = 0; set < SETS; ++set) {
        lud_device *device = open_set_of(sets[set], 2);
        for (int i = 0; i < n_kernel_cases; ++i)
            for (int variant = 1; variant < CASE_VARIANTS; ++variant) {
                case_layout l = case_layout_make(&kernel_cases[i], variant);
                const unsigned each = l.unwanted, together = l.unwanted_together;
                case_layout_free(&l);
                for (int input = 0; input < CASE_INPUTS; ++input) {
                    if (!(each >> input & 1)) continue;
                    check_unwanted(&kernel_cases[i], variant, sets[set], 1u << input, device);
                    check_unwanted(&kernel_cases[i], variant, sets[set], (each & ~(1u << input)) | together,
                                   device);
                    ++n_checked;
                }
                if (together) check_unwanted(&kernel_cases[i], variant, sets[set], together, device);
            }
        lud_device_close(device);
    }
    assert_true(n_checked > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_added), cmocka_unit_test(test_unwanted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
