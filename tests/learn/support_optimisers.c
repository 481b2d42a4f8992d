#include "learn/support_optimisers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *training, *more[2]; /* what else is set */
} optimised[] = {
    {"mappo, continuous, recurrent", {NULL}},
    {"mappo, discrete", {NULL}},
    {"mappo, magnitude and direction", {"learner.mad.learning_rate=0.001"}},
    {"mappo on a grid", {NULL}},
    {"proof", {"learner.learning_rate.value=0.01", "learner.target_kl=0"}},
    {"embeddings of a knowledge graph", {NULL}},
    {"empo, people alone", {NULL}},
    {"empo networks, all heads", {"learner.use_rnd=true"}},
};
const int n_support_optimised = (int)(sizeof optimised / sizeof *optimised);

void support_optimised(int k, const char *type, support_training *training) {
    static char sections[2][128];
    static int turn;
    char *section = sections[turn++ % 2];
    const char *more = strcmp(type, "apollo") == 0        ? ", rank: 2, scale: 1, projection_gap: 3"
                       : strcmp(type, "apollo-mini") == 0 ? ", scale: 1, projection_gap: 3"
                       : strcmp(type, "sgd") == 0         ? ", momentum: 0.9"
                                                          : "";
    snprintf(section, sizeof sections[0], "learner.optimiser={type: %s, weight_decay: 0.01%s}", type, more);
    for (int i = 0; i < n_support_trainings; i++) {
        if (strcmp(support_trainings[i].name, optimised[k].training) != 0) continue;
        *training = support_trainings[i];
        int n = 0;
        while (training->set[n]) n++;
        training->set[n++] = section;
        for (int m = 0; m < 2 && optimised[k].more[m]; m++) training->set[n++] = optimised[k].more[m];
        return;
    }
    fail_msg("there is no training '%s'", optimised[k].training);
}

void support_resume_optimised(int k, const char *type, const char *device) {
    char path[] = "/tmp/ludus-optimiser-XXXXXX";
    support_training t;
    support_optimised(k, type, &t);
    support_bed whole = support_bed_open(&t, device, 1), half = support_bed_open(&t, device, 1),
                rest = support_bed_open(&t, device, 1);
    const uint64_t n = whole.learner->n_iterations;
    double row[128];
    lud_error error = {0};
    lud_checkpoint *loaded = NULL;
    assert_in_range(n, 2, 100);
    for (uint64_t i = 0; i < n; i++) support_bed_iterate(&t, &whole, row);
    for (uint64_t i = 0; i < n / 2; i++) support_bed_iterate(&t, &half, row);
    lud_checkpoint *saved = support_bed_save(&half);
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0 && remove(path) == 0); /* only the name is wanted */
    if (lud_checkpoint_write(saved, path, &error)) fail_msg("%s", error.text);
    if (lud_checkpoint_open(path, &loaded, &error)) fail_msg("%s", error.text);
    rest.learner->kind->visit(rest.learner, loaded);
    if (lud_checkpoint_status(loaded, &error)) fail_msg("%s, %s: %s", t.name, type, error.text);
    for (uint64_t i = n / 2; i < n; i++) support_bed_iterate(&t, &rest, row);
    lud_checkpoint *a = support_bed_save(&whole), *b = support_bed_save(&rest);
    char what[160];
    snprintf(what, sizeof what, "%s, %s, after resuming", t.name, type);
    support_expect_same(a, b, what);
    lud_checkpoint *const checkpoints[] = {saved, loaded, a, b};
    for (int i = 0; i < 4; i++) lud_checkpoint_destroy(checkpoints[i]);
    support_bed *const beds[] = {&whole, &half, &rest};
    for (int i = 0; i < 3; i++) support_bed_close(beds[i]);
    remove(path);
}
