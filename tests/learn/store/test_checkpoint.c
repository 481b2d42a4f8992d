/* Checkpoints: round trips, damage of every kind, failing disks, and processes killed while writing. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "learn/store/checkpoint.h"

static char folder[] = "/tmp/ludus-checkpoint-XXXXXX";
static char path[96], previous[96];

typedef struct sample {
    uint64_t iteration;
    double rate;
    float weights[6];
    int32_t order[5];
    uint8_t state[7];
} sample;

static void visit(sample *s, lud_checkpoint *checkpoint) {
    lud_checkpoint_bytes(checkpoint, "state", s->state, sizeof s->state);
    lud_checkpoint_tensor(checkpoint, "weights", LUD_TENSOR_F32, 2, (int64_t[]){2, 3}, s->weights);
    lud_checkpoint_tensor(checkpoint, "order", LUD_TENSOR_I32, 1, (int64_t[]){5}, s->order);
    lud_checkpoint_tensor(checkpoint, "nothing", LUD_TENSOR_F64, 2, (int64_t[]){0, 4}, NULL);
    lud_checkpoint_u64(checkpoint, "iteration", &s->iteration);
    lud_checkpoint_real(checkpoint, "rate", &s->rate);
}

static sample make_sample(uint64_t iteration) {
    sample s = {.iteration = iteration, .rate = 1.0 / 3.0 + (double)iteration};
    for (int i = 0; i < 6; i++) s.weights[i] = (float)iteration + (float)i / 7.0f;
    for (int i = 0; i < 5; i++) s.order[i] = -i * 1000;
    for (int i = 0; i < 7; i++) s.state[i] = (uint8_t)(200 + i);
    return s;
}

static void write_sample(uint64_t iteration) {
    sample s = make_sample(iteration);
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    assert_non_null(checkpoint);
    visit(&s, checkpoint);
    lud_checkpoint_set_text(checkpoint, "configuration", "learner:\n  name: \"t\xc3\xa9st\"\n");
    lud_error error = {0};
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
}

static void check_sample(const char *file, uint64_t iteration) {
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    if (lud_checkpoint_open(file, &checkpoint, &error)) fail_msg("%s", error.text);
    sample s = {0};
    const sample expected = make_sample(iteration);
    visit(&s, checkpoint);
    assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
    assert_int_equal(s.iteration, expected.iteration);
    assert_true(s.rate == expected.rate);
    assert_memory_equal(s.weights, expected.weights, sizeof s.weights);
    assert_memory_equal(s.order, expected.order, sizeof s.order);
    assert_memory_equal(s.state, expected.state, sizeof s.state);
    assert_string_equal(lud_checkpoint_text(checkpoint, "configuration"),
                        "learner:\n  name: \"t\xc3\xa9st\"\n");
    lud_checkpoint_destroy(checkpoint);
}

static void round_trip_keeps_the_previous(void **state) {
    (void)state;
    write_sample(1);
    check_sample(path, 1);
    assert_false(lud_file_exists(previous));
    write_sample(2);
    check_sample(path, 2);
    check_sample(previous, 1);
    write_sample(3);
    check_sample(path, 3);
    check_sample(previous, 2);
}

/* The file layout, read here without the module: length, JSON header, aligned data. */
static void layout_is_safetensors(void **state) {
    (void)state;
    write_sample(4);
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, NULL), LUD_OK);
    uint64_t n_header = 0;
    memcpy(&n_header, bytes, 8);
    assert_int_equal(n_header % 8, 0);
    char *header = lud_arena_text(arena, bytes + 8, (size_t)n_header);
    assert_non_null(strstr(header, "\"weights\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":["));
    assert_non_null(strstr(header, "\"iteration\":{\"dtype\":\"U64\",\"shape\":[],\"data_offsets\":[0,8]}"));
    assert_non_null(strstr(header, "\"state\":{\"dtype\":\"U8\",\"shape\":[7],\"data_offsets\":[60,67]}"));
    assert_int_equal(length, 8 + n_header + 8 + 8 + 24 + 20 + 7);
    float weight = 0;
    memcpy(&weight, bytes + 8 + n_header + 16 + 4, sizeof weight);
    assert_true(weight == make_sample(4).weights[1]);
    lud_arena_destroy(arena);
}

/* Tensors may have any names that are UTF-8, and are found by them; others are refused, and the file is not
 * there. */
static void names_are_any_text(void **state) {
    (void)state;
    static const char *const names[] = {"",     "a b",      "quoted \"name\"",   "back\\slash",
                                        "a\nb", "\x7f\x01", "\xc3\xa9t\xc3\xa9", "~"};
    enum { N = sizeof names / sizeof *names };
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    for (uint64_t i = 0; i < N; i++) lud_checkpoint_u64(checkpoint, names[i], &i);
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_checkpoint_n_tensors(checkpoint), N);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t value = N;
        lud_checkpoint_u64(checkpoint, names[i], &value);
        assert_int_equal(value, i);
    }
    assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    for (int of_text = 0; of_text < 2; of_text++) {
        unlink(path);
        uint64_t value = 1;
        checkpoint = lud_checkpoint_create();
        lud_checkpoint_u64(checkpoint, of_text ? "a" : "\xff", &value);
        if (of_text) lud_checkpoint_set_text(checkpoint, "a", "\xff");
        assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_ERROR_MEMORY);
        assert_false(lud_file_exists(path));
        lud_checkpoint_destroy(checkpoint);
    }
}

static void missing_or_other_tensors_are_named(void **state) {
    (void)state;
    write_sample(1);
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
    float weights[8];
    lud_checkpoint_tensor(checkpoint, "weights", LUD_TENSOR_F32, 2, (int64_t[]){2, 4}, weights);
    assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_ERROR_INPUT);
    assert_string_equal(
        error.text, "tensor 'weights' of the checkpoint is F32[2, 3], this configuration needs F32[2, 4]");
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
    lud_checkpoint_tensor(checkpoint, "bias", LUD_TENSOR_F32, 1, (int64_t[]){4}, weights);
    assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "the checkpoint has no tensor 'bias'");
    lud_checkpoint_destroy(checkpoint);
}

static void read_whole(lud_arena *arena, char **bytes, size_t *length) {
    write_sample(5);
    assert_int_equal(lud_file_read(arena, path, 0, bytes, length, NULL), LUD_OK);
}

static void every_truncation_is_an_error(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t length;
    read_whole(arena, &bytes, &length);
    lud_checkpoint *checkpoint = NULL;
    for (size_t n = 0; n < length; n++) {
        lud_error error = {0};
        checkpoint = (lud_checkpoint *)(void *)bytes; /* nobody's: what it held before does not stay */
        assert_int_equal(lud_checkpoint_parse("cut", bytes, n, &checkpoint, &error), LUD_ERROR_INPUT);
        assert_null(checkpoint);
        assert_non_null(strstr(error.text, "truncated"));
    }
    char *longer = lud_arena_take(arena, length + 1);
    memcpy(longer, bytes, length);
    assert_int_equal(lud_checkpoint_parse("longer", longer, length + 1, &checkpoint, NULL), LUD_ERROR_INPUT);
    lud_arena_destroy(arena);
}

static void every_flipped_bit_is_an_error(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t length;
    read_whole(arena, &bytes, &length);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        lud_checkpoint *checkpoint = NULL;
        lud_error error = {0};
        if (lud_checkpoint_parse("flipped", bytes, length, &checkpoint, &error) == LUD_OK)
            fail_msg("bit %zu flipped and nobody noticed", bit);
        assert_true(error.text[0] != 0);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    lud_arena_destroy(arena);
}

static void foreign_files_are_named(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t n_header;
        const char *expected;
    } cases[] = {
        {"hello, I am no checkpoint at all", 0, "not a safetensors file"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}abcd", 54, "another program"},
        {"{\"w\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}abcd", 54, "unknown dtype 'F99'"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}abcd", 54,
         "do not hold its 8 bytes"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}abcd", 55, "impossible shape"},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}abcd", 53, "leaves a gap"},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}abcd", 53, "belong to no tensor"},
        {"{\"w\":7}", 7, "tensor 'w': expected an object with dtype, shape and data_offsets"},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}abc", 53,
         "truncated: tensor 'w' ends at byte 4 of the data, the file has 3"},
        {"{\"__metadata__\":{\"a\":1}}", 24, "metadata 'a' is not a text"},
        {"{\"w\":7}", 99, "truncated: the header has 99 bytes, only 7 are there"},
        {"[1, 2]", 6, "not a safetensors file"},
        {"{\"a\":1,\"a\":2}", 13, "not a safetensors file: header: duplicate object key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[128] = {0};
        size_t length = strlen(cases[i].text);
        if (cases[i].n_header) {
            bytes[0] = (unsigned char)cases[i].n_header;
            memcpy(bytes + 8, cases[i].text, length);
            length += 8;
        } else
            memcpy(bytes, cases[i].text, length);
        lud_checkpoint *checkpoint = NULL;
        lud_error error = {0};
        assert_int_equal(lud_checkpoint_parse("foreign", bytes, length, &checkpoint, &error),
                         LUD_ERROR_INPUT);
        if (!strstr(error.text, cases[i].expected)) fail_msg("case %zu: %s", i, error.text);
    }
    /* more dimensions than any tensor of ours has; a list where the header should be; a byte of the data */
    static const char many[] = "\x45\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
                               "\"data_offsets\":[0,1]}}x";
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    const size_t length = sizeof many - 1;
    assert_int_equal(many[0], length - 8 - 1);
    assert_int_equal(lud_checkpoint_parse("many", many, length, &checkpoint, &error), LUD_ERROR_LIMIT);
    char expected[100];
    snprintf(expected, sizeof expected, "many: tensor 'w': 9 dimensions, at most %d are supported",
             (int)LUD_TENSOR_MAX_DIMENSIONS);
    assert_string_equal(error.text, expected);
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t n;
    read_whole(arena, &bytes, &n);
    bytes[n - 1] ^= 1;
    assert_int_equal(lud_checkpoint_parse("flipped", bytes, n, &checkpoint, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "flipped: damaged: its checksum is "));
    assert_non_null(strstr(error.text, ", the file says "));
    lud_arena_destroy(arena);
}

static void the_previous_is_offered(void **state) {
    (void)state;
    write_sample(1);
    write_sample(2);
    assert_int_equal(truncate(path, 100), 0);
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "truncated"));
    assert_non_null(strstr(error.text, previous));
    assert_non_null(strstr(error.text, "is readable"));
    check_sample(previous, 1);
}

/* A disk that is full: the error is reported, and the file from before stays. */
static void a_full_disk_changes_nothing(void **state) {
    (void)state;
    write_sample(8);
    const struct rlimit small = {4096, RLIM_INFINITY};
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    sample s = make_sample(9);
    visit(&s, checkpoint);
    static double many[4096];
    lud_checkpoint_tensor(checkpoint, "many", LUD_TENSOR_F64, 1, (int64_t[]){4096}, many);
    lud_error error = {0};
    setrlimit(RLIMIT_FSIZE, &small);
    const lud_status status = lud_checkpoint_write(checkpoint, path, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, LUD_ERROR_IO);
    char full[200];
    snprintf(full, sizeof full, "%s: cannot write the checkpoint: File too large", path);
    assert_string_equal(error.text, full);
    check_sample(path, 8);
    lud_checkpoint_destroy(checkpoint);

    /* a folder that is not there, told by the thread at the next wait */
    lud_checkpoint_writer *writer = NULL;
    assert_int_equal(lud_checkpoint_writer_create((const char *[]){"/tmp/ludus-no-such-folder/c.safetensors"},
                                                  1, &writer, &error),
                     LUD_OK);
    visit(&s, lud_checkpoint_writer_begin(writer, 0));
    assert_int_equal(lud_checkpoint_writer_submit(writer, &error), LUD_OK);
    assert_int_equal(lud_checkpoint_writer_wait(writer, &error), LUD_ERROR_IO);
    assert_int_equal(lud_checkpoint_writer_wait(writer, &error), LUD_OK);
    lud_checkpoint_writer_destroy(writer);
}

static void sleep_seconds(double seconds) {
    const struct timespec pause = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&pause, NULL);
}

/* How long this disk takes to write one checkpoint: the moments of the kills below spread over a few of them.
 */
static double seconds_of_a_write(int n, double *numbers) {
    enum { WRITES = 5 };
    const double start = lud_clock_seconds();
    lud_checkpoint_writer *writer = NULL;
    assert_int_equal(lud_checkpoint_writer_create((const char *[]){path}, 1, &writer, NULL), LUD_OK);
    for (uint64_t i = 0; i < WRITES; i++) {
        assert_int_equal(lud_checkpoint_writer_wait(writer, NULL), LUD_OK);
        lud_checkpoint *checkpoint = lud_checkpoint_writer_begin(writer, 0);
        uint64_t iteration = 0;
        lud_checkpoint_u64(checkpoint, "iteration", &iteration);
        lud_checkpoint_tensor(checkpoint, "block", LUD_TENSOR_F64, 1, (int64_t[]){n}, numbers);
        assert_int_equal(lud_checkpoint_writer_submit(writer, NULL), LUD_OK);
    }
    assert_int_equal(lud_checkpoint_writer_wait(writer, NULL), LUD_OK);
    lud_checkpoint_writer_destroy(writer);
    unlink(path);
    unlink(previous);
    return (lud_clock_seconds() - start) / WRITES;
}

/* 200 processes that write without pause, each killed at a random moment: the file is always readable, its
 * contents belong together, and the partial files of the dead are removed. */
static void killed_writers_leave_a_readable_file(void **state) {
    (void)state;
    enum { KILLS = 200, NUMBERS = 20000 };
    static double block[NUMBERS];
    unlink(path);
    unlink(previous);
    uint64_t last = 0;
    int written = 0;
    double write_seconds = seconds_of_a_write(NUMBERS, block);
    int in_vain = 0; /* kills in a row before which nothing was written */
    for (uint32_t kill_number = 0; kill_number < KILLS; kill_number++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            lud_checkpoint_writer *writer = NULL;
            if (lud_checkpoint_writer_create((const char *[]){path}, 1, &writer, NULL)) _exit(1);
            for (uint64_t i = last + 1;; i++) {
                lud_checkpoint_writer_wait(writer, NULL);
                lud_checkpoint *checkpoint = lud_checkpoint_writer_begin(writer, 0);
                for (int k = 0; k < NUMBERS; k++) block[k] = (double)i;
                lud_checkpoint_u64(checkpoint, "iteration", &i);
                lud_checkpoint_tensor(checkpoint, "block", LUD_TENSOR_F64, 1, (int64_t[]){NUMBERS}, block);
                if (lud_checkpoint_writer_submit(writer, NULL)) _exit(1);
            }
        }
        const lud_words draw = lud_draw((lud_random_key){7, 0}, kill_number, 0, LUD_PURPOSE_USER, 0);
        sleep_seconds(3 * write_seconds * lud_unit(draw.v[0]));
        /* the first one gets through */
        while (kill_number == 0 && !lud_file_exists(path) && !waitpid(child, NULL, WNOHANG))
            sleep_seconds(0.001);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (++in_vain > 8 && write_seconds < 1) { /* the disk has become slower */
            write_seconds *= 2;
            in_vain = 0;
        }
        if (!lud_file_exists(path)) continue;
        lud_checkpoint *checkpoint = NULL;
        lud_error error = {0};
        if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("kill %u: %s", kill_number, error.text);
        uint64_t iteration = 0;
        lud_checkpoint_u64(checkpoint, "iteration", &iteration);
        lud_checkpoint_tensor(checkpoint, "block", LUD_TENSOR_F64, 1, (int64_t[]){NUMBERS}, block);
        assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
        assert_true(block[0] == (double)iteration && block[NUMBERS - 1] == (double)iteration);
        assert_true(iteration >= last);
        written += iteration > last;
        if (iteration > last) in_vain = 0;
        last = iteration;
        lud_checkpoint_destroy(checkpoint);
    }
    assert_true(written > 0); /* some got through, so others died in the middle */
    lud_folder_remove_leftovers(folder, NULL);
    char command[160];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep partial)\"", folder);
    assert_int_equal(system(command), 0);
}

/* A disk that takes the bytes in its own time: the C library's call is replaced in this program. */
static atomic_int disk;
enum { DISK_WORKS, DISK_STALLS, DISK_IS_WAITED_FOR, DISK_FAILS };

int fsync(int descriptor) {
    int stalls = DISK_STALLS;
    if (!atomic_compare_exchange_strong(&disk, &stalls, DISK_IS_WAITED_FOR))
        return (int)syscall(SYS_fsync, descriptor);
    while (atomic_load(&disk) == DISK_IS_WAITED_FOR) usleep(1000);
    errno = EIO;
    return -1;
}

/* It holds up the thread, not the training: the snapshot is handed over, the next is put off, and the wait at
 * the end tells that the disk has failed. */
static void writing_does_not_stall_training(void **state) {
    (void)state;
    enum { NUMBERS = 1 << 19 };
    double *block = calloc(NUMBERS, sizeof *block);
    lud_checkpoint_writer *writer = NULL;
    assert_int_equal(lud_checkpoint_writer_create((const char *[]){path}, 1, &writer, NULL), LUD_OK);
    char partial[200];
    snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)getpid());
    atomic_store(&disk, DISK_STALLS);
    lud_checkpoint *checkpoint = lud_checkpoint_writer_begin(writer, 0);
    assert_non_null(checkpoint);
    lud_checkpoint_tensor(checkpoint, "block", LUD_TENSOR_F64, 1, (int64_t[]){NUMBERS}, block);
    assert_int_equal(lud_checkpoint_writer_submit(writer, NULL), LUD_OK);
    assert_null(lud_checkpoint_writer_begin(writer, 0));
    while (atomic_load(&disk) != DISK_IS_WAITED_FOR) usleep(1000);
    assert_true(lud_file_exists(partial));
    assert_null(lud_checkpoint_writer_begin(writer, 0));
    atomic_store(&disk, DISK_FAILS);
    lud_error error = {0};
    assert_int_equal(lud_checkpoint_writer_wait(writer, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, path));
    assert_false(lud_file_exists(partial));
    assert_non_null(lud_checkpoint_writer_begin(writer, 0)); /* and goes on */
    lud_checkpoint_writer_destroy(writer);
    free(block);
}

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    char *made = lud_checkpoint_previous_path(path);
    snprintf(previous, sizeof previous, "%s", made);
    free(made);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* What is infinite or no number is told wherever it is, of every real type, with the tensor and its place;
 * whole numbers are never taken for one. The same where it is loaded. */
static void what_is_not_finite_is_told(void **state) {
    (void)state;
    enum { N = 5 };
    static const struct {
        lud_tensor_type type;
        size_t bytes;
        uint64_t wrong[4], fine; /* infinities, no numbers; the largest that is one */
    } types[] = {
        {LUD_TENSOR_F64,
         8,
         {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001},
         0x7fefffffffffffff},
        {LUD_TENSOR_F32, 4, {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001}, 0x7f7fffff},
        {LUD_TENSOR_F16, 2, {0x7c00, 0xfc00, 0x7e00, 0x7c01}, 0x7bff},
        {LUD_TENSOR_BF16, 2, {0x7f80, 0xff80, 0x7fc0, 0x7f81}, 0x7f7f},
        {LUD_TENSOR_I64, 8, {0}, 0x7ff0000000000000},
        {LUD_TENSOR_I32, 4, {0}, 0x7f800000},
        {LUD_TENSOR_U16, 2, {0}, 0x7c00},
        {LUD_TENSOR_U8, 1, {0}, 0xff},
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int at = 0; at < N; at++)
            for (int w = 0; w < 5; w++) {
                const bool wrong = w < 4 && types[t].wrong[w];
                const uint64_t pattern = w < 4 ? types[t].wrong[w] : types[t].fine;
                unsigned char numbers[8 * N] = {0}, first[8 * N] = {0};
                memcpy(numbers + (size_t)at * types[t].bytes, &pattern, types[t].bytes);
                const int64_t n = N;
                lud_error error = {0};
                lud_checkpoint *checkpoint = lud_checkpoint_create();
                lud_checkpoint_tensor(checkpoint, "before", types[t].type, 1, &n, first);
                lud_checkpoint_tensor(checkpoint, "numbers", types[t].type, 1, &n, numbers);
                char expected[64];
                const lud_status status = lud_checkpoint_check_finite(checkpoint, &error);
                assert_int_equal(status, wrong ? LUD_ERROR_NUMERIC : LUD_OK);
                snprintf(expected, sizeof expected, "'numbers' is not finite, first at number %d:", at);
                if (wrong) assert_int_equal(strncmp(error.text, expected, strlen(expected)), 0);
                if (at > 0 && at < N - 1) { /* loading looks with the same eyes */
                    lud_checkpoint_destroy(checkpoint);
                    continue;
                }
                assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
                lud_checkpoint_destroy(checkpoint);
                assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
                lud_checkpoint_tensor(checkpoint, "before", types[t].type, 1, &n, first);
                assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
                lud_checkpoint_tensor(checkpoint, "numbers", types[t].type, 1, &n, first);
                assert_int_equal(lud_checkpoint_status(checkpoint, &error),
                                 wrong ? LUD_ERROR_NUMERIC : LUD_OK);
                snprintf(expected, sizeof expected, "'numbers' of the checkpoint is not finite at number %d",
                         at);
                if (wrong) assert_non_null(strstr(error.text, expected));
                lud_checkpoint_destroy(checkpoint);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip_keeps_the_previous),
        cmocka_unit_test(layout_is_safetensors),
        cmocka_unit_test(names_are_any_text),
        cmocka_unit_test(missing_or_other_tensors_are_named),
        cmocka_unit_test(every_truncation_is_an_error),
        cmocka_unit_test(every_flipped_bit_is_an_error),
        cmocka_unit_test(foreign_files_are_named),
        cmocka_unit_test(the_previous_is_offered),
        cmocka_unit_test(a_full_disk_changes_nothing),
        cmocka_unit_test(killed_writers_leave_a_readable_file),
        cmocka_unit_test(writing_does_not_stall_training),
        cmocka_unit_test(what_is_not_finite_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
