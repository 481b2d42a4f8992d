/* Training steps of every learner's networks: the same bytes for 1, 2, 3 and 4 threads, with `--strict` and
 * without. (kernels/test_operations has single operations.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/support_trainings.h"

/* Everything a run goes on from, after one iteration. */
static lud_checkpoint *trained(const support_training *t, int n_threads, bool strict) {
    double row[128];
    support_bed b = support_bed_open(t, "cpu", n_threads);
    lud_device_set_strict(b.device, strict);
    assert_int_equal(b.device->n_threads, n_threads);
    assert_in_range(b.learner->n_columns, 1, 128);
    support_bed_iterate(t, &b, row);
    lud_checkpoint *checkpoint = support_bed_save(&b);
    support_bed_close(&b);
    return checkpoint;
}

static void training_does_not_depend_on_threads(void **state) {
    (void)state;
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        lud_checkpoint *one = trained(t, 1, true);
        const int n = lud_checkpoint_n_tensors(one);
        assert_true(n > 3);
        for (int n_threads = 1; n_threads <= 4; n_threads++) {
            lud_checkpoint *many = trained(t, n_threads, false);
            assert_int_equal(lud_checkpoint_n_tensors(many), n);
            for (int i = 0; i < n; i++) {
                const lud_tensor *x = lud_checkpoint_get(one, i), *y = lud_checkpoint_find(many, x->name);
                assert_non_null(y);
                if (strstr(x->name, "seconds")) continue;
                assert_int_equal(x->bytes, y->bytes);
                if (memcmp(x->data, y->data, x->bytes) != 0)
                    fail_msg("%s: %s is not the same with %d threads", t->name, x->name, n_threads);
            }
            lud_checkpoint_destroy(many);
        }
        lud_checkpoint_destroy(one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(training_does_not_depend_on_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
