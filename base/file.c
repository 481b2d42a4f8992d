#include "base/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

static lud_status system_error(lud_error *error, const char *path, const char *what) {
    return lud_fail(error, errno == ENOMEM ? LUD_ERROR_MEMORY : LUD_ERROR_IO, "%s: %s: %s", path, what,
                    strerror(errno));
}

int lud_file_descriptor(const char *path) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (descriptor < 0) return -1;
    int wrong = fstat(descriptor, &info) ? errno : 0;
    if (!wrong && !S_ISREG(info.st_mode)) wrong = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    if (!wrong) return descriptor;
    close(descriptor);
    errno = wrong;
    return -1;
}

void lud_file_give_way(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 &&
        (S_ISLNK(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)))
        unlink(path);
}

int lud_file_own(const char *path, int how) {
    lud_file_give_way(path);
    const int descriptor = open(path, how | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    struct stat info;
    if (descriptor < 0) return -1;
    const int wrong = fstat(descriptor, &info) ? errno : S_ISREG(info.st_mode) ? 0 : EINVAL;
    if (!wrong) return descriptor;
    close(descriptor);
    errno = wrong;
    return -1;
}

static FILE *stream_of(int descriptor, const char *mode) {
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, mode);
    if (!stream && descriptor >= 0) close(descriptor);
    return stream;
}

FILE *lud_file_stream(const char *path) {
    return stream_of(lud_file_descriptor(path), "rb");
}

FILE *lud_file_own_stream(const char *path, bool append) {
    return stream_of(lud_file_own(path, O_WRONLY | (append ? O_APPEND : O_TRUNC)), append ? "ab" : "wb");
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
    FILE *stream = lud_file_stream(path);
    if (!stream) return system_error(error, path, "cannot be opened");
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

/* For writing. Locked as long as it is open, by which others see that somebody lives who writes it. */
static FILE *open_locked(const char *path) {
    FILE *stream = lud_file_own_stream(path, false);
    if (stream) /* some file systems have no locks: the name says whose it is */
        (void)flock(fileno(stream), LOCK_EX | LOCK_NB);
    return stream;
}

/* Whether nobody lives any more who writes `folder`/name, which ends with the writer's number. */
static bool is_abandoned(int folder, const char *name, const char *number) {
    char *end;
    const long pid = strtol(number, &end, 10);
    const bool own = pid == (long)getpid();
    if (pid <= 0 || *end || (!own && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))) return false;
    const int descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return errno == ELOOP;
    /* a process of another machine or container has a number that is nobody's here, and holds a lock */
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) != 0;
    const bool by_other = locked && (own || errno == EWOULDBLOCK);
    close(descriptor);
    return !by_other;
}

/* A file, or a folder with all that lies in it. */
static bool remove_all(int folder, const char *name) {
    if (unlinkat(folder, name, 0) == 0) return true;
    const int descriptor = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!directory) {
        if (descriptor >= 0) close(descriptor);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_all(descriptor, entry->d_name);
    closedir(directory);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

int lud_folder_remove_leftovers(const char *folder, const char *name) {
    static const char mark[] = ".partial-";
    int n = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *at = entry->d_name;
        for (const char *next = at; (next = strstr(next, mark)); next++) at = next;
        const size_t stem = (size_t)(at - entry->d_name);
        if (stem == 0 || (name && (stem != strlen(name) || memcmp(entry->d_name, name, stem) != 0))) continue;
        if (is_abandoned(dirfd(directory), entry->d_name, at + sizeof mark - 1))
            n += remove_all(dirfd(directory), entry->d_name);
    }
    if (directory) closedir(directory);
    return n;
}

int lud_file_remove_leftovers(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    const int n = folder && *name ? lud_folder_remove_leftovers(folder, name) : 0;
    free(folder);
    return n;
}

lud_status lud_file_write_begin(lud_file_writer *writer, const char *path, lud_error *error) {
    *writer = (lud_file_writer){0};
    writer->path = strdup(path);
    if (!writer->path || asprintf(&writer->partial, "%s.partial-%ld", path, (long)getpid()) < 0) {
        writer->partial = NULL;
        lud_file_write_abandon(writer);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory", path);
    }
    writer->stream = open_locked(writer->partial);
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

const char *lud_path_find(lud_arena *arena, const char *base_path, const char *path) {
    const char *beside = lud_path_beside(arena, base_path, path);
    char *real = beside ? realpath(beside, NULL) : NULL;
    if (!real && beside) real = realpath(path, NULL);
    const char *found = real ? lud_arena_text(arena, real, strlen(real)) : beside;
    free(real);
    return found;
}
