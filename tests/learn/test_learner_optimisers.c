/* Every learner with every optimiser: it trains, and apollo keeps moments of projections; stopped and resumed
 * it ends with the same bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "learn/nn/optimiser.h"
#include "learn/support_optimisers.h"

static const char *const types[] = {"adam", "adamw", "sgd", "apollo", "apollo-mini"};
enum { N_TYPES = sizeof types / sizeof *types };

static bool differ(const lud_tensor *a, const lud_tensor *b) {
    return memcmp(a->data, b->data, a->bytes) != 0;
}

/* Matrices whose moments are those of a projection. */
static int n_projected(lud_checkpoint *checkpoint) {
    int n = 0;
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++)
        n += strstr(lud_checkpoint_get(checkpoint, i)->name, ".updates.") != NULL;
    return n;
}

static void every_type_trains(void **state) {
    (void)state;
    for (int k = 0; k < n_support_optimised; k++) {
        lud_checkpoint *ends[N_TYPES];
        for (int type = 0; type < N_TYPES; type++) {
            support_training t;
            support_optimised(k, types[type], &t);
            support_bed b = support_bed_open(&t, "cpu", 1);
            double row[128];
            lud_checkpoint *begin = support_bed_save(&b);
            for (int i = 0; i < 2; i++) support_bed_iterate(&t, &b, row);
            lud_checkpoint *end = ends[type] = support_bed_save(&b);
            int n_moved = 0;
            for (int i = 0; i < lud_checkpoint_n_tensors(end); i++) {
                const lud_tensor *x = lud_checkpoint_get(end, i), *old = lud_checkpoint_find(begin, x->name);
                for (size_t j = 0; x->type == LUD_TENSOR_F32 && j < x->bytes / sizeof(float); j++)
                    if (!isfinite(((const float *)x->data)[j])) fail_msg("%s: %s", t.name, x->name);
                n_moved += x->type == LUD_TENSOR_F32 && !strstr(x->name, "optimiser") && differ(x, old);
            }
            if (n_moved == 0) fail_msg("%s: %s moves nothing", t.name, types[type]);
            const bool low_rank = strncmp(types[type], "apollo", 6) == 0;
            if ((n_projected(end) > 0) != low_rank)
                fail_msg("%s: %d matrices are projected", t.name, n_projected(end));
            lud_checkpoint_destroy(begin);
            support_bed_close(&b);
        }
        for (int a = 0; a < N_TYPES; a++)
            for (int b = a + 1; b < N_TYPES; b++) {
                bool other = false;
                for (int i = 0; i < lud_checkpoint_n_tensors(ends[a]) && !other; i++) {
                    const lud_tensor *x = lud_checkpoint_get(ends[a], i);
                    const lud_tensor *y = lud_checkpoint_find(ends[b], x->name);
                    other = y && !strstr(x->name, "optimiser") && !strstr(x->name, "second") &&
                            x->type == LUD_TENSOR_F32 && differ(x, y);
                }
                if (!other) fail_msg("%d: %s trains as %s does", k, types[a], types[b]);
            }
        for (int type = 0; type < N_TYPES; type++) lud_checkpoint_destroy(ends[type]);
    }
}

static void resume_equals_no_interruption(void **state) {
    (void)state;
    for (int type = 2; type < N_TYPES; type++)
        for (int k = 0; k < n_support_optimised; k++) support_resume_optimised(k, types[type], "cpu");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_trains),
        cmocka_unit_test(resume_equals_no_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
