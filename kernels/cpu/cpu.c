#include "kernels/cpu/cpu.h"

#include <stdarg.h>
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
    if (*memory && bytes <= *size) return true; /* memory also for 0 bytes: null says that it is out */
    if (bytes > SIZE_MAX / 2) return false;
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

void lud_cpu_fail(lud_device *device, lud_status status, const char *format, ...) {
#pragma omp critical(lud_cpu_failure)
    if (!device->failure.status) {
        device->failure.status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(device->failure.text, sizeof device->failure.text, format, arguments);
        va_end(arguments);
    }
}

static void *scratch(lud_device *device, void **memory, size_t *size, size_t bytes) {
    if (grow(memory, size, bytes)) return *memory;
    lud_cpu_fail(device, LUD_ERROR_MEMORY, "out of memory: an operation needs %zu bytes of scratch", bytes);
    return 0;
}

void *lud_cpu_workspace(lud_device *device, size_t bytes) {
    return scratch(device, &device->workspace, &device->workspace_bytes, bytes);
}

void *lud_cpu_product_scratch(lud_device *device, size_t bytes) {
    lud_cpu *cpu = (lud_cpu *)device;
    return scratch(device, &cpu->product_scratch, &cpu->product_scratch_bytes, bytes);
}

void *lud_cpu_operand_scratch(lud_device *device, size_t bytes) {
    lud_cpu *cpu = (lud_cpu *)device;
    return scratch(device, &cpu->operand_scratch, &cpu->operand_scratch_bytes, bytes);
}
