#include "learn/empo/exact/solution.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "learn/empo/exact/levels.h"

enum { PAGE = 4096, VERSION = 2, BYTE_ORDER_MARK = 0x01020304, BLOCK = 1 << 20, READ_AT_ONCE = 64 << 20 };
/* A file's, so that sizes computed from a header do not overflow. */
#define MOST_BYTES (UINT64_C(1) << 60)
enum { KEY_BYTES = 64, BLOCKS_AT_ONCE = 64, RECORDS_AT_ONCE = 1 << 16 };
static const char magic[8] = "LUDEMPO";

static uint64_t round_up(uint64_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t hash_states(const uint64_t *layer_begin, uint64_t n_layers, const uint8_t *states,
                            uint64_t bytes) {
    return XXH3_64bits_withSeed(states, bytes,
                                XXH3_64bits(layer_begin, (n_layers + 1) * sizeof *layer_begin));
}

static uint64_t record_bytes(const lud_empo_header *h) {
    return h->n_states * h->record_doubles * sizeof(double);
}

static uint64_t n_blocks(const lud_empo_header *h) {
    return (record_bytes(h) + h->block_bytes - 1) / h->block_bytes;
}

/* The same of states that are read layer by layer. */
static lud_status hash_layers(const lud_empo_states *states, uint64_t state_bytes, uint64_t *hash,
                              lud_error *error) {
    uint64_t widest = 0;
    for (int i = 0; i < states->n_layers; i++)
        if (states->layer_begin[i + 1] - states->layer_begin[i] > widest)
            widest = states->layer_begin[i + 1] - states->layer_begin[i];
    uint8_t *layer = malloc(widest * state_bytes);
    XXH3_state_t *state = XXH3_createState();
    lud_status status = layer && state ? LUD_OK : lud_no_memory(error, "a level's states");
    if (!status)
        XXH3_64bits_reset_withSeed(state, XXH3_64bits(states->layer_begin, ((uint64_t)states->n_layers + 1) *
                                                                               sizeof *states->layer_begin));
    for (int i = 0; i < states->n_layers && !status; i++) {
        status = lud_interrupt_check(error);
        if (!status) status = states->read(states->context, i, layer, error);
        if (!status)
            XXH3_64bits_update(state, layer,
                               (states->layer_begin[i + 1] - states->layer_begin[i]) * state_bytes);
    }
    if (!status) *hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(layer);
    return status;
}

/* The states of a state space as those of a solution. */
static lud_status read_space(void *context, int layer, uint8_t *states, lud_error *error) {
    const lud_statespace *space = context;
    (void)error;
    const uint64_t begin = space->layer_begin[layer], n = space->layer_begin[layer + 1] - begin;
    memcpy(states, space->states + begin * space->state_bytes, n * space->state_bytes);
    return LUD_OK;
}

/* All but the hash of the states. */
static void fill_header(const lud_empo_problem *problem, const lud_empo_states *states, lud_empo_header *h) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_empo_theory *theory = &problem->theory;
    memset(h, 0, sizeof *h); /* padding too: headers are compared as bytes */
    memcpy(h->magic, magic, sizeof magic);
    h->version = VERSION;
    h->byte_order = BYTE_ORDER_MARK;
    h->n_states = states->n_states;
    h->n_layers = (uint64_t)states->n_layers;
    h->state_bytes = problem->model->layout.state_bytes;
    h->record_doubles = (uint64_t)layout->record_doubles;
    h->layers_at = PAGE;
    h->states_at = h->layers_at + round_up((h->n_layers + 1) * sizeof(uint64_t));
    h->records_at = h->states_at + round_up(h->n_states * h->state_bytes);
    h->block_bytes = BLOCK;
    h->checksums_at = h->records_at + round_up(record_bytes(h));
    h->file_bytes = h->checksums_at + n_blocks(h) * sizeof(uint64_t);
    h->n_humans = (uint32_t)layout->n_humans;
    h->n_robots = (uint32_t)layout->n_robots;
    h->n_goals = (uint32_t)layout->n_goals;
    h->n_robot_actions = (uint32_t)layout->n_robot_actions;
    h->n_policies = (uint32_t)layout->policy_begin[layout->n_humans];
    h->v_r = (uint32_t)layout->v_r;
    h->u_r = (uint32_t)layout->u_r;
    h->x_h = (uint32_t)layout->x_h;
    h->v_h_e = (uint32_t)layout->v_h_e;
    h->v_h_m = (uint32_t)layout->v_h_m;
    h->q_r = (uint32_t)layout->q_r;
    h->pi_r = (uint32_t)layout->pi_r;
    h->policies = (uint32_t)layout->policies;
    h->optimistic = theory->optimistic;
    h->aggregate = (uint32_t)theory->aggregate;
    h->reward_weight = (uint32_t)theory->reward_weight;
    h->beta_h = theory->beta_h;
    h->gamma_h = theory->gamma_h;
    h->nu_h = theory->nu_h;
    h->gamma_r = theory->gamma_r;
    h->beta_r = theory->beta_r;
    h->zeta = theory->zeta;
    h->xi = theory->xi;
    h->eta = theory->eta;
    h->terminal_value = theory->terminal_value;
}

static lud_status io_error(const lud_empo_solution *s, const char *what, lud_error *error) {
    return lud_fail(error, LUD_ERROR_IO, "%s%s: cannot %s: %s", s->path, s->partial ? ".partial" : "", what,
                    strerror(errno));
}

static char *partial_path(const char *path) {
    size_t length = strlen(path);
    char *partial = malloc(length + sizeof ".partial");
    if (!partial) return NULL;
    memcpy(partial, path, length);
    memcpy(partial + length, ".partial", sizeof ".partial");
    return partial;
}

static lud_empo_solution *solution_new(const char *path, bool partial) {
    lud_empo_solution *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->descriptor = -1;
    s->partial = partial;
    s->path = strdup(path);
    if (s->path) return s;
    free(s);
    return NULL;
}

static lud_status map_file(lud_empo_solution *s, uint64_t bytes, lud_error *error) {
    int protection = s->partial ? PROT_READ | PROT_WRITE : PROT_READ;
    void *memory = mmap(NULL, bytes, protection, MAP_SHARED, s->descriptor, 0);
    if (memory == MAP_FAILED) return io_error(s, "map the file", error);
    s->header = memory;
    s->bytes = bytes;
    return LUD_OK;
}

static void find_parts(lud_empo_solution *s) {
    uint8_t *file = (uint8_t *)s->header;
    s->layer_begin = (const uint64_t *)(const void *)(file + s->header->layers_at);
    s->states = file + s->header->states_at;
    s->records = (double *)(void *)(file + s->header->records_at);
}

static uint64_t *checksums_of(const lud_empo_solution *s) {
    return (uint64_t *)(void *)((uint8_t *)s->header + s->header->checksums_at);
}

static uint64_t hash_block(const lud_empo_solution *s, uint64_t block) {
    const uint64_t bytes = record_bytes(s->header), from = block * s->header->block_bytes;
    const uint64_t left = bytes - from,
                   length = left < s->header->block_bytes ? left : s->header->block_bytes;
    return XXH3_64bits((const uint8_t *)s->records + from, length);
}

/* Of the whole first page, whatever stands in the place of the result. */
static uint64_t hash_header(const lud_empo_header *header) {
    uint8_t page[PAGE];
    memcpy(page, header, PAGE);
    memset(page + offsetof(lud_empo_header, header_hash), 0, sizeof header->header_hash);
    return XXH3_64bits(page, PAGE);
}

/* Everything that later reads rely on; nothing of the file is trusted before. */
static lud_status check_file(const lud_empo_solution *s, uint64_t bytes, lud_error *error) {
    const lud_empo_header *h = s->header;
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return lud_invalid(error, "%s: not an EMPO solution (its first bytes are not LUDEMPO)", s->path);
    if (h->version == 1 && h->byte_order == BYTE_ORDER_MARK)
        return lud_invalid(
            error,
            "%s: version 1 of the format, which has no checksums of its values; solve the world "
            "again: ludus solve RUN/scenario.yaml -o RUN",
            s->path);
    if (h->version != VERSION || h->byte_order != BYTE_ORDER_MARK)
        return lud_invalid(error, "%s: version %u of the format or a foreign byte order; expected version %d",
                           s->path, h->version, VERSION);
    bool sane = h->n_states > 0 && h->n_layers > 0 && h->n_layers <= h->n_states && h->state_bytes > 0 &&
                h->state_bytes < (1u << 20) && h->record_doubles > 0 && h->record_doubles < (1u << 24) &&
                h->n_states < MOST_BYTES / (h->state_bytes + h->record_doubles * sizeof(double)) &&
                h->layers_at == PAGE && h->n_humans <= 64 && h->n_robots <= 64;
    uint64_t part_ends[] = {h->v_r + 1ull,
                            h->u_r + 1ull,
                            (uint64_t)h->x_h + h->n_humans,
                            (uint64_t)h->v_h_e + h->n_goals,
                            (uint64_t)h->v_h_m + h->n_goals,
                            (uint64_t)h->q_r + h->n_robot_actions,
                            (uint64_t)h->pi_r + h->n_robot_actions,
                            (uint64_t)h->policies + h->n_policies};
    for (size_t i = 0; i < sizeof part_ends / sizeof *part_ends; i++)
        sane &= part_ends[i] <= h->record_doubles;
    sane = sane && h->states_at == h->layers_at + round_up((h->n_layers + 1) * sizeof(uint64_t)) &&
           h->records_at == h->states_at + round_up(h->n_states * h->state_bytes) &&
           h->block_bytes == BLOCK && h->checksums_at == h->records_at + round_up(record_bytes(h)) &&
           h->file_bytes == h->checksums_at + n_blocks(h) * sizeof(uint64_t);
    if (!sane) return lud_invalid(error, "%s: damaged header", s->path);
    if (h->file_bytes != bytes)
        return lud_invalid(error, "%s: truncated: %llu bytes, expected %llu", s->path,
                           (unsigned long long)bytes, (unsigned long long)h->file_bytes);
    return LUD_OK;
}

static lud_status check_layers(const lud_empo_solution *s, lud_error *error) {
    const lud_empo_header *h = s->header;
    bool rising = s->layer_begin[0] == 0 && s->layer_begin[h->n_layers] == h->n_states;
    for (uint64_t i = 0; i < h->n_layers && rising; i++) rising = s->layer_begin[i] < s->layer_begin[i + 1];
    if (!rising ||
        hash_states(s->layer_begin, h->n_layers, s->states, h->n_states * h->state_bytes) != h->states_hash)
        return lud_invalid(error, "%s: damaged: the states do not match their checksum", s->path);
    return LUD_OK;
}

static bool all_zero(const uint8_t *bytes, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++)
        if (bytes[i]) return false;
    return true;
}

/* What lies between the parts; `suffix` of the file's name. */
static lud_status check_between(const lud_empo_solution *s, const char *suffix, lud_error *error) {
    const lud_empo_header *h = s->header;
    const uint8_t *file = (const uint8_t *)h;
    if (!all_zero(file, h->layers_at + (h->n_layers + 1) * sizeof(uint64_t), h->states_at) ||
        !all_zero(file, h->states_at + h->n_states * h->state_bytes, h->records_at) ||
        !all_zero(file, h->records_at + record_bytes(h), h->checksums_at))
        return lud_invalid(error, "%s%s: damaged: something stands between its parts", s->path, suffix);
    return LUD_OK;
}

/* The header, the checksums and what lies between the parts. */
static lud_status check_frame(const lud_empo_solution *s, lud_error *error) {
    const lud_empo_header *h = s->header;
    if (hash_header(h) != h->header_hash)
        return lud_invalid(error, "%s: damaged: the header does not match its checksum", s->path);
    if (XXH3_64bits(checksums_of(s), n_blocks(h) * sizeof(uint64_t)) != h->checksums_hash)
        return lud_invalid(error, "%s: damaged: the checksums of its values do not match theirs", s->path);
    return check_between(s, "", error);
}

/* What is wrong in a record; null: nothing. Values of robots may be minus infinity where people have no
 * power. */
static const char *wrong_in(const lud_empo_header *h, const double *record) {
    const double most = 1.0 + 1e-9;
    for (uint64_t i = 0; i < h->record_doubles; i++)
        if (isnan(record[i]) || record[i] == INFINITY) return "a value that is no number or infinite";
    for (uint32_t i = 0; i < h->n_humans; i++)
        if (record[h->x_h + i] < 0) return "a power X_h below 0";
    for (uint32_t i = 0; i < h->n_goals; i++)
        if (!(record[h->v_h_e + i] >= 0 && record[h->v_h_e + i] <= most)) return "a V_h^e outside 0 to 1";
    double sum = 0;
    for (uint32_t i = 0; i < h->n_robot_actions; i++) {
        if (!(record[h->pi_r + i] >= 0 && record[h->pi_r + i] <= most)) return "a pi_r outside 0 to 1";
        sum += record[h->pi_r + i];
    }
    if (sum != 0 && fabs(sum - 1.0) > 1e-6) return "chances pi_r that do not sum to 1";
    for (uint32_t i = 0; i < h->n_policies; i++)
        if (!(record[h->policies + i] >= 0 && record[h->policies + i] <= most))
            return "a chance outside 0 to 1";
    return NULL;
}

static lud_status check_record(const lud_empo_solution *s, const char *suffix, uint64_t state,
                               lud_error *error) {
    const char *wrong = wrong_in(s->header, lud_empo_solution_record(s, state));
    if (!wrong) return LUD_OK;
    return lud_fail(error, LUD_ERROR_NUMERIC, "%s%s: state %llu has %s", s->path, suffix,
                    (unsigned long long)state, wrong);
}

lud_status lud_empo_solution_verify(const lud_empo_solution *s, lud_error *error) {
    const lud_empo_header *h = s->header;
    const uint64_t *checksums = checksums_of(s);
    for (uint64_t b = 0; b < n_blocks(h); b++)
        if (hash_block(s, b) != checksums[b])
            return lud_invalid(error, "%s: damaged: values from byte %llu on do not match their checksum",
                               s->path, (unsigned long long)(h->records_at + b * h->block_bytes));
    for (uint64_t i = 0; i < h->n_states; i++) LUD_TRY(check_record(s, "", i, error));
    return LUD_OK;
}

/* Of a shared file mapping this drops the program's pages, not what was written into them. */
static void release(lud_empo_solution *s, uint64_t from, uint64_t to) {
    const uint64_t begin = round_up(from), end = (to < s->bytes ? to : s->bytes) / PAGE * PAGE;
    if (begin < end) madvise((uint8_t *)s->header + begin, end - begin, MADV_DONTNEED);
}

/* Blocks now, so that a full disk is an error here and not a signal in the middle of the sweep. */
static lud_status reserve_and_map(lud_empo_solution *s, uint64_t bytes, lud_error *error) {
    const int refused = posix_fallocate(s->descriptor, 0, (off_t)bytes);
    if (refused) {
        errno = refused;
        return io_error(s, "reserve its space", error);
    }
    return map_file(s, bytes, error);
}

static lud_status write_new(lud_empo_solution *s, const lud_empo_states *states,
                            const lud_empo_header *header, lud_error *error) {
    if (ftruncate(s->descriptor, 0) != 0 || ftruncate(s->descriptor, (off_t)header->file_bytes) != 0)
        return io_error(s, "make it large enough", error);
    LUD_TRY(reserve_and_map(s, header->file_bytes, error));
    memcpy((uint8_t *)s->header + header->layers_at, states->layer_begin,
           (header->n_layers + 1) * sizeof(uint64_t));
    uint8_t *to = (uint8_t *)s->header + header->states_at;
    for (int i = 0; i < states->n_layers; i++) {
        const uint64_t begin = states->layer_begin[i] * header->state_bytes;
        LUD_TRY(lud_interrupt_check(error));
        LUD_TRY(states->read(states->context, i, to + begin, error));
        release(s, header->states_at + begin,
                header->states_at + states->layer_begin[i + 1] * header->state_bytes);
    }
    /* last, and on the disk after what it describes: a file that has it is whole */
    if (msync(s->header, s->bytes, MS_SYNC) != 0) return io_error(s, "write", error);
    *s->header = *header;
    s->header->first_level = (int64_t)header->n_states; /* levels are at most as many */
    find_parts(s);
    return LUD_OK;
}

/* Whether the file's writer came as far as the header. */
static bool has_header(int descriptor) {
    char found[sizeof magic];
    static const char nothing[sizeof magic];
    return pread(descriptor, found, sizeof found, 0) == (ssize_t)sizeof found &&
           memcmp(found, nothing, sizeof found) != 0;
}

/* The values of finished levels, from which the others would follow. */
static lud_status check_finished(lud_empo_solution *s, const lud_empo_problem *problem, lud_error *error) {
    if (!problem->space) { /* layers are levels */
        const int64_t first = s->header->first_level;
        uint64_t at = first < (int64_t)s->header->n_layers ? s->layer_begin[first] : s->header->n_states;
        for (; at < s->header->n_states; at++) {
            LUD_TRY(check_record(s, ".partial", at, error));
            if (at % RECORDS_AT_ONCE) continue;
            LUD_TRY(lud_interrupt_check(error));
            lud_empo_solution_release_records(s, at > RECORDS_AT_ONCE ? at - RECORDS_AT_ONCE : 0, at);
        }
        return LUD_OK;
    }
    lud_arena *arena = lud_arena_create(0);
    lud_empo_levels levels;
    lud_status status = arena ? lud_empo_levels_find(problem->space, arena, &levels, error)
                              : lud_no_memory(error, "the solution");
    if (!status && s->header->first_level < levels.n)
        for (uint64_t at = levels.begin[s->header->first_level]; at < s->header->n_states && !status; at++)
            status = check_record(s, ".partial", lud_empo_level_state(&levels, at), error);
    lud_arena_destroy(arena);
    return status;
}

static lud_status read_mapped(void *context, int layer, uint8_t *states, lud_error *error) {
    lud_empo_solution *s = context;
    (void)error;
    const uint64_t begin = s->layer_begin[layer], n = s->layer_begin[layer + 1] - begin;
    memcpy(states, s->states + begin * s->header->state_bytes, n * s->header->state_bytes);
    lud_empo_solution_release_states(s, (uint64_t)layer);
    return LUD_OK;
}

/* Whether layers and states of the file are the world's. */
static lud_status check_states(lud_empo_solution *s, const lud_empo_problem *problem,
                               const lud_empo_states *states, lud_error *error) {
    const lud_empo_header *h = s->header;
    bool same = memcmp(s->layer_begin, states->layer_begin, (h->n_layers + 1) * sizeof(uint64_t)) == 0;
    if (problem->space) {
        same = same && memcmp(s->states, problem->space->states, h->n_states * h->state_bytes) == 0;
    } else if (same) { /* there is nothing in memory to compare with: their hash says so */
        uint64_t hash = 0;
        const lud_empo_states mapped = {h->n_states, (int)h->n_layers, s->layer_begin, read_mapped, s};
        LUD_TRY(hash_layers(&mapped, h->state_bytes, &hash, error));
        same = hash == h->states_hash;
    }
    if (same) return LUD_OK;
    return lud_invalid(error, "%s.partial: damaged: its states are not the world's; remove it to start anew",
                       s->path);
}

/* Nothing of the file is trusted but the values of finished levels, as far as they are values. */
static lud_status take_up(lud_empo_solution *s, const lud_empo_problem *problem,
                          const lud_empo_states *states, const lud_empo_header *header, uint64_t bytes,
                          lud_error *error) {
    if (bytes != header->file_bytes)
        return lud_invalid(error, "%s.partial: belongs to another world; remove it to start anew", s->path);
    LUD_TRY(reserve_and_map(s, bytes, error));
    lud_empo_header expected = *header;
    expected.first_level = s->header->first_level;
    expected.checksums_hash = s->header->checksums_hash; /* written just before the file is renamed */
    expected.header_hash = s->header->header_hash;
    if (memcmp(&expected, s->header, sizeof expected) != 0 || expected.first_level < 0 ||
        expected.first_level > (int64_t)expected.n_states)
        return lud_invalid(
            error, "%s.partial: belongs to another world or other parameters; remove it to start anew",
            s->path);
    find_parts(s);
    LUD_TRY(check_states(s, problem, states, error));
    LUD_TRY(check_between(s, ".partial", error));
    return check_finished(s, problem, error);
}

lud_status lud_empo_solution_create(const char *path, const lud_empo_problem *problem, bool resume,
                                    lud_empo_solution **solution, lud_error *error) {
    lud_statespace *space = (lud_statespace *)problem->space;
    const lud_empo_states states = {space->n_states, space->n_layers, space->layer_begin, read_space, space};
    return lud_empo_solution_create_from(path, problem, &states, resume, solution, error);
}

lud_status lud_empo_solution_create_from(const char *path, const lud_empo_problem *problem,
                                         const lud_empo_states *states, bool resume,
                                         lud_empo_solution **solution, lud_error *error) {
    lud_empo_header header;
    fill_header(problem, states, &header);
    LUD_TRY(hash_layers(states, header.state_bytes, &header.states_hash, error));
    lud_empo_solution *s = solution_new(path, true);
    char *partial = partial_path(path);
    lud_status status = s && partial ? LUD_OK : lud_no_memory(error, "the solution");
    if (status == LUD_OK) {
        s->descriptor = lud_file_own(partial, O_RDWR);
        if (s->descriptor < 0) status = io_error(s, "write", error);
    }
    struct stat file = {0};
    if (status == LUD_OK && fstat(s->descriptor, &file) != 0) status = io_error(s, "look at it", error);
    if (status == LUD_OK)
        status = resume && has_header(s->descriptor)
                     ? take_up(s, problem, states, &header, (uint64_t)file.st_size, error)
                     : write_new(s, states, &header, error);
    free(partial);
    if (status == LUD_OK)
        *solution = s;
    else
        lud_empo_solution_close(s);
    return status;
}

lud_status lud_empo_solution_create_beside(const lud_empo_problem *problem, const lud_empo_states *states,
                                           lud_empo_solution **solution, lud_error *error) {
    lud_empo_header header;
    fill_header(problem, states, &header);
    lud_empo_solution *s = solution_new("", false);
    if (!s) return lud_no_memory(error, "the solution");
    void *memory = mmap(NULL, header.file_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        lud_empo_solution_close(s);
        return lud_no_memory(error, "the solution");
    }
    s->header = memory;
    s->bytes = header.file_bytes;
    *s->header = header;
    s->header->first_level = (int64_t)header.n_states;
    find_parts(s);
    memcpy((uint8_t *)memory + header.layers_at, states->layer_begin,
           (header.n_layers + 1) * sizeof(uint64_t));
    lud_status status = LUD_OK;
    for (int i = 0; i < states->n_layers && !status; i++)
        status = states->read(
            states->context, i,
            (uint8_t *)memory + header.states_at + states->layer_begin[i] * header.state_bytes, error);
    if (status == LUD_OK)
        *solution = s;
    else
        lud_empo_solution_close(s);
    return status;
}

lud_status lud_empo_solution_file(const lud_empo_solution *solution, uint64_t *device, uint64_t *inode,
                                  lud_error *error) {
    struct stat file;
    if (fstat(solution->descriptor, &file) != 0) return io_error(solution, "look at it", error);
    *device = (uint64_t)file.st_dev;
    *inode = (uint64_t)file.st_ino;
    return LUD_OK;
}

lud_status lud_empo_solution_join(const char *path, uint64_t device, uint64_t inode,
                                  lud_empo_solution **solution, lud_error *error) {
    *solution = NULL;
    lud_empo_solution *s = solution_new(path, true);
    char *partial = s ? partial_path(path) : NULL;
    struct stat file;
    if (!partial) {
        lud_empo_solution_close(s);
        return lud_no_memory(error, "the solution");
    }
    s->descriptor = open(partial, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (s->descriptor >= 0 && fstat(s->descriptor, &file) == 0 && (uint64_t)file.st_dev == device &&
        (uint64_t)file.st_ino == inode && map_file(s, (uint64_t)file.st_size, NULL) == LUD_OK) {
        find_parts(s);
        *solution = s;
    } else {
        lud_empo_solution_close(s);
    }
    free(partial);
    return LUD_OK;
}

lud_status lud_empo_solution_finish_level(lud_empo_solution *solution, int level, lud_error *error) {
    /* the records must be on the disk before the header says so */
    if (msync(solution->header, solution->bytes, MS_SYNC) != 0) return io_error(solution, "write", error);
    solution->header->first_level = level;
    if (msync(solution->header, PAGE, MS_SYNC) != 0) return io_error(solution, "write", error);
    return LUD_OK;
}

void lud_empo_solution_release_records(lud_empo_solution *solution, uint64_t begin, uint64_t end) {
    const lud_empo_header *h = solution->header;
    const uint64_t row = h->record_doubles * sizeof(double);
    release(solution, h->records_at + begin * row, h->records_at + end * row);
}

void lud_empo_solution_release(lud_empo_solution *solution, uint64_t layer) {
    if (layer >= solution->header->n_layers) return;
    lud_empo_solution_release_records(solution, solution->layer_begin[layer],
                                      solution->layer_begin[layer + 1]);
}

void lud_empo_solution_release_states(lud_empo_solution *solution, uint64_t layer) {
    const lud_empo_header *h = solution->header;
    if (layer >= h->n_layers) return;
    release(solution, h->states_at + solution->layer_begin[layer] * h->state_bytes,
            h->states_at + solution->layer_begin[layer + 1] * h->state_bytes);
}

/* The checksums of what was computed; what was read for them is let go. */
static void seal(lud_empo_solution *s) {
    lud_empo_header *h = s->header;
    uint64_t *checksums = checksums_of(s);
    const int64_t n = (int64_t)n_blocks(h);
    for (int64_t from = 0; from < n; from += BLOCKS_AT_ONCE) {
        const int64_t to = n - from < BLOCKS_AT_ONCE ? n : from + BLOCKS_AT_ONCE;
#pragma omp parallel for schedule(static)
        for (int64_t b = from; b < to; b++) checksums[b] = hash_block(s, (uint64_t)b);
        release(s, h->records_at + (uint64_t)from * BLOCK, h->records_at + (uint64_t)to * BLOCK);
    }
    h->checksums_hash = XXH3_64bits(checksums, (uint64_t)n * sizeof *checksums);
    h->header_hash = hash_header(h);
}

static char *key_of(const lud_empo_solution *solution) {
    return (char *)solution->header + PAGE - KEY_BYTES;
}

const char *lud_empo_solution_key(const lud_empo_solution *solution) {
    const char *key = key_of(solution);
    return memchr(key, 0, KEY_BYTES) ? key : "";
}

lud_status lud_empo_solution_commit(lud_empo_solution *solution, const char *key, lud_error *error) {
    snprintf(key_of(solution), KEY_BYTES, "%s", key ? key : "");
    LUD_TRY(lud_empo_solution_finish_level(solution, 0, error));
    seal(solution);
    if (msync(solution->header, solution->bytes, MS_SYNC) != 0) return io_error(solution, "write", error);
    char *partial = partial_path(solution->path);
    if (!partial) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to rename the solution");
    const bool renamed = fsync(solution->descriptor) == 0 && rename(partial, solution->path) == 0;
    free(partial);
    if (!renamed) return io_error(solution, "rename", error);
    solution->partial = false;
    return LUD_OK;
}

lud_status lud_empo_solution_open(const char *path, lud_empo_solution **solution, lud_error *error) {
    lud_empo_solution *s = solution_new(path, false);
    if (!s) return lud_no_memory(error, "the solution");
    lud_status status = LUD_OK;
    struct stat file = {0};
    s->descriptor = lud_file_descriptor(path);
    if (s->descriptor < 0 && (errno == EINVAL || errno == EISDIR))
        status = lud_invalid(error, "%s: expected a regular file", path);
    else if (s->descriptor < 0 || fstat(s->descriptor, &file) != 0)
        status = io_error(s, "read", error);
    if (status == LUD_OK && file.st_size < PAGE)
        status = lud_invalid(error, "%s: truncated: %lld bytes, a header has %d", path,
                             (long long)file.st_size, PAGE);
    if (status == LUD_OK) status = map_file(s, (uint64_t)file.st_size, error);
    if (status == LUD_OK) status = check_file(s, (uint64_t)file.st_size, error);
    if (status == LUD_OK && s->header->first_level != 0)
        status = lud_invalid(error, "%s: not finished; continue it with --resume", path);
    if (status == LUD_OK) {
        find_parts(s);
        status = check_layers(s, error);
    }
    if (status == LUD_OK) status = check_frame(s, error);
    if (status == LUD_OK && record_bytes(s->header) <= READ_AT_ONCE)
        status = lud_empo_solution_verify(s, error);
    if (status == LUD_OK)
        *solution = s;
    else
        lud_empo_solution_close(s);
    return status;
}

lud_empo_solution *lud_empo_solution_share(lud_empo_solution *solution) {
    solution->n_sharers++;
    return solution;
}

void lud_empo_solution_discard(lud_empo_solution *solution) {
    char *partial = solution && solution->partial ? partial_path(solution->path) : NULL;
    if (partial) unlink(partial);
    free(partial);
}

void lud_empo_solution_close(lud_empo_solution *solution) {
    if (!solution || solution->n_sharers-- > 0) return;
    if (solution->header) munmap(solution->header, solution->bytes);
    if (solution->descriptor >= 0) close(solution->descriptor);
    free(solution->path);
    free(solution);
}

uint64_t lud_empo_solution_find(const lud_empo_solution *solution, const uint8_t *state) {
    const lud_empo_header *h = solution->header;
    for (uint64_t layer = 0; layer < h->n_layers; layer++) {
        uint64_t low = solution->layer_begin[layer], high = solution->layer_begin[layer + 1];
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            int order = memcmp(solution->states + middle * h->state_bytes, state, h->state_bytes);
            if (order == 0) return middle;
            if (order < 0)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return UINT64_MAX;
}
