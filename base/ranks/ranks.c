#include "base/ranks/ranks.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/module.h"
#include "base/ranks/backend.h"

#define MODULE "ludus_mpi.so"
/* Bytes of one exchange, of all processes together: MPI counts in int. */
enum { MOST_BYTES = 1 << 30 };
/* So long the others are waited for when somebody wants to stop. */
static const double patience = 0.5;

struct lud_ranks {
    const lud_ranks_backend *backend;
    int rank, size, place, threads;
    double deadline;    /* others are waited for until then; 0: as long as it takes */
    bool failed;        /* everybody knows of the last failure */
    bool broken;        /* an exchange was left: there can be no other, */
    bool stopped;       /* and it was since a stop was asked for */
    bool *near;         /* [size] of the first one's machine */
    int *integers;      /* [4][size]: counts and offsets of what is sent, and of what comes */
    int64_t *numbers;   /* [size] lengths of lists */
    int64_t most_bytes; /* of one exchange of lists, of all processes together */
    char *out, *in;     /* [capacity] */
    size_t out_capacity, in_capacity;
    uint64_t bytes, exchanges;
};

int lud_ranks_rank(const lud_ranks *ranks) {
    return ranks ? ranks->rank : 0;
}

int lud_ranks_size(const lud_ranks *ranks) {
    return ranks ? ranks->size : 1;
}

int lud_ranks_place(const lud_ranks *ranks) {
    return ranks ? ranks->place : 0;
}

bool lud_ranks_near(const lud_ranks *ranks, int rank) {
    return !ranks || ranks->near[rank];
}

bool lud_ranks_all(const lud_ranks *ranks, const bool *of) {
    for (int k = 1; k < lud_ranks_size(ranks); k++)
        if (!of[k]) return false;
    return true;
}

bool lud_ranks_leads(const lud_ranks *ranks) {
    return lud_ranks_rank(ranks) == 0;
}

int lud_ranks_threads(const lud_ranks *ranks) {
    return ranks ? ranks->threads : 0;
}

bool lud_ranks_agreed_to_fail(const lud_ranks *ranks) {
    return ranks && ranks->failed;
}

bool lud_ranks_parted(const lud_ranks *ranks) {
    return ranks && ranks->broken;
}

void lud_ranks_traffic(const lud_ranks *ranks, uint64_t *bytes, uint64_t *exchanges) {
    *bytes = ranks ? ranks->bytes : 0;
    *exchanges = ranks ? ranks->exchanges : 0;
}

/* ---- one exchange ---- */

static bool grow(char **buffer, size_t *capacity, size_t n) {
    if (n <= *capacity) return true;
    char *larger = realloc(*buffer, n);
    if (!larger) return false;
    *buffer = larger;
    *capacity = n;
    return true;
}

/* The host's memory, in which all exchanges go but sums of what lies elsewhere. */

static void host_copy(void *self, float *to, const float *from, int64_t n) {
    (void)self;
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void host_add(void *self, float *to, const float *from, int64_t n) {
    (void)self;
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static bool host_reserve(void *self, size_t bytes_out, size_t bytes_in, void **out, void **in) {
    lud_ranks *r = self;
    if (!grow(&r->out, &r->out_capacity, bytes_out) || !grow(&r->in, &r->in_capacity, bytes_in)) return false;
    *out = r->out;
    *in = r->in;
    return true;
}

static bool host_gather(void *self, const void *own, size_t n, void *all, const int *counts,
                        const int *offsets) {
    return ((lud_ranks *)self)->backend->gather(own, n, all, counts, offsets);
}

static bool host_exchange(void *self, const void *from, const int *from_counts, const int *from_offsets,
                          void *to, const int *to_counts, const int *to_offsets) {
    return ((lud_ranks *)self)->backend->exchange(from, from_counts, from_offsets, to, to_counts, to_offsets);
}

static bool host_done(void *self, bool *well) {
    return ((lud_ranks *)self)->backend->done(well);
}

static lud_ranks_memory host_memory(lud_ranks *r) {
    return (lud_ranks_memory){.self = r,
                              .copy = host_copy,
                              .add = host_add,
                              .reserve = host_reserve,
                              .gather = host_gather,
                              .exchange = host_exchange,
                              .done = host_done};
}

/* There can be no other exchange. */
static void leave(lud_ranks *r, const lud_ranks_memory *memory) {
    r->broken = true;
    if (memory->abandon) memory->abandon(memory->self);
}

static lud_status left_already(const lud_ranks *r, lud_error *error) {
    if (r->stopped) return lud_fail(error, LUD_INTERRUPTED, "stopped; the other processes do not answer");
    return lud_fail(error, LUD_ERROR_IO, "the processes of this job have parted");
}

/* Waits until the exchange between these memories is over. The processor is given away meanwhile: there may
 * be more processes than cores. */
static lud_status wait_in(lud_ranks *r, const lud_ranks_memory *memory, bool begun, lud_error *error) {
    double asked = 0.0;
    bool well = begun;
    r->exchanges++;
    for (int64_t turn = 0; begun && !memory->done(memory->self, &well); turn++) {
        if (turn > 100) sched_yield();
        if (turn % 1024 != 1023 || (!lud_interrupted() && r->deadline == 0.0)) continue;
        const double now = lud_clock_seconds();
        if (asked == 0.0) asked = now;
        if (r->deadline > 0.0 ? now < r->deadline : now - asked < patience) continue;
        leave(r, memory);
        r->stopped = true;
        return left_already(r, error);
    }
    if (well) return LUD_OK;
    leave(r, memory);
    return lud_fail(error, LUD_ERROR_IO, "the processes of this job cannot reach one another any more");
}

static lud_status wait_for(lud_ranks *r, bool begun, lud_error *error) {
    const lud_ranks_memory host = host_memory(r);
    return wait_in(r, &host, begun, error);
}

static lud_status reserve_in(lud_ranks *r, const lud_ranks_memory *memory, size_t bytes_out, size_t bytes_in,
                             void **out, void **in, lud_error *error) {
    if (memory->reserve(memory->self, bytes_out, bytes_in, out, in)) return LUD_OK;
    r->broken = true; /* the others are in an exchange that this one cannot be part of */
    return lud_no_memory(error, "messages between processes");
}

/* In r->out and r->in. */
static lud_status reserve_both(lud_ranks *r, size_t bytes_out, size_t bytes_in, lud_error *error) {
    const lud_ranks_memory host = host_memory(r);
    void *out, *in;
    return reserve_in(r, &host, bytes_out, bytes_in, &out, &in, error);
}

/* own[n] of each process, one behind the other; n of each is in counts[size]. */
static lud_status gather(lud_ranks *r, const void *own, const int *counts, void *all, lud_error *error) {
    int *offsets = r->integers + r->size;
    for (int k = 0, offset = 0; k < r->size; offset += counts[k++]) offsets[k] = offset;
    r->bytes += (uint64_t)counts[r->rank] * (uint64_t)(r->size - 1);
    return wait_for(r, r->backend->gather(own, (size_t)counts[r->rank], all, counts, offsets), error);
}

static lud_status gather_equal(lud_ranks *r, const void *own, int n, void *all, lud_error *error) {
    for (int k = 0; k < r->size; k++) r->integers[k] = n;
    return gather(r, own, r->integers, all, error);
}

/* ---- launchers ---- */

extern char **environ;

static bool is_launchers(const char *variable) {
    static const char *const beginnings[] = {"OMPI_",  "PMIX_", "PMI_",        "MPI_",        "PRTE_",
                                             "HYDRA_", "HYDI_", "SLURM_STEP_", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

char **lud_ranks_plain_environment(lud_arena *arena) {
    size_t n = 0, kept = 0;
    while (environ[n]) n++;
    char **plain = lud_arena_take_array(arena, n + 1, sizeof *plain);
    for (size_t i = 0; i < n && plain; i++)
        if (!is_launchers(environ[i])) plain[kept++] = environ[i];
    if (plain) plain[kept] = NULL;
    return plain;
}

/* ---- opening ---- */

/* Processes that launchers say they started; 0: no launcher did. */
static int started(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && atoi(value) > 0) return atoi(value);
    }
    return 0;
}

typedef struct place {
    char host[64], boot[40]; /* its name, and when it was started: hosts may be called alike */
    cpu_set_t cores;
} place;

static bool is_same_host(const place *a, const place *b) {
    return strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0;
}

/* Cores that this process may use, divided by how many processes of its machine may use the same; and which
 * of its machine's processes it is. */
static lud_status find_place(lud_ranks *r, lud_error *error) {
    place own, *all = calloc((size_t)r->size, sizeof *all);
    int same = 0;
    if (!all) return lud_out_of_memory(error);
    memset(&own, 0, sizeof own);
    gethostname(own.host, sizeof own.host - 1);
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (boot && !fgets(own.boot, sizeof own.boot, boot)) own.boot[0] = '\0';
    if (boot) fclose(boot);
    const bool known = sched_getaffinity(0, sizeof own.cores, &own.cores) == 0;
    const lud_status status = gather_equal(r, &own, (int)sizeof own, all, error);
    for (int k = 0; k < r->size && !status; k++) {
        same += memcmp(&all[k], &own, sizeof own) == 0;
        r->place += k < r->rank && is_same_host(&all[k], &own);
        r->near[k] = is_same_host(&all[k], &all[0]);
    }
    free(all);
    if (known && same > 0) r->threads = CPU_COUNT(&own.cores) / same > 1 ? CPU_COUNT(&own.cores) / same : 1;
    return status;
}

static lud_status begin(lud_ranks *r, lud_error *error) {
    char message[256] = "";
    void *module = lud_module_load(MODULE, error);
    if (module) r->backend = lud_module_symbol(module, MODULE, LUD_RANKS_SYMBOL, error);
    if (r->backend && r->backend->abi != LUD_RANKS_ABI) {
        r->backend = NULL;
        lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s is of another build", MODULE);
    }
    if (!r->backend)
        return lud_fail_context(error, "%d processes were started, but they cannot talk to one another",
                                started());
    if (!r->backend->open(&r->rank, &r->size, message)) {
        r->backend = NULL;
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "MPI cannot be started: %s", message);
    }
    if (r->size > LUD_RANKS_MOST)
        return lud_fail(error, LUD_ERROR_LIMIT, "%d processes; expected at most %d", r->size, LUD_RANKS_MOST);
    r->integers = calloc(4 * (size_t)r->size, sizeof *r->integers);
    r->near = calloc((size_t)r->size, sizeof *r->near);
    r->numbers = calloc((size_t)r->size, sizeof *r->numbers);
    r->most_bytes = MOST_BYTES;
    return r->integers && r->near && r->numbers ? find_place(r, error) : lud_out_of_memory(error);
}

lud_status lud_ranks_open(lud_ranks **ranks, lud_error *error) {
    *ranks = NULL;
    if (started() <= 1) return LUD_OK;
    lud_ranks *r = calloc(1, sizeof *r);
    if (!r) return lud_out_of_memory(error);
    const lud_status status = begin(r, error);
    if (status)
        lud_ranks_close(r, status);
    else
        *ranks = r;
    return status;
}

void lud_ranks_close(lud_ranks *r, lud_status status) {
    if (!r) return;
    if (r->backend && (r->broken || (status && !r->failed)))
        r->backend->abandon(1);
    else if (r->backend)
        r->backend->close();
    LUD_FREE(r->integers, r->numbers, r->near, r->out, r->in, r);
}

/* ---- exchanges ---- */

typedef struct word {
    int status;
    char text[LUD_ERROR_TEXT_BYTES];
} word;

lud_status lud_ranks_agree(lud_ranks *r, lud_status status, lud_error *error) {
    if (!r) return status;
    if (r->broken) return status ? status : left_already(r, error);
    int *all = r->integers + 2 * r->size, first = 0;
    const int own = (int)status;
    LUD_TRY(gather_equal(r, &own, (int)sizeof own, all, error));
    while (first < r->size && !all[first]) first++;
    r->failed = first < r->size;
    if (!r->failed) return LUD_OK;
    /* what the first one has to say; to the others it says nothing that they could add */
    LUD_TRY(reserve_both(r, sizeof(word), (size_t)r->size * sizeof(word), error));
    word *said = (word *)(void *)r->out;
    memset(said, 0, sizeof *said);
    said->status = own;
    if (error && status) memcpy(said->text, error->text, sizeof said->text);
    LUD_TRY(gather_equal(r, said, (int)sizeof *said, r->in, error));
    *said = ((const word *)(const void *)r->in)[first];
    said->text[sizeof said->text - 1] = '\0';
    if (first == 0) return lud_fail(error, (lud_status)said->status, "%s", said->text);
    return lud_fail(error, (lud_status)said->status, "process %d of %d: %s", first, r->size, said->text);
}

lud_status lud_ranks_give_up(lud_ranks *r, lud_status status, lud_error *error) {
    if (!r || r->broken || r->failed) return status;
    lud_error told = {0};
    if (error) told = *error;
    r->deadline = lud_clock_seconds() + 2.0;
    (void)lud_ranks_agree(r, status, &told);
    if (r->failed && error) *error = told; /* else they do not know, and are ended */
    return status;
}

lud_status lud_ranks_broadcast(lud_ranks *r, void *bytes, size_t n, lud_error *error) {
    if (!r) return LUD_OK;
    if (r->broken) return left_already(r, error);
    for (size_t sent = 0; sent < n;) {
        const size_t part = n - sent < MOST_BYTES ? n - sent : MOST_BYTES;
        if (r->rank == 0) r->bytes += part;
        LUD_TRY(wait_for(r, r->backend->broadcast((char *)bytes + sent, part), error));
        sent += part;
    }
    return LUD_OK;
}

/* The items of process `rank` in every slot of an array, to or from a message. */
static char *pack(const lud_ranks *r, const lud_ranks_array *a, int n_shares, int rank, char *message,
                  bool out) {
    const int64_t first = lud_ranks_first_item(r, a->n_items, n_shares, rank);
    const size_t n =
        (size_t)(lud_ranks_first_item(r, a->n_items, n_shares, rank + 1) - first) * a->item_bytes;
    for (int64_t slot = 0; a->items && slot < a->n_slots && n > 0; slot++, message += n) {
        char *items = (char *)a->items + (size_t)(slot * a->n_items + first) * a->item_bytes;
        memcpy(out ? message : items, out ? items : message, n);
    }
    return message;
}

static size_t bytes_of(const lud_ranks *r, const lud_ranks_array *a, int n_shares, int rank) {
    const int64_t n = lud_ranks_first_item(r, a->n_items, n_shares, rank + 1) -
                      lud_ranks_first_item(r, a->n_items, n_shares, rank);
    return a->items ? (size_t)(a->n_slots * n) * a->item_bytes : 0;
}

/* One array whose message is as large as one exchange may be, or several that are smaller together. */
static lud_status complete(lud_ranks *r, const lud_ranks_array *arrays, int n, int n_shares,
                           lud_error *error) {
    int *counts = r->integers + 2 * r->size;
    size_t total = 0;
    for (int k = 0; k < r->size; k++) {
        size_t bytes = 0;
        for (int i = 0; i < n; i++) bytes += bytes_of(r, &arrays[i], n_shares, k);
        counts[k] = (int)bytes;
        total += bytes;
    }
    if (total == 0) return LUD_OK;
    LUD_TRY(reserve_both(r, (size_t)counts[r->rank], total, error));
    char *message = r->out;
    for (int i = 0; i < n; i++) message = pack(r, &arrays[i], n_shares, r->rank, message, true);
    LUD_TRY(gather(r, r->out, counts, r->in, error));
    message = r->in;
    for (int k = 0; k < r->size; k++)
        for (int i = 0; i < n; i++) message = pack(r, &arrays[i], n_shares, k, message, false);
    return LUD_OK;
}

lud_status lud_ranks_complete(lud_ranks *r, const lud_ranks_array *arrays, int n, int n_shares,
                              lud_error *error) {
    if (!r) return LUD_OK;
    if (r->broken) return left_already(r, error);
    for (int i = 0; i < n;) {
        size_t bytes = 0;
        int end = i;
        for (; end < n; end++) {
            const lud_ranks_array *a = &arrays[end];
            const size_t more = a->items ? (size_t)(a->n_slots * a->n_items) * a->item_bytes : 0;
            if (end > i && bytes + more > MOST_BYTES) break;
            bytes += more;
        }
        if (bytes <= MOST_BYTES) {
            LUD_TRY(complete(r, arrays + i, end - i, n_shares, error));
            i = end;
            continue;
        }
        /* an array that is too large alone: slots of it */
        lud_ranks_array part = arrays[i];
        const size_t slot_bytes = (size_t)part.n_items * part.item_bytes;
        if (slot_bytes > MOST_BYTES)
            return lud_fail(error, LUD_ERROR_LIMIT, "a message of %zu bytes between processes", slot_bytes);
        for (int64_t done = 0; done < arrays[i].n_slots; done += part.n_slots) {
            const int64_t most = (int64_t)((size_t)MOST_BYTES / slot_bytes), left = arrays[i].n_slots - done;
            part.items = (char *)arrays[i].items + (size_t)done * slot_bytes;
            part.n_slots = left < most ? left : most;
            LUD_TRY(complete(r, &part, 1, n_shares, error));
        }
        i++;
    }
    return LUD_OK;
}

lud_status lud_ranks_collect(lud_ranks *r, void *items, size_t item_bytes, int64_t n_items, int n_shares,
                             const bool *there, lud_error *error) {
    if (!r) return LUD_OK;
    if (r->broken) return left_already(r, error);
    const int size = r->size;
    if (there && lud_ranks_all(r, there)) return LUD_OK;
    int *to = r->integers, *to_offset = to + size, *from = to + 2 * size, *from_offset = to + 3 * size;
    char *bytes = items;
    if ((size_t)n_items * item_bytes > MOST_BYTES)
        return lud_fail(error, LUD_ERROR_LIMIT, "a message of %zu bytes between processes",
                        (size_t)n_items * item_bytes);
    size_t came = 0;
    for (int k = 0; k < size; k++) {
        to[k] = to_offset[k] = from[k] = 0;
        from_offset[k] = (int)came;
        if (r->rank == 0 && k > 0 && !(there && there[k]))
            from[k] = (int)((size_t)(lud_ranks_first_item(r, n_items, n_shares, k + 1) -
                                     lud_ranks_first_item(r, n_items, n_shares, k)) *
                            item_bytes);
        came += (size_t)from[k];
    }
    char *own = bytes + (size_t)lud_ranks_first_item(r, n_items, n_shares, r->rank) * item_bytes;
    if (r->rank > 0 && !(there && there[r->rank]))
        to[0] =
            (int)(bytes + (size_t)lud_ranks_first_item(r, n_items, n_shares, r->rank + 1) * item_bytes - own);
    /* MPI does not read and write every kind of mapped memory */
    LUD_TRY(reserve_both(r, (size_t)to[0], came, error));
    memcpy(r->out, own, (size_t)to[0]);
    r->bytes += (uint64_t)to[0];
    LUD_TRY(wait_for(r, r->backend->exchange(r->out, to, to_offset, r->in, from, from_offset), error));
    for (int k = 1; k < size; k++)
        if (from[k] > 0)
            memcpy(bytes + (size_t)lud_ranks_first_item(r, n_items, n_shares, k) * item_bytes,
                   r->in + from_offset[k], (size_t)from[k]);
    return LUD_OK;
}

/* ---- lists of different length ---- */

/* Items of one process in an exchange of lists, of which there may be several. */
static int64_t items_at_once(const lud_ranks *r, size_t item_bytes) {
    const int64_t n = r->most_bytes / r->size / (int64_t)item_bytes;
    return n > 0 ? n : 1;
}

/* Of n items those of the exchange that begins with number `done`, in bytes. */
static int bytes_of_some(int64_t n, int64_t done, int64_t at_once, size_t item_bytes) {
    const int64_t left = n > done ? n - done : 0;
    return (int)((left < at_once ? left : at_once) * (int64_t)item_bytes);
}

/* The same of lists that are too long for one exchange: numbers[size] items. */
static lud_status join_long_lists(lud_ranks *r, const void *own, size_t item_bytes, char *all,
                                  lud_error *error) {
    const int64_t at_once = items_at_once(r, item_bytes);
    int *counts = r->integers + 2 * r->size;
    int64_t most = 0;
    for (int k = 0; k < r->size; k++) most = r->numbers[k] > most ? r->numbers[k] : most;
    for (int64_t done = 0; done < most; done += at_once) {
        size_t total = 0;
        for (int k = 0; k < r->size; k++) {
            counts[k] = bytes_of_some(r->numbers[k], done, at_once, item_bytes);
            total += (size_t)counts[k];
        }
        LUD_TRY(reserve_both(r, 0, total, error));
        LUD_TRY(gather(r, (const char *)own + (size_t)done * item_bytes, counts, r->in, error));
        const char *from = r->in;
        char *to = all + (size_t)done * item_bytes;
        for (int k = 0; k < r->size; k++) {
            memcpy(to, from, (size_t)counts[k]);
            from += counts[k];
            to += (size_t)r->numbers[k] * item_bytes;
        }
    }
    return LUD_OK;
}

lud_status lud_ranks_join_lists(lud_ranks *r, const void *own, int64_t n, size_t item_bytes, void *all,
                                int64_t capacity, int64_t *n_all, lud_error *error) {
    *n_all = n;
    if (!r) {
        if (n > capacity) return lud_fail(error, LUD_ERROR_LIMIT, "a list of %lld items", (long long)n);
        if (all != own) memcpy(all, own, (size_t)n * item_bytes);
        return LUD_OK;
    }
    if (r->broken) return left_already(r, error);
    LUD_TRY(gather_equal(r, &n, (int)sizeof n, r->numbers, error));
    *n_all = 0;
    for (int k = 0; k < r->size; k++) *n_all += r->numbers[k];
    if (*n_all > capacity) return lud_fail(error, LUD_ERROR_LIMIT, "lists of %lld items", (long long)*n_all);
    if (*n_all > r->most_bytes / (int64_t)item_bytes) return join_long_lists(r, own, item_bytes, all, error);
    int *counts = r->integers + 2 * r->size;
    for (int k = 0; k < r->size; k++) counts[k] = (int)(r->numbers[k] * (int64_t)item_bytes);
    return gather(r, own, counts, all, error);
}

lud_status lud_ranks_count_lists(lud_ranks *r, const int64_t *begin, int64_t *came, lud_error *error) {
    came[0] = 0;
    if (!r) {
        came[1] = begin[1] - begin[0];
        return LUD_OK;
    }
    if (r->broken) return left_already(r, error);
    const int size = r->size;
    int *counts = r->integers, *offsets = r->integers + size;
    for (int k = 0; k < size; k++) {
        r->numbers[k] = begin[k + 1] - begin[k];
        counts[k] = (int)sizeof *came;
        offsets[k] = k * (int)sizeof *came;
    }
    LUD_TRY(wait_for(r, r->backend->exchange(r->numbers, counts, offsets, came + 1, counts, offsets), error));
    for (int k = 0; k < size; k++) came[k + 1] += came[k];
    return LUD_OK;
}

/* One exchange of lists, from item `done` of each on. */
static lud_status exchange_some(lud_ranks *r, const char *own, const int64_t *begin, size_t item_bytes,
                                char *all, const int64_t *came, int64_t done, lud_error *error) {
    const int size = r->size;
    const int64_t at_once = items_at_once(r, item_bytes);
    int *to = r->integers, *to_offset = to + size, *from = to + 2 * size, *from_offset = to + 3 * size;
    size_t out = 0, in = 0;
    for (int k = 0; k < size; k++) {
        to[k] = bytes_of_some(begin[k + 1] - begin[k], done, at_once, item_bytes);
        from[k] = bytes_of_some(came[k + 1] - came[k], done, at_once, item_bytes);
        to_offset[k] = (int)out;
        from_offset[k] = (int)in;
        out += (size_t)to[k];
        in += (size_t)from[k];
    }
    LUD_TRY(reserve_both(r, out, in, error));
    for (int k = 0; k < size; k++)
        memcpy(r->out + to_offset[k], own + (size_t)(begin[k] + done) * item_bytes, (size_t)to[k]);
    r->bytes += out - (size_t)to[r->rank];
    LUD_TRY(wait_for(r, r->backend->exchange(r->out, to, to_offset, r->in, from, from_offset), error));
    for (int k = 0; k < size; k++)
        memcpy(all + (size_t)(came[k] + done) * item_bytes, r->in + from_offset[k], (size_t)from[k]);
    return LUD_OK;
}

lud_status lud_ranks_exchange_lists(lud_ranks *r, const void *own, const int64_t *begin, size_t item_bytes,
                                    void *all, const int64_t *came, lud_error *error) {
    if (!r) {
        memcpy(all, (const char *)own + (size_t)begin[0] * item_bytes, (size_t)came[1] * item_bytes);
        return LUD_OK;
    }
    if (r->broken) return left_already(r, error);
    int64_t longest = 0, most = 0;
    for (int k = 0; k < r->size; k++)
        if (begin[k + 1] - begin[k] > longest) longest = begin[k + 1] - begin[k];
    LUD_TRY(gather_equal(r, &longest, (int)sizeof longest, r->numbers, error));
    for (int k = 0; k < r->size; k++) most = r->numbers[k] > most ? r->numbers[k] : most;
    for (int64_t done = 0; done < most; done += items_at_once(r, item_bytes))
        LUD_TRY(exchange_some(r, own, begin, item_bytes, all, came, done, error));
    return LUD_OK;
}

void lud_ranks_limit(lud_ranks *r, int most_bytes) {
    if (r) r->most_bytes = most_bytes;
}

/* ---- shares ---- */

int64_t lud_share_begin(int64_t n_items, int n_shares, int share) {
    return (n_items * share + n_shares - 1) / n_shares;
}

int lud_share_of(int64_t n_items, int n_shares, int64_t item) {
    return (int)(item * n_shares / n_items);
}

int lud_ranks_first_share(const lud_ranks *r, int n_shares, int rank) {
    return n_shares / lud_ranks_size(r) * rank;
}

int64_t lud_ranks_first_item(const lud_ranks *r, int64_t n_items, int n_shares, int rank) {
    return lud_share_begin(n_items, n_shares, lud_ranks_first_share(r, n_shares, rank));
}

lud_status lud_ranks_check_shares(const lud_ranks *r, int n_shares, lud_error *error) {
    const int size = lud_ranks_size(r);
    if (n_shares % size == 0) return LUD_OK;
    return lud_invalid(error,
                       "%d processes cannot divide learner.shares: %d among them; expected a multiple of "
                       "%d (or a number of processes that divides it): the sum of gradients is cut into "
                       "shares, and their number, not that of the processes, decides the result",
                       size, n_shares, size);
}

/* Parts of the tree that one process can add up alone: the sums of shares first .. end for the widest ranges
 * within begin .. stop, from left to right. `visit` gets each of them. */
typedef void (*visit_part)(void *context, int first, int end);
static void walk_parts(int first, int end, int begin, int stop, visit_part visit, void *context) {
    if (end <= begin || first >= stop) return;
    if (first >= begin && end <= stop) {
        visit(context, first, end);
        return;
    }
    const int middle = first + (end - first + 1) / 2;
    walk_parts(first, middle, begin, stop, visit, context);
    walk_parts(middle, end, begin, stop, visit, context);
}

static void count_part(void *count, int first, int end) {
    (void)first;
    (void)end;
    ++*(int *)count;
}

typedef struct own_shares {
    const lud_ranks_memory *memory;
    float *shares;
    int begin; /* number of the first of them */
    int64_t n;
    int n_parts; /* whose sums stand at the front of `shares` already */
} own_shares;

/* The sum of own shares first .. end, in the place of the first. */
static void add_own(own_shares *o, int first, int end) {
    if (end - first < 2) return;
    const int middle = first + (end - first + 1) / 2;
    add_own(o, first, middle);
    add_own(o, middle, end);
    o->memory->add(o->memory->self, o->shares + (first - o->begin) * o->n,
                   o->shares + (middle - o->begin) * o->n, o->n);
}

static void add_part(void *context, int first, int end) {
    own_shares *o = context;
    add_own(o, first, end);
    float *to = o->shares + o->n_parts++ * o->n, *from = o->shares + (first - o->begin) * o->n;
    if (to != from) o->memory->copy(o->memory->self, to, from, o->n);
}

/* The whole tree over what the processes have sent: parts[part][n], those of a process one behind the other.
 */
typedef struct received {
    const lud_ranks_memory *memory;
    int per_process; /* shares */
    float *parts;
    int64_t n;
    int next;
} received;

static float *add_received(received *c, int first, int end) {
    if (first / c->per_process == (end - 1) / c->per_process)
        return c->parts + c->next++ * c->n; /* of one process: added already */
    const int middle = first + (end - first + 1) / 2;
    float *left = add_received(c, first, middle);
    c->memory->add(c->memory->self, left, add_received(c, middle, end), c->n);
    return left;
}

static int n_parts_of(const lud_ranks *r, int n_shares, int rank) {
    int n = 0;
    walk_parts(0, n_shares, lud_ranks_first_share(r, n_shares, rank),
               lud_ranks_first_share(r, n_shares, rank + 1), count_part, &n);
    return n;
}

/* Each process adds a stretch of the numbers, of which the others send it theirs. */
static lud_status exchange_and_add(lud_ranks *r, const lud_ranks_memory *memory, int n_shares, int64_t n,
                                   const float *parts, float *sum, lud_error *error) {
    const int size = r->size, own_parts = n_parts_of(r, n_shares, r->rank);
    int *to = r->integers, *to_offset = to + size, *from = to + 2 * size, *from_offset = to + 3 * size;
    const int64_t begin = lud_share_begin(n, size, r->rank),
                  length = lud_share_begin(n, size, r->rank + 1) - begin;
    const int number = (int)sizeof(float);
    void *reserved_out, *reserved_in;
    int64_t sent = 0, came = 0;
    for (int k = 0; k < size; k++) {
        const int64_t of_k = lud_share_begin(n, size, k + 1) - lud_share_begin(n, size, k);
        to_offset[k] = (int)sent * number;
        from_offset[k] = (int)came * number;
        to[k] = (int)of_k * own_parts * number;
        from[k] = (int)length * n_parts_of(r, n_shares, k) * number;
        sent += of_k * own_parts;
        came += length * n_parts_of(r, n_shares, k);
    }
    const bool packs = own_parts > 1; /* one part is sent from where it lies */
    LUD_TRY(reserve_in(r, memory, packs ? (size_t)(sent * number) : 0, (size_t)(came * number), &reserved_out,
                       &reserved_in, error));
    float *out = reserved_out, *in = reserved_in;
    for (int k = 0; k < size; k++) {
        const int64_t first = lud_share_begin(n, size, k), of_k = lud_share_begin(n, size, k + 1) - first;
        if (!packs) to_offset[k] = (int)first * number;
        for (int p = 0; packs && p < own_parts && of_k > 0; p++)
            memory->copy(memory->self, out + to_offset[k] / number + p * of_k, parts + p * n + first, of_k);
    }
    r->bytes += (uint64_t)(sent * number - to[r->rank]);
    LUD_TRY(wait_in(r, memory,
                    memory->exchange(memory->self, packs ? out : parts, to, to_offset, in, from, from_offset),
                    error));
    received all = {memory, n_shares / size, in, length, 0};
    const float *added = add_received(&all, 0, n_shares);
    for (int k = 0; k < size; k++) {
        from[k] = (int)(lud_share_begin(n, size, k + 1) - lud_share_begin(n, size, k)) * number;
        from_offset[k] = (int)lud_share_begin(n, size, k) * number;
    }
    r->bytes += (uint64_t)from[r->rank] * (uint64_t)(size - 1);
    return wait_in(r, memory,
                   memory->gather(memory->self, added, (size_t)from[r->rank], sum, from, from_offset), error);
}

lud_status lud_ranks_add(lud_ranks *r, const lud_ranks_memory *memory, int n_shares, int64_t n, float *own,
                         float *sum, lud_error *error) {
    const lud_ranks_memory host = host_memory(r);
    if (!memory) memory = &host;
    own_shares o = {memory, own, 0, n, 0};
    if (!r) {
        add_own(&o, 0, n_shares);
        if (sum != own) memory->copy(memory->self, sum, own, n);
        return LUD_OK;
    }
    assert(n_shares % r->size == 0 && memory->exchange);
    if (r->broken) return left_already(r, error);
    o.begin = lud_ranks_first_share(r, n_shares, r->rank);
    walk_parts(0, n_shares, o.begin, lud_ranks_first_share(r, n_shares, r->rank + 1), add_part, &o);
    /* as many numbers at once as MPI counts */
    const int64_t most = (MOST_BYTES / (int64_t)sizeof(float)) / (n_shares + 1);
    if (n <= most) return exchange_and_add(r, memory, n_shares, n, own, sum, error);
    return lud_fail(error, LUD_ERROR_LIMIT, "%d shares of %lld numbers: more than one exchange holds",
                    n_shares, (long long)n);
}
