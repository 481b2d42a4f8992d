/* Runs a fuzz target without libFuzzer: every file of the seed folders as it is, then inputs that are seeds
 * with a few random changes. Any compiler can build it, so the suite has a short run of every target, with
 * and without sanitizers; the long ones, which learn from coverage, are libFuzzer's (`make test-fuzz`).
 *
 *     fuzz_map -runs=200 -seed=1 -max_total_time=20 -max_len=8192 -artifact_prefix=crash- FOLDER...
 *
 * -answers prints the sum of what the target made of all inputs (answers.h), -answers=FILE also writes a line
 * an input. Other flags of libFuzzer are passed over. An input that kills the target is kept as PREFIX
 * followed by `input`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "base/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MAX_SEEDS = 512, MAX_LENGTH = 1 << 20, MOST_KEPT = 1 << 22 };

static struct {
    uint8_t *bytes;
    size_t length;
} seeds[MAX_SEEDS];
static int n_seeds;
static uint8_t input[MAX_LENGTH];
static volatile size_t input_length;
static char kept[4096] = "crash-input";

/* Only what may be called in a signal's handler. */
static void keep_input(int number) {
    const int file = open(kept, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, input, input_length) < 0) {
        static const char message[] = "the input could not be kept\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void read_seeds(const char *folder, size_t max_length) {
    struct dirent **entries;
    const int n = scandir(folder, &entries, NULL, alphasort); /* in one order on every machine */
    if (n < 0) {
        fprintf(stderr, "%s: expected a folder with seeds: %s\n", folder, strerror(errno));
        exit(1);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat about;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (stat(path, &about) || !S_ISREG(about.st_mode) || n_seeds == MAX_SEEDS) continue;
        FILE *file = fopen(path, "rb");
        uint8_t *bytes = malloc(max_length);
        if (file && bytes) {
            seeds[n_seeds].length = fread(bytes, 1, max_length, file);
            seeds[n_seeds++].bytes = bytes;
        } else {
            free(bytes);
        }
        if (file) fclose(file);
    }
    free(entries);
}

/* The next draw of an input, below a number or, where that is 0, zero. */
static uint32_t next(lud_random_key key, uint32_t *counter, size_t below) {
    return lud_below(lud_draw(key, (*counter)++, 0, LUD_PURPOSE_USER, 0).v[0], (uint32_t)below);
}

/* A seed, or half of one behind half of another, with one to eight changes. */
static void make_input(uint64_t seed, uint64_t run, size_t max_length) {
    static const char *const words[] = {"-1", "0", "1e308", "nan",  "99999999999999999999",
                                        "[",  "{", "\"",    "\n  ", ": "};
    const lud_random_key key = {.seed = seed, .environment = (uint32_t)run};
    uint32_t counter = 0;
#define DRAW(below) next(key, &counter, (size_t)(below))
    size_t length = 0;
    if (n_seeds) {
        const uint32_t first = DRAW((size_t)n_seeds), second = DRAW(n_seeds);
        length = seeds[first].length;
        memcpy(input, seeds[first].bytes, length);
        if (DRAW(8) == 0 && length) {
            const size_t from = DRAW(seeds[second].length), cut = DRAW(length);
            const size_t rest = seeds[second].length - from;
            const size_t n = rest < max_length - cut ? rest : max_length - cut;
            if (n) memcpy(input + cut, seeds[second].bytes + from, n);
            length = cut + n;
        }
    }
    for (uint32_t change = 0, n = 1 + DRAW(8); change < n; change++) {
        const size_t at = DRAW(length);
        switch (DRAW(6)) {
        case 0: /* a bit */
            if (length) input[at] ^= (uint8_t)(1u << DRAW(8));
            break;
        case 1: /* a byte */
            if (length) input[at] = (uint8_t)DRAW(256);
            break;
        case 2: /* less */
            if (length) {
                const size_t gone = 1 + DRAW(length - at < 64 ? length - at : 64) % (length - at);
                memmove(input + at, input + at + gone, length - at - gone);
                length -= gone;
            }
            break;
        case 3: { /* a piece again, elsewhere */
            const size_t from = DRAW(length);
            size_t n_bytes = 1 + DRAW(64);
            if (n_bytes > length - from) n_bytes = length - from;
            if (length + n_bytes > max_length || !n_bytes) break;
            uint8_t piece[64];
            memcpy(piece, input + from, n_bytes);
            memmove(input + at + n_bytes, input + at, length - at);
            memcpy(input + at, piece, n_bytes);
            length += n_bytes;
            break;
        }
        case 4: { /* what readers dislike */
            const char *word = words[DRAW(sizeof words / sizeof *words)];
            const size_t n_bytes = strlen(word);
            if (length + n_bytes > max_length) break;
            memmove(input + at + n_bytes, input + at, length - at);
            memcpy(input + at, word, n_bytes);
            length += n_bytes;
            break;
        }
        default: /* cut off */
            if (DRAW(4) == 0) length = at;
        }
    }
#undef DRAW
    input_length = length;
}

int main(int argc, char **argv) {
    uint64_t runs = 1000, seed = 1;
    size_t max_length = 8192;
    double seconds = 0;
    bool answers = false;
    FILE *list = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "-answers", 8)) answers = true;
        if (!strncmp(argv[i], "-answers=", 9) && !(list = fopen(argv[i] + 9, "w"))) return 1;
        if (sscanf(argv[i], "-runs=%lu", &runs) == 1 || sscanf(argv[i], "-seed=%lu", &seed) == 1 ||
            sscanf(argv[i], "-max_len=%zu", &max_length) == 1 ||
            sscanf(argv[i], "-max_total_time=%lf", &seconds) == 1)
            continue;
        if (!strncmp(argv[i], "-artifact_prefix=", 17)) snprintf(kept, sizeof kept, "%sinput", argv[i] + 17);
    }
    if (max_length > MAX_LENGTH) max_length = MAX_LENGTH;
    /* what an input gives back the next one takes: to ask the system for it anew takes longer than most
     * inputs */
    mallopt(M_MMAP_THRESHOLD, MOST_KEPT);
    mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-') read_seeds(argv[i], max_length);
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], keep_input);

    const time_t start = time(NULL);
    uint64_t done = 0;
    for (; done < (uint64_t)n_seeds + runs && (seconds <= 0 || difftime(time(NULL), start) < seconds);
         done++) {
        if (done < (uint64_t)n_seeds) {
            input_length = seeds[done].length;
            memcpy(input, seeds[done].bytes, input_length);
        } else {
            make_input(seed, done, max_length);
        }
        alarm(60); /* an input that takes a minute is a finding too */
        LLVMFuzzerTestOneInput(input, input_length);
        if (list) fprintf(list, "%lu %016lx\n", done, fuzz_answers());
    }
    alarm(0);
    if (answers) printf("%016lx\n", fuzz_answers());
    if (list) fclose(list);
    fprintf(stderr, "%lu inputs, %d of them seeds\n", done, n_seeds);
    for (int i = 0; i < n_seeds; i++) free(seeds[i].bytes);
    return 0;
}
