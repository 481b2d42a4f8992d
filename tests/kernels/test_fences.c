/* Every operation keeps to its arrays. Each array, and all scratch that an operation asks for, lies between
 * two pages that nobody may touch: first with its end against the one behind it, then with its beginning
 * against the one before it. Scratch is full of what is no number, so that what is read before it is written
 * shows in the results, which are those without fences. The linker hands calls for scratch to here
 * (cmake/tests.cmake).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"
#include "kernels/support_cases.h"

void *__real_lud_cpu_workspace(lud_device *device, size_t bytes);
void *__real_lud_cpu_product_scratch(lud_device *device, size_t bytes);
void *__real_lud_cpu_operand_scratch(lud_device *device, size_t bytes);
void *__wrap_lud_cpu_workspace(lud_device *device, size_t bytes);
void *__wrap_lud_cpu_product_scratch(lud_device *device, size_t bytes);
void *__wrap_lud_cpu_operand_scratch(lud_device *device, size_t bytes);

/* Memory between two fences. */
typedef struct fenced {
    char *pages;
    size_t size;
    void *memory;
} fenced;

enum { MOST_ARRAYS = 64, SCRATCHES = 3, SCRATCH_ALIGNMENT = 64 };
static fenced arrays[MOST_ARRAYS], scratches[SCRATCHES];
static enum { NO_FENCES, AT_THE_END, AT_THE_BEGINNING } side;
static char in_hand[160]; /* the case, for whoever runs into a fence */

static void raise_fence(fenced *f, size_t bytes, size_t alignment) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes / page + 1) * page;
    const size_t kept = (bytes + alignment - 1) / alignment * alignment;
    f->size = inner + 2 * page;
    f->pages = mmap(NULL, f->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f->pages != MAP_FAILED);
    assert_int_equal(mprotect(f->pages + page, inner, PROT_READ | PROT_WRITE), 0);
    f->memory = side == AT_THE_END ? f->pages + page + inner - kept : f->pages + page;
}

static void take_down(fenced *f) {
    if (f->pages) munmap(f->pages, f->size);
    *f = (fenced){0};
}

static void *allocate(lud_device *device, size_t bytes) {
    (void)device;
    int i = 0;
    while (i < MOST_ARRAYS && arrays[i].pages) i++;
    assert_true(i < MOST_ARRAYS);
    raise_fence(&arrays[i], bytes, 1);
    return arrays[i].memory;
}

static void release(lud_device *device, void *memory) {
    (void)device;
    for (int i = 0; i < MOST_ARRAYS && memory; i++)
        if (arrays[i].memory == memory) take_down(&arrays[i]);
}

/* A new one for every call: what an operation left there is gone. */
static void *scratch(int which, size_t bytes) {
    take_down(&scratches[which]);
    raise_fence(&scratches[which], bytes, SCRATCH_ALIGNMENT);
    memset(scratches[which].memory, 0xff, bytes);
    return scratches[which].memory;
}

void *__wrap_lud_cpu_workspace(lud_device *device, size_t bytes) {
    return side ? scratch(0, bytes) : __real_lud_cpu_workspace(device, bytes);
}
void *__wrap_lud_cpu_product_scratch(lud_device *device, size_t bytes) {
    return side ? scratch(1, bytes) : __real_lud_cpu_product_scratch(device, bytes);
}
void *__wrap_lud_cpu_operand_scratch(lud_device *device, size_t bytes) {
    return side ? scratch(2, bytes) : __real_lud_cpu_operand_scratch(device, bytes);
}

static void ran_into_it(int signal) {
    (void)signal;
    const ssize_t written = write(STDERR_FILENO, in_hand, strlen(in_hand));
    _exit(written > 0 ? 1 : 2);
}

static lud_device *open_device(const char *set, int n_threads) {
    lud_device *device;
    lud_error error = {0};
    setenv("LUDUS_CPU", set, 1);
    if (lud_device_open("cpu", n_threads, &device, &error) != LUD_OK) fail_msg("%s", error.text);
    unsetenv("LUDUS_CPU");
    ((lud_cpu *)device)->work_per_thread = 1; /* all threads, however small the case */
    return device;
}

/* Rows that are wider than the variants', around what is done in one piece: rows, a, b and c. */
static const int64_t sizes[][4] = {
    {3, 65, 33, 5}, {5, 97, 64, 8}, {2, 129, 49, 3}, {9, 193, 17, 7}, {18, 257, 130, 6}};
enum { WIDE = sizeof sizes / sizeof *sizes };

static case_layout layout_of(const kernel_case *c, int variant) {
    if (variant < CASE_VARIANTS) return case_layout_make(c, variant);
    const int64_t *s = sizes[variant - CASE_VARIANTS];
    return case_layout_sized(c, s[0], s[1], s[2], s[3]);
}

static void check_case(const kernel_case *c, int variant, const char *set, int n_threads, lud_device *device,
                       const lud_backend *fences) {
    const lud_backend *const usual = device->backend;
    case_layout l = layout_of(c, variant);
    int64_t n;
    side = NO_FENCES;
    float *expected = case_run_f32(c, &l, device, &n);
    double *wide = case_run_f64(c, &l, device, 0, -1, 0, &n);
    device->backend = fences;
    for (side = AT_THE_END; side <= AT_THE_BEGINNING; side++) {
        snprintf(in_hand, sizeof in_hand,
                 "%s, variant %d, %s, %d threads: touched what lies %s of an array\n", c->name, variant, set,
                 n_threads, side == AT_THE_END ? "behind the end" : "before the beginning");
        float *found = case_run_f32(c, &l, device, &n);
        double *found_wide = case_run_f64(c, &l, device, 0, -1, 0, &n);
        for (int64_t i = 0; i < n; i++)
            if (memcmp(&found[i], &expected[i], sizeof *found) != 0 ||
                memcmp(&found_wide[i], &wide[i], sizeof *wide) != 0)
                fail_msg("%s, variant %d, %s: result %lld of %lld is %.9g (%.9g in double), without fences "
                         "%.9g (%.9g)",
                         c->name, variant, set, (long long)i, (long long)n, (double)found[i], found_wide[i],
                         (double)expected[i], wide[i]);
        free(found);
        free(found_wide);
    }
    device->backend = usual;
    side = NO_FENCES;
    free(expected);
    free(wide);
    case_layout_free(&l);
}

static void test_fences(void **state) {
    (void)state;
    static const struct {
        const char *set;
        int n_threads;
    } forms[] = {{"plain", 1}, {"avx2", 1}, {"avx512", 1}, {"avx512", 3}};
    signal(SIGSEGV, ran_into_it);
    signal(SIGBUS, ran_into_it);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        lud_device *device = open_device(forms[f].set, forms[f].n_threads);
        lud_backend fences = *device->backend;
        fences.allocate = allocate;
        fences.release = release;
        for (int i = 0; i < n_kernel_cases; i++)
            for (int variant = 0; variant < CASE_VARIANTS + WIDE; variant++)
                check_case(&kernel_cases[i], variant, forms[f].set, forms[f].n_threads, device, &fences);
        lud_device_close(device);
    }
    for (int i = 0; i < SCRATCHES; i++) take_down(&scratches[i]);
    for (int i = 0; i < MOST_ARRAYS; i++) assert_null(arrays[i].pages);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
