#include "base/progress.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"

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

char *lud_format_memory(double bytes, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    while (bytes >= 999.5 && u < 6) {
        bytes /= 1024;
        u++;
    }
    if (!(bytes >= 0 && bytes < 1e6))
        snprintf(text, 16, "? B");
    else if (u == 0)
        snprintf(text, 16, "%.0f B", bytes);
    else
        snprintf(text, 16, "%.*f %s", bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2, bytes, units[u]);
    return text;
}

double lud_memory_peak(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * 1024 : 0;
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

void lud_progress_anew(lud_progress *p, double part) {
    if (!p) return;
    p->skipped = lud_clock_seconds() - p->started;
    p->before = p->done;
    p->part = p->part_before = part;
}

/* From this much of a first unit on its time says something of the others. */
static const double least_known = 0.05;

/* The figures: `1.2 M of 4 M states, 310 k/s, 9 s left`; `3.45 of 12 iterations` within the fourth. */
static void figures(const lud_progress *p, double now, char *text, size_t size) {
    char done[16], total[16], rate[16], time[24];
    const double elapsed = now - p->started, counted = elapsed - p->skipped,
                 own = fmax((double)(p->done - p->before) + p->part - p->part_before, 0);
    const double per_second = counted > 0 ? own / counted : 0;
    lud_format_count((double)p->done, done);
    lud_format_count((double)p->total, total);
    lud_format_count(per_second, rate);
    const double left = (double)p->total - (double)p->done - p->part;
    const bool ended = !(left > 0) || !(own > 0) || (p->part > 0 && own < least_known);
    lud_format_seconds(ended ? elapsed : left / per_second, time);
    if (p->part > 0 && p->done < 1000) snprintf(done, sizeof done, "%.2f", (double)p->done + p->part);
    snprintf(text, size, "%s%s%s %s, %s/s, %s%s", done, p->total ? " of " : "", p->total ? total : "",
             p->unit, rate, time, ended ? "" : " left");
}

/* Columns that the line may take, SIZE_MAX where nothing limits it. */
static size_t columns_of(const lud_progress *p) {
    struct winsize window = {0};
    if (!p->terminal || ioctl(fileno(p->out), TIOCGWINSZ, &window) || window.ws_col < 2) return SIZE_MAX;
    return window.ws_col - 1; /* a line that wraps could not be redrawn */
}

/* Appends the parts of `text`, which `mark` ends, as long as whole ones fit. */
static void add_parts(char *line, size_t size, size_t columns, const char *lead, const char *text,
                      const char *mark) {
    while (*text) {
        const char *end = strstr(text, mark);
        const size_t length = end ? (size_t)(end - text) : strlen(text), used = strlen(line);
        const size_t wanted = used + strlen(lead) + length;
        if (wanted > columns || wanted >= size) return;
        snprintf(line + used, size - used, "%s%.*s", lead, (int)length, text);
        text += length + (end ? strlen(mark) : 0);
        lead = mark;
    }
}

/* The bar gives way where the line is too narrow for it and the figures. */
static void compose(const lud_progress *p, double now, size_t columns, char *line, size_t size) {
    char text[256], bar[BAR + 16] = "";
    figures(p, now, text, sizeof text);
    if (p->total && p->terminal) {
        const double done = (double)p->done + p->part, part = done / (double)p->total;
        int filled = part < 1 ? (int)(part * BAR) : BAR;
        bar[0] = '[';
        memset(bar + 1, '-', BAR);
        memset(bar + 1, '#', (size_t)filled);
        snprintf(bar + 1 + BAR, sizeof bar - 1 - BAR, "] %3.0f%% ", 100 * (part < 1 ? part : 1));
    }
    const bool room = strlen(p->label) + 1 + strlen(bar) + strlen(text) <= columns;
    snprintf(line, size, "%s%s", p->label, p->terminal ? "" : ":");
    if (room && *bar) snprintf(line + strlen(line), size - strlen(line), " %.*s", (int)strlen(bar) - 1, bar);
    add_parts(line, size, columns, " ", text, ", ");
    if (*p->note) add_parts(line, size, columns, ", ", p->note, "  ");
}

static void show(lud_progress *p, double now, size_t columns) {
    char line[640];
    compose(p, now, columns, line, sizeof line);
    p->last_shown = now;
    if (!p->terminal) {
        fprintf(p->out, "%s\n", line);
        fflush(p->out);
        return;
    }
    int width = (int)strlen(line);
    fprintf(p->out, "\r%s%*s", line, p->width > width ? p->width - width : 0, "");
    fflush(p->out);
    p->width = width;
}

static void show_now_and_then(lud_progress *p) {
    if (!p->out) return;
    const double now = lud_clock_seconds();
    if (now - p->last_shown >= p->interval) show(p, now, columns_of(p));
}

void lud_progress_update(lud_progress *progress, uint64_t done) {
    progress->done = done;
    progress->part = 0.0;
    progress->stage = NULL;
    show_now_and_then(progress);
}

lud_status lud_progress_beat(lud_progress *progress, double part, lud_error *error) {
    if (progress) {
        progress->part = part < 0 ? 0 : part > 1 ? 1 : part;
        show_now_and_then(progress);
    }
    return lud_interrupt_check(error);
}

void lud_progress_note(lud_progress *progress, const char *format, ...) {
    va_list arguments;
    if (!progress) return;
    va_start(arguments, format);
    vsnprintf(progress->note, sizeof progress->note, format, arguments);
    va_end(arguments);
}

void lud_progress_stage(lud_progress *p, const char *what, double part) {
    char time[24];
    if (!p) return;
    const double now = lud_clock_seconds(), done = part < 0 ? 0 : part > 1 ? 1 : part;
    if (p->stage != what) p->stage_started = now;
    p->stage = what;
    if (done < least_known) {
        lud_progress_note(p, "%.0f %% of %s", 100 * done, what);
        return;
    }
    lud_format_seconds((now - p->stage_started) * (1 - done) / done, time);
    lud_progress_note(p, "%.0f %% of %s, %s left", 100 * done, what, time);
}

lud_status lud_progress_stage_beat(lud_progress *p, const char *what, double part, lud_error *error) {
    lud_progress_stage(p, what, part);
    return lud_progress_beat(p, 0, error);
}

void lud_progress_finish(lud_progress *progress) {
    if (!progress->out) return;
    show(progress, lud_clock_seconds(), SIZE_MAX); /* nothing is drawn over it: it may wrap */
    if (progress->terminal) {
        fputc('\n', progress->out);
        fflush(progress->out);
    }
}
