/* Any bytes give a solution or an error, never anything else. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "answers.h"
#include "learn/empo/exact/solution.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { PAGE = 4096 };

/* A small header whose sizes agree, changed by the input, and a right checksum, so that mutations get past
 * the first checks. */
static size_t seal(const uint8_t *bytes, size_t length, uint8_t *file, size_t capacity) {
    lud_empo_header h = {.magic = "LUDEMPO", .version = 2, .byte_order = 0x01020304};
    h.n_states = 1 + (length ? bytes[0] % 16 : 0);
    h.n_layers = 1;
    h.state_bytes = 1 + (length > 1 ? bytes[1] % 8 : 0);
    h.record_doubles = 8;
    h.layers_at = PAGE;
    h.states_at = 2 * PAGE;
    h.records_at = 3 * PAGE;
    h.n_humans = h.n_robots = h.n_goals = h.n_robot_actions = h.n_policies = 1;
    h.u_r = 1;
    h.x_h = 2;
    h.v_h_e = 3;
    h.v_h_m = 4;
    h.q_r = 5;
    h.pi_r = 6;
    h.policies = 7;
    h.block_bytes = 1 << 20;
    h.checksums_at = 4 * PAGE;
    h.file_bytes = h.checksums_at + sizeof(uint64_t);
    size_t n = (size_t)h.file_bytes;
    if (n > capacity) return 0;
    memset(file, 0, n);
    uint64_t layers[2] = {0, h.n_states};
    memcpy(file + PAGE, layers, sizeof layers);
    for (size_t i = 2; i < length && i < (size_t)2 * PAGE; i++) file[2 * PAGE + i - 2] = bytes[i];
    h.states_hash = XXH3_64bits_withSeed(file + 2 * PAGE, h.n_states * h.state_bytes,
                                         XXH3_64bits(file + PAGE, sizeof layers));
    const size_t from_input = length < 600 ? length : 600; /* what the records say: mostly no values at all */
    memcpy(file + 3 * PAGE, bytes, from_input);
    if (length && bytes[length - 1] & 1) memset(file + 3 * PAGE, 0, PAGE);
    const uint64_t checksum = XXH3_64bits(file + 3 * PAGE, h.n_states * h.record_doubles * sizeof(double));
    memcpy(file + 4 * PAGE, &checksum, sizeof checksum);
    h.checksums_hash = XXH3_64bits(&checksum, sizeof checksum);
    memset(file + 3 * PAGE + h.n_states * h.record_doubles * sizeof(double), 0,
           PAGE - h.n_states * h.record_doubles * sizeof(double));
    memcpy(file, &h, sizeof h);
    if (length > 10 && bytes[10] & 1) { /* a right checksum, or the changes below are found by it */
        h.header_hash = XXH3_64bits(file, PAGE);
        memcpy(file, &h, sizeof h);
    }
    for (size_t i = 2; i + 1 < length && i < 10; i += 2) /* a few bytes of the header come from the input */
        file[bytes[i] % sizeof h] ^= bytes[i + 1];
    return n;
}

static void look(const uint8_t *bytes, size_t length) {
    int file = memfd_create("solution", 0);
    if (file < 0 || write(file, bytes, length) != (ssize_t)length) abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    if (lud_empo_solution_open(path, &solution, &error)) {
        if (solution || !error.text[0]) abort();
        fuzz_answer_of_descriptor(error.text);
    } else {
        const lud_empo_header *h = solution->header;
        double sum = 0;
        for (uint64_t s = 0; s < h->n_states; s++) {
            const double *record = lud_empo_solution_record(solution, s);
            for (uint64_t i = 0; i < h->record_doubles; i++) sum += record[i];
            const uint64_t found = lud_empo_solution_find(solution, solution->states + s * h->state_bytes);
            fuzz_answer(&found, sizeof found);
            fuzz_answer(record, h->record_doubles * sizeof *record);
        }
        volatile double used = sum;
        (void)used;
        lud_empo_solution_close(solution);
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static uint8_t file[8 * PAGE];
    look(bytes, length);
    size_t n = seal(bytes, length, file, sizeof file);
    if (n) look(file, n);
    return 0;
}
