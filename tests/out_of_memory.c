#include "out_of_memory.h"

#include <dnnl.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "base/arena.h"
#include "kernels/device.h"

#if defined(__SANITIZE_ADDRESS__) /* ten times slower: what is tried everywhere else is enough there */
enum { ALL_UP_TO = 40, FIRST = 1 };
#else
enum { ALL_UP_TO = 300, FIRST = 4 };
#endif
enum { MOST = 1 << 16, DEPTH = 16, SHOWN = 12 };

static struct {
    atomic_bool running, armed;
    atomic_long count;
    long refused; /* number of the allocation that fails, from 1; 0: none */
    bool and_later;
    void *sites[MOST]; /* who asked, while counting */
    void *trace[DEPTH];
    int depth;
} now;

static bool refuse(void *site) {
    if (!atomic_load_explicit(&now.armed, memory_order_relaxed)) return false;
    const long k = atomic_fetch_add(&now.count, 1) + 1;
    if (!now.refused && k <= MOST) now.sites[k - 1] = site;
    if (!now.refused || k < now.refused || (k > now.refused && !now.and_later)) return false;
    if (k == now.refused) now.depth = backtrace(now.trace, DEPTH);
    errno = ENOMEM;
    return true;
}

/* ---- what is held: pieces that our code took during a run and has not given back ---- */

enum { HELD_LOG2 = 18, HELD_SLOTS = 1 << HELD_LOG2 };
#define GIVEN_BACK ((void *)1)

static struct {
    pthread_mutex_t lock;
    void *piece[HELD_SLOTS]; /* open addressing; null: never used */
    void *site[HELD_SLOTS];
    long n, used;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t slot_of(const void *piece) {
    return (size_t)(((uint64_t)(uintptr_t)piece * 0x9e3779b97f4a7c15u) >> (64 - HELD_LOG2));
}

static void *hold(void *piece, void *site) {
    if (!piece || !atomic_load_explicit(&now.running, memory_order_relaxed)) return piece;
    pthread_mutex_lock(&held.lock);
    size_t at = slot_of(piece);
    while (held.piece[at] && held.piece[at] != GIVEN_BACK) at = (at + 1) % HELD_SLOTS;
    held.used += !held.piece[at];
    held.piece[at] = piece;
    held.site[at] = site;
    held.n++;
    if (held.used > HELD_SLOTS / 2) abort(); /* the work is not a small one */
    pthread_mutex_unlock(&held.lock);
    return piece;
}

static void let_go(const void *piece) {
    if (!piece || !atomic_load_explicit(&now.running, memory_order_relaxed)) return;
    pthread_mutex_lock(&held.lock);
    size_t at = slot_of(piece);
    while (held.piece[at] && held.piece[at] != piece) at = (at + 1) % HELD_SLOTS;
    if (held.piece[at]) {
        held.piece[at] = GIVEN_BACK;
        held.n--;
    }
    pthread_mutex_unlock(&held.lock);
}

static void forget_held(void) {
    memset(held.piece, 0, sizeof held.piece);
    held.n = held.used = 0;
}

/* ---- what the linker calls instead ---- */

#define SITE __builtin_return_address(0)

/* Functions that take memory that is given back to `free`, and those whose memory belongs to an owner. */
#define WRAP(type, name, parameters, arguments)                                                              \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters {                                                                          \
        return refuse(SITE) ? 0 : __real_##name arguments;                                                   \
    }
#define WRAP_HELD(type, name, parameters, arguments)                                                         \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters {                                                                          \
        return refuse(SITE) ? 0 : hold(__real_##name arguments, SITE);                                       \
    }

WRAP_HELD(void *, malloc, (size_t n), (n))
WRAP_HELD(void *, calloc, (size_t n, size_t size), (n, size))
WRAP_HELD(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n))
WRAP_HELD(char *, strdup, (const char *text), (text))
WRAP_HELD(char *, strndup, (const char *text, size_t n), (text, n))
WRAP(lud_arena *, lud_arena_create, (size_t n), (n))
WRAP(void *, lud_arena_take, (lud_arena * arena, size_t n), (arena, n))
WRAP(void *, lud_arena_take_array, (lud_arena * arena, size_t n, size_t size), (arena, n, size))
WRAP(char *, lud_arena_text, (lud_arena * arena, const char *text, size_t n), (arena, text, n))
WRAP(void *, lud_device_allocate, (lud_device * device, size_t n), (device, n))
WRAP(bool, lud_device_reserve, (lud_device * device, size_t n), (device, n))

/* Calls of oneDNN say that memory is out, as they do when their own allocations fail. */
#define WRAP_ONEDNN(name, parameters, arguments)                                                             \
    dnnl_status_t __real_##name parameters;                                                                  \
    dnnl_status_t __wrap_##name parameters;                                                                  \
    dnnl_status_t __wrap_##name parameters {                                                                 \
        return refuse(SITE) ? dnnl_out_of_memory : __real_##name arguments;                                  \
    }
WRAP_ONEDNN(dnnl_engine_create, (dnnl_engine_t * engine, dnnl_engine_kind_t kind, size_t index),
            (engine, kind, index))
WRAP_ONEDNN(dnnl_stream_create, (dnnl_stream_t * stream, dnnl_engine_t engine, unsigned flags),
            (stream, engine, flags))
WRAP_ONEDNN(dnnl_primitive_attr_create, (dnnl_primitive_attr_t * attributes), (attributes))
WRAP_ONEDNN(dnnl_post_ops_create, (dnnl_post_ops_t * operations), (operations))
WRAP_ONEDNN(dnnl_primitive_desc_create,
            (dnnl_primitive_desc_t * description, const_dnnl_op_desc_t operation,
             const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine, const_dnnl_primitive_desc_t hint),
            (description, operation, attributes, engine, hint))
WRAP_ONEDNN(dnnl_primitive_create, (dnnl_primitive_t * primitive, const_dnnl_primitive_desc_t description),
            (primitive, description))
WRAP_ONEDNN(dnnl_memory_create,
            (dnnl_memory_t * memory, const dnnl_memory_desc_t *description, dnnl_engine_t engine, void *data),
            (memory, description, engine, data))
WRAP_ONEDNN(dnnl_primitive_execute,
            (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n, const dnnl_exec_arg_t *arguments),
            (primitive, stream, n, arguments))
WRAP_ONEDNN(dnnl_sgemm,
            (char transpose_a, char transpose_b, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
             const float *a, dnnl_dim_t lda, const float *b, dnnl_dim_t ldb, float beta, float *c,
             dnnl_dim_t ldc),
            (transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))

void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n) {
    if (refuse(SITE)) return NULL;
    let_go(old); /* first: another thread may get the place at once */
    void *moved = __real_realloc(old, n);
    hold(moved ? moved : old, SITE);
    return moved;
}

void __real_free(void *piece);
void __wrap_free(void *piece);
void __wrap_free(void *piece) {
    let_go(piece);
    __real_free(piece);
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text, const char *format, ...) {
    if (refuse(SITE)) return -1;
    va_list arguments;
    va_start(arguments, format);
    const int n = vasprintf(text, format, arguments);
    va_end(arguments);
    if (n >= 0) hold(*text, SITE);
    return n;
}

/* ---- the test ---- */

void out_of_memory_pause(void) {
    atomic_store(&now.armed, false);
}

void out_of_memory_resume(void) {
    atomic_store(&now.armed, true);
}

void out_of_memory_hash(uint64_t *result, const void *bytes, size_t n) {
    *result = XXH3_64bits_withSeed(bytes, n, *result);
}

static lud_status run(out_of_memory_work work, const void *argument, long refused, bool and_later,
                      uint64_t *result, lud_error *error) {
    now.refused = refused;
    now.and_later = and_later;
    now.depth = 0;
    atomic_store(&now.count, 0);
    *result = 0;
    *error = (lud_error){0};
    forget_held();
    atomic_store(&now.running, true);
    atomic_store(&now.armed, true);
    const lud_status status = work(argument, result, error);
    atomic_store(&now.armed, false);
    atomic_store(&now.running, false);
    return status;
}

/* Whether allocation k of n is worth refusing: see the header. */
static bool chosen(void *const *sites, long n, long k) {
    if (n <= ALL_UP_TO) return true;
    long nth = 1;
    for (long i = 0; i < k && i < MOST; i++) nth += sites[i] == sites[k];
    return nth <= FIRST || (nth >= 8 && (nth & (nth - 1)) == 0);
}

static void show(void *const *trace, int depth) {
    char **lines = backtrace_symbols(trace, depth);
    for (int i = 0; lines && i < depth; i++) print_error("    %s\n", lines[i]);
    free(lines);
}

static bool complain(const char *name, long k, bool and_later, const char *what, const lud_error *error) {
    print_error("%s: allocation %ld%s refused: %s%s%s\n", name, k, and_later ? " and later ones" : "", what,
                error->text[0] ? ": " : "", error->text);
    show(now.trace, now.depth);
    return false;
}

void out_of_memory_test(const char *name, out_of_memory_work work, const void *argument) {
    static void *sites[MOST];
    uint64_t expected, result;
    lud_error error;
    /* what is made once and kept comes first */
    if (run(work, argument, 0, false, &expected, &error)) fail_msg("%s: %s", name, error.text);
    if (run(work, argument, 0, false, &expected, &error)) fail_msg("%s: %s", name, error.text);
    const long n = atomic_load(&now.count);
    memcpy(sites, now.sites, sizeof sites);
    int n_wrong = 0, n_refused = 0, n_without = 0;
    for (long k = 1; k <= n && n_wrong < SHOWN; k++) {
        if (k <= MOST && !chosen(sites, n, k - 1)) continue;
        for (int and_later = 0; and_later < 2 && n_wrong < SHOWN; and_later++) {
            const lud_status status = run(work, argument, k, and_later, &result, &error);
            bool right = true;
            if (!status)
                right = result == expected ||
                        complain(name, k, and_later, "succeeds with another result", &error);
            else if (status != LUD_ERROR_MEMORY || error.status != LUD_ERROR_MEMORY)
                right = complain(name, k, and_later, "is not reported as such", &error);
            else if (!strstr(error.text, "memory"))
                right = complain(name, k, and_later, "is reported without the word memory", &error);
            if (held.n) {
                right = complain(name, k, and_later, "leaves memory behind, taken at", &error);
                for (size_t at = 0, shown = 0; at < HELD_SLOTS && shown < SHOWN; at++)
                    if (held.piece[at] && held.piece[at] != GIVEN_BACK) {
                        show(&held.site[at], 1);
                        shown++;
                    }
            }
            n_wrong += !right;
            n_refused++;
            n_without += !status;
        }
    }
    print_message("%s: %ld allocations, %d runs, of which %d did without\n", name, n, n_refused, n_without);
    assert_int_equal(n_wrong, 0);
    assert_true(n > 0);
    assert_true(n_without < n_refused);
}
