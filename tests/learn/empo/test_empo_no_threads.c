/* A system that gives the actors no more threads. A program of its own: the thread sanitizer, under which
 * test_empo_async runs too, has to see every thread made. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/empo/support_empo.h"

static int threads_left = -1; /* -1: any number */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return real(thread, attributes, start, argument);
}

static const char learner[] = "learner:\n"
                              "  type: empo-phase2\n  automatic: false\n"
                              "  hidden_dim: 8\n"
                              "  goal_feature_dim: 4\n"
                              "  num_training_steps: 60\n"
                              "  batch_size: 6\n"
                              "  exact_max_states: 0\n"
                              "  async_training: true\n"
                              "  num_actors: 2\n"
                              "  async_min_buffer_size: 30\n";

static void missing_threads_are_told(void **state) {
    (void)state;
    support_empo r;
    lud_error error = {0};
    double row[256];
    support_empo_open(&r, support_empo_corridor, learner, 0, NULL);
    assert_true(r.learner->base.n_columns <= 256);
    threads_left = 1; /* for the first of two actors */
    assert_int_equal(lud_empo_phase2.iterate(&r.learner->base, row, &error), LUD_ERROR_LIMIT);
    threads_left = -1;
    assert_string_equal(error.text, "no thread for actor 1");
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_threads_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
