/* One small training of every learner, opened on any device. */
#pragma once

#include "learn/train.h"

enum { SUPPORT_MOST_SET = 16 };

typedef struct support_training {
    const char *name;
    const char *text; /* a scenario, or null: the file */
    const char *file;
    const char *set[SUPPORT_MOST_SET];
    bool continuous;
    double tolerance; /* between devices: of metrics and weights after the first iteration, relative to the
                         largest of each array */
} support_training;

extern const support_training support_trainings[];
extern const int n_support_trainings;

/* Whether a device cuda opens; says why when it does not. */
bool support_has_cuda(void);

/* A learner before its first iteration. */
typedef struct support_bed {
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner;
} support_bed;

/* Fails the test when something cannot be opened. On the CPU with so many threads, every operation shared by
 * all of them, however small, when there are several. */
support_bed support_bed_open(const support_training *t, const char *device, int n_threads);
/* The same where it may be refused. Drop it also then. */
lud_status support_bed_try(const support_training *t, const char *device, int n_threads, support_bed *b,
                           lud_error *error);
/* Fails the test when the device reports a failure. */
void support_bed_close(support_bed *b);
/* Closes it whatever its device reports. */
void support_bed_drop(support_bed *b);
/* One iteration; row holds the learner's columns. */
void support_bed_iterate(const support_training *t, support_bed *b, double *row);
/* Trains as `options` say, with the configuration that the scenario and the learner have in options->folder.
 */
lud_status support_train(const lud_scenario *scenario, lud_learner *learner, const lud_train_options *options,
                         lud_train_result *result, lud_error *error);
/* Two rows of the learner's evaluation say the same, but for what a clock fills. */
void support_expect_same_evaluation(const lud_learner *learner, const double *a, const double *b);
/* All that it has to say at its present state: inspection and report. */
void support_tell(const support_bed *b);
/* The learner's state; destroy it with lud_checkpoint_destroy. */
lud_checkpoint *support_bed_save(support_bed *b);
/* The same of any learner. */
lud_checkpoint *support_learner_save(lud_learner *learner);
/* Every tensor of `part` is in `whole`, byte for byte; `what` begins the message of one that is not. */
void support_expect_within(lud_checkpoint *part, lud_checkpoint *whole, const char *what);
/* The same tensors in the same order, all but the training's clock byte for byte. */
void support_expect_same(lud_checkpoint *a, lud_checkpoint *b, const char *what);
/* The same of the checkpoints of two RUNs in a folder. */
void support_expect_same_runs(const char *folder, const char *a_run, const char *b_run);
