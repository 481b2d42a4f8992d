/* What the header of an object in an HDF5 file says of where its numbers lie ("HDF5 File Format
 * Specification", IV.A), read before HDF5 decodes it: HDF5 1.10 reads behind the end of its memory, or for
 * ever, when a data set says that it is put together from others and what says how is not that. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

/* Whether the object at an address of the file that `object` is in keeps its numbers in its own header, in
 * one piece of the file or in chunks: neither in other data sets nor in other files. False also where the
 * header makes no sense. */
bool lud_object_header_is_plain(hid_t object, haddr_t address);
