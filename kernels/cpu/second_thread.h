/* A thread that does one piece of work after the other beside its owner's. */
#pragma once

#include <stdbool.h>

typedef struct lud_second_thread lud_second_thread;

/* Null when there is no memory or no thread to be had. Free with lud_second_thread_destroy. */
lud_second_thread *lud_second_thread_create(void);
/* Waits for the work in hand. Null is fine. */
void lud_second_thread_destroy(lud_second_thread *thread);

/* Begins work(context) on the thread, which has nothing to do. */
void lud_second_thread_begin(lud_second_thread *thread, void (*work)(void *context), void *context);
/* Waits until it is done. What the work wrote is seen by the caller. */
void lud_second_thread_finish(lud_second_thread *thread);
