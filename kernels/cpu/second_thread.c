#include "kernels/cpu/second_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Looks at the other's state before one sleeps: some tens of microseconds, as pieces of work follow each
 * other that soon and waking takes as long. */
enum { LOOKS = 1000 };

enum { IDLE, BUSY, LEAVING };

struct lud_second_thread {
    pthread_t thread;
    atomic_int state;
    pthread_mutex_t mutex; /* for sleeping */
    pthread_cond_t changed;
    void (*work)(void *context);
    void *context;
};

static void pause_shortly(void) {
#if defined(__SSE2__)
    _mm_pause();
#endif
}

/* The state once it is another than `now`. */
static int wait_for_change(lud_second_thread *t, int now) {
    for (int i = 0; i < LOOKS; i++) {
        const int state = atomic_load_explicit(&t->state, memory_order_acquire);
        if (state != now) return state;
        pause_shortly();
    }
    pthread_mutex_lock(&t->mutex);
    while (atomic_load(&t->state) == now) pthread_cond_wait(&t->changed, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    return atomic_load_explicit(&t->state, memory_order_acquire);
}

/* Under the mutex, or a sleeper could miss it between its last look and its sleep. */
static void change(lud_second_thread *t, int state) {
    pthread_mutex_lock(&t->mutex);
    atomic_store_explicit(&t->state, state, memory_order_release);
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

static void *run(void *thread) {
    lud_second_thread *t = thread;
    while (wait_for_change(t, IDLE) == BUSY) {
        t->work(t->context);
        change(t, IDLE);
    }
    return NULL;
}

lud_second_thread *lud_second_thread_create(void) {
    lud_second_thread *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    atomic_init(&t->state, IDLE);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->changed, NULL);
    /* signals are the caller's */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool runs = pthread_create(&t->thread, NULL, run, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (runs) return t;
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->mutex);
    free(t);
    return NULL;
}

void lud_second_thread_destroy(lud_second_thread *t) {
    if (!t) return;
    lud_second_thread_finish(t);
    change(t, LEAVING);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->mutex);
    free(t);
}

void lud_second_thread_begin(lud_second_thread *t, void (*work)(void *context), void *context) {
    t->work = work;
    t->context = context;
    change(t, BUSY);
}

void lud_second_thread_finish(lud_second_thread *t) {
    wait_for_change(t, BUSY);
}
