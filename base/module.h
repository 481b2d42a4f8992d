/* Parts of the program that are files of their own, loaded when somebody asks for them: what only machines
 * with a GPU, or with MPI, can load. */
#pragma once

#include "base/status.h"

/* Loads `file` (ludus_cuda.so): beside the program, beside the library that this is in, where it is installed
 * seen from either, else where the loader looks. It stays for the life of the program. Null, and
 * LUD_ERROR_UNSUPPORTED with the reason, when it is nowhere or cannot be loaded. */
void *lud_module_load(const char *file, lud_error *error);
/* The same from this path and no other. */
void *lud_module_load_from(const char *path, lud_error *error);
/* What the module exports under the name; null, with a message, when it does not. */
const void *lud_module_symbol(void *module, const char *file, const char *symbol, lud_error *error);
