/* The checkpoint of a small training, to be changed and played on with. */
#pragma once

#include "learn/support_trainings.h"

typedef struct support_stranger {
    const support_training *training;
    support_bed bed;            /* without a learner between plays */
    lud_checkpoint *checkpoint; /* as read from a file */
    uint8_t *bytes;             /* of its tensors as they were, one behind the other */
    lud_error error;            /* of the last play */
} support_stranger;

/* The training made smaller still: it is played many times, and what lies in its checkpoint is of the same
 * kinds. */
support_training support_stranger_training(const support_training *t);
/* Such a training that has done an iteration. */
support_stranger support_stranger_open(const support_training *t);
void support_stranger_close(support_stranger *s);
/* Changes one to four numbers somewhere inside. */
void support_stranger_change(support_stranger *s, lud_random_key key);
/* Overwrites n bytes of a tensor from its 32-bit word `at` on. */
void support_stranger_put(support_stranger *s, const char *tensor, int64_t at, const void *bytes, size_t n);
/* Everything as it was. */
void support_stranger_restore(support_stranger *s);
/* Loads it into a new learner, trains an iteration, evaluates and acts. False: it was refused with a message;
 * fails the test when one is missing. */
bool support_stranger_play(support_stranger *s);
