/* The window of `ludus train --view`: `ludus view RUN --follow` as a process of its own, so that what is
 * drawn neither slows what is learned nor can end it. */
#pragma once

#include <sys/types.h>

#include "base/status.h"

/* Opens it on the folder of a training that has begun. */
lud_status lud_train_window_open(const char *folder, pid_t *window, lud_error *error);
/* Waits until it is closed, or closes it after an interrupt. 0: there is none. */
void lud_train_window_wait(pid_t window);
