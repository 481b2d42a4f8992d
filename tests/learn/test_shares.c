/* Gradients in shares add up to those of the whole: every learner comes to the same, but for rounding, with
 * one share and with two. (cli/test_ranks has the same bytes for any number of processes.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/support_trainings.h"

/* What is drawn for a row within its share is another draw with other shares. */
static const char *const other_draws[] = {"empo, goals of X_h drawn"};

static bool is_left_out(const char *name) {
    for (size_t i = 0; i < sizeof other_draws / sizeof *other_draws; i++)
        if (strcmp(name, other_draws[i]) == 0) return true;
    return false;
}

/* State and row after the first iteration. Networks leave nothing out by draws. */
static lud_checkpoint *trained(const support_training *training, const char *shares, double *row) {
    support_training t = *training;
    int k = 0;
    while (t.set[k]) k++;
    assert_true(k + 2 <= (int)(sizeof t.set / sizeof *t.set));
    t.set[k++] = shares;
    if (strncmp(t.name, "empo", 4) == 0) t.set[k++] = "learner.dropout=0";
    if (strncmp(t.name, "proof", 5) == 0) t.set[k++] = "learner.network.dropout=0";
    support_bed b = support_bed_open(&t, "cpu", 1);
    assert_in_range(b.learner->n_columns, 1, 128);
    support_bed_iterate(&t, &b, row);
    for (int i = 0; i < b.learner->n_columns; i++) /* times are what they are */
        if (strstr(b.learner->columns[i].name, "seconds/") ||
            strcmp(b.learner->columns[i].name, "speed") == 0)
            row[i] = NAN;
    lud_checkpoint *checkpoint = support_bed_save(&b);
    support_bed_close(&b);
    return checkpoint;
}

static double element(const lud_tensor *t, size_t i) {
    return t->type == LUD_TENSOR_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static void check_near(const support_training *t, const lud_tensor *x, const lud_tensor *y) {
    const size_t n = x->bytes / (x->type == LUD_TENSOR_F32 ? 4 : 8);
    double largest = 1e-2;
    assert_int_equal(x->bytes, y->bytes);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(element(x, i)));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(element(x, i) - element(y, i)) <= t->tolerance * largest))
            fail_msg("%s: %s[%zu] is %.9g with one share, %.9g with two", t->name, x->name, i, element(x, i),
                     element(y, i));
}

static void shares_add_up(void **state) {
    (void)state;
    int n_compared = 0;
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        double rows[2][128] = {{0.0}};
        if (is_left_out(t->name)) continue;
        lud_checkpoint *one = trained(t, "learner.shares=1", rows[0]),
                       *two = trained(t, "learner.shares=2", rows[1]);
        for (int i = 0; i < 128; i++)
            if (!(fabs(rows[0][i] - rows[1][i]) <= t->tolerance * fmax(1.0, fabs(rows[0][i]))) &&
                !(isnan(rows[0][i]) && isnan(rows[1][i])))
                fail_msg("%s: column %d is %.9g with one share, %.9g with two", t->name, i, rows[0][i],
                         rows[1][i]);
        for (int i = 0; i < lud_checkpoint_n_tensors(one); i++) {
            const lud_tensor *x = lud_checkpoint_get(one, i), *y = lud_checkpoint_find(two, x->name);
            assert_non_null(y);
            if (strstr(x->name, "seconds") || (x->type != LUD_TENSOR_F32 && x->type != LUD_TENSOR_F64))
                continue;
            check_near(t, x, y);
            n_compared++;
        }
        lud_checkpoint_destroy(one);
        lud_checkpoint_destroy(two);
    }
    assert_true(n_compared > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
