#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static _Atomic int shown_level = LUD_LOG_INFO;

void lud_log_set_level(lud_log_level level) {
    shown_level = (int)level;
}

lud_log_level lud_log_get_level(void) {
    return (lud_log_level)shown_level;
}

static void (*sink)(lud_log_level level, const char *message);

void lud_log_set_sink(void (*new_sink)(lud_log_level level, const char *message)) {
    sink = new_sink;
}

void lud_log(FILE *copy, lud_log_level level, const char *format, ...) {
    static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
    static const char *const colour[] = {"\033[1;31m", "\033[1;33m", "", "\033[2m"};
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (sink) {
        sink(level, message);
    } else if (level <= lud_log_get_level()) {
        bool terminal = isatty(STDERR_FILENO);
        /* one call for one line: lines of several threads do not mix */
        fprintf(stderr, "%sludus: %s%s%s%s\n", terminal ? "\r\033[K" : "", terminal ? colour[level] : "",
                prefix[level], terminal && *colour[level] ? "\033[0m" : "", message);
    }
    if (copy) {
        time_t now = time(NULL);
        struct tm parts;
        char stamp[32] = "";
        if (localtime_r(&now, &parts)) strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &parts);
        fprintf(copy, "%s %s%s\n", stamp, prefix[level], message);
        fflush(copy);
    }
}
