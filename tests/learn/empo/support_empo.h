/* Small worlds and a learner of type empo-phase2 in them, for tests. */
#pragma once

#include "learn/empo/phase2/phase2.h"

/* A robot stands in a corridor that a person wants to pass; there is a niche. */
extern const char support_empo_corridor[];
/* Two people, two robots, a door with its key, ground on which one stumbles. */
extern const char support_empo_crowd[];

/* For the tests of a group: a folder of their own, and a checkpoint's path in it. Every test removes what it
 * has written. */
extern char support_empo_path[64];
int support_empo_make_folder(void **state);
int support_empo_remove_folder(void **state);

typedef struct support_empo {
    lud_scenario *scenario;
    lud_device *device;
    lud_empo_phase2_learner *learner;
} support_empo;

/* Opens the scenario that the two texts make, on the CPU; close it also after a failure. */
lud_status support_empo_try(support_empo *r, const char *world, const char *learner, int n_set,
                            const char *const *set, lud_error *error);
/* The same; this and all below fail the test when they cannot. */
void support_empo_open(support_empo *r, const char *world, const char *learner, int n_set,
                       const char *const *set);
void support_empo_close(support_empo *r);
void support_empo_iterate(support_empo *r, int n);
/* Measures what the end of a training does. */
void support_empo_evaluate(support_empo *r);
/* Trains to the end and compares with the exact solution. */
lud_empo_distance support_empo_learn(support_empo *r);
lud_checkpoint *support_empo_saved(support_empo *r);
/* `to` goes on where `from` stands, by a checkpoint that is written to `path` and removed. */
void support_empo_resume(support_empo *from, support_empo *to, const char *path);
void support_empo_assert_same(support_empo *a, support_empo *b);
/* Trains `whole` for six iterations, and another for four, from whose checkpoint a third does two more: the
 * bytes must agree. `path` is used for the checkpoint and removed. */
void support_empo_assert_resumes(const char *world, const char *learner, int n_set, const char *const *set,
                                 const char *path);
