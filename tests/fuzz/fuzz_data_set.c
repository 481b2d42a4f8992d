/* Any bytes give a data set or an error, never anything else: a whole file of ours with a few bytes changed,
 * so that mutations get past HDF5's signature, or the input as it is. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers.h"
#include "base/file.h"
#include "learn/episodes/recorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char scenario_text[] =
    "ludus: 1\nname: small\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ae .. We\n"
    "    We .. .. We\n    We We We We\n  max_steps: 5\nrun: {environments: 2}\n";

typedef struct whole_file {
    char *bytes;
    size_t n;
} whole_file;

/* A small recording; made once. */
static whole_file record(void) {
    char path[] = "/tmp/ludus-fuzz-XXXXXX";
    whole_file f = {0};
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    lud_error error = {0};
    lud_recording_result result;
    const lud_recording_options options = {
        .path = path, .episodes = 3, .frames = true, .views = true, .level = 1};
    if (mkstemp(path) < 0 ||
        lud_scenario_read("small.yaml", scenario_text, sizeof scenario_text - 1, NULL, 0, &scenario,
                          &error) ||
        lud_cast_create(scenario->model, NULL, "small.yaml", &cast, &error) ||
        lud_record_data(scenario, cast, &options, &result, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    lud_arena *arena = lud_arena_create(0);
    char *read;
    if (lud_file_read(arena, path, 0, &read, &f.n, &error) || !(f.bytes = malloc(f.n))) abort();
    memcpy(f.bytes, read, f.n);
    lud_arena_destroy(arena);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    unlink(path);
    return f;
}

static void read_everything(lud_data_set *set) {
    const lud_data_info *info = lud_data_set_info(set);
    lud_error error = {0};
    for (int64_t e = 0; e < info->n_episodes && e < 8; e++) {
        for (int k = 0; k < LUD_DATA_ARRAYS; k++) {
            const lud_data_array array = (lud_data_array)k;
            if (!lud_data_set_has(set, array, 0)) continue;
            const int32_t n = lud_data_set_rows(set, array, e);
            const size_t bytes = lud_data_set_row_bytes(set, array, 0);
            if (n > 4096 || bytes > 1 << 16) continue;
            void *rows = malloc((size_t)n * bytes + 1);
            error = (lud_error){0};
            if (rows && !lud_data_set_read(set, array, 0, e, 0, n, rows, &error))
                fuzz_answer(rows, (size_t)n * bytes);
            fuzz_answer_of_descriptor(error.text);
            free(rows);
        }
        lud_text text = {0};
        error = (lud_error){0};
        if (!lud_data_set_summary(set, e, 0, &text, &error)) fuzz_answer_text(text.bytes);
        lud_text_free(&text);
        if (info->replays_exactly && lud_data_set_episode(set, e)->length < 4096)
            (void)lud_data_set_verify(set, e, &error);
        fuzz_answer_of_descriptor(error.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static whole_file whole;
    if (!whole.bytes) whole = record();
    const int file = memfd_create("data", MFD_CLOEXEC);
    if (file < 0) return 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (length > 8 && bytes[0] == 0x89) {
        if (write(file, bytes, length) < 0) return 0;
    } else {
        char *copy = malloc(whole.n);
        if (!copy) return 0;
        memcpy(copy, whole.bytes, whole.n);
        /* three bytes a change: where, in two, and what */
        for (size_t k = 0; k + 2 < length && k < 48; k += 3) {
            const size_t at = (size_t)(bytes[k] << 8 | bytes[k + 1]) % whole.n;
            copy[at] = (char)(copy[at] ^ (char)bytes[k + 2]);
        }
        const ssize_t written = write(file, copy, whole.n);
        free(copy);
        if (written < 0) return 0;
    }
    lud_data_set *set = NULL;
    lud_error error = {0};
    const lud_status status = lud_data_set_open(path, &set, &error);
    fuzz_answer_of_descriptor(error.text);
    if (!status) {
        read_everything(set);
        lud_data_set_close(set);
    }
    close(file);
    return 0;
}
