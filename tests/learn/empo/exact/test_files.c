/* The file of an exact solution. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "learn/empo/exact/levels.h"
#include "learn/empo/exact/solution.h"
#include "learn/empo/exact/support_solved.h"

/* ---- the file ---- */

static char folder[] = "/tmp/ludus-empo-XXXXXX";
static char path[64], partial[80];

static int make_folder(void **context) {
    (void)context;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/solution.empo", folder);
    snprintf(partial, sizeof partial, "%s.partial", path);
    return 0;
}
static int remove_folder(void **context) {
    (void)context;
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static lud_empo_solution *create(const support_solved *s, bool resume) {
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    if (lud_empo_solution_create(path, s->problem, resume, &solution, &error)) fail_msg("%s", error.text);
    return solution;
}

static void write_solution(const support_solved *s) {
    support_write(s, path);
}

static void refused(const char *message) {
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_INPUT);
    assert_null(solution);
    if (!strstr(error.text, message)) fail_msg("'%s' is not in '%s'", message, error.text);
}

/* Changes a byte of the file. */
static void change(long at, int by) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int old = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(old ^ by, file);
    fclose(file);
}

static void file_keeps_everything(void **context) {
    (void)context;
    support_solved s = support_solve(41, 2, 1, false);
    write_solution(&s);
    assert_int_not_equal(access(partial, F_OK), 0);
    lud_empo_solution *solution;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    assert_true(solution->header->n_states == s.space->n_states &&
                solution->header->zeta == support_theory.zeta);
    assert_memory_equal(solution->records, s.records,
                        s.space->n_states * solution->header->record_doubles * sizeof(double));
    for (uint64_t i = 0; i < s.space->n_states; i++)
        assert_true(lud_empo_solution_find(solution, s.space->states + 2 * i) == i);
    assert_true(lud_empo_solution_find(solution, (const uint8_t[]){255, 255}) == UINT64_MAX);
    lud_empo_solution_close(solution);
    support_release(&s);
}

static lud_empo_header read_header(void) {
    lud_empo_header header;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    fclose(file);
    return header;
}

/* Writes another header with the checksum that belongs to it, as anybody can. */
static void put_header(const lud_empo_header *header) {
    enum { PAGE = 4096 };
    static uint8_t page[PAGE];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(page, 1, PAGE, file), PAGE);
    lud_empo_header sealed = *header;
    sealed.header_hash = 0;
    memcpy(page, &sealed, sizeof sealed);
    sealed.header_hash = XXH3_64bits(page, PAGE);
    memcpy(page, &sealed, sizeof sealed);
    rewind(file);
    assert_int_equal(fwrite(page, 1, PAGE, file), PAGE);
    fclose(file);
}

/* Headers whose checksum is right and whose numbers are not. */
static void headers_that_cannot_be(void **context) {
    (void)context;
    support_solved s = support_solve(42, 1, 1, false);
    write_solution(&s);
    const lud_empo_header header = read_header();
#define REFUSES(change, message)                                                                             \
    do {                                                                                                     \
        lud_empo_header changed = header;                                                                    \
        changed.change;                                                                                      \
        put_header(&changed);                                                                                \
        refused(message);                                                                                    \
    } while (0)
    REFUSES(version = 1, "version 1 of the format, which has no checksums");
    REFUSES(version++, "expected version");
    REFUSES(byte_order++, "foreign byte order");
    REFUSES(n_states = 0, "damaged header");
    REFUSES(n_states++, "damaged"); /* its states, where their room is still enough */
    REFUSES(n_layers = 0, "damaged header");
    REFUSES(n_layers = header.n_states + 1, "damaged header");
    REFUSES(state_bytes = 0, "damaged header");
    REFUSES(state_bytes = 1u << 20, "damaged header");
    REFUSES(record_doubles = 0, "damaged header");
    REFUSES(record_doubles = 1u << 24, "damaged header");
    REFUSES(layers_at += 8, "damaged header");
    REFUSES(states_at += 8, "damaged header");
    REFUSES(records_at += 8, "damaged header");
    REFUSES(checksums_at += 8, "damaged header");
    REFUSES(block_bytes *= 2, "damaged header");
    REFUSES(file_bytes += 8, "damaged header");
    REFUSES(n_humans = 65, "damaged header");
    REFUSES(n_robots = 65, "damaged header");
#undef REFUSES
    put_header(&header);
    lud_empo_solution *solution;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    lud_empo_solution_close(solution);
    support_release(&s);
}

/* A part of a record that ends behind it, by one number, whichever it is; one that ends with it is no fault
 * of the header's. */
static void parts_stay_within_records(void **context) {
    (void)context;
    support_solved s = support_solve(42, 1, 1, false);
    write_solution(&s);
    const lud_empo_header header = read_header();
    lud_empo_header changed = header;
    const struct {
        uint32_t *begin;
        uint64_t n;
    } parts[] = {{&changed.v_r, 1},
                 {&changed.u_r, 1},
                 {&changed.x_h, header.n_humans},
                 {&changed.v_h_e, header.n_goals},
                 {&changed.v_h_m, header.n_goals},
                 {&changed.q_r, header.n_robot_actions},
                 {&changed.pi_r, header.n_robot_actions},
                 {&changed.policies, header.n_policies}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        changed = header;
        *parts[i].begin = (uint32_t)(header.record_doubles - parts[i].n + 1);
        put_header(&changed);
        refused("damaged header");
        (*parts[i].begin)--;
        put_header(&changed);
        lud_empo_solution *other = NULL;
        lud_error told = {0};
        if (lud_empo_solution_open(path, &other, &told) == LUD_ERROR_INPUT) fail_msg("%zu: %s", i, told.text);
        lud_empo_solution_close(other);
    }
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    put_header(&header);
    if (lud_empo_solution_open(path, &solution, &error)) fail_msg("%s", error.text);
    lud_empo_solution_close(solution);
    support_release(&s);
}

/* Layers with the checksum that belongs to them, as anybody can write them, are layers of all states all the
 * same: they begin with the first one, end with the last, and none is empty. */
static void layers_that_cannot_be(void **context) {
    (void)context;
    support_solved s = support_solve(42, 1, 1, false);
    write_solution(&s);
    const lud_empo_header header = read_header();
    const uint64_t n = header.n_layers;
    uint64_t *layers = malloc((n + 1) * sizeof *layers);
    for (int wrong = 0; wrong < 5; wrong++) {
        memcpy(layers, s.space->layer_begin, (n + 1) * sizeof *layers);
        if (wrong == 1) layers[0] = 1;
        if (wrong == 2) layers[n]--;
        if (wrong == 3) layers[1] = layers[2];         /* an empty layer, */
        if (wrong == 4) layers[n - 1] = layers[n - 2]; /* and another */
        lud_empo_header changed = header;
        changed.states_hash = XXH3_64bits_withSeed(s.space->states, s.space->n_states * header.state_bytes,
                                                   XXH3_64bits(layers, (n + 1) * sizeof *layers));
        const int file = open(path, O_RDWR);
        assert_true(file >= 0);
        const size_t bytes = (n + 1) * sizeof *layers;
        assert_int_equal(pwrite(file, layers, bytes, (off_t)header.layers_at), (ssize_t)bytes);
        close(file);
        put_header(&changed);
        if (wrong) refused("do not match their checksum");
        if (wrong) continue;
        lud_empo_solution *solution;
        assert_int_equal(lud_empo_solution_open(path, &solution, NULL), LUD_OK);
        lud_empo_solution_close(solution);
    }
    free(layers);
    support_release(&s);
}

/* A world that can only be in one state at a time has as many layers as states, and a file like any other. */
static void a_layer_may_be_one_state(void **context) {
    (void)context;
    table_model *m = table_world_random(7, 1, 1, 2, 6, 1, false);
    support_solved s = {.m = m};
    lud_error error = {0};
    assert_int_equal(lud_statespace_build(&m->base, &(lud_statespace_options){0}, &s.space, &error), LUD_OK);
    assert_int_equal(lud_empo_problem_create(s.space, &support_theory, &s.problem, &error), LUD_OK);
    assert_true(s.space->n_states == (uint64_t)s.space->n_layers && s.space->n_states > 2);
    s.records = calloc(s.space->n_states * (uint64_t)s.problem->layout.record_doubles, sizeof(double));
    write_solution(&s);
    lud_empo_solution *solution;
    if (lud_empo_solution_open(path, &solution, &error)) fail_msg("%s", error.text);
    lud_empo_solution_close(solution);
    support_release(&s);
}

/* A value that can be none is found in any state of a finished file whose checksums say that it is whole. */
static void values_of_all_states_are_checked(void **context) {
    (void)context;
    support_solved s = support_solve(42, 1, 1, false);
    const uint64_t row = (uint64_t)s.problem->layout.record_doubles, last = s.space->n_states - 1;
    const uint64_t states[] = {0, 1, last / 2, last};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char expected[160];
        double *power = &s.records[states[i] * row + (uint64_t)s.problem->layout.x_h], before = *power;
        *power = -0.01;
        write_solution(&s);
        *power = before;
        lud_empo_solution *solution = NULL;
        lud_error error = {0};
        assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_NUMERIC);
        snprintf(expected, sizeof expected, "%s: state %llu has a power X_h below 0", path,
                 (unsigned long long)states[i]);
        assert_string_equal(error.text, expected);
    }
    support_release(&s);
}

static void damaged_files_are_refused(void **context) {
    (void)context;
    support_solved s = support_solve(42, 1, 1, false);
    write_solution(&s);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    const lud_empo_header header = read_header();
    for (long at = (long)offsetof(lud_empo_header, magic); at < (long)sizeof header.magic; at++) {
        change(at, 1);
        refused("not an EMPO solution");
        change(at, 1);
    }
    change((long)offsetof(lud_empo_header, version), 0x2 ^ 1);
    refused("version 1 of the format, which has no checksums of its values; solve the world again");
    change((long)offsetof(lud_empo_header, version), 0x2 ^ 1);
    change((long)offsetof(lud_empo_header, version), 0x2 ^ 7);
    refused("version 7 of the format");
    change((long)offsetof(lud_empo_header, version), 0x2 ^ 7);
    /* every byte of the file is under a checksum, or a zero between parts */
    for (long at = 0; at < file.st_size; at += at < (long)sizeof header ? 1 : 17) {
        lud_empo_solution *solution = NULL;
        change(at, 0x10);
        assert_int_equal(lud_empo_solution_open(path, &solution, NULL), LUD_ERROR_INPUT);
        change(at, 0x10);
    }
    /* every size and offset is checked against the others */
    for (long at = (long)offsetof(lud_empo_header, n_states);
         at < (long)offsetof(lud_empo_header, states_hash); at++) {
        change(at, 0x40);
        lud_empo_solution *solution = NULL;
        lud_error error = {0};
        assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_INPUT);
        change(at, 0x40);
    }
    change((long)offsetof(lud_empo_header, layers_at), 1);
    refused("solution.empo: damaged header");
    change((long)offsetof(lud_empo_header, layers_at), 1);
    change((long)header.states_at, 1);
    refused("do not match their checksum");
    change((long)header.states_at, 1);
    change((long)header.layers_at + 8, 4);
    refused("do not match their checksum");
    change((long)header.layers_at + 8, 4);
    change((long)offsetof(lud_empo_header, first_level), 2);
    refused("not finished");
    change((long)offsetof(lud_empo_header, first_level), 2);
    lud_empo_solution *solution;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK); /* whole again */
    lud_empo_solution_close(solution);
    const off_t cuts[] = {file.st_size - 1, file.st_size / 2, 4096, 4095, 100, 0};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_int_equal(truncate(path, cuts[i]), 0);
        refused("truncated");
    }
    unlink(path);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    support_release(&s);
}

/* A disk that fills up or a system that refuses at some step; the calls are replaced in this program. */
static const char *refused_call;

static bool refuses(const char *call, int reason) {
    if (!refused_call || strcmp(refused_call, call) != 0) return false;
    errno = reason;
    return true;
}

int fstat(int descriptor, struct stat *file) {
    return refuses("fstat", EIO) ? -1 : fstatat(descriptor, "", file, AT_EMPTY_PATH);
}
int ftruncate(int descriptor, off_t length) {
    return refuses("ftruncate", EFBIG) ? -1 : (int)syscall(SYS_ftruncate, descriptor, length);
}
int posix_fallocate(int descriptor, off_t begin, off_t length) {
    if (refuses("posix_fallocate", 0)) return ENOSPC;
    return syscall(SYS_fallocate, descriptor, 0, begin, length) ? errno : 0;
}
int msync(void *memory, size_t bytes, int how) {
    return refuses("msync", EIO) ? -1 : (int)syscall(SYS_msync, memory, bytes, how);
}
int fsync(int descriptor) {
    return refuses("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, descriptor);
}
void *mmap(void *where, size_t bytes, int protection, int how, int descriptor, off_t begin) {
    if (descriptor >= 0 && refuses("mmap", ENOMEM)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, bytes, protection, how, descriptor, begin); // NOLINT
}

static void failing_disks_are_told(void **context) {
    (void)context;
    support_solved s = support_solve(45, 1, 1, false);
    static const struct {
        const char *call, *message;
    } cases[] = {{"fstat", ".partial: cannot write: Input/output error"},
                 {"ftruncate", ".partial: cannot make it large enough: File too large"},
                 {"posix_fallocate", ".partial: cannot reserve its space: No space left on device"},
                 {"mmap", ".partial: cannot map the file: Cannot allocate memory"},
                 {"msync", ".partial: cannot write: Input/output error"},
                 {"fsync", ".partial: cannot rename: Input/output error"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[160];
        lud_empo_solution *solution = NULL;
        lud_error error = {0};
        const bool later = i >= 4;
        if (later) solution = create(&s, false);
        refused_call = cases[i].call;
        const lud_status status = later ? lud_empo_solution_commit(solution, NULL, &error)
                                        : lud_empo_solution_create(path, s.problem, false, &solution, &error);
        refused_call = NULL;
        assert_int_equal(status, LUD_ERROR_IO);
        snprintf(expected, sizeof expected, "%s%s", path, cases[i].message);
        assert_string_equal(error.text, expected);
        if (later) lud_empo_solution_close(solution);
    }
    /* a folder where the file should be, for writing and for reading */
    char expected[160];
    lud_error error = {0};
    lud_empo_solution *solution = create(&s, false);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(lud_empo_solution_commit(solution, NULL, &error), LUD_ERROR_IO);
    snprintf(expected, sizeof expected, "%s.partial: cannot rename: Is a directory", path);
    assert_string_equal(error.text, expected);
    lud_empo_solution_close(solution);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    snprintf(expected, sizeof expected, "%s: cannot read: No such file or directory", path);
    assert_string_equal(error.text, expected);
    write_solution(&s);
    refused_call = "mmap";
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    refused_call = NULL;
    snprintf(expected, sizeof expected, "%s: cannot map the file: Cannot allocate memory", path);
    assert_string_equal(error.text, expected);
    unlink(path);
    unlink(partial);
    support_release(&s);
}

static void unfinished_files_are_taken_up(void **context) {
    (void)context;
    support_solved s = support_solve(43, 1, 1, false), other = support_solve(44, 1, 1, false);
    uint64_t bytes = s.space->n_states * (uint64_t)s.problem->layout.record_doubles * sizeof(double);
    lud_empo_solution *solution = create(&s, false);
    lud_error error = {0};
    int last = (int)solution->header->n_layers;
    assert_true(solution->header->first_level == (int64_t)solution->header->n_states);
    /* the last two levels are done, then the program ends */
    uint64_t done = s.space->layer_begin[last - 2] * (uint64_t)s.problem->layout.record_doubles;
    memcpy(solution->records + done, s.records + done, bytes - done * sizeof(double));
    assert_int_equal(lud_empo_solution_finish_level(solution, last - 2, &error), LUD_OK);
    lud_empo_solution_close(solution);
    assert_int_not_equal(access(path, F_OK), 0);

    lud_empo_solution *wrong = NULL;
    assert_int_equal(lud_empo_solution_create(path, other.problem, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".partial: belongs to another world"));
    lud_empo_problem *changed;
    for (int k = 0; k < 12; k++) { /* each of them */
        lud_empo_theory other_theory = support_theory;
        double *const numbers[] = {
            &other_theory.beta_h,  &other_theory.gamma_h, &other_theory.nu_h,
            &other_theory.gamma_r, &other_theory.beta_r,  &other_theory.zeta,
            &other_theory.xi,      &other_theory.eta,     &other_theory.terminal_value};
        if (k < 9) *numbers[k] += 1.0 / 64;
        if (k == 9) other_theory.optimistic = true;
        if (k == 10) other_theory.aggregate = LUD_EMPO_SUM;
        if (k == 11) other_theory.reward_weight = LUD_EMPO_ONE;
        assert_int_equal(lud_empo_problem_create(s.space, &other_theory, &changed, &error), LUD_OK);
        if (lud_empo_solution_create(path, changed, true, &wrong, &error) != LUD_ERROR_INPUT)
            fail_msg("parameter %d", k);
        assert_non_null(strstr(error.text, "other parameters"));
        lud_empo_problem_destroy(changed);
    }

    solution = create(&s, true);
    assert_true(solution->header->first_level == last - 2);
    lud_empo_run run = {.records = solution->records, .first_level = last - 2};
    assert_int_equal(lud_empo_solve(s.problem, &run, &error), LUD_OK);
    assert_memory_equal(solution->records, s.records, bytes);
    assert_int_equal(lud_empo_solution_commit(solution, NULL, &error), LUD_OK);
    lud_empo_solution_close(solution);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    lud_empo_solution_close(solution);

    /* without resume an unfinished file is begun anew */
    lud_empo_solution_close(create(&s, false));
    assert_int_equal(truncate(partial, 5000), 0);
    assert_int_equal(lud_empo_solution_create(path, s.problem, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".partial: belongs to another world; remove it to start anew"));
    solution = create(&s, false);
    assert_true(solution->header->first_level == (int64_t)solution->header->n_states);
    lud_empo_solution_close(solution);
    support_release(&s);
    support_release(&other);
}

/* What a process beside the writer puts into its file the writer has; another file is not taken for it. */
static void a_file_of_two(void **context) {
    (void)context;
    support_solved s = support_solve(47, 1, 1, false);
    lud_empo_solution *writer = create(&s, false), *other = NULL;
    lud_error error = {0};
    uint64_t device, inode;
    const uint64_t bytes = s.space->n_states * (uint64_t)writer->header->record_doubles * sizeof(double);
    assert_int_equal(lud_empo_solution_file(writer, &device, &inode, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_join(path, device, inode + 1, &other, &error), LUD_OK);
    assert_null(other);
    assert_int_equal(lud_empo_solution_join("/tmp/ludus-no-such-folder/x", device, inode, &other, &error),
                     LUD_OK);
    assert_null(other);
    assert_int_equal(lud_empo_solution_join(path, device, inode, &other, &error), LUD_OK);
    assert_non_null(other);
    assert_memory_equal(other->states, writer->states, s.space->n_states * writer->header->state_bytes);
    memcpy(other->records, s.records, bytes);
    lud_empo_solution_close(other);
    assert_memory_equal(writer->records, s.records, bytes);
    assert_int_equal(lud_empo_solution_commit(writer, NULL, &error), LUD_OK);
    lud_empo_solution_close(writer);
    assert_int_equal(lud_empo_solution_open(path, &writer, &error), LUD_OK);
    lud_empo_solution_close(writer);
    unlink(path);
    support_release(&s);
}

/* Whatever was changed in an unfinished file is told before anything is computed from it. */
static void changed_unfinished_files_are_refused(void **context) {
    (void)context;
    support_solved s = support_solve(43, 1, 1, false);
    lud_empo_solution *solution = create(&s, false);
    lud_error error = {0};
    const lud_empo_header h = *solution->header;
    const uint64_t row = h.record_doubles * sizeof(double), bytes = h.n_states * row;
    const int last = (int)h.n_layers;
    memcpy(solution->records, s.records, bytes);
    assert_int_equal(lud_empo_solution_finish_level(solution, last - 2, &error), LUD_OK);
    lud_empo_solution_close(solution);
    const uint64_t finished = h.records_at + s.space->layer_begin[last - 2] * row;
    static const double three = 3, above = 1.01, below = -0.01, part = 0.123, nan = (double)NAN,
                        infinite = (double)INFINITY, powerless = -(double)INFINITY;
    static const uint64_t far = UINT64_C(1) << 40;
    static const int64_t level = INT64_C(1) << 33;
    const struct {
        uint64_t at;
        const void *bytes;
        const char *told; /* null: is gone on from */
    } changes[] = {
        {h.layers_at + sizeof(uint64_t), &far, "its states are not the world's"},
        {h.states_at, &far, "its states are not the world's"},
        {h.layers_at + (h.n_layers + 1) * sizeof(uint64_t), &far, "something stands between its parts"},
        {finished + h.v_h_e * sizeof(double), &three, "has a V_h^e outside 0 to 1"},
        {finished + h.v_h_e * sizeof(double), &above, "has a V_h^e outside 0 to 1"},
        {finished + (h.v_h_e + h.n_goals - 1) * sizeof(double), &below, "has a V_h^e outside 0 to 1"},
        {finished + h.v_r * sizeof(double), &nan, "has a value that is no number"},
        {finished + h.v_r * sizeof(double), &infinite, "has a value that is no number or infinite"},
        {finished + h.v_r * sizeof(double), &powerless, NULL},
        {finished + h.x_h * sizeof(double), &below, "has a power X_h below 0"},
        {finished + h.pi_r * sizeof(double), &above, "has a pi_r outside 0 to 1"},
        {finished + (h.pi_r + h.n_robot_actions - 1) * sizeof(double), &below, "has a pi_r outside 0 to 1"},
        {finished + h.pi_r * sizeof(double), &part, "has chances pi_r that do not sum to 1"},
        {finished + h.policies * sizeof(double), &above, "has a chance outside 0 to 1"},
        {finished + (h.policies + h.n_policies - 1) * sizeof(double), &below, "has a chance outside 0 to 1"},
        {offsetof(lud_empo_header, first_level), &level, "belongs to another world"},
        {h.records_at + h.v_r * sizeof(double), &nan, NULL}, /* of a level that comes yet */
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint8_t before[8];
        const int file = open(partial, O_RDWR);
        assert_true(file >= 0);
        assert_int_equal(pread(file, before, 8, (off_t)changes[i].at), 8);
        assert_int_equal(pwrite(file, changes[i].bytes, 8, (off_t)changes[i].at), 8);
        lud_empo_solution *again = NULL;
        error = (lud_error){0};
        const lud_status status = lud_empo_solution_create(path, s.problem, true, &again, &error);
        if ((status == LUD_OK) != !changes[i].told) fail_msg("change %zu: '%s'", i, error.text);
        if (changes[i].told && !strstr(error.text, changes[i].told)) fail_msg("%zu: '%s'", i, error.text);
        if (!status) lud_empo_solution_close(again);
        assert_int_equal(pwrite(file, before, 8, (off_t)changes[i].at), 8);
        close(file);
    }
    unlink(partial);
    support_release(&s);
}

/* A finished file has the key that it was given, as much of it as there is room for, and no other; and nobody
 * who gives it up takes away what another has begun beside it. */
static void finished_files_have_a_key(void **context) {
    (void)context;
    support_solved s = support_solve(43, 1, 1, false);
    static const char longest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";
    static const char *const keys[] = {"a key", NULL, longest, ""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        lud_empo_solution *solution = create(&s, false);
        lud_error error = {0};
        memcpy(solution->records, s.records,
               s.space->n_states * solution->header->record_doubles * sizeof(double));
        assert_int_equal(lud_empo_solution_commit(solution, keys[i], &error), LUD_OK);
        assert_int_not_equal(access(partial, F_OK), 0);
        lud_empo_solution_close(create(&s, false));
        lud_empo_solution_discard(solution);
        assert_int_equal(access(partial, F_OK), 0);
        assert_int_equal(unlink(partial), 0);
        lud_empo_solution_close(solution);
        if (lud_empo_solution_open(path, &solution, &error)) fail_msg("%s", error.text);
        assert_string_equal(lud_empo_solution_key(solution), keys[i] ? keys[i] : "");
        lud_empo_solution_close(solution);
    }
    unlink(path);
    support_release(&s);
}

static lud_status read_layer(void *context, int layer, uint8_t *states, lud_error *error) {
    const lud_statespace *space = context;
    (void)error;
    const uint64_t begin = space->layer_begin[layer], n = space->layer_begin[layer + 1] - begin;
    memcpy(states, space->states + begin * space->state_bytes, n * space->state_bytes);
    return LUD_OK;
}

/* Going on looks at the values of every state of the finished levels, and of no other; whether levels follow
 * from the whole graph (with `skips` not in the order of their numbers) or are layers. */
static void check_finished_values(bool skips, bool by_levels) {
    support_solved s = support_solve(43, 1, 1, skips);
    lud_arena *arena = lud_arena_create(0);
    lud_empo_levels levels;
    lud_empo_problem *listed;
    lud_error error = {0};
    assert_int_equal(lud_empo_levels_find(s.space, arena, &levels, &error), LUD_OK);
    assert_true(levels.consecutive == !skips);
    assert_int_equal(lud_empo_problem_of_model(&s.m->base, &support_theory, &listed, &error), LUD_OK);
    const lud_empo_states states = {s.space->n_states, s.space->n_layers, s.space->layer_begin, read_layer,
                                    s.space};
    const uint64_t row = (uint64_t)s.problem->layout.record_doubles;
    const int finished = levels.n / 2;
    for (int first = -1; first < (int)s.space->n_states; first++) { /* -1: as they should be */
        lud_empo_solution *solution = NULL;
        lud_status status =
            by_levels ? lud_empo_solution_create_from(path, listed, &states, false, &solution, &error)
                      : lud_empo_solution_create(path, s.problem, false, &solution, &error);
        assert_int_equal(status, LUD_OK);
        const uint64_t state = first < 0 ? 0 : lud_empo_level_state(&levels, (uint64_t)first);
        memcpy(solution->records, s.records, s.space->n_states * row * sizeof(double));
        if (first >= 0) solution->records[state * row + (uint64_t)s.problem->layout.x_h] = -0.01;
        assert_int_equal(lud_empo_solution_finish_level(solution, finished, &error), LUD_OK);
        lud_empo_solution_close(solution);
        status = by_levels ? lud_empo_solution_create_from(path, listed, &states, true, &solution, &error)
                           : lud_empo_solution_create(path, s.problem, true, &solution, &error);
        if (first < (int)levels.begin[finished]) {
            if (status) fail_msg("%s", error.text);
            lud_empo_solution_close(solution);
            continue;
        }
        char expected[160];
        snprintf(expected, sizeof expected, "%s: state %llu has a power X_h below 0", partial,
                 (unsigned long long)state);
        assert_int_equal(status, LUD_ERROR_NUMERIC);
        assert_string_equal(error.text, expected);
    }
    unlink(partial);
    lud_empo_problem_destroy(listed);
    lud_arena_destroy(arena);
    support_release(&s);
}

static void values_of_all_finished_levels_are_checked(void **context) {
    (void)context;
    check_finished_values(false, false);
    check_finished_values(true, false);
    check_finished_values(false, true);
}

/* A program that ends when all levels are finished and even the checksums stand there, but the file has not
 * its name yet, is gone on from; a file that was made longer is another. */
static void files_that_were_never_renamed_are_taken_up(void **context) {
    (void)context;
    support_solved s = support_solve(43, 1, 1, false);
    const uint64_t bytes = s.space->n_states * (uint64_t)s.problem->layout.record_doubles * sizeof(double);
    lud_empo_solution *solution = create(&s, false), *longer = NULL;
    lud_error error = {0};
    memcpy(solution->records, s.records, bytes);
    assert_int_equal(lud_empo_solution_finish_level(solution, 0, &error), LUD_OK);
    lud_empo_solution_close(solution);
    solution = create(&s, true);
    assert_true(solution->header->first_level == 0 && solution->header->checksums_hash == 0);
    refused_call = "fsync";
    assert_int_equal(lud_empo_solution_commit(solution, NULL, &error), LUD_ERROR_IO);
    refused_call = NULL;
    lud_empo_solution_close(solution);
    solution = create(&s, true);
    assert_true(solution->header->checksums_hash && solution->header->header_hash);
    assert_memory_equal(solution->records, s.records, bytes);
    const off_t length = (off_t)solution->bytes;
    lud_empo_solution_close(solution);
    assert_int_equal(truncate(partial, length + 1), 0);
    assert_int_equal(lud_empo_solution_create(path, s.problem, true, &longer, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".partial: belongs to another world; remove it to start anew"));
    assert_int_equal(truncate(partial, length), 0);
    solution = create(&s, true);
    assert_int_equal(lud_empo_solution_commit(solution, NULL, &error), LUD_OK);
    lud_empo_solution_close(solution);
    if (lud_empo_solution_open(path, &solution, &error)) fail_msg("%s", error.text);
    lud_empo_solution_close(solution);
    unlink(path);
    support_release(&s);
}

/* What a process keeps beside the writer's file takes memory from when it is written until it is let go: then
 * it is forgotten, whole pages of it, and what stands around it is not. */
static void what_is_kept_beside_a_file_is_forgotten(void **context) {
    (void)context;
    enum { PAGE_DOUBLES = 4096 / sizeof(double) };
    support_solved s = support_solve(48, 2, 1, false);
    const uint64_t n = s.space->n_states, row = (uint64_t)s.problem->layout.record_doubles, begin = 1,
                   end = n - 1;
    const lud_empo_states states = {n, s.space->n_layers, s.space->layer_begin, read_layer, s.space};
    lud_empo_solution *beside = NULL;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_create_beside(s.problem, &states, &beside, &error), LUD_OK);
    assert_memory_equal(beside->states, s.space->states, n * s.space->state_bytes);
    assert_true(beside->header->first_level == (int64_t)n);
    memcpy(beside->records, s.records, n * row * sizeof(double));
    lud_empo_solution_release_records(beside, begin, end);
    uint64_t forgotten = 0;
    for (uint64_t i = 0; i < n * row; i++) {
        const uint64_t page = i / PAGE_DOUBLES * PAGE_DOUBLES;
        const bool within = page >= begin * row && page + PAGE_DOUBLES <= end * row;
        if (beside->records[i] != (within ? 0 : s.records[i])) fail_msg("number %llu", (unsigned long long)i);
        forgotten += within;
    }
    assert_true(forgotten >= 2 * PAGE_DOUBLES);
    lud_empo_solution_close(beside);
    support_release(&s);
}

/* A pipe in a solution's place, which nobody writes to, is refused at once. */
static void pipes_are_not_waited_for(void **state) {
    (void)state;
    char pipe_path[80];
    lud_empo_solution *solution;
    lud_error error = {0};
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(lud_empo_solution_open(pipe_path, &solution, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "expected a regular file"));
    assert_int_equal(unlink(pipe_path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_keeps_everything),
        cmocka_unit_test(parts_stay_within_records),
        cmocka_unit_test(headers_that_cannot_be),
        cmocka_unit_test(layers_that_cannot_be),
        cmocka_unit_test(a_layer_may_be_one_state),
        cmocka_unit_test(values_of_all_states_are_checked),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(failing_disks_are_told),
        cmocka_unit_test(unfinished_files_are_taken_up),
        cmocka_unit_test(a_file_of_two),
        cmocka_unit_test(changed_unfinished_files_are_refused),
        cmocka_unit_test(values_of_all_finished_levels_are_checked),
        cmocka_unit_test(files_that_were_never_renamed_are_taken_up),
        cmocka_unit_test(finished_files_have_a_key),
        cmocka_unit_test(what_is_kept_beside_a_file_is_forgotten),
        cmocka_unit_test(pipes_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
