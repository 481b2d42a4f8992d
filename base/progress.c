#include "base/progress.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR = 24 };

char *lud_format_count(double value, char text[16]) {
    static const char *const prefix[] = {"", " k", " M", " G", " T", " P", " E"};
    int p = 0;
    double v = fabs(value);
    while (v >= 999.5 && p < 6) {
        v /= 1000;
        p++;
    }
    if (value < 0) v = -v;
    double size = fabs(v);
    if (size >= 1e6 || isnan(v))
        snprintf(text, 16, "%.2g", value);
    else if (p == 0 && v == floor(v))
        snprintf(text, 16, "%.0f", v);
    else
        snprintf(text, 16, "%.*f%s", size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, v, prefix[p]);
    return text;
}

char *lud_format_seconds(double seconds, char text[24]) {
    if (!(seconds >= 0 && seconds < 1e9))
        snprintf(text, 24, "?");
    else if (seconds < 10)
        snprintf(text, 24, "%.1f s", seconds);
    else if (seconds < 59.5)
        snprintf(text, 24, "%.0f s", seconds);
    else {
        long long whole = llround(seconds);
        if (whole < 3600)
            snprintf(text, 24, "%lld:%02lld", whole / 60, whole % 60);
        else
            snprintf(text, 24, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    }
    return text;
}

void lud_progress_start(lud_progress *progress, FILE *out, const char *label, const char *unit,
                        uint64_t total) {
    *progress = (lud_progress){.out = out, .label = label, .unit = unit, .total = total};
    progress->terminal = out && isatty(fileno(out));
    progress->interval = progress->terminal ? 0.1 : 10.0;
    progress->started = progress->last_shown = lud_clock_seconds();
}

/* The figures: `1.2 M of 4 M states, 310 k/s, 9 s left, note`. */
static void figures(const lud_progress *p, double now, char *text, size_t size) {
    char done[16], total[16], rate[16], time[24];
    double elapsed = now - p->started;
    double per_second = elapsed > 0 ? (double)p->done / elapsed : 0;
    lud_format_count((double)p->done, done);
    lud_format_count((double)p->total, total);
    lud_format_count(per_second, rate);
    bool ended = p->total == 0 || p->done >= p->total || p->done == 0;
    lud_format_seconds(ended ? elapsed : (double)(p->total - p->done) / per_second, time);
    snprintf(text, size, "%s%s%s %s, %s/s, %s%s%s%s", done, p->total ? " of " : "", p->total ? total : "",
             p->unit, rate, time, ended ? "" : " left", *p->note ? ", " : "", p->note);
}

static void show(lud_progress *p, double now) {
    char text[256];
    figures(p, now, text, sizeof text);
    p->last_shown = now;
    if (!p->terminal) {
        fprintf(p->out, "%s: %s\n", p->label, text);
        fflush(p->out);
        return;
    }
    char line[512], bar[BAR + 1] = "";
    if (p->total) {
        double part = p->done < p->total ? (double)p->done / (double)p->total : 1;
        int filled = (int)(part * BAR);
        memset(bar, '-', BAR);
        memset(bar, '#', (size_t)filled);
        bar[BAR] = 0;
        snprintf(line, sizeof line, "%s [%s] %3.0f%% %s", p->label, bar, 100 * part, text);
    } else {
        snprintf(line, sizeof line, "%s %s", p->label, text);
    }
    struct winsize window = {0};
    if (!ioctl(fileno(p->out), TIOCGWINSZ, &window) && window.ws_col > 1 && strlen(line) >= window.ws_col)
        line[window.ws_col - 1] = 0; /* a line that wraps could not be redrawn */
    int width = (int)strlen(line);
    fprintf(p->out, "\r%s%*s", line, p->width > width ? p->width - width : 0, "");
    fflush(p->out);
    p->width = width;
}

void lud_progress_update(lud_progress *progress, uint64_t done) {
    progress->done = done;
    if (!progress->out) return;
    double now = lud_clock_seconds();
    if (now - progress->last_shown >= progress->interval) show(progress, now);
}

void lud_progress_note(lud_progress *progress, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(progress->note, sizeof progress->note, format, arguments);
    va_end(arguments);
}

void lud_progress_finish(lud_progress *progress) {
    if (!progress->out) return;
    show(progress, lud_clock_seconds());
    if (progress->terminal) {
        fputc('\n', progress->out);
        fflush(progress->out);
    }
}

static volatile sig_atomic_t interrupted;

/* Some send a signal twice at once, to the program and to its group (timeout, batch systems): a second one
 * that means it comes later. */
static void on_interrupt(int signal_number) {
    static const double twice = 0.3; /* seconds */
    static double first;
    const double now = lud_clock_seconds();
    if (!interrupted) first = now;
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
    /* a parent may have left them blocked; one that came meanwhile arrives now */
    sigset_t listened;
    sigemptyset(&listened);
    sigaddset(&listened, SIGINT);
    sigaddset(&listened, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &listened, NULL);
    /* the stack pointer of generated code (products of oneDNN) points into its arrays for a while: a handler
     * that ran on it would write there. Threads that come to be later inherit the mask. */
    if (start_listener()) pthread_sigmask(SIG_BLOCK, &listened, NULL);
}

bool lud_interrupted(void) {
    return interrupted != 0;
}
