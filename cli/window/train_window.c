#include "cli/window/train_window.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/interrupt.h"

extern char **environ;

lud_status lud_train_window_open(const char *folder, pid_t *window, lud_error *error) {
    const char *const words[] = {"ludus", "view", folder, "--follow", NULL};
    const int failure =
        posix_spawn(window, "/proc/self/exe", NULL, NULL, (char *const *)(uintptr_t)words, environ);
    if (!failure) {
        /* what learns comes first: the window gets what it leaves */
        const struct sched_param none = {0};
        (void)sched_setscheduler(*window, SCHED_IDLE, &none);
        return LUD_OK;
    }
    *window = 0;
    return lud_fail(error, LUD_ERROR_IO, "the window of the training cannot be opened: %s",
                    strerror(failure));
}

void lud_train_window_wait(pid_t window) {
    if (window <= 0) return;
    if (waitpid(window, NULL, WNOHANG) != 0) return; /* it was closed already */
    if (!lud_interrupted()) {
        printf("\nthe window stays until you close it\n");
        fflush(stdout);
    }
    for (bool told = false; waitpid(window, NULL, WNOHANG) == 0;) {
        if (lud_interrupted() && !told) told = kill(window, SIGTERM) == 0;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}
