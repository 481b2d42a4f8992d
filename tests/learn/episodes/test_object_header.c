/* Headers of data sets in HDF5 files, of both versions: which of them keep their numbers where they are, and
 * what is said of headers that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/episodes/file/hdf5_file.h"
#include "learn/episodes/file/object_header.h"

#include "folder.h"

TEST_FOLDER("/tmp/ludus-header-XXXXXX")

/* Where the numbers of a data set lie. */
typedef enum storage { COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL, EXTERNAL, STORAGES } storage;
static const char *const names[STORAGES] = {"compact", "contiguous", "chunked", "virtual", "external"};

static hid_t list_of(storage kind, hid_t space) {
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 2;
    if (kind == COMPACT) assert_true(H5Pset_layout(list, H5D_COMPACT) >= 0);
    if (kind == CHUNKED) assert_true(H5Pset_chunk(list, 1, &chunk) >= 0);
    if (kind == VIRTUAL) assert_true(H5Pset_virtual(list, space, "other.h5", "/numbers", space) >= 0);
    if (kind == EXTERNAL) assert_true(H5Pset_external(list, "other.bin", 0, 32) >= 0);
    return list;
}

/* A file with one of each, and so many attributes that headers go on elsewhere. */
static void make_file(const char *path, bool latest, int n_attributes) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (latest) assert_true(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hsize_t extent = 4;
    const hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t sets[STORAGES];
    for (storage kind = 0; kind < STORAGES; kind++) {
        const hid_t list = list_of(kind, space);
        sets[kind] = H5Dcreate2(file, names[kind], H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
        assert_true(sets[kind] >= 0);
        H5Pclose(list);
    }
    /* in turn, so that no header has room behind it */
    for (int i = 0; i < n_attributes; i++)
        for (storage kind = 0; kind < STORAGES; kind++) {
            char name[32];
            snprintf(name, sizeof name, "attribute %d", i);
            assert_true(lud_hdf5_set_integer(sets[kind], name, i));
        }
    for (storage kind = 0; kind < STORAGES; kind++) H5Dclose(sets[kind]);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(access);
}

static haddr_t address_of(hid_t file, const char *name) {
    const hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    H5O_info_t info;
    assert_true(object >= 0 && H5Oget_info(object, &info) >= 0);
    H5Oclose(object);
    return info.addr;
}

static void only_own_numbers_are_plain(void **state) {
    (void)state;
    for (int latest = 0; latest < 2; latest++)
        for (int n = 0; n <= 7; n += 7) {
            lud_hdf5_lock();
            make_file(in_folder("sets.h5"), latest, n);
            const hid_t file = lud_hdf5_open(in_folder("sets.h5"));
            assert_true(file >= 0);
            for (storage kind = 0; kind < STORAGES; kind++)
                assert_int_equal(lud_object_header_is_plain(file, address_of(file, names[kind])),
                                 kind <= CHUNKED);
            H5Fclose(file);
            lud_hdf5_unlock();
        }
}

/* Places that are none of an object, in the file and behind its end. */
static void nothing_else_is_a_header(void **state) {
    (void)state;
    lud_hdf5_lock();
    make_file(in_folder("sets.h5"), true, 0);
    const hid_t file = lud_hdf5_open(in_folder("sets.h5"));
    const haddr_t own = address_of(file, "chunked");
    assert_false(lud_object_header_is_plain(file, 0));
    assert_false(lud_object_header_is_plain(file, own + 1));
    assert_false(lud_object_header_is_plain(file, 1 << 30));
    assert_false(lud_object_header_is_plain(file, HADDR_UNDEF));
    assert_false(lud_object_header_is_plain(-1, own));
    H5Fclose(file);
    lud_hdf5_unlock();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_own_numbers_are_plain),
        cmocka_unit_test(nothing_else_is_a_header),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
