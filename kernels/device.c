#include "kernels/device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "kernels/cpu/cpu_device.h"
#include "module_abi.h"

/* What the module exports for this file: a const lud_backend. */
#define CUDA_SYMBOL "lud_cuda_backend"
#define CUDA_FILE   "ludus_cuda.so"

/* The module's table; from `path` where one is named. */
static const lud_backend *cuda_backend(const char *path, lud_error *error) {
    const char *file = path ? path : CUDA_FILE;
    void *module = path ? lud_module_load_from(path, error) : lud_module_load(CUDA_FILE, error);
    const lud_backend *backend = module ? lud_module_symbol(module, file, CUDA_SYMBOL, error) : NULL;
    if (!module) {
        lud_fail_context(error, "no CUDA backend");
    } else if (backend && backend->abi != LUD_MODULE_ABI) {
        lud_fail(error, LUD_ERROR_UNSUPPORTED,
                 "%s is of another build: its ABI number is %08x, expected %08x", file, backend->abi,
                 LUD_MODULE_ABI);
        return 0;
    }
    return backend;
}

/* Whether this machine has a driver for GPUs. The module brings cuBLAS: 80 MiB and a fifth of a second. */
static bool has_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) dlclose(driver);
    return driver;
}

lud_status lud_device_open_at(const char *choice, int n_threads, int place, lud_device **device,
                              lud_error *error) {
    *device = 0;
    bool automatic = strcmp(choice, "auto") == 0;
    if (strcmp(choice, "cpu") == 0) return lud_cpu_backend.create(n_threads, place, device, error);
    if (!automatic && strcmp(choice, "cuda") != 0)
        return lud_invalid(error, "unknown device `%s`, expected cpu, cuda or auto", choice);
    if (automatic && !has_driver()) return lud_cpu_backend.create(n_threads, place, device, error);
    lud_error reason = {0};
    /* never for `auto`: what tests put there is no reason to leave the CPU */
    const lud_backend *backend = cuda_backend(automatic ? 0 : getenv("LUDUS_CUDA_MODULE"), &reason);
    lud_status status = backend ? backend->create(n_threads, place, device, &reason) : reason.status;
    if (status == LUD_OK) return LUD_OK;
    if (automatic) return lud_cpu_backend.create(n_threads, place, device, error);
    return lud_fail(error, status, "%s", reason.text);
}

lud_status lud_device_open(const char *choice, int n_threads, lud_device **device, lud_error *error) {
    return lud_device_open_at(choice, n_threads, 0, device, error);
}

void lud_device_close(lud_device *device) {
    if (!device) return;
    for (int i = 0; i < 2; i++) lud_device_release(device, device->post[i]);
    device->backend->destroy(device);
}

void lud_device_set_strict(lud_device *device, bool strict) {
    device->strict = strict;
}
void lud_device_set_precision(lud_device *device, lud_precision precision) {
    device->precision = precision;
}
void lud_device_set_rows_apart(lud_device *device, bool apart) {
    device->rows_apart = apart;
}

void *lud_device_allocate(lud_device *device, size_t bytes) {
    return device->backend->allocate(device, bytes);
}
void lud_device_release(lud_device *device, void *memory) {
    if (memory) device->backend->release(device, memory);
}
void lud_device_upload(lud_device *device, void *to, const void *from_host, size_t bytes) {
    if (bytes) device->backend->upload(device, to, from_host, bytes);
}
void lud_device_download(lud_device *device, void *to_host, const void *from, size_t bytes) {
    if (bytes) device->backend->download(device, to_host, from, bytes);
}
void lud_device_copy(lud_device *device, void *to, const void *from, size_t bytes) {
    if (bytes) device->backend->copy(device, to, from, bytes);
}
void lud_device_zero(lud_device *device, void *memory, size_t bytes) {
    if (bytes) device->backend->zero(device, memory, bytes);
}
void lud_device_synchronise(lud_device *device) {
    device->backend->synchronise(device);
}
bool lud_device_reserve(lud_device *device, size_t bytes) {
    return device->backend->reserve(device, bytes);
}

void lud_device_run_both(lud_device *device, lud_device_work first, void *first_context,
                         lud_device_work second, void *second_context) {
    const lud_backend *backend = device->backend;
    if (backend->run_both && backend->run_both(device, first, first_context, second, second_context)) return;
    first(device, first_context);
    second(device, second_context);
}

bool lud_device_record_begin(lud_device *device) {
    return device->backend->records_graphs && device->backend->record_begin(device);
}
lud_graph *lud_device_record_end(lud_device *device) {
    return device->backend->record_end(device);
}
void lud_graph_launch(lud_device *device, lud_graph *graph) {
    device->backend->graph_launch(device, graph);
}
void lud_graph_destroy(lud_device *device, lud_graph *graph) {
    if (graph) device->backend->graph_destroy(device, graph);
}
lud_status lud_device_check(const lud_device *device, lud_error *error) {
    const lud_error *failure = &device->failure;
    return failure->status ? lud_fail(error, failure->status, "%s", failure->text) : LUD_OK;
}

const void *lud_device_symbol(const lud_device *device, const char *name) {
    Dl_info info;
    if (device->backend == &lud_cpu_backend || !dladdr(device->ops, &info)) return NULL;
    void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD); /* loaded already, and it stays */
    const void *symbol = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    return symbol;
}
