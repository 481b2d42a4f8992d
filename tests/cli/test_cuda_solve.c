/* `ludus solve --device cuda`: the same solution as on the CPU, and what is said where there is no CUDA. Runs
 * on a GPU where there is one, and in any case as `test_cuda_solve_emulated` on tests/emulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/support_program.h"
#include "kernels/device.h"
#include "learn/empo/exact/solution.h"

#define KEY "scenarios/empo/fetch_the_key.yaml"

static char folder[] = "/tmp/ludus-cuda-XXXXXX";
static char result[64];
static const char *module; /* what LUDUS_CUDA_MODULE said at the start */
static bool have_cuda;

static int set_up(void **state) {
    (void)state;
    module = getenv("LUDUS_CUDA_MODULE");
    lud_device *device;
    lud_error error = {0};
    have_cuda = lud_device_open("cuda", 0, &device, &error) == LUD_OK;
    if (have_cuda)
        lud_device_close(device);
    else
        print_message("no CUDA: %s\n", error.text);
    if (!have_cuda && module) return -1;                        /* asked for and not there */
    if (chdir(LUDUS_SOURCE_DIR) || !mkdtemp(folder)) return -1; /* scenarios are named from there */
    snprintf(result, sizeof result, "%s/run", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static int restore(void **state) {
    (void)state;
    unsetenv("LUDUS_EMULATED_DEVICES");
    return module ? setenv("LUDUS_CUDA_MODULE", module, 1) : unsetenv("LUDUS_CUDA_MODULE");
}

/* A call that must fail as a wrong call does, with nothing on stdout and no run. */
static void check_refused(program_result r, const char *message) {
    if (r.exit_code != 2) fail_msg("exit code %d: %s", r.exit_code, r.err);
    assert_string_equal(r.out, "");
    if (!strstr(r.err, message)) fail_msg("'%s' is not in '%s'", message, r.err);
    char path[96];
    snprintf(path, sizeof path, "%s/solution.empo", result);
    assert_false(lud_file_exists(path));
    program_free(&r);
}

static void solve(const char *device, const char *run, lud_empo_solution **solution) {
    program_result r = LUDUS("solve", KEY, "-o", run, "-q", "--device", device);
    if (r.exit_code) fail_msg("--device %s: %s", device, r.err);
    program_free(&r);
    char path[96];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/solution.empo", run);
    if (lud_empo_solution_open(path, solution, &error)) fail_msg("%s", error.text);
}

/* The files have the same header, states, and every number of every record within 1e-9 of its size. */
static void test_same_solution(void **state) {
    (void)state;
    if (!have_cuda) skip();
    char cpu_run[64], cuda_run[64];
    snprintf(cpu_run, sizeof cpu_run, "%s/on-cpu", folder);
    snprintf(cuda_run, sizeof cuda_run, "%s/on-cuda", folder);
    lud_empo_solution *cpu, *cuda;
    solve("cpu", cpu_run, &cpu);
    solve("cuda", cuda_run, &cuda);
    const lud_empo_header *h = cpu->header;
    assert_int_equal(cuda->bytes, cpu->bytes);
    lud_empo_header same =
        *cuda->header; /* but for the checksum of the records, whose last bits may differ */
    same.checksums_hash = h->checksums_hash;
    assert_memory_equal(&same, h, sizeof *h);
    assert_memory_equal(cuda->states, cpu->states, h->n_states * h->state_bytes);
    for (uint64_t i = 0; i < h->n_states * h->record_doubles; i++) {
        const double a = cuda->records[i], b = cpu->records[i];
        if (!(fabs(a - b) <= 1e-9 * fmax(fabs(b), 1e-12)))
            fail_msg("state %lu, number %lu of its record: %.17g, on the CPU %.17g",
                     (unsigned long)(i / h->record_doubles), (unsigned long)(i % h->record_doubles), a, b);
    }
    lud_empo_solution_close(cpu);
    lud_empo_solution_close(cuda);
}

/* Modules that are not one. */
static void test_wrong_module(void **state) {
    (void)state;
    setenv("LUDUS_CUDA_MODULE", "/no/such/ludus_cuda.so", 1);
    check_refused(LUDUS("solve", KEY, "-o", result, "-q", "--device", "cuda"),
                  "no CUDA backend: /no/such/ludus_cuda.so: ");
    setenv("LUDUS_CUDA_MODULE", "libm.so.6", 1);
    check_refused(LUDUS("solve", KEY, "-o", result, "-q", "--device", "cuda"),
                  "libm.so.6 has no symbol lud_cuda_backend");
    check_refused(LUDUS("solve", KEY, "-o", result, "-q", "--device", "gpu"),
                  "unknown device `gpu`, expected cpu, cuda or auto");
    check_refused(LUDUS("solve", "scenarios/proof/family_tree.yaml", "-o", result, "--device", "cuda"),
                  "--device cuda: proofs are searched on the processors only");
}

/* A driver without a GPU. */
static void test_no_gpu(void **state) {
    (void)state;
    if (!module) skip(); /* only the emulation can hide its device */
    setenv("LUDUS_EMULATED_DEVICES", "0", 1);
    check_refused(LUDUS("solve", KEY, "-o", result, "-q", "--device", "cuda"),
                  "cannot use CUDA: driver: no GPU");
}

/* A program that was installed without the CUDA backend, and one beside which it is damaged. */
static void test_no_backend(void **state) {
    (void)state;
    char command[512], program[64], backend[64];
    snprintf(program, sizeof program, "%s/bin/ludus", folder);
    snprintf(backend, sizeof backend, "%s/bin/ludus_cuda.so", folder);
    snprintf(command, sizeof command, "mkdir %s/bin && cp %s/ludus %s", folder, LUDUS_BINARY_DIR, program);
    assert_int_equal(system(command), 0);
    unsetenv("LUDUS_CUDA_MODULE");
    const char *const words[] = {"solve", KEY, "-o", result, "-q", "--device", "cuda", NULL};
    check_refused(program_run_copy(program, words),
                  "no CUDA backend: ludus_cuda.so is not beside the program");
    lud_error error = {0};
    if (lud_file_write(backend, "no library", 10, &error)) fail_msg("%s", error.text);
    char expected[128];
    snprintf(expected, sizeof expected, "no CUDA backend: %s: ", backend);
    check_refused(program_run_copy(program, words), expected);
    const char *const automatic[] = {"solve", KEY, "-o", result, "-q", "--device", "auto", NULL};
    program_result r = program_run_copy(program, automatic); /* does without */
    if (r.exit_code) fail_msg("%s", r.err);
    program_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_solution), cmocka_unit_test_teardown(test_wrong_module, restore),
        cmocka_unit_test_teardown(test_no_gpu, restore), cmocka_unit_test_teardown(test_no_backend, restore)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
