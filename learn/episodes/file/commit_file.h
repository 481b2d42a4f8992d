/* An HDF5 file that is whole at every moment: whoever opens it sees all that was written up to the last
 * flush, even where the writer was killed.
 *
 * HDF5 itself overwrites its tables in place whenever its cache pleases. This file driver lets new bytes
 * through behind what was committed and holds back every write into what was; H5Fflush commits: the held
 * pages go to `FILE.journal`, with a checksum, from there into the file, and the journal goes. A writer that
 * is killed between two commits leaves the file of the first with unused bytes behind it, which HDF5 passes
 * over. One that is killed within the fraction of a millisecond of the last part leaves the journal too,
 * which opening with this driver reads over the file (a write-ahead log; Mohan et al., "ARIES", 1992, section
 * 1). */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/* A whole number of n bytes, as these files have them. */
static inline uint64_t lud_hdf5_number_at(const uint8_t *bytes, int n) {
    uint64_t number = 0;
    while (n--) number = number << 8 | bytes[n];
    return number;
}

/* Lets files that are opened or created with the property list use the driver. Negative when HDF5 refuses.
 * The driver keeps no lock; one writer at a time is the caller's promise. */
herr_t lud_commit_file_use(hid_t file_access_list);
/* n bytes at an address of the file that an object opened with the driver is in, as HDF5 has them; false
 * where there are none. */
bool lud_commit_file_read(hid_t object, haddr_t address, size_t n, void *bytes);
/* Removes a file that was written with the driver, and its journal where one is left. */
void lud_commit_file_remove(const char *path);
