#include <omp.h>
#include <pthread.h>

#include "library/handles.h"

int ludus_take_threads(const lud_scenario *scenario) {
    const int before = omp_get_max_threads();
    if (scenario && scenario->run.threads > 0) omp_set_num_threads((int)scenario->run.threads);
    return before;
}

void ludus_give_threads(int before) {
    if (before != omp_get_max_threads()) omp_set_num_threads(before);
}

/* ---- forked processes ---- */

/* OpenMP keeps the threads of the last parallel work for the next, and they are not in a forked child, which
 * would wait for them for ever. So a thread that forks lets them end first; parent and child make new ones
 * when they next need some. Other threads of the parent keep theirs, and are not in the child. */

static bool kept_threads;

static void before_fork(void) {
    kept_threads = omp_pause_resource_all(omp_pause_soft) != 0;
}

/* Who forks from within parallel work cannot let its threads end: this child computes with one. */
static void in_child(void) {
    if (kept_threads) omp_set_max_active_levels(0);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, NULL, in_child);
}
