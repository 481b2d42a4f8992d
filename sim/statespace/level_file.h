/* The levels of a state space on disk: one file that grows by a block a level.
 *
 *   header   magic "LUDLEVL", version, byte order, bytes of a state, key of the world, XXH3 of these
 *   blocks   for each level: how many states, how long its payload is, the XXH3 of the payload, transitions
 * and terminal states of all levels before, the XXH3 of these; then the payload. A last block without states
 * ends a file to which nothing will be added.
 *
 * A payload holds the level's states in the order of their bytes, each by what differs from the one before
 * (the first from zeros): a bit for every byte, then the bytes whose bit is set. A block's own header is
 * written after its payload, so a file whose writer was ended anywhere has its finished levels, and is taken
 * up behind them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct lud_level {
    uint64_t n_states;
    uint64_t payload_at, payload_bytes, payload_hash;
} lud_level;

typedef struct lud_level_file {
    char *path;
    int descriptor;
    size_t state_bytes;
    int n_levels, capacity;
    lud_level *levels;                  /* [n_levels] */
    uint64_t n_states;                  /* of all levels */
    uint64_t n_transitions, n_terminal; /* of all levels but the last; when `ended` of all */
    uint64_t bytes;                     /* length of what is finished */
    bool ended;
} lud_level_file;

/* Opens `path` for levels of a world with this key. With `resume` the finished levels of an existing file are
 * taken up and what is behind them is cut off; a file of another world is an error. Otherwise, and where
 * there is no file or its writer did not come as far as the header, it begins anew. Close with
 * lud_level_file_close. */
lud_status lud_level_file_open(const char *path, size_t state_bytes, uint64_t key, bool resume,
                               lud_level_file **file, lud_error *error);
/* Adds a level: states[n][state_bytes], all different, in the order of their bytes; n = 0 ends the file. What
 * the levels before have together is noted with it. LUD_ERROR_IO when the disk is full; the file then still
 * has the levels before. */
lud_status lud_level_file_append(lud_level_file *file, const uint8_t *states, uint64_t n,
                                 uint64_t n_transitions, uint64_t n_terminal, lud_error *error);
/* Reads the states of a level: states[n_states][state_bytes]. LUD_ERROR_INPUT when they are damaged. */
lud_status lud_level_file_read(const lud_level_file *file, int level, uint8_t *states, lud_error *error);
void lud_level_file_close(lud_level_file *file);
/* Removes it from the disk; the file stays open until it is closed. Null is allowed. */
void lud_level_file_discard(lud_level_file *file);
