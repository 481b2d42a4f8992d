/* Learners with optimisers of low-rank moments on CUDA: the first iteration is near that of the CPU, resuming
 * changes nothing, and what can be recorded beside the steps is recorded. Runs on a GPU where there is one,
 * and in any case as `test_cuda_optimisers_emulated`. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/phase2/phase2.h"
#include "learn/support_optimisers.h"

static bool have_cuda;

static int look_for_cuda(void **state) {
    (void)state;
    have_cuda = support_has_cuda();
    return !have_cuda && getenv("LUDUS_CUDA_MODULE") ? -1 : 0; /* asked for and not there */
}

static void the_first_iteration_is_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    static const char *const types[] = {"apollo", "apollo-mini", "sgd"};
    for (int i = 0; i < 3 * n_support_optimised; i++) {
        support_training t;
        support_optimised(i / 3, types[i % 3], &t);
        support_bed a = support_bed_open(&t, "cuda", 0), b = support_bed_open(&t, "cpu", 1);
        double row[128];
        support_bed_iterate(&t, &a, row);
        support_bed_iterate(&t, &b, row);
        lud_checkpoint *of_a = support_bed_save(&a), *of_b = support_bed_save(&b);
        assert_int_equal(lud_checkpoint_n_tensors(of_a), lud_checkpoint_n_tensors(of_b));
        for (int k = 0; k < lud_checkpoint_n_tensors(of_a); k++) {
            const lud_tensor *x = lud_checkpoint_get(of_a, k), *y = lud_checkpoint_find(of_b, x->name);
            if (x->type != LUD_TENSOR_F32 || !strstr(x->name, "weight")) continue;
            const float *p = x->data, *q = y->data;
            double largest = 1e-2;
            for (size_t j = 0; j < x->bytes / sizeof(float); j++) largest = fmax(largest, fabs((double)q[j]));
            for (size_t j = 0; j < x->bytes / sizeof(float); j++)
                if (!(fabs((double)p[j] - (double)q[j]) <= t.tolerance * largest))
                    fail_msg("%s, %s: %s[%zu]: %.9g, on the CPU %.9g", t.name, types[i % 3], x->name, j,
                             (double)p[j], (double)q[j]);
        }
        lud_checkpoint_destroy(of_a);
        lud_checkpoint_destroy(of_b);
        support_bed_close(&a);
        support_bed_close(&b);
    }
}

static void resume_equals_no_interruption(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_optimised; k++) support_resume_optimised(k, "apollo", "cuda");
}

/* Of EMPO's phase 2 all but the steps is one graph. */
static void the_rest_is_recorded(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_optimised; k++) {
        support_training t;
        support_optimised(k, "apollo", &t);
        if (!strstr(t.name, "all heads")) continue;
        int n_set = 0;
        while (t.set[n_set]) n_set++;
        t.set[n_set++] = "learner.num_training_steps=40";
        t.set[n_set++] = "learner.updates_per_iteration=20";
        support_bed b = support_bed_open(&t, "cuda", 0);
        double row[128];
        for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(&t, &b, row);
        const lud_empo_update_figures figures =
            lud_empo_update_get(((lud_empo_phase2_learner *)b.learner)->update);
        assert_int_equal(figures.n, 40);
        assert_true(figures.n_replayed > 20);
        support_bed_close(&b);
        return;
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_iteration_is_near),
        cmocka_unit_test(resume_equals_no_interruption),
        cmocka_unit_test(the_rest_is_recorded),
    };
    return cmocka_run_group_tests(tests, look_for_cuda, NULL);
}
