/* Files that a test writes for the program to read. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"

static inline void write_in(const char *folder, const char *name, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path_in(folder, name), text, strlen(text), &error)) fail_msg("%s", error.text);
}
