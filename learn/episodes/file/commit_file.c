#include "learn/episodes/file/commit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/file.h"

#if H5_VERSION_GE(1, 13, 2)
#include <H5FDdevelop.h>
#endif

enum { PAGE = 4096, JOURNAL_PAGES = 1 << 18 };
static const uint64_t journal_magic = 0x314c4e4a44554cu; /* LUDJNL1 */

typedef struct page {
    uint64_t number;
    uint8_t *bytes; /* [PAGE] */
} page;

typedef struct commit_file {
    H5FD_t base; /* HDF5's own part comes first */
    int descriptor;
    bool writes;
    haddr_t end_of_addresses;
    uint64_t size;      /* of the file on disk */
    uint64_t committed; /* bytes that the file on disk needs as they are */
    page *pages;        /* [n_pages] held back, in order of their numbers */
    size_t n_pages, capacity;
    dev_t device;
    ino_t node;
    char *journal;
} commit_file;

static bool read_all(int descriptor, uint64_t at, size_t n, void *bytes) {
    uint8_t *to = bytes;
    while (n) {
        const ssize_t got = pread(descriptor, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (!got) { /* behind the end there are zeros */
            memset(to, 0, n);
            break;
        }
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int descriptor, uint64_t at, size_t n, const void *bytes) {
    const uint8_t *from = bytes;
    while (n) {
        const ssize_t put = pwrite(descriptor, from, n, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        from += put;
        at += (uint64_t)put;
        n -= (size_t)put;
    }
    return true;
}

/* --- held pages --- */

/* Where the page is or would be. */
static size_t find_page(const commit_file *f, uint64_t number) {
    size_t low = 0, high = f->n_pages;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (f->pages[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The page, which is held from now on; null when memory is out. */
static uint8_t *hold_page(commit_file *f, uint64_t number) {
    const size_t at = find_page(f, number);
    if (at < f->n_pages && f->pages[at].number == number) return f->pages[at].bytes;
    if (f->n_pages == f->capacity) {
        const size_t capacity = 2 * f->capacity + 64;
        page *pages = realloc(f->pages, capacity * sizeof *pages);
        if (!pages) return NULL;
        f->pages = pages;
        f->capacity = capacity;
    }
    uint8_t *bytes = malloc(PAGE);
    if (!bytes || !read_all(f->descriptor, number * PAGE, PAGE, bytes)) {
        free(bytes);
        return NULL;
    }
    memmove(f->pages + at + 1, f->pages + at, (f->n_pages - at) * sizeof *f->pages);
    f->pages[at] = (page){number, bytes};
    f->n_pages++;
    return bytes;
}

static void forget_pages(commit_file *f) {
    for (size_t k = 0; k < f->n_pages; k++) free(f->pages[k].bytes);
    f->n_pages = 0;
}

/* Bytes of the file as they will be. */
static bool read_held(const commit_file *f, uint64_t at, size_t n, void *bytes) {
    if (!read_all(f->descriptor, at, n, bytes)) return false;
    for (size_t k = find_page(f, at / PAGE); k < f->n_pages && f->pages[k].number * PAGE < at + n; k++) {
        const uint64_t page_begin = f->pages[k].number * PAGE;
        const uint64_t begin = page_begin > at ? page_begin : at;
        const uint64_t end = page_begin + PAGE < at + n ? page_begin + PAGE : at + n;
        memcpy((uint8_t *)bytes + (begin - at), f->pages[k].bytes + (begin - page_begin), end - begin);
    }
    return true;
}

/* --- the journal: magic, number of pages, (number, bytes) of each, XXH3 of all before --- */

static bool put(FILE *stream, XXH3_state_t *hash, const void *bytes, size_t n) {
    XXH3_64bits_update(hash, bytes, n);
    return fwrite(bytes, 1, n, stream) == n;
}

static bool write_journal(const commit_file *f) {
    FILE *stream = lud_file_own_stream(f->journal, false);
    XXH3_state_t *hash = XXH3_createState();
    const uint64_t n = f->n_pages;
    bool good = stream && hash;
    if (good) {
        XXH3_64bits_reset(hash);
        good = put(stream, hash, &journal_magic, sizeof journal_magic) && put(stream, hash, &n, sizeof n);
    }
    for (size_t k = 0; k < n && good; k++)
        good = put(stream, hash, &f->pages[k].number, sizeof f->pages[k].number) &&
               put(stream, hash, f->pages[k].bytes, PAGE);
    const uint64_t sum = good ? XXH3_64bits_digest(hash) : 0;
    good = good && fwrite(&sum, sizeof sum, 1, stream) == 1;
    XXH3_freeState(hash);
    if (stream && fclose(stream)) good = false;
    if (!good && stream) (void)unlink(f->journal); /* half of one is as none */
    return good;
}

/* Reads a journal that is complete over the file; any other is as if it were not there: its pages were not
 * yet written into the file. False when memory is out. */
static bool read_journal(commit_file *f) {
    FILE *stream = lud_file_stream(f->journal);
    if (!stream) return true;
    XXH3_state_t *hash = XXH3_createState();
    uint64_t head[2] = {0}, sum = 0;
    bool complete = hash && fread(head, sizeof head, 1, stream) == 1 && head[0] == journal_magic &&
                    head[1] <= JOURNAL_PAGES,
         memory = hash != NULL;
    if (complete) {
        XXH3_64bits_reset(hash);
        XXH3_64bits_update(hash, head, sizeof head);
    }
    for (uint64_t k = 0; k < head[1] && complete && memory; k++) {
        uint64_t number;
        uint8_t bytes[PAGE];
        complete = fread(&number, sizeof number, 1, stream) == 1 && fread(bytes, PAGE, 1, stream) == 1 &&
                   number < (uint64_t)1 << 50;
        if (!complete) break;
        XXH3_64bits_update(hash, &number, sizeof number);
        XXH3_64bits_update(hash, bytes, PAGE);
        uint8_t *held = hold_page(f, number);
        memory = held != NULL;
        if (held) memcpy(held, bytes, PAGE);
    }
    complete =
        complete && memory && fread(&sum, sizeof sum, 1, stream) == 1 && sum == XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    fclose(stream);
    if (!complete) forget_pages(f);
    return memory;
}

static bool commit(commit_file *f) {
    const uint64_t end = f->end_of_addresses;
    if (f->size < end) { /* HDF5 refuses files that are shorter than they say */
        if (ftruncate(f->descriptor, (off_t)end)) return false;
        f->size = end;
    }
    if (f->n_pages) {
        if (!write_journal(f)) return false;
        for (size_t k = 0; k < f->n_pages; k++)
            if (!write_all(f->descriptor, f->pages[k].number * PAGE, PAGE, f->pages[k].bytes)) return false;
        const uint64_t last = (f->pages[f->n_pages - 1].number + 1) * PAGE;
        if (f->size < last) f->size = last;
        if (unlink(f->journal)) return false;
        forget_pages(f);
    }
    if (f->committed < end) f->committed = end;
    return true;
}

/* --- heaps that can be read --- */

/* Objects of variable length lie in collections ("HDF5 File Format Specification", III.E): a header, then
 * objects one behind the other, each with its length. HDF5 1.10 goes on for ever at one of length 0, and
 * behind the end at one that is too long. */
enum { HEAP_HEADER = 16, OBJECT_HEADER = 16 };
static const uint8_t heap_signature[8] = {'G', 'C', 'O', 'L', 1};

/* Whether the objects of the collection at `at` end where it ends. */
static bool heap_is_sound(const commit_file *f, uint64_t at) {
    uint8_t header[HEAP_HEADER];
    if (!read_held(f, at, sizeof header, header)) return false;
    const uint64_t size = lud_hdf5_number_at(header + 8, 8);
    const uint64_t end = f->end_of_addresses;
    if (size < HEAP_HEADER || at > end || size > end - at) return false;
    uint8_t *heap = malloc(size);
    bool sound = heap && read_held(f, at, size, heap);
    for (uint64_t next = HEAP_HEADER; sound && size - next >= OBJECT_HEADER;) {
        const uint64_t length = lud_hdf5_number_at(heap + next + 8, 8), left = size - next;
        const bool is_free = lud_hdf5_number_at(heap + next, 2) == 0; /* its length has the header in it */
        const uint64_t whole = is_free ? length : OBJECT_HEADER + (length + 7) / 8 * 8;
        sound = length <= left && whole > 0 && whole <= left;
        next += whole;
    }
    free(heap);
    return sound;
}

/* --- what HDF5 asks for --- */

static void free_file(commit_file *f) {
    forget_pages(f);
    if (f->descriptor >= 0) close(f->descriptor);
    free(f->pages);
    free(f->journal);
    free(f);
}

static H5FD_t *open_file(const char *name, unsigned flags, hid_t list, haddr_t most) {
    (void)list;
    (void)most;
    commit_file *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->writes = flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_EXCL);
    int mode = f->writes ? O_RDWR : O_RDONLY;
    if (flags & H5F_ACC_TRUNC) mode |= O_TRUNC;
    if (flags & H5F_ACC_CREAT) mode |= O_CREAT;
    if (flags & H5F_ACC_EXCL) mode |= O_EXCL;
    f->descriptor = open(name, mode | O_CLOEXEC, 0666);
    struct stat info;
    bool good = f->descriptor >= 0 && !fstat(f->descriptor, &info);
    if (good && asprintf(&f->journal, "%s.journal", name) < 0) {
        f->journal = NULL;
        good = false;
    }
    if (good) {
        f->size = f->committed = (uint64_t)info.st_size;
        f->device = info.st_dev;
        f->node = info.st_ino;
        if (flags & H5F_ACC_TRUNC)
            (void)unlink(f->journal); /* of a file that is no more */
        else
            good = read_journal(f);
    }
    if (good) return &f->base;
    free_file(f);
    return NULL;
}

static herr_t close_file(H5FD_t *base) {
    commit_file *f = (commit_file *)base;
    bool good = true;
    if (f->writes) {
        good = commit(f);
        if (good && f->size > f->end_of_addresses)
            good = !ftruncate(f->descriptor, (off_t)f->end_of_addresses);
        if (good && fsync(f->descriptor) && errno != EINVAL) good = false;
    }
    free_file(f);
    return good ? 0 : -1;
}

static int compare(const H5FD_t *a, const H5FD_t *b) {
    const commit_file *one = (const commit_file *)a, *other = (const commit_file *)b;
    if (one->device != other->device) return one->device < other->device ? -1 : 1;
    return one->node < other->node ? -1 : one->node > other->node;
}

static herr_t query(const H5FD_t *base, unsigned long *flags) {
    (void)base;
    if (flags)
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                 H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t get_end_of_addresses(const H5FD_t *base, H5FD_mem_t type) {
    (void)type;
    return ((const commit_file *)base)->end_of_addresses;
}

static herr_t set_end_of_addresses(H5FD_t *base, H5FD_mem_t type, haddr_t end) {
    (void)type;
    ((commit_file *)base)->end_of_addresses = end;
    return 0;
}

static haddr_t get_size(const H5FD_t *base, H5FD_mem_t type) {
    (void)type;
    return ((const commit_file *)base)->size;
}

/* A pointer to itself. */
static herr_t get_handle(H5FD_t *base, hid_t list, void **handle) {
    (void)list;
    *handle = base;
    return 0;
}

static herr_t read_bytes(H5FD_t *base, H5FD_mem_t type, hid_t list, haddr_t at, size_t n, void *bytes) {
    (void)type;
    (void)list;
    const commit_file *f = (const commit_file *)base;
    if (at > f->end_of_addresses || n > f->end_of_addresses - at) return -1;
    if (!read_held(f, at, n, bytes)) return -1;
    const bool is_heap =
        n >= sizeof heap_signature && memcmp(bytes, heap_signature, sizeof heap_signature) == 0;
    return is_heap && !f->writes && !heap_is_sound(f, at) ? -1 : 0;
}

static herr_t write_bytes(H5FD_t *base, H5FD_mem_t type, hid_t list, haddr_t at, size_t n,
                          const void *bytes) {
    (void)type;
    (void)list;
    commit_file *f = (commit_file *)base;
    const uint8_t *from = bytes;
    while (n) {
        const uint64_t number = at / PAGE, within = at % PAGE;
        const size_t k = find_page(f, number);
        const bool held = k < f->n_pages && f->pages[k].number == number;
        if (at >= f->committed && number * PAGE >= f->committed && !held) {
            /* new space, up to the next page that is held */
            const uint64_t next = k < f->n_pages ? f->pages[k].number * PAGE : UINT64_MAX;
            const size_t most = next - at < n ? (size_t)(next - at) : n;
            if (!write_all(f->descriptor, at, most, from)) return -1;
            if (f->size < at + most) f->size = at + most;
            at += most;
            from += most;
            n -= most;
            continue;
        }
        const size_t most = PAGE - within < n ? (size_t)(PAGE - within) : n;
        uint8_t *page_bytes = hold_page(f, number);
        if (!page_bytes) return -1;
        memcpy(page_bytes + within, from, most);
        at += most;
        from += most;
        n -= most;
    }
    return 0;
}

static herr_t flush(H5FD_t *base, hid_t list, hbool_t closing) {
    (void)list;
    (void)closing;
    commit_file *f = (commit_file *)base;
    return !f->writes || commit(f) ? 0 : -1;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)513,
#endif
    .name = "ludus_commit",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = open_file,
    .close = close_file,
    .cmp = compare,
    .query = query,
    .get_eoa = get_end_of_addresses,
    .set_eoa = set_end_of_addresses,
    .get_eof = get_size,
    .get_handle = get_handle,
    .read = read_bytes,
    .write = write_bytes,
    .flush = flush,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hid_t driver_number = H5I_INVALID_HID;

static void make_driver(void) {
    driver_number = H5FDregister(&driver);
}

herr_t lud_commit_file_use(hid_t list) {
    pthread_once(&once, make_driver);
    return driver_number < 0 ? -1 : H5Pset_driver(list, driver_number, NULL);
}

bool lud_commit_file_read(hid_t object, haddr_t address, size_t n, void *bytes) {
    void *handle = NULL;
    const hid_t file = H5Iget_file_id(object);
    const bool known = file >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
    if (file >= 0) H5Fclose(file);
    const commit_file *f = handle;
    const haddr_t base = known ? f->base.base_addr : 0;
    return known && address <= HADDR_MAX - base &&
           read_bytes((H5FD_t *)handle, H5FD_MEM_OHDR, H5P_DEFAULT, base + address, n, bytes) >= 0;
}

void lud_commit_file_remove(const char *path) {
    char *journal = NULL;
    (void)unlink(path);
    if (asprintf(&journal, "%s.journal", path) < 0) return;
    (void)unlink(journal);
    free(journal);
}
