/* Environments of the neural EMPO learner in threads of their own, beside the training.
 *
 * Every actor has its environments, a CPU device and copies of the networks it acts by. It fills buffers with
 * transitions and hands them over; the learner moves them to the replay memory. There are so many buffers and
 * no more: when all are full the actor waits, so nothing is ever lost, and how often it waited is counted.
 * Weights and the training step (on which exploration depends) are published by the learner now and then.
 * What follows depends on how threads are scheduled; without this module runs are repeatable bit for bit. */
#pragma once

#include "learn/empo/phase2/rollout.h"

typedef struct lud_empo_async lud_empo_async;

/* Actors with such parts: each has its own values, novelty and search, with weights like those of `like`. Its
 * parts and the learner's device must outlive it; none runs yet. */
lud_status lud_empo_async_create(const lud_empo_rollout_parts *like, lud_empo_async **async,
                                 lud_error *error);
/* Ends the threads. Null is allowed. */
void lud_empo_async_destroy(lud_empo_async *async);

/* Lets all actors run (or go on); publishes the weights at training step `step` first. */
lud_status lud_empo_async_run(lud_empo_async *async, int64_t step, lud_error *error);
/* Waits until every actor stands still between two steps, and moves everything in the queue to the
 * memory. */
lud_status lud_empo_async_pause(lud_empo_async *async, lud_empo_replay *replay, int64_t step,
                                lud_error *error);
/* Moves some of what was queued to the memory, marked with training step `step`; waits until the
 * memory holds `at_least` transitions. The error of an actor that failed is returned. */
lud_status lud_empo_async_dequeue(lud_empo_async *async, lud_empo_replay *replay, int64_t step,
                                  int64_t at_least, lud_error *error);
/* Tells the actors the number of training steps done, and their weights when they are due. */
void lud_empo_async_trained(lud_empo_async *async, int64_t steps);

typedef struct lud_empo_async_counts {
    lud_empo_rollout_counts actors; /* all together */
    uint64_t taken;                 /* transitions moved to the memory */
    uint64_t waits;                 /* times an actor waited for an empty buffer */
    uint64_t throttled;             /* times one waited because it was ahead of the training */
    uint64_t published;             /* copies of weights */
    int64_t queued;                 /* transitions queued and not yet taken */
} lud_empo_async_counts;
lud_empo_async_counts lud_empo_async_get_counts(lud_empo_async *async);
/* The actors' environments; only while paused. */
void lud_empo_async_visit(lud_empo_async *async, lud_checkpoint *checkpoint);
