#include "learn/episodes/file/object_header.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "learn/episodes/file/commit_file.h"

enum { MOST_CHUNKS = 64, MOST_CHUNK_BYTES = 1 << 24 };
/* Kinds of messages. */
enum { EXTERNAL_FILES = 7, DATA_LAYOUT = 8, CONTINUATION = 16 };
/* Classes of layouts: 0 in the header, 1 in one piece, 2 in chunks, 3 in other data sets. */
enum { CHUNKED = 2 };

/* Bytes of a header that lie together, and those that are still to be looked at. */
typedef struct header {
    hid_t object;
    bool first_version;
    int message_bytes; /* what comes before the body of a message */
    struct {
        haddr_t at;
        uint64_t n;
    } chunk[MOST_CHUNKS];
    int n_chunks;
} header;

static bool add_chunk(header *h, haddr_t at, uint64_t n) {
    if (h->n_chunks == MOST_CHUNKS || n > MOST_CHUNK_BYTES) return false;
    h->chunk[h->n_chunks].at = at;
    h->chunk[h->n_chunks++].n = n;
    return true;
}

/* The first chunk of a header of either version. */
static bool begin(header *h, haddr_t address) {
    enum { PREFIX = 34 }; /* at most */
    uint8_t prefix[PREFIX];
    if (!lud_commit_file_read(h->object, address, sizeof prefix, prefix)) return false;
    h->first_version = prefix[0] == 1;
    if (h->first_version) {
        h->message_bytes = 8;
        return add_chunk(h, address + 16, lud_hdf5_number_at(prefix + 8, 4));
    }
    if (memcmp(prefix, "OHDR\2", 5) != 0) return false;
    const int flags = prefix[5], width = 1 << (flags & 3),
              at = 6 + (flags & 32 ? 16 : 0) + (flags & 16 ? 4 : 0);
    h->message_bytes = 4 + (flags & 4 ? 2 : 0);
    return add_chunk(h, address + (haddr_t)(at + width), lud_hdf5_number_at(prefix + at, width));
}

/* Whether a message leaves the numbers in this file's own pieces; a continuation is noted. */
static bool message_is_plain(header *h, unsigned kind, const uint8_t *body, uint64_t n) {
    switch (kind) {
    case EXTERNAL_FILES:
        return false;
    case DATA_LAYOUT: /* versions 1 and 2 have the number of dimensions before the class */
        return n > 2 && (body[0] >= 3 ? body[1] : body[2]) <= CHUNKED;
    case CONTINUATION: {
        if (n < 16) return false;
        haddr_t at = lud_hdf5_number_at(body, 8);
        uint64_t bytes = lud_hdf5_number_at(body + 8, 8);
        if (h->first_version) return add_chunk(h, at, bytes);
        enum { SIGNATURE = 4, CHECKSUM = 4 };
        return bytes >= SIGNATURE + CHECKSUM && add_chunk(h, at + SIGNATURE, bytes - SIGNATURE - CHECKSUM);
    }
    default:
        return true;
    }
}

static bool chunk_is_plain(header *h, const uint8_t *bytes, uint64_t n) {
    const uint64_t before = (uint64_t)h->message_bytes;
    for (uint64_t at = 0; n - at >= before;) {
        const unsigned kind = h->first_version ? (unsigned)lud_hdf5_number_at(bytes + at, 2) : bytes[at];
        const uint64_t length = lud_hdf5_number_at(bytes + at + (h->first_version ? 2 : 1), 2);
        if (length > n - at - before || !message_is_plain(h, kind, bytes + at + before, length)) return false;
        at += before + length;
    }
    return true;
}

bool lud_object_header_is_plain(hid_t object, haddr_t address) {
    header h = {.object = object};
    if (!begin(&h, address)) return false;
    bool plain = true;
    for (int i = 0; i < h.n_chunks && plain; i++) {
        uint8_t *bytes = malloc(h.chunk[i].n + 1);
        plain = bytes && lud_commit_file_read(object, h.chunk[i].at, h.chunk[i].n, bytes) &&
                chunk_is_plain(&h, bytes, h.chunk[i].n);
        free(bytes);
    }
    return plain;
}
