/* The CPU backend: memory, choice of the instruction set. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/second_thread.h"

static const lud_ops *choose_ops(const char **name, bool *has_bf16) {
    const char *limit = getenv("LUDUS_CPU");
    *has_bf16 = false;
    int level = !limit ? 2 : strcmp(limit, "plain") == 0 ? 0 : strcmp(limit, "avx2") == 0 ? 1 : 2;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (level >= 2 && avx512) {
        *name = "AVX-512";
        *has_bf16 = __builtin_cpu_supports("avx512bf16");
        return &lud_cpu_ops_avx512;
    }
    if (level >= 1 && avx2) {
        *name = "AVX2";
        return &lud_cpu_ops_avx2;
    }
#else
    (void)level;
#endif
    *name = "plain";
    return &lud_cpu_ops_plain;
}

static lud_status cpu_create(int n_threads, int place, lud_device **device, lud_error *error) {
    (void)place;
    lud_cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu) cpu->conv_cache = lud_cpu_conv_cache_create();
    if (!cpu || !cpu->conv_cache) {
        free(cpu);
        return lud_no_memory(error, "the CPU device");
    }
    const char *set;
    cpu->work_per_thread = 150000;
    cpu->device.backend = &lud_cpu_backend;
    cpu->device.ops = choose_ops(&set, &cpu->has_bf16);
    cpu->device.n_threads = n_threads > 0 ? n_threads : omp_get_max_threads();
    snprintf(cpu->device.name, sizeof cpu->device.name, "cpu, %d thread%s, %s", cpu->device.n_threads,
             cpu->device.n_threads == 1 ? "" : "s", set);
    *device = &cpu->device;
    return LUD_OK;
}

static void cpu_destroy(lud_device *device) {
    lud_cpu *cpu = (lud_cpu *)device;
    while (cpu->halves) {
        lud_cpu *half = cpu->halves;
        cpu->halves = half->next_half;
        cpu_destroy(&half->device);
    }
    lud_second_thread_destroy(cpu->thread);
    lud_cpu_conv_cache_destroy(cpu->conv_cache);
    free(device->workspace);
    free(cpu->product_scratch);
    free(cpu->operand_scratch);
    lud_cpu_bf16_destroy(cpu->bf16);
    free(cpu);
}

/* A device and a thread for the second of two pieces of work. The first piece has the caller's own, and may
 * itself run two: a device in use is therefore not in the list. Null when memory or threads are out. */
static lud_cpu *half_take(lud_cpu *cpu) {
    lud_cpu *half = cpu->halves;
    lud_device *device;
    lud_error error;
    if (half) {
        cpu->halves = half->next_half;
        return half;
    }
    if (cpu_create(1, 0, &device, &error)) return NULL;
    half = (lud_cpu *)device;
    half->thread = lud_second_thread_create();
    if (half->thread) return half;
    cpu_destroy(device);
    return NULL;
}
static void half_give(lud_cpu *cpu, lud_cpu *half) {
    half->next_half = cpu->halves;
    cpu->halves = half;
}

typedef struct second_work {
    lud_device_work work;
    lud_device *device;
    void *context;
} second_work;

static void do_second(void *second) {
    const second_work *s = second;
    s->work(s->device, s->context);
}

static bool run_both(lud_device *device, lud_device_work first, void *first_context, lud_device_work second,
                     void *second_context) {
    lud_cpu *cpu = (lud_cpu *)device, *half = device->n_threads > 1 ? half_take(cpu) : 0;
    if (!half) return false;
    const int n_threads = device->n_threads;
    half->work_per_thread = cpu->work_per_thread;
    half->device.ops = device->ops;
    half->device.strict = device->strict;
    half->device.precision = device->precision;
    half->device.rows_apart = device->rows_apart;
    half->device.n_threads = n_threads / 2;
    device->n_threads = n_threads - n_threads / 2;
    /* threads that stand in no team: with three threads and more each piece has a team of its own */
    second_work other = {second, &half->device, second_context};
    lud_second_thread_begin(half->thread, do_second, &other);
    first(device, first_context);
    lud_second_thread_finish(half->thread);
    device->n_threads = n_threads;
    const lud_error *failure = &half->device.failure;
    if (failure->status) lud_cpu_fail(device, failure->status, "%s", failure->text);
    half->device.failure = (lud_error){0};
    half_give(cpu, half);
    return true;
}

static void *cpu_allocate(lud_device *device, size_t bytes) {
    (void)device;
    if (bytes > SIZE_MAX - 512) return 0;
    size_t rounded = (bytes + 255) / 256 * 256;
    void *memory = lud_cpu_memory(256, rounded ? rounded : 256);
    if (memory) memset(memory, 0, rounded);
    return memory;
}

static void cpu_release(lud_device *device, void *memory) {
    (void)device;
    free(memory);
}

static void cpu_copy(lud_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(to, from, bytes);
}

static void cpu_zero(lud_device *device, void *memory, size_t bytes) {
    (void)device;
    memset(memory, 0, bytes);
}

static void cpu_synchronise(lud_device *device) {
    (void)device;
}

const lud_backend lud_cpu_backend = {.name = "cpu",
                                     .host_memory = true,
                                     .rows_per_run = 1024,
                                     .create = cpu_create,
                                     .destroy = cpu_destroy,
                                     .allocate = cpu_allocate,
                                     .release = cpu_release,
                                     .upload = cpu_copy,
                                     .download = cpu_copy,
                                     .copy = cpu_copy,
                                     .zero = cpu_zero,
                                     .synchronise = cpu_synchronise,
                                     .reserve = lud_cpu_reserve,
                                     .run_both = run_both};
