#include "learn/empo/support_empo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/ludus-empo-XXXXXX";
char support_empo_path[64];

int support_empo_make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(support_empo_path, sizeof support_empo_path, "%s/checkpoint.safetensors", folder);
    return 0;
}

int support_empo_remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* every test has removed what it wrote */
}

const char support_empo_corridor[] = "ludus: 1\n"
                                     "name: corridor\n"
                                     "world: multigrid\n"
                                     "multigrid:\n"
                                     "  map: |\n"
                                     "    We We We We We\n"
                                     "    We Ay Ae .. We\n"
                                     "    We We .. We We\n"
                                     "    We We We We We\n"
                                     "  max_steps: 5\n"
                                     "  actions: small\n"
                                     "goals:\n"
                                     "  - {cell: [1, 1]}\n"
                                     "  - {cell: [2, 1]}\n"
                                     "  - {cell: [3, 1]}\n"
                                     "  - {cell: [2, 2]}\n";

const char support_empo_crowd[] = "ludus: 1\n"
                                  "name: crowd\n"
                                  "world: multigrid\n"
                                  "multigrid:\n"
                                  "  map: |\n"
                                  "    We We We We We We\n"
                                  "    We Ay Un .. Ae We\n"
                                  "    We .. Ky Lr .. We\n"
                                  "    We Ay .. Un Ae We\n"
                                  "    We We We We We We\n"
                                  "  max_steps: 4\n"
                                  "  actions: small\n"
                                  "goals:\n"
                                  "  - {rectangle: [1, 1, 2, 3]}\n"
                                  "  - {cell: [4, 3], weight: 0.5}\n"
                                  "  - {rectangle: [3, 1, 4, 2]}\n";

lud_status support_empo_try(support_empo *r, const char *world, const char *learner, int n_set,
                            const char *const *set, lud_error *error) {
    lud_text text = {0};
    lud_learner *made = NULL;
    *r = (support_empo){0};
    lud_text_append(&text, "%s%s", world, learner);
    lud_status status =
        lud_scenario_read("test.yaml", text.bytes, text.length, set, n_set, &r->scenario, error);
    lud_text_free(&text);
    if (!status) status = lud_device_open("cpu", 1, &r->device, error);
    if (!status) status = lud_learner_create(r->scenario, r->device, &made, error);
    r->learner = (lud_empo_phase2_learner *)made;
    return status;
}

void support_empo_open(support_empo *r, const char *world, const char *learner, int n_set,
                       const char *const *set) {
    lud_error error = {0};
    if (support_empo_try(r, world, learner, n_set, set, &error)) fail_msg("%s", error.text);
}

void support_empo_close(support_empo *r) {
    if (r->learner) lud_learner_destroy(&r->learner->base);
    lud_device_close(r->device);
    lud_scenario_destroy(r->scenario);
}

void support_empo_iterate(support_empo *r, int n) {
    lud_error error = {0};
    double row[128];
    assert_true(r->learner->base.n_columns <= 128);
    for (int i = 0; i < n; i++)
        if (lud_empo_phase2.iterate(&r->learner->base, row, &error)) fail_msg("%s", error.text);
}

void support_empo_evaluate(support_empo *r) {
    double row[128];
    lud_error error = {0};
    assert_true(r->learner->base.n_evaluation_columns <= 128);
    if (lud_empo_phase2.evaluate(&r->learner->base, row, &error)) fail_msg("%s", error.text);
}

lud_empo_distance support_empo_learn(support_empo *r) {
    support_empo_iterate(r, (int)r->learner->base.n_iterations);
    support_empo_evaluate(r);
    assert_true(r->learner->evaluated);
    return r->learner->distance;
}

lud_checkpoint *support_empo_saved(support_empo *r) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_empo_phase2.visit(&r->learner->base, checkpoint);
    lud_error error = {0};
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

void support_empo_assert_same(support_empo *a, support_empo *b) {
    lud_checkpoint *x = support_empo_saved(a), *y = support_empo_saved(b);
    assert_int_equal(lud_checkpoint_n_tensors(x), lud_checkpoint_n_tensors(y));
    for (int i = 0; i < lud_checkpoint_n_tensors(x); i++) {
        const lud_tensor *one = lud_checkpoint_get(x, i), *other = lud_checkpoint_find(y, one->name);
        assert_non_null(other);
        assert_int_equal(one->bytes, other->bytes);
        if (one->bytes && memcmp(one->data, other->data, one->bytes) != 0) fail_msg("%s differs", one->name);
    }
    lud_checkpoint_destroy(x);
    lud_checkpoint_destroy(y);
}

void support_empo_resume(support_empo *from, support_empo *to, const char *path) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = support_empo_saved(from);
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
    lud_empo_phase2.visit(&to->learner->base, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
    remove(path);
}

void support_empo_assert_resumes(const char *world, const char *learner, int n_set, const char *const *set,
                                 const char *path) {
    support_empo whole, first, second;
    support_empo_open(&whole, world, learner, n_set, set);
    support_empo_open(&first, world, learner, n_set, set);
    support_empo_open(&second, world, learner, n_set, set);
    support_empo_iterate(&whole, 6);
    support_empo_iterate(&first, 4);
    support_empo_resume(&first, &second, path);
    support_empo_iterate(&second, 2);
    support_empo_assert_same(&whole, &second);
    support_empo_close(&whole);
    support_empo_close(&first);
    support_empo_close(&second);
}
