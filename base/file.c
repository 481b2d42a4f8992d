#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

static lud_status system_error(lud_error *error, const char *path, const char *what) {
    return lud_fail(error, errno == ENOMEM ? LUD_ERROR_MEMORY : LUD_ERROR_IO, "%s: %s: %s", path, what,
                    strerror(errno));
}

lud_status lud_file_read(lud_arena *arena, const char *path, size_t limit, char **bytes, size_t *length,
                         lud_error *error) {
    if (!limit) limit = (size_t)1 << 30;
    struct stat info;
    if (stat(path, &info))
        return lud_fail(error, errno == ENOENT || errno == ENOTDIR ? LUD_ERROR_INPUT : LUD_ERROR_IO, "%s: %s",
                        path, errno == ENOENT || errno == ENOTDIR ? "no such file" : strerror(errno));
    if (S_ISDIR(info.st_mode)) return lud_invalid(error, "%s: expected a file, found a folder", path);
    if (!S_ISREG(info.st_mode)) /* nobody knows when it ends, or whether it begins */
        return lud_invalid(error, "%s: expected a regular file, found a pipe, a socket or a device", path);
    if ((size_t)info.st_size > limit)
        return lud_invalid(error, "%s: expected at most %zu bytes, found %lld", path, limit,
                           (long long)info.st_size);
    /* should another thing be there by now, nothing waits for it */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (!stream) {
        const lud_status status = system_error(error, path, "cannot be opened");
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    /* a file may grow while it is read: read on until the end or the limit */
    size_t capacity = (size_t)info.st_size + 1, used = 0;
    char *buffer = NULL;
    lud_status status = LUD_OK;
    for (bool end = false; !end && !status;) {
        char *larger = realloc(buffer, capacity);
        if (!larger) {
            status = lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory", path);
            break;
        }
        buffer = larger;
        used += fread(buffer + used, 1, capacity - used, stream);
        end = used < capacity;
        if (ferror(stream))
            status = system_error(error, path, "cannot be read");
        else if (used > limit)
            status = lud_invalid(error, "%s: expected at most %zu bytes, found more", path, limit);
        capacity *= 2;
    }
    fclose(stream);
    if (!status) {
        *bytes = lud_arena_text(arena, buffer, used);
        *length = used;
        if (!*bytes) status = lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory", path);
    }
    free(buffer);
    return status;
}

void lud_file_write_abandon(lud_file_writer *writer) {
    if (writer->stream) fclose(writer->stream);
    if (writer->partial) unlink(writer->partial);
    free(writer->path);
    free(writer->partial);
    *writer = (lud_file_writer){0};
}

lud_status lud_file_write_begin(lud_file_writer *writer, const char *path, lud_error *error) {
    *writer = (lud_file_writer){0};
    writer->path = strdup(path);
    if (!writer->path || asprintf(&writer->partial, "%s.partial-%ld", path, (long)getpid()) < 0) {
        writer->partial = NULL;
        lud_file_write_abandon(writer);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory", path);
    }
    writer->stream = fopen(writer->partial, "wb");
    if (writer->stream) return LUD_OK;
    lud_status status = system_error(error, path, "cannot be written");
    free(writer->partial); /* nothing was made: another process's file of that name is not ours to remove */
    writer->partial = NULL;
    lud_file_write_abandon(writer);
    return status;
}

/* Makes the new name itself survive a power cut. */
static int sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!folder) return -1;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0) return -1;
    int result = fsync(descriptor);
    close(descriptor);
    return result && errno != EINVAL ? -1 : 0; /* EINVAL: a file system without such a promise */
}

lud_status lud_file_write_commit(lud_file_writer *writer, lud_error *error) {
    assert(writer->stream);
    lud_status status = LUD_OK;
    if (fflush(writer->stream) || ferror(writer->stream) || fsync(fileno(writer->stream)))
        status = system_error(error, writer->path, "cannot be written");
    int closed = fclose(writer->stream);
    writer->stream = NULL;
    if (!status && closed) status = system_error(error, writer->path, "cannot be written");
    if (!status && rename(writer->partial, writer->path))
        status = system_error(error, writer->path, "cannot be replaced");
    if (!status) {
        free(writer->partial);
        writer->partial = NULL;
        if (sync_folder(writer->path))
            status = system_error(error, writer->path, "its folder cannot be flushed to disk");
    }
    lud_file_write_abandon(writer);
    return status;
}

lud_status lud_file_write(const char *path, const void *bytes, size_t length, lud_error *error) {
    lud_file_writer writer;
    LUD_TRY(lud_file_write_begin(&writer, path, error));
    if (length && fwrite(bytes, 1, length, writer.stream) != length) {
        const lud_status status = system_error(error, path, "cannot be written");
        lud_file_write_abandon(&writer);
        return status;
    }
    return lud_file_write_commit(&writer, error);
}

lud_status lud_folder_make(const char *path, lud_error *error) {
    char *copy = strdup(path);
    if (!copy) return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory", path);
    lud_status status = LUD_OK;
    for (char *slash = copy; slash && !status;) {
        slash = strchr(slash + 1, '/');
        if (slash) *slash = 0;
        if (mkdir(copy, 0777) && errno != EEXIST) status = system_error(error, path, "cannot be made");
        if (slash) *slash = '/';
    }
    free(copy);
    if (!status && !lud_folder_exists(path))
        status = lud_invalid(error, "%s: expected a folder, found a file", path);
    return status;
}

bool lud_file_exists(const char *path) {
    struct stat info;
    return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

bool lud_folder_exists(const char *path) {
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

uint64_t lud_file_stamp(const char *path) {
    struct stat info;
    if (stat(path, &info)) return 0;
    const uint64_t facts[5] = {(uint64_t)info.st_dev, (uint64_t)info.st_ino, (uint64_t)info.st_size,
                               (uint64_t)info.st_mtim.tv_sec, (uint64_t)info.st_mtim.tv_nsec};
    const uint64_t stamp = XXH3_64bits(facts, sizeof facts);
    return stamp ? stamp : 1;
}

char *lud_path_beside(lud_arena *arena, const char *base_path, const char *path) {
    const char *slash = base_path && path[0] != '/' ? strrchr(base_path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - base_path) + 1 : 0, rest = strlen(path);
    char *joined = lud_arena_take(arena, folder + rest + 1);
    if (!joined) return NULL;
    if (folder) memcpy(joined, base_path, folder);
    memcpy(joined + folder, path, rest + 1);
    return joined;
}
