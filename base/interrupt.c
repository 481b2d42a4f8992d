#include "base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t interrupted, came; /* `came`: the first signal */
static _Atomic int64_t asked, asked_for;

/* Some send a signal twice at once, to the program and to its group (timeout, batch systems): a second one
 * that means it comes later. */
static void on_interrupt(int signal_number) {
    static const double twice = 0.3; /* seconds */
    static double first;
    const double now = lud_clock_seconds();
    if (!interrupted) {
        first = now;
        came = signal_number;
    }
    if (interrupted && now - first > twice) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    interrupted = 1;
}

static void *listen_for_signals(void *unused) {
    (void)unused;
    for (;;) pause();
    return NULL;
}

/* Starts a thread that does nothing but take signals; false when there is none. */
static bool start_listener(void) {
    static bool listens;
    enum { STACK_BYTES = 1 << 17 }; /* a handler's frame holds all registers */
    pthread_attr_t attributes;
    pthread_t thread;
    if (listens || pthread_attr_init(&attributes) != 0) return listens;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    listens = pthread_create(&thread, &attributes, listen_for_signals, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return listens;
}

void lud_interrupt_install(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before; /* who was started with nohup goes on when its terminal goes */
    const bool hangs_up = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN;
    if (hangs_up) sigaction(SIGHUP, &action, NULL);
    /* a parent may have left them blocked; one that came meanwhile arrives now */
    sigset_t listened;
    sigemptyset(&listened);
    sigaddset(&listened, SIGINT);
    sigaddset(&listened, SIGTERM);
    if (hangs_up) sigaddset(&listened, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &listened, NULL);
    /* the stack pointer of generated code (products of oneDNN) points into its arrays for a while: a handler
     * that ran on it would write there. Threads that come to be later inherit the mask. */
    if (start_listener()) pthread_sigmask(SIG_BLOCK, &listened, NULL);
}

bool lud_interrupted(void) {
    if (atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1 ==
        atomic_load_explicit(&asked_for, memory_order_relaxed))
        interrupted = 1;
    return interrupted != 0;
}

void lud_interrupt_set(bool stop) {
    interrupted = stop;
}

int lud_interrupt_signal(void) {
    return came;
}

lud_status lud_interrupt_check(lud_error *error) {
    return lud_interrupted() ? lud_fail(error, LUD_INTERRUPTED, "interrupted") : LUD_OK;
}

void lud_interrupt_at(int64_t n) {
    interrupted = 0;
    atomic_store(&asked, 0);
    atomic_store(&asked_for, n);
}

int64_t lud_interrupt_questions(void) {
    return atomic_load(&asked);
}
