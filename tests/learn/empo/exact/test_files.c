/* The file of an exact solution; acting on it; the options of the exact solver. */
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

#include "learn/empo/exact/options.h"
#include "learn/empo/exact/solution.h"
#include "learn/empo/exact/solution_policy.h"
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
    lud_empo_solution *solution = create(s, false);
    memcpy(solution->records, s->records,
           s->space->n_states * solution->header->record_doubles * sizeof(double));
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_commit(solution, NULL, &error), LUD_OK);
    lud_empo_solution_close(solution);
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

/* A part of a record that ends behind it, by one number, whichever it is. */
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
    }
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    put_header(&header);
    if (lud_empo_solution_open(path, &solution, &error)) fail_msg("%s", error.text);
    lud_empo_solution_close(solution);
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
    lud_empo_theory warmer = support_theory;
    warmer.beta_h = 6;
    assert_int_equal(lud_empo_problem_create(s.space, &warmer, &changed, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_create(path, changed, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "other parameters"));
    lud_empo_problem_destroy(changed);

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

/* ---- acting on it ---- */

/* The upper end of chi-square with n degrees of freedom that chance passes once in a million (Wilson and
 * Hilferty). */
static double chi_square_limit(int n) {
    double a = 2.0 / (9.0 * n);
    return n * pow(1 - a + 4.75 * sqrt(a), 3);
}

static void robots_draw_together(void **context) {
    (void)context;
    enum { N = 20000 };
    support_solved s = support_solve(51, 1, 2, false);
    write_solution(&s);
    lud_empo_solution *solution;
    lud_policy *policy[3]; /* one for everybody, and one for each robot as a cast has it */
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy[i], &error), LUD_OK);
    const lud_empo_layout *layout = &s.problem->layout;
    uint32_t *tick = malloc(N * sizeof *tick);
    uint8_t *states = malloc(N * 2);
    int32_t *together = malloc(N * 3 * sizeof *together), *apart = malloc(N * 3 * sizeof *apart);
    int32_t *goals = malloc(N * 3 * sizeof *goals);
    uint64_t at = 0; /* a state in which the policy is far from even */
    double best = 0;
    for (uint64_t i = 0; i < s.space->n_states; i++)
        for (int k = 0; k < layout->n_robot_actions && !lud_statespace_terminal(s.space, i); k++) {
            double p = s.records[i * (uint64_t)layout->record_doubles + (uint64_t)(layout->pi_r + k)];
            if (p > best) at = i;
            if (p > best) best = p;
        }
    const double *record = s.records + at * (uint64_t)layout->record_doubles;
    for (int e = 0; e < N; e++) {
        tick[e] = 7;
        memcpy(states + 2 * e, s.space->states + 2 * at, 2);
        for (int i = 0; i < 3; i++) goals[3 * e + i] = i == layout->humans[0] ? 1 : -1;
    }
    lud_act act = {.model = &s.m->base,
                   .range = {.seed = 3, .n = N, .tick = tick},
                   .states = states,
                   .goals = goals,
                   .goal_stride = 3,
                   .agents = (const int[]){0, 1, 2},
                   .n_agents_acting = 3,
                   .discrete = together};
    policy[0]->kind->act(policy[0], &act);
    act.discrete = apart;
    act.n_agents_acting = 1;
    for (int i = 0; i < 3; i++) {
        act.agents = &i;
        policy[i == layout->robots[0] ? 1 : 2]->kind->act(policy[i == layout->robots[0] ? 1 : 2], &act);
    }
    assert_memory_equal(together, apart, N * 3 * sizeof *together);
    double counts[64] = {0}, people[TABLE_MAX_ACTIONS] = {0}, distance = 0, human_distance = 0;
    for (int e = 0; e < N; e++) {
        counts[lud_empo_robot_action(layout, &s.m->base, together + 3 * e)]++;
        people[together[3 * e + layout->humans[0]]]++;
    }
    for (int k = 0; k < layout->n_robot_actions; k++) {
        double expected = N * record[layout->pi_r + k];
        distance += (counts[k] - expected) * (counts[k] - expected) / expected;
    }
    int n_actions = layout->n_human_actions[0];
    for (int a = 0; a < n_actions; a++) { /* the person acts for the goal it has */
        double expected = N * record[layout->policies + n_actions + a];
        if (expected > 0)
            human_distance += (people[a] - expected) * (people[a] - expected) / expected;
        else
            assert_true(people[a] == 0);
    }
    assert_true(distance < chi_square_limit(layout->n_robot_actions - 1));
    assert_true(human_distance < chi_square_limit(n_actions - 1));

    double pi_r[64];
    policy[0]->kind->joint(policy[0], s.space->states + 2 * at, pi_r);
    assert_memory_equal(pi_r, record + layout->pi_r, (size_t)layout->n_robot_actions * sizeof *pi_r);
    policy[0]->kind->joint(policy[0], (const uint8_t[]){255, 255}, pi_r); /* not in the solution */
    for (int k = 0; k < layout->n_robot_actions; k++)
        support_assert_close(pi_r[k], 1.0 / layout->n_robot_actions);

    support_solved other = support_solve(52, 2, 1, false); /* the same number of agents in other roles */
    lud_policy *refused_policy;
    assert_int_equal(lud_empo_solution_policy_create(solution, &other.m->base, &refused_policy, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "another world"));
    support_release(&other);
    /* each number that a record's shape follows from */
    for (int field = 0; field < 7; field++) {
        lud_empo_header otherwise = *solution->header;
        lud_empo_solution of_another = *solution;
        of_another.header = &otherwise;
        otherwise.state_bytes += field == 0;
        otherwise.record_doubles += field == 1;
        otherwise.n_humans += field == 2;
        otherwise.n_robots += field == 3;
        otherwise.n_goals += field == 4;
        otherwise.n_robot_actions += field == 5;
        otherwise.policies += field == 6;
        assert_int_equal(lud_empo_solution_policy_create(&of_another, &s.m->base, &refused_policy, &error),
                         LUD_ERROR_INPUT);
        assert_null(refused_policy);
    }
    lud_action_space *own = &s.m->actions[layout->humans[0]];
    own->n_discrete = 257;
    lud_empo_layout many;
    assert_int_equal(lud_empo_layout_find(&s.m->base, &many, &error), LUD_OK);
    lud_empo_header header = *solution->header;
    header.record_doubles = (uint64_t)many.record_doubles;
    header.n_policies = (uint32_t)many.policy_begin[many.n_humans];
    lud_empo_solution of_many = *solution;
    of_many.header = &header;
    assert_int_equal(lud_empo_solution_policy_create(&of_many, &s.m->base, &refused_policy, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "an agent has more than 256 actions");
    own->n_discrete = layout->n_human_actions[0];
    for (int i = 0; i < 3; i++) lud_policy_destroy(policy[i]);
    lud_empo_solution_close(solution);
    free(tick);
    free(states);
    free(together);
    free(apart);
    free(goals);
    support_release(&s);
}

/* ---- options ---- */

static lud_status read_options(lud_arena *arena, const char *text, lud_empo_exact_options *options,
                               lud_error *error) {
    lud_tree *tree;
    lud_status status = lud_tree_read_text(arena, "test.yaml", text, strlen(text), &tree, error);
    return status ? status : lud_empo_exact_read(arena, tree, options, error);
}

static void options_are_checked(void **context) {
    (void)context;
    static const char *const wrong[][2] = {
        {"type: mappo", "learner of type mappo"},
        {"{type: empo-exact, beta_h: -1}", "beta_h"},
        {"{type: empo-exact, zeta: 0.5}", "zeta"},
        {"{type: empo-exact, gamma_h: 0.9, rho_h: 0.1}", "rho_h"},
        {"{type: empo-exact, nu_h: 0.2}", "no `habit:`"},
        {"{type: empo-exact, beta_e: 2}", "did you mean"},
        {"{type: empo-exact, aggregate: median}", "aggregate"},
    };
    lud_arena *arena = lud_arena_create(0);
    lud_empo_exact_options options;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lud_error error = {0};
        assert_int_equal(read_options(arena, wrong[i][0], &options, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, wrong[i][1]) || !strstr(error.text, "test.yaml"))
            fail_msg("%s: '%s'", wrong[i][0], error.text);
    }
    lud_error error = {0};
    /* another learner's section gives its theory and nothing else */
    assert_int_equal(read_options(arena,
                                  "{type: empo-neural, beta_r: 7, hidden: 12, nu_h: 0.5, habit: random}",
                                  &options, &error),
                     LUD_OK);
    assert_true(options.theory.beta_r == 7 && options.theory.nu_h == 0.5 && options.habit);
    assert_int_equal(read_options(arena, "{type: empo-exact, rho_r: 0.1, beta_h: .inf}", &options, &error),
                     LUD_OK);
    support_assert_close(options.theory.gamma_r, exp(-0.1));
    assert_true(isinf(options.theory.beta_h));
    assert_int_equal(lud_empo_exact_read(arena, NULL, &options, &error), LUD_OK);
    assert_true(options.theory.beta_r == 10 && !options.habit && !options.belief);
    lud_arena_destroy(arena);
}

/* Hooks made of ordinary policies give their distributions: here the uniform one, which as a belief is the
 * default and as habit and robot policy has the value that the theory gives it. */
static void policies_become_hooks(void **context) {
    (void)context;
    support_solved s = support_solve(61, 2, 1, false);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *tree;
    lud_policy *uniform;
    assert_int_equal(lud_tree_read_text(arena, "test", "random", 6, &tree, &error), LUD_OK);
    assert_int_equal(lud_policy_create(&s.m->base, tree, "test", &uniform, &error), LUD_OK);
    lud_policy *const robots[] = {uniform}; /* of the only one */
    lud_empo_policies policies = {
        .model = &s.m->base, .layout = *layout, .habit = uniform, .belief = uniform, .robots = robots};
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&policies, &hooks);
    double row[256];
    for (int h = 0; h < layout->n_humans; h++)
        for (int a = 0; a < layout->n_human_actions[h]; a++) {
            double total = 0;
            hooks.belief(hooks.context, s.space->states, h, a, row);
            for (int profile = 0; profile < layout->n_human_profiles; profile++) {
                bool own = lud_empo_own_action(layout, h, profile) == a;
                support_assert_close(row[profile], own ? 1.0 / layout->n_human_actions[1 - h] : 0);
                total += row[profile];
            }
            support_assert_close(total, 1);
        }
    hooks.habit(hooks.context, 0, s.space->states, row);
    for (int i = 0; i < layout->policy_begin[layout->n_humans]; i++) support_assert_close(row[i], 1.0 / 3);
    hooks.robot(hooks.context, 0, s.space->states, row);
    for (int k = 0; k < layout->n_robot_actions; k++) support_assert_close(row[k], 1.0 / 3);

    /* as a belief it changes nothing */
    double *records = calloc(s.space->n_states * (uint64_t)layout->record_doubles, sizeof *records);
    policies.habit = NULL;
    policies.robots = NULL;
    lud_empo_policies_hook(&policies, &hooks);
    assert_null(hooks.habit);
    assert_null(hooks.robot);
    lud_empo_run run = {.records = records, .hooks = &hooks, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(s.problem, &run, &error), LUD_OK);
    for (uint64_t i = 0; i < s.space->n_states * (uint64_t)layout->record_doubles; i++)
        support_assert_close(records[i], s.records[i]);
    free(records);
    lud_policy_destroy(uniform);
    lud_arena_destroy(arena);
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
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(failing_disks_are_told),
        cmocka_unit_test(unfinished_files_are_taken_up),
        cmocka_unit_test(a_file_of_two),
        cmocka_unit_test(changed_unfinished_files_are_refused),
        cmocka_unit_test(robots_draw_together),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(pipes_are_not_waited_for),
        cmocka_unit_test(policies_become_hooks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
