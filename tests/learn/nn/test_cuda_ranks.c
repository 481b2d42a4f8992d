/* Gradients of processes that have a GPU each: added in the memories of the GPUs, the bytes are those of
 * plain lines on the host, whether messages go from GPU to GPU or through the host. This program starts
 * itself under MPI's launcher. Runs on a GPU where there is one, and in any case as
 * `test_cuda_ranks_emulated`, where each process has as many as it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "kernels/device_ranks.h"
#include "learn/nn/shares.h"

enum { N = 100003, SHARES = 12 };

static float share_number(int share, int i) {
    const lud_words w =
        lud_draw((lud_random_key){7, 5}, (uint32_t)i, (uint32_t)share, LUD_PURPOSE_SHUFFLE, 0);
    return ((float)w.v[0] - 2147483648.0f) * (share % 3 ? 1.0f : 1e-6f);
}

static float weight_of(int share) {
    return share % 2 ? 1.0f : 0.375f;
}

static float tree(int first, int end, int i) {
    if (end - first == 1) return share_number(first, i) * weight_of(first);
    const int middle = first + (end - first + 1) / 2;
    return tree(first, middle, i) + tree(middle, end, i);
}

/* Twice, since the second time finds memory that is taken already. */
static int check_gradients(lud_parameters *parameters, lud_error *error) {
    static float gradients[2 * N];
    lud_shares shares;
    double sum = 0.0;
    if (parameters->size > 2 * N || lud_shares_open(parameters, SHARES, 1, &shares, error)) return 10;
    for (int turn = 0; turn < 2; turn++) {
        lud_shares_begin(&shares);
        for (int s = shares.first; s < shares.end; s++) {
            for (int i = 0; i < N; i++) gradients[i] = share_number(s, i);
            const double own = s;
            lud_device_upload(parameters->device, lud_parameters_gradient(parameters, 0), gradients,
                              N * sizeof *gradients);
            lud_shares_keep(&shares, s, (double)weight_of(s), &own);
        }
        if (lud_shares_add(&shares, LUD_OK, &sum, error)) return 11;
        if (sum != SHARES * (SHARES - 1) / 2.0) return 12;
        lud_device_download(parameters->device, gradients, lud_parameters_gradient(parameters, 0),
                            N * sizeof *gradients);
        for (int i = 0; i < N; i++)
            if (gradients[i] != tree(0, SHARES, i)) {
                fprintf(stderr, "gradient %d: %.9g, expected %.9g\n", i, (double)gradients[i],
                        (double)tree(0, SHARES, i));
                return 13;
            }
    }
    lud_shares_close(&shares);
    return lud_device_check(parameters->device, error) ? 14 : 0;
}

/* The others do not come to the sum: whoever is asked to stop meanwhile does, and leaves a device that can be
 * given back. */
static int check_alone_in_a_sum(lud_device *device, lud_error *error) {
    lud_ranks *ranks = device->ranks;
    const lud_ranks_memory memory = lud_device_memory(device);
    if (!device->carrier[0]) return 20;
    if (lud_ranks_rank(ranks) > 0) {
        sleep(30); /* the first one ends it */
        return 21;
    }
    float *own = lud_device_allocate(device, SHARES * N * sizeof *own);
    lud_interrupt_set(true);
    const double began = lud_clock_seconds();
    if (lud_ranks_add(ranks, &memory, SHARES, N, own, own, error) != LUD_INTERRUPTED) return 22;
    lud_device_release(device, own);
    lud_device_close(device);
    const double seconds = lud_clock_seconds() - began;
    printf("left after %s\n", seconds < 5.0 ? "a moment" : "too long");
    fflush(stdout);
    lud_ranks_close(ranks, LUD_INTERRUPTED);
    return 0;
}

/* What one of the processes does; `how`: what is checked. */
static int one_of_many(const char *how) {
    lud_ranks *ranks = NULL;
    lud_device *device = NULL;
    lud_error error = {0};
    int failed = 0;
    if (lud_ranks_open(&ranks, &error)) return 5;
    const int rank = lud_ranks_rank(ranks), size = lud_ranks_size(ranks);
    if (strcmp(how, "none") == 0 && rank == 1) setenv("LUDUS_EMULATED_DEVICES", "0", 1);
    const lud_status status = lud_device_open_among(
        ranks, strcmp(how, "mixed") == 0 && rank == 0 ? "auto" : "cuda", 1, &device, &error);
    if (strcmp(how, "mixed") == 0 || strcmp(how, "none") == 0) {
        if (rank == 0) printf("%s\n", error.text);
        failed = status ? 0 : 6;
    } else if (status) {
        fprintf(stderr, "%s\n", error.text);
        failed = 7;
    } else if (strcmp(how, "alone") == 0) {
        return check_alone_in_a_sum(device, &error);
    } else {
        /* a GPU for each, or one for all */
        if (strcmp(how, "each") == 0 && size > 1 && !device->carrier[0]) failed = 8;
        if (strcmp(how, "one") == 0 && (device->carrier[0] || !strstr(device->no_carrier, "NCCL")))
            failed = 9;
        if (failed) fprintf(stderr, "carrier `%s`, no carrier `%s`\n", device->carrier, device->no_carrier);
        lud_parameters *parameters = lud_parameters_create(device, false);
        lud_parameters_add(parameters, "weights", 1, (const int64_t[]){N},
                           (lud_init){.kind = LUD_INIT_CONSTANT});
        if (!failed && lud_parameters_build(parameters, 1, &error)) failed = 15;
        if (!failed) failed = check_gradients(parameters, &error);
        if (error.status) fprintf(stderr, "%s\n", error.text);
        lud_parameters_destroy(parameters);
    }
    lud_device_close(device);
    lud_ranks_close(ranks, failed ? LUD_ERROR_NUMERIC : LUD_OK);
    return failed;
}

/* ---- the launching side ---- */

static const char *program;
static bool have_cuda, have_mpi;

static int look(void **state) {
    (void)state;
    lud_device *device;
    lud_error error = {0};
    have_cuda = lud_device_open("cuda", 0, &device, &error) == LUD_OK;
    if (have_cuda) lud_device_close(device);
    have_mpi = system("mpirun --version >/dev/null 2>&1") == 0 &&
               access(LUDUS_BINARY_DIR "/ludus_mpi.so", R_OK) == 0;
    return !have_cuda && getenv("LUDUS_CUDA_MODULE") ? -1 : 0; /* asked for and not there */
}

/* n processes on a machine with so many GPUs, which only the emulation can choose; what they print. */
static int launch(int n, int gpus, const char *how, char output[1024]) {
    char command[4096];
    snprintf(command, sizeof command,
             "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
             "LUDUS_EMULATED_DEVICES=%d mpirun --oversubscribe --bind-to none -n %d '%s' %s",
             gpus, n, program, how);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, 1023, pipe)] = '\0';
    return pclose(pipe);
}

static void one_process(void **state) {
    (void)state;
    if (!have_cuda) skip();
    assert_int_equal(one_of_many("each"), 0);
}

static void gpus_of_many(void **state) {
    (void)state;
    char output[1024];
    if (!have_cuda || !have_mpi) skip();
    const bool emulated = getenv("LUDUS_CUDA_MODULE");
    for (int n = 2; n <= 4; n++) assert_int_equal(launch(n, n, emulated ? "each" : "any", output), 0);
}

static void one_gpu_for_two(void **state) {
    (void)state;
    char output[1024];
    if (!have_mpi || !getenv("LUDUS_CUDA_MODULE")) skip();
    assert_int_equal(launch(2, 1, "one", output), 0);
}

static void what_cannot_be_is_told(void **state) {
    (void)state;
    char output[1024];
    if (!have_mpi || !getenv("LUDUS_CUDA_MODULE")) skip();
    assert_int_equal(launch(2, 2, "none", output), 0);
    if (!strstr(output, "process 1 of 2: ") || !strstr(output, "no GPU")) fail_msg("%s", output);
    assert_int_equal(launch(2, 2, "mixed", output), 0);
    if (!strstr(output, "process 1 has a GPU and process 0 has none")) fail_msg("%s", output);
}

static void a_stop_while_others_do_not_come(void **state) {
    (void)state;
    char output[1024];
    if (!have_mpi || !getenv("LUDUS_CUDA_MODULE")) skip();
    assert_int_not_equal(launch(2, 2, "alone", output), 0);
    if (!strstr(output, "left after a moment")) fail_msg("%s", output);
}

int main(int n, char **words) {
    if (n > 1) return one_of_many(words[1]);
    program = words[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process), cmocka_unit_test(gpus_of_many), cmocka_unit_test(one_gpu_for_two),
        cmocka_unit_test(what_cannot_be_is_told), cmocka_unit_test(a_stop_while_others_do_not_come)};
    return cmocka_run_group_tests(tests, look, NULL);
}
