#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "learn/episodes/data_set_parts.h"
#include "learn/episodes/file/object_header.h"

/* Deflate makes nothing smaller than by a factor of 1032; a file that says more invents it. */
enum { MOST_COMPRESSION = 1100, MOST_CHUNK_BYTES = 1 << 28, CACHE_BYTES = 64 << 20, CACHE_SLOTS = 12421 };

lud_status lud_data_wrong(const lud_data_set *set, lud_error *error, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lud_invalid(error, "%s: %s", set->info.path, text);
}

#if H5_VERSION_GE(1, 12, 0) /* where an address is called a token */
#define LINK_INFO H5L_info1_t
#define get_link  H5Lget_info1
#else
#define LINK_INFO H5L_info_t
#define get_link  H5Lget_info
#endif

/* Whether the name is of an object in this very file, and where that is. */
static bool is_here(hid_t parent, const char *name, haddr_t *address) {
    LINK_INFO info;
    const bool here = H5Lexists(parent, name, H5P_DEFAULT) > 0 &&
                      get_link(parent, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
    if (here) *address = info.u.address;
    return here;
}

hid_t lud_data_open_group(hid_t parent, const char *name) {
    haddr_t address;
    return is_here(parent, name, &address) ? H5Gopen2(parent, name, H5P_DEFAULT) : -1;
}

static bool storage_is_sane(hid_t array, int rank, const hsize_t *extent, size_t number_bytes,
                            uint64_t file_bytes) {
    const hid_t creation = H5Dget_create_plist(array);
    bool good = creation >= 0 && H5Pget_external_count(creation) == 0;
    const H5D_layout_t layout = good ? H5Pget_layout(creation) : H5D_LAYOUT_ERROR;
    hsize_t chunk[LUD_MAX_DIMENSIONS + 2];
    uint64_t bytes = number_bytes, chunk_bytes = number_bytes;
    good = good && (layout == H5D_COMPACT || layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED);
    if (good && layout == H5D_CHUNKED) good = H5Pget_chunk(creation, rank, chunk) == rank;
    for (int d = 0; d < rank && good; d++) {
        if (__builtin_mul_overflow(bytes, extent[d], &bytes)) good = false;
        if (layout == H5D_CHUNKED &&
            (__builtin_mul_overflow(chunk_bytes, chunk[d], &chunk_bytes) || chunk_bytes > MOST_CHUNK_BYTES))
            good = false;
    }
    if (creation >= 0) H5Pclose(creation);
    return good && bytes / MOST_COMPRESSION <= file_bytes;
}

/* Integers, h5py's booleans and floats. */
static bool read_type(hid_t array, lud_data_shape *shape) {
    hid_t type = H5Dget_type(array);
    if (type < 0) return false;
    if (H5Tget_class(type) == H5T_ENUM) {
        const hid_t base = H5Tget_super(type);
        H5Tclose(type);
        if ((type = base) < 0) return false;
    }
    shape->class = H5Tget_class(type);
    shape->number_bytes = H5Tget_size(type);
    shape->is_signed = shape->class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    H5Tclose(type);
    return (shape->class == H5T_INTEGER || shape->class == H5T_FLOAT) && shape->number_bytes >= 1 &&
           shape->number_bytes <= 8;
}

hid_t lud_data_open_array(const lud_data_set *set, hid_t parent, const char *name, lud_data_shape *shape) {
    haddr_t address;
    if (parent < 0 || !is_here(parent, name, &address) || !lud_object_header_is_plain(parent, address))
        return -1;
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_BYTES, 0.75);
    const hid_t array = H5Dopen2(parent, name, access);
    H5Pclose(access);
    const hid_t space = array >= 0 ? H5Dget_space(array) : -1;
    hsize_t extent[LUD_MAX_DIMENSIONS + 2] = {0};
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    bool good = rank >= 1 && rank <= LUD_MAX_DIMENSIONS + 2 &&
                H5Sget_simple_extent_dims(space, extent, NULL) == rank && read_type(array, shape) &&
                storage_is_sane(array, rank, extent, shape->number_bytes, set->file_bytes);
    if (good && shape->rank >= 0) {
        good = rank == shape->rank + 1;
        for (int d = 0; d < shape->rank && good; d++) good = extent[d + 1] == shape->dimensions[d];
    } else if (good) {
        shape->rank = rank - 1;
        for (int d = 0; d < rank - 1; d++) shape->dimensions[d] = extent[d + 1];
    }
    shape->rows = extent[0];
    if (space >= 0) H5Sclose(space);
    if (good) return array;
    if (array >= 0) H5Dclose(array);
    return -1;
}

bool lud_data_read_rows(hid_t array, hid_t type, const lud_data_shape *shape, uint64_t first, uint64_t n,
                        void *rows) {
    if (!n) return true;
    hsize_t start[LUD_MAX_DIMENSIONS + 2] = {first}, count[LUD_MAX_DIMENSIONS + 2] = {n};
    for (int d = 0; d < shape->rank; d++) count[d + 1] = shape->dimensions[d];
    for (int d = 0; d < shape->rank; d++)
        if (!count[d + 1]) return true;
    const hid_t from = H5Dget_space(array), to = H5Screate_simple(1 + shape->rank, count, NULL);
    const bool good = from >= 0 && to >= 0 &&
                      H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      H5Dread(array, type, to, from, H5P_DEFAULT, rows) >= 0;
    if (from >= 0) H5Sclose(from);
    if (to >= 0) H5Sclose(to);
    return good;
}

/* --- opening --- */

static const char *const minari_files[] = {"main_data.hdf5", "data/main_data.hdf5"};

/* The file that a path stands for; appended. */
static void file_of(const char *path, lud_text *file) {
    if (lud_folder_exists(path))
        for (size_t k = 0; k < sizeof minari_files / sizeof *minari_files; k++) {
            lud_text_clear(file);
            lud_text_append(file, "%s/%s", path, minari_files[k]);
            if (!file->failed && lud_file_exists(file->bytes)) return;
        }
    lud_text_clear(file);
    lud_text_append(file, "%s", path);
}

static bool has_signature(const char *path) {
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    uint8_t bytes[8];
    const int file = lud_file_descriptor(path);
    if (file < 0) return false;
    const bool found =
        read(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes && !memcmp(bytes, signature, sizeof bytes);
    close(file);
    return found;
}

bool lud_data_set_is(const char *path) {
    lud_text file = {0};
    file_of(path, &file);
    const bool found = !file.failed && lud_file_exists(file.bytes) && has_signature(file.bytes);
    lud_text_free(&file);
    return found;
}

/* Files may be made in which lengths have fewer bytes; no program makes such, and what is looked at before
 * HDF5 reads it (commit_file.c) has eight. */
static lud_status check_lengths(const lud_data_set *set, lud_error *error) {
    const hid_t creation = H5Fget_create_plist(set->file);
    size_t of_addresses = 0, of_lengths = 0;
    if (creation >= 0) H5Pget_sizes(creation, &of_addresses, &of_lengths);
    if (creation >= 0) H5Pclose(creation);
    return of_lengths == 8
               ? LUD_OK
               : lud_data_wrong(set, error, "expected lengths of 8 bytes in the HDF5 file, found %zu",
                                of_lengths);
}

static lud_status open_file(lud_data_set *set, lud_error *error) {
    struct stat info;
    if (stat(set->info.path, &info) || !S_ISREG(info.st_mode))
        return lud_data_wrong(set, error, "no such data set");
    if (!has_signature(set->info.path))
        return lud_data_wrong(set, error, "expected a data set in an HDF5 file, found something else");
    set->file_bytes = (uint64_t)info.st_size;
    set->file = lud_hdf5_open(set->info.path);
    if (set->file < 0) {
        char reason[256];
        lud_hdf5_reason(reason, sizeof reason);
        return lud_data_wrong(set, error, "expected a whole HDF5 file: %s", reason);
    }
    LUD_TRY(check_lengths(set, error));
    set->group = lud_data_open_group(set->file, "ludus");
    return set->group >= 0 ? lud_data_open_own(set, error) : lud_data_open_minari(set, error);
}

lud_status lud_data_set_open(const char *path, lud_data_set **out, lud_error *error) {
    lud_data_set *set = calloc(1, sizeof *set);
    lud_text file = {0};
    file_of(path, &file);
    if (set) {
        set->file = set->group = set->summary_text = set->hash_values = -1;
        for (int k = 0; k < LUD_DATA_ARRAYS; k++) set->arrays[k] = -1;
        for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) set->observations[p] = -1;
        set->played.episode = -1;
        set->arena = lud_arena_create(0);
        if (set->arena && !file.failed) set->info.path = lud_arena_text(set->arena, file.bytes, file.length);
        pthread_mutex_init(&set->mutex, NULL);
    }
    lud_text_free(&file);
    if (!set || !set->info.path) {
        lud_data_set_close(set);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to read it", path);
    }
    lud_hdf5_lock();
    const lud_status status = open_file(set, error);
    lud_hdf5_unlock();
    if (status)
        lud_data_set_close(set);
    else
        *out = set;
    return status;
}
