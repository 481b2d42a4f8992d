#include "kernels/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/cpu_device.h"
#include "module_abi.h"

/* What the module exports for this file: a const lud_backend. */
#define CUDA_SYMBOL "lud_cuda_backend"
#define CUDA_FILE   "ludus_cuda.so"

static const lud_backend *backend_of(void *library, const char *path, lud_error *error) {
    const lud_backend *backend = dlsym(library, CUDA_SYMBOL);
    if (!backend) {
        lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s has no symbol %s", path, CUDA_SYMBOL);
    } else if (backend->abi != LUD_MODULE_ABI) {
        lud_fail(error, LUD_ERROR_UNSUPPORTED,
                 "%s is of another build: its ABI number is %08x, expected %08x", path, backend->abi,
                 LUD_MODULE_ABI);
        return 0;
    }
    return backend;
}

static const lud_backend *backend_in(const char *path, lud_error *error) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return backend_of(library, path, error);
    lud_fail(error, LUD_ERROR_UNSUPPORTED, "cannot load the CUDA backend: %s", dlerror());
    return 0;
}

/* Finds the module beside the file `object`, or where it is installed seen from there. */
static bool module_near(const char *object, char path[4096]) {
    static const char *const places[] = {
        "", "../", "ludus/", "../" LUDUS_LIBRARY_FOLDER "/ludus/"}; /* "../": tests in a build's subfolder */
    const char *slash = strrchr(object, '/');
    for (size_t i = 0; i < sizeof places / sizeof *places && slash; ++i) {
        snprintf(path, 4096, "%.*s/%s" CUDA_FILE, (int)(slash - object), object, places[i]);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

/* Looks near the executable, near the library that this is in, then where the loader looks. The handle stays
 * open for the life of the program: devices hold pointers into it. */
static const lud_backend *cuda_backend(const char *module, lud_error *error) {
    if (module) return backend_in(module, error);
    char program[3072] = "", path[4096];
    Dl_info here;
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0 && module_near(program, path))
        return backend_in(path, error);
    if (dladdr(&lud_cpu_backend, &here) && here.dli_fname && module_near(here.dli_fname, path))
        return backend_in(path, error);
    void *library = dlopen(CUDA_FILE, RTLD_NOW | RTLD_LOCAL);
    if (library) return backend_of(library, CUDA_FILE, error);
    lud_fail(error, LUD_ERROR_UNSUPPORTED, "no CUDA backend: %s is not beside the program", CUDA_FILE);
    return 0;
}

lud_status lud_device_open(const char *choice, int n_threads, lud_device **device, lud_error *error) {
    *device = 0;
    bool automatic = strcmp(choice, "auto") == 0;
    if (strcmp(choice, "cpu") == 0) return lud_cpu_backend.create(n_threads, device, error);
    if (!automatic && strcmp(choice, "cuda") != 0)
        return lud_invalid(error, "unknown device `%s`, expected cpu, cuda or auto", choice);
    lud_error reason = {0};
    /* never for `auto`: what tests put there is no reason to leave the CPU */
    const lud_backend *backend = cuda_backend(automatic ? 0 : getenv("LUDUS_CUDA_MODULE"), &reason);
    lud_status status = backend ? backend->create(n_threads, device, &reason) : reason.status;
    if (status == LUD_OK) return LUD_OK;
    if (automatic) return lud_cpu_backend.create(n_threads, device, error);
    return lud_fail(error, status, "%s", reason.text);
}

void lud_device_close(lud_device *device) {
    if (device) device->backend->destroy(device);
}

void lud_device_set_strict(lud_device *device, bool strict) {
    device->strict = strict;
}
void lud_device_set_precision(lud_device *device, lud_precision precision) {
    device->precision = precision;
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
