#include "base/module.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };
static const char in_this_file = 0; /* an address of the program or the library that has this code */

/* Whether it lies beside the file `object`, or where it is installed seen from there. */
static bool is_near(const char *object, const char *file, char path[PATH_BYTES]) {
    static const char *const places[] = {
        "", "../", "ludus/", "../" LUDUS_LIBRARY_FOLDER "/ludus/"}; /* "../": tests in a build's subfolder */
    const char *slash = strrchr(object, '/');
    for (size_t i = 0; i < sizeof places / sizeof *places && slash; i++) {
        snprintf(path, PATH_BYTES, "%.*s/%s%s", (int)(slash - object), object, places[i], file);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

void *lud_module_load_from(const char *path, lud_error *error) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s", dlerror()); /* it names the file */
    return module;
}

void *lud_module_load(const char *file, lud_error *error) {
    char program[PATH_BYTES - 1024] = "", path[PATH_BYTES];
    Dl_info here;
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0 && is_near(program, file, path))
        return lud_module_load_from(path, error);
    if (dladdr(&in_this_file, &here) && here.dli_fname && is_near(here.dli_fname, file, path))
        return lud_module_load_from(path, error);
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!module) lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s is not beside the program", file);
    return module;
}

const void *lud_module_symbol(void *module, const char *file, const char *symbol, lud_error *error) {
    const void *found = dlsym(module, symbol);
    if (!found) lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s has no symbol %s", file, symbol);
    return found;
}
