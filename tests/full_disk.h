/* A disk that takes no more than so many bytes of a file. */
#pragma once

#include <signal.h>
#include <sys/resource.h>

/* What the system says of it. */
#define FULL_DISK "File too large"

/* Files of this process may grow to `bytes`. */
static inline void full_disk(rlim_t bytes) {
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static inline void empty_disk(void) {
    full_disk(RLIM_INFINITY);
}
