#include "sim/statespace/level_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/arena.h"
#include "base/file.h"

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, BUFFER = 1 << 20 };

typedef struct file_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t state_bytes, key;
    uint64_t hash; /* XXH3 of what stands before */
} file_header;
static const char magic[8] = "LUDLEVL";

typedef struct block_header {
    uint64_t n_states, payload_bytes, payload_hash, n_transitions, n_terminal;
    uint64_t hash; /* XXH3 of what stands before, with the level's number as its seed */
} block_header;

static uint64_t hash_of_header(const file_header *h) {
    return XXH3_64bits(h, offsetof(file_header, hash));
}

static uint64_t hash_of_block(const block_header *h, int level) {
    return XXH3_64bits_withSeed(h, offsetof(block_header, hash), (uint64_t)level);
}

static size_t mask_bytes(size_t state_bytes) {
    return (state_bytes + 7) / 8;
}

static lud_status io_error(const lud_level_file *file, const char *what, lud_error *error) {
    return lud_fail(error, LUD_ERROR_IO, "%s: cannot %s: %s", file->path, what, strerror(errno));
}

static lud_status damaged(const lud_level_file *file, int level, lud_error *error) {
    return lud_invalid(error, "%s: damaged: the states of level %d are not as they were written; remove it",
                       file->path, level);
}

/* ---- bytes ---- */

static lud_status write_at(const lud_level_file *file, const void *bytes, size_t n, uint64_t at,
                           lud_error *error) {
    const uint8_t *from = bytes;
    while (n) {
        ssize_t written = pwrite(file->descriptor, from, n, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return io_error(file, "write", error);
        from += written;
        at += (uint64_t)written;
        n -= (size_t)written;
    }
    return LUD_OK;
}

/* Reads up to n bytes; fewer only at the end of the file. */
static lud_status read_at(const lud_level_file *file, void *bytes, size_t n, uint64_t at, size_t *got,
                          lud_error *error) {
    uint8_t *to = bytes;
    *got = 0;
    while (*got < n) {
        ssize_t read = pread(file->descriptor, to + *got, n - *got, (off_t)(at + *got));
        if (read < 0 && errno == EINTR) continue;
        if (read < 0) return io_error(file, "read", error);
        if (read == 0) break;
        *got += (size_t)read;
    }
    return LUD_OK;
}

/* ---- what a payload is made of ---- */

/* Writes the difference between two states; null: zeros. Returns its length, at most mask_bytes +
 * state_bytes.
 */
static size_t encode(const uint8_t *before, const uint8_t *state, size_t state_bytes, uint8_t *to) {
    const size_t n_mask = mask_bytes(state_bytes);
    size_t at = n_mask;
    memset(to, 0, n_mask);
    for (size_t i = 0; i < state_bytes; i++) {
        if (state[i] == (before ? before[i] : 0)) continue;
        to[i / 8] = (uint8_t)(to[i / 8] | 1u << i % 8);
        to[at++] = state[i];
    }
    return at;
}

/* The payload of a level as it is written: into a buffer, from there to the file. */
typedef struct payload_writer {
    const lud_level_file *file;
    uint8_t *buffer;
    size_t used, capacity;
    uint64_t at, begin;
    XXH3_state_t *hash;
} payload_writer;

static lud_status flush(payload_writer *w, lud_error *error) {
    XXH3_64bits_update(w->hash, w->buffer, w->used);
    LUD_TRY(write_at(w->file, w->buffer, w->used, w->at, error));
    w->at += w->used;
    w->used = 0;
    return LUD_OK;
}

static lud_status write_payload(payload_writer *w, const uint8_t *states, uint64_t n, lud_error *error) {
    const size_t state_bytes = w->file->state_bytes, most = mask_bytes(state_bytes) + state_bytes;
    const uint8_t *before = NULL;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *state = states + i * state_bytes;
        if (w->used + most > w->capacity) LUD_TRY(flush(w, error));
        w->used += encode(before, state, state_bytes, w->buffer + w->used);
        before = state;
    }
    return flush(w, error);
}

/* ---- the file ---- */

static lud_status note_level(lud_level_file *file, lud_level level, lud_error *error) {
    if (file->n_levels == file->capacity) {
        int capacity = file->capacity * 2 + 64;
        lud_level *levels = realloc(file->levels, (size_t)capacity * sizeof *levels);
        if (!levels) return lud_no_memory(error, "the list of %d levels", capacity);
        file->levels = levels;
        file->capacity = capacity;
    }
    file->levels[file->n_levels++] = level;
    file->n_states += level.n_states;
    return LUD_OK;
}

lud_status lud_level_file_append(lud_level_file *file, const uint8_t *states, uint64_t n,
                                 uint64_t n_transitions, uint64_t n_terminal, lud_error *error) {
    const size_t most = mask_bytes(file->state_bytes) + file->state_bytes;
    payload_writer w = {.file = file,
                        .capacity = most > BUFFER ? most : BUFFER,
                        .begin = file->bytes + sizeof(block_header),
                        .at = file->bytes + sizeof(block_header)};
    w.buffer = malloc(w.capacity);
    w.hash = XXH3_createState();
    lud_status status = w.buffer && w.hash ? LUD_OK : lud_no_memory(error, "writing a level");
    if (!status) {
        XXH3_64bits_reset(w.hash);
        status = write_payload(&w, states, n, error);
    }
    block_header h = {n, w.at - w.begin, 0, n_transitions, n_terminal, 0};
    if (!status) {
        h.payload_hash = XXH3_64bits_digest(w.hash);
        h.hash = hash_of_block(&h, file->n_levels);
        status = write_at(file, &h, sizeof h, file->bytes, error);
    }
    if (!status && n)
        status = note_level(file, (lud_level){n, w.begin, h.payload_bytes, h.payload_hash}, error);
    if (!status) {
        file->bytes = w.at;
        file->n_transitions = n_transitions;
        file->n_terminal = n_terminal;
        file->ended = n == 0;
    } else if (ftruncate(file->descriptor, (off_t)file->bytes) != 0) {
        /* what is behind the finished levels is cut off when it is taken up */
    }
    XXH3_freeState(w.hash);
    free(w.buffer);
    return status;
}

/* The XXH3 of a payload as it stands in the file. */
static lud_status hash_payload(const lud_level_file *file, const lud_level *level, uint8_t *buffer,
                               XXH3_state_t *state, bool *right, lud_error *error) {
    XXH3_64bits_reset(state);
    for (uint64_t done = 0; done < level->payload_bytes;) {
        const uint64_t left = level->payload_bytes - done;
        size_t want = left < BUFFER ? (size_t)left : BUFFER, got;
        LUD_TRY(read_at(file, buffer, want, level->payload_at + done, &got, error));
        if (got < want) break;
        XXH3_64bits_update(state, buffer, got);
        done += got;
    }
    *right = XXH3_64bits_digest(state) == level->payload_hash;
    return LUD_OK;
}

/* Lists the finished levels; ends at the first that is not whole. */
static lud_status take_up(lud_level_file *file, uint64_t length, lud_error *error) {
    uint8_t *buffer = malloc(BUFFER);
    XXH3_state_t *state = XXH3_createState();
    lud_status status = buffer && state ? LUD_OK : lud_no_memory(error, "reading levels");
    file->bytes = sizeof(file_header);
    while (!status && !file->ended) {
        block_header h;
        size_t got;
        status = read_at(file, &h, sizeof h, file->bytes, &got, error);
        if (status || got < sizeof h || h.hash != hash_of_block(&h, file->n_levels)) break;
        const uint64_t left = length - file->bytes - sizeof h;
        /* a state takes its bits and, but for one of zeros, a byte at least */
        if (h.payload_bytes > left || h.n_states > h.payload_bytes / mask_bytes(file->state_bytes) ||
            h.n_states > UINT32_MAX || (h.n_states == 0 && h.payload_bytes))
            break;
        const lud_level level = {h.n_states, file->bytes + sizeof h, h.payload_bytes, h.payload_hash};
        bool right = false;
        status = hash_payload(file, &level, buffer, state, &right, error);
        if (status || !right) break;
        if (h.n_states) status = note_level(file, level, error);
        file->bytes += sizeof h + h.payload_bytes;
        file->n_transitions = h.n_transitions;
        file->n_terminal = h.n_terminal;
        file->ended = h.n_states == 0;
    }
    XXH3_freeState(state);
    free(buffer);
    return status;
}

static lud_status begin_anew(lud_level_file *file, uint64_t key, lud_error *error) {
    file_header h = {
        .version = VERSION, .byte_order = BYTE_ORDER_MARK, .state_bytes = file->state_bytes, .key = key};
    memcpy(h.magic, magic, sizeof magic);
    h.hash = hash_of_header(&h);
    if (ftruncate(file->descriptor, 0) != 0) return io_error(file, "make it empty", error);
    file->bytes = sizeof h;
    return write_at(file, &h, sizeof h, 0, error);
}

static lud_status begin(lud_level_file *file, uint64_t key, bool resume, lud_error *error) {
    struct stat stat;
    if (fstat(file->descriptor, &stat) != 0) return io_error(file, "look at it", error);
    file_header h;
    size_t got = 0;
    if (resume) LUD_TRY(read_at(file, &h, sizeof h, 0, &got, error));
    if (got < sizeof h) return begin_anew(file, key, error);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.hash != hash_of_header(&h))
        return lud_invalid(error, "%s: not a file of levels, or damaged; remove it to start anew",
                           file->path);
    if (h.version != VERSION || h.byte_order != BYTE_ORDER_MARK)
        return lud_invalid(error,
                           "%s: version %u of the format or a foreign byte order; remove it to start anew",
                           file->path, h.version);
    if (h.state_bytes != file->state_bytes || h.key != key)
        return lud_invalid(error, "%s: belongs to another world; remove it to start anew", file->path);
    LUD_TRY(take_up(file, (uint64_t)stat.st_size, error));
    if (ftruncate(file->descriptor, (off_t)file->bytes) != 0)
        return io_error(file, "cut off what is not finished", error);
    return LUD_OK;
}

lud_status lud_level_file_open(const char *path, size_t state_bytes, uint64_t key, bool resume,
                               lud_level_file **out, lud_error *error) {
    *out = NULL;
    lud_level_file *file = calloc(1, sizeof *file);
    if (file) file->path = strdup(path);
    if (!file || !file->path) {
        free(file);
        return lud_no_memory(error, "a file of levels");
    }
    file->state_bytes = state_bytes;
    file->descriptor = lud_file_own(path, O_RDWR);
    lud_status status =
        file->descriptor < 0 ? io_error(file, "write", error) : begin(file, key, resume, error);
    if (!status)
        *out = file;
    else
        lud_level_file_close(file);
    return status;
}

/* Decodes one state behind `before` (which becomes it); *used: bytes read. False: there are too few, or the
 * state does not come behind. */
static bool decode(const uint8_t *from, size_t available, size_t state_bytes, const uint8_t *before,
                   uint8_t *state, size_t *used) {
    const size_t n_mask = mask_bytes(state_bytes);
    size_t at = n_mask;
    if (available < n_mask) return false;
    if (state_bytes % 8 && from[n_mask - 1] >> state_bytes % 8) return false;
    bool behind = !before; /* the first byte that differs from the state before is the larger one */
    bool first = before != NULL;
    for (size_t i = 0; i < state_bytes; i++) {
        const uint8_t old = before ? before[i] : 0;
        state[i] = old;
        if (!(from[i / 8] >> i % 8 & 1)) continue;
        if (at == available) return false;
        state[i] = from[at++];
        if (state[i] == old) return false;
        if (first) behind = state[i] > old;
        first = false;
    }
    *used = at;
    return behind;
}

static lud_status read_states(const lud_level_file *file, int level, uint8_t *buffer, XXH3_state_t *hash,
                              uint8_t *states, lud_error *error) {
    const lud_level *l = &file->levels[level];
    const size_t state_bytes = file->state_bytes, most = mask_bytes(state_bytes) + state_bytes;
    uint64_t taken = 0; /* of the payload, into the buffer */
    size_t at = 0, held = 0;
    XXH3_64bits_reset(hash);
    for (uint64_t i = 0; i < l->n_states; i++) {
        if (held - at < most && taken < l->payload_bytes) {
            memmove(buffer, buffer + at, held - at);
            held -= at;
            at = 0;
            const uint64_t left = l->payload_bytes - taken;
            size_t want = left < BUFFER ? (size_t)left : BUFFER, got;
            LUD_TRY(read_at(file, buffer + held, want, l->payload_at + taken, &got, error));
            if (got < want) return damaged(file, level, error);
            XXH3_64bits_update(hash, buffer + held, got);
            held += got;
            taken += got;
        }
        size_t used;
        if (!decode(buffer + at, held - at, state_bytes, i ? states + (i - 1) * state_bytes : NULL,
                    states + i * state_bytes, &used))
            return damaged(file, level, error);
        at += used;
    }
    if (at != held || taken != l->payload_bytes || XXH3_64bits_digest(hash) != l->payload_hash)
        return damaged(file, level, error);
    return LUD_OK;
}

lud_status lud_level_file_read(const lud_level_file *file, int level, uint8_t *states, lud_error *error) {
    const size_t most = mask_bytes(file->state_bytes) + file->state_bytes;
    uint8_t *buffer = malloc(BUFFER + most);
    XXH3_state_t *hash = XXH3_createState();
    lud_status status = buffer && hash ? read_states(file, level, buffer, hash, states, error)
                                       : lud_no_memory(error, "reading a level");
    XXH3_freeState(hash);
    free(buffer);
    return status;
}

void lud_level_file_close(lud_level_file *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    LUD_FREE(file->path, file->levels, file);
}

void lud_level_file_discard(lud_level_file *file) {
    if (file) unlink(file->path);
}
