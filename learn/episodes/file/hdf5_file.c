#include "learn/episodes/file/hdf5_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/episodes/file/commit_file.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lud_hdf5_lock(void) {
    static bool quiet;
    pthread_mutex_lock(&mutex);
    /* what it does at the program's exit crashes on a file that could not be closed (a full disk); ours are
     * closed */
    if (!quiet) H5dont_atexit();
    quiet = true;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* a setting of the calling thread */
}

void lud_hdf5_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

size_t lud_number_bytes(lud_number type) {
    static const size_t bytes[] = {1, 1, 2, 4, 4, 8, 8, 4, 8};
    return bytes[type];
}

hid_t lud_number_hdf5(lud_number type) {
    switch (type) {
    case LUD_NUMBER_U8:
        return H5T_STD_U8LE;
    case LUD_NUMBER_I8:
        return H5T_STD_I8LE;
    case LUD_NUMBER_I16:
        return H5T_STD_I16LE;
    case LUD_NUMBER_I32:
        return H5T_STD_I32LE;
    case LUD_NUMBER_U32:
        return H5T_STD_U32LE;
    case LUD_NUMBER_I64:
        return H5T_STD_I64LE;
    case LUD_NUMBER_U64:
        return H5T_STD_U64LE;
    case LUD_NUMBER_F32:
        return H5T_IEEE_F32LE;
    default:
        return H5T_IEEE_F64LE;
    }
}

static hid_t access_list(void) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    /* The old superblock has no flag that says "open for writing", which a killed writer would leave behind;
     * the new formats of everything else are smaller. */
    if (list >= 0 && (H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0 ||
                      lud_commit_file_use(list) < 0)) {
        H5Pclose(list);
        return -1;
    }
    return list;
}

hid_t lud_hdf5_create(const char *path) {
    const hid_t access = access_list(), creation = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    /* links in the order of their making, so that episode_10 follows episode_9 */
    if (access >= 0 && creation >= 0 &&
        H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    H5Pclose(creation);
    H5Pclose(access);
    return file;
}

hid_t lud_hdf5_open(const char *path) {
    const hid_t access = access_list();
    const hid_t file = access >= 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : -1;
    H5Pclose(access);
    return file;
}

/* Opens the attribute, or makes it. */
static hid_t attribute(hid_t object, const char *name, hid_t type, hid_t space) {
    if (H5Aexists(object, name) > 0) return H5Aopen(object, name, H5P_DEFAULT);
    return H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
}

bool lud_hdf5_set_integer(hid_t object, const char *name, int64_t value) {
    const hid_t space = H5Screate(H5S_SCALAR), a = attribute(object, name, H5T_STD_I64LE, space);
    const bool good = a >= 0 && H5Awrite(a, H5T_NATIVE_INT64, &value) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Sclose(space);
    return good;
}

bool lud_hdf5_set_text(hid_t object, const char *name, const char *value) {
    const size_t n = strlen(value);
    const hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    bool good = H5Tset_size(type, n ? n : 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
    if (good && H5Aexists(object, name) > 0) good = H5Adelete(object, name) >= 0;
    const hid_t a = good ? H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    good = a >= 0 && H5Awrite(a, type, value) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Tclose(type);
    H5Sclose(space);
    return good;
}

/* The attribute where it is there and holds one element of a class. */
static hid_t open_scalar(hid_t object, const char *name, H5T_class_t class) {
    if (H5Aexists(object, name) <= 0) return -1;
    const hid_t a = H5Aopen(object, name, H5P_DEFAULT);
    if (a < 0) return -1;
    const hid_t type = H5Aget_type(a), space = H5Aget_space(a);
    const bool fits =
        type >= 0 && space >= 0 && H5Tget_class(type) == class && H5Sget_simple_extent_npoints(space) == 1;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (fits) return a;
    H5Aclose(a);
    return -1;
}

bool lud_hdf5_get_integer(hid_t object, const char *name, int64_t *value) {
    const hid_t a = open_scalar(object, name, H5T_INTEGER);
    const bool good = a >= 0 && H5Aread(a, H5T_NATIVE_INT64, value) >= 0;
    if (a >= 0) H5Aclose(a);
    return good;
}

bool lud_hdf5_get_text(hid_t object, const char *name, lud_text *value) {
    enum { MOST = 16 << 20 };
    const hid_t a = open_scalar(object, name, H5T_STRING);
    if (a < 0) return false;
    const hid_t type = H5Aget_type(a);
    const size_t n = H5Tget_size(type);
    char *text = H5Tis_variable_str(type) == 0 && n <= MOST ? calloc(n + 1, 1) : NULL;
    const bool good = text && H5Aread(a, type, text) >= 0;
    if (good) lud_text_append_bytes(value, text, strlen(text));
    free(text);
    H5Tclose(type);
    H5Aclose(a);
    return good && !value->failed;
}

bool lud_hdf5_absent(hid_t object, const char *name) {
    return H5Aexists(object, name) == 0;
}

typedef struct reason {
    char *text;
    size_t n;
} reason;

static herr_t take_reason(unsigned number, const H5E_error2_t *e, void *data) {
    (void)number;
    const reason *r = data;
    snprintf(r->text, r->n, "%s", e->desc ? e->desc : "");
    return 0;
}

void lud_hdf5_reason(char *text, size_t n) {
    snprintf(text, n, "no reason given");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, &(reason){text, n});
}

lud_status lud_hdf5_write_error(const char *path, lud_error *error) {
    char text[256];
    lud_hdf5_reason(text, sizeof text);
    return lud_fail(error, LUD_ERROR_IO, "%s: cannot be written: %s", path, text);
}
