/* HDF5 as this room calls it: one call at a time, no messages of its own on stderr, and every failure a
 * status. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Between these two the calling thread has HDF5 for itself. They do not nest. */
void lud_hdf5_lock(void);
void lud_hdf5_unlock(void);

/* Everything below is called with the lock held. */

/* Number types of columns, all little-endian. */
typedef enum lud_number {
    LUD_NUMBER_U8,
    LUD_NUMBER_I8,
    LUD_NUMBER_I16,
    LUD_NUMBER_I32,
    LUD_NUMBER_U32,
    LUD_NUMBER_I64,
    LUD_NUMBER_U64,
    LUD_NUMBER_F32,
    LUD_NUMBER_F64
} lud_number;
size_t lud_number_bytes(lud_number type);
/* The type in files; HDF5's own, not to be closed. */
hid_t lud_number_hdf5(lud_number type);

/* Creates (replacing) or opens a file with the driver of commit_file.h; negative when it fails. */
hid_t lud_hdf5_create(const char *path);
hid_t lud_hdf5_open(const char *path);

/* Attributes of an object; false when HDF5 refuses, and for readers also when it is absent or of another
 * kind. */
bool lud_hdf5_set_integer(hid_t object, const char *name, int64_t value);
bool lud_hdf5_set_text(hid_t object, const char *name, const char *value);
bool lud_hdf5_get_integer(hid_t object, const char *name, int64_t *value);
/* Texts have a fixed length: HDF5 1.10 crashes on heaps of other texts that were tampered with. The text is
 * appended; at most 16 MiB. */
bool lud_hdf5_get_text(hid_t object, const char *name, lud_text *value);
/* Whether there surely is no such attribute; one that is there and could not be read is not absent. */
bool lud_hdf5_absent(hid_t object, const char *name);

/* "FILE: cannot be written" with HDF5's own reason; LUD_ERROR_IO. */
lud_status lud_hdf5_write_error(const char *path, lud_error *error);
/* The innermost message that HDF5 left, such as "unable to read raw data chunk"; `text` of `n` bytes. */
void lud_hdf5_reason(char *text, size_t n);
