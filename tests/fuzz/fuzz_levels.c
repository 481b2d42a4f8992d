/* Any bytes as a file of levels give levels of states in their order or an error, and can be gone on from. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "answers.h"
#include "memory_folder.h"
#include "sim/statespace/level_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { KEY = 5, MOST_BYTES = 1 << 16, HEADER_WORDS = 5, BLOCK_WORDS = 6 };

static char folder[MEMORY_FOLDER], path[MEMORY_FOLDER + 16];

static void forget(void) {
    unlink(path);
    rmdir(folder);
}

static void put(const uint8_t *bytes, size_t length) {
    if (!path[0]) {
        make_memory_folder(folder, "levels");
        snprintf(path, sizeof path, "%s/levels", folder);
        atexit(forget);
    }
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, length, out) != length || fclose(out)) abort();
}

/* Reads every level; false: one is damaged. */
static bool read_all(const lud_level_file *file) {
    bool whole = true;
    uint64_t total = 0;
    for (int level = 0; level < file->n_levels; level++) {
        const uint64_t n = file->levels[level].n_states;
        uint8_t *states = malloc(n * file->state_bytes + 1);
        lud_error error = {0};
        if (lud_level_file_read(file, level, states, &error)) {
            if (!error.text[0]) abort();
            fuzz_answer_without(error.text, folder);
            whole = false;
        } else {
            fuzz_answer(states, n * file->state_bytes);
            for (uint64_t i = 1; i < n; i++)
                if (memcmp(states + (i - 1) * file->state_bytes, states + i * file->state_bytes,
                           file->state_bytes) >= 0)
                    abort();
        }
        total += n;
        free(states);
    }
    if (total != file->n_states) abort();
    return whole;
}

static void look(const uint8_t *bytes, size_t length, size_t state_bytes) {
    put(bytes, length);
    lud_level_file *file;
    lud_error error = {0};
    if (lud_level_file_open(path, state_bytes, KEY, true, &file, &error)) {
        if (file || !error.text[0]) abort();
        fuzz_answer_without(error.text, folder);
        return;
    }
    const int n_levels = file->n_levels;
    const bool whole = read_all(file), ended = file->ended;
    /* what is added stands behind what was there, whatever that was */
    uint8_t added[2 * 32] = {0};
    added[2 * state_bytes - 1] = 1;
    if (!ended && lud_level_file_append(file, added, 2, 7, 3, &error)) abort();
    lud_level_file_close(file);
    if (lud_level_file_open(path, state_bytes, KEY, true, &file, &error)) abort();
    if (file->n_levels != n_levels + !ended || (!ended && file->n_transitions != 7)) abort();
    uint8_t again[2 * 32];
    if (!ended &&
        (lud_level_file_read(file, n_levels, again, &error) || memcmp(again, added, 2 * state_bytes)))
        abort();
    if (read_all(file) != whole) abort();
    lud_level_file_close(file);
}

/* Header and blocks with right sums around payloads from the input, so that these are looked at. */
static size_t seal(const uint8_t *bytes, size_t length, size_t state_bytes, uint8_t *file) {
    uint64_t header[HEADER_WORDS] = {0, UINT64_C(0x0102030400000001), state_bytes, KEY, 0};
    memcpy(header, "LUDLEVL", 8);
    header[4] = XXH3_64bits(header, 4 * sizeof *header);
    memcpy(file, header, sizeof header);
    size_t at = sizeof header;
    for (uint64_t level = 0; length > 2 && at < MOST_BYTES / 2; level++) {
        size_t n = bytes[1] < length - 2 ? bytes[1] : length - 2;
        uint64_t block[BLOCK_WORDS] = {bytes[0] % 32, n, XXH3_64bits(bytes + 2, n), level, level / 2, 0};
        block[5] = XXH3_64bits_withSeed(block, 5 * sizeof *block, level);
        memcpy(file + at, block, sizeof block);
        memcpy(file + at + sizeof block, bytes + 2, n);
        at += sizeof block + n;
        bytes += 2 + n;
        length -= 2 + n;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static uint8_t file[MOST_BYTES];
    const size_t state_bytes = 1 + (length ? bytes[0] % 20u : 0);
    look(bytes, length, state_bytes);
    if (length > 1) look(file, seal(bytes + 1, length - 1, state_bytes, file), state_bytes);
    return 0;
}
