#include "kernels/cpu/cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *lud_cpu_memory(size_t alignment, size_t bytes) {
    enum { PAGE = 1 << 21 };
    const bool large = bytes >= 4 * (size_t)PAGE && bytes <= SIZE_MAX - PAGE;
    if (large) bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *memory = aligned_alloc(large ? PAGE : alignment, bytes);
#if defined(MADV_HUGEPAGE)
    if (memory && large) madvise(memory, bytes, MADV_HUGEPAGE); /* a wish: memory is as good without */
#endif
    return memory;
}

static bool grow(void **memory, size_t *size, size_t bytes) {
    if (bytes <= *size) return true;
    size_t rounded = (bytes + bytes / 4 + 4095) / 4096 * 4096;
    void *larger = lud_cpu_memory(4096, rounded);
    if (!larger) return false;
    free(*memory); /* nothing in it outlives one operation */
    *memory = larger;
    *size = rounded;
    return true;
}

bool lud_cpu_reserve(lud_device *device, size_t bytes) {
    return grow(&device->workspace, &device->workspace_bytes, bytes);
}

static void out_of_scratch(size_t bytes) {
    fprintf(stderr, "ludus: out of memory: an operation needs %zu bytes of scratch\n", bytes);
    abort();
}

void *lud_cpu_workspace(lud_device *device, size_t bytes) {
    if (!lud_cpu_reserve(device, bytes)) out_of_scratch(bytes);
    return device->workspace;
}

void *lud_cpu_product_scratch(lud_device *device, size_t bytes) {
    lud_cpu *cpu = (lud_cpu *)device;
    if (!grow(&cpu->product_scratch, &cpu->product_scratch_bytes, bytes)) out_of_scratch(bytes);
    return cpu->product_scratch;
}

void *lud_cpu_operand_scratch(lud_device *device, size_t bytes) {
    lud_cpu *cpu = (lud_cpu *)device;
    if (!grow(&cpu->operand_scratch, &cpu->operand_scratch_bytes, bytes)) out_of_scratch(bytes);
    return cpu->operand_scratch;
}
