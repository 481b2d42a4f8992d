/* Files: read whole, written beside and renamed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/status.h"

/* Opens a regular file for reading; nothing waits, should it be a pipe that nobody writes to. -1 or null with
 * errno: EISDIR for a folder, EINVAL for a pipe, a socket or a device. The caller closes it. */
int lud_file_descriptor(const char *path);
FILE *lud_file_stream(const char *path);

/* Opens a file of our own to write in, made where there is none: `how` is O_WRONLY or O_RDWR, with O_TRUNC or
 * O_APPEND. A link, a pipe or a socket of that name gives way: nothing is written through it, and nothing
 * waits for its other end. -1 with errno (EINVAL: a device). The caller closes it. */
int lud_file_own(const char *path, int how);
/* The same as a stream, made empty or to append to; null with errno. */
FILE *lud_file_own_stream(const char *path, bool append);
/* Removes the name where it is a link, a pipe or a socket, before a library opens it. */
void lud_file_give_way(const char *path);

/* Reads a whole file (at most `limit` bytes, 0 = 1 GiB) into the arena, with a zero byte behind it. A
 * directory, a missing file or one over the limit is an error that says so. */
lud_status lud_file_read(lud_arena *arena, const char *path, size_t limit, char **bytes, size_t *length,
                         lud_error *error);

/* A file that replaces `path` only when it is complete: written as `path.partial-<pid>`, then flushed,
 * fsynced, renamed, and the folder fsynced. A symbolic link of either name is replaced, never written
 * through.
 */
typedef struct lud_file_writer {
    FILE *stream;
    char *path, *partial;
} lud_file_writer;

lud_status lud_file_write_begin(lud_file_writer *writer, const char *path, lud_error *error);
/* Completes and renames; on failure the old file is untouched and the partial one removed. */
lud_status lud_file_write_commit(lud_file_writer *writer, lud_error *error);
/* Gives up: removes the partial file. Safe after commit and on a zeroed writer. */
void lud_file_write_abandon(lud_file_writer *writer);
/* Begin, write `length` bytes, commit. */
lud_status lud_file_write(const char *path, const void *bytes, size_t length, lud_error *error);

/* Removes what killed processes left in a folder: files and folders `NAME.partial-<pid>` (null: of any name)
 * that no living process writes, this one's too, which it could neither complete nor remove. Returns how
 * many. */
int lud_folder_remove_leftovers(const char *folder, const char *name);
/* The same of the file `path` only, beside it. */
int lud_file_remove_leftovers(const char *path);
/* Makes a folder and its parents; an existing folder is fine. */
lud_status lud_folder_make(const char *path, lud_error *error);
bool lud_file_exists(const char *path);
bool lud_folder_exists(const char *path);
/* Another number when the file was written or replaced meanwhile (even within one tick of the clock that
 * dates files); 0 when there is none. */
uint64_t lud_file_stamp(const char *path);
/* `folder of base_path` + `/` + path, or `path` itself when it is absolute. Lives in the arena. */
char *lud_path_beside(lud_arena *arena, const char *base_path, const char *path);
/* A path as it is beside the file base_path (null: nowhere), else in the present folder, absolute and without
 * links. What is nowhere stays as it is beside the file, for the message of who opens it. Null when memory is
 * out. Lives in the arena. */
const char *lud_path_find(lud_arena *arena, const char *base_path, const char *path);
